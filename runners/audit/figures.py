"""Figures that the rules derive from an output: latencies, rates, shortfall (what was offered but not achieved)."""

import math
import re

from runners.readers.console_report import ENOUGH_BEYOND, SocketErrors
from runners.readers.output import Output
from runners.readers.tools import TRUEPACE, WRK, WRK2, facts, is_like_wrk
from runners.words import finite

LEAST_ACHIEVED = 0.99  # the offered rate counts as achieved from this share of it on
BEYOND = 1.1  # share of the offered rate; a run that makes up for a late start stays below it
MOST_FAILED = 0.01  # share of the requests; if more failed, percentiles may be those of failures
FEW_ERRORS = 0.001  # a smaller share of errors hardly moves the rate or a percentile up to p99
CHECK_S = 2.0  # how often wrk2 looks for connections that wait too long
LEAST_LOST_S = 0.2  # a smaller shortfall is only the wait for the last responses
START_S = 0.5  # shortfall that the start of generator and server explains, besides the opening of connections
QUEUE_OF_LOST = 0.5  # share of the shortfall that the longest wait in a growing queue reaches
QUEUE_US = 1_000_000.0  # no key-value response takes a second; a queue does
QUEUE_SHARE = 0.25
SLOW_US = 50_000.0
BUSY = 0.5  # share of connections; if more are busy on average, requests wait for a free one and leave late
TICK_US = 1_000.0  # wrk2 rounds each wait up to a whole millisecond (ae.c); ab, Gatling and JMeter print whole ones
AT_BOUND = 0.98  # a maximum from this share of the time-out on may be that of requests that timed out
JUST_OVER = 1.02  # a late timer may report a time-out up to this factor later
BROKE_OFF = 0.5  # share of the planned duration; a run that ended earlier offered nothing in the rest of it
WRK2_WARM_UP_S = 10.0  # wrk2 records nothing before its calibration is done, 10 s after the start ...
WRK2_OPENS_S = 0.005  # ... which is put off by the opening of a thread's connections, one in 5 ms
_TIMED_OUT = re.compile(r"\btime(?:d |)out\b.*\bafter (\d{1,7}) ms\b")
COMMAND_CHARACTERS = 500  # at the beginning of a line, which have the tool and its first flag
FASTEST_RPS = 1e8  # no machine achieves a higher rate


def at(output: Output, level: float) -> float | None:
    """Return an output's latency (us) at the percentile `level` (0..1); None if this latency is not known or finite."""
    return finite(output.report.latencies.at(level))


def mean_us(output: Output) -> float | None:
    return finite(output.report.latency.mean) if output.report.latency else None


def largest_us(output: Output) -> float | None:
    return finite(output.report.max_us)


def achieved_rps(output: Output) -> float | None:
    return finite(output.report.requests_per_s)


def is_open_loop(output: Output) -> bool:
    """Return whether requests are sent on a schedule, as by wrk2 or by truepace at a rate; true for an unknown tool."""
    if output.report.closed_loop is not None:
        return not output.report.closed_loop
    return not facts(output.tool).closed_loop or (output.tool != WRK and output.offered_rps is not None)


def failed_share(output: Output) -> float:
    """Return the share (0..1) of an output's requests that failed; 0 if a number is unknown."""
    late = 0 if is_like_wrk(output.tool) else (output.report.socket_errors or SocketErrors()).timeout
    return min(1.0, (output.report.errors + late) / (output.report.requests or math.inf))


def is_of_no_run(output: Output) -> bool:
    """Return whether a run broke off in its first half, with a latency over twice the time it ran or an absurd rate."""
    elapsed_s, planned_s, rate = finite(output.report.elapsed_s), finite(output.report.duration_s), achieved_rps(output)
    longest = largest_us(output) or mean_us(output)
    if not elapsed_s or not planned_s or elapsed_s >= BROKE_OFF * planned_s:
        return False
    return bool(longest and longest / 1e6 > 2 * elapsed_s) or bool(rate and rate > FASTEST_RPS)


def exceeded(output: Output) -> bool:
    """Return whether an open loop achieved over 110 % of its offered rate, without the first request of connections."""
    offered, achieved, requests = output.offered_rps, achieved_rps(output), output.report.requests
    elapsed_s = finite(output.report.elapsed_s)
    if not offered or achieved is None or not is_open_loop(output) or is_of_no_run(output):
        return False
    if requests and elapsed_s:
        achieved = min(achieved, requests / elapsed_s)  # a mean of intervals may exceed it
    at_once = (output.connections or 1) / (requests or math.inf)  # a connection need not wait with its first request
    return achieved * (1 - at_once) > BEYOND * offered


