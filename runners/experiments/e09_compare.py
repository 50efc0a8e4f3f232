"""Compare two treatments by one schedule that they share, over fresh starts of each."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.comparison import QUANTITIES, Quantity
from runners.claims import interleaved
from runners.claims.comparing import ANCHOR, repeats_of
from runners.claims.questions import Answer, Asked, Evidence, of_difference
from runners.design import comparison
from runners.design.block import Block
from runners.design.experiment import setting_of
from runners.design.parameter import Value
from runners.design.question import Question


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The one block: both settings, a second process of the first, and a server that does nothing."""
    return (comparison.block(asked, setting_of(str(asked["a"])), setting_of(str(asked["b"]))),)


def differs(quantity: Quantity) -> Asked:
    """Do the two treatments differ in a quantity?"""

    def answer(evidence: Evidence) -> Answer | None:
        by_schedule = interleaved.finding_on(evidence.findings, quantity.name)
        if by_schedule is not None:
            return interleaved.answer_of(by_schedule)
        repeats = repeats_of(list(evidence.run.steps))  # of a run before treatments shared a schedule
        each = next((e for e in repeats.found if e.quantity.name == quantity.name), None) if repeats else None
        if repeats is None or each is None:
            return None
        finding = next((f for f in evidence.findings if f.evidence.get("quantity") == quantity.name), None)
        return of_difference(each, len(repeats.found), above=not each.high < 0, finding=finding, figure=ANCHOR)

    return Asked(Question(quantity.name, f"Do the two treatments differ in {quantity.label}?"), answer)


QUESTIONS = tuple(differs(quantity) for quantity in sorted(QUANTITIES, key=lambda each: each.name != "p50_us"))
