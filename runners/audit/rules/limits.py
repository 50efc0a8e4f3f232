"""What an author says of a limit, held against the figure that he gives for it; and of load, against his runs.

    | p95 | < 500 ms | 652 ms | PASS |        - p95: 652 ms (target: <500 ms) ✓        All requests stayed under 500 ms.

A row or an item counts only if it has one limit, and figures of the same kind that are clearly no other thing's.
Of a system under load he says that it had no errors, did not slow down, or served so many users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.audit.rule import Group, Seen, achieved_rps, central_us, largest_us
from runners.audit.rules.comparing import NOT_MEASURED
from runners.audit.rules.sentences import HOPED_FOR, Sentence, called_faultless, called_undegraded
from runners.audit.rules.subjects import CONCLUDES, named
from runners.audit.rules.tables import is_latency, level_of, read
from runners.readers import context, write
from runners.readers.documents import Line
from runners.readers.figure_names import RATE_UNIT, TIME_UNIT, UNITS_US
from runners.readers.output import Output

ROUNDED = 0.005
ABOUT = 0.05
MOST_CELLS = 12
_NUMBER = r"\d{1,3}(?:[, \u00a0]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"


def _named(of: str) -> str:
    """Give the pattern of a number with its unit, whose groups begin with `of`."""
    kilo = rf"(?P<{of}kilo>k(?=rps|qps|tps| ?req))?"
    return rf"(?P<{of}number>{_NUMBER})\s?{kilo}\s?(?P<{of}unit>%|{RATE_UNIT}|{TIME_UNIT})(?![^\W\d_가-힣])"


_UPPER = (
    r"<\s?=?|\u2264|\b(?:under|below|less than|at most|no more than|up to)\b|(?:не более|менее|меньше|до)\b"
    r"|小于|低于|不超过"
)
_LOWER = r">\s?=?|\u2265|\b(?:at least|not less than|more than)\b|(?:не менее|более)\b|大于|高于|不低于"
_LIMIT = re.compile(
    rf"(?i)(?:(?P<upper>{_UPPER})|(?P<lower>{_LOWER}))\s?{_named('')}"
    rf"|{_named('behind_')}\s?(?:(?P<most>이하|미만|이내|以内|以下|未満|之内)|(?P<least>이상|以上))"
)
_FIGURE = re.compile(rf"(?<![\w.,/-])(?P<about>[~\u2248])?\s?{_named('')}", re.IGNORECASE)
_MET = re.compile(
    r"(?i)[\u2705\u2714\u2713\u2611]|\b(?:pass(?:ed|es)?|met|meets|ok|achieved|satisfied)\b|达标|通过|满足|통과|충족"
    r"|달성|만족|達成|合格|выполнен\w*|соблюд\w+|\b(?:cumple|cumplid[oa]|atendid[oa])\b"
)
_MISSED = re.compile(
    r"(?i)[\u274c\u2717\u2718\u26a0\u2716]|[\U0001f534\U0001f7e0\U0001f7e1]|\b(?:fail\w*|miss(?:ed|es)?"
    r"|not? (?:met|ok|pass\w*)|near|partial\w*|accept\w+|expected|above|below|breach\w*|except\w*|before|n/a)\b"
    r"|未达|不达标|미달|초과|실패|未達|不合格|не (?:выполн|соблюд)\w*|\bno cumple\b"
)
#: Every limit is said to be kept.
_LIMITS = r"(?:thresholds?|targets?|SL[OA]s?|criteria|requirements|goals|objectives)"
_ALL_MET = re.compile(
    rf"(?i)\ball (?:of )?(?:(?!\d)\w+ ){{0,4}}?{_LIMITS}\b(?: \w+){{0,2}}? (?:pass(?:ed)?|met|achieved|satisfied|green"
    r"|fulfilled|exceeded)\b"
    rf"|\b(?:meets|met|passes|passed|satisfies|exceeds) all (?:of )?(?:\w+ ){{0,3}}?{_LIMITS}\b"
    r"|(?:所有|全部)(?:阈值|指标|目标|SL[OA])[^。.]{0,6}(?:通过|达标|满足|达成)"
    r"|모든 ?(?:임계값?|임계치|목표|기준|SL[OA]|threshold)[^.]{0,8}(?:통과|충족|달성|만족)"
    r"|(?:все) (?:пороги|требования|SL[OA]|цели|критерии) (?:\w+ )?(?:выполнены|соблюдены|пройдены)"
)
_ALL = r"(?:\b(?:all|every|each|no|none of the)\b|\b100 ?%)"
#: Every response is said to have come within a time.
_ALL_WITHIN = re.compile(
    rf"(?i){_ALL}(?: of)?(?: the)? (?:\w+ ){{0,2}}?(?:requests?|responses?|endpoints?|calls?|apis?|response times"
    r"|latencies)\b[^.|\d<]{0,32}?(?:under|below|within|less than|faster than|longer than|slower than|exceed(?:s|ed)?"
    rf"|above|over|<)\s?{_named('')}"
    rf"|(?:所有|全部)(?:接口|请求|响应|API)[^。\d]{{0,16}}?{_named('zh_')}"
    rf"|모든 ?(?:API|요청|응답|엔드포인트)[^.\d]{{0,20}}?{_named('ko_')}\s?(?:이내|미만|이하)"
)
_OF_SOME = re.compile(
    r"(?i)\b(?:average|avg|mean|median|most|typical\w*|almost|nearly|except|but|about|around)\b|平均|평균|средн"
)
_PASSED = re.compile(r"(?i)^(?:pass(?:ed|es)?|✓|通过|통과)$")
_FAILED = re.compile(r"(?i)^(?:fail(?:ed|s|ures)?|✗|失败|실패)$")


@dataclass(frozen=True, slots=True)
class Checked:
    """A limit with the figure that is held against it: whether it is kept, and what its author says."""

    line: int
    limit: str
    figure: str
    kept: bool
    said: bool | None


@dataclass(frozen=True, slots=True)
class _Quantity:
    kind: str  # time, share or rate
    value: float
    text: str
    about: bool = False


def contradicted(group: Group, said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find what an author says of limits that his own figures contradict, by line."""
    found = list(checked(group[0].prose))
    for each in found:
        if each.said and not each.kept:
            yield each.line, f"says that the limit {each.limit} is kept: the figure is {each.figure}"
    heads = [line for line in group[0].prose if line.text.startswith("#")]
    for sentence in said if any(not each.kept for each in found) else ():
        if not _ALL_MET.search(sentence.text) or sentence.text.count("|") > 1 or _except(sentence.text):
            continue
        begin, end, heading = _section(heads, sentence.line)
        inside = [each for each in found if begin <= each.line < end]
        lost = next((each for each in (inside or found) if not each.kept), None)
        if lost and (inside or CONCLUDES.search(heading) or not heading):
            yield sentence.line, f"says that all limits are kept: {lost.limit} is not, by line {lost.line}"
    yield from _all_within(group, said)
    yield from _checks(group)


