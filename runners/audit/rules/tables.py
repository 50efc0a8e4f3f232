"""The tables that an author made himself: two states of one figure side by side, averages of percentiles.

| Metric     | Before | After  | Change |        | run     | p99    |
| p99        | 40 ms  | 30 ms  | -25 %  |        | 1       | 12 ms  |
| Throughput | 900/s  | 1200/s | +33 %  |        | Average | 15 ms  |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runners.readers import context, units
from runners.readers.documents import Line

_RULE = re.compile(r"^[\s|:+-]*$")
_NUMBER = re.compile(
    r"^[~≈<>+*\s]*(?P<number>\d{1,3}(?:[, \u00a0\u202f']\d{3})+(?:\.\d+)?"
    r"|\d+(?:[.,]\d+)?)\s?(?P<kilo>[kK](?![a-z]))?\s?(?P<unit>us|µs|μs|ms|s|sec|мкс|мс|сек|с|req/s(?:ec)?"
    r"|requests/s(?:ec)?|r/s|rps|RPS|QPS|TPS|/s)?(?![\w%])[^|\d]{0,30}$"
)
_UNIT_OF_HEAD = re.compile(r"[(\[（]\s?(us|µs|μs|ms|s|мкс|мс|с)\s?[)\]）]")
_PLAIN = {"мкс": "us", "мс": "ms", "с": "s", "сек": "s", "sec": "s"}
_FACTOR = re.compile(r"^[~\u2248+*\s]*(?P<number>\d{1,4}(?:\.\d{1,2})?)\s?(?:[x\u00d7]|times|倍|배|раза?)(?!\w)")
_PERCENT = re.compile(r"(?P<sign>[+\u2212-]?)\s?~?(?P<number>\d+(?:[.,]\d+)?)\s?%")
_LATENCY = re.compile(
    r"(?i)latenc|response time|\bp\d{2}|percentile|median|\d{2}(?:\.\d+)?(?:th|\s?%)|задерж|врем\w* (?:ответ|отклик)"
    r"|(?:пер|про)[сц]ентил|медиан|응답 ?(?:시간|속도)|지연 ?시간|响应(?:时间|速度)|延迟|时延|耗时|応答時間"
    r"|レスポンスタイム"
)
_RATE = re.compile(
    r"(?i)throughput|requests?\s?(?:/|per)\s?s|\breq/s|\brps\b|\bqps\b|\btps\b|пропускн|запрос\w* (?:в|/) ?с|처리량"
    r"|吞吐|スループット"
)
_LEVEL = re.compile(r"\bp\s?(\d{2})(?:[.,]?(\d{1,3}))?\b|(\d{2}(?:[.,]\d+)?)\s?(?:%|th|-?й)", re.IGNORECASE)
_MEDIAN = re.compile(r"\b(?:median|медиан\w+)\b", re.IGNORECASE)
_AVERAGE = re.compile(r"^[*_\s]*(?:average|avg\.?|mean|средн\w+|в среднем)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"(?i)^[*_\s]*(?:improvement|change|speed-?up|Δ|delta|diff(?:erence)?|gain|reduction|прирост|изменени[ея]|разница"
    r"|улучшение)"
)
SLACK = 0.02  # of the percentage itself, besides the rounding of its figures
OF_A_FACTOR, HALF = 0.1, 0.5  # a factor is rounded to a whole one
COLUMNS_OF_A_CHANGE = 4  # what it is of, two figures and the change
LEAST_AVERAGED = 2
MEAN_SLACK = 0.005


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after a change: latency in microseconds or a rate, and what the row says of it in percent."""

    line: int
    what: str
    is_latency: bool
    level: float | None
    before: float
    after: float
    said_percent: float | None = None
    signed: bool = False  # whether the percentage has a sign
    slack: float = 0.0  # half of the last digit of both figures, in parts of one
    said_factor: float | None = None

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def contradicted(self) -> bool:
        """Tell whether no way of reckoning a change in percent, or by how many times, gives what the row says."""
        if self.said_factor is not None:
            factors = (self.ratio, 1 / self.ratio)
            return all(abs(self.said_factor - factor) > OF_A_FACTOR * factor + HALF for factor in factors)
        if self.said_percent is None:
            return False
        said = abs(self.said_percent)
        ways = [abs(self.ratio - 1) * 100, abs(1 / self.ratio - 1) * 100, self.ratio * 100, 100 / self.ratio]
        slack = 1.0 + SLACK * said + 100 * self.slack * max(self.ratio, 1 / self.ratio)
        wrong_sign = self.signed and said > slack and (self.said_percent > 0) != (self.ratio > 1)
        return all(abs(said - way) > slack for way in ways) or (wrong_sign and not self.is_latency)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its head and its rows, each with its line."""

    head: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def level_of(text: str) -> float | None:
    """Read the percentile (0..1) that a text names: `p99`, `p999`, `99.9 %`, `median`."""
    if _MEDIAN.search(text):
        return 0.5
    match = _LEVEL.search(text)
    if match is None:
        return None
    digits = f"{match[1]}.{match[2] or 0}" if match[1] else match[3].replace(",", ".")
    return round(float(digits) / 100, 9)


def is_latency(text: str) -> bool | None:
    """Tell whether a text names a latency, or a rate; None where it names neither or both."""
    latency, rate = bool(_LATENCY.search(text)), bool(_RATE.search(text))
    return None if latency == rate else latency


def figure(cell: str, what: str = "") -> tuple[float, bool, float] | None:
    """Read a cell: the latency in microseconds or the rate, which of them it is, and half of its last digit."""
    match = _NUMBER.match(cell.replace("**", "").strip())
    if match is None:
        return None
    text = re.sub(r"[ \u00a0\u202f']|,(?=\d{3}(?:\D|$))", "", match["number"]).replace(",", ".")
    unit = match["unit"] or ""
    unit = _PLAIN.get(unit, unit)
    value = float(text) * (1000 if match["kilo"] else 1)
    last = 0.5 * 10.0 ** -len(text.partition(".")[2]) / float(text) if float(text) else 0.0
    if (time_us := units.time_us(f"{text}{unit}")) is not None and unit:
        return time_us, True, last
    named = False if unit else is_latency(what)
    if named and (of := _UNIT_OF_HEAD.search(what)):
        return units.time_us(f"{text}{_PLAIN.get(of[1], of[1])}") or 0.0, True, last
    return None if named is None else (value, named, last)


def read(prose: Sequence[Line]) -> Iterator[Table]:
    """Find the Markdown tables in what an author wrote."""
    rows: list[Line] = []
    for line, after in pairwise((*prose, Line(-1, ""))):
        if line.text.count("|") >= 2:
            rows.append(line)
        if rows and (after.text.count("|") < 2 or after.number > line.number + 1):
            found = [
                (
                    row.number,
                    tuple(cell.strip() for cell in row.text.strip().removeprefix("|").removesuffix("|").split("|")),
                )
                for row in rows
            ]
            found = [row for row in found if not _RULE.match("|".join(row[1]))]
            if len(found) > 1:
                yield Table(found[0][1], tuple(found[1:]))
            rows = []


def changes(tables: Sequence[Table]) -> Iterator[Change]:
    """Find the rows that give a figure before and after a change."""
    for table in tables:
        sides = [context.change((cell,)) for cell in table.head]
        if sides.count("before") != 1 or sides.count("after") != 1:
            continue
        before, after = sides.index("before"), sides.index("after")
        said_at = next((index for index, cell in enumerate(table.head) if _CHANGE.match(cell)), None)
        for line, cells in table.rows:
            if len(cells) <= max(before, after):
                continue
            what = cells[0]
            was, became = figure(cells[before], what), figure(cells[after], what)
            if was is None or became is None or was[1] != became[1] or not was[0] or not became[0]:
                continue
            said = _PERCENT.search(cells[said_at]) if said_at is not None and said_at < len(cells) else None
            percent = float(said["number"].replace(",", ".")) if said else None
            if said and percent is not None and said["sign"] in ("-", "\u2212"):
                percent = -percent
            signed = bool(said and said["sign"])
            level = level_of(what) if was[1] else None
            yield Change(line, what, was[1], level, was[0], became[0], percent, signed, was[2] + became[2])


def reckoned(tables: Sequence[Table]) -> Iterator[Change]:
    """Find the rows of two figures and their change, of states that are called neither before nor after."""
    for table in tables:
        sides = {context.change((cell,)) for cell in table.head}
        if len(table.head) != COLUMNS_OF_A_CHANGE or not _CHANGE.match(table.head[-1]) or {"before", "after"} <= sides:
            continue
        for line, cells in table.rows:
            if len(cells) != COLUMNS_OF_A_CHANGE:
                continue
            was, became = (figure(cell, cells[0]) for cell in cells[1:3])
            if was is None or became is None or was[1] != became[1] or not was[0] or not became[0]:
                continue
            factor, said = _FACTOR.match(cells[3]), _PERCENT.search(cells[3])
            percent = float(said["number"].replace(",", ".")) if said and not factor else None
            times = float(factor["number"]) if factor else None
            slack = was[2] + became[2]
            yield Change(line, cells[0], was[1], None, was[0], became[0], percent, slack=slack, said_factor=times)


def averaged(tables: Sequence[Table]) -> Iterator[tuple[int, float, float]]:
    """Find the percentiles that are means of those next to or above them: the line, the percentile, the mean."""
    for table in tables:
        for index, head in enumerate(table.head):
            level = level_of(head)
            cells = [(line, row[0], figure(row[index], head)) for line, row in table.rows if index < len(row)]
            others = [read_cell[0] for _, name, read_cell in cells if read_cell and not _AVERAGE.match(name)]
            if index and level is not None:
                yield from (
                    (line, level, read_cell[0])
                    for line, name, read_cell in cells
                    if read_cell and _AVERAGE.match(name) and is_mean(read_cell[0], others)
                )
        for index, head in enumerate(table.head):
            if not _AVERAGE.match(head):
                continue
            for line, row in table.rows:
                level = level_of(row[0])
                known = [(place, figure(cell, row[0])) for place, cell in enumerate(row[1:], start=1)]
                values = [
                    each[0]
                    for place, each in known
                    if each and not _CHANGE.match(table.head[min(place, len(table.head) - 1)]) and place != index
                ]
                mean = figure(row[index], row[0]) if index < len(row) else None
                if level is not None and mean and is_mean(mean[0], values):
                    yield line, level, mean[0]


def is_average(label: str) -> bool:
    """Tell whether the head of a column or a row says that it is an average."""
    return _AVERAGE.match(label) is not None


def is_mean(value: float, others: Sequence[float]) -> bool:
    """Tell whether a value is the mean of others that differ."""
    if len(others) < LEAST_AVERAGED or max(others) == min(others):
        return False
    mean = sum(others) / len(others)
    return abs(value - mean) <= MEAN_SLACK * mean
