"""DOC, and what a whole document leaves out: its text held against its figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from runners.audit.figures import achieved_rps, at, fell_short, finite, has_queue
from runners.audit.reports import COPIED, is_report, tells
from runners.audit.rule import Group, Rule, Seen
from runners.audit.rules import limits, loads
from runners.audit.rules.comparing import comparing
from runners.audit.rules.comparisons import NOISE, pairs
from runners.audit.rules.sentences import (
    Claim,
    Quote,
    Sentence,
    called_even,
    claims,
    explained_by_jit,
    gains,
    held,
    miscounted,
    quotes,
    sentences,
)
from runners.audit.rules.subjects import bests, overturned, subjects, verdicts
from runners.audit.rules.tables import Change, changes, figure, level_of, read, reckoned
from runners.audit.rules.timing import at_timer
from runners.readers import context, write
from runners.readers.command_line import find_command
from runners.readers.documents import Line
from runners.readers.outputs import Output
from runners.readers.severity import Severity
from runners.readers.wrk_console import LONGEST_LINE

OTHER_RATE = 0.1  # a heading rounds its rate by less
ABOVE_LINES = 6  # with the command, a fence and blank lines among them
#: A line that only says with which rate the run below it was made.
_LABEL = re.compile(
    r"^\W*(?:(?:при|с|at|with) )?(?:rate|-R|R|рейт\w*)\s?(?:=|:)?\s?\d[\d ']*k?\b[^.]{0,30}:?\s*$", re.IGNORECASE
)
LONGEST_LABEL = 60
_NUMERAL = (
    r"(?<![\w.,:/-])(?P<number>\d{1,3}(?:[, '\u00a0]\d{3})+|\d{1,9}) ?"
    r"(?P<scale>k(?![a-z])|thousand\b|m(?![a-z])|million\b|тыс\w*|млн|миллион\w*|万|만)? ?"
)
_REQUESTS = re.compile(
    rf"{_NUMERAL}(?:(?:total|http|sequential|get|ab) )?(?:requests?\b(?! ?(?:/|per|a) ?s)|calls\b|запрос(?:ов"
    rf"|а)?\b(?! в)"
    r"|[个次]?请求|回?リクエスト|번?의? ?요청)",
    re.IGNORECASE,
)
_THREADS = re.compile(rf"{_NUMERAL}(?:threads?\b|поток\w*)", re.IGNORECASE)
#: What a text calls a standard deviation, and is no time.
_DEVIATION = re.compile(
    r"(?i)\b(?:standard deviation|(?:среднеквадрат\w+|стандартн\w+) отклонени\w+)[^.%]{0,30}?(?<![\d.,])"
    r"(\d{1,3}(?:[.,]\d{1,2})?)\s?%"
)
#: A sentence that says over how many connections its author loaded the system.
_LOADED_OVER = re.compile(
    r"(?i)(?:тестировани\w+|тестиру\w+|нагру[зж]\w+|обстрел\w*|\bwrk2?\b)[^.|]{0,80}?\b(?:в|на|с) "
    r"(?:(?P<number>\d{1,6})|(?P<one>одн[оиу]\w*)) соединени(?:[еяйию]|ем|ями)\b(?!\s*\d)"
)
_CONNECTIONS = re.compile(
    rf"{_NUMERAL}(?:concurrent |parallel |open )?(?:connections?\b|соединени\w+|个?并发连接|个?连接)", re.IGNORECASE
)
#: A list of parameters that is an author's own: `- c (connections): 64`.
_PARAMETER = re.compile(
    r"(?i)^\W*(?:-?c ?\(connections?\)|(?:number of |concurrent )?connections?|соединени[йя])\s*[:=]"
    r"\s*(\d{1,6})(?=\s*$|\s{2})"
)
#: What is said of another run than the document's.
_OF_ANOTHER_TIME = re.compile(
    r"(?i)\b(?:прошл|предыдущ|прежн|раньше|ранее|не меньше|не менее|нужно|надо|следующ|можно|если|хот|будем|было бы)\w*"
)
OTHER_REQUESTS = 1.3  # wrk2 counts a twentieth more in a thread than there were, at most
SAME_FIGURE = 0.02
EXACT = 0.003
ROUNDED = 0.05  # no text rounds a figure by more
FAR_OFF = 2.0
OTHER_MEAN = 1.3  # a mean that a text rounds is nearer to the output's
MISCOPIED = 0.01
LEAST_MEANS = 2  # that are copied, beside one that is not
UNEVEN = 1.0  # standard deviations of a latency by its mean; an exponential distribution has one
JUST_ABOVE_LINES = 6
REACH_LINES = 20  # a conclusion stands below the runs that it is of
LESS_DONE = 0.9
MOSTLY, FEW = 0.5, 0.1  # shares of errors
SAME_PERCENT = 0.15  # a summary rounds what its section says by less
TYPICAL_LEVELS = (0.5, 0.9, 0.99)
ENOUGH_ROWS = 4  # outputs that agree in this many percentiles are one output
MOST_COMPARED = 60
SAME_RATES = 3  # that differ from one another

#: What a reader needs to know of a run, and the words by which a document says it.
_SAID = r"[\s:=|*]{1,6}"
#: Types of a cloud's machines, which have so many cores and so much memory.
_INSTANCE = (
    r"\b[a-z]{1,2}\d[a-z]{0,3}\.(?:\d{1,2}x)?(?:nano|micro|small|medium|large|xlarge|metal)\b"
    r"|\b[a-z]\d[a-z]?-(?:standard|highcpu|highmem|small|medium|micro)(?:-\d+)?\b|\bStandard_[A-Z]+\d\w*"
)
_CONDITIONS = {
    "processor and cores": r"\b(?:physical|logical|available) cores\b|\bcores\b\W{0,5}[:=|]"
    r"|(?:\d|\b(?:single|dual|quad|one|two|four|six|eight))[ -]?(?:\w+[ -])?cores?\b|\bmulti-?core\b"
    r"|\bCPUs?\W{0,3}[:=|](?!lock|alloc|wall|\s*!?\[)(?!\W{0,5}\d{0,2}(?:[.,\u2013-]\d+)?\s?%)"
    r"|ядер|ядра|Xeon|Ryzen|\bCore i\d|\bi[3579]\b"
    r"|\bM[1-5]\b|Celeron"
    r"|\bEPYC\b|\bvCPUs?\b|\d\s?CPUs?\b|\bAMD\b|núcleos|\d\s?(?:核|코어|コア)|논리 ?코어 ?\d"
    r"|[双四六八]核|\bR[3579][ -]?\d{4}"
    rf"|{_INSTANCE}",
    "memory": r"\d\s?(?:[GM]i?B?|ГБ|Гб)\s?(?:of )?(?:\w+ )?RAM\b|\bRAM\b[^\w%]{1,8}(?:\w+ )?[~≈]?\d+ ?[GMГ]|ОЗУ"
    r"|оперативн\w+ памят\w+\s*[:\d]|\bDDR\d"
    r"|\d\s?(?:GB|GiB|MB|MiB|ГБ|Гб) (?:of )?(?:memory|памяти)(?! (?:footprint|us\w+|leak\w*|growth)\b)"
    r"|\d\s?Gi?B\s.{0,20}\bv?CPUs?\b"
    rf"|(?:\bmemory(?: limit| size)?|\bmemoria|内存|메모리|メモリ){_SAID}\d"
    rf"(?![\d.,]* ?[KMG]i?B (?:RSS|us\w+|footprint)\b)"
    rf"|\d\s?(?:GB|GiB|G|M)\s?(?:内存|메모리|メモリ)|\d\s?核\s?\d{{1,3}}\s?G|内存\W{{1,4}}\d|\bmem_limit\W{{1,4}}\d"
    rf"|\bCPUs?\b.{{1,9}}\d\s?Gi?B\b|\bR[3579][ -]?\d{{4}} \d+ ?G\b|{_INSTANCE}",
    "warm-up": r"warm(?:ed|ing)?[ -]?up|warm(?:ed)? cache"
    r"|(?<!мог )(?<!могли )(?<!могли [\"«])прогре|разогре|预热|預熱|워밍 ?업|예열|ウォームアップ"
    r"|暖機|calentamiento|aquecimento",
    "where the generator ran": r"localhost|127\.0\.0\.1|\b0\.0\.0\.0:\d|\bgenerator ran\b|\bhost machine\b"
    r"|\bsingle-node host\b"
    r"|\bclients? (?:was|were|is|ran|runs)(?: running)? [io]n\b|\b(?:same|another|separate|local) (?:\w+ )?"
    r"(?:machine|host|instance|server|laptop)"
    r"|(?:одной|одном|той же|том же|другой|другом|отдельн\w+) "
    r"(?:машин|хост|компьютер)\w*|(?:misma|mesma|otra|outra) (?:máquina|maquina)|(?:同一|同じ|另一)\s?(?:台|个|の"
    r"|EC2|マシン|机器)"
    r"|\b(?:single|my|our|own) (?:\w+ )?(?:machine|host|laptop|box|pc|computer|macbook|mac)\b"
    r"|\bdedicated (?:\w+ )?(?:machine|host|node|vm)\b|\blocal(?:ly| dev\w*| docker| env\w*)\b|локальн\w+"
    r"|本机|本地(?:环境|开发|测试)|(?:环境[为是:\uff1a]|在)\s?本地|로컬|같은 (?:머신|서버|장비)|ローカル|同居",
}
_OF_THE_JVM = {
    "heap": r"-Xm[xs]|\bheap\b|\bхип|размер кучи",
    "JDK": rf"\bJDK\b(?!\.[a-z])|openjdk|\bjava(?: version| ?\d|{_SAID}v?\d)|GraalVM",
}
_JVM = re.compile(
    r"\bjava\b(?!-?script)|\bgradlew?\b|\bmvnw?\b|spring[ -]?boot|bootRun|\bhikari|\bjvm\b|async-profiler|asprof"
    r"|one[-.]nio|\bG1\b|\bjit\b",
    re.IGNORECASE,
)
_STATED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in (_CONDITIONS | _OF_THE_JVM).items()}
SEVERAL = 4  # conditions that are not stated; fewer were forgotten, and are a note, unless the machine is among them
_OF_THE_MACHINE = {"processor and cores", "memory"}


def _conditions(group: Group) -> Iterator[Seen]:
    first = group[0]
    if not tells(group) or first.entry:
        return  # an index beside the file is ours, and says it elsewhere
    urls = "\n".join(filter(None, (output.report.url for output in group)))
    text = context.spaced("\n".join(line.text for line in first.prose)) + f"\n{urls}"
    wanted = [*_CONDITIONS, *(_OF_THE_JVM if _JVM.search(text) else ())]
    missing = [name for name in wanted if not _STATED[name].search(text)]
    if missing:
        hardly = len(missing) >= SEVERAL or {*missing} >= _OF_THE_MACHINE
        text = f"nowhere is said: {write.listed(missing)}"
        yield Seen(first, text, {"conditions_missing": len(missing)}, None if hardly else Severity.NOTE)


def _other_rate(group: Group) -> Iterator[Seen]:
    """A heading, or a label just above, that names another rate than the command under it."""
    for output in group:
        asked = output.command.rate_rps if output.command else None
        if not asked or output.columns > 1:
            continue
        heading = [Line(output.line, f"# {output.headings[-1]}")] if output.headings else []
        labels = [line for line in output.text_above[-ABOVE_LINES:] if _LABEL.match(line.text)]
        for where, lines in (("heading", heading), ("text above", labels[-1:])):
            said = context.stated(lines, 1, None) if lines else None
            if said and abs(said.rates_rps[0] - asked) > OTHER_RATE * asked:
                rate = said.rates_rps[0]
                text = f"the {where} says {write.rate(rate)}, the command -R {asked:g}"
                yield Seen(output, text, {"said_rps": rate, "command_rps": asked})
                break


def _other_load(group: Group) -> Iterator[Seen]:
    """Find text above ab's output, or its heading, that names another number of requests or connections."""
    for output in group:
        command, report = output.command, output.report
        ran = report.requests if output.tool == "ab" and not report.errors else None
        connections = None if report.transcribed else (command.connections if command else None) or report.connections
        listed = [(int(found[1]), line) for line in output.text_above if (found := _PARAMETER.match(line.text))]
        if connections and len(listed) == 1 and abs(listed[0][0] - connections) > OTHER_RATE * connections:
            asked, line = listed[0]
            text = f"line {line.number} says {_connections(asked)}, the output {write.count(connections)}"
            yield Seen(output, text, {"said_connections": asked, "connections": connections})
        lines = [line for line in output.text_above[-2 * ABOVE_LINES :] if line.text.strip()][-ABOVE_LINES:]
        last = max((index for index, line in enumerate(lines) if line.text.startswith("#")), default=0)
        for line in lines[last:]:
            label = line.text.startswith("#") or (
                len(line.text) <= LONGEST_LABEL and line.text.rstrip(" *").endswith(":")
            )
            for pattern, number, what in (
                (_REQUESTS, ran, "requests"),
                (_CONNECTIONS, connections if label else None, "connections"),
                (_THREADS, report.threads if label and _CONNECTIONS.search(line.text) else None, "threads"),
            ):
                said = {_numeral(match) for match in pattern.finditer(line.text)} if number else set()
                if number and len(said) == 1 and abs((other := said.pop()) - number) > OTHER_RATE * number:
                    text = (
                        f"line {line.number} says {write.count(round(other))} {what}, the output {write.count(number)}"
                    )
                    yield Seen(output, text, {f"said_{what}": other, what: number, "said_at_line": line.number})
                    break


