"""Tables and sections of a report as plain values, and their Markdown. Cells are texts, as `runners.words` writes them.

The templates write tables as HTML or as Markdown, and escape every cell, except text of the type `Markdown`.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from runners import words
from runners.errors import UNPRINTABLE

if TYPE_CHECKING:
    from runners.report.flamegraph import FlameGraph
    from runners.report.style import Picture

NONE = words.DASH


def template(name: str) -> str:
    """Return the source text of a template, style sheet or script of the report."""
    return resources.files("runners.report").joinpath("templates", name).read_text(encoding="utf-8")


#: Titles, texts and notes of sections, by their anchors.
PROSE: dict[str, dict[str, str]] = tomllib.loads(template("sections.toml"))


def _with_dash(written: Callable[..., str]) -> Callable[..., str]:
    def dashed(*numbers: float | None) -> str:
        text = written(*numbers)
        return NONE if text == words.UNKNOWN else text

    return dashed


count, rate, latency = _with_dash(words.count), _with_dash(words.rate), _with_dash(words.latency)
share, share_interval = _with_dash(words.percent), _with_dash(words.percent_interval)
size, seconds, number = _with_dash(words.size), _with_dash(words.seconds), _with_dash(words.number)


class Linked(str):
    """The text of a table's cell, with a link to the part of the report that has this anchor (id)."""

    anchor: str

    def __new__(cls, text: str, anchor: str) -> Self:
        cell = super().__new__(cls, text)
        cell.anchor = anchor
        return cell


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report, whose first column names the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""  # the text below the table
    numeric: bool = True  # all columns but the first are right-aligned

    def _repr_markdown_(self) -> str:
        return table(self)


def when(unix_s: Any) -> str:
    """Return a Unix time as text, in UTC and to the second; a dash for a value that is no time."""
    try:
        return datetime.fromtimestamp(float(unix_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (TypeError, ValueError, OverflowError, OSError):
        return NONE


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: its heading, text, figures, flame graphs and tables, in this order."""

    anchor: str  # answers link to it, and to the anchors of the figures
    title: str
    text: str = ""  # one plain paragraph, or empty
    figures: "tuple[Picture, ...]" = ()
    tables: tuple[Table, ...] = ()
    graphs: "tuple[FlameGraph, ...]" = ()

    @classmethod
    def of(cls, anchor: str, *contents: "Picture | Table", text: str | None = None) -> Self:
        """Return a section with the title and text that sections.toml has for its anchor; `text` replaces that text."""
        own = PROSE[anchor]
        figures = tuple(content for content in contents if not isinstance(content, Table))
        shown_tables = tuple(content for content in contents if isinstance(content, Table))
        return cls(anchor, own["title"], own.get("text", "") if text is None else text, figures, shown_tables)

    @property
    def empty(self) -> bool:
        """Whether the section has neither figures nor tables nor flame graphs."""
        return not (self.figures or self.tables or self.graphs)


_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!$@{}])")
_BULLET = re.compile(r"^(\s*)([-+=])")
_NUMBERED = re.compile(r"^(\s*\d+)([.)])(?=\s|$)")
_AUTOLINK = re.compile(r"(?i)\b(?:https?|ftp)://|\bwww\.")


class Markdown(str):
    """Text that is Markdown already, and is not escaped again."""


def escape(value: object) -> str:
    """Return `value` as one line of Markdown that shows it literally, without any markup, link, mention or HTML."""
    if isinstance(value, Markdown):
        return value
    text = UNPRINTABLE.sub("", str(value).replace("\t", " "))
    text = " ".join(text.split("\n")).replace("&", "&amp;")
    text = _SPECIAL.sub(r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")
    text = _AUTOLINK.sub(lambda link: link[0].replace(":", "&#58;").replace(".", "&#46;"), text)
    text = _NUMBERED.sub(r"\1\\\2", text)
    return _BULLET.sub(r"\1\\\2", text)


def fenced(text: str, language: str = "") -> Markdown:
    """Return `text` as a Markdown code block, whose fence is longer than any sequence of backticks in `text`."""
    text = UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}{language}\n{text.rstrip()}\n{fence}")


def table(content: Table, place: Callable[[str], str | None] = lambda anchor: anchor) -> Markdown:
    """Return a Markdown pipe table with its note. `place` maps a cell's anchor to a link's target (None: no link)."""
    head = "| " + " | ".join(escape(cell) or " " for cell in content.head) + " |"
    right = "---:" if content.numeric else "---"
    rule = "| " + " | ".join("---" if index == 0 else right for index in range(len(content.head))) + " |"
    rows = ["| " + " | ".join(_cell(cell, place) or " " for cell in row) + " |" for row in content.rows]
    note = f"\n\n{escape(content.note)}" if content.note else ""
    return Markdown("\n".join([head, rule, *rows]) + note)


def captioned(content: Table, place: Callable[[str], str | None]) -> Markdown:
    """Return a table in Markdown as `table` does, with its caption, which is omitted if it begins with `head[0]:`."""
    caption = "" if content.caption.startswith(f"{content.head[0]}:") else f"{bold(content.caption)}\n\n"
    return Markdown(f"{caption}{table(content, place)}")


def _cell(cell: str, place: Callable[[str], str | None]) -> str:
    target = place(cell.anchor) if isinstance(cell, Linked) else None
    return f"[{escape(cell)}](#{path(target)})" if target else escape(cell)


def bold(value: object) -> Markdown:
    return Markdown(f"**{escape(value)}**")


def path(target: str) -> Markdown:
    """Return a relative path as the target of a Markdown link, percent-encoded."""
    return Markdown(quote(target, safe="/-._~#"))


def figure(anchor: str, alt: str, kept: frozenset[str] | None = None) -> Markdown:
    """Return a figure's Markdown: its image, or a reference to report.html if `kept` (None: all) lacks its anchor."""
    place = path(anchor)
    if kept is not None and anchor not in kept:
        return Markdown(f'<a id="{place}"></a>(drawn in report.html: {escape(alt)})')
    return Markdown(f'<a id="{place}"></a>![{escape(alt)}](figures/{place}.svg)')


def in_notebook() -> bool:
    """Return whether this code runs in a notebook's kernel."""
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")
