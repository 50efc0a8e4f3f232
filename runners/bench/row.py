"""One line of a benchmark: ours, the peer's, their ratio, and the goal it was held against."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from runners.store import RUNS


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over interleaved rounds. `goal_op` says on which side of `goal` the ratio should lie."""

    name: str
    unit: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]
    goal_op: Literal["<=", ">="]
    goal: float

    @property
    def ratio(self) -> float:
        """Median of ours over median of the peer's."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def ratio_range(self) -> tuple[float, float]:
        """Smallest and largest ratio of a single round: how much the machine wavered."""
        ratios = [a / b for a, b in zip(self.ours, self.peer, strict=True)]
        return min(ratios), max(ratios)

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal if self.goal_op == "<=" else self.ratio >= self.goal

    def line(self) -> str:
        low, high = self.ratio_range
        return (
            f"{self.name} ours={statistics.median(self.ours):.4g}{self.unit} "
            f"peer={statistics.median(self.peer):.4g}{self.unit} ratio={self.ratio:.3f} "
            f"goal={self.goal_op}{self.goal:g} {'met' if self.met else 'short'} "
            f"(rounds={len(self.ours)}, ratio of a round {low:.3f} to {high:.3f})"
        )


def keep(name: str, rows: Sequence[Row], about: dict[str, Any]) -> Path:
    """Write the rows as JSON under data/runs and give the file."""
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"bench-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    values = [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in rows]
    path.write_text(json.dumps({"bench": name, "about": about, "rows": values}, indent=1) + "\n")
    return path
