"""What a bounded queue does for those who are let in, at twice the rate that the server can serve.

The handler waits a millisecond, so what runs out is the threads of the pool, not the cores, which the generator needs.
The queue is as long as the pool is wide: whoever is let in waits about one handling time at most. A queue that short
refuses a few requests of every burst, also far below what the pool can serve. So the knee is the highest rate of which
99 % is served, not one without a refusal, which there need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runners.bench.row import NoFigure, Row

THREADS = 4
QUEUE = 4
WAIT_US = 1_000
FLAGS = (
    *("--execution", "pool", "--pool-threads", str(THREADS), "--queue", "array", "--queue-size", str(QUEUE)),
    *("--handler-delay-us", str(WAIT_US)),
)
#: In a closed loop: threads and queue are full all the time, and more would only be refused.
FILLING = THREADS + QUEUE
CONNECTIONS = 128
ROUNDS = 7
#: Rounds more that may be tried where the generator did not keep up.
SPARE_ROUNDS = 7
#: How often the capacity is probed, and how often a rate that a late generator has spoilt is offered.
TRIES = 2
BELOW = 0.8
ABOVE = 2.0
#: Shares of the capacity that are tried as the knee, highest first; the highest are more than fits.
LADDER = (1.2, 1.1, 1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3)
MIN_ACHIEVED = 0.99
MOST_OF_P99 = 3.0
Result = dict[str, Any]
#: Loads the server with some connections at a rate (None: as fast as it answers).
Load = Callable[[int, int | None], Result]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Knee:
    """Rates in 1/s: what the pool serves when it is never idle, and the knee; None where none was found, and why."""

    capacity_rps: int
    rate_rps: int | None
    why: str = ""


def accepted(result: Result) -> int:
    """Requests that were answered 2xx."""
    return sum(count for status, count in result["status"].items() if status.startswith("2"))


def refused(result: Result) -> int:
    """Requests that were answered 503."""
    return int(result["status"].get("503", 0))


def refused_share(result: Result) -> float:
    """Refused requests in parts of all that were due."""
    scheduled: int = result["requests"]["scheduled"]
    return refused(result) / max(1, scheduled)


def kept_up(result: Result) -> bool:
    """Whether the figures are the server's and not the generator's."""
    return bool(result["generator"]["kept_up"])


def p99_of_accepted_us(result: Result) -> float:
    """99th percentile of the response time of the requests that were answered 2xx."""
    return float(result["latency_us_by_class"]["2xx"]["response"]["p99"])


def meets(result: Result) -> bool:
    """Whether the rate is one that the server carries: 99 % of what was due was served."""
    scheduled: int = result["requests"]["scheduled"]
    return accepted(result) >= max(1, MIN_ACHIEVED * scheduled)


def described(result: Result) -> str:
    """One load in words, as it must be known to believe a figure of it."""
    p99 = f"p99 of accepted {p99_of_accepted_us(result):.0f} us" if accepted(result) else "none accepted"
    return (
        f"achieved {result['achieved_rps']:.0f}/s, {result['requests']['scheduled']} requests, "
        f"{refused_share(result):.2%} refused, {result['requests']['censored']} without an answer, {p99}, "
        f"generator {'kept up' if kept_up(result) else 'did not keep up'}"
    )


def find_knee(load: Load, say: Say) -> Knee:
    """The highest rate of the ladder that is sustained, below one that was seen not to be.

    A late generator sends in bursts, which makes a rate harder to sustain, never easier. So what is sustained counts in
    any case; what is not, only if the generator kept up.
    """
    probes = [load(FILLING, None) for _ in range(TRIES)]
    capacity = int(max(accepted(probe) / probe["elapsed_s"] for probe in probes))
    too_much = False
    for share in LADDER:
        rate = int(capacity * share)
        for _ in range(TRIES):
            result = load(CONNECTIONS, rate)
            say(f"overload: {share:g} of capacity: offered {rate}/s, {described(result)}")
            if meets(result) or kept_up(result):
                break
        if meets(result):
            if too_much:
                return Knee(capacity, rate)
            return Knee(capacity, None, f"{rate}/s was sustained, and no higher rate was seen to be too much")
        too_much = too_much or kept_up(result)
    lowest, highest = int(capacity * LADDER[-1]), int(capacity * LADDER[0])
    return Knee(capacity, None, f"of no rate from {lowest}/s to {highest}/s {MIN_ACHIEVED:.0%} was served")


def rows(load: Load, say: Say) -> list[Row | NoFigure]:
    """Two rows: p99 of what is let in, and that all the others are refused."""
    knee = find_knee(load, say)
    name = f"server/noop-1ms/{CONNECTIONS}conn/overload-{ABOVE:g}x-vs-{BELOW:g}x-knee"
    goals: tuple[tuple[str, Literal["<=", ">="], float], ...] = (
        (f"{name}/p99-of-accepted", "<=", MOST_OF_P99),
        (f"{name}/accepted-or-503", ">=", 1.0),
    )
    if knee.rate_rps is None:
        why = f"no knee found: {knee.why}, with a capacity of {knee.capacity_rps}/s; run it again on a calm machine"
        return [NoFigure(*goal, why) for goal in goals]
    highs, lows, rounds = _rounds(load, int(knee.rate_rps * ABOVE), int(knee.rate_rps * BELOW), say)
    if len(highs) < ROUNDS:
        why = f"the generator kept up in {len(highs)} of {rounds} rounds; give it a core of its own"
        return [NoFigure(*goal, why) for goal in goals]
    if not all(accepted(result) for result in (*highs, *lows)):
        return [NoFigure(*goal, "a round had nothing accepted; read the server's log") for goal in goals]
    note = (
        f"capacity {knee.capacity_rps}/s, knee {knee.rate_rps}/s; {_rates(knee.rate_rps, ABOVE, highs)}; "
        f"{_rates(knee.rate_rps, BELOW, lows)}; the generator kept up in all of these rounds, of {rounds}"
    )
    figures = (
        ("us", tuple(map(p99_of_accepted_us, highs)), tuple(map(p99_of_accepted_us, lows))),
        (
            "",
            tuple(float(accepted(high) + refused(high)) for high in highs),
            tuple(float(high["requests"]["scheduled"]) for high in highs),
        ),
    )
    return [
        Row(title, unit, ours, peer, goal_op, goal, note)
        for (title, goal_op, goal), (unit, ours, peer) in zip(goals, figures, strict=True)
    ]


def _rounds(load: Load, above: int, below: int, say: Say) -> tuple[list[Result], list[Result], int]:
    """Loads above and below the knee alternately, where the generator kept up in both; and the number of rounds run."""
    highs: list[Result] = []
    lows: list[Result] = []
    rounds = 0
    while len(highs) < ROUNDS and rounds < ROUNDS + SPARE_ROUNDS:
        rounds += 1
        high, low = load(CONNECTIONS, above), load(CONNECTIONS, below)
        say(f"overload: round {rounds}: offered {above}/s, {described(high)}; offered {below}/s, {described(low)}")
        if kept_up(high) and kept_up(low):
            highs.append(high)
            lows.append(low)
    return highs, lows, rounds


def _rates(knee_rps: int, times: float, results: Sequence[Result]) -> str:
    """Offered, achieved and refused at a multiple of the knee, from the lowest to the highest of the rounds."""
    achieved = sorted(result["achieved_rps"] for result in results)
    shares = sorted(map(refused_share, results))
    requests = sum(result["requests"]["scheduled"] for result in results)
    return (
        f"at {times:g}x offered {int(knee_rps * times)}/s, achieved {achieved[0]:.0f} to {achieved[-1]:.0f}/s, "
        f"{requests} requests, {shares[0]:.2%} to {shares[-1]:.2%} refused"
    )
