"""The shape of a load: over how many connections, and for how long where the run's size does not say."""

from __future__ import annotations

from dataclasses import dataclass

from runners.errors import PlanError


@dataclass(frozen=True, slots=True)
class Shape:
    """`duration_s` and `warmup_s` None: as the run's size says. Raises PlanError for what no generator can do.

    With `requests` the load ends after so many; its duration is then a bound.
    """

    connections: int = 1
    threads: int = 1
    duration_s: float | None = None
    warmup_s: float | None = None
    requests: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= self.connections:
            raise PlanError(
                f"{self.connections} connections on {self.threads} threads",
                "each thread needs a connection",
                "give at least as many connections as threads",
            )