def _numeral(match: re.Match[str]) -> float:
    scale = {"k": 1e3, "t": 1e3, "т": 1e3, "m": 1e6, "м": 1e6, "万": 1e4, "만": 1e4}.get(
        (match["scale"] or "-")[0].lower()
    )
    return float(re.sub(r"[, '\u00a0]", "", match["number"])) * (scale or 1)


def _other_threads(group: Group) -> Iterator[Seen]:
    """Find the one command of a document that names another number of threads than all of its outputs."""
    printed = {output.report.threads for output in group if not output.report.transcribed}
    if len(printed) != 1 or None in printed or any(output.command for output in group):
        return
    lines = {found.text: line for line in group[0].prose if (found := find_command(line.text))}
    asked = [(command, line) for text, line in lines.items() if (command := find_command(text))]
    if len(asked) != 1 or asked[0][0].connections not in {output.connections for output in group}:
        return
    (command, line), threads = asked[0], group[0].report.threads
    if command.threads and threads and command.threads != threads:
        text = f"line {line.number} says {write.several(command.threads, 'thread')}, the output {write.count(threads)}"
        yield Seen(group[0], text, {"said_threads": command.threads, "threads": threads, "said_at_line": line.number})


def _no_such_connections(group: Group) -> Iterator[Seen]:
    """Find a sentence on a load over so many connections, where no output has as many."""
    known = {output.connections for output in group if output.connections and not output.report.transcribed}
    for sentence in sentences(group[0].prose) if known else ():
        said = [int(found["number"] or 1) for found in _LOADED_OVER.finditer(sentence.text)]
        if len(said) == 1 and said[0] not in known and not _OF_ANOTHER_TIME.search(sentence.text):
            others = write.listed(map(str, sorted(known)))
            text = f"line {sentence.line} says {_connections(said[0])}, the outputs {others}"
            yield Seen(group[0], text, {"said_connections": said[0], "said_at_line": sentence.line})


