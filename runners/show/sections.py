"""What each kind of experiment adds to a report: a builder looks at a run and gives its section, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from runners.explain.conclusion import Conclusion
from runners.read.run import Run
from runners.show.difference import section as difference
from runners.show.history import section as history
from runners.show.instrument import BUILDERS as INSTRUMENT
from runners.show.ladders import section as ladders
from runners.show.section import Section

Builder = Callable[[Run, Conclusion], Section | None]

#: In the order in which the sections stand in a report.
BUILDERS: tuple[Builder, ...] = (ladders, difference, *INSTRUMENT, history)


def sections(run: Run, conclusion: Conclusion) -> tuple[Section, ...]:
    """The sections that this run has something for."""
    built = (builder(run, conclusion) for builder in BUILDERS)
    return tuple(section for section in built if section is not None)
