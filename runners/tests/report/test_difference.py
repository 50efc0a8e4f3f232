"""The figure of differences: what is known well can be read, whatever else is not known."""

from __future__ import annotations

import math

import pytest

from runners.analysis.intervals import Direction
from runners.analysis.quantities import OF_LOADS, Row
from runners.report.comparison import MOST_TIMES, drawn


def row(place: int, middle: float, low: float, high: float) -> Row:
    """A ratio with its interval, of one quantity after the other."""
    values = 100.0, 100.0 * middle
    return Row(OF_LOADS[place], "a", "b", middle, low, high, Direction.INCONCLUSIVE, *values, 8)


KNOWN = [row(place, 1 + change, 0.98 + change, 1.02 + change) for place, change in enumerate((-0.08, 0.0, 0.11))]


def figure(*more: Row) -> tuple[float, list[str]]:
    """How far the axis goes, as a ratio, and what stands in the figure."""
    (axes,) = drawn([*KNOWN, *more], 0.02, "heading", "note").axes
    return float(axes.get_xlim()[1]), [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("edge", [51.0, 4_001.0])
def test_a_wide_interval_is_cut_and_its_bounds_are_written(edge: float) -> None:
    wide = row(3, 1.2, 0.1, edge)
    side, texts = figure(wide)
    assert side == MOST_TIMES
    assert texts == [known.change for known in (*KNOWN, wide)]


def test_half_and_double_are_equally_far_and_nothing_lies_below_minus_all() -> None:
    (axes,) = drawn([*KNOWN, row(3, 1.2, 0.5, 2.0)], 0.02, "heading", "note").axes
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "log" and low == pytest.approx(1 / high) and low > 0
    axes.figure.canvas.draw()
    labels = [text.get_text() for text in axes.get_xticklabels()]
    assert "0" in labels and any(label.startswith("-") for label in labels)


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    side, texts = figure(row(3, 1.2, math.nan, math.nan))
    assert side < 1.5 and "not bounded" in texts[-1]


def test_a_difference_that_is_large_and_known_well_is_shown_whole() -> None:
    side, texts = figure(row(3, 2.0, 1.95, 2.05))
    assert 2.05 <= side < MOST_TIMES and len(texts) == 4
