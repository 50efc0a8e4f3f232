"""Choose the rate to offer: the published one if a connection carries it, else a share of closed-loop throughput."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Above it a stall of milliseconds becomes a queue that empties slowly, and the tail is that of the stalls.
STABLE_SHARE = 0.50
#: The published rate must leave this much of the probed capacity free; at capacity itself a queue never empties.
CARRIED_SHARE = 0.90
ROUND_TO_RPS = 100


@dataclass(frozen=True, slots=True)
class Rate:
    """An offered rate and why it was chosen."""

    rps: float
    basis: str


def choose_rate(published_rps: float | None, capacity_rps: Mapping[str, float], given_rps: float = 0) -> Rate:
    """One rate for all engines, so that they can be compared.

    `capacity_rps` maps an engine to what a closed loop reached. The weakest engine sets the rate.
    """
    if given_rps > 0:
        return Rate(float(given_rps), "given")
    weakest = min(capacity_rps, key=lambda engine: capacity_rps[engine])
    capacity = capacity_rps[weakest]
    if published_rps is not None and published_rps <= CARRIED_SHARE * capacity:
        return Rate(published_rps, "published")
    rps = max(1.0, STABLE_SHARE * capacity)
    rounded = rps // ROUND_TO_RPS * ROUND_TO_RPS if rps >= ROUND_TO_RPS else rps // 1
    reached = f"{capacity:,.0f}".replace(",", "\u202f")
    return Rate(rounded, f"{STABLE_SHARE:.0%} of what {weakest} reached in a closed-loop probe ({reached}/s)")
