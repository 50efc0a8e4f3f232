"""Read what is compared from a load, and say a difference in words."""

from __future__ import annotations

import math

from runners.analysis import facts
from runners.analysis.comparison import AT_MOST, LEVELS, Difference, Quantity, Verdict
from runners.readers import write
from runners.readers.run import Step

COUNTED = 1_000  # rounds: of more, nobody needs the number


def of_step(step: Step) -> dict[str, float]:
    """What is compared, of one load: latencies in microseconds, NaN where not recorded or without an end.

    What a latency is at most stands beside it: requests without an answer may leave that open.
    """
    found = {}
    for name, level in LEVELS.items():
        value, most_us = facts.at(step, level), facts.most_us(step, level)
        found[name] = value.value if value is not None and math.isfinite(most_us) else math.nan
        found[name + AT_MOST] = most_us
    telemetry, achieved = step.frames["telemetry"], facts.achieved_rps(step)
    cores = float(telemetry["server_cpu_cores"].mean()) if not telemetry.empty else math.nan
    found["cpu_us"] = cores / achieved * 1e6 if achieved > 0 else math.nan
    return found


def said(each: Difference, a: str, b: str, quantities: int = 1, unit: str = "round") -> str:
    """One difference in words, B against A; `unit` is what was repeated."""
    label = each.quantity.label
    if each.verdict in (Verdict.LOWER, Verdict.HIGHER):
        edges = sorted((abs(each.low), abs(each.high)))
        by = write.percent(edges[0])
        by = by if by == write.percent(edges[1]) else f"{by} to {write.percent(edges[1])}"
        return f"{b} has a {label} {each.verdict.value} than {a} by {by}"
    if each.verdict == Verdict.MACHINE:
        return f"the {label} of {b} and {a} are not compared: {each.machine}"
    between = f"{signed(each.low)} to {signed(each.high)}"
    if each.verdict == Verdict.NONE:
        return f"{b} and {a} differ by less than {write.percent(each.see)} in {label} ({between})"
    count = f"{each.rounds} {unit}{'' if each.rounds == 1 else 's'}"
    text = f"the {label} of {b} against {a} is inconclusive after {count}"
    if not write.known(each.low):
        return f"{text}, too few for an interval"
    more = each.more_rounds(quantities)
    needed = f"about {write.count(more)} more" if more <= COUNTED else f"not even {write.count(COUNTED)} more"
    tail = f"; {needed} would show {write.percent(each.see)}" if more else ""
    return f"{text} ({between}){tail}"


def signed(share: float) -> str:
    """A share with its sign: +3.10 %."""
    return ("+" if share > 0 else "") + write.percent(share)


def absolute(quantity: Quantity, value: float) -> str:
    """A value in its unit."""
    if quantity.unit == "count":
        return f"{value:.3g}"
    unit = {"rps": write.rate, "bytes": write.size}.get(quantity.unit, write.latency)
    return unit(value)
