"""Build the sections of a cluster (keys, what is passed on, the client's lock) and of faults (a node, a response)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from runners.analysis import facts, instrument, latency_spikes
from runners.claims import cluster, faults
from runners.claims.conclusion import Conclusion
from runners.claims.faults import Outage
from runners.design.session import FAULT
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import latency_of, timeline
from runners.report.section import Section, Shown
from runners.report.tables import Table

DEATH_TEXT = (
    "Three processes; the load goes to the first, the third is killed (SIGKILL) and started again on its port and its "
    "data. All share the server's cores, so the start of a JVM takes time from the two that live."
)
KEYS_TEXT = (
    "Computed for every id that the report wrote and for the addresses of this run's nodes, as the servers compute it. "
    "The load goes to the first node; what lies elsewhere it asks the owner for, and its own status counts that."
)
LOCK_TEXT = (
    "Each setting once more, while the profiler records who waits for a lock and how long. Waiting is "
    "added up over all threads, so it can be more than a second per second."
)
RESPONSES_SHOWN = (1, 2, 10, 100, 1_000)


def title(each: Outage) -> str:
    """The result: which share of the responses failed while the node was away."""
    bad, asked = each.failed("without")
    share = f"{tables.share(bad / asked)} of the responses fail" if bad else "no response fails"
    return f"{style.plain(each.name, 24)}: {share}"


def outage(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the deaths that these steps hold, a column each."""
    found = faults.outages(steps)
    if not found:
        return style.empty("no node was killed")
    marks = {each.step.name: each.events for each in found}
    return timeline(*(each.step for each in found), floor=floor, marks=marks, titles=[title(each) for each in found])


def outage_table(found: Sequence[Outage]) -> Table:
    """Failed responses and the p99 of a second before, while and after."""
    rows = []
    parts = ("before", "without", "after")
    for each in found:
        cells = [tables.rate(facts.offered_rps(each.step))]
        for which in parts:
            bad, asked = each.failed(which)
            counts = f"({tables.count(bad)} of {tables.count(asked)})"
            share = f"{tables.share(bad / asked)} {counts}" if asked else tables.NONE
            cells += [share, tables.latency(each.p99_us(which))]
        rows.append((each.name, *cells, tables.seconds(each.back_s - each.killed_s)))
    heads = (text for part in ("before", "without it", "after") for text in (f"failed {part}", f"p99 {part}"))
    note = (
        "p99: the median of the seconds' own. Without it: whole seconds between the node's death and its first "
        "response. A dash: no whole second was left."
    )
    head = ("setting", "offered", *heads, "away for")
    return Table("Before, while and after a node is away", head, tuple(rows), note)


def outage_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The deaths of a run, or None."""
    found = faults.outages(run.steps)
    if not found:
        return None
    steps = [each.step for each in found]
    rows = [latency_of(s, latency_spikes.tenths(s.frames["slices"])).assign(step=s.name) for s in steps]
    shown = Shown(faults.OUTAGES, outage(steps, instrument.nearest_floor(run.steps, steps[0])), pd.concat(rows))
    about = conclusion.about(faults.OUTAGES)
    return Section("outages-section", "A node dies", DEATH_TEXT, about, (shown,), (outage_table(found),))


def keys_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose status tells where requests were served; None for any other."""
    loads = cluster.clusters(run)
    if cluster.topology(loads) is None:
        return None
    rows = tuple(
        (
            facts.engine_name(one.name), one.hashing, tables.count(one.local), tables.count(one.proxied),
            tables.share(one.share), tables.share(one.expected), tables.latency(one.call_p50_us),
            tables.latency(one.call_p99_us), tables.count(one.failed_calls),
        )
        for one in cluster.by_treatment(loads)
    )  # fmt: skip
    head = (
        "setting", "hash", "served itself", "passed on", "share passed on", "share by the hash", "call p50", "call p99",
        "failed calls",
    )  # fmt: skip
    note = "Calls to the node that was asked most, over the server's whole life: in closed loop and at the common rate."
    table = Table("What the first node passes on", head, rows, note)
    return Section(
        "keys-section", "Where the keys lie", KEYS_TEXT, conclusion.about(cluster.KEYS_ANCHOR), tables=(table,)
    )


def client_lock_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose lock waits were profiled; None for any other."""
    found = cluster.of_run(run)
    if not found:
        return None
    rows = tuple(
        (
            one.name, tables.rate(facts.offered_rps(one.step)), tables.seconds(one.all_s),
            tables.seconds(one.client_s),
            tables.share_interval(one.share.value, one.share.low, one.share.high) if one.share else tables.NONE,
        )
        for one in found
    )  # fmt: skip
    head = ("setting", "offered", "waited per second", "for the client's lock", "share (95 %)")
    table = Table("Waits for locks", head, rows, "A dash: nobody waited for that lock.")
    place = cluster.LOCK_ANCHOR
    return Section(place, "The lock around the client", LOCK_TEXT, conclusion.about(place), tables=(table,))


def shared_response_sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Heads of responses by their number, where all requests share one response object."""
    for step in run.find(kind=FAULT):
        heads = step.record.fault.heads if step.record.fault else ()
        last = heads[-1]["number"] if heads else 0
        rows = tuple(
            (tables.count(each["number"]), tables.size(each["bytes"]), tables.count(each["fields"]))
            for each in heads
            if each["number"] in (*RESPONSES_SHOWN, last)
        )
        table = Table("Responses of one connection, in their order", ("response", "head", "fields in it"), rows)
        place = faults.SHARED_RESPONSE
        title = f"The fault of {facts.engine_name(step.subject)}"
        yield Section(place, title, findings=conclusion.about(place), tables=(table,))
