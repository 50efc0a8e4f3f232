"""A flame graph in a report or a notebook: async-profiler's own, usable in place, with a still picture beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources

import pandas as pd
from markupsafe import Markup
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from runners.readers.run import Step
from runners.readers.stacks import classifier
from runners.report import numbers, style

EVENTS = ("cpu", "alloc", "lock")
ROW_PX, BAR_PX = 16, 84
LEAST_PX, MOST_PX = 180, 620


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """One event of one profiled step.

    `page` is the HTML page for the frame, empty when async-profiler left none; `least_share` is what frames had to be
    wide to stay in it (0: all are there).
    """

    step: Step
    event: str
    page: str
    height_px: int
    least_share: float = 0.0

    @property
    def anchor(self) -> str:
        return f"flame-{self.step.name}-{self.event}"

    @property
    def label(self) -> str:
        """Whose stacks these are, e.g. "RocksDB PUT"."""
        return f"{style.engine_name(self.step.subject)} {style.plain(self.step.workload.upper(), 12)}"

    @property
    def has_stacks(self) -> bool:
        stacks = self.step.frames["stacks"]
        return bool(not stacks.empty and (stacks["event"] == self.event).any())

    @property
    def samples(self) -> str:
        """The number of samples as the recording counted it."""
        counted = self.step.record.profiler.samples.get(self.event)
        return numbers.count(counted)

    def smaller(self, least_share: float) -> FlameGraph:
        """The same without frames narrower than a share of the whole."""
        page = _page(self.step, self.event, least_share)
        return replace(self, page=page, height_px=_height(page), least_share=least_share)

    def iframe(self) -> Markup:
        """The graph in a sandboxed frame: its scripts run, but can reach neither the report nor the network."""
        title = escape(f"Flame graph: {self.label}, {self.event}")
        return Markup(  # noqa: S704 - both values are escaped
            f'<div class="flame"><iframe title="{title}" sandbox="allow-scripts" height="{self.height_px}" '
            f'style="width:100%;border:0" srcdoc="{escape(self.page)}"></iframe></div>'
        )

    def picture(self) -> style.Picture:
        """The graph as a still picture."""
        return picture(self.step.frames["stacks"], self.event, self.label)

    def _repr_html_(self) -> str | None:
        return str(self.iframe()) if self.page else None

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        return None if self.page else self.picture()._repr_png_()

    def __repr__(self) -> str:
        return f"FlameGraph({self.step.name!r}, {self.event!r}, samples={self.samples})"


def flamegraph(step: Step, event: str = "cpu") -> FlameGraph:
    """The flame graph of one event of a profiled step.

    Raises ValueError, with the events there are, when the step has neither async-profiler's page nor stacks of it.
    """
    page = _page(step, event, 0.0)
    graph = FlameGraph(step, event, page, _height(page))
    if not page and not graph.has_stacks:
        there = ", ".join(found.event for found in flamegraphs(step)) or "none"
        raise ValueError(f"{step.name}: no {event} profile; profiled events here: {there}")
    return graph


def flamegraphs(step: Step) -> list[FlameGraph]:
    """The graphs of all events that have samples: cpu, alloc, lock."""
    found = []
    for event in EVENTS:
        graph = FlameGraph(step, event, "", 0)
        if graph.has_stacks:
            page = _page(step, event, 0.0)
            found.append(replace(graph, page=page, height_px=_height(page)))
    return found


def _page(step: Step, event: str, least_share: float) -> str:
    path = step.folder.flamegraph(event)
    try:
        html = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return prepare(compact(html, least_share) if least_share else html)


def _height(page: str) -> int:
    deep = levels(page)
    return MOST_PX if deep is None else max(LEAST_PX, min(MOST_PX, BAR_PX + ROW_PX * deep))


POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
BAR = (
    '<div id="lab-find"><label>Search <input id="lab-q" type="search" placeholder="regular expression"></label>'
    '<button id="lab-reset" type="button">Reset</button>'
    "<small>click a frame to zoom in, Enter for the next match</small></div>"
)
_BLOCK = re.compile(r"(<(script|style)\b[^>]*>)(.*?)(</\2\s*>)", re.S | re.I)
_GONE = re.compile(
    r"</?(?:link|base|iframe|frame|object|embed|applet|portal)\b[^>]*>|<meta\b[^>]*http-equiv[^>]*>", re.I
)
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_REFERENCE = re.compile(
    r"""\s(?:xlink:)?(?:href|src|srcset|action|formaction|poster|data|background|ping|manifest)"""
    r"""\s*=\s*(?:"(?!\#|data:)[^"]*"|'(?!\#|data:)[^']*'|(?!["'\#])[^\s>]+)""",
    re.I,
)
_STYLE_URL = re.compile(r"@import[^;]*;?|url\([^)]*\)", re.I)
_LEVELS = re.compile(r"levels\s*=\s*Array\((\d+)\)")
_CALLS = re.compile(r"^(?:[fun]\([\d,]*\)\n)+", re.M)
_POOL = re.compile(r"(cpool\s*=\s*\[\n)(.*?)(\n\];)", re.S)


