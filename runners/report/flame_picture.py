"""A flame graph as a still picture: root on top, width is the share of samples, colour the category of the work.

For the Markdown report, for print and for a notebook without its HTML. A frame takes a category's colour when nearly
all of its samples belong to that category; frames above the fork stay grey.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from runners.readers.collapsed import classifier
from runners.report import numbers, style

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
