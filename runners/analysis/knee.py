"""Judge steps by an objective, and estimate the knee: the highest rate that meets it.

The knee lies where the curve of log(p99 / limit) crosses zero. A search that asks only whether a load met its objective
throws away by how much. Here every step tells how far its p99 lies from the limit, and the steps are short and in
random order, so that a burst of stalls spoils one of many and a drift of the machine falls on all rates alike. Between
steps the server rests at a low rate, so that the queue of one does not reach the next. The steps of a ladder, longer
and fewer, are taken by the same curve.

**Model.** With x the logarithm of the rate and y that of p99 / limit (of the percentile that is furthest from its
limit, or of the shortfall of the achieved rate where that is further), y = g(x) + noise. The curve rises from a floor
-l below the knee k through zero at k to a ceiling above it, both exponentially over a width w:
g = -l (1 - exp((x - k) / w)) below, h (1 - exp((k - x) / w)) above, as a queue's response time does near saturation.
The server of one step is a little faster or slower than the mean one: k differs from step to step by a normal
deviate of unknown size, integrated out by Gauss-Hermite quadrature. Noise is Student's t with 4 degrees of freedom (K.
Lange, R. Little and J. Taylor, 1989, *Robust statistical modeling using the t distribution*, JASA 84), and a share of
the steps, unknown too, lies anywhere above the curve: a stall of the machine makes a step slower and never faster.

**Starts.** Two starts of one server differ more than two steps do. Where the steps are of several starts, the knee of
each start lies around the mean one by a normal deviate of unknown size, integrated out too; several servers of one
search share that size, so that what tells of it is pooled over all of them. With one start the interval is that of this
process alone, and a ratio is no ground for a verdict.

**Disturbances.** A step in which the machine stalled or the generator was late is known between two bounds: what was
read, and that without the stalls and without the longest lateness since the server was idle (see
requests_log.least_response_us). It enters as the probability that the excess lies between the two (interval censoring;
J. Klein and M. Moeschberger, 2003, *Survival Analysis*, section 3.5). To leave out disturbed steps instead leaves too
few where the machine stalls often. A step whose bounds lie on both sides of zero is undecided, and a knee above which
all is undecided by lateness is known from below only.

**Evidence.** No estimate stands where the steps outside of its interval mostly contradict it.

All parameters have a posterior on a grid (k fine, the others coarse); the knee is the median of that of k, its
interval the central 98 %, which covers the truth in at least 95 of 100 simulated searches (bursts as measured, see the
tests). scipy's curve_fit was looked at: it has no share of spoilt steps and takes the intervals for normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import norm

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.validity import unusable
from runners.design.objective import SHORT_STEP_LEVELS as LEVELS
from runners.design.objective import Objective
from runners.readers import write
from runners.readers.run import Step

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FREEDOM = 4
FURTHEST = 3.0  # of y from zero: what lies further tells no more
PLACES = 400
NEAR = 1.1  # rates this close are one rate for the ends of the range
BEYOND = 1.3  # how far outside of the rates that were offered a knee may lie
FLOORS = (0.5, 1.5, FURTHEST)
WIDTHS = (0.01, 0.04, 0.2)
SCALES = (0.15, 0.5)
#: By how much the capacity of a server may differ from step to step: standard deviation of its logarithm.
JITTERS = (0.003, 0.015, 0.04, 0.1)
SPOILT = (0.01, 0.1, 0.3)
NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(11)
SHARES = _WEIGHTS / _WEIGHTS.sum()
TAIL = 0.01
#: By how much the knees of fresh starts of one server may differ: standard deviation of the logarithm.
SPREADS = (0.01, 0.03, 0.1)
#: What the form of the curve leaves open: near saturation no queue is exactly exponential. Added to both ends.
FORM = 0.01
FIRST_SHARES = (0.25, 1.25)  # of what a closed loop reached
NEXT = (0.02, 0.98)  # of the posterior: between these quantiles the next rates lie
LEAST_SPAN = 0.06  # of the logarithm of the rate, that a batch covers at least
FURTHER = 4.0  # how far beyond the rates that were offered a batch looks for a knee that lies there
LEAST_SHORTFALL = 0.01
DRAWS = 400  # quantiles of each knee that make a ratio


class Outcome(StrEnum):
    """How a probe ended."""

    MET = "met"
    MISSED = "missed"
    GENERATOR = "generator"  # it missed, perhaps by its generator's lateness: nothing is said on the server
    STALLED = "stalled"  # it missed, perhaps by stalls of the machine
    INVALID = "invalid"  # no measurement at all


@dataclass(frozen=True, slots=True)
class RateStep:
    """One rate step: offered rate, percentiles by level (infinite where not known), what was achieved and lost of it.

    `stalled`: share of its time in which the stall witness saw a core stall. `start`: which fresh start of its
    server it was offered to. `length_s`: infinite where it is not known. `least_us`, `achieved_most`: where the
    generator was late, the bounds of what one on time would have read; None where it was on time.
    """

    rps: float
    latency_us: tuple[tuple[float, float], ...]
    achieved: float = 1.0
    lost: float = 0.0
    stalled: float = 0.0
    start: int = 1
    length_s: float = math.inf
    least_us: tuple[tuple[float, float], ...] | None = None
    achieved_most: float | None = None

    @property
    def as_read(self) -> RateStep:
        """The step as if the server had made the generator's lateness."""
        return replace(self, least_us=None, achieved_most=None)

    @property
    def on_time(self) -> RateStep:
        """The least that a generator on time would have read; the step itself where it was."""
        if self.least_us is None or self.achieved_most is None:
            return self
        return replace(self.as_read, latency_us=self.least_us, achieved=self.achieved_most)

    @property
    def undisturbed(self) -> RateStep:
        """The least that would have been read without lateness on a machine that never stalls.

        Where requests are served in order, a core that stalls for so long delays each of them by that at most.
        """
        if not self.stalled:
            return self.on_time
        least, stalled_us = self.on_time, self.stalled * self.length_s * 1e6
        latencies = tuple((level, max(0.0, us - stalled_us)) for level, us in least.latency_us)
        return replace(least, latency_us=latencies, achieved=min(1.0, least.achieved + self.stalled), stalled=0.0)

    def bounds(self, objective: Objective) -> tuple[float, float]:
        """Return the least and the most that its excess can be without what disturbed it."""
        most = self.excess(objective)
        return min(most, self.undisturbed.excess(objective)), most

    def outcome(self, objective: Objective) -> Outcome:
        """Judge it: what is met although it was disturbed is met, what would be missed undisturbed is missed."""
        least, most = self.bounds(objective)
        if most <= 0 or least > 0:
            return Outcome.MET if most <= 0 else Outcome.MISSED
        return Outcome.STALLED if self.on_time.excess(objective) > 0 else Outcome.GENERATOR

    def at(self, level: float) -> float:
        """Return a percentile in microseconds; that of the next higher level where this one was not kept."""
        return next((us for own, us in self.latency_us if own >= level), math.inf)

    def missed(self, objective: Objective) -> list[str]:
        """Return the parts of an objective that it missed, by name."""
        parts = ["achieved"] if self.achieved < objective.achieved else []
        parts += [f"p{level * 100:g}" for level, limit_us in objective.latencies if self.at(level) > limit_us]
        return [*parts, "errors"] if self.lost > objective.errors else parts

    def excess(self, objective: Objective) -> float:
        """Return how far it lies from its objective, by the part that is furthest: log(p99 / limit), or what is
        missing.
        """
        if self.lost > objective.errors:
            return FURTHEST
        parts = [
            math.log(us / limit_us) if (us := self.at(level)) > 0 else -FURTHEST
            for level, limit_us in objective.latencies
        ]
        short = FURTHEST
        if self.achieved > 0:
            short = math.log(objective.achieved / self.achieved) / max(LEAST_SHORTFALL, 1 - objective.achieved)
        return max(-FURTHEST, min(FURTHEST, max([short, *parts])))


