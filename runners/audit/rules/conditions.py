"""RUN006, DOC001 and DOC003: what a document says of the conditions and the load of its runs, and leaves out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations

from runners.audit.reports import tells
from runners.audit.rule import Group, Seen, achieved_rps, rule
from runners.audit.rules.sentences import sentences
from runners.readers import context, write
from runners.readers.command_line import find_command
from runners.readers.documents import Line
from runners.readers.finding import Severity
from runners.readers.output import Output
from runners.readers.wrk_console import LONGEST_LINE

OTHER_RATE = 0.1  # a heading rounds its rate by less
ABOVE_LINES = 6  # with the command, a fence and blank lines among them
#: A line that only says with which rate the run below it was made.
_LABEL = re.compile(r"(?i)^\W*(?:(?:при|с|at|with) )?(?:rate|-R|R|рейт\w*)\s?(?:=|:)?\s?\d[\d ']*k?\b[^.]{0,30}:?\s*$")
LONGEST_LABEL = 60
_NUMERAL = (
    r"(?<![\w.,:/-])(?P<number>\d{1,3}(?:[, '\u00a0]\d{3})+|\d{1,9}) ?"
    r"(?P<scale>k(?![a-z])|thousand\b|m(?![a-z])|million\b|тыс\w*|млн|миллион\w*|万|만)? ?"
)
_REQUESTS = re.compile(
    rf"(?i){_NUMERAL}(?:(?:total|http|sequential|get|ab) )?(?:requests?\b(?! ?(?:/|per|a) ?s)|calls\b|запрос(?:ов"
    r"|а)?\b(?! в)|[个次]?请求|回?リクエスト|번?의? ?요청)"
)
_THREADS = re.compile(rf"{_NUMERAL}(?:threads?\b|поток\w*)", re.IGNORECASE)
#: A sentence that says over how many connections its author loaded the system.
_LOADED_OVER = re.compile(
    r"(?i)(?:тестировани\w+|тестиру\w+|нагру[зж]\w+|обстрел\w*|\bwrk2?\b)[^.|]{0,80}?\b(?:в|на|с) "
    r"(?:(?P<number>\d{1,6})|(?P<one>одн[оиу]\w*)) соединени(?:[еяйию]|ем|ями)\b(?!\s*\d)"
)
_CONNECTIONS = re.compile(
    rf"(?i){_NUMERAL}(?:concurrent |parallel |open )?(?:connections?\b|соединени\w+|个?并发连接|个?连接)"
)
#: A list of parameters that is an author's own: `- c (connections): 64`, `+ keeping 64 HTTP connections open`.
_PARAMETER = re.compile(
    r"(?i)^\W*(?:(?:-?c ?\(connections?\)|(?:number of |concurrent )?connections?|соединени[йя])\s*[:=]"
    r"\s*(?P<after>\d{1,6})(?=\s*$|\s{2})|(?:keeping |using |with )?(?P<before>\d{1,6}) (?:(?:http|open|concurrent"
    r"|parallel|keep-alive|открыт\w+|одновременн\w+|параллельн\w+) ){0,2}(?:connections?|соединени\w+)(?: open)?\W*$)"
)
#: What is said of another run than the document's.
_OF_ANOTHER_TIME = re.compile(
    r"(?i)\b(?:прошл|предыдущ|прежн|раньше|ранее|не меньше|не менее|нужно|надо|следующ|можно|если|хот|будем|было бы)\w*"
)
OTHER_REQUESTS = 1.3  # wrk2 counts a twentieth more in a thread than there were, at most
ENOUGH_ROWS = 4  # outputs that agree in this many percentiles are one output
MOST_COMPARED = 60
SAME_RATES = 3  # that differ from one another
#: What a reader needs to know of a run, and the words by which a document says it.
_SAID = r"(?:[^\S\n]|[:=|*]){1,6}"
#: Types of a cloud's machines, which have so many cores and so much memory.
_INSTANCE = (
    r"\b[a-z]{1,2}\d[a-z]{0,3}\.(?:\d{1,2}x)?(?:nano|micro|small|medium|large|xlarge|metal)\b"
    r"|\b[a-z]\d[a-z]?-(?:standard|highcpu|highmem|small|medium|micro)(?:-\d+)?\b|\bStandard_[A-Z]+\d\w*"
)
_CONDITIONS = {
    "processor and cores": r"\b(?:physical|logical|available) cores\b|\bcores\b\W{0,5}[:=|]"
    r"|(?:\d|\b(?:single|dual|quad|one|two|four|six|eight|zwei|vier|acht|deux|quatre))[ -]?(?:\w+[ -])?"
    r"(?:cores?|kerne|c[œo]e?urs)\b|\bmulti-?core\b"
    r"|\bCPUs?\W{0,3}[:=|](?!\W{0,5}(?:lock|alloc|wall)\b|[\s*_]*!?\[)(?!\W{0,5}\d{0,2}(?:[.,\u2013-]\d+)?\s?%)"
    r"|ядер|ядра|Xeon|Ryzen|\bCore i\d|\bi[3579]\b"
    r"|\bM[1-5]\b|Celeron"
    r"|\bEPYC\b|\bvCPUs?\b|\d\s?CPUs?\b|\bAMD\b|núcleos|\d\s?(?:核|코어|コア)|논리 ?코어 ?\d"
    r"|[双四六八]核|\bR[3579][ -]?\d{4}"
    rf"|{_INSTANCE}",
    "memory": r"\d\s?(?:[GM]i?B?|ГБ|Гб)\s?(?:of )?(?:\w+ )?RAM\b|\bRAM\b[^\w%\n]{1,8}(?:\w+ )?[~≈]?\d+ ?[GMГ]|ОЗУ"
    r"|оперативн\w+ памят\w+\s*[:\d]|\bDDR\d"
    r"|\d\s?(?:GB|GiB|MB|MiB|ГБ|Гб) (?:of )?(?:memory|памяти)(?! (?:footprint|us\w+|leak\w*|growth)\b)"
    r"|\d\s?Gi?B\s.{0,20}\bv?CPUs?\b"
    rf"|(?:\bmemory(?: limit| size)?|\bmemoria|内存|메모리|メモリ|\bArbeitsspeicher|\bmémoire){_SAID}\d"
    rf"(?![\d.,]* ?[KMG]i?B (?:RSS|us\w+|footprint)\b)"
    rf"|\d\s?(?:GB|GiB|G|M)\s?(?:内存|메모리|メモリ|Arbeitsspeicher|de mémoire|de memoria)"
    rf"|\d\s?核\s?\d{{1,3}}\s?G|内存[^\w\n]{{1,4}}\d|\bmem_limit\W{{1,4}}\d"
    rf"|\bCPUs?\b.{{1,9}}\d\s?Gi?B\b|\bR[3579][ -]?\d{{4}} \d+ ?G\b|{_INSTANCE}",
    "warm-up": r"warm(?:ed|ing)?[ -]?up|warm(?:ed)? cache"
    r"|(?<!мог )(?<!могли )(?<!могли [\"«])прогре(?!сс)|разогре|预热|預熱|워밍 ?업|예열|ウォームアップ"
    r"|暖機|calentamiento|aquecimento|\baufw[äa]rm|\baufgewärmt|\bpréchauff|\bmise en température",
    "where the generator ran": r"localhost|127\.0\.0\.1|\b0\.0\.0\.0:\d|\bgenerator ran\b|\bhost machine\b"
    r"|\bsingle-node host\b|\bclients? (?:was|were|is|ran|runs)(?: running)? [io]n\b|\b(?:same|another|separate"
    r"|local) (?:\w+ )?(?:machine|host|instance|server|laptop)|(?:одной|одном|той же|том же|другой|другом|отдельн\w+) "
    r"(?:машин|хост|компьютер)\w*|(?:misma|mesma|otra|outra) (?:máquina|maquina)|(?:demselben|separaten|eigenen"
    r"|anderen) (?:Rechner|Server|Host)|(?:derselben|anderen) Maschine|\blokal\w*|même machine|autre machine"
    r"|\ben local\b|(?:同一|同じ|另一)\s?(?:台|个|の|EC2|マシン|机器)|\b(?:single|my|our|own) (?:\w+ )?(?:machine|host"
    r"|laptop|box|pc|computer|macbook|mac)\b|\bdedicated (?:\w+ )?(?:machine|host|node|vm)\b|\blocal(?:ly| dev\w*"
    r"| docker| env\w*)\b|локальн\w+|本机|本地(?:环境|开发|测试)|(?:环境[为是:\uff1a]|在)\s?本地|로컬|같은 (?:머신"
    r"|서버|장비)|ローカル|同居",
}
_OF_THE_JVM = {
    "heap": r"-Xm[xs]|\bheap\b|\bхип|размер кучи",
    "JDK": r"\bJDK\b(?!\.[a-z])|openjdk|\bjava(?: version| ?\d|[ \t:=|*]{1,6}v?\d)|GraalVM",
}
_JVM = re.compile(
    r"(?i)\bjava\b(?!-?script)|\bgradlew?\b|\bmvnw?\b|spring[ -]?boot|bootRun|\bhikari|\bjvm\b|async[- ]?profiler"
    r"|asprof|profiler\.sh\b|\bvisual ?vm\b|one[-.]nio|\bG1\b|\bjit\b|\bjfr\b"
)
_STATED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in (_CONDITIONS | _OF_THE_JVM).items()}
SEVERAL = 4  # conditions that are not stated; fewer were forgotten, and are a note, unless the machine is among them
_OF_THE_MACHINE = {"processor and cores", "memory"}
_OF_MEMORY = {"memory", *_OF_THE_JVM}  # without them nobody can tell what the garbage collector did


@rule(
    "RUN006",
    "conditions-not-stated",
    Severity.WARNING,
    "state cores, memory, JDK, heap and warm-up, and on which machine the generator ran",
)
def _conditions(group: Group) -> Iterator[Seen]:
    """The document does not say under which conditions was measured."""
    first = group[0]
    if not tells(group) or first.entry:
        return  # the folder's index is ours, and says it elsewhere
    urls = "\n".join(filter(None, (output.report.url for output in group)))
    text = context.spaced("\n".join(line.text for line in first.prose)) + f"\n{urls}"
    wanted = [*_CONDITIONS, *(_OF_THE_JVM if _JVM.search(text) else ())]
    missing = [name for name in wanted if not _STATED[name].search(text)]
    if missing:
        hardly = len(missing) >= SEVERAL or {*missing} >= _OF_THE_MACHINE or {*missing} >= _OF_MEMORY
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
        found = [(match, line) for line in output.text_above if (match := _PARAMETER.match(line.text))]
        listed = [(int(match["after"] or match["before"]), line) for match, line in found]
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


@rule("DOC001", "rate-of-the-heading", Severity.WARNING, "correct the one that is wrong")
def _loads(group: Group) -> Iterator[Seen]:
    """The heading or the text above names another load than the command."""
    yield from _other_threads(group)
    yield from _other_rate(group)
    yield from _other_load(group)
    yield from _no_such_connections(group)
    yield from _other_command(group)
    yield from _reckoned_load(group)


def _rows(output: Output) -> tuple[tuple[float, float], ...]:
    return output.report.latencies.rows


@rule("DOC003", "one-output-twice", Severity.ERROR, "put the second run's own output in its place")
def _same_output(group: Group) -> Iterator[Seen]:
    """One output is given for two different loads."""
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
    yield from _given_twice(group)
    yield from _same_rates(group)


def _given_twice(group: Group) -> Iterator[Seen]:
    """Find an output that stands for another of a series too: its counts and latencies agree to the last digit."""
    places: dict[object, int] = {}
    for index, output in enumerate(group):
        report = output.report
        if report.transcribed or not (report.requests and report.requests_per_s and report.latency):
            continue
        figures = (report.requests, report.requests_per_s, report.latency, _rows(output))
        same = places.setdefault((*figures, output.offered_rps, output.connections), index)
        if report.latency.mean and index - same > 1:
            between = write.several(index - same - 1, "other output")
            text = f"it is the output of {group[same].place} once more, with {between} between"
            yield Seen(output, text, {"first": group[same].place})


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


RULES = (_conditions, _loads, _same_output)
