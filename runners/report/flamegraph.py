"""Draw flame graphs of one profiled load or of two compared loads, and name the stack frame whose share changed most.

A graph is drawn from the stacks in a run folder, by a script in a sandboxed iframe and as a still picture. A
differential flame graph has the shape of one profile. Its colours compare that profile's shares with the other's. It
lacks frames that only the other profile has, so two graphs are drawn: one with the shape of each profile.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

import pandas as pd
from markupsafe import Markup

from runners import words
from runners.analysis import facts
from runners.design.session import EVENTS
from runners.errors import UNPRINTABLE
from runners.readers.run import Step
from runners.readers.stacks import classifier
from runners.report import style
from runners.report.tables import template
from runners.results.profiles import EVENT_NAMES, MUCH, Change, changes, own_share

ROW_PX, BAR_PX, LEAST_PX, MOST_PX = 16, 46, 180, 620
SCALE = 100_000  # the width of the whole graph: places and widths in a page are whole numbers
LEAST_SHARE = 0.001  # narrower frames are left out of a page
#: The still picture: the least share of a drawn frame; in SVG units, the width, a row's height and a letter's width.
STILL_SHARE, STILL_WIDTH, STILL_ROW, STILL_LETTER = 0.002, 1000, 13, 6.5
#: The font of an SVG file outside a report.
FILE_STYLE = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="8.5"'
#: Towers are the widest branches. One wider than TOWER is split if its parts of LEAST_TOWER or more sum up to SPLITS.
MOST_TOWERS, TOWER, LEAST_TOWER, SPLITS = 3, 0.3, 0.01, 0.8
ALL = 0.995  # a category with this share of a tower is said to be all of it
PURE = 0.9  # from this share of one category on, a frame has that category's colour
SAME = 0.03  # of the larger share: a smaller change has no colour
TRUNK = "#eceff2"
#: The security policy of a graph's page: it runs its own script and style, and reaches neither report nor network.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_LOCKS = re.compile(r"java[./]util[./]concurrent[./]locks|jdk[./]internal[./]misc")
_GENERIC = re.compile(r"\([^()]*\)|<(?!init>|clinit>)[^<>]*>")


@dataclass(slots=True)
class Node:
    """A path of calls in the tree that a flame graph draws, with the calls below it as `children`."""

    name: str  # of the path's last frame
    share: float = 0.0  # of the profile's samples that are on this path
    other: float = 0.0  # the share in the other profile of a differential flame graph
    categories: dict[str, float] = field(default_factory=dict)  # the parts of `share` by category
    children: "dict[str, Node]" = field(default_factory=dict)

    @property
    def category(self) -> str | None:
        """The category of nearly all samples on the path; None if categories are mixed."""
        name, most = max(self.categories.items(), key=lambda item: item[1], default=("", 0.0))
        return name if self.share and most >= PURE * self.share else None


@dataclass(frozen=True, slots=True)
class Box:
    """A drawn frame: its node, its depth (`level`), and its left edge as a share of the graph's width."""

    node: Node
    level: int
    left: float


def tree(stacks: pd.DataFrame, other: pd.DataFrame | None = None) -> Node:
    """Return the tree of calls without thread names. A path has shares in profile `stacks` and in profile `other`."""
    rules, root = classifier(), Node("all")
    for rows, own in ((stacks, True), (other, False)):
        known = rows[rows["count"] > 0] if rows is not None else pd.DataFrame(columns=["stack", "count"])
        for stack, share in zip(known["stack"], known["count"] / known["count"].sum(), strict=True):
            names, path = str(stack).split(";"), [root]
            category = rules.stack(names) if own else ""
            for name in names:
                if name and not name.startswith("["):
                    path.append(path[-1].children.setdefault(name, Node(name)))
            for node in path:
                if own:
                    node.share += share
                    node.categories[category] = node.categories.get(category, 0.0) + share
                else:
                    node.other += share
    return root


