"""Find the summaries that load tools print: patterns of load_tools.toml, and functions for lines that need more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runners.readers import units
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line
from runners.readers.figures import MS
from runners.readers.summary import DECIMAL, Summary, group_of
from runners.readers.tools import TOOLS, Console
from runners.readers.wrk_console import LONGEST_LINE, clean

NEGATIVE = "a time below zero: the clock was set during the run"
LONGEST_BLOCK = 1_000  # lines; the longest summary, k6's with the metrics of many groups, has hundreds
_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")
_NUMBER = re.compile(DECIMAL)
_NAME = re.compile(r"(?<!\?P)<(\w+)>")  # of a figure in a pattern
Take = Callable[[Summary, re.Match[str]], object]


def take_figures(summary: Summary, match: re.Match[str]) -> None:
    """Take the figures that a pattern names."""
    summary.take(match.groupdict())


def _failure(summary: Summary, match: re.Match[str]) -> None:
    """Take an error and how often it came; ghz has counted it as a status, and oha's were in flight at the end."""
    if summary.figures.get("tool") != "ghz" and "aborted due to deadline" not in match[0]:
        summary.failed += int(match[1])


def _broke_off(summary: Summary, match: re.Match[str]) -> None:
    """Take the line that ab prints instead of its summary; why it broke off went to standard error."""
    summary.figures["requests"] = int(match[1])
    summary.diagnostics[:] = summary.diagnostics or [match[0]]


def _ab_failed(summary: Summary, match: re.Match[str]) -> None:
    """Take ab's failures by cause; a length may vary without one."""
    summary.failed = int(match[1]) + int(match[2]) + int(match[4])
    take_figures(summary, match)


