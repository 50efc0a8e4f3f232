"""What experiment 00 asks of the generators: floors at some rates and connections, and stalls that they must show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Named as their drivers are; the simplest clients first.
GENERATORS = ("blocking", "epoll", "truepace", "wrk2", "wrk")
#: The request of every round: one fixed GET, which every generator can send.
FIXED_PATH = "/v0/entity?id=1"
_AROUND_A_ROUND_S = 0.75
_WRK2_CALIBRATION_S = 10.0


@dataclass(frozen=True, slots=True)
class Point:
    """A rate over so many connections."""

    connections: int
    rate_rps: float

    @property
    def name(self) -> str:
        return f"{self.connections}x{self.rate_rps:.0f}"


@dataclass(frozen=True, slots=True)
class Freeze:
    """The server stands still from `at_s` of the recorded window on, for `length_s`."""

    at_s: float
    length_s: float


@dataclass(frozen=True, slots=True)
class Proof:
    """One size of the experiment. wrk2 has rounds of its own: it needs ten seconds before it records anything.

    `freezes` lie in a window of `stall_s`; the last one goes on until after its end.
    """

    points: tuple[Point, ...]
    rounds: int
    wrk2_rounds: int
    warmup_s: float
    window_s: float
    stall_rate_rps: float = 1_000.0
    stall_s: float = 4.0
    freezes: tuple[Freeze, ...] = (Freeze(1.0, 0.5), Freeze(3.0, 1.4))

    def rounds_of(self, generator: str) -> int:
        return self.wrk2_rounds if generator == "wrk2" else self.rounds

    def can(self, generator: str, point: Point) -> bool:
        """Whether a generator can send this load at all."""
        return generator != "wrk" and (generator != "blocking" or point.connections == 1)

    def planned_s(self, generators: Sequence[str] = GENERATORS) -> float:
        """About how long it takes."""
        total_s = 0.0
        for generator in generators:
            lead_s = _WRK2_CALIBRATION_S if generator == "wrk2" else (0.0 if generator == "wrk" else self.warmup_s)
            loads = sum(self.can(generator, point) for point in self.points)
            if generator == "wrk":
                loads = len({point.connections for point in self.points})
            total_s += self.rounds_of(generator) * loads * (lead_s + self.window_s + _AROUND_A_ROUND_S)
            total_s += lead_s + self.stall_s + _AROUND_A_ROUND_S
        return total_s


ONE_SLOW, ONE, MANY = Point(1, 2_000), Point(1, 5_000), Point(64, 40_000)
PROOFS = {
    "smoke": Proof((ONE,), rounds=3, wrk2_rounds=1, warmup_s=0.2, window_s=1.0),
    "quick": Proof((ONE_SLOW, ONE, MANY), rounds=6, wrk2_rounds=2, warmup_s=0.5, window_s=2.0),
    "full": Proof(
        (Point(1, 500), ONE_SLOW, ONE, Point(1, 8_000), Point(8, 10_000), Point(64, 10_000), MANY),
        rounds=12,
        wrk2_rounds=6,
        warmup_s=2.0,
        window_s=10.0,
    ),
}
