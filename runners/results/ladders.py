"""Ladders: loads of one server at several rates. Some search for the knee, the highest rate that meets an objective."""

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import Kind, Knee, Search
from runners.analysis.knee_curve import Curve, pooled, ratio
from runners.analysis.rate_steps import Point, StepOutcome, points, served_rps
from runners.analysis.steady_state import not_warm
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import ACHIEVED_ALONE, Objective
from runners.design.session import FILL, RATE_STEP
from runners.readers.run import Run, Step
from runners.storage.schema import LadderBase, LadderRecord, SearchRecord

JUST_ABOVE = 1.3  # times the knee: rates up to here show which part of the objective is missed first
KNEE = "knee"  # the value of `LadderBase.what` if a ladder's rates are shares of a knee


@dataclass(frozen=True)  # without slots, for what is worked out once
class Ladder:
    """Loads of one server at several fixed rates (rate steps), in the order in which they were measured."""

    name: str
    steps: tuple[Step, ...]
    objective: Objective | None
    search: SearchRecord | None  # None if the ladder is no knee search
    published: tuple[str, ...] = ()  # names of published outputs of this load
    base: LadderBase | None = None  # the rate of which the ladder's rates are shares
    base_knee: Knee | None = None  # the knee of which the ladder's rates are shares; None if `base` is no knee
    other_steps: tuple[Step, ...] = ()  # for a search: steps of the server's other ladders under this load
    closed_loop: Step | None = None  # the server's fastest closed loop under this load

    @property
    def closed_loop_rps(self) -> float:
        """The good responses per second of `closed_loop`; infinite without a closed loop."""
        return served_rps(self.closed_loop) if self.closed_loop else math.inf

    @property
    def compiling(self) -> bool:
        """Whether `closed_loop` ended before JIT compilation was done, so that a warm server may reach more."""
        return self.closed_loop is not None and not_warm(self.closed_loop)

    @property
    def rate_steps(self) -> list[Step]:
        """The last step of each rate, lowest rate first: a repeat replaces the earlier step."""
        last = {facts.offered_rps(step): step for step in self.steps}
        return [last[rps] for rps in sorted(last)]

    @property
    def anchor(self) -> str:
        return f"ladder-{self.name}"

    @property
    def same(self) -> tuple[str, str, int | None]:
        """The ladder's (server, workload, connections). Ladders in which all three are equal have the same knee."""
        first = self.steps[0]
        return first.subject, first.workload, first.record.connections

    @property
    def judged_by(self) -> Objective:
        """The ladder's objective; if it has none, ACHIEVED_ALONE, which limits no latency."""
        return self.objective or ACHIEVED_ALONE

    @cached_property
    def points(self) -> list[Point]:
        """The judged rates of all steps: one for a step at a fixed rate, many for a sweep of short rate steps."""
        return [point for step in self.steps for point in points(step, self.judged_by)]

    @property
    def outcomes(self) -> tuple[list[float], list[float]]:
        """(Rates where the objective was met and never missed; rates where a step missed it), both sorted."""
        ends = (StepOutcome.MET, StepOutcome.MISSED)
        met, missed = ({point.rps for point in self.points if point.outcome == outcome} for outcome in ends)
        return sorted(met - missed), sorted(missed)

    @property
    def disturbed(self) -> dict[float, StepOutcome]:
        """{rate: outcome} where no step surely met or missed the objective. MET: met with machine stalls left out."""
        met, missed = StepOutcome.MET, StepOutcome.MISSED
        sure = {p.rps for p in self.points if p.outcome == missed or (p.outcome == met and not p.rate_step.calm_us)}
        return {p.rps: p.outcome for p in self.points if p.rps not in sure and p.outcome != StepOutcome.INVALID}

    @cached_property
    def known(self) -> Search | None:
        """The knee search, with all other loads that bound the knee; None if the ladder is no search."""
        if self.search is None or self.objective is None:
            return None
        limits = self.search
        others = [point for step in self.other_steps for point in points(step, self.objective)]
        judged = (self.points, others)
        own, other = (tuple(p.rate_step for p in points if p.outcome != StepOutcome.INVALID) for points in judged)
        return Search(
            self.objective, own, other, self.closed_loop_rps, limits.precision, limits.low_rps, limits.high_rps,
            limits.confirm_s,
        )  # fmt: skip

    @property
    def knee(self) -> Knee | None:
        """The search's knee, or the knee of which the ladder's rates are shares; None if there is neither."""
        return self.known.knee if self.known else self.base_knee

    @property
    def starts(self) -> int:
        """The number of times that the server was started afresh for the steps."""
        return len({step.record.ladder.start for step in self.steps if step.record.ladder is not None}) or 1

    @property
    def server(self) -> str:
        """The name of the server's setting in reports."""
        return facts.engine_name(self.steps[0].subject)

    @property
    def title(self) -> str:
        connections = self.steps[0].record.connections
        return f"{facts.title(self.steps[0])} on {words.connections(connections)}"


def searched_together(first: Ladder, second: Ladder) -> bool:
    """Return whether one search measured both ladders, and so loaded the servers of the two in random order."""
    return first.steps[-1].record.block == second.steps[-1].record.block


