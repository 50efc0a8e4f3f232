"""SMP: on how much the figures rest."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from runners.audit.reports import LONGEST_CAPTION, tells
from runners.audit.rule import Group, Seen, at, fell_short, has_queue, largest_us, rule, rule_of_output, samples
from runners.audit.rules.alternatives import named_alike, under_one_load
from runners.audit.rules.comparing import comparing
from runners.audit.rules.sentences import quotes, sentences
from runners.audit.rules.subjects import captioned
from runners.audit.rules.tables import averaged, is_average, is_mean, read
from runners.readers import write
from runners.readers.console_report import ENOUGH_BEYOND, beyond
from runners.readers.documents import Line
from runners.readers.finding import Severity
from runners.readers.other_tools import OTHER_TOOLS, TIMEOUTS_S
from runners.readers.output import Output
from runners.readers.transcribed_run import AT_TIMEOUT

AT_BOUND = 0.98  # of the time-out, as long as a response waits that is given up
JUST_OVER = 1.001  # by which a timer may be late
WHOLE_RUN = 0.9
_LEVEL = re.compile(r"(?<![\d.,])(?:[pP]\s?)?(99[.,]\d{1,3})(?![\d.,]*\d)")
FEW_REPEATS = 3
JUST_MISSED = 5e-4  # of the samples, which some requests without a response may be
#: What an author says of runs whose outputs he does not show.
REPEATED = re.compile(
    r"(?i)\b(?:collected|taken|averaged?|mean|median|best|worst|highest|lowest|fastest|slowest)\b.{0,12} (?:from|of"
    r"|over) (?:\w+ )?(?:[3-9]|\d{2}|three|four|five|ten) runs\b|\b(?:each .{0,40}\b(?:run|ran|executed|measured)"
    r"|repeated|ran each \w+) (?:[3-9]|\d{2}|three|four|five|ten) times\b|\b(?:[3-9]|\d{2}|three|four|five|ten) (?:runs"
    r"|rounds|repetitions|trials) (?:each|per|of each|for each)\b|\b(?:[3-9]|\d{2}|three|four|five|ten) (?:benchmarks"
    r"|tests|measurements|loads|runs) (?:are|were) (?:launched|run|made|taken|executed)\b|\b(?:had|has|have|got|given"
    r"|made|did|performed|executed|after|over|in|with)(?: \w+)? (?:[3-9]|\d{2}|three|four|five|six|ten) (?:(?:test"
    r"|benchmark|separate|independent|consecutive) )?(?:runs|repetitions)\b|\b(?:everything|all (?:\w+ ){0,2}\w+s"
    r"|every \w+|tests?|benchmarks?|it) (?:is|are|was|were|has been|have been) (?:run|ran|executed|repeated|performed"
    r"|measured) (?:[3-9]|\d{2}|three|four|five|ten) times?\b|\b(?:[3-9]|\d{2}|three|five|ten)-run (?:averages?|means?"
    r"|medians?)\b|(?:средн\w+|медиан\w+|лучш\w+) (?:по|из) (?:[3-9]|\d{2}|тр[её]м|тр[её]х|пяти) (?:запуск|прогон"
    r"|замер)\w*|\b(?:запуска|прогоня|повторя|выполня|замеря|измеря|провод)\w+ (?:по )?(?:[3-9]|\d{2}|три|четыре|пять"
    r"|десять) раз\w*|\bпо (?:[3-9]|\d{2}|три|четыре|пять|десять) (?:запуск|прогон|замер|измерени)\w* (?:(?:на"
    r"|для) )?кажд\w+|(?:测试?|测量|运行|执行|重复|压测|跑)了?\s?(?:[3-9三四五六七八九十]|\d{2})\s?[次遍轮]"
    r"|(?<![\d.])(?:[3-9三五十]|\d{2})\s?次(?:测试|运行)?的?(?:平均|中位)|(?<![\d.])(?:[3-9]|\d{2})\s?(?:회"
    r"|번)\s?(?:반복|실행|측정|수행|테스트|평균|중앙값)|(?<![\d.])(?:[3-9]|\d{2})\s?回\s?(?:実行|測定|計測|繰り返"
    r"|の平均|の中央値)|\b(?:repetid|ejecut|executad|corrid|rodad|medid)\w* (?:[3-9]|\d{2}|tres|cinco|três) ve[cz]es\b"
    r"|\b(?:promedio|mediana|média|media) de (?:[3-9]|\d{2}|tres|cinco|três) (?:ejecuciones|execuções|corridas"
    r"|rodadas)\b"
)
_PARAMETER = re.compile(
    r"(?i)^[-+\u2022]\s*(?:-?[tcdrk]\b|.{0,30}\b(?:threads?|connections?|duration|rate|pool\w*|queue|capacity|workers?"
    r"|buffer|batch|heap|поток\w*|соединени\w+|длительност\w+|очеред\w+|пул\w*)\b)[^:=.|]{0,20}[:=]\s*\d"
)
NEAR_LINES = 12
_TYPED = re.compile(
    r"^(?:[$>%#]|console$|bash$|shell$|sh$|text$)|^\S*(?:wrk2?|ab|hey|oha)\s|[$>#] \S*(?:wrk2?|ab|hey|oha)\s"
)
#: An item of a numbered list of settings; a number in it is a load or a port.
_ITEM = re.compile(r"^\d{1,2}[.)]\s+([^\W\d_]\D{0,120})$")
_BOLD = re.compile(r"^\*{2,3}[^*]+\*{2,3}$")
#: Which of several runs a caption is of.
_RUN = re.compile(
    r"(?i)\d+(?:st|nd|rd|th|-?[йяе])?|\b(?:first|second|third|fourth|fifth|again|once more|перв|втор|трет"
    r"|четв[её]рт|пят|ещ[её] раз|повторн)\w*|第.次?"
)
#: A caption or a heading that says which of several runs stands below it, and nothing else.
_RUN_ALONE = re.compile(
    r"(?i)^\W*(?:(?:\d{1,2}(?:st|nd|rd|th)?|first|second|third|fourth|fifth) (?:try|run|attempt|round|pass|time)|(?:try"
    r"|run|attempt|round|pass|попытка|прогон|запуск)[ #№]{0,3}\d{1,2}|(?:перв|втор|трет|четв[её]рт|пят)\w+ (?:попытк"
    r"|прогон|запуск|раз)\w*|第[一二三四五六七八九十\d]{1,2}[次轮遍回])\W*$"
)
LEAST_AGREEING = 4  # percentiles
Rows = tuple[tuple[float, float], ...]
LEAST_COLUMNS = 2  # of a table that holds an average besides
MEDIAN = 0.5  # rests on half of the samples, however few they are
TABLE_LINES = 8  # from the first percentile of a table to its rate
_PERCENTILE = (
    r"(?:p\s?\d{2,3}(?:\.\d+)?\b|\d{2}(?:[.,]\d+)?(?:th|st|nd|-?й|-?го)?[ -]?(?:percentiles?|(?:пер|про)[сц]ентил\w+))"
)
#: An average of percentiles in words, and as a query of a monitoring system asks for it.
_AVERAGED = re.compile(
    rf"(?i)\b(?:averag(?:e|ed|ing)|avg|mean)(?: of)?(?: the| all| its)?(?: \d+)? {_PERCENTILE}"
    rf"|{_PERCENTILE}\s?(?:latency )?(?:\(|is |are |was |were |, )(?:averaged|the average|the mean|mean of"
    rf"|average of|avg of)\b"
    r"|\bavg(?:_over_time)?\s?\([^)]{0,60}(?:quantile|percentile|p9\d)"
    r"|\b(?:percentiles? (?:are|were) averaged|averag(?:ed|e|ing)(?: of)?(?: the)? percentiles?)\b"
    rf"|\b(?:средн(?:ее|ий|яя|его|ие)(?: значени\w+)?|усредн\w+) {_PERCENTILE}"
    r"|\bусредн\w+ (?:\w+ )?(?:пер|про)[сц]ентил\w+|(?:пер|про)[сц]ентил\w+ (?:\w+ )?усредн\w+"
)
_COUNTED = re.compile(r"\b(?:(?:total|number of) (?:\w+ )?requests?|всего запросов|http_reqs)\W{1,20}\d", re.IGNORECASE)
#: By which a reader can reckon, roughly, how many samples an author's own figures rest on.
_RATE_OR_COUNT = re.compile(r"(?i)\d.*(?:requests|req/s|rps|qps|запрос)|(?:requests|req/s|rps|qps|запрос).*\d")
_RATE = re.compile(r"(?i)^\W*req(?:uest)?s?/s(?:ec)?\b\W*\d")
_CENSORED = re.compile(r"\bcensored (\d{1,15})\b")


@rule("SMP001", "few-samples-beyond", Severity.WARNING, "run longer, or leave the percentile out")
def _few_beyond(group: Group) -> Iterator[Seen]:
    """A percentile with fewer than 10 samples beyond it."""
    known = [(output, _thin(output)) for output in group]
    quoted = _quoted(group[0].prose) if any(thin for _, thin in known) else []
    for output, thin in known:
        count, counted = samples(output)
        if not thin or count is None:
            continue
        each_level = write.listed(f"{left} beyond {write.level(level)}" for level, left in thin.items())
        of = f"{'' if counted else 'about '}{write.several(count, 'sample')}"
        text = f"{of}, {each_level}: that is an anecdote, not a percentile"
        evidence: dict[str, write.Value] = {"samples": count, "counted": counted}
        evidence |= {f"beyond_{write.level(level)}": left for level, left in thin.items()}
        others = [other for other, few in known if other is not output and not few.keys() & thin.keys()]
        is_quoted = output.report.transcribed or any(
            level in thin and (output.line in section or not any(other.line in section for other in others))
            for level, section in quoted
        )
        yield Seen(output, text, evidence, None if is_quoted else Severity.NOTE)


def _thin(output: Output) -> dict[float, int]:
    """Count the samples beyond each percentile that has too few of them."""
    count, _ = samples(output)
    levels = [level for level, _ in output.report.latencies.rows if level < 1] if count is not None else []
    left = {level: beyond(count or 0, level) for level in levels}
    return {level: few for level, few in left.items() if few < ENOUGH_BEYOND and not _just_misses(count or 0, level)}


def _just_misses(count: int, level: float) -> bool:
    """Tell whether a round number of requests, of which a few were lost, would be enough: 99,989 for p99.99."""
    return level > 0 and count * (1 - level) > ENOUGH_BEYOND * (1 - JUST_MISSED)


def _quoted(prose: Sequence[Line]) -> list[tuple[float, range]]:
    """Find the high percentiles that a text names, each with the lines of the section in which it does."""
    headings = [line.number for line in prose if line.text.startswith("#") and line.cell is None]
    begins = [0, *headings, sys.maxsize]
    return [
        (round(float(found[1].replace(",", ".")) / 100, 9), range(begins[at - 1], begins[at]))
        for line in prose
        if (levels := list(_LEVEL.finditer(line.text)))
        for at in (bisect_right(begins, line.number),)
        for found in levels
    ]


@rule(
    "SMP002",
    "no-sample-count",
    Severity.WARNING,
    "publish the whole output, or at least requests, duration and errors with the percentiles",
)
def _no_counts(group: Group) -> Iterator[Seen]:
    """Percentiles without their number of samples.

    Find percentiles without their number, unless the document has the whole outputs that most of them are of.
    """
    whole = {output.report.latencies.rows for output in group if output.report.requests is not None}
    found = [(output, seen) for output in group for seen in _no_count(output)]
    shown = sum(1 for output, _ in found if any(_agrees(output.report.latencies.rows, rows) for rows in whole))
    if shown <= len(found) / 2:
        yield from (seen for _, seen in found)


def _agrees(some: Rows, of: Rows) -> bool:
    """Tell whether enough percentiles are those of another output to the last digit."""
    known = dict(of)
    return sum(1 for level, value in some if known.get(level) == value) >= LEAST_AGREEING


def _no_count(output: Output) -> Iterator[Seen]:
    report = output.report
    if report.transcribed or not report.latencies.rows:
        return  # an author's own table may leave out what another section, or a linked page, gives
    if report.latencies.count is not None or report.requests is not None:
        return
    if output.tool in OTHER_TOOLS and report.requests_per_s is not None:
        return
    near = (line for line in output.prose if abs(line.number - output.line) <= TABLE_LINES + output.column)
    if any((line.text.count("|") > 1 and _RATE_OR_COUNT.search(line.text)) or _RATE.match(line.text) for line in near):
        return
    highest = max((level for level, _ in report.latencies.rows if level < 1), default=None)
    if highest is None or highest <= MEDIAN or any(_COUNTED.search(line.text) for line in output.prose):
        return
    text = (
        f"percentiles without their number of samples: whether {write.level(highest)} rests on ten responses or on one "
        "can't be known"
    )
    yield Seen(output, text, {"highest_percentile": highest, "rows": len(report.latencies.rows)})


@rule_of_output(
    "SMP003",
    "maximum-at-bound",
    Severity.ERROR,
    "raise the time-out, run longer, and count requests without a response (truepace does)",
)
def _at_bound(output: Output) -> Iterator[Seen]:
    """The maximum lies at the bound of what could be recorded."""
    largest = largest_us(output)
    censored = [int(match[1]) for line in output.report.extra if (match := _CENSORED.search(line))]
    if censored and censored[0]:
        text = (
            f"{write.several(censored[0], 'request')} had no response when the run ended: the maximum is a lower bound"
        )
        yield Seen(output, text, {"censored": censored[0], "max_us": largest}, Severity.WARNING)  # it says so itself
        return
    if AT_TIMEOUT in output.report.extra and largest:
        text = f"the maximum of {write.latency(largest)} is called a time-out: what took longer is not in it"
        yield Seen(output, text, {"max_us": largest})
        return
    highest = max((value for _, value in output.report.latencies.rows), default=None)
    longest = largest if largest is not None else highest
    if longest is None or longest <= 0 or fell_short(output) or has_queue(output):
        return  # of a queue the length says all
    asked = output.command.timeout_s if output.command else None
    timeout_s = asked or TIMEOUTS_S.get(output.tool or "")
    if timeout_s and output.tool in TIMEOUTS_S and AT_BOUND * timeout_s <= longest / 1e6 <= JUST_OVER * timeout_s:
        named = "the maximum" if largest is not None else "a percentile"
        text = (
            f"{named} of {write.latency(longest)} lies at {output.tool}'s time-out of {write.seconds(timeout_s)}: what "
            "took longer is not in it"
        )
        yield Seen(output, text, {"max_us": longest, "timeout_s": timeout_s})
        return
    run_s = output.duration_s if output.tool != "ab" else None  # which runs until all its requests are done
    if run_s and largest and largest / 1e6 >= WHOLE_RUN * run_s:
        text = (
            f"the maximum of {write.latency(largest)} is as long as the run of {write.seconds(run_s)}: longer waits "
            "could not be seen"
        )
        yield Seen(output, text, {"max_us": largest, "duration_s": run_s})


@rule(
    "SMP004",
    "no-repeats",
    Severity.WARNING,
    "repeat each setting at least five times, interleaved, and give the spread",
)
def _no_repeats(group: Group) -> Iterator[Seen]:
    """No run is repeated."""
    if not tells(group) or any(REPEATED.search(line.text) for line in group[0].prose):
        return
    if sum(1 for output in group if _names_only_a_run(output)) > max(1, len(group) / 2):
        return
    named = named_alike(group)
    settings = Counter((*_settings(output), own) for output, own in zip(group, named, strict=True))
    compared = next(comparing(sentences(group[0].prose)), None) or under_one_load(group)
    least = FEW_REPEATS if compared else 2  # two may be before and after, or of two settings
    if sum(times for times in settings.values() if times >= least) > len(group) / 2:
        return
    text = (
        "the document's one output is not repeated"
        if len(group) == 1
        else f"of {write.count(len(group))} outputs at most half repeat a setting"
    )
    yield Seen(
        group[0], f"{text}: nothing tells how much a figure would differ in the next run", {"outputs": len(group)}
    )


def _names_only_a_run(output: Output) -> bool:
    """Tell whether the caption or the heading of an output says only which of several runs it is."""
    captions = [output.label, *output.headings[-1:], *captioned(output)]
    return any(_RUN_ALONE.match(caption) for caption in captions)


def _settings(output: Output) -> tuple[object, ...]:
    asked = (output.script, output.threads, output.connections, output.duration_s, output.offered_rps, output.change)
    command = output.command
    to = (output.report.url or command.url, command.script_args) if command else (output.report.url, ())
    report = output.report
    levels = tuple(level for level, _ in report.latencies.rows) if report.transcribed else ()
    figures = (levels, report.requests_per_s is None) if report.transcribed else ()  # other figures, another thing
    named = (output.headings, output.label, said_above(output), output.path if output.entry else None)
    return (*asked, *to, figures, *named)


def said_above(output: Output) -> tuple[str, ...]:
    """Name a setting by the parameters that are listed just above an output, but not by which of its runs it is.

    Where no script names what was asked for, the caption does, and where the output does not say.
    """
    above = [text for line in output.text_above[-NEAR_LINES:] if (text := line.text.strip(" \t`*_"))]
    listed = [text for text in above if _PARAMETER.match(text)]
    if output.connections is None:
        return tuple(_RUN.sub("", caption).lower() for caption in captioned(output))
    last = next((text for text in reversed(above) if not _TYPED.search(text) and text not in listed), "")
    if item := _ITEM.match(last):
        return (*listed, " ".join(_RUN.sub("", item[1]).lower().rstrip(" :").split()))
    if output.script:
        return tuple(listed)
    bold = any(_BOLD.match(line.text.strip()) for line in output.text_above[-NEAR_LINES:] if last and last in line.text)
    names = bold or last.endswith(":") or (_is_next_to(output, last) and not last.endswith((".", "!", "?", ";", ",")))
    caption = _RUN.sub("", last).lower() if names and len(last) <= LONGEST_CAPTION else ""
    return (*listed, " ".join(caption.split()))


def _is_next_to(output: Output, text: str) -> bool:
    """Tell whether a line is the one just above an output, in a record of consoles alone."""
    lines = output.text_above[-1:]
    return not output.headings and any(line.text.strip(" \t`*_") == text for line in lines)


@rule(
    "SMP005",
    "averaged-percentiles",
    Severity.WARNING,
    "merge the runs' histograms and read the percentile there, or give the median and the range over the runs",
)
def _averaged(group: Group) -> Iterator[Seen]:
    """A percentile that is the average of percentiles.

    Find percentiles that are averages of percentiles: by words, by the author's tables, by their figures.
    """
    first = group[0]
    text = "the average of percentiles is the percentile of no distribution: {}"
    for line, words in _in_words(group):
        yield Seen(first, text.format(f"line {line} gives {words!r}"), {"said_at_line": line})
    for line, level, mean in averaged(list(read(first.prose))):
        said = f"line {line} gives one for {write.level(level)}"
        yield Seen(first, text.format(said), {"said_at_line": line, "average": mean})
    for output, level in _columns(group):
        said = f"{write.level(level)} of the column {output.label!r} is the mean of those next to it"
        yield Seen(output, text.format(said), {"percentile": level, "average_us": at(output, level)})
    for quote in quotes(sentences(first.prose)):
        known = [value for output in group if quote.level and (value := at(output, quote.level)) is not None]
        if quote.level and not quote.at_least and known and quote.value_us not in known:
            of = [same for same in _repeated(group, quote.level) if is_mean(quote.value_us, same)]
            if of:
                said = f"line {quote.line} gives {write.latency(quote.value_us)} as {write.level(quote.level)}"
                said = f"{said}, the mean of {write.count(len(of[0]))} runs' own"
                yield Seen(first, text.format(said), {"said_at_line": quote.line})


def _in_words(group: Group) -> Iterator[tuple[int, str]]:
    for sentence in sentences(group[0].prose):
        if match := _AVERAGED.search(sentence.text):
            yield sentence.line, match[0]


def _columns(group: Group) -> Iterator[tuple[Output, float]]:
    """Columns (or rows) of a table of percentiles that say that they are averages, and are."""
    for mean in group:
        if mean.columns > LEAST_COLUMNS and is_average(mean.label.strip()):
            others = [other for other in group if other is not mean and other.columns == mean.columns]
            for level, value in mean.report.latencies.rows:
                values = [known for other in others if (known := at(other, level)) is not None]
                if level < 1 and is_mean(value, values):
                    yield mean, level
                    break


def _repeated(group: Group, level: float) -> Iterator[list[float]]:
    """The values of one percentile in the runs of each setting that was repeated."""
    settings: dict[tuple[object, ...], list[float]] = {}
    for output in group:
        asked = (output.script, output.threads, output.connections, output.offered_rps, output.report.url)
        if (value := at(output, level)) is not None:
            settings.setdefault(asked, []).append(value)
    yield from settings.values()


RULES = (_few_beyond, _no_counts, _at_bound, _no_repeats, _averaged)
