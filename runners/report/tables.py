"""Tables, figures and sections of a report as plain values; numbers as cells, as `readers.write` has them, or a dash.

The templates turn tables into HTML and Markdown, which escape each cell: Markdown as code-hosting sites and notebooks
render it, where values are escaped unless marked as Markdown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pandas as pd

from runners.analysis import facts
from runners.claims.conclusion import Conclusion
from runners.errors import UNPRINTABLE, printable
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.run import Step

if TYPE_CHECKING:
    from runners.report.flamegraph import FlameGraph
    from runners.report.style import Picture

NONE = write.DASH
MOST_MORE = 3  # findings of a section besides those at the head of a report
GRAVITY = (Severity.NOTE, Severity.GOOD, Severity.WARNING, Severity.ERROR)


def value(number: Any) -> float:
    """A float from whatever a frame or a JSON file holds; NaN for what is no number."""
    try:
        return float(number)
    except (TypeError, ValueError):
        return math.nan


def _quantity(written: Callable[..., str]) -> Callable[..., str]:
    """Write quantities as cells do: whatever a frame holds, and a dash for what is not known."""

    def quantity(*numbers: Any) -> str:
        text = written(*map(value, numbers))
        return NONE if text == write.UNKNOWN else text

    return quantity


count, rate, latency = _quantity(write.count), _quantity(write.rate), _quantity(write.latency)
share, share_interval = _quantity(write.percent), _quantity(write.percent_interval)
size, seconds = _quantity(write.size), _quantity(write.seconds)


class Linked(str):
    """A cell that leads to a place of the report."""

    anchor: str

    def __new__(cls, text: str, anchor: str) -> Linked:
        cell = super().__new__(cls, text)
        cell.anchor = anchor
        return cell


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the first column holds the rows' names. `note` stands below."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    numeric: bool = True


def when(unix_s: Any) -> str:
    """Return a time in UTC to the second."""
    try:
        return datetime.fromtimestamp(float(unix_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (TypeError, ValueError, OverflowError, OSError):
        return NONE


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure with the data that it draws."""

    anchor: str
    picture: Picture
    data: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: its heading, text, findings, figures, flame graphs and tables, in this order.

    `anchor` is the place that findings link to, besides those of the figures. `text` is one plain paragraph, or empty.
    `pages` are raw output that is linked to: title, and path in the run folder.
    """

    anchor: str
    title: str
    text: str = ""
    findings: tuple[Finding, ...] = ()
    figures: tuple[Shown, ...] = ()
    tables: tuple[Table, ...] = ()
    graphs: tuple[FlameGraph, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()


def once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the gravest finding of each rule, with how many more there are of its kind."""
    by_code = facts.grouped(findings, lambda finding: finding.code)
    return tuple(
        replace(first, sentence=f"{first.sentence} ({len(each) - 1} more of this kind.)") if len(each) > 1 else first
        for each in by_code.values()
        for first in [max(each, key=lambda one: GRAVITY.index(one.severity))]
    )


def with_spectra(anchor: str, picture: Picture, steps: Sequence[Step], *more: pd.DataFrame) -> Shown:
    """Return the figure with the spectra of its steps, and whatever more was drawn, as its data."""
    data = pd.concat([*(step.frames["spectrum"].assign(step=step.name) for step in steps), *more], ignore_index=True)
    return Shown(anchor, picture, data[["step", *(name for name in data.columns if name != "step")]])


ICONS = {"good": "✓", "note": "•", "warning": "⚠", "error": "✗"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!$@{}])")
_BULLET = re.compile(r"^(\s*)([-+=])")
_NUMBERED = re.compile(r"^(\s*\d+)([.)])(?=\s|$)")
_AUTOLINK = re.compile(r"(?i)\b(https?|ftp)(://)|\b(www)(\.)")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def escape(value: object) -> str:
    """`value` on one line, shown as it is: nothing in it is markup, a link, an image, a mention or HTML."""
    if isinstance(value, Markdown):
        return value
    text = UNPRINTABLE.sub("", str(value).replace("\t", " "))
    text = " ".join(text.split("\n")).replace("&", "&amp;")
    text = _SPECIAL.sub(r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")
    text = _AUTOLINK.sub(
        lambda found: f"{found[1] or found[3]}&#{ord((found[2] or found[4])[0])};{(found[2] or found[4])[1:]}", text
    )
    text = _NUMBERED.sub(r"\1\\\2", text)
    return _BULLET.sub(r"\1\\\2", text)


def fenced(text: str, language: str = "") -> Markdown:
    """`text` as a code block whose fence is longer than any run of backticks in it."""
    text = UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}{language}\n{text.rstrip()}\n{fence}")


