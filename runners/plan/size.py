"""How long each part of an experiment takes: smoke for tests, quick for a look, full as published."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Durations of one run, in seconds."""

    name: str
    warmup_s: float
    duration_s: float
    probe_s: float
    floor_s: float

    def load_s(self) -> float:
        return self.warmup_s + self.duration_s


SIZES = {
    size.name: size
    for size in (
        Size("smoke", warmup_s=0.5, duration_s=1.5, probe_s=0.7, floor_s=1.0),
        Size("quick", warmup_s=5.0, duration_s=13.0, probe_s=3.5, floor_s=7.0),
        Size("full", warmup_s=15.0, duration_s=180.0, probe_s=15.0, floor_s=60.0),
    )
}
