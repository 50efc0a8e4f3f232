"""How often a simulation is repeated: a few times by default, the full count under `LAB_LONG=1` (`make test-long`)."""

from __future__ import annotations

import math

from runners.tests.tiers import LONG


def rounds(short: int, long: int) -> int:
    """The count for this run of the tests."""
    return long if LONG else short


def allowed(share: float, count: int) -> float:
    """The lowest share that `count` draws of a true `share` give in all but one of a thousand test runs."""
    return share - 3.1 * math.sqrt(share * (1 - share) / count)
