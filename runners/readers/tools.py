"""The facts on each load tool, which load_tools.toml lists."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from runners.readers.console_report import ConsoleReport

WRK2, WRK, TRUEPACE = "wrk2", "wrk", "truepace"
LEAST_HIGHEST = 0.99  # a spectrum that ends below it says nothing of the tail


@dataclass(frozen=True, slots=True)
class Console:
    """The patterns (see summary.py) by which a tool's console summary is read.

    An entry of `lines` is a pattern or a pair. Second in a pair is the name of the method of `Summary` that reads the
    line, or a dict of figures that the line implies. Its key `within` names the sections in which the line counts,
    separated by `|`; an empty name stands for the lines before any section.
    """

    begins: tuple[str, ...]  # patterns of lines that may begin a summary
    #: the patterns of a summary's lines
    lines: tuple[str | tuple[str, str | dict[str, Any]], ...]
    before: str = r"\s*"  # precedes every pattern
    repeated: bool = False  # until a figure that `last` names is read, lines of `begins` begin no other summary
    last: str = ""
    proof: str = ""  # names of figures; every summary has at least one of them


@dataclass(frozen=True, slots=True)
class JsonSummary:
    """The paths of the figures in a JSON object that a tool writes; `/` separates the names of nested objects."""

    keys: tuple[str, ...]  # by which the object is recognised
    unit_us: float  # the unit of times for which no scale is given, in microseconds
    figures: str  # texts `name=path` or `name=path*scale+path*scale`
    #: Texts as in `figures`, or the path of an object of percentiles, or of a list of objects.
    percentiles: str
    listed: tuple[str, ...] = ()  # the keys of percentile and time in the objects of that list
    #: The path of a number or of an object of numbers; `prefix*` at its end takes the names that begin so.
    statuses: str = ""
    lost: str = ""  # such a path, for requests without a response
    lost_apart: bool = False  # no other count includes the lost requests


@dataclass(frozen=True, slots=True)
class Tool:
    """The facts on a load tool: how it measures, and how the lab reads its outputs."""

    percentiles: str  # advice on how to get more percentiles; what its summary never has, it says after a colon
    reads: str  # a command whose output file the lab can read
    closed_loop: bool | None = None  # whether a connection awaits each response if no rate is given; None: unknown
    rate: str = "with a generator that can"  # advice on how to offer a fixed rate
    over_time: str = ""  # advice on where to see the latency over time
    sender: str = "connection"  # what sends requests one by one; `connections` counts them
    #: Whether rate and latency count requests that failed without a status.
    failures: Literal["counted", "apart", "unknown"] = "counted"
    depth: int = 1  # most requests in flight on a connection, unless an output says more
    timeout_s: float | None = None  # the default time-out
    whole_ms: bool = False  # the tool prints whole milliseconds
    mean_of_intervals: bool = False  # its rate is not requests / duration: a mean of intervals', or of successes
    #: Patterns of the tool's command lines, with the figures that they imply. Of a line, all that match count.
    commands: tuple[tuple[str, dict[str, Any]], ...] = ()
    console: Console | None = None
    json: tuple[JsonSummary, ...] = ()


TOOLS = msgspec.toml.decode(Path(__file__).with_name("load_tools.toml").read_bytes(), type=dict[str, Tool])
_ANY = Tool("", "")


def facts(tool: str | None) -> Tool:
    """Return the facts on a tool; for an unknown tool (None), facts that hold for any tool."""
    return TOOLS.get(tool or "", _ANY)


def is_like_wrk(tool: str | None) -> bool:
    """Return whether a tool prints wrk's layout; true for an unknown tool (None)."""
    return tool in (WRK, WRK2, TRUEPACE, None)


def missing(report: ConsoleReport, *, is_file: bool = False) -> tuple[str, ...]:
    """Return names of parts that an audit needs and an output lacks; fewer if the output is of a file (`is_file`)."""
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
