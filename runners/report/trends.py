"""The history of runs as small multiples: one panel a trend, level changes marked, disturbed runs hollow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from runners.claims.conclusion import Conclusion
from runners.claims.trends import Trend, analyse, trends_of
from runners.readers import write
from runners.readers.run import Run
from runners.report import style
from runners.report.section import Section, Shown
from runners.report.tables import Table

ANCHOR = "trends"
MOST_PANELS = 12
COLUMNS = 3


def chosen(history: Sequence[Trend]) -> list[Trend]:
    """The trends that are drawn: those with a change first, then those of most runs."""
    ranked = sorted(history, key=lambda trend: (not trend.found, -len(trend.frame)))
    return ranked[:MOST_PANELS]


@style.styled
def history(found: Sequence[Trend]) -> style.Picture:
    """Draw the trends, runs from old to new along x, each level between two changes as a line."""
    shown = chosen(found)
    if not shown:
        return style.empty("nothing was measured twice yet")
    rows = math.ceil(len(shown) / COLUMNS)
    figure = style.Picture(8.4, 0.6 + 2.0 * rows)
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for axes, trend in zip(grid.flat, shown, strict=False):
        _panel(axes, trend)
    for axes in list(grid.flat)[len(shown) :]:
        axes.set_visible(False)
    figure.supxlabel("runs, oldest first (hollow: the sentinel was unusual)", fontsize=8.5, color=style.QUIET)
    return figure.headed(headline(found), headline(found) + ". " + ". ".join(_result(trend) for trend in shown) + ".")


def headline(found: Sequence[Trend]) -> str:
    """The figure's result in a line."""
    moved = sum(1 for trend in found if trend.found)
    runs = len({run for trend in found for run in trend.frame["run"]})
    looked = sum(1 for trend in found if not trend.why_not)
    if not looked:
        return f"{write.count(runs)} runs: too few of a kind to look for changes"
    return f"{write.count(runs)} runs: {moved or 'none'} of {write.count(looked)} trends changed level"


def _result(trend: Trend) -> str:
    if trend.why_not:
        return f"{trend.title}: {trend.why_not}"
    if not trend.found:
        return f"{trend.title}: no change"
    return f"{trend.title}: {', '.join(_ratio(change.ratio) for change in trend.found)}"


def _ratio(ratio: float) -> str:
    return f"{'+' if ratio > 1 else write.MINUS}{abs(ratio - 1):.0%}"


def _panel(axes: Axes, trend: Trend) -> None:
    frame = trend.frame
    colour = style.colour_of(trend.subject)
    x = range(len(frame))
    values = frame["value"].to_numpy(float)
    disturbed = frame["disturbed"].to_numpy(bool)
    axes.plot(x, values, color=colour, linewidth=0.7, alpha=0.5)
    for hollow in (False, True):
        at = [place for place in x if disturbed[place] == hollow]
        face = style.CARD if hollow else colour
        axes.plot(at, values[at], "o", color=colour, markerfacecolor=face, markersize=4, linestyle="none")
    edges = [0, *(change.index for change in trend.found), len(frame)]
    levels = [trend.found[0].before, *(change.after for change in trend.found)] if trend.found else []
    for left, right, level in zip(edges, edges[1:], levels, strict=False):
        axes.hlines(level, left - 0.4, right - 0.6, color=style.INK, linewidth=1.2)
    for change in trend.found:
        axes.axvline(change.index - 0.5, color=style.INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.annotate(_ratio(change.ratio), (change.index - 0.4, values.max()), fontsize=7.5, va="top")
    if trend.metric == "achieved":
        axes.set_ylim(0, values.max() * 1.2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
        axes.yaxis.set_major_locator(MaxNLocator(4))
    else:
        style.latency_axis(axes, float(values.min()) * 0.9, float(values.max()) * 1.1)
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlim(-0.8, len(frame) - 0.2)
    axes.tick_params(labelsize=7.5)
    axes.set_title(trend.title.replace(", experiment", "\nexperiment"), fontsize=8.5)


def table(found: Sequence[Trend]) -> Table:
    """Every trend in a row: how many runs, the last figure, the median, and what changed."""
    rows = []
    for trend in found:
        values = trend.frame["value"]
        changed = trend.why_not or (
            "; ".join(f"{_ratio(change.ratio)} with {trend.frame['run'].iloc[change.index]}" for change in trend.found)
            or "no change"
        )
        disturbed = int(trend.frame["disturbed"].sum())
        rows.append(
            (
                trend.title,
                trend.machine_class,
                write.count(len(values)) + (f" ({disturbed} disturbed)" if disturbed else ""),
                trend.written(float(values.median())),
                trend.written(float(values.iloc[-1])),
                changed,
            )
        )
    head = ("trend", "machine", "runs", "median", "last", "changes of level")
    return Table("Trends", head, tuple(rows), numeric=False)


def section(run: Run, _: Conclusion) -> Section | None:
    """The trends of a run of experiment 08, which holds the history in frames of its own."""
    found = trends_of(run)
    if found is None:
        return None
    data = pd.concat([trend.frame.assign(trend=trend.title) for trend in found], ignore_index=True) if found else None
    claims = analyse(run)
    return Section(
        "history",
        "Trends by machine class",
        text="Only figures of one machine class, experiment, size, setting and about the same rate make one trend.",
        findings=claims.findings if claims else (),
        figures=(Shown(ANCHOR, history(found), data if data is not None else pd.DataFrame({"run": []})),),
        tables=(table(found),) if found else (),
    )
