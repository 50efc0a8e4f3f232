"""What `explain` hands to `show`: plain data, each sentence with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from runners.explain.words import Finding


@dataclass(frozen=True, slots=True)
class Check:
    """One line of "Can these numbers be trusted?". `ok` is None where the run does not tell."""

    name: str
    ok: bool | None
    text: str
    steps: tuple[str, ...] = ()


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

    `answer` is one or a few sentences, `findings` come most telling first, `missed` are the findings on what the
    published report did not see, `next_steps` what to try, each with the evidence for it.
    """

    title: str
    answer: str
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    comparison: tuple[Comparison, ...]
    missed: tuple[Finding, ...]
    next_steps: tuple[Finding, ...]

    def as_json(self) -> dict[str, object]:
        """Plain JSON values, as kept in the run folder."""
        return {
            "title": self.title,
            "answer": self.answer,
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
