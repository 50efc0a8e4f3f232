"""Tabulate the responses of a server that shares one response object, by their number."""

from __future__ import annotations

from collections.abc import Iterator

from runners.analysis import facts
from runners.claims.ablations import ANCHOR
from runners.claims.conclusion import Conclusion
from runners.design.session import FAULT
from runners.readers.run import Run, Step
from runners.report import numbers
from runners.report.section import Section
from runners.report.tables import Table

ANSWERS_SHOWN = (1, 2, 10, 100, 1_000)


def answers(step: Step) -> Table:
    """Heads of responses by their number: the fault that a shared object makes."""
    heads = step.record.fault.heads if step.record.fault else ()
    last = heads[-1]["number"] if heads else 0
    rows = tuple(
        (numbers.count(each["number"]), numbers.size(each["bytes"]), numbers.count(each["fields"]))
        for each in heads
        if each["number"] in (*ANSWERS_SHOWN, last)
    )
    return Table("Responses of one connection, in their order", ("response", "head", "fields in it"), rows)


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """The fault of each server that has one."""
    for step in run.find(kind=FAULT):
        told = tuple(finding for finding in conclusion.findings if finding.figure == ANCHOR)
        name = facts.engine_name(step.subject)
        yield Section(ANCHOR, f"The fault of {name}", findings=told, tables=(answers(step),))
