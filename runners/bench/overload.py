"""What a bounded queue does for those who are let in, at twice the rate that the server can serve.

The handler waits a millisecond, so what runs out is the threads of the pool, not the cores, which the generator needs.
The queue is as long as the pool is wide: whoever is let in waits about one handling time at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.bench.row import Row

THREADS = 4
QUEUE = 4
WAIT_US = 1_000
FLAGS = (
    *("--execution", "pool", "--pool-threads", str(THREADS), "--queue", "array", "--queue-size", str(QUEUE)),
    *("--handler-delay-us", str(WAIT_US)),
)
CONNECTIONS = 128
ROUNDS = 3
BELOW = 0.8
ABOVE = 2.0
#: Shares of the capacity that are tried as the knee, highest first.
LADDER = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
MIN_ACHIEVED = 0.99
Result = dict[str, Any]
#: Loads the server with some connections at a rate (None: as fast as it answers).
Load = Callable[[int, int | None], Result]


def p99_of_accepted_us(result: Result) -> float:
    """99th percentile of the response time of the requests that were answered 2xx."""
    return float(result["latency_us_by_class"]["2xx"]["response"]["p99"])


def accepted(result: Result) -> int:
    """Requests that were answered 2xx."""
    return sum(count for status, count in result["status"].items() if status.startswith("2"))


def refused(result: Result) -> int:
    """Requests that were answered 503."""
    return int(result["status"].get("503", 0))


def meets(result: Result) -> bool:
    """Whether the rate is one that the server carries: all answered in time, none refused."""
    scheduled: int = result["requests"]["scheduled"]
    return refused(result) == 0 and accepted(result) >= MIN_ACHIEVED * scheduled


def find_knee(load: Load) -> tuple[int, int]:
    """Capacity in a closed loop that never queues, and the highest rate of the ladder that is carried, in 1/s."""
    capacity = int(load(THREADS, None)["achieved_rps"])
    for share in LADDER:
        rate = int(capacity * share)
        if meets(load(CONNECTIONS, rate)):
            return capacity, rate
    return capacity, int(capacity * LADDER[-1])


def rows(load: Load, say: Callable[[str], None]) -> list[Row]:
    """Two rows: p99 of what is let in, and that all the others are told so."""
    capacity, knee = find_knee(load)
    below, above = int(knee * BELOW), int(knee * ABOVE)
    pairs = [(load(CONNECTIONS, above), load(CONNECTIONS, below)) for _ in range(ROUNDS)]
    for high, low in pairs:
        say(
            f"overload: capacity {capacity}/s, knee {knee}/s; offered {above}/s: {accepted(high)} accepted with p99 "
            f"{p99_of_accepted_us(high):.0f} us, {refused(high)} refused, {high['requests']['censored']} without an "
            f"answer, generator {'kept up' if high['generator']['kept_up'] else 'did not keep up'}; offered {below}/s: "
            f"{accepted(low)} accepted with p99 {p99_of_accepted_us(low):.0f} us, {refused(low)} refused"
        )
    name = f"server/noop-1ms/{CONNECTIONS}conn/overload-{ABOVE:g}x-vs-{BELOW:g}x-knee"
    return [
        Row(
            f"{name}/p99-of-accepted",
            "us",
            tuple(p99_of_accepted_us(high) for high, _ in pairs),
            tuple(p99_of_accepted_us(low) for _, low in pairs),
            "<=",
            3.0,
        ),
        Row(
            f"{name}/accepted-or-503",
            "",
            tuple(float(accepted(high) + refused(high)) for high, _ in pairs),
            tuple(float(high["requests"]["scheduled"]) for high, _ in pairs),
            ">=",
            1.0,
        ),
    ]
