"""ERR: what came back. Errors counted as successes, time-outs, and a mixed load that is not mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.audit.reports import is_report
from runners.audit.rule import Group, Seen, dead_connections, finite, rule, rule_of_output
from runners.audit.rules.comparing import NOT_MEASURED
from runners.audit.rules.sentences import HOPED_FOR, sentences
from runners.audit.rules.tables import read
from runners.readers import write
from runners.readers.figure_names import NO_MEASUREMENT, figure_name, value
from runners.readers.finding import Severity
from runners.readers.output import Output

FEW = 0.001  # below this share errors hardly move a percentile up to p99; they still have to be named
ONE_KIND = 0.05  # a mixed load with less than this share of one kind is no mix
APART = 0.1  # responses of two kinds must differ in size by this share for sizes to tell them apart
_KIND = re.compile(r"[a-z]+")
_SHARE = r"(?P<share>\d{1,3}(?:[.,]\d{1,3})?)\s?%"
_FAILED = (
    r"(?:error rates?|errors?\b|failure rates?|failures?\b|(?:of )?(?:the |all )?(?:requests|responses|calls)"
    r" (?:\w+ )?(?:failed|timed out|returned (?:an error|errors|[45]\d\d|5xx)|were (?:errors|rejected|dropped))"
    r"|failed\b|5xx|timeouts?\b|ошиб\w+|запросов (?:заверш\w+ )?(?:с ошибк\w+|упал\w*))"
)
#: Sentences that give a share of errors, in several languages, or a number of failed requests.
_ERRORS_SAID = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.,<>~\u2264-]){_SHARE}\s(?:\w+ )?{_FAILED}(?!\s?[:=])",
        r"\b(?:error|failure) rates?\b(?:[ :=*`]|(?:of|was|were|is|at|to|reached|hit|climbed|rose|jumped|about"
        rf"|around)\b){{1,8}}[~\u2248]?{_SHARE}",
        rf"(?:ошибок|доля ошибок|процент ошибок)[\s:=*\u2014-]{{1,5}}(?:составил\w* |около )?{_SHARE}",
        rf"(?:错误率|失败率|エラー率|失敗率|에러율|오류율|실패율)[^\d%<>\u2264。，.]{{0,8}}{_SHARE}",
        rf"(?:tasa|taxa|porcentaje|índice) de (?:error(?:es)?|erros?|fallos?|falhas?)[^\d%<>.]{{0,12}}{_SHARE}",
        rf"{_SHARE} de (?:las |los |as )?(?:requests|solicitudes|peticiones|requisições) (?:fallan|fallid\w+|falh\w+)"
        rf"|(?<![\w.,<>-]){_SHARE.replace('share', 'other')} de (?:error|fallos)",
        r"(?<![\w.,/-])(?P<count>\d{1,3}(?:,\d{3})+|\d{1,9})\s?(?:/|of|out of)\s?\d[\d,]* requests (?:\w+ ){0,3}?`?"
        r"(?:failed|timed out|errors?|connection reset|reset|rejected|[45]\d\d)\b",
        r"http_req_failed.{1,60}?rate\s?=\s?(?P<count>0\.\d+|1(?:\.0+)?)(?![\d.])",
        r"(?<![\w.,<>-])(?P<count>\d{1,3}(?:,\d{3})+|\d{1,9}) (?:failed requests|requests (?:\w+ )?(?:failed|timed out)"
        r"|запрос\w* (?:упал\w*|заверш\w+ с ошибк\w+))\b",
    )
)
#: What an author calls responses that refuse a request.
_REFUSED = re.compile(
    r"(?i)^\W*(?:(?:rate[- ]limit(?:ed|ing)?|throttled?)(?: hits?| responses?| requests?| errors?| rejections?)"
    r"|(?:http )?(?:429|50[0234])s?(?: rate| responses?| count| errors?| hits?)|限流(?:次数|数|请求数?)"
    r"|(?:요청 ?)?제한(?: ?응답)? ?수)(?: ?\([^()]{0,30}\))?\W*$"
)
_SOME = re.compile(r"^(?:(?P<count>\d{1,3}(?:,\d{3})+|\d{1,9})|(?P<share>\d{1,3}(?:\.\d{1,3})?) ?%)(?: \(.*\))?$")
_ITEM = re.compile(rf"^[-*+\s]*(?P<name>[^:\uff1a|]{{3,40}})[:\uff1a][*\s]*{_SHARE}")
#: What says that a share of errors is a limit, or that nobody saw it.
_A_LIMIT = re.compile(
    r"(?i)[<\u2264]|\b(?:below|under|less than|at most|up to|max(?:imum)?|limit\w*|alert\w*|when|unless|allow\w*"
    r"|accept\w*|within|simulat\w+|inject\w*|chaos|flaky|match(?:es|ing)|configured|budget|порог\w*|допуст\w*|менее"
    r"|ниже|меньше|не более|требовани\w*)\b|低于|小于|以内|阈值|目标|要求|미만|이하|이내|목표|기준|未満|以下|目標"
)


def _errors_as_successes(output: Output) -> Iterator[Seen]:
    errors, requests, share = output.report.non_2xx, output.report.requests, output.report.error_share
    if share:
        text = f"{write.percent(share)} of the responses are errors, and stand in rate and latency like the others"
        yield Seen(output, text, {"share": round(share, 6)}, Severity.WARNING if share < FEW else None)
    if not errors or not requests:
        return
    share = min(1.0, errors / requests)  # that there are more errors than requests is said elsewhere
    portion = write.percent(share) if share >= FEW else f"1 in {write.count(requests / errors)}"
    text = (
        f"{write.count(errors)} of {write.count(requests)} responses ({portion}) are not 2xx or 3xx, and "
        "stand in rate and latency like the others"
    )
    evidence: dict[str, write.Value] = {"non_2xx": errors, "requests": requests, "share": round(share, 6)}
    yield Seen(output, text, evidence, Severity.WARNING if share < FEW else None)


@rule(
    "ERR001",
    "errors-as-successes",
    Severity.ERROR,
    "report responses by status, cure their cause, and quote latency of successes alone",
)
def _errors(group: Group) -> Iterator[Seen]:
    """Responses other than 2xx and 3xx are counted like successes.

    Find outputs with errors; where there is none, a share or a number of errors that the author gives himself.
    """
    of_outputs = [seen for output in group for seen in _errors_as_successes(output)]
    yield from of_outputs
    first = group[0]
    if of_outputs or first.entry or not is_report(first):
        return
    said = next(_said_in_tables(group), None) or next(_said_in_words(group), None)
    if said:
        line, words = said
        text = f"line {line} gives errors ({words!r}), which stand in rate and latency like the other responses"
        yield Seen(first, text, {"said_at_line": line})


def _said_in_words(group: Group) -> Iterator[tuple[int, str]]:
    for sentence in sentences(group[0].prose):
        text = sentence.text
        if text.count("|") > 1 or any(words.search(text) for words in (_A_LIMIT, NOT_MEASURED, HOPED_FOR)):
            continue
        for pattern in _ERRORS_SAID:
            match = pattern.search(text)
            if match and _number(match) > 0:
                yield sentence.line, match[0]
        item = _ITEM.match(text)
        if item and _of_errors(item["name"]) == "errors" and _number(item) > 0:
            yield sentence.line, item[0].strip("-*+ ")


def _number(match: re.Match[str]) -> float:
    named = match.groupdict()
    count, share = named.get("count"), named.get("share") or named.get("other") or "0"
    return float(count.replace(",", "")) if count else float(share.replace(",", "."))


def _said_in_tables(group: Group) -> Iterator[tuple[int, str]]:
    """Find cells of an author's tables that give errors, where their rows or columns are called so."""
    for table in read(group[0].prose):
        columns = [index for index, head in enumerate(table.head) if not NO_MEASUREMENT.search(head)]
        down = {index: name for index in columns if (name := _of_errors(table.head[index]))}
        for line, cells in table.rows:
            row = _of_errors(cells[0])
            some = _SOME.match(cells[1].strip("*` ")) if len(cells) > 1 and _REFUSED.match(cells[0]) else None
            if some and float((some["count"] or some["share"]).replace(",", "")) > 0:
                yield line, f"{cells[0].strip('*` ')}: {cells[1].strip('*` ')}"
            for index in columns[1:] if 0 in columns else columns:
                name = down.get(index) or row
                if name and index < len(cells) and _is_failure(cells[index], name):
                    yield line, f"{(cells[0] if row else table.head[index]).strip('*` ')}: {cells[index].strip('*` ')}"