def _other_command(group: Group) -> Iterator[Seen]:
    """Find outputs of the duration and the threads of the command above them, and of other connections."""
    for output in group:
        known = (output.duration_s, output.threads)
        if output.command or output.columns > 1 or output.report.transcribed or None in known:
            continue
        calls = (line.text for line in reversed(output.text_above) if "wrk" in line.text)
        asked = next((command for text in calls if (command := find_command(text[:LONGEST_LINE]))), None)
        connections = asked.connections if asked and (asked.duration_s, asked.threads) == known else None
        if connections and output.connections and connections != output.connections:
            text = f"the command above asks for {_connections(connections)}, the output has {output.connections}"
            yield Seen(output, text, {"asked": connections, "connections": output.connections})


def _reckoned_load(group: Group) -> Iterator[Seen]:
    """Find outputs without a rate whose threads had far more responses than the text says was offered."""
    for output in group:
        offered, each, threads = output.offered_rps, output.report.requests_per_thread, output.threads
        unknown = output.tool == "wrk2" and output.command is None and output.report.requests_per_s is None
        if not unknown or not offered or not threads or not each or not each.mean or not math.isfinite(each.mean):
            continue
        if (reckoned := threads * each.mean) > OTHER_REQUESTS * offered:
            text = (
                f"{write.several(threads, 'thread')} with {write.rate(each.mean)} each had {write.rate(reckoned)}, "
                f"the text says {write.rate(offered)}"
            )
            yield Seen(output, text, {"said_rps": offered, "reckoned_rps": round(reckoned)})


