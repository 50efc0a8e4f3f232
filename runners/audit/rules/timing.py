"""Rules TIM and NET: latencies that a timer causes, not the server.

A generator that rounds its waits up to a timer tick sends each request late by an amount that is spread evenly over one
tick. If the server is much faster, the latency grows linearly with the percentile, from almost nothing to about a tick.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runners import words
from runners.audit import figures
from runners.audit.rule import Seen, rule, said
from runners.readers.output import Output
from runners.readers.tools import WRK, WRK2, facts

Floats = npt.NDArray[np.float64]

UP_TO = 0.9
FEWEST_ROWS = 8
STRAIGHT_R2 = 0.995
LARGEST_DEVIATION = 0.05
TIMER_US = (700.0, 1_600.0)  # range of widths that a millisecond tick gives, with the time of wake-up and server


@dataclass(frozen=True, slots=True)
class TimerFit:
    """A straight line fitted to latency over percentile, up to p90.

    A good fit means latencies that are spread evenly, as a timer with a fixed tick makes them. There is no p-value:
    with millions of samples any difference is significant.
    """

    width_us: float  # the line's slope: the width of the uniform distribution
    start_us: float  # the line's latency at percentile 0
    r_squared: float
    deviation: float  # the largest distance from the line / width (Kolmogorov distance)
    rows: int  # the number of percentiles up to p90

    @property
    def spans_a_tick(self) -> bool:
        """Whether the line rises from near zero by about one millisecond."""
        low, high = TIMER_US
        return low <= self.width_us <= high and abs(self.start_us) <= 0.25 * self.width_us

    @property
    def is_millisecond_timer(self) -> bool:
        """Whether latencies are spread evenly over about one millisecond."""
        straight = self.rows >= FEWEST_ROWS and self.r_squared >= STRAIGHT_R2 and self.deviation <= LARGEST_DEVIATION
        return straight and self.spans_a_tick


def straight_line(percentiles: Sequence[float] | Floats, values_us: Sequence[float] | Floats) -> TimerFit | None:
    """Return the least-squares line through latencies (us) at percentiles (0..1) up to p90; None for under 3 points."""
    x, y = np.asarray(percentiles, float), np.asarray(values_us, float)
    below = (x <= UP_TO) & np.isfinite(y)
    x, y = x[below], y[below]
    if len(x) < 3 or x[0] == x[-1]:
        return None
    across, up = x - x.mean(), y - y.mean()  # scipy takes longer to import than an audit does
    slope = float(across @ up / (across @ across))
    start = float(y.mean() - slope * x.mean())
    r_squared = float((across @ up) ** 2 / ((across @ across) * (up @ up))) if np.ptp(y) else math.nan
    deviation = float(np.abs(y - (slope * x + start)).max()) / slope if slope > 0 else math.inf
    return TimerFit(slope, start, r_squared, deviation, len(x))


ROW_LEVELS = (0.5, 0.75, 0.9)
ROWS_R2 = 0.998  # three rounded figures fit a line more easily than a hundred
NEAR_TICKS = 2.0
FAR_ABOVE = 10.0
MOST_FAILED = 0.5  # share of the requests; if more failed, a median of nothing is that of refusals
PLATEAU_US = (39_000.0, 46_000.0)  # Linux holds a delayed ACK back for 40 ms
PLATEAU_WIDTH = 0.1
PLATEAU_WIDTH_P90 = 0.25  # where p75 is not given


def timer_line(output: Output) -> TimerFit | None:
    """Return the line fitted to latency over percentile up to p90 if it shows a timer with a 1 ms tick, else None."""
    rows = output.report.latencies.spectrum
    line = straight_line([row.percentile for row in rows], [row.value_ms * 1000 for row in rows])
    if line is not None:
        return line if line.is_millisecond_timer else None
    values = [value for level in ROW_LEVELS if (value := figures.at(output, level)) is not None]
    line = straight_line(ROW_LEVELS, values) if len(values) == len(ROW_LEVELS) else None
    return line if line is not None and line.r_squared >= ROWS_R2 and line.spans_a_tick else None


@rule("TIM001")
def _generator_timer(output: Output) -> Iterator[Seen]:
    line = timer_line(output) if output.tool != WRK else None
    median = figures.at(output, 0.5)
    if line is None or median is None:
        return
    whole = output.report.latencies.spectrum  # three points show the shape and no more
    whose = "the generator's timer, not the server" if whole else "mostly the generator's timer"
    text = said("TIM001", words.latency(median), whose, words.latency(line.width_us))
    fit = {"width_us": round(line.width_us, 1), "r_squared": round(line.r_squared, 5), "points": line.rows}
    yield Seen(output, text, {"p50_us": round(median, 1), **fit}, size=-median)


@rule("TIM002")
def _below_resolution(output: Output) -> Iterator[Seen]:
    median, rows = figures.at(output, 0.5), output.report.latencies.rows
    which, middle_us = ("median", median) if median is not None else ("mean", figures.mean_us(output))
    if middle_us is None or not 0 <= middle_us <= NEAR_TICKS * figures.TICK_US or not figures.has_latency(output):
        return
    upper = figures.at(output, 0.9) or figures.at(output, 0.95)
    if upper is not None and upper >= FAR_ABOVE * (middle_us or figures.TICK_US):
        return  # the tail is far above a tick: the timer does not matter
    failed = figures.failed_share(output) > MOST_FAILED
    whole = bool(rows) and not failed and all(value % figures.TICK_US == 0 for level, value in rows if level < 1)
    if output.tool == WRK2 and middle_us and timer_line(output) is None:
        text = f"wrk2's timer adds up to 1 to 2 ms to a response time, and the {which} is {words.latency(middle_us)}"
    elif facts(output.tool).whole_ms and whole:
        text = f"{output.tool} prints whole milliseconds, and the {which} is {words.latency(middle_us)}"
    else:
        return
    evidence = {f"{which}_us": round(middle_us, 1), "tick_us": figures.TICK_US}
    yield Seen(output, f"{text}: how much of it is the server's can't be known", evidence, size=-middle_us)


@rule("NET001")
def _delayed_ack(output: Output) -> Iterator[Seen]:
    low, high = PLATEAU_US
    median, upper, width = figures.at(output, 0.5), figures.at(output, 0.75), PLATEAU_WIDTH
    if upper is None:
        known = (figures.at(output, level) for level in (0.9, 0.95, 0.975, 0.99))
        upper, width = next(filter(None, known), None), PLATEAU_WIDTH_P90
    stats = output.report.latency
    if median is None and stats is not None:  # no percentiles: a mean with little spread stands for them
        mean, stdev = words.finite(stats.mean), words.finite(stats.stdev)
        if mean is None or stdev is None or stdev > PLATEAU_WIDTH * mean:
            return
        median, upper = mean, mean
    if median is None or upper is None or not low <= median <= high or upper > median * (1 + width):
        return
    text = said("NET001", words.latency(median))
    evidence = {"p50_us": round(median, 1), "p75_us": round(upper, 1)}
    if output.report.requests_per_s and output.connections:
        evidence["requests_per_s_and_connection"] = round(output.report.requests_per_s / output.connections, 2)
    yield Seen(output, text, evidence, size=median)
