"""Search knees by short rate steps and compare them: how wide are they after a minute, and do they come again?

`overload_rows`: what a bounded queue does for those who are let in, at twice the rate that the server can serve.

The handler waits a millisecond, so what runs out is the threads of the pool, not the cores, which the generator needs.
The queue is as long as the pool is wide: whoever is let in waits about one handling time at most. A queue that short
refuses a few requests of every burst, also far below what the pool can serve. So the knee is the highest rate of which
99 % is served, not one without a refusal, which there need not be.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from runners.analysis.intervals import Bounded
from runners.analysis.knee import (
    Answer,
    Curve,
    Kind,
    RateStep,
    curve,
    estimate,
    first_rates,
    next_rates,
    ratio,
    undisturbed,
)
from runners.bench.fixture import STALL_WITNESS, Fixture, NoFigure, Result, Row, Say
from runners.design.ladder import BATCH, REST_SHARE, SEARCH_STEP_S
from runners.design.load import SCRIPTS
from runners.design.objective import Objective
from runners.design.session import Sweep, in_random_order
from runners.process.cpu_placement import usable_cpus
from runners.readers.activity import read_stall_log
from runners.readers.requests_log import rate_steps_frame, read_requests_log
from runners.readers.run import frame
from runners.storage.schema import SweepRecord
from runners.toolchain.tools import TRUEPACE
from runners.trial.activity import StallWitness

SEARCH_S = 60.0
OBJECTIVE = Objective()
CONNECTIONS = 16
WARM_S = 4
WIDTH_LIMIT, WITHIN = 0.2, 0.1
_TIMEOUT_S = 60.0
#: How the generator is aimed at a server: an address, or a script and what it needs.
Target = Sequence[str]


def batch(on: Fixture, target: Target, sweep: Sweep, connections: int = CONNECTIONS) -> list[RateStep]:
    """Offer the rates one after the other, each followed by a rest, in one load under the stall witness."""
    log, stalls = on.folder / "requests.log", on.folder / "stalls.txt"
    offered = ",".join(f"{rps:.0f}" for rps in sweep.parts_rps)
    flags = ["-t1", f"-c{connections}", "-R", offered, "-d", f"{sweep.length_s:g}s", "--requests-log", str(log)]
    with StallWitness(STALL_WITNESS).beside(usable_cpus(), stalls) as watched:
        on.run([str(TRUEPACE), *flags, *target], sweep.length_s)
    requests = read_requests_log(log)
    seen = read_stall_log(stalls).frame(requests.start_unix_us) if watched[0].cpus else frame("stalls")
    record = SweepRecord(**dataclasses.asdict(sweep), rest_s=sweep.rest_s)
    rows = rate_steps_frame(requests.frame, seen, record)
    columns = [rows[name].tolist() for name in ("offered_rps", "p99_us", "achieved", "lost", "stalled")]
    return [
        RateStep(rps, ((0.99, p99_us),), achieved, lost, stalled)
        for rps, p99_us, achieved, lost, stalled in zip(*columns, strict=True)
    ]


def search(
    on: Fixture, targets: Mapping[str, Target], seconds: float, seed: int, connections: int = CONNECTIONS
) -> dict[str, list[RateStep]]:
    """Search the knees of warm servers, for so many seconds each: batches go to them in random order."""
    closed_rps = {name: float(on.load(each, 2, connections)["achieved_rps"]) for name, each in targets.items()}
    rates = {name: first_rates(rps, BATCH) for name, rps in closed_rps.items()}
    steps: dict[str, list[RateStep]] = {name: [] for name in targets}
    for number in range(max(2, round(seconds / Sweep((1.0,) * BATCH, 1.0, SEARCH_STEP_S).length_s))):
        for name in in_random_order(targets, seed, number):
            order = in_random_order(rates[name], seed, number, name)
            sweep = Sweep(order, REST_SHARE * closed_rps[name], SEARCH_STEP_S)
            steps[name] += batch(on, targets[name], sweep, connections)
            rates[name] = next_rates(steps[name], OBJECTIVE, BATCH)
    return steps


def answers(
    on: Fixture, targets: Mapping[str, Target], seconds: float, seed: int, connections: int = CONNECTIONS
) -> dict[str, Answer]:
    """Search the knees of warm servers and estimate each."""
    return {name: estimate(each, OBJECTIVE) for name, each in search(on, targets, seconds, seed, connections).items()}


def line(found: Mapping[str, Answer]) -> str:
    """Say what one search found."""
    return "  " + ", ".join(f"{who} {each.rps:,.0f}/s ({each.kind})" for who, each in found.items())


def row(name: str, found: Sequence[Mapping[str, Answer]], ours: str, peer: str, goal: float) -> Row:
    """Compare two knees over the rounds that found both."""
    both = [of for of in found if of[ours].kind == of[peer].kind == Kind.FOUND]
    if not both:
        return NoFigure(name, ">=", goal, "in no round were both knees found; is the machine calm?")
    note = f"in {len(found) - len(both)} rounds no knee of both" if len(both) < len(found) else ""
    mine, others = (tuple(of[who].rps for of in both) for who in (ours, peer))
    return Row(name, "/s", mine, others, ">=", goal, note)


def posterior(steps: Sequence[RateStep]) -> Curve:
    """Estimate a knee without the steps in which the machine stood still."""
    return curve(undisturbed(steps)[0] or steps, OBJECTIVE)


def rows(on: Fixture, engine: str, more: Callable[[int], bool]) -> Iterator[Row]:
    """Search the knees of two processes of one engine again and again: both in one search, then one after the other."""
    found: list[Bounded] = []
    paired, apart = list[Bounded](), list[float]()
    with ExitStack() as stack:
        targets = {}
        for name in ("first", "second"):
            spec = dataclasses.replace(on.spec(f"knee-{engine}-{name}"), engine=engine)
            server = stack.enter_context(on.running(spec))
            put = ["-s", str(SCRIPTS / "put.lua"), server.url]
            targets[name] = [f"{server.url}/v0/entity?id=1"] if engine == "noop" else put
            on.load(targets[name], WARM_S, CONNECTIONS)
        while more(len(paired)):
            began, number = time.monotonic(), len(paired) + 1
            steps = search(on, targets, SEARCH_S, number)
            answers = [estimate(each, OBJECTIVE) for each in steps.values()]
            found += [Bounded(each.rps, each.low_rps, each.high_rps) for each in answers if each.kind == Kind.FOUND]
            paired.append(ratio(*(posterior(each) for each in steps.values())))
            if len(found) > 1:
                apart.append(found[-1].value / found[0].value)
            left_out = statistics.fmean(undisturbed(each)[1] for each in steps.values())
            knees = ", ".join(f"{each.rps:,.0f}/s ({each.low_rps:,.0f} to {each.high_rps:,.0f})" for each in answers)
            print(
                f"  {engine} {number}: {knees}, ratio {paired[-1].value:.3f} ({paired[-1].low:.3f} to "
                f"{paired[-1].high:.3f}), {left_out:.0%} of the steps left out, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    count = len(found)
    if not count:
        return
    middle = statistics.median(each.value for each in found)
    widths = tuple(100 * (each.high / each.low - 1) for each in found)
    within = sum(abs(each.value / middle - 1) <= WITHIN for each in found)
    ratios = ", ".join(f"{each.value:.3f}" for each in paired)
    note = f"{SEARCH_S:g} s a setting; ratios of two alike in one search {ratios}, one after the other "
    note += ", ".join(f"{each:.3f}" for each in apart)
    yield Row(f"power/knee-{engine}/width-vs-limit", "%", widths, (100 * WIDTH_LIMIT,) * count, "<=", 1.0, note)
    note = f"median {middle:,.0f}/s; {2 * len(paired) - count} found none"
    tried = float(2 * len(paired))
    yield Row(f"power/knee-{engine}/within-10%", "searches", (float(within),), (tried,), ">=", 1.0, note)


THREADS = 4
QUEUE = 4
WAIT_US = 1_000
FLAGS = (
    *("--execution", "pool", "--pool-threads", str(THREADS), "--queue", "array", "--queue-size", str(QUEUE)),
    *("--handler-delay-us", str(WAIT_US)),
)
#: In a closed loop: threads and queue are full all the time, and more would only be refused.
FILLING = THREADS + QUEUE
OVERLOAD_CONNECTIONS = 128
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
#: Loads the server with some connections at a rate (None: as fast as it responds).
Load = Callable[[int, int | None], Result]


@dataclass(frozen=True, slots=True)
class Knee:
    """Rates in 1/s: what the pool serves when it is never idle, and the knee; None where none was found, and why."""

    capacity_rps: int
    rate_rps: int | None
    why: str = ""


def accepted(result: Result) -> int:
    """Responses with status 2xx."""
    return sum(count for status, count in result["status"].items() if status.startswith("2"))


def refused(result: Result) -> int:
    """Responses with status 503."""
    return int(result["status"].get("503", 0))


def refused_share(result: Result) -> float:
    """Refused requests in parts of all that were due."""
    scheduled: int = result["requests"]["scheduled"]
    return refused(result) / max(1, scheduled)


def kept_up(result: Result) -> bool:
    """Whether the figures are the server's and not the generator's."""
    return bool(result["generator"]["kept_up"])


def p99_of_accepted_us(result: Result) -> float:
    """99th percentile of the response time of the responses with status 2xx."""
    return float(result["latency_us_by_class"]["2xx"]["response"]["p99"])


def meets(result: Result) -> bool:
    """Whether the rate is one that the server achieves: 99 % of what was due was served."""
    scheduled: int = result["requests"]["scheduled"]
    return accepted(result) >= max(1, MIN_ACHIEVED * scheduled)


def described(result: Result) -> str:
    """One load in words, as it must be known to believe a figure of it."""
    p99 = f"p99 of accepted {p99_of_accepted_us(result):.0f} us" if accepted(result) else "none accepted"
    return (
        f"achieved {result['achieved_rps']:.0f}/s, {result['requests']['scheduled']} requests, "
        f"{refused_share(result):.2%} refused, {result['requests']['censored']} without a response, {p99}, "
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
            result = load(OVERLOAD_CONNECTIONS, rate)
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


def overload_rows(load: Load, say: Say) -> list[Row]:
    """Two rows: p99 of what is let in, and that all the others are refused."""
    knee = find_knee(load, say)
    name = f"server/noop-1ms/{OVERLOAD_CONNECTIONS}conn/overload-{ABOVE:g}x-vs-{BELOW:g}x-knee"
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
    ours, peer = (tuple(map(p99_of_accepted_us, results)) for results in (highs, lows))
    responded = tuple(float(accepted(high) + refused(high)) for high in highs)
    due = tuple(float(high["requests"]["scheduled"]) for high in highs)
    return [
        Row(f"{name}/p99-of-accepted", "us", ours, peer, "<=", MOST_OF_P99, note),
        Row(f"{name}/accepted-or-503", "", responded, due, ">=", 1.0, note),
    ]


def _rounds(load: Load, above: int, below: int, say: Say) -> tuple[list[Result], list[Result], int]:
    """Loads above and below the knee alternately, where the generator kept up in both; and the number of rounds run."""
    highs: list[Result] = []
    lows: list[Result] = []
    rounds = 0
    while len(highs) < ROUNDS and rounds < ROUNDS + SPARE_ROUNDS:
        rounds += 1
        high, low = load(OVERLOAD_CONNECTIONS, above), load(OVERLOAD_CONNECTIONS, below)
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