def _loads(group: Group) -> Iterator[Seen]:
    yield from _other_threads(group)
    yield from _other_rate(group)
    yield from _other_load(group)
    yield from _no_such_connections(group)
    yield from _other_command(group)
    yield from _reckoned_load(group)


def _rows(output: Output) -> tuple[tuple[float, float], ...]:
    return output.report.latencies.rows


def _same_output(group: Group) -> Iterator[Seen]:
    """One output that stands for two rates or for two settings."""
    known = [output for output in group if len(_rows(output)) >= ENOUGH_ROWS][:MOST_COMPARED]
    for first, second in combinations(known, 2):
        if _rows(first) != _rows(second):
            continue
        loads = (
            (write.rate, first.offered_rps, second.offered_rps),
            (_connections, first.connections, second.connections),
        )
        for say, one, other in loads:
            if one and other and one != other:
                said = f"given there for {say(one)} and here for {say(other)}"
                yield Seen(second, f"it is the output of {first.place} once more, {said}", {"first": first.place})
                break
    yield from _same_rates(group)


def _same_rates(group: Group) -> Iterator[Seen]:
    """Find columns of rates that two machines or settings have in common to the last digit."""
    columns: dict[str, list[Output]] = {}
    for output in group:
        if output.report.transcribed and achieved_rps(output) and not _rows(output):
            series = re.sub(r" \(\d[\d., ]*\)$", "", output.label)  # without its connections
            columns.setdefault(series, []).append(output)
    known = [(label, runs) for label, runs in columns.items() if len({achieved_rps(run) for run in runs}) >= SAME_RATES]
    for (label, runs), (other, same) in combinations(known[:MOST_COMPARED], 2):
        if [achieved_rps(run) for run in runs] == [achieved_rps(run) for run in same]:
            text = (
                f"its rates are those of {label!r} at line {runs[0].line} once more, and are given here for {other!r}"
            )
            yield Seen(same[0], text, {"first": runs[0].place})


