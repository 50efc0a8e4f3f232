"""Types for a rule of the audit and for its findings; rules.toml has each rule's name, severity, texts and remedy."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from runners.audit.figures import samples
from runners.readers.console_report import ENOUGH_BEYOND
from runners.readers.output import Output
from runners.readers.tools import TRUEPACE, WRK, WRK2, facts, is_like_wrk
from runners.words import Value

#: The entries of rules.toml by the rules' codes, in the order in which rules are applied.
TABLE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
#: The outputs of one report, in order. Most rules look at one output at a time.
Group = Sequence[Output]
_ASKS_FOR_PERCENTILES = re.compile(r"\s(?:-L|--latency)(?!\S)")


class Severity(StrEnum):
    """The gravity of a finding: an error means that figures can't be trusted, a warning that they are doubtful."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Seen:
    """A rule's finding in one output."""

    output: Output
    text: str
    evidence: Mapping[str, Value] = field(default_factory=dict)  # figures by name
    severity: Severity | None = None  # None: the rule's own severity
    remedy: str = ""  # in place of the rule's own
    size: float = field(kw_only=True)  # how bad the finding is; larger is worse, and the worst of a file is quoted


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the audit: its entry in rules.toml, and the function that looks for the fault."""

    code: str
    name: str
    theme: str  # for example load or errors
    severity: Severity
    reason: str
    remedy: str
    look: Callable[[Group], Iterable[Seen]]  # yields the findings in the outputs of one report


def said(code: str, *parts: Value) -> str:
    """Return the text of a finding of the rule `code`: its `says` in rules.toml, with `parts` in place of its {}."""
    return TABLE[code]["says"].format(*parts)


def rule(code: str, *, of_group: bool = False) -> Callable[[Callable[[Any], Iterable[Seen]]], Rule]:
    """Return a decorator that makes a function of an Output (of a Group if `of_group`) the rule `code`."""

    def made(look: Callable[[Any], Iterable[Seen]]) -> Rule:
        name, theme, severity, reason, remedy, *_ = TABLE[code].values()
        look_at_group = look if of_group else lambda group: chain.from_iterable(map(look, group))
        return Rule(code, name, theme, Severity(severity), reason, remedy, look_at_group)

    return made


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding of the audit, with the rule that made it."""

    rule: Rule
    seen: Seen

    @property
    def output(self) -> Output:
        return self.seen.output

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def severity(self) -> Severity:
        return self.seen.severity or self.rule.severity

    @property
    def remedy(self) -> str:
        """The rule's remedy, completed with advice for the tool that printed the output."""
        tool, known, command = self.output.tool, facts(self.output.tool), self.output.command
        asked = self.output.report.latencies.count is not None  # wrk2 prints it only with the percentiles
        asked |= command is not None and _ASKS_FOR_PERCENTILES.search(command.text) is not None
        few = (count := samples(self.output)[0]) is not None and count < ENOUGH_BEYOND  # to have percentiles
        missing = [part.startswith("percentiles") for part in self.output.missing]
        lacks = any(missing) and known.percentiles and not few
        to = f" to {tool}" if tool in (WRK, WRK2, TRUEPACE) else ""
        advice = f"{known.percentiles}{to}" if lacks and not (asked and is_like_wrk(tool)) else ""
        whole = "" if ": " in advice else "publish the whole output"  # a tool that prints none says so
        return self.seen.remedy or self.rule.remedy.format(
            rate=known.rate, timeout="--timeout" if is_like_wrk(tool) else "the time-out",
            over_time=f" ({known.over_time})" if known.over_time else "",
            publish="; ".join(filter(None, ("measure more responses" if few and all(missing) else whole, advice))),
            uncorrected=", or read the uncorrected figures (-U) as well" if tool == WRK2 else "",
        )  # fmt: skip
