"""Comparing: nothing is found where nothing is, a planted difference is found within the plan, intervals hold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from runners.analysis.comparison import (
    ALPHA,
    AT_MOST,
    PRIMARY,
    QUANTITIES,
    UNDECIDED,
    Difference,
    Verdict,
    differences,
    looks,
)
from runners.analysis.sequential import nominal_levels
from runners.claims.comparing import said
from runners.tests.counts import allowed, rounds

PLANNED, NOISE, SEE = 30, 0.04, 0.02


def measure(random: np.random.Generator, effect: float, noise: float, planned: int) -> list[Difference]:
    """Rounds of two settings on a machine whose days differ by 10 %; a run's quantities share a part of their noise."""
    sides: tuple[dict[str, list[float]], ...] = ({}, {})
    for number in range(1, planned + 1):
        today = random.normal(0, 0.1)
        for side, shift in zip(sides, (0.0, math.log1p(effect)), strict=True):
            common = random.normal(0, noise * math.sqrt(0.5))
            for quantity in QUANTITIES:
                own = random.normal(0, noise * math.sqrt(0.5))
                side.setdefault(quantity.name, []).append(1_000 * math.exp(today + common + own + shift))
        if number in looks(planned):
            found = differences(sides[0], sides[1], planned, SEE)
            if number == planned or primary(found).verdict not in UNDECIDED:
                break
    return found


def primary(found: list[Difference]) -> Difference:
    return next(each for each in found if each.quantity.name == PRIMARY)


def test_a_setting_against_itself_shows_nothing() -> None:
    random, count = np.random.default_rng(1), rounds(60, 1_000)
    quiet = 0
    for _ in range(count):
        found = measure(random, 0.0, NOISE, PLANNED)
        quiet += not any(each.verdict in (Verdict.LOWER, Verdict.HIGHER) for each in found)
    print(f"A against A, {count} comparisons of six quantities: nothing found in {quiet / count:.1%}")
    assert quiet / count >= allowed(0.95, count)


def test_a_planted_difference_of_5_percent_is_found_within_the_plan() -> None:
    random, count = np.random.default_rng(2), rounds(60, 1_000)
    hits, held, used = 0, 0, []
    for _ in range(count):
        found = measure(random, 0.05, NOISE, PLANNED)
        hits += primary(found).verdict == Verdict.HIGHER
        held += all(each.low <= 0.05 <= each.high for each in found)
        used.append(primary(found).rounds)
    print(
        f"planted +5 %, spread of a run {NOISE:.0%}, plan of {PLANNED} rounds: found in {hits / count:.1%} of "
        f"{count}, after {np.mean(used):.1f} rounds; all six intervals hold it in {held / count:.1%}"
    )
    assert hits / count >= allowed(0.90, count)
    assert held / count >= allowed(0.95, count)


@pytest.mark.parametrize("planned", [4, 5, 9, 24, 60])
def test_all_looks_together_spend_the_error_that_is_allowed(planned: int) -> None:
    random, count = np.random.default_rng(3), 40_000
    walks = np.cumsum(random.normal(size=(count, planned)), axis=1)
    from scipy.stats import norm

    crossed = np.zeros(count, bool)
    for look, level in nominal_levels(looks(planned), ALPHA).items():
        crossed |= np.abs(walks[:, look - 1]) / math.sqrt(look) > norm.ppf(1 - level / 2)
    assert crossed.mean() == pytest.approx(ALPHA, abs=4 * math.sqrt(ALPHA / count))


def test_a_stall_in_some_runs_widens_the_interval_and_is_no_difference() -> None:
    random, count = np.random.default_rng(4), rounds(40, 400)
    wrong = 0
    for _ in range(count):
        sides = [
            {PRIMARY: list(1_000 * np.exp(random.normal(0, 0.03, 12)) * np.where(random.random(12) < 0.2, 8, 1))}
            for _ in range(2)
        ]
        wrong += differences(sides[0], sides[1], 12, SEE)[0].verdict in (Verdict.LOWER, Verdict.HIGHER)
    print(f"stalls in a fifth of the runs, 12 rounds: a difference is claimed in {wrong / count:.1%} of {count}")
    assert 1 - wrong / count >= allowed(0.95, count)


def told(low: float, high: float, see: float = 0.02, spread: float = 0.05) -> str:
    middle = (low + high) / 2
    each = Difference(QUANTITIES[2], 1_000.0, 1_000.0 * (1 + middle), middle, low, high, 10, spread, see)
    return said(each, "LSM", "RocksDB", 6).replace("\u00a0", " ").replace("\u2212", "-")


def test_verdicts_in_words() -> None:
    assert told(-0.19, -0.12) == "RocksDB has a p99 lower than LSM by 12.0 % to 19.0 %"
    assert told(0.04, 0.06) == "RocksDB has a p99 higher than LSM by 4.00 % to 6.00 %"
    assert "differ by less than 2.00 %" in told(-0.01, 0.012)
    unseen = told(-0.05, 0.06)
    assert "no difference" in unseen and "10 rounds can see" in unseen and "more would show 2.00 %" in unseen
    assert told(-0.9, 20.0, spread=2.0).endswith("; not even 1\u202f000 more would show 2.00 %")
    assert "too few to tell" in told(math.nan, math.nan)


def test_equal_figures_are_known_to_the_histograms_resolution_only() -> None:
    same = [52.0] * 8
    (found,) = differences({PRIMARY: same}, {PRIMARY: same}, 8, SEE)
    assert found.low < 0 < found.high and found.high > 0.009


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_whatever_lies_between_a_value_and_what_it_is_at_most(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.lognormal(0, 0.1, (2, 12)) * 1_000
    open_a, open_b = (1 + random.uniform(0, 0.5, 12) * (random.random(12) < 0.3) for _ in "ab")
    bounds = [{PRIMARY: own, PRIMARY + AT_MOST: own * up} for own, up in ((a, open_a), (b, open_b))]
    (found,) = differences(bounds[0], bounds[1], 12, SEE)
    for _ in range(20):
        truth = [{PRIMARY: own * up ** random.random(12)} for own, up in ((a, open_a), (b, open_b))]
        (exact,) = differences(truth[0], truth[1], 12, SEE)
        assert found.low <= exact.share <= found.high
        assert found.high - found.low > 0.9 * (exact.high - exact.low)
    closed = [{PRIMARY: own, PRIMARY + AT_MOST: own} for own in (a, b)]
    assert differences(closed[0], closed[1], 12, SEE) == differences({PRIMARY: a}, {PRIMARY: b}, 12, SEE)


def test_quantities_that_one_side_lacks_are_left_out() -> None:
    with_nan: Callable[[], dict[str, list[float]]] = lambda: {PRIMARY: [1.0, 2.0], "cpu_us": [math.nan, 3.0]}  # noqa: E731
    assert [each.quantity.name for each in differences(with_nan(), with_nan(), 4, SEE)] == [PRIMARY]
