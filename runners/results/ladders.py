"""Ladders of a run: one load at several rates, each rate step a trial; with an objective, a search for the knee."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import Aim, Kind, Knee, Search
from runners.analysis.knee_curve import Curve, pooled, ratio
from runners.analysis.rate_steps import Point, RateStep, StepOutcome, points, rates, served_rps
from runners.analysis.steady_state import SETTLED_CORES, compiling_cores
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import ACHIEVED_ALONE, Objective
from runners.design.session import FILL, RATE_STEP
from runners.readers.run import Run, Step
from runners.storage.schema import LadderBase, LadderRecord, SearchRecord

FEWEST_SIDE_BY_SIDE = 2
QUEUE = "queue-"  # settings that differ in their queue are called so
OVERLOADED = 1.2  # of the lower rate: from here on a rate step is more than fits
JUST_ABOVE = 1.3  # rates up to here above the knee tell what is missed first
KNEE = "knee"  # as the record of a ladder calls what its rates are shares of


@dataclass(frozen=True, slots=True)
class Base:
    """What rate steps are shares of: the knee as a search found it, a bound of it, or what a closed loop reached.

    `knee`: what is known of it. `estimated`: whether the search itself took it for found.
    """

    rps: float
    what: str
    knee: Knee | None = None
    estimated: bool = False


@dataclass(frozen=True)  # without slots, for what is worked out once
class Ladder:
    """The rate steps of one server under one load, in the order in which they were measured.

    `other_steps`: of a search, what other blocks offered to the same server at one rate over as many connections.
    `closed_loop`: the closed loop over as many connections that reached most; None where none was measured.
    """

    name: str
    steps: tuple[Step, ...]
    objective: Objective | None
    search: SearchRecord | None
    published: tuple[str, ...] = ()
    base: Base | None = None
    other_steps: tuple[Step, ...] = ()
    closed_loop: Step | None = None

    @property
    def closed_loop_rps(self) -> float:
        """The good responses per second of that closed loop, infinite without one."""
        return served_rps(self.closed_loop) if self.closed_loop else math.inf

    @property
    def compiling(self) -> bool:
        """Whether that closed loop ended before JIT compilation was done, so that a warm server may reach more."""
        cores = compiling_cores(self.closed_loop) if self.closed_loop else None
        return cores is not None and cores > SETTLED_CORES

    @property
    def rate_steps(self) -> list[Step]:
        """One step a rate, lowest first: a rate step that was offered again counts by its repeat."""
        last = {facts.offered_rps(step): step for step in self.steps}
        return [last[rps] for rps in sorted(last)]

    @property
    def anchor(self) -> str:
        return f"ladder-{self.name}"

    @property
    def same(self) -> tuple[str, str, int | None]:
        """Server, load and connections: ladders that have these in common tell of the same knee."""
        first = self.steps[0]
        return first.subject, first.workload, first.record.connections

    @property
    def judged_by(self) -> Objective:
        """The objective; without one, that the rate alone is achieved."""
        return self.objective or ACHIEVED_ALONE

    @cached_property
    def points(self) -> list[Point]:
        """Each rate against the objective; of a search's loads each short step."""
        return [point for step in self.steps for point in points(step, self.judged_by)]

    @property
    def outcomes(self) -> tuple[list[float], list[float]]:
        """The rates that all steps with a known outcome met, and the rates that any step missed, lowest first."""
        missed = rates(self.points, StepOutcome.MISSED)
        return sorted({*rates(self.points, StepOutcome.MET)} - {*missed}), missed

    @property
    def unknown(self) -> list[float]:
        """The rates of which nothing is known, since the generator was late in every step that offered them."""
        met, missed = self.outcomes
        return sorted({*rates(self.points, StepOutcome.GENERATOR)} - {*met, *missed})

    @cached_property
    def known(self) -> Search | None:
        """All that bounds the knee; None without a search."""
        if self.search is None or self.objective is None:
            return None
        limits = self.search
        aim = Aim(self.objective, limits.precision, limits.low_rps, limits.high_rps, limits.confirm_s)
        other_steps = [point for step in self.other_steps for point in points(step, self.objective)]
        return Search(aim, _measured(self.points), _measured(other_steps), self.closed_loop_rps)

    @property
    def knee(self) -> Knee | None:
        """The knee that these rates show, or for rates at shares of it the one that was found before; else None."""
        return self.known.knee if self.known else self.base.knee if self.base else None

    @property
    def curve(self) -> Curve | None:
        """The posterior of the knee; None without a search or without steps."""
        return self.known.curve if self.known else None

    @property
    def lower_curve(self) -> Curve | None:
        """The posterior of a lower bound of the knee, which is that of the knee unless it is known from below only."""
        return self.known.lower_curve if self.known else None

    @property
    def starts(self) -> int:
        """Of how many fresh starts of the server the steps are."""
        return len({step.record.ladder.start for step in self.steps if step.record.ladder is not None}) or 1

    @property
    def title(self) -> str:
        connections = self.steps[0].record.connections
        return f"{facts.title(self.steps[0])} on {words.connections(connections)}"


