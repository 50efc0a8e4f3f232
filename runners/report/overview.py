"""Draw the two figures that come first: throughput against p99, and CPU time per request by category."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator

from runners.analysis import facts, instrument
from runners.analysis.interleaved import REQUESTS, comparisons
from runners.analysis.quantities import of_step
from runners.claims import profile
from runners.claims.climbing import ladders
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.tables import Shown

POINTS, CPU = "throughput-p99", "cpu-a-request"
TAIL = 0.99
MOST_BARS = 14
LEAST_SHARE = 0.01  # of a bar: what is narrower can't be seen
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
OF_ONE = ("load", "rate-step", "round", "loop")
COLUMNS = ["unit", "step", "treatment", "workload", "throughput_rps", "p99_us", "unresolved"]
UNITS = ("load", "start", "probe")
MOST_MISSING = 8  # names of a figure


def points(run: Run) -> pd.DataFrame:
    """Collect a row a load: `step`, `unit`, `treatment`, `workload`, `throughput_rps`, `p99_us`, `unresolved` (why).

    A `unit` is a load, a start of one schedule, or a probe of a search, each at the rate at which its p99 was taken.
    """
    alone = [s for s in run.steps if s.kind in OF_ONE and s.record.sweep is None]
    loads = [("load", *_row(run, step)) for step in alone]
    starts = [("start", *row) for row in _of_starts(run)]
    probes = [("probe", *row) for row in _of_searches(run)]
    rows = pd.DataFrame([*loads, *starts, *probes], columns=COLUMNS)
    return rows.dropna(subset=["throughput_rps", "p99_us"]).reset_index(drop=True)


def missing(run: Run, rows: pd.DataFrame) -> list[str]:
    """Name what was loaded and has no point: loads by slices or with few responses have no p99 to quote."""
    seen = set(zip(rows["treatment"], rows["workload"], strict=True))
    loaded = [(step.subject, step.workload) for step in run.steps if step.kind in OF_ONE]
    for found in comparisons(run):
        workload = next((step.workload for step in run.steps if step.name in found.steps), "")
        loaded += [(name, workload) for name in (found.baseline, *found.treatments)]
    left = [each for each in dict.fromkeys(loaded) if each not in seen]
    titles = _titles(run)
    names = [titles[name] for name, _ in left]
    several = {name for name in names if names.count(name) > 1} | {titles[name] for name, _ in seen}
    return list(
        dict.fromkeys(
            f"{name} {style.plain(workload.upper(), 12)}" if name in several else name
            for name, (_, workload) in zip(names, left, strict=True)
        )
    )


def _titles(run: Run) -> dict[str, str]:
    """Return what each treatment is called in the figure: a closed loop by the title of its stage."""
    titles = {
        step.subject: style.plain(step.record.loop.stage_title or style.engine_name(step.subject), 40)
        for step in run.steps
    }
    others = {name for found in comparisons(run) for name in (found.baseline, *found.treatments)}
    others |= {facts.tool(step) for step in run.find(kind="round")}  # which stand for treatments there
    return {name: style.engine_name(name) for name in others} | titles


def _of_searches(run: Run) -> Iterator[tuple[object, ...]]:
    """Yield a row a probe of each search that says something of its server."""
    for ladder in ladders(run):
        for point in ladder.points if ladder.search is not None else ():
            few = point.samples * (1 - TAIL) < facts.ENOUGH_BEYOND
            if few or not point.counts:
                continue
            step, achieved_rps = point.step, point.rps * point.rate_step.achieved
            why = instrument.of_instrument(run.steps, step, TAIL)
            p99_us = point.rate_step.at(TAIL)
            yield step.name, step.subject, step.workload, achieved_rps, p99_us if write.known(p99_us) else math.nan, why


def _of_starts(run: Run) -> Iterator[tuple[object, ...]]:
    """Yield a row a start and treatment of each comparison by request, at the rate that the treatment achieved in
    them.
    """
    for found in comparisons(run):
        steps = [step for step in run.steps if step.name in found.steps]
        for name in (found.baseline, *found.treatments) if found.form == REQUESTS else ():
            why = found.unresolved("p99_us", name)
            rates = [
                rows.loc[rows["target"] == name, "achieved_rps"].mean() for rows in (s.frames["targets"] for s in steps)
            ]
            for p99_us in found.values.get(("p99_us", name), ()):
                yield steps[0].name, name, steps[0].workload, float(np.nanmean(rates)), p99_us, why


def _row(run: Run, step: Step) -> tuple[object, ...]:
    value = facts.quoted(step, TAIL) if not step.profiled else None
    enough = facts.samples(step) * (1 - TAIL) >= facts.ENOUGH_BEYOND
    p99_us = value.value if value is not None and enough else math.nan
    name = facts.tool(step) if step.kind == "round" else step.subject
    why = instrument.of_instrument(run.steps, step, TAIL) if enough else ""
    return step.name, name, step.workload, facts.achieved_rps(step), p99_us, why


@style.styled
def throughput(run: Run, rows: pd.DataFrame) -> style.Picture:
    """Draw throughput against p99, a point a load, start or probe, with the objective as a line."""
    figure = style.Picture(8.4, 5.2)
    axes = figure.add_subplot()
    treatments = list(dict.fromkeys(rows["treatment"]))
    titles = _titles(run)
    workloads = list(dict.fromkeys(rows["workload"]))
    colours = style.colours_of(treatments)
    for place, workload in enumerate(workloads):
        marker = MARKERS[place % len(MARKERS)]
        for name in treatments:
            whole = rows[(rows["treatment"] == name) & (rows["workload"] == workload)]
            title = titles[name] + (f" {style.plain(workload.upper(), 12)}" if workload else "")
            for small in (False, True):
                own = whole[(whole["unit"] == "probe") == small]
                if own.empty:
                    continue
                label = f"{title}, probes" if small else title
                good, rest = own[own["unresolved"] == ""], own[own["unresolved"] != ""]
                size = 2.5 if small else 5.5
                drawn: dict[str, Any] = {"color": colours[name], "marker": marker, "linestyle": "none"}
                drawn |= {"markersize": size, "zorder": 2 if small else 3}
                axes.plot(good["throughput_rps"], good["p99_us"], label=label, alpha=0.6 if small else 0.85, **drawn)
                axes.plot(rest["throughput_rps"], rest["p99_us"], label=f"_{label}", fillstyle="none", **drawn)
    objectives = {
        limit for each in ladders(run) if each.objective for level, limit in each.objective.latencies if level == TAIL
    }
    for limit_us in sorted(objectives):
        axes.axhline(limit_us, color=style.INK, linewidth=1, linestyle=(0, (5, 3)))
    style.latency_axis(axes, min([*rows["p99_us"], *objectives]), max([*rows["p99_us"], *objectives]))
    if rows["throughput_rps"].max() > 8 * rows["throughput_rps"].min():
        axes.set_xscale("log")
    else:
        axes.set_xlim(0, rows["throughput_rps"].max() * 1.08)
    axes.xaxis.set_gid("rate")
    if axes.get_xscale() == "log":
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    lost = missing(run, rows)
    label = "throughput (requests per second)"
    axes.set_ylabel("p99 of the response time (log)")
    if lost:
        named = f"{', '.join(lost[:MOST_MISSING])}" + (" and others" if len(lost) > MOST_MISSING else "")
        label += "\n" + "\n".join(style.broken(f"no p99 to quote: {named}", 7.0))
    axes.set_xlabel(label)
    handles = [_key(colours[name], "o", titles[name]) for name in treatments]
    if len(workloads) > 1:
        for place, workload in enumerate(workloads):
            handles.append(_key(style.QUIET, MARKERS[place % len(MARKERS)], style.plain(workload.upper(), 12)))
    if (rows["unresolved"] != "").any():
        handles.append(_key(style.QUIET, "o", "not resolved", hollow=True))
    if objectives:
        handles.append(Line2D([], [], color=style.INK, linestyle=(0, (5, 3)), label="objective"))
    style.legend(figure, 6, 8, handles)
    *units, last = [unit for unit in UNITS if (rows["unit"] == unit).any()]
    unit = f"{', '.join(units)} or {'small one per ' if last == 'probe' else ''}{last}" if units else last
    heading = f"Throughput against p99, a point per {unit}: {write.several(len(treatments), 'treatment')}"
    heading += ", no p99 is resolved" if (rows["unresolved"] != "").all() else ""
    without = f" No p99 to quote: {write.listed(lost)}." if lost else ""
    return figure.headed(heading, f"{heading}. {', '.join(titles[name] for name in treatments)}.{without}")


def _key(colour: str, marker: str, label: str, *, hollow: bool = False) -> Line2D:
    fill: Any = "none" if hollow else "full"
    return Line2D([], [], color=colour, marker=marker, linestyle="none", fillstyle=fill, label=label)


#: A bar: its name, CPU time per request in microseconds, and the shares of it by category.
Bar = tuple[str, float, pd.DataFrame]


def bars(run: Run) -> list[Bar]:
    """Return a bar each profiled treatment; of one that was profiled at several rates the highest counts."""
    chosen: dict[tuple[str, str], Step] = {}
    for step in sorted((s for s in run.steps if s.profiled and facts.usable_profile(s)), key=_rate):
        if not facts.shares_of(step, "cpu").empty:
            chosen[step.subject, step.workload] = step
    found = []
    for (subject, workload), step in chosen.items():
        clean = [s for s in run.find(subject=subject, workload=workload, profiled=False) if facts.quotable(s)]
        if (bar := _bar(style.name_of(step), step, facts.only(clean))) is not None:
            found.append(bar)
    return found[:MOST_BARS]


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
    last = together["category"] == "other"
    named = f"{name}\nprofiler {tables.share(own)}" if own > profile.MUCH else name
    return named, used_us, pd.concat([together[~last], together[last]])


def by_rate(steps: Sequence[Step], workload: str) -> style.Picture:
    """Draw CPU time per request of a workload's profiled rate steps, a bar a rate."""
    chosen = sorted((step for step in steps if step.workload == workload), key=_rate)
    found = [bar for step in chosen if (bar := _bar(tables.rate(facts.offered_rps(step)), step)) is not None]
    if not found:
        return style.empty("no cpu samples")
    return cpu(found, f"{style.plain(workload.upper(), 12)}: CPU time per request of all threads, by rate")


