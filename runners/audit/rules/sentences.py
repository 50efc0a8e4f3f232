"""What the author of a document says of the figures: sentences, and what they claim. English and Russian, no other.

Words decide here, so each pattern is narrow: a claim that is not recognised is not known, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runners.audit.rules.tables import Change, is_latency, level_of
from runners.readers import context, units
from runners.readers.documents import Line

#: Where a sentence ends: not at the point of a number or of an abbreviation such as `т.к.`.
_END = re.compile(r"(?<!\b\w)(?<!\bvs)[.!?;]+(?=\s|$)|[。！？；]+")
#: A link to a picture, whose text is its caption.
_OF_A_PICTURE = re.compile(r"(?<!!)\[[^\]\[]{0,120}\]\([^)\s]+\.(?:png|jpe?g|gif|svg|webp)\)", re.IGNORECASE)
_ALONE = re.compile(r"^\s*(?:#|\||[-*+]\s|\d+[.)]\s|>|```|$)")  # a line that goes on no sentence before it
_UNDERLINE = re.compile(r"^\s{0,3}(?:=+|-{3,})\s*$")
_TITLE = re.compile(r"^[^\W\d_][^|]{2,80}$")
UNIT = r"(?:мкс|мс|ms|us|µs|μs|секунд\w*|сек|seconds?|sec|msec|с|s)"
NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_PLAIN = {"мкс": "us", "мс": "ms", "msec": "ms", "с": "s", "сек": "s", "sec": "s"}

#: How one state is to another.
BETTER_OR_WORSE = re.compile(
    r"(?i)\b(?:лучше|хуже|быстрее|медленнее|выше|ниже|больше|меньше|снизи\w*|снижа\w+|улучш\w+|ухудш\w+|прирост\w*"
    r"|просел\w*|просад\w+|упал\w*|вырос\w*|выросл\w*|возрос\w*|возрастани\w*|снижени\w*|давал\w* следующие|увеличи\w*"
    r"|увеличива\w+|уменьш[иа]\w*|сократи\w*|деградир\w+|выигр\w+|проигр\w+|обгоня\w+|справля(?:ется|ются|л\w+)"
    r"|выдержива(?:ет|ют|л\w*)|держать|держал\w*|поднять|потеря\w+|измени\w+|отлича\w+|отличи\w+|повлия\w+"
    r"|сопоставим\w*|faster|slower|better|worse|improve[ds]?|improvements?|regress\w*|outperform\w*|speed-?ups?)\b"
)
#: What a profile shows, which needs no repeated load.
PROFILE = re.compile(
    r"(?i)\b(?:ал+окац\w+|ал+оцир\w+|alloc\w*|с[эе]мпл\w*|samples?|профил\w+|profile\w*|лок(?:и|ов|а|ами|ах)?|locks?"
    r"|блокиров\w+|cpu|процессорн\w+|памят\w+|стек\w*|граф\w*|heap\w*|сборк\w+ мусора|итератор\w*)\b"
)
_TIME = re.compile(rf"(?P<value>{NUMBER})\s?(?P<unit>{UNIT})")
_ORDINAL = r"(?:-?(?:ым|[ое]м|[ое]го|[ыи]й|й|м|th))?"
_OF_PERCENTILES = r"(?:\s?(?:%|(?:пер|про)[сц]ентил\w+|percentiles?))?"
_QUOTED = re.compile(
    rf"(?<![\d.,])(?P<level>\d{{2}}(?:[.,]\d{{1,3}})?){_ORDINAL}\s?(?:%|пер[сц]ентил\w+|процентил\w+|percentile)"
    rf"[^.;%\n]{{0,60}}?(?<![\d.,])(?<!ше на )(?<!же на )(?P<value>{NUMBER})\s?(?P<unit>{UNIT})(?!\w)"
)
_QUOTED_SHORT = re.compile(
    r"(?i)\bp(?P<level>\d{2}(?:\.\d)?)\b(?:[\s:=*`(]|\b(?:latency|response time|of|is|was|at|about|задержк\w"
    r"|составил\w*)\b){1,6}~?"
    rf"(?P<value>{NUMBER})\s?(?P<unit>{UNIT})(?!\w)"
)
#: How far a latency goes from one percentile to another: `between 99% and 99.9%, from 2 ms to 40 ms`.
_BETWEEN = re.compile(
    rf"(?i)(?:между|from|between) (?P<low>\d{{2}}(?:[.,]\d{{1,3}})?){_ORDINAL}{_OF_PERCENTILES} (?:и|до|and|to) "
    rf"(?P<high>\d{{2}}(?:[.,]\d{{1,3}})?){_ORDINAL}{_OF_PERCENTILES}[\s,:(\u2013\u2014-]{{1,6}}(?:[сc]|from) "
    rf"(?P<was>{NUMBER}\s?{UNIT})\w?,? (?:до|to) (?P<became>{NUMBER}\s?{UNIT})"
)
_BEYOND = re.compile(
    rf"(?i)(?<![\d.,])(?P<share>\d(?:[.,]\d{{1,3}})?)\s?% (?:\w+ ){{0,2}}(?:больше|более|дольше|свыше|longer than|above"
    rf"|over) (?P<value>{NUMBER})\s?(?P<unit>{UNIT})(?!\w)"
)
_MEAN = re.compile(
    rf"(?i)\b(?:средн\w+|average|mean) (?:latency|задержк\w+|время ответа)(?:[ :=]|составляет|is|was)*"
    rf"(?P<value>{NUMBER})\s?(?P<unit>{UNIT})(?!\w)"
)
_RATE = re.compile(
    r"\b(?:rate|R)\s?=?\s?(\d{3,7})\b|\b(\d{3,7}|\d{1,3}[kкKК])\s?(?:RPS|rps|запрос\w* в секунд\w+|req/s"
    r"|requests per second)"
)

_HOLDS = re.compile(
    r"(?i)\b(?:выдержива(?:ет|ют)|выдержал\w*|держит|справля(?:ется|ются)|справил\w*|handles|sustains|copes with"
    r"|keeps up|вывоз(?:ит|ят)|вывез(?:л\w*)?)\b"
)
_HOLDS_NOT = re.compile(
    r"(?i)\bне (?:выдержива(?:ет|ют)|выдержал\w*|держит|справля(?:ется|ются)|справил\w*|вывоз(?:ит|ят)|вывез(?:л\w*)?)"
    r"|\b(?:(?:does|did|do|could) not|doesn't|didn't|don't|couldn't|cannot|can't|fails? to|failed to)"
    r" (?:handle|sustain|cope with|keep up)"
)
_NOT = re.compile(
    r"(?i)\b(?:не|плохо|перестал\w*|без труда не|едва|only|not|cannot|can't|fails?|barely|пытал\w*|должен|если)\b"
)
_FASTER = re.compile(r"\b(?:обгоня\w+|быстрее|лучше|выигрывает|faster|better|outperforms?)\b", re.I)
_SLOWER = re.compile(r"\b(?:медленнее|хуже|проигрывает|slower|worse)\b", re.I)
_NEW = re.compile(r"\b(?:нов\w+|асинхронн\w+|после|new|async\w*|optimi[sz]ed|after)\b", re.I)
_OLD = re.compile(r"\b(?:стар\w+|прежн\w+|old|previous|before)\b", re.I)
_AT_LEVEL = re.compile(r"(?i)(?<![\d.,])(?P<beyond>>\s?)?(?P<level>\d{2}(?:[.,]\d{1,3})?)\s?%|\bp(?P<short>\d{2,3})\b")
_JIT = re.compile(r"\b(?:JIT\w*|C2|прогре(?!сс)\w+|warm-?up|компиляц\w+)\b", re.I)
_EVEN = re.compile(
    r"(?i)\b(?:(?:consistent|stable|predictable|uniform) (?:\w+ ){0,2}(?:latenc\w+|response times?|performance)"
    r"|(?:minimal|low|little|small) (?:latency )?(?:varia\w+|jitter)(?: in (?:latenc\w+|response times?))?"
    r"|(?:latenc\w+|response times?) (?:\w+ ){0,2}(?:stable|consistent|predictable|uniform)"
    r"|стабильн\w+ (?:задержк\w+|врем\w+ ответа)|(?:задержк\w+|время ответа) стабильн\w+)\b"
)
_FIGURE = r"\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,4})?"
_FROM_TO = re.compile(
    rf"(?i)(?:\bfrom |\()~?(?P<was>{_FIGURE})\s?(?P<unit>[^\W\d_]{{1,5}}(?:/s)?)?\s?(?:->|\u2192|=>|vs\.?|to)\s?~?"
    rf"(?P<became>{_FIGURE})\s?(?P<other>[^\W\d_]{{1,5}}(?:/s)?)?(?![\w.,]*\d)(?!\s?(?:->|\u2192|=>|vs))"
)
_PERCENT_CHANGE = re.compile(
    r"(?i)\b(?:improv\w+|dropp?(?:s|ed)?|fell|rose|grew|increas\w+|decreas\w+|reduc\w+|cut|down|up|by|of)\s(?:by "
    r"|about |around |~)?(\d{1,3}(?:\.\d{1,2})?)\s?%|(?<![\w.])(\d{1,3}(?:\.\d{1,2})?)\s?% (?:faster|slower|higher"
    r"|lower|improvement|reduction|increase|drop)"
)
_FACTOR = re.compile(
    r"(?i)(?<![\w.,\u2192>-])(\d{1,4}(?:\.\d{1,2})?)\s?(?:[x\u00d7](?![\w\s]*\d)|times (?:faster|slower|higher"
    r"|lower|more|less)|倍|배)"
)
_ANOTHER_CLAUSE = re.compile(r"(?i)\b(?:but|while|whereas|although|а|но|однако)\b")
_NO_ERRORS = re.compile(
    r"(?i)\b(?:zero|no|0) (?:(?:request|http|api|observed|reported|single|client) )?(?:errors?|failures"
    r"|failed requests)\b|\bwithout (?:any |a single )?(?:errors?|failures?)\b|\b(?:error|failure) rate (?:of |was |is "
    r"|stayed at |: ?)?0(?:\.0+)?\s?%|\bsuccess (?:rate )?(?:(?:stays|stayed|remains|remained|is|was|of|at"
    r"|: ?) ?)*100(?:\.0+)?\s?%|\b100(?:\.0+)?\s?% (?:success\b(?! criteria)|of (?:the |all )?requests (?:were )?succe)"
    r"|\bбез (?:единой )?ошибок|\bни одной ошибки|\b0 ошибок|\bсбоев и ошибок нет|[无零]错误|没有错误"
    r"|错误率为? ?0(?:\.0+)?%|(?:에러|오류) ?없이|\b(?:sin errores|sem erros|sans erreurs?)\b"
)
#: Errors of one kind: that there were none of them says nothing of the others.
_OF_ONE_KIND = re.compile(
    r"(?i)\b(?:5xx|500|50\d|server(?:-side)? errors?|internal|unexpected|system|socket|connection|network|memory|data"
    r"|consistency|integrity|validation|type|compil\w+|lint\w*|серверн\w+)\b"
)
_NO_DEGRADATION = re.compile(
    r"(?i)\b(?:no|without|zero|little) (?:any )?(?:(?:performance|latency|throughput|significant|visible|noticeable"
    r"|measurable|service) ){0,2}(?:degradation|slow-?down)\b|\b(?:does|did) not degrade\b|\b(?:performance|throughput"
    r"|latency|latencies|response times?) (?:remain(?:s|ed)?|stay(?:s|ed)?) (?:\w+ )?(?:stable|flat|constant"
    r"|consistent)\b|\bбез (?:заметной )?деградаци\w+|\bне деградир\w+|\bsem degradação|\bsin degradación"
    r"|\bsans dégradation|性能(?:没有|无)(?:明显)?(?:下降|衰减)|성능 저하 ?없이"
)
#: What says of which part of the loads no degradation is meant.
_OF_A_PART = re.compile(r"(?i)\b(?:up to|until|till|below|under \d|at \d|for \d|before|после|до)\b|以内|以下|까지")
_OF_ALL = re.compile(
    r"(?i)\b(?:all|every|any|each|always|never|throughout|entire|whole|both|across|stay(?:s|ed)?|remain(?:s|ed)?"
    r"|все[хм]?|всех|любой|ни разу|todas?|todos|toutes?|tous)\b|所有|全部|全程|각|모든|전체"
)
_SHAPE = re.compile(
    r"(?i)\b(?:плато|plateau|ступеньк\w+|медиан\w+|median|p50|50 ?%|latency|задержк\w+|обгоня\w+|быстрее|faster)"
)


_WAYS = {
    "up": r"increased|rose|grew|higher|вырос(?:л\w+)?|увеличил\w*|возрос\w*|повысил\w*",
    "down": r"decreased|dropped|fell|reduced|lower(?:ed)?|снизил\w*|упал\w*|уменьшил\w*|сократил\w*",
    "better": r"improved|improves|better|улучшил\w*|лучше",
    "worse": r"degraded|worse|regressed|ухудшил\w*|хуже",
}
#: The same in Chinese, Japanese and Korean, which need no ends of words.
_WAYS_CJK = {
    "up": "增加|上升|증가|상승",
    "down": "降低|下降|减少|감소",
    "better": "提升|改善|缩短|优化了|개선|향상|단축|向上|短縮",
    "worse": "恶化|变慢|악화|저하|悪化",
}
_WAY = {way: re.compile(rf"\b(?:{words})\b|{_WAYS_CJK[way]}", re.IGNORECASE) for way, words in _WAYS.items()}
_NOT_SAID_CJK = re.compile(
    r"필요|예상|목표|기대|권장|가능|계획|예정|방안|검토|위해|하면|않|없|못|建议|预计"
    r"|预期|可以|应该|需要|如果|目标|计划|未|没有|无|不|必要|予定|期待|目標|ない"
)
_OPERATION = re.compile(r"(?i)\b(?:get|put|post|delete|scan|reads?|writes?|чтени\w|запис\w+|вставк\w)\b|/\w[\w/-]+")
_BY_PERCENT = re.compile(r"\b(?:by|на|of)\s+(?:about |around |~|≈|примерно )?(\d+(?:[.,]\d+)?)\s?%", re.IGNORECASE)
HOPED_ZH = "应[该能]|预计|预期|建议|目标|估[算计]|理论上"
HOPED_FOR = re.compile(
    r"(?i)\b(?:should|could|would|may|might|will|can be|recommend\w*|expected|if|target|goal|должн\w+|ожида\w+|можно"
    rf"|если)\b|{HOPED_ZH}"
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


@dataclass(frozen=True, slots=True)
class Gain:
    """A sentence that says how a latency (at a percentile) or a rate moved, by how much, and of which operations."""

    line: int
    is_latency: bool
    level: float | None
    rose: bool
    percent: float | None
    of: frozenset[str]


def sentences(prose: Sequence[Line]) -> list[Sentence]:
    """Split what an author wrote into sentences; a heading, an item of a list and a row of a table stand alone."""
    found: list[Sentence] = []
    part, begin, last = "", 0, 0
    for line in _marked(prose):
        if len(line.text) > context.LONGEST_LINE:
            continue  # nobody wrote that as prose
        text = context.spaced(context.ADDRESS.sub("", _OF_A_PICTURE.sub("", line.text))).strip().rstrip("\\").strip()
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


def _marked(prose: Sequence[Line]) -> Iterator[Line]:
    """Mark headings that are underlined, and set bars around the rows of tables that stand without them."""
    for before, line, after in zip((None, *prose), prose, (*prose[1:], None), strict=False):
        above = before if before and before.number == line.number - 1 else None
        below = after if after and after.number == line.number + 1 else None
        if above and _UNDERLINE.match(line.text) and _TITLE.match(above.text):
            continue
        bars = line.text.count("|")
        if below and not above and _TITLE.match(line.text) and _UNDERLINE.match(below.text):
            yield replace(line, text=f"# {line.text.strip()}")
        elif (
            bars > 1
            and not line.text.lstrip().startswith("|")
            and any(each and each.text.count("|") == bars for each in (above, below))
        ):
            yield replace(line, text=f"| {line.text.strip()} |")
        else:
            yield line


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a line at the ends of sentences; tell of each piece whether it ends one."""
    start = 0
    for end in () if text.startswith("#") else _END.finditer(text):
        yield text[start : end.end()], True
        start = end.end()
    if text[start:].strip():
        yield text[start:], False


