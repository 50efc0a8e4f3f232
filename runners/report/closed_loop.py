"""The sections of experiment 02: the curves, the rates, the kernel's counters, the 404s, and every published run."""

from __future__ import annotations

import pandas as pd

from runners.analysis import floors, loops
from runners.analysis.finding import Finding
from runners.analysis.loops import Loop
from runners.claims import closed_loop as told
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published_of
from runners.readers.run import Run
from runners.report import numbers
from runners.report.loop_figures import curves_of, loop_curves, loop_rates, name_of
from runners.report.section import Section, Shown, shown_of
from runners.report.tables import Table


def _about(conclusion: Conclusion, anchor: str) -> tuple[Finding, ...]:
    every = (*conclusion.missed, *conclusion.findings)
    return tuple(finding for finding in every if finding.figure == anchor)


def _median(loop: Loop, level: float) -> str:
    value = loop.at(level)
    return numbers.NONE if value is None else numbers.latency_interval(value.value, value.low, value.high)


def curve_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Where the responses lie: at the timer, or a hundred times below it."""
    chosen = curves_of(loops.of_run(run))
    if not chosen:
        return None
    steps = [loop.step for loop in chosen]
    return Section(
        "delay",
        "Where the responses lie",
        "One connection sends its next request when the last one was answered. What is late is late by the timer of "
        "the client's delayed acknowledgement, on any number of threads; with TCP_NODELAY nothing waits for it.",
        _about(conclusion, loops.CURVES),
        (shown_of(loops.CURVES, loop_curves(steps, floors.before(run.steps)), steps, "spectrum"),),
    )


def rate_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Requests a second of every stage over connections."""
    found = loops.of_run(run)
    if not found:
        return None
    data = pd.DataFrame(
        [
            {
                "step": loop.step.name, "stage": loop.stage, "loop": loop.name, "connections": loop.connections,
                "achieved_rps": loop.rate_rps, "p50_us": loop.median_us, "completed": loop.completed,
                "non_2xx": loop.non_2xx,
            }
            for loop in found
        ]
    )  # fmt: skip
    picture = loop_rates([loop.step for loop in found], published_of(loops.REPORT))
    return Section(
        "rates-of-loops",
        "Threads, connections, executors",
        "Loops that wait carry one request a wait and connection, whatever the server does with its threads.",
        _about(conclusion, loops.RATES),
        (Shown(loops.RATES, picture, data),),
    )


def counter_section(run: Run, conclusion: Conclusion) -> Section | None:
    """What the kernel counted in each stage, a request."""
    found = [loop for loop in loops.of_run(run) if write.known(loop.a_request("DelayedACKs"))]
    if not found:
        return None
    rows = tuple(
        (
            f"{loop.title}: {name_of(loop.name)} x {loop.connections}",
            numbers.latency(loop.median_us),
            numbers.count(loop.completed),
            *(_a_request(loop, counter) for counter in ("DelayedACKs", "OutSegs")),
        )
        for loop in found
    )
    head = ("loop", "p50", "requests", "delayed ACKs a request", "segments a request")
    note = (
        "From /proc/net/netstat and /proc/net/snmp just before and after each loop; they count every connection of the "
        "machine, also the lab's own question for the server's status. A request that waits has one segment more: the "
        "lone acknowledgement of the head, for which the body waits."
    )
    return Section(
        loops.COUNTERS,
        "The kernel's evidence",
        "A packet capture would show each lone acknowledgement. The kernel counts them, and anyone may read that.",
        _about(conclusion, loops.COUNTERS),
        (),
        (Table("Counters of TCP", head, rows, note),),
    )


def _a_request(loop: Loop, counter: str) -> str:
    value = loop.a_request(counter)
    return f"{value:.3g}" if write.known(value) else numbers.NONE


def error_section(run: Run, conclusion: Conclusion) -> Section | None:
    """404s by the script, here and as published."""
    about = _about(conclusion, loops.ERRORS)
    if not about:
        return None
    rows = [
        (
            f"{loop.title}: {name_of(loop.name)} x {loop.connections}",
            numbers.count(loop.completed),
            numbers.count(loop.non_2xx),
            numbers.count(loop.absent_by_script) if loop.name == "get-few" else numbers.count(0),
        )
        for loop in loops.of_run(run)
        if loop.name in ("get-few", "get") and loop.stage in ("after", "delayed", "jdk25")
    ]
    head = ("loop", "requests", "404", "by the script's numbers")
    tables = (Table("GET on a store with and without the keys", head, tuple(rows)),) if rows else ()
    return Section(
        loops.ERRORS,
        "Where the errors come from",
        "Nothing seeds LuaJIT's random numbers, so every thread of every run draws the same, and how many of them ask "
        "for an absent key is known before the server is started.",
        about,
        (),
        tables,
    )


def _missed(loop: Loop, output: ConsoleReport, reference: Loop | None) -> str:
    """What the authors did not see in one published run."""
    parts = []
    if reference is not None and loop.waits and not reference.waits:
        many = told.times(loops.times_as_many(loop, reference))
        how = {"mixed-once": "with the flag and a true mix", "get-few": "with the flag and all keys"}
        parts.append(f"{how.get(loop.name, 'the flag alone')}: {numbers.rate(reference.rate_rps)}, {many} as many")
    if output.non_2xx and output.requests:
        parts.append(f"{numbers.share(output.non_2xx / output.requests)} of its responses are 404, by the script")
    if loop.name == "mixed-once":
        parts.append("no PUT among its requests")
    return "; ".join(parts) or numbers.NONE


def published_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Every published run beside its reproduction."""
    found = loops.of_run(run)
    outputs = published_of(loops.REPORT)
    here = {loop.published: loop for loop in found if loop.published}
    rows = []
    for name, output in outputs.items():
        loop = here.get(name)
        there = _cell(output.requests_per_s, output.latencies.at(0.5), output.latencies.at(0.99), output.errors)
        ours, missed = "not measured", numbers.NONE
        if loop is not None:
            p50, p99 = loop.at(0.5), loop.at(0.99)
            ours = _cell(loop.rate_rps, p50.value if p50 else None, p99.value if p99 else None, loop.non_2xx)
            other = {"mixed-once": "mixed", "get-few": "get"}.get(loop.name, loop.name)
            missed = _missed(loop, output, next(iter(loops.find(found, "nodelay", other, loop.connections)), None))
        rows.append((name.rpartition("/")[2].replace("-", write.NBSP), there, ours, missed))
    head = ("run", "published", "reproduced", "what the authors missed")
    note = (
        "before: dispatcher thread; after: cached pool; then threads and connections. Published: wrk, one minute each, "
        "JDK 8 in a virtual machine, each run once. Reproduced: our generator in closed loop, JDK 17, same scripts' "
        "draws, times as the appendix says. Shorter runs have fewer requests, so fewer 404s; their share is the same."
    )
    table = Table("Every published run", head, tuple(rows), note, numeric=False)
    title = "Published, reproduced, and what the authors missed"
    return Section(loops.TABLE, title, "", (), (), (table,)) if here else None


def _cell(rate_rps: float | None, p50: float | None, p99: float | None, errors: float) -> str:
    rate = f"{rate_rps:.1f}/s" if rate_rps else numbers.NONE
    failed = f", {numbers.count(errors)} errors" if errors else ""
    return f"{rate}, p50 {numbers.latency(p50)}, p99 {numbers.latency(p99)}{failed}"


BUILDERS = (curve_section, rate_section, counter_section, error_section, published_section)
