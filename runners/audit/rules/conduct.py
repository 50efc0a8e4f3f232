"""RUN: how the generator was run, and what it said about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from runners.audit.rule import WRK2_WARM_UP_S, Seen, achieved_rps, finite, rule_of_output, warm_up_s
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.finding import Severity
from runners.readers.output import Output

SHOWN_LINES = 2
SHOWN_CHARACTERS = 80
WARM_UP_SLACK = 1.5
_COMPLAINT = re.compile(
    r"(?i)\b(?:unable|errors?|invalid|unknown|refused|reset by|timed out|can(?:no|')t|failed|failure|warning|usage:"
    r"|total of \d+ requests completed|insufficient|could(?: not|n't)|not found|too many|exceeded|segmentation|killed"
    r"|panic|denied)\b"
)
BELOW_LINES = 15
LEAST_PERCENTILES = 2
#: A percentile as a script of wrk prints it: `99,98168`, `p90: 12.1 ms`, `99%,1061`.
_PERCENTILE = re.compile(
    r"(?i)^\s*(?:latency )?(?:p\s?)?(?:50|75|9\d)(?:\.\d+)?(?:\s?%|th)?(?: percentile)?\s*[,:=|\t]\s*\d"
)
_LATE = re.compile(r"\bdid not keep up\b|\bkept up: no\b|\bnot kept up\b", re.IGNORECASE)


def not_a_number(report: ConsoleReport) -> list[str]:
    """Where an output says `-nan`."""
    found = []
    if any(value is not None and math.isnan(value) for each in report.calibrations for value in (each.mean_us,)):
        found.append("calibration")
    if report.latency and any(value is not None and math.isnan(value) for value in (report.latency.mean,)):
        found.append("Latency")
    each = report.requests_per_thread
    if each and not report.calibrations and each.mean is not None and math.isnan(each.mean):
        found.append("Req/Sec")  # which is counted once the calibration is over
    return found


@rule_of_output("RUN001", "too-short", Severity.ERROR, "run at least 30 s: wrk2 spends the first 10 s on calibration")
def _too_short(output: Output) -> Iterator[Seen]:
    """The run is too short for wrk2 to calibrate."""
    duration, broken = finite(output.duration_s), not_a_number(output.report)
    if output.tool != "wrk2":
        broken = []
    short = output.tool == "wrk2" and duration is not None and duration <= WRK2_WARM_UP_S
    if not short and not broken:
        return
    parts = []
    if short and duration is not None:
        parts.append(f"{write.seconds(duration)} is no longer than wrk2's calibration of {WRK2_WARM_UP_S:g} s")
    if broken:
        parts.append(f"{write.listed(broken)} {'is' if len(broken) == 1 else 'are'} -nan")
    text = f"{'; '.join(parts)}: the warm-up is in the figures, or nothing is"
    yield Seen(output, text, {"duration_s": duration, "not_a_number": ", ".join(broken)})


@rule_of_output(
    "RUN002", "connections-lost", Severity.WARNING, "choose a number of connections that is a multiple of the threads"
)
def _lost_connections(output: Output) -> Iterator[Seen]:
    """Connections are lost because they do not divide among the threads."""
    threads, connections = output.threads, output.connections
    if output.tool == "truepace" or not threads or not connections or connections % threads == 0:
        return
    opened = connections // threads * threads
    text = (
        f"{write.count(connections)} connections over {write.count(threads)} threads: the generator rounds down and "
        f"opens {write.count(opened)}"
    )
    yield Seen(output, text, {"connections": connections, "threads": threads, "opened": opened})


@rule_of_output("RUN003", "diagnostics", Severity.WARNING, "read it; keep standard error apart from the output")
def _diagnostics(output: Output) -> Iterator[Seen]:
    """The generator, or the terminal, says something between the lines of the output."""
    lines = [line for line in output.report.diagnostics if _COMPLAINT.search(line)]
    late = [line for line in output.report.extra if _LATE.search(line)]
    if not lines and not late:
        return
    shown = [line[:SHOWN_CHARACTERS] for line in (*lines, *late)[:SHOWN_LINES]]
    text = f"between the lines of the output stands: {write.listed(repr(line) for line in shown)}"
    yield Seen(output, text, {"lines": len(lines) + len(late)})


def left_out(output: Output) -> int | None:
    """Requests that had a response and are not in the histogram."""
    recorded, requests = output.report.latencies.count, output.report.requests
    if output.tool != "wrk2" or recorded is None or requests is None:
        return None
    return requests - recorded


def left_out_by_warm_up(output: Output) -> float | None:
    """How many requests wrk2 leaves out because of its warm-up."""
    rate = achieved_rps(output) or output.offered_rps
    return rate * warm_up_s(output) if rate else None


@rule_of_output(
    "RUN004",
    "warm-up-left-out",
    Severity.NOTE,
    "say so with the percentiles, or use truepace with --warmup, which leaves them out of both",
)
def _warm_up(output: Output) -> Iterator[Seen]:
    """Requests of the warm-up are in the rate and not in the percentiles."""
    lost, usual, requests = left_out(output), left_out_by_warm_up(output), output.report.requests
    short = output.duration_s is not None and output.duration_s <= WRK2_WARM_UP_S
    if short or not lost or lost < 0 or not usual or not requests or lost > WARM_UP_SLACK * usual:
        return
    text = (
        f"{write.count(lost)} of {write.count(requests)} requests, about the first "
        f"{write.seconds(lost / usual * warm_up_s(output))}, are in the rate and not in the percentiles"
    )
    yield Seen(output, text, {"left_out": lost, "requests": requests, "recorded": requests - lost})


@rule_of_output(
    "RUN005", "cut-output", Severity.WARNING, "publish the whole output; with wrk2 add -L, with wrk --latency"
)
def _cut(output: Output) -> Iterator[Seen]:
    """The output is cut, or was asked for less than a reader needs."""
    missing = [part for part in output.missing if not part.startswith("percentiles (") or not _of_a_script(output)]
    if not missing or output.columns > 1 or _only_percentiles(output.report):
        return  # a bare table of percentiles is SMP002
    yield Seen(output, f"the output lacks {write.listed(missing)}", {"missing": len(missing)})


def _of_a_script(output: Output) -> bool:
    """Tell whether a script of wrk prints percentiles below its output, as the example `report.lua` does."""
    last = output.report.last_line
    near = (line.text for line in output.prose if 0 < line.number - last <= BELOW_LINES)
    return sum(1 for text in near if _PERCENTILE.match(text)) >= LEAST_PERCENTILES


def _only_percentiles(report: ConsoleReport) -> bool:
    rated = report.requests is not None or report.requests_per_s is not None
    return bool(report.latencies.rows) and report.latency is None and not rated


RULES = (_too_short, _lost_connections, _diagnostics, _warm_up, _cut)
