"""Build the sections of a cluster: where keys lie, what is passed on, waits for the client's lock, a node that dies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analysis import facts, floors
from runners.analysis import outages as told
from runners.analysis.outages import Outage
from runners.claims import cluster
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.section import Section, Shown
from runners.report.style import floor_lines, reach
from runners.report.tables import Table

LINES = ((0.5, style.SKY, "p50"), (0.99, style.BLUE, "p99"))
COLOURS = {"killed": style.VERMILION, "started": style.ORANGE, "answers": style.GREEN}
TEXT = (
    "Three processes; the load goes to the first, the third is killed (SIGKILL) and started again on its port and its "
    "data. All share the server's cores, so the start of a JVM takes time from the two that live."
)


def tenths(step: Step) -> pd.DataFrame:
    """`t_s`, `p50_us`, `p99_us` of the responses of each tenth of a second; NaN where there was none."""
    rows = []
    for t_s, own in step.frames["slices"].groupby("t_s", sort=True):
        count, us = own["count"].to_numpy(float), own["us"].to_numpy(float)
        order = np.argsort(us)
        below = np.cumsum(count[order])
        values = {}
        for level, _, name in LINES:
            at = int(np.searchsorted(below, level * below[-1])) if below[-1] else 0
            values[f"{name}_us"] = us[order][min(at, len(us) - 1)] if below[-1] else math.nan
        rows.append({"t_s": float(t_s), **values})  # type: ignore[arg-type]
    return pd.DataFrame(rows, columns=["t_s", *(f"{name}_us" for _, _, name in LINES)])


def title(each: Outage) -> str:
    """The result: which share of the responses failed while the node was away."""
    bad, asked = each.failed("without")
    share = f"{numbers.share(bad / asked)} of the responses fail" if bad else "no response fails"
    return f"{style.plain(each.name, 24)}: {share}"


def outage(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the deaths that these steps hold, a column each."""
    return picture(told.outages(steps), floor)


@style.styled
def picture(found: Sequence[Outage], floor: Step | None = None) -> style.Picture:
    """Latency above, with the floor's; failed and other responses a second below."""
    if not found:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, "no node was killed", ha="center", color=style.QUIET)
        figure.alt = "An empty figure: no node was killed."
        return figure
    figure = style.Picture(8.4, 4.4)
    grid = figure.subplots(2, len(found), sharex="col", sharey="row", squeeze=False, height_ratios=(2.0, 1.1))
    seen: list[float] = []
    for place, each in enumerate(found):
        seen += _latency(grid[0][place], each, named=place == 0)
        _answers(grid[1][place], each, named=place == 0)
        for axes in (grid[0][place], grid[1][place]):
            _mark(axes, each, words=axes is grid[0][place])
        grid[0][place].set_title(title(each).replace(": ", ":\n", 1) if len(found) > 1 else title(each), fontsize=10)
        grid[1][place].set_xlabel("time since the start of the measurement (s)")
        grid[1][place].xaxis.set_major_locator(MaxNLocator(7, integer=True))
    if seen:
        style.latency_axis(grid[0][0], min([*seen, *reach(floor)]), max(seen) * 1.6)  # room for the words
    lines = [floor_lines(axes, floor, [each.step for each in found]) for axes in grid[0]] if seen else [None]
    grid[0][0].set_ylabel("latency (log)")
    grid[1][0].set_ylabel("responses/s")
    grid[1][0].set_ylim(bottom=0)
    grid[1][0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    figure.align_ylabels(list(grid[:, 0]))
    handles = [entry for axes in grid[:, 0] for entry in axes.get_legend_handles_labels()[0]]
    handles += [lines[0]] if lines[0] else []
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8)
    figure.alt = "A node killed under load, by time. " + ". ".join(title(each) for each in found) + "."
    return figure


def _latency(axes: Axes, each: Outage, named: bool) -> list[float]:
    rows = tenths(each.step)
    middle = 0.05
    if rows.empty:
        rows, middle = each.seconds, 0.5
    seen: list[float] = []
    for _, colour, name in LINES:
        us = rows[f"{name}_us"].to_numpy(float)
        axes.plot(rows["t_s"] + middle, us, color=colour, linewidth=1.2, label=name if named else None)
        seen += [value for value in us if value > 0]
    return seen


def _answers(axes: Axes, each: Outage, named: bool) -> None:
    rows = each.seconds
    good = rows["completed"] - rows["errors"]
    at = rows["t_s"] + 0.5
    axes.bar(
        at, good, 0.9, color=style.GRID, edgecolor=style.FLOOR, linewidth=0.4, label="good responses" if named else None
    )
    axes.bar(at, rows["errors"], 0.9, good, color=style.VERMILION, label="failed responses" if named else None)


