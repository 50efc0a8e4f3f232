"""Heat maps: every answer by when it came and how long it took, and every sample of a profile by when it was taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.readers.run import Step
from runners.readers.timed_stacks import PER_SECOND
from runners.report import numbers, style
from runners.report.floor import floor_across, reach

#: From paper to ink through one hue: its order is the same in print and for every eye.
SCALE = LinearSegmentedColormap.from_list("lab", ["#ffffff", "#c6dcec", "#56a0cf", "#0b5d9b", "#062c4d"])
BINS_A_DECADE = 24

Floats = npt.NDArray[np.float64]


@style.styled
def latency_heat(*steps: Step, floor: Step | None = None) -> style.Picture:
    """Draw each step as a panel: tenths of a second from left to right, response time upwards, darker for more."""
    shown = [step for step in steps if not step.frames["slices"].empty]
    figure = style.Picture(8.4, 3.4)
    if not shown:
        figure.text(0.5, 0.5, "no latency by tenths of a second", ha="center", color=style.QUIET)
        figure.alt = "No latency by tenths of a second."
        return figure
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    answered = [step.frames["slices"].query("count > 0") for step in shown]
    least = min(float(rows["us"].min()) for rows in answered)
    low = min([least, *reach(floor)])
    high = max(float(rows["us"].max()) for rows in answered)
    edges = np.logspace(np.log10(least), np.log10(high) + 1e-6, 2 + int(BINS_A_DECADE * np.log10(high / least)))
    for axes, step, rows in zip(panels, shown, answered, strict=True):
        at = np.arange(0, float(rows["t_s"].max()) + 0.2, 0.1)
        counts, _, _ = np.histogram2d(rows["t_s"] + 0.05, rows["us"], bins=(at, edges), weights=rows["count"])
        drawn = np.where(counts > 0, counts, np.nan).T
        axes.pcolormesh(at, edges, drawn, cmap=SCALE, norm=LogNorm(0.5, max(2.0, float(counts.max()))), rasterized=True)
        axes.set_title(f"{style.engine_name(step.subject)}, {numbers.count(rows['count'].sum())} answers", fontsize=9.5)
        axes.set_xlabel("seconds since the start")
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
        style.latency_axis(axes, low, high)
    floor_across(figure, list(panels), floor, shown)
    panels[0].set_ylabel("response time")
    figure.suptitle(latency_title(shown), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Heat map of latency over time. {latency_title(shown)}."
    return figure


def latency_title(steps: Sequence[Step]) -> str:
    """The result: where the bulk lies, and how far the slowest are from it."""
    parts = []
    for step in steps:
        rows = step.frames["slices"].query("count > 0").sort_values("us")
        below = rows["count"].cumsum() / rows["count"].sum()
        middle = rows["us"][below.between(0.1, 0.9)]
        if len(middle):
            span = f"{numbers.latency(middle.iloc[0])} to {numbers.latency(middle.iloc[-1])}"
            parts.append(f"{style.engine_name(step.subject)} {span}")
    upper = style.plain(steps[0].workload.upper(), 12)
    return f"{upper}: four of five answers take {', '.join(parts)}" if parts else f"{upper}: no answers"


def _samples(step: Step) -> pd.DataFrame:
    rows: pd.DataFrame = step.frames["samples"]
    chosen: pd.DataFrame = rows.loc[(rows["event"] == "cpu") & (rows["t_s"] >= 0)]
    return chosen


def _counted(step: Step) -> pd.DataFrame:
    counts = _samples(step).groupby("t_s")["samples"].sum()
    return pd.DataFrame({"step": step.name, "t_s": counts.index, "samples": counts.to_numpy(float)})


def recording(step: Step) -> Floats:
    """CPU samples as seconds by fiftieths of a second."""
    counts = _counted(step)
    slots = np.round(counts["t_s"].to_numpy(float) * PER_SECOND).astype(int)
    grid = np.bincount(slots, counts["samples"].to_numpy(float), (slots.max() // PER_SECOND + 1) * PER_SECOND)
    return grid.reshape(-1, PER_SECOND).astype(float)


@style.styled
def recording_heat(*steps: Step) -> style.Picture:
    """Draw each recording as a panel: a column a second, a row a fiftieth of it, darker for more samples."""
    figure = style.Picture(8.4, 2.9)
    panels = figure.subplots(1, len(steps), sharey=True, squeeze=False)[0]
    grids = [recording(step) for step in steps]
    most = max(float(grid.max()) for grid in grids)
    for axes, step, grid in zip(panels, steps, grids, strict=True):
        _panel(axes, grid, most)
        axes.set_title(f"{style.engine_name(step.subject)}, {numbers.count(grid.sum())} samples", fontsize=9.5)
    panels[0].set_ylabel("within the second")
    figure.suptitle(recording_title(steps, grids), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Heat map of CPU samples over time. {recording_title(steps, grids)}."
    return figure


def _panel(axes: Axes, grid: Floats, most: float) -> None:
    seconds, rows = np.arange(grid.shape[0] + 1), np.arange(PER_SECOND + 1) * 1000 / PER_SECOND
    axes.pcolormesh(seconds, rows, grid.T, cmap=SCALE, vmin=0, vmax=max(1.0, most), rasterized=True)
    axes.set_xlabel("seconds since the start")
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ms"))
    axes.grid(visible=False)


def recording_title(steps: Sequence[Step], grids: Sequence[Floats]) -> str:
    """The result: how even the load on the CPU was from second to second."""
    parts = []
    for step, grid in zip(steps, grids, strict=True):
        by_second = grid.sum(axis=1)[:-1] if len(grid) > 1 else grid.sum(axis=1)
        low, high = numbers.count(by_second.min()), numbers.count(by_second.max())
        parts.append(f"{style.engine_name(step.subject)} {low} to {high}")
    return f"{style.plain(steps[0].workload.upper(), 12)}, CPU samples of a second: {', '.join(parts)}"
