"""How long a benchmark takes, told before it begins, and how far it has come, told while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

_S_A_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a benchmark that takes about so long. Parts of the same work are told together."""

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
        told = ", ".join(f"{work} {seconds / _S_A_MINUTE:.1f}" for work, seconds in sums.items())
        self.say(f"This takes about {self.minutes:.0f} min in {len(self.parts)} parts ({told}).")

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
