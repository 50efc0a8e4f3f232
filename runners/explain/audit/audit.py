"""The audit of files: every output in them, every rule on each, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.explain import words
from runners.explain.audit.registry import RULES
from runners.explain.audit.rule import Group, Remark, Rule
from runners.explain.words import Severity
from runners.read.documents import Problem
from runners.read.outputs import Found, Output

ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class Audit:
    """What was looked at and what was found, in the order of files and lines."""

    files: tuple[Found, ...]
    remarks: tuple[Remark, ...]

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(output for found in self.files for output in found.outputs)

    @property
    def unreadable(self) -> tuple[tuple[Path, Problem], ...]:
        return tuple((found.path, problem) for found in self.files for problem in found.problems)

    def of(self, severity: Severity) -> tuple[Remark, ...]:
        return tuple(remark for remark in self.remarks if remark.severity == severity)

    @property
    def failed(self) -> bool:
        """Whether an error was found."""
        return bool(self.of(Severity.ERROR))

    @property
    def counts(self) -> tuple[tuple[Rule, int, int], ...]:
        """Each rule that found something: on how many outputs, and how often; the gravest and most frequent first."""
        often = Counter(remark.code for remark in self.remarks)
        on = {code: len({id(remark.output) for remark in self.remarks if remark.code == code}) for code in often}
        codes = sorted(often, key=lambda code: (ORDER.index(RULES[code].severity), -on[code], code))
        return tuple((RULES[code], on[code], often[code]) for code in codes)

    @property
    def summary(self) -> str:
        """The audit in one sentence."""
        outputs, files = len(self.outputs), len([found for found in self.files if found.outputs])
        if not outputs:
            return f"No output of wrk, wrk2 or loadgen in {_many(len(self.files), 'file')}."
        counted = ", ".join(_many(len(self.of(severity)), severity.value) for severity in ORDER)
        clean = outputs - len({id(remark.output) for remark in self.remarks if remark.severity == Severity.ERROR})
        return (
            f"{_many(outputs, 'run')} in {_many(files, 'file')}: {counted}; "
            f"{words.count(clean)} of {words.count(outputs)} without an error."
        )


def _many(count: int, noun: str) -> str:
    return f"{words.count(count)} {noun}{'' if count == 1 else 's'}"


def groups(outputs: Iterable[Output]) -> list[Group]:
    """Outputs that belong to one report, in order."""
    found: dict[str, list[Output]] = {}
    for output in outputs:
        found.setdefault(output.group, []).append(output)
    return list(found.values())


def examine(outputs: Sequence[Output], rules: Iterable[Rule] = tuple(RULES.values())) -> tuple[Remark, ...]:
    """Every rule on outputs, in the order of the outputs and then of the rules."""
    rules = tuple(rules)
    place = {id(output): index for index, output in enumerate(outputs)}
    remarks = [Remark(rule, seen) for group in groups(outputs) for rule in rules for seen in rule.look(group)]
    return tuple(sorted(remarks, key=lambda remark: place[id(remark.output)]))


def audit(files: Iterable[Found], rules: Iterable[Rule] = tuple(RULES.values())) -> Audit:
    """The audit of files that were read."""
    read = tuple(files)
    outputs = [output for found in read for output in found.outputs]
    return Audit(read, examine(outputs, rules))
