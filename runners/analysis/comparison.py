"""Two settings, measured in rounds: how much do they differ, and may the measuring stop?

**What is compared.** Each round measures both settings, one after the other, so what is slow today is slow for both.
The logarithm of B over A is taken for each round and averaged over rounds: the typical run's ratio. A percentile is
always one run's own, of its whole histogram. What differs between runs (the heap's layout, JIT, the neighbours) is
what counts, and it is larger than what differs within one; so rounds are the units, resampled whole (T. Kalibera and R.
Jones, 2013, *Rigorous benchmarking in reasonable time*, ISMM; A. Davison and D. Hinkley, 1997, *Bootstrap Methods and
their Application*, section 3.8: of nested samples resample the outermost).

**The interval** is the symmetric studentised bootstrap's (P. Hall, 1988, *On symmetric bootstrap confidence intervals*,
JRSS B 50), and never narrower than Student's. A difference of two runs drawn alike is symmetric, whatever a
percentile's own distribution is, which suits both. It is widened by what the histogram can't tell apart: 0.1 %, half a
microsecond.

**Looking after each round** would find a difference sooner or later where there is none. So the 5 % are spent over the
planned rounds (see analysis.sequential), and the intervals are valid whenever one stops. Several quantities share the
5 % equally (Bonferroni).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

from runners.analysis.sequential import nominal_levels

ALPHA = 0.05
POWER = 0.9
FEWEST_ROUNDS = 4
LOOKS = 8  # at most: each costs a little of what can be seen
RESAMPLED = 4_000
FEWEST_FOR_BOOTSTRAP = 8
DEEPEST = 0.004  # below this level the resamples are too few, and Student's t stands alone
RESOLUTION = 0.001  # a histogram of three digits
LEAST_US = 0.5  # half of the smallest unit
_UNBOUNDED = 10.0  # in logarithms: such an interval says nothing

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
PRIMARY = "p99_us"
#: Beside a quantity's values may stand what they are at most, under its name and this: see `differences`.
AT_MOST = " at most"
LEVELS = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}  # those that are percentiles


class Verdict(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"  # a difference as large as asked for would have been seen
    UNSEEN = "unseen"  # not enough rounds to tell
    MACHINE = "machine"  # it can be seen, and is not the settings'


#: More rounds may tell.
UNDECIDED = (Verdict.UNSEEN, Verdict.MACHINE)


@dataclass(frozen=True, slots=True)
class Difference:
    """B against A in one quantity, as a share of A: 0.05 is 5 % more. The interval is a repeated one of `rounds`.

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


def looks(planned: int) -> tuple[int, ...]:
    """After which rounds one looks: evenly, the last one at the end of the plan."""
    first = min(max(FEWEST_ROUNDS, math.ceil(planned / 3)), planned)
    count = min(LOOKS, planned - first + 1)
    return tuple(sorted({round(first + (planned - first) * i / max(1, count - 1)) for i in range(count)} | {planned}))


def level_now(rounds: int, planned: int, alpha: float) -> float:
    """The level of the interval after so many rounds: that of the last look; between looks nothing new is spent."""
    known = nominal_levels(looks(planned), alpha)
    passed = [look for look in known if look <= rounds]
    return known[passed[-1]] if passed else known[min(known)]


def half_width(logs: Floats, level: float, seed: int = 1) -> float:
    """Half of the interval of the mean of `logs`, at a two-sided significance level."""
    count = len(logs)
    if count < 2:
        return math.inf
    error = float(logs.std(ddof=1)) / math.sqrt(count)
    factor = float(t.ppf(1 - level / 2, count - 1))
    if count >= FEWEST_FOR_BOOTSTRAP and level >= DEEPEST and error > 0:
        drawn = np.random.default_rng(seed).integers(0, count, (RESAMPLED, count))
        resampled = logs[drawn]
        errors = resampled.std(axis=1, ddof=1) / math.sqrt(count)
        usable = errors > 0
        ratios = np.abs(resampled.mean(axis=1) - logs.mean())[usable] / errors[usable]
        factor = max(factor, float(np.quantile(ratios, 1 - level)))
    return factor * error


def differences(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    planned: int,
    see: float,
    quantities: Sequence[Quantity] = QUANTITIES,
) -> list[Difference]:
    """Each of the quantities that both sides have in each round, `a[name][i]` and `b[name][i]` of round i.

    Requests without an answer leave a percentile between two values: then `a[name]` holds the lower ones, and the upper
    ones stand under `name + AT_MOST`. The interval holds those of both extremes, one side low and the other high.
    """
    shared = [
        q for q in quantities if _usable(a.get(q.name, ())) and _usable(b.get(q.name, ()))
    ]  # fmt: skip
    found = []
    for quantity in shared:
        left, left_most = _logarithms(a, quantity.name)
        right, right_most = _logarithms(b, quantity.name)
        count = min(len(left), len(right))
        level = level_now(count, max(planned, FEWEST_ROUNDS), ALPHA / len(shared))
        least, most = (right - left_most)[:count], (right_most - left)[:count]
        logs = (least + most) / 2
        apart = resolution(quantity, np.exp(left), np.exp(right))
        extremes = [least] if np.array_equal(least, most) else [least, most]
        halves = [half_width(each, level) + apart for each in extremes]
        means = [float(each.mean()) for each in extremes]
        known = max(halves) < _UNBOUNDED
        found.append(
            Difference(
                quantity,
                float(np.exp((left + left_most).mean() / 2)),
                float(np.exp((right + right_most).mean() / 2)),
                math.expm1(float(logs.mean())),
                math.expm1(min(map(operator.sub, means, halves))) if known else math.nan,
                math.expm1(max(map(operator.add, means, halves))) if known else math.nan,
                count,
                float(logs.std(ddof=1)) if count > 1 else math.nan,
                see,
            )
        )
    return found


def _logarithms(side: Mapping[str, Sequence[float]], name: str) -> tuple[Floats, Floats]:
    """Of a quantity's values, and of what they are at most."""
    values = np.log(np.array(side[name], float))
    return values, np.log(np.array(side[name + AT_MOST], float)) if name + AT_MOST in side else values


def _usable(values: Sequence[float]) -> bool:
    return len(values) > 0 and all(math.isfinite(value) and value > 0 for value in values)


def resolution(quantity: Quantity, left: Floats, right: Floats) -> float:
    """What a histogram can't tell apart in a quantity, as a logarithm."""
    least = float(min(left.mean(), right.mean()))
    return RESOLUTION + (LEAST_US / least if quantity.unit == "us" and quantity.name != "cpu_us" else 0.0)
