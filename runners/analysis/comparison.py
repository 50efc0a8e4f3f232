"""Quantities that are compared, and the difference of two treatments in one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

ALPHA = 0.05
POWER = 0.9
RESOLUTION = 0.001  # a histogram of three digits
LEAST_US = 0.5  # half of the smallest unit

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is compared. `lower_is_better` None: neither is."""

    name: str
    label: str
    unit: str
    lower_is_better: bool = True


QUANTITIES = (
    Quantity("p50_us", "p50", "us"),
    Quantity("p90_us", "p90", "us"),
    Quantity("p99_us", "p99", "us"),
    Quantity("p999_us", "p99.9", "us"),
    Quantity("closed_loop_rps", "closed-loop rate", "rps", lower_is_better=False),
    Quantity("cpu_us", "CPU per request", "us"),
)
#: Beside a quantity's values may stand what they are at most, under its name and this.
AT_MOST = " at most"
LEVELS = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}  # those that are percentiles


class Verdict(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"  # a difference as large as asked for would have been seen
    UNSEEN = "unseen"  # not enough rounds to tell
    MACHINE = "machine"  # it can be seen, and is not the settings'


@dataclass(frozen=True, slots=True)
class Difference:
    """B against A in one quantity, as a share of A: 0.05 is 5 % more, over so many `rounds` or runs of each.

    `machine`: why it is not told as the settings' (see machine_tail), or nothing.
    """

    quantity: Quantity
    a: float
    b: float
    share: float
    low: float
    high: float
    rounds: int
    spread: float  # standard deviation of the logarithm between rounds
    see: float
    machine: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.machine:
            return Verdict.MACHINE
        if self.low > 0:
            return Verdict.HIGHER
        if self.high < 0:
            return Verdict.LOWER
        within = -self.see < self.low and self.high < self.see
        return Verdict.NONE if within else Verdict.UNSEEN

    def more_rounds(self, count: int) -> int:
        """About how many more rounds would show a difference of `see`, nine times of ten, with `count` quantities."""
        least = math.log1p(self.see)
        needed = ((norm.ppf(1 - ALPHA / count / 2) + norm.ppf(POWER)) * self.spread / least) ** 2
        return max(0, math.ceil(float(needed)) - self.rounds)


def resolution(quantity: Quantity, left: Floats, right: Floats) -> float:
    """What a histogram can't tell apart in a quantity, as a logarithm."""
    least = float(min(left.mean(), right.mean()))
    return RESOLUTION + (LEAST_US / least if quantity.unit == "us" and quantity.name != "cpu_us" else 0.0)
