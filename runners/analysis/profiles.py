"""Choose profiles: those that are evidence, those that a report shows, and the two that are compared."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from runners.analysis import facts
from runners.readers.run import Step

CPU = "cpu"
FEWEST_SAMPLES = 30  # of a profile that is shown
OTHER_RATE = 1.2  # times the lower one: from here on two rates differ


def usable(step: Step | None) -> bool:
    """Decide whether a profile is evidence: of a valid load that kept its rate, or of a closed loop.

    A load that fell short shows the work of another rate than the one that it stands under.
    """
    if step is None or step.frames["shares"].empty:
        return False
    return step.valid and not facts.fell_short(step)


def shown(steps: Sequence[Step]) -> list[Step]:
    """Choose the CPU profiles that a report shows: evidence, and enough of it."""
    return [step for step in steps if step.profiled and usable(step) and samples(step, CPU) >= FEWEST_SAMPLES]


def ends(profiled: Sequence[Step]) -> tuple[Step, ...]:
    """The lowest and the highest rate of the treatment with most rates; else two treatments under one workload."""
    most = max(facts.grouped(profiled, lambda step: (step.subject, step.workload)).values(), key=len)
    if len(most) > 1:
        ordered = sorted(most, key=facts.achieved_rps)
        if facts.achieved_rps(ordered[-1]) >= OTHER_RATE * facts.achieved_rps(ordered[0]):
            return ordered[0], ordered[-1]
    alike = {step.subject: step for step in profiled if step.workload == profiled[0].workload}
    return tuple(alike.values())[:2]


def compared(profiled: Sequence[Step]) -> tuple[Step, Step] | None:
    """Choose the two profiles whose frames are compared; None where there are none of one engine's code."""
    first, *rest = ends(profiled) if profiled else (None,)
    return (first, rest[0]) if first and rest and first.engine == rest[0].engine else None


def samples(step: Step, event: str) -> int:
    """Count the samples of one event."""
    rows = shares_of(step, event)
    return int(rows["samples"].sum()) if not rows.empty else 0


def shares_of(step: Step, event: str) -> pd.DataFrame:
    """Shares of one event, largest first."""
    rows = step.frames["shares"]
    return rows[rows["event"] == event].sort_values("share", ascending=False, kind="stable").reset_index(drop=True)
