"""Lay out a figure for a page as narrow as a phone: panels below each other, and row labels above their rows."""

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from runners.report.style import ROWS, VALUE, Picture, broken, legend, styled

WIDTH_IN = 4.3
LINE_IN, ROW_IN = 0.17, 0.2  # heights of a further line of the heading, and of the label above a row
ABOVE = 0.44  # the distance from the middle of a row to its label, as a share of the row's height
SHRUNK = 0.8  # the factor of a panel's height if it stood next to another
MOST_TICKS = 4
LETTERS, LABEL_CHARACTERS = 8.0, 36  # of a row's label: font size in points, and most letters per line


@styled
def narrowed(figure: Picture) -> Picture:
    """Change a figure's layout to fit a narrow page, and return the same figure."""
    if figure.get_figwidth() == WIDTH_IN or not figure.axes:  # a figure without axes has only a few words
        return figure
    shown = [axes for axes in figure.axes if axes.get_visible()]
    lines = len(broken(figure.heading, WIDTH_IN)) - len(figure.get_suptitle().splitlines())
    height_in = _below_each_other(figure, shown) + LINE_IN * lines
    figure.set_size_inches(WIDTH_IN, height_in)
    figure.headed(figure.heading, figure.alt)
    for axes in shown:
        _texts(axes)
        for line in axes.lines:
            line.get_path().simplify_threshold = 1.0  # coarser than the default, since the figure is smaller
    for old in list(figure.legends):
        old.remove()
        legend(figure, 3, LETTERS, figure.handles)
    figure.set_layout_engine("constrained")
    return figure


def _below_each_other(figure: Picture, shown: list[Axes]) -> float:
    """Put all panels below each other, with room for row labels; return their total height in inches."""
    specs = {axes: spec for axes in shown if (spec := axes.get_subplotspec()) is not None}
    columns = max(spec.get_gridspec().ncols for spec in specs.values())
    heights_in = dict[Axes, float]()
    for axes in sorted(shown, key=lambda axes: (specs[axes].colspan.start, specs[axes].rowspan.start)):
        ratios = np.asarray(specs[axes].get_gridspec().get_height_ratios(), float)
        share = float(ratios[specs[axes].rowspan.start] / ratios.sum()) * (SHRUNK if columns > 1 else 1.0)
        heights_in[axes] = share * figure.get_figheight() + _labels_above_rows(axes)
    grid = GridSpec(len(shown), 1, figure=figure, height_ratios=list(heights_in.values()))
    for row, axes in enumerate(heights_in):
        axes.set_subplotspec(grid[row, 0])
        if columns > 1:
            axes.tick_params(labelleft=True)
    return sum(heights_in.values())


def _labels_above_rows(axes: Axes) -> float:
    """Put labels and values of rows above the rows; return the inches that are needed for them (0 without rows)."""
    if axes.yaxis.get_gid() != ROWS:
        return 0.0
    places, labels = axes.get_yticks(), axes.get_yticklabels()
    texts = [textwrap.fill(", ".join(label.get_text().split("\n")), LABEL_CHARACTERS) for label in labels]
    for place, label, text in zip(places, labels, texts, strict=True):
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
    lines = max(text.count("\n") for text in texts)  # beyond the first of a label
    return (ROW_IN + LINE_IN * lines) * len(places)


def _texts(axes: Axes) -> None:
    """Break a panel's title and the label of its x axis into lines that fit, and label fewer ticks."""
    title, label = axes.get_title("left"), axes.get_xlabel()
    if title:
        axes.set_title("\n".join(broken(title.replace("\n", " "), 0.85 * WIDTH_IN)), fontsize=9.5, loc="left")
    axes.set_xlabel("\n".join(broken(label.replace("\n", " "), 0.95 * WIDTH_IN)), fontsize=LETTERS)
    axes.tick_params(axis="x", labelsize=7.5)
    if axes.xaxis.get_gid() == "percentile":  # 0 % stands too near to 50 %
        labels = [label.get_text().removesuffix(" %") for label in axes.get_xticklabels()]
        axes.set_xticks(axes.get_xticks(), ["", *labels[1:]])
    ticks = axes.xaxis.get_major_locator()
    if isinstance(ticks, MaxNLocator):
        ticks.set_params(nbins=MOST_TICKS)
