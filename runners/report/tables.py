"""Tables of a report as plain values, and numbers as their cells: as `readers.write` has them, a dash where none is.

The templates turn tables into HTML and Markdown, which escape each cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runners.readers import write

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
