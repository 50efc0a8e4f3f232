"""A question of an experiment and its answer: a verdict, its numbers, and the steps (measured loads) it rests on.

A verdict is taken from an interval, never from a value alone. It is *yes* if the whole interval lies on the side that
the question asks for. It is *no* if the interval lies on the other side, or holds only differences too small to matter.
Else it is *inconclusive*. This module imports neither scipy nor pandas, since the planning of loads imports it too.
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
        """Return YES if the whole interval is above zero, NO if no part of it is, else (also for NaN) INCONCLUSIVE."""
        return Verdict.YES if low > 0 else Verdict.NO if high <= 0 else Verdict.INCONCLUSIVE

    @staticmethod
    def of_all(parts: Iterable[Verdict]) -> Verdict:
        """Return NO if any part is NO, else INCONCLUSIVE if any part is, else YES. Raises ValueError without parts."""
        return min(parts, key=(Verdict.NO, Verdict.INCONCLUSIVE, Verdict.YES).index)

    @staticmethod
    def of_any(parts: Iterable[Verdict]) -> Verdict:
        """Return YES if any part is YES, else INCONCLUSIVE if any part is, else NO. Raises ValueError without parts."""
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
    """How a measure relates to its second value: it is compared with that value, or is a part of it."""

    AGAINST = "against"
    OF = "of"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of an answer with its unit, and with its 95 % interval or the range of several values."""

    label: str  # the text before the number
    value: float
    unit: Unit
    low: float = math.nan  # NaN without an interval
    high: float = math.nan
    bound: Bound = Bound.EXACT
    other: Measure | None = None  # a second number to write after this one: 42.8 % against 24.2 %
    relation: Relation = Relation.AGAINST

    @classmethod
    def of(cls, label: str, estimate: Bounded, unit: Unit) -> Measure:
        """Return a measure with the value and the interval of an estimate."""
        return cls(label, estimate.value, unit, estimate.low, estimate.high)

    @classmethod
    def mean(cls, label: str, values: Sequence[float], unit: Unit) -> Measure:
        """Return the mean of values as a measure, with the smallest and the largest value as its bounds."""
        return cls(label, sum(values) / len(values), unit, min(values), max(values))

    def against(self, other: Measure) -> Measure:
        """Return a copy that names `other` as the measure to compare with: 42.8 % against 24.2 %."""
        return replace(self, other=other)

    def out_of(self, value: float, unit: Unit | None = None) -> Measure:
        """Return a copy with `value` as the whole or goal of this number (10 of 12), in `unit` or else in this unit."""
        return replace(self, other=Measure("", value, unit or self.unit), relation=Relation.OF)


class Basis(StrEnum):
    """The kind of evidence that an answer rests on. `Answer.count` is the number of pieces of evidence."""

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
    """What would decide an inconclusive answer, such as more starts. `Answer.needed_count` is the number needed."""

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
    """A question to answer by yes or no. The file questions.toml fixes it before anything is measured."""

    key: str = ""  # the question's name in questions.toml
    text: str = ""
    claim: str = ""  # a sentence of the report's author, translated
    line: int | tuple[int, ...] = ()  # the line numbers of `claim` in `source`
    source: str = "the original report"
    cores: int = 1  # the number of cores that the server needs
    yes: str = ""  # the sentence for the verdict yes
    no: str = ""  # the sentence for the verdict no
    means: str = ""  # what the answer means to somebody who runs such a server
    overturned_by: str = ""  # what would change the answer
    claimed: Verdict | None = None  # the verdict that `claim` states
    observed: bool = False  # `claim` is what the author measured, which another verdict here does not refute
    changes: Changes | None = None  # what `means` advises to change
    headline: bool = False  # README.md shows this question, and "If this were your report" begins with it


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: a verdict and its evidence."""

    verdict: Verdict
    evidence: tuple[object, ...] = ()  # measures or other typed results
    basis: Basis = Basis.LOADS
    count: int = 0  # the number of pieces of evidence of the kind `basis`
    needed: Needed | None = None  # what would decide an inconclusive answer
    needed_count: int = 0  # how many of `needed` it takes; 0 if this is not known
    steps: tuple[str, ...] = ()  # the names of the steps or outputs that the answer rests on
    figure: str | None = None  # the anchor, in a report, of the figure that shows the evidence

    @classmethod
    def by(
        cls, steps: Iterable[Step | str], basis: Basis, verdict: Verdict | bool, *evidence: object,
        needed: Needed | None = None, figure: str | None = None,
    ) -> Answer:  # fmt: skip
        """Return an answer that rests on `steps` (loads, or published outputs by name). True as `verdict` means yes."""
        names = tuple(step if isinstance(step, str) else step.name for step in steps)
        decided = verdict if isinstance(verdict, Verdict) else Verdict.YES if verdict else Verdict.NO
        return cls(decided, evidence, basis, len(names), needed, steps=names, figure=figure)

    def __post_init__(self) -> None:
        if self.verdict != Verdict.INCONCLUSIVE:
            object.__setattr__(self, "needed", None)
            object.__setattr__(self, "needed_count", 0)


#: A function that answers a question from a run's results; None if the run did not measure what the question is about.
Answering = Callable[["Results"], Answer | None]

Arguments = ParamSpec("Arguments")


def answering(answer: Callable[Concatenate[Results, Arguments], Answer | None]) -> Callable[Arguments, Answering]:
    """Decorate a function that answers a question and whose first argument is a run's results.

    The decorated function takes the other arguments alone. It returns an `Answering`, which takes the results.
    """

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
    """A question with its answer."""

    question: Question
    answer: Answer
    measured: bool = True  # whether the run measured what the question is about

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict agrees with the report's claim; None without a claim or with an inconclusive verdict."""
        claimed, verdict = self.question.claimed, self.answer.verdict
        return None if claimed is None or verdict == Verdict.INCONCLUSIVE else verdict == claimed

    def as_json(self) -> dict[str, object]:
        """Return the answer as plain JSON values; a number that is not finite becomes null."""
        answer: dict[str, object] = as_json(self.answer)
        return {"key": self.question.key, "question": self.question.text, "measured": self.measured, **answer}


def answered(asked: Asked, results: Results) -> Answered:
    """Return the answer to a question; inconclusive if the run did not measure it, or its server had too few cores."""
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
    """Answer with the first result of the functions `answers` that is not None; None if all results are None."""
    return next((given for answering in answers if (given := answering(results)) is not None), None)


@answering
def with_more(results: Results, given: Answering, *more: Answering) -> Answer | None:
    """Answer as the function `given`, and add the evidence of the functions in `more`; None if `given` returns None."""
    answer, others = given(results), (part(results) for part in more)
    return answer and replace(answer, evidence=sum((part.evidence for part in others if part), answer.evidence))


def as_json(value: Any) -> Any:
    """Return a value as plain JSON values: a dataclass as a dict of its fields, a number that is not finite as None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    return value
