"""Tables of percentiles that people made out of outputs: columns apart by arrows, and Markdown tables.

    50.000%    2.42ms    ->    2.06ms          | percentile | before | after  |
    99.000%    5.99ms    ->    4.37ms          | p50        | 2.42ms | 2.06ms |

Each column (or each row, where the percentiles are the head) is an output of its own, with nothing but its percentiles.
"""

from __future__ import annotations

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


def tables(lines: Sequence[Line]) -> tuple[list[Column], list[Line], list[Problem]]:
    """Give the tables in the lines, the lines with those of the tables emptied, and what in them could not be read."""
    found: list[Column] = []
    problems: list[Problem] = []
    rest = list(lines)
    position = 0
    while position < len(lines):
        text = lines[position].text
        if len(text) > LONGEST_LINE or not _MAYBE.search(text):
            position += 1
            continue
        taken = _arrows(lines, position, found, problems)
        if not taken and not (position and lines[position - 1].text.count("|") >= 2):  # a table begins at its head
            taken = _pipes(lines, position, found, problems)
        if not taken and (pair := _PAIR.search(clean(text))):
            named = _NAMED_PAIR.search(clean(text))
            why = "stands in a sentence: give it a line" if named else "does not say which percentile it is"
            problems.append(Problem(lines[position].number, f"{(named or pair)[0].strip()!r} {why}"))
        for index in range(position, position + taken):
            rest[index] = replace(rest[index], text="")
        if taken and position and _DISTRIBUTION.match(clean(lines[position - 1].text)):
            rest[position - 1] = replace(rest[position - 1], text="")
        position += max(1, taken)
    return found, rest, problems


def _arrows(lines: Sequence[Line], start: int, found: list[Column], problems: list[Problem]) -> int:
    rows: list[tuple[Line, float, list[float | None]]] = []
    wrk2 = False
    position = start
    while position < len(lines) and len(lines[position].text) <= LONGEST_LINE:
        match = _ARROW_ROW.match(clean(lines[position].text))
        named = (match["p"] or match["percent"]) if match else ""
        level = _level(named) if named else None
        if match is None or level is None or (rows and level <= rows[-1][1]):
            break
        wrk2 = wrk2 or _BY_WRK2.search(named) is not None
        rows.append((lines[position], level, [time_us(part) for part in _SPLIT.split(match["times"])]))
        position += 1
    if not rows:
        return 0
    width = max(len(values) for _, _, values in rows)
    for line, _, values in rows:
        if len(values) < width:
            problems.append(Problem(line.number, f"has {len(values)} of {width} columns"))
    head = _DISTRIBUTION.match(clean(lines[start - 1].text)) if start else None
    label = (head[1] or "").removeprefix("HdrHistogram - ") or None if head else None
    for index in range(width):
        cells = [(level, values[index]) for _, level, values in rows if index < len(values)]
        known = tuple((level, value) for level, value in cells if value is not None)
        report = ConsoleReport(
            tool="wrk2" if wrk2 else None,
            latencies=Latencies(label, known),
            first_line=rows[0][0].number,
            last_line=rows[-1][0].number,
        )
        found.append(Column(report, f"column {index + 1} of {width}", index, width, lines[start].cell))
    return position - start


def _level(text: str) -> float | None:
    value = round(float(text.replace(",", ".")) / 100, 9)
    return value if 0 <= value <= 1 else None


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def _head_level(cell: str, bare: bool = False) -> tuple[float, str] | None:
    """Return the percentile that a head names, and the unit if it names one too; `bare` says that a number is one."""
    text = cell.strip("*`_ ").lower()
    if text in _NAMED_LEVELS:
        return _NAMED_LEVELS[text], ""
    match = _HEAD_LEVEL.match(f"{text}%" if bare and _NUMBER.match(text) else text)
    level = _level(match[1] or match[2]) if match else None
    return (level, _RUSSIAN.get(match[3] or "", match[3] or "")) if match and level is not None else None


