"""Interleaved comparisons: false findings, planted effects and coverage in simulation, with bursts common to all."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, t

from runners.analysis.interleaved import _above as above
from runners.analysis.interleaved import _resolved as resolved
from runners.analysis.interleaved import refuse_as_control
from runners.analysis.intervals import Bounded, Direction
from runners.analysis.quantities import QUANTITIES, Reason, Refusal, Row
from runners.analysis.treatments import (
    Effects,
    Start,
    carry_over,
    compare,
    critical_value,
    start_from,
    start_of,
    without_spill_over,
)
from runners.readers.requests_log import successions
from runners.storage.schema import InterleavedRecord
from runners.tests.counts import rounds

TREATMENTS = ("base", "again", "other")
SIMULATED = rounds(40, 120)
BETWEEN_STARTS = 0.02


def a_start(
    chance: np.random.Generator, factor: float = 1.0, seconds: float = 10.0, rate: float = 300.0
) -> pd.DataFrame:
    """A start of three targets at a rate each: lognormal service, process effects, and stalls that hit all of them."""
    rate = 300.0
    count = int(seconds * rate) * len(TREATMENTS)
    at_s = np.arange(count) / (rate * len(TREATMENTS))
    which = chance.permuted(np.tile(np.arange(len(TREATMENTS)), (count // len(TREATMENTS), 1)), axis=1).ravel()
    process = np.exp(chance.normal(0, BETWEEN_STARTS, len(TREATMENTS))) * np.array([1.0, 1.0, factor])
    response_us = 90 * np.exp(chance.normal(0, 0.3, count)) * process[which]
    for begin_s, length_s in zip(chance.uniform(0, seconds, 60), chance.uniform(0.001, 0.012, 60), strict=True):
        inside = (at_s >= begin_s) & (at_s < begin_s + length_s)
        response_us[inside] += (begin_s + length_s - at_s[inside]) * 1e6
    names = pd.Categorical.from_codes(which, categories=pd.Index(TREATMENTS))
    before = pd.Categorical.from_codes(np.concatenate([[-1], which[:-1]]), categories=pd.Index(TREATMENTS))
    return pd.DataFrame(
        {"t_s": at_s, "target": names, "predecessor": before, "response_us": response_us, "fate": "completed"}
    )


def simulated(seed: int, factor: float, starts: int = 4) -> Effects:
    """One comparison with fresh processes in each start."""
    chance = np.random.default_rng(seed)
    measured = [start_of(a_start(chance, factor), TREATMENTS, 0.5) for _ in range(starts)]
    return compare(measured, TREATMENTS, "base", 0.05, control="again")


@pytest.fixture(scope="module")
def alike() -> list[Effects]:
    return [simulated(seed, 1.0) for seed in range(SIMULATED)]


def test_two_processes_of_one_setting_are_called_different_by_chance_alone(alike: list[Effects]) -> None:
    most = binom.ppf(0.999, SIMULATED, 0.05)
    assert sum(comparison.control is None or not comparison.control.change.holds_zero for comparison in alike) <= most
    assert sum(comparison.effects[0].direction in (Direction.HIGHER, Direction.LOWER) for comparison in alike) <= most


def test_the_interval_holds_a_planted_effect_and_finds_it() -> None:
    planted = [simulated(seed, 1.1) for seed in range(rounds(20, 40))]
    changes = [comparison.effects[0].change for comparison in planted]
    assert sum(change.low <= 0.1 <= change.high for change in changes) >= binom.ppf(0.001, len(changes), 0.95)
    assert sum(comparison.effects[0].direction == Direction.HIGHER for comparison in planted) >= 0.9 * len(planted)
    assert abs(float(np.median([change.value for change in changes])) - 0.1) < 0.02


def test_with_one_start_there_is_no_verdict_on_the_treatments() -> None:
    comparison = simulated(1, 1.5, starts=1)
    assert comparison.effects[0].change.low > 0.3
    assert comparison.effects[0].direction == Direction.INCONCLUSIVE
    assert comparison.effects[0].starts_needed == 3


def test_an_effect_within_the_margin_is_the_same() -> None:
    starts = [start_from({"base": 50.0 * f, "other": 50.1 * f}, ("base", "other")) for f in (1.0, 1.3, 0.9, 1.1)]
    (effect,) = compare(starts, ("base", "other"), "base", 0.02).effects
    assert effect.direction == Direction.SAME
    assert effect.change.value == pytest.approx(0.002)
    assert math.isnan(compare(starts, ("base", "other"), "base", 0.02).between_starts), "read once a start: no blocks"


def test_what_differs_between_starts_is_not_hidden_by_many_requests() -> None:
    none = np.zeros((40, 2))  # blocks that never differ: many requests
    starts = [Start(np.log([100.0, 100.0 * factor]), none) for factor in (1.3, 0.8, 1.2, 0.9)]
    comparison = compare(starts, ("base", "other"), "base", 0.02)
    assert comparison.effects[0].direction == Direction.INCONCLUSIVE
    assert comparison.between_starts == pytest.approx(1.0)
    assert comparison.effects[0].starts_needed is not None and comparison.effects[0].starts_needed > 4


def test_a_request_without_a_response_is_slower_than_any() -> None:
    frame = a_start(np.random.default_rng(3))
    frame.loc[frame["target"] == "other", "fate"] = "censored"
    start = start_of(frame, TREATMENTS, 0.5)
    assert math.isinf(start.logs[2])
    with pytest.raises(ValueError, match="no start has a finite value"):
        compare([start], TREATMENTS, "base", 0.02)


def test_dunnetts_critical_values_are_those_of_his_table() -> None:
    assert critical_value(1, 10) == pytest.approx(float(t.ppf(0.975, 10)))
    # two-sided, 5 %: Dunnett, 1964, New tables for multiple comparisons with a control, Biometrics 20
    for treatments, freedom, value in ((2, 10, 2.57), (3, 20, 2.54), (4, 10, 2.89)):
        assert critical_value(treatments, freedom) == pytest.approx(value, abs=0.015)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=3, max_size=6), st.floats(0.1, 10.0))
def test_a_factor_common_to_a_start_changes_nothing(factors: list[float], unit: float) -> None:
    plain = [start_from({"base": 10.0 + i, "other": 12.0}, ("base", "other")) for i in range(len(factors))]
    scaled = [
        start_from({"base": (10.0 + i) * f * unit, "other": 12.0 * f * unit}, ("base", "other"))
        for i, f in enumerate(factors)
    ]
    first, second = (compare(starts, ("base", "other"), "base", 0.05).effects[0].change for starts in (plain, scaled))
    assert (first.value, first.low, first.high) == pytest.approx((second.value, second.low, second.high))


def test_a_predecessor_that_slows_the_next_request_is_found() -> None:
    frame = a_start(np.random.default_rng(5), seconds=20.0)
    frame["service_us"] = frame["response_us"]
    after = (frame["predecessor"] == "other").to_numpy()
    frame.loc[after, "service_us"] *= 1.2
    shift = carry_over(successions(frame))
    assert shift["other"] > 0.08 > 0 > shift["base"]
    assert shift["other"] - shift["base"] == pytest.approx(0.2, abs=0.06)


def test_an_effect_that_the_loads_alone_contradict_is_taken_from_them() -> None:
    random = np.random.default_rng(4)

    def starts(change: float, spread: float) -> list[Start]:
        logs = [random.normal(0, 0.1) + random.normal(0, spread, 3) + np.array([0, 0, change]) for _ in range(4)]
        return [Start(row, np.empty((0, 3))) for row in logs]

    names = ("a", "a-control", "b")
    shared = compare(starts(0.1, 0.002), names, "a", 0.02, "a-control")
    alone = compare(starts(0.3, 0.01), names, "a", 0.02, "a-control")
    vague = compare(starts(0.3, 0.3), names, "a", 0.02, "a-control")
    assert without_spill_over(shared, alone).effects == alone.effects
    assert without_spill_over(shared, vague) == shared, "loads that say little contradict nothing"
    one_start = compare(starts(0.3, 0.01)[:1], names, "a", 0.02, "a-control")
    assert without_spill_over(shared, one_start) == shared


@pytest.mark.parametrize(
    ("base", "other", "inside"), [(1.0, 1.0, {"base", "other"}), (1.3, 1.0, {"other"}), (1.3, 1.6, set())]
)
def test_a_percentile_not_above_the_server_that_does_nothing_is_within_the_floor(
    base: float, other: float, inside: set[str]
) -> None:
    chance = np.random.default_rng(7)
    names = ("base", "other", "nothing")
    about = InterleavedRecord(treatments=names[:2], reference="nothing", smallest_difference=0.03)
    starts = [
        start_from(dict(zip(names, 90 * np.array([base, other, 1.0]) * chance.normal(1, 0.01, 3), strict=True)), names)
        for _ in range(4)
    ]
    above_floor = above(starts, names, about, "p99_us")
    assert {name for name, change in above_floor.items() if not change.low > 0} == inside
    assert not above(starts, names, about, "cpu_us"), "CPU time has no floor of the instrument"


@pytest.mark.parametrize(
    ("of_base", "of_other", "said"),
    [
        (-0.01, 0.02, "not compared"),
        (0.1, -0.01, "at least"),
        (-0.01, 0.1, "not compared"),
        (0.1, 0.1, "\u221223.0\u00a0%"),
    ],
)
def test_a_percentile_within_the_floor_is_at_most_that_and_on_both_sides_not_compared(
    of_base: float, of_other: float, said: str
) -> None:
    """What no side adds beyond noise is the instrument's; where one does, the other may take less than it reads."""
    about = InterleavedRecord(treatments=("base", "other"), reference="nothing", smallest_difference=0.03)
    lower = Row(QUANTITIES["p99_us"], "base", "other", 0.77, 0.7, 0.8, Direction.LOWER, 100.0, 77.0, 4)
    above_it = {name: Bounded(low + 0.05, low, low + 0.1) for name, low in (("base", of_base), ("other", of_other))}
    row = resolved(lower, above_it, about)
    assert ("at most 77" in row.pair) == (said == "at least")
    assert (row.refused == (Refusal(Reason.WITHIN_FLOOR),)) == (said == "not compared")
    assert row.change == ("at least 20.0\u00a0% lower" if said == "at least" else lower.change)


