"""RAT: what was offered, what was answered, and what latency means then."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from runners.explain import words
from runners.explain.audit.figures import (
    HELD,
    achieved_rps,
    at,
    fell_short,
    finite,
    has_latency,
    is_open_loop,
    largest_us,
)
from runners.explain.audit.rule import Group, Rule, Seen, each
from runners.explain.words import Severity
from runners.read.outputs import Output

QUEUE_US = 1_000_000.0  # no key-value answer takes a second; a queue does
QUEUE_SHARE = 0.25
MEAN_SHARE = 0.2
RATE_STEP = 1.1
LATENCY_STEP = 0.9


def _achieved_below_offered(output: Output) -> Iterator[Seen]:
    offered, achieved = output.offered_rps, achieved_rps(output)
    if not fell_short(output) or offered is None or achieved is None:
        return
    text = (
        f"{words.rate(achieved)} of {words.rate(offered)} was answered, {words.percent(achieved / offered)}"
        f" (offered: {output.offered_by})"
    )
    yield Seen(output, text, {"offered_rps": offered, "achieved_rps": achieved, "held": round(achieved / offered, 4)})


def _saturation(output: Output) -> Iterator[Seen]:
    """A queue that grows during the whole run gives latencies spread from nothing to its length at the end."""
    largest = largest_us(output)
    if not is_open_loop(output) or largest is None or largest < QUEUE_US or not has_latency(output):
        return
    median, upper = at(output, 0.5), at(output, 0.9)
    mean = finite(output.report.latency.mean) if output.report.latency else None
    signs: dict[str, words.Value] = {}
    if median is not None and median >= QUEUE_SHARE * largest:
        signs["p50_us"] = median
    elif upper is not None and upper >= QUEUE_SHARE * largest:
        signs["p90_us"] = upper
    elif mean is not None and mean >= MEAN_SHARE * largest:
        signs["mean_us"] = mean
    if not signs and not fell_short(output):
        return
    named, value = next(iter(signs.items()), ("", None))
    of = f": {named.removesuffix('_us')} {words.latency(float(value))} of " if isinstance(value, float) else ", "
    text = (
        f"the latency is the length of a queue, not the time of an answer{of}at most {words.latency(largest)}; "
        "it grows with the length of the run"
    )
    evidence: dict[str, words.Value] = {**signs, "max_us": largest}
    if duration := finite(output.duration_s):
        evidence["max_share_of_run"] = round(largest / 1e6 / duration, 4)
    yield Seen(output, text, evidence)


def _rate_to_wrk(output: Output) -> Iterator[Seen]:
    command = output.command
    refused = any("invalid option" in line and "R" in line for line in output.report.diagnostics)
    if command is None or command.rate_rps is None or not (output.report.tool == "wrk" or refused):
        return
    text = f"-R {command.rate_rps:g} was given to plain wrk, which knows no rate: the run is a closed loop"
    yield Seen(output, text, {"asked_rps": command.rate_rps, "achieved_rps": achieved_rps(output)})


def _closed_loop(output: Output) -> Iterator[Seen]:
    if is_open_loop(output) or not has_latency(output):
        return
    connections, largest = output.connections, largest_us(output)
    if connections == 1:
        each_waits = "the connection sends its next request only after an answer"
    else:
        several = words.count(connections) + " connections" if connections else "connections"
        each_waits = f"each of the {several} sends its next request only after an answer"
    text = f"closed loop: {each_waits}, so no latency under a given load can be read from it"
    evidence: dict[str, words.Value] = {"connections": connections, "requests_per_s": achieved_rps(output)}
    rate = achieved_rps(output)
    if largest and rate and connections:
        unsent = max(0, round(rate / connections * largest / 1e6) - 1)
        evidence["requests_not_sent_in_the_longest_wait"] = unsent
    yield Seen(output, text, evidence)


def _latency_falls(group: Group) -> Iterator[Seen]:
    """Within one table: more load, and a lower median."""
    for first, second in pairwise(group):
        neighbours = second.columns > 1 and second.column == first.column + 1 and second.path == first.path
        slow, fast = first.offered_rps, second.offered_rps
        before, after = at(first, 0.5), at(second, 0.5)
        if not neighbours or slow is None or fast is None or before is None or after is None:
            continue
        if fast >= RATE_STEP * slow and after <= LATENCY_STEP * before:
            text = (
                f"the median falls from {words.latency(before)} to {words.latency(after)} while the rate rises from "
                f"{words.rate(slow)} to {words.rate(fast)}: something else than the load changed, or the generator's "
                "own waiting is measured"
            )
            evidence: dict[str, words.Value] = {
                "rate_rps_before": slow,
                "rate_rps": fast,
                "p50_us_before": before,
                "p50_us": after,
            }
            yield Seen(second, text, evidence)


RULES = (
    Rule(
        "RAT001",
        "achieved-below-offered",
        f"Less than {HELD * 100:g} % of the offered rate was answered",
        Severity.ERROR,
        "offer less, or call the run a measurement of capacity and quote no latency from it",
        each(_achieved_below_offered),
    ),
    Rule(
        "RAT002",
        "saturation-as-latency",
        "The length of a growing queue is reported as latency",
        Severity.ERROR,
        "quote latency at a rate that is held; above it quote only the rate that was reached",
        each(_saturation),
    ),
    Rule(
        "RAT003",
        "rate-to-wrk",
        "-R was given to plain wrk, which knows no rate",
        Severity.ERROR,
        "use wrk2 or loadgen; `wrk -v` tells which one a binary is",
        each(_rate_to_wrk),
    ),
    Rule(
        "RAT004",
        "closed-loop-latency",
        "A closed loop's latency is read as latency under load",
        Severity.WARNING,
        "offer a fixed rate (wrk2 or loadgen with -R) and count response time from the intended start",
        each(_closed_loop),
    ),
    Rule(
        "RAT005",
        "latency-falls",
        "The median falls while the rate rises",
        Severity.NOTE,
        "repeat both rates with the same build, interleaved, beside a handler that does nothing",
        _latency_falls,
    ),
)
