"""Quantities that are compared, the change of one from a baseline to a treatment, and both in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_ind

from runners.analysis import facts
from runners.readers import write
from runners.readers.run import Step

ALPHA = 0.05
RESOLUTION = 0.001  # a histogram of three digits
LEAST_US = 0.5  # half of the smallest unit
#: A ratio that may be five times as large as it is tells a direction at most.
WIDEST = 4.0
#: A bound this many times as large as the baseline is written as a factor.
FACTOR_FROM = 9.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is compared.

    `higher` and `lower` are what is said of a treatment that has more or less of it than the baseline; a time needs
    none, its treatment is slower or faster.
    """

    name: str
    label: str
    unit: str
    lower_is_better: bool = True
    higher: str = ""
    lower: str = ""


QUANTITIES = (
    Quantity("p50_us", "p50", "us"),
    Quantity("p90_us", "p90", "us"),
    Quantity("p99_us", "p99", "us"),
    Quantity("p999_us", "p99.9", "us"),
    Quantity(
        "closed_loop_rps", "closed-loop rate", "rps", lower_is_better=False,
        higher="has a higher closed-loop rate", lower="has a lower closed-loop rate",
    ),
    Quantity(
        "cpu_us", "CPU per request", "us", higher="takes more CPU per request", lower="takes less CPU per request"
    ),
)  # fmt: skip
#: With a quantity's values may come what they are at most, under its name and this.
AT_MOST = " at most"
LEVELS = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}  # those that are percentiles


class Verdict(StrEnum):
    """What a comparison says of a treatment against the baseline."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "the same within the margin"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of one treatment against the baseline: their ratio with its 95 % interval, and the verdict.

    The values are geometric means over so many `starts` (or runs, or rounds), of the loads alone where there are any.
    `spill_over`: ratio and verdict are theirs too, as the shared schedule contradicts them. `starts_needed`: how many
    would decide it, None where it is decided or can't be said. `machine`: why a difference is not the treatments'.
    `inside`: sides that lie within the instrument's floor, which the treatment's value is at most then.
    """

    quantity: Quantity
    baseline: str
    treatment: str
    ratio: float
    low: float
    high: float
    verdict: Verdict
    baseline_value: float
    treatment_value: float
    starts: int
    starts_needed: int | None = None
    spill_over: bool = False
    machine: str = ""
    inside: frozenset[str] = frozenset()

    @property
    def decided(self) -> bool:
        """Whether the treatment differs from the baseline."""
        return self.verdict in (Verdict.HIGHER, Verdict.LOWER) and not self.machine

    @property
    def better(self) -> bool:
        """Whether it differs for the better."""
        return self.decided and (self.verdict == Verdict.LOWER) == self.quantity.lower_is_better

    @property
    def said(self) -> str:
        """The verdict in a word: faster or slower of a time, higher or lower of anything else."""
        if self.decided and "cpu_us" not in self.quantity.name and self.quantity.unit == "us":
            return "faster" if self.better else "slower"
        return "not compared" if self.machine else self.verdict.value

    @property
    def change(self) -> str:
        """The relative change with its interval; the nearer bound where the lower side may be lower than it reads."""
        if not (self.decided and self.inside):
            return changed(self.ratio - 1, self.low - 1, self.high - 1)
        if self.verdict == Verdict.LOWER:
            return f"at least {signed(self.high - 1)}"
        far = self.low - 1 > FACTOR_FROM
        return f"at least {f'{factor(self.low)} the baseline' if far else signed(self.low - 1)}"

    def pair(self, *, named: bool = False) -> str:
        """Return the values of both, the treatment's first; within the instrument's floor a value is an upper bound."""
        sides = ((self.treatment, self.treatment_value), (self.baseline, self.baseline_value))
        return " against ".join(
            (f"{facts.engine_name(name)} " if named else "")
            + ("at most " if name in self.inside else "")
            + absolute(self.quantity, value)
            for name, value in sides
        )

    def sentence(self, margin: float, unit: str = "start") -> str:
        """Return the row in words, to begin a sentence or to follow a colon; `unit` is what was repeated."""
        a, b = facts.engine_name(self.baseline), facts.engine_name(self.treatment)
        label, found = self.quantity.label, f"{self.change}, {self.pair()}"
        more = self.quantity.higher if self.verdict == Verdict.HIGHER else self.quantity.lower
        if self.machine:
            text = f"the {label} of {b} and {a} are not compared: {self.machine}"
        elif self.decided:
            does = f"{more} than {a}" if more else f"is {self.said} than {a} in {label}"
            text = f"{b} {does}: {found}"
        elif self.verdict == Verdict.SAME:
            text = f"{b} and {a} are the same in {label} within {write.given_share(margin)}: {found}"
        else:
            text = f"it is inconclusive whether {b} and {a} differ in {label}: {found}"
        text += "; spill-over: the shared schedule contradicts the loads alone, which count" if self.spill_over else ""
        return f"{text}; {write.several(self.starts, unit)} of each"

    def as_json(self) -> dict[str, object]:
        """Return the row as plain JSON values; what is not finite becomes null."""
        numbers = ("ratio", "low", "high", "baseline_value", "treatment_value")
        return {
            "quantity": self.quantity.name, "unit": self.quantity.unit,
            "lower_is_better": self.quantity.lower_is_better, "baseline": self.baseline, "treatment": self.treatment,
            "verdict": self.verdict.value, **{name: write.finite(getattr(self, name)) for name in numbers},
            "starts": self.starts, "starts_needed": self.starts_needed, "not_compared": self.machine,
            "inside": ",".join(sorted(self.inside)),
        }  # fmt: skip