def _connections(count: float) -> str:
    return write.several(round(count), "connection")


def _near(value: float | None, other: float, by: float = SAME_FIGURE) -> bool:
    return value is not None and abs(value - other) <= by * other


def _misquoted(group: Group) -> Iterator[Seen]:
    """A percentile or a mean in a sentence that has another figure than the output that it is of."""
    whole = not any(output.report.transcribed for output in group)  # else the text retells what its tables give
    quoted = list(quotes(sentences(group[0].prose), short=whole))
    for quote in quoted:
        same = [other for other in quoted if other.line == quote.line and other.level != quote.level]
        found = _mean_contradicted(group, quote) if quote.level is None else _contradicted(group, quote, same)
        if found:
            output, printed_us = found
            named = "mean" if quote.level is None else write.level(quote.level)
            text = (
                f"line {quote.line} gives {write.latency(quote.value_us)} as {named}, which is "
                f"{write.latency(printed_us)} in the output"
            )
            evidence: dict[str, write.Value] = {"quoted_us": quote.value_us, "printed_us": printed_us}
            yield Seen(output, text, {**evidence, "said_at_line": quote.line})
    for line, share, output in _shares_as_deviations(group):
        text = f"line {line} gives {share:g} % as the standard deviation, which is the share within one"
        yield Seen(output, text, {"said_at_line": line})
    for line, level, output, mean_us in _means_as_percentiles(group):
        text = f"line {line} gives {write.latency(mean_us)} as {write.level(level)}, which is the mean of the output"
        yield Seen(output, text, {"quoted_us": mean_us, "said_at_line": line})
    for line, mean_us, output, printed in _miscopied(group, of_time=True):
        text = (
            f"line {line} gives a mean of {write.latency(mean_us)}, beside means that are copied: the output has "
            f"{write.latency(printed)}"
        )
        yield Seen(output, text, {"quoted_us": mean_us, "printed_us": printed, "said_at_line": line})
    for line, rate, output, printed in _miscopied(group, of_time=False):
        text = (
            f"line {line} gives {write.rate(rate)}, beside rates that are copied: the output has {write.rate(printed)}"
        )
        yield Seen(output, text, {"quoted_rps": rate, "printed_rps": printed, "said_at_line": line})


def _mean(output: Output) -> float | None:
    return finite(output.report.latency.mean) if output.report.latency else None


def _shares_as_deviations(group: Group) -> Iterator[tuple[int, float, Output]]:
    """Find standard deviations that a text gives in percent, and that are the shares of samples within one."""
    for sentence in sentences(group[0].prose):
        for found in _DEVIATION.findall(sentence.text):
            share = float(found.replace(",", "."))
            known = [(output, stats.within_stdev_percent) for output in group if (stats := output.report.latency)]
            yield from [(sentence.line, share, output) for output, printed in known if printed == share][:1]


