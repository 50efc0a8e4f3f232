"""Draw loads over time: latency, responses and errors, what happened, and what latency spikes coincide with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analysis import facts, latency_spikes, tail_attribution
from runners.analysis.latency_spikes import Grid
from runners.analysis.tail_attribution import Attribution, Share
from runners.readers.run import Step
from runners.report import style, tables
from runners.report.style import floor_lines, reach

LINES = (("p50_us", "p50", 1.2, "-"), ("p99_us", "p99", 1.5, (0, (4, 1.2))), ("max_us", "max", 0.8, (0, (1, 1))))
COLUMNS = ["t_s", "end_s", *(name for name, *_ in LINES)]
#: What happened, as a line across the panels.
EVENT_COLOURS = {"killed": style.VERMILION, "started": style.ORANGE, "answers": style.GREEN}
#: A lane says by its colour whether the cause is named; the rest is said by its label.
NAMED, NOT_NAMED, MARK = style.VERMILION, "#9aa2ab", "#fbe3d3"
MOST_LANES = 9
LEAST_WIDTH = 0.002  # of the axis, so that a pause of a millisecond can be seen

Marks = Mapping[str, Sequence[tuple[float, str]]]


def latency_of(step: Step, grid: Grid | None) -> pd.DataFrame:
    """Latency by slices of the grid, else by the second: `t_s`, `end_s`, and a percentile a column, NaN without any."""
    if grid is not None:
        at = np.arange(len(grid.counts)) * grid.slice_s
        values = (at, at + grid.slice_s, grid.at(0.5), grid.at(0.99), grid.longest())
        return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
    rows = seconds_of(step)
    return (
        rows.assign(end_s=rows["t_s"] + 1)[COLUMNS].astype(float) if not rows.empty else pd.DataFrame(columns=COLUMNS)
    )


def seconds_of(step: Step) -> pd.DataFrame:
    """The per-second rows of response times, in time order."""
    frame = step.frames["intervals"]
    return frame[frame["kind"] == facts.RESPONSE].sort_values("t_s", kind="stable") if not frame.empty else frame


def title(step: Step, seen: Attribution | None) -> str:
    """The result: what explains the tail; without its causes the worst second."""
    name = f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"
    if seen is None:
        p99 = seconds_of(step)["p99_us"].to_numpy(float)
        if not np.isfinite(p99).any():
            return f"{name}: no latency by the second"
        return f"{name}: p99 of a second {tables.latency(np.nanmedian(p99))}, worst {tables.latency(np.nanmax(p99))}"
    if not seen.tail.spikes:
        return f"{name}: nothing stands out; median p99 {tables.latency(seen.tail.usual_us)}"
    named = [share for share in seen.named if share.share.value >= tail_attribution.LEAST_SHARE]
    if not named:
        return f"{name}: no recorded cause explains the tail beyond chance"
    parts = [f"{share.cause.name} {tables.share(share.share.value)}" for share in named[:3]]
    return f"{name}, of the tail: {', '.join(parts)}; unexplained {tables.share(seen.unexplained)}"


@style.styled
def timeline(
    *steps: Step, floor: Step | None = None, marks: Marks | None = None, titles: Sequence[str] = ()
) -> style.Picture:
    """Draw each load as a column: latency with the floor's, then good and failed responses by the second.

    A load alone has its latency spikes marked, and the events of each cause in a lane below. `marks`: by step, times
    of what happened to its server, drawn across both panels.
    """
    marks = marks or {}
    shown = []
    for step in steps:
        slices = step.frames.get("slices", pd.DataFrame())
        grid = latency_spikes.tenths(slices) if marks else latency_spikes.grid(slices)
        if (marks or facts.quotable(step)) and not (rows := latency_of(step, grid)).empty:
            shown.append((step, rows))
    if not shown:
        return style.empty("no valid step to draw over time")
    seen = attribution_of(shown[0][0]) if len(shown) == 1 and not marks else None
    lanes = lanes_of(seen) if seen is not None else []
    heights = [2.3, 0.9, *([0.24 * len(lanes)] if lanes else [])]
    figure = style.Picture(8.4, 4.2 + 0.26 * len(lanes))
    grid_of = figure.subplots(
        len(heights), len(shown), sharex="col", sharey="row", squeeze=False, height_ratios=heights
    )
    values: list[float] = []
    for place, (step, rows) in enumerate(shown):
        latency, responses = grid_of[0][place], grid_of[1][place]
        values += _latency(latency, step, rows)
        _responses(responses, step)
        for at, word in marks.get(step.name, ()):
            _mark(latency, responses, at, word)
        if seen is None:
            heading = titles[place] if titles else title(step, None)
            latency.set_title(heading.replace(": ", ":\n", 1) if len(shown) > 1 else heading, fontsize=10)
        grid_of[-1][place].set_xlabel("seconds since the start of the measurement")
        grid_of[-1][place].xaxis.set_major_locator(MaxNLocator(8, integer=True))
        latency.set_xlim(float(rows["t_s"].iloc[0]), float(rows["end_s"].iloc[-1]))
    low, high = min([*values, *reach(floor)], default=1.0), max(values, default=1e3)
    style.latency_axis(grid_of[0][0], low, high * (1.6 if marks else 1.0))  # room for the words
    entries = [floor_lines(axes, floor, [step for step, _ in shown]) for axes in grid_of[0]]
    grid_of[0][0].set_ylabel("latency (log)")
    grid_of[1][0].set_ylabel("responses/s")
    if seen is not None:
        _spikes(grid_of[0][0], seen)
        if lanes:
            _lanes(grid_of[2][0], lanes, seen)
    handles = [handle for axes in grid_of[:2, 0] for handle in axes.get_legend_handles_labels()[0]]
    figure.legend(
        handles=[*handles, *(entry for entry in entries[:1] if entry)], loc="outside lower center", ncols=5, fontsize=8
    )
    figure.align_ylabels(list(grid_of[:2, 0]))
    if seen is not None:
        return figure.headed(title(shown[0][0], seen), f"Latency over time. {title(shown[0][0], seen)}.")
    said = ". ".join(titles or [title(step, None) for step, _ in shown])
    figure.alt = f"Latency, responses and errors by time. {said}."
    return figure


def attribution_of(step: Step) -> Attribution | None:
    """The causes of a load's tail; None where nothing was recorded by tenths of a second."""
    return tail_attribution.attribution(step) if "slices" in step.frames else None