@dataclass(frozen=True, slots=True)
class Curve:
    """The posterior of the knee: `places` are logarithms of rates.

    `joint` has a row for each spread of the knees of starts (SPREADS; one row where there was one start) and a column a
    place: the probabilities of both together.
    """

    places: Floats
    joint: Floats

    @property
    def weights(self) -> Floats:
        """The probability of each place."""
        return np.asarray(self.joint.sum(axis=0))

    def quantile(self, share: float) -> float:
        """Return the rate below which the knee lies with this probability."""
        return float(np.exp(np.interp(share, np.cumsum(self.weights), self.places)))

    @property
    def knee(self) -> Bounded:
        """The knee with its interval; a side is NaN where the knee may lie beyond all rates that were offered."""
        low, high = self.quantile(TAIL), self.quantile(1 - TAIL)
        step = self.places[1] - self.places[0]
        low = math.nan if math.log(low) < self.places[0] + 2 * step else low
        high = math.nan if math.log(high) > self.places[-1] - 2 * step else high
        return Bounded(self.quantile(0.5), low * math.exp(-FORM), high * math.exp(FORM))


class Kind(StrEnum):
    FOUND = "found"
    ABOVE = "above"  # the objective is met up to the highest rate of interest, or that the generator could send
    BELOW = "below"  # it is missed at the lowest
    OPEN = "open"  # a side, or both, lies beyond the rates that were offered
    FAILED = "failed"  # no step could be measured