def _thousands(cells: Sequence[str]) -> bool:
    """Tell whether a comma in the times of a table stands between thousands: no other time has decimals."""
    times = [cell for cell in cells if _WITH_UNIT.match(cell)]
    return all(_GROUPED.search(cell) for cell in times if re.search(r"\d[.,]\d", cell))


def _pipes(lines: Sequence[Line], start: int, found: list[Column], problems: list[Problem]) -> int:
    end = start
    while end < len(lines) and lines[end].text.count("|") >= 2 and len(lines[end].text) <= LONGEST_LINE:
        end += 1
    rows = [(line, _cells(clean(line.text))) for line in lines[start:end]]
    if _thousands([cell for _, cells in rows for cell in cells]):
        rows = [(line, [_GROUPED.sub(r"\1\2", cell) for cell in cells]) for line, cells in rows]
    rows = [(line, cells) for line, cells in rows if not all(re.fullmatch(r":?-*:?", cell) for cell in cells)]
    if len(rows) < 2:
        return 0
    (_, head), *body = rows
    across = {index: named for index, cell in enumerate(head) if (named := _head_level(cell)) is not None}
    bare = _OF_LEVELS.match(head[0]) is not None
    down = [(line, cells, named) for line, cells in rows if (named := _head_level(cells[0], bare)) is not None]
    tool = "wrk2" if any(_BY_WRK2.search(cells[0]) for _, cells, _ in down) else None
    columns: list[tuple[str, Line, list[tuple[float, float | None]]]] = []
    rates: list[float | None] = []
    if len(across) >= 2:
        for line, cells in body:
            values = [
                (level, time_us(cells[index], unit)) for index, (level, unit) in across.items() if index < len(cells)
            ]
            columns.append((cells[0] if 0 not in across else "", line, values))
            rates.append(
                next((_rate(cell) for name, cell in zip(head, cells, strict=False) if _OF_RATE.match(name)), None)
            )
    elif len(down) >= 2:
        width = max(len(cells) for _, cells, _ in down)
        for index in range(1, width):
            values = [(level, time_us(cells[index], unit)) for _, cells, (level, unit) in down if index < len(cells)]
            title = head[index] if len(head) > index and _head_level(head[0]) is None else ""
            columns.append((title, down[0][0], values))
            rates.append(
                next((_rate(row[index]) for _, row in rows if _OF_RATE.match(row[0]) and index < len(row)), None)
            )
    kept = [
        (*column, rate)
        for column, rate in zip(columns, rates, strict=True)
        if any(us is not None for _, us in column[2])
    ]
    if len(kept) > MOST_OUTPUTS:
        problems.append(
            Problem(lines[start].number, f"a table of {len(kept)} rows of percentiles, which is data: not read")
        )
        return end - start
    if any(_are_shares([level for level, value in values if value is not None]) for _, _, values, _ in kept):
        return 0
    for index, (label, line, values, rate) in enumerate(kept):
        gaps = [level for level, value in values if value is None]
        problems += [Problem(line.number, f"the table has no time at {100 * level:g} %") for level in gaps]
        known = tuple(sorted((level, value) for level, value in values if value is not None))
        report = ConsoleReport(
            tool=tool,
            latencies=Latencies(None, known),
            requests_per_s=rate,
            first_line=line.number,
            last_line=line.number,
        )
        title = label or f"column {index + 1} of {len(kept)}"
        found.append(Column(report, title, index, len(kept), line.cell))
    return end - start if kept else 0


def _rate(cell: str) -> float | None:
    return units.count(re.sub(r"[\s*`~,_']|/s.*$", "", cell))


def _are_shares(levels: Sequence[float]) -> bool:
    """Tell whether what looks like percentiles are shares of one whole: they add up to it, or do not ascend."""
    ascending = list(levels) == sorted(levels) or list(levels) == sorted(levels, reverse=True)
    return len(levels) > 1 and (abs(sum(levels) - 1) < SUM_OF_SHARES or not ascending)
