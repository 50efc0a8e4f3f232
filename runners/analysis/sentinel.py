"""The sentinel: is this machine as it was? A fixed small load before each run, beside those of earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from runners.analysis import facts
from runners.analysis.changes import FEWEST_RUNS, changes, usual
from runners.readers import write
from runners.readers.run import Step


@dataclass(frozen=True, slots=True)
class Sentinel:
    """What one sentinel showed. `usual_us` is where it was expected from `earlier` runs, None when too few tell."""

    p50_us: float | None
    usual_us: tuple[float, float] | None
    earlier: int

    @property
    def ok(self) -> bool | None:
        """Whether the machine is as usual; None where nothing tells."""
        if self.p50_us is None or self.usual_us is None:
            return None
        return self.usual_us[0] <= self.p50_us <= self.usual_us[1]

    @property
    def sentence(self) -> str:
        if self.p50_us is None:
            return "Sentinel: its load was not valid, so nothing tells whether this machine is as usual."
        seen = f"Sentinel: p50 {write.latency(self.p50_us)} for a fixed small load on a handler that does nothing"
        if self.usual_us is None:
            few = f"{write.several(self.earlier, 'earlier run')} that can be compared, too few to say what is usual"
            return f"{seen}; {few} (it takes {FEWEST_RUNS})."
        low, high = (write.latency(bound) for bound in self.usual_us)
        among = f"{low} to {high} is usual here ({write.several(self.earlier, 'earlier run')})"
        verdict = "" if self.ok else ". The machine is not as usual: doubt what this run measures"
        return f"{seen}; {among}{verdict}."

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ok": self.ok, "text": self.sentence}


def usual_before(values: Sequence[float]) -> tuple[float, float] | None:
    """The range in which a next sentinel is expected, from those before it (oldest first) since the last change."""
    points = changes(values)
    return usual(values[points[-1].index :] if points else values)


def judge(step: Step, earlier_us: Sequence[float]) -> Sentinel:
    """Set a sentinel beside those of earlier runs on the same class of machine."""
    p50 = facts.at(step, 0.5) if step.valid else None
    return Sentinel(p50.value if p50 else None, usual_before(earlier_us), len(earlier_us))