@dataclass(frozen=True, slots=True)
class Answer:
    """The knee with its 95 % interval; a side that is not known is NaN. `precise`: as narrow as was asked.

    `late`: it lies above `low_rps`, and how far is not known, since the generator was late wherever more was missed.
    `ceiling_rps`: from which rate on nothing else was seen; infinite where the generator was late in none.
    """

    kind: Kind
    rps: float
    low_rps: float
    high_rps: float
    precise: bool = False
    ceiling_rps: float = math.inf
    late: bool = False

    @property
    def from_below(self) -> bool:
        """Whether it is known from below only: what lies above was met, or the generator was late there."""
        return self.kind != Kind.FOUND and write.known(self.low_rps) and not write.known(self.high_rps)

    @property
    def known_below(self) -> bool:
        """Whether the knee was found, or a lower bound of it."""
        return self.kind == Kind.FOUND or self.from_below

    @property
    def width(self) -> float:
        """How far the upper end of the interval lies above the lower one, as a share of it."""
        return self.high_rps / self.low_rps - 1


def estimate(
    steps: Sequence[RateStep],
    objective: Objective,
    precision: float = math.inf,
    limits_rps: tuple[float, float] = (0.0, math.inf),
) -> Answer:
    """Estimate the knee from the steps of one server, and say which of its sides are known.

    `limits_rps`: the lowest and the highest rate of interest.
    """
    nan = math.nan
    judged = [(step.rps, step.outcome(objective)) for step in steps]
    met, missed, late = (
        [rps for rps, outcome in judged if outcome == wanted]
        for wanted in (Outcome.MET, Outcome.MISSED, Outcome.GENERATOR)
    )
    ceiling_rps = min((rps for rps in late if rps > max([*met, *missed], default=0.0)), default=math.inf)
    if not met and not missed:
        return Answer(Kind.FAILED, nan, nan, nan, ceiling_rps=ceiling_rps)
    knee = curve(steps, objective).knee
    # a curve whose steps below mostly miss, or above mostly meet, has the wrong form: there is no knee between them
    missed_below = sum(rps < knee.low for rps in missed) > sum(rps < knee.low for rps in met)
    met_above = sum(rps > knee.high for rps in met) > sum(rps > knee.high for rps in missed)
    lower = bool(missed) and (math.isnan(knee.low) or missed_below)
    unbounded = bool(late) and not missed  # the form of the curve alone would end it
    higher = bool(met) and (math.isnan(knee.high) or met_above or unbounded)
    if not lower and not higher:
        return Answer(Kind.FOUND, knee.value, knee.low, knee.high, knee.high / knee.low - 1 <= precision, ceiling_rps)
    if not late and higher and max(met) * NEAR >= limits_rps[1]:
        return Answer(Kind.ABOVE, nan, max(met), nan, True, ceiling_rps)
    if higher and not lower:
        ends = (max(met), knee.low, at_least(steps, objective).knee.low)
        low_rps = min((rps for rps in ends if write.known(rps)), default=nan)
        kind = Kind.ABOVE if late else Kind.OPEN
        return Answer(kind, nan, low_rps, nan, False, ceiling_rps, late=bool(late))
    if lower and min(missed) <= limits_rps[0] * NEAR:
        return Answer(Kind.BELOW, nan, nan, min(missed), True, ceiling_rps)
    # where neither side is known the curve has the wrong form
    low = nan if lower and not higher else max(met, default=nan)
    high = min(missed, default=nan)
    return Answer(Kind.OPEN, nan, low, high, ceiling_rps=ceiling_rps)


