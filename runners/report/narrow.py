"""Lay a figure out again for a page as narrow as a phone's: columns below each other, labels of rows above them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from runners.report.style import ROWS, VALUE, Picture, broken, legend, styled

WIDTH_IN = 4.3
ROW_IN = 0.2  # a row's label above it
ABOVE = 0.4  # of a row, from its middle to its label
MOST_TICKS = 4
LETTERS = 8.0  # points of the labels of rows


@styled
def narrowed(figure: Picture) -> Picture:
    """Return the same figure, laid out for a narrow page; what it was before is gone."""
    if figure.get_figwidth() == WIDTH_IN:
        return figure
    shown = [axes for axes in figure.axes if axes.get_visible()]
    height_in = figure.get_figheight()
    columns = _below_each_other(figure, shown)
    lines = len(broken(figure.get_suptitle(), WIDTH_IN)) - figure.heading_lines
    height_in *= max(1.0, 0.8 * columns)
    height_in += 0.17 * lines + sum(map(_labels_above_rows, shown))
    figure.set_size_inches(WIDTH_IN, height_in)
    figure.headed(figure.get_suptitle(), figure.alt)
    for axes in shown:
        _texts(axes)
    for old in list(figure.legends):
        old.remove()
        legend(figure, 3, LETTERS, figure.handles)
    figure.set_layout_engine("constrained")
    return figure


def _below_each_other(figure: Picture, shown: list[Axes]) -> int:
    """Put the columns of a grid below each other; return how many there were."""
    specs = [(axes, spec) for axes in shown if (spec := axes.get_subplotspec()) is not None]
    columns = max((spec.get_gridspec().ncols for _, spec in specs), default=1)
    if columns > 1:
        specs.sort(key=lambda pair: (pair[1].colspan.start, pair[1].rowspan.start))
        ratios = [np.asarray(spec.get_gridspec().get_height_ratios())[spec.rowspan.start] for _, spec in specs]
        grid = GridSpec(len(specs), 1, figure=figure, height_ratios=ratios)
        for row, (axes, _) in enumerate(specs):
            axes.set_subplotspec(grid[row, 0])
            axes.tick_params(labelleft=True)
    return columns


def _labels_above_rows(axes: Axes) -> float:
    """Put labels and values of rows above them; return how much higher the figure has to be, in inches."""
    if axes.yaxis.get_gid() != ROWS:
        return 0.0
    places, labels = axes.get_yticks(), axes.get_yticklabels()
    for place, label in zip(places, labels, strict=True):
        text = ", ".join(label.get_text().split("\n"))
        axes.annotate(
            text, (0, place - ABOVE), xycoords=("axes fraction", "data"), fontsize=LETTERS,
            fontweight=label.get_fontweight(), va="bottom",
        )  # fmt: skip
    for value in axes.texts:
        if value.get_gid() == VALUE:
            value.xy = (1, value.xy[1] - ABOVE)  # type: ignore[attr-defined]  # they are all annotations
            value.set(position=(0, 0), ha="right", va="bottom")
    axes.set_yticks(places, [""] * len(places))
    axes.tick_params(axis="y", length=0)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high - 0.35)
    return ROW_IN * len(places)


def _texts(axes: Axes) -> None:
    """Break title and label of an axis into lines that fit, and label few ticks."""
    title, label = axes.get_title("left"), axes.get_xlabel()
    if title:
        axes.set_title("\n".join(broken(title.replace("\n", " "), 0.85 * WIDTH_IN)), fontsize=9.5, loc="left")
    axes.set_xlabel("\n".join(broken(label.replace("\n", " "), 0.95 * WIDTH_IN)), fontsize=LETTERS)
    axes.tick_params(axis="x", labelsize=7.5)
    ticks = axes.xaxis.get_major_locator()
    if isinstance(ticks, MaxNLocator):
        ticks.set_params(nbins=MOST_TICKS)
