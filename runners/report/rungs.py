"""Two sections on ladders: shares against the rate, and each published rung beside what was measured at its rate."""

from __future__ import annotations

from collections.abc import Iterator

from runners.analysis import facts
from runners.claims import published_ladders
from runners.claims.climbing import Ladder, ladders
from runners.claims.conclusion import Conclusion
from runners.claims.rungs import anchor, profiled_rungs, side_by_side
from runners.readers.outputs import Output
from runners.readers.run import Run, Step
from runners.report import numbers
from runners.report import tables as tables_of
from runners.report.by_rate import by_rate, data, table
from runners.report.section import Place, Section, Shown
from runners.report.shares import events_of, shares
from runners.report.tables import Table

TEXT = (
    "These rungs are measured once more while the profiler records. The flame graph of each lies in the folder of its "
    "step, as HTML to zoom and search."
)
BESIDE_TEXT = (
    "Each published rung, and the rung of this run at the same rate where this machine carries it. Absolute figures of "
    "two machines can't be compared; the shape around the knee can."
)
_SAME = 0.001


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Where the time goes by rate, and published against reproduced by rung; none for a run without such ladders."""
    found = [ladder for ladder in ladders(run) if ladder.base is not None]
    figures, tables = [], []
    for workload in dict.fromkeys(ladder.steps[0].workload for ladder in found):
        steps = profiled_rungs(run, workload)
        several = len({step.subject for step in steps}) > 1
        if several:
            steps = side_by_side(steps)
        for event in events_of(steps):
            picture = shares(steps, event) if several else by_rate(steps, workload, event)
            figures.append(Shown(anchor(workload, event), picture, data(steps, event)))
            one = tables_of.shares(steps, event) if several else table(steps, event)
            if one:
                tables.append(one)
    if figures:
        anchors = {shown.anchor for shown in figures}
        told = tuple(finding for finding in conclusion.findings if finding.figure in anchors)
        yield Section("byrate", "The profiles of the rungs", Place.FIRST, TEXT, told, tuple(figures), tuple(tables))
    beside = tuple(one for ladder in found if (one := _beside(ladder)) is not None)
    if beside:
        yield Section("rungs", "Published and reproduced, rung by rung", Place.FIRST, BESIDE_TEXT, (), (), beside)


def _beside(ladder: Ladder) -> Table | None:
    rows = []
    assert ladder.base is not None  # only such ladders are asked
    for name, output in published_ladders.named(ladder.published):
        rate = output.offered_rps
        if not rate:
            continue
        own = next((step for step in ladder.rungs if abs(facts.offered_rps(step) / rate - 1) < _SAME), None)
        rows.append((name, _rate(rate, output), *_there(output), numbers.share(rate / ladder.base.rps), *_here(own)))
    if not rows:
        return None
    there = ("published achieved", "published p50 or mean", "published p99")
    here = (f"of the {ladder.base.what} here", "achieved here", "p50 here", "p99 here")
    note = (
        "A dash: not published, or not offered here, because it lies too far beyond what this machine carries, or "
        "because this size has no time for it."
    )
    return Table(f"{ladder.title}", ("output", "rate", *there, *here), tuple(rows), note)


def _rate(published_rps: float, output: Output) -> str:
    """The rate as published, and the one at which the output was taken where that is another."""
    taken = published_ladders.taken_at(output)
    text = numbers.rate(published_rps)
    return text if taken == published_rps else f"{text} (taken at {numbers.rate(taken)})"


def _there(output: Output) -> tuple[str, str, str]:
    report = output.report
    middle = report.latencies.at(0.5)
    mean = report.latency.mean if report.latency else None
    typical = numbers.latency(middle) if middle is not None else f"mean {numbers.latency(mean)}"
    return numbers.rate(report.requests_per_s), typical, numbers.latency(report.latencies.at(0.99))


def _here(step: Step | None) -> tuple[str, str, str]:
    if step is None:
        return numbers.NONE, numbers.NONE, numbers.NONE
    return numbers.rate(facts.achieved_rps(step)), facts.told(step, 0.5), facts.told(step, 0.99)
