"""The figure of differences: what is known well can be read, whatever else is not known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from runners.analysis.comparison import QUANTITIES, Difference
from runners.report.comparison import MOST_TIMES, drawn

NO_DOTS = pd.DataFrame({"quantity": [], "difference": []})
KNOWN = [
    Difference(quantity, 100.0, 100.0 * (1 + middle), middle, middle - 0.02, middle + 0.02, 8, 0.03, 0.02)
    for quantity, middle in zip(QUANTITIES[:3], (-0.08, 0.0, 0.11), strict=True)
]


def figure(*more: Difference) -> tuple[float, list[str]]:
    """How far the axis goes, as a ratio, and what stands in the figure."""
    (axes,) = drawn([*KNOWN, *more], NO_DOTS, "heading", "note").axes
    return float(axes.get_xlim()[1]), [text.get_text().replace("\u2212", "-") for text in axes.texts]


def other(low: float, high: float) -> Difference:
    return Difference(QUANTITIES[3], 100.0, 120.0, 0.2, low, high, 8, 0.9, 0.02)


@pytest.mark.parametrize("edge", [50.0, 4_000.0])
def test_a_wide_interval_is_cut_and_its_edge_is_written(edge: float) -> None:
    side, texts = figure(other(-0.9, edge))
    assert side == MOST_TIMES
    assert texts == [f"to x {1 + edge:.3g}"]


def test_half_and_double_are_equally_far_and_nothing_lies_below_minus_all() -> None:
    (axes,) = drawn([*KNOWN, other(-0.5, 1.0)], NO_DOTS, "heading", "note").axes
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "log" and low == pytest.approx(1 / high) and low > 0
    axes.figure.canvas.draw()
    labels = [text.get_text() for text in axes.get_xticklabels()]
    assert "0" in labels and any(label.startswith("-") for label in labels)


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    assert figure(other(math.nan, math.nan))[1] == []


def test_a_difference_that_is_large_and_known_well_is_shown_whole() -> None:
    side, texts = figure(other(0.95, 1.05))
    assert side >= 2.05 and not texts
