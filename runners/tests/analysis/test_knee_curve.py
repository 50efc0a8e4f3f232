"""The knee from short steps: coverage and width in simulation, with a queue and with bursts of stalls as measured."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import binom

from runners.analysis.intervals import Bounded
from runners.analysis.knee_curve import Curve, ShortStep, curve, first_rates, next_rates, steps_of, undisturbed

LIMIT_US = 10_000.0
STEP_S = 0.5
CAPACITY_RPS = 4_000.0
#: Steps of a search of a minute, half of which is rest.
BATCHES, BATCH = 4, 15

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


def measured(random: np.random.Generator, rps: float, bursts_a_second: float, spread: float = 0.0) -> ShortStep:
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
    return ShortStep(rps, float(np.quantile(response_us, 0.99)), achieved, float(lengths.sum()) / STEP_S)


def search(seed: int, bursts_a_second: float, spread: float = 0.0, *, calm: bool = False) -> Curve:
    """A search as the lab makes it: batches in random order, each where the knee may lie by those before."""
    random = np.random.default_rng(seed)
    steps: list[ShortStep] = []
    rates = first_rates(CAPACITY_RPS * random.uniform(0.8, 1.1), BATCH)
    for _ in range(BATCHES):
        steps += [measured(random, rps, bursts_a_second, spread) for rps in random.permutation(rates)]
        kept = undisturbed(steps)[0] if calm else steps
        found = curve(kept, LIMIT_US)
        rates = next_rates(found, BATCH)
    return found


def truth_rps() -> float:
    """Where the typical p99 of an undisturbed step crosses the limit, from many steps at each rate."""
    random = np.random.default_rng(99)
    rates = CAPACITY_RPS * np.linspace(0.9, 1.1, 41)
    typical = [np.median([measured(random, rps, 0).excess(LIMIT_US) for _ in range(40)]) for rps in rates]
    return float(np.interp(0.0, typical, rates))


def held(truth_rps: float, found: list[Bounded]) -> int:
    return sum(each.low <= truth_rps <= each.high for each in found)


@pytest.mark.parametrize(
    ("bursts_a_second", "spread", "count"),
    [
        (0.0, 0.0, 3),
        (0.4, 0.03, 5),
        *(
            pytest.param(bursts, spread, 40, marks=pytest.mark.long)
            for bursts in (0.0, 0.4, 1.0)
            for spread in (0.0, 0.03)
        ),
    ],
)
def test_without_the_machine_s_stalls_the_interval_holds_the_knee_and_is_narrow(
    bursts_a_second: float, spread: float, count: int
) -> None:
    found = [search(seed, bursts_a_second, spread, calm=True).knee for seed in range(count)]
    wanted = int(binom.ppf(0.002, count, 0.95))
    assert held(truth_rps(), found) >= wanted, "at 95 % fewer come by chance in one of 500"
    assert np.median([each.high / each.low - 1 for each in found]) <= 0.2


def test_a_knee_beyond_the_rates_that_were_offered_has_an_open_side() -> None:
    random = np.random.default_rng(5)
    steps = [measured(random, rps, 0) for rps in np.geomspace(500, 1500, 12)]
    assert math.isnan(curve(steps, LIMIT_US).knee.high)
    steps = [measured(random, rps, 0) for rps in np.geomspace(6000, 9000, 12)]
    assert math.isnan(curve(steps, LIMIT_US).knee.low)


def test_steps_in_which_the_machine_stood_still_are_left_out_whatever_their_latency() -> None:
    steps = [ShortStep(1000, 500, stalled=0.1), ShortStep(1000, 90_000), ShortStep(2000, 700, stalled=0.003)]
    kept, left_out = undisturbed(steps)
    assert kept == steps[1:] and left_out == pytest.approx(1 / 3)


def test_a_step_that_fell_short_of_its_rate_misses_though_its_p99_is_low() -> None:
    assert ShortStep(1000, 500, achieved=0.97).excess(LIMIT_US) > 1
    assert ShortStep(1000, 500, achieved=0.995).excess(LIMIT_US) < 0
    assert ShortStep(1000, math.inf).excess(LIMIT_US) == ShortStep(1000, 500, achieved=0.0).excess(LIMIT_US) == 3


def test_the_rates_of_a_batch_lie_where_the_knee_may_lie() -> None:
    found = search(1, 0.4, calm=True)
    rates = next_rates(found, 9)
    assert rates == sorted(rates) and rates[0] <= found.knee.low * 1.02 and rates[-1] >= found.knee.high / 1.02


def test_a_load_is_cut_into_its_steps() -> None:
    at_s = np.concatenate([np.arange(0, 0.5, 0.01), np.arange(0.5, 1.0, 0.1), np.arange(1.0, 1.5, 0.005)])
    log = pd.DataFrame({"t_s": at_s, "response_us": 100.0, "fate": "completed"})
    log.loc[log["t_s"] >= 1.25, "fate"] = "censored"
    log.loc[(log["t_s"] > 0.485) & (log["t_s"] < 0.5), "response_us"] = 30_000.0
    seen = pd.DataFrame({"t_s": [0.4, 0.7], "duration_ms": [200.0, 100.0]})
    first, second = steps_of(log, seen, [100, 200], 0.5, 1.0)
    assert first.p99_us == 30_000 and first.achieved == pytest.approx(0.98)
    assert first.stalled == pytest.approx(0.2)
    assert second.p99_us == math.inf and second.achieved == pytest.approx(0.5, abs=0.02) and second.stalled == 0