def _means_as_percentiles(group: Group) -> Iterator[tuple[int, float, Output, float]]:
    """Find a row or column of a table that is named as a percentile, and whose figures are the means of outputs."""
    means = [
        (output, stats.mean) for output in group if not output.report.transcribed and (stats := output.report.latency)
    ]
    known = [(output, mean) for output, mean in means if mean]
    for table in read(group[0].prose) if len(known) > 1 else ():
        rows = [(row[0], [(line, cell) for cell in row[1:]]) for line, row in table.rows]
        columns = [
            (head, [(line, row[index]) for line, row in table.rows if index < len(row)])
            for index, head in enumerate(table.head)
            if index
        ]
        for name, cells in (*rows, *columns):
            level = level_of(name)
            exact = [
                (line, cell)
                for line, cell in cells
                if not cell.lstrip("*` ").startswith(("<", ">", "\u2264", "\u2265"))
            ]
            figures = [(line, found) for line, cell in exact if (found := figure(cell, name)) and found[1]]
            if level is None or any(_near(at(output, level), each[0]) for output in group for _, each in figures):
                continue
            copied = [
                (line, level, output, mean)
                for line, (value, _, slack) in figures
                for output, mean in known
                if _near(mean, value, slack + COPIED)
            ]
            if len(copied) == len(figures) > 1:
                yield copied[0]


def _miscopied(group: Group, of_time: bool) -> Iterator[tuple[int, float, Output, float]]:
    """Find a figure in a table that no output has, where all others of its column are copied from all other outputs.

    `of_time` asks for mean latencies, else for rates.
    """
    outputs = [output for output in group if not output.report.transcribed]
    printed = [(output, value) for output in outputs if (value := _mean(output) if of_time else achieved_rps(output))]
    for table in read(group[0].prose) if len(printed) > (LEAST_MEANS if of_time else 1) else ():
        for index, head in enumerate(table.head):
            figures = [(line, figure(row[index], head)) for line, row in table.rows if index < len(row)]
            cells = [
                (line, found[0], found[2] + COPIED) for line, found in figures if found and bool(found[1]) == of_time
            ]
            left = [cell for cell in cells if not any(_near(rate, cell[1], cell[2]) for _, rate in printed)]
            others = [each for each in printed if not any(_near(each[1], value, slack) for _, value, slack in cells)]
            if len(left) == len(others) == 1 and len(cells) == len(printed):
                line, value, _ = left[0]
                output, rate = others[0]
                if not _near(rate, value, MISCOPIED):
                    yield line, value, output, rate


def _contradicted(group: Sequence[Output], quote: Quote, companions: Sequence[Quote]) -> tuple[Output, float] | None:
    """Find the output that a percentile is wrongly quoted from; `companions` are the quotes of the same line."""
    value_us, level = quote.value_us, quote.level or 0.0
    printed = [(output, dict(_rows(output))) for output in group]
    if any(_near(rows.get(level), value_us) for _, rows in printed):
        return None
    if quote.at_least:
        known = [(rows[level], output) for output, rows in printed if level in rows]
        highest, output = max(known, key=lambda each: each[0], default=(value_us, group[0]))
        return (output, highest) if FAR_OFF * highest < value_us else None
    for output, rows in printed:
        there = rows.get(level)
        if there is None or not there:
            continue
        others = [each for at, each in rows.items() if at != level]
        other_row = there > FAR_OFF * value_us and any(_near(each, value_us) for each in others)
        just_above = 0 < quote.line - output.report.last_line <= JUST_ABOVE_LINES
        its_line = any(other.level and _near(rows.get(other.level), other.value_us, EXACT) for other in companions)
        its_row = (
            (just_above or its_line)
            and abs(there / value_us - 1) > ROUNDED
            and any(_near(each, value_us, EXACT) for each in others)
        )
        all_shifted = bool(companions) and all(
            any(at != other.level and _near(each, other.value_us, EXACT) for at, each in rows.items())
            for other in (quote, *companions)
        )
        other_unit = any(_near(there * factor, value_us) for factor in (1e-3, 1e3))
        if other_row or its_row or all_shifted or other_unit:
            return output, there
    return None


def _mean_contradicted(group: Sequence[Output], quote: Quote) -> tuple[Output, float] | None:
    """A mean is held against the outputs at the rate that the sentence names, else against the one just above it."""
    means = [(output, output.report.latency.mean) for output in group if output.report.latency]
    known = [(output, mean) for output, mean in means if mean]
    if any(_near(mean, quote.value_us) for _, mean in known):
        return None
    above = [(output, mean) for output, mean in known if 0 < quote.line - output.report.last_line <= JUST_ABOVE_LINES]
    of_rate = [(output, mean) for output, mean in known if quote.rate_rps and output.offered_rps == quote.rate_rps]
    for output, mean in of_rate if quote.rate_rps else above[-1:]:
        if max(mean, quote.value_us) > OTHER_MEAN * min(mean, quote.value_us):
            return output, mean
    return None


