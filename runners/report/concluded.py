"""Show a conclusion in a notebook or a terminal: the questions with their answers, and where the report lies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from runners.errors import printable
from runners.report.sentences import effect_words, needed_words
from runners.report.tables import Markdown, Table, bold, escape, table
from runners.results.conclusion import Conclusion


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answers of a run, and its report."""

    conclusion: Conclusion
    report: Path

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for answered in self.conclusion.answers:
            needed = needed_words(answered.answer)
            effect = "; ".join(filter(None, (effect_words(answered), needed and f"it would take {needed}")))
            rows.append((answered.question.text, answered.answer.verdict.value, effect))
        return rows

    def _repr_markdown_(self) -> str:
        rows = tuple((question, bold(verdict), effect) for question, verdict, effect in self._rows())
        shown = table(Table("", ("question", "answer", "effect (95 %)"), rows, numeric=False))
        link = os.path.relpath(self.report)  # as JupyterLab opens it: from the notebook's folder, where its kernel runs
        return Markdown(f"### {escape(self.conclusion.title)}\n\n{shown}\n\n[{self.report.name}]({link})")

    def __repr__(self) -> str:
        lines = [
            self.conclusion.title,
            *(f"{question} {verdict}: {effect}" for question, verdict, effect in self._rows()),
        ]
        return printable("\n".join([*lines, f"Report: {self.report}"]))
