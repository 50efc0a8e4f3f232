"""Draw latency, rate and errors over time with the JVM's pauses, and what its latency spikes coincide with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analysis import latency_spikes, tail_attribution
from runners.analysis.facts import quotable
from runners.analysis.tail_attribution import Attribution, Share
from runners.readers import write
from runners.readers.run import Step
from runners.report import numbers, style
from runners.report.style import floor_across, reach

LINES = (("p50_us", "p50", 1.6, "-"), ("p99_us", "p99", 1.6, "--"), ("max_us", "max", 1.0, ":"))


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


#: A lane says by its colour whether the cause is named; the rest is said by its label.
NAMED, NOT_NAMED, MARK = style.VERMILION, "#9aa2ab", "#fbe3d3"
MOST_LANES = 9
LEAST_WIDTH = 0.002  # of the axis, so that a pause of a millisecond can be seen


def causes_title(step: Step, seen: Attribution) -> str:
    """The result: what explains the tail, or that nothing stands out."""
    name = f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"
    if not seen.tail.spikes:
        return f"{name}: nothing stands out; median p99 {numbers.latency(seen.tail.usual_us)}"
    told = [share for share in seen.named if share.share.value >= tail_attribution.LEAST_SHARE]
    if not told:
        return f"{name}: no recorded cause explains the tail beyond chance"
    parts = [f"{share.cause.name} {numbers.share(share.share.value)}" for share in told[:3]]
    return f"{name}, of the tail: {', '.join(parts)}; unexplained {numbers.share(seen.unexplained)}"


@style.styled
def causes(step: Step, seen: Attribution | None = None, floor: Step | None = None) -> style.Picture:
    """Draw p50, p99 and maximum by slices with the spikes marked, and the events of each cause in a lane below."""
    seen = seen or tail_attribution.attribution(step)
    grid = latency_spikes.grid(step.frames["slices"])
    if seen is None or grid is None:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, "no latency by tenths of a second", ha="center", color=style.QUIET)
        figure.alt = "No latency by tenths of a second."
        return figure
    lanes = lanes_of(seen)
    height = 2.6 + 0.24 * max(1, len(lanes))
    figure = style.Picture(8.4, height + 0.5)
    panels = figure.subplots(2, 1, sharex=True, height_ratios=(2.3, max(0.25, 0.24 * len(lanes))))
    _tenths(panels[0], step, grid, seen, floor)
    floor_across(figure, panels[:1], floor, (step,))
    _lanes(panels[1], lanes, seen)
    panels[1].set_xlim(0, seen.tail.length_s)
    panels[1].set_xlabel("seconds since the start of the measurement")
    panels[1].xaxis.set_major_locator(MaxNLocator(10, integer=True))
    figure.suptitle(causes_title(step, seen), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Latency by {write.seconds(seen.tail.slice_s)} with what happened below. {causes_title(step, seen)}."
    return figure


def lanes_of(seen: Attribution) -> list[Share]:
    """The causes worth a lane: named ones first, then those that come nearest to spikes."""
    order = sorted(seen.shares, key=lambda s: (not s.named, -s.share.value, s.p, s.cause.name))
    return order[:MOST_LANES]


def _tenths(axes: Axes, step: Step, grid: latency_spikes.Grid, seen: Attribution, floor: Step | None) -> None:
    at = (np.arange(len(grid.counts)) + 0.5) * grid.slice_s
    colour = style.colour_of(step.subject)
    lines: list[tuple[str, Any, float, Any]] = [
        ("p50", grid.at(0.5), 1.1, "-"),
        ("p99", grid.at(0.99), 1.5, (0, (4, 1.2))),
        ("max", grid.longest(), 0.8, (0, (1, 1))),
    ]
    for label, us, width, dash in lines:
        axes.plot(at, us, color=colour, linewidth=width, linestyle=dash, label=label)
    axes.axhline(seen.tail.threshold_us, color=style.QUIET, linewidth=0.8, linestyle=(0, (6, 3)), label="threshold")
    for index, each in enumerate(seen.tail.spikes):
        once = f"latency spike ({len(seen.tail.spikes)})" if index == 0 else None
        axes.axvspan(each.begin_s, each.end_s, color=MARK, linewidth=0, zorder=0, label=once)
    values = np.concatenate([us[np.isfinite(us)] for _, us, _, _ in lines])
    style.latency_axis(axes, min([float(values.min()), *reach(floor)]), float(values.max()))
    axes.set_ylabel(f"response time of {write.seconds(grid.slice_s)}")
    axes.legend(loc="upper right", ncols=5, fontsize=8)


def _lanes(axes: Axes, lanes: list[Share], seen: Attribution) -> None:
    least = LEAST_WIDTH * seen.tail.length_s
    for each in seen.tail.spikes:
        axes.axvspan(each.begin_s, each.end_s, color=MARK, linewidth=0, zorder=0)
    for row, share in enumerate(lanes):
        one = share.cause
        bars = [
            (max(0.0, begin), max(least, end - max(0.0, begin)))
            for begin, end in zip(one.begin_s, one.end_s, strict=True)
        ]
        axes.broken_barh(bars, (row - 0.36, 0.72), facecolors=NAMED if share.named else NOT_NAMED, linewidth=0)
    axes.set_yticks(range(len(lanes)), [_label(share) for share in lanes], fontsize=8)
    for text, share in zip(axes.get_yticklabels(), lanes, strict=True):
        text.set_fontweight("bold" if share.named else "normal")
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    if not lanes:
        axes.text(0.5, 0, "nothing was recorded", transform=axes.get_yaxis_transform(), ha="center", color=style.QUIET)


def _label(share: Share) -> str:
    """A lane's name, with what it explains where it is believed."""
    return f"{share.cause.name} {numbers.share(share.share.value)}" if share.named else share.cause.name


def causes_data(step: Step, seen: Attribution) -> pd.DataFrame:
    """What is drawn: slices with p50, p99 and maximum, then spikes and the events of each cause."""
    grid = latency_spikes.grid(step.frames["slices"])
    parts = []
    if grid is not None:
        at = np.arange(len(grid.counts)) * grid.slice_s
        columns = {"p50_us": grid.at(0.5), "p99_us": grid.at(0.99), "max_us": grid.longest()}
        parts.append(pd.DataFrame({"what": "latency", "t_s": at, "end_s": at + grid.slice_s, **columns}))
    rows = [("spike", each.begin_s, each.end_s) for each in seen.tail.spikes]
    for share in lanes_of(seen):
        rows += [(share.cause.name, b, e) for b, e in zip(share.cause.begin_s, share.cause.end_s, strict=True)]
    parts.append(pd.DataFrame(rows, columns=["what", "t_s", "end_s"]))
    return pd.concat([part for part in parts if not part.empty], ignore_index=True).assign(step=step.name)
