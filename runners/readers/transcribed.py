"""Tables and lists in which an author retells runs: the figures that he states, and nothing guessed.

    | Metric       | Value    |     | Connections | Req/s | p50    | p99    |     Requests/sec: 15271.51
    | Error rate   | 1.68 %   |     | 100         | 35864 | 2 ms   | 5 ms   |     Avg latency: 151.49 ms
    | p(95)        | 11.84 s  |     | 500         | 28588 | 17 ms  | 32 ms  |     2xx: 980  5xx: 20

They are read where a document names one load tool, calls one alone of those that it names, or names one in the heading
above them, and holds no output of any, and so are the lines `Requests/sec:` that an author kept of each output of wrk
or wrk2, with the command above them. Each column (or row, where the figures' names are the head) is a run; small tables
that follow one another and state other figures are of one run. A figure counts only if its name is understood word by
word and its value is no limit: no `<`, no target; a time or a rate that is rounded (`~27 ms`) is one. A rate alone is a
run where the document calls the tool: in a table of several, or in a list of them behind names, `- Express: 12,345
req/s`; and so is each of a table that its heading says to be of rates, by what its columns and rows name. The one
command of wrk or wrk2 that a document has is that of its runs, unless they say otherwise. What a document calls
simulated, estimated or an illustration was not measured, and is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from runners.readers.command_line import CommandLine, parse_command
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.documents import Line
from runners.readers.examples import explains_a_tool
from runners.readers.figure_names import (
    RATE_UNIT,
    TIME_UNIT,
    UNIT_IN_NAME,
    UNITS_US,
    figure_name,
    plain,
    status_classes,
    value,
)
from runners.readers.percentile_tables import Column
from runners.readers.wrk_console import LONGEST_LINE, clean

#: What stands before the short name of a tool, so that it is no other word.
_BY = r"(?i:\b(?:with|using|via|by|tools?:|инструмент:?)\s\**|用 ?|工具[:\uff1a为是] ?)"
_TOOLS = {
    name: re.compile(pattern, re.ASCII)  # a name may stand between characters of a language without spaces
    for name, pattern in {
        "k6": r"(?i)\bk6\b|\bhttp_req_duration\b|\b\d+ ?VUs?\b|\bVUs?:? \d",
        "autocannon": r"(?i)\bautocannon\b",
        "wrk": r"(?<![\w-])wrk\b",
        "wrk2": r"\bwrk2\b",
        "ab": rf"(?i:apache ?bench)|`ab`|\bab -[nckt]\b|{_BY}ab\b",
        "hey": rf"`hey`|\[hey\]|rakyll/hey|\bhey (?:-[nczqm]\b|commands?\b|load\b|runs?\b)|{_BY}hey\b",
        "oha": rf"`oha`|\boha (?:-[nczq]\b|https?://)|hatoo/oha|{_BY}oha\b",
        "bombardier": r"(?i)\bbombardier\b",
        "vegeta": r"(?i)\bvegeta\b",
        "Gatling": r"(?i)\bgatling\b",
        "JMeter": r"(?i)\bjmeter\b",
        "NBomber": r"(?i)\bnbomber\b",
        "Locust": r"(?i)\blocust\b",
        "Artillery": r"(?i)\bartillery\b",
        "siege": r"(?i)\bsiege\b",
        "rewrk": r"\brewrk\b",
        "go-wrk": r"\bgo-wrk\b",
        "loadtest": r"\bloadtest (?:https?://|-[cnt] \d)|npmjs\.com/package/loadtest",
        "another": r"(?i)\b(?:tsung|yandex[.-]tank|memtier|redis-benchmark|pgbench)\b",
    }.items()
}
#: A line that says with what was measured; where it names several, the first is the one.
_TOOL_FIELD = re.compile(
    r"(?i)^[\s|>*+-]*(?:\*\*)?(?:(?:load|test|benchmark)(?:ing)? )?(?:tools?|инструмент\w*|测试工具"
    r"|压测工具|工具|테스트 도구|도구|ツール"
    r"|herramientas?|ferramentas?|tooling|outils?)(?:\*\*)?\s*[:\uff1a|]"
)
#: A command that runs a tool, by which the one that made the figures is known where a document names several.
_CALLED = re.compile(
    r"(?<![\w/.-])(?P<tool>wrk2?|ab|hey|oha|bombardier|autocannon|siege|rewrk|go-wrk|k6|vegeta|locust|artillery"
    r"|jmeter|loadtest)"
    r"\s+(?:run\b|attack\b|quick\b|-{1,2}[a-zA-Z]|https?://)",
    re.ASCII,
)
_NAME = {name.lower(): name for name in _TOOLS}
#: Tools that send requests on a schedule, or whose reports do not tell whether they do.
_MAY_BE_PACED = frozenset({"Artillery", "Gatling", "NBomber", "loadtest", "vegeta", "wrk2"})
_NEVER_PACED = frozenset({"ab", "go-wrk", "hey", "rewrk", "siege", "wrk"})
_BY_RATE = re.compile(
    r"(?i)arrival[- ]?rate|throughput timer|overallRate|^\s*rate: ?\d+,?\s*$|users?[ /]?per ?sec|iterations/s for"
    r"|(?-i:-e RATE=\d|\bRATE=\d)"
    r"|(?:constant|fixed|steady|постоянн\w+)\s(?:load |нагрузка )?(?:of )?(?:\d[\d,.]*k? ?)?(?:[rt]ps|rate|req/s)\b"
)
#: Loads whose rate grows during the run: its mean is below the highest one that was offered.
_RAMPS = re.compile(r"(?i)ramping-arrival-rate|rampTo\b")
#: What says of all figures of a document that nobody measured them, and headings of sections that say it of theirs.
_SIMULATED = re.compile(
    r"(?i)^#{1,6}\s.*[(\uff08\[](?:simulated|시뮬레이션|模拟(?:数据)?|仿真|シミュレーション|симуляци\w+"
    r"|simulad\w+)[)\uff09\]]"
    r"|\b(?:values|numbers|figures|results|metrics)\b.{0,30}\bare \**(?:illustrative|simulated|estimate[sd]"
    r"|hypothetical|made up|placeholders?|projected|examples)\b"
)
_EXPECTED = re.compile(
    r"(?i)[(\uff08\[](?:expected|projected|estimated|illustrative|example|예시|示例|пример|estimad\w+|exemplo|ejemplo)"
    r"[)\uff09\]]|예상|预估|预期|想定|\b(?:expected|projected|estimated) (?:results?|performance|metrics|output)\b"
)
NO_MEASUREMENT = re.compile(
    r"(?i)\b(?:targets?|goals?|slos?|slas?|thresholds?|expected|estimated|projected|objectives?|limits?|criteria"
    r"|requirements?|budgets?|change|improvement|delta|diff|example|theoretical"
    r"|цел[ьи]|порог\w*|ожида\w+|критери\w+|требовани\w+|изменени\w+|прирост\w*|crit[eé]rios?|metas?)\b"
    r"|目标|指标要求|标准|基準|목표|기준"
)
#: A heading or caption of a table of rates, and columns that hold what is reckoned from others.
_OF_RATES = re.compile(
    r"(?i)\brequests?(?: per |\s?/\s?)s|(?<![a-z])req/s|\b[rq]ps\b|\bthroughput\b(?!.{0,20}\b[KMG]i?B)"
    r"|吞吐|QPS|пропускн\w+|запрос\w* в сек"
)
_NO_RUN = re.compile(r"(?i)\bvs\b|ratio|\brel(?:ative)?\b|winner|speed-?up|memory|cpu|[%\u00d7]")
#: Headings and captions of what is to be run; a rate alone in a table below them is the one to be offered.
_PLANNED = re.compile(
    r"(?i)\b(?:scenarios?|config\w*|parameters?|phases?|stages?|plans?|setup|settings|profiles?|options|workloads?"
    r"|rate[- ]limit\w*|quotas?|tiers?|pricing"
    r"|сценари\w+|параметр\w*|профил\w+|escenarios?|cenários?|configura\w+)\b|配置|场景|参数|시나리오|설정"
    r"|設定|シナリオ"
)
_OF_WHOLE_REQUESTS = re.compile(r"(?i)^\W*http[\s_](?:req(?:uest)?[\s_])?(?:duration|latency|time)\b")
_OTHER_METRIC = re.compile(
    r"^(?:http_req_(?!duration)\w+|iteration_duration|data_\w+|group_duration|vus\w*|checks\w*)$"
)
_RULE = re.compile(r"^[\s|:+=-]*$")
_ITEM = re.compile(r"^\s*(?:[-*+]\s+)?(?P<name>[^:|\uff1a]{1,48})[:\uff1a]\s*(?=[^|]*\w)(?P<value>[^|]{1,90})$")
_A_RUN = re.compile(r"(?i)^(?:run|iteration|attempt|trial|round|прогон|запуск|попытка|№|#)?\s?#?\d{1,2}$")
_A_RUN_HEAD = re.compile(
    r"^(?:#|№|no\.?|runs?|iterations?|attempts?|trials?|rounds?|tests? ?#|прогон|запуск|попытка|回|次)$"
)
#: What an author kept of an output, behind the name of what it is of.
_KEPT = re.compile(r"^\s*(?P<label>[^|:]{0,48}?)\s*Requests/sec:\s+(?P<rate>\d{1,9}(?:\.\d{1,4})?)(?![\d.])")
_COMMAND = re.compile(r"(?<![\w-])(?P<command>(?:[\w.]+/)*wrk2?(?:\s+-{1,2}[a-zA-Z][^\s`]*(?:\s+\d\w*)?)+[^`]*)")
_LISTED = re.compile(
    r"^\s*(?:[-*+]|\d{1,2}[.)])\s+(?P<label>[*_`]*(?:[^\W\d_]|\[).{0,120}?)[\s:\uff1a=\u2013\u2014-]+"
    rf"(?P<rate>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?"
    rf"|\d{{1,9}}(?:\.\d{{1,4}})?)(?P<kilo>k?)\s?(?:{RATE_UNIT})(?:\s*\([^()]*\))?\s*$",
    re.IGNORECASE,
)
#: Figures in one line, behind what they are of: `- GET /a: p50 4ms, p99 7ms`.
_INLINE = re.compile(
    r"(?<![\w.])(?P<name>p\d{2}(?:\.\d{1,2})?|avg|average|mean|median|max|среднее|медиана|максимум|平均|最大|평균|최대"
    r"|promedio|mediana|máximo|média)"
    rf"(?:\s?[:=]\s?|\s(?:(?:of|is|was|at|de|\u2014"
    rf"|\u2013)\s)?)(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_])",
    re.IGNORECASE,
)
#: A rate and a latency that a sentence gives, where a document holds no other figures.
_RATE_IN_TEXT = re.compile(
    r"(?<![\w.,])(?P<rate>\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,3})?)\s?(?P<kilo>k)?\s?"
    rf"(?:{RATE_UNIT}|requests per second|запросов в секунду)(?!\w)",
    re.IGNORECASE,
)
_LATENCY_IN_TEXT = re.compile(
    rf"(?<![\w.,])(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))\s(?P<name>p\d{{2}}|average|avg|mean|median|max)(?!\w)",
    re.IGNORECASE,
)
#: What such figures stand behind, in several languages.
_RATE_BEFORE = re.compile(
    r"(?:吞吐量?|处理量|QPS|TPS|RPS|처리량|スループット|throughput|пропускн\w+ способност\w+)[^\d<>.。；;]{0,12}?"
    r"(?P<rate>\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,3})?)(?P<kilo>k)?(?![\d%.])"
    r"|(?:초당|每秒(?:处理)?|毎秒)[^\d<>.。]{0,6}(?P<each>\d{1,9}(?:\.\d{1,3})?)\s?(?:개|건|번|회|个|次|件)",
    re.IGNORECASE,
)
_LATENCY_BEFORE = re.compile(
    r"(?:p(?:\d{2})\D{0,3}(?:latency|задержк\w+)?|latency|response times?|응답 ?(?:시간|속도)"
    r"|지연 ?시간|响应时间|延迟|耗时|応答時間"
    r"|レスポンス(?:タイム)?|задержк\w+|врем\w+ (?:ответа|отклика|обработки)|tiempos? de respuesta|latencia"
    r"|tempo de resposta"
    rf"|latência|temps de réponse)[^\d<>.。；;]{{0,16}}?(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_가-힣])",
    re.IGNORECASE,
)
#: A share of the requests that had a response within a time.
_SHARE_WITHIN = re.compile(
    r"(?<![\d.,])(?P<share>\d{2})\s?%(?:의 ?요청|的请求|の(?:リクエスト|要求)| of (?:the |all )?requests| запросов"
    r"| de las (?:solicitudes"
    rf"|peticiones)| das requisições)[^.。;；]{{0,50}}?(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_가-힣])",
    re.IGNORECASE,
)
_FAILED_SHARE = re.compile(
    r"(?<![\d.,<>])(?P<before>\d{1,2}(?:[.,]\d{1,2})?)\s?% (?:de (?:las |los |as )?(?:requests|solicitudes"
    r"|peticiones|requisições)"
    r" (?:fall|falh)\w+|of (?:the |all )?requests (?:\w+ )?(?:fail\w*|timed out)|запросов (?:\w+ )?(?:упал\w*"
    r"|с ошибк\w+))"
    r"|(?:error rate|tasa de error|taxa de erros?|процент ошибок|错误率|失败率|에러율|실패율"
    r"|エラー率)[^\d%<>.。，,]{1,20}"
    r"(?P<after>\d{1,2}(?:[.,]\d{1,2})?)\s?%",
    re.IGNORECASE,
)
#: Bounds are what somebody wants, or what a figure did not exceed.
_BOUNDED = re.compile(
    r"(?i)[<>\u2264\u2265]|\b(?:below|under|within|above|over|exceed\w*|less than|more than|at least|if|when|once"
    r"|sleep|timeout\w*"
    r"|ниже|выше|менее|более|если|меньше|больше|не более)\b|以内|以下|以上|超过|低于|小于|大于|이하|이상"
    r"|미만|이내|초과|未満"
)
_CHART = re.compile(r"^\s*(?P<key>title|x-axis|bar|line)\b(?P<rest>.*)$")
_HOPED = re.compile(
    r"(?i)\b(?:should|must|would|could|up to|expect\w*|warm-?up|ramp\w*|должн\w+|до \d)\b|应该|预计|목표|예상|해야|예열"
)
_WHOLE_MILLISECONDS = frozenset({"ab", "Gatling", "JMeter", "Locust"})  # as their reports give them
_RATE_OF_SCRIPT = re.compile(r"(?:-e |^\s*)RATE=(\d{1,6})\b")
ROUND_RPS = 50.0  # of which a planned rate is a multiple
_USERS = re.compile(r"^(?:vus?|virtual users|users|пользовател\w+|usuarios|usuários|vu ?수?)$")
LEAST_KEPT = 2  # one may be quoted for any reason
LEAST_LISTED = 2  # names with a rate, one below the other
NEAR_LINES = 30  # tables further apart are of two runs
LEAST_LATENCY_FIGURES = 1
LEAST_FIGURES = 2
ROUNDED_SHARE = 0.001  # of failures, where an author gives the share of successes alone
NAME_COLUMNS = 2  # the names of figures stand in one of the first columns


@dataclass(slots=True)
class _Run:
    """One run while its figures come in: by name, and percentiles by level."""

    label: str
    first_line: int
    last_line: int
    cell: int | None
    figures: dict[str, float] = field(default_factory=dict)
    single: bool = False  # whether its table or list holds this run alone
    by_users: bool = False  # whether its table gives the number of users, each of whom waits for a response
    of_rates: bool = False  # whether its table is said to be of rates alone
    heading: str = ""  # that it stands under

    def is_run(self, bare: bool) -> bool:
        """Tell whether it states enough; `bare` says whether a rate alone is, if it stands beside others."""
        latencies = sum(name.startswith("p:") or name in ("mean_us", "max_us") for name in self.figures)
        enough = latencies >= LEAST_LATENCY_FIGURES and len(self.figures) >= LEAST_FIGURES
        return enough or ((bare or self.of_rates) and not self.single and "rate" in self.figures)

    def report(self, tool: str, paced: bool | None, command: CommandLine | None) -> ConsoleReport:
        """Make the run a report of a tool; `paced` says whether its document names a rate that was offered."""
        said = self.figures
        rows = tuple(sorted((float(name[2:]), value) for name, value in said.items() if name.startswith("p:")))
        by_class = self._responses_by_class()
        requests = round(said["requests"]) if "requests" in said else None
        if requests is None and len(by_class) > 1 and "2" in by_class:
            requests = round(sum(by_class.values()))
        errors = round(said["errors"]) if "errors" in said else _failed(by_class, requests)
        share = said.get("error_share")
        if errors is None and share is None:
            share = self._failed_share()
        if share is not None and requests:
            errors = round(share * requests)
        mean, largest = said.get("mean_us"), said.get("max_us")
        timed_out = round(said.get("timeouts", 0))
        if timed_out and errors is None and tool not in ("wrk", "wrk2"):
            errors = timed_out
        connections = round(said["connections"]) if "connections" in said else None
        threads = round(said["threads"]) if "threads" in said and tool in ("wrk", "wrk2") else None
        if command and connections not in (None, command.connections):
            command = None
        if paced and "offered" in said and "rate" in said and command is None:
            command = CommandLine("", tool, rate_rps=said["offered"])
        return ConsoleReport(
            tool=tool,
            command=command,
            threads=threads,
            connections=connections,
            latency=None if mean is None and largest is None else ThreadStats(mean, None, largest, None),
            latencies=Latencies(None, rows),
            requests=requests,
            non_2xx=errors,
            error_share=share if requests is None else None,
            socket_errors=SocketErrors(0, 0, 0, timed_out) if timed_out and tool in ("wrk", "wrk2") else None,
            requests_per_s=said.get("rate"),
            closed_loop=True
            if self.by_users
            else None
            if (paced and tool not in _NEVER_PACED) or tool in _MAY_BE_PACED
            else True,
            transcribed=True,
            first_line=self.first_line,
            last_line=self.last_line,
        )

    def _responses_by_class(self) -> dict[str, float]:
        """Count the responses by the class of their status, where an author gives them so."""
        by_class: dict[str, float] = {}
        for name, count in self.figures.items():
            if name.startswith("status:"):
                first = name.split(":")[1]
                by_class[first] = by_class.get(first, 0) + count
        return by_class

    def _failed_share(self) -> float | None:
        """Give what is left of all requests beside those that are stated to have succeeded."""
        said = self.figures
        if "success_share" in said:
            share = 1 - said["success_share"]
            return share if share >= ROUNDED_SHARE else None
        if said.get("requests") and "success" in said:
            return max(0.0, 1 - said["success"] / said["requests"])
        return None


def _failed(by_class: dict[str, float], requests: int | None) -> int | None:
    """Count the responses that no success is; None where no status is given."""
    if not by_class:
        return None
    failed = by_class.get("4", 0) + by_class.get("5", 0)
    succeeded = by_class.get("2", 0) + by_class.get("3", 0)
    return round(max(failed, requests - succeeded) if requests and succeeded else failed)


def _called(text: str) -> set[str]:
    """Find the load tools that a text calls by a command."""
    return {_NAME[match["tool"]] for match in _CALLED.finditer(text)}


def _named(text: str) -> list[str]:
    return [name for name, pattern in _TOOLS.items() if pattern.search(text)]


def named_tool(lines: Sequence[Line]) -> str | None:
    """Name the one load tool that a document speaks of, or of several the one that it calls; None where none is."""
    text = _text(lines)
    found = _named(text)
    if len(found) > 1:
        fields = [name for line in lines if _TOOL_FIELD.match(line.text) for name in _named(line.text)]
        called = Counter(_NAME[match["tool"]] for match in _CALLED.finditer(text))
        most = max(called.values(), default=0)
        often = [name for name in found if called[name] == most and 2 * most > called.total()]
        found = [name for name in found if fields and name == fields[0]] or often
    return found[0] if len(found) == 1 and found[0] != "another" else None


def transcribed(lines: Sequence[Line]) -> list[Column]:
    """Read the runs that tables and lists retell, in order, as outputs of the tool that the document names."""
    tool = named_tool(lines)
    if kept := _kept(lines, tool):
        return [Column(report, label, index, len(kept), cell) for index, (report, label, cell) in enumerate(kept)]
    if any(len(line.text) <= LONGEST_LINE and _SIMULATED.search(line.text) for line in lines):
        return []
    bare = tool in _called(_text(lines))
    reading = _Reading(bare, 1e3 if tool in _WHOLE_MILLISECONDS else None)
    paced = by_rate(lines)
    ramped = any(len(line.text) <= LONGEST_LINE and _RAMPS.search(line.text) for line in lines)
    runs = [run for run in _joined(_runs(lines, reading)) if run.is_run(bare)]
    runs = _once([run for run in runs if tool or _of_heading(run)])
    runs = runs or (_alone(lines, tool) if tool else [])
    rates = {match[1] for line in lines for match in _RATE_OF_SCRIPT.finditer(line.text[:LONGEST_LINE])}
    if tool == "k6" and len(rates) == 1:
        for run in runs:
            run.figures.setdefault("offered", float(next(iter(rates))))
    asked = {command.text: command for line in lines if (command := _command(line.text))}
    only = next(iter(asked.values())) if len(asked) == 1 and tool in ("wrk", "wrk2") else None
    reports = []
    for run in runs:
        if ramped:
            run.figures.pop("offered", None)
        if not bare:
            run.figures.pop("threads", None)  # they may be the server's
        reports.append((run, run.report(tool or _of_heading(run), paced, only)))
    return [Column(report, run.label, index, len(runs), run.cell) for index, (run, report) in enumerate(reports)]


def _of_heading(run: _Run) -> str:
    """Name the one load tool that the heading above a run names; empty where it names none or several."""
    found = [name for name in _named(run.heading) if name != "another"]
    return found[0] if len(found) == 1 else ""


def by_rate(lines: Sequence[Line]) -> bool:
    """Tell whether a document says that requests are sent at a rate, whenever the responses come."""
    return any(len(line.text) <= LONGEST_LINE and _BY_RATE.search(line.text) for line in lines)


def _text(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines if len(line.text) <= LONGEST_LINE)


def _listed(lines: Sequence[Line]) -> list[_Run]:
    """Read the rates that an author lists one below the other, each behind the name of what it is of."""
    found: list[_Run] = []
    together: list[_Run] = []
    for line in (*lines, Line(-1, "")):
        match = _LISTED.match(line.text) if len(line.text) <= LONGEST_LINE else None
        if match and not NO_MEASUREMENT.search(line.text):
            rate = {"rate": float(match["rate"].replace(",", "")) * (1000 if match["kilo"] else 1)}
            together.append(_Run(match["label"].strip("*_` :"), line.number, line.number, line.cell, rate))
            continue
        if len({run.label for run in together}) == len(together) >= LEAST_LISTED:
            found += together
        together = []
    return found


def _alone(lines: Sequence[Line], tool: str) -> list[_Run]:
    """Read what an author gives outside of tables: lists of rates, charts, else sentences with figures."""
    if explains_a_tool(lines):
        return []
    own = _outside_code(lines)
    found = _listed(lines) or _charted(lines) or _in_sentences(own, both=True)
    found = found or (_in_sentences(own, both=False) if tool != "wrk2" else [])
    failed = [
        run
        for run in _runs(lines, _Reading(False, None))
        if run.figures.get("errors") or run.figures.get("error_share")
    ]
    return found or failed or _failing(own)


def _failing(lines: Sequence[Line]) -> list[_Run]:
    """Read the sentences of a report that gives its figures as pictures, and in words how many requests failed."""
    found = []
    heading = ""
    for line in lines:
        text = line.text
        if text.startswith("#"):
            heading = text.strip("# ")
        elif len(text) > LONGEST_LINE or text.count("|") > 1 or _HOPED.search(text) or _EXPECTED.search(heading):
            continue
        elif share := _FAILED_SHARE.search(text):
            figures = {"error_share": float((share["before"] or share["after"]).replace(",", ".")) / 100}
            found.append(_Run(heading, line.number, line.number, line.cell, figures, single=True))
    return found


def _outside_code(lines: Sequence[Line]) -> list[Line]:
    fenced, left = False, []
    for line in lines:
        if line.text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            left.append(line)
    return left


def _in_sentences(lines: Sequence[Line], both: bool) -> list[_Run]:
    """Read the sentences that give a rate with a latency, as one of many connections is reported in a README.

    Without `both`, a sentence that gives one of them is read too, where it says what it measures.
    """
    found: list[_Run] = []
    heading = ""
    for line in lines:
        text = re.sub(r"[*`]", "", line.text)
        if text.startswith("#"):
            heading = text
        if len(text) > LONGEST_LINE or text.count("|") > 1 or NO_MEASUREMENT.search(text) or _HOPED.search(text):
            continue
        shares = [] if both else list(_SHARE_WITHIN.finditer(text))
        if not both and (NO_MEASUREMENT.search(heading) or _EXPECTED.search(heading)):
            continue
        if not both and not shares and _BOUNDED.search(text):
            continue
        rates = [*_RATE_IN_TEXT.finditer(text), *(() if both else _RATE_BEFORE.finditer(text))]
        latencies = [*_INLINE.finditer(text), *_LATENCY_IN_TEXT.finditer(text)]
        if not both:
            latencies += _LATENCY_BEFORE.finditer(text)
        levels = re.findall(r"(?i)\bp\s?\d{2}\b", text)
        if not both and len(levels) > len({level.lower() for level in levels}):
            continue  # which of two figures is which is not said
        if (len(rates) != 1 or not latencies) if both else not (rates or latencies or shares):
            continue
        run = _Run("" if both else heading.strip("# "), line.number, line.number, line.cell, single=True)
        if not both and (same := [earlier for earlier in found if earlier.label == run.label]):
            run = same[0]
            run.last_line = line.number
        if rates:
            kilo = rates[0].groupdict().get("kilo")
            rate = float((rates[0]["rate"] or rates[0]["each"]).replace(",", "")) * (1000 if kilo else 1)
            run.figures.setdefault("rate", rate)
        for match in (*latencies, *shares):
            level = re.search(r"(?i)\bp\s?(\d{2})\b", match[0]) if not both else None
            share = match.groupdict().get("share") or (level[1] if level else None)
            named = (f"p:0.{share}", None) if share else figure_name(match.groupdict().get("name") or "latency")
            if read := value(match["value"], *(named or ("mean_us", None))):
                run.figures.setdefault(*read)
        if run.figures and run not in found and (not both or run.is_run(bare=False)):
            found.append(run)
    return found


def _charted(lines: Sequence[Line]) -> list[_Run]:
    """Read Mermaid's charts of rates and latencies: one run for each name of the x axis."""
    runs: dict[str, _Run] = {}
    names: list[str] = []
    figure: tuple[str, float | None] | None = None
    for line in lines:
        if len(line.text) > LONGEST_LINE or not (match := _CHART.match(line.text)):
            continue
        if match["key"] == "title":
            unit = UNIT_IN_NAME.search(match["rest"].strip(' "'))
            named_rate = re.search(rf"(?i)\(?(?:{RATE_UNIT})\)?", match["rest"])
            level = re.search(r"(?i)\bp(\d{2})\b", match["rest"])
            time = (f"p:0.{level[1]}" if level else "mean_us", UNITS_US[unit[1] or unit[2]]) if unit else None
            figure = ("rate", None) if named_rate else time
        elif match["key"] == "x-axis":
            names = re.findall(r'"([^"]*)"|(?<=[\[, ])([\w.]+)(?=[,\]])', match["rest"]) and [
                quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(?<=[\[, ])([\w.]+)(?=[,\]])', match["rest"])
            ]
        elif figure and names:
            values = re.findall(r"\d+(?:\.\d+)?", match["rest"].partition("[")[2])
            for name, text in zip(names[-len(values) :], values, strict=False):
                run = runs.setdefault(name, _Run(name, line.number, line.number, line.cell))
                run.figures.setdefault(figure[0], float(text) * (figure[1] or 1.0))
                run.last_line = line.number
            figure = None
    return list(runs.values())


