"""TIM and NET: latencies that are a timer's, not the server's."""

from __future__ import annotations

from collections.abc import Iterator

from runners.audit.figures import TICK_US, at, finite, typical_us
from runners.audit.rule import Rule, Seen, each
from runners.readers import write
from runners.readers.other_tools import WHOLE_MILLISECONDS
from runners.readers.outputs import Output
from runners.readers.severity import Severity
from runners.readers.timer import TICK_US as TIMER_US
from runners.readers.timer import TimerFit, straight_line

ROW_LEVELS = (0.5, 0.75, 0.9)
ROWS_R2 = 0.998  # three rounded figures fit a line more easily than a hundred
NEAR_TICKS = 2.0
BESIDE = 10.0
PLATEAU_US = (39_000.0, 46_000.0)  # Linux holds a delayed ACK back for 40 ms
PLATEAU_WIDTH = 0.1
PLATEAU_WIDTH_P90 = 0.25  # where p75 is not given


def timer_line(output: Output) -> TimerFit | None:
    """The straight line through the percentiles up to p90, if it is a millisecond timer's."""
    rows = output.report.latencies.spectrum
    line = straight_line([row.percentile for row in rows], [row.value_ms * 1000 for row in rows])
    if line is not None:
        return line if line.is_millisecond_timer else None
    values = [at(output, level) for level in ROW_LEVELS]
    line = straight_line(ROW_LEVELS, [value for value in values if value is not None]) if None not in values else None
    if line is None or line.r_squared < ROWS_R2 or not TIMER_US[0] <= line.width_us <= TIMER_US[1]:
        return None
    return line if abs(line.start_us) <= 0.25 * line.width_us else None


def at_timer(output: Output) -> bool:
    """Tell whether the median of an output is the generator's timer, or too near to it to be distinguished from it."""
    return any(True for _ in (*_generator_timer(output), *_below_resolution(output)))


def _generator_timer(output: Output) -> Iterator[Seen]:
    line = timer_line(output) if output.tool != "wrk" else None
    median = at(output, 0.5)
    if line is None or median is None:
        return
    rest = ", not the server" if output.report.latencies.spectrum else ""  # three points show the shape and no more
    whose = f"{'' if rest else 'mostly '}the generator's timer{rest}"
    text = (
        f"the median of {write.latency(median)} is {whose}: up to p90 the latency "
        f" grows evenly over {write.latency(line.width_us)}"
    )
    evidence: dict[str, write.Value] = {
        "p50_us": round(median, 1),
        "width_us": round(line.width_us, 1),
        "r_squared": round(line.r_squared, 5),
        "points": line.rows,
    }
    yield Seen(output, text, evidence)


def _tick(output: Output) -> str | None:
    """Name what a generator can resolve, where that is a millisecond: wrk2's timer, or figures in whole ones."""
    if output.tool == "wrk2":
        return None if timer_line(output) else f"ticks of wrk2's timer of {write.latency(TICK_US)}"
    rows = output.report.latencies.rows
    whole = (
        output.tool in WHOLE_MILLISECONDS and rows and all(value % TICK_US == 0 for level, value in rows if level < 1)
    )
    return f"of the whole milliseconds that {output.tool} prints" if whole else None


def _below_resolution(output: Output) -> Iterator[Seen]:
    typical, tick = typical_us(output), None
    if typical is None or typical > NEAR_TICKS * TICK_US or (tick := _tick(output)) is None:
        return
    upper = at(output, 0.9) or at(output, 0.95)
    if (
        typical < 0
        or (typical == 0 and output.tool == "wrk2")
        or (upper is not None and upper >= BESIDE * (typical or TICK_US))
    ):
        return  # true, and beside the point: the tail is not the timer's
    which = "median" if at(output, 0.5) is not None else "mean"
    text = (
        f"a {which} of {write.latency(typical)} is no more than {NEAR_TICKS:g} {tick}: how much of it is the server "
        "can't be known"
    )
    yield Seen(output, text, {f"{which}_us": round(typical, 1), "tick_us": TICK_US})


def _delayed_ack(output: Output) -> Iterator[Seen]:
    low, high = PLATEAU_US
    median, upper, width = at(output, 0.5), at(output, 0.75), PLATEAU_WIDTH
    if upper is None:
        known = (at(output, level) for level in (0.9, 0.95, 0.975, 0.99))
        upper, width = next(filter(None, known), None), PLATEAU_WIDTH_P90
    stats = output.report.latency
    if median is None and stats is not None:  # no percentiles: a mean with little spread stands for them
        mean, stdev = finite(stats.mean), finite(stats.stdev)
        if mean is None or stdev is None or stdev > PLATEAU_WIDTH * mean:
            return
        median, upper = mean, mean
    if median is None or upper is None or not low <= median <= high or upper > median * (1 + width):
        return
    text = (
        f"the median of {write.latency(median)} is the 40 ms for which the other side holds an acknowledgement back: "
        "the server writes a response in two parts, and Nagle's algorithm keeps the second one"
    )
    evidence: dict[str, write.Value] = {"p50_us": round(median, 1)}
    evidence["p75_us"] = round(upper, 1)
    if output.report.requests_per_s and output.connections:
        evidence["requests_per_s_and_connection"] = round(output.report.requests_per_s / output.connections, 2)
    yield Seen(output, text, evidence)


RULES = (
    Rule(
        "TIM001",
        "generator-timer",
        "Response times are the generator's timer: evenly spread over about a millisecond",
        Severity.ERROR,
        "measure with a generator that waits to the microsecond, or read wrk2's uncorrected figures (-U) beside it",
        each(_generator_timer),
    ),
    Rule(
        "TIM002",
        "below-resolution",
        "A median that is not far above what the generator can resolve",
        Severity.WARNING,
        "measure the same load against a handler that does nothing, and quote what lies above that",
        each(_below_resolution),
    ),
    Rule(
        "NET001",
        "delayed-ack",
        "A plateau at 40 ms: Nagle's algorithm waits for a delayed acknowledgement",
        Severity.ERROR,
        "set TCP_NODELAY on the server's sockets (for com.sun.net.httpserver: -Dsun.net.httpserver.nodelay=true), or "
        "write head and body at once",
        each(_delayed_ack),
    ),
)
