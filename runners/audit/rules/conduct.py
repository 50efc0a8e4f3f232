"""RUN: how the generator was run, and what it said about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from runners import words
from runners.audit.rule import (
    WRK2_WARM_UP_S,
    Seen,
    Severity,
    achieved_rps,
    finite,
    is_of_no_run,
    left_out,
    more_percentiles,
    opened,
    opening_s,
    rule,
    warm_up_s,
)
from runners.readers.console_report import ConsoleReport
from runners.readers.output import Output
from runners.readers.tools import WRK2, is_like_wrk

SHOWN_LINES = 2
SHOWN_CHARACTERS = 80
WARM_UP_SLACK = 1.5
_COMPLAINT = re.compile(
    r"(?i)\b(?:unable|errors?|invalid|unknown|refused|reset by|timed out|can(?:no|')t|failed|failure|warning|usage:"
    r"|total of \d+ requests completed|insufficient|could(?: not|n't)|not found|too many|exceeded|segmentation|killed"
    r"|panic|denied)\b"
)
ENDED_EARLY, SAME_DURATION = 0.9, 0.05
OPENING, LEAST_OPENING_S = 0.1, 1.0
_LATE = re.compile(r"\bdid not keep up\b|\bkept up: no\b|\bnot kept up\b", re.IGNORECASE)


def not_a_number(report: ConsoleReport) -> list[str]:
    """Return the parts of an output whose mean is `-nan`."""
    means = {
        "calibration": [thread.mean_us for thread in report.calibrations],
        "Latency": [report.latency.mean] if report.latency else [],
        # which is counted once the calibration is over
        "Req/Sec": [report.requests_per_thread.mean] if report.requests_per_thread and not report.calibrations else [],
    }
    return [name for name, values in means.items() if any(value is not None and math.isnan(value) for value in values)]


@rule("RUN001", "too-short", Severity.ERROR, "run at least 30 s: wrk2 spends the first 10 s on calibration")
def _too_short(output: Output) -> Iterator[Seen]:
    """The run is too short for wrk2 to calibrate."""
    if output.tool != WRK2:
        return
    duration, broken = finite(output.duration_s), not_a_number(output.report)
    parts = []
    if duration is not None and duration <= WRK2_WARM_UP_S:
        parts.append(f"{words.seconds(duration)} is no longer than wrk2's calibration of {WRK2_WARM_UP_S:g} s")
    if broken:
        parts.append(f"{words.listed(broken)} {'is' if len(broken) == 1 else 'are'} -nan")
    if parts:
        text = f"{'; '.join(parts)}: the warm-up is in the figures, or nothing is"
        yield Seen(output, text, {"duration_s": duration, "not_a_number": ", ".join(broken)})


@rule(
    "RUN002", "connections-lost", Severity.WARNING, "choose a number of connections that is a multiple of the threads"
)
def _lost_connections(output: Output) -> Iterator[Seen]:
    """Connections are lost because they do not divide among the threads."""
    threads, connections, whole = output.threads, output.connections, opened(output)
    if threads and connections != whole:
        setting = f"{words.count(connections)} connections over {words.count(threads)} threads"
        text = f"{setting}: the generator rounds down and opens {words.count(whole)}"
        yield Seen(output, text, {"connections": connections, "threads": threads, "opened": whole})


@rule("RUN003", "diagnostics", Severity.WARNING, "read it; keep standard error apart from the output")
def _diagnostics(output: Output) -> Iterator[Seen]:
    """The generator, or the terminal, says something between the lines of the output."""
    lines = [line for line in output.report.diagnostics if _COMPLAINT.search(line)]
    late = [line for line in output.report.extra if _LATE.search(line)]
    if not lines and not late:
        return
    shown = [line[:SHOWN_CHARACTERS] for line in (*lines, *late)[:SHOWN_LINES]]
    text = f"between the lines of the output stands: {words.listed(repr(line) for line in shown)}"
    yield Seen(output, text, {"lines": len(lines) + len(late)})


def left_out_by_warm_up(output: Output) -> float | None:
    """Return the number of requests that wrk2 leaves out because of its warm-up, at the run's rate."""
    rate = achieved_rps(output) or output.offered_rps
    return rate * warm_up_s(output) if rate else None


