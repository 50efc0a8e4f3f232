"""Bound a count, a difference or a percentile by its 95 % interval, each with its source and what it assumes.

A percentile has that of the effective number of independent requests in a step. Requests close to each other share
their fate: one stall holds up hundreds. Order-statistic bounds count each request as if it were alone,
and are then far too narrow. Here the intervals of the log are joined to batches of 1, 2, 4, … intervals
(`readers.batch_means`), the share of requests beyond the percentile is taken in each, and the variance of its mean is
compared with what independent requests would give. The largest such ratio, the design effect, over all batch lengths
that leave at least five batches counts: if neighbouring batches are still alike, longer ones tell, and what they add to
those half as long is added once more for what still longer ones would (lugsail: D. Vats and J. Flegal, 2022, *Lugsail
lag windows for estimating time-average covariance matrices*, Biometrika 109).

The effective sample is the number of requests over that effect. A value lies within the bounds of a percentile unless
the exact binomial (Clopper-Pearson) bounds of the share of requests slower than it, for as many requests as tell on
that share, exclude what the percentile asks (inverted tests: C. Francisco and W. Fuller, 1991, *Quantile estimation
with a complex survey design*, Annals of Statistics 19). The dependence is taken at each value that is tried, not at the
percentile: the few stalls beyond a percentile may be all of its uncertainty, and are hardly seen among the requests at
it. A side is open where even the slowest request is not excluded. scipy's `binomtest` takes whole trials only, and an
effective number of requests is none, so the bounds come from the regularised incomplete beta function that it uses
itself.

What it assumes: what happens in the run happens in others too, and dependence is short against a fifth of it. One run
can't tell of an event that it did not see.
"""

from __future__ import annotations

import math
import weakref
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import betainc
from scipy.stats import binom, t

from runners import words
from runners.readers.batch_means import CONFIDENCE, share_variance
from runners.readers.console_report import rank
from runners.readers.run import Step


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value and the bounds of its 95 % interval; NaN where there is none. `at_least`: the value is a lower bound."""

    value: float
    low: float = math.nan
    high: float = math.nan
    at_least: bool = False

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def holds_zero(self) -> bool:
        """Whether a difference is inconclusive: its interval is known and contains zero."""
        return self.bounded and self.low <= 0 <= self.high

    @property
    def sign(self) -> int:
        """The side of zero on which a difference lies: 1 or -1; 0 where it holds zero or is not known to be on one."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def as_share(self) -> str:
        """A share of 1 in words: 26.6 % (24.7-28.6)."""
        return words.percent_interval(self.value, self.low, self.high)

    def less(self, amount: float) -> Bounded:
        """Return the value and its bounds, less an amount."""
        return Bounded(self.value - amount, self.low - amount, self.high - amount, self.at_least)

    def apart_from(self, other: Bounded) -> bool | None:
        """Return whether the two intervals do not overlap; None where a bound that decides it is not known."""
        if self.low > other.high or self.high < other.low:
            return True
        return False if self.bounded and other.bounded else None


