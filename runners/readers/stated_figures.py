"""Figures that a report states anywhere, for documents of which no run is read by its form.

A rate is a number with a unit of any count by time (`12k req/s`, `1,640 ops/s`, `~4000/min`), a latency one with a
unit of time in a line, or below a head of a table, that names a latency or a percentile. What an author wants, plans,
expects or sets as a limit is none; a bound (`< 50 ms`) is what was measured only under a heading of results, or
behind a verb that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.readers.documents import Line
from runners.readers.figure_names import EXPECTED, TIME_UNIT, UNITS_US
from runners.readers.wrk_console import LONGEST_LINE

_COUNTED = (
    r"(?:(?:http|api) )?(?:req(?:uest)?s?|op(?:eration)?s?|messages?|msgs?|tx|txns?|transactions?|transações|events?"
    r"|orders?|queries|iterations?|iters?|hits|calls|jobs|records?|writes?|reads?|commands?|lookups?|connections?"
    r"|запрос\w*|операци\w+|сообщени\w+|событи\w+|транзакци\w+|peticiones|solicitudes|requisições|requêtes|anfragen"
    r"|istek|permintaan)"
)
_BY_TIME = (
    rf"(?:{_COUNTED}\s?)?/\s?(?P<each>s(?:ec(?:ond)?)?|min(?:ute)?|m|с(?:ек)?|мин|dk|sn|秒|分|초|분)(?![\w/])"
    rf"|{_COUNTED}\s(?:per|a|every|в|por|par|pro)\s(?P<unit>second|sec|minute|min|секунду|минуту|segundo|minuto|seconde"
    r"|sekunde)\b|(?:[rqt]ps|iops|ops|rpm|tpm|qpm)(?![\w])"
)
_NUMBER = (
    r"(?<![\w.,/:=-])(?:(?P<bound><\s?=?|>\s?=?|[\u2264\u2265])\s?)?(?:[~\u2248\u7ea6\u7d04\u223c]\s?)?"
    r"(?P<number>\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?|\d{1,9}(?:\.\d{1,4})?)\s?(?P<scale>[kKM](?![a-zA-Z]{2}s\b)"
    r"|[\u4e07\ub9cc])?\+?(?:\s?[-\u2013\u2014~]\s?[\d.,]{1,10}\s?[kKM]?)?\s?"
)
_RATE = re.compile(rf"{_NUMBER}(?:{_BY_TIME})", re.IGNORECASE)
_TIME = re.compile(rf"{_NUMBER}(?P<time>{TIME_UNIT}|seconds|milliseconds|миллисекунд\w*|секунд\w*|sn)(?![^\W\d_가-힣])")
_MORE_UNITS_US = {"seconds": 1e6, "milliseconds": 1e3, "миллисекунд": 1e3, "секунд": 1e6, "sn": 1e6}
_OF_LATENCY = re.compile(
    r"(?i)\blatenc(?:y|ies|ia|ias|e)\b|\b(?:response|request|processing|round[- ]?trip) times?\b|\bresponses?\b"
    r"|\bp\s?\d{2}\b|\b\d{2}th\b|\bpercentiles?\b|\b(?:average|avg|mean|median|max)\b|http_req_duration|latência"
    r"|tempos? de resposta|tiempos? de respuesta|temps de réponse|antwortzeit\w*|yanıt|gecikme|waktu respon|độ trễ"
    r"|thời gian phản hồi|задерж\w+|врем\w+ (?:ответ|отклик|обработк)\w*|отклик|延迟|时延|耗时|响应|応答|レイテンシ"
    r"|レスポンス|응답|지연|소요"
)
_LEVEL = re.compile(r"(?i)\bp\s?\(?(\d{2}(?:\.\d)?)\)?(?![\d])|\b(\d{2}(?:\.\d)?)(?:th|-?й)\b")
#: What somebody wants, plans, assumes or gives as a setting.
_NOT_MEASURED = re.compile(
    r"(?i)\b(?:targets?|goals?|slos?|slas?|thresholds?|expect\w*|estimat\w*|project(?:ed|ions?)|objectives?|criteria"
    r"|requirements?|requires?|budgets?|examples?|theoretical\w*|should|must|would|could|may|might|aims?|plan(?:s|ned)?"
    r"|if|when|until|alerts?|rate[- ]?limit\w*|limits?|limited|quota\w*|time-?outs?|intervals?|sleeps?|delay|ramp\w*"
    r"|config\w*|window|retry|retries|ttl|every|warn\w*|pass(?:es)? if|acceptable|typical\w*|usually|default|цел[ьи]"
    r"|порог\w*|ожида\w+|критери\w+|требовани\w+|долж\w+|лимит\w*|таймаут\w*|если|crit[eé]rios?|metas?|deve\w*|debe\w*"
    r"|objetivos?|hedef|beklenen|soll\w*|ziel\w*)\b|目标|要求|标准|基準|目標|阈值|预期|预计|应该|如果|超时|限流|목표"
    r"|기준|예상|제한|임계|타임아웃|만약|想定|べき|制限"
)
OF_RESULTS = re.compile(
    r"(?i)\b(?:results?|findings|measurements?|measured|observ(?:ed|ations?)|achieved|actual|benchmarks?|resultad[oa]s?"
    r"|résultats?|ergebnis\w*|sonuç\w*|hasil|kết quả|summary|conclusions?)\b|результат\w*|замер\w*|итог\w*|вывод\w*"
    r"|结果|结论|総括|実測|결과|측정|結果|실측"
)
_OF_A_LOAD = re.compile(
    r"(?i)\b(?:load|stress|performance|perf|benchmark\w*|throughput|soak|spike|capacity|scalability|carga|rendimiento"
    r"|desempenho|yük|beban)\b|нагруз\w+|производит\w+|бенчмарк\w*|压测|压力|性能|负载|基准|부하|성능|벤치|負荷|ベンチ"
)
_VERB = re.compile(
    r"(?i)\b(?:handle[ds]?|handling|sustain\w*|serv(?:es?|ed)|reach\w*|achiev\w*|stay(?:s|ed)|remain\w*|kept|keeps|got"
    r"|saw|measured|observed|processed|peak(?:s|ed)?|averag(?:ed|ing)|dropped|fell|rose|improved|reduced|went|took|held"
    r"|was|were)\b|выдерж\w+|держ\w+|показал\w*|составил\w*|достиг\w*|达到|稳定|降至|降到|提升|처리|감소|개선|達し|記録"
)
_HEADING = re.compile(r"\s*(#{1,6})\s")
_RULE = re.compile(r"^[\s|:+=-]*$")
_CODE = re.compile(r"[;{}$\[\]]|=>|==|\(\)|^\s*(?:import|export|const|let|var|def|return|//|#!|--?\w)|https?://|\w=\w")
LEAST_FIGURES = 2
LARGEST_LATENCY_US = 600e6


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure that a report states: its name, its value, and where it stands."""

    name: str
    value: float
    heading: str
    line: Line