def _mark(axes: Axes, each: Outage, words: bool) -> None:
    for at, word in each.events:
        axes.axvline(at, color=COLOURS[word], linewidth=1.2, linestyle=(0, (4, 2)))
        if words:
            axes.annotate(
                word, (at, 0.985), xycoords=("data", "axes fraction"), xytext=(2, 0), textcoords="offset points",
                fontsize=7.5, color=style.INK, va="top", rotation=90,
            )  # fmt: skip


def table(found: Sequence[Outage]) -> Table:
    """Failed responses and the p99 of a second before, while and after."""
    rows = []
    for each in found:
        cells = [f"{numbers.rate(facts.offered_rps(each.step))}"]
        for which in ("before", "without", "after"):
            bad, asked = each.failed(which)
            share = numbers.share(bad / asked) if asked else numbers.NONE
            cells += [f"{share} ({numbers.count(bad)} of {numbers.count(asked)})", numbers.latency(each.p99_us(which))]
        rows.append((each.name, *cells, numbers.seconds(each.back_s - each.killed_s)))
    parts = ("before", "without it", "after")
    head = ("setting", "offered", *(text for part in parts for text in (f"failed {part}", f"p99 {part}")), "away for")
    note = "p99: the median of the seconds' own. Without it: whole seconds between its death and its first response."
    return Table("Before, while and after a node is away", head, tuple(rows), note)


def outage_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The deaths of a run, or None."""
    found = told.outages(run.steps)
    if not found:
        return None
    rows = pd.concat([tenths(each.step).assign(step=each.step.name) for each in found], ignore_index=True)
    steps = [each.step for each in found]
    floor = floors.nearest(run.steps, steps[0])
    return Section(
        "outages-section", "A node dies", text=TEXT,
        findings=tuple(finding for finding in conclusion.findings if finding.figure == told.ANCHOR),
        figures=(Shown(told.ANCHOR, picture(found, floor), rows),), tables=(table(found),),
    )  # fmt: skip


KEYS_TEXT = (
    "Computed for every id that the report wrote and for the addresses of this run's nodes, as the servers compute it. "
    "The load goes to the first node; what lies elsewhere it asks the owner for, and its own status counts that."
)


def keys_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose status tells where requests were served; None for any other."""
    loads = cluster.clusters(run)
    nodes = cluster.topology(loads)
    if nodes is None:
        return None
    rows = tuple(
        (
            facts.engine_name(one.name), one.hashing, numbers.count(one.local), numbers.count(one.proxied),
            numbers.share(one.share), numbers.share(one.expected), numbers.latency(one.call_p50_us),
            numbers.latency(one.call_p99_us), numbers.count(one.failed_calls),
        )
        for one in cluster.by_treatment(loads)
    )  # fmt: skip
    head = (
        "setting", "hash", "served itself", "passed on", "share passed on", "share by the hash", "call p50", "call p99",
        "failed calls",
    )  # fmt: skip
    note = "Calls to the node that was asked most, over the server's whole life: in closed loop and at the common rate."
    told = tuple(finding for finding in conclusion.findings if finding.figure == cluster.KEYS_ANCHOR)
    table = Table(write.sentence("What the first node passes on").rstrip("."), head, rows, note)
    return Section("keys-section", "Where the keys lie", text=KEYS_TEXT, findings=told, tables=(table,))


LOCK_TEXT = (
    "Each setting, once more while the profiler records who waits for a lock and how long. Waiting is "
    "added up over all threads, so it can be more than a second per second."
)


def client_lock_section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose turns were profiled; None for any other."""
    found = cluster.of_run(run)
    if not found:
        return None
    rows = tuple(
        (
            one.name,
            numbers.rate(facts.offered_rps(one.step)),
            numbers.seconds(one.all_s),
            numbers.seconds(one.client_s),
            numbers.share_interval(one.share.value, one.share.low, one.share.high) if one.share else numbers.NONE,
        )
        for one in found
    )
    head = ("setting", "offered", "waited in a second", "of it, client's lock", "share (95 %)")
    told = tuple(finding for finding in conclusion.findings if finding.figure == cluster.LOCK_ANCHOR)
    table = Table("Waits for locks", head, rows, "A dash: nobody waited for that lock.")
    return Section(cluster.LOCK_ANCHOR, "The lock around the client", LOCK_TEXT, told, (), (table,))
