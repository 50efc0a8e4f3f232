"""Say in one line, while a run goes on, what a step measured or how a store fills."""

from __future__ import annotations

from collections.abc import Iterable

from runners.analysis import facts
from runners.readers import write
from runners.readers.run import Step

SHOWN_LEVELS = (0.5, 0.99)


def line(step: Step) -> str:
    """Rates, percentiles with their intervals, samples and errors; in place of latencies, why there are none."""
    name = facts.title(step) + (" profiled" if step.profiled else "")
    if not step.valid:
        bound = facts.at_most(step, SHOWN_LEVELS[-1])
        most = f"; {write.level(SHOWN_LEVELS[-1])} {facts.written_at_most(bound)}" if bound else ""
        return f"{name}: NOT VALID: {facts.why_not(step)}{most}"
    if (sweep := step.record.sweep) is not None:
        low, high = write.rate(min(sweep.rates)), write.rate(max(sweep.rates))
        return f"{name}: {write.several(len(sweep.rates), 'short step')} from {low} to {high}"
    offered, achieved = facts.offered_rps(step), facts.achieved_rps(step)
    if not write.known(offered):
        many = step.record.connections
        loop = f"closed loop on {write.connections(many)}" if many and many != 1 else "closed loop"
        return f"{name}: {loop}, {write.rate(achieved)}"
    rates = f"{write.rate(achieved)} of {write.rate(offered)}"
    if facts.fell_short(step):
        return f"{name}: {rates}, {facts.why_not(step)}: its latency is the length of a queue and is not shown"
    values = [(level, facts.quoted(step, level)) for level in SHOWN_LEVELS]
    latencies = [f"{write.level(level)} {facts.written(value)}" for level, value in values if value is not None]
    errors = step.frames["summary"]["non_2xx"].iloc[0]
    counted = f"{write.several(facts.samples(step), 'sample')}, {write.several(errors, 'error')}"
    return f"{name}: {', '.join([rates, *latencies, counted])}"


FILL = "fill"
_WRITES = ("put", FILL)


def writes_rps(steps: Iterable[Step], subject: str, engine: str) -> float | None:
    """The slowest closed loop of writes that this store took, its fills included, in writes a second.

    A store that took none yet is expected to fill as another setting of its engine last did. None when neither is
    known.
    """
    own: list[float] = []
    alike: float | None = None
    for step in steps:
        rps = facts.achieved_rps(step)
        kind, workload = step.record.role, step.record.workload
        if step.record.offered_rps is not None or not workload.startswith(_WRITES) or not rps > 0:
            continue
        if step.record.treatment == subject:
            own.append(rps)
        if kind == FILL and step.record.engine == engine:
            alike = rps
    return min(own, default=alike)
