"""Latency, rate and errors over time, with the JVM's pauses marked: what a percentile table cannot tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analysis.facts import quotable
from runners.readers.run import Step
from runners.report import numbers, style
from runners.report.floor import floor_across, reach

LINES = (("p50_us", "p50", 1.6, "-"), ("p99_us", "p99", 1.6, (0, (5, 1.5))), ("max_us", "max", 1.0, (0, (1, 1))))


def seconds_of(step: Step, kind: str = "response") -> pd.DataFrame:
    """The per-second rows of one kind of time, in time order."""
    frame = step.frames["intervals"]
    if frame.empty:
        return frame
    return frame[frame["kind"] == kind].sort_values("t_s", kind="stable").reset_index(drop=True)


def pauses_in(step: Step) -> pd.DataFrame:
    """Collections inside the drawn window. Safepoints are left out: a collection is one of them."""
    frame, rows = step.frames["pauses"], seconds_of(step)
    if frame.empty or rows.empty:
        return frame.iloc[:0]
    end = float(rows["t_s"].max()) + 1
    return frame[(frame["kind"] == "gc") & (frame["t_s"] >= 0) & (frame["t_s"] <= end)]


def title(step: Step) -> str:
    """The result: the worst second and what else happened."""
    name = f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"
    rows = seconds_of(step)
    p99 = rows["p99_us"].to_numpy(dtype=float) if not rows.empty else np.array([])
    if not np.isfinite(p99).any():
        return f"{name}: no latency by the second"
    worst = int(np.nanargmax(p99))
    median = float(np.nanmedian(p99))
    text = f"{name}: p99 of a second {numbers.latency(median)}, worst {numbers.latency(p99[worst])}"
    return f"{text} at {numbers.seconds(rows['t_s'].iloc[worst])}"


def column(frame: pd.DataFrame, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column as floats; all NaN when the frame lacks it."""
    if name not in frame.columns:
        return np.full(len(frame), math.nan)
    return pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float, copy=True)


def middles(rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The middle of each one-second row: what is drawn there happened around it, not at its start."""
    return column(rows, "t_s") + 0.5


def _latency(axes: Axes, step: Step, rows: pd.DataFrame) -> None:
    t = middles(rows)
    values = []
    for name, label, width, dash in LINES:
        us = column(rows, name)
        us[~(us > 0)] = math.nan
        marker = "o" if len(rows) < 3 else None
        axes.plot(
            t, us, color=style.colour_of(step.subject), linewidth=width, linestyle=dash, label=label, marker=marker
        )
        values.append(us[np.isfinite(us)])
    seen = np.concatenate(values)
    if seen.size:
        style.latency_axis(axes, float(seen.min()), float(seen.max()))
    pauses = pauses_in(step)
    for index, (at, length) in enumerate(
        zip(column(pauses, "t_s"), column(pauses, "duration_ms"), strict=True) if len(pauses) else ()
    ):
        pause_label = f"GC pause ({len(pauses)})" if index == 0 else None
        end = at + max(length / 1000, 1e-3)
        axes.axvspan(at, end, color=style.PURPLE, alpha=0.8, linewidth=1.2, label=pause_label)
    axes.legend(loc="upper right", ncols=4, fontsize=8)


def _counts(axes: Axes, t: Any, count: Any, colour: str, offered: float) -> None:
    axes.step(t, count, where="mid", color=colour, linewidth=1.4)
    if math.isfinite(offered):
        axes.axhline(offered, color=style.QUIET, linewidth=0.9, linestyle=(0, (4, 3)), label="offered")
        axes.legend(loc="lower right", fontsize=8)
    top = np.nanmax(count) if np.isfinite(count).any() else 1.0
    axes.set_ylim(0, max(float(top), offered if math.isfinite(offered) else 0.0, 1.0) * 1.15)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))


@style.styled
def timeline(*steps: Step, floor: Step | None = None) -> style.Picture:
    """Draw each step as a column of three panels: latency (p50, p99, max), responses a second, errors a second.

    With the floor's p50 and p99 across the first.
    """
    shown = [step for step in steps if quotable(step) and not seconds_of(step).empty]
    if not shown:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, "no valid step to draw over time", ha="center", color=style.QUIET)
        figure.alt = "An empty timeline: no valid step."
        return figure
    figure = style.Picture(8.4, 4.9)
    grid = figure.subplots(3, len(shown), sharex="col", sharey="row", squeeze=False, height_ratios=(3.2, 1.2, 0.8))
    low, high = math.inf, 0.0
    for index, step in enumerate(shown):
        rows = seconds_of(step)
        t = middles(rows)
        _latency(grid[0][index], step, rows)
        bottom, top = grid[0][index].get_ylim()
        low, high = min(low, bottom), max(high, top)
        offered = numbers.value(step.record.offered_rps)
        colour = style.colour_of(step.subject)
        _counts(grid[1][index], t, column(rows, "completed"), colour, offered)
        errors = np.nan_to_num(column(rows, "errors"))
        _counts(grid[2][index], t, errors, style.INK, math.nan)
        if not errors.any():
            grid[2][index].text(0.5, 0.5, "none", transform=grid[2][index].transAxes, va="center", color=style.QUIET)
        grid[2][index].xaxis.set_major_locator(MaxNLocator(8, integer=True))
        grid[2][index].set_xlabel("time since the start of the measurement (s)")
        if len(t) == 1:
            grid[2][index].set_xlim(t[0] - 1.5, t[0] + 1.5)
        grid[0][index].set_title(title(step) if len(shown) == 1 else _narrow(title(step)), fontsize=10)
    style.latency_axis(grid[0][0], min([low * 1.25, *reach(floor)]), high * 1.5)  # room for the legend
    floor_across(figure, list(grid[0]), floor, shown)
    for row, label in enumerate(("latency (log)", "responses/s", "errors/s")):
        grid[row][0].set_ylabel(label)
    figure.align_ylabels(list(grid[:, 0]))
    figure.alt = "Latency, responses and errors by the second. " + ". ".join(title(step) for step in shown) + "."
    return figure


def _narrow(text: str) -> str:
    """A title on two lines, for a column that is half as wide."""
    return text.replace(": ", ":\n", 1)
