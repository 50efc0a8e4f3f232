"""A server that was frozen at known times under a known schedule: what a generator should have seen, and what it did.

With requests due every 1/R seconds, those due while the server stands still for F seconds wait F, F - 1/R, F - 2/R …;
so R * (F - x) of them wait longer than x. A freeze that lasts beyond the end of the load holds up what was due from
its start to the end, and none of that has an answer when the load ends: a generator that says so knows how long each
has waited up to then. What the server still has to catch up after a freeze is left out: it takes a few of its service
times a request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runners.analysis import facts
from runners.readers.run import Step

#: Of the shorter freeze. Far from its ends, where rows of a spectrum are dense enough to count between them.
LONG_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Freeze:
    """One freeze, in seconds from the start of the recorded window; `length_s` is its part within the window.

    `longest_s`: how long the first request due in it waits, or has waited when the generator ends; `at_end`: the
    window ended while it lasted.
    """

    at_s: float
    length_s: float
    longest_s: float
    at_end: bool

    def due_above(self, wait_s: float) -> float:
        """For how many seconds of it requests fell due that wait longer than this."""
        return min(self.length_s, max(0.0, self.longest_s - wait_s))


@dataclass(frozen=True, slots=True)
class Stall:
    """One generator's account of it. `rate_rps` NaN: closed loop, there is no schedule."""

    tool: str
    rate_rps: float
    freezes: tuple[Freeze, ...]
    waits_s: np.ndarray[tuple[int], np.dtype[np.float64]]  # ascending edges …
    counts: np.ndarray[tuple[int], np.dtype[np.float64]]  # … and how many requests took longer than each
    max_us: float
    requests: float
    censored: float

    def expected_above(self, wait_s: float) -> float:
        """Requests that the schedule makes wait longer; NaN in closed loop."""
        return self.rate_rps * sum(freeze.due_above(wait_s) for freeze in self.freezes)

    def counted_above(self, wait_s: float) -> float:
        """Requests that it says took longer, straight between the rows of its spectrum; NaN where it prints none."""
        if not len(self.waits_s):
            return math.nan
        return float(np.interp(wait_s, self.waits_s, self.counts, left=self.requests, right=0.0))

    @property
    def long_s(self) -> float:
        return LONG_SHARE * min((freeze.length_s for freeze in self.freezes), default=math.nan)

    @property
    def seen_share(self) -> float:
        """Of the requests that had to wait long, the part that the generator counts."""
        expected = self.expected_above(self.long_s)
        return self.counted_above(self.long_s) / expected if expected > 0 else math.nan

    @property
    def expected_censored(self) -> float:
        return self.rate_rps * sum(freeze.length_s for freeze in self.freezes if freeze.at_end)

    @property
    def longest_s(self) -> float:
        return max((freeze.longest_s for freeze in self.freezes), default=math.nan)


def stall(step: Step) -> Stall | None:
    """The account of one step; None where nothing was recorded or the server was not frozen."""
    window = step.record.window
    spectrum = step.frames["spectrum"]
    rows = spectrum[spectrum["kind"] == facts.RESPONSE]
    top = facts.at(step, 1.0)
    if not step.record.freezes or window is None or top is None:
        return None
    start_us = window.start_unix_us
    length_s = window.length_s
    censored, ended_s = facts.number(step, "censored"), facts.number(step, "elapsed_s")
    until_s = max(length_s, ended_s) if math.isfinite(censored) and math.isfinite(ended_s) else length_s
    freezes = []
    for freeze in step.record.freezes:
        at_s = (freeze.start_unix_us - start_us) / 1e6
        beyond = at_s + freeze.length_us / 1e6 > length_s
        whole_s = freeze.length_us / 1e6
        inside_s = length_s - at_s if beyond else whole_s
        freezes.append(Freeze(at_s, inside_s, min(whole_s, until_s - at_s) if beyond else whole_s, beyond))
    total = float(rows["total_count"].max()) if len(rows) else math.nan
    return Stall(
        tool=facts.tool(step),
        rate_rps=facts.offered_rps(step),
        freezes=tuple(freezes),
        waits_s=rows["value_us"].to_numpy(float) / 1e6,
        counts=total - rows["total_count"].to_numpy(float),
        max_us=top.value,
        requests=total if len(rows) else facts.number(step, "completed"),
        censored=censored,
    )


def stalls(steps: Sequence[Step]) -> list[Stall]:
    return [found for step in steps if (found := stall(step)) is not None]
