"""Ways to run a request, side by side: the knee of each, and what a queue does when more is offered than fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.analysis import comparable, facts, meets
from runners.analysis.finding import Finding
from runners.analysis.knee import Answer, Kind
from runners.analysis.quantities import WIDEST, signed
from runners.claims import climbing
from runners.claims.climbing import Ladder, ladders, ranked, rate_interval, searched_together
from runners.claims.conclusion import Claims
from runners.design.block import FEWEST_STARTS
from runners.design.storage_engines import CEILING
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

FEWEST = 2
QUEUE = "queue-"  # settings that differ in their queue are called so
OVERLOADED = 1.2  # of the lower rate: from here on a rate step is more than fits


@dataclass(frozen=True, slots=True)
class Knee:
    """One setting's knee under one workload, with its interval."""

    ladder: Ladder
    answer: Answer

    @property
    def name(self) -> str:
        return facts.engine_name(self.ladder.steps[0].subject)


def anchor(workload: str) -> str:
    """Where the knees of a workload are drawn."""
    return f"knees-{workload}"


def knees(run: Run) -> dict[str, list[Knee]]:
    """By workload, the knees of settings that were searched in this run; only where there are several."""
    found: dict[str, list[Knee]] = {}
    for ladder in ladders(run):
        answer = ladder.answer
        if ladder.search is not None and answer is not None and answer.kind == Kind.FOUND:
            found.setdefault(ladder.steps[0].workload, []).append(Knee(ladder, answer))
    return {workload: each for workload, each in found.items() if len({k.name for k in each}) >= FEWEST}


def analyse(run: Run) -> Claims | None:
    """How the settings of a run compare; None for a run with fewer than two of one kind."""
    found = knees(run)
    findings = [_ranked(workload, each) for workload, each in found.items()]
    for workload, each in found.items():
        findings += _apart(run, workload, each)
    findings += _queues(overloaded(run))
    if not findings:
        return None
    return Claims(" ".join(_in_short(run, workload) for workload in found), tuple(findings))


def _in_short(run: Run, workload: str) -> str:
    """Who is ahead under one workload. A server that stores nothing is no store, so it is not in the race."""
    searched = [each for each in ladders(run) if each.search is not None and each.steps[0].workload == workload]
    return ranked(run, workload, [each for each in searched if each.steps[0].subject != CEILING])


def _ranked(workload: str, found: Sequence[Knee]) -> Finding:
    order = sorted(found, key=lambda knee: -knee.answer.rps)
    parts = [f"{knee.name} {rate_interval(knee.answer)}" for knee in order]
    over = write.connections(order[0].ladder.steps[0].record.connections)
    text = f"Knee of {workload.upper()} over {over}: {write.listed(parts)}"
    evidence: dict[str, write.Value] = {f"{knee.name} rps": knee.answer.rps for knee in order}
    names = tuple(step.name for knee in order for step in knee.ladder.steps[-1:])
    return Finding("E01", Severity.GOOD, write.sentence(text), evidence, names, anchor(workload))


def _apart(run: Run, workload: str, found: Sequence[Knee]) -> Iterator[Finding]:
    """Compare the knee of each setting with that of the one that was measured first."""
    first, *others = found
    for other in others:
        apart = climbing.between(run, other.ladder, first.ladder)
        if apart is None:
            continue
        low, high = apart.low - 1, apart.high - 1
        text = f"{workload.upper()}: the knee of {other.name} "
        if low <= 0 <= high:
            text += f"against that of {first.name} is inconclusive ({signed(low)} to {signed(high)})"
        elif high > WIDEST:
            text += f"is {write.number(1 + low)} to {write.number(1 + high)} times that of {first.name}"
        else:
            word = "above" if low > 0 else "below"
            sides = sorted((abs(low), abs(high)))
            text += f"lies {word} that of {first.name} by {write.percent(sides[0])} to {write.percent(sides[1])}"
        evidence: dict[str, write.Value] = {"low": low, "high": high, "of": other.name, "against": first.name}
        if min(each.ladder.starts for each in (first, other)) < FEWEST_STARTS:
            text += ", by one start of each"
        paired = searched_together(first.ladder, other.ladder)
        remedy = None if paired else "One search of each, one after the other; one search of both pairs them by slices."
        yield Finding("E02", Severity.NOTE, write.sentence(text), evidence, (), anchor(workload), remedy)


def overloaded(run: Run) -> list[tuple[Step, Step]]:
    """Pools by queue: a rate step that fits and one that does not."""
    pairs = []
    for ladder in ladders(run):
        steps = ladder.rate_steps
        if steps[0].subject.startswith(QUEUE) and len(steps) >= FEWEST:
            low, high = steps[0], steps[-1]
            if facts.offered_rps(high) >= OVERLOADED * facts.offered_rps(low):
                pairs.append((low, high))
    return pairs


def queue_length(step: Step) -> int:
    """The length of a pool's queue, by which its setting ends."""
    return int(step.subject.rpartition("-")[2])


def _queues(pairs: Sequence[tuple[Step, Step]]) -> Iterator[Finding]:
    for low, high in pairs:
        refused = meets.refused_share(high)
        text = (
            f"{facts.engine_name(high.subject)}, offered {write.rate(facts.offered_rps(high))}, responds to "
            f"{write.rate(facts.achieved_rps(high))}; {write.percent(refused) if refused else 'none'} of its responses "
            "are refusals"
        )
        evidence: dict[str, write.Value] = {"offered_rps": facts.offered_rps(high), "refused": refused}
        if facts.fell_short(high):
            text += ". It falls short of what was offered, so its p99 is the length of its queue"
        elif (after := facts.at(high, 0.99)) is not None and (before := facts.at(low, 0.99)) is not None:
            text += f"; p99 of all responses {facts.latency_text(high, 0.99)}, "
            at = write.rate(facts.offered_rps(low))
            short = facts.fell_short(low)
            text += f"though {at} was not all answered" if short else f"against {facts.latency_text(low, 0.99)} at {at}"
            if why := "" if short else comparable.in_turn(low, high):
                text += f"; they are not compared, for {why}"
            evidence |= {"p99_us": after.value, "p99_low_us": before.value}
        ladder = f"ladder-{high.record.ladder.name if high.record.ladder else ''}"
        yield Finding("E03", Severity.NOTE, write.sentence(text), evidence, (low.name, high.name), ladder)
