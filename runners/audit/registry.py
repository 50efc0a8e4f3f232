"""Every rule of the audit by its code, and the page that explains it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runners.audit.rule import Rule
from runners.audit.rules import (
    arithmetic,
    comparisons,
    conclusions,
    conditions,
    conduct,
    draws,
    quantity,
    rates,
    responses,
    timing,
)
from runners.errors import LabError

PAGES = Path(__file__).resolve().parents[1] / "docs" / "rules"
RULES: dict[str, Rule] = {
    rule.code: rule
    for module in (timing, rates, responses, draws, conduct, quantity, comparisons, arithmetic, conditions, conclusions)
    for rule in module.RULES
}


class UnknownRuleError(LabError):
    """A code that no rule has."""


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Rules by code or by the beginning of one (`RAT`): those selected, all without a selection, less those ignored."""
    wanted, unwanted = _codes(select), _codes(ignore)
    return tuple(rule for code, rule in RULES.items() if (not wanted or code in wanted) and code not in unwanted)


def _codes(given: Iterable[str]) -> set[str]:
    codes: set[str] = set()
    for text in given:
        for part in (piece.strip().upper() for piece in text.split(",")):
            found = {code for code in RULES if part and code.startswith(part)}
            if not found:
                raise UnknownRuleError(
                    part or "an empty code", "no rule begins with it", f"use one of {', '.join(RULES)}"
                )
            codes |= found
    return codes


def page(code: str) -> str:
    """The page of a rule. Raises UnknownRuleError for a code that no rule has."""
    rule = RULES.get(code.strip().upper())
    if rule is None:
        raise UnknownRuleError(code, "no rule has this code", f"use one of {', '.join(RULES)}")
    return (PAGES / f"{rule.code}.md").read_text(encoding="utf-8")
