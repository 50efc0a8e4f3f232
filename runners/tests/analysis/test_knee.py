"""The knee from short steps: coverage and width in simulation, with a queue and with bursts of stalls as measured."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t

from runners.analysis.intervals import Bounded
from runners.analysis.knee import Kind, Limit, Search, estimate, next_longer_rps, next_rates
from runners.analysis.knee_curve import FREEDOM, Curve, curve, pooled, ratio, student, student_below
from runners.analysis.rate_steps import ERRORS, RateStep, StepOutcome
from runners.design.objective import Objective
from runners.tests.fixtures.queue_model import (
    CAPACITY_RPS,
    confirmed_search,
    simulated_search,
    simulated_step,
    started_search,
    true_knee_rps,
)

OBJECTIVE = Objective()


def search(seed: int, bursts_a_second: float, spread: float = 0.0) -> Curve:
    """The posterior after a search."""
    return curve(tuple(simulated_search(seed, bursts_a_second, spread, OBJECTIVE)), OBJECTIVE)


def held(truth_rps: float, intervals: list[Bounded]) -> int:
    return sum(interval.low <= truth_rps <= interval.high for interval in intervals)


@pytest.mark.parametrize(
    ("bursts_a_second", "spread", "count"),
    [
        (0.4, 0.03, 3),
        *(
            pytest.param(bursts, spread, 40, marks=pytest.mark.long)
            for bursts in (0.0, 0.4, 1.0, 2.0)
            for spread in (0.0, 0.03)
        ),
    ],
)
def test_without_the_machine_s_stalls_the_interval_holds_the_knee_and_is_narrow(
    bursts_a_second: float, spread: float, count: int
) -> None:
    knees = [search(seed, bursts_a_second, spread).knee for seed in range(count)]
    wanted = int(binom.ppf(0.002, count, 0.95))
    assert held(true_knee_rps(OBJECTIVE), knees) >= wanted, "at 95 % fewer come by chance in one of 500"
    assert np.median([knee.high / knee.low - 1 for knee in knees]) <= 0.2


@pytest.mark.parametrize(
    ("between", "count"),
    [(0.04, 3), *(pytest.param(between, 60, marks=pytest.mark.long) for between in (0.0, 0.02, 0.05, 0.1))],
)
def test_with_three_starts_the_interval_holds_the_mean_knee_and_that_of_two_settings_their_ratio(
    between: float, count: int
) -> None:
    curves = [curve(tuple(started_search(seed, 0.4, between, OBJECTIVE)), OBJECTIVE) for seed in range(2 * count)]
    wanted = int(binom.ppf(0.002, count, 0.95))
    assert held(true_knee_rps(OBJECTIVE), [fitted.knee for fitted in curves[:count]]) >= wanted
    ratios = [ratio(*pooled((of, against))) for of, against in zip(curves[::2], curves[1::2], strict=True)]
    widths = [interval.high / interval.low - 1 for interval in ratios]
    assert held(1.0, ratios) >= wanted and np.median(widths) <= 0.4 + 5 * between


def test_several_servers_tell_together_how_far_starts_lie_apart() -> None:
    alike = [curve(tuple(started_search(seed, 0.0, 0.0, OBJECTIVE)), OBJECTIVE) for seed in (1, 2, 3)]
    narrow = pooled(alike)
    assert all(own.joint.sum() == pytest.approx(1.0) for own in narrow)
    assert narrow[0].joint.sum(axis=1)[0] > alike[0].joint.sum(axis=1)[0], "three say more surely that it is little"
    assert pooled(alike[:1]) == alike[:1]


def step(rps: float, p99_us: float, achieved: float = 1.0, stalled: float = 0.0, lost: float = 0.0) -> RateStep:
    return RateStep(rps, ((0.99, p99_us),), achieved, lost, stalled)


def test_a_knee_beyond_the_rates_that_were_offered_has_an_open_side() -> None:
    random = np.random.default_rng(5)
    low = [simulated_step(random, rps, 0) for rps in np.geomspace(500, 1500, 12)]
    knee = estimate(low, OBJECTIVE)
    assert math.isnan(curve(tuple(low), OBJECTIVE).knee.high) and knee.kind == Kind.OPEN and knee.low_rps <= 1500
    assert estimate(low, OBJECTIVE, limits_rps=(100, 1600)).kind == Kind.ABOVE
    assert next_rates(low, OBJECTIVE, 8)[-1] > 2_500, "the next load looks further up"
    high = [simulated_step(random, rps, 0) for rps in np.geomspace(6000, 9000, 12)]
    knee = estimate(high, OBJECTIVE)
    assert math.isnan(curve(tuple(high), OBJECTIVE).knee.low) and knee.kind == Kind.OPEN and knee.high_rps >= 6000
    assert estimate(high, OBJECTIVE, limits_rps=(5_900, 1e6)).kind == Kind.BELOW
    assert next_rates(high, OBJECTIVE, 8)[0] < 2_500
    assert next_rates(high, OBJECTIVE, 8, low_rps=5_000)[0] == 5_000
    assert estimate([], OBJECTIVE).kind == Kind.FAILED


def test_a_step_that_was_disturbed_is_judged_by_both_of_its_bounds() -> None:
    stalled = short(1000, 15.0, 1.0, 0.012)  # for 6 ms
    assert stalled.outcome(OBJECTIVE) == StepOutcome.STALLED
    assert short(1000, 9.9, 1.0, 0.2).outcome(OBJECTIVE) == StepOutcome.MET, "what is met all the same is met"
    assert short(1000, 16.1, 1.0, 0.012).outcome(OBJECTIVE) == StepOutcome.MISSED
    assert short(1000, 5.0, 0.98, 0.012).outcome(OBJECTIVE) == StepOutcome.STALLED
    read = short(1000, 15.0, 1.0, 0.0)
    late = replace(read, best=replace(read, latency_us=((0.99, 9_000.0),)))
    assert late.outcome(OBJECTIVE) == StepOutcome.GENERATOR and late.as_read.outcome(OBJECTIVE) == StepOutcome.MISSED
    later = replace(read, best=replace(read, latency_us=((0.99, 10_500.0),)))
    assert later.outcome(OBJECTIVE) == StepOutcome.MISSED
    assert estimate([stalled, late], OBJECTIVE).kind == Kind.FAILED


@given(
    p99_ms=st.floats(0.1, 1_000),
    achieved=st.floats(0, 1),
    stalled=st.floats(0, 1),
    least=st.floats(0, 1),
    lost=st.sampled_from((0.0, 0.5)),
)
def test_what_disturbed_a_step_never_made_it_better(
    p99_ms: float, achieved: float, stalled: float, least: float, lost: float
) -> None:
    read = replace(short(1000, p99_ms, achieved, stalled), lost=lost)
    best = replace(read, latency_us=((0.99, 1000 * p99_ms * least),), achieved=max(achieved, least))
    late = replace(read, best=best)
    bounds = [rate_step.bounds(OBJECTIVE) for rate_step in (replace(read, stalled=0.0), read, late)]
    assert bounds[0][0] == bounds[0][1] == bounds[1][1] == bounds[2][1]
    assert bounds[2][0] <= bounds[1][0] <= bounds[0][0]


def test_student_s_t_is_that_of_scipy() -> None:
    values = np.array([-math.inf, -30.0, -2.0, -0.1, 0.0, 0.3, 4.0, math.inf])
    assert student_below(values) == pytest.approx(t.cdf(values, FREEDOM), abs=1e-12)
    assert student(values[1:-1]) == pytest.approx(t.pdf(values[1:-1], FREEDOM))


def test_a_step_that_fell_short_of_its_rate_or_lost_requests_misses_though_its_p99_is_low() -> None:
    assert step(1000, 500, achieved=0.97).excess(OBJECTIVE) > 1
    assert step(1000, 500, achieved=0.995).excess(OBJECTIVE) < 0
    assert step(1000, math.inf).excess(OBJECTIVE) == step(1000, 500, achieved=0.0).excess(OBJECTIVE) == 3
    assert step(1000, 500, lost=0.001).missed(OBJECTIVE) == (ERRORS,)
    assert step(1000, 500, lost=0.001).excess(OBJECTIVE) == 3
    assert step(1000, 50_000, achieved=0.9).missed(OBJECTIVE) == ("achieved", "p99")


def test_the_rates_of_a_batch_lie_where_the_knee_may_lie() -> None:
    steps = tuple(simulated_search(1, 0.4, 0.0, OBJECTIVE))
    knee, rates = curve(steps, OBJECTIVE).knee, next_rates(steps, OBJECTIVE, 9)
    assert rates == sorted(rates) and rates[0] <= knee.low * 1.02 and rates[-1] >= knee.high / 1.02


def test_a_start_unlike_those_before_is_asked_beyond_their_knee() -> None:
    stuck = [replace(step(rps, 300_000 if rps > 10_000 else 500), start=1) for rps in np.geomspace(3_000, 50_000, 16)]
    first = next_rates(stuck, OBJECTIVE, 8)
    assert first[0] > 7_000 and first[-1] < 15_000
    well = [replace(step(rps, 500), start=2) for rps in first]
    further = next_rates([*stuck, *well], OBJECTIVE, 8, closed_loop_rps=30_000)
    assert further[0] == pytest.approx(first[-1], rel=0.01) and further[-1] == pytest.approx(37_500, rel=0.01)
    worse = [replace(step(rps, 300_000), start=2) for rps in first]
    assert next_rates([*stuck, *worse], OBJECTIVE, 8)[0] < 0.9 * first[0]


def test_a_server_whose_every_step_misses_has_no_knee_among_them_and_is_asked_further_down() -> None:
    steps = [step(rps, 20_000 if rps < 2_000 else 900_000) for rps in range(500, 2_600, 50)]
    assert (knee := estimate(steps, OBJECTIVE)).kind == Kind.OPEN and knee.high_rps == 500
    assert next_rates(steps, OBJECTIVE, 8)[0] == 125


#: Short steps of half a second as a search of an LSM store offered them: rate, p99 in ms, achieved, stalled.
TOO_HIGH = (
    (3_054, 1.65, 1.0, 0.0), (6_086, 4.83, 1.0, 0.0027), (7_660, 4.91, 1.0, 0.0004),
    (8_457, 6.09, 1.0, 0.0), (9_338, 3.58, 1.0, 0.0005), (11_380, 5.48, 1.0, 0.0007),
    (11_380, 46.4, 1.0, 0.0005), (12_130, 269.0, 0.732, 0.0124), (13_870, 231.0, 0.755, 0.1564),
    (15_270, 66.2, 0.898, 0.0093), (15_320, 12.4, 0.995, 0.0002), (15_320, 41.1, 0.961, 0.0072),
    (16_910, 259.0, 0.622, 0.0581), (18_670, 288.0, 0.696, 0.0073), (20_610, 164.0, 0.801, 0.0065),
    (22_760, 245.0, 0.728, 0.0),
)  # fmt: skip


def short(rps: float, p99_ms: float, achieved: float, stalled: float) -> RateStep:
    return RateStep(rps, ((0.99, 1000 * p99_ms),), achieved, stalled=stalled, length_s=0.5)


def test_steps_in_which_the_machine_stalled_tell_where_the_knee_lies() -> None:
    steps = tuple(short(*row) for row in TOO_HIGH)
    calm = tuple(rate_step for rate_step in steps if rate_step.stalled < 0.001)
    knee = curve(steps, OBJECTIVE).knee
    assert knee.low < 11_380 < 12_130 < knee.high, "between what met and what missed by more than its stalls explain"
    assert knee.high / knee.low < 0.9 * curve(calm, OBJECTIVE).knee.high / curve(calm, OBJECTIVE).knee.low


def unknown(of: RateStep) -> RateStep:
    """The step of a generator of which it is not known by how much it was late."""
    return replace(of, best=replace(of, latency_us=tuple((level, 0.0) for level, _ in of.latency_us), achieved=1.0))


def test_what_is_missed_while_the_generator_was_late_leaves_a_lower_bound() -> None:
    steps = simulated_search(1, 0.4, 0.0, OBJECTIVE)
    knee = estimate(steps, OBJECTIVE)
    met = [rate_step for rate_step in steps if rate_step.excess(OBJECTIVE) <= 0]
    late = [unknown(rate_step) for rate_step in steps if rate_step.excess(OBJECTIVE) > 0]
    lower_bound = estimate([*met, *late], OBJECTIVE)
    assert knee.kind == Kind.FOUND and lower_bound.kind == Kind.ABOVE and lower_bound.late and not lower_bound.precise
    assert math.isnan(lower_bound.rps) and math.isnan(lower_bound.high_rps) and lower_bound.low_rps <= knee.low_rps
    highest_met_rps = max(rate_step.rps for rate_step in met)
    assert lower_bound.ceiling_rps == min(rate_step.rps for rate_step in late if rate_step.rps > highest_met_rps)
    assert not estimate(steps, OBJECTIVE).late


def test_the_ratio_of_a_knee_to_itself_holds_one_and_to_a_faster_server_s_holds_that() -> None:
    fitted = search(1, 0.4)
    same, faster = ratio(fitted, fitted), ratio(Curve(fitted.places + math.log(1.5), fitted.joint), fitted)
    assert same.low < 1 < same.high and faster.value == pytest.approx(1.5, rel=0.01)
    assert faster.low / same.low == pytest.approx(1.5) and faster.low > 1.2


def long_step(rps: float, p99_ms: float, name: str = "long", length_s: float = 10.0) -> RateStep:
    return RateStep(rps, ((0.99, 1_000 * p99_ms),), length_s=length_s, name=name)


SHORT = tuple(simulated_search(1, 0.0, 0.0, OBJECTIVE))


def test_the_knee_is_the_highest_rate_that_a_long_step_met_below_all_that_missed() -> None:
    steps = (*SHORT, long_step(2_500, 3, "met"), long_step(2_900, 40, "missed"))
    knee = Search(OBJECTIVE, steps).knee
    assert estimate(SHORT, OBJECTIVE).low_rps > 2_900, "what half a second shows is too high"
    assert (knee.kind, knee.rps, knee.confirmed_by, knee.refuted_by) == (Kind.FOUND, 2_500, "met", "missed")
    assert 2_350 < knee.low_rps <= 2_500 and 2_700 < knee.high_rps < 3_100 and knee.limit == Limit.LONGER_STEP
    again = Search(OBJECTIVE, (*steps, long_step(3_200, 3, "spoilt"))).knee
    assert again.rps == 2_500, "one that met above a rate that was missed confirms nothing"


def test_a_step_shorter_than_is_asked_refutes_and_does_not_confirm() -> None:
    other_steps = (long_step(2_000, 3, "met", 1.2), long_step(2_900, 40, "missed", 1.2))
    knee = Search(OBJECTIVE, SHORT, other_steps).knee
    assert not knee.confirmed and knee.refuted_by == "missed"
    assert knee.kind == Kind.BELOW and knee.high_rps == knee.repeated_rps == 2_900 and math.isnan(knee.rps)
    confirmed = Search(OBJECTIVE, (*SHORT, long_step(2_500, 3, "met")), other_steps).knee
    assert confirmed.kind == Kind.FOUND and confirmed.rps == 2_500 and confirmed.repeated_rps == 2_900


def test_a_miss_during_stalls_bounds_the_knee_by_what_the_server_might_have_met_without_them() -> None:
    stalled = replace(long_step(2_000, 40, "stalled"), busy=0.9)
    knee = Search(OBJECTIVE, (*SHORT, stalled)).knee
    assert (knee.kind, knee.limit) == (Kind.BELOW, Limit.LONGER_STEP) and knee.high_rps == pytest.approx(2_000 / 0.9)
    calm = Search(OBJECTIVE, (*SHORT, stalled, long_step(2_100, 40, "missed"))).knee
    assert calm.high_rps == 2_100, "a second miss bounds it closer"
    cut = Search(OBJECTIVE, (*SHORT, stalled), closed_loop_rps=2_150.0).knee
    assert (cut.high_rps, cut.limit) == (2_150, Limit.CLOSED_LOOP)


def test_a_closed_loop_over_the_same_connections_bounds_the_knee() -> None:
    short = estimate(SHORT, OBJECTIVE)
    within = Search(OBJECTIVE, SHORT, closed_loop_rps=1.5 * short.high_rps).knee
    assert within.rps == pytest.approx(short.rps, rel=0.02) and within.limit == Limit.SHORT_STEPS
    cut = Search(OBJECTIVE, SHORT, closed_loop_rps=short.rps).knee
    assert cut.kind == Kind.FOUND and cut.rps <= cut.high_rps == short.rps and cut.limit == Limit.CLOSED_LOOP
    far = Search(OBJECTIVE, SHORT, closed_loop_rps=0.5 * short.rps).knee
    assert far.kind == Kind.BELOW and far.high_rps == 0.5 * short.rps


def test_no_knee_is_higher_than_every_rate_that_met() -> None:
    steps = [step(rps, 2_000) for rps in np.geomspace(500, 900, 8)] + [step(rps, 90_000) for rps in (1_500, 1_600)]
    met_rps = max(rate_step.rps for rate_step in steps if rate_step.outcome(OBJECTIVE) == StepOutcome.MET)
    assert estimate(steps, OBJECTIVE).rps > met_rps >= Search(OBJECTIVE, tuple(steps)).knee.rps


def test_longer_steps_go_below_the_knee_then_above_it_and_lower_after_one_that_missed() -> None:
    known = Search(OBJECTIVE, SHORT, closed_loop_rps=9_000, precision=0.1)
    first = next_longer_rps(known)
    assert first is not None and 0.85 * known.estimate.rps < first < known.estimate.rps
    met = replace(known, steps=(*SHORT, long_step(first, 3)))
    above = next_longer_rps(met, [(first, StepOutcome.MET)])
    assert above is not None and known.estimate.rps < above < 1.2 * known.estimate.rps
    for p99_ms, low, high in ((15, 0.7, 0.9), (300, 0.4, 0.6)):
        missed = replace(known, steps=(*SHORT, long_step(first, p99_ms)))
        lower = next_longer_rps(missed, [(first, StepOutcome.MISSED)])
        assert lower is not None and low * first < lower < high * first, p99_ms
    assert next_longer_rps(known, [(first, StepOutcome.STALLED)]) == first, "once more"
    for lost in ([(first, StepOutcome.STALLED)] * 2, [(first, StepOutcome.GENERATOR)]):
        lower = next_longer_rps(known, lost)
        assert lower is not None and lower < first
    assert next_longer_rps(replace(met, closed_loop_rps=1.02 * first), [(first, StepOutcome.MET)]) is None


@pytest.mark.parametrize(
    ("share", "bursts_a_second", "count"),
    [
        (0.7, 0.0, 2),
        *(
            pytest.param(share, bursts, 40, marks=pytest.mark.long)
            for share in (1.0, 0.7, 0.4)
            for bursts in (0.0, 0.4)
        ),
    ],
)
def test_a_server_that_sustains_less_than_short_steps_show_is_known_by_what_it_sustains(
    share: float, bursts_a_second: float, count: int
) -> None:
    truth_rps = true_knee_rps(OBJECTIVE, OBJECTIVE.sustained_s, share * CAPACITY_RPS)
    spread = 0.03 if bursts_a_second else 0.0
    knees = [confirmed_search(seed, bursts_a_second, spread, share, 8, OBJECTIVE).knee for seed in range(count)]
    intervals = [Bounded(knee.rps, knee.low_rps, knee.high_rps) for knee in knees if knee.kind == Kind.FOUND]
    wanted = int(binom.ppf(0.002, count, 0.95))
    assert held(truth_rps, intervals) >= wanted and sum(knee.confirmed for knee in knees) >= wanted
    assert max(knee.rps for knee in knees) <= 1.05 * truth_rps
