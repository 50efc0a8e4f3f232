"""RUN: how the generator was run, and what it said about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from runners import words
from runners.audit import figures
from runners.audit.rule import Seen, rule
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


@rule("RUN001")
def _too_short(output: Output) -> Iterator[Seen]:
    if output.tool != WRK2:
        return
    report, duration, parts = output.report, figures.finite(output.duration_s), []
    means = {
        "calibration": [thread.mean_us for thread in report.calibrations],
        "Latency": [report.latency.mean] if report.latency else [],
        # which is counted once the calibration is over
        "Req/Sec": [report.requests_per_thread.mean] if report.requests_per_thread and not report.calibrations else [],
    }
    broken = [name for name, values in means.items() if any(math.isnan(value or 0.0) for value in values)]
    if duration is not None and duration <= figures.WRK2_WARM_UP_S:
        parts.append(f"{words.seconds(duration)} is no longer than wrk2's calibration of {figures.WRK2_WARM_UP_S:g} s")
    if broken:
        parts.append(f"{words.listed(broken)} {'is' if len(broken) == 1 else 'are'} -nan")
    if parts:
        text = f"{'; '.join(parts)}: the warm-up is in the figures, or nothing is"
        yield Seen(output, text, {"duration_s": duration, "not_a_number": ", ".join(broken)})


@rule("RUN002")
def _lost_connections(output: Output) -> Iterator[Seen]:
    threads, connections, whole = output.threads, output.connections, figures.opened(output)
    if threads and connections != whole:
        setting = f"{words.count(connections)} connections over {words.count(threads)} threads"
        text = f"{setting}: the generator rounds down and opens {words.count(whole)}"
        yield Seen(output, text, {"connections": connections, "threads": threads, "opened": whole})


@rule("RUN003")
def _diagnostics(output: Output) -> Iterator[Seen]:
    lines = [line for line in output.report.diagnostics if _COMPLAINT.search(line)]
    lines += [line for line in output.report.extra if _LATE.search(line)]
    if lines:
        shown = words.listed(repr(line[:SHOWN_CHARACTERS]) for line in lines[:SHOWN_LINES])
        yield Seen(output, f"between the lines of the output stands: {shown}", {"lines": len(lines)})


def left_out_by_warm_up(output: Output) -> float | None:
    """Return the number of requests that wrk2 leaves out because of its warm-up, at the run's rate."""
    rate = figures.achieved_rps(output) or output.offered_rps
    return rate * figures.warm_up_s(output) if rate else None


@rule("RUN004")
def _warm_up(output: Output) -> Iterator[Seen]:
    lost, usual, requests = figures.left_out(output), left_out_by_warm_up(output), output.report.requests
    short = output.duration_s is not None and output.duration_s <= figures.WRK2_WARM_UP_S
    if short or not lost or lost < 0 or not usual or not requests or lost > WARM_UP_SLACK * usual:
        return
    text = (
        f"{words.count(lost)} of {words.count(requests)} requests, those of the first "
        f"{words.seconds(figures.warm_up_s(output))}, are in the rate and not in the percentiles"
    )
    yield Seen(output, text, {"left_out": lost, "requests": requests, "recorded": requests - lost})


@rule("RUN005")
def _cut(output: Output) -> Iterator[Seen]:
    report = output.report
    uncounted = bool(report.latencies.rows) and report.requests is None and report.requests_per_s is None
    if not output.missing or output.columns > 1 or uncounted:
        return  # that a bare table of percentiles lacks their number is SMP002
    text, threads = f"the output lacks {words.listed(output.missing)}", output.threads
    mean = figures.finite(report.requests_per_thread.mean) if report.requests_per_thread else None
    if report.requests_per_s is None and mean and threads and threads > 1:
        text += (
            f"; Req/Sec is of one of {threads} threads: {words.rate(mean)} is about {words.rate(threads * mean)} in all"
        )
    yield Seen(output, text, {"missing": len(output.missing)}, size=len(output.missing))


@rule("RUN007")
def _stopped(output: Output) -> Iterator[Seen]:
    elapsed_s, planned_s = figures.finite(output.report.elapsed_s), figures.finite(output.report.duration_s)
    if elapsed_s is None or not planned_s:
        return
    early = elapsed_s < ENDED_EARLY * planned_s and not figures.is_of_no_run(output)
    if early or output.report.interrupted:
        text = f"it ran for {words.seconds(elapsed_s)} of {words.seconds(planned_s)}"
        yield Seen(output, text, {"elapsed_s": elapsed_s, "duration_s": planned_s}, size=1 - elapsed_s / planned_s)


@rule("RUN008")
def _slow_to_open(output: Output) -> Iterator[Seen]:
    opening, duration = figures.opening_s(output), figures.finite(output.duration_s)
    if duration and opening >= max(LEAST_OPENING_S, OPENING * duration):
        text = (
            f"wrk2 opens a thread's connections one in 5 ms: {words.count(output.connections)} over "
            f"{words.several(output.threads or 1, 'thread')} take {words.seconds(opening)} "
            f"of {words.seconds(duration)}, in which less than the rate is offered"
        )
        yield Seen(output, text, {"opening_s": opening, "duration_s": duration}, size=opening / duration)


@rule("RUN009")
def _other_command(output: Output) -> Iterator[Seen]:
    command, printed_s = output.report.command, output.report.duration_s or output.report.elapsed_s
    commanded_s = command.duration_s if command else None
    if commanded_s and printed_s and abs(commanded_s / printed_s - 1) > SAME_DURATION and is_like_wrk(output.tool):
        text = f"the command runs for {words.seconds(commanded_s)}, and the output for {words.seconds(printed_s)}"
        yield Seen(output, text, {"asked_s": commanded_s, "ran_s": printed_s}, size=abs(commanded_s - printed_s))
