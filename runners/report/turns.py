"""Settings that took turns, as a figure and a table: what each carries and its p99, every round a dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts, floors
from runners.claims import cluster
from runners.claims import turns as taken
from runners.claims.conclusion import Conclusion
from runners.claims.turns import CARRIED, SHOWN, TAIL, Group
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.floor import floor_across
from runners.report.section import Section, Shown
from runners.report.tables import Table

TITLES = {cluster.CHANGES: "The three changes, one at a time", cluster.REPLICATION: "Copies: blocking and asynchronous"}
TEXT = (
    "All servers run at once and take turns in an order by chance: in each round every setting has a closed loop, then "
    "the same rate. What is slow today is slow for all of them."
)
ARROW = " → "


def data(group: Group) -> pd.DataFrame:
    """A row a turn: `setting`, `round`, `closed_loop_rps`, `p50_us`, `p99_us`, `p999_us`; NaN where not quotable."""
    rows = []
    for name in group.settings:
        for number, (closed, load) in group.turns[name].items():
            row: dict[str, object] = {"setting": name, "round": number, CARRIED: float("nan")}
            if closed is not None and closed.valid:
                row[CARRIED] = facts.achieved_rps(closed)
            for column, level in (("p50_us", 0.5), (TAIL, 0.99), ("p999_us", 0.999)):
                value = facts.quoted(load, level)
                row[column] = value.value if value is not None else float("nan")
            rows.append(row)
    return pd.DataFrame(rows, columns=["setting", "round", CARRIED, "p50_us", TAIL, "p999_us"])


def title(group: Group) -> str:
    """The result: the setting that carries most."""
    carried = data(group).groupby("setting")[CARRIED].median().dropna()
    if carried.empty:
        return f"{group.name}: no closed loop is valid"
    best = str(carried.idxmax())
    return f"{style.plain(best, 24)} carries most, {numbers.rate(float(f'{carried[best]:.3g}'))} in closed loop"


def turns(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the first group that these steps hold, with the p99 of a floor."""
    found = taken.groups(steps)
    if not found:
        figure = style.Picture(8.4, 1.4)
        figure.alt = "An empty figure: nothing took turns."
        return figure
    return picture(found[0], floor)


@style.styled
def picture(group: Group, floor: Step | None = None) -> style.Picture:
    """Closed-loop rate on the left, p99 at the rate of all on the right; dots are rounds, diamonds their median."""
    rows = data(group)
    figure = style.Picture(8.4, 1.7 + 0.42 * len(group.settings))
    left, right = figure.subplots(1, 2, sharey=True)
    _dots(left, group, rows, CARRIED)
    left.set_xlim(left=0)
    left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    left.set_xlabel(f"closed loop, {write.connections(group.connections)} (requests a second)")
    _dots(right, group, rows, TAIL)
    if rows[TAIL].notna().any():
        right.set_xscale("log")
        right.set_xlim(float(rows[TAIL].min()) / 1.6, float(rows[TAIL].max()) * 1.6)
        floor_across(figure, [right], floor, group.steps, (0.99,), upright=True)
    else:
        right.set_xticks([])
        right.text(0.5, 0.5, "no latency may be quoted", transform=right.transAxes, ha="center", color=style.QUIET)
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_time(float(f"{value:.2g}"))))
    right.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: _minor(value, rows[TAIL])))
    right.tick_params(axis="x", which="both", labelsize=8)
    right.set_xlabel(f"p99 at {numbers.rate(group.rate_rps)} (log)")
    left.set_yticks(range(len(group.settings)), [style.plain(name, 24) for name in group.settings])
    left.set_ylim(len(group.settings) - 0.5, -0.5)
    figure.suptitle(title(group), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Closed-loop rate and p99 of settings that took turns. {title(group)}."
    return figure


def _minor(value: float, seen: pd.Series[float]) -> str:
    """On an axis of less than two decades 2 and 5 are labelled too."""
    known = seen.dropna()
    lead = f"{value:.0e}"[0]
    return (
        style.axis_time(float(f"{value:.2g}"))
        if lead in "25" and len(known) and known.max() / known.min() < 100
        else ""
    )


def _dots(axes: Axes, group: Group, rows: pd.DataFrame, column: str) -> None:
    for place, name in enumerate(group.settings):
        own = rows[rows["setting"] == name][column].dropna().to_numpy(float)
        lift = np.linspace(-0.16, 0.16, len(own)) if len(own) > 1 else np.zeros(len(own))
        axes.scatter(own, place + lift, 14, color=style.QUIET, alpha=0.7, zorder=2)
        if len(own):
            axes.plot(float(np.median(own)), place, "D", color=style.BLUE, markersize=6, zorder=3)
    axes.grid(visible=False, axis="y")


def table(group: Group) -> Table:
    """Each setting against the one that it changes: typical values, and the interval of the difference."""
    rows = []
    for a, b in _pairs(group):
        found = group.against(a, b)
        for place, quantity in enumerate(SHOWN):
            each = taken.of(found, quantity)
            if each is not None:
                unit = numbers.rate if each.quantity.unit == "rps" else numbers.latency
                name = f"{a}{ARROW}{b}" if not place else ""
                pair = f"{unit(each.a)}{ARROW}{unit(each.b)}"
                rows.append((name, each.quantity.label, pair, taken.signed_range(each), numbers.count(each.rounds)))
    head = ("", "", "typical", "difference (95 %)", "rounds")
    note = (
        "Geometric means over the rounds that tell of both; the intervals of a pair hold together, from what differs "
        "between rounds. Latencies at the rate that is offered to all."
    )
    rate = f"{numbers.rate(group.rate_rps)} over {write.connections(group.connections)}"
    return Table(f"{TITLES.get(group.name, group.name)}: differences, at {rate}", head, tuple(rows), note)


def _pairs(group: Group) -> Iterator[tuple[str, str]]:
    """What is compared: with the first setting, or for copies the client that waits with the one that does not."""
    if group.name != cluster.REPLICATION:
        yield from ((group.settings[0], name) for name in group.settings[1:])
        return
    for name in group.settings:
        waiting = name.replace("async-", "blocking-")
        if waiting != name and waiting in group.settings:
            yield waiting, name


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """A section a group."""
    for group in taken.groups(run.steps):
        anchor = cluster.anchor(group.name)
        told = tuple(finding for finding in conclusion.findings if finding.figure == anchor)
        floor = floors.nearest(run.steps, group.steps[0])
        yield Section(
            f"{anchor}-section", TITLES.get(group.name, group.name), text=TEXT, findings=told,
            figures=(Shown(anchor, picture(group, floor), data(group)),), tables=(table(group),),
        )  # fmt: skip