def opened(output: Output) -> int | None:
    """Return how many connections the tool opens; None if unknown. wrk and wrk2 round down to a multiple of threads."""
    connections, threads = output.connections, output.threads
    if not connections or not threads or not is_like_wrk(output.tool) or output.tool == TRUEPACE:
        return connections
    return connections // threads * threads


def opening_s(output: Output) -> float:
    """Return how long (s) a tool that opens a connection per 5 ms in every thread, as wrk2 does, takes to open all."""
    return WRK2_OPENS_S * math.ceil((output.connections or 0) / (output.threads or 1))


def commands_above(output: Output) -> list[str]:
    """Return the lines above an output that have a command of its tool."""
    command = re.compile(rf"(?i)\b{re.escape(output.tool or WRK)}\S*\s(?:.*\s)?-")
    return [line.text for line in output.text_above if command.search(line.text[:COMMAND_CHARACTERS])]


def slow_from_the_start(output: Output) -> bool:
    """Return whether the fastest response took at least half of the median; False if either is unknown.

    If so, responses were slow all along, and no queue grew: in a growing queue, the first requests hardly wait.
    """
    least, median = output.report.least_us, at(output, 0.5)
    return least is not None and median is not None and least >= 0.5 * median > 0


def fell_short(output: Output) -> bool:
    """Return whether the achieved rate is below the offered rate by more than the start of the run explains."""
    offered, achieved = output.offered_rps, _responded_rps(output)
    if not is_open_loop(output) or not offered or achieved is None or achieved >= LEAST_ACHIEVED * offered:
        return False
    if failed_share(output) == 1 and timeout_at(output, at(output, 0.5) or 0.0):
        return False
    lost, after = lost_s(output), rate_after_warm_up(output)
    median = None if slow_from_the_start(output) else at(output, 0.5)
    if lost is None or (median is not None and lost >= LEAST_LOST_S and median / 1e6 >= QUEUE_SHARE * lost):
        return True  # half of the requests waited: more than the start of a run explains
    upper = at(output, 0.75) if output.tool == WRK2 else None
    if upper is not None and lost >= LEAST_LOST_S and upper / 1e6 >= QUEUE_OF_LOST * lost:
        return True  # a quarter of the requests waited, after the calibration, about as long as the shortfall
    if output.tool == "vegeta":
        return False  # it sends at its rate whatever comes back: the shortfall is the wait for the last responses
    if lost <= opening_s(output) + START_S:
        return False
    return after is None or after < LEAST_ACHIEVED * offered


def _responded_rps(output: Output) -> float | None:
    achieved, duration, requests = achieved_rps(output), finite(output.duration_s), output.report.requests
    # the printed rate counts the wait for the last responses, so it may be the lower one
    whole = duration is not None and output.report.elapsed_s is not None and output.report.elapsed_s >= duration
    return max(achieved, requests / duration) if achieved is not None and requests and duration and whole else achieved


def lost_s(output: Output) -> float | None:
    """Return the shortfall in s of load, (1 - achieved / offered) * duration; None if a rate or duration is unknown."""
    offered, achieved, duration = output.offered_rps, _responded_rps(output), finite(output.duration_s)
    elapsed = finite(output.report.elapsed_s)
    if duration and elapsed and elapsed < BROKE_OFF * duration:
        duration = elapsed
    return (1 - achieved / offered) * duration if offered and achieved is not None and duration else None


def rate_after_warm_up(output: Output) -> float | None:
    """Return wrk2's rate (requests/s) after its calibration; None for another tool, a short run or unknown samples."""
    recorded = output.report.latencies.count
    duration = min(filter(None, (finite(output.duration_s), finite(output.report.elapsed_s))), default=None)
    if output.tool != WRK2 or recorded is None or not duration or duration <= 2 * WRK2_WARM_UP_S:
        return None
    return recorded / (duration - warm_up_s(output)) if duration > warm_up_s(output) else None


def left_out(output: Output) -> int | None:
    """Return the number of responses that wrk2's histogram leaves out; None for another tool or an unknown number."""
    recorded, requests = output.report.latencies.count, output.report.requests
    return None if output.tool != WRK2 or recorded is None or requests is None else requests - recorded


