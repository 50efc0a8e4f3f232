"""Draw the shares of a profile by category over the rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts
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


LEAST_SHARE = 0.01  # categories that never reach it are one


def by_rate_data(steps: Sequence[Step], event: str) -> pd.DataFrame:
    """A row a rate step and category: `rate_rps`, `category`, `share`, `low`, `high`, `samples`."""
    rows = []
    for step in sorted(steps, key=facts.offered_rps):
        for row in rows_of(step, event).to_dict("records"):
            own = {name: row[name] for name in ("category", "share", "low", "high", "samples")}
            rows.append({"step": step.name, "rate_rps": facts.offered_rps(step), **own})
    columns = ["step", "rate_rps", "category", "share", "low", "high", "samples"]
    return pd.DataFrame(rows, columns=columns)


def by_rate_title(steps: Sequence[Step], event: str) -> str:
    """The result: the largest category at the lowest and at the highest rate."""
    rows = by_rate_data(steps, event)
    if rows.empty:
        return f"{style.plain(event)}: no samples"
    ends = []
    for rate in dict.fromkeys((rows["rate_rps"].min(), rows["rate_rps"].max())):
        top = rows[rows["rate_rps"] == rate].sort_values("share").iloc[-1]
        ends.append(f"{style.plain(top['category'], 20)} {numbers.share(top['share'])} at {numbers.rate(rate)}")
    name = f"{style.engine_name(steps[0].subject)} {style.plain(steps[0].workload.upper(), 12)}"
    return f"{name}, {WHAT.get(event, event)}: {', '.join(ends)}"


@style.styled
def by_rate(steps: Sequence[Step], workload: str, event: str | None = None) -> style.Picture:
    """Draw the shares of one event (by default the first that was sampled) of a workload's profiled rate steps."""
    chosen = [step for step in steps if step.workload == workload]
    events = events_of(chosen)
    event = event or (events[0] if events else "cpu")
    rows = by_rate_data(chosen, event)
    if rows.empty:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, f"no {style.plain(event, 20)} samples", ha="center", color=style.QUIET)
        figure.alt = f"No {style.plain(event, 20)} samples."
        return figure
    figure = style.Picture(8.4, 3.9)
    axes = figure.add_subplot()
    _stack(axes, rows)
    axes.set_xlabel("offered rate (requests a second); bars: 95 % interval of the share")
    axes.set_ylabel(f"share of {WHAT.get(event, 'samples')}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    figure.suptitle(by_rate_title(chosen, event), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8, reverse=True)
    figure.alt = f"Shares by category against the offered rate. {by_rate_title(chosen, event)}."
    return figure


def _stack(axes: Axes, rows: pd.DataFrame) -> None:
    """One column a rate step, evenly placed; categories from the largest up, in the same order everywhere."""
    rates = sorted(rows["rate_rps"].unique())
    weight = rows.groupby("category")["share"].max()
    order = [str(name) for name in weight.sort_values(ascending=False, kind="stable").index]
    kept = [name for name in order if weight[name] >= LEAST_SHARE]
    aside = dict(zip(kept, np.linspace(-0.27, 0.27, len(kept)), strict=True))  # so that intervals can be told apart
    base = np.zeros(len(rates))
    for name in kept:
        own = rows[rows["category"] == name].set_index("rate_rps")
        share = np.array([float(own["share"].get(rate, 0.0)) for rate in rates])
        low = np.array([float(own["low"].get(rate, 0.0)) for rate in rates])
        high = np.array([float(own["high"].get(rate, 0.0)) for rate in rates])
        axes.bar(range(len(rates)), share, 0.62, base, color=style.category_colour(name), label=style.plain(name, 20),
                 edgecolor=style.CARD, linewidth=0.5)  # fmt: skip
        error = np.clip(np.vstack([share - low, high - share]), 0, None)
        at = np.arange(len(rates)) + aside[name]
        axes.errorbar(at, base + share, yerr=error, fmt="none", ecolor=style.INK, elinewidth=0.8, capsize=2)
        for index, part in enumerate(share):
            if part >= 0.06:
                dark = style.is_dark(style.category_colour(name))
                axes.text(index, base[index] + part / 2, numbers.share(part), ha="center", va="center", fontsize=7.5,
                          color="white" if dark else style.INK)  # fmt: skip
        base = base + share
    axes.set_xticks(range(len(rates)), [numbers.rate(rate) for rate in rates])
    axes.set_xlim(-0.6, len(rates) - 0.4)
    axes.set_ylim(0, 1.03)
    axes.grid(visible=False, axis="x")
