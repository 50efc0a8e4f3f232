"""What one kind of experiment adds to a conclusion."""

from __future__ import annotations

from dataclasses import dataclass

from runners.analysis.finding import Finding
from runners.claims.conclusion import Check


@dataclass(frozen=True, slots=True)
class Telling:
    """What one kind of experiment has to say. `answer` is its part of the report's headline, or empty.

    `checks` are what it asks of its own steps, beside the checks of every run.
    """

    answer: str = ""
    findings: tuple[Finding, ...] = ()
    missed: tuple[Finding, ...] = ()
    next_steps: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
