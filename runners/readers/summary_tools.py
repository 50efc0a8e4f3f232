"""Find the summaries that load tools print: patterns of load_tools.toml, and functions for lines that need more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from runners.readers import units
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line
from runners.readers.figures import MS
from runners.readers.summary import Summary, group_of
from runners.readers.tools import TOOLS, Console
from runners.readers.wrk_console import LONGEST_LINE, clean

NEGATIVE = "a time below zero: the clock was set during the run"
LONGEST_BLOCK = 1_000  # lines; the longest summary, k6's with the metrics of many groups, has hundreds
_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")
_NAME = re.compile(r"(?<!\?P)<(\w+)>")  # of a figure in a pattern
Take = Callable[[Summary, re.Match[str]], object]


def take_figures(summary: Summary, match: re.Match[str]) -> None:
    """Take the figures that a pattern names."""
    summary.take(match.groupdict())


def failure(summary: Summary, match: re.Match[str]) -> None:
    """Take how often an error came; ghz has counted it as a status, and oha's were in flight at the end."""
    if summary.figures.get("tool") != "ghz" and "aborted due to deadline" not in match[0]:
        summary.failed += round(units.count(match[1]) or 0.0)  # autocannon rounds: `9k errors`


def named_status(summary: Summary, match: re.Match[str]) -> None:
    """Take how many responses of gRPC had a status, which is a name."""
    summary.codes[200 if match[1] == "OK" else 500 + len(summary.codes)] = int(match[2])


def cells(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's row Latency."""
    texts = match[1].split("│") if "│" in match[1] else re.findall(r"[\d.,]+ \w+", match[1])
    if len(texts) == 7:
        for name, text in zip(("2.5", "50", "97.5", "99", "mean", "stdev", "max"), texts, strict=True):
            summary.time(name, units.go_time_us(text))


def autocannon(summary: Summary, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        summary.figures["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        summary.figures["offered_rps"] = float(rate[1])


def rounded_count(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not summary.codes:
        summary.figures["requests"] = round(units.count(match[1]) or 0.0)
    take_figures(summary, match)


def trend(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`; an author may put commas between them."""
    for name, text in re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1]):
        summary.time(name, units.go_time_us(text))
        if text.startswith("-") and NEGATIVE not in summary.notes:
            summary.notes.append(NEGATIVE)


def waiting(summary: Summary, match: re.Match[str]) -> None:
    """Take k6's time to the first byte, where an author kept it alone: it is the whole of a short response."""
    if not summary.rows:
        trend(summary, match)


def dropped(summary: Summary, match: re.Match[str]) -> None:
    summary.notes.append(f"dropped_iterations: {match[1]}")


def gatling(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    texts = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    first, *rest = (float(text.replace(",", "")) for text in texts or ["nan"])
    name = match[1].replace("response time", "").strip()
    if not texts:
        return
    if name == "request count":
        summary.figures.update(requests=int(first), non_2xx=int(rest[1]) if len(rest) > 1 else None)
    elif name in ("mean requests/sec", "mean throughput"):
        summary.figures["rate_rps"] = first
    else:
        summary.time(name.split()[0], first * MS)


def jmeter(summary: Summary, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(match[group]) for group in (2, 3, 4))
    summary.figures["elapsed_s"] = float(hours * 3600 + minutes * 60 + seconds) or None
    take_figures(summary, match)


def locust(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's row of all requests; the last one stands."""
    take_figures(summary, match)
    summary.rows = {0.5: float(match["n_median"]) * MS}
    summary.figures |= {"heads": (), "non_2xx": summary.figures["non_2xx"] or None}


def locust_heads(summary: Summary, match: re.Match[str]) -> None:
    summary.figures["heads"] = re.findall(r"(\d[\d.]*)%", match[0])


def locust_percentiles(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    most_us = summary.figures.get("max") or float("inf")
    for level, value in zip(summary.figures.get("heads", ()), match[1].split(), strict=False):
        summary.time(level, min(float(value) * MS, most_us))


def vegeta_times(summary: Summary, match: re.Match[str]) -> None:
    for name, text in zip(map(str.strip, match[1].split(",")), match[2].split(","), strict=False):
        summary.time(name, units.go_time_us(text))


def vegeta_codes(summary: Summary, match: re.Match[str]) -> None:
    summary.codes |= {int(code): int(count) for code, count in re.findall(r"(\d{1,3}):(\d{1,18})", match[1])}


_FUNCTIONS: tuple[Callable[[Summary, re.Match[str]], None], ...] = (
    failure, named_status, cells, autocannon, rounded_count, trend, waiting, dropped, gatling, jmeter, locust,
    locust_heads, locust_percentiles, vegeta_times, vegeta_codes,
)  # fmt: skip
_BY_NAME = {function.__name__: function for function in _FUNCTIONS}


def _where(within: str | None = None, **figures: object) -> Take:
    """Return a function that takes a line, and figures that the line itself says, within a section if one is named."""

    def take(summary: Summary, match: re.Match[str]) -> None:
        if within in (None, summary.figures.get("section")):
            summary.figures.update(figures)
            take_figures(summary, match)

    return take


def _pattern(console: Console, text: str) -> re.Pattern[str]:
    return re.compile(f"^{console.before}(?:{_NAME.sub(group_of, text)})")


def _lines(console: Console) -> Iterator[tuple[re.Pattern[str], Take]]:
    for line in console.lines:
        text, taken = (line, {}) if isinstance(line, str) else line
        yield _pattern(console, text), _BY_NAME[taken] if isinstance(taken, str) else _where(**taken)


_CONSOLES = {name: tool.console for name, tool in TOOLS.items() if tool.console}
_STARTS = {name: _pattern(console, "|".join(console.begins)) for name, console in _CONSOLES.items()}
_LINES = {name: tuple(_lines(console)) for name, console in _CONSOLES.items()}
_ANY_START = re.compile("|".join(f"(?:{start.pattern})" for start in _STARTS.values()))


def find_summaries(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Yield each summary: the indices of its first and last line, and its report."""
    summary: Summary | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            continue
        text = clean(line.text)
        tool = next(name for name, start in _STARTS.items() if start.match(text)) if _ANY_START.match(text) else None
        anew = tool is not None and not (summary and _goes_on(summary, tool))
        if summary and (anew or index - begin > LONGEST_BLOCK or _ends(summary, text)):
            if summary.has(_CONSOLES[summary.tool].proof):
                yield begin, end, summary.finish()
            summary = None
        if anew and tool:
            summary, begin, end = Summary(tool, line.number, line.number), index, index
        for pattern, take in _LINES[summary.tool] if summary else ():
            if summary and (match := pattern.match(text)):
                take(summary, match)
                summary.last_line, end = line.number, index
                break
    if summary and summary.has(_CONSOLES[summary.tool].proof):
        yield begin, end, summary.finish()


def _goes_on(summary: Summary, tool: str) -> bool:
    """Return whether a line that could begin a summary belongs to the one that is open."""
    console = _CONSOLES[tool]
    return summary.tool == tool and console.repeated and console.last not in summary.figures


def _ends(summary: Summary, text: str) -> bool:
    """Return whether a line ends the open summary: a fence, or the first line of wrk's output."""
    return text.lstrip().startswith(("```", "~~~")) or (summary.tool != "autocannon" and bool(_OF_WRK.match(text)))
