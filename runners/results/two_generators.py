"""One load as truepace and wrk2 read it, and what wrk2 adds, whose timer wakes by the millisecond."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runners.analysis import facts, instrument
from runners.analysis.intervals import Bounded
from runners.design.session import PAIRED
from runners.design.two_generators import NAME, TRUEPACE, WRK2
from runners.readers.run import Run, Step


@dataclass(frozen=True, slots=True)
class Difference:
    """A percentile as both generators read it: the medians over the rounds that both have, and what wrk2 adds in each.

    The interval of `added_us` is that of the rounds (see analysis.instrument); one round has none.
    """

    level: float
    truepace_us: float
    wrk2_us: float
    added_us: Bounded
    rounds: int


@dataclass(frozen=True, slots=True)
class TwoReadings:
    """The loads of both generators, and the difference in the median, and in p99 where both may be quoted.

    `tick_us` is wrk2's tick as its own spectrum shows it; None where it shows none.
    """

    loads: tuple[Step, ...]
    rate_rps: float
    connections: int
    median: Difference
    tail: Difference | None
    tick_us: float | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences that are known, the median first."""
        return (self.median,) if self.tail is None else (self.median, self.tail)


def two_readings(steps: Iterable[Step]) -> TwoReadings | None:
    """Return the readings of both generators of one load; None where they have no round in common."""
    paired = [step for step in steps if step.kind == PAIRED and facts.quoted(step, instrument.MEDIAN) is not None]
    ours, theirs = ([step for step in paired if facts.tool(step) == tool] for tool in (TRUEPACE, WRK2))
    if (median := _difference(ours, theirs, instrument.MEDIAN)) is None:
        return None
    tick_us = next((tick for step in theirs if (tick := instrument.timer_tick_us(step)) is not None), None)
    return TwoReadings(
        (*ours, *theirs), facts.offered_rps(theirs[0]), theirs[0].record.connections or 1, median,
        _difference(ours, theirs, instrument.TAIL), tick_us,
    )  # fmt: skip


def _difference(ours: Sequence[Step], theirs: Sequence[Step], level: float) -> Difference | None:
    ours_us, theirs_us = (
        {step.record.round: value.value for step in loads if (value := facts.quoted(step, level)) is not None}
        for loads in (ours, theirs)
    )
    rounds = sorted(number for number in ours_us.keys() & theirs_us.keys() if number is not None)
    added = instrument.over_rounds(theirs_us[number] - ours_us[number] for number in rounds)
    if added is None:
        return None
    truepace_us, wrk2_us = (statistics.median(read_us[number] for number in rounds) for read_us in (ours_us, theirs_us))
    return Difference(level, truepace_us, wrk2_us, added if len(rounds) > 1 else Bounded(added.value), len(rounds))


def wrk2_was_absent(run: Run) -> bool:
    """Return whether the load was left out, for wrk2 was not on the machine."""
    return NAME in (run.manifest.get("left_out") or ()) and not run.find(kind=PAIRED)