def at_least(steps: Sequence[RateStep], objective: Objective) -> Curve:
    """Return the posterior of a lower bound of the knee: as if the server had made the generator's lateness."""
    return curve([step.as_read for step in steps], objective)


def curve(steps: Sequence[RateStep], objective: Objective) -> Curve:
    """Compute the posterior of the knee. Raises ValueError without steps."""
    return _curve(tuple(steps), objective)


@lru_cache(maxsize=256)
def _curve(steps: tuple[RateStep, ...], objective: Objective) -> Curve:
    if not steps:
        raise ValueError("a knee needs steps")
    rates = np.log([step.rps for step in steps])
    starts = sorted({step.start for step in steps})
    number = np.array([starts.index(step.start) for step in steps])
    least, most = np.array([step.bounds(objective) for step in steps]).T
    exact = least == most
    places = np.linspace(rates.min() - math.log(BEYOND), rates.max() + math.log(BEYOND), PLACES)
    found = np.empty((*map(len, (FLOORS, WIDTHS, JITTERS, SCALES, SPOILT, starts)), PLACES))
    for (w, width), (j, jitter) in product(enumerate(WIDTHS), enumerate(JITTERS)):
        # the server of a step is a little faster or slower than the mean one: the curve is moved along the rate
        apart = rates[None, :, None] - places[:, None, None] - jitter * math.sqrt(2) * NODES[None, None, :]
        bend, is_below = np.expm1(-np.abs(apart) / width), apart < 0
        for f, floor in enumerate(FLOORS):
            expected = np.where(is_below, floor, -FURTHEST) * bend
            higher = _spoilt(expected, least, most, exact) @ SHARES
            for c, scale in enumerate(SCALES):
                usual = _usual(expected, least, most, exact, scale) @ SHARES
                for p, spoilt in enumerate(SPOILT):
                    logs = np.log((1 - spoilt) * usual + spoilt * higher)
                    for start in range(len(starts)):
                        found[f, w, j, c, p, start] = logs[:, number == start].sum(axis=1)
    found = found.reshape(-1, len(starts), PLACES)
    if len(starts) == 1:
        total = logsumexp(found[:, 0], axis=0)[None, :]
    else:
        total = np.array([logsumexp(_around(found, places, spread), axis=0) for spread in SPREADS])
    return Curve(places, np.exp(total - logsumexp(total)))


def _around(found: Floats, places: Floats, spread: float) -> Floats:
    """Log likelihoods of the mean knee, from those of each start's own knee, which lies around it by a deviate.

    Rows, starts, places to rows, places. What lies beyond the first or the last place counts as lying there.
    """
    edges = np.concatenate(([-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]))
    kernel = np.diff(norm.cdf((edges[None, :] - places[:, None]) / spread), axis=1)
    most = found.max(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):  # a place that no start's knee is near
        return np.asarray((np.log(np.exp(found - most) @ kernel.T) + most).sum(axis=1))


def pooled(curves: Sequence[Curve]) -> list[Curve]:
    """Give share what several servers of one search tell of the spread of starts: each posterior given that of all."""
    shared = [each for each in curves if len(each.joint) > 1]
    if len(shared) < 2:
        return list(curves)
    logs = sum(np.log(each.joint.sum(axis=1)) for each in shared)
    spread = np.exp(logs - logsumexp(logs))
    return [
        Curve(each.places, each.joint / each.joint.sum(axis=1, keepdims=True) * spread[:, None])
        if len(each.joint) > 1
        else each
        for each in curves
    ]


def _usual(expected: Floats, least: Floats, most: Floats, exact: Bools, scale: float) -> Floats:
    """Return the likelihood of an excess that no stall spoilt: a density, or the probability that it lies in between.

    `expected` has steps along its second axis. Beyond FURTHEST no end is known.
    """
    found = np.empty_like(expected)
    found[:, exact] = _student((most[exact][None, :, None] - expected[:, exact]) / scale) / scale
    if not exact.all():
        of, between = expected[:, ~exact], ~exact
        low = np.where(least[between] > -FURTHEST, least[between], -np.inf)[None, :, None]
        high = np.where(most[between] < FURTHEST, most[between], np.inf)[None, :, None]
        found[:, between] = _student_below((high - of) / scale) - _student_below((low - of) / scale)
    return found


