"""A comparison that is looked at after every start keeps its error rate, and ends as soon as the answer is clear."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from runners.analysis.intervals import Direction
from runners.analysis.treatments import FEWEST_STARTS, Start, compare, nominal_levels, spent

MOST = 10
NAMES = ("a", "a-control", "b")
MARGIN = 0.02


def test_the_boundaries_are_those_that_are_published() -> None:
    bounds = [float(norm.isf(level / 2)) for level in nominal_levels((1, 2, 3, 4, 5)).values()]
    assert bounds == pytest.approx([4.877, 3.357, 2.680, 2.290, 2.031], abs=0.005)
    assert nominal_levels((3,)) == {3: pytest.approx(0.05, abs=1e-4)} and spent(1.0) == pytest.approx(0.05)


def looked_at(random: np.random.Generator, change: float, between: float) -> tuple[Direction, int]:
    """One comparison with a look after each start from the third on: its verdict, and the starts that it took."""
    starts: list[Start] = []
    for count in range(1, MOST + 1):
        common = random.normal(0, 0.2)
        logs = common + random.normal(0, between, len(NAMES)) + np.array([0, 0, np.log1p(change)])
        starts.append(Start(logs, np.empty((0, len(NAMES)))))
        if count >= FEWEST_STARTS:
            verdict = compare(starts, NAMES, "a", MARGIN, "a-control", MOST).effects[0].direction
            if verdict != Direction.INCONCLUSIVE:
                return verdict, count
    return Direction.INCONCLUSIVE, MOST


@pytest.mark.parametrize("count", [300, pytest.param(4_000, marks=pytest.mark.long)])
def test_looks_at_two_alike_find_no_more_differences_than_one_test_at_the_end(count: int) -> None:
    random = np.random.default_rng(1)
    verdicts = [looked_at(random, 0.0, 0.05)[0] for _ in range(count)]
    false = sum(verdict in (Direction.HIGHER, Direction.LOWER) for verdict in verdicts)
    assert false <= binom.ppf(0.999, count, 0.05)


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_difference_just_beyond_the_margin_is_called_the_same_no_more_often_than_that(count: int) -> None:
    random = np.random.default_rng(2)
    verdicts = [looked_at(random, MARGIN, 0.008)[0] for _ in range(count)]
    assert sum(verdict == Direction.SAME for verdict in verdicts) <= binom.ppf(0.999, count, 0.05)


def test_a_clear_difference_and_a_clear_equivalence_end_early() -> None:
    random = np.random.default_rng(3)
    assert [looked_at(random, 0.5, 0.01) for _ in range(5)] == [(Direction.HIGHER, 3)] * 5
    same = [looked_at(random, 0.0, 0.002) for _ in range(5)]
    assert {verdict for verdict, _ in same} == {Direction.SAME} and max(count for _, count in same) < MOST
