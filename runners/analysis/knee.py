"""The knee, the highest rate that meets an objective: estimated by short rate steps and confirmed by longer ones.

The curve of log(p99 / limit) crosses zero at the knee (see knee_curve; docs/0012-knee.md). Longer steps have a lower
knee than short ones, or the same one, with equal probability. If it is lower, the drop of its logarithm is exponential
with the mean DROP. A longer step shows if the knee lies above or below its rate, with an error that has Student's t
distribution. No knee lies above the rate of a closed loop over as many connections.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from runners import words
from runners.analysis.knee_curve import Curve, curve, student_below
from runners.analysis.rate_steps import DECIDED, RateStep, StepOutcome
from runners.design.objective import Objective

NEAR = 1.1  # a rate within this factor of an end of the range counts as that end
FIRST_SHARES = (0.25, 1.25)  # of what a closed loop reached
NEXT = (0.02, 0.98)  # of the posterior: between these quantiles the next rates lie
LEAST_SPAN = 0.06  # a batch covers at least so much of the logarithm of the rate
FURTHER = 4.0  # a batch may reach beyond the rates that were offered by this factor
#: The mean of log(knee of short steps / knee of longer steps), if the knee of longer steps is the lower one.
DROP = 0.3
#: By how much the capacity of a server differs between longer steps: the scale of its logarithm.
LONG_JITTER = 0.02
#: LONG_JITTER for a step that met the objective but is too short to confirm a knee: a longer step might miss.
SHORTER_JITTER = 0.1
#: The first longer step has at least JUST_BELOW times the estimated knee's rate, the next one at most JUST_ABOVE times.
JUST_BELOW, JUST_ABOVE = 0.9, 1.1
#: The first longer step has at most BELOW_CLOSED x a closed loop's rate; after n misses, LOWER ** n x the lowest one.
BELOW_CLOSED, LOWER = 0.95, 0.8
#: After a step that missed the objective by more than the factor FAR, the next one has MUCH_LOWER times that rate.
FAR, MUCH_LOWER = 3.0, 0.5
WIDEST_LOCATED = 0.5  # an interval wider than this share of its lower end is quoted without a rate in it
NARROW = 0.03  # a knee between two longer steps this close is not searched any further


class Kind(StrEnum):
    FOUND = "found"
    ABOVE = "above"  # objective met up to the highest rate of interest, or up to what the generator could send
    BELOW = "below"  # objective missed at the lowest rate of interest or of longer steps; or a closed loop got no more
    OPEN = "open"  # one end of the interval, or both, lies beyond the rates that were offered
    FAILED = "failed"  # no step could be measured


class Limit(StrEnum):
    """The evidence that bounds a knee from above."""

    SHORT_STEPS = "short steps"
    LONGER_STEP = "longer step"
    CLOSED_LOOP = "closed loop"
    GENERATOR = "generator"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Knee:
    """The knee (highest rate that meets an objective) of a server, with its 95 % interval; an unknown bound is NaN."""

    kind: Kind
    rps: float
    low_rps: float
    high_rps: float
    precise: bool = False  # the interval is as narrow as was wanted
    ceiling_rps: float = math.inf  # lowest rate above all met or missed ones at which the generator was late
    late: bool = False  # a late generator left the knee without an upper bound
    confirmed_by: str = ""  # name of the longer step that met the objective at `rps`
    refuted_by: str = ""  # name of the longer step that missed it at the lowest rate
    closed_loop_rps: float = math.inf  # throughput of a closed loop; infinite without one
    limit: Limit = Limit.NOTHING
    repeated_rps: float = math.nan  # rate of `refuted_by` if short steps put the knee above it, else NaN

    @property
    def confirmed(self) -> bool:
        """Whether a longer step met the objective at the knee."""
        return bool(self.confirmed_by)

    @property
    def only_short(self) -> bool:
        """Whether no longer step met the objective at the knee, so that a longer load may miss it there."""
        return self.kind == Kind.FOUND and not self.confirmed

    @property
    def from_below(self) -> bool:
        """Whether only a lower bound of the knee is known."""
        return self.kind != Kind.FOUND and words.known(self.low_rps) and not words.known(self.high_rps)

    @property
    def from_above(self) -> bool:
        """Whether only an upper bound of the knee is known."""
        return self.kind == Kind.BELOW

    @property
    def known(self) -> bool:
        """Whether the knee, or at least one bound of it, is known."""
        return self.kind == Kind.FOUND or self.from_below or self.from_above

    @property
    def quoted_rps(self) -> float:
        """The rate that reports quote: the knee, or the known bound of the knee."""
        return self.low_rps if self.from_below else self.high_rps if self.from_above else self.rps

    @property
    def width(self) -> float:
        """The width of the interval as a share of the interval's lower end."""
        return self.high_rps / self.low_rps - 1

    @property
    def located(self) -> bool:
        """Whether the interval is narrow enough that reports quote a rate in it."""
        return self.kind == Kind.FOUND and self.width <= WIDEST_LOCATED