def of_step(step: Step) -> dict[str, float]:
    """Return what is compared, of one load: latencies in microseconds, NaN where not recorded or without an end.

    What a latency is at most comes with it: requests without a response may leave that open.
    """
    found = {}
    for name, level in LEVELS.items():
        value, most_us = facts.at(step, level), facts.most_us(step, level)
        found[name] = value.value if value is not None and math.isfinite(most_us) else math.nan
        found[name + AT_MOST] = most_us
    telemetry, achieved = step.frames["telemetry"], facts.achieved_rps(step)
    cores = float(telemetry["server_cpu_cores"].mean()) if not telemetry.empty else math.nan
    found["cpu_us"] = cores / achieved * 1e6 if achieved > 0 else math.nan
    return found


def resolution(quantity: Quantity, left: Floats, right: Floats) -> float:
    """Return what a histogram can't tell apart in a quantity, as a logarithm."""
    least = float(min(left.mean(), right.mean()))
    return RESOLUTION + (LEAST_US / least if quantity.unit == "us" and quantity.name != "cpu_us" else 0.0)


def welch_half(a: Floats, b: Floats, level: float) -> float:
    """Half of Welch's interval of the difference of two means."""
    if a.std() == b.std() == 0:
        return 0.0
    bounds = ttest_ind(a, b, equal_var=False).confidence_interval(1 - level)
    return float(bounds.high - bounds.low) / 2


def signed(share: float) -> str:
    """Return a share with its sign: +3.10 %; what is rounded to zero has none."""
    text = write.percent(share)
    return f"+{text}" if share > 0 and text.strip("0. %\u00a0") else text


def changed(share: float, low: float, high: float) -> str:
    """Give a relative effect with its interval: +41.0 % (+33.0 % to +49.0 %); of a wide one the nearer bound alone."""
    if bound := one_sided(low, high):
        return bound
    if not (write.known(low) and write.known(high)):
        return f"{signed(share)} (not bounded)"
    if high > WIDEST and low > 0:
        return f"at least {f'{factor(1 + low)} the baseline' if low > FACTOR_FROM else signed(low)}"
    return f"{signed(share)} ({signed(low)} to {signed(high)})"


def one_sided(low: float, high: float) -> str:
    """Return a relative effect that is open above (infinite) or below (all is lost): at least 20.0 % higher; else
    empty.
    """
    below, above = low <= -1, high == math.inf
    if below and above:
        return "not bounded on either side"
    if above:
        return f"at least {write.percent(low)} higher" if low > 0 else f"at least {signed(low)}"
    if below:
        return f"at least {write.percent(-high)} lower" if high < 0 else f"at most {signed(high)}"
    return ""


def factor(times: float) -> str:
    """Return a large ratio as a factor: 26 times."""
    return f"{write.count(times)} times" if times >= 10 else f"{times:.2g} times"


def absolute(quantity: Quantity, value: float) -> str:
    """Return a value in its unit."""
    if quantity.unit == "count":
        return write.number(value)
    unit = {"rps": write.rate, "bytes": write.size}.get(quantity.unit, write.latency)
    return unit(value)
