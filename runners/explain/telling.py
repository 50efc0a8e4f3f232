"""What each kind of experiment adds to a conclusion: a teller looks at a run and gives its findings, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runners.explain.words import Finding
from runners.read.run import Run


@dataclass(frozen=True, slots=True)
class Telling:
    """What one kind of experiment has to say. `answer` is its part of the report's headline, or empty."""

    answer: str = ""
    findings: tuple[Finding, ...] = ()
    missed: tuple[Finding, ...] = ()
    next_steps: tuple[Finding, ...] = ()


Teller = Callable[[Run], Telling | None]

#: In the order in which their findings stand.
TELLERS: tuple[Teller, ...] = ()


def tellings(run: Run) -> list[Telling]:
    """What there is to say beyond the rules that every run is asked."""
    told = (teller(run) for teller in TELLERS)
    return [telling for telling in told if telling is not None]
