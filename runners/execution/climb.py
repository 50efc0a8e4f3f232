"""Climb a ladder: measure a rung, ask where to go next, until the knee is known or the time is up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runners.analysis import facts
from runners.analysis.knee import Answer, Search, finish, move, probe_of
from runners.analysis.meets import meets
from runners.design.experiment import AROUND_A_LOAD_S
from runners.design.objective import Objective
from runners.readers.run import Step

Measure = Callable[[int, float], Step]


def hunt(
    taken: Sequence[Step], measure: Measure, search: Search, objective: Objective, budget_s: float, rung_s: float
) -> tuple[Answer, list[Step]]:
    """The knee, and the rungs that show it; `taken` are those of an earlier session, whose time counts.

    `measure(index, rate)` takes the rung of that number. `rung_s` is what one is planned to take.
    """
    steps = list(taken)
    while True:
        probes = [probe_of(facts.offered_rps(step), meets(step, objective)) for step in steps]
        following = move(probes, search)
        if isinstance(following, Answer):
            return following, steps
        if spent_s(steps) + rung_s > budget_s:
            return finish(probes, search), steps
        steps.append(measure(len(steps) + 1, following))


def spent_s(steps: Sequence[Step]) -> float:
    """What these steps took."""
    us = sum(step.record.ended_unix_us - step.record.started_unix_us for step in steps)
    return us / 1e6 + AROUND_A_LOAD_S / 2 * len(steps)
