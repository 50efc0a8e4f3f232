"""Carry a conclusion with its gravity, its evidence, and the place in a report that shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from runners.readers.write import Value, sentence


class Severity(StrEnum):
    """How much a finding should worry: an answer or a good sign, something to know, to doubt, or to distrust."""

    GOOD = "good"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Anchor:
    """Where in a report a finding's evidence is drawn."""

    CHECKS = "checks"
    spectrum = "spectrum-{}".format  # of a workload
    timeline = "timeline-{}".format  # of a workload
    causes = "causes-{}".format  # of a step
    differential = "differential-{}-{}".format  # of a workload and a treatment
    shares = "shares-{}".format  # of an event
    comparison = "comparison-{}".format  # of a workload


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion: the rule that made it, a sentence, the numbers in it, and where they come from.

    `code` names the rule (see claims.conclusion), `steps` the measured steps or published outputs, `figure` the place
    in the report that shows it (see Anchor), `remedy` what to do about it, if anything.
    """

    code: str
    severity: Severity
    sentence: str
    evidence: dict[str, Value] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    figure: str | None = None
    remedy: str | None = None

    @classmethod
    def of(
        cls,
        code: str,
        severity: Severity,
        text: str,
        evidence: Mapping[str, Value],
        steps: tuple[str, ...] = (),
        figure: str | None = None,
        remedy: str | None = None,
    ) -> Finding:
        """Make a finding of a text, which becomes a sentence."""
        return cls(code, severity, sentence(text), dict(evidence), steps, figure, remedy)

    def as_json(self) -> dict[str, object]:
        """Return the finding as plain JSON values; a number that is not finite becomes null."""
        return {
            **asdict(self),
            "severity": self.severity.value,
            "evidence": {name: _json(value) for name, value in self.evidence.items()},
            "steps": list(self.steps),
        }


def _json(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value
