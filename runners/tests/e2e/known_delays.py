"""The proof that a generator reads delays as they are: its percentiles against those of the server's own clock.

The server says of every response how long it took, up to the moment of its send, so that a server that is late is no
error of the generator. What is left between the two is the generator and the machine that wakes it up. How late this
machine wakes who sleeps is measured during the load, by a witness: only a reading that is too long, and by no more than
that, may be the machine's doing. It never passes; it is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runners.tests.e2e.disturbance import DisturbedError

SHARE, LEAST_US = 0.01, 20.0
TICK_US = 1_000.0  # wrk2's timer
LEVELS = (0.5, 0.75, 0.9, 0.99)
#: How many of fifty requests wait how long. Each level of LEVELS lies well inside a group of equal delays, not at its
#: end, where a few late wake-ups would make it; a hundredth of the shortest is ten times a usual wake-up.
GROUPS_US = {100_000: 13, 150_000: 22, 200_000: 6, 250_000: 7, 300_000: 2}
#: Where one connection has to serve them all, they are shorter, so that there are more of them.
ALONE = 0.3
#: The witness's level that is held against the generator: one late response in a hundred is enough to be suspected.
SUSPECT = 0.99


def cycle_us(scale: float = 1.0, seed: int = 1) -> list[int]:
    """The delays of GROUPS_US, scaled, in an order that has nothing to do with them."""
    every = [round(scale * delay) for delay, count in GROUPS_US.items() for _ in range(count)]
    return [int(delay) for delay in np.random.default_rng(seed).permutation(every)]


def percentile_us(took_us: Sequence[float], level: float) -> float:
    """The smallest value that at least this share of the values doesn't exceed, as HdrHistogram counts."""
    ordered = sorted(took_us)
    return ordered[max(0, math.ceil(level * len(ordered) - 1e-9) - 1)]


@dataclass(frozen=True, slots=True)
class KnownDelays:
    """One load: what the generator read, what the server took, how late the machine woke the witness; microseconds."""

    generator: str
    read_us: Mapping[float, float]
    took_us: Sequence[float]
    late_us: float

    def check(self) -> None:
        """Each percentile within a hundredth or 20 us of the server's.

        Raises DisturbedError where the machine may have made it longer, AssertionError where the generator did.
        """
        assert set(self.read_us) == set(LEVELS), sorted(self.read_us)
        for level, read_us in self.read_us.items():
            true_us = percentile_us(self.took_us, level)
            slack_us = max(LEAST_US, SHARE * true_us)
            # wrk2 is late by its ticks, at the send and at the response, and by no more
            most_us = slack_us + (2 * TICK_US if self.generator == "wrk2" else 0.0)
            off_us = read_us - true_us
            what = f"{self.generator} read {read_us:.0f} us at {level:g} where the server took {true_us:.0f} us"
            if most_us < off_us <= most_us + self.late_us:
                raise DisturbedError(f"{what}; wake-ups were up to {self.late_us:.0f} us late")
            assert -slack_us <= off_us <= most_us, what
