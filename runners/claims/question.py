"""Say what a question of an experiment is, and its answer: a verdict, the effect, and what the answer rests on.

A verdict is taken from an interval, never from a value alone: *yes* where the whole interval lies on the side that the
question asks for, *no* where it lies on the other side or within what is too small to matter, *inconclusive* otherwise.
An inconclusive answer says what it would take. Who plans loads this module, so it needs no statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING

from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.finding import Finding

if TYPE_CHECKING:
    from runners.readers.run import Run

LARGER_SIZE = "a larger size (--size full)"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that yes or no answers. `reported` is what the original report says to it, or empty.

    `key` names it within its experiment and never changes; `text` ends with a question mark. `cores`: so many the
    server needs for the answer; parallelism and contention can't be seen by a server that has one.
    """

    key: str
    text: str
    reported: str = ""
    cores: int = 1


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
    `steps` are those that it rests on, where they are not those of its finding.
    """

    verdict: Verdict
    effect: str
    confidence: str
    needed: str = ""
    finding: Finding | None = None
    figure: str | None = None
    steps: tuple[str, ...] = ()

    @property
    def rests_on(self) -> frozenset[str]:
        """The steps that decide it; none where they are not known."""
        return frozenset(self.steps or (self.finding.steps if self.finding is not None else ()))

    @property
    def link(self) -> str | None:
        """The place of a report that shows the evidence."""
        return self.figure or (self.finding.figure if self.finding is not None else None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run with the findings that were made from it, and the published outputs that it is compared with."""

    run: Run
    findings: tuple[Finding, ...]
    published: Mapping[str, ConsoleReport] = field(default_factory=dict)

    def all(self, code: str) -> list[Finding]:
        """Return findings of one rule, in their order."""
        return [finding for finding in self.findings if finding.code == code]

    def first(self, code: str, **evidence: write.Value) -> Finding | None:
        """Return the first finding of a rule whose evidence holds these values, or None."""
        return next((f for f in self.all(code) if all(f.evidence.get(k) == v for k, v in evidence.items())), None)

    def about(self, code: str, step: str) -> Finding | None:
        """Return the first finding of a rule on one step, or None."""
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
        """Return the answer as plain JSON values."""
        finding = self.answer.finding
        return {
            "key": self.question.key, "question": self.question.text, "reported": self.question.reported,
            "verdict": self.answer.verdict.value, "effect": self.answer.effect, "confidence": self.answer.confidence,
            "needed": self.answer.needed, "finding": finding.code if finding is not None else None,
            "figure": self.answer.link,
        }  # fmt: skip


def answered(questions: Sequence[Asked], evidence: Evidence) -> tuple[Answered, ...]:
    """Answer each question; one on something that this run did not measure, or could not, is inconclusive."""
    found = []
    given = _most_cores(evidence.run)
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


def _most_cores(run: Run) -> int:
    """Give the most cores that a server of this run was kept to; 0 where one was kept to none, or where there was none.

    A block whose question is one of parallelism gives its servers all cores, whatever the other blocks do.
    """
    kept = [len(step.record.server.cpus or ()) for step in run.steps if step.record.server.command]
    return max(kept, default=0) if all(kept) else 0


def of_rule(code: str) -> Callable[[Callable[[Finding], Answer | None]], Answering]:
    """Answer by the first finding of a rule; None where the run has none."""

    def answering(answer: Callable[[Finding], Answer | None]) -> Answering:
        @wraps(answer)
        def from_evidence(evidence: Evidence) -> Answer | None:
            finding = evidence.first(code)
            return None if finding is None else answer(finding)

        return from_evidence

    return answering


def verdict_of(low: float, high: float) -> Verdict:
    """Answer: is the effect above zero? Yes or no where its interval tells. A bound that is not known is NaN."""
    return Verdict.YES if low > 0 else Verdict.NO if high <= 0 else Verdict.INCONCLUSIVE


def of_finding(finding: Finding | None, verdict: Verdict, effect: str = "") -> Answer | None:
    """Answer by a finding that is a fact of arithmetic or of counting: its sentence is the effect."""
    if finding is None:
        return None
    text = effect or finding.sentence.removesuffix(".")
    return Answer(verdict, text, counted(finding), finding=finding)


def counted(finding: Finding) -> str:
    """Return what a finding rests on: the loads or published outputs that it names."""
    count = len(finding.steps)
    if not count:
        return "computed"
    what = "published output" if "/" in finding.steps[0] else "load"
    return write.several(count, what)


def number(finding: Finding, name: str) -> float:
    """Return a number of a finding's evidence; NaN where it is not there."""
    value = finding.evidence.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def either(*answers: Answering) -> Answering:
    """Return the first of several that a run can answer."""

    def answer(evidence: Evidence) -> Answer | None:
        return next((found for each in answers if (found := each(evidence)) is not None), None)

    return answer