def _of_errors(text: str) -> str | None:
    named = figure_name(text)
    return named[0] if named and named[0] in ("errors", "success") else None


def _is_failure(cell: str, name: str) -> bool:
    """Tell whether a cell gives a share of errors, or of less than all as successes; of a number it may be a status."""
    found = value(cell, name, None, rough=True)
    if found is None:
        return False
    kind, number = found
    return (kind == "error_share" and number > 0) or (kind == "success_share" and number <= 1 - FEW)


@rule_of_output(
    "ERR004",
    "socket-errors",
    Severity.ERROR,
    "find the cause; with time-outs raise --timeout above the longest response, or quote no tail",
)
def _socket_errors(output: Output) -> Iterator[Seen]:
    """Connections failed or requests timed out."""
    errors = output.report.socket_errors
    if errors is None:
        return
    counts: dict[str, write.Value] = {
        "connect": errors.connect,
        "read": errors.read,
        "write": errors.write,
        "timeout": errors.timeout,
    }
    seen = [f"{write.count(int(number or 0))} {name}" for name, number in counts.items() if number]
    if not seen:
        return
    text = f"socket errors: {write.listed(seen)}"
    if errors.timeout:
        dead, connections = dead_connections(output), output.connections
        waited = f"about {write.several(max(1, dead), 'connection')}" + (
            f" of {write.count(connections)}" if connections else ""
        )
        text += f"; time-outs count connections at each check: {waited} waited, and no figure holds their wait"
    yield Seen(output, text, counts)


