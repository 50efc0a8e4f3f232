"""No label of a figure is printed over another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from runners.report import style
from runners.report.document import document
from runners.report.narrow import narrowed
from runners.tests.fixtures.references import KEPT, concluded
from runners.tests.tiers import in_short

#: Boxes of letters have some room around what is printed.
ROOM_PX = 2.0


def overprinted(figure: Figure) -> Iterator[str]:
    """Pairs of labels whose boxes share some room."""
    style.styled(figure.draw_without_rendering)()  # finds the layout
    beyond = set(beyond_the_ends(figure))
    labels = [label for label in figure.findobj(Text) if isinstance(label, Text) and label not in beyond]
    boxes = [(label.get_text(), label.get_window_extent()) for label in labels if label.get_text().strip()]
    for (first, a), (second, b) in combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > ROOM_PX and height > ROOM_PX:
            yield f"{first!r} and {second!r} share {width:.0f} x {height:.0f} px"


def beyond_the_ends(figure: Figure) -> Iterator[Text]:
    """Labels of ticks beyond the ends of an axis, which are kept and not drawn."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    yield from (tick.label1, tick.label2)


@pytest.mark.parametrize("number", in_short(KEPT, ("06",)))
def test_no_label_of_a_reports_figures_is_printed_over_another(number: str) -> None:
    page = document(concluded(number))  # its own: narrowed changes it
    assert page.figures
    for layout in (lambda figure: figure, narrowed):
        overlaps = [f"{shown.anchor}: {pair}" for shown in page.figures for pair in overprinted(layout(shown))]
        assert overlaps == []


def test_two_labels_at_one_place_are_found() -> None:
    figure = style.Picture()
    axes = figure.add_subplot()
    for text, x in (("here", 0.5), ("there", 0.51), ("elsewhere", 0.8)):
        axes.text(x, 0.5, text, transform=axes.transAxes)
    (pair,) = [pair for pair in overprinted(figure) if "here" in pair]
    assert "'here' and 'there'" in pair