@dataclass(frozen=True)  # without slots, for the cached properties
class Search:
    """A search for the knee of one server: the measured rate steps, and the limits of the search.

    Steps shorter than the property `long_s` estimate the knee. A longer step confirms the knee if it meets the
    objective at the knee's rate, and refutes it if it misses the objective there.
    """

    objective: Objective
    steps: tuple[RateStep, ...]
    other_steps: tuple[RateStep, ...] = ()  # longer steps of other blocks
    closed_loop_rps: float = math.inf  # no knee lies above it
    precision: float = math.inf  # wanted width of the interval, as a share of its lower end
    low_rps: float = 0.0  # lowest rate of interest
    high_rps: float = math.inf  # highest rate of interest
    confirm_s: float = 0.0  # length of a step that confirms the knee; 0: as long as the objective asks

    @property
    def long_s(self) -> float:
        """The least length in seconds of a step that confirms a knee: 5 % less than its planned length."""
        return 0.95 * (self.confirm_s or self.objective.sustained_s)

    @cached_property
    def short(self) -> tuple[RateStep, ...]:
        """The steps shorter than `long_s`; all steps if no step is shorter."""
        return tuple(step for step in self.steps if step.length_s < self.long_s) or self.steps

    @cached_property
    def longer(self) -> list[RateStep]:
        """The steps of at least `long_s`, and `other_steps`, that met or missed the objective; lowest rate first."""
        steps = (*(step for step in self.steps if self.long_s <= step.length_s < math.inf), *self.other_steps)
        return sorted((step for step in steps if self._outcome(step) in DECIDED), key=lambda step: step.rps)

    @property
    def refuting(self) -> RateStep | None:
        """Of the `longer` steps that missed the objective, the one with the lowest rate; None if none missed it."""
        return next((step for step in self.longer if self._outcome(step) == StepOutcome.MISSED), None)

    @property
    def missed_rps(self) -> float:
        """The rate of the refuting step; infinite without one."""
        return self.refuting.rps if self.refuting else math.inf

    @property
    def refuted_rps(self) -> float:
        """The least rate / `busy` of longer steps that missed, above which no knee lies; infinite if none missed."""
        missed = (step for step in self.longer if self._outcome(step) == StepOutcome.MISSED)
        return min((step.rps / step.busy for step in missed), default=math.inf)

    @property
    def met(self) -> list[RateStep]:
        """The longer steps that met the objective at rates below the refuting step's; lowest rate first."""
        return [step for step in self.longer if step.rps < self.missed_rps and self._outcome(step) == StepOutcome.MET]

    @property
    def confirming(self) -> RateStep | None:
        """The step with the highest rate among the steps of `met` that last at least `long_s`, or None."""
        return next((step for step in reversed(self.met) if step.length_s >= self.long_s), None)

    @property
    def reached_rps(self) -> float:
        """The closed loop's rate (infinite without one), or the confirming step's rate if it is higher."""
        return max(self.closed_loop_rps, self.confirming.rps if self.confirming else 0.0)

    @cached_property
    def estimate(self) -> Knee:
        """The knee as estimated from the short steps alone."""
        return estimate(self.short, self.objective, self.precision, (self.low_rps, self.high_rps))

    @cached_property
    def curve(self) -> Curve | None:
        """The posterior of the knee of longer steps; None without steps."""
        return self._sustained(curve(self.short, self.objective)) if self.short else None

    @cached_property
    def lower_curve(self) -> Curve | None:
        """The posterior for the knee's lower bound: `curve`; without an upper bound, late sends count as latency."""
        if not self.short or not self.knee.from_below:
            return self.curve
        return self._sustained(curve(tuple(step.as_read for step in self.short), self.objective))

    @cached_property
    def knee(self) -> Knee:
        """The knee as estimated from the short steps, the longer steps and the closed loop together."""
        short, refuting = self.estimate, self.refuting
        top_rps, limit = min((self.missed_rps, Limit.LONGER_STEP), (self.reached_rps, Limit.CLOSED_LOOP))
        bounded = words.known(short.high_rps)
        known = replace(
            short, closed_loop_rps=self.closed_loop_rps,
            confirmed_by=self.confirming.name if self.confirming else "", refuted_by=refuting.name if refuting else "",
            repeated_rps=refuting.rps if refuting and refuting.rps < short.low_rps else math.nan,
            limit=Limit.GENERATOR if short.late else Limit.SHORT_STEPS if bounded else Limit.NOTHING,
        )  # fmt: skip
        if not self.longer and (short.kind == Kind.FAILED or not top_rps < (short.high_rps if bounded else math.inf)):
            return self._no_higher_than_met(known)
        if short.kind == Kind.ABOVE and not short.late and self.high_rps <= top_rps:
            return replace(known, low_rps=max([short.low_rps, *(step.rps for step in self.met)]))
        if top_rps == math.inf and not bounded:
            return replace(known, low_rps=self.confirming.rps if self.confirming else short.low_rps)
        if self.confirming is None and not short.low_rps < top_rps:
            top_rps, limit = min((self.refuted_rps, Limit.LONGER_STEP), (self.reached_rps, Limit.CLOSED_LOOP))
            return replace(
                known, kind=Kind.BELOW, rps=math.nan, low_rps=math.nan, precise=False, late=False, limit=limit,
                high_rps=min(top_rps, short.high_rps) if bounded else top_rps,
            )  # fmt: skip
        assert self.curve is not None  # there are steps
        by_all = self.curve.knee
        high_rps = min(rps for rps in (self.reached_rps, by_all.high, known.high_rps) if words.known(rps))
        low_rps = by_all.low if words.known(by_all.low) else math.exp(self.curve.places[0])
        between = replace(known, kind=Kind.FOUND, rps=by_all.value, late=False)
        rps = self.confirming.rps if self.confirming else self._no_higher_than_met(between).rps
        low_rps, high_rps = min(low_rps, rps), max(high_rps, rps)
        return replace(
            between, rps=rps, low_rps=low_rps, high_rps=high_rps, precise=high_rps / low_rps - 1 <= self.precision,
            limit=limit if high_rps >= top_rps else Limit.SHORT_STEPS,
        )  # fmt: skip

    def _no_higher_than_met(self, knee: Knee) -> Knee:
        if knee.kind != Kind.FOUND:
            return knee
        top_rps = min(self.reached_rps, self.missed_rps)
        met = [step.rps for step in (*self.short, *self.met) if self._outcome(step) == StepOutcome.MET]
        rps = min([knee.rps, top_rps, max([rps for rps in met if rps <= top_rps], default=math.inf)])
        return replace(knee, rps=rps, low_rps=min(knee.low_rps, rps))

    def _outcome(self, step: RateStep) -> StepOutcome:
        return step.outcome(self.objective)

    def _sustained(self, short: Curve) -> Curve:
        """Return the posterior of longer steps' knee: `short`, lowered by DROP, given longer steps and closed loop."""
        if not self.longer and not self.reached_rps < math.exp(short.places[-1]):
            return short
        below = short.with_drop(DROP, min([self.reached_rps, *(step.rps for step in self.longer)]) / FURTHER)
        weights = below.joint * (below.places <= math.log(self.reached_rps))
        for step in self.longer:
            if self._outcome(step) == StepOutcome.MISSED:
                side = (math.log(step.rps / step.busy) - below.places) / LONG_JITTER
            else:
                jitter = SHORTER_JITTER if step.length_s < self.long_s else LONG_JITTER
                side = (below.places - math.log(step.rps)) / jitter
            weights = weights * student_below(side)
        return Curve(below.places, weights / weights.sum())