def _cells(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's row Latency: 2.5 %, 50 %, 97.5 %, 99 %, mean, standard deviation, maximum."""
    cells = match[1].split("│") if "│" in match[1] else re.findall(r"[\d.,]+ \w+", match[1])
    times = [units.go_time_us(cell) for cell in cells]
    if len(times) == 7:
        for level, time_us in zip(("2.5", "50", "97.5", "99", "100"), (*times[:4], times[6]), strict=True):
            summary.row(level, time_us)
        summary.figures.update(mean=times[4], stdev=times[5], max=times[6])


def _autocannon(summary: Summary, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        summary.figures["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        summary.figures["offered_rps"] = float(rate[1])


def _rounded_count(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not summary.codes:
        summary.figures["requests"] = round(units.count(match[1]) or 0.0)
    summary.figures["elapsed_s"] = float(match[2])


def _trend(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`; an author may put commas between them."""
    times = dict(re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1]))
    for name, text in times.items():
        level, time_us = {"med": "50", "max": "100"}.get(name, name[2:-1]), units.go_time_us(text)
        if _NUMBER.fullmatch(level):
            summary.row(level, time_us)
        if name in ("avg", "max"):
            summary.figures["mean" if name == "avg" else name] = time_us
    if any(text.startswith("-") for text in times.values()):
        summary.notes.append(NEGATIVE)


def _gatling(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    texts = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    if not texts:
        return
    first, *rest = (float(text.replace(",", "")) for text in texts)
    name = match[1].strip()
    if name == "request count":
        summary.figures.update(requests=int(first), non_2xx=int(rest[1]) if len(rest) > 1 else None)
    elif level := re.match(r"response time (\d[\d.]*)th percentile", name):
        summary.row(level[1], first * MS)
    elif name in ("mean requests/sec", "mean throughput"):
        summary.figures["rate_rps"] = first
    elif figure := {"max": "max", "mean": "mean", "std": "stdev", "response": "stdev"}.get(name.split()[0]):
        summary.figures[f"{figure}_ms"] = first
        if figure == "max":
            summary.row("100", first * MS)


def _threshold(summary: Summary, match: re.Match[str]) -> None:
    """Take a percentile of k6's that a threshold names."""
    if summary.figures.get("section") == "http_req_duration":
        take_figures(summary, match)


def _waiting(summary: Summary, match: re.Match[str]) -> None:
    """Take k6's time to the first byte, where an author kept it alone: it is the whole of a short response."""
    if not summary.rows:
        _trend(summary, match)


def _jmeter(summary: Summary, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(match[group]) for group in (2, 3, 4))
    summary.figures["elapsed_s"] = float(hours * 3600 + minutes * 60 + seconds) or None
    take_figures(summary, match)


def _aggregated(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's row of all requests: their number and failures, mean, minimum, maximum and median, rate."""
    take_figures(summary, match)
    summary.figures["non_2xx"] = summary.figures.get("non_2xx") or None
    summary.rows = {0.5: float(match["n_median"]) * MS}
    summary.figures["heads"] = ()


def _locust_percentiles(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    most_us = summary.time_us("max") or float("inf")
    for level, value in zip(summary.figures.get("heads", ()), match[1].split(), strict=False):
        summary.row(level, min(float(value) * MS, most_us))


def _artillery(summary: Summary, match: re.Match[str]) -> None:
    """Take a figure of Artillery's response times, in milliseconds; other sections have the same names."""
    if summary.figures.get("section") == "times":
        name, value_ms = match[1], float(match[2])
        if name in ("mean", "max"):
            summary.figures[f"{name}_ms"] = value_ms
        if name not in ("min", "mean"):
            level = {"median": "50", "max": "100"}.get(name) or f"{name[1:3]}.{name[3:]}"
            summary.row(level, value_ms * MS)


def _vegeta_times(summary: Summary, match: re.Match[str]) -> None:
    for name, value in zip(map(str.strip, match[1].split(",")), match[2].split(","), strict=False):
        time_us = units.go_time_us(value)
        if name in ("mean", "max"):
            summary.figures[name] = time_us
        if name == "max" or name.isdigit():
            summary.row("100" if name == "max" else name, time_us)


def _vegeta_codes(summary: Summary, match: re.Match[str]) -> None:
    summary.codes |= {int(code): int(count) for code, count in re.findall(r"(\d{1,3}):(\d{1,18})", match[1])}


_TAKES: dict[str, Take] = {
    "ab_failed": _ab_failed,
    "artillery": _artillery,
    "autocannon": _autocannon,
    "broke_off": _broke_off,
    "cells": _cells,
    "dropped": lambda s, m: s.notes.append(f"dropped_iterations: {m[1]}"),
    "failure": _failure,
    "gatling": _gatling,
    "jmeter": _jmeter,
    "locust": _aggregated,
    "locust_heads": lambda s, m: s.figures.update(heads=re.findall(r"(\d[\d.]*)%", m[0])),
    "locust_percentiles": _locust_percentiles,
    "named_status": lambda s, m: s.codes.update({200 if m[1] == "OK" else 500 + len(s.codes): int(m[2])}),  # of gRPC
    "rounded_count": _rounded_count,
    "threshold": _threshold,
    "trend": _trend,
    "vegeta_codes": _vegeta_codes,
    "vegeta_times": _vegeta_times,
    "waiting": _waiting,
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A tool's console: its first line, and its lines with the function that takes each."""

    start: re.Pattern[str]
    lines: tuple[tuple[re.Pattern[str], Take], ...]
    repeated: bool
    proof: tuple[str, ...]


def _compiled(console: Console) -> Compiled:
    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(f"^{console.before}(?:{_NAME.sub(group_of, text)})")

    lines = []
    for line in console.lines:
        text, taken = (line, {}) if isinstance(line, str) else line
        lines.append((pattern(text), _TAKES[taken] if isinstance(taken, str) else _and(taken)))
    return Compiled(pattern("|".join(console.begins)), tuple(lines), console.repeated, tuple(console.proof.split()))


def _and(figures: dict[str, object]) -> Take:
    """Return a function that takes the figures of a line, and these that the line itself says."""

    def take(summary: Summary, match: re.Match[str]) -> None:
        summary.figures.update(figures)
        take_figures(summary, match)

    return take


CONSOLES = {name: _compiled(tool.console) for name, tool in TOOLS.items() if tool.console}
_ANY_START = re.compile("|".join(f"(?:{tool.start.pattern})" for tool in CONSOLES.values()))


def find_summaries(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Yield each summary: the indices of its first and last line, and its report."""
    summary: Summary | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            continue
        text = clean(line.text)
        tool = _begun_by(text)
        anew = tool is not None and not (summary and _goes_on(summary, tool))
        if summary and (anew or index - begin > LONGEST_BLOCK or _ends(summary, text)):
            if _is_complete(summary):
                yield begin, end, summary.finish()
            summary = None
        if anew and tool:
            summary, begin, end = Summary(tool, line.number, line.number), index, index
        if summary is None:
            continue
        for pattern, take in CONSOLES[summary.tool].lines:
            if match := pattern.match(text):
                take(summary, match)
                summary.last_line, end = line.number, index
                break
    if summary and _is_complete(summary):
        yield begin, end, summary.finish()


def _begun_by(text: str) -> str | None:
    if not _ANY_START.match(text):
        return None
    return next(name for name, tool in CONSOLES.items() if tool.start.match(text))


def _goes_on(summary: Summary, tool: str) -> bool:
    """Return whether a line that could begin a summary belongs to the one that is open."""
    next_run = tool == "ab" and "elapsed_s" in summary.figures
    return summary.tool == tool and CONSOLES[tool].repeated and not next_run


def _ends(summary: Summary, text: str) -> bool:
    """Return whether a line ends the open summary: a fence, or the first line of wrk's output."""
    return text.lstrip().startswith(("```", "~~~")) or (summary.tool != "autocannon" and bool(_OF_WRK.match(text)))


def _is_complete(summary: Summary) -> bool:
    """Return whether a summary has the figures without which its first line may be another program's."""
    proof = CONSOLES[summary.tool].proof
    return summary.has(proof) if proof else bool(summary.figures)
