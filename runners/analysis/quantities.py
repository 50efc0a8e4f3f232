"""Quantities to compare, the change of a quantity from a baseline to a treatment, and both as text."""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from scipy.stats import ttest_ind

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, Direction, Floats, direction
from runners.analysis.tables import TABLES
from runners.design.block import FEWEST_STARTS
from runners.design.objective import CPU, THROUGHPUT
from runners.readers.run import Step

ALPHA = 0.05
RESOLUTION = 0.001  # a histogram of three digits
LEAST_US = 0.5  # half of the smallest unit
#: A rise whose upper bound exceeds the relative change WIDEST is written as a multiple of the baseline; if the upper
#: bound is more than WIDE times the lower one, only the lower one is written.
WIDEST, WIDE = 4.0, 2.0
#: If the bound of a rise exceeds this relative change, texts give it as a factor of the baseline.
FACTOR_FROM = 1.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity by which servers are compared, such as p99 or CPU time per request."""

    name: str
    label: str
    unit: str  # us, rps, bytes or count
    lower_is_better: bool = True
    level: float | None = field(default=None, repr=False)  # of a percentile (0..1); None for other quantities
    column: str = field(default="response_us", repr=False)  # of the `requests` frame, for a percentile

    @property
    def is_latency(self) -> bool:
        return self.unit == "us" and "cpu" not in self.name


#: CPU time per request: of background threads (compilers, collectors, flushes, compaction) if known; of all threads.
BACKGROUND_CPU, ALL_CPU = "background_cpu_us", "all_cpu_us"
MEMORY, DISK = "rss_bytes", "disk_bytes"


def _quantities(part: str) -> tuple[Quantity, ...]:
    return tuple(Quantity(name, **fields) for name, fields in TABLES["quantities"][part].items())


#: Counters of the kernel and the JVM per request, and the quantities that are compared for loads on one server.
COUNTED, OF_LOADS = _quantities("counted"), _quantities("loads")
QUANTITIES = {quantity.name: quantity for part in TABLES["quantities"] for quantity in _quantities(part)}
#: CPU time of the request threads, where it is known separately from the CPU time of background threads.
RESPONDING_CPU = Quantity(CPU, "handling CPU per request", "us")


class Reason(StrEnum):
    """A reason why a quantity was measured but is not compared; comments say what the `amounts` of a Refusal are."""

    WITHIN_FLOOR = "within the instrument's floor"
    NO_REFERENCE = "no reference target"
    GENERATOR_LIMITED = "generator at its limit"
    GENERATOR_LATE = "generator late"  # the percentile (0..100) up to which the generator was on time
    JIT_UNFINISHED = "JIT compilation unfinished"
    NEVER_STEADY = "never steady"  # the seconds of the load
    MACHINE = "machine"  # the number of repeats in which the machine made the tail, and of all repeats
    FAILED = "failed responses"  # the share of failed requests
    CONTROL = "control differs"  # the control's relative change


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason why a quantity is not compared, with the numbers behind it."""

    reason: Reason
    side: str = ""  # that the reason concerns; empty: both
    amounts: tuple[float, ...] = ()  # as the comment on the reason says
    causes: tuple[tuple[str, float | None], ...] = ()  # of the machine: (name, share of the tail)


@dataclass(frozen=True, slots=True)
class Row:
    """The comparison of a treatment with the baseline in one quantity."""

    quantity: Quantity
    baseline: str
    treatment: str
    ratio: float  # treatment / baseline, with its 95 % interval
    low: float
    high: float
    direction: Direction
    baseline_value: float  # geometric mean over the starts, or runs
    treatment_value: float  # like baseline_value
    starts: int  # number of starts, or runs
    starts_needed: int | None = None  # that a verdict needs; None: it has one already, or unknown
    spill_over: bool = False  # from loads on one server alone, as they contradict the shared load
    refused: tuple[Refusal, ...] = ()
    at_most: frozenset[str] = frozenset()  # sides with an upper bound: within the instrument floor
    at_least: frozenset[str] = frozenset()  # sides with a lower bound: the generator limited them
    sampled: bool = False  # the interval covers one load's requests, no run-to-run variability

    @property
    def relative(self) -> Bounded:
        """The relative change: 0.02 is 2 % more than the baseline."""
        return Bounded(self.ratio, self.low, self.high).less(1)

    @property
    def decided(self) -> bool:
        """Whether the treatment differs from the baseline, and `refused` is empty."""
        return self.direction in (Direction.HIGHER, Direction.LOWER) and not self.refused

    @property
    def inconclusive(self) -> bool:
        return self.direction == Direction.INCONCLUSIVE or bool(self.refused)

    @property
    def better(self) -> bool:
        """Whether the row is decided and the treatment is the better side."""
        return self.decided and (self.direction == Direction.LOWER) == self.quantity.lower_is_better

    @property
    def change(self) -> str:
        """The relative change as text: with its interval, or as `at least 12 % lower` if a side's value is a bound."""
        if not (self.decided and (self.at_most or self.at_least)):
            return changed(self.ratio - 1, self.low - 1, self.high - 1)
        if self.direction == Direction.LOWER:
            return f"at least {words.percent(1 - self.high)} lower"
        return at_least(self.low - 1)

    def text(self, side: str) -> str:
        """Return as text the value of `side`, the treatment or the baseline; a bound begins `at most` or `at least`."""
        bound = "at most " if side in self.at_most else "at least " if side in self.at_least else ""
        value = self.baseline_value if side == self.baseline else self.treatment_value
        return f"{bound}{absolute(self.quantity, value)}"

    @property
    def sides(self) -> tuple[str, ...]:
        """The treatment, then the baseline, as texts: name and value."""
        return tuple(f"{facts.engine_name(side)} {self.text(side)}" for side in (self.treatment, self.baseline))

    @property
    def pair(self) -> str:
        return " against ".join(self.sides)

    @property
    def turned(self) -> Self:
        """The comparison of the baseline with the treatment."""
        turned = {Direction.HIGHER: Direction.LOWER, Direction.LOWER: Direction.HIGHER}
        return replace(
            self, baseline=self.treatment, treatment=self.baseline,
            baseline_value=self.treatment_value, treatment_value=self.baseline_value,
            ratio=1 / self.ratio, low=1 / self.high, high=1 / self.low if self.low else math.inf,
            direction=turned.get(self.direction, self.direction),
        )  # fmt: skip

    def as_json(self) -> dict[str, object]:
        """Return the row as plain JSON values; numbers that are not finite become null."""
        numbers = ("ratio", "low", "high", "baseline_value", "treatment_value")
        return {
            "quantity": self.quantity.name, "unit": self.quantity.unit,
            "lower_is_better": self.quantity.lower_is_better, "baseline": self.baseline, "treatment": self.treatment,
            "verdict": self.direction.value, **{name: words.finite(getattr(self, name)) for name in numbers},
            "starts": self.starts, "starts_needed": self.starts_needed,
            "not_compared": "; ".join(dict.fromkeys(refusal.reason.value for refusal in self.refused)),
            "at_most": sorted(self.at_most), "at_least": sorted(self.at_least),
        }  # fmt: skip