def _overturned(group: Group) -> Iterator[Seen]:
    """A conclusion that the document's own figures overturn."""
    if not is_report(group[0]) or group[0].entry:
        return
    said = sentences(group[0].prose)
    compared = list(pairs(group))
    for claim in claims(said):
        pair = [each for each in compared if 0 < claim.line - _end(each) <= REACH_LINES][-1:]
        for before, after in pair:
            if against := _against(claim, before, after):
                text = f"line {claim.line} calls the new state {'faster' if claim.faster else 'slower'}: {against}"
                yield Seen(after, text, {"said_at_line": claim.line, "before": before.place})
    for line, rate, _ in held(said):
        at_rate = [
            output for output in group if output.offered_rps and abs(output.offered_rps / rate - 1) <= SAME_FIGURE
        ]
        if at_rate and all(fell_short(output) or has_queue(output) for output in at_rate):
            last = at_rate[-1]
            reached = f"{write.rate(achieved)} were achieved" if (achieved := achieved_rps(last)) else "a queue grew"
            yield Seen(last, f"line {line} says that {write.rate(rate)} are held: {reached}", {"said_at_line": line})
    yield from _compared_with_errors(group, said)
    own = (*_against_tables(group, said, compared), *_against_itself(said), *miscounted(said))
    for line, text in (*own, *limits.contradicted(group, said)):
        yield Seen(group[0], f"line {line} {text}", {"said_at_line": line})
    things = subjects(group)
    for verdict in (*verdicts(said, things), *bests(said, things)):
        if against := overturned(verdict):
            yield Seen(verdict.first.runs[0], f"line {verdict.line} {against}", {"said_at_line": verdict.line})
    for line, words in called_even(said):
        if uneven := _all_uneven(group):
            stats = uneven.report.latency
            spread = f"{write.latency(stats.stdev)} about a mean of {write.latency(stats.mean)}" if stats else ""
            text = f"line {line} calls response times even ({words!r}): their standard deviation is {spread}"
            yield Seen(uneven, text, {"said_at_line": line})
    yield from loads.contradicted(group, said)
    for sentence in explained_by_jit(said):
        near = [output for output in group if 0 < sentence.line - output.report.last_line <= REACH_LINES][-1:]
        for output in near:
            if at_timer(output):
                text = f"line {sentence.line} explains by the compiler what is the generator's timer"
                yield Seen(output, text, {"said_at_line": sentence.line, "p50_us": at(output, 0.5)})


def _all_uneven(group: Group) -> Output | None:
    """Give the last output where the latency of each that says so is spread by more than its own mean; else None."""
    known = [(output, stats.stdev, stats.mean) for output in group if (stats := output.report.latency)]
    spreads = [(output, stdev / mean) for output, stdev, mean in known if stdev and mean]
    return spreads[-1][0] if spreads and all(spread > UNEVEN for _, spread in spreads) else None


def _against_tables(
    group: Group, said: Sequence[Sentence], compared: Sequence[tuple[Output, Output]]
) -> Iterator[tuple[int, str]]:
    """Hold what the author says of a change against the tables that he made, and what he says in them."""
    made = list(read(group[0].prose))
    tables = list(changes(made))
    for row in (*tables, *reckoned(made)):
        if row.contradicted:
            said_of_it = f"{row.said_percent:g} %" if row.said_percent is not None else f"{row.said_factor:g} times"
            yield row.line, f"says {said_of_it} of {row.what}, which went from {_figures(row)}"
    known = tables + [change for pair in compared for change in _changes(*pair)]
    for gain in gains(said):
        moved = [row for row in known if row.is_latency == gain.is_latency and gain.level in (None, row.level)]
        against = [row for row in moved if (row.ratio < 1 - NOISE if gain.rose else row.ratio > 1 + NOISE)]
        if moved and len(against) == len(moved):
            way = "rose" if gain.rose else "fell"
            yield (
                gain.line,
                f"says that {_named(gain.is_latency, gain.level)} {way}: it went from {_figures(against[0])}",
            )


def _changes(before: Output, after: Output) -> Iterator[Change]:
    """Give the changes that a pair of outputs shows, as its author could have put them into a table."""
    for level in TYPICAL_LEVELS:
        was, became = at(before, level), at(after, level)
        if was and became:
            yield Change(after.line, write.level(level), True, level, was, became)
    rate, now = achieved_rps(before), achieved_rps(after)
    if rate and now:
        yield Change(after.line, "the rate", False, None, rate, now)