def quotes(said: Sequence[Sentence], short: bool = True) -> Iterator[Quote]:
    """Read the latencies that sentences give to percentiles and means; `short` says whether `p95 of 2 ms` counts."""
    for sentence in said:
        rates = {rate for rate in map(_rate, _RATE.finditer(sentence.text)) if rate}
        rate = rates.pop() if len(rates) == 1 else None
        brief = short and sentence.text.count("|") < 2
        for match in (*_QUOTED.finditer(sentence.text), *(_QUOTED_SHORT.finditer(sentence.text) if brief else ())):
            level = _decimal(match["level"]) / 100
            if (value := _time_us(match)) and level > 0:
                yield Quote(sentence.line, round(level, 9), value)
        for match in _BETWEEN.finditer(sentence.text):
            for at, of in (("low", "was"), ("high", "became")):
                if (time := _TIME.match(match[of])) and (value := _time_us(time)):
                    yield Quote(sentence.line, round(_decimal(match[at]) / 100, 9), value)
        for match in _BEYOND.finditer(sentence.text):
            if value := _time_us(match):
                yield Quote(sentence.line, round(1 - _decimal(match["share"]) / 100, 9), value, at_least=True)
        if (mean := _MEAN.search(sentence.text)) and (value := _time_us(mean)):
            yield Quote(sentence.line, None, value, rate_rps=rate)


