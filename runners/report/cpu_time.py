"""Draw CPU time per request of the server, all threads, by what it is spent on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.patches import Patch

from runners.analysis import facts
from runners.analysis.quantities import quantities_of
from runners.analysis.validity import Aspect, may_quote
from runners.design.session import PROFILED_RATE_STEP
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.tables import Section, Shown
from runners.results import profiles

MOST_BARS = 14
LEAST_SHARE = 0.01  # of a bar: what is narrower can't be seen

#: A bar: its name, CPU time per request in microseconds, and the shares of it by category.
Bar = tuple[str, float, pd.DataFrame]


def bars(run: Run) -> list[Bar]:
    """Return a bar a profiled treatment; of one that was profiled at several rates the highest counts."""
    chosen: dict[tuple[str, str], Step] = {}
    for step in sorted((s for s in run.steps if s.profiled and facts.usable_profile(s)), key=rate_rps):
        if not facts.shares_of(step, "cpu").empty:
            chosen[step.subject, step.workload] = step
    drawn = []
    for (subject, workload), step in chosen.items():
        clean = [s for s in run.find(subject=subject, workload=workload, profiled=False) if may_quote(s, Aspect.CPU)]
        drawn.append(_bar(style.name_of(step), step, facts.only(clean)))
    return [bar for bar in drawn if bar is not None][:MOST_BARS]


def _bar(name: str, step: Step, clean: Step | None = None) -> Bar | None:
    """Return CPU time of the same load without the profiler where there is one, else less the profiler's own share."""
    shares = facts.shares_of(step, "cpu")
    own = float(shares[shares["category"] == "profiler"]["share"].sum())
    used_us = cpu_us(clean) if clean is not None else cpu_us(step) * (1 - own)
    if not math.isfinite(used_us) or shares.empty:
        return None
    rows = shares[shares["category"] != "profiler"][["category", "share"]].copy()
    rows["share"] /= 1 - own
    rows.loc[rows["share"] < LEAST_SHARE, "category"] = "other"  # too small to be seen
    together = rows.groupby("category", sort=False)["share"].sum().reset_index()
    named = f"{name}\nprofiler {tables.share(own)}" if own > profiles.MUCH else name
    return named, used_us, together.sort_values("category", key=lambda names: names == "other", kind="stable")


def by_rate(steps: Sequence[Step], workload: str) -> style.Picture:
    """Draw CPU time per request of a workload's profiled rate steps, a bar a rate."""
    chosen = sorted((step for step in steps if step.workload == workload), key=rate_rps)
    rows = [bar for step in chosen if (bar := _bar(tables.rate(facts.offered_rps(step)), step)) is not None]
    if not rows:
        return style.empty("no cpu samples")
    return cpu(rows, f"{style.plain(workload.upper(), 12)}: CPU time per request of all threads, by rate")


def rate_rps(step: Step) -> float:
    """Return the offered rate of a step, to sort by; 0 for a closed loop."""
    offered_rps = facts.offered_rps(step)
    return offered_rps if math.isfinite(offered_rps) else 0.0


def cpu_us(step: Step) -> float:
    """Return CPU time of the server per request, in microseconds; NaN where it was not recorded."""
    return quantities_of(step)["cpu_us"]


@style.styled
def cpu(rows: Sequence[Bar], heading: str = "CPU time per request of all threads, by its use") -> style.Picture:
    """Draw CPU time per request as stacked bars."""
    figure = style.Picture(8.4, 1.7 + 0.42 * len(rows))
    axes = figure.add_subplot()
    seen: dict[str, float] = {}
    for place, (_, used_us, shares) in enumerate(rows):
        left = 0.0
        for category, share in zip(map(str, shares["category"]), shares["share"], strict=True):
            part, colour = float(share) * used_us, style.category_colour(category)
            axes.barh(place, part, 0.72, left=left, color=colour, edgecolor=style.CARD, linewidth=0.4)
            left += part
            seen[category] = seen.get(category, 0.0) + part
        style.label_bar(axes, tables.latency(used_us), left, place)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, max(used for _, used, _ in rows) * 1.14)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("CPU time of the server per request, all its threads (microseconds)")
    ordered = sorted(seen, key=lambda name: -seen[name])
    handles = [Patch(color=style.category_colour(name), label=style.plain(name, 20)) for name in ordered]
    style.legend(figure, 6, 7.5, handles)
    return figure.headed(heading)


def cpu_figure(run: Run) -> Shown | None:
    """Return the figure of every profiled treatment with its data, or None where nothing was profiled."""
    rows = bars(run)
    if not rows:
        return None
    data = pd.concat([shares.assign(treatment=name.partition("\n")[0], cpu_us=us) for name, us, shares in rows])
    return Shown(profiles.CPU_FIGURE, cpu(rows), data)


def by_rate_sections(run: Run) -> Iterator[Section]:
    """Yield CPU time per request by rate of each ladder that was profiled at several rates."""
    steps = run.find(kind=PROFILED_RATE_STEP)
    for workload in dict.fromkeys(step.workload for step in steps):
        usable = profiles.profiled_rate_steps(run, workload)
        if len({facts.offered_rps(step) for step in usable}) < 2:
            continue
        data = pd.concat([step.frames["shares"].assign(step=step.name) for step in usable], ignore_index=True)
        shown = Shown(f"byrate-{workload}-{facts.CPU}", by_rate(usable, workload), data)
        yield Section(f"byrate-{workload}", f"{workload.upper()}: CPU time by rate", figures=(shown,))
