"""The latencies of one rate by percentile on linear axes: a timer's tick is a straight climb, a server is flat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MultipleLocator

from runners.analysis import facts, rounds
from runners.readers import timer, write
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Step
from runners.readers.timer import TimerFit, fit
from runners.report import style
from runners.report.floors import colour_of, label_of

UP_TO = 0.95
_STEPS = 10


def chosen(steps: Sequence[Step]) -> list[Step]:
    """The quietest round (the least p99) of each generator, at the highest rate of the fewest connections."""
    found = rounds.floors(steps)
    points = rounds.points(found)
    if not points:
        return []
    fewest = min(connections for connections, _ in points)
    rate = max(rate for connections, rate in points if connections == fewest)
    groups = [floor.good for floor in rounds.at_point(found, fewest, rate).values()]
    shown = [[step for step in group if not _rows(step.frames["spectrum"]).empty] for group in groups]
    return [min(group, key=_p99) for group in shown if group]


def _p99(step: Step) -> float:
    value = facts.at(step, 0.99)
    return value.value if value is not None else float("inf")


def _rows(spectrum: pd.DataFrame) -> pd.DataFrame:
    return spectrum[(spectrum["kind"] == facts.RESPONSE) & (spectrum["percentile"] <= UP_TO)]


def title(lines: Sequence[tuple[str, TimerFit | None]]) -> str:
    """The result: who climbs, and how straight."""
    climbing = [(name, line) for name, line in lines if line is not None and line.is_millisecond_timer]
    if not climbing:
        return "No generator shows a tick: latencies are flat in the percentile"
    widths = [f"{name} ({write.latency(line.width_us)})" for name, line in climbing]
    verb = "climbs" if len(widths) == 1 else "climb"
    return f"{write.listed(widths)} {verb} in a straight line: a timer of 1{write.NBSP}ms"


def _top(drawn: Sequence[tuple[str, TimerFit | None, float]]) -> float:
    """Where the tick is to be seen: the height of the climbing lines, else of all."""
    climbing = [top for _, line, top in drawn if line is not None and line.is_millisecond_timer]
    return max(climbing or [top for _, _, top in drawn])


def _stairs(axes: Axes, line: TimerFit, colour: str) -> None:
    """A stair a tenth of the requests: all of the same height."""
    at = np.arange(0, _STEPS) / _STEPS
    axes.step(at, line.start_us + line.width_us * at, where="post", color=colour, linewidth=0.8, alpha=0.6, zorder=1)
    text = f"each 10 % adds {write.latency(line.width_us / _STEPS)}"
    middle = (0.5, line.start_us + line.width_us * 0.5)
    axes.annotate(text, middle, xytext=(14, -16), textcoords="offset points", fontsize=8, color=colour)


@style.styled
def staircase(steps: Sequence[Step], published: ConsoleReport | None = None) -> style.Picture:
    """Draw the rounds of each generator, and the published spectrum, up to p99 over a linear percentile.

    What climbs in a straight line is spread evenly over a tick; each tenth of the requests then adds the same.
    """
    figure = style.Picture(8.4, 4.2)
    axes = figure.add_subplot()
    drawn: list[tuple[str, TimerFit | None, float]] = []  # name, line, value at the upper end of the fit

    def line(spectrum: pd.DataFrame, name: str, colour: str, dash: object) -> None:
        rows = _rows(spectrum)
        axes.plot(rows["percentile"], rows["value_us"], color=colour, linestyle=dash, label=name)
        found = fit(spectrum[spectrum["kind"] == facts.RESPONSE])
        drawn.append((name, found, float(rows[rows["percentile"] <= timer.UP_TO]["value_us"].max())))
        ticks = [other for _, other, _ in drawn if other is not None and other.is_millisecond_timer]
        if found is not None and found.is_millisecond_timer and len(ticks) == 1:  # one staircase can be read, two not
            _stairs(axes, found, colour)

    for step in chosen(steps):
        tool = facts.tool(step)
        line(step.frames["spectrum"], label_of(tool), colour_of(tool), "-")
    if published is not None:
        line(
            published.spectrum_frame(),
            f"published (wrk2, {write.rate(published.rate_rps)})",
            style.INK,
            (0, (1, 1.2)),
        )
    if not drawn:
        axes.text(0.5, 0.5, "nothing to draw", ha="center", transform=axes.transAxes, color=style.QUIET)
        axes.set_axis_off()
        figure.alt = "An empty figure: no spectrum."
        return figure
    axes.set_xlim(0, 1)
    axes.set_ylim(0, max(_top(drawn), 1.0) * 1.35)
    axes.xaxis.set_major_locator(MultipleLocator(0.1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_time(value)))
    axes.set_xlabel(f"percentile (linear, up to p{100 * UP_TO:g})")
    axes.set_ylabel("response time (linear)")
    heading = title([(name, found) for name, found, _ in drawn])
    figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=5)
    figure.alt = f"Latency over the percentile on linear axes. {heading}."
    return figure
