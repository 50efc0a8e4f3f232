"""A node that dies under load and comes back: what was answered before, during and after, second by second."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from runners.analysis import facts
from runners.analysis.finding import Finding
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

KIND = "outage"
ANCHOR = "outages"
SETTLED_S = 1.0  # after the node answers: by then it has been probed and is used again
EVENTS = ("killed", "started", "answers")


@dataclass(frozen=True, slots=True)
class Outage:
    """One load in which a node died. Times in seconds from the start of the recorded window; NaN: never."""

    step: Step
    killed_s: float
    started_s: float
    back_s: float

    @property
    def name(self) -> str:
        return self.step.subject

    @property
    def events(self) -> list[tuple[float, str]]:
        """What happened and when."""
        times = (self.killed_s, self.started_s, self.back_s)
        return [(at, word) for at, word in zip(times, EVENTS, strict=True) if write.known(at)]

    @property
    def seconds(self) -> pd.DataFrame:
        """The whole seconds of the load."""
        return facts.per_second(self.step)

    def part(self, which: str) -> pd.DataFrame:
        """Select whole seconds: `before` the death, `without` the node, `after` its return, or all `between`.

        Seconds `between` hold those in which the node died and in which it was back but not yet used again; in a share
        of failures they would count responses of a whole cluster.
        """
        rows = self.seconds
        back_s = self.back_s if write.known(self.back_s) else math.inf
        before, after = rows["t_s"] + 1 <= self.killed_s, rows["t_s"] >= back_s + SETTLED_S
        without = (rows["t_s"] >= self.killed_s) & (rows["t_s"] + 1 <= back_s)
        return rows[{"before": before, "without": without, "after": after, "between": ~before & ~after}[which]]

    def failed(self, which: str) -> tuple[float, float]:
        """Answers that failed in a part of the load, and all answers in it."""
        rows = self.part(which)
        return float(rows["errors"].sum()), float(rows["completed"].sum())

    def p99_us(self, which: str) -> float:
        """The median of the seconds' p99; NaN without any."""
        return float(self.part(which)["p99_us"].median())


def outages(steps: Sequence[Step]) -> list[Outage]:
    """The loads in which a node was killed; one that ended before is none."""
    found = []
    for step in steps:
        about = step.record.outage
        if step.kind != KIND or about is None or not about.start_unix_us or step.frames["intervals"].empty:
            continue
        if about.killed_unix_us:
            events = (about.killed_unix_us, about.launched_unix_us, about.ready_unix_us)
            times = [((at_us or math.nan) - about.start_unix_us) / 1e6 for at_us in events]
            found.append(Outage(step, *times))
    return found


def findings_of(run: Run) -> Iterator[Finding]:
    """What each death cost."""
    for each in outages(run.steps):
        yield _cost(each)


def in_short(found: Sequence[Outage]) -> str:
    """All deaths in a sentence."""
    parts = []
    for each in found:
        bad, asked = each.failed("without")
        share = write.percent(bad / asked) if bad else "none"
        parts.append(f"{facts.engine_name(each.name)} {share}")
    return write.sentence(
        f"Failed responses in the seconds that are wholly without one of three nodes: {write.listed(parts)}"
    )


def _cost(each: Outage) -> Finding:
    bad, asked = each.failed("without")
    bad_between, asked_between = each.failed("between")
    bad_before, asked_before = each.failed("before")
    bad_after, asked_after = each.failed("after")
    down_s = each.back_s - each.killed_s
    whole = write.several(len(each.part("without")), "second")
    length = f"the {whole} wholly without it" + (f" (dead for {write.seconds(down_s)})" if write.known(down_s) else "")
    rate = write.rate(facts.offered_rps(each.step))
    text = f"{facts.title(each.step)}, one of three nodes killed at {rate}: "
    if bad:
        text += f"{write.percent(bad / asked)} of the responses failed in {length} "
        text += f"({write.count(bad)} of {write.count(asked)})"
    else:
        text += f"no response of {write.count(asked)} failed in {length}"
    if asked_before:
        text += f"; before {_failed(bad_before, asked_before)}"
    if asked_after:
        text += f", from {write.seconds(SETTLED_S)} after it responded again {_failed(bad_after, asked_after)}"
    parts = {which: each.p99_us(which) for which in ("before", "without", "after")}
    told = [write.latency(value) for value in parts.values() if write.known(value)]
    if len(told) == len(parts):
        text += f". The p99 of a second is {told[0]} before, {told[1]} without it and {told[2]} after"
    evidence: dict[str, write.Value] = {
        "failed_without": bad, "responses_without": asked,
        "failed_between": bad_between, "answers_between": asked_between,
        "failed_before": bad_before, "failed_after": bad_after,
        "down_s": down_s, **{f"p99_{which}_us": value for which, value in parts.items()},
    }  # fmt: skip
    remedy = "Keep each key on three nodes and wait for two: --replication-from 3 --replication-ack 2." if bad else None
    severity = Severity.WARNING if bad else Severity.GOOD
    return Finding("O01", severity, write.sentence(text), evidence, (each.step.name,), ANCHOR, remedy)


def _failed(bad: float, asked: float) -> str:
    return f"{write.percent(bad / asked)} failed" if bad else "none failed"
