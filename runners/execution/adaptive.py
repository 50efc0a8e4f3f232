"""Blocks whose next trial depends on earlier trials: a knee search, a ladder of rates, starts until there is a verdict.

Each block is a Python generator that yields sessions and is sent their steps, measured now or read back on a resume.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runners import words
from runners.analysis import facts
from runners.analysis import knee as knees
from runners.analysis.interleaved import comparison
from runners.analysis.knee import Kind, Knee, Search, rate_interval
from runners.analysis.rate_steps import RateStep, StepOutcome, points, served_rps
from runners.design.block import FEWEST_STARTS, Interleaved
from runners.design.ladder import BATCH, KneeSearch, Ladder, WarmServer, most_again, nearest, step_rates
from runners.design.objective import ACHIEVED_ALONE
from runners.design.session import AROUND_A_RATE_STEP_S, PROBE, RATE_STEP, Session, SharedSession, in_random_order
from runners.errors import MeasureError
from runners.readers.run import Step
from runners.storage.schema import InterleavedRecord, LadderBase, LadderRecord, SearchRecord


@dataclass(frozen=True, slots=True)
class Request:
    """An order to measure a session, or to read back its stored steps; the other fields go into the steps' records."""

    session: Session | SharedSession
    ladder: LadderRecord | None = None
    interleaved: InterleavedRecord | None = None


#: Yields the sessions of a block as `Request`s, and is sent the measured steps of a session in return.
Requests = Generator[Request, list[Step], Any]
Say = Callable[[str], None]