def sustained(said: Sequence[Sentence], holds: bool = True) -> Iterator[tuple[int, float, frozenset[str]]]:
    """Find the rates that sentences say are sustained (or not): the line, the rate, the operations that are named."""
    for sentence in said:
        verb = _HOLDS.search(sentence.text) if holds else _HOLDS_NOT.search(sentence.text)
        if verb and not (holds and _NOT.search(sentence.text)):
            rates = {rate for rate in map(_rate, _RATE.finditer(sentence.text)) if rate} | context.called(sentence.text)
            if len(rates) == 1:
                yield sentence.line, rates.pop(), _operations(sentence.text)


def gains(said: Sequence[Sentence]) -> Iterator[Gain]:
    """Find the sentences that say of one figure that it moved one way; what is hoped for or denied is left out."""
    for sentence in said:
        text = sentence.text
        latency, ways = is_latency(text), [way for way, words in _WAY.items() if words.search(text)]
        if latency is None or len(ways) != 1 or "|" in text or text.startswith("#"):
            continue
        if PROFILE.search(text) or _NOT.search(text) or HOPED_FOR.search(text) or _NOT_SAID_CJK.search(text):
            continue
        rose = ways[0] == "up" or (ways[0] == ("worse" if latency else "better"))
        percents = {_decimal(found) for found in _BY_PERCENT.findall(text)}
        without = _BY_PERCENT.sub("", text)
        level = level_of(without) if latency else None
        yield Gain(
            sentence.line, latency, level, rose, percents.pop() if len(percents) == 1 else None, _operations(without)
        )