def _except(text: str) -> bool:
    return re.search(r"(?i)\b(?:except|but|besides|not all|if|should|would|when|until|unless)\b|<", text) is not None


def _section(heads: Sequence[Line], at_line: int) -> tuple[int, float, str]:
    above = [line for line in heads if line.number <= at_line]
    end = next((line.number for line in heads if line.number > at_line), float("inf"))
    return (above[-1].number if above else 0), end, (above[-1].text if above else "")


def checked(prose: Sequence[Line]) -> Iterator[Checked]:
    """Find the limits with figures: in the rows of tables, and in items and lines."""
    for table in read(prose):
        sides = {context.change((cell,)) for cell in table.head} - {None}
        for line, cells in table.rows:
            if len(cells) <= MOST_CELLS and not sides:
                yield from _of_row(line, cells, table.head)
    for alone in prose:
        if alone.text.count("|") < 2 and len(alone.text) <= context.LONGEST_LINE:
            yield from _of_row(alone.number, (alone.text,), ())


def _of_row(line: int, cells: Sequence[str], head: Sequence[str]) -> Iterator[Checked]:
    limits: list[tuple[bool, _Quantity]] = []
    figures: list[_Quantity] = []
    in_brackets: list[_Quantity] = []
    for index, cell in enumerate(cells):
        text = re.sub(r"[*`]", "", cell)
        for match in _LIMIT.finditer(text):
            upper = bool(match["upper"] or match["most"])
            limits.append((upper, _read(match, "behind_" if match["behind_number"] else "")))
        rest = _LIMIT.sub(" ", text)
        if index < len(head) and re.search(r"(?i)change|margin|diff|notes?|headroom|변화|备注|비고", head[index]):
            continue
        outside = re.sub(r"\([^()]*\)", " ", rest)
        figures += [_read(match) for match in _FIGURE.finditer(outside)]
        in_brackets += [
            _read(match) for inside in re.findall(r"\([^()]*\)", rest) for match in _FIGURE.finditer(inside)
        ]
    if len(limits) != 1:
        return
    upper, limit = limits[0]
    own = [each for each in figures if each.kind == limit.kind] or [
        each for each in in_brackets if each.kind == limit.kind
    ]
    if len(own) != 1:
        return
    (figure,) = own
    whole = " ".join(cells)
    met, not_met = _MET.search(whole), _MISSED.search(whole)
    slack = ABOUT if figure.about or limit.about else ROUNDED
    kept = figure.value <= limit.value * (1 + slack) if upper else figure.value >= limit.value * (1 - slack)
    yield Checked(
        line, limit.text.strip(), figure.text.strip(), kept, None if bool(met) == bool(not_met) else bool(met)
    )


