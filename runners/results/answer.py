"""A question of an experiment and its answer: a verdict, the numbers behind it, and the steps that it rests on.

A verdict is taken from an interval, never from a value alone: *yes* where the whole interval lies on the side that the
question asks for, *no* where it lies on the other side or within what is too small to matter, *inconclusive* otherwise.
Whoever plans loads imports this module, so it needs no statistics and no frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runners.results.results import Results

NAN = math.nan


class Verdict(StrEnum):
    """The answer to a question."""

    YES = "yes"
    NO = "no"
    INCONCLUSIVE = "inconclusive"


class Changes(StrEnum):
    """What somebody changes who follows the advice of an answer."""

    SERVER = "server"
    MEASUREMENT = "measurement"


#: Of several verdicts on parts of one question: an open part leaves the whole open, and yes needs every part.
ALL_PARTS = (Verdict.NO, Verdict.INCONCLUSIVE, Verdict.YES)
#: Yes by one part, no only by all of them.
ANY_PART = (Verdict.YES, Verdict.INCONCLUSIVE, Verdict.NO)


def verdict_of(low: float, high: float) -> Verdict:
    """Answer whether an effect lies above zero; a bound that is not known is NaN."""
    return Verdict.YES if low > 0 else Verdict.NO if high <= 0 else Verdict.INCONCLUSIVE


def first_of(order: Sequence[Verdict], verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several parts that comes first in an order. Raises ValueError without any."""
    return min(verdicts, key=order.index)


class Unit(StrEnum):
    """What a number counts."""

    LATENCY_US = "us"
    RATE_RPS = "requests per second"
    SHARE = "share"
    CHANGE = "relative change"
    COUNT = "count"
    SIZE_BYTES = "bytes"
    TIME_S = "s"
    FACTOR = "factor"
    TIMES = "times"
    CORES = "cores"


class Bound(StrEnum):
    """Whether a value is the quantity itself, or what it is at least or at most."""

    EXACT = "exact"
    AT_LEAST = "at least"
    AT_MOST = "at most"