def starts(block: Interleaved, say: Say, reached_rps: Mapping[str, float] | None = None) -> Requests:
    """Yield a comparison's sessions: closed loops, which set the rate, then sessions on freshly started servers.

    With `block.until`, no session follows a verdict. The caller passes a session's measured steps back by `send`.
    `reached_rps`: {treatment: closed-loop rate} if an earlier block measured it. Raises MeasureError if a loop failed.
    """
    capacity_rps = dict(reached_rps or {})
    for session in block.probes():
        (probe,) = yield Request(session)
        if not facts.achieved_rps(probe) > 0:
            raise MeasureError(f"probe of {session.treatment.name}", facts.why_not(probe), "see the server's log")
        capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
    rate = block.rate(capacity_rps)
    if rate is not None:
        say(f"{block.workload.label}: {words.rate(rate.rps)} will be offered to each: {rate.basis}")
    sessions = tuple(block.sessions(rate))
    about = InterleavedRecord(
        name=block.name, treatments=tuple(treatment.name for treatment in block.ordered),
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
            rows = compared.rows_of(block.primary)
            say("; ".join(f"{row.treatment} {row.quantity.label} {row.change}" for row in rows))
            if compared.answered:
                return


def search(block: KneeSearch, say: Say) -> Generator[Request, list[Step], list["_ServerSearch"]]:
    """Yield the sessions of a knee search, and be sent their steps in return; at the end return every server's search.

    In every start, a server gets a closed loop and loads with short steps; at the end, longer steps confirm every knee.
    """
    searches = [_ServerSearch(server, block) for server in block.servers]
    for start in range(1, block.starts + 1):
        for current in searches:
            current.server = replace(current.server, start=start)
            (closed,) = yield Request(current.server.warm_up(block.shape))
            current.begin(closed)
        yield from _search(block, searches, start, say)
    for current in searches:
        yield from _confirm(block, current, say)
    return searches


def ladder(block: Ladder, say: Say, base: LadderBase | None = None) -> Requests:
    """Yield the sessions of a ladder: its search or closed loop, a step per rate, repeats, and profiled steps.

    A step is repeated if the generator was late or the step is invalid. `base`: the rate whose shares are
    offered, if an earlier block has measured it.
    """
    if block.search is not None:
        (searched,) = yield from search(block.search, say)
        base = _base(searched.known.knee, searched.closed[0])
    elif base is None:  # else an earlier block has searched the knee and measured a closed loop
        (closed,) = yield Request(block.server.warm_up(block.shape))
        base = _base(None, closed)
    names = tuple(name for name, _ in block.published)
    objective = block.objective or ACHIEVED_ALONE
    about = LadderRecord(name=block.ladder, published=names)
    rates, base_rps = list(block.rates), max(block.rates, default=0.0)
    if block.shares:
        base_rps, published_rps = base.rps, list(dict(block.published).values())
        near_rps = nearest(base_rps, published_rps, block.most_published, beyond=block.beyond)
        rates = step_rates(base_rps, block.shares, near_rps)
        kept = block.objective.text if block.objective else ""
        about = LadderRecord(name=block.ladder, published=names, objective=kept, base=base)
    silent = []
    for index, rps in enumerate(rates, 1):
        (step,) = yield Request(block.session(index, rps), about)
        if points(step, objective)[0].outcome in (StepOutcome.GENERATOR, StepOutcome.INVALID):
            silent.append((index, rps))
    # a step is repeated for the generator's sake, never because the server missed the objective
    for index, rps in silent[: most_again(len(rates))]:
        yield Request(block.session(index, rps, "again"), about)
    profiled_rps = rates if block.profiled is None else [share * base_rps for share in block.profiled]
    nearest_rps = (min(rates, key=lambda rps: abs(rps - wanted)) for wanted in profiled_rps if block.profile)
    for rps in dict.fromkeys(nearest_rps):
        for session in block.profiled_sessions(rps):
            yield Request(session, about)


@dataclass(slots=True)
class _ServerSearch:
    """The knee search on one server, over all fresh starts of the server."""

    server: WarmServer
    block: KneeSearch
    closed: list[Step] = field(default_factory=list)  # its closed loops
    rates: list[float] = field(default_factory=list)  # of the next load
    loads: list[Step] = field(default_factory=list)  # with short steps
    steps: list[RateStep] = field(default_factory=list)  # the rate steps of all its loads

    @property
    def known(self) -> Search:
        block = self.block
        return Search(
            block.objective, tuple(self.steps), closed_loop_rps=max(map(served_rps, self.closed)),
            precision=block.precision, low_rps=block.low_rps, high_rps=block.high_rps, confirm_s=block.confirm_s,
        )  # fmt: skip

    def begin(self, closed: Step) -> None:
        """Begin a start with its closed loop. Keep the rates chosen before if they overlap those of `first_rates`."""
        self.closed.append(closed)
        first = knees.first_rates(facts.achieved_rps(closed), BATCH)
        if not self.rates or max(self.rates) < min(first) or min(self.rates) > max(first):
            self.rates = [min(max(rps, self.block.low_rps), self.block.high_rps) for rps in first]

    def next_load_fits(self) -> bool:
        """Return whether to send another load: it is a start's first one, or the knee is imprecise and time is left."""
        start, ladder = self.server.start, self.loads[-1].record.ladder if self.loads else None
        if not self.loads or (ladder is not None and ladder.start != start):
            return True
        known = bool(self.steps) and self.known.estimate.precise
        return not known and _spent_s(self.loads) + self.block.batch_s <= self.block.until_s(start)

    def take(self, load: Step) -> None:
        block = self.block
        self.loads.append(load)
        self.steps += _rate_steps(load, block)
        if self.steps:
            limits_rps = (block.low_rps, block.high_rps, facts.achieved_rps(self.closed[-1]))
            self.rates = knees.next_rates(self.steps, block.objective, BATCH, *limits_rps)


def _rate_steps(load: Step, block: KneeSearch) -> list[RateStep]:
    judged = points(load, block.objective)
    return [point.rate_step for point in judged if point.outcome != StepOutcome.INVALID]


def _search(block: KneeSearch, searches: Sequence[_ServerSearch], start: int, say: Say) -> Requests:
    """Yield rounds of sessions, one per server in random order, until all knees are precise or the budget is spent."""
    number = 0
    while under_way := [unfinished for unfinished in searches if unfinished.next_load_fits()]:
        for current in in_random_order(under_way, block.seed, start, number):
            index = len(current.loads) + 1
            session = block.session(current.server, index, current.rates, facts.achieved_rps(current.closed[-1]))
            (load,) = yield Request(session, _record(block, current.server))
            current.take(load)
            knee = current.known.estimate if current.steps else None
            say(f"  load {index} of {current.server.name}: {_so_far(knee)}")
        number += 1


def _confirm(block: KneeSearch, current: _ServerSearch, say: Say) -> Requests:
    """Yield the session of a closed loop, then longer steps below and above the knee, as long as the budget allows."""
    server = current.server
    (closed,) = yield Request(server.closed_loop(block.shape))
    current.closed.append(closed)
    measured, tried = [closed], list[tuple[float, StepOutcome]]()
    longer_s = block.confirming(server, 1, 1.0).planned_s
    while _spent_s([*current.loads, *measured]) + longer_s <= block.minutes * 60:
        rps = knees.next_longer_rps(current.known, tried)
        if rps is None:
            break
        (step,) = yield Request(block.confirming(server, len(measured), rps), _record(block, server))
        measured.append(step)
        outcome = points(step, block.objective)[0].outcome
        current.steps += _rate_steps(step, block)
        tried.append((rps, outcome))
        knee = _so_far(current.known.knee)
        say(f"  {rps:,.0f}/s for {block.confirm_s:g} s on {server.name}: {outcome}; {knee}")


def _record(block: KneeSearch, server: WarmServer) -> LadderRecord:
    search = SearchRecord(
        low_rps=block.low_rps, high_rps=block.high_rps, precision=block.precision, confirm_s=block.confirm_s
    )
    return LadderRecord(
        name=server.name, objective=block.objective.text, search=search, minutes=block.minutes, start=server.start
    )


def _so_far(knee: Knee | None) -> str:
    return rate_interval(knee) if knee is not None and knee.known else "no knee yet"


def base_of(block: KneeSearch, steps: Sequence[Step], server: WarmServer) -> LadderBase | None:
    """Return the base rate of a ladder from a knee search on `server`: the knee, or else the closed loop's rate.

    None if the server's closed loop or all its valid rate steps are missing in `steps`, the steps of the search.
    """
    own = [step for step in steps if step.subject == server.treatment.name and step.workload == server.workload.name]
    loads = [step for step in own if step.kind == RATE_STEP]
    rate_steps = [rate_step for load in loads for rate_step in _rate_steps(load, block)]
    closed = [step for step in own if step.kind == PROBE]
    if not rate_steps or not closed:
        return None
    return _base(_ServerSearch(server, block, closed, steps=rate_steps).known.knee, closed[-1])


def _spent_s(steps: Sequence[Step]) -> float:
    us = sum(step.record.ended_unix_us - step.record.started_unix_us for step in steps)
    return us / 1e6 + AROUND_A_RATE_STEP_S * len(steps)


def _base(knee: Knee | None, closed: Step) -> LadderBase:
    sides = [rps for rps in (knee.rps, knee.low_rps, knee.high_rps) if rps > 0] if knee else []  # without NaN
    if knee is None or not sides:
        return LadderBase(what="closed loop", rps=served_rps(closed))
    interval = (knee.rps, knee.low_rps, knee.high_rps) if knee.kind == Kind.FOUND else None
    return LadderBase(what="knee", rps=sides[0], knee=interval)
