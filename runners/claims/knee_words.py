"""Knees in words: one with its interval, those of a few ladders in a sentence, and those of many settings in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.knee import Answer, Kind
from runners.design.objective import Objective
from runners.readers import write

if TYPE_CHECKING:
    from runners.claims.climbing import Ladder

FEWEST = 2  # knees of one setting that are worth a sentence of their own


def asked(objective: Objective) -> str:
    """An objective in words: p99 within 10 ms, 99 % achieved and no errors."""
    errors = f"errors up to {write.percent(objective.errors)}" if objective.errors else "no errors"
    return write.listed([*_latencies(objective), f"{write.percent(objective.achieved)} achieved", errors])


def _latencies(objective: Objective) -> list[str]:
    return [f"{write.level(level)} within {write.latency(limit)}" for level, limit in objective.latencies]


def middle(answer: Answer) -> str:
    """The knee alone, with three digits: 21 400/s."""
    return write.rate(float(f"{answer.rps:.3g}"))


def rate_interval(answer: Answer) -> str:
    """The knee with its interval: 21 400/s (20 900-21 900)."""
    low, high = (float(f"{rps:.3g}") for rps in (answer.low_rps, answer.high_rps))
    return f"{middle(answer)} ({write.count(low)}{write.DASH}{write.count(high)})"


def together(found: Sequence[Ladder]) -> str:
    """The knees of one setting under several loads in one sentence; empty where one sentence can't hold them.

    It takes ladders that were all searched and found, over as many connections, for the same objective.
    """
    answers = [ladder.answer for ladder in found if ladder.search is not None and ladder.objective is not None]
    known = [answer for answer in answers if answer is not None and answer.kind == Kind.FOUND]
    common = {(_over(each), each.steps[0].subject, each.objective) for each in found}
    if len(known) < max(FEWEST, len(found)) or len(common) != 1:
        return ""
    ((over, subject, objective),) = common
    limits = _latencies(objective) if objective is not None else []
    parts = [
        f"{rate_interval(answer)} of {ladder.steps[0].workload.upper()}"
        for ladder, answer in zip(found, known, strict=True)
    ]
    kept = f"keeps {write.listed(limits)} up to" if limits else "carries"
    return write.sentence(f"On {over} {facts.engine_name(subject)} {kept} {write.listed(parts)}")


def ranked(workload: str, found: Sequence[Ladder]) -> str:
    """Who is ahead, who inconclusive against it, and by how much the others are behind, in one sentence.

    `found` are the searches of all settings under one load; empty where none of them has a knee. Behind is whose
    interval ends before that of the first begins; how far is told by the two ends that are nearest and furthest.
    """
    told = [(each, answer) for each in found if (answer := each.answer) is not None]
    known = [(each, answer) for each, answer in told if answer.kind == Kind.FOUND]
    if not known:
        return ""
    (best, first), *others = sorted(known, key=lambda pair: -pair[1].rps)
    near = [_name(each) for each, answer in others if answer.high_rps >= first.low_rps]
    behind = [
        f"{_name(each)} carries {write.percent(1 - answer.high_rps / first.low_rps)} to "
        f"{write.percent(1 - answer.low_rps / first.high_rps)} less"
        for each, answer in others
        if answer.high_rps < first.low_rps
    ]
    above = [_name(each) for each, answer in told if answer.kind == Kind.ABOVE]
    verb = "carries" if not others else "is ahead of the others with" if above else "is ahead with"
    beyond = f"{write.listed(above)} {_are(above)} beyond all that was asked; " if above else ""
    parts = [f"{workload.upper()} over {_over(best)}: {beyond}{_name(best)} {verb} {middle(first)}"]
    if near:
        parts.append(f"{'' if behind else 'but '}{write.listed(near)} inconclusive against it")
    text = ", ".join([*parts, *behind])
    lost = [_name(each) for each, answer in told if answer.kind not in (Kind.FOUND, Kind.ABOVE)]
    if lost:
        text += f"; the knee{'s' if len(lost) > 1 else ''} of {write.listed(lost)} {_are(lost)} not known"
    return write.sentence(text)


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _name(ladder: Ladder) -> str:
    return facts.engine_name(ladder.steps[0].subject)


def _over(ladder: Ladder) -> str:
    return write.connections(ladder.steps[0].record.connections)
