"""95 % intervals of counts, differences and percentiles.

Requests are not independent, so the interval of a percentile uses their effective sample size: the number of requests
divided by the design effect (docs/0011-effective-samples.md). The design effect is the variance of a share of slow
requests, estimated from batches of time, divided by its variance for independent requests. Bounds are exact binomial
ones (Clopper-Pearson); scipy's `binomtest` takes only whole sample sizes. Dependence over more than a fifth of the run
is not detected.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import betainc
from scipy.stats import binom, t

from runners import words
from runners.readers.batch_means import CONFIDENCE, share_variance, t_factor
from runners.readers.console_report import rank
from runners.readers.run import Step, once_a_step


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value with its 95 % interval; an unknown bound is NaN."""

    value: float
    low: float = math.nan
    high: float = math.nan
    at_least: bool = False  # the value is only a lower bound

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def holds_zero(self) -> bool:
        """Whether the interval is known and contains zero."""
        return self.bounded and self.low <= 0 <= self.high

    @property
    def sign(self) -> int:
        """1 if the whole interval lies above zero, -1 if it lies below zero, else 0."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def as_share(self) -> str:
        """The value and its interval, which are fractions of 1, as text in percent: 26.6 % (24.7-28.6)."""
        return words.percent_interval(self.value, self.low, self.high)

    def less(self, amount: float) -> "Bounded":
        """Return a copy with `amount` subtracted from the value and from both bounds."""
        return Bounded(self.value - amount, self.low - amount, self.high - amount, self.at_least)

    def apart_from(self, other: "Bounded") -> bool:
        """Return whether this interval and the interval of `other` are known to be disjoint."""
        return self.low > other.high or self.high < other.low


class Direction(StrEnum):
    """The direction of a difference, by where its interval lies."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "the same within the margin"
    INCONCLUSIVE = "inconclusive"


def direction(change: Bounded, margin: float = 0.0) -> Direction:
    """Return SAME if the interval lies within +-`margin`; else HIGHER or LOWER if it excludes 0; else INCONCLUSIVE."""
    if not change.bounded:
        return Direction.INCONCLUSIVE
    if -margin <= change.low and change.high <= margin:
        return Direction.SAME
    return {1: Direction.HIGHER, -1: Direction.LOWER}.get(change.sign, Direction.INCONCLUSIVE)


def difference(a: Bounded, b: Bounded) -> Bounded:
    """Return a - b, for independent values, with its MOVER interval (G. Zou, A. Donner, 2008, Stat. Med. 27)."""
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return Bounded(value, low, high)


def student_reach(variance: float, freedom: int) -> float:
    """Return half the width of Student's 95 % interval of an estimate with this variance and degrees of freedom."""
    return float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(variance)


