"""The tail and its causes on one clock: latency by tenths of a second, and below it a lane for each cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from runners.analysis import latency_spikes, tail
from runners.analysis.attribution import Attribution, Share
from runners.readers import write
from runners.readers.run import Step
from runners.report import numbers, style
from runners.report.floor import floor_across, reach
from runners.report.tables import Table

#: A lane says by its colour whether the cause is named; the rest is said by its label.
NAMED, NOT_NAMED, MARK = style.VERMILION, "#9aa2ab", "#fbe3d3"
MOST_LANES = 9
LEAST_WIDTH = 0.002  # of the axis, so that a pause of a millisecond can be seen


def heading(step: Step) -> str:
    return f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}: what made its tail"


def title(step: Step, seen: Attribution) -> str:
    """The result: what explains the tail, or that nothing stands out."""
    name = f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"
    if not seen.tail.excursions:
        return f"{name}: nothing stands out; median p99 {numbers.latency(seen.tail.usual_us)}"
    told = [share for share in seen.named if share.share.value >= tail.LEAST_SHARE]
    if not told:
        return f"{name}: no recorded cause explains the tail beyond chance"
    parts = [f"{share.cause.name} {numbers.share(share.share.value)}" for share in told[:3]]
    return f"{name}, of the tail: {', '.join(parts)}; unexplained {numbers.share(seen.unexplained)}"


@style.styled
def causes(step: Step, seen: Attribution | None = None, floor: Step | None = None) -> style.Picture:
    """Draw p50, p99 and maximum by slices with the excursions marked, and the events of each cause in a lane below."""
    seen = seen or tail.attribution(step)
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
    _latency(panels[0], step, grid, seen, floor)
    floor_across(figure, panels[:1], floor, (step,))
    _lanes(panels[1], lanes, seen)
    panels[1].set_xlim(0, seen.tail.length_s)
    panels[1].set_xlabel("seconds since the start of the measurement")
    panels[1].xaxis.set_major_locator(MaxNLocator(10, integer=True))
    figure.suptitle(title(step, seen), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Latency by {write.seconds(seen.tail.slice_s)} with what happened below. {title(step, seen)}."
    return figure


def lanes_of(seen: Attribution) -> list[Share]:
    """The causes worth a lane: named ones first, then those that come nearest to excursions."""
    order = sorted(seen.shares, key=lambda s: (not s.named, -s.share.value, s.p, s.cause.name))
    return order[:MOST_LANES]


def _latency(axes: Axes, step: Step, grid: latency_spikes.Grid, seen: Attribution, floor: Step | None) -> None:
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
    for index, each in enumerate(seen.tail.excursions):
        once = f"excursion ({len(seen.tail.excursions)})" if index == 0 else None
        axes.axvspan(each.begin_s, each.end_s, color=MARK, linewidth=0, zorder=0, label=once)
    values = np.concatenate([us[np.isfinite(us)] for _, us, _, _ in lines])
    style.latency_axis(axes, min([float(values.min()), *reach(floor)]), float(values.max()))
    axes.set_ylabel(f"response time of {write.seconds(grid.slice_s)}")
    axes.legend(loc="upper right", ncols=5, fontsize=8)


def _lanes(axes: Axes, lanes: list[Share], seen: Attribution) -> None:
    least = LEAST_WIDTH * seen.tail.length_s
    for each in seen.tail.excursions:
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


def table(step: Step, seen: Attribution) -> Table | None:
    """Cause, events, excursions, share of the tail with its interval, and what chance would give."""
    if not seen.shares or not seen.tail.excursions:
        return None
    count = len(seen.tail.excursions)
    rows = []
    for share in [*lanes_of(seen), *sorted(seen.shares, key=lambda s: s.cause.name)]:
        row = (
            share.cause.name,
            numbers.count(len(share.cause)),
            f"{share.excursions} of {count}",
            tail.written(share.share) if share.named else numbers.NONE,
            numbers.share(share.chance),
            f"{share.p:.2g}",
            tail.verdict(share, count),
        )
        if row not in rows:
            rows.append(row)
    rows.append(("unexplained", "", "", numbers.share(seen.unexplained), "", "", ""))
    note = (
        f"Of what {numbers.count(seen.tail.slow)} responses took above {numbers.latency(seen.tail.threshold_us)}. "
        "Events are counted from one millisecond on; chance is the part that the same events would be credited with if "
        "they were shifted in time, p how often a shift does at least as well."
    )
    head = ("cause", "events", "excursions", "share of the tail", "by chance", "p", "")
    return Table(f"{heading(step)}: causes", head, tuple(rows), note)


def data(step: Step, seen: Attribution) -> pd.DataFrame:
    """What is drawn: slices with p50, p99 and maximum, then excursions and the events of each cause."""
    grid = latency_spikes.grid(step.frames["slices"])
    parts = []
    if grid is not None:
        at = np.arange(len(grid.counts)) * grid.slice_s
        columns = {"p50_us": grid.at(0.5), "p99_us": grid.at(0.99), "max_us": grid.longest()}
        parts.append(pd.DataFrame({"what": "latency", "t_s": at, "end_s": at + grid.slice_s, **columns}))
    rows = [("excursion", each.begin_s, each.end_s) for each in seen.tail.excursions]
    for share in lanes_of(seen):
        rows += [(share.cause.name, b, e) for b, e in zip(share.cause.begin_s, share.cause.end_s, strict=True)]
    parts.append(pd.DataFrame(rows, columns=["what", "t_s", "end_s"]))
    return pd.concat([part for part in parts if not part.empty], ignore_index=True).assign(step=step.name)