def _inert(markup: str) -> str:
    """Markup without elements and attributes that could ask the network."""
    return _TAG.sub(lambda tag: _REFERENCE.sub("", tag[0]), _GONE.sub("", markup))


def prepare(html: str) -> str:
    """The page for a sandboxed frame: nothing asks the network, drawn when first seen, with a search field.

    A policy in the page forbids every request as well, so what the rewriting should miss is still blocked.
    """
    parts, at = [], 0
    for block in _BLOCK.finditer(html):
        parts.append(_inert(html[at : block.start()]))
        at = block.end()
        opening, kind, body, closing = block[1], block[2].lower(), block[3], block[4]
        if kind == "style":
            parts.append("<style>" + _STYLE_URL.sub("none", body) + closing)
        elif not re.search(r"\ssrc\s*=", opening, re.I):
            # Scripts in the head only choose light or dark; those of the body draw, and wait until they are seen.
            waits = "<body" in html[: block.start()].lower()
            parts.append(('<script type="text/x-later">' if waits else "<script>") + body + closing)
    parts.append(_inert(html[at:]))
    page = re.sub(r"<!DOCTYPE[^>]*>|</?html[^>]*>|</?head>|</body>", "", "".join(parts), flags=re.I)
    head, body_tag, body = _split(page)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"{head.strip()}<style>{_template('flamegraph.css')}</style></head>{body_tag}{BAR}{body.strip()}"
        f"<script>{_template('flamegraph.js')}</script></body></html>"
    )


def _split(page: str) -> tuple[str, str, str]:
    found = re.search(r"<body\b[^>]*>", page, re.I)
    return (page[: found.start()], found[0], page[found.end() :]) if found else ("", "<body>", page)


def _template(name: str) -> str:
    return resources.files("runners.report").joinpath("templates", name).read_text(encoding="utf-8")


def levels(html: str) -> int | None:
    """How many frames the deepest stack has; None for a page that is no async-profiler flame graph."""
    found = _LEVELS.search(html)
    return int(found[1]) if found else None


@dataclass(slots=True)
class _Frame:
    key: int
    level: int
    left: int
    width: int


def _frames(calls: str) -> list[_Frame]:
    frames: list[_Frame] = []
    level = left = width = 0
    for line in calls.splitlines():
        kind, numbers = line[0], [int(text or 0) for text in line[2:-1].split(",")]
        numbers += [0] * (4 - len(numbers))
        if kind == "f":
            level, left, width = numbers[1], left + numbers[2], numbers[3] or width
        elif kind == "u":
            level, width = level + 1, numbers[1] or width
        else:
            left, width = left + width, numbers[1] or width
        frames.append(_Frame(numbers[0], level, left, width))
    return frames


def _names(body: str) -> list[str]:
    names: list[str] = []
    for line in body.splitlines():
        text = re.sub(r"\\(.)", r"\1", line.strip().removesuffix(",")[1:-1])
        names.append(text if not names else names[-1][: ord(text[0]) - 32] + text[1:])
    return names


