"""Reads console output of wrk, wrk2 and loadgen out of any text around it: terminals, Markdown, several to a text.

Nothing in an input is an error. Output that is cut short gives a report whose last fields are None; a line that belongs
to no part of the output is kept as a diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from runners.read import units
from runners.read.command_line import CommandLine, find_command
from runners.read.console_report import (
    Calibration,
    ConsoleReport,
    Footer,
    Latencies,
    SocketErrors,
    SpectrumRow,
    ThreadStats,
)

COMMAND_REACH_LINES = 12  # a command further above an output belongs to something else
DIAGNOSTIC_LINES = 20  # more foreign lines than this end an output
LOADGEN_PREFIX = "loadgen:"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTE = re.compile(r"^\s*(?:>\s)+")
_HEADING = re.compile(r"^\s*#{1,6}\s")
_V = r"([+-]?[\w.μµ]+)"
_TIME = r"([+-]?(?:\d[\d.]*|nan|inf)(?:[uμµm]s|[smh]))"

_PATTERNS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {  # the row that occurs most comes first
        "spectrum": r"^\s*(-?(?:\d+\.\d+|nan|inf))\s+(\d\.\d+)\s+(\d+)\s+(\d+\.\d+|inf)\s*$",
        "running": r"Running (\S+) test @ (\S+)",
        "threads": r"(\d+) threads and (\d+) connections",
        "calibration": rf"Thread calibration: mean lat\.: {_V}, rate sampling interval: {_V}",
        "stats_head": r"Thread Stats\s+Avg\s+Stdev\s+Max",
        "latency": rf"^\s*Latency\s+{_V}\s+{_V}\s+{_V}\s+{_V}%",
        "per_thread": rf"^\s*Req/Sec\s+{_V}\s+{_V}\s+{_V}\s+{_V}%",
        "distribution": r"^\s*Latency Distribution(?: \((.*?)\)?)?\s*$",
        "row": rf"^\s*(\d+(?:\.\d+)?)%\s+{_TIME}\s*$",
        "spectrum_head": r"Detailed Percentile spectrum",
        "columns": r"Value\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)",
        "mean": rf"#\[Mean\s*=\s*{_V}, StdDeviation\s*=\s*{_V}\]",
        "max": rf"#\[Max\s*=\s*{_V}, Total count\s*=\s*(\d+)\]",
        "buckets": r"#\[Buckets\s*=\s*(\d+), SubBuckets\s*=\s*(\d+)\]",
        "rule": r"^\s*-{20,}\s*$",
        "requests": rf"(\d+) requests in {_V}, {_V} read",
        "socket_errors": r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)",
        "non_2xx": r"Non-2xx or 3xx responses: (\d+)",
        "rate": rf"Requests/sec:\s*{_V}",
        "transfer": rf"Transfer/sec:\s*{_V}",
        "extra": rf"^\s*{LOADGEN_PREFIX}\s?(.*)$",
    }.items()
}


class _Builder:
    """One report while its lines come in."""

    def __init__(self, line_number: int, command: CommandLine | None) -> None:
        self.report = ConsoleReport(command=command, first_line=line_number, last_line=line_number)
        self.uncorrected = False
        self.pending: list[str] = []  # foreign lines: diagnostics if the output goes on, else not part of it
        self.ended = False

    def set(self, **fields: object) -> None:
        self.report = replace(self.report, **fields)  # type: ignore[arg-type]

    @property
    def current(self) -> Latencies:
        return self.report.uncorrected if self.uncorrected else self.report.latencies

    def put(self, latencies: Latencies) -> None:
        self.set(**{"uncorrected" if self.uncorrected else "latencies": latencies})

    def foot(self, **fields: object) -> None:
        footer = self.current.footer or Footer()
        self.put(replace(self.current, footer=replace(footer, **fields)))  # type: ignore[arg-type]

    def begins_anew(self, name: str, match: re.Match[str]) -> bool:
        """Whether this line can't belong to the same output, because it has that part already or is past it."""
        report = self.report
        if name == "running":
            return report.duration_s is not None or self.ended or bool(self.current)
        if name == "distribution":
            uncorrected = "ncorrected" in (match[1] or "")
            return not uncorrected and (bool(report.latencies) or report.requests is not None)
        if name == "row":
            return bool(self.current.rows) and float(match[1]) / 100 <= self.current.rows[-1][0]
        seen = {
            "threads": report.threads,
            "latency": report.latency,
            "requests": report.requests,
            "rate": report.requests_per_s,
        }
        return seen.get(name) is not None

    def take(self, name: str, match: re.Match[str], line_number: int) -> None:
        if self.pending and name in _TAKERS:
            self.set(diagnostics=(*self.report.diagnostics, *self.pending))
            self.pending = []
        if taker := _TAKERS.get(name):
            taker(self, match)
        self.set(last_line=line_number)
        self.ended = self.ended or name == "transfer"

    def finish(self) -> ConsoleReport:
        report = self.report
        asked = report.command
        if asked and (_differ(asked.threads, report.threads) or _differ(asked.connections, report.connections)):
            report = replace(report, command=None)  # the command above belongs to another output
        return replace(report, tool=_tool(report))


def _differ(asked: int | None, said: int | None) -> bool:
    return asked is not None and said is not None and asked != said