def _rate(step: Step) -> float:
    rate = facts.offered_rps(step)
    return rate if math.isfinite(rate) else 0.0


def cpu_us(step: Step) -> float:
    """Return CPU time of the server per request, in microseconds; NaN where it was not recorded."""
    return of_step(step)["cpu_us"]


@style.styled
def cpu(found: Sequence[Bar], heading: str = "CPU time per request of all threads, by its use") -> style.Picture:
    """Draw CPU time per request as stacked bars."""
    figure = style.Picture(8.4, 1.7 + 0.42 * len(found))
    axes = figure.add_subplot()
    seen: dict[str, float] = {}
    for place, (_, used_us, shares) in enumerate(found):
        left = 0.0
        for category, share in zip(map(str, shares["category"]), shares["share"], strict=True):
            part, colour = float(share) * used_us, style.category_colour(category)
            axes.barh(place, part, 0.72, left=left, color=colour, edgecolor=style.CARD, linewidth=0.4)
            left += part
            seen[category] = seen.get(category, 0.0) + part
        style.label_bar(axes, tables.latency(used_us), left, place)
    axes.set_yticks(range(len(found)), [name for name, _, _ in found], fontsize=8)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0, max(used for _, used, _ in found) * 1.14)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("CPU time of the server per request, all its threads (microseconds)")
    ordered = sorted(seen, key=lambda name: -seen[name])
    handles = [Patch(color=style.category_colour(name), label=style.plain(name, 20)) for name in ordered]
    style.legend(figure, 6, 7.5, handles)
    each = [f"{name.partition(chr(10))[0]} {tables.latency(us)}" for name, us, _ in found]
    return figure.headed(heading, f"{heading}: {', '.join(each)}.")


def figures(run: Run) -> list[Shown]:
    """Return the two figures, as far as the run holds what they draw."""
    shown, rows, found = [], points(run), bars(run)
    if len(rows):
        shown.append(Shown(POINTS, throughput(run, rows), rows))
    if found:
        data = pd.concat([shares.assign(treatment=name.partition("\n")[0], cpu_us=us) for name, us, shares in found])
        shown.append(Shown(CPU, cpu(found), data))
    return shown
