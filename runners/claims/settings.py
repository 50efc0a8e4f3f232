"""Settings side by side: the knees of ways to run a request and of stores, full queues, and what a store writes.

Written bytes are the kernel's (`write_bytes` of /proc/PID/io, counted when a page becomes dirty), so that they mean the
same for every store, whether it writes by calls or through a mapping: log, tables, merging and all. A store's own
counters come with them where it has any.
"""

from __future__ import annotations

from dataclasses import dataclass

from runners.analysis import facts
from runners.analysis.knee import Answer
from runners.claims.climbing import Ladder, ladders
from runners.readers.run import Run, Step

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

    @property
    def least_rps(self) -> float:
        """The knee, or the bound above which it lies."""
        return self.answer.low_rps if self.answer.from_below else self.answer.rps


def anchor(workload: str) -> str:
    """Where the knees of a workload are drawn."""
    return f"knees-{workload}"


def knees(run: Run) -> dict[str, list[Knee]]:
    """By workload, the knees that were searched in this run, or bounds of them; only where there are several."""
    found: dict[str, list[Knee]] = {}
    for ladder in ladders(run):
        answer = ladder.answer
        if ladder.search is not None and answer is not None and answer.known_below:
            found.setdefault(ladder.steps[0].workload, []).append(Knee(ladder, answer))
    return {workload: each for workload, each in found.items() if len({k.name for k in each}) >= FEWEST}


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
    """Return the length of a pool's queue, by which its setting ends."""
    return int(step.subject.rpartition("-")[2])
