"""Answers by the searches for a knee: whether it differs between treatments, and which published rates lie below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import Knee
from runners.analysis.rate_steps import StepOutcome, points, refused_share
from runners.design.block import FEWEST_STARTS
from runners.design.objective import ACHIEVED_ALONE
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
from runners.results.ladders import between, knees_anchor, overloaded, queue_length
from runners.results.published import beyond_the_knee, keeps_its_rate, outputs_named, taken_at_rps

if TYPE_CHECKING:
    from runners.results.results import Results

__all__ = ["KneeRatio", "beyond_the_knee", "knees_apart", "longer_queue", "published_rates"]

#: By how much a closed loop may reach less than it could, as the machine varies.
SPREAD = 0.1
#: By how much less a longer queue has to refuse, as a share of all requests.
REFUSED_MARGIN = 0.01


@dataclass(frozen=True, slots=True)
class KneeRatio:
    """Two knees of one workload, and their ratio less one with its interval; None where a knee is not known."""

    workload: str
    names: tuple[str, str]
    knees: tuple[Knee, Knee]
    change: Bounded | None


def knees_apart(workload: str, of: str, against: str) -> Answering:
    """Answer: is the maximum throughput under the objective of one treatment higher than that of another?"""

    def answer(results: Results) -> Answer | None:
        first, second = (results.searched(workload, name) for name in (of, against))
        if first is None or second is None or first.knee is None or second.knee is None:
            return None
        names = facts.engine_name(first.steps[0].subject), facts.engine_name(second.steps[0].subject)
        knees = first.knee, second.knee
        steps = tuple(step.name for ladder in (first, second) for step in ladder.steps)
        starts = min(first.starts, second.starts)
        apart = between(results.run, first, second) if all(knee.known for knee in knees) else None
        change = Bounded(apart.value - 1, apart.low - 1, apart.high - 1) if apart is not None else None
        verdict, needed = Verdict.INCONCLUSIVE, Needed.LONGER_SEARCH
        if change is not None and starts >= FEWEST_STARTS:
            verdict = verdict_of(change.low, change.high)
        if starts < FEWEST_STARTS:
            needed = Needed.STARTS
        elif any(knee.late for knee in knees):
            needed = Needed.GENERATOR_CORES
        return Answer(
            verdict, (KneeRatio(workload, names, knees, change),), Basis.STARTS_OF_SEARCH, starts,
            needed if verdict == Verdict.INCONCLUSIVE else None,
            FEWEST_STARTS if needed == Needed.STARTS and verdict == Verdict.INCONCLUSIVE else 0, steps,
            knees_anchor(workload),
        )  # fmt: skip

    return answer


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """The highest published rate of a ladder that is not beyond the published knee, and what is reached here.

    `knee` is None where a closed loop of as many connections does not even reach it.
    """

    workload: str
    published_rps: float
    closed_loop_rps: float
    knee: Knee | None


def published_rates(results: Results) -> Answer | None:
    """Answer: does one connection keep the objective at the published rates? Those beyond the published knee count not,
    for nobody kept them.
    """
    parts, verdicts, steps, late = [], [], [], False
    for ladder in results.ladders:
        kept = [output for _, output in outputs_named(ladder.published) if keeps_its_rate(output)]
        rates = [rate_rps for output in kept if (rate_rps := taken_at_rps(output) or output.offered_rps)]
        if ladder.base is None or ladder.knee is None or not rates:
            continue
        highest_rps, workload = max(rates), ladder.steps[0].workload
        closed_rps = ladder.closed_loop_rps
        if closed_rps * (1 + SPREAD) < highest_rps:
            verdicts.append(Verdict.NO)
            parts.append(PublishedRate(workload, highest_rps, closed_rps, None))
        elif ladder.knee.known:
            verdicts.append(verdict_of(ladder.knee.low_rps - highest_rps, ladder.knee.high_rps - highest_rps))
            late = late or ladder.knee.late
            parts.append(PublishedRate(workload, highest_rps, closed_rps, ladder.knee))
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


@dataclass(frozen=True, slots=True)
class Refused:
    """A pool that was to be offered more than fits: the share of its requests that were refused.

    `overloaded`: whether it was more than fits: some were refused, or the rate was not achieved.
    """

    name: str
    step: Step = field(repr=False)
    queue_length: int
    connections: int
    share: float
    overloaded: bool

    @property
    def filled(self) -> bool:
        """Whether its queue was filled: more connections than places wait, each with one request at a time."""
        return self.overloaded and self.connections > self.queue_length


def refusals(run: Run) -> list[Refused]:
    """Return the pools that were offered more than fits, shortest queue first."""
    pairs = sorted(overloaded(run), key=lambda pair: queue_length(pair[1]))
    return [
        Refused(
            facts.engine_name(high.subject), high, queue_length(high), high.record.connections or 0,
            refused_share(high), points(high, ACHIEVED_ALONE)[0].outcome == StepOutcome.MISSED,
        )
        for _, high in pairs
    ]  # fmt: skip


def longer_queue(results: Results) -> Answer | None:
    """Answer: does a longer queue refuse less of what does not fit? Only queues that were filled tell."""
    pools: Sequence[Refused] = refusals(results.run)
    if len(pools) < 2:
        return None
    filled = [pool for pool in pools if pool.filled]
    evidence = tuple(Measure(f"refused by {pool.name}", pool.share, Unit.SHARE) for pool in filled)
    steps = tuple(pool.step.name for pool in filled)
    figure = f"ladder-{pools[0].step.record.ladder.name}" if pools[0].step.record.ladder else None
    if len(filled) < 2:
        return Answer(Verdict.INCONCLUSIVE, evidence, Basis.LOADS, len(filled), Needed.CONNECTIONS, figure=figure)
    verdict = Verdict.YES if filled[-1].share < filled[0].share - REFUSED_MARGIN else Verdict.NO
    return Answer(verdict, evidence, Basis.LOADS, len(filled), steps=steps, figure=figure)