def _measured(judged: Iterable[Point]) -> tuple[RateStep, ...]:
    """Return the steps that are a measurement, those too that the generator's lateness leaves undecided."""
    return tuple(point.rate_step for point in judged if point.outcome != StepOutcome.INVALID)


def searched_together(first: Ladder, second: Ladder) -> bool:
    """Decide whether two knees are of one search, whose loads went to both servers in random order."""
    return first.steps[-1].record.block == second.steps[-1].record.block


def between(run: Run, of: Ladder, against: Ladder) -> Bounded | None:
    """Return the ratio of two knees with its interval, from the posteriors of both; None where one was not searched.

    What the other servers of their search tell of the spread of starts is taken in. A knee of which one side only is
    known leaves the ratio open on one side: infinite above, or zero below.
    """
    first, second = _pooled(run, of, lower=False), _pooled(run, against, lower=False)
    least_first, least_second = _pooled(run, of, lower=True), _pooled(run, against, lower=True)
    if first is None or second is None or least_first is None or least_second is None:
        return None
    assert of.knee is not None and against.knee is not None  # what has a curve has a knee
    apart = ratio(first, second)
    open_below = of.knee.from_above or against.knee.from_below
    open_above = of.knee.from_below or against.knee.from_above
    low = 0.0 if open_below else min(apart.low, ratio(least_first, second).low)
    high = math.inf if open_above else max(apart.high, ratio(first, least_second).high)
    return Bounded(apart.value, low, high)


def _pooled(run: Run, ladder: Ladder, *, lower: bool) -> Curve | None:
    own = _curve(ladder, lower=lower)
    if own is None or ladder.starts == 1:
        return own
    others = [
        _curve(other, lower=lower) for other in ladders(run) if other is not ladder and searched_together(other, ladder)
    ]
    return pooled([own, *(curve for curve in others if curve is not None)])[0]


def _curve(ladder: Ladder, *, lower: bool) -> Curve | None:
    return ladder.lower_curve if lower else ladder.curve


@lru_cache(maxsize=2)
def ladders(run: Run) -> tuple[Ladder, ...]:
    """Return the ladders of a run, in order.

    What bounds the knee of a search is taken from the whole run: closed loops over as many connections, and the rates
    that other blocks offered. What the searches found is known of the knees that rate steps are shares of.
    """
    unbounded = ladders_of(run.find(kind=RATE_STEP))
    closed_loops = _closed_loops(run)
    bounded = [_bounded(ladder, unbounded, closed_loops.get(ladder.same)) for ladder in unbounded]
    searched = {ladder.same: ladder for ladder in bounded if ladder.search is not None}
    return tuple(_on_its_search(ladder, searched.get(ladder.same)) for ladder in bounded)


def _closed_loops(run: Run) -> dict[tuple[str, str, int | None], Step]:
    """Return the closed loop with most good responses per second, by server, load and connections."""
    loops = [
        step
        for step in run.steps
        if step.record.offered_rps is None and step.kind not in (FILL, RATE_STEP) and not step.profiled
    ]
    loops = [step for step in loops if may_quote(step, Aspect.RATE) and served_rps(step) > 0]
    by_key = facts.grouped(loops, lambda step: (step.subject, step.workload, step.record.connections))
    return {key: max(own, key=served_rps) for key, own in by_key.items()}


