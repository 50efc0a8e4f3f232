"""A load tool's summary on a console: the lines of a tool as patterns, and the figures that they name, typed.

A pattern names its figures in angle brackets: `Complete requests: <requests>`. The name says how the text is read:
counts as whole numbers, `…_ms`, `…_s` and rates as decimals, the rest (`mean`, `max`, `value`, `elapsed`) as times with
their unit. `<level>` and `<value>` are a percentile, `<status>` and `<count>` the responses of one status. A line that
needs more than that has a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies, ThreadStats
from runners.readers.figures import command_of

DECIMAL = r"\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?"
MOSTLY_MISSING = 0.5  # of the bodies of responses with another length
_COUNTS = frozenset({"requests", "connections", "failed", "non_2xx", "count", "status", "odd_length"})
_CLASSES = {f"c{digit}": 100 * digit for digit in range(1, 6)}  # of statuses: `940 2xx`
#: Taken as they stand. `section` is the part of a summary, where lines of several parts look alike.
_TEXTS = frozenset({"section", "host", "port", "path"})
_SCALES_US = {"": 1.0, "_ms": 1e3, "_s": 1e6}


def _is_count(name: str) -> bool:
    return name in _COUNTS or name in _CLASSES or name.startswith("n_")


def _is_decimal(name: str) -> bool:
    return name.endswith(("_ms", "_s", "_rps")) or name == "level"


def _group(match: re.Match[str]) -> str:
    name = match[1]
    if _is_count(name):
        return rf"(?P<{name}>\d{{1,3}}(?:,\d{{3}})+|\d{{1,18}})"
    if _is_decimal(name):
        return rf"(?P<{name}>{DECIMAL})"
    return rf"(?P<{name}>\d[\d.,]{{0,20}}\s?[a-zµμ][\da-zµμ.]{{0,20}})"


@dataclass(slots=True)
class Summary:
    """One summary while its lines come in. `figures` holds typed figures and texts by their name."""

    tool: str
    first_line: int
    last_line: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    rows: dict[float, float] = field(default_factory=dict)
    codes: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    notes: list[str] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)

    def take(self, printed: Mapping[str, str | None]) -> None:
        """Take the figures of a line by their names."""
        texts = {name: text for name, text in printed.items() if text is not None}
        level, status = texts.pop("level", None), texts.pop("status", None)
        for name, as_printed in texts.items():
            text = as_printed.replace(",", "")
            if name in _TEXTS:
                self.figures[name] = as_printed
            elif name == "diagnostic":
                self.diagnostics.append(as_printed)
            elif level is not None:
                scale_us = _SCALES_US[name.removeprefix("value")]
                self.row(level, units.go_time_us(text) if name == "value" else float(text) * scale_us)
            elif status is not None:
                self.codes[int(status)] = int(text)
            elif name in _CLASSES:
                self.codes[_CLASSES[name]] = int(text)
            elif name == "failed":
                self.failed += int(text)
            else:
                read = int if _is_count(name) else float if _is_decimal(name) else units.go_time_us
                self.figures[name] = read(text)

    def row(self, level: str, value_us: float | None) -> None:
        """Add a percentile, whose level is in percent."""
        share = round(float(level) / 100, 9)
        if value_us is not None and 0 <= share <= 1:
            self.rows[share] = value_us

    def time_us(self, name: str) -> float | None:
        """Return a figure that some tools print with its unit, and some in milliseconds or in seconds."""
        times = (
            float(value) * scale_us
            for suffix, scale_us in _SCALES_US.items()
            if (value := self.figures.get(name + suffix)) is not None
        )
        return next(times, None)

    def has(self, names: tuple[str, ...]) -> bool:
        """Return whether the summary gives any of these figures; `rows` are its percentiles."""
        return any(name in self.figures or (name == "rows" and self.rows) for name in names)

    def finish(self) -> ConsoleReport:
        """Return the summary as a report."""
        figures, mean_us = self.figures, self.time_us("mean")
        elapsed_s = figures.get("elapsed_s") or (figures.get("elapsed") or 0.0) / 1e6 or None
        counted = sum(self.codes.values()) + self.failed if self.codes else None
        requests = figures.get("requests", counted)
        if self.tool == "Artillery" and counted:  # its older versions count completed requests alone
            requests = max(requests or 0, counted)
        rate = figures.get("rate_rps")
        if self.tool == "k6" and requests and rate:
            elapsed_s = requests / rate
        if self.tool == "vegeta" and requests and elapsed_s:  # its throughput leaves errors out
            rate = requests / elapsed_s
        failed, odd_length = self.failed, figures.get("odd_length")
        if odd_length and (lost := _without_body(figures)):
            failed, odd_length = failed + lost, 0
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + failed
        offered = figures.get("offered_rps")
        paced = offered and self.tool in ("k6", "autocannon")
        port = f":{figures['port']}" if "port" in figures else ""
        address = figures.get("host", "") + port + figures.get("path", "")
        return ConsoleReport(
            tool=figures.get("tool", self.tool),
            command=command_of(self.tool, offered),
            duration_s=elapsed_s,
            url=f"//{address}" if address else None,
            connections=figures.get("connections"),
            latency=None if mean_us is None else ThreadStats(mean_us, self.time_us("stdev"), self.time_us("max"), None),
            latencies=Latencies(None, tuple(sorted(self.rows.items()))),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=figures.get("non_2xx", bad or None),
            odd_length=odd_length or None,
            requests_per_s=rate,
            closed_loop=False if paced else figures.get("closed_loop"),
            extra=tuple(self.notes),
            diagnostics=tuple(self.diagnostics),
            first_line=self.first_line,
            last_line=self.last_line,
        )


def _without_body(figures: Mapping[str, Any]) -> int:
    """Count ab's responses of another length where as many bodies are missing; else the lengths just vary."""
    odd, length, requests, bodies = (figures.get(name) for name in ("odd_length", "n_document", "requests", "n_bodies"))
    if not (odd and length and requests) or bodies is None:
        return 0
    return int(odd) if length * requests - bodies >= MOSTLY_MISSING * odd * length else 0


Take = Callable[[Summary, re.Match[str]], object]


@dataclass(frozen=True, slots=True)
class SummaryTool:
    """A tool's summary: the line that may begin it, and its lines. `repeated` where a line that begins it comes again;
    `proof` names figures of which one must be there besides the first line.
    """

    start: re.Pattern[str]
    lines: tuple[tuple[re.Pattern[str], Take], ...]
    repeated: bool = False
    proof: tuple[str, ...] = ()


def summary_tool(start: str, *lines: str | tuple[str, Take], repeated: bool = False, proof: str = "") -> SummaryTool:
    """Make a tool's row of patterns; a line without a function gives the figures that it names."""

    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(re.sub(r"(?<!\?P)<(\w+)>", _group, pattern))

    rows = ((line, take_figures) if isinstance(line, str) else line for line in lines)
    patterns = tuple((compiled(pattern), take) for pattern, take in rows)
    return SummaryTool(compiled(start), patterns, repeated, tuple(proof.split()))


def take_figures(summary: Summary, match: re.Match[str]) -> None:
    """Take the figures that a pattern names."""
    summary.take(match.groupdict())
