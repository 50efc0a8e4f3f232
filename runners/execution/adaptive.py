"""Blocks whose next trial depends on what was measured: a search for the knee, a ladder of rates, starts until decided.

Each is a generator that yields what is to be measured next and is sent the measured steps. It is a function of these
steps alone, so that a block whose first steps are read back from the run folder goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from runners.analysis import facts
from runners.analysis import knee as knees
from runners.analysis.interleaved import comparison
from runners.analysis.knee import Answer, Kind, Outcome, Point, meets, points, rate_interval
from runners.design.block import FEWEST_STARTS, Interleaved
from runners.design.ladder import (
    BATCH,
    KneeSearch,
    Ladder,
    WarmServer,
    most_again,
    nearest,
    nearest_to_shares,
    step_rates,
)
from runners.design.objective import Objective
from runners.design.session import AROUND_A_RATE_STEP_S, Session, SharedSession, in_random_order
from runners.errors import MeasureError
from runners.readers import write
from runners.readers.run import Step
from runners.storage.schema import InterleavedRecord, LadderBase, LadderRecord, SearchRecord

AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Request:
    """A session to be measured, or to be read back, and the ladder or interleaved block that its steps belong to."""

    session: Session | SharedSession
    ladder: LadderRecord | None = None
    interleaved: InterleavedRecord | None = None


#: Yields what a block needs next and is sent the trials of each as they were measured.
Requests = Generator[Request, list[Step], None]
Say = Callable[[str], None]


def starts(block: Interleaved, say: Say, reached_rps: Mapping[str, float] | None = None) -> Requests:
    """Ask for the closed loops that the rate follows from, then for each start. Raises MeasureError without a rate.

    `reached_rps`: what each treatment reached in the closed loops of the block that this one is like.
    """
    capacity_rps = dict(reached_rps or {})
    for session in block.probes():
        (probe,) = yield Request(session)
        if not facts.achieved_rps(probe) > 0:
            raise MeasureError(f"probe of {session.treatment.name}", facts.why_not(probe), "see the server's log")
        capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
    rate = block.rate(capacity_rps)
    if rate is not None:
        say(f"{block.workload.label}: {write.rate(rate.rps)} will be offered to each: {rate.basis}")
    sessions = tuple(block.sessions(rate))
    about = InterleavedRecord(
        name=block.name, treatments=tuple(each.name for each in block.ordered),
        planned_rounds=len(sessions), smallest_difference=block.margin, seed=block.seed,
        rate_rps=rate.rps if rate else 0.0, rate_basis=rate.basis if rate else "",
        control=block.control_setting.name if block.control_setting else "",
        reference=block.reference.name if block.reference else "", primary=block.primary, until=block.until,
        slice_s=block.slice_s,
    )  # fmt: skip
    measured = list[Step]()
    for start in sessions:
        measured += yield Request(start, interleaved=about)
        if block.until and start.number >= FEWEST_STARTS:
            compared = comparison(measured)
            say("; ".join(f"{row.treatment} {row.quantity.label} {row.change}" for row in compared.of(block.primary)))
            if compared.answered:
                return


def search(block: KneeSearch, say: Say) -> Requests:
    """Ask for the closed loop on each server, then for the loads of the search, in each start of all servers."""
    sought = [_Sought(each, block) for each in block.servers]
    for start in range(1, block.starts + 1):
        for each, server in zip(sought, block.started(start), strict=True):
            (closed,) = yield Request(block.warm_up(server))
            each.begin(facts.achieved_rps(closed))
        yield from _search(block, sought, start, say)


def ladder(block: Ladder, say: Say, base: LadderBase | None = None) -> Requests:
    """Ask for the steps of a ladder: those of its search, each rate, late ones again, some with the profiler.

    `base`: what its rates are shares of, where a block before this one found it.
    """
    closed = None
    if base is None:  # else the search has measured the closed loop
        (closed,) = yield Request(block.server.warm_up(block.search.shape if block.search else block.shape))
    names = tuple(name for name, _ in block.published)
    objective = block.objective or Objective(latencies=(), errors=1.0)
    about = LadderRecord(name=block.ladder, published=names)
    rates, base_rps = list(block.rates), max(block.rates, default=0.0)
    if block.shares:
        if closed is not None:
            knee = None
            if block.search:
                sought = _Sought(block.server, block.search)
                sought.begin(facts.achieved_rps(closed))
                yield from _search(block.search, [sought], 1, say)
                knee = sought.answer or knees.estimate((), block.search.objective)
            base = _base(knee, closed)
        assert base is not None
        base_rps = base.rps
        rates = step_rates(
            base_rps,
            block.shares,
            nearest(base_rps, list(dict(block.published).values()), block.most_published, beyond=block.beyond),
        )
        kept = block.objective.text if block.objective else ""
        about = LadderRecord(name=block.ladder, published=names, objective=kept, base=base)
    silent = []
    for index, rps in enumerate(rates, 1):
        (step,) = yield Request(block.session(index, rps), about)
        if meets(step, objective).outcome in (Outcome.GENERATOR, Outcome.INVALID):
            silent.append((index, rps))
    # which are chosen does not depend on what the server did: a step that misses its objective is not repeated
    for index, rps in silent[: most_again(len(rates))]:
        yield Request(block.session(index, rps, AGAIN), about)
    for rps in nearest_to_shares(rates, base_rps, block.profiled) if block.profile else ():
        for session in block.profiled_sessions(rps):
            yield Request(session, about)


@dataclass(slots=True)
class _Sought:
    """One server of a search, in all its starts: what was measured on it, and the rates of its next load.

    `closed_rps`: what its last start reached in a closed loop.
    """

    server: WarmServer
    block: KneeSearch
    closed_rps: float = 0.0
    rates: list[float] = field(default_factory=list)
    loads: list[Step] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    answer: Answer | None = None

    def begin(self, closed_rps: float) -> None:
        """Begin a start. It goes on with the rates of the one before, unless this one reaches far more or far less."""
        self.closed_rps = closed_rps
        first = knees.first_rates(closed_rps, BATCH)
        if not self.rates or max(self.rates) < min(first) or min(self.rates) > max(first):
            self.rates = [min(max(rps, self.block.low_rps), self.block.high_rps) for rps in first]

    def next_load_fits(self, start: int) -> bool:
        """Return whether a start has had no load, or its knee is not known yet and the budget has time for one more."""
        if not self.loads or _start_of(self.loads[-1]) != start:
            return True
        known = self.answer is not None and self.answer.precise
        return not known and _spent_s(self.loads) + self.block.batch_s <= self.block.until_s(start)

    def take(self, load: Step) -> None:
        """Take in a load, estimate the knee, and choose the next rates by it."""
        block = self.block
        self.loads.append(load)
        self.points += points(load, block.objective)
        if not self.points:
            return
        steps = [each.rate_step for each in self.points]
        limits_rps = (block.low_rps, block.high_rps, self.closed_rps)
        self.rates = knees.next_rates(steps, block.objective, BATCH, *limits_rps)
        self.answer = _found(block, self.points)


def _found(block: KneeSearch, judged: Sequence[Point]) -> Answer:
    """Return the knee of one server by its judged steps."""
    measured = [each.rate_step for each in judged if each.outcome != Outcome.INVALID]
    return knees.estimate(measured, block.objective, block.precision, (block.low_rps, block.high_rps))


def _start_of(load: Step) -> int:
    return load.record.ladder.start if load.record.ladder is not None else 1


def _search(block: KneeSearch, sought: Sequence[_Sought], start: int, say: Say) -> Requests:
    """Ask for loads on each server in random order, round by round, until each knee is known or the budget spent."""
    record = SearchRecord(low_rps=block.low_rps, high_rps=block.high_rps, precision=block.precision)
    for number in count():
        under_way = [each for each in sought if each.next_load_fits(start)]
        if not under_way:
            return
        for each in in_random_order(under_way, block.seed, start, number):
            about = LadderRecord(
                name=each.server.name, objective=block.objective.text, search=record, minutes=block.minutes, start=start
            )  # fmt: skip
            index, server = len(each.loads) + 1, replace(each.server, start=start)
            (load,) = yield Request(block.session(server, index, each.rates, each.closed_rps), about)
            each.take(load)
            found = each.answer
            text = rate_interval(found) if found is not None and found.known_below else "no knee yet"
            say(f"  load {index} of {each.server.name}: {text}")


def base_of(block: KneeSearch, steps: Sequence[Step], server: WarmServer) -> LadderBase | None:
    """Return what a search found of one of its servers, by the loads that it measured; None without any."""
    own = [step for step in steps if step.record.ladder is not None and step.record.ladder.name == server.name]
    judged = [each for step in own for each in points(step, block.objective)]
    return _base(_found(block, judged), own[-1]) if judged else None


def _spent_s(steps: Sequence[Step]) -> float:
    us = sum(step.record.ended_unix_us - step.record.started_unix_us for step in steps)
    return us / 1e6 + AROUND_A_RATE_STEP_S * len(steps)


def _base(knee: Answer | None, closed: Step) -> LadderBase:
    """Return what the rates are shares of: the knee, a bound of it, or where no step said anything the closed loop."""
    sides = [rps for rps in (knee.rps, knee.low_rps, knee.high_rps) if rps > 0] if knee else []  # NaN is not
    if knee is None or not sides:
        return LadderBase(what="closed loop", rps=facts.achieved_rps(closed))
    interval = (knee.rps, knee.low_rps, knee.high_rps) if knee.kind == Kind.FOUND else None
    return LadderBase(what="knee", rps=sides[0], knee=interval)
