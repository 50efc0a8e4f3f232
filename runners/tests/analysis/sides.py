"""Two loads as the sides of a comparison."""

from __future__ import annotations

from runners.analysis.facts import title
from runners.analysis.runs import refusals
from runners.readers.run import Step
from runners.report.sentences import refusal_words


def why_of_steps(first: Step, second: Step, level: float = 0.99) -> str:
    """Why a percentile of two loads is not compared; empty where it can be."""
    return refusal_words(refusals(level, (title(first), (first,)), (title(second), (second,))))
