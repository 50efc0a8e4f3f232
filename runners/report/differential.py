"""Two profiles against each other: the frames whose share changed, and flame graphs in both directions.

A differential flame graph has the shape of one profile; what the other has more of is invisible where this one has
nothing. So there are two: each profile in its own shape, coloured by what the other does with the same path of calls.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from importlib import resources

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts
from runners.analysis.finding import Anchor
from runners.analysis.profile import EVENT_NAMES
from runners.claims import differential as told
from runners.claims.differential import Change
from runners.readers import write
from runners.readers.run import Step
from runners.report import flamegraph, style
from runners.report.section import Embedded

LEAST_WIDTH = 0.001  # of the whole: narrower frames are left out
TOP_BARS, TOP_ROWS = 14, 25
ROW_PX, HEAD_PX, MOST_PX = 16, 46, 560
MORE, LESS = style.VERMILION, style.BLUE


@dataclass(slots=True)
class Node:
    """A path of calls with its share in both profiles."""

    first: float = 0.0
    second: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Differential:
    """What `show.differential(a, b)` gives: shown in a notebook as two flame graphs, in a report as a section."""

    first: Step
    second: Step
    event: str
    changes: tuple[Change, ...]

    @property
    def names(self) -> tuple[str, str]:
        names = name_of(self.first), name_of(self.second)
        if names[0] != names[1]:
            return names
        first, second = (f"{names[0]} at {write.rate(facts.achieved_rps(each))}" for each in (self.first, self.second))
        return first, second

    def graphs(self) -> tuple[Embedded, Embedded]:
        """Both directions."""
        root = tree(self.first, self.second, self.event)
        anchor = Anchor.differential(self.second.workload, self.second.subject)
        first, second = self.names
        return (
            _graph(f"{anchor}-in-second", f"Shape of {second}: red is more than in {first}, blue less", root, False),
            _graph(f"{anchor}-in-first", f"Shape of {first}: red is more than in {second}, blue less", root, True),
        )

    def picture(self) -> style.Picture:
        """The largest changes with their intervals."""
        return bars(self)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(graph.title)}</p>{graph.iframe()}" for graph in self.graphs())

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.picture()._repr_png_()

    def __repr__(self) -> str:
        return f"Differential({self.first.name!r}, {self.second.name!r}, {self.event!r})"


def differential(first: Step, second: Step, event: str = "cpu") -> Differential:
    """The second profile against the first. Raises ValueError, naming it, when one of them has no such samples."""
    for step in (first, second):
        stacks = step.frames["stacks"]
        if stacks.empty or not (stacks["event"] == event).any():
            raise ValueError(f"{step.name}: no {event} profile; profile both steps to compare them")
    return Differential(first, second, event, tuple(told.changes(first, second, event)))


def name_of(step: Step) -> str:
    return f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"


def tree(first: Step, second: Step, event: str) -> Node:
    """Both profiles as one tree of calls; shares of each add up to 1 at the root. Threads are left out."""
    root = Node()
    for step, side in ((first, "first"), (second, "second")):
        stacks = step.frames["stacks"]
        rows = stacks[stacks["event"] == event]
        total = float(rows["count"].sum())
        for stack, count in zip(rows["stack"], rows["count"], strict=True):
            names = [name for name in str(stack).split(";") if not name.startswith("[")]
            node = root
            _add(node, side, count / total)
            for name in names:
                node = node.children.setdefault(name, Node())
                _add(node, side, count / total)
    return root


def _add(node: Node, side: str, share: float) -> None:
    if side == "first":
        node.first += share
    else:
        node.second += share


def _graph(anchor: str, title: str, root: Node, in_first: bool) -> Embedded:
    names: dict[str, int] = {"all": 0}
    rows: list[list[float]] = []
    deepest = 0

    def walk(node: Node, name: str, level: int, left: float) -> None:
        nonlocal deepest
        width, other = (node.first, node.second) if in_first else (node.second, node.first)
        if width < LEAST_WIDTH:
            return
        deepest = max(deepest, level)
        rows.append(
            [level, round(left * 1e5), round(width * 1e5), round(other * 1e5), names.setdefault(name, len(names))]
        )
        for child in sorted(node.children):
            walk(node.children[child], child, level + 1, left)
            left += node.children[child].first if in_first else node.children[child].second

    walk(root, "all", 0, 0.0)
    payload = json.dumps({"names": [style.plain(name, 200) for name in names], "rows": rows}, separators=(",", ":"))
    script, look = (_template(f"differential.{kind}") for kind in ("js", "css"))
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{flamegraph.POLICY}"><style>{look}</style></head><body>'
        '<div id="bar"><label>Search <input id="q" type="search" placeholder="regular expression"></label>'
        '<button id="reset" type="button">Reset</button><span id="told"></span></div><div id="graph"></div>'
        f'<script type="application/json" id="data">{payload.replace("<", chr(92) + "u003c")}</script>'
        f"<script>{script}</script></body></html>"
    )
    return Embedded(anchor, title, page, min(MOST_PX, HEAD_PX + ROW_PX * (deepest + 2)))


def _template(name: str) -> str:
    return resources.files("runners.report").joinpath("templates", name).read_text(encoding="utf-8")


def title(seen: Differential) -> str:
    """The result: how many frames changed, and the one that changed most."""
    first, second = seen.names
    beyond = [each for each in seen.changes if each.beyond]
    if not beyond:
        return f"{first} and {second}: no frame's share of {seen.event} differs beyond chance"
    each = beyond[0]
    sign = "more" if each.change.value > 0 else "less"
    frame = style.plain(short(each.frame), 40)
    points = f"{100 * abs(each.change.value):.3g}"
    return f"{frame} takes {points} percentage points {sign} of the {seen.event} profile of {second} than of {first}"


def short(frame: str) -> str:
    """A Java frame without its package."""
    return frame.rpartition("/")[2] if "/" in frame and "::" not in frame else frame


@style.styled
def bars(seen: Differential) -> style.Picture:
    """Draw the changes that chance does not make, largest first, with 95 % intervals."""
    shown = [each for each in seen.changes if each.beyond][:TOP_BARS]
    figure = style.Picture(8.4, 1.3 + 0.22 * max(1, len(shown)))
    axes = figure.subplots()
    at = np.arange(len(shown))
    value = np.array([each.change.value for each in shown])
    reach = np.array([each.change.high - each.change.value for each in shown])
    axes.barh(at, value, 0.7, color=[MORE if one > 0 else LESS for one in value], alpha=0.85)
    axes.errorbar(value, at, xerr=reach, fmt="none", ecolor=style.INK, elinewidth=1, capsize=2.2)
    axes.set_yticks(at, [style.plain(short(each.frame), 52) for each in shown], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color=style.QUIET, linewidth=0.8)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda one, _: f"{100 * one:+g} %"))
    axes.set_xlabel(
        f"change of the share of {EVENT_NAMES.get(seen.event, seen.event)}, 95 % interval "
        f"(orange: more in {seen.names[1]}, blue: less)",
        fontsize=8.5,
    )
    if not shown:
        axes.text(0.5, 0.5, "no change beyond chance", transform=axes.transAxes, ha="center", color=style.QUIET)
    figure.suptitle(title(seen), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Frames whose share changed. {title(seen)}."
    return figure


def data(seen: Differential) -> pd.DataFrame:
    """Every frame that was asked."""
    columns = ["frame", "share_first", "share_second", "change", "low", "high", "p", "beyond_chance"]
    rows = [
        (e.frame, e.before, e.after, e.change.value, e.change.low, e.change.high, e.p, e.beyond) for e in seen.changes
    ]
    return pd.DataFrame(rows, columns=columns).assign(first=seen.first.name, second=seen.second.name)
