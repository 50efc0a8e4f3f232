"""Tables of percentiles that people made out of outputs: columns apart by arrows, and Markdown tables.

    50.000%    2.42ms    ->    2.06ms          | percentile | before | after  |
    99.000%    5.99ms    ->    4.37ms          | p50        | 2.42ms | 2.06ms |

Each column (or each row, where the percentiles are the head) is an output of its own, with nothing but its percentiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies
from runners.readers.documents import Line, Problem
from runners.readers.wrk_console import LONGEST_LINE, clean

_ARROW = r"(?:-{1,2}>|={1,2}>|\u2192|\u27f6|\u21d2)"
_TIME = r"(?:\d{1,12}(?:[.,]\d{1,9})?\s?(?:us|μs|µs|ms|s|m|мкс|мс|с|сек|min)|-?nan(?:us|ms|s)?)"
_LEVEL = r"\d{1,3}(?:[.,]\d{1,6})?"
_NAMED = rf"(?:[pP]\s?(?P<p>{_LEVEL})|(?P<percent>{_LEVEL})\s?(?:%|th|-?й|-?ый))"
_ARROW_ROW = re.compile(
    rf"^\s*(?:[-*|]\s+)?{_NAMED}\s*[:|]?\s+(?P<times>{_TIME}(?:\s*{_ARROW}\s*{_TIME})+)\s*\|?\s*[;,.]?\s*$"
)
_PAIR = re.compile(rf"(?<![\w.]){_TIME}\s*{_ARROW}\s*{_TIME}(?!\w|\.\d)")
_NAMED_PAIR = re.compile(rf"(?<![\w.]){_NAMED}\s*[:=]?\s+{_TIME}\s*{_ARROW}\s*{_TIME}(?!\w|\.\d)")
_SPLIT = re.compile(_ARROW)
_NAMED_LEVELS = {"median": 0.5, "p50": 0.5, "медиана": 0.5, "max": 1.0, "maximum": 1.0, "макс": 1.0, "p100": 1.0}
_HEAD_LEVEL = re.compile(
    r"(?i)^(?:(?:percentile|latency|перцентиль)?\s*)(?:p\s?(\d{1,2}(?:[.,]\d+)?|100)(?:th)?|(\d{1,3}(?:[.,]\d+)?)\s?(?:%"
    r"|th)(?:ile)?)(?:\s*[,(]?\s*(us|μs|µs|ms|s|мкс|мс|с)\)?)?$"
)
#: The head of a column of percentiles that are bare numbers.
_OF_LEVELS = re.compile(
    r"(?i)^[*_`\s]*(?:perc(?:entiles?|s)?\.?|(?:пер|про)[сц]ентил[ьи]|quantiles?|квантил[ьи]|%)[*_`\s]*$"
)
_BY_WRK2 = re.compile(r"\.\d{3}\s?%?$")  # as wrk2 prints a percentile: `50.000%`
_OF_RATE = re.compile(r"(?i)^[*_`\s]*(?:req(?:uest)?s?\s?/\s?s(?:ec)?|rps|qps|requests per second|throughput)\b")
SUM_OF_SHARES = 0.011
MOST_OUTPUTS = 1_000  # of one table that an author made
_MAYBE = re.compile(r"[|>\u2192\u27f6\u21d2]")  # no table is without one of these
_DISTRIBUTION = re.compile(r"^\s*Latency Distribution(?: \((.*?)\)?)?\s*$")
_GROUPED = re.compile(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d.,])")
_WITH_UNIT = re.compile(r"^[*`~\s]*\d[\d.,]*\s?(?:us|μs|µs|ms|s|мкс|мс|с)[*`\s]*$")
_NUMBER = re.compile(r"^\d+(?:[.,]\d+)?$")
_RUSSIAN = {"мкс": "us", "мс": "ms", "с": "s", "сек": "s", "min": "m"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table as an output, with the heading of the column and its number among how many."""

    report: ConsoleReport
    label: str
    index: int
    of: int
    cell: int | None = None


