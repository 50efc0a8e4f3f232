"""The experiments: one file each has its blocks and what answers its questions, whose table is questions.toml."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec

from runners.claims.questions import Answering, Asked, Question
from runners.errors import LabError

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
    """A question of the table, and what decides it: its primary quantity, the margin that matters, a useful width."""

    quantity: str
    margin: float
    width: float
    design: Design
    text: str = ""
    reported: str = ""
    cores: int = 1

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
    """The questions of an experiment as the table has them, in the order of what answers each by its key."""
    own = criteria()[number]
    asked = [
        (Question(key, own[key].text, own[key].reported, own[key].cores), answer) for key, answer in answering.items()
    ]
    return tuple(Asked(question, answer) for question, answer in asked)
