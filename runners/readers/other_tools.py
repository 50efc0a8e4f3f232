"""Reads the end summaries of other load tools out of any text around them, as outputs like wrk's.

They are ab, Artillery, autocannon, bombardier, Gatling, go-wrk, hey, JMeter, k6, Locust, memtier_benchmark, oha,
redis-benchmark, rewrk, siege and vegeta. What such a summary cannot show is missing in the report: none of them
corrects a closed loop's latency; ab, autocannon, Gatling, JMeter and Locust print whole milliseconds; the summaries of
JMeter and siege have no percentile at all, and what rewrk calls one is the mean of the responses beyond it. Nothing in
an input is an error; a part that is cut leaves its fields None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport, Latencies, ThreadStats
from runners.readers.documents import Line, Problem
from runners.readers.levels import LEVELS
from runners.readers.wrk_console import LONGEST_LINE, clean

LONGEST_BLOCK = 1_000  # lines; the longest summary, memtier's with the histograms of several operations, has hundreds
#: Tools whose connections wait for a response before they send again.
CLOSED_LOOPS = frozenset(
    {
        "wrk",
        "ab",
        "autocannon",
        "bombardier",
        "go-wrk",
        "hey",
        "JMeter",
        "Locust",
        "memtier_benchmark",
        "oha",
        "redis-benchmark",
        "rewrk",
        "siege",
    }
)
OTHER_TOOLS = CLOSED_LOOPS - {"wrk"} | {"Artillery", "Gatling", "HdrHistogram", "k6", "vegeta"}
WHOLE_MILLISECONDS = frozenset({"ab", "autocannon", "Gatling", "JMeter", "Locust"})
#: Tools whose rate is the mean of those of short intervals, not requests by duration.
MEAN_OF_INTERVALS = frozenset({"Artillery", "autocannon", "bombardier"})
#: After how many seconds a tool gives up on a response, unless it is asked otherwise.
TIMEOUTS_S = {"wrk": 2.0, "Artillery": 10.0, "autocannon": 10.0, "bombardier": 2.0, "hey": 20.0, "k6": 60.0}
#: What the tools print before and after their summaries; nobody's prose.
CHATTER = re.compile(
    r"^\s*(?:Creating summariser <|Created the tree successfully|Starting (?:the|standalone) test|Waiting for possible "
    r"Shutdown|Tidying up \.|\.\.\. end of run|Simulation \S+ (?:started|completed)|Parsing log file|Generating reports"
    r"|(?:INFO|WARN|ERRO)\[\d+\]|running \(\d|(?:execution|script|output|scenarios): |default\s+[✓✗]|[/\\|_‾() ]+$"
    r"|\[\d{4}-\d\d-\d\d [\d:,.]+\] \S+/(?:DEBUG|INFO|WARNING|ERROR)/locust"
    r"|Reports generated, please open|Please open the following file|Json file closed)"
)
_N = r"(\d{1,18})"
_F = r"(\d{1,15}(?:\.\d{1,12})?)"
_THOUSANDS = r"\d{1,3}(?:,\d{3}){1,5}(?!\d)"  # as people write them who type an output again
_COUNT = rf"({_THOUSANDS}|\d{{1,18}})"
_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)")
_GO_US = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_TIME = rf"{_F}\s*(secs?|ms|us|µs|μs|ns|m|h)(?!\w)"
_SHORT = r"(\d[\d.]*[nuµμm]?s)"
_STARTS = {
    "hey": re.compile(r"^\s*Summary:\s*$"),
    "ab": re.compile(
        r"^[\s*#-]*This is ApacheBench, Version|^[\s*#-]*(?:Concurrency Level|Time taken for tests):\s+\d"
    ),
    "vegeta": re.compile(r"^\s*Requests\s+\[total, rate"),
    "bombardier": re.compile(r"^\s*Bombarding \S+ .*using \d+ connection"),
    "autocannon": re.compile(
        r"^\s*(?:\S )?(?:npx )?autocannon\s.*\bhttps?://"
        r"|^\s*\d{1,9} connections(?: with \d+ pipelining factor)?\s*$|^\s*│ Stat\s+│ 2\.5%"
    ),
    "k6": re.compile(
        r"^\s*(?:[✓✗√\u00d7] )?(?:checks\w*|data_received|dropped_iterations|http_req\w*)\.*\s*:\s+\S"
        r"|^\s*\* \S+: (?:[\d.]+ iterations/s for |(?:\d+ looping|Up to \d+ looping) VUs )"
    ),
    "Gatling": re.compile(r"^---- Global Information -+"),
    "JMeter": re.compile(r"^summary [+=]\s+\d+ in "),
    "memtier_benchmark": re.compile(r"^\s*\d+\s+Threads\s*$|^Type\s+Ops/sec\s+Hits/sec"),
    "redis-benchmark": re.compile(
        r"^\s*====== (\S.*?) ======\s*$|^[A-Z]\S*(?: \(.*\))?: [\d.]+ requests per second(?:, p50=|\s*$)"
    ),
    "Artillery": re.compile(r"^\s*Summary report @ \d"),
    "go-wrk": re.compile(
        r"^[\s*-]*(?:\d{1,9} goroutine\(s\) running concurrently|\d{1,18} requests in \S*\d\.\d{4,}m?s, )"
    ),
    "Locust": re.compile(r"^\s*(?:Type\s+)?Name\s+# reqs\s+# fails"),
    "rewrk": re.compile(r"^\s*Benchmarking \d{1,9} connections @ \S+ for \d"),
    "siege": re.compile(r"^\s*Transactions:\s+\d{1,18} hits"),
}
_ANY_START = re.compile("|".join(start.pattern for start in _STARTS.values()))
#: Lines of which a summary holds several; the first one begins it.
_REPEATED = frozenset({"ab", "autocannon", "go-wrk", "k6", "JMeter", "Locust", "memtier_benchmark"})
#: Tools whose first line says nothing yet.
_ALIKE = frozenset({"Artillery", "go-wrk", "Locust", "rewrk"})
#: Summaries that an empty line ends; what follows may be another tool's with lines like theirs.
_UNBROKEN = frozenset({"go-wrk", "siege"})


#: What is known to be a load tool's, and is not read; each by a line that no other tool prints.
_NOT_READ = {
    "fortio": re.compile(r"^Aggregated Function Time : count \d"),
    "ab -g": re.compile(r"^starttime\tseconds\tctime\tdtime\tttime\twait"),
}


def not_read(lines: Sequence[Line]) -> Iterator[Problem]:
    """Name the outputs of load tools that are not read, once a tool."""
    left = dict(_NOT_READ)
    for line in lines:
        for name in [name for name, mark in left.items() if len(line.text) <= LONGEST_LINE and mark.match(line.text)]:
            del left[name]
            yield Problem(line.number, f"an output of {name}, which is not read: no finding is about it")


def go_time_us(text: str) -> float | None:
    """Read a duration as Go prints it: `3m59.9s`, `681.09ms`, `0s`."""
    parts = _GO_PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _GO_US[unit] for number, unit in parts)


def _us(match: re.Match[str], first: int = 1) -> float:
    """Take a number and its unit out of a match."""
    return float(match[first]) * _GO_US[match[first + 1].removesuffix("secs").removesuffix("sec") or "s"]


@dataclass(slots=True)
class _Block:
    """One summary while its lines come in."""

    tool: str
    first_line: int
    last_line: int = 0
    said: dict[str, Any] = field(default_factory=dict)
    rows: list[tuple[float, float]] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    mean_us: float | None = None
    stdev_us: float | None = None
    max_us: float | None = None
    rate_rps: float | None = None
    name: str | None = None  # of a tool that prints another one's layout
    listing: bool = True  # whether lines of percentiles count: redis-benchmark prints their inverse below them
    levels: tuple[str, ...] = ()  # of Locust's table of percentiles, by column
    heads: tuple[str, ...] = ()  # of memtier's table
    section: str = ""  # of memtier, where it ran several times: best run, worst run, all runs
    histograms: dict[str, dict[float, float]] = field(default_factory=dict)  # of memtier, by command
    operations: list[ConsoleReport] = field(default_factory=list)  # of a tool that reports several at once
    totals: list[ConsoleReport] = field(default_factory=list)  # of them all, where their own rows were cut

    def finish(self) -> ConsoleReport:
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed
        said = dict(self.said)
        said.setdefault("non_2xx", bad or None)
        if self.codes:
            said.setdefault("requests", sum(self.codes.values()) + self.failed)
        if self.tool == "Artillery" and self.codes:  # its older versions count completed requests alone
            said["requests"] = max(said["requests"], sum(self.codes.values()) + self.failed)
        said.setdefault("duration_s", said.get("elapsed_s"))
        rows = sorted(dict(self.rows).items())
        asked = "vegeta attack" if self.tool == "vegeta" else self.tool
        command = CommandLine(asked, self.tool, rate_rps=self.rate_rps) if self.rate_rps else None
        return ConsoleReport(
            tool=self.name or self.tool,
            command=command,
            latency=ThreadStats(self.mean_us, self.stdev_us, self.max_us, None) if self.mean_us is not None else None,
            latencies=Latencies(None, tuple(rows)),
            first_line=self.first_line,
            last_line=self.last_line,
            **said,
        )


def _row(block: _Block, level: str, value_us: float | None) -> None:
    at = round(float(level) / 100, 9)
    if value_us is not None and 0 <= at <= 1:
        block.rows.append((at, value_us))


def _latencies(block: _Block, match: re.Match[str]) -> None:
    for name, value in zip(match[1].split(","), match[2].split(","), strict=False):
        time = go_time_us(value)
        if name.strip() == "mean":
            block.mean_us = time
        elif name.strip() == "max":
            block.max_us = time
            _row(block, "100", time)
        elif name.strip().isdigit():
            _row(block, name.strip(), time)


def _requests(block: _Block, match: re.Match[str]) -> None:
    block.said["requests"] = int(match[1])
    block.rate_rps = float(match[2])


def _codes(block: _Block, match: re.Match[str]) -> None:
    block.codes.update({int(code): int(count) for code, count in re.findall(rf"(\d{{1,3}}):{_N}", match[1])})


def _classes(block: _Block, match: re.Match[str]) -> None:
    block.codes.update({int(first) * 100: int(count) for first, count in re.findall(rf"(\d)xx - {_N}", match[0])})


def _bombarding(block: _Block, match: re.Match[str]) -> None:
    block.said["connections"] = int(match[2])
    if match[1] and (time := go_time_us(match[1])):
        block.said["elapsed_s"] = time / 1e6


def _go_stats(block: _Block, match: re.Match[str]) -> None:
    block.mean_us, block.stdev_us, block.max_us = (go_time_us(match[at]) for at in (1, 2, 3))


def _tens(block: _Block, match: re.Match[str]) -> None:
    """Take ab's row Total, in milliseconds."""
    block.mean_us, block.stdev_us, block.max_us = (float(match[at]) * 1e3 for at in (1, 2, 3))