def _operations(text: str) -> frozenset[str]:
    return frozenset(found.lower() for found in _OPERATION.findall(text))


def claims(said: Sequence[Sentence]) -> Iterator[Claim]:
    """Find the sentences that call the new state faster or slower than the old one."""
    for sentence in said:
        text = sentence.text
        faster, slower = _FASTER.search(text), _SLOWER.search(text)
        new, old = _NEW.search(text), _OLD.search(text)
        if PROFILE.search(text) or bool(faster) == bool(slower) or new is None:
            continue
        verb = faster or slower
        if verb is None or (old and old.start() < verb.start() and old.start() < new.start()):
            continue  # whose the verb is, is not known
        levels = [match for match in _AT_LEVEL.finditer(text) if match["level"] or match["short"]]
        level = None
        if len(levels) == 1:
            digits = levels[0]["level"] or levels[0]["short"]
            level = _decimal(digits) / 10 ** len(digits) if levels[0]["short"] else _decimal(digits) / 100
        yield Claim(sentence.line, faster is not None, level)


def called_even(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find the sentences that call response times even, by line and by the words that say so."""
    for sentence in said:
        if (found := _EVEN.search(sentence.text)) and not (
            _NOT.search(sentence.text) or HOPED_FOR.search(sentence.text)
        ):
            yield sentence.line, found[0]


def miscounted(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find the sentences that give a change in percent and its two figures, of which no way of reckoning gives it."""
    for sentence in said:
        text = re.sub(r"[*`_]", "", sentence.text)
        pairs, percents = (
            list(_FROM_TO.finditer(text)),
            {match[1] or match[2] for match in _PERCENT_CHANGE.finditer(text)},
        )
        factors = {match[1] for match in _FACTOR.finditer(text)}
        if len(pairs) != 1 or len(percents) + len(factors) != 1 or "|" in text or HOPED_FOR.search(text):
            continue
        pair = pairs[0]
        given = next(filter(None, (pattern.search(text) for pattern in (_PERCENT_CHANGE, _FACTOR))))
        between = text[min(given.end(), pair.end()) : max(given.start(), pair.start())]
        if _ANOTHER_CLAUSE.search(between):
            continue
        if (pair["unit"] or "") not in ("", pair["other"] or ""):
            continue
        was, became = (float(pair[name].replace(",", "")) for name in ("was", "became"))
        percent, factor = (_decimal(min(found)) if found else None for found in (percents, factors))
        change = Change(0, "", False, None, was, became, percent, said_factor=factor)
        if was and became and was != became and change.contradicted:
            said_of_it = f"{percent:g} %" if percent is not None else f"{factor:g} times"
            yield sentence.line, f"gives {said_of_it} of {pair[0].strip('( )')}"


def called_faultless(said: Sequence[Sentence]) -> Iterator[tuple[Sentence, str, bool]]:
    """Find the sentences that say that no request failed, by the words that say so and whether they are of all runs."""
    for sentence in said:
        text = sentence.text
        found = _NO_ERRORS.search(text)
        if found and text.count("|") < 2 and not (_OF_ONE_KIND.search(text) or HOPED_FOR.search(text)):
            yield sentence, found[0], _OF_ALL.search(text) is not None


def called_undegraded(said: Sequence[Sentence]) -> Iterator[tuple[Sentence, str]]:
    """Find the sentences that say that no figure gets worse under load, of no part of the loads alone."""
    for sentence in said:
        text = sentence.text
        found = _NO_DEGRADATION.search(text)
        excepted = _OF_A_PART.search(text) or HOPED_FOR.search(text) or PROFILE.search(text)
        if found and text.count("|") < 2 and not text.startswith("#") and not excepted:
            yield sentence, found[0]


def explained_by_jit(said: Sequence[Sentence]) -> Iterator[Sentence]:
    """Find the sentences that explain a latency by the compiler or by warm-up."""
    yield from (
        each
        for each in said
        if _JIT.search(each.text) and _SHAPE.search(each.text) and BETTER_OR_WORSE.search(each.text)
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
