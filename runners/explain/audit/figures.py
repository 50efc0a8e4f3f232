"""What the rules ask of an output: its percentiles, its samples, its rate."""

from __future__ import annotations

import math

from runners.read.outputs import Output

HELD = 0.99  # a rate is held when at least this share of what was offered was answered
WRK2_TICK_US = 1_000.0  # wrk2 rounds each wait up to a whole millisecond (its event loop's timer, ae.c)
WRK2_WARM_UP_S = 10.0  # wrk2 records nothing before its calibration is done, 10 s after the start ...
WRK2_WARM_UP_PER_CONNECTION_S = 0.005  # ... which the setting up of connections puts off


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def at(output: Output, level: float) -> float | None:
    """A percentile (0..1) in microseconds, finite."""
    return finite(output.report.latencies.at(level))


def typical_us(output: Output) -> float | None:
    """The median, or the mean where there are no percentiles."""
    median = at(output, 0.5)
    if median is not None:
        return median
    return finite(output.report.latency.mean) if output.report.latency else None


def largest_us(output: Output) -> float | None:
    return finite(output.report.max_us)


def achieved_rps(output: Output) -> float | None:
    return finite(output.report.requests_per_s)


def is_open_loop(output: Output) -> bool:
    """Whether requests leave on a schedule: wrk2, loadgen with a rate, or an output that does not say."""
    return output.tool != "wrk" and not (output.tool == "loadgen" and output.offered_rps is None)


def fell_short(output: Output) -> bool:
    """Whether less was answered than was offered."""
    offered, achieved = output.offered_rps, achieved_rps(output)
    return bool(is_open_loop(output) and offered and achieved is not None and achieved < HELD * offered)


def warm_up_s(output: Output) -> float:
    """What wrk2 leaves out of its histogram at the start."""
    return WRK2_WARM_UP_S + WRK2_WARM_UP_PER_CONNECTION_S * (output.connections or 0)


def samples(output: Output) -> tuple[int | None, bool]:
    """How many latencies the percentiles rest on, and whether that is counted (or reckoned from rate and time)."""
    counted = output.report.latencies.count
    if counted is not None:
        return counted, True
    if output.tool == "wrk":
        return output.report.requests, True
    rate, duration = achieved_rps(output) or finite(output.offered_rps), finite(output.duration_s)
    if output.tool == "wrk2" and rate and duration and duration > warm_up_s(output):
        return round(rate * (duration - warm_up_s(output))), False
    return None, False


def has_latency(output: Output) -> bool:
    return bool(output.report.latencies.rows or output.report.latencies.spectrum) or output.report.latency is not None