def test_a_tail_without_a_server_that_does_nothing_is_not_compared_and_a_median_is() -> None:
    about = InterleavedRecord(treatments=("base", "other"), smallest_difference=0.03)
    for name, why in (("p50_us", ()), ("p99_us", (Refusal(Reason.NO_REFERENCE),)), ("cpu_us", ())):
        row = Row(QUANTITIES[name], "base", "other", 0.77, 0.7, 0.8, Direction.LOWER, 100.0, 77.0, 4)
        assert resolved(row, {}, about).refused == why
    row = Row(QUANTITIES["p99_us"], "noop", "other", 1.3, 1.2, 1.4, Direction.HIGHER, 100.0, 130.0, 4)
    known = InterleavedRecord(treatments=("noop", "other"), smallest_difference=0.03)
    assert not resolved(row, {}, known).refused, "the treatment that does nothing is the floor"


@pytest.mark.parametrize(
    ("low", "high", "control", "refused"),
    [
        (1.29, 2.57, (1.10, 1.69), True),
        (1.42, 2.84, (1.10, 1.69), True),
        (1.80, 2.84, (1.10, 1.69), False),
        (0.60, 0.80, (1.10, 1.69), False),
        (1.29, 2.57, (0.90, 1.10), False),
    ],
)
def test_what_two_processes_of_the_baseline_differ_by_is_no_effect(
    low: float, high: float, control: tuple[float, float], refused: bool
) -> None:
    def row(treatment: str, low: float, high: float) -> Row:
        side = Direction.HIGHER if low > 1 else Direction.LOWER if high < 1 else Direction.INCONCLUSIVE
        ratio = math.sqrt(low * high)
        return Row(QUANTITIES["allocated_bytes"], "base", treatment, ratio, low, high, side, 311.0, 311.0 * ratio, 6)

    judged = refuse_as_control(row("other", low, high), [row("again", *control)])
    assert [refusal.reason for refusal in judged.refused] == [Reason.CONTROL] * refused
