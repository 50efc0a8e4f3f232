"""A row's ratio is of medians; the ratio of a round has an interval that one wild round does not move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.bench.fixture import Row

times = st.floats(1.0, 1e4)


@given(st.lists(st.tuples(times, times), min_size=6, max_size=20))
def test_the_interval_encloses_the_median_and_lies_in_the_range(pairs: list[tuple[float, float]]) -> None:
    ours, peer = zip(*pairs, strict=True)
    interval = Row("a", "us", ours, peer, "<=", 1.0).ratio_of_a_round
    ratios = [a / b for a, b in pairs]
    assert min(ratios) <= interval.low <= interval.value <= interval.high <= max(ratios)


@given(st.floats(0.1, 10.0), st.floats(2.0, 1e3))
def test_one_wild_round_of_fifteen_moves_neither_the_ratio_nor_its_interval(ratio: float, wild: float) -> None:
    peer = (100.0,) * 15
    row = Row("a", "us", (*(ratio * 100.0,) * 14, ratio * wild * 100.0), peer, "<=", 1.0)
    interval = row.ratio_of_a_round
    assert (row.ratio, interval.low, interval.value, interval.high) == pytest.approx((ratio,) * 4)


def test_a_line_says_whether_its_spread_is_an_interval_or_a_range() -> None:
    few, many = (Row("a", "us", (2.0,) * n, (1.0,) * n, "<=", 1.0).line() for n in (5, 6))
    assert "(rounds=5, ratio of a round 2.000, range 2.000 to 2.000)" in few
    assert "(rounds=6, ratio of a round 2.000, 95 % 2.000 to 2.000)" in many


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ((0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8), "met"),
        ((0.8, 0.9, 0.8, 0.9, 2.0, 3.0, 2.0), "met within noise"),
        ((0.8, 1.1, 1.1, 1.2, 2.0, 3.0, 0.7), "short within noise"),
        ((1.1, 1.2, 1.1, 1.2, 1.1, 1.2, 1.1), "short"),
    ],
)
def test_a_goal_within_the_interval_is_neither_surely_met_nor_surely_missed(
    ours: tuple[float, ...], verdict: str
) -> None:
    ones = (1.0,) * 7
    for row in (
        Row("a", "us", ours, ones, "<=", 1.0),
        Row("a", "us", tuple(1 / value for value in ours), ones, ">=", 1.0),
    ):
        assert f" {verdict} (rounds=7" in row.line()
