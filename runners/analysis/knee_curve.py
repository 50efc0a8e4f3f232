"""Estimate the knee from many short rate steps: where the curve of log(p99 / limit) over the rate crosses zero.

A search that asks only whether a load met its objective throws away by how much. Here every step tells how far its p99
lies from the limit, and the steps are short and in random order, so that a burst of stalls spoils one of many and a
drift of the machine falls on all rates alike. Between steps the server rests at a low rate, so that the queue of one
does not reach the next.

**Model.** With x the logarithm of the rate and y that of p99 / limit, y = g(x) + noise. The curve rises from a floor
-l below the knee k through zero at k to a ceiling above it, both exponentially over a width w:
g = -l (1 - exp((x - k) / w)) below, h (1 - exp((k - x) / w)) above, as a queue's response time does near saturation.
The server of one step is a little faster or slower than the typical one: k differs from step to step by a normal
deviate of unknown size, integrated out by Gauss-Hermite quadrature. Noise is Student's t with 4 degrees of freedom (K.
Lange, R. Little and J. Taylor, 1989, *Robust statistical modeling using the t distribution*, JASA 84), and a share of
the steps, unknown too, lies anywhere above the curve: a stall of the machine makes a step slower and never faster. All
parameters have a posterior on a grid (k fine, the others coarse); the knee is the median of that of k, its interval the
central 98 %, which covers the truth in at least 95 of 100 simulated searches (bursts as measured, see the tests).
scipy's curve_fit was looked at: it has no share of spoilt steps and takes the intervals for normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from runners.analysis.intervals import Bounded
from runners.readers.levels import rank

Floats = npt.NDArray[np.float64]

FREEDOM = 4
FURTHEST = 3.0  # of y from zero: what lies further tells no more
PLACES = 400
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
#: A response that comes so long after its step's end still counts to its achieved rate.
GRACE_S = 0.01
#: A step in which the witness saw the cores stand still for longer than this share of it says nothing on the server.
MOST_STALLED = 0.004
#: What the form of the curve leaves open: near saturation no queue is exactly exponential. Added to both ends.
FORM = 0.01
FIRST_SHARES = (0.25, 1.25)  # of what a closed loop reached
ASKED = (0.02, 0.98)  # of the posterior: between these quantiles the next rates lie
LEAST_SPAN = 0.06  # of the logarithm of the rate, that a batch covers at least


@dataclass(frozen=True, slots=True)
class ShortStep:
    """One short step: offered rate, its p99 (infinite where it is not known), the share of it that was achieved.

    `stalled`: share of its time in which the stall witness saw a core stand still.
    """

    rps: float
    p99_us: float
    achieved: float = 1.0
    stalled: float = 0.0

    def excess(self, limit_us: float, least_achieved: float = 0.99) -> float:
        """How far it lies from its objective: log(p99 / limit), or the shortfall of the rate where that is further."""
        latency = math.log(self.p99_us / limit_us) if self.p99_us > 0 else -FURTHEST
        short = math.log(least_achieved / self.achieved) / (1 - least_achieved) if self.achieved > 0 else FURTHEST
        return max(-FURTHEST, min(FURTHEST, max(latency, short)))


@dataclass(frozen=True, slots=True)
class Curve:
    """The posterior of the knee: `places` are logarithms of rates, `weights` their probabilities."""

    places: Floats
    weights: Floats

    def quantile(self, share: float) -> float:
        """The rate below which the knee lies with this probability."""
        return float(np.exp(np.interp(share, np.cumsum(self.weights), self.places)))

    @property
    def knee(self) -> Bounded:
        """The knee with its interval; a side is NaN where the knee may lie beyond all rates that were offered."""
        low, high = self.quantile(TAIL), self.quantile(1 - TAIL)
        step = self.places[1] - self.places[0]
        low = math.nan if math.log(low) < self.places[0] + 2 * step else low
        high = math.nan if math.log(high) > self.places[-1] - 2 * step else high
        return Bounded(self.quantile(0.5), low * math.exp(-FORM), high * math.exp(FORM))


def steps_of(
    requests: pd.DataFrame, stalls: pd.DataFrame, rates: Sequence[float], step_s: float, period_s: float
) -> list[ShortStep]:
    """Cut a load into its short steps: one begins every `period_s` and lasts `step_s`, the rest of it is a rest.

    `requests`: a row a request with `t_s`, `response_us` and `fate` (see readers.requests_log); `stalls`: what the
    witness saw, with `t_s` and `duration_ms`, by the same clock. A request without a response took longer than any
    with one.
    """
    at_s = requests["t_s"].to_numpy(float)
    response_us = np.where(requests["fate"] == "completed", requests["response_us"].to_numpy(float), math.inf)
    order = np.argsort(at_s, kind="stable")
    at_s, response_us = at_s[order], response_us[order]
    began_s = stalls["t_s"].to_numpy(float)
    ended_s = began_s + stalls["duration_ms"].to_numpy(float) / 1000
    found = []
    for index, rps in enumerate(rates):
        begin, end = index * period_s, index * period_s + step_s
        mine = slice(*np.searchsorted(at_s, [begin, end]))
        if mine.start == mine.stop:
            continue
        values = response_us[mine]
        in_time = at_s[mine] + values / 1e6 <= end + GRACE_S
        stood_s = float(np.clip(np.minimum(ended_s, end) - np.maximum(began_s, begin), 0, None).sum())
        p99_us = float(np.partition(values, index99 := rank(len(values), 0.99) - 1)[index99])
        found.append(ShortStep(rps, p99_us, float(in_time.mean()), stood_s / step_s))
    return found


def undisturbed(steps: Sequence[ShortStep]) -> tuple[list[ShortStep], float]:
    """Leave out the steps in which the machine stood still, by the witness alone; gives the share that is left out."""
    kept = [step for step in steps if step.stalled <= MOST_STALLED]
    return kept, 1 - len(kept) / len(steps) if steps else 0.0


def curve(steps: Sequence[ShortStep], limit_us: float, least_achieved: float = 0.99) -> Curve:
    """Compute the posterior of the knee. Raises ValueError without steps."""
    if not steps:
        raise ValueError("a knee needs steps")
    rates = np.log([step.rps for step in steps])
    excess = np.array([step.excess(limit_us, least_achieved) for step in steps])
    places = np.linspace(rates.min() - math.log(BEYOND), rates.max() + math.log(BEYOND), PLACES)
    found = []
    for floor, width, jitter in product(FLOORS, WIDTHS, JITTERS):
        # the server of a step is a little faster or slower than the typical one: the curve is moved along the rate
        apart = rates[None, :, None] - places[:, None, None] - jitter * math.sqrt(2) * NODES[None, None, :]
        below = floor * np.expm1(np.minimum(apart, 0) / width)
        above = FURTHEST * -np.expm1(-np.maximum(apart, 0) / width)
        residual = excess[None, :, None] - (below + above)
        for scale in SCALES:
            density = ((_student(residual / scale) / scale) * SHARES).sum(axis=2)
            higher = (np.where(residual > 0, 1 / (FURTHEST - (below + above) + 1.0), 0.0) * SHARES).sum(axis=2)
            found += [np.log((1 - spoilt) * density + spoilt * higher).sum(axis=1) for spoilt in SPOILT]
    total = logsumexp(np.array(found), axis=0)
    weights = np.exp(total - logsumexp(total))
    return Curve(places, weights)


def _student(values: Floats) -> Floats:
    """The density of Student's t with 4 degrees of freedom."""
    return np.asarray(0.375 * (1 + values**2 / FREEDOM) ** (-(FREEDOM + 1) / 2))


def first_rates(closed_loop_rps: float, count: int) -> list[float]:
    """Choose the rates of a first batch: evenly on a logarithmic scale around what a closed loop reached."""
    low, high = (share * closed_loop_rps for share in FIRST_SHARES)
    return [float(f"{rps:.4g}") for rps in np.geomspace(low, high, count)]


def next_rates(found: Curve, count: int) -> list[float]:
    """Choose the rates of the next batch: evenly over where the knee may lie."""
    low, high = (math.log(found.quantile(share)) for share in ASKED)
    middle, half = (low + high) / 2, max(high - low, LEAST_SPAN) / 2
    return [float(f"{rps:.4g}") for rps in np.exp(np.linspace(middle - half, middle + half, count))]