def time_us(text: str, unit: str = "") -> float | None:
    """Return a duration as people write it: `1.4ms`, `1,4 ms`, `1,4 мс`; a bare number has the unit of its column."""
    bare = text.strip().strip("`*~").strip().replace("\u00a0", " ").replace("\u202f", " ")
    bare = bare.replace(",", ".") if re.fullmatch(r"\d+,\d+\D*", bare) else bare
    if unit and _NUMBER.match(bare):
        bare += unit
    for name, plain in _RUSSIAN.items():
        if re.fullmatch(rf"[\d.]+\s?{name}", bare):
            bare = bare.removesuffix(name) + plain
            break
    return units.time_us(bare.replace(" ", ""))


@dataclass(frozen=True, slots=True)
class _Table:
    """The lines that a table takes, its outputs, and what in it could not be read."""

    length: int
    columns: tuple[Column, ...] = ()
    problems: tuple[Problem, ...] = ()


def tables(lines: Sequence[Line]) -> tuple[list[Column], list[Line], list[Problem]]:
    """Return the columns of all tables, the lines with those of the tables emptied, and what could not be read."""
    columns: list[Column] = []
    problems: list[Problem] = []
    rest = list(lines)
    position = 0
    while position < len(lines):
        line = lines[position]
        if len(line.text) > LONGEST_LINE or not _MAYBE.search(line.text):
            position += 1
            continue
        table = _arrows(lines, position)
        if table is None and not (position and lines[position - 1].text.count("|") >= 2):  # a table begins at its head
            table = _pipes(lines, position)
        if table is None:
            if pair := _PAIR.search(clean(line.text)):
                named = _NAMED_PAIR.search(clean(line.text))
                why = "stands in a sentence: give it a line" if named else "does not say which percentile it is"
                problems.append(Problem(line.number, f"{(named or pair)[0].strip()!r} {why}"))
            position += 1
            continue
        columns += table.columns
        problems += table.problems
        titled = position > 0 and _DISTRIBUTION.match(clean(lines[position - 1].text)) is not None
        for index in range(position - titled, position + table.length):
            rest[index] = replace(rest[index], text="")
        position += table.length
    return columns, rest, problems


def _arrows(lines: Sequence[Line], start: int) -> _Table | None:
    rows: list[tuple[Line, float, list[float | None]]] = []
    wrk2 = False
    for position in range(start, len(lines)):
        line = lines[position]
        match = _ARROW_ROW.match(clean(line.text)) if len(line.text) <= LONGEST_LINE else None
        name = (match["p"] or match["percent"]) if match else ""
        level = _level(name) if name else None
        if match is None or level is None or (rows and level <= rows[-1][1]):
            break
        wrk2 = wrk2 or _BY_WRK2.search(name) is not None
        rows.append((line, level, [time_us(part) for part in _SPLIT.split(match["times"])]))
    if not rows:
        return None
    width = max(len(values) for _, _, values in rows)
    head = _DISTRIBUTION.match(clean(lines[start - 1].text)) if start else None
    label = (head[1] or "").removeprefix("HdrHistogram - ") or None if head else None
    columns = []
    for index in range(width):
        cells = [(level, values[index]) for _, level, values in rows if index < len(values)]
        report = ConsoleReport(
            tool="wrk2" if wrk2 else None,
            latencies=Latencies(label, tuple((level, value) for level, value in cells if value is not None)),
            first_line=rows[0][0].number,
            last_line=rows[-1][0].number,
        )
        columns.append(Column(report, f"column {index + 1} of {width}", index, width, lines[start].cell))
    problems = tuple(
        Problem(line.number, f"has {len(values)} of {width} columns") for line, _, values in rows if len(values) < width
    )
    return _Table(len(rows), tuple(columns), problems)


def _level(text: str) -> float | None:
    value = round(float(text.replace(",", ".")) / 100, 9)
    return value if 0 <= value <= 1 else None


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def _head_level(cell: str, bare: bool = False) -> tuple[float, str] | None:
    """Return the level and the unit, if any, in a head; a bare number is a level where `bare` is true."""
    text = cell.strip("*`_ ").lower()
    if text in _NAMED_LEVELS:
        return _NAMED_LEVELS[text], ""
    match = _HEAD_LEVEL.match(f"{text}%" if bare and _NUMBER.match(text) else text)
    level = _level(match[1] or match[2]) if match else None
    return (level, _RUSSIAN.get(match[3] or "", match[3] or "")) if match and level is not None else None


