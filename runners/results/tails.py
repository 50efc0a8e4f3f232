"""Whether a cause made the tail of a load, by the attribution of its latency spikes."""

from __future__ import annotations

from dataclasses import dataclass

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.tail_attribution import LEAST_SHARE, Attribution, attribution
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results

#: The share of the time above p99 that a cause has to explain to be worth changing.
MARGIN = 0.1
CHANCE = 0.05


@dataclass(frozen=True, slots=True)
class Explained:
    """The causes of a tail, largest first, with their shares; how many responses were slow, above `threshold_us`."""

    causes: tuple[tuple[str, Bounded], ...]
    unexplained: float
    slow: int
    threshold_us: float


def explained(seen: Attribution) -> Explained:
    """Return the causes that explain at least LEAST_SHARE of a tail."""
    causes = tuple((share.cause.name, share.share) for share in seen.named if share.share.value >= LEAST_SHARE)
    return Explained(causes, seen.unexplained, int(seen.tail.slow), seen.tail.threshold_us)


@answering
def tail_by(results: Results, cause: str, step_name: str) -> Answer | None:
    """Answer: does a cause explain the tail of a load, beyond chance, by a share whose interval lies above zero?

    No where it explains less than MARGIN; inconclusive without events of the cause, or where the tail is not known.
    """
    step = next((step for step in results.steps if step.name == step_name), None)
    if step is None:
        return None

    def give(verdict: Verdict, evidence: tuple[object, ...], needed: Needed | None = None) -> Answer:
        return Answer(verdict, evidence, Basis.LOADS, 1, needed, steps=(step_name,), figure=f"causes-{step_name}")

    seen = attribution(step) if facts.quotable(step) else None
    if seen is None:
        return give(Verdict.INCONCLUSIVE, (), Needed.LONGER_LOAD)
    share = next((share for share in seen.shares if share.cause.name == cause), None)
    events = Measure(f"{cause} events", len(share.cause) if share is not None else 0, Unit.COUNT)
    if share is None or not len(share.cause):  # a load without it says nothing on what it does where there is some
        return give(Verdict.INCONCLUSIVE, (events, explained(seen)), Needed.EVENTS)
    if not seen.tail.spikes:
        return give(Verdict.NO, (events,))
    causes = explained(seen)
    named = any(name == cause for name, _ in causes.causes)  # its share stands among theirs
    credited = Measure.of(f"{cause} explains", share.share, Unit.SHARE)
    evidence = (events, causes) if named else (credited, events, causes)
    if not share.share.value > 0 or share.share.high < MARGIN:
        return give(Verdict.NO, evidence)
    if share.p < CHANCE and share.share.low > 0:
        return give(Verdict.YES, evidence)
    return give(Verdict.INCONCLUSIVE, evidence, Needed.LONGER_LOAD)
