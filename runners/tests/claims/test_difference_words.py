"""A difference of runs in words."""

from __future__ import annotations

import math

from runners.analysis.comparison import QUANTITIES, Difference
from runners.claims.comparing import said


def told(low: float, high: float, see: float = 0.02, spread: float = 0.05) -> str:
    middle = (low + high) / 2
    each = Difference(QUANTITIES[2], 1_000.0, 1_000.0 * (1 + middle), middle, low, high, 10, spread, see)
    return said(each, "LSM", "RocksDB", 6).replace("\u00a0", " ").replace("\u2212", "-")


def test_verdicts_in_words() -> None:
    assert told(-0.19, -0.12) == "RocksDB has a p99 lower than LSM by 12.0 % to 19.0 %"
    assert told(0.04, 0.06) == "RocksDB has a p99 higher than LSM by 4.00 % to 6.00 %"
    assert "differ by less than 2.00 %" in told(-0.01, 0.012)
    unseen = told(-0.05, 0.06)
    assert "is inconclusive after 10 rounds" in unseen and "more would show 2.00 %" in unseen
    assert told(-0.9, 20.0, spread=2.0).endswith("; not even 1\u202f000 more would show 2.00 %")
    assert "too few for an interval" in told(math.nan, math.nan)
