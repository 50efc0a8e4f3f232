"""Whose tail is it? A high percentile that the machine made is not that of what ran on it.

A percentile of one measurement is the machine's when it lies above what is usual there (the threshold from which an
answer counts as slow, see spikes) and causes outside of what is measured are credited with at least half of what
the slow responses took (see attribution, W04): time that the hypervisor gave to others, and other processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runners.analysis import causes, facts, latency_spikes, tail_attribution
from runners.readers import write
from runners.readers.run import Step

P99 = 0.99
LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Made:
    """What the machine's causes are credited with of one measurement's tail, the largest first, as shares of 1."""

    shares: Mapping[str, float]

    @property
    def written(self) -> str:
        """CPU steal explains 99.5 % of its tail, without the last three words."""
        parts = [f"{name} explains {write.percent(share)}" for name, share in self.shares.items()]
        return write.listed(parts)


def made(step: Step, level: float = P99) -> Made | None:
    """What made a percentile (0..1) of a step, where that was the machine; None where it was not, or nothing tells."""
    value = facts.quoted(step, level)
    slow = latency_spikes.find(step.frames["slices"]) if value is not None else None
    if value is None or slow is None or not value.value > slow.threshold_us:
        return None
    if not any(one.name in causes.MACHINE for one in causes.of(step)):
        return None
    seen = tail_attribution.attribution(step)
    shares = {each.cause.name: each.share.value for each in seen.named} if seen is not None else {}
    own = {name: share for name, share in shares.items() if name in causes.MACHINE}
    return Made(own) if sum(own.values()) >= LEAST_SHARE else None
