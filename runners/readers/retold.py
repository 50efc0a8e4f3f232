"""Tables and lists in which an author retells runs: the figures that he states, and nothing guessed.

    | Metric       | Value    |     | Connections | Req/s | p50    | p99    |     Requests/sec: 15271.51
    | Error rate   | 1.68 %   |     | 100         | 35864 | 2 ms   | 5 ms   |     Avg latency: 151.49 ms
    | p(95)        | 11.84 s  |     | 500         | 28588 | 17 ms  | 32 ms  |

They are read where a document names one load tool, or calls one alone of those that it names, and holds no output of
any, and so are the lines `Requests/sec:` that an author kept of each output of wrk or wrk2, with the command above
them. Each column (or row, where the figures' names are the head) is a run; small tables that follow one another and
state other figures are of one run. A figure counts only if its name is understood word by word and its value is exact:
no `<`, no `~`, no target. A rate alone is a run where the document calls the tool: in a table of several, or in a list
of them behind names, `- Express: 12,345 req/s`; and so is each of a table that its heading says to be of rates, by what
its columns and rows name. The one command of wrk or wrk2 that a document has is that of its runs,
unless they say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runners.readers.command_line import CommandLine, parse_command
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.documents import Line
from runners.readers.percentile_tables import Column
from runners.readers.wrk_console import LONGEST_LINE, clean

_TOOLS = {
    name: re.compile(pattern, re.ASCII)  # a name may stand between characters of a language without spaces
    for name, pattern in {
        "k6": r"(?i)\bk6\b|\bhttp_req_duration\b|\b\d+ ?VUs?\b|\bVUs?:? \d",
        "autocannon": r"(?i)\bautocannon\b",
        "wrk": r"(?<![\w-])wrk\b",
        "wrk2": r"\bwrk2\b",
        "ab": r"(?i:apache ?bench)|`ab`|\bab -[nckt]\b",
        "hey": r"`hey`|\[hey\]|rakyll/hey|用 ?hey\b|\bhey -[nczqm]\b",
        "oha": r"`oha`|\boha (?:-[nczq]\b|https?://)|hatoo/oha",
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
        "another": r"(?i)\b(?:tsung|yandex[.-]tank|memtier|redis-benchmark|pgbench)\b",
    }.items()
}
#: A command that runs a tool, by which the one that made the figures is known where a document names several.
_CALLED = re.compile(
    r"(?<![\w/.-])(?P<tool>wrk2?|ab|hey|oha|bombardier|autocannon|siege|rewrk|go-wrk|k6|vegeta|locust|artillery|jmeter)"
    r"\s+(?:run\b|attack\b|quick\b|-{1,2}[a-zA-Z]|https?://)",
    re.ASCII,
)
_NAME = {name.lower(): name for name in _TOOLS}
_BY_RATE = re.compile(
    r"(?i)arrival[- ]?rate|throughput timer|overallRate|^\s*rate: ?\d+,?\s*$|users?[ /]?per ?sec|iterations/s for"
    r"|(?:constant|fixed|steady|постоянн\w+)\s(?:load |нагрузка )?(?:of )?(?:\d[\d,.]*k? ?)?(?:[rt]ps|rate|req/s)\b"
)

_UNITS_US = {
    "us": 1.0,
    "µs": 1.0,
    "μs": 1.0,
    "мкс": 1.0,
    "ms": 1e3,
    "мс": 1e3,
    "s": 1e6,
    "sec": 1e6,
    "с": 1e6,
    "сек": 1e6,
    "毫秒": 1e3,
    "秒": 1e6,
    "ミリ秒": 1e3,
    "밀리초": 1e3,
    "초": 1e6,
}
_TIME_UNIT = "|".join(sorted(_UNITS_US, key=len, reverse=True))
_RATE_UNIT = r"(?:req(?:uest)?s?|запрос\w*)\s?(?:/|per |в )\s?(?:s(?:ec(?:ond)?)?|с\w*)|rps|qps|tps|r/s|/s"
_COUNTED = r"(?:[개건회次个件回]|шт\.?)"  # of what a language counts by a word of its own
_MINUTES = re.compile(
    r"^(?P<minutes>\d{1,3})\s?(?:m|min|мин|分钟?|분)\.?\s?(?P<seconds>\d{1,2}(?:\.\d+)?)\s?(?:s|sec|с|сек|秒|초)(?!\w)[^\d|]*$"
)
_VALUE = re.compile(
    r"^(?P<number>\d{1,3}(?:[, '\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)\s?(?P<kilo>k(?![a-z]))?"
    rf"\s?(?P<unit>%|{_RATE_UNIT}|{_TIME_UNIT})?{_COUNTED}?(?P<rest>\s*\([^()]*\)|\s+\D*)?$",
    re.IGNORECASE,
)
_UNIT_IN_NAME = re.compile(rf"[(\[,\uff08]\s*({_TIME_UNIT})\s*[)\]\uff09]?\s*$|[\s_](ms|us|µs|мс)$")
_OF_LATENCY = re.compile(
    r"http_req_duration|(?:\b(?:response|request|latenc(?:y|ies)|times?|duration|percentile|задержк\w*|врем\w+"
    r"|ответа|отклика|(?:пер|про)центиль|latencia|tiempo|duración|latência|tempo|resposta|respuesta|overall|total"
    r"|http"
    r"|e2e|end-to-end)\b)|延迟|响应时间|耗时|応答時間|レイテンシ|レスポンスタイム|응답 ?(?:시간|속도)|지연 ?시간"
    r"|[()\[\]:,]",
)
_P = re.compile(r"^p\s?(\d{2}(?:[.,]\d+)?|99\d|999\d)(?:th)?$|^(\d{2}(?:[.,]\d+)?)\s?(?:th|-?й|%)(?:ile)?$")
_STATISTICS = (
    ("median", re.compile(r"^(?:median|med|медиана|mediana(?: median)?|median p50|p50 median)$")),
    (
        "mean_us",
        re.compile(
            r"^(?:avg\.?|average|mean|средн(?:яя|ее|ий)|promedio|medi[oa]|média|médio|平均|평균)(?: mean| avg)?$"
        ),
    ),
    ("max_us", re.compile(r"^(?:max\.?|maximum|макс\w*|máxim[oa]|最大|최대)$")),
)
_NAMES = (
    (
        "rate",
        re.compile(
            rf"^(?:(?:avg\.?|average|mean|http)\s)?(?:{_RATE_UNIT}|requests? / sec)(?:\s?\(?(?:avg|mean"
            rf"|средний)\)?)?$"
            r"|^(?:http )?request rate$|^(?:初당 )?처리량$|^平均 ?(?:qps|rps|tps)$"
        ),
    ),
    ("throughput", re.compile(r"^(?:throughput|пропускная способность|吞吐量?)(?:\s?\((?:rps|qps|req/s)\))?$")),
    (
        "requests",
        re.compile(
            r"^(?:(?:total|complete|number of|all)\s)?(?:http\s)?(?:requests|reqs|http_reqs)$"
            r"|^всего запросов$|^总请求数$|^(?:http)?リクエスト数$|^총 ?요청(?: ?수)?$|^(?:total de )?(?:solicitudes"
            r"|requisições|peticiones)$"
        ),
    ),
    (
        "errors",
        re.compile(
            r"^(?:http_req_failed|(?:http )?(?:failed|error|failure)s?(?:\s(?:requests|rate|count|responses))?"
            r"|% error(?:es|s)?"
            r"|error ?%|non-2xx\b.*|ошиб(?:ки|ок)|(?:процент|доля) ошибок|错误率|失败率|(?:http ?)?(?:失敗"
            r"|エラー)率|에러율|오류율|실패율"
            r"|실패(?: ?요청)?(?: ?수)?|失败(?:请求)?数?|失敗数?|неудачн\w+(?: запрос\w+)?|fallos|errores|erros"
            r"|(?:tasa|taxa) de (?:error(?:es)?|erros?|fallos))$"
        ),
    ),
    (
        "success",
        re.compile(
            r"^(?:success(?:ful|es)?(?:\s(?:requests|rate|ratio|responses))?|success ?%"
            r"|успешност\w|успешны[хе](?: запрос\w+)?"
            r"|(?:процент|доля) успешных(?: запрос\w+)?|(?:请求)?成功[率数]?|成功リクエスト数|성공(?:률|율)?(?: ?요청)?"
            r"|(?:tasa|taxa) de (?:éxito|sucesso))$"
        ),
    ),
    ("timeouts", re.compile(r"^(?:time-?outs?|таймаут\w*)$")),
    (
        "connections",
        re.compile(
            r"^(?:(?:max|concurrent|virtual)\s)?(?:vus?|connections|concurrency|users|clients|соединени[ея])$"
            r"|^并发数?$|^最大 ?vus?$|^usuarios$|^usuários$"
        ),
    ),
)
_NO_MEASUREMENT = re.compile(
    r"(?i)\b(?:targets?|goals?|slos?|slas?|thresholds?|expected|estimated|projected|objectives?|limits?|criteria"
    r"|requirements?|budgets?|change|improvement|delta|diff|example|theoretical"
    r"|цел[ьи]|порог\w*|ожида\w+|критери\w+|требовани\w+|изменени\w+|прирост\w*|crit[eé]rios?|metas?)\b"
    r"|目标|指标要求|标准|基準|목표|기준"
)
#: A heading or caption of a table of rates, and columns that hold what is reckoned from others.
_OF_RATES = re.compile(
    r"(?i)\brequests?(?: per |\s?/\s?)s|\breq/s|\b[rq]ps\b|\bthroughput\b(?!.{0,20}\b[KMG]i?B)"
    r"|吞吐|QPS|пропускн\w+|запрос\w* в сек"
)
_NO_RUN = re.compile(r"(?i)\bvs\b|ratio|\brel(?:ative)?\b|winner|speed-?up|memory|cpu|[%\u00d7]")
#: Headings and captions of what is to be run; a rate alone in a table below them is the one to be offered.
_PLANNED = re.compile(
    r"(?i)\b(?:scenarios?|config\w*|parameters?|phases?|stages?|plans?|setup|settings|profiles?|options|workloads?"
    r"|rate[- ]limit\w*|quotas?|tiers?|pricing"
    r"|сценари\w+|параметр\w*|профил\w+|escenarios?|cenários?|configura\w+)\b|配置|场景|参数|시나리오|설정|設定|シナリオ"
)
_OTHER_METRIC = re.compile(
    r"^(?:http_req_(?!duration)\w+|iteration_duration|data_\w+|group_duration|vus\w*|checks\w*)$"
)
_RULE = re.compile(r"^[\s|:+=-]*$")
_ITEM = re.compile(r"^\s*(?:[-*+]\s+)?(?P<name>[^:|]{1,48}):\s*(?P<value>[^|]{1,60})$")
_ASIDE = re.compile(r"\s*\((?!\w{0,3}\d|[a-zµμ/]{1,5}\))[^()]*\)|\s*\(\d+t, ?\d+c\)|\s+#\s.*$")
_A_RUN = re.compile(r"(?i)^(?:run|iteration|attempt|trial|round|прогон|запуск|попытка|№|#)?\s?#?\d{1,2}$")
#: What an author kept of an output, behind the name of what it is of.
_KEPT = re.compile(r"^\s*(?P<label>[^|:]{0,48}?)\s*Requests/sec:\s+(?P<rate>\d{1,9}(?:\.\d{1,4})?)(?![\d.])")
_COMMAND = re.compile(r"(?<![\w-])(?P<command>(?:[\w.]+/)*wrk2?(?:\s+-{1,2}[a-zA-Z][^\s`]*(?:\s+\d\w*)?)+[^`]*)")
_LISTED = re.compile(
    r"^\s*(?:[-*+]|\d{1,2}[.)])\s+(?P<label>[*_`]*(?:[^\W\d_]|\[).{0,120}?)[\s:=\u2013\u2014-]+"
    rf"(?P<rate>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,9}}(?:\.\d{{1,4}})?)(?P<kilo>k?)\s?(?:{_RATE_UNIT})(?:\s*\([^()]*\))?\s*$",
    re.IGNORECASE,
)
#: Figures in one line, behind what they are of: `- GET /a: p50 4ms, p99 7ms`.
_INLINE = re.compile(
    r"(?<![\w.])(?P<name>p\d{2}(?:\.\d{1,2})?|avg|average|mean|median|max|среднее|медиана|максимум|平均|最大|평균|최대)"
    rf"(?:\s?[:=]\s?|\s)(?P<value>\d[\d.,]{{0,12}}\s?(?:{_TIME_UNIT}))(?![^\W\d_])",
    re.IGNORECASE,
)
LEAST_KEPT = 2  # one may be quoted for any reason
LEAST_LISTED = 2  # names with a rate, one below the other
NEAR_LINES = 30  # tables further apart are of two runs
LEAST_LATENCY_FIGURES = 1
LEAST_FIGURES = 2
ROUNDED_SHARE = 0.001  # of failures, where an author gives the share of successes alone


@dataclass(slots=True)
class _Run:
    """One run while its figures come in: by name, and percentiles by level."""

    label: str
    first_line: int
    last_line: int
    cell: int | None
    figures: dict[str, float] = field(default_factory=dict)
    single: bool = False  # whether its table or list holds this run alone
    of_rates: bool = False  # whether its table is said to be of rates alone

    def is_run(self, bare: bool) -> bool:
        """Tell whether it states enough; `bare` says whether a rate alone is, if it stands beside others."""
        latencies = sum(name.startswith("p:") or name in ("mean_us", "max_us") for name in self.figures)
        enough = latencies >= LEAST_LATENCY_FIGURES and len(self.figures) >= LEAST_FIGURES
        return enough or ((bare or self.of_rates) and not self.single and "rate" in self.figures)

    def report(self, tool: str, closed: bool | None, command: CommandLine | None) -> ConsoleReport:
        said = self.figures
        rows = tuple(sorted((float(name[2:]), value) for name, value in said.items() if name.startswith("p:")))
        requests = round(said["requests"]) if "requests" in said else None
        errors = round(said["errors"]) if "errors" in said else None
        share = said.get("error_share")
        if errors is None and share is None:
            share = self._failed_share()
        if share is not None and requests:
            errors = round(share * requests)
        mean, largest = said.get("mean_us"), said.get("max_us")
        timed_out = round(said.get("timeouts", 0))
        connections = round(said["connections"]) if "connections" in said else None
        return ConsoleReport(
            tool=tool,
            command=command if command and connections in (None, command.connections) else None,
            connections=connections,
            latency=None if mean is None and largest is None else ThreadStats(mean, None, largest, None),
            latencies=Latencies(None, rows),
            requests=requests,
            non_2xx=errors,
            error_share=share if requests is None else None,
            socket_errors=SocketErrors(0, 0, 0, timed_out) if timed_out and tool in ("wrk", "wrk2") else None,
            requests_per_s=said.get("rate"),
            closed_loop=closed,
            retold=True,
            first_line=self.first_line,
            last_line=self.last_line,
        )

    def _failed_share(self) -> float | None:
        """Give what is left of all requests beside those that are stated to have succeeded."""
        said = self.figures
        if "success_share" in said:
            share = 1 - said["success_share"]
            return share if share >= ROUNDED_SHARE else None
        if said.get("requests") and "success" in said:
            return max(0.0, 1 - said["success"] / said["requests"])
        return None


def _called(text: str) -> set[str]:
    """Find the load tools that a text calls by a command."""
    return {_NAME[match["tool"]] for match in _CALLED.finditer(text)}


def named_tool(lines: Sequence[Line]) -> str | None:
    """Name the one load tool that a document speaks of, or of several the one that it calls; None where none is."""
    text = _text(lines)
    found = [name for name, pattern in _TOOLS.items() if pattern.search(text)]
    if len(found) > 1:
        called = _called(text)
        found = [name for name in found if name in called]
    return found[0] if len(found) == 1 and found[0] != "another" else None


def retold(lines: Sequence[Line]) -> list[Column]:
    """Read the runs that tables and lists retell, in order, as outputs of the tool that the document names."""
    tool = named_tool(lines)
    if kept := _kept(lines, tool):
        return [Column(report, label, index, len(kept), cell) for index, (report, label, cell) in enumerate(kept)]
    if tool is None:
        return []
    bare = tool in _called(_text(lines))
    closed = None if by_rate(lines) or tool in ("Artillery", "Gatling", "NBomber", "vegeta", "wrk2") else True
    runs = _once([run for run in _joined(_runs(lines, bare)) if run.is_run(bare)])
    runs = runs or (_listed(lines) if bare else [])
    asked = {command.text: command for line in lines if (command := _command(line.text))}
    only = next(iter(asked.values())) if len(asked) == 1 and tool in ("wrk", "wrk2") else None
    reports = [(run, run.report(tool, closed, only)) for run in runs]
    return [Column(report, run.label, index, len(runs), run.cell) for index, (run, report) in enumerate(reports)]


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
        if match and not _NO_MEASUREMENT.search(line.text):
            rate = {"rate": float(match["rate"].replace(",", "")) * (1000 if match["kilo"] else 1)}
            together.append(_Run(match["label"].strip("*_` :"), line.number, line.number, line.cell, rate))
            continue
        if len({run.label for run in together}) == len(together) >= LEAST_LISTED:
            found += together
        together = []
    return found


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
            retold=True,
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


def figure_name(text: str) -> tuple[str, float | None] | None:
    """Understand what a figure is called, and the microseconds of the unit that its name holds."""
    name = _plain(text)
    unit = _UNIT_IN_NAME.search(name)
    scale = _UNITS_US[unit[1] or unit[2]] if unit else None
    name = (name[: unit.start()] if unit else name).strip(" :")
    name = _ASIDE.sub("", name).strip(" :")
    for key, pattern in _NAMES:
        if pattern.match(name):
            return ("rate" if key == "throughput" and "(" in name else key), scale
    rest = re.sub(r"\s+", " ", _OF_LATENCY.sub(" ", name)).strip().replace("p ", "p")
    if level := _P.match(rest):
        digits = (level[1] or level[2]).replace(",", ".")
        percent = float(digits) if "." in digits or len(digits) == 2 else float(f"{digits[:2]}.{digits[2:]}")
        return f"p:{round(percent / 100, 9)}", scale
    if not rest and re.fullmatch(r"(?:response |request )?latency", name):
        return "mean_us", scale  # wrk, bombardier and autocannon call it so
    for key, pattern in _STATISTICS:
        if pattern.match(rest):
            return ("p:0.5" if key == "median" else key), scale
    return next(filter(None, map(figure_name, name.split(" / "))), None) if " / " in name else None


def _plain(text: str) -> str:
    bare = re.sub(r"[*`_]{2,}|[*`]|[\u2300-\u27bf\U0001f300-\U0001faff\ufe0f]", "", text)
    return re.sub(r"\s+", " ", bare).strip().lower()


def _value(text: str, name: str, scale_us: float | None) -> tuple[str, float] | None:
    """Read a value of a figure: its final name and number; None where it is none or not exact."""
    bare = re.sub(r"[*`]|\s#\s.*$|[\u2300-\u27bf\U0001f300-\U0001faff\ufe0f]", "", text).strip()
    of_time = name.startswith("p:") or name.endswith("_us")
    if of_time and (both := _MINUTES.match(bare)):
        return name, (float(both["minutes"]) * 60 + float(both["seconds"])) * 1e6
    match = _VALUE.match(bare)
    if match is None:
        return None
    digits, unit = match["number"], (match["unit"] or "").lower()
    if of_time and re.fullmatch(r"\d{1,3},\d{3}", digits):
        return None  # thousands or a decimal comma
    plain = re.sub(r"[ '\u00a0\u202f]|,(?=\d{3}(?:\D|$))", "", digits).replace(",", ".")
    number = float(plain) * (1000 if match["kilo"] else 1)
    if of_time:
        scale = _UNITS_US.get(unit, scale_us if not unit else None)
        return (name, number * scale) if scale else None
    if unit == "%" and name == "success":
        return ("success_share", number / 100) if number <= 100 else None
    if unit == "%":
        return ("error_share", number / 100) if name == "errors" and number <= 100 else None
    is_rate = bool(unit) and unit not in _UNITS_US
    if name in ("rate", "throughput"):
        return ("rate", number) if is_rate or (not unit and name == "rate" and not _has_words(match["rest"])) else None
    return (name, number) if not unit and not _has_words(match["rest"]) and number == int(number) else None


def _has_words(rest: str | None) -> bool:
    return bool(rest) and re.search(r"[^\W\d_]", re.sub(r"\([^()]*\)", "", rest or "")) is not None


def _runs(lines: Sequence[Line], bare: bool) -> Iterator[_Run]:
    heading = caption = ""
    position = 0
    while position < len(lines):
        text = lines[position].text
        if len(text) <= LONGEST_LINE and re.match(r"\s*#{1,6}\s", text):
            heading = text
        end = position
        while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _is_row(lines[end].text):
            end += 1
        if end - position > 1:
            if not _NO_MEASUREMENT.search(heading):
                planned = _PLANNED.search(f"{heading} {caption}") is not None
                yield from _table(lines[position:end], heading, caption, bare and not planned)
            position = end
            continue
        if (inline := _inline(lines[position])) is not None:
            if not _NO_MEASUREMENT.search(heading):
                yield inline
            position += 1
            continue
        while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _ITEM.match(lines[end].text):
            end += 1
        if end > position:
            if not _NO_MEASUREMENT.search(heading):
                yield from _list(lines[position:end])
        elif text.strip():
            caption = _plain(text)
        position = max(end, position + 1)


def _inline(line: Line) -> _Run | None:
    """Read the figures of a line that gives several of one run; None where it gives fewer, or what it aims at."""
    if len(line.text) > LONGEST_LINE or _NO_MEASUREMENT.search(line.text):
        return None
    found = list(_INLINE.finditer(line.text))
    label = line.text[: found[0].start()].strip("-*+_` :|(") if found else ""
    run = _Run(label, line.number, line.number, line.cell, single=True)
    for match in found:
        named = figure_name(match["name"])
        if named and (read := _value(match["value"], *named)):
            run.figures.setdefault(*read)
    return run if len(run.figures) >= LEAST_FIGURES and len(run.figures) == len(found) else None


def _is_row(text: str) -> bool:
    return text.count("|") >= 2 or ("|" in text and _RULE.match(text) is not None)


def _table(lines: Sequence[Line], heading: str, caption: str, bare: bool) -> Iterator[_Run]:
    bars = [
        (line, clean(line.text).strip().removeprefix("|").removesuffix("|")) for line in lines
    ]  # a cell may be empty
    rows = [(line, [cell.strip() for cell in text.split("|")]) for line, text in bars]
    rows = [(line, cells) for line, cells in rows if not _RULE.match("|".join(cells))]
    if len(rows) < LEAST_FIGURES:
        return
    (first, head), *body = rows
    across = {index: named for index, cell in enumerate(head) if (named := figure_name(cell))}
    rate_alone = bare and len(body) >= LEAST_FIGURES and any(name == "rate" for name, _ in across.values())
    if len(across) >= LEAST_FIGURES or rate_alone:
        for line, cells in body:
            names = (cell for index, cell in enumerate(cells) if index not in across and re.search(r"[^\W\d_]", cell))
            title = next(names, cells[0])  # behind a place in a ranking
            name = _plain(title)
            if _OTHER_METRIC.match(name) or _NO_MEASUREMENT.search(name):
                continue
            label = "" if _A_RUN.match(name) and 0 not in across else f"{title} ({caption})"
            run = _Run(label, line.number, line.number, line.cell)
            for index, (name, scale) in across.items():
                if index < len(cells) and (read := _value(cells[index], name, scale)):
                    run.figures.setdefault(*read)
            yield run
        return
    down = [(line, cells, named) for line, cells in body if (named := figure_name(cells[0]))]
    if not down and not across and _OF_RATES.search(f"{heading} {caption}"):
        yield from _matrix(head, body)
        return
    titles = [index for index, title in enumerate(head) if index and not _NO_MEASUREMENT.search(title)]
    runs = []
    for index in titles:
        title = _plain(head[index])
        label = "" if _A_RUN.match(title) else f"{head[index]} ({caption})"
        unit = _UNIT_IN_NAME.search(title)
        run = _Run(label, first.number, lines[-1].number, first.cell)
        for _, cells, (name, scale) in down:
            in_head = scale or (_UNITS_US[unit[1] or unit[2]] if unit else None)
            if index < len(cells) and (read := _value(cells[index], name, in_head)):
                run.figures.setdefault(*read)
        if run.figures:
            runs.append(run)
    for run in runs:
        run.single = len(runs) == 1
        yield run


def _matrix(head: Sequence[str], body: Sequence[tuple[Line, list[str]]]) -> Iterator[_Run]:
    """Read a table of nothing but rates: of what the columns name, in what the rows name."""
    columns = [
        index
        for index, title in enumerate(head)
        if index and not (_NO_RUN.search(title) or _NO_MEASUREMENT.search(title))
    ]
    for line, cells in body:
        rates = [(index, _value(cells[index], "rate", None)) for index in columns if index < len(cells)]
        if len(rates) >= LEAST_FIGURES and all(read for _, read in rates) and re.search(r"[^\W\d_]", cells[0]):
            for index, read in rates:
                label = f"{head[index]} ({cells[0]})"
                yield _Run(label, line.number, line.number, line.cell, dict([read] if read else []), of_rates=True)


def _list(lines: Sequence[Line]) -> Iterator[_Run]:
    run = _Run("", lines[0].number, lines[-1].number, lines[0].cell, single=True)
    for line in lines:
        item = _ITEM.match(line.text)
        named = figure_name(item["name"]) if item else None
        if item and named and (read := _value(item["value"], *named)):
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
