"""Answers by the searches for a knee: whether it differs between treatments, and which published rates lie below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import Answer as KneeAnswer
from runners.analysis.knee import pooled, ratio, refused_share
from runners.claims import settings
from runners.claims.climbing import Ladder, between, contradictions, with_rate_steps
from runners.design.block import FEWEST_STARTS
from runners.design.session import PROBE
from runners.readers.run import Run, Step
from runners.results.answer import (
    ALL_PARTS,
    Answer,
    Answering,
    Basis,
    Measure,
    Needed,
    Unit,
    Verdict,
    first_of,
    verdict_of,
)
from runners.results.published import beyond_the_knee, keeps_its_rate, outputs_named, taken_at_rps

if TYPE_CHECKING:
    from runners.results.results import Results

__all__ = ["KneeRatio", "beyond_the_knee", "knees_apart", "longer_queue", "published_rates"]

#: By how much a closed loop may reach less than it could, as the machine varies.
SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class KneeRatio:
    """Two knees of one workload and their ratio, less one, with its interval; `change` is None where one is not known.

    `contradicted_by`: rates that were offered again and do not agree with the knees, so that the verdict may be wrong.
    """

    workload: str
    names: tuple[str, str]
    knees: tuple[KneeAnswer, KneeAnswer]
    change: Bounded | None
    contradicted_by: tuple[float, ...] = ()


def knees_apart(workload: str, of: str, against: str) -> Answering:
    """Answer: is the maximum throughput under the objective of one treatment higher than that of another?"""

    def answer(results: Results) -> Answer | None:
        first, second = (results.searched(workload, name) for name in (of, against))
        if first is None or second is None or first.answer is None or second.answer is None:
            return None
        names = facts.engine_name(first.steps[0].subject), facts.engine_name(second.steps[0].subject)
        knees = first.answer, second.answer
        steps = tuple(step.name for ladder in (first, second) for step in ladder.steps)
        starts = min(first.starts, second.starts)
        apart = between(results.run, first, second) if all(knee.known_below for knee in knees) else None
        change = Bounded(apart.value - 1, apart.low - 1, apart.high - 1) if apart is not None else None
        verdict, needed = Verdict.INCONCLUSIVE, Needed.LONGER_SEARCH
        contradicting: tuple[float, ...] = ()
        if change is not None and starts >= FEWEST_STARTS:
            verdict = verdict_of(change.low, change.high)
            contradicting = _contradicting(results, verdict, first, second)
            verdict = Verdict.INCONCLUSIVE if contradicting else verdict
        if starts < FEWEST_STARTS:
            needed = Needed.STARTS
        elif any(knee.late for knee in knees) and not contradicting:
            needed = Needed.GENERATOR_CORES
        return Answer(
            verdict, (KneeRatio(workload, names, knees, change, contradicting),), Basis.STARTS_OF_SEARCH, starts,
            needed if verdict == Verdict.INCONCLUSIVE else None,
            FEWEST_STARTS if needed == Needed.STARTS and verdict == Verdict.INCONCLUSIVE else 0, steps,
            settings.anchor(workload),
        )  # fmt: skip

    return answer


def _contradicting(results: Results, verdict: Verdict, of: Ladder, against: Ladder) -> tuple[float, ...]:
    """Return the rates, offered again, that contradict the knees so that the verdict may be wrong.

    They count as steps of one more start of their server: where the verdict is the same with them, none does.
    """
    pair = [ladder for ladder in results.ladders if ladder.title in (of.title, against.title)]
    rates = tuple(rate_rps for ladder in pair for rate_rps in contradictions(ladder))
    if verdict == Verdict.INCONCLUSIVE or not rates:
        return ()
    apart = ratio(*pooled([with_rate_steps(results.run, ladder) for ladder in (of, against)]))
    return () if verdict_of(apart.low - 1, apart.high - 1) == verdict else rates


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """The highest published rate of a ladder that is not beyond the published knee, and what is reached here.

    `knee` is None where a closed loop of as many connections does not even reach it.
    """

    workload: str
    published_rps: float
    closed_loop_rps: float
    knee: KneeAnswer | None


def published_rates(results: Results) -> Answer | None:
    """Answer: does one connection keep the objective at the published rates? Those beyond the published knee count not,
    for nobody kept them.
    """
    parts, verdicts, steps, late = [], [], [], False
    for ladder in results.ladders:
        kept = [output for _, output in outputs_named(ladder.published) if keeps_its_rate(output)]
        rates = [rate_rps for output in kept if (rate_rps := taken_at_rps(output) or output.offered_rps)]
        if ladder.base is None or ladder.answer is None or not rates:
            continue
        highest_rps, workload = max(rates), ladder.steps[0].workload
        closed_rps = _in_closed_loop(results.run, ladder)
        if closed_rps * (1 + SPREAD) < highest_rps:
            verdicts.append(Verdict.NO)
            parts.append(PublishedRate(workload, highest_rps, closed_rps, None))
        elif ladder.answer.known_below:
            verdicts.append(verdict_of(ladder.answer.low_rps - highest_rps, ladder.answer.high_rps - highest_rps))
            late = late or ladder.answer.late
            parts.append(PublishedRate(workload, highest_rps, closed_rps, ladder.answer))
        else:
            continue
        steps += [step.name for step in ladder.steps]
    if not parts:
        return None
    verdict = first_of(ALL_PARTS, verdicts)
    needed = Needed.GENERATOR_CORES if late else Needed.LONGER_SEARCH
    needed_here = needed if verdict == Verdict.INCONCLUSIVE else None
    figure = next((ladder.anchor for ladder in results.ladders if ladder.search is not None), None)
    return Answer(verdict, tuple(parts), Basis.CLOSED_LOOPS, len(parts), needed_here, steps=tuple(steps), figure=figure)


def _in_closed_loop(run: Run, ladder: Ladder) -> float:
    """Return what the ladder's load reached in closed loop, infinite where that is not known.

    More can't be achieved over as many connections, as each of them waits for its response.
    """
    first = ladder.steps[0]
    probes = run.find(kind=PROBE, subject=first.subject, workload=first.workload)
    same = [step for step in probes if step.valid and step.record.connections == first.record.connections]
    return max(map(facts.achieved_rps, same), default=math.inf)


@dataclass(frozen=True, slots=True)
class Refused:
    """A pool under more than fits: the share of its requests that were refused, and whether its queue could fill."""

    name: str
    step: Step = field(repr=False)
    queue_length: int
    connections: int
    share: float

    @property
    def can_fill(self) -> bool:
        """Whether more connections than places wait, each with one request at a time."""
        return self.connections > self.queue_length


def refusals(run: Run) -> list[Refused]:
    """Return the pools that were offered more than fits, shortest queue first."""
    pairs = sorted(settings.overloaded(run), key=lambda pair: settings.queue_length(pair[1]))
    return [
        Refused(
            facts.engine_name(high.subject), high, settings.queue_length(high), high.record.connections or 0,
            refused_share(high),
        )
        for _, high in pairs
    ]  # fmt: skip


def longer_queue(results: Results) -> Answer | None:
    """Answer: does a longer queue refuse less of what does not fit? Only queues that can fill say anything of it."""
    pools: Sequence[Refused] = refusals(results.run)
    if len(pools) < 2:
        return None
    filled = [pool for pool in pools if pool.can_fill]
    evidence = tuple(Measure(f"refused by {pool.name}", pool.share, Unit.SHARE) for pool in filled)
    steps = tuple(pool.step.name for pool in filled)
    figure = f"ladder-{pools[0].step.record.ladder.name}" if pools[0].step.record.ladder else None
    if len(filled) < 2:
        return Answer(Verdict.INCONCLUSIVE, evidence, Basis.LOADS, len(filled), Needed.CONNECTIONS, figure=figure)
    verdict = Verdict.YES if filled[-1].share < filled[0].share else Verdict.NO
    return Answer(verdict, evidence, Basis.LOADS, len(filled), steps=steps, figure=figure)
