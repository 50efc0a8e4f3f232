"""A question of an experiment and its answer: a verdict, the numbers behind it, and the steps that it rests on.

A verdict is taken from an interval, never from a value alone: *yes* if the whole interval lies on the side that the
question asks for, *no* if it lies on the other side or holds only differences too small to matter, else *inconclusive*.
The planning of loads imports this module too, so this module imports neither statistics nor frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from msgspec import Struct

if TYPE_CHECKING:
    from runners.analysis.intervals import Bounded
    from runners.readers.run import Step
    from runners.results.results import Results


class Verdict(StrEnum):
    """The verdict on a question that is answered by yes or no."""

    YES = "yes"
    NO = "no"
    INCONCLUSIVE = "inconclusive"

    @staticmethod
    def of(low: float, high: float) -> Verdict:
        """Return YES if the whole interval lies above zero, NO if none of it does, else (also for NaN) INCONCLUSIVE."""
        return Verdict.YES if low > 0 else Verdict.NO if high <= 0 else Verdict.INCONCLUSIVE

    @staticmethod
    def of_all(parts: Iterable[Verdict]) -> Verdict:
        """Return NO if a part is NO, else INCONCLUSIVE if one is, else YES. Raises ValueError if there is no part."""
        return min(parts, key=(Verdict.NO, Verdict.INCONCLUSIVE, Verdict.YES).index)

    @staticmethod
    def of_any(parts: Iterable[Verdict]) -> Verdict:
        """Return YES if a part is YES, else INCONCLUSIVE if one is, else NO. Raises ValueError if there is no part."""
        return min(parts, key=(Verdict.YES, Verdict.INCONCLUSIVE, Verdict.NO).index)


class Changes(StrEnum):
    """The thing that an answer advises to change: the server or the measurement."""

    SERVER = "server"
    MEASUREMENT = "measurement"


class Unit(StrEnum):
    """The unit of a number."""

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
    """The way to read a value: as the quantity itself, or as an upper bound of it."""

    EXACT = "exact"
    AT_MOST = "at most"


class Relation(StrEnum):
    """The relation of a measure to its second value: it is compared with that value, or it is a part of that value."""

    AGAINST = "against"
    OF = "of"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of an answer: its label, value and unit, and its 95 % interval or range (NaN if there is none).

    `other`: a second number to write after this one; `relation`: how the two are related (42.8 % against 24.2 %).
    """

    label: str
    value: float
    unit: Unit
    low: float = math.nan
    high: float = math.nan
    bound: Bound = Bound.EXACT
    other: Measure | None = None
    relation: Relation = Relation.AGAINST

    @classmethod
    def of(cls, label: str, estimate: Bounded, unit: Unit) -> Measure:
        """Return an estimate as a measure with the estimate's interval."""
        return cls(label, estimate.value, unit, estimate.low, estimate.high)

    @classmethod
    def mean(cls, label: str, values: Sequence[float], unit: Unit) -> Measure:
        """Return the mean of values as a measure, with the least and the largest value as its bounds."""
        return cls(label, sum(values) / len(values), unit, min(values), max(values))

    def against(self, other: Measure) -> Measure:
        """Return a copy of the measure with `other`, the measure that it is compared with."""
        return replace(self, other=other)

    def out_of(self, value: float, unit: Unit | None = None) -> Measure:
        """Return a copy of the measure with `value`, the whole (or wanted) amount that the measure is a part of."""
        return replace(self, other=Measure("", value, unit or self.unit), relation=Relation.OF)


class Basis(StrEnum):
    """The kind of evidence that an answer rests on; `Answer.count` says how many pieces of it there are."""

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
    """The thing that would decide an inconclusive answer; `Answer.needed_count` is how many of it are needed."""

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
    MORE_RUNS = "more runs"
    SUCCESSES = "responses that succeed"


