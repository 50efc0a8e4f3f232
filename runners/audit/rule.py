"""What a rule of the audit is, what it asks of an output, and what it leaves behind where it finds something."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from runners.readers.finding import Severity
from runners.readers.other_tools import CLOSED_LOOPS, OTHER_TOOLS
from runners.readers.output import Output
from runners.readers.write import Value

LEAST_ACHIEVED = 0.99  # a rate is achieved when at least this share of what was offered was achieved
CHECK_S = 2.0  # how often wrk and wrk2 look for connections that wait too long
LEAST_LOST_S = 0.2  # less is the wait for the last responses
START_S = 0.5  # what a generator and a server that have just started may lose besides
QUEUE_OF_LOST = 0.5  # a queue that grows all the time ends at the shortfall; one that began late, somewhat below
QUEUE_US = 1_000_000.0  # no key-value response takes a second; a queue does
QUEUE_SHARE = 0.25
TICK_US = 1_000.0  # wrk2 rounds each wait up to a whole millisecond (ae.c); ab, Gatling and JMeter print whole ones
BROKE_OFF = 0.5  # of the time that was asked for: a run that ended before had nothing to offer afterwards
WRK2_WARM_UP_S = 10.0  # wrk2 records nothing before its calibration is done, 10 s after the start ...
WRK2_WARM_UP_PER_CONNECTION_S = 0.005  # ... which the setting up of connections puts off
#: The outputs of one report, in order. Most rules look at each alone.
Group = Sequence[Output]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rule saw in one output. `severity` is given where it is milder than the rule's own."""

    output: Output
    text: str
    evidence: dict[str, Value] = field(default_factory=dict)
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, its name, one line on what it finds, how grave that is, the cure, and the look itself."""

    code: str
    name: str
    reason: str
    severity: Severity
    remedy: str
    look: Callable[[Group], Iterable[Seen]]


def rule(code: str, name: str, severity: Severity, remedy: str) -> Callable[[Callable[[Group], Iterable[Seen]]], Rule]:
    """Make a rule of the function that looks at a group; the first line of its docstring says what it finds."""

    def made(look: Callable[[Group], Iterable[Seen]]) -> Rule:
        reason = (look.__doc__ or "").partition("\n")[0].removesuffix(".")
        return Rule(code, name, reason, severity, remedy, look)

    return made


def rule_of_output(
    code: str, name: str, severity: Severity, remedy: str
) -> Callable[[Callable[[Output], Iterable[Seen]]], Rule]:
    """Make a rule of the function that looks at one output alone."""

    def made(look: Callable[[Output], Iterable[Seen]]) -> Rule:
        def look_at_each(group: Group) -> Iterator[Seen]:
            for output in group:
                yield from look(output)

        look_at_each.__doc__ = look.__doc__
        return rule(code, name, severity, remedy)(look_at_each)

    return made


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding of the audit, at its place."""

    rule: Rule
    seen: Seen

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def severity(self) -> Severity:
        return self.seen.severity or self.rule.severity

    @property
    def output(self) -> Output:
        return self.seen.output


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def at(output: Output, level: float) -> float | None:
    """Return a percentile (0..1) in microseconds, finite."""
    return finite(output.report.latencies.at(level))


def central_us(output: Output) -> float | None:
    """Return the median, or the mean where there are no percentiles."""
    median = at(output, 0.5)
    if median is not None:
        return median
    return finite(output.report.latency.mean) if output.report.latency else None


def largest_us(output: Output) -> float | None:
    return finite(output.report.max_us)


def achieved_rps(output: Output) -> float | None:
    return finite(output.report.requests_per_s)


def is_open_loop(output: Output) -> bool:
    """Return whether requests leave on a schedule: wrk2, truepace with a rate, or an output that does not say."""
    if output.report.closed_loop is not None:
        return not output.report.closed_loop
    return output.tool not in CLOSED_LOOPS and not (output.tool == "truepace" and output.offered_rps is None)


def fell_short(output: Output) -> bool:
    """Tell whether less was achieved than was offered, by more than the start of the run explains."""
    offered, achieved = output.offered_rps, responded_rps(output)
    if not is_open_loop(output) or not offered or achieved is None or achieved >= LEAST_ACHIEVED * offered:
        return False
    lost, after, median = lost_s(output), rate_after_warm_up(output), at(output, 0.5)
    if lost is None or (median is not None and lost >= LEAST_LOST_S and median / 1e6 >= QUEUE_SHARE * lost):
        return True  # half of the requests waited: that is no start
    upper = at(output, 0.75) if output.tool == "wrk2" else None
    if upper is not None and lost >= LEAST_LOST_S and upper / 1e6 >= QUEUE_OF_LOST * lost:
        return True  # a quarter of them waited after the calibration for about what was lost
    if lost <= WRK2_WARM_UP_PER_CONNECTION_S * (output.connections or 0) + START_S:
        return False
    return after is None or after < LEAST_ACHIEVED * offered