def geometric_mean(values: Sequence[float]) -> Bounded:
    """Return the geometric mean of independent positive values, with Student's interval from their logarithms."""
    logs = np.log(values)
    mean, count = float(logs.mean()), len(logs)
    reach = student_reach(float(logs.var(ddof=1)) / count, count - 1) if count > 1 else math.nan
    return Bounded(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def expected_hits(draws: int, keys: int, chosen: int = 1) -> Bounded:
    """Return the expected number of hits on `chosen` of `keys` keys in `draws` random draws, with its 95 % interval."""
    probability = min(1.0, chosen / keys)
    low, high = binom.ppf([TAIL, 1 - TAIL], draws, probability)
    return Bounded(draws * probability, float(low), float(high))


FEWEST_BATCHES = 5
FEWEST_SLOWER = 5  # with so many slower requests a value's effective sample size also limits those of higher values
TAIL = (1 - CONFIDENCE) / 2
#: A second causes a high percentile if it has over this share of the slower requests and its removal halves the value.
MADE_BY = 0.5

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)  # without slots, for the cached properties
class Blocks:
    """The latencies of a load: one histogram for each block (a short piece of the load's time)."""

    t_s: Floats  # the beginning of every block
    values_us: Floats  # latencies, ascending
    counts: Counts  # [i, j]: the requests of block i that took values_us[j]
    #: Results of `bounds` so far, by level (0..1), since one takes ten milliseconds and a report needs hundreds.
    known: dict[float, tuple[float, float]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def totals(self) -> Counts:
        """The number of requests in each block."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def total(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def slower(self) -> Counts:
        """The number of requests in block `i` that took longer than `values_us[j]`, as an array `[i, j]`."""
        return np.asfortranarray(self.totals[:, None] - self.counts.cumsum(axis=1))

    @cached_property
    def ranks(self) -> Counts:
        """The number of requests that took at most `values_us[j]`, as an array `[j]`."""
        return np.asarray(self.counts.sum(axis=0).cumsum())

    def index(self, level: float) -> int:
        """Return the index in `values_us` of the percentile `level` (0..1)."""
        return int(np.searchsorted(self.ranks, rank(self.total, level)))

    def percentile(self, level: float) -> float:
        return float(self.values_us[self.index(level)])


@once_a_step
def blocks_of(step: Step) -> Blocks | None:
    """Return the response times of a step as a histogram per block of time; None if no histograms were recorded."""
    frame = step.frames["histograms"]
    if frame.empty:
        return None
    times, rows = np.unique(frame["t_s"].to_numpy(float), return_inverse=True)
    values, columns = np.unique(frame["value_us"].to_numpy(float), return_inverse=True)
    counts = np.zeros((len(times), len(values)), np.int64)
    np.add.at(counts, (rows, columns), frame["count"].to_numpy(np.int64))
    return Blocks(times, values, counts)


def design_effect(over: Counts, totals: Counts) -> float:
    """Return the factor by which dependence between requests raises the variance of sum(over) / sum(totals), or NaN.

    `over`, `totals`: by block of time, the numbers of requests above a threshold and of all requests. The variance is
    estimated by batch means and extrapolated to longer batches by the lugsail (D. Vats, J. Flegal, 2022, Biometrika
    109). The factor is at least 1. It is NaN with too few blocks, or if none or all of the requests are above.
    """
    share = over.sum() / totals.sum()
    if not 0 < share < 1 or len(over) < FEWEST_BATCHES:
        return math.nan
    independent = share * (1 - share) / totals.sum()
    worst, length, shorter = 1.0, 1, math.nan
    while len(over) // length >= FEWEST_BATCHES:
        batches = len(over) // length
        joined = [part[: batches * length].reshape(batches, length).sum(axis=1) for part in (over, totals)]
        variance = share_variance(joined[0], joined[1])
        extrapolated = variance.value if length == 1 else max(variance.value, 2 * variance.value - shorter)
        worst = max(worst, extrapolated / independent * t_factor(variance.degrees))
        shorter = variance.value
        length *= 2
    return worst


def _share_and_effective_size(blocks: Blocks, column: int) -> tuple[float, float]:
    over = blocks.slower[:, column]
    return over.sum() / blocks.total, blocks.total / design_effect(over, blocks.totals)


def bounds(blocks: Blocks, level: float) -> tuple[float, float]:
    """Return (low, high) in us, the 95 % interval of percentile `level` (0..1) by binomial tests; NaN if unknown."""
    if len(blocks.t_s) < FEWEST_BATCHES or len(blocks.values_us) < 2 or not 0 < level < 1:
        return math.nan, math.nan
    if level not in blocks.known:
        blocks.known[level] = _low(blocks, level), _high(blocks, level)
    return blocks.known[level]


def _low(blocks: Blocks, level: float) -> float:
    """Return the lowest value in us that is not significantly below the percentile `level` (0..1); NaN if unknown."""
    expected = 1 - level

    def too_low(column: int) -> bool:
        share, independent = _share_and_effective_size(blocks, column)
        slower = share * independent
        return bool(betainc(slower, independent - slower + 1, expected) < TAIL)

    low = bisect_left(range(blocks.index(level)), True, key=lambda column: not too_low(column))
    bounded = low > 0 or expected ** _share_and_effective_size(blocks, 0)[1] < TAIL
    return float(blocks.values_us[low]) if bounded else math.nan


def _high(blocks: Blocks, level: float) -> float:
    """Return the lowest value in us that is significantly above the percentile `level` (0..1); NaN if there is none.

    A value's effective sample size is limited to that of lower values with at least FEWEST_SLOWER slower requests: the
    last requests of a stall look independent, but are not.
    """
    expected, last = 1 - level, len(blocks.values_us) - 1
    effective_of_all = math.inf

    def too_high(column: int) -> bool:
        share, independent = _share_and_effective_size(blocks, column) if column < last else (0.0, math.inf)
        independent = min(independent, effective_of_all)
        slower = share * independent
        return bool(betainc(slower + 1, independent - slower, expected) > 1 - TAIL)

    before = column = min(blocks.index(level), last - 1)
    while column < last and not too_high(column):
        share, independent = _share_and_effective_size(blocks, column)
        if share * blocks.total >= FEWEST_SLOWER:
            effective_of_all = min(effective_of_all, independent)
        before, column = column, min(max(blocks.index(1 - share / 2), column + 1), last)
    if column == last and not too_high(last):
        return math.nan
    return float(blocks.values_us[bisect_left(range(before, column), True, key=too_high) + before])


def interval(step: Step, level: float, recorded: Bounded) -> Bounded:
    """Return `recorded` with its interval widened for dependent requests; unchanged without enough histograms.

    `recorded`: the latency in us at percentile `level` (0..1), with the interval for independent requests.
    """
    blocks = blocks_of(step)
    if blocks is None or len(blocks.t_s) < FEWEST_BATCHES or not 0 < level < 1:
        return recorded
    low, high = bounds(blocks, level)
    ends = np.min([low, recorded.low, recorded.value]), np.max([high, recorded.high, recorded.value])  # NaN if one is
    return replace(recorded, low=float(ends[0]), high=float(ends[1]))


def with_bounds(step: Step) -> Step:
    """Return a copy of a step; in it, percentiles of response times have the intervals that `interval` gives."""
    rows = step.frames["percentiles"].copy()
    for at, row in rows[rows["kind"] == "response"].iterrows():
        recorded = Bounded(float(row["value_us"]), float(row["low_us"]), float(row["high_us"]))
        bounded = interval(step, float(row["percentile"]), recorded)
        rows.loc[at, ["low_us", "high_us"]] = bounded.low, bounded.high
    return replace(step, frames={**step.frames, "percentiles": rows})


def without_its_second(step: Step, level: float) -> float | None:
    """Return percentile `level` (0..1) in us, leaving out a second that more than doubled it; None if no second did."""
    blocks = blocks_of(step)
    if blocks is None or len(blocks.t_s) < FEWEST_BATCHES:
        return None
    beyond = blocks.counts[:, max(0, blocks.index(level)) :].sum(axis=1)
    seconds = [(blocks.t_s >= at_s) & (blocks.t_s < at_s + 1.0) for at_s in blocks.t_s]
    caught = [int(beyond[second].sum()) for second in seconds]
    worst = seconds[int(np.argmax(caught))]
    if worst.all() or max(caught) <= MADE_BY * beyond.sum():
        return None
    without_us = Blocks(blocks.t_s[~worst], blocks.values_us, blocks.counts[~worst]).percentile(level)
    return without_us if without_us < MADE_BY * blocks.percentile(level) else None
