"""Collect what each kind of experiment adds to a report: a builder looks at a run and gives its sections, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runners.claims.conclusion import Conclusion
from runners.readers.run import Run
from runners.report.ablations import sections as ablations
from runners.report.client_lock import section as client_lock
from runners.report.closed_loop import BUILDERS as CLOSED_LOOP
from runners.report.difference import section as difference
from runners.report.history import section as history
from runners.report.instrument import BUILDERS as INSTRUMENT
from runners.report.interleaved import sections as interleaved
from runners.report.keys import section as keys
from runners.report.knees import sections as knees
from runners.report.ladders import section as ladders
from runners.report.outage import section as outages
from runners.report.section import Section
from runners.report.stores import sections as stores
from runners.report.turns import sections as turns

Builder = Callable[[Run, Conclusion], Section | Iterable[Section] | None]

#: In the order in which the sections stand in a report.
BUILDERS: tuple[Builder, ...] = (
    turns,
    outages,
    knees,
    ladders,
    client_lock,
    keys,
    difference,
    interleaved,
    stores,
    ablations,
    *INSTRUMENT,
    *CLOSED_LOOP,
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