class Question(Struct, frozen=True):
    """A question that yes or no answers, as `questions.toml` fixes it before anything is measured.

    `claim`: a sentence of `source`, translated; `line`: its line or lines there; `claimed`: the verdict that the
    sentence states. `yes`, `no`: our sentence for each verdict; `means`: the conclusion. `cores`: how many the server
    needs. `headline`: README.md shows this question, and "If this were your report" begins with it.
    """

    key: str = ""
    text: str = ""
    claim: str = ""
    line: int | tuple[int, ...] = ()
    source: str = "the original report"
    cores: int = 1
    yes: str = ""
    no: str = ""
    means: str = ""
    overturned_by: str = ""
    claimed: Verdict | None = None
    changes: Changes | None = None
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: verdict, evidence (measures or other typed results), and the steps it rests on.

    `count`: how many items of the kind `basis` the answer rests on. `needed`, `needed_count`: what would decide an
    inconclusive answer, and how much of it. `figure`: the anchor, in a report, of the figure that shows the evidence.
    """

    verdict: Verdict
    evidence: tuple[object, ...] = ()
    basis: Basis = Basis.LOADS
    count: int = 0
    needed: Needed | None = None
    needed_count: int = 0
    steps: tuple[str, ...] = ()
    figure: str | None = None

    @classmethod
    def by(
        cls, steps: Iterable[Step | str], basis: Basis, verdict: Verdict | bool, *evidence: object,
        needed: Needed | None = None, figure: str | None = None,
    ) -> Answer:  # fmt: skip
        """Return an answer that rests on these loads or outputs; `verdict` may be True for yes or False for no."""
        names = tuple(step if isinstance(step, str) else step.name for step in steps)
        decided = verdict if isinstance(verdict, Verdict) else Verdict.YES if verdict else Verdict.NO
        return cls(decided, evidence, basis, len(names), needed, steps=names, figure=figure)

    def __post_init__(self) -> None:
        if self.verdict != Verdict.INCONCLUSIVE:
            object.__setattr__(self, "needed", None)
            object.__setattr__(self, "needed_count", 0)


#: A function that answers a question from a run's results; it returns None if the run did not measure the subject.
Answering = Callable[["Results"], Answer | None]


Arguments = ParamSpec("Arguments")


def answering(answer: Callable[Concatenate[Results, Arguments], Answer | None]) -> Callable[Arguments, Answering]:
    """Decorate a function of results and arguments: it then takes the arguments alone, and returns an `Answering`."""

    @wraps(answer)
    def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answering:
        return lambda results: answer(results, *args, **kwargs)

    return asked


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the function that answers it."""

    question: Question
    answer: Answering


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer; `measured`: whether the run measured the subject of the question."""

    question: Question
    answer: Answer
    measured: bool = True

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict equals the original report's; None if that has none, or this verdict is inconclusive."""
        claimed, verdict = self.question.claimed, self.answer.verdict
        return None if claimed is None or verdict == Verdict.INCONCLUSIVE else verdict == claimed

    def as_json(self) -> dict[str, object]:
        """Return the answer as plain JSON values; a number that is not finite becomes null."""
        answer: dict[str, object] = as_json(self.answer)
        return {"key": self.question.key, "question": self.question.text, "measured": self.measured, **answer}


def answered(asked: Asked, results: Results) -> Answered:
    """Answer a question; inconclusive if the run did not measure its subject, or if the server had too few cores."""
    cores = asked.question.cores
    if 0 < results.server_cores < cores:
        evidence = (Measure("", results.server_cores, Unit.COUNT),)
        few = Answer(Verdict.INCONCLUSIVE, evidence, Basis.NOTHING, needed=Needed.SERVER_CORES, needed_count=cores)
        return Answered(asked.question, few)
    answer = asked.answer(results)
    nothing = Answer(Verdict.INCONCLUSIVE, (), Basis.NOTHING, needed=Needed.LARGER_SIZE)
    return Answered(asked.question, answer or nothing, measured=answer is not None)


@answering
def either(results: Results, *answers: Answering) -> Answer | None:
    """Return the first of several answers that is not None; None if all are None."""
    return next((given for answering in answers if (given := answering(results)) is not None), None)


@answering
def with_more(results: Results, given: Answering, *more: Answering) -> Answer | None:
    """Answer as `given` does, with the evidence of `more` too, which does not decide."""
    answer, others = given(results), (part(results) for part in more)
    return answer and replace(answer, evidence=sum((part.evidence for part in others if part), answer.evidence))


def as_json(value: Any) -> Any:
    """Return a typed result as plain JSON values: fields by name, a number that is not finite as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    return value
