"""The text around a load tool's output: headings, and the offered rate that a line above or the file's name states.

Rates are recognised by numbers and units (English, German, Russian). Commands are searched first, file names last.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.readers.documents import Line

REACH_LINES = 40  # text further above than this is about something else
LONGEST_LINE = 2_000
LONGEST_LIST = 150  # characters; a longer list of rates is no list of columns
_NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f'_]\d{3})+(?!\w)|\d{1,9}(?:[.,]\d{1,3})?(?:\s?[kKкК])?(?!\w)(?![.,]\d))"
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")  # the comma separates thousands: no rate has three decimals
_SEPARATOR = r"\s*(?:->|=>|\u2192|,|;|/|and|und|et|и)\s*"
_LIST = rf"(?:{_NUMBER})(?:{_SEPARATOR}(?:{_NUMBER}))*"
_UNIT = (
    r"(?:RPS|QPS|TPS|r/s|req(?:uest)?s?\s?/\s?s(?:ec(?:ond)?)?|requests per second|Anfragen/s"
    r"|[\w']{0,20}\s?(?:/|в)\s?с(?:ек\w*)?(?!\w)|[a-zA-Z]{1,20} per second)"
)
_AFTER_UNIT = re.compile(rf"{_UNIT}(?!\w)\s*(?:=|:|\u2013|-)?\s*(?P<list>{_LIST})", re.IGNORECASE)
_BEFORE_UNIT = re.compile(rf"(?<![\w.,-])(?P<list>{_LIST})\s*$", re.IGNORECASE)
_UNIT_WORD = re.compile(rf"(?<![^\W\d]){_UNIT}(?!\w)", re.IGNORECASE)
_ONLY_LIST = re.compile(rf"^\s*(?P<list>(?:{_NUMBER})(?:{_SEPARATOR}(?:{_NUMBER}))+)\s*:?\s*$")
_FLAG = re.compile(
    rf"(?<![\w-])(?:-R\s?|--?[Rr]ate\s?[=:]?\s?|[Rr]ate\s?[=:]\s?|R\s?[=:]?\s?(?=\d{{3}}|\d+['k]))"
    rf"(?P<rate>{_NUMBER}|\d{{1,9}}[mM](?!\w))"
)
_IN_A_NAME = re.compile(r"(?:(?<![a-zA-Z\d])R(?P<flag>\d{2,7})|(?P<unit>\d[\d_]{0,9}k?)[-_ ]?rp[sc])(?![a-zA-Z\d])")
_BARE_IN_A_NAME = re.compile(r"(?<![\d.])(\d{3,7})(?![\d.]|\s?[a-zA-Z]|[-_](?:conn|thread|chan|file))")
_OPERATION = r"(?:get|put|post|delete|del|status|read|write)s?"
_THOUSANDS_IN_A_NAME = re.compile(rf"(?i)(?:{_OPERATION}[-_ ]?)?(\d{{1,4}}k)(?:[-_ ]?{_OPERATION})?")
ADDRESS = re.compile(r"\]\([^)\s(]{0,500}(?:\s[^)(]{0,200})?\)|<img\s[^<>]*>|https?://\S+")
_NO_RATE = re.compile(r"\b(?:steps? of|in steps|by steps|шаг\w*|previous(?:ly)?|прошл\w+|предыдущ\w+)\b", re.IGNORECASE)
LONGEST_LABEL = 100  # characters; longer text is prose, which names rates for any reason
LEAST_BARE_RPS = 500.0  # a smaller bare number in a file's name is a size, a time or a count of something
MOST_DIGITS = 3  # before the zeros of a round number
BEYOND = 1.02  # a run that achieved more than this share of its rate was offered another one
CALL = re.compile(r"(?P<call>[\w./-]+\.(?:sh|bat|ps1|py|bash))\s+(?P<first>\d{1,9})\s+(?P<second>\d{1,9})(?!\w)")
FENCE = re.compile(r"^\s*(?:```|~~~)(?!.*(?:```|~~~))")  # a line with both marks is code among words
_HEADING = re.compile(r"^\s{0,9}(#{1,6})\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class Stated:
    """The offered rates, one for each column of an output, that a text or a file's name states."""

    rates_rps: tuple[float, ...]
    words: str  # the words that state them
    line: int | None  # None for a file's name