def next_longer_rps(search: Search, tried: Sequence[tuple[float, StepOutcome]] = ()) -> float | None:
    """Return the rate of the next longer step; None if no further step would narrow the interval.

    The first rates lie below the estimated knee, ever lower until a step meets the objective. The next rate lies just
    above the knee. From then on, every rate halves the interval. `tried`: (rate, outcome) of the longer steps so far. A
    stalled or invalid step is repeated once; if the repeat is no better, the step counts as a miss.
    """
    rates, short = [rps for rps, _ in tried], search.estimate
    if tried and tried[-1][1] not in (*DECIDED, StepOutcome.GENERATOR) and rates.count(rates[-1]) == 1:
        return rates[-1]
    met = {rps for rps, outcome in tried if outcome == StepOutcome.MET}
    lost = {rps for rps, outcome in tried if outcome not in DECIDED} - met - {search.missed_rps}
    missed = {*lost, *(step.rps for step in search.longer if step.outcome(search.objective) == StepOutcome.MISSED)}
    top_rps = min([*missed, search.reached_rps, search.high_rps])
    met_rps = max((step.rps for step in search.met if step.rps < top_rps), default=math.nan)
    if not words.known(met_rps):
        rps = min(_just_below(short, search.closed_loop_rps), BELOW_CLOSED * top_rps)
        if missed:  # the further the lowest one missed, the lower
            least_rps, step = min(missed), search.refuting
            far = step is not None and step.rps == least_rps and step.bounds(search.objective)[0] > math.log(FAR)
            rps = (MUCH_LOWER if far else LOWER ** len(missed)) * least_rps
        return _rounded(rps) if search.low_rps <= rps < math.inf else None
    if short.late or top_rps in lost:
        return None  # what lies above is not known
    if not missed:
        above_rps = min(short.high_rps, JUST_ABOVE * short.rps) if short.kind == Kind.FOUND else math.nan
        if (above_rps := above_rps if above_rps > met_rps else JUST_ABOVE * met_rps) < top_rps:
            return _rounded(above_rps)
    known = top_rps / met_rps - 1 <= max(NARROW, min(search.precision, 1.0))
    return None if known or search.knee.kind == Kind.ABOVE else _rounded(math.sqrt(met_rps * top_rps))