def boxes(node: Node, least_share: float = 0.0, level: int = 0, left: float = 0.0) -> Iterator[Box]:
    """Yield boxes of `node` (at `level` and `left`) and all below it with at least `least_share`, callers first."""
    if node.share > 0 and node.share >= least_share:
        yield Box(node, level, left)
        for child in sorted(node.children.values(), key=lambda child: child.name):
            yield from boxes(child, least_share, level + 1, left)
            left += child.share


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The flame graph of one event (cpu, alloc or lock) in a step's profile."""

    step: Step
    event: str
    other: Step | None = None  # colours compare shares with this step's; if None, colours are categories

    @property
    def anchor(self) -> str:
        if self.other is None:
            return f"flame-{self.step.name}-{self.event}"
        return f"differential-{self.step.name}-against-{self.other.name}"

    @property
    def title(self) -> str:
        """The caption: treatment, rate, event, number of samples; of a differential graph, what the colours mean."""
        if self.other is None:
            at = f" at {words.rate(rate)}" if words.known(rate := facts.achieved_rps(self.step)) else ""
            at += f" of {words.rate(facts.offered_rps(self.step))} offered" if facts.fell_short(self.step) else ""
            return f"Flame graph: {style.name_of(self.step)}{at}, {self.event}, {words.several(self.samples, 'sample')}"
        here, there = names_of(self.step, self.other)
        return f"Shape of {here}: red is more than in {there}, blue less"

    @property
    def samples(self) -> int:
        """The number of samples during the load. The graph leaves out the recording's other samples."""
        return facts.profile_samples(self.step, self.event)

    def page(self, least_share: float = LEAST_SHARE) -> tuple[str, int]:
        """Return the graph's HTML page and number of levels. The page omits frames with shares below `least_share`."""
        seen, names, colours = self._boxes(least_share), dict[str, int](), dict[tuple[str, str], int]()
        rows = [
            [
                box.level, *(round(share * SCALE) for share in (box.left, box.node.share, box.node.other)),
                names.setdefault(box.node.name, len(names)), colours.setdefault(self._colour(box.node), len(colours)),
            ]
            for box in seen
        ]  # fmt: skip
        shown = [style.plain(name, 200) for name in names]
        payload = {"names": shown, "colours": list(colours), "rows": rows, "differs": self.other is not None}
        data = json.dumps(payload, separators=(",", ":")).replace("<", "\\u003c")
        page = template("flamegraph.html").replace("POLICY", POLICY).replace("DATA", data)
        return page, 1 + max((box.level for box in seen), default=0)

    def _boxes(self, least_share: float) -> list[Box]:
        other = stacks_of(self.other, self.event) if self.other else None
        return list(boxes(tree(stacks_of(self.step, self.event), other), least_share))

    def _colour(self, node: Node) -> tuple[str, str]:
        if self.other is not None:
            change = (node.share - node.other) / max(node.share, node.other)
            light = round(94 - 38 * abs(change))
            hue = "20,90%" if change > 0 else "205,85%"
            return (style.GRID if abs(change) < SAME else f"hsl({hue},{light}%)"), style.INK
        colour = style.category_colour(node.category) if node.category else TRUNK
        return colour, style.CARD if style.is_dark(colour) else style.INK

    def iframe(self, least_share: float = LEAST_SHARE) -> Markup:
        """Return the graph in a sandboxed iframe: its script runs, but can reach neither the report nor the network."""
        page, deep = self.page(least_share)
        height_px = max(LEAST_PX, min(MOST_PX, BAR_PX + ROW_PX * (deep + 2)))
        return Markup(  # noqa: S704 - both values are escaped
            f'<div class="flame"><iframe title="{escape(self.title)}" sandbox="allow-scripts" '
            f'height="{height_px}" style="width:100%;border:0" srcdoc="{escape(page)}"></iframe></div>'
        )

    def still(self) -> Markup:
        """Return the graph as a small SVG, for paper and for a page without scripts."""
        seen = self._boxes(STILL_SHARE)
        high = STILL_ROW * (1 + max((box.level for box in seen), default=0))
        parts = [f'<svg viewBox="0 0 {STILL_WIDTH} {high}" role="img" aria-label="{escape(self.title)}">']
        for box in seen:
            colour, ink = self._colour(box.node)
            x, y, width = STILL_WIDTH * box.left, STILL_ROW * box.level, STILL_WIDTH * box.node.share
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{STILL_ROW - 1}" fill="{colour}"/>')
            name, letters = short(box.node.name), int(width / STILL_LETTER - 0.8)
            text = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters >= 4 else ""
            if text:
                parts.append(f'<text x="{x + 2:.1f}" y="{y + STILL_ROW - 4}" fill="{ink}">{escape(text)}</text>')
        drawn = UNPRINTABLE.sub("", "".join([*parts, "</svg>"]))
        return Markup(drawn)  # noqa: S704 - names are escaped, the rest is numbers and colours

    def drawing(self) -> str:
        """Return the graph as the text of an SVG file without scripts; stack frames under STILL_SHARE are left out."""
        return str(self.still()).replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {FILE_STYLE} ', 1)

    @property
    def towers(self) -> list[Node]:
        """The three widest branches, the widest first.

        A branch wider than TOWER is split into its parts (see SPLITS), but not into frames of Java's locks. So a wait
        has the name of the lock's caller.
        """
        root = tree(stacks_of(self.step, self.event))
        standing, branches = [root], list[Node]()
        while standing:
            node = standing.pop()
            parts = [child for child in node.children.values() if child.share >= LEAST_TOWER]
            splits = node.share > TOWER and sum(part.share for part in parts) >= SPLITS * node.share
            splits = splits and not all(_LOCKS.match(part.name) for part in parts)
            if splits or node is root:
                standing += parts
            else:
                branches.append(node)
        return sorted(branches, key=lambda node: (-node.share, node.name))[:MOST_TOWERS]

    @property
    def words(self) -> str:
        """The widest branches (`towers`) as text: frame, share, main category, and that category's share if smaller."""
        parts = list[str]()
        for tower in self.towers:
            category, share = max(tower.categories.items(), key=lambda item: item[1])
            part = "" if share >= ALL * tower.share else f" {words.percent(share)}"
            parts.append(f"{short(tower.name)} {words.percent(tower.share)} ({category}{part})")
        return f"Widest towers of the {EVENT_NAMES.get(self.event, self.event)}: {', '.join(parts)}."

    def _repr_html_(self) -> str:
        mark = "" if self.step.valid else f" <b>Not valid: {escape(facts.why_not(self.step))}</b>"
        return f"<p>{escape(self.title)}.{mark}</p>{self.iframe()}"

    def __repr__(self) -> str:
        return f"FlameGraph({self.step.name!r}, {self.event!r}, samples={self.samples})"


