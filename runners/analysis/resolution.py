"""What an instrument resolves: the smallest difference in latency that it shows at a rate and number of connections.

Every latency holds a part that is the instrument's own. Two things limit what can be told apart:

- **its wavering**: two measurements of the same thing differ. With independent repeats of one load whose percentile has
  the standard deviation s, two single loads differ by less than t(0.975, n - 1) * sqrt(2) * s in 95 of 100 cases
  (Student's t, for a difference of two). Where a run holds one floor and no repeats, its whole seconds take their place
  (batch means: Law, *Simulation Modeling and Analysis*, 9.5.3), and s is that of a mean of so many seconds; drifts
  that are slower than a second don't show in it, so it is the least that can be claimed;
- **its own delay**: what it adds to the simplest honest client in the same rounds. It cancels where two loads of the
  same instrument are compared, but not where a latency is quoted as it is; the upper end of its interval counts. An
  instrument that reads less adds nothing: where the kernel says when an answer came, the client's waking is not in it.

Nothing is resolved below the unit in which values are kept (1 us), nor below the tick of a generator that wakes by one.
The larger of all these is what the instrument resolves. Normality is assumed of percentiles over repeats, not of
latencies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.readers import write
from runners.readers.run import Step
from runners.readers.timer import fit

UNIT_US = 1.0
FEWEST_REPEATS = 3  # fewer leave the standard deviation one degree of freedom, whose quantile is 12.7
MEDIAN, TAIL = 0.5, 0.99
CONFIDENCE = 0.95
UNKNOWN = "what this instrument resolves at this rate is not known"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The smallest difference in the median and in p99 that can be shown, in microseconds, and what says so."""

    rate_rps: float
    connections: int
    p50_us: float
    p99_us: float
    basis: str

    def sentence(self) -> str:
        """The sentence of every report."""
        return (
            f"this instrument resolves {self._both()} at this rate ({write.rate(self.rate_rps)} on "
            f"{write.connections(self.connections)}; {self.basis})"
        )

    def elsewhere(self, here: str) -> str:
        """The sentence of a report that has nothing better than the fixed load before the campaign.

        `here` names the rates that the report is about, at which this says nothing.
        """
        return (
            f"this instrument resolves {self._both()} at {write.rate(self.rate_rps)} on "
            f"{write.connections(self.connections)}, the fixed load before the campaign ({self.basis}); what it "
            f"resolves at {here} is not known"
        )

    def _both(self) -> str:
        return f"{write.latency(self.p50_us)} in the median and {write.latency(self.p99_us)} in p99"


def wavering_us(repeats: Iterable[float]) -> float:
    """By how much two single measurements differ at most, in 95 of 100 cases; NaN for too few repeats."""
    values = np.asarray([value for value in repeats if math.isfinite(value)])
    if len(values) < FEWEST_REPEATS:
        return math.nan
    return float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * math.sqrt(2) * values.std(ddof=1))


def of_floor(floor: Step | None) -> Resolution | None:
    """From one floor step: its whole seconds are the repeats. None where the floor tells too little."""
    if floor is None or not facts.quotable(floor):
        return None
    rate_rps, connections = facts.offered_rps(floor), (floor.record.connections or 0)
    tick_us = tick_of(floor)
    if tick_us is not None:
        return Resolution(rate_rps, connections, tick_us, tick_us, f"the tick of {facts.tool(floor)}")
    seconds = facts.per_second(floor)
    if len(seconds) < FEWEST_REPEATS:
        return None
    least = [wavering_us(seconds[column]) / math.sqrt(len(seconds)) for column in ("p50_us", "p99_us")]
    if not all(map(math.isfinite, least)):
        return None
    basis = f"from {write.count(len(seconds))} seconds of its floor"
    return Resolution(rate_rps, connections, max(UNIT_US, least[0]), max(UNIT_US, least[1]), basis)


def of_rounds(
    rounds: Sequence[Step], own_delay: tuple[Bounded | None, Bounded | None] = (None, None), against: str = ""
) -> Resolution | None:
    """From repeated floors of one instrument at one rate, and what it adds to the simplest client in p50 and p99."""
    good = [step for step in rounds if facts.quotable(step)]
    if not good:
        return None
    rate_rps, connections = facts.offered_rps(good[0]), (good[0].record.connections or 0)
    tick_us = tick_of(good[0])
    if tick_us is not None:
        return Resolution(rate_rps, connections, tick_us, tick_us, f"the tick of {facts.tool(good[0])}")
    least = []
    for level, own in zip((MEDIAN, TAIL), own_delay, strict=True):
        values = [value.value for step in good if (value := facts.at(step, level)) is not None]
        limits = [UNIT_US, wavering_us(values)]
        if own is not None:
            limits += [side for side in (own.high, own.value) if math.isfinite(side)]
        if math.isnan(limits[1]):
            return None
        least.append(max(limits))
    basis = f"from {write.count(len(good))} rounds" + (f" beside {against}" if against else "")
    return Resolution(rate_rps, connections, least[0], least[1], basis)


def tick_of(step: Step) -> float | None:
    """The tick by which the generator of a step wakes, in microseconds, where its spectrum shows one."""
    rows = step.frames["spectrum"]
    line = fit(rows[rows["kind"] == facts.RESPONSE])
    return line.width_us if line is not None and line.is_millisecond_timer else None
