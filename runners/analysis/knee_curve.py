"""The posterior of a knee, the highest rate that meets an objective, from the rate steps of one server.

The model of the excess y = log(p99 / limit) is a curve over x = log(rate) that crosses zero at the knee k:

y = -l (1 - exp((x - k) / w)) below k, y = h (1 - exp((k - x) / w)) above k.

The noise of y is Student's t with 4 degrees of freedom, which tolerates outliers (K. Lange and others, 1989, JASA 84).
Some of the steps are spoilt: their y lies anywhere above the curve. k differs between steps and between starts by
normal deviates, which are integrated out. Of a disturbed step only bounds of y are known. h is FURTHEST; all other
parameters have a posterior on a grid. The knee is the median of k. Its interval, the central 98 %, covered the truth in
at least 95 % of simulated searches (docs/method.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import norm

from runners.analysis.intervals import Bounded, Floats
from runners.analysis.rate_steps import FURTHEST, RateStep
from runners.design.objective import Objective

Bools = npt.NDArray[np.bool_]

FREEDOM = 4
PLACES = 400
BEYOND = 1.3  # factor by which a knee may lie outside of the rates that were offered
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
#: Added to a knee's interval at both ends (logarithm), since near saturation no queue is exactly exponential.
FORM = 0.01
DRAWS = 400  # quantiles of each knee that make a ratio
TOGETHER = 8  # steps whose sum of log likelihoods is kept: a search adds about as many at a time


@dataclass(frozen=True, slots=True)
class Curve:
    """The posterior distribution of the knee (the highest rate that meets an objective), on a grid of rates."""

    places: Floats  # logarithms of rates
    joint: Floats  # [i, j]: probability of the knee places[j] and the spread SPREADS[i] between starts

    @property
    def weights(self) -> Floats:
        """The probability of each log rate in `places`."""
        return np.asarray(self.joint.sum(axis=0))

    def quantile(self, share: float) -> float:
        """Return the rate below which the knee lies with the probability `share`."""
        return float(np.exp(np.interp(share, np.cumsum(self.weights), self.places)))

    @property
    def knee(self) -> Bounded:
        """The knee with its interval; a bound is NaN if the knee may lie beyond all offered rates on that side."""
        low, high = self.quantile(TAIL), self.quantile(1 - TAIL)
        step = self.places[1] - self.places[0]
        low = math.nan if math.log(low) < self.places[0] + 2 * step else low
        high = math.nan if math.log(high) > self.places[-1] - 2 * step else high
        return Bounded(self.quantile(0.5), low * math.exp(-FORM), high * math.exp(FORM))

    def with_drop(self, drop: float, lowest_rps: float) -> "Curve":
        """Return the posterior of a changed knee: with equal probability it is this knee, or this knee times exp(-x).

        x is exponential with the mean `drop`. The grid reaches down to at least `lowest_rps`.
        """
        apart = self.places[1] - self.places[0]
        places = np.arange(self.places[-1], min(self.places[0], math.log(lowest_rps)), -apart)  # from the highest on
        at_it = np.array([np.interp(places, self.places, row, left=0.0, right=0.0) for row in self.joint])
        keeps = math.exp(-apart / drop)
        below, so_far = np.empty_like(at_it), np.zeros(len(at_it))
        for place in range(len(places)):
            so_far = keeps * so_far + (1 - keeps) * at_it[:, place]
            below[:, place] = so_far
        joint = (at_it + below)[:, ::-1]
        return Curve(places[::-1], joint / joint.sum())


@lru_cache(maxsize=256)
def curve(steps: tuple[RateStep, ...], objective: Objective) -> Curve:
    """Return the posterior distribution of the knee, given the rate steps (at least one) of one server."""
    rates = np.log([step.rps for step in steps])
    starts = sorted({step.start for step in steps})
    low, high = float(rates.min()) - math.log(BEYOND), float(rates.max()) + math.log(BEYOND)
    seen = [(step.start, (rate, *step.bounds(objective))) for step, rate in zip(steps, rates.tolist(), strict=True)]
    of_starts = [tuple(bounds for of, bounds in seen if of == start) for start in starts]
    places = np.linspace(low, high, PLACES)
    likelihoods = np.stack([_log_likelihoods(own, low, high) for own in of_starts], axis=1)
    if len(starts) == 1:
        total = logsumexp(likelihoods[:, 0], axis=0)[None, :]
    else:
        total = np.array([logsumexp(_around(likelihoods, places, spread), axis=0) for spread in SPREADS])
    return Curve(places, np.exp(total - logsumexp(total)))


@lru_cache(maxsize=64)  # 0.7 MB each
def _log_likelihoods(seen: tuple[tuple[float, float, float], ...], low: float, high: float) -> Floats:
    """Return the log likelihood of each knee from `low` to `high` (logarithms), [parameters, place], in one start.

    `seen`: the log rate and the bounds of y, of each step. A search adds steps to those that it has, so the sums over
    the earlier ones are kept, as long as `low` and `high` stay the same.
    """
    begin = (len(seen) - 1) // TOGETHER * TOGETHER
    rates, least, most = np.array(seen[begin:]).T
    exact = least == most
    places = np.linspace(low, high, PLACES)
    logs = np.empty((*map(len, (FLOORS, WIDTHS, JITTERS, SCALES, SPOILT)), PLACES))
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
                    logs[f, w, j, c, p] = np.log((1 - spoilt) * usual + spoilt * higher).sum(axis=1)
    return logs.reshape(-1, PLACES) + (_log_likelihoods(seen[:begin], low, high) if begin else 0.0)


def _around(likelihoods: Floats, places: Floats, spread: float) -> Floats:
    """Return the log likelihoods [parameters, place] of the mean knee of all starts.

    `likelihoods`: of each start's own knee, [parameters, start, place]. `spread`: standard deviation between starts.
    """
    edges = np.concatenate(([-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]))
    kernel = np.diff(norm.cdf((edges[None, :] - places[:, None]) / spread), axis=1)
    most = likelihoods.max(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):  # a place that no start's knee is near
        return np.asarray((np.log(np.exp(likelihoods - most) @ kernel.T) + most).sum(axis=1))


def pooled(curves: Sequence[Curve]) -> list[Curve]:
    """Return the posteriors of a search's servers; the spread between starts is estimated from all servers together."""
    shared = [posterior for posterior in curves if len(posterior.joint) > 1]
    if len(shared) < 2:
        return list(curves)
    logs = sum(np.log(posterior.joint.sum(axis=1)) for posterior in shared)
    spread = np.exp(logs - logsumexp(logs))
    return [
        Curve(posterior.places, posterior.joint / posterior.joint.sum(axis=1, keepdims=True) * spread[:, None])
        if len(posterior.joint) > 1
        else posterior
        for posterior in curves
    ]