class Relation(StrEnum):
    """How a second value stands to the first."""

    AGAINST = "against"
    OF = "of"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of an answer: what it is of, its value with its 95 % interval (NaN where there is none), its unit.

    `other` is a second value that is written with it, by `relation`: 42.8 % against 24.2 %, 13 800/s of 25 000/s.
    """

    label: str
    value: float
    unit: Unit
    low: float = NAN
    high: float = NAN
    bound: Bound = Bound.EXACT
    other: Measure | None = None
    relation: Relation = Relation.AGAINST

    def against(self, other: Measure) -> Measure:
        """Return the number with a second one to be compared with."""
        return replace(self, other=other)

    def out_of(self, value: float, unit: Unit | None = None) -> Measure:
        """Return the number with the whole or the wanted value that it is a part of."""
        return replace(self, other=Measure("", value, unit or self.unit), relation=Relation.OF)


class Basis(StrEnum):
    """What an answer rests on, counted in `Answer.count`."""

    LOADS = "load"
    PROFILES = "profile"
    CLOSED_LOOPS = "closed loop"
    STARTS_BY_REQUEST = "start, by request"
    STARTS_BY_SLICE = "start, by slices"
    STARTS_OF_SEARCH = "start of a search"
    ROUNDS = "interleaved round"
    FREEZES = "load with a frozen server"
    OUTAGES = "load with a killed node"
    FILLS = "fill"
    OUTPUTS = "published output"
    TRENDS = "trend"
    COMPUTED = "computed"
    NOTHING = "nothing"


class Needed(StrEnum):
    """What an inconclusive answer would take; of things that are counted, `Answer.needed_count` says how many."""

    STARTS = "starts"
    SAMPLES = "samples"
    ROUNDS = "rounds"
    LONGER_LOAD = "longer load"
    LONGER_SEARCH = "longer search"
    CONNECTIONS = "more connections than places in the queues"
    LARGER_SIZE = "larger size"
    INTERLEAVED = "interleaved trials"
    REFERENCE_TARGET = "reference target"
    QUIETER_MACHINE = "quieter machine"
    GENERATOR_CORES = "generator cores"
    SERVER_CORES = "server cores"
    RATE_KEPT = "rate kept while profiled"
    EVENTS = "load long enough for its events"
    WARM_SERVER = "warm server"
    MORE_RUNS = "more runs"
    SUCCESSES = "responses that succeed"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that yes or no answers, as `questions.toml` fixes it before anything is measured.

    `key` names it within its experiment and never changes. `claim` is what the original report says, in a translation
    that is true to it, with its `line`; empty where it says nothing. `claimed` is the verdict that the claim stands
    for; None where it concludes nothing. `yes` and `no` are a plain sentence for each verdict, `means` what follows for
    somebody who runs such a server, `changes` whether that is a change of the server or of the measurement,
    `overturned_by` what would change the answer. `cores`: so many the server needs for it; parallelism and contention
    can't be seen by a server that has one.
    """

    key: str
    text: str
    claim: str = ""
    line: int = 0
    cores: int = 1
    yes: str = ""
    no: str = ""
    means: str = ""
    overturned_by: str = ""
    claimed: Verdict | None = None
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    `evidence` holds the numbers: `Measure`s, or results of a topic that a report knows how to write. `steps` are the
    loads or published outputs that it rests on, `figure` the place of a report that draws it. `why_not` names a check
    that leaves it open.
    """

    verdict: Verdict
    evidence: tuple[object, ...] = ()
    basis: Basis = Basis.LOADS
    count: int = 0
    needed: Needed | None = None
    needed_count: int = 0
    steps: tuple[str, ...] = ()
    figure: str | None = None


#: Looks at the results of a run; None where the run does not hold what the question is about.
Answering = Callable[["Results"], Answer | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the function that answers it."""

    question: Question
    answer: Answering


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer. `measured`: whether the run holds what it is about."""

    question: Question
    answer: Answer
    measured: bool = True

    @property
    def agrees(self) -> bool | None:
        """Whether the answer is what the original report concludes; None where either is open."""
        claimed, verdict = self.question.claimed, self.answer.verdict
        return None if claimed is None or verdict == Verdict.INCONCLUSIVE else verdict == claimed

    def as_json(self) -> dict[str, object]:
        """Return the answer as plain JSON values; a number that is not finite becomes null."""
        answer = self.answer
        return {
            "key": self.question.key, "question": self.question.text, "verdict": answer.verdict.value,
            "measured": self.measured, "evidence": [as_json(one) for one in answer.evidence],
            "basis": answer.basis.value, "count": answer.count,
            "needed": answer.needed.value if answer.needed else None, "needed_count": answer.needed_count,
            "steps": list(answer.steps), "figure": answer.figure,
        }  # fmt: skip


def answered(questions: Sequence[Asked], results: Results) -> tuple[Answered, ...]:
    """Answer every question; one on something that this run did not measure, or could not, is inconclusive."""
    answers = []
    given_cores = results.server_cores
    for asked in questions:
        wanted = asked.question.cores
        if 0 < given_cores < wanted:
            evidence = (Measure("", given_cores, Unit.COUNT),)
            answer = Answer(
                Verdict.INCONCLUSIVE, evidence, Basis.NOTHING, needed=Needed.SERVER_CORES, needed_count=wanted
            )
            answers.append(Answered(asked.question, answer))
            continue
        found_answer = asked.answer(results)
        nothing = Answer(Verdict.INCONCLUSIVE, (), Basis.NOTHING, needed=Needed.LARGER_SIZE)
        answers.append(Answered(asked.question, found_answer or nothing, measured=found_answer is not None))
    return tuple(answers)


def either(*answers: Answering) -> Answering:
    """Return the first of several answers that a run can give."""

    def answer(results: Results) -> Answer | None:
        return next((given for answering in answers if (given := answering(results)) is not None), None)

    return answer


def as_json(value: Any) -> Any:
    """Return a typed result as plain JSON values: fields by name, a number that is not finite as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    return value
