"""The summaries that load tools print, as a table: how a tool's begins, and its lines with the figures in them.

A pattern names its figures in angle brackets: `Complete requests: <requests>`. The name says how the text is read:
counts as whole numbers, `…_ms`, `…_s` and rates as decimals, the rest (`mean`, `max`, `value`, `elapsed`) as times with
their unit. `<level>` and `<value>` are a row of percentiles, `<status>` and `<count>` responses of one status. A line
that needs more than that has a function.

wrk, wrk2 and truepace are read by `wrk_console`. Nothing in an input is an error; what is cut leaves its field None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runners.readers import units
from runners.readers.command_line import CommandLine
from runners.readers.console_report import LEVELS, ConsoleReport, Latencies, ThreadStats
from runners.readers.documents import Line
from runners.readers.wrk_console import LONGEST_LINE, clean

NEGATIVE = "a time below zero: the clock was set during the run"
LONGEST_BLOCK = 1_000  # lines; the longest summary, memtier's with the histograms of several operations, has hundreds
MOSTLY_MISSING = 0.5  # of the bodies of responses with another length
_COUNTS = frozenset({"requests", "connections", "threads", "failed", "non_2xx", "count", "status", "odd_length"})
_CLASSES = {f"c{digit}": 100 * digit for digit in range(1, 6)}  # of statuses: `940 2xx`
_DECIMAL = r"\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?"
_SPACES_AND_COMMAS = str.maketrans("", "", ", \u202f\u00a0")


def _is_decimal(name: str) -> bool:
    return name.endswith(("_ms", "_s", "_rps", "_percent")) or name == "level"


def _group(match: re.Match[str]) -> str:
    name = match[1]
    if name in _COUNTS or name in _CLASSES or name.startswith("n_"):
        return rf"(?P<{name}>\d{{1,3}}(?:,\d{{3}})+|\d{{1,18}})"
    if _is_decimal(name):
        return rf"(?P<{name}>{_DECIMAL})"
    return rf"(?P<{name}>\d[\d.,]{{0,20}}\s?[a-zµμ][\da-zµμ.]{{0,20}})"


@dataclass(slots=True)
class Summary:
    """One summary while its lines come in; `said` holds finished figures by their name."""

    tool: str
    first_line: int
    last_line: int = 0
    said: dict[str, Any] = field(default_factory=dict)
    rows: dict[float, float] = field(default_factory=dict)
    codes: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    section: str = ""  # of the summary, where lines of several sections look alike
    heads: tuple[str, ...] = ()  # of a table's columns
    notes: list[str] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)
    operations: list[ConsoleReport] = field(default_factory=list)  # of a tool that reports several at once
    totals: list[ConsoleReport] = field(default_factory=list)  # of them all, where their own rows were cut
    histograms: dict[str, dict[float, float]] = field(default_factory=dict)  # of memtier, by command

    def take(self, figures: Mapping[str, str | None]) -> None:
        given = {name: text for name, text in figures.items() if text is not None}
        if "level" in given:
            value = given.get("value")
            value_us = _ms(given["value_ms"]) if "value_ms" in given else units.go_time_us(value) if value else None
            if "value_s" in given:
                value_us = float(given["value_s"]) * 1e6
            return self.row(given["level"], value_us)
        if "status" in given:
            self.codes[int(given["status"])] = int(given["count"].replace(",", ""))
            return None
        for name, text in given.items():
            if name in _CLASSES:
                self.codes[_CLASSES[name]] = int(text)
            elif name == "failed":
                self.failed += int(text.replace(",", ""))
            elif name in _COUNTS or name.startswith("n_"):
                self.said[name] = int(text.replace(",", ""))
            elif _is_decimal(name):
                self.said[name] = float(text.replace(",", ""))
            else:
                self.said[name] = units.go_time_us(text)
        return None

    def row(self, level: str, value_us: float | None) -> None:
        """Add a percentile, whose level is in percent."""
        at = round(float(level) / 100, 9)
        if value_us is not None and 0 <= at <= 1:
            self.rows[at] = value_us

    def time_us(self, name: str) -> float | None:
        """Return a figure that some tools print with its unit, and some in milliseconds or in seconds."""
        for suffix, scale in (("", 1.0), ("_ms", 1e3), ("_s", 1e6)):
            if (value := self.said.get(name + suffix)) is not None:
                return float(value) * scale
        return None

    @property
    def bad(self) -> int:
        return sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed

    def finish(self) -> ConsoleReport:
        said, mean_us = self.said, self.time_us("mean")
        elapsed_s = said.get("elapsed_s") or _seconds(said.get("elapsed"))
        counted = sum(self.codes.values()) + self.failed if self.codes else None
        requests = said.get("requests", counted)
        if self.tool == "Artillery" and counted:  # its older versions count completed requests alone
            requests = max(requests or 0, counted)
        rate = said.get("rate_rps")
        if self.tool == "vegeta" and requests and elapsed_s:  # its throughput leaves errors out
            rate = requests / elapsed_s
        if "odd_length" in said and (lost := _without_body(said)):
            self.failed += lost
            said["odd_length"] = 0
        offered = said.get("offered_rps")
        asked = "vegeta attack" if self.tool == "vegeta" else self.tool
        share = round(1 - said["available_percent"] / 100, 9) if "available_percent" in said else None
        max_us = self.time_us("max")
        return ConsoleReport(
            tool=said.get("tool", self.tool),
            command=CommandLine(asked, self.tool, rate_rps=offered) if offered else None,
            duration_s=said.get("duration_s") or _seconds(said.get("duration")) or elapsed_s,
            url=said.get("url"),
            threads=said.get("threads"),
            connections=said.get("connections"),
            latency=ThreadStats(mean_us, self.time_us("stdev"), max_us, None) if mean_us is not None else None,
            latencies=Latencies(None, tuple(sorted(self.rows.items()))),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=said.get("non_2xx", self.bad or None),
            error_share=share or None,
            odd_length=said.get("odd_length") or None,
            requests_per_s=rate,
            operation=said.get("operation", ""),
            closed_loop=False if offered and self.tool in ("k6", "autocannon", "loadtest") else said.get("closed_loop"),
            extra=tuple(self.notes),
            diagnostics=tuple(self.diagnostics),
            first_line=self.first_line,
            last_line=self.last_line,
        )


def _without_body(said: Mapping[str, Any]) -> int:
    """Count ab's responses of another length where as many bodies are missing; else the lengths just vary."""
    odd, whole, requests, bodies = (said.get(name) for name in ("odd_length", "n_document", "requests", "n_bodies"))
    if not (odd and whole and requests) or bodies is None:
        return 0
    return int(odd) if whole * requests - bodies >= MOSTLY_MISSING * odd * whole else 0


