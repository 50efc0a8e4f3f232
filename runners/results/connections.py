"""Closed loops of several settings on one connection and on many, in rounds, to tell the parts of a gain apart.

Each round has a fresh start of every setting. The ratio of two loops is taken within each round; its interval is that
of the geometric mean over rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.intervals import Bounded, geometric_mean
from runners.design.block import FEWEST_STARTS
from runners.design.session import CLOSED
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Answering, Basis, Measure, Needed, Unit, verdict_of

if TYPE_CHECKING:
    from runners.results.results import Results


@dataclass(frozen=True, slots=True)
class Loop:
    """A setting in closed loop on so many connections."""

    subject: str
    connections: int


def _by_round(run: Run, loop: Loop) -> dict[int, Step]:
    """Return the loop's steps by round, those with a rate that may be quoted."""
    steps = run.find(kind=CLOSED, subject=loop.subject)
    return {
        step.record.round or 0: step
        for step in steps
        if step.valid and step.record.connections == loop.connections and facts.achieved_rps(step) > 0
    }


def times(run: Run, loop: Loop, against: Loop) -> tuple[Bounded, tuple[Step, ...]] | None:
    """Return how many times the rate of another loop a loop reaches, and the steps; None without common rounds."""
    steps, others = _by_round(run, loop), _by_round(run, against)
    rounds = sorted(steps.keys() & others.keys())
    if not rounds:
        return None
    ratios = [facts.achieved_rps(steps[number]) / facts.achieved_rps(others[number]) for number in rounds]
    pairs = tuple(step for number in rounds for step in (steps[number], others[number]))
    return geometric_mean(ratios), pairs


def more_than(label: str, loop: Loop, against: Loop, parts: Sequence[tuple[str, Loop, Loop]] = ()) -> Answering:
    """Answer: does a loop reach more than another? `parts` are further ratios that the answer shows, each labelled."""

    def answer(results: Results) -> Answer | None:
        whole = times(results.run, loop, against)
        if whole is None:
            return None
        ratio, steps = whole
        others = [(text, times(results.run, *pair)) for text, *pair in parts]
        ratios = [(label, ratio), *((text, part[0]) for text, part in others if part is not None)]
        measures, rounds = tuple(Measure.of(text, part, Unit.TIMES) for text, part in ratios), len(steps) // 2
        named, wanted = tuple(dict.fromkeys(step.name for step in steps)), max(2 * rounds, FEWEST_STARTS)
        verdict = verdict_of(ratio.low - 1, ratio.high - 1)
        return Answer(verdict, measures, Basis.ROUNDS, rounds, Needed.ROUNDS, wanted, named)

    return answer