def stated_figures(lines: Sequence[Line]) -> list[Stated]:
    """Find the figures of a report of a load test; none where it gives too few to be one."""
    headings = [line.text for line in lines if len(line.text) <= LONGEST_LINE and _HEADING.match(line.text)]
    named = (*headings, *(line.text for line in lines[:3]))
    if not any(_OF_A_LOAD.search(text) for text in named):
        return []
    found = list(_figures(lines))
    enough = 1 if OF_RESULTS.search(" ".join(named[:1])) else LEAST_FIGURES
    return found if len(found) >= enough else []


def _figures(lines: Sequence[Line]) -> Iterator[Stated]:
    trail: list[tuple[int, str]] = []
    head: list[str] = []
    fenced = False
    for line in lines:
        text = re.sub(r"[*`]|<br ?/?>", "", line.text)
        if len(line.text) > LONGEST_LINE:
            continue
        if line.text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if not fenced and (mark := _HEADING.match(text)):
            trail = [
                *((above, title) for above, title in trail if above < len(mark[1])),
                (len(mark[1]), text.strip("# ")),
            ]
            head = []
            continue
        if fenced and _CODE.search(text):
            continue
        below = " ".join(title for _, title in trail)
        cells = [cell.strip() for cell in text.strip().strip("|").split("|")] if text.count("|") > 1 else []
        if not cells:
            head = []
        elif _RULE.match(text) or not head:
            head = head or cells
            continue
        if any(EXPECTED.search(title) for _, title in trail) or (trail and _NOT_MEASURED.search(trail[-1][1])):
            continue
        results = OF_RESULTS.search(below) is not None
        heading = trail[-1][1] if trail else ""
        for name, piece in _pieces(head, cells) if cells else [("", text)]:
            if not _NOT_MEASURED.search(f"{name} {piece}"):
                yield from _in_piece(name, piece, heading, line, results)


def _pieces(head: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give each cell of a row with the names that stand above it and before it."""
    for index, cell in enumerate(cells):
        above = head[index] if index < len(head) else ""
        if cell:
            yield (f"{above} {cells[0]}" if index else above), cell


def _in_piece(name: str, piece: str, heading: str, line: Line, results: bool) -> Iterator[Stated]:
    said = results or _VERB.search(piece) is not None
    for match in _RATE.finditer(piece):
        if match["bound"] and not said:
            continue
        minute = (match["each"] or match["unit"] or "").lower().startswith(
            ("m", "мин", "dk", "分", "분")
        ) or "pm" in match[0].lower()
        if rate := _number(match) / (60 if minute else 1):
            yield Stated("rate", rate, heading, line)
    context = f"{name} {piece}"
    if not _OF_LATENCY.search(f"{context} {heading}" if name else context):
        return
    for match in _TIME.finditer(piece):
        if match["bound"] and not said:
            continue
        unit = match["time"].lower()
        scale = UNITS_US.get(unit) or next((us for begin, us in _MORE_UNITS_US.items() if unit.startswith(begin)), 0.0)
        latency = _number(match) * scale
        if 0 < latency <= LARGEST_LATENCY_US:
            level = _LEVEL.search(piece[: match.start()]) or _LEVEL.search(name)
            digits = (level[1] or level[2]) if level else ""
            yield Stated(f"p:{round(float(digits) / 100, 9)}" if digits else "mean_us", latency, heading, line)


def _number(match: re.Match[str]) -> float:
    scale = {"k": 1e3, "m": 1e6, "\u4e07": 1e4, "\ub9cc": 1e4}.get((match["scale"] or "-").lower(), 1.0)
    return float(re.sub(r"[, ]", "", match["number"])) * scale