def headings(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """Yield for each line the Markdown headings that the line stands under, outermost first."""
    trail: list[tuple[int, str]] = []
    now: tuple[str, ...] = ()
    fenced = False
    for line in lines:
        if FENCE.match(line.text):
            fenced = not fenced
        match = _HEADING.match(line.text) if not fenced and "#" in line.text[:12] else None
        if match:
            text = match[2].rstrip().rstrip("#").rstrip()
            trail = [*((depth, text) for depth, text in trail if depth < len(match[1])), (len(match[1]), text)]
            now = tuple(text for _, text in trail)
        yield now


def named(path: Path, achieved_rps: float | None, url: str | None = None) -> Stated | None:
    """Return the offered rate in a file's name (`get18000.txt`, `c500_R22000.txt`, `put-3500rps.txt`), else None.

    The rate must be `plausible` for the output's `achieved_rps`. A number without a unit counts only if it is round,
    stands alone and is not the port in the output's `url`, and if the achieved rate is known.
    """
    marked = [match["flag"] or match["unit"] for match in _IN_A_NAME.finditer(path.stem)]
    if thousands := _THOUSANDS_IN_A_NAME.fullmatch(path.stem):
        bare = [thousands[1]]
    else:
        numbers = [] if marked else _BARE_IN_A_NAME.findall(path.stem)
        high = (text for text in numbers if float(text) >= LEAST_BARE_RPS and f":{text}" not in (url or ""))
        bare = [text for text in high if len(text.rstrip("0")) <= MOST_DIGITS]
    if len({*marked, *bare}) != 1 or (bare and achieved_rps is None):
        return None
    rate = _numbers((marked or bare)[0])
    return Stated(rate, f"the file's name, {path.name}", None) if plausible(rate[0], achieved_rps) else None


def plausible(rate_rps: float, achieved_rps: float | None) -> bool:
    """Return whether a rate can be a run's offered rate: the achieved rate, if known, exceeds it by at most 2 %."""
    return rate_rps > 0 and (achieved_rps is None or achieved_rps <= BEYOND * rate_rps)


def stated(
    above: Sequence[Line],
    columns: int,  # the number of the output's columns
    duration_s: float | None,  # the output's, if it is known
    achieved_rps: float | None = None,  # the output's
    trail: Sequence[str] = (),  # the headings that the output stands under
) -> Stated | None:
    """Return the offered rate of each column of an output, as the lines above it state them; None if none is plausible.

    The first plausible rate counts, in this order: commands, last heading, short lines, long lines, headings `trail`. A
    script's call with two numbers (`run.sh 60 5000`) counts only if the first is `duration_s`; the second is the rate.
    """
    near = above[-REACH_LINES:]
    last = max((index for index, line in enumerate(near) if _HEADING.match(line.text)), default=0)
    under = near[last:]  # text above the last heading is about something else
    labels = [line for line in under if len(line.text) <= LONGEST_LABEL]
    number = near[last].number if near else 0
    calls = [line for line in labels if _FLAG.search(line.text) or CALL.search(line.text)]
    heading = [line for line in near[last : last + 1] if _HEADING.match(line.text)]
    for lines in (calls, heading, labels, under, [Line(number, text) for text in trail]):
        rates = _stated(lines, columns, duration_s)
        if rates and (columns > 1 or plausible(rates.rates_rps[0], achieved_rps)):
            return rates
    return None


def _stated(above: Sequence[Line], columns: int, duration_s: float | None) -> Stated | None:
    for position in reversed(range(len(above))):
        line = above[position]
        if len(line.text) > LONGEST_LINE or not any(map(str.isdigit, line.text)):
            continue
        text = ADDRESS.sub("]()", line.text)
        if len(text) > LONGEST_LABEL and _NO_RATE.search(text):
            continue
        for match in reversed(list(CALL.finditer(text))):
            if columns == 1 and duration_s is not None and float(match["first"]) == duration_s:
                return Stated((float(match["second"]),), match[0], line.number)
        for match in reversed(list(_FLAG.finditer(text))):
            return Stated(_numbers(match["rate"]) * columns, match[0], line.number)
        lists = _of_unit(text)
        named_unit = any(_UNIT_WORD.search(before.text) for before in above[max(0, position - 2) : position])
        if not lists and named_unit and len(text) <= LONGEST_LIST and (alone := _ONLY_LIST.match(text)):
            lists = [(alone["list"], alone[0])]
        for listed, words in reversed(lists):
            rates = _numbers(listed)
            if len(rates) == columns or len(rates) == 1:
                return Stated(rates if len(rates) == columns else rates * columns, words.strip(), line.number)
        if lists:
            return None  # rates, but not one per column: it is not known which column has which rate
    return None


def _of_unit(text: str) -> list[tuple[str, str]]:
    lists = []
    for unit in _UNIT_WORD.finditer(text):
        start = max(0, unit.start() - LONGEST_LIST)
        if before := _BEFORE_UNIT.search(text, start, unit.start()):
            lists.append((before["list"], text[before.start() : unit.end()]))
        elif after := _AFTER_UNIT.match(text, unit.start(), unit.end() + LONGEST_LIST):
            lists.append((after["list"], after[0]))
    return lists


def _numbers(text: str) -> tuple[float, ...]:
    values = []
    for match in re.finditer(_NUMBER, text):
        bare = re.sub(r"[ \u00a0\u202f'_]", "", match[0])
        bare = bare.replace(",", "") if _THOUSANDS.fullmatch(bare) else bare
        scale = 1000.0 if bare[-1:] in "kKкК" else 1e6 if bare[-1:] in "mM" else 1.0
        bare = bare.rstrip("kKкКmM").replace(",", ".")
        values.append(float(bare) * scale)
    return tuple(values)
