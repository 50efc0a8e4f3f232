"""One load as truepace and wrk2 read it: by how much wrk2 reads more, for its timer wakes by the millisecond."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runners.analysis import instrument
from runners.analysis.instrument import Floor
from runners.analysis.intervals import Bounded
from runners.design.session import PAIRED
from runners.design.two_generators import NAME, TRUEPACE, WRK2
from runners.readers.run import Run, Step


@dataclass(frozen=True, slots=True)
class TwoReadings:
    """The rounds of both generators, and what wrk2 reads above truepace in the median and in p99, within each round.

    `tick_us` is wrk2's tick as its own spectrum shows it; None where it shows none.
    """

    truepace: Floor
    wrk2: Floor
    p50_us: Bounded
    p99_us: Bounded
    tick_us: float | None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The loads of both, truepace's first."""
        return (*self.truepace.good, *self.wrk2.good)


def two_readings(steps: Iterable[Step]) -> TwoReadings | None:
    """Return what both generators read of the load that they sent in turn; None where one of them reads nothing."""
    readings = {floor.tool: floor for floor in instrument.floors(steps, PAIRED) if floor.good}
    if TRUEPACE not in readings or WRK2 not in readings:
        return None
    ours, theirs = readings[TRUEPACE], readings[WRK2]
    added = [instrument.added(theirs, ours, level) for level in (instrument.MEDIAN, instrument.TAIL)]
    if added[0] is None or added[1] is None:
        return None
    return TwoReadings(ours, theirs, added[0], added[1], instrument.timer_tick_us(theirs.good[0]))


def wrk2_was_absent(run: Run) -> bool:
    """Return whether the load was left out, for wrk2 was not on the machine."""
    return NAME in (run.manifest.get("left_out") or ()) and not run.find(kind=PAIRED)
