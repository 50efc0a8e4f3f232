"""Show a run's ladders: one table of all, and the figures of a few."""

from __future__ import annotations

from runners.analysis import floors
from runners.claims import published_ladders
from runners.claims.climbing import MOST_IN_ANSWER, Ladder, ladders
from runners.claims.conclusion import Conclusion
from runners.claims.executions import knees
from runners.claims.merging import ANCHOR
from runners.readers.run import Run, Step
from runners.report import ladder_table
from runners.report.ladder import data, ladder
from runners.report.section import Section, Shown


def section(run: Run, conclusion: Conclusion) -> Section | None:
    """All ladders of a run, or None."""
    found = ladders(run)
    if not found:
        return None
    anchors = {ANCHOR, *(each.anchor for each in found)}
    searched = [each for each in found if each.search is not None]
    alone = (searched or found) if not knees(run) else []  # knees side by side are drawn once, together
    return Section(
        ANCHOR,
        "The knee" if searched else "The ladder",
        findings=tuple(finding for finding in conclusion.findings if finding.figure in anchors),
        figures=tuple(_figure(each, floors.nearest(run.steps, each.steps[0])) for each in alone[:MOST_IN_ANSWER]),
        tables=(ladder_table.table(found),),
    )


def _figure(found: Ladder, floor: Step | None) -> Shown:
    outputs = [output for _, output in published_ladders.named(found.published)]
    return Shown(found.anchor, ladder(found, outputs, floor), data(found))