def _kept(lines: Sequence[Line], tool: str | None) -> list[tuple[ConsoleReport, str, int | None]]:
    """Read the rates of wrk's or wrk2's outputs, where their last lines alone were kept."""
    commands = [_command(line.text) for line in lines]
    asked = {command.text for command in commands if command}
    only = next(filter(None, commands)) if len(asked) == 1 else None
    found = []
    above: CommandLine | None = None
    for line, command in zip(lines, commands, strict=True):
        above = None if line.text.startswith("#") else command or above
        match = _KEPT.match(line.text) if len(line.text) <= LONGEST_LINE else None
        if match is None or not (above or tool in ("wrk", "wrk2")):
            continue
        by = above or only
        rated = tool == "wrk2" or (by is not None and (by.rate_rps is not None or by.tool == "wrk2"))
        report = ConsoleReport(
            tool="wrk2" if rated else "wrk",
            command=by,
            requests_per_s=float(match["rate"]),
            transcribed=True,
            first_line=line.number,
            last_line=line.number,
        )
        found.append((report, match["label"].strip(), line.cell))
    return found if len(found) >= LEAST_KEPT else []


def _command(text: str) -> CommandLine | None:
    match = _COMMAND.search(text) if len(text) <= LONGEST_LINE else None
    return parse_command(match["command"].strip()) if match else None