@dataclass(frozen=True, slots=True)
class _Script:
    """An output's script: the kinds of request that its name lists, and bytes a response."""

    output: Output
    kinds: frozenset[str]
    size: float


def _scripts(group: Group) -> Iterator[_Script]:
    for output in group:
        requests, size = output.report.requests, finite(output.report.bytes_read)
        kinds = frozenset(_KIND.findall(Path(output.script).stem.lower())) if output.script else frozenset()
        if kinds and requests and size and not output.report.errors:
            yield _Script(output, kinds, size / requests)


@rule(
    "ERR005",
    "mixed-load-is-one-kind",
    Severity.ERROR,
    "choose the method in request(), not once when the script is loaded, and count requests by kind",
)
def _one_kind(group: Group) -> Iterator[Seen]:
    """A mixed load whose responses have the size of one kind alone.

    A script named after two others (put_get next to put and get) whose responses all have the size of one's.
    """
    scripts = list(_scripts(group))
    alone: dict[str, list[float]] = {}
    for each_script in scripts:
        if len(each_script.kinds) == 1:
            alone.setdefault(min(each_script.kinds), []).append(each_script.size)
    usual = {kind: sorted(sizes)[len(sizes) // 2] for kind, sizes in alone.items()}
    for mixed in scripts:
        sizes = {kind: usual[kind] for kind in sorted(mixed.kinds) if kind in usual}
        if len(mixed.kinds) != 2 or len(sizes) != 2:
            continue
        (first, first_size), (second, second_size) = sizes.items()
        if abs(first_size - second_size) < APART * max(first_size, second_size):
            continue
        share = min(1.0, max(0.0, (mixed.size - second_size) / (first_size - second_size)))
        if ONE_KIND < share < 1 - ONE_KIND:
            continue
        only = first if share > 0.5 else second
        text = (
            f"the mixed load is {only.upper()} alone: its responses have {mixed.size:.1f} bytes, those of "
            f"{first.upper()} {first_size:.1f} and of {second.upper()} {second_size:.1f}, which makes a share of "
            f"{write.percent(share)} {first.upper()}"
        )
        evidence: dict[str, write.Value] = {
            "bytes_a_response": round(mixed.size, 2),
            f"bytes_a_response_{first}": round(first_size, 2),
            f"bytes_a_response_{second}": round(second_size, 2),
            f"share_{first}": round(share, 4),
        }
        yield Seen(mixed.output, text, evidence)


RULES = (_errors, _socket_errors, _one_kind)
