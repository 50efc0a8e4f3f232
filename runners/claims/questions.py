"""Answer the questions of an experiment: a verdict, the effect with its interval, and what the answer rests on.

A verdict is taken from an interval, never from a value alone: *yes* where the whole interval lies on the side that the
question asks for, *no* where it lies on the other side or within what is too small to matter, *inconclusive* otherwise.
An inconclusive answer says what it would take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from runners.analysis.finding import Finding
from runners.claims.comparing import signed
from runners.design.question import Question
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run

#: A ratio that may be five times as large as it is tells a direction at most.
WIDEST = 4.0
LARGER_SIZE = "a larger size (--size full)"


class Verdict(StrEnum):
    """The answer to a question."""

    YES = "yes"
    NO = "no"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    `effect` is what was found, in numbers with their intervals; `confidence` what the interval rests on; `needed` what
    an inconclusive answer would take. `finding` is the evidence in full, `figure` the place of a report that draws it.
    """

    verdict: Verdict
    effect: str
    confidence: str
    needed: str = ""
    finding: Finding | None = None
    figure: str | None = None

    @property
    def link(self) -> str | None:
        """The place of a report that shows the evidence."""
        return self.figure or (self.finding.figure if self.finding is not None else None)


@dataclass(frozen=True)
class Evidence:
    """A run with the findings that were made from it, and the published outputs beside it."""

    run: Run
    findings: tuple[Finding, ...]
    published: Mapping[str, ConsoleReport] = field(default_factory=dict)

    @cached_property
    def _by_code(self) -> dict[str, list[Finding]]:
        found: dict[str, list[Finding]] = {}
        for each in self.findings:
            found.setdefault(each.code, []).append(each)
        return found

    def all(self, code: str) -> Sequence[Finding]:
        """Findings of one rule, in their order."""
        return self._by_code.get(code, [])

    def first(self, code: str, **evidence: write.Value) -> Finding | None:
        """The first finding of a rule whose evidence holds these values, or None."""
        return next((f for f in self.all(code) if all(f.evidence.get(k) == v for k, v in evidence.items())), None)

    def about(self, code: str, step: str) -> Finding | None:
        """The first finding of a rule on one step, or None."""
        return next((f for f in self.all(code) if step in f.steps), None)


#: Looks at the evidence of a run; None where the run does not hold what the question is about.
Answering = Callable[[Evidence], Answer | None]


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

    def as_json(self) -> dict[str, object]:
        """The answer as plain JSON values."""
        finding = self.answer.finding
        return {
            "key": self.question.key,
            "question": self.question.text,
            "reported": self.question.reported,
            "verdict": self.answer.verdict.value,
            "effect": self.answer.effect,
            "confidence": self.answer.confidence,
            "needed": self.answer.needed,
            "finding": finding.code if finding is not None else None,
            "figure": self.answer.link,
        }


def answered(questions: Sequence[Asked], evidence: Evidence) -> tuple[Answered, ...]:
    """Answer each question; one on something that this run did not measure, or could not, is inconclusive."""
    found = []
    given = min((len(cpus) for step in evidence.run.steps if (cpus := step.record.server.cpus)), default=0)
    for asked in questions:
        answer = asked.answer(evidence)
        if 0 < given < (wanted := asked.question.cores):
            effect = f"not answerable on this machine: its server has {write.several(given, 'core')}"
            needed = f"{write.count(wanted)} cores for the server, and one for the generator"
            answer = Answer(Verdict.INCONCLUSIVE, effect, write.DASH, needed, answer.finding if answer else None)
        if answer is None:
            needed = f"{LARGER_SIZE}, or parameters that include it"
            answer = Answer(Verdict.INCONCLUSIVE, "not measured in this run", write.DASH, needed)
        found.append(Answered(asked.question, answer))
    return tuple(found)


def verdict_of(low: float, high: float, *, see: float = 0.0, above: bool = True) -> Verdict:
    """Is the effect above zero (or below it)? Yes or no where its interval tells, or where it is within `see` of zero.

    A bound that is not known is NaN.
    """
    if not above:
        low, high = -high, -low
    if low > 0 and not (see and high < see):
        return Verdict.YES
    return Verdict.NO if high < max(see, 0.0) or high <= 0 else Verdict.INCONCLUSIVE


def ratio(share: float, low: float, high: float) -> str:
    """A relative effect with its interval: +41.0 % (+33.0 % to +49.0 %); of a wide one the nearer bound alone."""
    if not (write.known(low) and write.known(high)):
        return f"{signed(share)} (not bounded)"
    if high > WIDEST:
        return f"at least {signed(low)}" if low > 0 else f"{signed(share)} ({signed(low)} to +{factor(1 + high)})"
    return f"{signed(share)} ({signed(low)} to {signed(high)})"


def factor(times: float) -> str:
    """A large ratio as a factor: 26 times."""
    return f"{write.count(times)} times" if times >= 10 else f"{times:.2g} times"


def of_finding(finding: Finding | None, verdict: Verdict, effect: str = "", confidence: str = "") -> Answer | None:
    """Answer by a finding that is a fact of arithmetic or of counting: its sentence is the effect."""
    if finding is None:
        return None
    text = effect or finding.sentence
    return Answer(verdict, text, confidence or counted(finding), finding=finding)


def counted(finding: Finding) -> str:
    """What a finding rests on: the loads or published outputs that it names."""
    count = len(finding.steps)
    if not count:
        return "computed"
    what = "published output" if "/" in finding.steps[0] else "load"
    return write.several(count, what)


def number(finding: Finding, name: str) -> float:
    """A number of a finding's evidence; NaN where it is not there."""
    value = finding.evidence.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def span(values: Sequence[float], unit: Callable[[float], str]) -> str:
    """The least and the most of several values: 141 to 275."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return write.UNKNOWN
    low, high = unit(min(known)), unit(max(known))
    return low if low == high else f"{low} to {high}"
