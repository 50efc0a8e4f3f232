"""Compare two treatments by one schedule that they share, over fresh starts of each."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.quantities import QUANTITIES, Quantity
from runners.claims import interleaved
from runners.claims.questions import Answer, Asked, Evidence, Question
from runners.design.block import Block
from runners.design.experiment import Value, compared


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The one block: both settings, a second process of the first, and a server that does nothing."""
    return (compared(asked),)


def differs(quantity: Quantity) -> Asked:
    """Do the two treatments differ in a quantity?"""

    def answer(evidence: Evidence) -> Answer | None:
        finding = interleaved.finding_on(evidence.findings, quantity.name)
        return interleaved.answer_of(finding) if finding is not None else None

    return Asked(Question(quantity.name, f"Do the two treatments differ in {quantity.label}?"), answer)


QUESTIONS = tuple(differs(quantity) for quantity in sorted(QUANTITIES, key=lambda each: each.name != "p50_us"))