def _bounded(ladder: Ladder, all_ladders: Sequence[Ladder], closed_loop: Step | None) -> Ladder:
    other_steps: tuple[Step, ...] = ()
    if ladder.search is not None:
        others = [other for other in all_ladders if other.search is None and other.same == ladder.same]
        other_steps = tuple(step for other in others for step in other.steps if step.record.sweep is None)
    return dataclasses.replace(ladder, other_steps=other_steps, closed_loop=closed_loop)


def _on_its_search(ladder: Ladder, search: Ladder | None) -> Ladder:
    if search is None or ladder.base is None or ladder.base.what != KNEE:
        return ladder
    return dataclasses.replace(ladder, base=dataclasses.replace(ladder.base, knee=search.knee))


def ladders_of(steps: Iterable[Step]) -> tuple[Ladder, ...]:
    """Return the ladders that these rate steps make, in order."""
    by_name = facts.grouped(steps, lambda step: step.record.ladder.name if step.record.ladder else step.subject)
    return tuple(ladder_of(name, own) for name, own in by_name.items())


def ladder_of(name: str, steps: Sequence[Step]) -> Ladder:
    """Return one ladder from its rate steps, as their metadata describe it."""
    about = steps[0].record.ladder or LadderRecord(name=name)
    objective = Objective.parse(about.objective) if about.objective else None
    return Ladder(name, tuple(steps), objective, about.search, about.published, _base(about.base))


def _base(about: LadderBase | None) -> Base | None:
    if about is None:
        return None
    knee = Knee(Kind.FOUND, *about.knee, True) if about.knee is not None else None
    return Base(about.rps, about.what, knee, knee is not None)


def missed_above(ladder: Ladder) -> tuple[Counter[str], int]:
    """Count what the rate steps just above the knee missed, by part of the objective, and how many steps those are."""
    knee = ladder.knee
    if knee is None or knee.kind != Kind.FOUND:
        return Counter(), 0
    near = [
        point
        for point in ladder.points
        if point.outcome == StepOutcome.MISSED and knee.low_rps <= point.rps <= JUST_ABOVE * knee.rps
    ]
    return Counter(part.part for point in near for part in point.missed), len(near)


@dataclass(frozen=True, slots=True)
class SearchedKnee:
    """The knee of one treatment under one workload, or a bound of it, and the search that found it."""

    ladder: Ladder
    knee: Knee

    @property
    def name(self) -> str:
        """The name of the treatment."""
        return facts.engine_name(self.ladder.steps[0].subject)


def knees(run: Run) -> dict[str, list[SearchedKnee]]:
    """Return the knees that searches found, or bounds of them, by workload; only where there are several."""
    by_workload: dict[str, list[SearchedKnee]] = {}
    for ladder in ladders(run):
        if ladder.search is not None and ladder.knee is not None and ladder.knee.known:
            by_workload.setdefault(ladder.steps[0].workload, []).append(SearchedKnee(ladder, ladder.knee))
    names = {workload: {knee.name for knee in searched} for workload, searched in by_workload.items()}
    return {work: known for work, known in by_workload.items() if len(names[work]) >= FEWEST_SIDE_BY_SIDE}


def knees_anchor(workload: str) -> str:
    """Where the knees of a workload are drawn."""
    return f"knees-{workload}"


def overloaded(run: Run) -> list[tuple[Step, Step]]:
    """Return the lowest and the highest rate step of each pool with a queue; the highest is to be more than fits."""
    pairs = []
    for ladder in ladders(run):
        steps = ladder.rate_steps
        if steps[0].subject.startswith(QUEUE) and len(steps) > 1:
            low, high = steps[0], steps[-1]
            if facts.offered_rps(high) >= OVERLOADED * facts.offered_rps(low):
                pairs.append((low, high))
    return pairs


def queue_length(step: Step) -> int:
    """Return the length of a pool's queue, by which its setting ends."""
    return int(step.subject.rpartition("-")[2])
