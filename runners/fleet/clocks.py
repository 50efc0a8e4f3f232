"""Estimate by how much another host's wall clock is ahead of ours, and how far that estimate may be off.

The four stamps of an exchange and the choice of the exchange with the least delay are NTP's (D. Mills et al., RFC 5905,
sections 8 and 10): whatever the asymmetry of a path, the true offset lies within half of the delay of the offset that
an exchange shows, so the exchange that waited least bounds it best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runners.storage.schema import ClockRecord

EXCHANGES = 32
_NS_IN_US = 1000.0
#: How far two clocks that nobody sets may drift apart, as a share of the time (RFC 5905, section 7.3: PHI is 15 ppm; a
#: clock that is being steered may run 500 ppm fast or slow).
DRIFT = 500e-6


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its reply: `asked_ns` and `answered_ns` by our clock, the two between them by the other's."""

    asked_ns: int
    received_ns: int
    replied_ns: int
    answered_ns: int

    @property
    def offset_ns(self) -> int:
        """By how much the other clock is ahead if both ways took the same time."""
        return (self.received_ns - self.asked_ns + self.replied_ns - self.answered_ns) // 2

    @property
    def delay_ns(self) -> int:
        """The time on both ways together."""
        return self.answered_ns - self.asked_ns - (self.replied_ns - self.received_ns)


@dataclass(frozen=True, slots=True)
class Clock:
    """Another host's wall clock against ours: ahead by `offset_ns`, which may be off by `uncertainty_ns` at most."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    round_trip_ns: int = 0
    exchanges: int = 0

    @classmethod
    def estimate(cls, exchanges: Sequence[Exchange]) -> Clock:
        """Estimate from the exchange that waited least."""
        best = min(exchanges, key=lambda each: each.delay_ns)
        return cls(best.offset_ns, max(1, (best.delay_ns + 1) // 2), best.delay_ns, len(exchanges))

    @classmethod
    def asked(cls, ask: Callable[[], tuple[int, int]], exchanges: int = EXCHANGES) -> Clock:
        """Estimate by asking: `ask` gives the moments of the question's arrival and of its reply by the other clock."""
        found = []
        for _ in range(exchanges):
            asked_ns = time.time_ns()
            received_ns, replied_ns = ask()
            found.append(Exchange(asked_ns, received_ns, replied_ns, time.time_ns()))
        return cls.estimate(found)

    def theirs_ns(self, ours_ns: int) -> int:
        """A moment of our clock by theirs."""
        return ours_ns + self.offset_ns

    def ours_us(self, theirs_us: int) -> int:
        """A moment of their clock by ours, in microseconds."""
        return theirs_us - round(self.offset_ns / _NS_IN_US)

    def stepped_ns(self, later: Clock, between_s: float) -> int:
        """By how much one of the two clocks was set between two estimates; 0 where drift and uncertainty explain it."""
        moved = later.offset_ns - self.offset_ns
        explained = self.uncertainty_ns + later.uncertainty_ns + between_s * DRIFT * 1e9
        return moved if abs(moved) > explained else 0

    def record(self) -> ClockRecord:
        """As a step's record holds it."""
        return ClockRecord(
            offset_us=self.offset_ns / _NS_IN_US,
            uncertainty_us=self.uncertainty_ns / _NS_IN_US,
            round_trip_us=self.round_trip_ns / _NS_IN_US,
            exchanges=self.exchanges,
        )
