"""What probes tell of a knee: the chance of each place, steepness and share of misses by chance, given how they ended.

The chance that a probe meets its objective falls with the rate like a logistic curve; a share of misses has nothing to
do with the rate. All is counted on a grid in the logarithm of the rate.

A generator that sent late and was answered in full is another matter. Its load may be as hard as one that is sent on
time, or a little harder, or harder in a way that nobody knows. So late probes are under the same curve as the others;
or under that curve moved down by a factor of up to 1.17; or under one of their own, whose knee lies anywhere up to that
of the others and whose steepness and share of misses have nothing to do with theirs. The three are as likely before any
probe. The more late probes agree with those on time, the more they tell; where they do not, they say no more than where
the knee is at least (a robust mixture: A. O'Hagan and L. Pericchi, 2012, *Bayesian heavy-tailed models and conflict
resolution*, Brazilian Journal of Probability and Statistics 26). Such a probe counts whichever way it ended: were it
counted only where it met the objective, the knee would lean up, for what is left out then depends on what is asked (R.
Little and D. Rubin, 2019, *Statistical Analysis with Missing Data*, chapter 15).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from runners.analysis.meets import Outcome

STEP = 0.005  # of the grid, in the logarithm of the rate
WIDTHS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
LAPSES = (0.01, 0.05, 0.15)
GUESS = 0.01
BEYOND = 2  # the grid reaches this many times above and below what was probed
HARDER_STEPS = 5  # a late load that is a little harder is so by up to 2**5 steps of the grid, 17 %

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Probe:
    """An offered rate and how it ended. `late`: its generator sent late, and all else of the measurement is whole."""

    rps: float
    outcome: Outcome
    late: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Possible knees: logarithms of rates, STEP apart."""

    low: float
    count: int

    @property
    def places(self) -> Floats:
        return self.low + STEP * np.arange(self.count, dtype=np.float64)


def over(rates: Sequence[float], low_rps: float, high_rps: float) -> Grid:
    """The grid around what was probed, within the rates that may be asked."""
    low, high = max(low_rps, min(rates) / BEYOND), min(high_rps, max(rates) * BEYOND)
    return Grid(math.log(low), math.ceil(math.log(high / low) / STEP) + 1)


@cache
def nuisances() -> tuple[Floats, Floats]:
    """Every steepness with every share of lapses."""
    pairs = [(width, lapse) for width in WIDTHS for lapse in LAPSES]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


def chance(rate: float, places: Floats) -> Floats:
    """The chance to meet the objective at a rate: a row a place, a column a pair of steepness and lapses."""
    widths, lapses = nuisances()
    slope = np.clip((math.log(rate) - places[:, None]) / widths, -500, 500)
    found: Floats = GUESS + (1 - GUESS - lapses) / (1 + np.exp(slope))
    return found


def posterior(probes: Sequence[Probe], grid: Grid) -> Floats:
    """The chance of each place (row) with each pair of steepness and lapses (column); all together are 1."""
    logs = np.zeros((grid.count, len(nuisances()[0])))
    for probe in probes:
        if not probe.late and probe.outcome in (Outcome.MET, Outcome.MISSED):
            logs += _log_chance(probe.rps, probe.outcome == Outcome.MET, grid)
    if late := [probe for probe in probes if probe.late]:
        logs += _log_late(late, grid)
    weights = np.exp(logs - logs.max())
    told: Floats = weights / weights.sum()
    return told


def _log_late(late: Sequence[Probe], grid: Grid) -> Floats:
    """The logarithm of the chance that late probes ended as they did: in one of three ways, as likely each."""
    same = np.sum([_log_chance(probe.rps, probe.outcome == Outcome.MET, grid) for probe in late], axis=0)
    near = same
    for shift in (2**power for power in range(HARDER_STEPS)):
        near = np.logaddexp(near, np.concatenate([np.repeat(near[:1], shift, axis=0), near[:-shift]]))
    each = logsumexp(same, axis=1) - math.log(same.shape[1])  # with a knee at each place, whatever the curve's form
    own = np.logaddexp.accumulate(each) - np.log(np.arange(1, grid.count + 1))  # anywhere up to each place
    told: Floats = np.logaddexp(np.logaddexp(same, near - HARDER_STEPS * math.log(2)), own[:, None])
    return told


@lru_cache(maxsize=128)
def _log_chance(rps: float, met: bool, grid: Grid) -> Floats:
    """The logarithm of the chance that a probe at a rate meets the objective, or misses it: not to be written to."""
    met_chance = chance(rps, grid.places)
    logs: Floats = np.log(met_chance if met else 1 - met_chance)
    return logs
