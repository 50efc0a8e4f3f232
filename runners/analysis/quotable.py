"""Decide whether a percentile may stand in a headline or be compared.

A percentile that the instrument itself reads as high on a server that does nothing says nothing on the server, and one
above what the generator kept up to is partly the generator's own lateness. Neither is a headline and neither is
compared; what lies above the floor leads: the median, CPU time a request, throughput.
"""

from __future__ import annotations

from collections.abc import Iterable

from runners.analysis import facts, floors
from runners.readers import write
from runners.readers.run import Step

THROUGHOUT = 99.9  # the highest percentile at which a generator holds its lateness against the response time


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
    return "" if measured.low > own.high else "inside the instrument's floor"


def floor_of(steps: Iterable[Step], step: Step) -> Step | None:
    """The floor at a load's own rate and connections, or None."""
    return floors.own(steps, step)