def _spoilt(expected: Floats, least: Floats, most: Floats, exact: Bools) -> Floats:
    """Return the likelihood of an excess that a stall spoilt: it lies anywhere from the expected one up."""
    end = FURTHEST + 1.0
    found = np.empty_like(expected)
    found[:, exact] = most[exact][None, :, None] > expected[:, exact]
    if not exact.all():
        of, between = expected[:, ~exact], ~exact
        high = np.where(most[between] < FURTHEST, most[between], end)[None, :, None]
        found[:, between] = np.clip(high - np.maximum(of, least[between][None, :, None]), 0.0, None)
    return np.asarray(found / (end - expected))


def _student_below(values: Floats) -> Floats:
    """Return the probability that Student's t with 4 degrees of freedom lies below each value.

    Source: Abramowitz and Stegun, 1964, *Handbook of Mathematical Functions*, 26.7.4.
    """
    with np.errstate(invalid="ignore"):
        cosine2 = 1 / (1 + values * values / FREEDOM)
        found = 0.5 + np.sign(values) * np.sqrt(1 - cosine2) * (1 + cosine2 / 2) / 2
    return np.asarray(found)


def _student(values: Floats) -> Floats:
    """Return the density of Student's t with 4 degrees of freedom."""
    square = values * values
    square /= FREEDOM
    square += 1
    power = np.sqrt(square)  # of 2.5 at once takes five times as long, and so do arrays that are made anew
    power *= square
    power *= square
    return np.asarray(np.divide(0.375, power, out=power))


def first_rates(closed_loop_rps: float, count: int) -> list[float]:
    """Choose the rates of a first batch: evenly on a logarithmic scale around what a closed loop reached."""
    low, high = FIRST_SHARES
    return _spread(low * closed_loop_rps, high * closed_loop_rps, count)


def next_rates(
    steps: Sequence[RateStep],
    objective: Objective,
    count: int,
    low_rps: float = 0.0,
    high_rps: float = math.inf,
    closed_loop_rps: float = math.inf,
) -> list[float]:
    """Choose the rates of the next batch: evenly over where the knee may lie, or beyond all that was offered.

    Where the latest start met up to beyond the middle of where the knee may lie, or missed down to below it, the starts
    before it were unlike it: the next rates lie beyond, up to those of a first batch after a closed loop of
    `closed_loop_rps`. None lies outside of `low_rps` and `high_rps`. A step that missed with a late generator tells
    where to look, though not whether it was the server.
    """
    steps = [step.as_read for step in steps]
    answer = estimate(steps, objective)
    if answer.kind == Kind.OPEN and math.isnan(answer.low_rps):
        low, high = answer.high_rps / FURTHER, answer.high_rps
    elif answer.kind == Kind.OPEN and math.isnan(answer.high_rps):
        low = max(step.rps for step in steps if step.outcome(objective) == Outcome.MET)
        high = low * math.sqrt(FURTHER)
    else:
        found = curve(steps, objective)
        low, high = (math.log(found.quantile(share)) for share in NEXT)
        middle, half = (low + high) / 2, max(high - low, LEAST_SPAN) / 2
        low, high = math.exp(middle - half), math.exp(middle + half)
        latest = max((step.start for step in steps), default=1)
        own = {step.rps: step.outcome(objective) for step in steps if step.start == latest}
        if Outcome.MISSED not in own.values() and max(own) >= found.knee.value:
            low, high = max(own), max(own) * FURTHER
            high = max(low * NEAR, min(high, FIRST_SHARES[1] * closed_loop_rps))
        elif Outcome.MET not in own.values() and min(own) <= found.knee.value:
            low, high = min(own) / FURTHER, min(own)
    return _spread(min(max(low, low_rps), high_rps), max(min(high, high_rps), low_rps), count)


def _spread(low_rps: float, high_rps: float, count: int) -> list[float]:
    return [float(f"{rps:.4g}") for rps in np.geomspace(low_rps, high_rps, count)]


