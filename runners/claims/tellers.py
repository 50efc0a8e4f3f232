"""Who adds to a conclusion: a teller looks at a run and gives what its kind of experiment has to say, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from runners.claims import (
    ablations,
    climbing,
    closed_loop,
    cluster,
    comparing,
    executions,
    history,
    instrument,
    rungs,
    stores,
)
from runners.claims.telling import Telling
from runners.readers.run import Run

Teller = Callable[[Run], Telling | None]

#: In the order in which their findings stand.
TELLERS: tuple[Teller, ...] = (
    cluster.tell,
    executions.tell,
    climbing.tell,
    rungs.tell,
    comparing.tell,
    stores.tell,
    ablations.tell,
    instrument.tell,
    closed_loop.tell,
    history.telling,
)


def tellings(run: Run) -> list[Telling]:
    """What there is to say beyond the rules that every run is asked."""
    told = (teller(run) for teller in TELLERS)
    return [telling for telling in told if telling is not None]
