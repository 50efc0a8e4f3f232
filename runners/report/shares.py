"""Where the time, the allocations and the waits go: shares by category with 95 % intervals, engines side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from runners.readers.run import Step
from runners.report import numbers, style

WHAT = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}


def rows_of(step: Step, event: str) -> pd.DataFrame:
    """The shares of one event, largest first; empty when it was not profiled or has no samples."""
    frame = step.frames["shares"]
    if frame.empty:
        return frame
    rows = frame[(frame["event"] == event) & (frame["samples"] > 0)]
    return rows.sort_values(["share", "category"], ascending=[False, True], kind="stable").reset_index(drop=True)


def events_of(steps: Sequence[Step]) -> list[str]:
    """The events of which at least one step has samples: cpu, alloc, lock first, then others by name."""
    found = {
        str(event) for step in steps if not step.frames["shares"].empty for event in step.frames["shares"]["event"]
    }
    found = {event for event in found if any(not rows_of(step, event).empty for step in steps)}
    known = [event for event in WHAT if event in found]
    return known + sorted(found - set(known))


def title(steps: Sequence[Step], event: str) -> str:
    """The result: the largest category of each step."""
    parts = []
    for step in steps:
        rows = rows_of(step, event)
        if not rows.empty:
            name = f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"
            parts.append(f"{name} {style.plain(rows['category'].iloc[0], 20)} {numbers.share(rows['share'].iloc[0])}")
    return f"{event}: most goes to {', '.join(parts)}" if parts else f"{style.plain(event)}: no samples"


def _bars(axes: Axes, steps: Sequence[Step], event: str, categories: list[str]) -> float:
    high_most = 0.0
    height = 0.8 / max(1, len(steps))
    for index, step in enumerate(steps):
        rows = rows_of(step, event).set_index("category")
        share = np.array([_of(rows, name, "share") for name in categories])
        low = np.array([_of(rows, name, "low") for name in categories])
        high = np.array([_of(rows, name, "high") for name in categories])
        low, high = np.where(np.isfinite(low), low, share), np.where(np.isfinite(high), high, share)
        at = np.arange(len(categories)) + (index - (len(steps) - 1) / 2) * height
        axes.barh(at, share, height * 0.92, color=style.colour_of(step.subject), alpha=0.85)
        error = np.clip(np.vstack([share - low, high - share]), 0, None)
        seen = share > 0
        axes.errorbar(
            share[seen], at[seen], xerr=error[:, seen], fmt="none", ecolor=style.INK, elinewidth=1, capsize=2.2
        )
        for y, part, top in zip(at[seen], share[seen], high[seen], strict=True):
            style.beside(axes, numbers.share(part), float(top), float(y))
            high_most = max(high_most, float(top))
    return high_most


def _of(rows: pd.DataFrame, category: str, column: str) -> float:
    return float(rows[column].get(category, math.nan if column != "share" else 0.0))


@style.styled
def shares(steps: Sequence[Step], event: str | None = None) -> style.Picture:
    """Draw the shares of one event (by default the first that was sampled): a panel a workload, engines in colour."""
    events = events_of(steps)
    event = event or (events[0] if events else "cpu")
    shown = [step for step in steps if not rows_of(step, event).empty]
    if not shown:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, f"no {style.plain(event, 20)} samples", ha="center", color=style.QUIET)
        figure.alt = f"No {style.plain(event, 20)} samples."
        return figure
    workloads = list(dict.fromkeys(step.workload for step in shown))
    weight = pd.concat([rows_of(step, event) for step in shown]).groupby("category")["share"].sum()
    categories = [str(name) for name in weight.sort_values(ascending=False, kind="stable").index]
    most = max(len([step for step in shown if step.workload == workload]) for workload in workloads)
    figure = style.Picture(8.4, 1.75 + 0.2 * len(categories) * max(1.4, most))
    panels = figure.subplots(1, len(workloads), sharey=True, sharex=True, squeeze=False)[0]
    high = 0.0
    for axes, workload in zip(panels, workloads, strict=True):
        here = [step for step in shown if step.workload == workload]
        high = max(high, _bars(axes, here, event, categories))
        counts = [numbers.count(rows_of(step, event)["samples"].sum()) for step in here]
        axes.set_title(f"{style.plain(workload.upper(), 12)}, {' and '.join(counts)} samples", fontsize=9.5)
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_xlabel(f"share of {WHAT.get(event, 'samples')}, 95 % interval", fontsize=8.5)
    panels[0].set_yticks(range(len(categories)), [style.plain(name, 24) for name in categories])
    panels[0].invert_yaxis()
    panels[0].set_xlim(0, max(high * 1.22, 0.01))
    engines = dict.fromkeys(step.subject for step in shown)
    handles = [Patch(color=style.colour_of(name), alpha=0.85, label=style.engine_name(name)) for name in engines]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(title(shown, event), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Shares by category. {title(shown, event)}."
    return figure
