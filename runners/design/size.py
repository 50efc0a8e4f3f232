"""How long each part of an experiment takes: smoke for tests, quick for a look, full as published."""

from __future__ import annotations

from dataclasses import dataclass

#: Seconds beside the load itself: launch, profiler, conversion, drawing. For progress only.
AROUND_A_LOAD_S = 2.0
#: A warm-up is made of closed loops of so many seconds, and takes at most so many times what is planned for it.
BURST_S, WARM_BOUND = 2.0, 1.6
#: A fixed small load before each campaign, the same in every size and experiment, so that runs can be set beside each
#: other: it tells a machine that is not as usual.
SENTINEL = "sentinel"
#: The sentinel of runs that start none of the lab's servers: on the generator's own server that does nothing.
NATIVE_SENTINEL = "sentinel-native"
SENTINEL_RPS = 2_000.0
SENTINEL_WARMUP_S = 1.0
SENTINEL_S = 3.0


@dataclass(frozen=True, slots=True)
class Size:
    """Durations of one run, in seconds."""

    name: str
    warmup_s: float
    duration_s: float
    probe_s: float
    floor_s: float

    def times_s(self, kind: str, open_loop: bool) -> tuple[float, float]:
        """Warm-up and measured seconds of a step of this kind (load, probe, floor, sentinel)."""
        if kind == SENTINEL:
            return SENTINEL_WARMUP_S, SENTINEL_S
        duration_s = {"probe": self.probe_s, "floor": self.floor_s}.get(kind, self.duration_s)
        return self.warmup_s if open_loop else 0.0, duration_s


@dataclass(frozen=True, slots=True)
class Starts:
    """Fresh starts of treatments that are compared: how many, and the seconds of their loads.

    `load_s` is that of a load by request; `server_s` each server's share of one by slices, or its own closed loop
    before one by request.
    """

    count: int
    warmup_s: float
    load_s: float
    server_s: float


SIZES = {
    size.name: size
    for size in (
        Size("smoke", warmup_s=0.5, duration_s=1.5, probe_s=0.7, floor_s=1.0),
        Size("quick", warmup_s=5.0, duration_s=13.0, probe_s=3.5, floor_s=7.0),
        Size("full", warmup_s=15.0, duration_s=180.0, probe_s=15.0, floor_s=60.0),
    )
}
