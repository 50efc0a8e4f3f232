"""Compare two treatments in interleaved rounds."""

from __future__ import annotations

from runners.analysis.comparison import QUANTITIES, Quantity
from runners.claims.comparing import ANCHOR, repeats_of
from runners.claims.questions import Answer, Asked, Evidence, of_difference
from runners.design.question import Question


def differs(quantity: Quantity) -> Asked:
    """Do the two treatments differ in a quantity?"""

    def answer(evidence: Evidence) -> Answer | None:
        repeats = repeats_of(list(evidence.run.steps))
        each = next((e for e in repeats.found if e.quantity.name == quantity.name), None) if repeats else None
        if repeats is None or each is None:
            return None
        finding = next((f for f in evidence.findings if f.evidence.get("quantity") == quantity.name), None)
        return of_difference(each, len(repeats.found), above=not each.high < 0, finding=finding, figure=ANCHOR)

    return Asked(Question(quantity.name, f"Do the two treatments differ in {quantity.label}?"), answer)


QUESTIONS = tuple(differs(quantity) for quantity in sorted(QUANTITIES, key=lambda each: each.name != "p50_us"))