def _once(runs: Sequence[_Run]) -> list[_Run]:
    """Leave out a table or list that says nothing of a run which another does not say too."""
    kept: list[_Run] = []
    for index, run in enumerate(runs):
        figures = run.figures.items()
        others = [other for other in runs[index + 1 :] if len(other.figures) > len(figures)]
        others += [other for other in kept if not (run.label and other.label)]
        if not any(other.figures.items() >= figures for other in others):
            kept.append(run)
    return kept


@dataclass(frozen=True, slots=True)
class _Reading:
    """How tables are read: whether a rate alone is a run, and the microseconds of a time without a unit."""

    bare: bool
    default_us: float | None
    planned: bool = False


def _runs(lines: Sequence[Line], reading: _Reading) -> Iterator[_Run]:
    """Find the runs of tables, lists and lines, with the heading that each stands under."""
    trail: list[tuple[int, str]] = []
    caption = ""
    position = 0
    while position < len(lines):
        text = lines[position].text
        if len(text) <= LONGEST_LINE and (mark := re.match(r"\s*(#{1,6})\s", text)):
            depth = len(mark[1])
            trail = [*((above, title) for above, title in trail if above < depth), (depth, text)]
        heading = trail[-1][1] if trail else ""
        measured = not (NO_MEASUREMENT.search(heading) or any(_EXPECTED.search(title) for _, title in trail))
        end = position
        while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _is_row(lines[end].text):
            end += 1
        found: Iterator[_Run] = iter(())
        if end - position > 1:
            planned = _PLANNED.search(f"{heading} {caption}") is not None
            found = _table(
                lines[position:end],
                heading,
                caption,
                replace(reading, bare=reading.bare and not planned, planned=planned),
            )
        elif (inline := _inline(lines[position])) is not None:
            found, end = iter((inline,)), position + 1
        else:
            while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _ITEM.match(lines[end].text):
                end += 1
            if end > position:
                found = _list(lines[position:end])
            elif text.strip():
                caption = plain(text)
        if measured:
            for run in found:
                run.heading = heading
                yield run
        position = max(end, position + 1)


