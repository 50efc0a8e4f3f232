"""Percentiles as ranks of samples. Needs no other package, so that reading a console output starts at once."""

from __future__ import annotations

import math

LEVELS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0)
ENOUGH_BEYOND = 10  # a percentile with fewer samples beyond it is an anecdote
_EPSILON = 1e-9  # a rank of 99.00000001 is 99: fractions such as 0.99 are not exact in binary


def rank(count: int, percentile: float) -> int:
    """1-based rank of the sample that is the `percentile` (0..1) of `count` samples."""
    return min(count, max(1, math.ceil(percentile * count - _EPSILON)))


def beyond(count: int, percentile: float) -> int:
    """How many of `count` samples lie above that rank."""
    return count - rank(count, percentile) if count else 0
