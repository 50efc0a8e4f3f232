"""How many writes a second a store will take, by what the run has seen of it."""

from __future__ import annotations

from collections.abc import Iterable

from runners.analysis import facts
from runners.readers.run import Step

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
