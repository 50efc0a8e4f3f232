"""What the text around an output says about it: the offered rate, its headings, and whether it is a before or an after.

Read from numbers and a few words, so it works in any language where the words are the usual ones; what is not
recognised is not known, never guessed. A rate on a command line always wins over one that the text names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runners.read.documents import Line

REACH_LINES = 40  # text further above than this is about something else
LONGEST_LINE = 2_000
LONGEST_LIST = 150  # characters; a longer list of rates is no list of columns
_NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f'_]\d{3})+(?!\w)|\d{1,9}(?:[.,]\d{1,3})?(?:\s?[kKкК])?(?!\w)(?![.,]\d))"
_SEPARATOR = r"\s*(?:->|=>|\u2192|,|;|/|and|und|et|и)\s*"
_LIST = rf"(?:{_NUMBER})(?:{_SEPARATOR}(?:{_NUMBER}))*"
_UNIT = (
    r"(?:RPS|QPS|TPS|r/s|req(?:uest)?s?\s?/\s?s(?:ec(?:ond)?)?|requests per second|Anfragen/s"
    r"|запрос\w*\s?(?:/|в)\s?с\w*)"
)
_AFTER_UNIT = re.compile(rf"{_UNIT}(?!\w)\s*(?:=|:|\u2013|-)?\s*(?P<list>{_LIST})", re.IGNORECASE)
_BEFORE_UNIT = re.compile(rf"(?<![\w.,-])(?P<list>{_LIST})\s*$", re.IGNORECASE)
_UNIT_WORD = re.compile(rf"(?<![^\W\d]){_UNIT}(?!\w)", re.IGNORECASE)
_ONLY_LIST = re.compile(rf"^\s*(?P<list>(?:{_NUMBER})(?:{_SEPARATOR}(?:{_NUMBER}))+)\s*:?\s*$")
_FLAG = re.compile(r"(?<![\w-])(?:-R\s?|--rate[ =])(\d{1,9}[kKmM]?)(?!\w)")
_CALL = re.compile(r"(?P<call>[\w./-]+\.(?:sh|bat|ps1|py|bash))\s+(?P<first>\d{1,9})\s+(?P<second>\d{1,9})(?!\w)")
_HEADING = re.compile(r"^\s*(#{1,6})\s+(.*?)\s*#*\s*$")
_BEFORE = re.compile(r"\b(?:before|baseline|до|vorher|avant)\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|после|nachher|après)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stated:
    """Offered rates that the text names, one for each column, and the words that name them."""

    rates_rps: tuple[float, ...]
    words: str
    line: int


def headings(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """For each line, the Markdown headings that it stands under, outermost first."""
    trail: list[tuple[int, str]] = []
    result = []
    fenced = False
    for line in lines:
        if line.text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        match = _HEADING.match(line.text) if not fenced and "#" in line.text[:12] else None
        if match:
            trail = [*((depth, text) for depth, text in trail if depth < len(match[1])), (len(match[1]), match[2])]
        result.append(tuple(text for _, text in trail))
    return result


def change(trail: Sequence[str]) -> str | None:
    """Whether headings, or the label of a column, say `before` or `after`; the innermost that says one of them."""
    for text in reversed(trail):
        said = [name for name, pattern in (("before", _BEFORE), ("after", _AFTER)) if pattern.search(text)]
        if said:
            return said[0] if len(said) == 1 else None
    return None


def stated(above: Sequence[Line], columns: int, duration_s: float | None) -> Stated | None:
    """The rate, or the rate of each column, that the nearest line above names.

    A script called with two numbers counts if the first is the output's own duration in seconds.
    """
    for position in range(len(above) - 1, max(-1, len(above) - 1 - REACH_LINES), -1):
        line = above[position]
        text = line.text
        if len(text) > LONGEST_LINE or not any(character.isdigit() for character in text):
            continue
        for match in reversed(list(_CALL.finditer(text))):
            if columns == 1 and duration_s is not None and float(match["first"]) == duration_s:
                return Stated((float(match["second"]),), match[0], line.number)
        for match in reversed(list(_FLAG.finditer(text))):
            return Stated(_numbers(match[1]) * columns, match[0], line.number)
        found = _beside_unit(text)
        named_unit = any(_UNIT_WORD.search(each.text) for each in above[max(0, position - 2) : position])
        if not found and named_unit and len(text) <= LONGEST_LIST and (alone := _ONLY_LIST.match(text)):
            found = [(alone["list"], alone[0])]
        for listed, words in reversed(found):
            rates = _numbers(listed)
            if len(rates) == columns or len(rates) == 1:
                return Stated(rates if len(rates) == columns else rates * columns, words.strip(), line.number)
        if found:
            return None  # rates, but not one a column: which is which is not said
    return None


def _beside_unit(text: str) -> list[tuple[str, str]]:
    """Each list of numbers before or after a unit of rate, with the words that hold it, in the order of the text."""
    found = []
    for unit in _UNIT_WORD.finditer(text):
        start = max(0, unit.start() - LONGEST_LIST)
        if before := _BEFORE_UNIT.search(text, start, unit.start()):
            found.append((before["list"], text[before.start() : unit.end()]))
        elif after := _AFTER_UNIT.match(text, unit.start(), unit.end() + LONGEST_LIST):
            found.append((after["list"], after[0]))
    return found


def is_call(words: str) -> bool:
    """Whether words that state a rate are the call of a script."""
    return _CALL.fullmatch(words) is not None


def _numbers(text: str) -> tuple[float, ...]:
    values = []
    for match in re.finditer(_NUMBER, text):
        bare = re.sub(r"[ \u00a0\u202f'_]", "", match[0])
        scale = 1000.0 if bare[-1:] in "kKкК" else 1e6 if bare[-1:] in "mM" else 1.0
        bare = bare.rstrip("kKкКmM").replace(",", ".")
        values.append(float(bare) * scale)
    return tuple(values)
