"""Set each published rate beside the rate step of this run at the same rate."""

from __future__ import annotations

from runners.analysis import facts
from runners.claims import published_ladders
from runners.claims.climbing import Ladder
from runners.readers.outputs import Output
from runners.readers.run import Step
from runners.report import numbers
from runners.report.tables import Table

TEXT = "Absolute figures of two machines can't be compared; the shape around the knee can."
_SAME = 0.001


def beside(ladder: Ladder) -> Table | None:
    """A row a published output, with the rate step of this run at its rate; None where nothing was published."""
    if ladder.base is None:
        return None
    rows = []
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
