"""What a rule of the audit is, and what it leaves behind where it finds something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from runners.readers.outputs import Output
from runners.readers.severity import Severity
from runners.readers.write import Value

#: The outputs of one report, in order. Most rules look at each alone.
Group = Sequence[Output]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rule saw in one output. `severity` is given where it is milder than the rule's own."""

    output: Output
    text: str
    evidence: dict[str, Value] = field(default_factory=dict)
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, its name, one line on what it finds, how grave that is, the cure, and the look itself."""

    code: str
    name: str
    reason: str
    severity: Severity
    remedy: str
    look: Callable[[Group], Iterable[Seen]]
    across: bool = False  # whether it looks at consoles of one folder too, where their names say before and after


def each(look: Callable[[Output], Iterable[Seen]]) -> Callable[[Group], Iterator[Seen]]:
    """A rule on one output as a rule on a group."""

    def look_at_all(group: Group) -> Iterator[Seen]:
        for output in group:
            yield from look(output)

    return look_at_all


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding of the audit, at its place."""

    rule: Rule
    seen: Seen

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def severity(self) -> Severity:
        return self.seen.severity or self.rule.severity

    @property
    def output(self) -> Output:
        return self.seen.output
