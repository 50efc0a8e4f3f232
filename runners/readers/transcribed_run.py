"""A run whose figures an author states, while they come in, and the report that is made of it.

Outside of tables they stand in sentences, lists of rates and charts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.documents import Line
from runners.readers.figure_names import (
    EXPECTED,
    HOPED,
    NO_MEASUREMENT,
    RATE_UNIT,
    TIME_UNIT,
    UNIT_IN_NAME,
    UNITS_US,
    figure_name,
    value,
)
from runners.readers.load_tools import MAY_BE_PACED, NEVER_PACED, OF_SEVERAL
from runners.readers.stated_figures import stated_figures
from runners.readers.wrk_console import LONGEST_LINE

LEAST_LATENCY_FIGURES = 1
LEAST_FIGURES = 2
_SHARE_OF_COUNT = re.compile(r"^[\s*`]*\d[\d,]*[*`]*\s*\((\d{1,3}(?:\.\d{1,3})?)\s?%\)")
_OF_ALL = re.compile(r"%[*`]*\s*\(\d[\d,]*\s?(?:/|of|out of)\s?(\d[\d,]*)(?: requests)?\)[\s*`]*$")
_TIMED_OUT = re.compile(
    r"(?i)[(\uff08](?:a |the )?(?:time-?outs?|timed out|таймаут\w*|超时|타임아웃|タイムアウト)[)\uff09]"
)
AT_TIMEOUT = "the maximum is a time-out"
DISAGREE = "counts that disagree: "
DROPPED = "iterations that were due at a rate and never began: "
OF_A_COUNT, OF_A_SHARE = 0.02, 0.001  # by which an author's counts and shares may miss each other
ROUNDED_SHARE = 0.001  # of failures, where an author gives the share of successes alone


@dataclass(slots=True)
class Run:
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

    def take(self, read: tuple[str, float], cell: str) -> None:
        """Take a figure that is not known yet, and the share that its cell gives of a count: `127 (0.28%)`."""
        name, number = read
        self.figures.setdefault(name, number)
        if name in ("success", "errors") and (share := _SHARE_OF_COUNT.search(cell)):
            self.figures.setdefault(f"share of {name}", float(share[1]) / 100)
        if name == "max_us" and _TIMED_OUT.search(cell):
            self.figures.setdefault("max at a time-out", number)
        if name == "error_share" and (counted := _OF_ALL.search(cell)):
            self.figures.setdefault("requests", float(counted[1].replace(",", "")))

    def is_run(self, bare: bool) -> bool:
        """Tell whether it states enough; `bare` says whether a rate alone is, if it stands with others."""
        aside = ("duration", "dropped", "max at a time-out")  # of themselves no figures of a run
        figures = {name for name in self.figures if name not in aside and not name.startswith("share of")}
        latencies = sum(name.startswith("p:") or name in ("mean_us", "max_us") for name in figures)
        enough = latencies >= LEAST_LATENCY_FIGURES and len(figures) >= LEAST_FIGURES
        return enough or ((bare or self.of_rates) and not self.single and "rate" in self.figures)

    def report(self, tool: str, paced: bool | None, command: CommandLine | None) -> ConsoleReport:
        """Make the run a report of a tool; `paced` says whether its document names a rate that was offered."""
        said = self.figures
        rows = tuple(sorted((float(name[2:]), value) for name, value in said.items() if name.startswith("p:")))
        by_class = self._responses_by_class()
        counted = said.get("requests", said.get("iterations"))
        requests = round(counted) if counted is not None else None
        elapsed_s = said.get("duration") if "iterations" not in said else None  # several requests each
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
            elapsed_s=elapsed_s,
            non_2xx=errors,
            error_share=share if requests is None else None,
            socket_errors=SocketErrors(0, 0, 0, timed_out) if timed_out and tool in ("wrk", "wrk2") else None,
            requests_per_s=said.get("rate"),
            closed_loop=True
            if self.by_users
            else None
            if (paced and tool not in NEVER_PACED) or tool in (*MAY_BE_PACED, OF_SEVERAL)
            else True,
            transcribed=True,
            extra=(
                *self._contradictions(),
                *([f"{DROPPED}{said['dropped']:g}"] if said.get("dropped") else ()),
                *([AT_TIMEOUT] if "max at a time-out" in said else ()),
            ),
            first_line=self.first_line,
            last_line=self.last_line,
        )

    def _contradictions(self) -> Iterator[str]:
        """Say how counts of one run, and the shares next to them, contradict each other."""
        said = self.figures
        total = said.get("requests")
        if not total:
            return
        if "success" in said and "errors" in said:
            both = said["success"] + said["errors"]
            if abs(both - total) > max(1.0, OF_A_COUNT * total):
                yield f"{DISAGREE}{both:g} successes and errors of {total:g} requests"
        for name in ("success", "errors"):
            share = said.get(f"share of {name}")
            if share is not None and name in said and abs(said[name] / total - share) > OF_A_SHARE + OF_A_COUNT * share:
                yield f"{DISAGREE}{said[name]:g} of {total:g} requests are not {100 * share:g} %"

    def _responses_by_class(self) -> dict[str, float]:
        """Count the responses by the class of their status, where an author gives them so."""
        by_class: dict[str, float] = {}
        for name, count in self.figures.items():
            if name.startswith("status:"):
                first = name.split(":")[1]
                by_class[first] = by_class.get(first, 0) + count
        return by_class

    def _failed_share(self) -> float | None:
        """Give what is left of all requests besides those that are stated to have succeeded."""
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


_LISTED = re.compile(
    r"(?i)^\s*(?:[-*+]|\d{1,2}[.)])\s+(?P<label>[*_`]*(?:[^\W\d_]|\[).{0,120}?)[\s:\uff1a=\u2013\u2014-]+"
    rf"(?P<rate>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?"
    rf"|\d{{1,9}}(?:\.\d{{1,4}})?)(?P<kilo>k?)\s?(?:{RATE_UNIT})(?:\s*\([^()]*\))?\s*$"
)
#: Figures in one line, behind what they are of: `- GET /a: p50 4ms, p99 7ms`.
_INLINE = re.compile(
    r"(?i)(?<![\w.])(?P<name>p\d{2}(?:\.\d{1,2})?|avg|average|mean|median|max|среднее|медиана|максимум|平均|最大|평균|최대"
    r"|promedio|mediana|máximo|média)"
    rf"(?:\s?[:=]\s?|\s(?:(?:of|is|was|at|de|\u2014"
    rf"|\u2013)\s)?)(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_])"
)
#: A rate and a latency that a sentence gives, where a document holds no other figures.
_RATE_IN_TEXT = re.compile(
    r"(?i)(?<![\w.,])(?P<rate>\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,3})?)\s?(?P<kilo>k)?\s?"
    rf"(?:{RATE_UNIT}|requests per second|запросов в секунду)(?!\w)"
)
_LATENCY_IN_TEXT = re.compile(
    rf"(?i)(?<![\w.,])(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))\s(?P<name>p\d{{2}}|average|avg|mean|median|max)(?!\w)"
)
_WANTED = re.compile(r"(?i)(?:\boffered|arrival[- ]rate|到达率|도착률|постоянн\w+)[^|.\d]{0,12}$")
#: What such figures stand behind, in several languages.
_RATE_BEFORE = re.compile(
    r"(?i)(?:吞吐量?|处理量|QPS|TPS|RPS|처리량|スループット|throughput"
    r"|пропускн\w+ способност\w+)[^\d<>.,，。；;]{0,12}?(?P<rate>\d{1,3}(?:,\d{3})+"
    r"|\d{1,9}(?:\.\d{1,3})?)(?P<kilo>k)?(?![\d%.])|(?:초당|每秒(?:处理)?"
    r"|毎秒)[^\d<>.。]{0,6}(?P<each>\d{1,9}(?:\.\d{1,3})?)\s?(?:개|건|번|회|个|次|件)"
)
_LATENCY_BEFORE = re.compile(
    r"(?i)(?:p(?:\d{2})\D{0,3}(?:latency|задержк\w+)?|latency|response times?|응답 ?(?:시간|속도)"
    r"|지연 ?시간|响应时间|延迟|耗时|応答時間"
    r"|レスポンス(?:タイム)?|задержк\w+|врем\w+ (?:ответа|отклика|обработки)|tiempos? de respuesta|latencia"
    r"|tempo de resposta"
    rf"|latência|temps de réponse)[^\d<>.。；;]{{0,16}}?(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_가-힣])"
)
#: A share of the requests that had a response within a time.
_SHARE_WITHIN = re.compile(
    r"(?i)(?<![\d.,])(?P<share>\d{2})\s?%(?:의 ?요청|的请求|の(?:リクエスト|要求)| of (?:the |all )?requests| запросов"
    r"| de las (?:solicitudes"
    rf"|peticiones)| das requisições)[^.。;；]{{0,50}}?(?P<value>\d[\d.,]{{0,12}}\s?(?:{TIME_UNIT}))(?![^\W\d_가-힣])"
)
_FAILED_SHARE = re.compile(
    r"(?i)(?<![\d.,<>])(?P<before>\d{1,2}(?:[.,]\d{1,2})?)\s?% (?:de (?:las |los |as )?(?:requests|solicitudes"
    r"|peticiones|requisições) (?:fall|falh)\w+|of (?:the |all )?requests (?:\w+ )?(?:fail\w*|timed out)"
    r"|запросов (?:\w+ )?(?:упал\w*|с ошибк\w+))|(?:error rate|tasa de error|taxa de erros?|процент ошибок|错误率"
    r"|失败率|에러율|실패율|エラー率)[^\d%<>.。，,]{1,20}(?P<after>\d{1,2}(?:[.,]\d{1,2})?)\s?%"
)
#: Bounds are what somebody wants, or what a figure did not exceed.
_BOUNDED = re.compile(
    r"(?i)[<>\u2264\u2265]|\b(?:below|under|within|above|over|exceed\w*|less than|more than|at least|if|when|once|sleep"
    r"|timeout\w*|ниже|выше|менее|более|если|меньше|больше|не более)\b|以内|以下|以上|超过|低于|小于|大于|이하|이상"
    r"|미만|이내|초과|未満"
)
_CHART = re.compile(r"^\s*(?P<key>title|x-axis|bar|line)\b(?P<rest>.*)$")
LEAST_LISTED = 2  # names with a rate, one below the other


def _listed(lines: Sequence[Line]) -> list[Run]:
    """Read the rates that an author lists one below the other, each behind the name of what it is of."""
    found: list[Run] = []
    together: list[Run] = []
    for line in (*lines, Line(-1, "")):
        match = _LISTED.match(line.text) if len(line.text) <= LONGEST_LINE else None
        if match and not NO_MEASUREMENT.search(line.text):
            rate = {"rate": float(match["rate"].replace(",", "")) * (1000 if match["kilo"] else 1)}
            together.append(Run(match["label"].strip("*_` :"), line.number, line.number, line.cell, rate))
            continue
        if len({run.label for run in together}) == len(together) >= LEAST_LISTED:
            found += together
        together = []
    return found


def in_text(lines: Sequence[Line], tool: str, tables: Iterable[Run]) -> list[Run]:
    """Read what an author gives outside of tables: lists of rates, charts, else sentences with figures.

    Of what was read of `tables`, the shares and counts of errors are taken, where there is nothing of that.
    """
    own = _outside_code(lines)
    found = _listed(lines) or _charted(lines) or _in_sentences(own, both=True)
    found = found or (_in_sentences(own, both=False) if tool != "wrk2" else [])
    failed = [run for run in tables if run.figures.get("errors") or run.figures.get("error_share")]
    return found or failed or _failing(own)


def _failing(lines: Sequence[Line]) -> list[Run]:
    """Read the sentences of a report that gives its figures as pictures, and in words how many requests failed."""
    found = []
    heading = ""
    for line in lines:
        text = line.text
        if text.startswith("#"):
            heading = text.strip("# ")
        elif len(text) > LONGEST_LINE or text.count("|") > 1 or HOPED.search(text) or EXPECTED.search(heading):
            continue
        elif (share := _FAILED_SHARE.search(text)) and not _BOUNDED.search(text):
            figures = {"error_share": float((share["before"] or share["after"]).replace(",", ".")) / 100}
            found.append(Run(heading, line.number, line.number, line.cell, figures, single=True))
    return found


def _outside_code(lines: Sequence[Line]) -> list[Line]:
    fenced, left = False, []
    for line in lines:
        if line.text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            left.append(line)
    return left


def _in_sentences(lines: Sequence[Line], both: bool) -> list[Run]:
    """Read the sentences that give a rate with a latency, as one of many connections is reported in a README.

    Without `both`, a sentence that gives one of them is read too, where it says what it measures.
    """
    found: list[Run] = []
    heading = ""
    for line in lines:
        text = re.sub(r"[*`]", "", line.text)
        if text.startswith("#"):
            heading = text
        if len(text) > LONGEST_LINE or text.count("|") > 1 or NO_MEASUREMENT.search(text) or HOPED.search(text):
            continue
        shares = [] if both else list(_SHARE_WITHIN.finditer(text))
        if not both and (NO_MEASUREMENT.search(heading) or EXPECTED.search(heading)):
            continue
        if not both and not shares and _BOUNDED.search(text):
            continue
        rates = [*_RATE_IN_TEXT.finditer(text), *(() if both else _RATE_BEFORE.finditer(text))]
        rates = [match for match in rates if not _WANTED.search(text[: match.start()])]
        latencies = [*_INLINE.finditer(text), *_LATENCY_IN_TEXT.finditer(text)]
        if not both:
            latencies += _LATENCY_BEFORE.finditer(text)
        levels = re.findall(r"(?i)\bp\s?\d{2}\b", text)
        if not both and len(levels) > len({level.lower() for level in levels}):
            continue  # which of two figures is which is not said
        if (len(rates) != 1 or not latencies) if both else not (rates or latencies or shares):
            continue
        run = Run("" if both else heading.strip("# "), line.number, line.number, line.cell, single=True)
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


def _charted(lines: Sequence[Line]) -> list[Run]:
    """Read Mermaid's charts of rates and latencies: one run for each name of the x axis."""
    runs: dict[str, Run] = {}
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
                run = runs.setdefault(name, Run(name, line.number, line.number, line.cell))
                run.figures.setdefault(figure[0], float(text) * (figure[1] or 1.0))
                run.last_line = line.number
            figure = None
    return list(runs.values())


def inline(line: Line) -> Run | None:
    """Read the figures of a line that gives several of one run; None where it gives fewer, or what it aims at."""
    if len(line.text) > LONGEST_LINE or NO_MEASUREMENT.search(line.text):
        return None
    found = list(_INLINE.finditer(line.text))
    label = line.text[: found[0].start()].strip("-*+_` :|(") if found else ""
    run = Run(label, line.number, line.number, line.cell, single=True)
    for match in found:
        named = figure_name(match["name"])
        if named and (read := value(match["value"], *named)):
            run.figures.setdefault(*read)
    return run if len(run.figures) >= LEAST_FIGURES and len(run.figures) == len(found) else None


def stated(lines: Sequence[Line]) -> list[Run]:
    """Take the figures that a report states anywhere as of one run below each heading."""
    runs: dict[str, Run] = {}
    for figure in stated_figures(lines):
        at = figure.line
        run = runs.setdefault(figure.heading, Run(figure.heading, at.number, at.number, at.cell, single=True))
        run.figures.setdefault(figure.name, figure.value)
        run.last_line = at.number
    return list(runs.values())