def _inline(line: Line) -> _Run | None:
    """Read the figures of a line that gives several of one run; None where it gives fewer, or what it aims at."""
    if len(line.text) > LONGEST_LINE or NO_MEASUREMENT.search(line.text):
        return None
    found = list(_INLINE.finditer(line.text))
    label = line.text[: found[0].start()].strip("-*+_` :|(") if found else ""
    run = _Run(label, line.number, line.number, line.cell, single=True)
    for match in found:
        named = figure_name(match["name"])
        if named and (read := value(match["value"], *named)):
            run.figures.setdefault(*read)
    return run if len(run.figures) >= LEAST_FIGURES and len(run.figures) == len(found) else None


def _is_row(text: str) -> bool:
    return text.count("|") >= 2 or ("|" in text and _RULE.match(text) is not None)


def _table(lines: Sequence[Line], heading: str, caption: str, reading: _Reading) -> Iterator[_Run]:
    bars = [
        (line, clean(line.text).strip().removeprefix("|").removesuffix("|")) for line in lines
    ]  # a cell may be empty
    rows = [(line, [cell.strip() for cell in text.split("|")]) for line, text in bars]
    rows = [(line, cells) for line, cells in rows if not _RULE.match("|".join(cells))]
    if len(rows) < LEAST_FIGURES:
        return
    (first, head), *body = rows
    across = {index: named for index, cell in enumerate(head) if (named := figure_name(cell))}
    across |= _offered_and_achieved(head, body) | _durations(head, body)
    exact = not reading.planned and _is_exact(across, body)
    rate_alone = (
        (reading.bare or exact) and len(body) >= LEAST_FIGURES and any(name == "rate" for name, _ in across.values())
    )
    if len(across) >= LEAST_FIGURES or rate_alone:
        for run in _rows(head, across, body, caption, reading.default_us):
            run.of_rates = exact
            run.by_users = any(_USERS.match(plain(cell)) for cell in head) and "offered" not in run.figures
            yield run
        return
    has_names = any(figure_name(cell) for _, cells in body for cell in cells[:NAME_COLUMNS])
    by_load = [*across] == [0] and across[0][0] == "connections"
    units = [cell for _, cells in body for cell in cells[1:] if re.search(rf"(?i)\d\s?k?(?:{RATE_UNIT})$", plain(cell))]
    if (
        not has_names
        and (by_load or not across)
        and (_OF_RATES.search(f"{heading} {caption}") or len(units) > len(body))
    ):
        yield from _matrix(head, body, by_load)
    else:
        yield from _columns(head, body, caption, first, lines[-1].number)