def ratio(of: Curve, against: Curve) -> Bounded:
    """Compute the ratio of two knees with its interval: all pairs of quantiles of their posteriors.

    Where the slices of both lie in random order among each other, a drift of the machine is in both and out of the
    ratio; the interval takes them for independent, which makes it too wide rather than too narrow.
    """
    shares = (np.arange(DRAWS) + 0.5) / DRAWS
    logs = [np.interp(shares, np.cumsum(each.weights), each.places) for each in (of, against)]
    low, middle, high = np.quantile(np.subtract.outer(*logs), [TAIL, 0.5, 1 - TAIL])
    low = -math.inf if math.isnan(of.knee.low) or math.isnan(against.knee.high) else low - FORM
    high = math.inf if math.isnan(of.knee.high) or math.isnan(against.knee.low) else high + FORM
    return Bounded(float(np.exp(middle)), float(np.exp(low)), float(np.exp(high)))


NOT_KEPT_UP = "the generator did not keep up"
LATE_MARGIN = 10.0  # the latest send may be that much later than the 99th percentile


@dataclass(frozen=True, slots=True)
class Met:
    """The outcome and the parts of the objective that were missed, in words.

    `late`: met although the generator was late, so the latencies are upper bounds (see `facts.only_late`).
    """

    outcome: Outcome
    missed: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One rate of a ladder or a search: what was measured there, how it was judged, and the step that holds it."""

    rate_step: RateStep
    met: Met
    step: Step
    samples: float

    @property
    def rps(self) -> float:
        """The offered rate."""
        return self.rate_step.rps

    @property
    def outcome(self) -> Outcome:
        """How it was judged."""
        return self.met.outcome

    @property
    def counts(self) -> bool:
        """Whether it says something of its server."""
        return self.outcome in (Outcome.MET, Outcome.MISSED)


def points(step: Step, objective: Objective) -> list[Point]:
    """Judge each rate of a step: one, or each short one of a load whose rate changes."""
    if step.record.sweep is None:
        return [Point(_whole(step, objective), meets(step, objective), step, facts.samples(step))]
    if step.record.invalid_reasons:
        return []
    return [_short(row, objective, step) for _, row in step.frames["rate_steps"].iterrows()]


def _whole(step: Step, objective: Objective) -> RateStep:
    """Return a load at one rate as a rate step."""
    levels = tuple((level, value.value) for level in LEVELS if (value := facts.at(step, level)) is not None)
    achieved, length_s = facts.achieved_share(step), step.record.duration_s or math.inf
    achieved = achieved if write.known(achieved) else 0.0
    # what a late generator has no response to yet is not lost by the server
    lost = lost_share(step, objective, censored=not _late(step))
    found = RateStep(facts.offered_rps(step), levels, achieved, lost, start=_start(step), length_s=length_s)
    return _on_time(found, step)


def _late(step: Step) -> bool:
    """Return whether the generator did not keep up, as far as it tells."""
    kept_up = step.frames["summary"]["kept_up"]
    return not kept_up.empty and not pd.isna(kept_up.iloc[0]) and not bool(kept_up.iloc[0])


def _on_time(found: RateStep, step: Step) -> RateStep:
    """Add what a generator on time would have read at least, by how late this one was at most in the whole load.

    What left late by L had its response later by L at most, and is missing at the end by the requests of L at most
    (see requests_log.least_response_us). Runs of generators that did not record their latest send have a margin on its
    99th percentile instead.
    """
    if not _late(step):
        return found
    latest_us = facts.number(step, "lag_max_us")
    if not write.known(latest_us):
        latest_us = LATE_MARGIN * facts.number(step, "lag_p99_us")
    if not write.known(latest_us):
        latest_us = math.inf
    least_us = tuple((level, max(0.0, us - latest_us) if us < math.inf else 0.0) for level, us in found.latency_us)
    return replace(found, least_us=least_us, achieved_most=min(1.0, found.achieved + latest_us / 1e6 / found.length_s))


def _start(step: Step) -> int:
    return step.record.ladder.start if step.record.ladder is not None else 1


def _short(row: pd.Series[float], objective: Objective, step: Step) -> Point:
    """Judge a short step, by the lateness of its own requests where the log of requests tells it."""
    latencies = tuple((level, float(row[f"{_named(level)}_us"])) for level in LEVELS)
    found = RateStep(
        float(row["offered_rps"]), latencies, float(row["achieved"]), float(row["lost"]), float(row["stalled"]),
        _start(step), float(row["length_s"]),
    )  # fmt: skip
    late = _late(step)
    if late and write.known(float(row["achieved_most"])):
        least = tuple((level, float(row[f"{_named(level)}_least_us"])) for level in LEVELS)
        found = replace(found, least_us=least, achieved_most=float(row["achieved_most"]))
    else:
        found = _on_time(found, step)
    outcome, missed = found.outcome(objective), []
    for part in found.missed(objective):
        values = {"achieved": write.percent(found.achieved), "errors": write.percent(found.lost)}
        level = next((level for level in LEVELS if part == f"p{level * 100:g}"), None)
        value = values.get(part) or (write.latency(found.at(level)) if level is not None else "")
        missed.append(f"{part} {value}")
    reasons = (NOT_KEPT_UP,) * (outcome == Outcome.GENERATOR)
    return Point(found, Met(outcome, (*reasons, *missed), late and not missed), step, float(row["requests"]))


def _named(level: float) -> str:
    return f"p{level * 100:g}".replace(".", "")


def meets(step: Step, objective: Objective) -> Met:
    """Judge one step.

    What is missed while the generator did not keep up says nothing on the server, unless it was missed by more than
    lateness explains. What is met all the same is met, for lateness only adds to a response time.
    """
    judged = _judged(step, objective)
    if not _late(step):
        return judged
    if _whole(step, objective).outcome(objective) != judged.outcome:
        return Met(Outcome.GENERATOR, (NOT_KEPT_UP,))
    return replace(judged, late=judged.outcome == Outcome.MET)


def _judged(step: Step, objective: Objective) -> Met:
    """Return a step by its figures."""
    if unusable(step):
        return Met(Outcome.INVALID, (facts.why_not(step),))
    share = facts.achieved_share(step)
    if not write.known(share):
        return Met(Outcome.INVALID, ("no rate was recorded",))
    missed = []
    if share < objective.achieved:
        missed.append(f"achieved {write.percent(share)} of what was offered")
    for level, limit_us in objective.latencies:
        value = facts.at(step, level)
        if value is None:
            return Met(Outcome.INVALID, (f"{write.level(level)} was not recorded",))
        if value.value > limit_us:
            missed.append(f"{write.level(level)} {write.latency(value.value)}")
    lost = lost_share(step, objective)
    if lost > objective.errors:
        missed.append(f"errors {write.percent(lost)}")
    return Met(Outcome.MISSED if missed else Outcome.MET, tuple(missed))


def refused_share(step: Step) -> float:
    """Return share of the responses that are neither 2xx nor 3xx."""
    refused, completed = facts.number(step, "non_2xx"), facts.number(step, "completed")
    return refused / completed if write.known(refused) and write.known(completed) and completed else 0.0


def lost_share(step: Step, objective: Objective, *, censored: bool = True) -> float:
    """Return requests that failed, got an error or, with `censored`, no response, over those that were due.

    Requests without a response when the run ended count only beyond those that may be under way at any moment: one a
    connection, or what falls due within the longest latency that the objective allows.
    """
    limit_s = max((limit_us for _, limit_us in objective.latencies), default=0.0) / 1e6
    within = facts.offered_rps(step) * limit_s
    under_way = max(float(step.record.connections or 1), within if write.known(within) else 0.0)
    waiting = max(0.0, facts.number(step, "censored") - under_way) if censored else 0.0
    due = facts.number(step, "scheduled")
    total = sum(facts.errors(step).values()) + (waiting if write.known(waiting) else 0.0)
    return total / due if write.known(due) and due else 0.0


def rounded_rate(rps: float) -> str:
    """Return a rate with three digits: 21 400/s."""
    return write.rate(float(f"{rps:.3g}"))


def rate_interval(answer: Answer) -> str:
    """Return the knee with its interval: 21 400/s (20 900-21 900); of one known from below only its bound: above 20
    900/s.
    """
    if answer.from_below:
        return f"above {rounded_rate(answer.low_rps)}"
    low, high = (float(f"{rps:.3g}") for rps in (answer.low_rps, answer.high_rps))
    return f"{rounded_rate(answer.rps)} ({write.count(low)}{write.DASH}{write.count(high)})"