def _seconds(time_us: float | None) -> float | None:
    return time_us / 1e6 if time_us else None


def _ms(text: str) -> float:
    return float(text.translate(_SPACES_AND_COMMAS)) * 1e3


Take = Callable[[Summary, re.Match[str]], object]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's summary: the line that may begin it, and its lines. `repeated` where a line that begins it comes again,
    `unbroken` where an empty line ends it, `proof` names figures of which one must be there besides the first line.
    """

    start: re.Pattern[str]
    lines: tuple[tuple[re.Pattern[str], Take | None], ...]
    repeated: bool = False
    unbroken: bool = False
    proof: tuple[str, ...] = ()


def _tool(
    start: str, *lines: str | tuple[str, Take], repeated: bool = False, unbroken: bool = False, proof: str = ""
) -> Tool:
    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(re.sub(r"(?<!\?P)<(\w+)>", _group, pattern))

    rows = tuple((compiled(line), None) if isinstance(line, str) else (compiled(line[0]), line[1]) for line in lines)
    return Tool(compiled(start), rows, repeated, unbroken, tuple(proof.split()))


def _say(**figures: object) -> Take:
    return lambda summary, match: summary.said.update(figures)


def _named(summary: Summary, match: re.Match[str]) -> None:
    """Take the line by which a tool that prints hey's layout is known."""
    summary.said["tool"] = {"Success rate": "oha", "Count": "ghz"}[match[1]]
    if match[1] == "Count":
        summary.said["requests"] = int(match[2])


def _grpc_status(summary: Summary, match: re.Match[str]) -> None:
    summary.codes[200 if match[1] == "OK" else 500 + len(summary.codes)] = int(match[2])


def _failure(summary: Summary, match: re.Match[str]) -> None:
    """Take an error and how often it came; ghz has counted it as a status, and oha's were in flight at the end."""
    if summary.said.get("tool") != "ghz" and "aborted due to deadline" not in match[0]:
        summary.failed += int(match[1])


def _broke_off(summary: Summary, match: re.Match[str]) -> None:
    """Take the line that ab prints instead of its summary; why it broke off went to standard error."""
    summary.said["requests"] = int(match[1])
    summary.diagnostics[:] = summary.diagnostics or [match[0]]


def _ab_failed(summary: Summary, match: re.Match[str]) -> None:
    """Take ab's failures by cause; a length may vary without one."""
    summary.failed = int(match[1]) + int(match[2]) + int(match[4])
    summary.take({"odd_length": match["odd_length"]})


def _address(part: str) -> Take:
    def take(summary: Summary, match: re.Match[str]) -> None:
        known = summary.said.get("url") or "//"
        summary.said["url"] = known + (f":{match[1]}" if part == "port" else match[1])

    return take


