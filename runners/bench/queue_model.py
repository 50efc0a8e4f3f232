"""Simulate a server with one queue on a machine whose core stands still in bursts, as measured on a shared one.

What an estimate of its knee is held against: the true one is known, which it is of no real server.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from runners.analysis.knee import RateStep, first_rates, next_rates, undisturbed
from runners.design.block import BATCH, SEARCH_STEP_S
from runners.design.objective import Objective

STEP_S = SEARCH_STEP_S
CAPACITY_RPS = 4_000.0
#: Loads of a search of a minute, a third of which is rest.
BATCHES = 9

Floats = npt.NDArray[np.float64]


def stalls(random: np.random.Generator, bursts_a_second: float) -> list[tuple[float, float]]:
    """Stalls of one step, in order and apart: bursts of some ten within a tenth of a second, each of 1 to 12 ms."""
    spans: list[tuple[float, float]] = []
    for _ in range(random.poisson(bursts_a_second * STEP_S)):
        begin = random.uniform(0, STEP_S)
        for _ in range(1 + random.poisson(9)):
            length = random.uniform(0.001, 0.012)
            spans.append((begin, length))
            begin += length + random.exponential(0.004)
    spans.sort()
    apart: list[tuple[float, float]] = []
    for begin, length in spans:
        free = apart[-1][0] + apart[-1][1] if apart else 0.0
        apart.append((max(begin, free), length))
    return apart


def simulated_step(random: np.random.Generator, rps: float, bursts_a_second: float, spread: float = 0.0) -> RateStep:
    """A step on a server with one queue, which serves nothing while its core stands still.

    `spread`: by how much the server's capacity differs from step to step.
    """
    capacity_rps = CAPACITY_RPS * math.exp(random.normal(0, spread))
    arrivals = np.arange(0, STEP_S, 1 / rps)
    service = random.lognormal(-math.log(capacity_rps) - 0.3**2 / 2, 0.3, len(arrivals))
    spans = stalls(random, bursts_a_second)
    ends = np.array([begin + length for begin, length in spans])
    lengths = np.array([length for _, length in spans])
    begins = ends - lengths if len(spans) else ends

    def worked(at_s: Floats) -> Floats:
        """Time that the core ran until then."""
        if not len(spans):
            return at_s
        stood = np.clip(at_s[:, None] - begins[None, :], 0, lengths[None, :]).sum(axis=1)
        return np.asarray(at_s - stood)

    done = np.cumsum(service)
    departures = done + np.maximum.accumulate(worked(arrivals) - (done - service))
    for begin, length in spans:  # from worked time back to the clock's, stall by stall
        departures = np.where(departures > begin, departures + length, departures)
    response_us = (departures - arrivals) * 1e6
    achieved = float((departures <= STEP_S + 0.01).mean())
    p99_us = float(np.quantile(response_us, 0.99))
    return RateStep(rps, ((0.99, p99_us),), achieved, stalled=float(lengths.sum()) / STEP_S)


def simulated_search(
    seed: int, bursts_a_second: float, spread: float, objective: Objective, *, undisturbed_only: bool = True
) -> list[RateStep]:
    """Search a knee as the lab does: batches in random order, each where the knee may lie by those before.

    Steps in which the machine stood still are left out, or with `undisturbed_only` off kept as if nobody had seen it.
    """
    random = np.random.default_rng(seed)
    steps: list[RateStep] = []
    rates = first_rates(CAPACITY_RPS * random.uniform(0.8, 1.1), BATCH)
    for _ in range(BATCHES):
        steps += [simulated_step(random, rps, bursts_a_second, spread) for rps in random.permutation(rates)]
        if undisturbed_only:
            steps = undisturbed(steps)[0] or steps
        else:
            steps = [dataclasses.replace(each, stalled=0.0) for each in steps]
        rates = next_rates(steps, objective, BATCH)
    return steps


def true_knee_rps(objective: Objective) -> float:
    """Where the typical excess of an undisturbed step crosses zero, from many steps at each rate."""
    random = np.random.default_rng(99)
    rates = CAPACITY_RPS * np.linspace(0.9, 1.1, 41)
    typical = [np.median([simulated_step(random, rps, 0).excess(objective) for _ in range(40)]) for rps in rates]
    return float(np.interp(0.0, typical, rates))