def _shared(one: str, other: str) -> int:
    """Length of the common prefix, at most 90: it is written as one printable character."""
    limit = min(len(one), len(other), 90)
    return next((index for index in range(limit) if one[index] != other[index]), limit)


def _packed(names: list[str]) -> str:
    lines = []
    for index, name in enumerate(names):
        shared = _shared(names[index - 1], name) if index else 0
        text = name if index == 0 else chr(32 + shared) + name[shared:]
        lines.append("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")
    return ",\n".join(lines)


def _calls(frames: list[_Frame]) -> str:
    lines, last = [], _Frame(0, 0, 0, 0)
    for frame in frames:
        width = f",{frame.width}" if frame.width != last.width else ""
        if frame.level == last.level + 1 and frame.left == last.left:
            lines.append(f"u({frame.key}{width})")
        elif frame.level == last.level and frame.left == last.left + last.width:
            lines.append(f"n({frame.key}{width})")
        else:
            lines.append(f"f({frame.key},{frame.level},{frame.left - last.left}{width})")
        last = frame
    return "\n".join(lines) + "\n"


def compact(html: str, least_share: float) -> str:
    """The same flame graph without frames narrower than `least_share` of the whole and the names only they use.

    What is left keeps its width and place, so shares do not change. A page of another form is returned as it is.
    """
    calls, pool = _CALLS.search(html), _POOL.search(html)
    if calls is None or pool is None:
        return html
    try:
        frames, names = _frames(calls[0]), _names(pool[2])
        whole = max(frame.width for frame in frames)
        kept = [frame for frame in frames if frame.width >= least_share * whole]
        used = sorted({0} | {frame.key >> 3 for frame in kept}, key=lambda index: names[index] if index else "")
        place = {old: new for new, old in enumerate(used)}
        for frame in kept:
            frame.key = place[frame.key >> 3] << 3 | frame.key & 7
        packed = _packed([names[index] for index in used])
    except (IndexError, ValueError, TypeError):
        return html  # another form than the one described above: better large than wrong
    depth = 1 + max(frame.level for frame in kept)
    html = html.replace(pool[0], pool[1] + packed + pool[3], 1).replace(calls[0], _calls(kept), 1)
    return _LEVELS.sub(f"levels = Array({depth})", html, count=1)


LEAST_SHARE = 0.003  # narrower frames are not drawn: less than a dot wide in print
MOST_LEVELS = 26
PURE = 0.9  # from this share of one category on, a frame has that category's colour
TOP_IN, BOTTOM_IN = 0.4, 0.42
TRUNK = "#eceff2"
_GENERIC = re.compile(r"\([^()]*\)|<(?!init>|clinit>)[^<>]*>")


@dataclass(slots=True)
class Node:
    """A frame in its place: its weight, the weight by category, and what it called."""

    name: str
    weight: float = 0.0
    categories: dict[str, float] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)

    @property
    def category(self) -> str | None:
        """The category of nearly all its samples, None where they are mixed."""
        name, most = max(self.categories.items(), key=lambda item: item[1], default=("", 0.0))
        return name if self.weight and most >= PURE * self.weight else None


@dataclass(frozen=True, slots=True)
class Box:
    """A drawn frame: place and width as shares of the whole."""

    name: str
    level: int
    left: float
    width: float
    category: str | None


def tree(stacks: pd.DataFrame) -> Node:
    """All stacks of one event as a tree of frames, each stack under its category."""
    rules, root = classifier(), Node("all")
    for stack, count in zip(stacks["stack"], stacks["count"], strict=True):
        weight = numbers.value(count)
        if not weight > 0:
            continue
        names = str(stack).split(";")
        category = rules.stack(names)
        node = root
        for name in ("", *names):
            node = node if name == "" else node.children.setdefault(name, Node(name))
            node.weight += weight
            node.categories[category] = node.categories.get(category, 0.0) + weight
    return root


def boxes(root: Node, least_share: float = LEAST_SHARE, most_levels: int = MOST_LEVELS) -> list[Box]:
    """The frames wide enough to be drawn, siblings by name as in every flame graph."""
    return list(_boxes(root, 0, 0.0, root.weight, least_share, most_levels)) if root.weight > 0 else []