def _read(match: re.Match[str], of: str = "") -> _Quantity:
    """Read the number and the unit of the groups that begin with `of`."""
    unit = match[f"{of}unit"]
    digits = re.sub(r"[ \u00a0]|,(?=\d{3}(?:\D|$))", "", match[f"{of}number"]).replace(",", ".")
    scale = UNITS_US.get(unit.lower())
    kind = "share" if unit == "%" else "time" if scale else "rate"
    about = match.groupdict().get("about") is not None
    return _Quantity(kind, float(digits) * (1000 if match[f"{of}kilo"] else 1) * (scale or 1.0), match[0], about)


def _all_within(group: Group, said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Hold sentences that say of all responses that they came within a time against percentiles and maxima."""
    for sentence in said:
        text = sentence.text
        match = _ALL_WITHIN.search(text)
        if not match or text.count("|") > 1 or NOT_MEASURED.search(re.sub(r"<", "", text)) or _OF_SOME.search(text):
            continue
        limit = _read(match, next(of for of in ("", "zh_", "ko_") if match[f"{of}number"]))
        if limit.kind != "time" or level_of(text) is not None:
            continue
        longer = [(output, longest) for output in group if (longest := _longest(output))]
        longer = [each for each in longer if each[1] > limit.value * (1 + ROUNDED)]
        if longer:
            yield sentence.line, f"says {match[0]!r}: {write.latency(longer[0][1])} at line {longer[0][0].line}"


def _longest(output: Output) -> float | None:
    """Give the longest time that an output is known to have had."""
    known = [largest_us(output), *(value for _, value in output.report.latencies.rows)]
    return max((value for value in known if value is not None), default=None)


def _checks(group: Group) -> Iterator[tuple[int, str]]:
    """Find rows of checks that no response failed, of a time that the run with as many requests exceeded."""
    for table in read(group[0].prose):
        heads = [re.sub(r"[*`\s]", "", cell) for cell in table.head]
        passed = next((index for index, cell in enumerate(heads) if _PASSED.match(cell)), None)
        failed = next((index for index, cell in enumerate(heads) if _FAILED.match(cell)), None)
        for line, cells in table.rows:
            limit = _LIMIT.search(cells[0])
            if (
                passed is None
                or failed is None
                or limit is None
                or not limit["upper"]
                or len(cells) <= max(passed, failed)
            ):
                continue
            within = _read(limit)
            count = re.sub(r"\D", "", cells[passed])
            if within.kind != "time" or not count or re.sub(r"\D", "", cells[failed]) != "0":
                continue
            for output in group:
                longest = largest_us(output)
                if output.report.requests == int(count) and longest and longest > within.value * (1 + ROUNDED):
                    yield (
                        line,
                        f"says that all {write.count(int(count))} took {limit[0]}: one took {write.latency(longest)}",
                    )


LEAST_DENIED = 1e-4  # of responses that are errors, where a text says that none is: a summary rounds what is less
MORE_LOAD = 2.0
MUCH_SLOWER = 3.0
LITTLE_MORE = 1.2  # by which a rate that rises with the load does so at least
LESS_DONE = 0.9
SAME_LOAD = 0.02
MANY_FAILED = 0.05
BEYOND_ALL = 1.5  # by which what is handled exceeds all that was tried
OF_PROPORTION = 0.6  # of the growth of the load, below which no rate is proportional to it
_HANDLES = re.compile(
    r"(?i)\b(?:handle[sd]?|support(?:s|ed)?|sustain(?:s|ed)?|serve[sd]?|cope[sd]? with|withst(?:ands?"
    r"|ood))\b[^.|\d]{0,30}?(?<![\w.])(?P<number>\d{1,3}(?:,\d{3})+|\d{1,7})\s?(?P<kilo>k)?\+?\s?(?:(?:concurrent"
    r"|simultaneous|virtual|active|parallel) ){0,2}(?:users?|VUs?|connections|clients)\b|(?:выдержива\w+|обслужива\w+"
    r"|справля\w+ \w)[^.|\d]{0,20}?(?P<ru>\d{1,7}) (?:\w+ )?(?:пользовател\w+|соединени\w+|VU)|(?:支持|支撑"
    r"|承受)[^。|\d]{0,8}?(?P<zh>\d{1,7})\s?(?:个)?(?:并发|用户|连接)|(?P<ko>\d{1,7})\s?(?:명|VU)[^.|\d]{0,20}?(?:처리"
    r"|수용|감당|버[텨틴])"
)
_PROPORTIONAL = re.compile(
    r"(?i)\b(?:scal(?:e[sd]?|ing|ability)\b[^.|]{0,30}?\b(?:near-?|almost |roughly )?(?:linear(?:ly)?"
    r"|proportional(?:ly)?)|(?:linear|proportional) (?:scal\w+|growth|increase)|(?:grows?|increases?|rises?|rose"
    r"|grew) (?:linearly|proportionally)|escal\w+ (?:linealmente|linearmente|proporcional\w*))\b|(?:线性|成比例)(?:扩展"
    r"|增长|提升|上升)|선형(?:적|으로)?[^.|]{0,6}(?:확장|증가)|(?:линейно|пропорционально) (?:\w+ )?(?:раст|масштаб"
    r"|увелич)\w+"
)
_NOT = re.compile(
    r"(?i)\b(?:not?|never|until|up to|fails?|failed|cannot|can't|sub-?linear\w*|rather than|не|ни)\b|n't\b"
    r"|[不没未]|안 |못"
)


def loads_contradicted(group: Group, said: Sequence[Sentence]) -> Iterator[Seen]:
    """Find what is said of the load that the runs contradict."""
    yield from _faults_denied(group, said)
    for sentence, words in called_undegraded(said):
        if worse := _degraded(group, is_latency(sentence.text)):
            text = f"line {sentence.line} says {words!r}: {worse[1]}"
            yield Seen(worse[0], text, {"said_at_line": sentence.line})
    for sentence in said:
        aside = sentence.text.count("|") > 1 or NOT_MEASURED.search(sentence.text) or HOPED_FOR.search(sentence.text)
        if aside or _NOT.search(sentence.text):
            continue
        match = _HANDLES.search(sentence.text)
        if match and (most := _most_connections(group)) and _count(match) > BEYOND_ALL * most:
            text = f"line {sentence.line} says {match[0]!r}: no run had more than {write.count(most)} connections"
            yield Seen(group[-1], text, {"said_at_line": sentence.line})
        elif match and (failed := _failed_at(group, _count(match))):
            share = write.percent(share_of_errors(failed))
            text = f"line {sentence.line} says {match[0]!r}: {share} of the responses of this run are errors"
            yield Seen(failed, text, {"said_at_line": sentence.line})
        if (match := _PROPORTIONAL.search(sentence.text)) and (less := _less_than_proportional(group)):
            text = f"line {sentence.line} says {match[0]!r}: {less[1]}"
            yield Seen(less[0], text, {"said_at_line": sentence.line})


def _count(match: re.Match[str]) -> float:
    text = match["number"] or match["ru"] or match["zh"] or match["ko"]
    return float(text.replace(",", "")) * (1000 if match["kilo"] else 1)


def _most_connections(group: Group) -> int | None:
    """Give the most connections that a run had; None where a run does not say, or all had as many."""
    known = {run.connections for run in group}
    return max(filter(None, known)) if len(known) > 1 and all(known) else None


def _failed_at(group: Group, users: float) -> Output | None:
    """Give a run of so many users of which much failed, if each with so many did."""
    runs = [run for run in group if run.connections and abs(run.connections / users - 1) <= SAME_LOAD] if users else []
    failed = [run for run in runs if share_of_errors(run) >= MANY_FAILED]
    return failed[-1] if failed and len(failed) == len(runs) else None


def _less_than_proportional(group: Group) -> tuple[Output, str] | None:
    """Give the run at the highest load and how its rate grew, unless a series of runs grew with its load."""
    found = None
    for first, last in _ends(group):
        rate, now = achieved_rps(first), achieved_rps(last)
        grown = (last.connections or 0) / (first.connections or 1)
        if not rate or not now:
            continue
        if now / rate >= OF_PROPORTION * grown:
            return None
        loads = f"{write.count(first.connections or 0)} to {write.count(last.connections or 0)}"
        found = last, f"from {loads} connections the rate went from {write.rate(rate)} to {write.rate(now)}"
    return found


def _ends(group: Group) -> Iterator[tuple[Output, Output]]:
    """Give the runs at the lowest and the highest load of each series: of runs with one name at several loads."""
    series: dict[frozenset[str], list[Output]] = {}
    for output in group:
        if output.connections:
            series.setdefault(named(output), []).append(output)
    for runs in series.values():
        first, last = (pick(runs, key=lambda run: run.connections or 0) for pick in (min, max))
        if (last.connections or 0) >= MORE_LOAD * (first.connections or 0):
            yield first, last


def _faults_denied(group: Group, said: Sequence[Sentence]) -> Iterator[Seen]:
    """Hold sentences that say that no request failed against the runs of their section, or of all in conclusions."""
    headings = [(line.number, line.text) for line in group[0].prose if line.text.startswith("#")]
    failed = [output for output in group if share_of_errors(output) >= LEAST_DENIED]
    for sentence, words, of_all in called_faultless(said) if failed else ():
        above = [each for each in headings if each[0] <= sentence.line]
        begin, heading = above[-1] if above else (0, "")
        end = next((number for number, _ in headings if number > sentence.line), None)
        inside = [output for output in group if begin <= output.line and (end is None or output.line < end)]
        concludes = not inside and (of_all or len(failed) == len(group)) and CONCLUDES.search(heading)
        if (inside and all(output in failed for output in inside)) or concludes:
            output = (inside or failed)[-1]
            share = write.percent(share_of_errors(output))
            text = f"line {sentence.line} says {words!r}: {share} of the responses of this run are errors"
            yield Seen(output, text, {"said_at_line": sentence.line})


def share_of_errors(output: Output) -> float:
    report = output.report
    return max(report.error_share or 0.0, report.errors / report.requests if report.requests else 0.0)


def _degraded(group: Group, latency: bool | None) -> tuple[Output, str] | None:
    """Give the run at the highest load, and how it is worse than at the lowest; None unless each series has such a one.

    A series is of runs with one name at several numbers of connections. Where a sentence does not say what of them is
    no worse, both must be: the latency, and a rate that did not rise with the load.
    """
    found = None
    for first, last in _ends(group):
        was, became, rate, now = (
            central_us(first),
            central_us(last),
            achieved_rps(first),
            achieved_rps(last),
        )
        slower = was and became and became > MUCH_SLOWER * was
        fell = rate and now and now < (LESS_DONE if latency is False else LITTLE_MORE) * rate
        if not (fell if latency is False else slower if latency else slower and fell):
            return None
        figures = f"{write.latency(was or 0)} to {write.latency(became or 0)}" if latency is not False else ""
        rates = f"{write.rate(rate)} to {write.rate(now)}" if rate and now and latency is not True else ""
        moved = write.listed(filter(None, (figures, rates)))
        loads = f"{write.count(first.connections or 0)} to {write.count(last.connections or 0)}"
        found = last, f"from {loads} connections its figures went from {moved}"
    return found
