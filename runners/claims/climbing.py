"""Ladders of a run: one load at several rates, each rate step a trial; with an objective, a search for the knee."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import (
    Answer,
    Curve,
    Kind,
    Outcome,
    Point,
    RateStep,
    at_least,
    curve,
    estimate,
    points,
    pooled,
    ratio,
)
from runners.design.objective import Objective
from runners.design.session import RATE_STEP
from runners.readers import write
from runners.readers.run import Run, Step
from runners.storage.schema import LadderBase, LadderRecord, SearchRecord

MOST_IN_ANSWER = 3  # more ladders than that stand side by side, see settings
JUST_ABOVE = 1.3  # rates up to here above the knee tell what is missed first
KNEE = "knee"  # as the record of a ladder calls what its rates are shares of


@dataclass(frozen=True, slots=True)
class Base:
    """What rate steps are shares of: the knee as a search found it, a bound of it, or what a closed loop reached.

    `knee`: what is known of it. `estimated`: whether the search itself took it for found.
    """

    rps: float
    what: str
    knee: Answer | None = None
    estimated: bool = False

    @property
    def named(self) -> str:
        """What the rate is, in words; a search that found no knee leaves a bound of it."""
        if self.what != KNEE or (self.knee is not None and self.knee.kind == Kind.FOUND):
            return self.what
        return f"{'estimate' if self.estimated else 'bound'} of the knee"


@dataclass(frozen=True)  # without slots, for what is worked out once
class Ladder:
    """The rate steps of one server under one load, in the order in which they were measured."""

    name: str
    steps: tuple[Step, ...]
    objective: Objective | None
    search: SearchRecord | None
    published: tuple[str, ...] = ()
    base: Base | None = None

    @property
    def rate_steps(self) -> list[Step]:
        """One step a rate, lowest first: a rate step that was offered again counts by its repeat."""
        last = {facts.offered_rps(step): step for step in self.steps}
        return [last[rps] for rps in sorted(last)]

    @property
    def anchor(self) -> str:
        return f"ladder-{self.name}"

    @cached_property
    def points(self) -> list[Point]:
        """Each rate against the objective, or against the rate alone; of a search's loads each short step."""
        objective = self.objective or Objective(latencies=(), errors=1.0)
        return [point for step in self.steps for point in points(step, objective)]

    @property
    def rated(self) -> list[RateStep]:
        """The steps that are a measurement, those too that the generator's lateness leaves undecided."""
        return [point.rate_step for point in self.points if point.outcome != Outcome.INVALID]

    @property
    def outcomes(self) -> tuple[list[float], list[float]]:
        """The rates that every step met which tells something, and those that one missed, each lowest first."""
        met, missed = (
            {point.rps for point in self.points if point.outcome == outcome}
            for outcome in (Outcome.MET, Outcome.MISSED)
        )
        return sorted(met - missed), sorted(missed)

    @property
    def unknown(self) -> list[float]:
        """The rates of which nothing is known, since the generator was late in every step that offered them."""
        met, missed = self.outcomes
        late = {point.rps for point in self.points if point.outcome == Outcome.GENERATOR}
        return sorted(late - {*met, *missed})

    @cached_property
    def answer(self) -> Answer | None:
        """The knee that these rates show, or for rates at shares of it the one that was found before; else None."""
        if self.search is None or self.objective is None:
            return self.base.knee if self.base else None
        limits = (self.search.low_rps, self.search.high_rps)
        return estimate(self.rated, self.objective, self.search.precision, limits)

    @cached_property
    def curve(self) -> Curve | None:
        """The posterior of the knee; None without a search or without steps."""
        if self.search is None or self.objective is None or not self.rated:
            return None
        return curve(self.rated, self.objective)

    @cached_property
    def lower_curve(self) -> Curve | None:
        """The posterior of a lower bound of the knee, which is that of the knee unless it is known from below only."""
        return at_least(self.rated, self.objective) if self.objective and _from_below(self) else self.curve

    @property
    def starts(self) -> int:
        """Of how many fresh starts of the server the steps are."""
        return len({step.record.ladder.start for step in self.steps if step.record.ladder is not None}) or 1

    @property
    def title(self) -> str:
        connections = self.steps[0].record.connections
        return f"{facts.title(self.steps[0])} on {write.connections(connections)}"


def searched_together(one: Ladder, other: Ladder) -> bool:
    """Decide whether two knees are of one search, whose loads went to both servers in random order."""
    return one.steps[-1].record.block == other.steps[-1].record.block


def between(run: Run, of: Ladder, against: Ladder) -> Bounded | None:
    """Return the ratio of two knees with its interval, from the posteriors of both; None where one was not searched.

    What the other servers of their search tell of the spread of starts is taken in. A knee that is known from below
    only leaves the ratio open on one side: infinite above, or zero below.
    """
    known = [_pooled(run, each, lower=False) for each in (of, against)]
    least = [_pooled(run, each, lower=True) for each in (of, against)]
    if known[0] is None or known[1] is None or least[0] is None or least[1] is None:
        return None
    apart = ratio(known[0], known[1])
    low = 0.0 if _from_below(against) else min(apart.low, ratio(least[0], known[1]).low)
    high = math.inf if _from_below(of) else max(apart.high, ratio(known[0], least[1]).high)
    return Bounded(apart.value, low, high)