def _boxes(node: Node, level: int, left: float, whole: float, least: float, most: int) -> Iterator[Box]:
    if node.weight / whole < least or level >= most:
        return
    yield Box(node.name, level, left, node.weight / whole, node.category)
    for child in sorted(node.children.values(), key=lambda child: child.name):
        yield from _boxes(child, level + 1, left, whole, least, most)
        left += child.weight / whole


def short(name: str) -> str:
    """A frame's name without package, arguments and template parameters.

    `one/nio/http/HttpSession.processRead` is "HttpSession.processRead", `rocksdb::DBImpl::Write(x)` "DBImpl::Write".
    """
    name = re.sub(r"_\[[a-z0-9]\]$", "", name)
    previous = None
    while previous != name:
        previous, name = name, _GENERIC.sub("", name)
    name = name.rsplit("/", 1)[-1].strip()
    parts = name.split("::")
    name = "::".join(parts[-2:]) if len(parts) > 2 else name
    return style.plain(name, 60)


def _corners(box: Box) -> list[tuple[float, float]]:
    right, bottom = box.left + box.width, box.level + 0.94
    return [(box.left, box.level), (right, box.level), (right, bottom), (box.left, bottom)]


def _fits(name: str, width_in: float) -> str:
    """As much of a name as fits, at 7 points; nothing when that would be less than four letters."""
    letters = int((width_in - 0.05) / 0.062)
    if len(name) <= letters:
        return name
    return name[: letters - 1] + "…" if letters >= 4 else ""


def title(event: str, label: str, root: Node, drawn: list[Box]) -> str:
    """The result: the category with most of the weight."""
    if not drawn:
        return f"{style.plain(label, 60)}, {style.plain(event, 12)}: no samples"
    name, most = max(root.categories.items(), key=lambda item: (item[1], item[0]))
    return f"{style.plain(label, 60)}, {style.plain(event, 12)}: {name} takes {numbers.share(most / root.weight)}"


@style.styled
def picture(stacks: pd.DataFrame, event: str, label: str) -> style.Picture:
    """Draw the stacks of one event. `label` says whose they are, e.g. "RocksDB PUT"."""
    rows = stacks[stacks["event"] == event] if not stacks.empty else stacks
    root = tree(rows)
    drawn = boxes(root)
    depth = 1 + max((box.level for box in drawn), default=0)
    width_in = 8.4
    height_in = TOP_IN + BOTTOM_IN + 0.17 * depth
    figure = style.Picture(width_in, height_in, arranged=True)
    axes = figure.add_axes((0.006, BOTTOM_IN / height_in, 0.988, 0.17 * depth / height_in))
    axes.set_axis_off()
    heading = title(event, label, root, drawn)
    figure.text(0.008, 1 - 0.09 / height_in, heading, fontsize=11, fontweight="bold", va="top")
    figure.alt = f"Flame graph, root on top. {heading}."
    if not drawn:
        return figure
    corners = [_corners(box) for box in drawn]
    colours = [style.category_colour(box.category) if box.category else TRUNK for box in drawn]
    axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors=style.CARD, linewidths=0.4))
    for box in drawn:
        name = _fits(short(box.name), box.width * (width_in - 0.2))
        if name:
            dark = box.category is not None and style.is_dark(style.category_colour(box.category))
            colour = style.CARD if dark else style.INK
            axes.text(box.left + 0.003, box.level + 0.5, name, fontsize=7, va="center", color=colour, clip_on=True)
    axes.set_xlim(0, 1)
    axes.set_ylim(depth, 0)
    seen = sorted({box.category for box in drawn if box.category}, key=lambda name: -root.categories.get(name, 0.0))
    handles = [Patch(color=style.category_colour(name), label=name) for name in seen]
    if handles:
        handles.append(Patch(color=TRUNK, label="several"))
        figure.legend(handles=handles, loc="lower left", ncols=9, fontsize=7.5, handlelength=1)
    return figure
