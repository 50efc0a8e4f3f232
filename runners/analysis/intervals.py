"""Intervals of counts and of differences, each with its source and what it assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import binom


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
        """Whether a difference can't be seen: its interval is known, and holds zero."""
        return self.bounded and self.low <= 0 <= self.high

    @property
    def sign(self) -> int:
        """The side of zero on which a difference lies: 1 or -1; 0 where it holds zero or is not known to be on one."""
        return int(self.low > 0) - int(self.high < 0)

    def apart_from(self, other: Bounded) -> bool | None:
        """Whether the two intervals do not overlap; None when what is known of them does not tell."""
        if self.low > other.high or self.high < other.low:
            return True
        return False if self.bounded and other.bounded else None


def difference(a: Bounded, b: Bounded) -> Bounded:
    """a - b with an interval recovered from those of a and b, which must come from separate measurements.

    The method of variance estimates recovery: G. Zou and A. Donner, 2008, *Construction of confidence limits about
    effect measures*, Statistics in Medicine 27. It needs no normality, only good limits of each part. A side that
    needs a limit that is not known is NaN.
    """
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return Bounded(value, low, high)


def expected_hits(draws: int, keys: int, chosen: int = 1, confidence: float = 0.95) -> Bounded:
    """How often `chosen` of `keys` equally likely keys occur in `draws` independent draws (binomial quantiles)."""
    probability = min(1.0, chosen / keys)
    tail = (1 - confidence) / 2
    low, high = binom.ppf([tail, 1 - tail], draws, probability)
    return Bounded(draws * probability, float(low), float(high))