def stacks_of(step: Step, event: str) -> pd.DataFrame:
    """Return the rows of an event (cpu, alloc or lock) in a step's frame `stacks`; no rows if it was not profiled."""
    stacks = step.frames["stacks"]
    return stacks[stacks["event"] == event] if not stacks.empty else stacks


def flamegraph(step: Step, event: str = "cpu") -> FlameGraph:
    """Return the flame graph of one event of a profiled step. Raises ValueError if the event was not profiled."""
    if stacks_of(step, event).empty:
        there = ", ".join(graph.event for graph in flamegraphs(step)) or "none"
        raise ValueError(f"{step.name}: no {event} profile; profiled events here: {there}")
    return FlameGraph(step, event)


def flamegraphs(step: Step) -> list[FlameGraph]:
    """Return the graphs of all events (cpu, alloc, lock) of which a step has samples."""
    return [FlameGraph(step, event) for event in EVENTS if not stacks_of(step, event).empty]


def names_of(*steps: Step) -> list[str]:
    """Return names for steps that are shown together. They have rates if two names would otherwise be equal."""
    names = [style.name_of(step) for step in steps]
    if len(set(names)) == len(names):
        return names
    return [f"{style.name_of(step)} at {words.rate(facts.achieved_rps(step))}" for step in steps]


def short(name: str) -> str:
    """Return a frame's name without package, arguments and template parameters.

    `one/nio/http/HttpSession.processRead` is "HttpSession.processRead", `rocksdb::DBImpl::Write(x)` "DBImpl::Write".
    """
    name = re.sub(r"_\[[a-z0-9]\]$", "", name)
    previous = None
    while previous != name:
        previous, name = name, _GENERIC.sub("", name)
    parts = name.rsplit("/", 1)[-1].strip().split("::")
    return style.plain("::".join(parts[-2:]), 60)


@dataclass(frozen=True, slots=True)
class Differential:
    """Two steps' profiles of one event, compared. A notebook shows the result in a line and two flame graphs."""

    first: Step
    second: Step
    event: str
    changes: tuple[Change, ...]

    @property
    def graphs(self) -> tuple[FlameGraph, FlameGraph]:
        """Two graphs, coloured by change: the second profile compared with the first, the first with the second."""
        return (FlameGraph(self.second, self.event, self.first), FlameGraph(self.first, self.event, self.second))

    @property
    def title(self) -> str:
        """A line on the frame whose share changed most beyond chance, with the change in percentage points."""
        first, second = names_of(self.first, self.second)
        most = next((change for change in self.changes if change.beyond), None)
        if most is None:
            return f"{first} and {second}: no frame's share of {self.event} differs beyond chance"
        more = "more" if most.change.value > 0 else "less"
        points = f"{100 * abs(most.change.value):.3g} percentage points {more}"
        frame = style.plain(short(most.frame), 40)
        text = f"{frame} takes {points} of the {self.event} profile of {second} than of {first}"
        own = max(own_share(self.first, self.event), own_share(self.second, self.event))
        note = f"; the profiler's own frames are up to {words.percent(own)} of the samples"
        return text + note * (own > MUCH)

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.title)}.</p>" + "".join(graph._repr_html_() for graph in self.graphs)

    def __repr__(self) -> str:
        return f"Differential({self.first.name!r}, {self.second.name!r}, {self.event!r})"


def differential(first: Step, second: Step, event: str = "cpu") -> Differential:
    """Compare two steps' profiles of an event. Raises ValueError if one of the steps has no profile of this event."""
    for step in (first, second):
        if stacks_of(step, event).empty:
            raise ValueError(f"{step.name}: no {event} profile; profile both steps to compare them")
    return Differential(first, second, event, tuple(changes(first, second, event)))