def _thousands(cells: Sequence[str]) -> bool:
    """Return whether commas in the times of a table separate thousands: no time there has decimals."""
    times = [cell for cell in cells if _WITH_UNIT.match(cell)]
    return all(_GROUPED.search(cell) for cell in times if re.search(r"\d[.,]\d", cell))


def _pipes(lines: Sequence[Line], start: int) -> _Table | None:
    end = start
    while end < len(lines) and lines[end].text.count("|") >= 2 and len(lines[end].text) <= LONGEST_LINE:
        end += 1
    rows = [(line, _cells(clean(line.text))) for line in lines[start:end]]
    if _thousands([cell for _, cells in rows for cell in cells]):
        rows = [(line, [_GROUPED.sub(r"\1\2", cell) for cell in cells]) for line, cells in rows]
    rows = [(line, cells) for line, cells in rows if not all(re.fullmatch(r":?-*:?", cell) for cell in cells)]
    if len(rows) < 2:
        return None
    head, bare = rows[0][1], _OF_LEVELS.match(rows[0][1][0]) is not None
    across = {index: level for index, cell in enumerate(head) if (level := _head_level(cell)) is not None}
    down = {index: level for index, (_, cells) in enumerate(rows) if (level := _head_level(cells[0], bare)) is not None}
    runs: list[tuple[str, Line, Sequence[str | None]]]
    if len(across) >= 2:
        names, levels = head, across
        runs = [("" if 0 in across else cells[0], line, cells) for line, cells in rows[1:]]
    elif len(down) >= 2:  # the table is read as if its rows were columns
        names, levels = [cells[0] for _, cells in rows], down
        turned = list(zip_longest(*(cells for _, cells in rows)))[1 : max(len(rows[index][1]) for index in down)]
        titles = head[1:] if 0 not in down else []
        runs = [(title or "", rows[min(down)][0], cells) for title, cells in zip_longest(titles, turned) if cells]
    else:
        return None
    kept = []
    for label, line, cells in runs:
        times = [
            (level, time_us(cell, unit))
            for index, (level, unit) in levels.items()
            if index < len(cells) and (cell := cells[index]) is not None
        ]
        if any(value is not None for _, value in times):
            kept.append((label, line, times, _rate(names, cells)))
    if len(kept) > MOST_OUTPUTS:
        text = f"a table of {len(kept)} rows of percentiles, which is data: not read"
        return _Table(end - start, problems=(Problem(lines[start].number, text),))
    if not kept or any(_are_shares([level for level, value in times if value is not None]) for _, _, times, _ in kept):
        return None
    columns, problems = [], []
    tool = "wrk2" if any(_BY_WRK2.search(rows[index][1][0]) for index in down) else None
    for index, (label, line, times, rate) in enumerate(kept):
        problems += [
            Problem(line.number, f"the table has no time at {100 * level:g} %")
            for level, value in times
            if value is None
        ]
        report = ConsoleReport(
            tool=tool,
            latencies=Latencies(None, tuple(sorted((level, value) for level, value in times if value is not None))),
            requests_per_s=rate,
            first_line=line.number,
            last_line=line.number,
        )
        columns.append(Column(report, label or f"column {index + 1} of {len(kept)}", index, len(kept), line.cell))
    return _Table(end - start, tuple(columns), tuple(problems))


def _rate(names: Sequence[str], cells: Sequence[str | None]) -> float | None:
    """Return the rate among the cells of a run."""
    rates = (cell for name, cell in zip(names, cells, strict=False) if cell is not None and _OF_RATE.match(name))
    return units.count(re.sub(r"[\s*`~,_']|/s.*$", "", next(rates, "")))


def _are_shares(levels: Sequence[float]) -> bool:
    """Return whether levels are shares of a whole and no percentiles: they add up to 1, or do not ascend."""
    ascending = list(levels) == sorted(levels) or list(levels) == sorted(levels, reverse=True)
    return len(levels) > 1 and (abs(sum(levels) - 1) < SUM_OF_SHARES or not ascending)
