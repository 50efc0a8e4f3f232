"""Read questions.toml: the experiments' questions, and the criteria that were fixed before any measurement."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from runners.errors import LabError
from runners.results.answer import Answering, Asked, Question, Verdict
from runners.storage.run_folder import REFERENCE

TABLE = Path(__file__).with_name("questions.toml")

#: The kinds of measurement that may answer a question; the first lines of questions.toml describe them.
Design = Literal["requests", "slices", "solo", "fault", "profile", "fill", "published"]


class Criterion(Question, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A row of questions.toml: a question, and what decides it."""

    quantity: str  # the primary quantity
    design: Design
    margin: float = 0  # the smallest change that matters
    width: float = 0  # a useful width of the interval

    @property
    def decides(self) -> "Criterion":
        """The criterion without the question's key and texts."""
        return Criterion(quantity=self.quantity, margin=self.margin, width=self.width, design=self.design)


@cache
def criteria(path: Path = TABLE) -> dict[str, dict[str, Criterion]]:
    """Return {experiment: {key of a question: its row}} of the table. Raises LabError if the table can't be read."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, dict[str, Criterion]])
    except (OSError, msgspec.MsgspecError) as error:
        raise LabError(path.name, str(error), "see the first lines of the table") from error


def answered_by(number: str, answering: Mapping[str, Answering], **same: str) -> tuple[Asked, ...]:
    """Return an experiment's questions with the functions that answer them.

    `answering`: {key of a question: function that answers it}. `same`: {field: one value for all these questions}.
    """
    rows = {key: msgspec.structs.replace(row, key=key, **same) for key, row in criteria()[number].items()}
    return tuple(Asked(rows[key], answer) for key, answer in answering.items())


NOT_MEASURED = "not measured"


class TableRow(msgspec.Struct, frozen=True):
    """A question with its criterion and the verdict of the experiment's reference run."""

    id: str
    question: str
    criterion: Criterion
    verdict: str
    effect: str  # the measured effect, in words; may be empty

    @property
    def answered(self) -> bool:
        """Whether the reference run answers the question with yes or no."""
        return self.verdict in (Verdict.YES, Verdict.NO)


def table(reference: Path = REFERENCE, questions: Path = TABLE) -> tuple[TableRow, ...]:
    """Return all questions with the answers of reference runs. Raises LabError if a question is in no experiment."""
    from runners.experiments.registry import questions_of  # it loads the experiments, and they this module

    rows = []
    for experiment, by_key in criteria(questions).items():
        texts = {asked.question.key: asked.question.text for asked in questions_of(experiment)}
        conclusions = reference / experiment / "conclusions.json"
        kept = json.loads(conclusions.read_text(encoding="utf-8")) if conclusions.exists() else {"answers": []}
        verdicts = {answer["key"]: answer["verdict"] for answer in kept["answers"]}
        if unasked := by_key.keys() - texts.keys():
            cause = f"no experiment asks {experiment}.{min(unasked)}"
            raise LabError(str(questions), cause, "ask it, or delete its row")
        for key, criterion in by_key.items():
            verdict, effect = verdicts.get(key, NOT_MEASURED), kept.get("effects", {}).get(key, "")
            rows.append(TableRow(f"{experiment}.{key}", texts[key], criterion.decides, verdict, effect))
    return tuple(rows)
