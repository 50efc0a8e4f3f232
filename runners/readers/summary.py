"""A load tool's summary on a console: the lines of a tool as patterns, and the figures that they name, typed.

A pattern names its figures in angle brackets: `Complete requests: <requests>`. The name says how the text is read:
counts as whole numbers, `…_ms`, `…_s` and rates as decimals, the rest (`mean`, `max`, `value`, `elapsed`) as times with
their unit. `<level>` and `<value>` are a percentile, `<status>` and `<count>` the responses of one status. A line that
needs more than that has a function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies, ThreadStats
from runners.readers.figures import MS, S, command_of, level_of

MOSTLY_MISSING = 0.5  # of the bodies of responses with another length
_COUNT = r"\d{1,3}(?:,\d{3})+|\d{1,18}"
_DECIMAL = r"\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?"
_COUNTS = frozenset({"requests", "connections", "non_2xx", "count", "status", "odd_length"})
_CLASSES = {f"c{digit}": 100 * digit for digit in range(1, 6)}  # of statuses: `940 2xx`
#: Taken as they stand. `section` is the part of a summary, where lines of several parts look alike.
_TEXTS = frozenset({"section", "host", "port", "path"})
_TIMES = {"mean": "mean", "avg": "mean", "stdev": "stdev", "std": "stdev", "max": "max"}


def _is_count(name: str) -> bool:
    return name in _COUNTS or name in _CLASSES or name.startswith(("n_", "failed"))


def group_of(match: re.Match[str]) -> str:
    """Return the group for a figure's name in angle brackets."""
    name, text = match[1], r"\d[\d.,]{0,20}\s?[a-zµμ][\da-zµμ.]{0,20}"
    if _is_count(name):
        text = _COUNT
    elif name.endswith(("_ms", "_s", "_rps")) or name == "level":
        text = _DECIMAL
    return f"(?P<{name}>{text})"


def _time_us(name: str, text: str) -> float | None:
    """Return a time, in the unit that its figure's name says or that it is printed with."""
    scale_us = MS if name.endswith("_ms") else S if name.endswith("_s") else None
    return units.go_time_us(text) if scale_us is None else float(text) * scale_us


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
            text, base = as_printed.replace(",", ""), name.removesuffix("_ms").removesuffix("_s")
            if name in _TEXTS:
                self.figures[name] = as_printed
            elif name == "diagnostic":
                self.diagnostics.append(as_printed)
            elif level is not None:
                self.time(level, _time_us(name, text))
            elif status is not None:
                self.codes[int(status)] = int(text)
            elif name in _CLASSES:
                self.codes[_CLASSES[name]] = int(text)
            elif name.startswith("failed"):
                self.failed += int(text)
            elif name == "elapsed":
                self.figures["elapsed_s"] = (units.go_time_us(text) or 0.0) / S or None
            elif base in _TIMES:
                self.figures[base] = _time_us(name, text)
            else:
                self.figures[name] = int(text) if _is_count(name) else float(text)

    def time(self, name: str, time_us: float | None) -> None:
        """Take a time by its name: a percentile, the mean, the standard deviation or the maximum."""
        if name in _TIMES:
            self.figures[_TIMES[name]] = time_us
        if time_us is not None and (level := level_of(name)) is not None:
            self.rows[level] = time_us

    def has(self, proof: str) -> bool:
        """Return whether the summary gives any of the named figures (`rows`: percentiles), or any at all if none is."""
        known = {*self.figures, *(["rows"] if self.rows else [])}
        return not known.isdisjoint(proof.split()) if proof else bool(self.figures)

    def finish(self) -> ConsoleReport:
        """Return the summary as a report."""
        figures = self.figures
        mean_us, elapsed_s, rate = figures.get("mean"), figures.get("elapsed_s"), figures.get("rate_rps")
        counted = sum(self.codes.values()) + self.failed if self.codes else None
        requests = figures.get("requests", counted)
        if self.tool == "Artillery" and counted:  # its older versions count completed requests alone
            requests = max(requests or 0, counted)
        if self.tool == "k6" and requests and rate:
            elapsed_s = requests / rate
        if self.tool == "vegeta" and requests and elapsed_s:  # its throughput leaves errors out
            rate = requests / elapsed_s
        odd_length, lost = figures.get("odd_length"), _without_body(figures)
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed + lost
        offered = None if figures.get("closed_loop") else figures.get("offered_rps")  # some scenarios alone have a rate
        port = f":{figures['port']}" if "port" in figures else ""
        address = figures.get("host", "") + port + figures.get("path", "")
        return ConsoleReport(
            tool=figures.get("tool", self.tool),
            command=command_of(self.tool, offered),
            duration_s=elapsed_s,
            url=f"//{address}" if address else None,
            connections=figures.get("connections"),
            latency=None if mean_us is None else ThreadStats(mean_us, figures.get("stdev"), figures.get("max"), None),
            latencies=Latencies(None, tuple(sorted(self.rows.items()))),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=figures.get("non_2xx", bad or None),
            odd_length=None if lost else odd_length or None,
            requests_per_s=rate,
            closed_loop=False if offered and self.tool in ("k6", "autocannon") else figures.get("closed_loop"),
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