def _is_exact(across: dict[int, tuple[str, float | None]], body: Sequence[tuple[Line, list[str]]]) -> bool:
    """Tell whether the rates of a table are figures that nobody plans."""
    rates = [
        read[1]
        for index, (name, scale) in across.items()
        if name == "rate"
        for _, cells in body
        if index < len(cells) and (read := value(cells[index], name, scale))
    ]
    return sum(1 for rate in rates if rate % ROUND_RPS) >= LEAST_FIGURES


def _durations(head: Sequence[str], body: Sequence[tuple[Line, list[str]]]) -> dict[int, tuple[str, float | None]]:
    """Find the column of durations that are of requests, as of some milliseconds, beside a column of rates."""
    rated = any(named and named[0] == "rate" for named in map(figure_name, head))
    return {
        index: ("mean_us", None)
        for index, cell in enumerate(head)
        if rated
        and plain(cell) in ("duration", "time", "시간", "время")
        and any(
            re.match(r"[~\u2248]?\d[\d.]*\s?(?:ms|мс|µs|us)$", plain(row[index])) for _, row in body if index < len(row)
        )
    }


def _offered_and_achieved(
    head: Sequence[str], body: Sequence[tuple[Line, list[str]]]
) -> dict[int, tuple[str, float | None]]:
    """Find the columns `Target` and `Achieved` of a table, where their cells are rates."""
    found: dict[int, tuple[str, float | None]] = {}
    for index, cell in enumerate(head):
        name = {"target": "offered", "offered": "offered", "achieved": "rate", "actual": "rate"}.get(plain(cell))
        rates = [cells[index] for _, cells in body if index < len(cells)]
        if name and any(re.search(rf"(?i)\d\s?(?:{RATE_UNIT})(?!\w)", rate) for rate in rates):
            found[index] = name, None
    return found if len(found) > 1 else {}