class Direction(StrEnum):
    """On which side of zero a difference lies."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "the same within the margin"
    INCONCLUSIVE = "inconclusive"


def direction(change: Bounded, margin: float = 0.0) -> Direction:
    """Return the direction of a difference, by its interval; it is inconclusive where a bound is not known.

    `margin`, in the unit of the difference: the smallest one that would matter.
    """
    if not change.bounded:
        return Direction.INCONCLUSIVE
    if -margin <= change.low and change.high <= margin:
        return Direction.SAME
    return {1: Direction.HIGHER, -1: Direction.LOWER}.get(change.sign, Direction.INCONCLUSIVE)


def difference(a: Bounded, b: Bounded) -> Bounded:
    """Return a - b with an interval recovered from those of a and b, which must come from separate measurements.

    The method of variance estimates recovery: G. Zou and A. Donner, 2008, *Construction of confidence limits about
    effect measures*, Statistics in Medicine 27. It needs no normality, only good limits of each part. A side that
    needs a limit that is not known is NaN. scipy's intervals of a difference need the samples; here there are limits.
    """
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return Bounded(value, low, high)


def student_reach(variance: float, freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return half the width of Student's interval, by a variance that is known with `freedom` degrees of freedom.

    scipy's `ttest_1samp(...).confidence_interval()` was looked at: it is of the mean of independent values alone. Here
    the variance may be that of dependent seconds, of a difference, or of the next value.
    """
    return float(t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(variance)


def geometric_mean(values: Sequence[float]) -> Bounded:
    """Estimate the geometric mean of independent positive values, with Student's interval of their logarithms."""
    logs = np.log(values)
    mean, count = float(logs.mean()), len(logs)
    reach = student_reach(float(logs.var(ddof=1)) / count, count - 1) if count > 1 else math.nan
    return Bounded(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def expected_hits(draws: int, keys: int, chosen: int = 1) -> Bounded:
    """Return how often `chosen` of `keys` equally likely keys occur in `draws` independent draws (binomial)."""
    probability = min(1.0, chosen / keys)
    low, high = binom.ppf([TAIL, 1 - TAIL], draws, probability)
    return Bounded(draws * probability, float(low), float(high))


FEWEST_BATCHES = 5
FEWEST_SLOWER = 5  # requests from which on their dependence is carried outwards
TAIL = (1 - CONFIDENCE) / 2
#: A second makes a percentile when most of what lies beyond it came in that second, and it falls this far without it.
MADE_BY = 0.5

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Latencies by stretch of time: `counts[i, j]` requests of `values_us[j]` in the stretch that began at `t_s[i]`."""

    t_s: npt.NDArray[np.float64]
    values_us: npt.NDArray[np.float64]
    counts: Counts

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def index(self, level: float) -> int:
        """Return the place of a percentile in `values_us`."""
        return int(np.searchsorted(np.cumsum(self.counts.sum(axis=0)), rank(self.total, level)))

    def percentile(self, level: float) -> float:
        return float(self.values_us[self.index(level)])


_kept: dict[int, tuple[weakref.ref[pd.DataFrame], Blocks]] = {}


def blocks_of(step: Step) -> Blocks | None:
    """Return the response times of a step by stretch of time; None where only percentiles were recorded."""
    frame = step.frames.get("histograms")
    if frame is None or frame.empty:
        return None
    kept = _kept.get(id(frame))
    if kept is not None and kept[0]() is frame:
        return kept[1]
    times, rows = np.unique(frame["t_s"].to_numpy(float), return_inverse=True)
    values, columns = np.unique(frame["value_us"].to_numpy(float), return_inverse=True)
    counts = np.zeros((len(times), len(values)), np.int64)
    np.add.at(counts, (rows, columns), frame["count"].to_numpy(np.int64))
    blocks = Blocks(times, values, counts)
    key = id(frame)
    _kept[key] = (weakref.ref(frame, lambda _: _kept.pop(key, None)), blocks)
    return blocks


def design_effect(over: Counts, totals: Counts) -> float:
    """Return by how much the variance of a share exceeds that of independent requests; 1 or more.

    `over` of `totals` requests in each stretch of time, in order.
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
        worst = max(worst, extrapolated / independent * variance.raised_by)
        shorter = variance.value
        length *= 2
    return worst


def _beyond(blocks: Blocks, column: int) -> tuple[float, float]:
    """Return the share of requests slower than a value, and how many independent requests would tell as much on it."""
    over = blocks.counts[:, column + 1 :].sum(axis=1)
    return over.sum() / blocks.total, blocks.total / design_effect(over, blocks.counts.sum(axis=1))


def bounds(blocks: Blocks, level: float) -> tuple[float, float]:
    """Return the 95 % bounds of a percentile in microseconds; NaN on a side that the run does not bound."""
    if len(blocks.t_s) < FEWEST_BATCHES or len(blocks.values_us) < 2 or not 0 < level < 1:
        return math.nan, math.nan
    return _low(blocks, level), _high(blocks, level)


def _low(blocks: Blocks, level: float) -> float:
    """Return the lowest value that does not have more requests beyond it than it could have, were it the percentile."""
    expected = 1 - level

    def too_low(column: int) -> bool:
        share, independent = _beyond(blocks, column)
        slower = share * independent
        return bool(betainc(slower, independent - slower + 1, expected) < TAIL)

    low = bisect_left(range(blocks.index(level)), True, key=lambda column: not too_low(column))
    bounded = low > 0 or expected ** _beyond(blocks, 0)[1] < TAIL
    return float(blocks.values_us[low]) if bounded else math.nan


def _high(blocks: Blocks, level: float) -> float:
    """Return the lowest value that has fewer beyond it than it could have.

    On the way there the requests beyond are halved again and again, and never count for more than those before did:
    the last of a stall look as if they came alone.
    """
    expected, last = 1 - level, len(blocks.values_us) - 1
    effective_of_all = math.inf

    def too_high(column: int) -> bool:
        share, independent = _beyond(blocks, column) if column < last else (0.0, math.inf)
        independent = min(independent, effective_of_all)
        slower = share * independent
        return bool(betainc(slower + 1, independent - slower, expected) > 1 - TAIL)

    before = column = min(blocks.index(level), last - 1)
    while column < last and not too_high(column):
        share, independent = _beyond(blocks, column)
        if share * blocks.total >= FEWEST_SLOWER:
            effective_of_all = min(effective_of_all, independent)
        before, column = column, min(max(blocks.index(1 - share / 2), column + 1), last)
    if column == last and not too_high(last):
        return math.nan
    return float(blocks.values_us[bisect_left(range(before, column), True, key=too_high) + before])


def interval(step: Step, level: float, recorded: Bounded) -> Bounded:
    """Return a recorded percentile with the bounds of its effective sample; unchanged without a log."""
    blocks = blocks_of(step)
    if blocks is None or len(blocks.t_s) < FEWEST_BATCHES or not 0 < level < 1:
        return recorded
    low, high = bounds(blocks, level)
    return Bounded(
        recorded.value,
        min(low, recorded.low, recorded.value) if math.isfinite(low + recorded.low) else math.nan,
        max(high, recorded.high, recorded.value) if math.isfinite(high + recorded.high) else math.nan,
        recorded.at_least,
    )


def without_its_second(step: Step, level: float) -> float | None:
    """Return what a percentile is without the one second that makes it, in microseconds; None where no second does."""
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