def _latency(axes: Axes, step: Step, rows: pd.DataFrame) -> list[float]:
    middle = (rows["t_s"] + rows["end_s"]) / 2
    seen: list[float] = []
    for name, label, width, dash in LINES:
        us = rows[name].to_numpy(float, copy=True)
        us[~((us > 0) & np.isfinite(us))] = np.nan
        drawn: dict[str, Any] = {"linewidth": width, "linestyle": dash, "marker": "o" if len(rows) < 3 else None}
        axes.plot(middle, us, color=style.colour_of(step.subject), label=label, **drawn)
        seen += [value for value in us if np.isfinite(value)]
    return seen


def _responses(axes: Axes, step: Step) -> None:
    """Good and failed responses of each second, and the rate that was offered."""
    rows = seconds_of(step)
    at, completed = rows["t_s"] + 0.5, np.nan_to_num(rows["completed"].to_numpy(float))
    failed = np.nan_to_num(rows["errors"].to_numpy(float))
    axes.bar(at, completed - failed, 0.9, color=style.GRID, edgecolor=style.FLOOR, linewidth=0.4, label="good")
    axes.bar(at, failed, 0.9, completed - failed, color=style.VERMILION, label="failed")
    offered = tables.value(step.record.offered_rps)
    if np.isfinite(offered):
        axes.axhline(offered, color=style.QUIET, linewidth=0.9, linestyle=(0, (4, 3)), label="offered")
    axes.set_ylim(0, 1.15 * max([1.0, *completed, *([offered] if np.isfinite(offered) else [])]))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))


def _mark(latency: Axes, responses: Axes, at: float, word: str) -> None:
    for axes in (latency, responses):
        axes.axvline(at, color=EVENT_COLOURS.get(word, style.INK), linewidth=1.2, linestyle=(0, (4, 2)))
    latency.annotate(
        word, (at, 0.985), xycoords=("data", "axes fraction"), xytext=(2, 0), textcoords="offset points", fontsize=7.5,
        color=style.INK, va="top", rotation=90,
    )  # fmt: skip


def lanes_of(seen: Attribution) -> list[Share]:
    """The causes worth a lane: named ones first, then those that come nearest to spikes."""
    return sorted(seen.shares, key=lambda s: (not s.named, -s.share.value, s.p, s.cause.name))[:MOST_LANES]


def _spikes(axes: Axes, seen: Attribution) -> None:
    axes.axhline(seen.tail.threshold_us, color=style.QUIET, linewidth=0.8, linestyle=(0, (6, 3)), label="threshold")
    for index, each in enumerate(seen.tail.spikes):
        once = f"latency spike ({len(seen.tail.spikes)})" if index == 0 else None
        axes.axvspan(each.begin_s, each.end_s, color=MARK, linewidth=0, zorder=0, label=once)


def _lanes(axes: Axes, lanes: Sequence[Share], seen: Attribution) -> None:
    least = LEAST_WIDTH * seen.tail.length_s
    for each in seen.tail.spikes:
        axes.axvspan(each.begin_s, each.end_s, color=MARK, linewidth=0, zorder=0)
    for row, share in enumerate(lanes):
        spans = zip(share.cause.begin_s, share.cause.end_s, strict=True)
        bars = [(max(0.0, begin), max(least, end - max(0.0, begin))) for begin, end in spans]
        axes.broken_barh(bars, (row - 0.36, 0.72), facecolors=NAMED if share.named else NOT_NAMED, linewidth=0)
    labels = [f"{s.cause.name} {tables.share(s.share.value)}" if s.named else s.cause.name for s in lanes]
    axes.set_yticks(range(len(lanes)), labels, fontsize=8)
    for text, share in zip(axes.get_yticklabels(), lanes, strict=True):
        text.set_fontweight("bold" if share.named else "normal")
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def timeline_data(step: Step) -> pd.DataFrame:
    """What is drawn of a load alone: slices or seconds, then spikes and the events of each cause."""
    seen = attribution_of(step)
    parts = [latency_of(step, latency_spikes.grid(step.frames["slices"])).assign(what="latency")]
    if seen is not None:
        rows = [("spike", each.begin_s, each.end_s) for each in seen.tail.spikes]
        for share in lanes_of(seen):
            rows += [(share.cause.name, b, e) for b, e in zip(share.cause.begin_s, share.cause.end_s, strict=True)]
        parts.append(pd.DataFrame(rows, columns=["what", "t_s", "end_s"]))
    found = pd.concat([part for part in parts if not part.empty], ignore_index=True).assign(step=step.name)
    return found[["step", "what", *COLUMNS]]