def with_rate_steps(run: Run, searched: Ladder) -> Curve:
    """Return the posterior of a knee by the steps of its search and by the rates that were offered again, which count
    as one more start. Raises ValueError without steps.
    """
    steps = searched.rated
    for each in ladders(run):
        if each.title == searched.title and each.search is None:
            steps += [dataclasses.replace(step, start=searched.starts + 1) for step in each.rated]
    return curve(steps, searched.objective or Objective(latencies=(), errors=1.0))


def _from_below(ladder: Ladder) -> bool:
    return ladder.answer is not None and ladder.answer.from_below


def _pooled(run: Run, ladder: Ladder, *, lower: bool) -> Curve | None:
    own = _curve(ladder, lower=lower)
    if own is None or ladder.starts == 1:
        return own
    others = [
        _curve(each, lower=lower) for each in ladders(run) if each is not ladder and searched_together(each, ladder)
    ]
    return pooled([own, *(each for each in others if each is not None)])[0]


def _curve(ladder: Ladder, *, lower: bool) -> Curve | None:
    return ladder.lower_curve if lower else ladder.curve


@lru_cache(maxsize=2)
def ladders(run: Run) -> tuple[Ladder, ...]:
    """Return the ladders of a run, in order. What its searches found is known of the knees that rate steps are
    shares of.
    """
    found = ladders_of(run.find(kind=RATE_STEP))
    searched = {each.title: each for each in found if each.search is not None}
    return tuple(_on_its_search(each, searched.get(each.title)) for each in found)


def _on_its_search(ladder: Ladder, search: Ladder | None) -> Ladder:
    if search is None or ladder.base is None or ladder.base.what != KNEE:
        return ladder
    return dataclasses.replace(ladder, base=dataclasses.replace(ladder.base, knee=search.answer))


def ladders_of(steps: Iterable[Step]) -> tuple[Ladder, ...]:
    """Return the ladders that these rate steps make, in order."""
    by_name = facts.grouped(steps, lambda step: step.record.ladder.name if step.record.ladder else step.subject)
    return tuple(ladder_of(name, own) for name, own in by_name.items())


def ladder_of(name: str, steps: Sequence[Step]) -> Ladder:
    """Return one ladder from its rate steps, as their metadata describe it."""
    about = steps[0].record.ladder or LadderRecord(name=name)
    return Ladder(
        name,
        tuple(steps),
        Objective.parse(about.objective) if about.objective else None,
        about.search,
        about.published,
        _base(about.base),
    )


def _base(about: LadderBase | None) -> Base | None:
    if about is None:
        return None
    knee = Answer(Kind.FOUND, *about.knee, True) if about.knee is not None else None
    return Base(about.rps, about.what, knee, knee is not None)


def bounds_of(answer: Answer) -> str:
    """Say which side of a knee that was not found is not known, to follow what was to be met."""
    low, high = (write.rate(rps) if write.known(rps) else "" for rps in (answer.low_rps, answer.high_rps))
    if low and high:
        return f"met up to {low} and missed from {high} on, with no knee between"
    if low:
        return f"met at {low}; the steps above do not bound the knee"
    return f"missed at {high}; the steps below do not bound the knee" if high else "neither met nor missed often enough"


def missed_above(ladder: Ladder, answer: Answer) -> tuple[Counter[str], int, tuple[str, ...]]:
    """Give what the rate steps just above the knee missed and how often, how many steps those are, and their loads."""
    if answer.kind != Kind.FOUND:
        return Counter(), 0, ()
    near = [
        point
        for point in ladder.points
        if point.outcome == Outcome.MISSED and answer.low_rps <= point.rps <= JUST_ABOVE * answer.rps
    ]
    kinds = Counter(reason.split(" ")[0] for point in near for reason in point.met.missed)
    return kinds, len(near), tuple(dict.fromkeys(point.step.name for point in near))


def part_of(kind: str) -> str:
    """Return a part of an objective as what a probe missed."""
    return {"achieved": "the rate", "errors": "the limit of errors"}.get(kind, kind)


FEWEST = 2  # knees of one setting that are worth a sentence of their own


def asked(objective: Objective) -> str:
    """Return an objective in words: p99 within 10 ms, 99 % of the rate, no errors."""
    errors = f"errors up to {write.given_share(objective.errors)}" if objective.errors else "no errors"
    return ", ".join([*_latencies(objective), f"{write.given_share(objective.achieved)} of the rate", errors])


def _latencies(objective: Objective) -> list[str]:
    return [f"{write.level(level)} within {write.given_latency(limit)}" for level, limit in objective.latencies]


def contradictions(ladder: Ladder) -> list[float]:
    """Return rates of a ladder that contradict its knee: missed below its interval, or met above it."""
    knee = ladder.base.knee if ladder.base is not None else None
    if knee is None or not knee.known_below:
        return []
    return [
        point.rps
        for point in ladder.points
        if (point.outcome == Outcome.MISSED and point.rps < knee.low_rps)
        or (point.outcome == Outcome.MET and point.rps > knee.high_rps)
    ]