def _usual(expected: Floats, least: Floats, most: Floats, exact: Bools, scale: float) -> Floats:
    """Return the likelihood of unspoilt steps under the `expected` excess: a density if `exact`, else a probability."""
    likelihood = np.empty_like(expected)
    likelihood[:, exact] = student((most[exact][None, :, None] - expected[:, exact]) / scale) / scale
    of, between = expected[:, ~exact], ~exact
    low = np.where(least[between] > -FURTHEST, least[between], -np.inf)[None, :, None]
    high = np.where(most[between] < FURTHEST, most[between], np.inf)[None, :, None]
    likelihood[:, between] = student_below((high - of) / scale) - student_below((low - of) / scale)
    return likelihood


def _spoilt(expected: Floats, least: Floats, most: Floats, exact: Bools) -> Floats:
    """Return the likelihood of spoilt steps: their excess is uniform between `expected` and FURTHEST + 1."""
    end = FURTHEST + 1.0
    likelihood = np.empty_like(expected)
    likelihood[:, exact] = most[exact][None, :, None] > expected[:, exact]
    of, between = expected[:, ~exact], ~exact
    high = np.where(most[between] < FURTHEST, most[between], end)[None, :, None]
    likelihood[:, between] = np.clip(high - np.maximum(of, least[between][None, :, None]), 0.0, None)
    return np.asarray(likelihood / (end - expected))


def student_below(values: Floats) -> Floats:
    """Return Student's t distribution function with 4 degrees of freedom (Abramowitz and Stegun, 1964, 26.7.4)."""
    with np.errstate(invalid="ignore"):
        cosine2 = 1 / (1 + values * values / FREEDOM)
        below = 0.5 + np.sign(values) * np.sqrt(1 - cosine2) * (1 + cosine2 / 2) / 2
    return np.asarray(below)


def student(values: Floats) -> Floats:
    """Return the density of Student's t with 4 degrees of freedom."""
    square = values * values
    square /= FREEDOM
    square += 1
    power = np.sqrt(square)  # of 2.5 at once takes five times as long, and so do arrays that are made anew
    power *= square
    power *= square
    return np.asarray(np.divide(0.375, power, out=power))


def ratio(of: Curve, against: Curve) -> Bounded:
    """Return the ratio of two knees; its interval is from the ratios of all quantiles of `of` to all of `against`."""
    shares = (np.arange(DRAWS) + 0.5) / DRAWS
    logs = [np.interp(shares, np.cumsum(knee.weights), knee.places) for knee in (of, against)]
    low, middle, high = np.quantile(np.subtract.outer(*logs), [TAIL, 0.5, 1 - TAIL])
    low = -math.inf if math.isnan(of.knee.low) or math.isnan(against.knee.high) else low - FORM
    high = math.inf if math.isnan(of.knee.high) or math.isnan(against.knee.low) else high + FORM
    return Bounded(float(np.exp(middle)), float(np.exp(low)), float(np.exp(high)))
