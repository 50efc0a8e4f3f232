"""Parser that finds console outputs of wrk, wrk2 and truepace in any text; no text raises an error.

An output that is cut short gives a report whose last fields are None; unknown lines within it become diagnostics.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runners.readers import units
from runners.readers.command_line import CommandLine, find_command, parse_command
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, SpectrumRow, ThreadStats
from runners.storage.step_folder import EITHER_NAME

COMMAND_REACH_LINES = 12  # a command further above an output belongs to something else
DIAGNOSTIC_LINES = 20  # more unknown lines end an output; lines that differ only in numbers count once
BUCKETS_OF_TRUEPACE = 32  # number of buckets of truepace's histogram, which is in nanoseconds; wrk2's has 27
BEYOND = 1.02  # largest share of its offered rate that a run may achieve
MOST_PENDING = 2_000  # unknown lines in a row within an output, even if they are alike
LONGEST_LINE = 4_000  # no tool prints a longer line; patterns are not tried on longer ones
TRUEPACE_PREFIX = f"{EITHER_NAME}:"  # begins the lines that truepace adds to wrk2's layout
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CONTAINER = re.compile(r"^[a-z][\w.-]{0,60}[-_]\d{1,3} +\| ")  # docker compose puts it before each line
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_HEADING = re.compile(r"^\s*#{1,6}\s")
_ITEM = re.compile(r"^\s*(?:[*+-]|#|//)\s+(?=\S)")
_EMPHASIS = re.compile(r"[*`]+|</?(?:b|strong|em|i|code)>|<br ?/?>")
_OF_RESULTS = re.compile(r"(?i)^\s*#{1,6}\s+\W*(?:results?|outputs?|результат\w*|结果|输出|결과|結果)(?!\w)")
_NUMBERS = re.compile(r"\d+")
_WRAPPED = re.compile(r"^\d{1,6}(?:\s+(?:-|https?:).*)?\s*$")  # rest of a command that was broken in a number
_FORM = tomllib.loads(Path(__file__).with_name("wrk_console.toml").read_text(encoding="utf-8"))
_GROUPS = {**_FORM["groups"], "TRUEPACE": TRUEPACE_PREFIX}
_PATTERNS = {
    name: re.compile(re.sub("<([A-Z]+)>", lambda group: _GROUPS[group[1]], line))
    for name, line in _FORM["lines"].items()
}


@dataclass(slots=True)
class _Distribution:
    label: str | None = None
    rows: list[tuple[float, float]] = field(default_factory=list)
    spectrum: list[SpectrumRow] = field(default_factory=list)
    footer: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.spectrum or self.footer)

    def finish(self) -> Latencies:
        return Latencies(self.label, tuple(self.rows), tuple(self.spectrum), **self.footer)


@dataclass(slots=True)
class _Builder:
    first_line: int
    begun_by: str
    commands: tuple[CommandLine, ...]  # above the output; one of them printed it
    fields: dict[str, Any] = field(default_factory=dict)  # the values so far, by the names of ConsoleReport's fields
    latencies: _Distribution = field(default_factory=_Distribution)
    uncorrected: _Distribution = field(default_factory=_Distribution)
    in_uncorrected: bool = False
    pending: list[str] = field(default_factory=list)  # unknown lines, which are diagnostics if a known line follows
    last_line: int = 0
    ended: bool = False
    third: str = "Max"  # some builds print p99 in the third column ...
    p99_us: float | None = None  # ... which is all that is left where the percentiles are cut out
    layout: str | None = None  # the tool with such a layout of percentiles: wrk `50%`, wrk2 (and truepace) `50.000%`
    shapes: set[str] = field(default_factory=set)  # the pending lines without their numbers

    @property
    def current(self) -> _Distribution:
        return self.uncorrected if self.in_uncorrected else self.latencies

    @property
    def command(self) -> CommandLine | None:
        """The command above with the lowest rate not below the achieved rate; else the nearest command; else None."""
        achieved = self.fields.get("requests_per_s") or 0.0
        able = [command for command in self.commands[::-1] if (command.rate_rps or 0.0) * BEYOND >= achieved]
        return min(able, key=lambda command: command.rate_rps or 0.0, default=next(iter(self.commands[::-1]), None))

    def begins_anew(self, name: str, match: re.Match[str]) -> bool:
        """Return whether a line begins a new output: the current output already has part `name`, or a later part."""
        if name == "running":
            return "duration_s" in self.fields or self.ended or bool(self.current)
        if name == "distribution":
            return "ncorrected" not in (match[1] or "") and (bool(self.latencies) or "requests" in self.fields)
        if name in ("stats_head", "latency") and self.latencies.rows:
            return True  # the table stands above the percentiles
        if name == "row" and "latency" in self.fields and self.layout is None:
            return True  # no tool prints percentiles without their heading
        if name == "row":
            return bool(self.current.rows) and float(match[1]) / 100 <= self.current.rows[-1][0]
        seen = {"threads": "threads", "latency": "latency", "requests": "requests", "rate": "requests_per_s"}
        return seen.get(name) in self.fields

    def take(self, name: str, match: re.Match[str], line_number: int) -> None:
        if self.pending and name in _TAKERS:
            self.fields.setdefault("diagnostics", []).extend(self.pending)
            self.pending.clear()
            self.shapes.clear()
        if taker := _TAKERS.get(name):
            taker(self, match)
        self.last_line = line_number

    def waits_for(self, line: str) -> bool:
        """Add an unknown line to `pending`. Return False if there are so many that the output must have ended."""
        self.pending.append(line.strip())
        self.shapes.add(_NUMBERS.sub("", line.strip()))
        return len(self.shapes) <= DIAGNOSTIC_LINES and len(self.pending) <= MOST_PENDING

    def says_something(self) -> bool:
        head = self.fields.get("duration_s") and "threads" in self.fields  # autocannon begins with the same line
        table = head or self.fields.get("latency") or "requests" in self.fields
        if self.begun_by == "columns":  # other programs print an HdrHistogram with this head too
            return "requests" in self.fields or bool(self.command and self.latencies.spectrum)
        return bool(self.latencies or self.uncorrected or table)

    def finish(self) -> ConsoleReport:
        pairs = [(getattr(self.command, name, None), self.fields.get(name)) for name in ("threads", "connections")]
        of_another = any(None not in pair and pair[0] != pair[1] for pair in pairs)  # of another output
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in self.fields.items()}
        if self.p99_us is not None and not (self.latencies.rows or self.latencies.spectrum):
            self.latencies.rows.append((0.99, self.p99_us))
        report = ConsoleReport(
            command=None if of_another else self.command, latencies=self.latencies.finish(),
            uncorrected=self.uncorrected.finish(), first_line=self.first_line, last_line=self.last_line, **fields,
        )  # fmt: skip
        result = report.latency is not None or report.requests is not None
        paced = result and report.rate_rps is not None  # wrk refuses -R, and prints none
        return replace(report, tool=_tool(report) or self.layout or ("wrk2" if paced else None))


def _stats(match: re.Match[str], read: Callable[[str], float | None], has_max: bool = True) -> ThreadStats:
    return ThreadStats(read(match[1]), read(match[2]), read(match[3]) if has_max else None)


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _take_distribution(builder: _Builder, match: re.Match[str]) -> None:
    builder.in_uncorrected = "ncorrected" in (match[1] or "")
    builder.current.label = (match[1] or "").removeprefix("HdrHistogram - ") or None
    builder.layout = "wrk2" if match[1] else "wrk"


def _take_latency(builder: _Builder, match: re.Match[str]) -> None:
    builder.fields["latency"] = _stats(match, units.time_us, builder.third == "Max")
    builder.p99_us = units.time_us(match[3]) if builder.third == "99%" else None


def _take_row(builder: _Builder, match: re.Match[str]) -> None:
    value = units.time_us(match[2])
    if value is not None:
        builder.current.rows.append((round(float(match[1]) / 100, 9), value))
        builder.layout = builder.layout or ("wrk2" if match[1][-4:-3] == "." else None)


_TAKERS: dict[str, Callable[[_Builder, re.Match[str]], object]] = {
    "running": lambda b, m: b.fields.update(duration_s=units.time_s(m[1]), url=m[2].rstrip("`")),
    "threads": lambda b, m: b.fields.update(threads=_count(m[1]), connections=_count(m[2])),
    "calibration": lambda b, m: b.fields.setdefault("calibrations_us", []).append(
        units.time_us(m[1].replace(" ", "").removesuffix("ec"))
    ),
    "stats_head": lambda b, m: setattr(b, "third", m[1]),
    "latency": _take_latency,
    "per_thread": lambda b, m: b.fields.update(requests_per_thread=_stats(m, units.count)),
    "distribution": _take_distribution,
    "row": _take_row,
    "spectrum": lambda b, m: b.current.spectrum.append(
        SpectrumRow(float(m[1]), float(m[2]), int(m[3]), units.number(m[4]))
    ),
    "max": lambda b, m: b.current.footer.update(max_ms=units.number(m[1]), total_count=int(m[2])),
    "mean": lambda b, m: b.current.footer.update(mean_ms=units.number(m[1])),
    "buckets": lambda b, m: b.current.footer.update(buckets=int(m[1])),
    "requests": lambda b, m: b.fields.update(
        requests=_count(m[1]), elapsed_s=units.time_s(m[2]), bytes_read=units.size_bytes(m[3])
    ),
    "socket_errors": lambda b, m: b.fields.update(socket_errors=SocketErrors(*map(_count, m.groups()))),
    "non_2xx": lambda b, m: b.fields.update(non_2xx=_count(m[1])),
    "rate": lambda b, m: b.fields.update(requests_per_s=units.count(m[1].replace(",", ""))),
    "transfer": lambda b, m: setattr(b, "ended", True),
    "extra": lambda b, m: b.fields.setdefault("extra", []).append(m[1]),
}
_STARTS = frozenset(
    {"running", "distribution", "row", "requests", "stats_head", "latency", "spectrum_head", "columns", "threads"}
)

#: Matches every line that some pattern may match; most lines of a text have no match and skip the patterns.
_HINT = re.compile(
    r"\d\.\d|Running|threads and|calibration|Thread Stats|Latency|Req/Sec|%|Percentile|#\[|-{20}|requests in"
    rf"|Socket errors|Non-2xx|/sec:|{TRUEPACE_PREFIX}"
)


def _recognise(line: str) -> tuple[str, re.Match[str]] | None:
    tried = ((name, pattern.search(line)) for name, pattern in _PATTERNS.items()) if _HINT.search(line) else ()
    return next(((name, match) for name, match in tried if match), None)


def _tool(report: ConsoleReport) -> str | None:
    named = report.command.tool if report.command else None
    if report.extra or named == "truepace" or report.latencies.buckets == BUCKETS_OF_TRUEPACE:
        return "truepace"
    if report.calibrations_us or report.latencies.spectrum or "Recorded" in (report.latencies.label or ""):
        return "wrk2"
    return named if named == "wrk2" or (named == "wrk" and report.rate_rps is None) else None


def clean(line: str) -> str:
    """Return a line with plain spaces, and without colour codes, Markdown's `>` and docker compose's container name."""
    return _QUOTE.sub("", _CONTAINER.sub("", _ANSI.sub("", line))).replace("\u00a0", " ")


def find_reports(text: str) -> list[ConsoleReport]:
    """Return a report for every wrk, wrk2 or truepace output in a text, in order; [] if there is none."""
    return find_in_lines(enumerate(text.splitlines(), start=1))


def find_in_lines(lines: Iterable[tuple[int, str]]) -> list[ConsoleReport]:
    """Return a report for every wrk, wrk2 or truepace output in `lines` of (number, text), in order."""
    reports: list[ConsoleReport] = []
    builder: _Builder | None = None
    nothing: tuple[int, tuple[CommandLine, ...]] = (-1, ())
    above = nothing  # the number of the last command's line, and the commands on consecutive lines up to it
    continued = ""

    def close() -> None:
        nonlocal builder
        if builder is not None and builder.says_something():
            reports.append(builder.finish())
        builder = None

    for number, raw in lines:
        line = clean(raw)
        recognised = _recognise(line) if len(line) <= LONGEST_LINE else None
        if recognised is None and builder is not None:
            recognised = _recognise(_EMPHASIS.sub("", _ITEM.sub("", line[:LONGEST_LINE])))
        if recognised is None:
            whole = continued + line
            continued = whole.rstrip()[:-1] + " " if whole.rstrip().endswith("\\") else ""
            if _HEADING.match(line) and not _OF_RESULTS.match(line):
                above = nothing
            follows = number == above[0] + 1
            if follows and above[1] and (rest := _WRAPPED.match(line)):
                above = (number, (*above[1][:-1], parse_command(above[1][-1].text + rest[0].strip())))
            elif not continued and len(whole) <= LONGEST_LINE and (command := find_command(whole)):
                close()
                above = (number, (*(above[1] if follows and command.rate_rps else ()), command))
            elif builder is not None and line.strip():
                foreign = line.lstrip().startswith(("```", "~~~", "# ", "##")) or builder.ended
                if not builder.waits_for(line) or foreign:
                    close()
            continue
        name, match = recognised
        if builder is not None and (builder.begins_anew(name, match) or (builder.ended and name != "extra")):
            close()
        if builder is None:
            if name not in _STARTS:
                continue
            builder = _Builder(number, name, above[1] if number - above[0] <= COMMAND_REACH_LINES else ())
            above = nothing
        builder.take(name, match, number)
    close()
    return reports