def timeout_at(output: Output, latency_us: float) -> float | None:
    """Return the time-out (s) at which a latency lies; None if at none, or if no request failed, as late ones do."""
    report, default_s, command = output.report, facts(output.tool).timeout_s, output.command
    lost = report.socket_errors or SocketErrors()
    if report.latencies.count is None and not (lost.timeout if output.tool == WRK else report.errors + lost.total):
        return None  # a table of samples may leave out what failed
    stated_s = (command.timeout_s if command else None) or report.timeout_s
    whole_s = round((largest_us(output) or 0.0) / 1e6) if report.timed_out and not stated_s else 0
    printed = (int(ms) / 1e3 for line in report.diagnostics for ms in _TIMED_OUT.findall(line))
    limits_s = ((default_s and stated_s) or default_s or 0.0, *printed, whole_s)
    return next((float(s) for s in limits_s if 0 < AT_BOUND * s <= latency_us / 1e6 <= JUST_OVER * s), None)


def has_queue(output: Output) -> bool:
    """Return whether a queue of requests grew during the run: the longest wait is at least half of `lost_s`.

    If the shortfall is not known: the maximum is at least a second, and the median at least a quarter of the maximum.
    """
    largest, lost, median = largest_us(output), lost_s(output), at(output, 0.5)
    if largest is None or not is_open_loop(output) or timeout_at(output, median or 0.0) or slow_from_the_start(output):
        return False
    if median is None and output.tool == WRK2:
        median = mean_us(output)  # which is near the median of a queue that grows evenly
    if fell_short(output) and lost is not None:
        return largest / 1e6 >= QUEUE_OF_LOST * lost
    unknown = output.offered_rps is None or achieved_rps(output) is None or fell_short(output)
    unknown = unknown and (samples(output)[0] or ENOUGH_BEYOND * 2) >= ENOUGH_BEYOND * 2  # fewer have no median
    unknown = unknown and failed_share(output) <= MOST_FAILED  # else the wait may be that of failures
    return unknown and largest >= QUEUE_US and median is not None and median >= QUEUE_SHARE * largest


def never_offered(output: Output) -> bool:
    """Return whether the offered rate was not sent: it was missed, yet no queue grew and connections were not busy."""
    known = largest_us(output) is not None and lost_s(output) is not None
    return known and fell_short(output) and not has_queue(output) and not is_busy(output)


def is_busy(output: Output) -> bool:
    """Return whether at least the share BUSY of the connections awaited a response on average, by Little's law."""
    rate, mean, connections = achieved_rps(output), mean_us(output), opened(output)
    if not rate or not mean or (output.tool in (WRK2, TRUEPACE) and mean < SLOW_US):
        return False  # their latency counts from the intended start: only slow responses keep connections busy
    return connections is None or rate * mean / 1e6 >= BUSY * connections


def warm_up_s(output: Output) -> float:
    """Return the seconds at the start of a run in which wrk2 leaves responses out of its histogram."""
    return WRK2_WARM_UP_S + opening_s(output)


def samples(output: Output) -> tuple[int | None, bool]:
    """Return (number of samples behind the percentiles, None if unknown; whether it was counted, not estimated)."""
    report, counted = output.report, output.report.latencies.count
    if counted is not None:
        return counted, True
    if output.tool == WRK and report.requests is not None:  # late responses are in no percentile
        return report.requests - (report.socket_errors.timeout if report.socket_errors else 0), True
    if not is_like_wrk(output.tool):
        return report.requests, True
    rate, duration = achieved_rps(output) or finite(output.offered_rps), finite(output.duration_s)
    if output.tool == WRK2 and rate and duration and duration > warm_up_s(output):
        return round(rate * (duration - warm_up_s(output))), False
    return None, False


def dead_connections(output: Output) -> int:
    """Estimate the number of connections without any response, each of which wrk2 counts as a time-out every 2 s."""
    errors, of_wrk = output.report.socket_errors, output.tool == WRK  # wrk 3, whose first check counts too
    duration = finite(output.report.elapsed_s if of_wrk else output.duration_s)
    if errors is None or not errors.timeout:
        return 0
    checks = max(1.0, duration // CHECK_S - (not of_wrk)) if duration else 1.0
    return min(output.connections or errors.timeout, max(1, round(errors.timeout / checks)))


def has_latency(output: Output) -> bool:
    """Return whether an output gives any latency. Zeros do not count: some tools print them without a response."""
    latencies, stats = output.report.latencies, output.report.latency
    printed = any(value for _, value in latencies.rows) or bool(latencies.spectrum)
    nothing = stats is None or (not stats.mean and (bool(latencies.rows) or stats.mean == stats.max == 0))
    return printed or not nothing
