"""What each kind of experiment adds to a report: a builder looks at a run and gives its sections, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runners.explain.conclusion import Conclusion
from runners.read.run import Run
from runners.show.ablations import sections as ablations
from runners.show.arrows import section as arrows
from runners.show.causes import sections as tails
from runners.show.client_lock import section as client_lock
from runners.show.closed_loop import BUILDERS as CLOSED_LOOP
from runners.show.difference import section as difference
from runners.show.differential import sections as differentials
from runners.show.heat import sections as heat_maps
from runners.show.history import section as history
from runners.show.in_short import sections as in_short
from runners.show.instrument import BUILDERS as INSTRUMENT
from runners.show.keys import section as keys
from runners.show.knees import sections as knees
from runners.show.ladders import section as ladders
from runners.show.outage import section as outages
from runners.show.rungs import sections as rungs
from runners.show.section import Section
from runners.show.stores import sections as stores
from runners.show.turns import sections as turns

Builder = Callable[[Run, Conclusion], Section | Iterable[Section] | None]

#: In the order in which the sections stand in a report.
BUILDERS: tuple[Builder, ...] = (
    turns,
    client_lock,
    keys,
    outages,
    knees,
    arrows,
    ladders,
    rungs,
    difference,
    stores,
    ablations,
    *INSTRUMENT,
    *CLOSED_LOOP,
    in_short,
    differentials,
    tails,
    heat_maps,
    history,
)


def sections(run: Run, conclusion: Conclusion) -> tuple[Section, ...]:
    """The sections that this run has something for."""
    found: list[Section] = []
    for builder in BUILDERS:
        built = builder(run, conclusion)
        if built is not None:
            found += [built] if isinstance(built, Section) else built
    return tuple(found)