def value_of(step: Step, quantity: Quantity) -> float:
    """Return a percentile (us), rate (1/s) or CPU time per request (us) of a load; NaN if unknown or only a bound."""
    if quantity.level is not None:
        value = facts.at(step, quantity.level)
        return value.value if value is not None and value.value == facts.most_us(step, quantity.level) else math.nan
    return facts.achieved_rps(step) if quantity.name == THROUGHPUT else facts.cpu_us(step)


def welch(
    quantity: Quantity, names: tuple[str, str], a: Floats, b: Floats, level: float, margin: float, blur: float
) -> Row:
    """Return the comparison of two groups of independent runs, by Welch's interval (B. Welch, 1947, Biometrika 34).

    `names`: of baseline and treatment. `a`, `b`: logarithms of the quantity in their runs. `level`: significance level,
    0.05 for a 95 % interval. `margin`: the smallest relative change that matters. `blur`: resolution of the logarithms,
    added at both ends. With one run in a group the bounds are NaN.
    """
    change, count, half = float(b.mean() - a.mean()), min(len(a), len(b)), math.nan
    if count > 1:
        half = blur
        if not a.std() == b.std() == 0:
            bounds = ttest_ind(a, b, equal_var=False).confidence_interval(1 - level)
            half += float(bounds.high - bounds.low) / 2
    low, high = (math.exp(change - half), math.exp(change + half)) if half < 10 else (math.nan, math.nan)
    side = direction(Bounded(math.expm1(change), low - 1, high - 1), margin)
    needed = starts_needed(change, half, count, margin) if side == Direction.INCONCLUSIVE else None
    values = math.exp(a.mean()), math.exp(b.mean())
    return Row(quantity, *names, math.exp(change), low, high, side, *values, count, needed)


def starts_needed(change: float, half: float, starts: int, margin: float) -> int | None:
    """Return how many fresh starts would show that a change is not zero or is within `margin`; None if unknown.

    `change`: the change of the logarithm that `starts` starts have measured; `half`: half the width of its interval.
    `margin`: the smallest relative change that matters.
    """
    wanted = max(abs(change), math.log1p(margin) - abs(change))
    if not (math.isfinite(half) and wanted > 0):
        return None
    return max(FEWEST_STARTS, starts + 1, math.ceil(starts * (half / wanted) ** 2))


def signed(share: float) -> str:
    """Return a share with its sign as text: +3.10 %; a share that rounds to zero has no sign."""
    text = words.percent(share)
    return f"+{text}" if share > 0 and text.strip("0. %\u00a0") else text


def changed(share: float, low: float, high: float) -> str:
    """Return a relative change as text: +41 % (+33 to +49), 5.9 times (5.6 to 6.2), or only a bound."""
    below, above = low <= -1, high == math.inf
    if below and above:
        return "not bounded on either side"
    if above:
        return at_least(low) if low > 0 else f"at least {signed(low)}"
    if below:
        return f"at least {words.percent(-high)} lower" if high < 0 else f"at most {signed(high)}"
    if not (words.known(low) and words.known(high)):
        return f"{signed(share)} (not bounded)"
    if high <= WIDEST or low <= 0:
        return words.change_interval(share, low, high)
    if 1 + high > WIDE * (1 + low):
        return at_least(low)
    least, most = (factor(1 + side).removesuffix(" times") for side in (low, high))
    return f"{factor(1 + share)} ({least} to {most})"


def at_least(share: float) -> str:
    """Return a lower bound of a rise as text: at least 20.0 % higher, at least 12 times as much."""
    times = f"{factor(1 + share)} as much" if share > FACTOR_FROM else f"{words.percent(share)} higher"
    return f"at least {times}"


def factor(times: float) -> str:
    """Return a ratio as text: 26 times."""
    return f"{words.count(times)} times" if times >= 10 else f"{times:.2g} times"


def absolute(quantity: Quantity, value: float) -> str:
    """Return a value of a quantity as text, with its unit."""
    units = {"count": words.number, "rps": words.rounded_rate, "bytes": words.size}
    return units.get(quantity.unit, words.latency)(value)
