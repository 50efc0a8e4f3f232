"""What `claims` hands to `report`: plain data, each sentence with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runners.analysis.finding import Finding

if TYPE_CHECKING:
    from runners.claims.questions import Answered

WRONG_CODES = ("A02", "A03", "A04", "A06", "S01")
HEADLINE_CODES = (
    *("I03", "I01", "I05", "I06", "I04", "I07"),
    *("D01", "D02", "D03", "D04", "D05", "D07", "D08", "D10"),
    *("H02", "H03", "H08", "O01", "M13"),
    *("M01", "L01", "L02", "P01", "P02", "W04", "M02"),
)


def highlights(missed: Sequence[Finding], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Choose whatever is wrong, then the first finding of each important rule, a few in all."""
    wrong = [finding for finding in findings if finding.code in WRONG_CODES]
    chosen: dict[str, Finding] = {}
    for finding in (*missed, *findings):
        if finding.code in HEADLINE_CODES:
            chosen.setdefault(finding.code, finding)
    return (*wrong, *(chosen[code] for code in HEADLINE_CODES if code in chosen))


@dataclass(frozen=True, slots=True)
class Check:
    """One line of "Can these numbers be trusted?". `ok` is None where the run does not tell."""

    name: str
    ok: bool | None
    text: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claims:
    """Collect what the analysis of one kind of experiment claims. `answer`: its part of the headline, or empty.

    `checks` are what it asks of its own steps, beside the checks of every run.
    """

    answer: str = ""
    findings: tuple[Finding, ...] = ()
    missed: tuple[Finding, ...] = ()
    next_steps: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One quantity; `values` belong to the columns of the table, in order."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Published and reproduced, side by side, for one workload.

    `columns` are the headings of the values ("published", then a measured step each); `differs` names in sentences
    what was not the same, and so limits what a comparison can say.
    """

    workload: str
    published: str
    columns: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The whole explanation of a run.

    `answers` are those of the experiment's questions, `answer` is one or a few sentences, `findings` come most
    important first, `missed` are the findings on what the published report did not see,
    `next_steps` what to try, each with the evidence for it.
    """

    title: str
    answer: str
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    comparison: tuple[Comparison, ...]
    missed: tuple[Finding, ...]
    next_steps: tuple[Finding, ...]
    answers: tuple[Answered, ...] = ()

    @property
    def highlights(self) -> tuple[Finding, ...]:
        """What belongs on the first screen."""
        return highlights(self.missed, self.findings)

    def as_json(self) -> dict[str, object]:
        """Plain JSON values, as kept in the run folder."""
        return {
            "title": self.title,
            "answer": self.answer,
            "answers": [each.as_json() for each in self.answers],
            "findings": [finding.as_json() for finding in self.findings],
            "checks": [
                {"name": check.name, "ok": check.ok, "text": check.text, "steps": list(check.steps)}
                for check in self.checks
            ],
            "comparison": [
                {
                    "workload": table.workload,
                    "published": table.published,
                    "columns": list(table.columns),
                    "rows": [{"name": row.name, "values": list(row.values)} for row in table.rows],
                    "differs": list(table.differs),
                }
                for table in self.comparison
            ],
            "missed": [finding.as_json() for finding in self.missed],
            "next_steps": [finding.as_json() for finding in self.next_steps],
        }