def _stats(match: re.Match[str], read: Callable[[str], float | None]) -> ThreadStats:
    return ThreadStats(read(match[1]), read(match[2]), read(match[3]), units.number(match[4]))


def _take_distribution(builder: _Builder, match: re.Match[str]) -> None:
    builder.uncorrected = "ncorrected" in (match[1] or "")
    builder.put(replace(builder.current, label=(match[1] or "").removeprefix("HdrHistogram - ") or None))


def _take_row(builder: _Builder, match: re.Match[str]) -> None:
    value = units.time_us(match[2])
    if value is not None:
        row = (round(float(match[1]) / 100, 9), value)
        builder.put(replace(builder.current, rows=(*builder.current.rows, row)))


def _take_spectrum(builder: _Builder, match: re.Match[str]) -> None:
    row = SpectrumRow(float(match[1]), float(match[2]), int(match[3]), units.number(match[4]))
    builder.put(replace(builder.current, spectrum=(*builder.current.spectrum, row)))


_TAKERS: dict[str, Callable[[_Builder, re.Match[str]], None]] = {
    "running": lambda b, m: b.set(duration_s=units.time_s(m[1]), url=m[2].rstrip("`")),
    "threads": lambda b, m: b.set(threads=int(m[1]), connections=int(m[2])),
    "calibration": lambda b, m: b.set(
        calibrations=(*b.report.calibrations, Calibration(units.time_us(m[1]), units.time_us(m[2])))
    ),
    "latency": lambda b, m: b.set(latency=_stats(m, units.time_us)),
    "per_thread": lambda b, m: b.set(requests_per_thread=_stats(m, units.count)),
    "distribution": _take_distribution,
    "row": _take_row,
    "spectrum": _take_spectrum,
    "mean": lambda b, m: b.foot(mean_ms=units.number(m[1]), stdev_ms=units.number(m[2])),
    "max": lambda b, m: b.foot(max_ms=units.number(m[1]), total_count=int(m[2])),
    "buckets": lambda b, m: b.foot(buckets=int(m[1]), sub_buckets=int(m[2])),
    "requests": lambda b, m: b.set(requests=int(m[1]), elapsed_s=units.time_s(m[2]), bytes_read=units.size_bytes(m[3])),
    "socket_errors": lambda b, m: b.set(socket_errors=SocketErrors(int(m[1]), int(m[2]), int(m[3]), int(m[4]))),
    "non_2xx": lambda b, m: b.set(non_2xx=int(m[1])),
    "rate": lambda b, m: b.set(requests_per_s=units.count(m[1])),
    "transfer": lambda b, m: b.set(bytes_per_s=units.size_bytes(m[1])),
    "extra": lambda b, m: b.set(extra=(*b.report.extra, m[1])),
}
_STARTS = frozenset({"running", "distribution", "row", "requests", "stats_head", "latency", "spectrum_head", "threads"})


def _recognise(line: str) -> tuple[str, re.Match[str]] | None:
    for name, pattern in _PATTERNS.items():
        if match := pattern.search(line):
            return name, match
    return None


def _tool(report: ConsoleReport) -> str | None:
    named = report.command.tool if report.command else None
    if report.extra or named == "loadgen":
        return "loadgen"
    if report.calibrations or report.latencies.spectrum or "Recorded" in (report.latencies.label or ""):
        return "wrk2"
    if named == "wrk2" or (named == "wrk" and report.rate_rps is None):
        return named
    return None


def find_reports(text: str) -> list[ConsoleReport]:
    """Every output in a text, in order. An empty list when there is none."""
    found: list[ConsoleReport] = []
    builder: _Builder | None = None
    command: tuple[int, CommandLine] | None = None
    continued = ""

    def close() -> None:
        nonlocal builder
        if builder is not None and _says_something(builder.report):
            found.append(builder.finish())
        builder = None

    for number, raw in enumerate(text.splitlines(), start=1):
        line = _QUOTE.sub("", _ANSI.sub("", raw)).replace("\u00a0", " ")
        recognised = _recognise(line)
        if recognised is None:
            whole = continued + line
            continued = whole.rstrip()[:-1] + " " if whole.rstrip().endswith("\\") else ""
            command = None if _HEADING.match(line) else command
            if not continued and (asked := find_command(whole)):
                close()
                command = (number, asked)
            elif builder is not None and line.strip():
                builder.pending.append(line.strip())
                foreign = line.lstrip().startswith(("```", "~~~", "# ", "##")) or builder.ended
                if foreign or len(builder.pending) > DIAGNOSTIC_LINES:
                    close()
            continue
        name, match = recognised
        if builder is not None and (builder.begins_anew(name, match) or (builder.ended and name != "extra")):
            close()
        if builder is None:
            if name not in _STARTS:
                continue
            near = command is not None and number - command[0] <= COMMAND_REACH_LINES
            builder = _Builder(number, command[1] if near and command else None)
            command = None
        builder.take(name, match, number)
    close()
    return found


def _says_something(report: ConsoleReport) -> bool:
    return bool(
        report.latencies or report.uncorrected or report.latency or report.requests is not None or report.duration_s
    )


def read_console(text: str) -> ConsoleReport:
    """The first output in a text; an empty report when there is none."""
    return next(iter(find_reports(text)), ConsoleReport())
