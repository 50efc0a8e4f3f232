"""What an author says of a system under load, held against his runs: no errors, no slowing down, so many users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runners.audit.figures import achieved_rps, typical_us
from runners.audit.rule import Group, Seen
from runners.audit.rules.comparing import NOT_MEASURED
from runners.audit.rules.sentences import HOPED_FOR, Sentence, called_faultless, called_undegraded
from runners.audit.rules.subjects import CONCLUDES, named
from runners.audit.rules.tables import is_latency
from runners.readers import write
from runners.readers.outputs import Output

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
    r"\b(?:handle[sd]?|support(?:s|ed)?|sustain(?:s|ed)?|serve[sd]?|cope[sd]? with|withst(?:ands?|ood))\b[^.|\d]{0,30}?"
    r"(?<![\w.])(?P<number>\d{1,3}(?:,\d{3})+|\d{1,7})\s?(?P<kilo>k)?\+?\s?"
    r"(?:(?:concurrent|simultaneous|virtual|active|parallel) ){0,2}(?:users?|VUs?|connections|clients)\b"
    r"|(?:выдержива\w+|обслужива\w+|справля\w+ \w)[^.|\d]{0,20}?(?P<ru>\d{1,7})"
    r" (?:\w+ )?(?:пользовател\w+|соединени\w+|VU)"
    r"|(?:支持|支撑|承受)[^。|\d]{0,8}?(?P<zh>\d{1,7})\s?(?:个)?(?:并发|用户|连接)"
    r"|(?P<ko>\d{1,7})\s?(?:명|VU)[^.|\d]{0,20}?(?:처리|수용|감당|버[텨틴])",
    re.IGNORECASE,
)
_PROPORTIONAL = re.compile(
    r"\b(?:scal(?:e[sd]?|ing|ability)\b[^.|]{0,30}?\b(?:near-?|almost |roughly )?(?:linear(?:ly)?|proportional(?:ly)?)"
    r"|(?:linear|proportional) (?:scal\w+|growth|increase)"
    r"|(?:grows?|increases?|rises?|rose|grew) (?:linearly|proportionally)"
    r"|escal\w+ (?:linealmente|linearmente|proporcional\w*))\b"
    r"|(?:线性|成比例)(?:扩展|增长|提升|上升)|선형(?:적|으로)?[^.|]{0,6}(?:확장|증가)"
    r"|(?:линейно|пропорционально) (?:\w+ )?(?:раст|масштаб|увелич)\w+",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?i)\b(?:not?|never|until|up to|fails?|failed|cannot|can't|sub-?linear\w*|rather than|не|ни)\b|n't\b"
    r"|[不没未]|안 |못"
)


def contradicted(group: Group, said: Sequence[Sentence]) -> Iterator[Seen]:
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
        was, became, rate, now = typical_us(first), typical_us(last), achieved_rps(first), achieved_rps(last)
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
