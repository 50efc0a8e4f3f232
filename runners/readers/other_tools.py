"""Reads the end summaries of ab, bombardier, hey and vegeta out of any text around them, as outputs like wrk's.

What such a summary cannot show is missing in the report: none of them corrects a closed loop's latency, and ab prints
whole milliseconds. Nothing in an input is an error; a part that is cut leaves its fields None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport, Latencies, ThreadStats
from runners.readers.documents import Line, Problem
from runners.readers.wrk_console import LONGEST_LINE, clean

LONGEST_BLOCK = 80  # lines; the longest summary of these tools has about fifty
#: Tools whose connections wait for a response before they send again.
CLOSED_LOOPS = frozenset({"wrk", "ab", "bombardier", "hey", "oha"})
OTHER_TOOLS = frozenset({"ab", "bombardier", "hey", "oha", "vegeta"})
_N = r"(\d{1,18})"
_F = r"(\d{1,15}(?:\.\d{1,12})?)"
_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)")
_GO_US = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_STARTS = {
    "hey": re.compile(r"^\s*Summary:\s*$"),
    "ab": re.compile(r"^\s*This is ApacheBench, Version|^\s*Concurrency Level:\s+\d"),
    "vegeta": re.compile(r"^\s*Requests\s+\[total, rate"),
    "bombardier": re.compile(r"^\s*Bombarding \S+ .*using \d+ connection"),
}


#: What is known to be a load tool's, and is not read; each by a line that no other tool prints.
_NOT_READ = {
    "k6": re.compile(r"^\s*http_req_duration\.*:\s+avg="),
    "JMeter": re.compile(r"^timeStamp,elapsed,label,responseCode|^summary [+=]\s+\d+ in "),
    "Gatling": re.compile(r"^---- Global Information -+"),
    "redis-benchmark": re.compile(r"^\s*====== \S.* ======\s*$"),
    "memtier_benchmark": re.compile(r"^Type\s+Ops/sec\s+Hits/sec"),
    "HdrHistogram": re.compile(r"^#\[Histogram log format version"),
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

    def finish(self) -> ConsoleReport:
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed
        said = dict(self.said)
        said.setdefault("non_2xx", bad or None)
        if self.codes:
            said.setdefault("requests", sum(self.codes.values()) + self.failed)
        rows = sorted(dict(self.rows).items())
        command = CommandLine(f"{self.tool} attack", self.tool, rate_rps=self.rate_rps) if self.rate_rps else None
        return ConsoleReport(
            tool=self.name or self.tool,
            command=command,
            duration_s=said.get("elapsed_s"),
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


_Taker = Callable[[_Block, re.Match[str]], object]
_TAKERS: dict[str, tuple[tuple[re.Pattern[str], _Taker], ...]] = {
    tool: tuple((re.compile(pattern), taker) for pattern, taker in takers)
    for tool, takers in {
        "hey": (
            (rf"^\s*Total:\s+{_F} secs", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (rf"^\s*Slowest:\s+{_F} secs", lambda b, m: setattr(b, "max_us", float(m[1]) * 1e6)),
            (r"^\s*Fastest:", lambda b, m: None),
            (r"^\s*Success rate:", lambda b, m: setattr(b, "name", "oha")),  # which prints hey's layout otherwise
            (rf"^\s*Average:\s+{_F} secs", lambda b, m: setattr(b, "mean_us", float(m[1]) * 1e6)),
            (rf"^\s*Requests/sec:\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*{_F}% in {_F} secs", lambda b, m: _row(b, m[1], float(m[2]) * 1e6)),
            (rf"^\s*\[(\d{{3}})\]\s+{_N} responses", lambda b, m: b.codes.update({int(m[1]): int(m[2])})),
            (rf"^\s*\[{_N}\]\s+\S", lambda b, m: setattr(b, "failed", b.failed + int(m[1]))),
            (r"^\s*(?:Details|Status code|Error|Latency) distribution|^\s*(?:DNS|req|resp)[ +-]", lambda b, m: None),
        ),
        "ab": (
            (rf"^\s*Concurrency Level:\s+{_N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^\s*Time taken for tests:\s+{_F} seconds", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (rf"^\s*Complete requests:\s+{_N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*Non-2xx responses:\s+{_N}", lambda b, m: b.said.update(non_2xx=int(m[1]))),
            (rf"^\s*Requests per second:\s+{_F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*Total:\s+\d+\s+{_F}\s+{_F}\s+\d+\s+{_F}", _tens),
            (rf"^\s*(\d{{1,3}})%\s+{_F}\s*(?:\(longest request\))?\s*$", lambda b, m: _row(b, m[1], float(m[2]) * 1e3)),
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
        tool = next((name for name, start in _STARTS.items() if start.match(text)), None)
        anew = tool is not None and not (block and block.tool == tool == "ab" and not block.said)
        if block and (anew or index - begin > LONGEST_BLOCK or text.lstrip().startswith(("```", "~~~"))):
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


def _closed(block: _Block, begin: int, end: int) -> Iterator[tuple[int, int, ConsoleReport]]:
    if block.said:
        report = block.finish()
        if report.tool == "vegeta" and report.requests and report.elapsed_s:  # its throughput leaves errors out
            report = replace(report, requests_per_s=report.requests / report.elapsed_s)
        yield begin, end, report
