"""What the author of a document says of the figures: sentences, and what they claim. English and Russian, no other.

Words decide here, so each pattern is narrow: a claim that is not recognised is not known, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.readers import context, units
from runners.readers.documents import Line

#: Where a sentence ends: not at the point of a number or of an abbreviation such as `т.к.`.
_END = re.compile(r"(?<!\b\w)(?<!\bvs)[.!?;]+(?=\s|$)")
_ALONE = re.compile(r"^\s*(?:#|\||[-*+]\s|\d+[.)]\s|>|```|$)")  # a line that goes on no sentence before it
_UNIT = r"(?:мкс|мс|ms|us|µs|μs|секунд\w*|сек|seconds?|sec|msec|с|s)"
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_PLAIN = {"мкс": "us", "мс": "ms", "msec": "ms", "с": "s", "сек": "s", "sec": "s"}

#: Another state of the system that a sentence refers to.
_OTHER_STATE = re.compile(
    r"\b(?:по сравнению|в сравнени[ие]|относительно|(?:предыдущ|прошл[ыоа])\w+|(?<!по-)прежн\w+|раньше"
    r"|оптимизаци\w+|без (?:к[еэ]ша|шардирования|репликации)|в отличие от|чем в случае|други(?:х|ми) этап\w+"
    r"|(?:в|на|из) \d[- ]?\w* этап\w+|1 нод\w+|однопоточн\w+|до этого"
    r"|(?:стар|нов|перв|синхронн|асинхронн)\w+ (?:реализаци|верси|сервер|вариант|сервис)\w*|реализаци\w+ [сc] \w+"
    r"|после (?:добавлени|внедрени|изменени|переход|исправлени|некоторой)\w*|при переходе|при \d+[- ]?х? (?:узл|нод)\w+"
    r"|чем (?:на|у|при|для|с) (?:остальн|друг|перв|втор|стар)\w+|использование (?:\w+ )?кластер\w*"
    r"|stage[ -]?\d|compared|before|previous\w*|baseline|without|than the (?:old|other|first)|old version)\b",
    re.IGNORECASE,
)
#: How one state is to another.
_BETTER_OR_WORSE = re.compile(
    r"\b(?:лучше|хуже|быстрее|медленнее|выше|ниже|больше|меньше|снизи\w*|снижа\w+|улучш\w+|ухудш\w+|прирост\w*"
    r"|просел\w*"
    r"|просад\w+|упал\w*|вырос\w*|выросл\w*|возрос\w*|возрастани\w*|снижени\w*|давал\w* следующие|увеличи\w*"
    r"|увеличива\w+|уменьш[иа]\w*|сократи\w*|деградир\w+|выигр\w+|проигр\w+"
    r"|обгоня\w+|справля(?:ется|ются|л\w+)|выдержива(?:ет|ют|л\w*)|держать|держал\w*|поднять|потеря\w+|измени\w+|отлича\w+|отличи\w+|повлия\w+|сопоставим\w*"
    r"|faster|slower|better|worse|improve[ds]?|improvements?|regress\w*|outperform\w*|speed-?ups?)\b",
    re.IGNORECASE,
)
#: What is measured.
_FIGURE = re.compile(
    r"\b(?:RPS|latency|задерж\w+|(?:не)?производительн\w+|perfo\w*mance|throughput|пропускн\w+|rate|рейт\w*"
    r"|врем\w+ (?:\w+ )?(?:ответ|отклик|обработк|выполнени)\w*|(?:средн|максимальн)\w+ (?:врем|latency|значени"
    r"|показател)\w*"
    r"|(?:п[еа]р|про)[сц]ентил\w+|точк\w+ разладки|запрос\w* в секунд\w+|нагрузк\w*|скорост\w+|в разы|по времени"
    r"|количеств\w+ (?:\w+ )?(?:запрос|заяв)\w+"
    r"|отвечать|median|p\d\d|response times?"
    r"|средн(?:ем|ие|им)|в \d+(?:[.,]\d+)? раз\w*|на \d[\d.]* ?%)(?!\w)",
    re.IGNORECASE,
)
#: What a profile shows, which needs no repeated load.
_PROFILE = re.compile(
    r"\b(?:ал+окац\w+|ал+оцир\w+|alloc\w*|с[эе]мпл\w*|samples?|профил\w+|profile\w*|лок(?:и|ов|а|ами|ах)?|locks?"
    r"|блокиров\w+"
    r"|cpu|процессорн\w+|памят\w+|стек\w*|граф\w*|heap\w*|сборк\w+ мусора|итератор\w*)\b",
    re.IGNORECASE,
)
_LOAD = re.compile(
    r"\b(?:RPS|rate|рейт\w*|пропускн\w+|latency|задерж\w+|запрос\w* в секунд\w+|производительн\w+|(?:п[еа]р"
    r"|про)[сц]ентил\w+)\b",
    re.I,
)
#: What a system can do, of which a fall or a gain needs no other word.
_CAPACITY = (
    r"(?:производительно(?:ст\w+)?|perfo\w*mance|RPS|рейт\w*|rate|пропускн\w+ способност\w+|количеств\w+ запросов"
    r"|точк\w+ разладки)(?!\w)"
)
_A_STATE = r"(?:асинхронн|синхронн|стар|нов|перв|прошл)\w+ (?:сервер|реализаци|верси|вариант)\w*"
#: A fall or a gain that says by itself that something was before.
_GAIN_OR_LOSS = re.compile(
    rf"\b{_CAPACITY}[^.]{{0,60}}?\b(?:просел\w*|упал\w*|деградировал\w*|ухудшил\w*|улучш\w+|повысил\w*"
    rf"|пришлось снизить)"
    rf"|\bпросел\w*\b[^.]{{0,40}}?\b(?:{_CAPACITY}|latency|относительно|по сравнению)"
    rf"|\b{_CAPACITY}[^.]{{0,30}}?\b(?:увеличил\w*|вырос\w*)[^.]{{0,30}}?\bв (?:\d|нескольк|полтора)"
    r"|\b(?:latency|задержк\w+) (?:ухудшил|улучшил)\w*"
    r"|\b(?:get|put|latency)\b[^.]{0,30}?\b(?:просел\w*|стал\w*\b[^.]{0,20}?(?:по)?(?:лучше|хуже|быстрее|медленнее))"
    rf"|\b(?:снизил\w*|ухудш\w+|улучшил\w*|упал\w*|падени\w*|снижени\w*|прирост\w*|(?:пришлось"
    rf"|удалось) \w+)(?: \w+){{0,2}} "
    rf"{_CAPACITY}"
    rf"|\b{_A_STATE}[^;\n]{{0,60}}?{_NUMBER}\s?{_UNIT}\b[^;\n]{{0,40}}?\b{_A_STATE}[^;\n]{{0,60}}?{_NUMBER}\s?{_UNIT}\b"
    r"|\bне повлия\w+ на (?:задержк|latency|производ|врем)\w*"
    r"|\bтако[ей] (?:падение|снижение|ухудшение)"
    r"|\b\d+(?:\.\d+)?(?: ?%| times|x) (?:faster|slower)\b"
    r"|\b(?:improv|reduc|increas|lower)\w* (?:the )?(?:\w+ )?(?:latency|throughput|response time) (?:by|from)\b",
    re.IGNORECASE,
)
_STATE_HEADING = re.compile(r"^#+ .*(?:\b(?:до|после) оптимиз|\bbefore\b|\bafter\b)|\bбез к[еэ]ша\b", re.IGNORECASE)

_QUOTED = re.compile(
    rf"(?<![\d.,])(?P<level>\d{{2}}(?:[.,]\d{{1,3}})?)\s?(?:%|пер[сц]ентил\w+|процентил\w+|percentile)"
    rf"[^.;%\n]{{0,60}}?(?<![\d.,])(?<!ше на )(?<!же на )(?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})(?!\w)"
)
_BEYOND = re.compile(
    rf"(?<![\d.,])(?P<share>\d(?:[.,]\d{{1,3}})?)\s?% (?:\w+ ){{0,2}}(?:больше|более|дольше|свыше|longer than|above"
    rf"|over)"
    rf" (?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})(?!\w)",
    re.IGNORECASE,
)
_MEAN = re.compile(
    rf"\b(?:средн\w+|average|mean) (?:latency|задержк\w+|время ответа)(?:[ :=]|составляет|is|was)*"
    rf"(?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})(?!\w)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"\b(?:rate|R)\s?=?\s?(\d{3,7})\b|\b(\d{3,7}|\d{1,3}[kкKК])\s?(?:RPS|rps|запрос\w* в секунд\w+|req/s"
    r"|requests per second)"
)

_HOLDS = re.compile(
    r"\b(?:выдержива(?:ет|ют)|выдержал\w*|держит|справля(?:ется|ются)|справил\w*|handles|sustains|copes with"
    r"|keeps up)\b",
    re.I,
)
_NOT = re.compile(
    r"\b(?:не|плохо|перестал\w*|без труда не|едва|only|not|cannot|can't|fails?|barely|пытал\w*|должен|если)\b", re.I
)
_FASTER = re.compile(r"\b(?:обгоня\w+|быстрее|лучше|выигрывает|faster|better|outperforms?)\b", re.I)
_SLOWER = re.compile(r"\b(?:медленнее|хуже|проигрывает|slower|worse)\b", re.I)
_NEW = re.compile(r"\b(?:нов\w+|асинхронн\w+|после|new|async\w*|optimi[sz]ed|after)\b", re.I)
_OLD = re.compile(r"\b(?:стар\w+|прежн\w+|old|previous|before)\b", re.I)
_AT_LEVEL = re.compile(
    r"(?<![\d.,])(?P<beyond>>\s?)?(?P<level>\d{2}(?:[.,]\d{1,3})?)\s?%|\bp(?P<short>\d{2,3})\b", re.I
)
_JIT = re.compile(r"\b(?:JIT\w*|C2|прогре\w+|warm-?up|компиляц\w+)\b", re.I)
_SHAPE = re.compile(
    r"\b(?:плато|plateau|ступеньк\w+|медиан\w+|median|p50|50 ?%|latency|задержк\w+|обгоня\w+|быстрее|faster)", re.I
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with the line at which it begins."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A latency that a sentence gives to a percentile (0..1), or to the mean where `level` is None.

    `at_least` says that the percentile is no lower; `rate_rps` is the load that the sentence names.
    """

    line: int
    level: float | None
    value_us: float
    at_least: bool = False
    rate_rps: float | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that calls the new state faster (or slower) than the old one, at a percentile if it names one."""

    line: int
    faster: bool
    level: float | None


def sentences(prose: Sequence[Line]) -> list[Sentence]:
    """Split what an author wrote into sentences; a heading, an item of a list and a row of a table stand alone."""
    found: list[Sentence] = []
    part, begin, last = "", 0, 0
    for line in prose:
        if len(line.text) > context.LONGEST_LINE:
            continue  # nobody wrote that as prose
        text = context.ADDRESS.sub("", line.text).strip().rstrip("\\").strip()
        if part and (_ALONE.match(line.text) or line.number > last + 1 or part.lstrip().startswith(("#", "|"))):
            found.append(Sentence(begin, part.strip()))
            part = ""
        for piece, ended in _pieces(text):
            if not part:
                begin = line.number
            part = f"{part} {piece}".strip()
            if ended:
                found.append(Sentence(begin, part))
                part = ""
        last = line.number
    if part:
        found.append(Sentence(begin, part))
    return [sentence for sentence in found if 0 < len(sentence.text) <= context.LONGEST_LINE]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a line at the ends of sentences; tell of each piece whether it ends one."""
    start = 0
    for end in _END.finditer(text):
        yield text[start : end.end()], True
        start = end.end()
    if text[start:].strip():
        yield text[start:], False


