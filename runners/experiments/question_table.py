"""Tabulate the questions with what decides each, as fixed before a measurement, and the reference runs' answers.

`questions.toml` beside this module is the table. A question of it that no experiment asks, or whose experiment has no
reference run, counts as unanswered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from runners.claims.questions import Verdict
from runners.errors import LabError
from runners.experiments.registry import QUESTIONS
from runners.storage.run_folder import REFERENCE

TABLE = Path(__file__).with_name("questions.toml")
NOT_ASKED, NOT_MEASURED = "not asked", "not measured"


class Design(StrEnum):
    """How the answer is found: the kinds of measurement, as the table's first lines describe them."""

    REQUESTS = "requests"
    SLICES = "slices"
    SOLO = "solo"
    FAULT = "fault"
    PROFILE = "profile"
    FILL = "fill"
    PUBLISHED = "published"


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What decides a question: its primary quantity, the margin that matters, and the width of a useful interval."""

    quantity: str
    margin: float
    width: float
    design: Design


class TableRow(msgspec.Struct, frozen=True):
    """A question with its criterion and the verdict of the experiment's reference run."""

    id: str
    question: str
    criterion: Criterion
    verdict: str
    effect: str

    @property
    def answered(self) -> bool:
        """Whether the reference run answers it with yes or no."""
        return self.verdict in (Verdict.YES, Verdict.NO)


def criteria(path: Path = TABLE) -> dict[str, dict[str, Criterion]]:
    """Read the table: criteria by experiment and key. Raises LabError for one that can't be read."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, dict[str, Criterion]])
    except (OSError, msgspec.MsgspecError) as error:
        raise LabError(path.name, str(error), "see the first lines of the table") from error


def table(reference: Path = REFERENCE) -> tuple[TableRow, ...]:
    """Join the table with the questions as the experiments ask them and with the reference runs' answers."""
    rows = []
    for experiment, by_key in criteria().items():
        asked = {each.question.key: each.question.text for each in QUESTIONS.get(experiment, ())}
        answers = _answers(reference / experiment / "conclusions.json")
        for key, criterion in by_key.items():
            verdict, effect = answers.get(key, (NOT_MEASURED, "")) if key in asked else (NOT_ASKED, "")
            rows.append(TableRow(f"{experiment}.{key}", asked.get(key, key), criterion, verdict, effect))
    return tuple(rows)


def answered_share(rows: Sequence[TableRow]) -> float:
    """The share of questions that are answered with yes or no. Raises ValueError without rows."""
    if not rows:
        raise ValueError("a table without questions has no share of answers")
    return sum(row.answered for row in rows) / len(rows)


def _answers(conclusions: Path) -> dict[str, tuple[str, str]]:
    if not conclusions.exists():
        return {}
    found = json.loads(conclusions.read_text(encoding="utf-8"))
    return {each["key"]: (each["verdict"], each["effect"]) for each in found["answers"]}
