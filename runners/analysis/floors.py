"""Find the instrument floor of a load: its own, or else the nearest that the run has, which says where it was taken.

A floor is the same load against a handler that does nothing. Ladders and closed loops have none at each of their rates.
What every run has is the fixed small load before the campaign (the sentinel): one rate on one connection.

A percentile that is no higher than the floor's says nothing on the server, and one above what the generator kept up to
is partly the generator's own lateness. Neither is a headline and neither is compared; what lies above the floor leads:
the median, CPU time per request, throughput.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runners.analysis import facts
from runners.design.shape import SENTINEL
from runners.readers import write
from runners.readers.run import Step

KIND = "floor"
SAME_RATE = 0.01  # of the load's rate
THROUGHOUT = 99.9  # the highest percentile at which a generator holds its lateness against the response time


def own(steps: Iterable[Step], load: Step) -> Step | None:
    """The last floor at a load's rate and connections; one of the same workload goes before any other."""
    there = [step for step in _good(steps, KIND) if taken_at(step, load)]
    return _last(there, load)


def before(steps: Iterable[Step]) -> Step | None:
    """The fixed small load before the campaign; None where there was none or nothing may be quoted of it."""
    return facts.only(_good(steps, SENTINEL))


def nearest(steps: Sequence[Step], load: Step) -> Step | None:
    """A load's own floor; without one a floor on as many connections, at another rate; else the one before."""
    alike = [step for step in _good(steps, KIND) if _connections(step) == _connections(load)]
    return own(steps, load) or _last(alike, load) or before(steps)


def taken_at(floor: Step, load: Step) -> bool:
    """Whether a floor was taken at a load's rate and connections. A closed loop has no rate."""
    rate_rps = facts.offered_rps(load)
    near = write.known(rate_rps) and abs(facts.offered_rps(floor) - rate_rps) <= SAME_RATE * rate_rps
    return floor.kind == KIND and near and _connections(floor) == _connections(load)


def unresolved(step: Step, level: float, floor: Step | None) -> str:
    """Say why a percentile of a load is not the server's; empty where it is, or where nothing speaks against it.

    `floor` is the same load on a server that does nothing, at the same rate; without it only the generator is asked.
    """
    upto = facts.number(step, "kept_up_to")
    if write.known(upto) and upto < THROUGHOUT and 100 * level > upto:
        return f"the generator kept up to p{upto:g} only"
    if floor is None or floor.name == step.name or not facts.quotable(floor):
        return ""
    measured, own = facts.at(step, level), facts.at(floor, level)
    if measured is None or own is None:
        return ""
    return "" if measured.low > own.high else "it is inside the instrument's floor"


def where(floor: Step) -> str:
    """The rate and the connections of a floor, in words."""
    return f"{write.rate(facts.offered_rps(floor))} on {write.connections(_connections(floor))}"


def _good(steps: Iterable[Step], kind: str) -> list[Step]:
    return [step for step in steps if step.kind == kind and facts.quotable(step)]


def _last(found: list[Step], load: Step) -> Step | None:
    return facts.only([step for step in found if step.workload == load.workload]) or facts.only(found)


def _connections(step: Step) -> int:
    return step.record.connections or 0