def _rows(
    head: Sequence[str],
    across: dict[int, tuple[str, float | None]],
    body: Sequence[tuple[Line, list[str]]],
    caption: str,
    default_us: float | None,
) -> Iterator[_Run]:
    """Read a table whose head holds the names of figures: each row is a run, named by the cell with its words.

    A row without such a cell, and without a load, is one of several runs of what the caption names.
    """
    loads = {index for index, (name, _) in across.items() if name in ("connections", "offered")}
    others = [index for index in range(len(head)) if index not in across and not _A_RUN_HEAD.match(plain(head[index]))]
    worded = [
        [cell for index, cell in enumerate(cells) if index not in across and re.search(r"[^\W\d_]", cell)]
        for _, cells in body
    ]
    titles = [names[0] if names else cells[0] for names, (_, cells) in zip(worded, body, strict=True)]
    often = Counter(titles)
    of_groups = LEAST_FIGURES * len(often) <= len(titles)
    for names, title, (line, cells) in zip(worded, titles, body, strict=True):  # titles stand behind a place
        if others and often[title] > 1 and (of_groups or title in cells[others[0] : others[0] + 1]):
            before = [index for index in others if index < max(across)] or others  # what distinguishes these runs
            title = " ".join(cells[index] for index in before if index < len(cells))
        name = plain(title)
        if _OTHER_METRIC.match(name) or NO_MEASUREMENT.search(name):
            continue
        unnamed = not names and 0 in across and not loads
        label = "" if _A_RUN.match(name) and 0 not in across else f"({caption})" if unnamed else f"{title} ({caption})"
        run = _Run(label, line.number, line.number, line.cell)
        for index, (figure, scale) in across.items():
            if index < len(cells) and (read := value(cells[index], figure, scale or default_us, rough=True)):
                run.figures.setdefault(*read)
        yield run


