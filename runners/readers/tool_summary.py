"""One end summary of a load tool while its lines are read: what they said so far, and the output that it becomes.

A tool is a pattern of the lines that may begin its summary (`STARTS`) and a list of patterns of its lines, each with
what is taken out of them (`TAKERS`); `request_tools` and `scenario_tools` hold them, and `other_tools` reads by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport, Latencies, ThreadStats

#: Patterns of a whole number and of one with decimals.
N = r"(\d{1,18})"
F = r"(\d{1,15}(?:\.\d{1,12})?)"
MOSTLY_MISSING = 0.5  # of the bodies of responses with another length
_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)")
_CUT = re.compile(r"\d+\.\d+m")
GO_US = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}


def go_time_us(text: str) -> float | None:
    """Read a duration as Go prints it: `3m59.9s`, `681.09ms`, `0s`."""
    parts = _GO_PART.findall(text.strip())
    if _CUT.fullmatch(text.strip()):
        return None  # Go prints no fraction of a minute: a line was cut within `ms`
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * GO_US[unit] for number, unit in parts)


@dataclass(slots=True)
class SummaryBlock:
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
    address: dict[str, str] = field(default_factory=dict)  # of ab's server: host, port, path
    sizes: dict[str, int] = field(default_factory=dict)  # of ab: bytes of a document and of all bodies, odd lengths
    operations: list[ConsoleReport] = field(default_factory=list)  # of a tool that reports several at once
    totals: list[ConsoleReport] = field(default_factory=list)  # of them all, where their own rows were cut

    def finish(self) -> ConsoleReport:
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed
        said = dict(self.said)
        bad += self._without_body()
        if said.get("requests") and self.sizes.get("failed", 0) > said["requests"]:
            said["non_2xx"] = self.sizes["failed"]  # the figures contradict each other
        said.setdefault("non_2xx", bad or None)
        if self.codes:
            said.setdefault("requests", sum(self.codes.values()) + self.failed)
        if self.tool == "Artillery" and self.codes:  # its older versions count completed requests alone
            said["requests"] = max(said["requests"], sum(self.codes.values()) + self.failed)
        said.setdefault("duration_s", said.get("elapsed_s"))
        if self.address:
            said["url"] = "//" + "".join(self.address.get(part, "") for part in ("host", "port", "path"))
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

    def _without_body(self) -> int:
        """Count ab's responses of another length where as many bodies are missing; else the lengths just vary."""
        odd, whole, requests = self.sizes.get("odd", 0), self.sizes.get("document"), self.said.get("requests")
        if not (odd and whole and requests) or "bodies" not in self.sizes:
            return 0
        return odd if whole * requests - self.sizes["bodies"] >= MOSTLY_MISSING * odd * whole else 0

    def add_row(self, level: str, value_us: float | None) -> None:
        """Add a percentile, whose level is in percent."""
        at = round(float(level) / 100, 9)
        if value_us is not None and 0 <= at <= 1:
            self.rows.append((at, value_us))


Taker = Callable[[SummaryBlock, re.Match[str]], object]
Takers = Mapping[str, tuple[tuple[re.Pattern[str], Taker], ...]]


def compiled(takers: Mapping[str, tuple[tuple[str, Taker], ...]]) -> Takers:
    """Compile the patterns of each tool's lines."""
    return {tool: tuple((re.compile(pattern), taker) for pattern, taker in lines) for tool, lines in takers.items()}
