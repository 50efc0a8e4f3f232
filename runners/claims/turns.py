"""Settings that took turns: what each carries and how long it takes, against the first or any other, round by round.

The statistics are those of two settings compared (see compare): logarithms of a round's ratio, Student's interval over
rounds, the 5 % shared by the quantities. One looks once, after all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runners.analysis import comparable, facts
from runners.analysis.comparison import FEWEST_ROUNDS, Difference, Verdict, differences
from runners.analysis.steady_state import not_warm
from runners.claims.checks import TURN as TURN
from runners.claims.checks import TURN_PROFILED
from runners.claims.comparing import of_step
from runners.readers import write
from runners.readers.run import Run, Step
from runners.storage.schema import CLUSTER

WARM, CLOSED, PROFILED = "turn-warm", "turn-closed", TURN_PROFILED
LEAST_PROFILED_S = 2.0
SEE = 0.05
UNSEEN = "no change that"
TELLS_NOTHING = 4.0  # an interval that reaches five times the value is none
CARRIED, TAIL = "closed_loop_rps", "p99_us"
SHOWN = (CARRIED, "p50_us", TAIL)


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its settings in their order, and by setting and round the closed loop and the load."""

    name: str
    settings: tuple[str, ...]
    turns: dict[str, dict[int, tuple[Step | None, Step]]]
    planned: int

    @property
    def rate_rps(self) -> float:
        return facts.offered_rps(self.steps[0])

    @property
    def connections(self) -> float:
        return float(self.steps[0].record.connections or math.nan)

    @property
    def steps(self) -> list[Step]:
        """Every load, setting by setting."""
        return [load for name in self.settings for _, load in self.turns[name].values()]

    @property
    def taken_again(self) -> int:
        """Closed loops and loads that were measured once more, for their server was still compiling."""
        every = (step for own in self.turns.values() for turn in own.values() for step in turn if step is not None)
        return sum(int(step.record.interleaved.again if step.record.interleaved else 0) for step in every)

    def usable(self, *names: str) -> list[int]:
        """Rounds in which the latencies of all of these settings mean something."""
        shared = set.intersection(*(set(self.turns[name]) for name in names))
        return sorted(number for number in shared if all(facts.quotable(self.turns[n][number][1]) for n in names))

    def compiling(self, *names: str) -> dict[int, list[Step]]:
        """By round, the closed loops and loads of these settings whose server was still compiling."""
        found: dict[int, list[Step]] = {}
        for number, turn in (item for name in names for item in self.turns[name].items()):
            if seen := [step for step in turn if step is not None and not_warm(step)]:
                found.setdefault(number, []).extend(seen)
        return found

    def against(self, a: str, b: str) -> list[Difference]:
        """B against A, each quantity over the rounds that tell it of both.

        Rounds in which one of the two was still compiling are left out where enough others remain.
        """
        sides: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
        shared, compiling = set(self.turns[a]) & set(self.turns[b]), set(self.compiling(a, b))
        rested = shared - compiling
        for number in sorted(rested if len(rested) >= FEWEST_ROUNDS else shared):
            pair = [_told(*self.turns[name][number]) for name in (a, b)]
            for quantity in pair[0].keys() & pair[1].keys():
                for side, values in zip(sides, pair, strict=True):
                    side.setdefault(quantity, []).append(values[quantity])
        found = differences(*sides, self.planned, SEE)
        return comparable.marked(found, *((facts.engine_name(name), self._quotable(name)) for name in (a, b)))

    def _quotable(self, name: str) -> list[Step]:
        return [load for _, load in self.turns[name].values() if facts.quotable(load)]


def _told(closed: Step | None, load: Step) -> dict[str, float]:
    """What one turn tells; a load that can't be quoted leaves the closed loop."""
    every = of_step(load, closed)
    return {
        quantity: value
        for quantity, value in every.items()
        if math.isfinite(value) and value > 0 and (quantity == CARRIED or facts.quotable(load))
    }


def groups(steps: Sequence[Step]) -> list[Group]:
    """The groups that these steps belong to, in their order; a setting without any turn is left out."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        about = step.record.interleaved
        if step.kind in (CLOSED, TURN) and about and about.family == CLUSTER:
            found.setdefault(about.name, []).append(step)
    made = []
    for name, own in found.items():
        first = own[0].record.interleaved
        assert first is not None
        turns: dict[str, dict[int, tuple[Step | None, Step]]] = {}
        closed = {(step.subject, step.record.round or 0): step for step in own if step.kind == CLOSED}
        for step in own:
            if step.kind == TURN:
                key = (step.subject, step.record.round or 0)
                turns.setdefault(step.subject, {})[key[1]] = (closed.get(key), step)
        settings = tuple(each for each in first.treatments if each in turns)
        if settings:
            made.append(Group(name, settings, turns, first.planned_rounds))
    return made


def group(run: Run, name: str) -> Group | None:
    """The group of that name, or None."""
    return next((each for each in groups(run.steps) if each.name == name), None)


def of(found: Sequence[Difference], quantity: str) -> Difference | None:
    """One quantity's difference."""
    return next((each for each in found if each.quantity.name == quantity), None)


def _tells_nothing(each: Difference) -> bool:
    return each.rounds < FEWEST_ROUNDS or not write.known(each.low) or each.high > TELLS_NOTHING


def signed_range(each: Difference) -> str:
    """A difference as its interval: +12.0 % to +31.0 %; what few rounds can't tell is said."""
    if _tells_nothing(each):
        return "not known"
    return f"{_signed(each.low)} to {_signed(each.high)}"


def verdict(each: Difference) -> Verdict:
    """As the difference has it; of fewer rounds than a comparison takes, nothing is seen."""
    return each.verdict if each.rounds >= FEWEST_ROUNDS else Verdict.UNSEEN


def told(each: Difference) -> str:
    """What a change does to one quantity, in words that stand behind its name."""
    if verdict(each) in (Verdict.LOWER, Verdict.HIGHER):
        return f"{each.verdict.value} by {_edges(each)}"
    if verdict(each) == Verdict.MACHINE:
        return f"not compared ({each.machine})"
    if verdict(each) == Verdict.NONE:
        return f"changes by less than {write.percent(each.see)}"
    between = "" if _tells_nothing(each) else f" ({signed_range(each)})"
    return f"{UNSEEN} {each.rounds} round{'' if each.rounds == 1 else 's'} can see{between}"


def _edges(each: Difference) -> str:
    low, high = sorted((abs(each.low), abs(each.high)))
    if each.high > TELLS_NOTHING:
        return f"at least {write.percent(low)}"
    return (
        write.percent(low)
        if write.percent(low) == write.percent(high)
        else f"{write.percent(low)} to {write.percent(high)}"
    )


def _signed(share: float) -> str:
    return ("+" if share > 0 else "") + write.percent(share)
