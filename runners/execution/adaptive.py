"""Blocks whose next trial depends on what was measured: a search for the knee, and a ladder of rates around it.

Each is a generator that yields what is to be measured next and is sent the measured steps. It is a function of these
steps alone, so that a block whose first steps are read back from the run folder goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from runners.analysis import facts
from runners.analysis.knee import Answer, Kind, Probe, Search, finish, move, probe_of
from runners.analysis.meets import Met, Outcome, meets
from runners.design.block import KneeSearch, Ladder
from runners.design.ladder import most_again, nearest, nearest_to_shares, step_rates
from runners.design.objective import Objective
from runners.design.session import Session, SharedSession
from runners.design.size import AROUND_A_LOAD_S
from runners.errors import MeasureError
from runners.readers.run import Step
from runners.storage.schema import InterleavedRecord, LadderBase, LadderRecord, SearchRecord

START_SHARE = 0.5  # of what a closed loop reached: a first rate that most servers keep
AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Request:
    """A session to be measured, or to be read back, and the ladder or interleaved block that its steps belong to.

    `optional`: it is left out where this machine lacks what it needs.
    """

    session: Session | SharedSession
    ladder: LadderRecord | None = None
    interleaved: InterleavedRecord | None = None
    optional: bool = False


#: Yields what a block needs next and is sent the trials of each as they were measured.
Requests = Generator[Request, list[Step], None]
Say = Callable[[str], None]


def search(block: KneeSearch, say: Say) -> Requests:
    """Ask for the steps of a search. Raises MeasureError where the budget has no time for any."""
    (closed,) = yield Request(block.server.warm_up(block.shape))
    yield from _search(block, closed, say)


def ladder(block: Ladder, say: Say) -> Requests:
    """Ask for the steps of a ladder: those of its search, each rate, late ones again, some with the profiler."""
    (closed,) = yield Request(block.server.warm_up(block.search.shape if block.search else block.shape))
    names = tuple(name for name, _ in block.published)
    objective = block.objective or Objective(latencies=(), errors=1.0)
    about = LadderRecord(name=block.ladder, published=names)
    rates, base_rps = list(block.rates), max(block.rates, default=0.0)
    if block.shares:
        knee = (yield from _search(block.search, closed, say)) if block.search else None
        base = _base(knee, closed)
        base_rps = base.rps
        rates = step_rates(
            base_rps, block.shares, nearest(base_rps, list(dict(block.published).values()), block.most_published)
        )
        about = LadderRecord(name=block.ladder, published=names, objective=objective.text, base=base)
    silent = []
    for index, rps in enumerate(rates, 1):
        (step,) = yield Request(block.session(index, rps), about)
        if meets(step, objective).outcome in (Outcome.GENERATOR, Outcome.INVALID):
            silent.append((index, rps))
    # which are chosen does not depend on what the server did: a step that misses its objective is not repeated
    for index, rps in silent[: most_again(len(rates))]:
        yield Request(block.session(index, rps, AGAIN), about)
    for rps in nearest_to_shares(rates, base_rps, block.profiled) if block.profile else ():
        yield Request(block.profiled_session(rps), about)


def _search(block: KneeSearch, closed: Step, say: Say) -> Generator[Request, list[Step], Answer]:
    limits = {"low_rps": block.low_rps, "high_rps": block.high_rps, "precision": block.precision}
    record = SearchRecord(start_rps=float(f"{START_SHARE * facts.achieved_rps(closed):.3g}"), **limits)
    about = LadderRecord(
        name=block.server.name, objective=block.objective.text, search=record, minutes=block.minutes
    )  # fmt: skip
    wanted, probes, steps = Search(**asdict(record)), list[Probe](), list[Step]()
    while True:
        following = move(probes, wanted)
        if isinstance(following, Answer):
            return following
        if _spent_s(steps) + block.step_s > block.minutes * 60:
            if not steps:
                raise MeasureError(f"knee of {about.name}", "no probe was measured", "give more minutes")
            return finish(probes, wanted)
        steps += yield Request(block.session(len(steps) + 1, following), about)
        met = meets(steps[-1], block.objective)
        probes.append(probe_of(facts.offered_rps(steps[-1]), met))
        say(f"  probe {len(steps)}: {following:,.0f}/s {_verb(met)}".rstrip())


def _spent_s(steps: Sequence[Step]) -> float:
    """What these steps took."""
    us = sum(step.record.ended_unix_us - step.record.started_unix_us for step in steps)
    return us / 1e6 + AROUND_A_LOAD_S / 2 * len(steps)


def _base(knee: Answer | None, closed: Step) -> LadderBase:
    """What the rates are shares of: the knee, a bound of it, or where no step said anything the closed loop."""
    sides = [rps for rps in (knee.rps, knee.low_rps, knee.high_rps) if rps > 0] if knee else []  # NaN is not
    if knee is None or not sides:
        return LadderBase(what="closed loop", rps=facts.achieved_rps(closed))
    interval = (knee.rps, knee.low_rps, knee.high_rps) if knee.kind == Kind.FOUND else None
    return LadderBase(what="knee", rps=sides[0], knee=interval)


def _verb(met: Met) -> str:
    """An outcome as a verb, and what was missed."""
    verb = {
        Outcome.MET: "meets it",
        Outcome.MISSED: "misses it:",
        Outcome.GENERATOR: "says nothing:",
        Outcome.INVALID: "is not valid:",
    }[met.outcome]
    return f"{verb} {'; '.join(met.missed)}"
