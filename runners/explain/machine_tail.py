"""Whose tail is it? A difference of high percentiles that the machine made is not told as that of what ran on it.

A percentile of one measurement is the machine's when it lies above what is usual there (the threshold from which an
answer counts as slow, see excursions) and causes outside of what is measured are credited with at least half of what
the slow answers took (see attribution, W04): time that the hypervisor gave to others, and other processes. What is left
of a difference is then not known, so none is told, and the sentence says why.

Of repeats, a side's percentile is the machine's when it is in more than half of them. Fewer are what repeats are for:
they fall on both sides by chance, and that chance is in the interval.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.explain import causes, excursions, facts, tail, words
from runners.explain.compare import LEVELS, Difference, Verdict
from runners.explain.words import Finding, Severity
from runners.read.run import Step

P99 = 0.99
LEAST_SHARE = 0.5
REMEDY = "Measure again on a quieter machine, in interleaved rounds: lab compare."

#: A side of a comparison: what it is called, and its measurements.
Side = tuple[str, Sequence[Step]]


@dataclass(frozen=True, slots=True)
class Made:
    """What the machine's causes are credited with of one measurement's tail, the largest first, as shares of 1."""

    shares: Mapping[str, float]

    @property
    def written(self) -> str:
        """CPU steal explains 99.5 % of its tail, without the last three words."""
        parts = [f"{name} explains {words.percent(share)}" for name, share in self.shares.items()]
        return words.listed(parts)


def made(step: Step, level: float = P99) -> Made | None:
    """What made a percentile (0..1) of a step, where that was the machine; None where it was not, or nothing tells."""
    value = facts.quoted(step, level)
    slow = excursions.find(step.frames["slices"]) if value is not None else None
    if value is None or slow is None or not value.value > slow.threshold_us:
        return None
    if not any(one.name in causes.MACHINE for one in causes.of(step)):
        return None
    seen = tail.attribution(step)
    shares = {each.cause.name: each.share.value for each in seen.named} if seen is not None else {}
    own = {name: share for name, share in shares.items() if name in causes.MACHINE}
    return Made(own) if sum(own.values()) >= LEAST_SHARE else None


def why(level: float, *sides: Side) -> str:
    """Why a percentile of these sides is not compared, in words that stand behind a colon; empty where it can be."""
    parts = []
    for name, steps in sides:
        found = [one for step in steps if (one := made(step, level)) is not None]
        if 2 * len(found) <= len(steps):
            continue
        if len(steps) == 1:
            parts.append(f"{found[0].written} of the tail of {name}")
        else:
            named = words.listed(dict.fromkeys(cause for one in found for cause in one.shares))
            parts.append(
                f"in {words.count(len(found))} of {words.count(len(steps))} measurements of {name} the machine "
                f"({named}) explains most of the tail"
            )
    return words.listed(parts)


def in_turn(first: Step, second: Step, level: float = P99) -> str:
    """As `why`, of one measurement on each side."""
    return why(level, (facts.title(first), (first,)), (facts.title(second), (second,)))


def not_compared(first: Step, second: Step, figure: str) -> Finding | None:
    """The sentence in place of a difference in p99, where the machine made it."""
    told = in_turn(first, second)
    if not told:
        return None
    text = f"The p99 of {facts.title(first)} and {facts.title(second)} are not compared: {told}"
    evidence: dict[str, words.Value] = {}
    for step in (first, second):
        one, value = made(step), facts.quoted(step, P99)
        evidence[f"p99_us {step.subject}"] = value.value if value is not None else None
        evidence |= {f"{cause} {step.subject}": share for cause, share in (one.shares if one else {}).items()}
    return Finding("W05", Severity.WARNING, words.sentence(text), evidence, (first.name, second.name), figure, REMEDY)


def marked(found: Sequence[Difference], *sides: Side) -> list[Difference]:
    """Differences of repeats, those marked that can be seen in a percentile that the machine made."""
    return [
        dataclasses.replace(each, machine=why(LEVELS[each.quantity.name], *sides))
        if each.quantity.name in LEVELS and each.verdict in (Verdict.LOWER, Verdict.HIGHER)
        else each
        for each in found
    ]
