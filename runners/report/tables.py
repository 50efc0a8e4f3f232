"""Tables, figures and sections of a report as plain values; numbers as cells, as `readers.write` has them, or a dash.

The templates turn tables into HTML and Markdown, which escape each cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from runners.analysis.finding import Finding
from runners.readers import write
from runners.readers.run import Step

if TYPE_CHECKING:
    from runners.report.flamegraph import FlameGraph
    from runners.report.style import Picture

NONE = write.DASH


def value(number: Any) -> float:
    """A float from whatever a frame or a JSON file holds; NaN for what is no number."""
    try:
        return float(number)
    except (TypeError, ValueError):
        return math.nan


def count(number: Any) -> str:
    """12600 as "12 600"."""
    return _known(write.count(value(number)))


def rate(rps: Any) -> str:
    """Requests per second: "12 600/s"."""
    return _known(write.rate(value(rps)))


def latency(us: Any) -> str:
    """Microseconds in the unit that suits: 118 us, 1.02 ms, 2.5 s."""
    return _known(write.latency(value(us)))


def share(part: Any) -> str:
    """0.2058 as "20.6 %"."""
    return _known(write.percent(value(part)))


def share_interval(part: Any, low: Any, high: Any) -> str:
    """A share with its 95 % interval behind it."""
    return _known(write.percent_interval(value(part), value(low), value(high)))


def size(bytes_: Any) -> str:
    """Bytes with a decimal prefix."""
    return _known(write.size(value(bytes_)))


def seconds(duration_s: Any) -> str:
    """A time in seconds."""
    return _known(write.seconds(value(duration_s)))


def _known(text: str) -> str:
    return NONE if text == write.UNKNOWN else text


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
    """A time in UTC to the second."""
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

    `anchor` is the place that findings link to, beside those of the figures. `text` is one plain paragraph, or empty.
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


def with_spectra(anchor: str, picture: Picture, steps: Sequence[Step], *more: pd.DataFrame) -> Shown:
    """The figure with the spectra of its steps, and whatever more was drawn, as its data."""
    data = pd.concat([*(step.frames["spectrum"].assign(step=step.name) for step in steps), *more], ignore_index=True)
    return Shown(anchor, picture, data[["step", *(name for name in data.columns if name != "step")]])
