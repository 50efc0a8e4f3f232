"""One line of a benchmark: ours, the peer's, their ratio, and the goal it was held against."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from runners.analysis.instrument import ENOUGH_ROUNDS, over_rounds
from runners.analysis.intervals import Bounded
from runners.storage.run_folder import RUNS


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
        """Whether the goal is met, and whether that could be told."""
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
