"""The section on a run's ladders: each with its figure and its table; many of them side by side first."""

from __future__ import annotations

from runners.analysis import floors
from runners.claims import published_ladders
from runners.claims.climbing import MOST_IN_ANSWER, Ladder, ladders
from runners.claims.conclusion import Conclusion
from runners.claims.merging import ANCHOR
from runners.readers.run import Run, Step
from runners.report import ladder_table
from runners.report.ladder import data, ladder, table
from runners.report.section import Section, Shown

TEXT = (
    "Each probe offers one rate for a while to a server that is warm. The knee is the rate at which half of the probes "
    "meet the objective; its 95 % interval comes from all probes together."
)
FIXED_TEXT = "Each rung offers one rate for a while to a server that is warm."


def section(run: Run, conclusion: Conclusion) -> Section | None:
    """All ladders of a run, or None."""
    found = ladders(run)
    if not found:
        return None
    anchors = {ANCHOR, *(each.anchor for each in found)}
    figures = tuple(_figure(each, floors.nearest(run.steps, each.steps[0])) for each in found)
    searched = any(each.search for each in found)
    return Section(
        ANCHOR,
        "The knee" if searched else "The ladder",
        text=TEXT if searched else FIXED_TEXT,
        overview=ladder_table.table(found) if len(found) > MOST_IN_ANSWER else None,
        findings=tuple(finding for finding in conclusion.findings if finding.figure in anchors),
        figures=figures,
        tables=tuple(table(each) for each in found),
    )


def _figure(found: Ladder, floor: Step | None) -> Shown:
    outputs = [output for _, output in published_ladders.named(found.published)]
    return Shown(found.anchor, ladder(found, outputs, floor), data(found))