@rule(
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
        f"{words.count(lost)} of {words.count(requests)} requests, about the first "
        f"{words.seconds(lost / usual * warm_up_s(output))}, are in the rate and not in the percentiles"
    )
    yield Seen(output, text, {"left_out": lost, "requests": requests, "recorded": requests - lost})


@rule("RUN005", "cut-output", Severity.WARNING, lambda output: f"publish the whole output; {more_percentiles(output)}")
def _cut(output: Output) -> Iterator[Seen]:
    """The output is cut, or was asked for less than a reader needs."""
    report = output.report
    uncounted = bool(report.latencies.rows) and report.requests is None and report.requests_per_s is None
    if not output.missing or output.columns > 1 or uncounted:
        return  # that a bare table of percentiles lacks their number is SMP002
    text, threads = f"the output lacks {words.listed(output.missing)}", output.threads
    mean = finite(report.requests_per_thread.mean) if report.requests_per_thread else None
    if report.requests_per_s is None and mean and threads and threads > 1:
        text += (
            f"; Req/Sec is of one of {threads} threads: {words.rate(mean)} is about {words.rate(threads * mean)} in all"
        )
    yield Seen(output, text, {"missing": len(output.missing)}, size=len(output.missing))


@rule("RUN007", "stopped-early", Severity.WARNING, "let the run go on to its end, or say for how long it ran")
def _stopped(output: Output) -> Iterator[Seen]:
    """The run ended before its time, as one that is stopped by ^C."""
    elapsed_s, planned_s = finite(output.report.elapsed_s), finite(output.report.duration_s)
    if elapsed_s is None or not planned_s:
        return
    early = elapsed_s < ENDED_EARLY * planned_s and not is_of_no_run(output)
    if early or output.report.interrupted:
        text = f"it ran for {words.seconds(elapsed_s)} of {words.seconds(planned_s)}"
        yield Seen(output, text, {"elapsed_s": elapsed_s, "duration_s": planned_s}, size=1 - elapsed_s / planned_s)


@rule(
    "RUN008",
    "slow-to-open",
    Severity.WARNING,
    "use more threads or fewer connections, and run for much longer than they take to open",
)
def _slow_to_open(output: Output) -> Iterator[Seen]:
    """wrk2 opens its connections one by one, and the rate is not offered until they are open."""
    opening, duration = opening_s(output), finite(output.duration_s)
    if duration and opening >= max(LEAST_OPENING_S, OPENING * duration):
        text = (
            f"wrk2 opens a thread's connections one in 5 ms: {words.count(output.connections)} over "
            f"{words.several(output.threads or 1, 'thread')} take {words.seconds(opening)} "
            f"of {words.seconds(duration)}, in which less than the rate is offered"
        )
        yield Seen(output, text, {"opening_s": opening, "duration_s": duration}, size=opening / duration)


@rule("RUN009", "another-commands-output", Severity.WARNING, "give the command that this output is of")
def _other_command(output: Output) -> Iterator[Seen]:
    """The command says another duration than the output."""
    command, printed_s = output.report.command, output.report.duration_s
    commanded_s = command.duration_s if command else None
    if commanded_s and printed_s and abs(commanded_s / printed_s - 1) > SAME_DURATION and is_like_wrk(output.tool):
        text = f"the command runs for {words.seconds(commanded_s)}, and the output for {words.seconds(printed_s)}"
        yield Seen(output, text, {"asked_s": commanded_s, "ran_s": printed_s}, size=abs(commanded_s - printed_s))


RULES = (_too_short, _other_command, _stopped, _slow_to_open, _lost_connections, _diagnostics, _cut, _warm_up)