def responded_rps(output: Output) -> float | None:
    """Return the rate over the time that was asked for: Requests/sec counts the wait for the last responses too."""
    achieved, duration, requests = achieved_rps(output), finite(output.duration_s), output.report.requests
    whole = duration is not None and output.report.elapsed_s is not None and output.report.elapsed_s >= duration
    return max(achieved, requests / duration) if achieved is not None and requests and duration and whole else achieved


def lost_s(output: Output) -> float | None:
    """Express the shortfall as the time without any response that would explain it."""
    offered, achieved, duration = output.offered_rps, responded_rps(output), finite(output.duration_s)
    elapsed = finite(output.report.elapsed_s)
    if duration and elapsed and elapsed < BROKE_OFF * duration:
        duration = elapsed
    return (1 - achieved / offered) * duration if offered and achieved is not None and duration else None


def rate_after_warm_up(output: Output) -> float | None:
    """Return the rate at which wrk2 recorded, once its calibration was over."""
    recorded = output.report.latencies.count
    duration = min(filter(None, (finite(output.duration_s), finite(output.report.elapsed_s))), default=None)
    if output.tool != "wrk2" or recorded is None or not duration or duration <= 2 * WRK2_WARM_UP_S:
        return None
    return recorded / (duration - warm_up_s(output))


def rate_in_warm_up(output: Output) -> float | None:
    """Return the rate while wrk2 calibrated: of the responses that it did not record."""
    recorded, requests = output.report.latencies.count, output.report.requests
    if output.tool != "wrk2" or recorded is None or requests is None or requests < recorded:
        return None
    return (requests - recorded) / warm_up_s(output)


def has_queue(output: Output) -> bool:
    """Tell whether requests waited for about as long as the shortfall, as they do in a queue that grows.

    Where the shortfall is not known, a median of a quarter of a maximum above a second stands for it.
    """
    largest, lost, median = largest_us(output), lost_s(output), at(output, 0.5)
    if largest is None or not is_open_loop(output):
        return False
    if fell_short(output) and lost is not None:
        return largest / 1e6 >= QUEUE_OF_LOST * lost
    unknown = output.offered_rps is None or achieved_rps(output) is None or fell_short(output)
    return unknown and largest >= QUEUE_US and median is not None and median >= QUEUE_SHARE * largest


def never_offered(output: Output) -> bool:
    """Tell whether the rate was missed with no queue to show for it."""
    known = largest_us(output) is not None and lost_s(output) is not None
    return known and fell_short(output) and not has_queue(output)


def warm_up_s(output: Output) -> float:
    """Return what wrk2 leaves out of its histogram at the start."""
    return WRK2_WARM_UP_S + WRK2_WARM_UP_PER_CONNECTION_S * (output.connections or 0)


def samples(output: Output) -> tuple[int | None, bool]:
    """Give how many latencies the percentiles rest on, and whether that is counted (or reckoned from rate and time)."""
    counted = output.report.latencies.count
    if counted is not None:
        return counted, True
    if output.tool == "wrk" or output.tool in OTHER_TOOLS:
        return output.report.requests, True
    rate, duration = achieved_rps(output) or finite(output.offered_rps), finite(output.duration_s)
    if output.tool == "wrk2" and rate and duration and duration > warm_up_s(output):
        return round(rate * (duration - warm_up_s(output))), False
    return None, False


def dead_connections(output: Output) -> int:
    """Return how many connections never gave a response: wrk and wrk2 count each of them at every check, 2 s apart."""
    errors, duration = output.report.socket_errors, finite(output.duration_s)
    if errors is None or not errors.timeout:
        return 0
    checks = max(1.0, duration // CHECK_S - 1) if duration else 1.0
    return min(output.connections or errors.timeout, round(errors.timeout / checks))


def has_latency(output: Output) -> bool:
    """Tell whether an output gives any latency; where no request had a response, some tools print 0 for each."""
    latencies, stats = output.report.latencies, output.report.latency
    printed = any(value for _, value in latencies.rows) or bool(latencies.spectrum)
    return printed or (stats is not None and (not latencies.rows or bool(stats.mean)))