def _figures(change: Change) -> str:
    figure = write.latency if change.is_latency else write.rate
    return f"{figure(change.before)} to {figure(change.after)} (line {change.line})"


def _named(latency: bool, level: float | None) -> str:
    return (write.level(level) if level else "latency") if latency else "the rate"


def _against_itself(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Two places of one text that can't both be true: of one rate, and of how one figure moved."""
    for line, rate, of in held(said):
        for other, same, what in held(said, holds=False):
            if rate == same and of == what:
                yield line, f"says that {write.rate(rate)} are held, line {other} that they are not"
    moves = list(gains(said))[:MOST_COMPARED]
    for first, second in combinations(moves, 2):
        if (first.is_latency, first.level, first.of) != (second.is_latency, second.level, second.of):
            continue
        percents = (first.percent, second.percent)
        if (
            first.rose == second.rose
            and None not in percents
            and not _near(percents[0], percents[1] or 0.0, SAME_PERCENT)
        ):
            figure = _named(first.is_latency, first.level)
            yield second.line, f"says {second.percent:g} % of {figure}, line {first.line} {first.percent:g} %"


def _compared_with_errors(group: Group, said: Sequence[Sentence]) -> Iterator[Seen]:
    """A text compares runs at one rate, of which one had errors for most responses and another hardly any."""
    compared = next(comparing(said), None)
    if compared is None:
        return
    by_rate: dict[tuple[object, ...], list[Output]] = {}
    for output in group:
        if output.offered_rps and output.report.requests:
            by_rate.setdefault((output.offered_rps, output.threads, output.connections, output.script), []).append(
                output
            )
    for outputs in by_rate.values():
        shares = [(output.report.errors / (output.report.requests or 1), output) for output in outputs]
        failed = [output for share, output in shares if share >= MOSTLY]
        if failed and any(share < FEW for share, _ in shares):
            text = (
                f"line {compared[0]} compares runs, and this one had errors for "
                f"{write.count(failed[0].report.errors)} of {write.count(failed[0].report.requests or 0)} requests"
            )
            yield Seen(failed[0], text, {"said_at_line": compared[0]})
            return


def _end(pair: tuple[Output, Output]) -> int:
    return max(output.report.last_line for output in pair)


def _against(claim: Claim, before: Output, after: Output) -> str | None:
    """Say how the figures of a pair contradict what is claimed of it; None where they do not."""
    was, became = achieved_rps(before), achieved_rps(after)
    if claim.faster and was and became and became < LESS_DONE * was:
        return f"it achieved {write.rate(became)} where the old one achieved {write.rate(was)}"
    levels = (claim.level,) if claim.level else TYPICAL_LEVELS
    known = [(at(before, level), at(after, level), level) for level in levels]
    changes = [(now / then - 1, level, then, now) for then, now, level in known if then and now]
    if not changes or len(changes) < len(levels):
        return None
    _, level, then, now = changes[0]
    figures = f"{write.level(level)} went from {write.latency(then)} to {write.latency(now)}"
    if all(abs(each[0]) <= NOISE for each in changes):
        return f"{figures}, with one run of each, and runs of one setting differ as much"
    worse = [each[0] if claim.faster else -each[0] for each in changes]
    return figures if min(worse) > NOISE else None


RULES = (
    Rule(
        "RUN006",
        "conditions-not-stated",
        "The document does not say under which conditions was measured",
        Severity.WARNING,
        "state cores, memory, JDK, heap and warm-up, and on which machine the generator ran",
        _conditions,
    ),
    Rule(
        "DOC001",
        "rate-of-the-heading",
        "The heading or the text above names another load than the command",
        Severity.WARNING,
        "correct the one that is wrong",
        _loads,
    ),
    Rule(
        "DOC002",
        "misquoted",
        "The text gives a percentile or a mean another figure than the output",
        Severity.ERROR,
        "quote the row of the percentile that is named, with its unit",
        _misquoted,
    ),
    Rule(
        "DOC004",
        "conclusion-overturned",
        "The figures overturn a conclusion in the text",
        Severity.ERROR,
        "conclude what the figures show, or repeat both runs, interleaved, until they show it (lab compare)",
        _overturned,
    ),
    Rule(
        "DOC003",
        "one-output-twice",
        "One output is given for two different loads",
        Severity.ERROR,
        "put the second run's own output in its place",
        _same_output,
    ),
)
