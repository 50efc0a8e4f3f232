"""The facts on each load tool, which load_tools.toml lists."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runners.readers.console_report import ConsoleReport

WRK2, WRK, TRUEPACE = "wrk2", "wrk", "truepace"
LEAST_HIGHEST = 0.99  # a spectrum that ends below it says nothing of the tail


@dataclass(frozen=True, slots=True)
class Console:
    """A tool's console summary: patterns of lines that may begin it, and of its lines; each is preceded by `before`.

    A line is a pattern (see summary.py), alone or paired with the figures that it implies (`within`: only in a section)
    or with the name of a method of `Summary`. `repeated`: a line that begins a summary may recur within it, until the
    figure `last` is read. `proof`: names of figures; every summary has at least one of them.
    """

    begins: tuple[str, ...]
    lines: tuple[str | tuple[str, str | dict[str, Any]], ...]
    before: str = r"\s*"
    repeated: bool = False
    last: str = ""
    proof: str = ""


@dataclass(frozen=True, slots=True)
class JsonSummary:
    """A JSON object that a tool writes: the keys by which it is recognised, and the places of its figures.

    `figures` are texts `name=path` or `name=path*scale+path*scale`; `/` separates the names in a path. Times without a
    scale are in units of `unit_us`. `percentiles`: such texts, or the path of an object of percentiles or of a list of
    objects with the two keys `listed`. `statuses` and `lost` (requests without a response): the path of a number or an
    object of numbers; `prefix*` at its end takes names that begin so. `lost_apart`: no other count includes the lost.
    """

    keys: tuple[str, ...]
    unit_us: float
    figures: str
    percentiles: str
    listed: tuple[str, ...] = ()
    statuses: str = ""
    lost: str = ""
    lost_apart: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A load tool. `closed_loop`: its connections wait for a response before they send again; None if it can do both.

    `percentiles` is advice on how to get more percentiles, `reads` a command whose output file the lab can read,
    `timeout_s` the tool's default time-out. `whole_ms`: the tool prints whole milliseconds. `mean_of_intervals`: its
    rate is the mean of the rates in short intervals, not the number of requests divided by the duration.
    """

    percentiles: str
    reads: str
    closed_loop: bool | None = None
    timeout_s: float | None = None
    whole_ms: bool = False
    mean_of_intervals: bool = False
    #: Patterns of the tool's command lines, with the figures that they imply. Of a line, the last that matches counts.
    commands: tuple[tuple[str, dict[str, Any]], ...] = ()
    console: Console | None = None
    json: tuple[JsonSummary, ...] = ()


TOOLS = msgspec.toml.decode(Path(__file__).with_name("load_tools.toml").read_bytes(), type=dict[str, Tool])
_ANY = Tool("publish the whole output", "")


def facts(tool: str | None) -> Tool:
    """Return the facts on a tool; for an unknown tool (None), facts that hold for any tool."""
    return TOOLS.get(tool or "", _ANY)


def is_like_wrk(tool: str | None) -> bool:
    """Return whether a tool prints wrk's layout; true for an unknown tool (None)."""
    return tool in (WRK, WRK2, TRUEPACE, None)


def missing(report: ConsoleReport, *, is_file: bool = False) -> tuple[str, ...]:
    """Return the names of needed parts that an output lacks; a tool's file (`is_file`) needs no parts of a console."""
    rows, spectrum, command = report.latencies.rows, report.latencies.spectrum, report.command
    highest = max((level for level, _ in rows if level < 1), default=0.0)
    if is_file or not is_like_wrk(report.tool):
        if report.tool == "ab" and report.requests_per_s is None and report.diagnostics:
            return ()  # ab broke off and printed the reason
        lacks = {
            "percentiles": not highest,
            # missing unless too few samples lie beyond it
            f"percentiles beyond p{highest * 100:g}": 0 < highest < LEAST_HIGHEST and report.latencies.count is None,
            # the rate and the duration give the number too
            "the number of requests": report.requests is None and report.requests_per_s is None,
            **{line: True for line in report.extra if line.startswith("the unit of")},
        }
    elif rows and report.latency is None and report.requests is None and report.duration_s is None:
        lacks = {"everything but the percentiles: no settings, no number of requests, no rate": True}
    else:
        asked = command is not None and command.threads and command.connections and command.duration_s
        headless, last = report.threads is None and not asked, spectrum[-1].percentile if spectrum else 1.0
        lacks = {
            "its head (Running ...)": headless and report.duration_s is None,
            "the line of threads and connections": headless and report.duration_s is not None,
            "the table Thread Stats": report.latency is None,
            "percentiles": not rows,
            f"the spectrum beyond p{last * 100:g}": last < 1,
            "the number of requests": report.requests is None,
            "the line Requests/sec": report.requests_per_s is None,
        }
    return tuple(part for part, lacking in lacks.items() if lacking)
