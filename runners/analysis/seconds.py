"""Seconds that stand out, and whether a pause of the JVM lies in them.

A second stands out when its p99 exceeds the median of all seconds' p99 by five robust standard deviations (the median
absolute deviation times 1.4826) and by half of that median. A pause explains it when it lies in that second, or in the
time before it in which its slow responses were already under way, and is at least half as long as the excess: a request
that arrives during a pause waits for the rest of it, so a shorter pause can't have made it. Overlap is no proof of a
cause; what no pause overlaps is said to be unexplained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from runners.analysis import facts
from runners.analysis.facts import per_second
from runners.analysis.finding import Anchor, Finding
from runners.readers import write
from runners.readers.run import Step
from runners.readers.severity import Severity

ROBUST_DEVIATIONS = 5
LEAST_EXCESS = 0.5
LEAST_PART_OF_EXCESS = 0.5
MAD_TO_SIGMA = 1.4826
FEWEST_SECONDS = 4


@dataclass(frozen=True, slots=True)
class Pause:
    t_s: float
    duration_ms: float
    cause: str


@dataclass(frozen=True, slots=True)
class Spike:
    """A second that stands out, with the longest pause in it that is long enough to have made it."""

    t_s: float
    p99_us: float
    pause: Pause | None


@dataclass(frozen=True, slots=True)
class Tail:
    """What the seconds of a step show."""

    seconds: int
    usual_p99_us: float
    threshold_us: float
    spikes: tuple[Spike, ...]

    @property
    def explained(self) -> int:
        return sum(spike.pause is not None for spike in self.spikes)


def longest_pause(pauses: pd.DataFrame, begin_s: float, end_s: float) -> Pause | None:
    """The longest pause that touches a stretch of time."""
    inside = pauses[(pauses["t_s"] < end_s) & (pauses["t_s"] + pauses["duration_ms"] / 1000 > begin_s)]
    if inside.empty:
        return None
    row = inside.sort_values(["duration_ms", "kind"], ascending=[False, True]).iloc[0]
    return Pause(float(row["t_s"]), float(row["duration_ms"]), str(row["cause"]))


def look(step: Step) -> Tail | None:
    """The tail by the second; None when there are too few seconds."""
    seconds = per_second(step)
    if len(seconds) < FEWEST_SECONDS:
        return None
    p99 = seconds["p99_us"]
    usual = float(p99.median())
    sigma = MAD_TO_SIGMA * float((p99 - usual).abs().median())
    threshold = usual + max(ROBUST_DEVIATIONS * sigma, LEAST_EXCESS * usual)
    spikes = []
    for t_s, value in zip(seconds["t_s"], p99, strict=True):
        if value > threshold:
            pause = longest_pause(step.frames["pauses"], t_s - value / 1e6, t_s + 1)
            enough = pause is not None and pause.duration_ms * 1000 >= LEAST_PART_OF_EXCESS * (value - usual)
            spikes.append(Spike(float(t_s), float(value), pause if enough else None))
    return Tail(len(seconds), usual, threshold, tuple(spikes))


def findings(step: Step) -> Iterator[Finding]:
    """What can be said on the tail of a clean measurement."""
    if not facts.quotable(step):
        return
    name, figure = facts.title(step), Anchor.timeline(step.workload)
    tail = look(step)
    if tail is None:
        if step.frames["intervals"].empty:
            text = (
                f"{facts.tool(step)} records no latency by the second, so causes of {name}'s tail can't be looked for"
            )
        else:
            text = f"{name} ran for too few seconds to look for the causes of its tail"
        yield Finding("W03", Severity.NOTE, write.sentence(text), {}, (step.name,), figure, "Run a larger size.")
        return
    yield _seconds(step, tail, name, figure)
    slowest = _slowest(step, name, figure)
    if slowest:
        yield slowest


def _seconds(step: Step, tail: Tail, name: str, figure: str) -> Finding:
    count, explained = len(tail.spikes), tail.explained
    evidence: dict[str, write.Value] = {
        "seconds": tail.seconds,
        "spikes": count,
        "in_a_pause": explained,
        "unexplained": count - explained,
        "usual_p99_us": tail.usual_p99_us,
        "threshold_us": tail.threshold_us,
    }
    usual = write.latency(tail.usual_p99_us)
    if not count:
        text = f"{name}: none of {tail.seconds} seconds stands out; their median p99 is {usual}"
        return Finding("W01", Severity.GOOD, write.sentence(text), evidence, (step.name,), figure)
    verb = "has" if count == 1 else "have"
    text = (
        f"{name}: {count} of {tail.seconds} seconds {verb} a p99 above {write.latency(tail.threshold_us)} "
        f"(usual: {usual}); a pause of the JVM long enough lies in {explained} of them, "
        f"{count - explained} stay{'s' if count - explained == 1 else ''} unexplained"
    )
    return Finding("W01", Severity.NOTE, write.sentence(text), evidence, (step.name,), figure)


def _when(t_s: float) -> str:
    return "in the first second" if t_s < 1 else f"{write.seconds(round(t_s))} after the start"


def _slowest(step: Step, name: str, figure: str) -> Finding | None:
    seconds = per_second(step)
    if not seconds["max_us"].notna().any():
        return None
    worst = int(seconds["max_us"].to_numpy(float).argmax())
    t_s, max_us = float(seconds["t_s"].iloc[worst]), float(seconds["max_us"].iloc[worst])
    pause = longest_pause(step.frames["pauses"], t_s - max_us / 1e6, t_s + 1)
    text = f"The slowest response of {name} took {write.latency(max_us)}, {_when(t_s)}; "
    evidence: dict[str, write.Value] = {"max_us": max_us, "t_s": t_s}
    if pause is None:
        text += "no pause of the JVM lies in that second or in the time it took"
    else:
        length = write.latency(pause.duration_ms * 1000)
        evidence |= {"pause_ms": pause.duration_ms, "cause": pause.cause}
        if pause.duration_ms * 1000 >= LEAST_PART_OF_EXCESS * max_us:
            text += f"a pause of {length} lies in that second or in the time it took ({pause.cause})"
        else:
            text += f"the longest pause of the JVM in that time, {length}, is too short to explain it"
    return Finding("W02", Severity.NOTE, write.sentence(text), evidence, (step.name,), figure)