def _columns(
    head: Sequence[str], body: Sequence[tuple[Line, list[str]]], caption: str, first: Line, last_line: int
) -> Iterator[_Run]:
    """Read a table whose rows are figures: each column behind their names is a run."""
    named_by = max(
        range(NAME_COLUMNS),
        key=lambda index: sum(1 for _, cells in body if index < len(cells) and figure_name(cells[index])),
    )
    down = [(cells, named) for _, cells in body if named_by < len(cells) and (named := figure_name(cells[named_by]))]
    titles = [index for index, title in enumerate(head) if index > named_by and not NO_MEASUREMENT.search(title)]
    runs = []
    for index in titles:
        title = plain(head[index])
        label = "" if _A_RUN.match(title) else f"{head[index]} ({caption})"
        unit = UNIT_IN_NAME.search(title)
        run = _Run(label, first.number, last_line, first.cell)
        for cells, (name, scale) in down:
            in_head = scale or (UNITS_US[unit[1] or unit[2]] if unit else None)
            if index < len(cells) and (read := value(cells[index], name, in_head, rough=True)):
                run.figures.setdefault(*read)
        if run.figures:
            runs.append(run)
    if whole := [run for run in runs if _OF_WHOLE_REQUESTS.match(plain(run.label))]:
        runs = whole[:1]  # the others are times of its parts
    for run in runs:
        run.single = len(runs) == 1
        yield run


