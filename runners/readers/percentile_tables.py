"""Reader of percentile tables that people made from load tools' outputs: `99.000%  5.99ms  ->  4.37ms`, or Markdown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies
from runners.readers.documents import Line, Problem
from runners.readers.wrk_console import LONGEST_LINE, clean

_ARROW = r"(?:-{1,2}>|={1,2}>|\u2192|\u27f6|\u21d2)"
_TIME = r"(?:\d{1,12}(?:[.,]\d{1,9})?\s?(?:us|μs|µs|ms|s|m|мкс|мс|с|сек|min)|-?nan(?:us|ms|s)?)"
_LEVEL = r"\d{1,3}(?:[.,]\d{1,6})?"
_NAMED = rf"(?:[pP]\s?(?P<p>{_LEVEL})|(?P<percent>{_LEVEL})\s?(?:%|th|-?й|-?ый))"
_ROW = re.compile(
    rf"^\s*(?:[-*|]\s+)?{_NAMED}\s*[:|]?\s+(?P<times>{_TIME}(?:\s*(?:{_ARROW}|\|)\s*{_TIME})+)\s*\|?\s*[;,.]?\s*$"
)
_SPLIT = re.compile(rf"{_ARROW}|\|")
_BY_WRK2 = re.compile(r"\.\d{3}$")  # as wrk2 prints a percentile: `50.000%`
_MAYBE = re.compile(r"[|>\u2192\u27f6\u21d2]")  # every table has one of these
_DISTRIBUTION = re.compile(r"^\s*Latency Distribution(?: \((.*?)\)?)?\s*$")
_RUSSIAN = {"мкс": "us", "мс": "ms", "с": "s", "сек": "s", "min": "m"}
_RUSSIAN_UNIT = re.compile(r"(?:мкс|мс|сек|с|min)$")


@dataclass(frozen=True, slots=True)
class _Row:
    line: Line
    name: str  # the percentile as printed
    level: float  # the percentile, 0..1
    times_us: tuple[float | None, ...]  # the latency in each column


def tables(lines: Sequence[Line]) -> tuple[list[tuple[int, ConsoleReport]], list[Line], list[Problem]]:
    """Find the percentile tables in lines. Return three lists: columns of tables, all lines, problems with tables.

    A column is a pair: (index of the table's first line, report with nothing but the percentiles in this column). In
    the list of all lines, the lines of tables have an empty text, so that indices stay valid.
    """
    columns: list[tuple[int, ConsoleReport]] = []
    problems: list[Problem] = []
    rest = list(lines)
    position = 0
    while position < len(lines):
        rows = _rows(lines, position)
        if not rows:
            position += 1
            continue
        title = _DISTRIBUTION.match(clean(lines[position - 1].text)) if position else None
        label = ((title[1] or "").removeprefix("HdrHistogram - ") or None) if title else None
        width = max(len(row.times_us) for row in rows)
        first, last = rows[0].line.number, rows[-1].line.number
        tool = "wrk2" if any(_BY_WRK2.search(row.name) for row in rows) else None
        for index in range(width):
            cells = ((row.level, row.times_us[index]) for row in rows if index < len(row.times_us))
            latencies = Latencies(label, tuple((level, time_us) for level, time_us in cells if time_us is not None))
            column = ConsoleReport(tool, latencies=latencies, first_line=first, last_line=last)
            columns.append((position, replace(column, column=index, columns=width)))
        ragged = [row for row in rows if len(row.times_us) < width]
        problems += [Problem(row.line.number, f"has {len(row.times_us)} of {width} columns") for row in ragged]
        for index in range(position - (title is not None), position + len(rows)):
            rest[index] = replace(rest[index], text="")
        position += len(rows)
    return columns, rest, problems


def _rows(lines: Sequence[Line], start: int) -> list[_Row]:
    """Return the rows of the table at index `start`, to where percentiles stop rising; [] if no table begins there."""
    rows: list[_Row] = []
    for position in range(start, len(lines)):
        text = lines[position].text
        match = _ROW.match(clean(text)) if len(text) <= LONGEST_LINE and _MAYBE.search(text) else None
        name = (match["p"] or match["percent"]) if match else ""
        level = round(float(name.replace(",", ".")) / 100, 9) if name else 2.0
        if match is None or level > 1 or (rows and level <= rows[-1].level):
            break
        rows.append(_Row(lines[position], name, level, tuple(map(_time_us, _SPLIT.split(match["times"])))))
    return rows


def _time_us(text: str) -> float | None:
    bare = re.sub(r"\s", "", text).replace(",", ".")
    return units.time_us(_RUSSIAN_UNIT.sub(lambda match: _RUSSIAN[match[0]], bare))