def _percentile_of(block: _Block, match: re.Match[str]) -> None:
    if block.listing:
        _row(block, match[1], float(match[2]) * 1e3)


def _summary_of(block: _Block, match: re.Match[str]) -> None:
    """Take redis-benchmark's last line: average, minimum, p50, p95, p99 and maximum in milliseconds."""
    average, _, *rest = (float(part) * 1e3 for part in match[0].split())
    block.mean_us, block.max_us = average, rest[-1]
    for level, value in zip(("50", "95", "99", "100"), rest, strict=True):
        _row(block, level, value)


def _quiet(block: _Block, match: re.Match[str]) -> None:
    """Take the one line a command that `redis-benchmark -q` prints."""
    block.said.update(operation=match[1], requests_per_s=float(match[2]))
    if match[3]:  # before version 6.2 there was no percentile
        _row(block, "50", float(match[3]) * 1e3)


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _requests_of_k6(block: _Block, match: re.Match[str]) -> None:
    requests, rate = _count(match[1]), float(match[2].replace(",", ""))
    block.said.update(requests=requests, requests_per_s=rate, elapsed_s=requests / rate if rate else None)


def _autocannon(block: _Block, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        block.said["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        block.rate_rps = float(rate[1])
        block.said["closed_loop"] = False


def _cells(block: _Block, match: re.Match[str]) -> None:
    """Take autocannon's row Latency: 2.5 %, 50 %, 97.5 %, 99 %, mean, standard deviation, maximum."""
    times = [go_time_us(cell.replace(" ", "").replace(",", "")) for cell in match[1].split("│")]
    if len(times) == len(_AUTOCANNON):
        for level, time in zip(_AUTOCANNON, times, strict=True):
            if level:
                _row(block, level, time)
        block.mean_us, block.stdev_us, block.max_us = times[4], times[5], times[6]


_AUTOCANNON = ("2.5", "50", "97.5", "99", "", "", "100")  # the mean and the standard deviation stand before the maximum


def _counted(block: _Block, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not block.codes:
        scale = {"k": 1_000, "M": 1_000_000}.get(match[2], 1)
        block.said["requests"] = round(float(match[1]) * scale)
    block.said["elapsed_s"] = float(match[3])


def _trend(block: _Block, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`."""
    times = {name: go_time_us(value) for name, value in re.findall(r"([\w().]+)=([^\s=]+)", match[1])}
    block.mean_us, block.max_us = times.get("avg"), times.get("max")
    block.said.setdefault("requests", None)
    for name, value in times.items():
        level = {"med": "50", "max": "100"}.get(name) or (name[2:-1] if name.startswith("p(") else "")
        if re.fullmatch(_F, level):
            _row(block, level, value)


def _waiting(block: _Block, match: re.Match[str]) -> None:
    """Take the time to the first byte where an author kept it alone: it is the whole of a short response."""
    if not block.rows:
        _trend(block, match)


def _paced(block: _Block, match: re.Match[str]) -> None:
    """Take k6's line of a scenario that starts iterations at a rate."""
    block.rate_rps = float(match[1])
    block.said["closed_loop"] = False


def _benchmarking(block: _Block, match: re.Match[str]) -> None:
    """Take rewrk's first line: connections, and for how long."""
    block.said["connections"] = int(match[1])
    block.said["duration_s"] = int(match[2]) * _GO_US[match[3][0]] / 1e6


def _rewrks_latencies(block: _Block, match: re.Match[str]) -> None:
    """Take rewrk's mean, standard deviation, minimum and maximum."""
    block.mean_us, block.stdev_us, block.max_us = (go_time_us(match[at]) for at in (1, 2, 4))


def _aggregated(block: _Block, match: re.Match[str]) -> None:
    """Take Locust's row of all requests: their number and failures, mean, minimum, maximum and median, rate."""
    block.said.update(requests=int(match[1]), non_2xx=int(match[2]) or None, requests_per_s=float(match[6]))
    block.mean_us, block.max_us = float(match[3]) * 1e3, float(match[4]) * 1e3
    block.rows = [(0.5, float(match[5]) * 1e3)]
    block.levels = ()


def _levels(block: _Block, match: re.Match[str]) -> None:
    block.levels = tuple(re.findall(rf"{_F}%", match[0]))


def _aggregated_percentiles(block: _Block, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    for level, value in zip(block.levels, match[1].split(), strict=False):
        _row(block, level, min(float(value) * 1e3, block.max_us or math.inf))


def _artillery(block: _Block, match: re.Match[str]) -> None:
    """Take a figure of Artillery's response times, in milliseconds; other sections have the same names."""
    if not block.listing:
        return
    name, value_us = match[1], float(match[2]) * 1e3
    if name == "mean":
        block.mean_us = value_us
    elif name == "max":
        block.max_us = value_us
        _row(block, "100", value_us)
    elif name != "min":
        _row(block, "50" if name == "median" else name[1:] if len(name) == 3 else f"{name[1:3]}.{name[3:]}", value_us)


def _availability(block: _Block, match: re.Match[str]) -> None:
    """Take the share of siege's requests that did not fail."""
    block.said["error_share"] = round(1 - float(match[1]) / 100, 9) or None


def _longest(block: _Block, match: re.Match[str]) -> None:
    block.max_us = float(match[1]) * (1e3 if match[2] == "ms" else 1e6)


def _sieges_mean(block: _Block, match: re.Match[str]) -> None:
    block.mean_us = float(match[1]) * (1e3 if match[2] == "ms" else 1e6)


def _gatling(block: _Block, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    found = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    numbers = [float(number.replace(",", "")) for number in found]
    if not numbers:
        return
    name, first = match[1].strip(), numbers[0]
    if name == "request count":
        block.said["requests"] = int(first)
        block.said["non_2xx"] = int(numbers[2]) if len(numbers) > 2 else None
    elif name == "max response time":
        block.max_us = first * 1e3
        _row(block, "100", first * 1e3)
    elif name == "mean response time":
        block.mean_us = first * 1e3
    elif name in ("std deviation", "response time std deviation"):
        block.stdev_us = first * 1e3
    elif level := re.match(rf"response time {_F}th percentile", name):
        _row(block, level[1], first * 1e3)
    elif name in ("mean requests/sec", "mean throughput"):
        block.said["requests_per_s"] = first


def _jmeter(block: _Block, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(part) for part in match[2].split(":"))
    elapsed_s = hours * 3600 + minutes * 60 + seconds
    block.said.update(
        requests=int(match[1]),
        elapsed_s=float(elapsed_s) or None,
        requests_per_s=float(match[3]),
        non_2xx=int(match[6]),
    )
    block.mean_us, block.max_us = float(match[4]) * 1e3, float(match[5]) * 1e3


def _heads(block: _Block, match: re.Match[str]) -> None:
    block.heads = tuple(
        re.sub(r"(?<=\S) Latency", "", match[0]).split()
    )  # older versions print the mean as Latency alone


def _operation(block: _Block, match: re.Match[str]) -> None:
    """Take a row of memtier's table, in milliseconds."""
    named = dict(zip(block.heads, match[0].split(), strict=False))
    numbers = {name: float(value) for name, value in named.items() if re.fullmatch(_F, value)}
    rows = sorted(
        (round(float(name[1:]) / 100, 9), value * 1e3)
        for name, value in numbers.items()
        if re.fullmatch(r"p\d{1,3}(?:\.\d+)?", name)
    )
    rate, mean = numbers.get("Ops/sec"), numbers.get("Avg.", numbers.get("Latency"))
    block.said.setdefault("requests", None)
    if not rate:
        return
    threads, each = block.said.get("threads"), block.said.get("connections")
    of = block.totals if named.get("Type") == "Totals" else block.operations
    of.append(
        ConsoleReport(
            tool="memtier_benchmark",
            threads=threads,
            connections=threads * each if threads and each else None,
            duration_s=block.said.get("elapsed_s"),
            latency=ThreadStats(mean * 1e3, None, None, None) if mean is not None else None,
            latencies=Latencies(None, tuple(rows)),
            requests_per_s=rate,
            first_line=block.first_line,
            last_line=block.last_line,
            operation=f"{match[0].split()[0]}{block.section}",
        )
    )


def memtier_section(title: str) -> str | None:
    """Name what a section of memtier's is of, in brackets behind its operations; None for no such section."""
    found = re.match(r"^\s*(?:ALL STATS|(BEST|WORST) RUN RESULTS|AGGREGATED AVERAGE RESULTS \((\d+) runs\))\s*$", title)
    if found is None:
        return None
    return f" ({found[1].lower()} run)" if found[1] else f" ({found[2]} runs)" if found[2] else ""


def _histogram(block: _Block, match: re.Match[str]) -> None:
    """Take a row of memtier's distribution: a command, milliseconds, and the share of requests up to them."""
    rows = block.histograms.setdefault(match[1], {})
    rows[round(float(match[3]) / 100, 9)] = float(match[2]) * 1e3


def _with_histogram(report: ConsoleReport, block: _Block) -> ConsoleReport:
    """Add the usual percentiles of a command's distribution (SET) to the row of its operation (Sets).

    The distribution may lie a bucket above the table, so what the table gives is not taken from it.
    """
    rows = block.histograms.get(report.operation.upper().removesuffix("S"), {})
    rows = {level: value for level, value in rows.items() if level in LEVELS} | dict(report.latencies.rows)
    return replace(report, latencies=Latencies(None, tuple(sorted(rows.items()))), last_line=block.last_line)


_Taker = Callable[[_Block, re.Match[str]], object]
_TAKERS: dict[str, tuple[tuple[re.Pattern[str], _Taker], ...]] = {
    tool: tuple((re.compile(pattern), taker) for pattern, taker in takers)
    for tool, takers in {
        "hey": (
            (rf"^\s*Total:\s+{_TIME}", lambda b, m: b.said.update(elapsed_s=_us(m) / 1e6)),
            (rf"^\s*Slowest:\s+{_TIME}", lambda b, m: setattr(b, "max_us", _us(m))),
            (r"^\s*Fastest:", lambda b, m: None),
            (r"^\s*Success rate:", lambda b, m: setattr(b, "name", "oha")),  # which prints hey's layout otherwise
            (rf"^\s*Average:\s+{_TIME}", lambda b, m: setattr(b, "mean_us", _us(m))),
            (rf"^\s*Requests/sec:\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*{_F}%{{1,2}} in {_TIME}", lambda b, m: _row(b, m[1], _us(m, 2))),
            (rf"^\s*\[(\d{{3}})\]\s+{_N} responses", lambda b, m: b.codes.update({int(m[1]): int(m[2])})),
            (rf"^\s*\[{_N}\]\s+aborted due to deadline", lambda b, m: None),  # in flight when oha's time was over
            (rf"^\s*\[{_N}\]\s+\S", lambda b, m: setattr(b, "failed", b.failed + int(m[1]))),
            (r"^\s*(?:Details|Status code|Error|Latency) distribution|^\s*(?:DNS|req|resp)[ +-]", lambda b, m: None),
        ),
        "ab": (
            (rf"^[\s*#-]*Concurrency Level:\s+{_N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^[\s*#-]*Time taken for tests:\s+{_F} seconds", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (rf"^[\s*#-]*Complete requests:\s+{_N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (
                rf"^[\s*#-]*\(Connect: {_N}, Receive: {_N}, Length: {_N}, Exceptions: {_N}\)",
                lambda b, m: setattr(b, "failed", int(m[1]) + int(m[2]) + int(m[4])),  # a length may vary
            ),
            (rf"^[\s*#-]*Non-2xx responses:\s+{_N}", lambda b, m: b.said.update(non_2xx=int(m[1]))),
            (rf"^[\s*#-]*Requests per second:\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^[\s*#-]*Total:\s+\d+\s+{_F}\s+{_F}\s+\d+\s+{_F}", _tens),
            (
                rf"^[\s*#-]*(\d{{1,3}})%\s+{_F}\s*(?:\(longest request\))?\s*$",
                lambda b, m: _row(b, m[1], float(m[2]) * 1e3),
            ),
        ),
        "bombardier": (
            (r"^\s*Bombarding \S+ (?:for (\S+))?.*using (\d{1,9}) connection", _bombarding),
            (rf"^\s*Reqs/sec\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (r"^\s*Latency\s+(\d\S*)\s+(\S+)\s+(\S+)\s*$", _go_stats),
            (r"^\s*Latency Distribution\s*$|^\s*Statistics\s+Avg|^\s*Throughput:|^\s*HTTP codes:", lambda b, m: None),
            (rf"^\s*{_F}%\s+(\d\S*)\s*$", lambda b, m: _row(b, m[1], go_time_us(m[2]))),
            (r"^\s*1xx - \d.*", _classes),
            (rf"^\s*others - {_N}", lambda b, m: setattr(b, "failed", int(m[1]))),
        ),
        "autocannon": (
            (r"^.*\bautocannon\s.*", _autocannon),
            (rf"^\s*{_N} connections", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*│ Latency\s+│(.*)│\s*$", _cells),
            (
                r"^\s*│ Req/Sec\s+│(?:[^│]*│){4}\s*([\d,]{1,15}(?:\.\d+)?)",
                lambda b, m: b.said.update(requests_per_s=float(m[1].replace(",", ""))),
            ),
            (rf"^\s*│ {_F}\s+│ {_F}\s+│\s*$", _percentile_of),
            (rf"^\s*{_N} 2xx responses, {_N} non 2xx", lambda b, m: b.codes.update({200: int(m[1]), 500: int(m[2])})),
            (rf"^\s*{_F}(k|M)? requests in {_F}s", _counted),
            (rf"^\s*{_N} errors \(", lambda b, m: setattr(b, "failed", int(m[1]))),
            (r"^\s*(?:│|[┌├└]─)|^\s*Req/Bytes counts|^\s*# of samples", lambda b, m: None),
        ),
        "k6": (
            (r"^\s*\* \S+: ([\d.]+) iterations/s for ", _paced),
            (r"^\s*\* \S+: (?:Up to )?\d+ looping VUs ", lambda b, m: b.said.update(closed_loop=True)),
            (r"^\s*(?:[✓✗√\u00d7] )?http_req_duration\.*\s*:\s+(avg=.*)", _trend),
            (r"^\s*http_req_waiting\.*\s*:\s+(avg=.*)", _waiting),
            (
                rf"^\s*(?:[✓✗√\u00d7] )?http_req_failed\.*\s*:\s+\S+\s+(?:✓ )?{_COUNT}",
                lambda b, m: b.said.update(non_2xx=_count(m[1])),
            ),
            (
                rf"^\s*http_reqs\.*\s*:\s+{_COUNT}\s+({_THOUSANDS}|\d{{1,15}}(?:\.\d{{1,12}})?)/s",
                _requests_of_k6,
            ),
            (
                rf"^\s*dropped_iterations\.*\s*:\s+{_N}",
                lambda b, m: b.said.update(extra=(f"dropped_iterations: {m[1]}",)),
            ),
            (rf"^\s*vus_max\.*\s*:\s+{_N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*(?:iteration\w*|vus|data_sent|\{ expected_response:true \})\.*\s*:", lambda b, m: None),
        ),
        "Gatling": ((r"^(?:> )?\s*([a-z][\w ./%]*?)(?: \(\w+\))?\s{2,}\|?\s*(\d.*)$", _gatling),),
        "JMeter": (
            (
                rf"^summary =\s+{_N} in (\d\d:\d\d:\d\d) =\s+{_F}/s Avg:\s+{_N} Min:\s+\d+ Max:\s+{_N} Err:\s+{_N}",
                _jmeter,
            ),
            (r"^summary \+", lambda b, m: None),
        ),
        "memtier_benchmark": (
            (rf"^\s*{_N}\s+Threads\s*$", lambda b, m: b.said.update(threads=int(m[1]))),
            (rf"^\s*{_N}\s+Connections per thread\s*$", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^\s*{_N}\s+Seconds\s*$", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (
                r"^(?:ALL STATS|(?:BEST|WORST) RUN|AGGREGATED AVERAGE)\b.*",
                lambda b, m: setattr(b, "section", memtier_section(m[0]) or ""),
            ),
            (r"^Type\s+Ops/sec\s+Hits/sec.*", _heads),
            (rf"^([A-Z]+)\s+{_F}\s+{_F}\s*$", _histogram),
            (r"^(?:[A-Z][A-Za-z]*)\s+\d+\.\d+\s.*", _operation),
        ),
        "redis-benchmark": (
            (r"^\s*====== (\S.*?) ======\s*$", lambda b, m: b.said.update(operation=m[1])),
            (
                rf"^\s*{_N} requests completed in {_F} seconds",
                lambda b, m: b.said.update(requests=int(m[1]), elapsed_s=float(m[2])),
            ),
            (rf"^(\S.*): {_F} requests per second(?:, p50={_F} msec|\s*$)", _quiet),
            (rf"^\s*{_F} requests per second\s*$", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*{_N} parallel clients", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*Latency by percentile distribution", lambda b, m: setattr(b, "listing", True)),
            (r"^\s*Cumulative distribution of latencies", lambda b, m: setattr(b, "listing", False)),
            (rf"^\s*{_F}% <= {_F} milliseconds", _percentile_of),
            (
                rf"^\s*throughput summary: {_F} requests per second",
                lambda b, m: b.said.update(requests_per_s=float(m[1])),
            ),
            (r"^\s*(?:\d+\.\d{3}\s+){5}\d+\.\d{3}\s*$", _summary_of),
        ),
        "Artillery": (
            (rf"^\s*http\.requests:[ .]*\s{_N}\s*$", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*Requests completed:\s+{_N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*http\.request_rate:[ .]*\s{_F}/sec", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*(?:Mean response/sec|RPS sent):\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (
                r"^\s*(?:http\.response_time|Response time \(msec\)|Request latency):\s*$",
                lambda b, m: setattr(b, "listing", True),
            ),
            (rf"^\s+(min|max|mean|median|p\d{{2,3}}):[ .]*\s{_F}\s*$", _artillery),
            (rf"^\s*(?:http\.codes\.)?(\d{{3}}):[ .]*\s{_N}\s*$", lambda b, m: b.codes.update({int(m[1]): int(m[2])})),
            (
                rf"^\s*(?:errors\.\S+|E[A-Z]{{4,}}):[ .]*\s{_N}\s*$",
                lambda b, m: setattr(b, "failed", b.failed + int(m[1])),
            ),
            (r"^\s*(?:http|vusers|plugins|errors)\.\S+:[ .]*\s\S+\s*$", lambda b, m: None),
            (
                r"^\s*(?:(?:http|vusers|plugins)\.\S+|Scenarios? [a-z]+|Codes|Errors):",
                lambda b, m: setattr(b, "listing", False),
            ),
        ),
        "go-wrk": (
            (rf"^[\s*-]*{_N} goroutine", lambda b, m: b.said.update(connections=int(m[1]))),
            (
                rf"^[\s*-]*{_N} requests in (\S+), ",
                lambda b, m: b.said.update(requests=int(m[1]), elapsed_s=(go_time_us(m[2]) or 0) / 1e6 or None),
            ),
            (rf"^[\s*-]*Requests/sec:\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (r"^[\s*-]*Avg Req Time:\s+(\S+)", lambda b, m: setattr(b, "mean_us", go_time_us(m[1]))),
            (r"^[\s*-]*Slowest Request:\s+(\S+)", lambda b, m: setattr(b, "max_us", go_time_us(m[1]))),
            (rf"^[\s*-]*Number of Errors:\s+{_N}", lambda b, m: setattr(b, "failed", int(m[1]))),
            (rf"^[\s*-]*{_F}%:\s+(\S+)\s*$", lambda b, m: _row(b, m[1], go_time_us(m[2]))),
            (r"^[\s*-]*(?:Transfer/sec|Overall \S+|Fastest Request|stddev):", lambda b, m: None),
        ),
        "Locust": (
            (
                rf"^\s*(?:None\s+)?Aggregated\s+{_N}\s+{_N}\([\d.]+%\)\s+\|\s+{_N}\s+\d+\s+{_N}\s+{_N}\s+\|\s+{_F}",
                _aggregated,
            ),
            (r"^\s*(?:Type\s+)?Name\s+(?:[\d.]+%\s+)+# reqs", _levels),
            (r"^\s*(?:None\s+)?Aggregated\s+((?:\d+\s+){2,}\d+)\s*$", _aggregated_percentiles),
            (r"^\s*(?:(?:Type\s+)?Name\s+#|Response time percentiles \(|-{8}\|)", lambda b, m: None),
        ),
        "rewrk": (
            (rf"^\s*Benchmarking {_N} connections @ \S+ for {_N} (second|minute|hour)", _benchmarking),
            (rf"^\s*{_SHORT}\s+{_SHORT}\s+{_SHORT}\s+{_SHORT}\s*$", _rewrks_latencies),
            (
                rf"^\s*Total:\s*{_N}\s+Req/Sec:\s*{_F}",
                lambda b, m: b.said.update(requests=int(m[1]), requests_per_s=float(m[2])),
            ),
            (r"^\s*(?:Latencies:|Avg\s+Stdev|Requests:|Transfer:|Total:|\+ -{10}|\|\s+[\d.]+%\s)", lambda b, m: None),
        ),
        "siege": (
            (rf"^\s*Transactions:\s+{_N} hits", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*Availability:\s+{_F} %", _availability),
            (rf"^\s*Elapsed time:\s+{_F} secs", lambda b, m: b.said.update(elapsed_s=float(m[1]) or None)),
            (rf"^\s*Response time:\s+{_F} (secs|ms)", _sieges_mean),
            (rf"^\s*Transaction rate:\s+{_F} trans/sec", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*Longest transaction:\s+{_F}(?:\s+(secs|ms))?", _longest),
            (
                r"^\s*(?:Data transferred|Throughput|Concurrency|(?:Successful|Failed|Shortest) transactions?):",
                lambda b, m: None,
            ),
        ),
        "vegeta": (
            (rf"^\s*Requests\s+\[total, rate[^\]]*\]\s+{_N},\s+{_F}", _requests),
            (
                r"^\s*Duration\s+\[[^\]]*\]\s+([^,\s]+)",
                lambda b, m: b.said.update(elapsed_s=(go_time_us(m[1]) or 0) / 1e6 or None),
            ),
            (r"^\s*Latencies\s+\[([^\]]*)\]\s+(.+?)\s*$", _latencies),
            (r"^\s*Bytes (?:In|Out)\s+\[|^\s*Success\s+\[", lambda b, m: None),
            (r"^\s*Status Codes\s+\[[^\]]*\]\s+(.+?)\s*$", _codes),
        ),
    }.items()
}


def find_others(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Find the summaries of other tools: where each begins and ends among the lines, and what it says."""
    block: _Block | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        text = clean(line.text)
        if len(text) > LONGEST_LINE:
            continue
        tool = None
        if _ANY_START.match(text):
            tool = next(name for name, start in _STARTS.items() if start.match(text))
        anew = tool is not None and not (block and _goes_on(block, tool))
        ended = text.lstrip().startswith(("```", "~~~")) or (block and block.tool in _UNBROKEN and not text.strip())
        if block and (anew or ended or index - begin > LONGEST_BLOCK):
            yield from _closed(block, begin, end)
            block = None
        if anew and tool:
            block, begin, end = _Block(tool, line.number, line.number), index, index
        if block is None:
            continue
        for pattern, take in _TAKERS[block.tool]:
            if match := pattern.match(text):
                take(block, match)
                block.last_line, end = line.number, index
                break
    if block:
        yield from _closed(block, begin, end)


def _goes_on(block: _Block, tool: str) -> bool:
    """Tell whether a line that could begin a summary belongs to the one that is open."""
    if block.tool == "redis-benchmark" and tool == "hey":  # both print a line `Summary:`
        return True
    whole = tool in ("ab", "go-wrk") and "elapsed_s" in block.said
    return block.tool == tool and tool in _REPEATED and not whole


def _is_whole(block: _Block) -> bool:
    """Tell whether more came of a summary than the line that begins it, which other programs may print too."""
    if block.tool in ("autocannon", "k6"):
        return bool(block.rows)
    return block.tool not in _ALIKE or bool({"requests", "requests_per_s"} & block.said.keys())


def _closed(block: _Block, begin: int, end: int) -> Iterator[tuple[int, int, ConsoleReport]]:
    if operations := block.operations or block.totals:
        yield from ((begin, end, _with_histogram(report, block)) for report in operations)
    elif block.said and _is_whole(block):
        report = block.finish()
        if report.tool == "vegeta" and report.requests and report.elapsed_s:  # its throughput leaves errors out
            report = replace(report, requests_per_s=report.requests / report.elapsed_s)
        yield begin, end, report
