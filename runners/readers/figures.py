"""Functions that convert the figures in a load tool's file, as texts or in the tool's unit, into a ConsoleReport."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ENOUGH_BEYOND, LEVELS, ConsoleReport, Latencies, ThreadStats, beyond

Json = Mapping[str, Any]
MS, S = 1e3, 1e6  # microseconds in a millisecond, in a second
_LEVEL = re.compile(r"p?\(?(\d{1,3}(?:[._]\d{1,7})?)(?:\)|th|%)?")
_NAMES = {"med": "50", "median": "50", "max": "100"}


def number(value: object, scale: float = 1.0) -> float | None:
    """Return a number, or the number in a text, times `scale`; None for other values or if the result is not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        scaled = float(value) * scale
    except (ValueError, OverflowError):
        return None
    return scaled if math.isfinite(scaled) else None


def count(value: object) -> int | None:
    """Return a number, or the number in a text, rounded to a whole number; None if it is not between 0 and 1e18."""
    whole = number(value)
    return round(whole) if whole is not None and 0 <= whole < 1e18 else None


def at(content: object, path: str) -> Any:
    """Return the value in JSON at a path of names separated by `/`; None if there is no value."""
    for name in path.split("/") if path else ():
        content = content.get(name) if isinstance(content, Mapping) else None
    return content


def part(content: object, path: str) -> Json:
    """Return the object in JSON at a path of names separated by `/`; empty if there is none."""
    value = at(content, path)
    return value if isinstance(value, Mapping) else {}


def level_of(name: object) -> float | None:
    """Return the level (0..1) of a percentile's name: 99.9, `p99_9`, `p999`, `p(95)`, `99th`; None for other names."""
    text = _NAMES.get(str(name), str(name))
    match = _LEVEL.fullmatch(re.sub(r"^p(\d\d)(?=[1-9]+$)", r"\1.", text))
    level = round(float(match[1].replace("_", ".")) / 100, 9) if match else 2.0
    return level if level <= 1 else None


def percentiles(rows: Iterable[tuple[object, object]], unit_us: float) -> dict[float, float]:
    """Return {level (0..1): latency (us)} from pairs (percentile's name, time); a time is in units of `unit_us` us."""
    levels = ((level_of(name), number(value, unit_us)) for name, value in rows)
    return {level: value_us for level, value_us in levels if level is not None and value_us is not None}


def command_of(tool: str, offered_rps: float | None) -> CommandLine | None:
    """Return a CommandLine that has only the tool and its offered rate; None if there is no rate."""
    name = "vegeta attack" if tool == "vegeta" else tool
    return CommandLine(name, tool, rate_rps=offered_rps) if offered_rps else None


def run_of(
    tool: str,
    rows: Mapping[float, float],
    mean_us: float | None = None,
    stdev_us: float | None = None,
    max_us: float | None = None,
    offered_rps: float | None = None,
    samples: int | None = None,  # how many latencies the percentiles are of
    **fields: Any,  # other fields of ConsoleReport
) -> ConsoleReport:
    """Return a report; `rows`: {level (0..1): us}. A missing rate or duration follows from `requests` and the other."""
    requests, rate = fields.get("requests"), fields.get("requests_per_s")
    elapsed_s = fields.pop("elapsed_s", None)
    if elapsed_s is None and requests and rate:
        elapsed_s = requests / rate
    if rate is None and requests and elapsed_s:
        rate = requests / elapsed_s
    fields = {"duration_s": elapsed_s, **fields, "elapsed_s": elapsed_s, "requests_per_s": rate}
    known = dict(rows) if max_us is None else {**rows, 1.0: max_us}
    latency = None if mean_us is None and max_us is None else ThreadStats(mean_us, stdev_us, max_us)
    latencies = Latencies(rows=tuple(sorted(known.items())), total_count=samples)
    command = command_of(tool, offered_rps)
    return ConsoleReport(tool=tool, command=command, latency=latency, latencies=latencies, **fields)


def known_levels(samples: int) -> Iterator[float]:
    """Return 0.5, 1, and the levels in LEVELS that leave at least ENOUGH_BEYOND of `samples` samples above them."""
    return (level for level in LEVELS if level in (0.5, 1.0) or beyond(samples, level) >= ENOUGH_BEYOND)