def _just_below(short: Knee, closed_loop_rps: float) -> float:
    if short.kind == Kind.FOUND:
        return max(short.low_rps, JUST_BELOW * short.rps)
    sides = (short.low_rps, LOWER * short.high_rps, closed_loop_rps / 2)
    return next((rps for rps in sides if words.known(rps)), math.inf)


def _rounded(rps: float) -> float:
    return float(f"{rps:.4g}")


def estimate(
    steps: Sequence[RateStep],
    objective: Objective,
    precision: float = math.inf,  # wanted width of the interval, as a share of its lower end
    limits_rps: tuple[float, float] = (0.0, math.inf),  # lowest and highest rate of interest
) -> Knee:
    """Return the knee estimated from the rate steps of one server; the length of a step does not matter."""
    nan = math.nan
    judged = [(step.rps, step.outcome(objective)) for step in steps]
    wanted = (StepOutcome.MET, StepOutcome.MISSED, StepOutcome.GENERATOR)
    met, missed, late = ([rps for rps, own in judged if own == outcome] for outcome in wanted)
    ceiling_rps = min((rps for rps in late if rps > max([*met, *missed], default=0.0)), default=math.inf)
    if not met and not missed:
        return Knee(Kind.FAILED, nan, nan, nan, ceiling_rps=ceiling_rps)
    knee = curve(tuple(steps), objective).knee
    # a curve whose steps below mostly miss, or above mostly meet, has the wrong form: there is no knee between them
    missed_below = sum(rps < knee.low for rps in missed) > sum(rps < knee.low for rps in met)
    met_above = sum(rps > knee.high for rps in met) > sum(rps > knee.high for rps in missed)
    lower = bool(missed) and (math.isnan(knee.low) or missed_below)
    unbounded = bool(late) and not missed  # the form of the curve alone would end it
    higher = bool(met) and (math.isnan(knee.high) or met_above or unbounded)
    if not lower and not higher:
        return Knee(Kind.FOUND, knee.value, knee.low, knee.high, knee.high / knee.low - 1 <= precision, ceiling_rps)
    if not late and higher and max(met) * NEAR >= limits_rps[1]:
        return Knee(Kind.ABOVE, nan, max(met), nan, True, ceiling_rps)
    if higher and not lower:
        as_read = curve(tuple(step.as_read for step in steps), objective)
        ends = (max(met), knee.low, as_read.knee.low)
        low_rps = min((rps for rps in ends if words.known(rps)), default=nan)
        kind = Kind.ABOVE if late else Kind.OPEN
        return Knee(kind, nan, low_rps, nan, False, ceiling_rps, late=bool(late))
    if lower and min(missed) <= limits_rps[0] * NEAR:
        return Knee(Kind.BELOW, nan, nan, min(missed), True, ceiling_rps)
    # where neither side is known the curve has the wrong form
    low = nan if lower and not higher else max(met, default=nan)
    high = min(missed, default=nan)
    return Knee(Kind.OPEN, nan, low, high, ceiling_rps=ceiling_rps)