def between(run: Run, of: Ladder, against: Ladder) -> Bounded | None:
    """Return the ratio of two ladders' knees, `of` / `against`, with its interval; None if a knee is not known.

    If only a bound of a knee is known, the interval may begin at 0 or end at infinity.
    """
    first, second = (_pooled(run, ladder, lambda search: search.curve) for ladder in (of, against))
    least_first, least_second = (_pooled(run, ladder, lambda search: search.lower_curve) for ladder in (of, against))
    if first is None or second is None or least_first is None or least_second is None:
        return None
    assert of.knee is not None and against.knee is not None  # what has a curve has a knee
    apart = ratio(first, second)
    open_below = of.knee.from_above or against.knee.from_below
    open_above = of.knee.from_below or against.knee.from_above
    low = 0.0 if open_below else min(apart.low, ratio(least_first, second).low)
    high = math.inf if open_above else max(apart.high, ratio(first, least_second).high)
    return _as_quoted(Bounded(apart.value, low, high), of.knee, against.knee)


def _as_quoted(apart: Bounded, of: Knee, against: Knee) -> Bounded:
    """Return the ratio of the quoted knees, with the interval of `apart` cut to what the knees' intervals allow."""
    value = of.rps / against.rps
    ends = of.low_rps / against.high_rps, of.high_rps / against.low_rps
    if not words.known(value):
        low, high = (end if words.known(end) else open_end for end, open_end in zip(ends, (0.0, math.inf), strict=True))
        return Bounded(min(max(apart.value, low), high), low, high)
    low = max(filter(words.known, (apart.low, ends[0])))
    high = min(filter(words.known, (apart.high, ends[1])), default=math.inf)
    return Bounded(value, min(low, value), max(high, value))


def _pooled(run: Run, ladder: Ladder, curve_of: Callable[[Search], Curve | None]) -> Curve | None:
    own = curve_of(ladder.known) if ladder.known else None
    if own is None or ladder.starts == 1:
        return own
    others = (other.known for other in ladders(run) if other is not ladder and searched_together(other, ladder))
    return pooled([own, *filter(None, (curve_of(search) for search in others if search))])[0]


@lru_cache(maxsize=2)
def ladders(run: Run) -> tuple[Ladder, ...]:
    """Return a run's ladders, with the fields `other_steps`, `closed_loop` and `base_knee` set from the whole run."""
    rate_steps = run.find(kind=RATE_STEP)
    by_name = facts.grouped(rate_steps, lambda step: step.record.ladder.name if step.record.ladder else step.subject)
    unbounded = [ladder_of(name, steps) for name, steps in by_name.items()]
    closed_loops, bounded = _closed_loops(run), list[Ladder]()
    for ladder in unbounded:
        others = [other for other in unbounded if ladder.search and not other.search and other.same == ladder.same]
        other_steps = tuple(step for other in others for step in other.steps if step.record.sweep is None)
        bounded.append(dataclasses.replace(ladder, other_steps=other_steps, closed_loop=closed_loops.get(ladder.same)))
    searched = {ladder.same: ladder for ladder in bounded if ladder.search is not None}
    return tuple(
        dataclasses.replace(ladder, base_knee=searched[ladder.same].knee)
        if ladder.base and ladder.base.what == KNEE and ladder.same in searched
        else ladder
        for ladder in bounded
    )


def _closed_loops(run: Run) -> dict[tuple[str, str, int | None], Step]:
    clean = [step for step in run.steps if step.record.offered_rps is None and not step.profiled]
    loops = [s for s in clean if s.kind not in (FILL, RATE_STEP) and may_quote(s, Aspect.RATE) and served_rps(s) > 0]
    by_key = facts.grouped(loops, lambda step: (step.subject, step.workload, step.record.connections))
    return {key: max(own, key=served_rps) for key, own in by_key.items()}


def ladder_of(name: str, steps: Sequence[Step]) -> Ladder:
    """Return the ladder that consists of the rate steps `steps`. The first step's record describes it."""
    about = steps[0].record.ladder or LadderRecord(name=name)
    objective = Objective.parse(about.objective) if about.objective else None
    knee = Knee(Kind.FOUND, *about.base.knee, True) if about.base and about.base.knee else None
    return Ladder(name, tuple(steps), objective, about.search, about.published, about.base, knee)


def missed_above(ladder: Ladder) -> tuple[Counter[str], int]:
    """Return ({part of the objective: number of rate steps near the knee that missed it}, number that missed any)."""
    knee = ladder.knee
    if knee is None or knee.kind != Kind.FOUND:
        return Counter(), 0
    missed = [point for point in ladder.points if point.outcome == StepOutcome.MISSED]
    near = [point for point in missed if knee.low_rps <= point.rps <= JUST_ABOVE * knee.rps]
    return Counter(part for point in near for part in point.missed), len(near)


#: A knee search, and its result: the knee, or a bound of the knee.
Searched = tuple[Ladder, Knee]


def knees(run: Run) -> dict[str, list[Searched]]:
    """Return {workload: [(knee search, the knee or a bound of it)]}, without workloads that only one server has."""
    knees_of = ((ladder, ladder.knee) for ladder in ladders(run) if ladder.search is not None)
    known = ((ladder, knee) for ladder, knee in knees_of if knee is not None and knee.known)
    by_workload = facts.grouped(known, lambda searched: searched[0].steps[0].workload)
    return {work: own for work, own in by_workload.items() if len({ladder.server for ladder, _ in own}) > 1}