def _cells(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's row Latency: 2.5 %, 50 %, 97.5 %, 99 %, mean, standard deviation, maximum."""
    cells = match[1].split("│") if "│" in match[1] else re.findall(r"[\d.,]+ \w+", match[1])
    times = [units.go_time_us(cell) for cell in cells]
    if len(times) == 7:
        for level, time in zip(("2.5", "50", "97.5", "99", "100"), (*times[:4], times[6]), strict=True):
            summary.row(level, time)
        summary.said.update(mean=times[4], stdev=times[5], max=times[6])


def _autocannon(summary: Summary, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        summary.said["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        summary.said["offered_rps"] = float(rate[1])


def _rounded_count(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not summary.codes:
        summary.said["requests"] = round(float(match[1]) * {"k": 1_000, "M": 1_000_000}.get(match[2], 1))
    summary.said["elapsed_s"] = float(match[3])


def memtier_section(title: str) -> str | None:
    """Name what a section of memtier's is of, in brackets behind its operations; None for no such section."""
    found = re.match(r"^\s*(?:ALL STATS|(BEST|WORST) RUN RESULTS|AGGREGATED AVERAGE RESULTS \((\d+) runs\))\s*$", title)
    if found is None:
        return None
    return f" ({found[1].lower()} run)" if found[1] else f" ({found[2]} runs)" if found[2] else ""


def _memtier_row(summary: Summary, match: re.Match[str]) -> None:
    """Take a row of memtier's table, in milliseconds; older versions print the mean as Latency alone."""
    named = dict(zip(summary.heads, match[0].split(), strict=False))
    numbers = {name: float(value) for name, value in named.items() if re.fullmatch(_DECIMAL, value)}
    rows = {round(float(name[1:]) / 100, 9): value * 1e3 for name, value in numbers.items() if name[:1] == "p"}
    rate, mean = numbers.get("Ops/sec"), numbers.get("Avg.", numbers.get("Latency"))
    summary.said["memtier"] = True
    if not rate:
        return
    threads, clients = summary.said.get("threads"), summary.said.get("connections")
    name = match[0].split()[0]
    of = summary.totals if name == "Totals" else summary.operations
    of.append(
        ConsoleReport(
            tool="memtier_benchmark",
            threads=threads,
            connections=threads * clients if threads and clients else None,
            duration_s=summary.said.get("elapsed_s"),
            latency=ThreadStats(mean * 1e3, None, None, None) if mean is not None else None,
            latencies=Latencies(None, tuple(sorted(rows.items()))),
            requests_per_s=rate,
            first_line=summary.first_line,
            operation=f"{name}{summary.section}",
        )
    )


def _memtier_histogram(summary: Summary, match: re.Match[str]) -> None:
    """Take a row of memtier's distribution: a command, milliseconds, and the share of requests up to them."""
    summary.histograms.setdefault(match[1], {})[round(float(match[3]) / 100, 9)] = float(match[2]) * 1e3


def _trend(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`; an author may put commas between them."""
    found = re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1])
    times = {name: units.go_time_us(value) for name, value in found}
    summary.said.update(mean=times.get("avg"), max=times.get("max"), k6=True)
    if any(value.startswith("-") for _, value in found):
        summary.notes.append(NEGATIVE)
    for name, value in times.items():
        level = {"med": "50", "max": "100"}.get(name) or (name[2:-1] if name.startswith("p(") else "")
        if re.fullmatch(_DECIMAL, level):
            summary.row(level, value)


def _waiting(summary: Summary, match: re.Match[str]) -> None:
    """Take the time to the first byte where an author kept it alone: it is the whole of a short response."""
    if not summary.rows:
        _trend(summary, match)


def _threshold(summary: Summary, match: re.Match[str]) -> None:
    """Take a percentile of the requests that k6 prints next to a threshold of theirs."""
    if summary.section == "http_req_duration":
        summary.row(match[1], units.go_time_us(match[2]))


def _requests_of_k6(summary: Summary, match: re.Match[str]) -> None:
    requests, rate = int(match["requests"].replace(",", "")), float(match["rate_rps"].replace(",", ""))
    summary.said.update(requests=requests, rate_rps=rate, elapsed_s=requests / rate if rate else None)


def _failed_of_k6(summary: Summary, match: re.Match[str]) -> None:
    """Take how many requests failed, and of how many where that is printed."""
    summary.said["non_2xx"] = int(match[1].replace(",", ""))
    if match[2]:
        summary.said.setdefault("requests", int(match[2].replace(",", "")))


def _gatling(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    found = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    if not found:
        return
    numbers = [float(number.replace(",", "")) for number in found]
    name, first_ms = match[1].strip(), numbers[0]
    if name == "request count":
        summary.said.update(requests=int(first_ms), non_2xx=int(numbers[2]) if len(numbers) > 2 else None)
    elif level := re.match(r"response time (\d[\d.]*)th percentile", name):
        summary.row(level[1], first_ms * 1e3)
    elif name in ("mean requests/sec", "mean throughput"):
        summary.said["rate_rps"] = first_ms
    elif field_name := {"max": "max", "mean": "mean", "std": "stdev", "response": "stdev"}.get(name.split()[0]):
        summary.said[f"{field_name}_ms"] = first_ms
        if field_name == "max":
            summary.row("100", first_ms * 1e3)


def _jmeter(summary: Summary, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(match[at]) for at in (2, 3, 4))
    summary.said["elapsed_s"] = float(hours * 3600 + minutes * 60 + seconds) or None
    summary.take(match.groupdict())


def _aggregated(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's row of all requests: their number and failures, mean, minimum, maximum and median, rate."""
    summary.take(match.groupdict())
    summary.said["non_2xx"] = summary.said.get("non_2xx") or None
    summary.rows, summary.heads = {0.5: float(match["n_median"]) * 1e3}, ()


def _locusts_percentiles(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    most = summary.time_us("max") or float("inf")
    for level, value in zip(summary.heads, match[1].split(), strict=False):
        summary.row(level, min(float(value) * 1e3, most))


def _artillery(summary: Summary, match: re.Match[str]) -> None:
    """Take a figure of Artillery's response times, in milliseconds; other sections have the same names."""
    if summary.section == "times":
        name, value = match[1], float(match[2])
        if name in ("mean", "max"):
            summary.said[f"{name}_ms"] = value
        level = {"median": "50", "max": "100"}.get(name) or (name[1:3] + "." + name[3:] if name[0] == "p" else "")
        if level:
            summary.row(level.rstrip("."), value * 1e3)


def _quiet(summary: Summary, match: re.Match[str]) -> None:
    """Take the one line a command that `redis-benchmark -q` prints; before version 6.2 there was no percentile."""
    summary.said["operation"] = match[1]
    summary.take(match.groupdict())
    if match[3]:
        summary.row("50", float(match[3]) * 1e3)


def _redis_times(summary: Summary, match: re.Match[str]) -> None:
    """Take redis-benchmark's last line: average, minimum, p50, p95, p99 and maximum in milliseconds."""
    average, _, *rest = (float(part) for part in match[0].split())
    summary.said.update(mean_ms=average, max_ms=rest[-1])
    for level, value in zip(("50", "95", "99", "100"), rest, strict=True):
        summary.row(level, value * 1e3)


def _cumulated(summary: Summary, match: re.Match[str]) -> None:
    if summary.section != "cumulated":  # redis-benchmark prints the inverse below its percentiles
        summary.row(match[1], float(match[2]) * 1e3)


def _vegeta_times(summary: Summary, match: re.Match[str]) -> None:
    for name, value in zip(match[1].split(","), match[2].split(","), strict=False):
        time, name = units.go_time_us(value), name.strip()
        if name in ("mean", "max"):
            summary.said[name] = time
        if name == "max" or name.isdigit():
            summary.row("100" if name == "max" else name, time)


def _vegeta_codes(summary: Summary, match: re.Match[str]) -> None:
    summary.codes.update({int(code): int(count) for code, count in re.findall(r"(\d{1,3}):(\d{1,18})", match[1])})


def _loadtests_rate(summary: Summary, match: re.Match[str]) -> None:
    """Take loadtest's rate: the one that was asked for stands above the number of completed requests."""
    asked = "requests" not in summary.said and not match[1].startswith(("Mean", "Effective"))
    summary.said["offered_rps" if asked else "rate_rps"] = float(match[2])


def _section(name: str) -> Take:
    return lambda summary, match: setattr(summary, "section", name)


def _nothing(summary: Summary, match: re.Match[str]) -> None:
    """A line of the summary from which nothing is taken."""


_AB = r"^[\s*#-]*"
_GO_WRK = r"^[\s*-]*"
_LOADTEST = r"^(?:\[[^\]]{1,90}\] INFO )?\s*"  # as older versions of loadtest begin each line
_K6 = r"^\s*(?:[✓✗√\u00d7] )?"

TOOLS: dict[str, Tool] = {
    "hey": _tool(
        r"^\s*Summary:\s*$",
        r"^\s*Total:\s+<elapsed>",
        r"^\s*Slowest:\s+<max>",
        (r"^\s*(Success rate|Count):\s+(\d{1,15})", _named),
        r"^\s*Average:\s+<mean>",
        r"^\s*Requests/sec:\s+<rate_rps>",
        r"^\s*<level>%{1,2} in <value>",
        r"^\s*\[(?P<status>\d{3})\]\s+<count> responses",
        (r"^\s*\[([A-Za-z]{2,20})\]\s+(\d{1,15}) responses", _grpc_status),
        (r"^\s*\[(\d{1,15})\]\s+\S.*", _failure),
        (r"^\s*(?:Fastest:|(?:Details|Status code|Error|Latency) distribution|(?:DNS|req|resp)[ +-])", _nothing),
    ),
    "ab": _tool(
        r"^[\s*#-]*This is ApacheBench, Version|^[\s*#-]*(?:Concurrency Level|Time taken for tests|Server Port):\s+\d"
        r"|^[\s*#-]*(?:Server (?:Software|Hostname)|Document Path):(?:\s{2}|\s*$)",
        (_AB + r"Server Hostname:\s+(\S+)", _address("host")),
        (_AB + r"Server Port:\s+(\d{1,5})", _address("port")),
        (_AB + r"Document Path:\s+(\S+)", _address("path")),
        _AB + r"Time per request:\s+<mean_ms> \[ms\] \(mean\)",
        _AB + r"Concurrency Level:\s+<connections>",
        _AB + r"Time taken for tests:\s+<elapsed_s> seconds",
        _AB + r"Complete requests:\s+<requests>",
        (_AB + r"\(Connect: (\d{1,9}), Receive: (\d{1,9}), Length: <odd_length>, Exceptions: (\d{1,9})\)", _ab_failed),
        _AB + r"Failed requests:\s+<n_failed>",
        (r"^(apr_\w+: .{1,120})", lambda summary, match: summary.diagnostics.append(match[1])),
        (r"^Total of (\d{1,15}) requests completed", _broke_off),
        _AB + r"Document Length:\s+<n_document> bytes",
        _AB + r"HTML transferred:\s+<n_bodies> bytes",
        _AB + r"Non-2xx responses:\s+<non_2xx>",
        _AB + r"Requests per second:\s+<rate_rps>",
        _AB + r"Total:\s+\d+\s+<mean_ms>\s+<stdev_ms>\s+\d+\s+<max_ms>",
        _AB + r"<level>%\s+<value_ms>\s*(?:\(longest request\))?\s*$",
        repeated=True,
        proof="connections elapsed_s requests rate_rps rows",
    ),
    "vegeta": _tool(
        r"^\s*Requests\s+\[total, rate",
        r"^\s*Requests\s+\[total, rate[^\]]*\]\s+<requests>,\s+<offered_rps>",
        r"^\s*Duration\s+\[[^\]]*\]\s+<elapsed>",
        (r"^\s*Latencies\s+\[([^\]]*)\]\s+(\S.*)$", _vegeta_times),
        (r"^\s*Bytes (?:In|Out)\s+\[|^\s*Success\s+\[", _nothing),
        (r"^\s*Status Codes\s+\[[^\]]*\]\s+(\S.*)$", _vegeta_codes),
    ),
    "bombardier": _tool(
        r"^\s*Bombarding \S+ .*using \d+ connection",
        r"^\s*Bombarding \S+ (?:for <elapsed>)?.*using <connections> connection",
        r"^\s*Reqs/sec\s+<rate_rps>",
        r"^\s*Latency\s+<mean>\s+<stdev>\s+<max>\s*$",
        r"^\s*<level>%\s+<value>\s*$",
        r"^\s*1xx - <c1>, 2xx - <c2>, 3xx - <c3>, 4xx - <c4>, 5xx - <c5>",
        r"^\s*others - <failed>",
        (r"^\s*(?:Latency Distribution\s*$|Statistics\s+Avg|Throughput:|HTTP codes:)", _nothing),
    ),
    "autocannon": _tool(
        r"^\s*(?:\S )?(?:npx )?autocannon\s.*\bhttps?://"
        r"|^\s*\d{1,9} connections(?: with \d+ pipelining factor)?\s*$|^\s*│ Stat\s+│ 2\.5%",
        (r"^.*\bautocannon\s.*", _autocannon),
        r"^\s*<connections> connections",
        (r"^\s*│ Latency\s+│(.*)│\s*$", _cells),
        (r"^\s*Latency\s+((?:[\d.,]{1,15} [mun]?s\s+){6}[\d.,]{1,15} [mun]?s)\s*$", _cells),  # version 2 has no bars
        r"^\s*(?:│ Req/Sec\s+│(?:[^│]*│){4}|Req/Sec\s+(?:[\d.,]{1,15}\s+){4})\s*<rate_rps>",
        r"^\s*│ <level>\s+│ <value_ms>\s+│\s*$",
        r"^\s*<c2> 2xx responses, <c5> non 2xx",
        (r"^\s*(\d[\d.]{0,15})(k|M)? requests in (\d[\d.]{0,15})s", _rounded_count),
        r"^\s*<failed> errors \(",
        (r"^\s*(?:│|[┌├└]─|Stat\s+\d|Bytes/Sec\s+\d|Req/Bytes counts|# of samples)", _nothing),
        repeated=True,
        proof="rows",
    ),
    "memtier_benchmark": _tool(
        r"^\s*\d+\s+Threads\s*$|^Type\s+Ops/sec\s+Hits/sec",
        r"^\s*<threads>\s+Threads\s*$",
        r"^\s*<connections>\s+Connections per thread\s*$",
        r"^\s*<elapsed_s>\s+Seconds\s*$",
        (
            r"^(?:ALL STATS|(?:BEST|WORST) RUN|AGGREGATED AVERAGE)\b.*",
            lambda summary, match: setattr(summary, "section", memtier_section(match[0]) or ""),
        ),
        (
            r"^Type\s+Ops/sec\s+Hits/sec.*",
            lambda summary, match: setattr(
                summary, "heads", tuple(re.sub(r"(?<=\S) Latency", "", match[0]).split())
            ),
        ),
        (r"^([A-Z]+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$", _memtier_histogram),
        (r"^(?:[A-Z][A-Za-z]*)\s+\d+\.\d+\s.*", _memtier_row),
        repeated=True,
        proof="memtier",
    ),
    "redis-benchmark": _tool(
        r"^\s*====== (\S.*?) ======\s*$|^[A-Z]\S*(?: \(.*\))?: [\d.]+ requests per second(?:, p50=|\s*$)",
        (r"^\s*====== (\S.*?) ======\s*$", lambda summary, match: summary.said.update(operation=match[1])),
        r"^\s*<requests> requests completed in <elapsed_s> seconds",
        (r"^(\S.*): <rate_rps> requests per second(?:, p50=(\d[\d.]{0,15}) msec|\s*$)", _quiet),
        r"^\s*<rate_rps> requests per second\s*$",
        r"^\s*<connections> parallel clients",
        (r"^\s*Latency by percentile distribution", _section("")),
        (r"^\s*Cumulative distribution of latencies", _section("cumulated")),
        (r"^\s*(\d[\d.]{0,15})% <= (\d[\d.]{0,15}) milliseconds", _cumulated),
        r"^\s*throughput summary: <rate_rps> requests per second",
        (r"^\s*(?:\d+\.\d{3}\s+){5}\d+\.\d{3}\s*$", _redis_times),
    ),
    "go-wrk": _tool(
        r"^[\s*-]*(?:\d{1,9} goroutine\(s\) running concurrently|\d{1,18} requests in \S*\d\.\d{4,}m?s, )",
        _GO_WRK + r"<connections> goroutine",
        _GO_WRK + r"<requests> requests in <elapsed>, ",
        _GO_WRK + r"Requests/sec:\s+<rate_rps>",
        _GO_WRK + r"Avg Req Time:\s+<mean>",
        _GO_WRK + r"Slowest Request:\s+<max>",
        _GO_WRK + r"Number of Errors:\s+<failed>",
        _GO_WRK + r"<level>%:\s+<value>\s*$",
        (_GO_WRK + r"(?:Transfer/sec|Overall \S+|Fastest Request|stddev):", _nothing),
        repeated=True,
        unbroken=True,
        proof="requests rate_rps",
    ),
    "rewrk": _tool(
        r"^\s*Benchmarking \d{1,9} connections @ \S+ for \d",
        (
            r"^\s*Benchmarking (\d{1,9}) connections @ \S+ for (\d{1,9}) (second|minute|hour)",
            lambda summary, match: summary.said.update(
                connections=int(match[1]), duration_s=int(match[2]) * units.TIME_US[match[3][0]] / 1e6
            ),
        ),
        r"^\s*<mean>\s+<stdev>\s+\S{1,20}\s+<max>\s*$",
        r"^\s*Total:\s*<requests>\s+Req/Sec:\s*<rate_rps>",
        (r"^\s*(?:Latencies:|Avg\s+Stdev|Requests:|Transfer:|Total:|\+ -{10}|\|\s+[\d.]+%\s)", _nothing),
        proof="requests rate_rps",
    ),
    "siege": _tool(
        r"^\s*Transactions:\s+\d{1,18} hits",
        r"^\s*Transactions:\s+<requests> hits",
        r"^\s*Availability:\s+<available_percent> %",
        r"^\s*Elapsed time:\s+<elapsed_s> secs",
        r"^\s*Response time:\s+<mean>",
        r"^\s*Transaction rate:\s+<rate_rps> trans/sec",
        r"^\s*Longest transaction:\s+<max_s>\s*$",
        r"^\s*Longest transaction:\s+<max>\s*$",
        (r"^\s*(?:Data transferred|Throughput|Concurrency|(?:Successful|Failed|Shortest) transactions?):", _nothing),
        unbroken=True,
    ),
    "loadtest": _tool(
        rf"{_LOADTEST}Target URL:\s+\S",
        rf"{_LOADTEST}Concurrency level:\s+<connections>",
        rf"{_LOADTEST}Max time \(s\):\s+<duration_s>",
        rf"{_LOADTEST}Completed requests:\s+<requests>",
        rf"{_LOADTEST}Total errors:\s+<failed>",
        rf"{_LOADTEST}Total time:\s+<elapsed_s> s",
        (
            rf"{_LOADTEST}((?:Requests per second|(?:Mean|Effective) (?:requests per second|rps)):)\s+({_DECIMAL})",
            _loadtests_rate,
        ),
        rf"{_LOADTEST}Mean latency:\s+<mean_ms> ms",
        rf"{_LOADTEST}<level>%\s+<value_ms> ms",
        (rf"{_LOADTEST}(?:$|Target URL:|Agent:|Max requests:|Percentage of|Running on cores:)", _nothing),
    ),
    "h2load": _tool(
        r"^\s*finished in \S+, \S+ req/s",
        r"^\s*finished in <elapsed>, <rate_rps> req/s",
        r"^\s*requests: \d+ total, \d+ started, <requests> done, \d+ succeeded, <n_failed> failed, \d+ errored",
        r"^\s*status codes: <c2> 2xx, <c3> 3xx, <c4> 4xx, <c5> 5xx",
        r"^\s*time for request:\s+\S+\s+<max>\s+<mean>\s+<stdev>\s",
        (r"^\s*(?:traffic:|min\s+max\s+mean|time (?:for connect|to 1st byte):|req/s\s+:)", _nothing),
        proof="requests",
    ),
    "fortio": _tool(
        r"^Aggregated Function Time : count \d",
        r"^Aggregated Function Time : count <requests> avg <mean_s> \+/- <stdev_s> min \S+ max <max_s>",
        r"^# target <level>% <value_s>",
        r"^Code\s+(?P<status>\d{1,3}) : <count> ",
        r"^All done <requests> calls .*, <rate_rps> qps",
        (r"^(?:# range|> |Sockets used|Response (?:Header|Body)|Uniform|Error cases|.* histogram)", _nothing),
    ),
    "k6": _tool(
        _K6 + r"(?:checks\w*|data_received|dropped_iterations|http_req\w*)\.*\s*:\s+\S"
        r"|^\s*\* \S+: (?:[\d.]+ iterations/s for |(?:\d+ looping|Up to \d+ looping) VUs )",
        r"^\s*\* \S+: <offered_rps> iterations/s for ",
        (r"^\s*(\{.*\}|[a-z][a-z_]+(?:\{.*\})?)\s*$", lambda summary, match: setattr(summary, "section", match[1])),
        (r"^\s*[✓✗] 'p\((\d{2}(?:\.\d+)?)\)\s?<=?\s?\d+' p\(\1\)=(\S+)", _threshold),
        (r"^\s*(?:WARN|ERRO)\[\d+\]\s+(\S.{0,200})", lambda summary, match: summary.diagnostics.append(match[1])),
        (r"^\s*\* \S+: (?:Up to )?\d+ looping VUs ", _say(closed_loop=True)),
        (_K6 + r"http_req_duration\.*\s*:\s+(avg=.*)", _trend),
        (r"^\s*http_req_waiting\.*\s*:\s+(avg=.*)", _waiting),
        (
            _K6 + r"http_req_failed\.*\s*:\s+\S+\s+(?:✓ )?\(?(\d[\d,]{0,18})(?: out of (\d[\d,]{0,18}))?",
            _failed_of_k6,
        ),
        (r"^\s*http_reqs\.*\s*:\s+<requests>\s+\(?<rate_rps>/s", _requests_of_k6),
        (
            r"^\s*dropped_iterations\.*\s*:\s+(\d{1,18})",
            lambda summary, match: summary.notes.append(f"dropped_iterations: {match[1]}"),
        ),
        r"^\s*vus_max\.*\s*:\s+<connections>",
        (r"^\s*(?:iteration\w*|vus|data_sent|\{ expected_response:true \})\.*\s*:", _nothing),
        repeated=True,
        proof="rows",
    ),
    "Gatling": _tool(
        r"^---- Global Information -+",
        (r"^(?:> )?\s*([a-z][\w ./%]*?)(?: \(\w+\))?\s{2,}\|?\s*(\d.*)$", _gatling),
        proof="requests rate_rps rows",
    ),
    "JMeter": _tool(
        r"^summary [+=]\s+\d+ in ",
        (
            r"^summary =\s+<requests> in (\d\d):(\d\d):(\d\d) =\s+<rate_rps>/s Avg:\s+<mean_ms> Min:\s+\d+ "
            r"Max:\s+<max_ms> Err:\s+<non_2xx>",
            _jmeter,
        ),
        (r"^summary \+", _nothing),
        repeated=True,
        proof="requests",
    ),
    "Artillery": _tool(
        r"^\s*Summary report @ \d",
        r"^\s*http\.requests:[ .]*\s<requests>\s*$",
        r"^\s*Requests completed:\s+<requests>",
        r"^\s*http\.request_rate:[ .]*\s<rate_rps>/sec",
        r"^\s*(?:Mean response/sec|RPS sent):\s+<rate_rps>",
        (r"^\s*(?:http\.response_time|Response time \(msec\)|Request latency):\s*$", _section("times")),
        (r"^\s+(min|max|mean|median|p\d{2,3}):[ .]*\s(\d[\d.]{0,15})\s*$", _artillery),
        r"^\s*(?:http\.codes\.)?(?P<status>\d{3}):[ .]*\s<count>\s*$",
        r"^\s*(?:errors\.\S+|E[A-Z]{4,}):[ .]*\s<failed>\s*$",
        (r"^\s*(?:http|vusers|plugins|errors)\.\S+:[ .]*\s\S+\s*$", _nothing),
        (r"^\s*(?:(?:http|vusers|plugins)\.\S+|Scenarios? [a-z]+|Codes|Errors):", _section("other")),
        proof="requests rate_rps",
    ),
    "Locust": _tool(
        r"^\s*(?:Type\s+)?Name\s+# reqs\s+# fails",
        (
            r"^\s*(?:None\s+)?Aggregated\s+<requests>\s+<non_2xx>\([\d.]+%\)\s+\|\s+<mean_ms>\s+\d+\s+<max_ms>\s+"
            r"<n_median>\s+\|\s+<rate_rps>",
            _aggregated,
        ),
        (
            r"^\s*(?:Type\s+)?Name\s+(?:[\d.]+%\s+)+# reqs",
            lambda summary, match: setattr(summary, "heads", tuple(re.findall(r"(\d[\d.]*)%", match[0]))),
        ),
        (r"^\s*(?:None\s+)?Aggregated\s+((?:\d+\s+){2,}\d+)\s*$", _locusts_percentiles),
        (r"^\s*(?:(?:Type\s+)?Name\s+#|Response time percentiles \(|-{8}\|)", _nothing),
        repeated=True,
        proof="requests rate_rps",
    ),
}  # fmt: skip
_ANY_START = re.compile("|".join(f"(?:{tool.start.pattern})" for tool in TOOLS.values()))
_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")


def find_summaries(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Find the summaries in lines: where each begins and ends among them, and what it says."""
    summary: Summary | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            continue
        text = clean(line.text)
        tool = _begun_by(text)
        anew = tool is not None and not (summary and _goes_on(summary, tool))
        blank = summary is not None and TOOLS[summary.tool].unbroken and not text.strip()
        wrks = summary is not None and summary.tool != "autocannon" and _OF_WRK.match(text) is not None
        fence = text.lstrip().startswith(("```", "~~~"))
        if summary and (anew or fence or blank or wrks or index - begin > LONGEST_BLOCK):
            yield from _closed(summary, begin, end)
            summary = None
        if anew and tool:
            summary, begin, end = Summary(tool, line.number, line.number), index, index
        if summary is None:
            continue
        for pattern, take in TOOLS[summary.tool].lines:
            if match := pattern.match(text):
                if take is None:
                    summary.take(match.groupdict())
                else:
                    take(summary, match)
                summary.last_line, end = line.number, index
                break
    if summary:
        yield from _closed(summary, begin, end)


def _begun_by(text: str) -> str | None:
    if not _ANY_START.match(text):
        return None
    return next(name for name, tool in TOOLS.items() if tool.start.match(text))


def _goes_on(summary: Summary, tool: str) -> bool:
    """Tell whether a line that could begin a summary belongs to the one that is open."""
    if summary.tool == "redis-benchmark" and tool == "hey":  # both print a line `Summary:`
        return True
    whole = tool in ("ab", "go-wrk") and ("elapsed_s" in summary.said or "elapsed" in summary.said)
    return summary.tool == tool and TOOLS[tool].repeated and not whole


def _closed(summary: Summary, begin: int, end: int) -> Iterator[tuple[int, int, ConsoleReport]]:
    for report in summary.operations or summary.totals:
        yield begin, end, _with_histogram(report, summary)
    proof = TOOLS[summary.tool].proof
    whole = any(name in summary.said or (name == "rows" and summary.rows) for name in proof) if proof else summary.said
    if whole and not summary.operations and "memtier" not in summary.said:
        yield begin, end, summary.finish()


def _with_histogram(report: ConsoleReport, summary: Summary) -> ConsoleReport:
    """Add the usual percentiles of a command's distribution (SET) to the row of its operation (Sets).

    The distribution may lie a bucket above the table, so what the table gives is not taken from it.
    """
    rows = summary.histograms.get(report.operation.upper().removesuffix("S"), {})
    rows = {level: value for level, value in rows.items() if level in LEVELS} | dict(report.latencies.rows)
    return replace(report, latencies=Latencies(None, tuple(sorted(rows.items()))), last_line=summary.last_line)
