"""Collapsed stacks (`frame;frame;frame weight` a line, root first) and the category each one belongs to.

The rules are data: see categories.toml, which also says how a stack is classified.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why

OTHER = "other"
CATEGORIES = (
    "socket read",
    "socket write",
    "poll",
    "HTTP parsing",
    "handler",
    "hand-over",
    "cluster",
    "storage",
    "cache",
    "log",
    "flush",
    "compaction",
    "response",
    "GC",
    "JIT",
    "VM",
    "profiler",
    OTHER,
)
RULES = Path(__file__).with_name("categories.toml")
_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


def plain(name: str) -> str:
    """A frame's name without async-profiler's suffix for its type (`_[j]` compiled, `_[k]` kernel, `_[i]` inlined)."""
    return _SUFFIX.sub("", name)


@dataclass(frozen=True, slots=True)
class Rule:
    """One category and the frames that belong to it. `anywhere`: such a frame makes the whole stack its own."""

    category: str
    pattern: re.Pattern[str]
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Classifier:
    """Ordered rules; the verdict on each frame is kept, for stacks share most of their frames."""

    rules: tuple[Rule, ...]
    _known: dict[tuple[str, bool], str | None] = field(default_factory=dict)

    def frame(self, name: str) -> str | None:
        """The category of one frame, None when it has none of its own."""
        return self._of(name, anywhere=False)

    def _of(self, name: str, anywhere: bool) -> str | None:
        key = (name, anywhere)
        if key not in self._known:
            rules, plain_name = (rule for rule in self.rules if rule.anywhere == anywhere), plain(name)
            self._known[key] = next((rule.category for rule in rules if rule.pattern.search(plain_name)), None)
        return self._known[key]

    def stack(self, frames: Sequence[str]) -> str:
        """The category of a stack, root first: that of a job it is part of, else of its deepest frame that has one."""
        for name in frames:
            if whole := self._of(name, anywhere=True):
                return whole
        return next((category for name in reversed(frames) if (category := self.frame(name))), OTHER)


def load_rules(path: Path = RULES) -> Classifier:
    """Read rules. Raises ReadError for an unknown category or a pattern that is no regular expression."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    rules = []
    for entry in document.get("rule", ()):
        if entry["category"] not in CATEGORIES:
            raise ReadError(
                path, f"names an unknown category {entry['category']!r}", f"use one of {', '.join(CATEGORIES)}"
            )
        try:
            patterns = entry.get("anywhere") or entry["frames"]
            whole = re.compile("|".join(f"(?:{text})" for text in patterns))
            rules.append(Rule(entry["category"], whole, "anywhere" in entry))
        except re.error as error:
            raise ReadError(path, f"{entry['category']}: {error}", "correct the pattern") from error
    return Classifier(tuple(rules))


@cache
def classifier() -> Classifier:
    """The rules that come with the lab."""
    return load_rules()


def parse(lines: Iterable[str], path: Path | str = "stacks") -> Iterator[tuple[str, int]]:
    """Stack and weight of each line. A cut last line is left out; any other bad line raises ReadError."""
    bad: int | None = None
    for number, line in enumerate(lines, start=1):
        if bad is not None:
            raise ReadError(path, f"line {bad} is no collapsed stack", "convert the recording again")
        if not line.strip():
            continue
        stack, _, weight = line.rstrip().rpartition(" ")
        if not stack or not weight.isdigit():
            bad = number
            continue
        yield stack, int(weight)


def read_collapsed(path: Path, event: str) -> pd.DataFrame:
    """The `stacks` frame of one event. An empty file is an empty frame: nothing was sampled."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "convert the recording again") from error
    merged: dict[str, int] = {}
    for stack, weight in parse(lines, path):
        clean = ";".join(plain(name) for name in stack.split(";"))
        merged[clean] = merged.get(clean, 0) + weight
    return frame("stacks", ({"event": event, "stack": stack, "count": weight} for stack, weight in merged.items()))