def first_rates(closed_loop_rps: float, count: int) -> list[float]:
    """Return the rates of the first `count` steps, evenly spaced on a logarithmic scale around a closed loop's rate."""
    low, high = FIRST_SHARES
    return _spread(low * closed_loop_rps, high * closed_loop_rps, count)


def next_rates(
    steps: Sequence[RateStep],
    objective: Objective,
    count: int,
    low_rps: float = 0.0,
    high_rps: float = math.inf,
    closed_loop_rps: float = math.inf,  # the rate that a closed loop reached
) -> list[float]:
    """Return rates for the next steps, from `low_rps` to `high_rps`: around the likely knee or beyond all tried rates.

    If the server's latest start met the objective at all its rates, up to beyond the likely knee, the next rates are
    higher, whatever earlier starts did. If it missed at all its rates, down to below the likely knee, they are lower.
    """
    steps = [step.as_read for step in steps]
    so_far = estimate(steps, objective)
    if so_far.kind == Kind.OPEN and math.isnan(so_far.low_rps):
        low, high = so_far.high_rps / FURTHER, so_far.high_rps
    elif so_far.kind == Kind.OPEN and math.isnan(so_far.high_rps):
        low = max(step.rps for step in steps if step.outcome(objective) == StepOutcome.MET)
        high = low * math.sqrt(FURTHER)
    else:
        posterior = curve(tuple(steps), objective)
        low, high = (math.log(posterior.quantile(share)) for share in NEXT)
        middle, half = (low + high) / 2, max(high - low, LEAST_SPAN) / 2
        low, high = math.exp(middle - half), math.exp(middle + half)
        latest = max((step.start for step in steps), default=1)
        own = {step.rps: step.outcome(objective) for step in steps if step.start == latest}
        if StepOutcome.MISSED not in own.values() and max(own) >= posterior.knee.value:
            low, high = max(own), max(own) * FURTHER
            high = max(low * NEAR, min(high, FIRST_SHARES[1] * closed_loop_rps))
        elif StepOutcome.MET not in own.values() and min(own) <= posterior.knee.value:
            low, high = min(own) / FURTHER, min(own)
    return _spread(min(max(low, low_rps), high_rps), max(min(high, high_rps), low_rps), count)


def _spread(low_rps: float, high_rps: float, count: int) -> list[float]:
    return [_rounded(rps) for rps in np.geomspace(low_rps, high_rps, count)]


def rate_interval(knee: Knee) -> str:
    """Return a knee as text: with its interval, 21 400/s (20 900-21 900), or a wide interval alone, or one bound."""
    if knee.from_below or knee.from_above:
        return f"{'above' if knee.from_below else 'at most'} {words.rounded_rate(knee.quoted_rps)}"
    low, high = (float(f"{rps:.3g}") for rps in (knee.low_rps, knee.high_rps))
    if not knee.located:
        return f"between {words.count(low)} and {words.rate(high)}"
    return f"{words.rounded_rate(knee.rps)} ({words.count(low)}{words.DASH}{words.count(high)})"