def _matrix(head: Sequence[str], body: Sequence[tuple[Line, list[str]]], by_load: bool) -> Iterator[_Run]:
    """Read a table of nothing but rates: of what the columns name, in what the rows name, or at their connections."""
    columns = [
        index
        for index, title in enumerate(head)
        if index and not (_NO_RUN.search(title) or NO_MEASUREMENT.search(title))
    ]
    columns = [
        index for index in columns if any(value(cells[index], "rate", None) for _, cells in body if index < len(cells))
    ]
    for line, cells in body:
        rates = [(index, value(cells[index], "rate", None)) for index in columns if index < len(cells)]
        load = value(cells[0], "connections", None) if by_load else None
        known = load is not None if by_load else re.search(r"[^\W\d_]", cells[0]) is not None
        if len(rates) >= LEAST_FIGURES and all(read for _, read in rates) and known:
            for index, read in rates:
                label = f"{head[index]} ({cells[0]})"
                figures = dict(found for found in (read, load) if found)
                yield _Run(label, line.number, line.number, line.cell, figures, of_rates=True)


def _list(lines: Sequence[Line]) -> Iterator[_Run]:
    run = _Run("", lines[0].number, lines[-1].number, lines[0].cell, single=True)
    for line in lines:
        if classes := status_classes(line.text):
            run.figures = {**classes, **run.figures}
            continue
        item = _ITEM.match(line.text)
        named = figure_name(item["name"]) if item else None
        if item and named and named[0] != "threads" and (read := value(item["value"], *named, rough=True)):
            run.figures.setdefault(*read)
        elif (inline := _inline(line)) and not run.figures.keys() & inline.figures.keys():
            run.figures |= inline.figures
    if run.figures:
        yield run


def _joined(runs: Iterator[_Run]) -> Iterator[_Run]:
    """Take small tables that follow one another and state other figures as of one run."""
    before: _Run | None = None
    for run in runs:
        if (
            before is not None
            and before.single
            and run.single
            and run.first_line - before.last_line <= NEAR_LINES
            and before.cell == run.cell
            and not before.figures.keys() & run.figures.keys()
        ):
            before.figures |= run.figures
            before.last_line = run.last_line
            continue
        if before is not None:
            yield before
        before = run
    if before is not None:
        yield before
