"""Conclude on faults: a node that dies under load and comes back, and a response object that all requests share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from runners.analysis import facts
from runners.claims.conclusion import Claims
from runners.design.session import FAULT, OUTAGE
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.run import Run, Step

OUTAGES, SHARED_RESPONSE = "outages", "ablation-fault"
SETTLED_S = 1.0  # after the node responds: by then it has been probed and is used again
EVENTS = ("killed", "started", "responds")


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

    @property
    def wholly(self) -> str:
        """The seconds that a share of failures counts, in words."""
        return f"in the {write.several(len(self.part('without')), 'second')} wholly without the node"

    def failed(self, which: str) -> tuple[float, float]:
        """Return responses that failed in a part of the load, and all responses in it."""
        rows = self.part(which)
        return float(rows["errors"].sum()), float(rows["completed"].sum())

    def p99_us(self, which: str) -> float:
        """Return the median of the seconds' p99; NaN without any."""
        return float(self.part(which)["p99_us"].median())


def outages(steps: Sequence[Step]) -> list[Outage]:
    """Return the loads in which a node was killed; one that ended before is none."""
    found = []
    for step in steps:
        about = step.record.outage
        if step.kind != OUTAGE or about is None or not about.start_unix_us or step.frames["intervals"].empty:
            continue
        if about.killed_unix_us:
            events = (about.killed_unix_us, about.launched_unix_us, about.ready_unix_us)
            times = [((at_us or math.nan) - about.start_unix_us) / 1e6 for at_us in events]
            found.append(Outage(step, *times))
    return found


def analyse(run: Run) -> Claims | None:
    """Claim what the faults of a run cost; None for a run without any."""
    found = outages(run.steps)
    findings = (*map(_cost, found), *filter(None, map(_fault, run.find(kind=FAULT))))
    return Claims(_in_short(found) if found else "", findings) if findings else None


def _in_short(found: Sequence[Outage]) -> str:
    """Return all deaths in a sentence."""
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
    length = each.wholly
    length += f", which was dead for {write.seconds(down_s)}" if write.known(down_s) else ""
    rate = write.rate(facts.offered_rps(each.step))
    text = f"{facts.title(each.step)}, one of three nodes killed at {rate}: "
    if bad:
        text += f"{write.percent(bad / asked)} of the responses ({write.count(bad)} of {write.count(asked)}) failed "
    else:
        text += f"none of {write.several(asked, 'response')} failed "
    text += length
    if asked_before:
        text += f"; before, {_failed(bad_before, asked_before)}"
    if asked_after:
        text += f", and from {write.seconds(SETTLED_S)} after it responded again {_failed(bad_after, asked_after)}"
    parts = {which: each.p99_us(which) for which in ("before", "without", "after")}
    known = [write.latency(value) for value in parts.values() if write.known(value)]
    if len(known) == len(parts):
        text += f". The p99 of a second is {known[0]} before, {known[1]} without it and {known[2]} after"
    evidence: dict[str, write.Value] = {
        "failed_without": bad, "responses_without": asked,
        "failed_between": bad_between, "responses_between": asked_between,
        "failed_before": bad_before, "failed_after": bad_after,
        "down_s": down_s, **{f"p99_{which}_us": value for which, value in parts.items()},
    }  # fmt: skip
    remedy = "Keep each key on three nodes and wait for two: --replication-from 3 --replication-ack 2." if bad else None
    severity = Severity.WARNING if bad else Severity.GOOD
    return Finding("O01", severity, write.sentence(text), evidence, (each.step.name,), OUTAGES, remedy)


def _failed(bad: float, asked: float) -> str:
    return f"{write.percent(bad / asked)} failed" if bad else "none failed"


def _fault(step: Step) -> Finding | None:
    """Return what an object that all responses share does to them."""
    heads = step.record.fault.heads if step.record.fault else ()
    if len(heads) < 2 or heads[-1]["bytes"] <= heads[0]["bytes"]:
        return None
    first, last = heads[0], heads[-1]
    each = (last["bytes"] - first["bytes"]) / (last["number"] - first["number"])
    text = (
        f"A response that all requests share grows: the head of response {write.count(first['number'])} has "
        f"{write.size(first['bytes'])} and {write.count(first['fields'])} fields, that of response "
        f"{write.count(last['number'])} {write.size(last['bytes'])} and {write.count(last['fields'])}, "
        f"{each:.0f} bytes more with each: one-nio adds a field Connection to the object that it is given"
    )
    evidence: dict[str, write.Value] = {
        "first_bytes": first["bytes"],
        "last_bytes": last["bytes"],
        "responses": last["number"],
    }
    read, unread = facts.number(step, "completed"), facts.number(step, "parse_errors")
    if write.known(read) and write.known(unread) and unread > 0:
        text += (
            f". On a server of its own a closed loop of one connection reads {write.count(read)} responses; then heads "
            f"are longer than the client takes, and {write.count(unread)} responses can't be read"
        )
        evidence |= {"read": read, "unread": unread}
    remedy = "Make a response for each request, or write bytes that nobody changes."
    return Finding("V04", Severity.WARNING, write.sentence(text), evidence, (step.name,), SHARED_RESPONSE, remedy)