def table(content: Table, place: Callable[[str], str | None] = lambda anchor: anchor) -> Markdown:
    """Return a pipe table; numbers are aligned to the right. `place` tells where a link of a cell leads, or None."""
    head = "| " + " | ".join(escape(cell) or " " for cell in content.head) + " |"
    right = "---:" if content.numeric else "---"
    rule = "| " + " | ".join("---" if index == 0 else right for index in range(len(content.head))) + " |"
    rows = ["| " + " | ".join(_cell(cell, place) or " " for cell in row) + " |" for row in content.rows]
    note = f"\n\n{escape(content.note)}" if content.note else ""
    return Markdown("\n".join([head, rule, *rows]) + note)


def _cell(cell: str, place: Callable[[str], str | None]) -> str:
    target = place(cell.anchor) if isinstance(cell, Linked) else None
    return f"[{escape(cell)}](#{path(target)})" if target else escape(cell)


def bold(value: object) -> Markdown:
    """`value` in bold."""
    return Markdown(f"**{escape(value)}**")


def italic(value: object) -> Markdown:
    """`value` in italics."""
    return Markdown(f"*{escape(value)}*")


def path(target: str) -> Markdown:
    """Return a relative path as the target of a link."""
    return Markdown(quote(target, safe="/-._~#"))


def findings(given: Iterable[Finding]) -> Markdown:
    """Return a list, one finding a line, with what to do about it and its rule."""
    lines = []
    for finding in given:
        icon = ICONS.get(finding.severity.value, "")
        line = f"- {icon} {escape(finding.sentence)}" if icon not in ("", "•") else f"- {escape(finding.sentence)}"
        if finding.remedy:
            line += f" *{escape(finding.remedy)}*"
        lines.append(f"{line} <sub>{escape(finding.code)}</sub>")
    return Markdown("\n".join(lines))


def figure(anchor: str, alt: str, kept: frozenset[str] | None = None) -> Markdown:
    """Return a figure of figures/ with a link to its drawing that scales and to its data, on one line.

    Where few are `kept`, the drawing alone, or for the others what is drawn in report.html.
    """
    place = path(anchor)
    if kept is not None:
        shown = f"![{escape(alt)}](figures/{place}.svg)" if anchor in kept else f"Figure in report.html: {escape(alt)}"
        return Markdown(f'<a id="{place}"></a>{shown}')
    picture = f"[![{escape(alt)}](figures/{place}.png)](figures/{place}.svg)"
    return Markdown(f'<a id="{place}"></a>{picture} [data](figures/{place}.csv)')


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answer, the findings, what the authors missed and what to try next."""

    conclusion: Conclusion

    def _parts(self) -> list[tuple[str, tuple[Finding, ...]]]:
        whole = self.conclusion
        parts = [
            ("", whole.findings),
            ("What the authors missed", whole.missed),
            ("What to try next", whole.next_steps),
        ]
        return [(head, findings) for head, findings in parts if findings]

    def _repr_markdown_(self) -> str:
        out = [f"### {escape(self.conclusion.title)}", f"**{escape(self.conclusion.answer)}**"]
        for head, found in self._parts():
            out += [f"#### {escape(head)}"] if head else []
            out.append(findings(found))
        return "\n\n".join(out)

    def __repr__(self) -> str:
        lines = [self.conclusion.title, self.conclusion.answer]
        for head, findings in self._parts():
            lines += [head] if head else []
            lines += [f"{ICONS[finding.severity.value]} {finding.sentence}" for finding in findings]
        return printable("\n".join(lines))


def in_notebook() -> bool:
    """Return whether this code runs in a notebook's kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def draw(make: Callable[[], object]) -> None:
    """Make a figure and show it below the cell. Outside a notebook nothing is made."""
    if in_notebook():
        from IPython.display import display

        display(make())  # type: ignore[no-untyped-call]
