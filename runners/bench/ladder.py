"""A knee by a ladder of rates downwards: the first rate that is carried. For servers whose knees lie far apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.bench.overload import MIN_ACHIEVED, accepted

Result = dict[str, Any]
Load = Callable[[str, int | None], Result]
Say = Callable[[str], None]
OBJECTIVE_P99_US = 10_000.0
#: Shares of what the server carries in a closed loop, highest first.
LADDER = tuple(share / 100 for share in range(100, 25, -5))


def carried(result: Result) -> bool:
    """Whether all of a rate was answered within the objective.

    Response times count from when a request was due. So a generator that is late, as one that shares its cores with a
    busy server must be, makes a rate look worse, never better; it is the same one for both, and it is told.
    """
    answers = sum(result["status"].values())
    return bool(
        accepted(result) == answers
        and accepted(result) >= MIN_ACHIEVED * result["requests"]["scheduled"]
        and result["latency_us"]["response"]["p99"] <= OBJECTIVE_P99_US
    )


def knee_rps(who: str, load: Load, capacity_rps: float, say: Say) -> float:
    """The highest rate of the ladder that a server carries; 0 if it carries none."""
    for share in LADDER:
        rate = int(capacity_rps * share)
        result = load(who, rate)
        say(told(who, rate, result))
        if carried(result):
            return float(rate)
    return 0.0


def told(who: str, rate_rps: int, result: Result) -> str:
    """What a load at a rate gave, as a line."""
    return (
        f"  {who}: offered {rate_rps}/s, achieved {result['achieved_rps']:.0f}/s, "
        f"{result['requests']['scheduled']} requests, {accepted(result)} answered 2xx, "
        f"p99 {result['latency_us']['response']['p99']:.0f} us, "
        f"generator {'kept up' if result['generator']['kept_up'] else 'did not keep up'}"
    )
