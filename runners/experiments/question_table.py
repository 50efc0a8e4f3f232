"""Read the table of questions, questions.toml: what each asks and what decides it, as fixed before a measurement.

A question of it that no experiment asks, or whose experiment has no reference run, counts as unanswered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec

from runners.errors import LabError
from runners.results.answer import Answering, Asked, Changes, Question, Verdict
from runners.storage.run_folder import REFERENCE

TABLE = Path(__file__).with_name("questions.toml")


class Design(StrEnum):
    """How the answer is found: the kinds of measurement, as the table's first lines describe them."""

    REQUESTS = "requests"
    SLICES = "slices"
    SOLO = "solo"
    FAULT = "fault"
    PROFILE = "profile"
    FILL = "fill"
    PUBLISHED = "published"


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question of the table, and what decides it: its primary quantity, the margin that matters, a useful width.

    `headline`: whether it stands for its experiment in README.md.
    """

    quantity: str
    margin: float
    width: float
    design: Design
    text: str = ""
    claim: str = ""
    line: int = 0
    cores: int = 1
    yes: str = ""
    no: str = ""
    means: str = ""
    overturned_by: str = ""
    claimed: Verdict | None = None
    changes: Changes | None = None
    headline: bool = False

    @property
    def decides(self) -> Criterion:
        """What decides the question, without the question."""
        return Criterion(self.quantity, self.margin, self.width, self.design)


@cache
def criteria(path: Path = TABLE) -> dict[str, dict[str, Criterion]]:
    """Read the table: criteria by experiment and key. Raises LabError for one that can't be read."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, dict[str, Criterion]])
    except (OSError, msgspec.MsgspecError) as error:
        raise LabError(path.name, str(error), "see the first lines of the table") from error


def answered_by(number: str, answering: Mapping[str, Answering]) -> tuple[Asked, ...]:
    """Return the questions of an experiment as the table has them, in the order of what answers each by its key."""
    own = criteria()[number]
    return tuple(Asked(_question(key, own[key]), answer) for key, answer in answering.items())


def _question(key: str, row: Criterion) -> Question:
    return Question(
        key, row.text, row.claim, row.line, row.cores, row.yes, row.no, row.means, row.overturned_by, row.claimed,
        row.changes,
    )  # fmt: skip


NOT_ASKED, NOT_MEASURED = "not asked", "not measured"


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


def table(reference: Path = REFERENCE, questions: Path = TABLE) -> tuple[TableRow, ...]:
    """Join the table with the questions as the experiments ask them and with the reference runs' answers."""
    from runners.experiments.registry import questions_of  # it loads the experiments, and they this module

    rows = []
    for experiment, by_key in criteria(questions).items():
        asked = {each.question.key: each.question.text for each in questions_of(experiment)}
        answers = _answers(reference / experiment / "conclusions.json")
        for key, criterion in by_key.items():
            verdict, effect = answers.get(key, (NOT_MEASURED, "")) if key in asked else (NOT_ASKED, "")
            rows.append(TableRow(f"{experiment}.{key}", asked.get(key, key), criterion.decides, verdict, effect))
    return tuple(rows)


def answered_share(rows: Sequence[TableRow]) -> float:
    """Return the share of questions that are answered with yes or no. Raises ValueError without rows."""
    if not rows:
        raise ValueError("a table without questions has no share of answers")
    return sum(row.answered for row in rows) / len(rows)


def _answers(conclusions: Path) -> dict[str, tuple[str, str]]:
    if not conclusions.exists():
        return {}
    found = json.loads(conclusions.read_text(encoding="utf-8"))
    effects = found.get("effects", {})
    return {one["key"]: (one["verdict"], effects.get(one["key"], "")) for one in found["answers"]}
