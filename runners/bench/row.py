"""Print a benchmark: a line a row (ours, the peer's, their ratio, the goal), how long it takes and how far it is."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from runners.analysis.instrument import ENOUGH_ROUNDS, over_rounds
from runners.analysis.intervals import Bounded
from runners.storage.run_folder import RUNS

Goal = tuple[Literal["<=", ">="], float]


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over interleaved rounds. `goal_op` says on which side of `goal` the ratio should lie.

    `note` ends the line: what the figures can't be read without, such as the rates that were offered.
    """

    name: str
    unit: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]
    goal_op: Literal["<=", ">="]
    goal: float
    note: str = ""

    @property
    def ratio(self) -> float:
        """Median of ours over median of the peer's."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def ratio_of_a_round(self) -> Bounded:
        """Median of the rounds' ratios, with its 95 % interval; with fewer than six rounds, their range."""
        found = over_rounds(a / b for a, b in zip(self.ours, self.peer, strict=True))
        return found or Bounded(math.nan, math.nan, math.nan)

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal if self.goal_op == "<=" else self.ratio >= self.goal

    @property
    def within_noise(self) -> bool:
        """The goal lies within the interval of a round's ratio: another run may well say the opposite."""
        each = self.ratio_of_a_round
        return each.low <= self.goal <= each.high

    @property
    def verdict(self) -> str:
        """Whether the goal is met, and whether noise leaves it open."""
        return ("met" if self.met else "short") + (" within noise" if self.within_noise else "")

    def line(self) -> str:
        each = self.ratio_of_a_round
        spread = "95 %" if len(self.ours) >= ENOUGH_ROUNDS else "range"
        return (
            f"{self.name} ours={statistics.median(self.ours):.4g}{self.unit} "
            f"peer={statistics.median(self.peer):.4g}{self.unit} ratio={self.ratio:.3f} "
            f"goal={self.goal_op}{self.goal:g} {self.verdict} "
            f"(rounds={len(self.ours)}, ratio of a round {each.value:.3f}, {spread} {each.low:.3f} to {each.high:.3f}"
            f"{self.note and f'; {self.note}'})"
        )


@dataclass(frozen=True, slots=True)
class NoFigure:
    """A row that could not be measured: it never meets its goal, and `why` stands in place of the figures."""

    name: str
    goal_op: Literal["<=", ">="]
    goal: float
    why: str
    ours: tuple[float, ...] = field(default=(), init=False)
    peer: tuple[float, ...] = field(default=(), init=False)

    @property
    def ratio(self) -> None:
        """There is none."""
        return

    @property
    def met(self) -> Literal[False]:
        return False

    def line(self) -> str:
        return (
            f"{self.name} ours=none peer=none ratio=none goal={self.goal_op}{self.goal:g} short (no figure: {self.why})"
        )


def _each(row: Row | NoFigure) -> dict[str, Any]:
    if not isinstance(row, Row):
        return {}
    return {"ratio_of_a_round": asdict(row.ratio_of_a_round), "within_noise": row.within_noise}


def keep(name: str, rows: Sequence[Row | NoFigure], about: dict[str, Any]) -> Path:
    """Write the rows as JSON under data/runs and give the file."""
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"bench-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    values = [asdict(row) | {"ratio": row.ratio, "met": row.met} | _each(row) for row in rows]
    path.write_text(json.dumps({"bench": name, "about": about, "rows": values}, indent=1) + "\n")
    return path


_S_A_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a benchmark that takes about so long. Parts of the same work are summed up."""

    work: str
    duration_s: float


@dataclass(slots=True)
class Course:
    """The parts of a benchmark in their order, and how many of them are done."""

    parts: Sequence[Part]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _started_s: float = field(init=False)
    _begun: int = field(init=False, default=0)
    _took_s: dict[str, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._started_s = self.clock()

    @property
    def minutes(self) -> float:
        """About how long all of it takes."""
        return sum(part.duration_s for part in self.parts) / _S_A_MINUTE

    def announce(self) -> None:
        """Says how long each work takes, and all of them."""
        sums: dict[str, float] = {}
        for part in self.parts:
            sums[part.work] = sums.get(part.work, 0.0) + part.duration_s
        each = ", ".join(f"{work} {seconds / _S_A_MINUTE:.1f}" for work, seconds in sums.items())
        self.say(f"This takes about {self.minutes:.0f} min in {len(self.parts)} parts ({each}).")

    @contextmanager
    def part(self, work: str, name: str) -> Iterator[None]:
        """Says that a part begins and how far the benchmark is; afterwards it counts as done."""
        now_s = self.clock()
        self._begun += 1
        elapsed = (now_s - self._started_s) / _S_A_MINUTE
        self.say(f"[{self._begun} of {len(self.parts)}, {elapsed:.1f} of about {self.minutes:.0f} min] {name}")
        try:
            yield
        finally:
            self._took_s[work] = self._took_s.get(work, 0.0) + self.clock() - now_s

    def took_s(self) -> dict[str, float]:
        """What each work took in the end, in seconds."""
        return {work: round(seconds, 1) for work, seconds in self._took_s.items()}
