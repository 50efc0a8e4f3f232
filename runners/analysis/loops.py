"""Closed loops as experiment 02 measures them: their rates, and how the kernel and the script explain them.

In closed loop a connection sends its next request when the last one has its response. So its rate is one over its
latency, and its latency is that of a server which is never asked for more than it gives: no latency under load.

The arithmetic of the wait. A server that writes head and body of a response apart has the second write held back by
Nagle's algorithm (J. Nagle, 1984, RFC 896) until the first is acknowledged. The client has nothing to send before it
has the body, so it acknowledges when its delayed-ACK timer ends: 40 ms on Linux (TCP_DELACK_MIN, include/net/tcp.h,
HZ/25). Linux timers are rounded up to the next tick of 1/HZ (kernel/time/timer.c), and a closed loop sets each one just
after a tick, at which the one before ended: the wait is 40 ms and one whole tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.audit.rules.draws import integers
from runners.readers.run import Run, Step

KIND = "loop"
REPORT = "report-2"
#: Where in the report the evidence stands.
CURVES, RATES, COUNTERS, ERRORS, TABLE = "delay-curves", "delay-rates", "delay-counters", "delay-errors", "delay-table"
DELAYED_ACK_US = 40_000.0
#: A median from here on waits for the timer; a response of a JVM on this path takes a hundredth of it.
WAITS_FROM_US = 0.9 * DELAYED_ACK_US


@dataclass(frozen=True, slots=True)
class Loop:
    """One closed loop without a profiler."""

    step: Step

    @property
    def stage(self) -> str:
        return self.step.record.loop.stage or self.step.subject

    @property
    def title(self) -> str:
        return self.step.record.loop.stage_title or self.stage

    @property
    def name(self) -> str:
        return self.step.workload

    @property
    def connections(self) -> int:
        return self.step.record.connections or 1

    @property
    def published(self) -> str | None:
        return self.step.record.loop.published or None

    @property
    def rate_rps(self) -> float:
        return facts.achieved_rps(self.step)

    def at(self, level: float) -> Bounded | None:
        return facts.quoted(self.step, level)

    @property
    def median_us(self) -> float:
        value = self.at(0.5)
        return value.value if value is not None else math.nan

    @property
    def waits(self) -> bool:
        """Whether half of its responses waited for the delayed acknowledgement."""
        return self.median_us >= WAITS_FROM_US

    @property
    def completed(self) -> float:
        return facts.number(self.step, "completed")

    @property
    def non_2xx(self) -> float:
        return facts.number(self.step, "non_2xx")

    def a_request(self, counter: str) -> float:
        """Return by how much a counter of the kernel, of the whole machine, rose a request; NaN if not counted."""
        gained = self.step.record.loop.tcp
        return gained[counter] / self.completed if counter in gained and self.completed > 0 else math.nan

    @property
    def server_cores(self) -> float:
        """The cores that the server kept busy, on average."""
        return facts.server_cores(self.step)

    @property
    def absent_by_script(self) -> float:
        """The number of requests that the script makes for keys that the store lacks; NaN where it has all."""
        drawn, held = self.step.record.loop.drawn_keys, self.step.record.loop.held_keys
        if not drawn or not held or held >= drawn or math.isnan(self.completed):
            return math.nan
        return float(absent(round(self.completed), self.step.record.threads or 1, drawn, held))


def of_run(run: Run) -> list[Loop]:
    """Return the loops without a profiler whose figures may be quoted, in the order in which they were measured."""
    return [Loop(step) for step in run.find(kind=KIND, profiled=False) if facts.quotable(step)]


def find(loops: Sequence[Loop], stage: str, name: str | None = None, connections: int | None = None) -> list[Loop]:
    """Return the loops of a stage, of one name and number of connections where they are given."""
    return [
        loop
        for loop in loops
        if loop.stage == stage
        and (name is None or loop.name == name)
        and (connections is None or loop.connections == connections)
    ]


def first(loops: Sequence[Loop], stage: str, name: str) -> Loop | None:
    """Return a stage's loop on the fewest connections; None without any."""
    return min(find(loops, stage, name), key=lambda loop: loop.connections, default=None)


def absent(requests: int, threads: int, drawn: int, held: int) -> int:
    """Return how many of the requests ask for a key that is not held.

    Each thread of an unseeded script draws the same numbers of 1..`drawn` from the same start, one a request; the
    requests are shared out evenly. Keys 1..`held` are there.
    """
    shares = [(requests + thread) // threads for thread in range(threads)]
    return requests - sum(int((integers(share, drawn) <= held).sum()) for share in shares if share)


def expected_us(hz: float) -> float:
    """Return what a wait for the delayed acknowledgement takes in closed loop on a kernel with this tick."""
    return DELAYED_ACK_US + 1e6 / hz


def times_as_many(slow: Loop, fast: Loop) -> float:
    """Return the requests per second of the fast loop over those of the slow one."""
    return fast.rate_rps / slow.rate_rps if slow.rate_rps > 0 else math.nan


def pairs(loops: Sequence[Loop], stages: tuple[str, str], name: str) -> list[tuple[Loop, Loop]]:
    """Return the loops of one name on the same connections in two stages."""
    slow_loops = find(loops, stages[0], name)
    return [(slow, fast) for slow in slow_loops for fast in find(loops, stages[1], name, slow.connections)]