def comparing(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find where one state is called better or worse than another, by line and by the words that say it."""
    for sentence in said:
        text = sentence.text
        if _STATE_HEADING.search(text):
            yield sentence.line, text.strip("# ")
        elif _PROFILE.search(text) and not _LOAD.search(text):
            continue
        elif change := _GAIN_OR_LOSS.search(text):
            yield sentence.line, change[0]
        elif (state := _OTHER_STATE.search(text)) and _BETTER_OR_WORSE.search(text) and _FIGURE.search(text):
            yield sentence.line, state[0]


def quotes(said: Sequence[Sentence]) -> Iterator[Quote]:
    """Read the latencies that sentences give to percentiles and means."""
    for sentence in said:
        rates = {rate for rate in map(_rate, _RATE.finditer(sentence.text)) if rate}
        rate = rates.pop() if len(rates) == 1 else None
        for match in _QUOTED.finditer(sentence.text):
            level = _decimal(match["level"]) / 100
            if (value := _time_us(match)) and level > 0:
                yield Quote(sentence.line, round(level, 9), value)
        for match in _BEYOND.finditer(sentence.text):
            if value := _time_us(match):
                yield Quote(sentence.line, round(1 - _decimal(match["share"]) / 100, 9), value, at_least=True)
        if (mean := _MEAN.search(sentence.text)) and (value := _time_us(mean)):
            yield Quote(sentence.line, None, value, rate_rps=rate)


def held(said: Sequence[Sentence]) -> Iterator[tuple[int, float]]:
    """Find the rates that sentences say are held, by line."""
    for sentence in said:
        verb = _HOLDS.search(sentence.text)
        if verb and not _NOT.search(sentence.text):
            rates = {rate for rate in map(_rate, _RATE.finditer(sentence.text)) if rate}
            if len(rates) == 1:
                yield sentence.line, rates.pop()


def claims(said: Sequence[Sentence]) -> Iterator[Claim]:
    """Find the sentences that call the new state faster or slower than the old one."""
    for sentence in said:
        text = sentence.text
        faster, slower = _FASTER.search(text), _SLOWER.search(text)
        new, old = _NEW.search(text), _OLD.search(text)
        if _PROFILE.search(text) or bool(faster) == bool(slower) or new is None:
            continue
        verb = faster or slower
        if verb is None or (old and old.start() < verb.start() and old.start() < new.start()):
            continue  # whose the verb is can't be told
        levels = [match for match in _AT_LEVEL.finditer(text) if match["level"] or match["short"]]
        level = None
        if len(levels) == 1:
            digits = levels[0]["level"] or levels[0]["short"]
            level = _decimal(digits) / 10 ** len(digits) if levels[0]["short"] else _decimal(digits) / 100
        yield Claim(sentence.line, faster is not None, level)


def explained_by_jit(said: Sequence[Sentence]) -> Iterator[Sentence]:
    """Find the sentences that explain a latency by the compiler or by warm-up."""
    yield from (
        each
        for each in said
        if _JIT.search(each.text) and _SHAPE.search(each.text) and _BETTER_OR_WORSE.search(each.text)
    )


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _time_us(match: re.Match[str]) -> float | None:
    unit = match["unit"].lower()
    plain = _PLAIN.get(unit, "s" if unit.startswith(("секунд", "second")) else unit)
    return units.time_us(match["value"].replace(",", ".") + plain)


def _rate(match: re.Match[str]) -> float | None:
    text = match[1] or match[2]
    return float(text[:-1]) * 1000 if text[-1] in "kкKК" else float(text)
