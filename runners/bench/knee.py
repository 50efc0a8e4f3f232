"""Search knees by short rate steps and compare them: how wide are their intervals, and do they repeat?

`overload_rows`: the response time of accepted requests where a bounded queue refuses the rest, at twice the knee.

The handler waits a millisecond, so the pool runs out of threads and not of cores, which the generator needs. The queue
is as long as the pool is wide: an accepted request waits about one handling time at most. So short a queue refuses a
few requests of every burst, also far below what the pool can serve. So the knee is the highest rate of which 99 % is
served, not one without a refusal, which need not exist.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

from runners.analysis.intervals import Bounded
from runners.analysis.knee import Kind, Knee, Search
from runners.analysis.knee_curve import ratio
from runners.analysis.rate_steps import StepOutcome, points, served_rps
from runners.bench.fixture import DURATION_S, WARMUP_S, Fixture, NoFigure, Result, Row, Say
from runners.design.block import FixedRate
from runners.design.ladder import KneeSearch, WarmServer
from runners.design.load import FIXED_GET, PUT, SIZES, Rate, Shape, Workload
from runners.design.objective import Objective
from runners.design.session import PROBE, RATE_STEP, ROUND, Session, Trial, in_random_order, step_name
from runners.design.setting import Setting
from runners.targets.lab_server import RunningServer

SEARCH_S = 60.0
OBJECTIVE = Objective()
CONNECTIONS = 16
LIMITS_RPS = (100.0, 1_000_000.0)
#: The closed loop on each server before a search is twice as long.
CLOSED_S = 2.0
WIDTH_LIMIT, WITHIN = 0.2, 0.1


def search_block(
    engines: Mapping[str, str],
    workload: Workload,
    seconds: float,
    seed: int = 1,
    connections: int = CONNECTIONS,
    objective: Objective = OBJECTIVE,
    limits_rps: tuple[float, float] = LIMITS_RPS,
) -> KneeSearch:
    """Return the block of one search for the knees of servers, for so many seconds each; `engines` by server name."""
    size = replace(SIZES["smoke"], probe_s=CLOSED_S)
    first, *others = (WarmServer(Setting(name.lower(), engine), workload, size) for name, engine in engines.items())
    return KneeSearch(
        "knee", "the knees of servers of a benchmark", first, objective, seconds / 60, Shape(connections), *limits_rps,
        precision=0.0, others=tuple(others), seed=seed,
    )  # fmt: skip


def search(
    on: Fixture,
    servers: Mapping[str, RunningServer],
    workload: Workload,
    seconds: float,
    seed: int,
    connections: int = CONNECTIONS,
    objective: Objective = OBJECTIVE,
    limits_rps: tuple[float, float] = LIMITS_RPS,
) -> dict[str, Search]:
    """Search the knees of running servers in one block of the lab; return the search of each by its name."""
    up = {name.lower(): server for name, server in servers.items()}
    engines = {name: server.engine for name, server in servers.items()}
    block = search_block(engines, workload, seconds, seed, connections, objective, limits_rps)
    measured = on.measured(block, lambda setting, keep_data=False, keep_others=False: up[setting.name])
    searches = {}
    for name, server in zip(servers, block.servers, strict=True):
        own = [step for step in measured if step.subject == server.treatment.name]
        loads = [step for step in own if step.kind == RATE_STEP]
        steps = tuple(point.rate_step for load in loads for point in points(load, objective))
        closed_rps = max(served_rps(step) for step in own if step.kind == PROBE)
        searches[name] = Search(
            objective, steps, closed_loop_rps=closed_rps, low_rps=limits_rps[0], high_rps=limits_rps[1],
            confirm_s=block.confirm_s,
        )  # fmt: skip
    return searches


def knees(searches: Mapping[str, Search]) -> dict[str, Knee]:
    """Return the knee of each search, by server."""
    return {server: search.knee for server, search in searches.items()}


def line(knees: Mapping[str, Knee]) -> str:
    """Return the knees of one search as a line to print."""
    return "  " + ", ".join(f"{server} {knee.rps:,.0f}/s ({knee.kind})" for server, knee in knees.items())


def row(name: str, rounds: Sequence[Mapping[str, Knee]], ours: str, peer: str, goal: float) -> Row:
    """Compare two knees over the rounds that found both."""
    both = [knees for knees in rounds if knees[ours].kind == knees[peer].kind == Kind.FOUND]
    if not both:
        return NoFigure(name, ">=", goal, "in no round were both knees found; is the machine calm?")
    note = f"in {len(rounds) - len(both)} rounds no knee of both" if len(both) < len(rounds) else ""
    ours_rps, peer_rps = (tuple(knees[server].rps for knees in both) for server in (ours, peer))
    return Row(name, "/s", ours_rps, peer_rps, ">=", goal, note)


def rows(on: Fixture, engine: str, more: Callable[[int], bool]) -> Iterator[Row]:
    """Search the knees of two processes of one engine in one search, as often as `more` allows; yield their spread."""
    found_knees: list[Bounded] = []
    pair_ratios, ratios_apart = list[Bounded](), list[float]()
    with ExitStack() as stack:
        workload = FIXED_GET if engine == "noop" else PUT
        servers = {
            name: stack.enter_context(on.running(replace(on.spec(f"knee-{engine}-{name}"), engine=engine)))
            for name in ("first", "second")
        }
        while more(len(pair_ratios)):
            began, number = time.monotonic(), len(pair_ratios) + 1
            searches = list(search(on, servers, workload, SEARCH_S, number).values())
            pair = [search.knee for search in searches]
            found_knees += [Bounded(knee.rps, knee.low_rps, knee.high_rps) for knee in pair if knee.kind == Kind.FOUND]
            pair_ratios.append(ratio(*(search.curve for search in searches if search.curve is not None)))
            if len(found_knees) > 1:
                ratios_apart.append(found_knees[-1].value / found_knees[0].value)
            stalled = sum(
                step.outcome(OBJECTIVE) == StepOutcome.STALLED for search in searches for step in search.steps
            )
            knees = ", ".join(f"{knee.rps:,.0f}/s ({knee.low_rps:,.0f} to {knee.high_rps:,.0f})" for knee in pair)
            print(
                f"  {engine} {number}: {knees}, ratio {pair_ratios[-1].value:.3f} ({pair_ratios[-1].low:.3f} to "
                f"{pair_ratios[-1].high:.3f}), {stalled} steps undecided by stalls, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    count = len(found_knees)
    if not count:
        return
    middle = statistics.median(knee.value for knee in found_knees)
    widths = tuple(100 * (knee.high / knee.low - 1) for knee in found_knees)
    within = sum(abs(knee.value / middle - 1) <= WITHIN for knee in found_knees)
    ratios = ", ".join(f"{bounded.value:.3f}" for bounded in pair_ratios)
    note = f"{SEARCH_S:g} s a setting; ratios of two alike in one search {ratios}, one after the other "
    note += ", ".join(map("{:.3f}".format, ratios_apart))
    yield Row.within(f"power/knee-{engine}/width-vs-limit", "%", widths, 100 * WIDTH_LIMIT, note)
    note = f"median {middle:,.0f}/s; {2 * len(pair_ratios) - count} found none"
    tried = float(2 * len(pair_ratios))
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
#: How often the capacity is probed.
TRIES = 2
BELOW = 0.8
ABOVE = 2.0
OVERLOAD_SEARCH_S = 40.0
#: Shares of the capacity between which its knee lies; the highest is more than fits.
LOWEST, HIGHEST = 0.3, 1.3
SERVED = Objective(latencies=(), errors=0.01)
MOST_OF_P99 = 3.0
#: Offers a rate above and a rate below the knee in so many rounds; returns both results of each round.
Offer = Callable[[int, int, int], Sequence[tuple[Result, Result]]]


def accepted(result: Result) -> int:
    """Count the responses with status 2xx."""
    return sum(count for status, count in result["status"].items() if status.startswith("2"))


def refused(result: Result) -> int:
    """Count the responses with status 503."""
    return int(result["status"].get("503", 0))


def refused_share(result: Result) -> float:
    """Return the share of the scheduled requests that were refused."""
    scheduled: int = result["requests"]["scheduled"]
    return refused(result) / max(1, scheduled)


def kept_up(result: Result) -> bool:
    """Return whether the generator kept its schedule, so that figures are the server's."""
    return bool(result["generator"]["kept_up"])


def p99_of_accepted_us(result: Result) -> float:
    """Return the 99th percentile of the response time of responses with status 2xx, in microseconds."""
    return float(result["latency_us_by_class"]["2xx"]["response"]["p99"])


def described(result: Result) -> str:
    """Return a load in words: its achieved rate, refused requests, p99, and whether the generator kept up."""
    p99 = f"p99 of accepted {p99_of_accepted_us(result):.0f} us" if accepted(result) else "none accepted"
    return (
        f"achieved {result['achieved_rps']:.0f}/s, {result['requests']['scheduled']} requests, "
        f"{refused_share(result):.2%} refused, {result['requests']['censored']} without a response, {p99}, "
        f"generator {'kept up' if kept_up(result) else 'did not keep up'}"
    )


#: The name, connections and rate of each load.
Loads = Sequence[tuple[str, int, Rate | None]]


def _loads(engine: str, offered: Loads) -> FixedRate:
    trials = tuple(
        Trial(name, ROUND, FIXED_GET, rate, Shape(connections, 1, DURATION_S, WARMUP_S))
        for name, connections, rate in offered
    )
    return FixedRate.known("overload", "", (Session(Setting("overload", engine), trials),))


def overload_s() -> float:
    """Return the planned seconds of probes, search and rounds, without spare rounds."""
    load = _loads("noop", [("load", OVERLOAD_CONNECTIONS, Rate(1.0, "not known yet"))])
    search = search_block({"overload": "noop"}, FIXED_GET, OVERLOAD_SEARCH_S)
    return (TRIES + 2 * ROUNDS) * load.planned_s + search.planned_s


def overload(on: Fixture, server: RunningServer, say: Say) -> list[Row]:
    """Probe the capacity of a server, search its knee, and offer it more and less than that in each round."""

    def loads(offered: Loads) -> list[Result]:
        """Measure loads and return the generator's JSON of each."""
        measured = on.measured(
            _loads(server.engine, offered), lambda _setting, keep_data=False, keep_others=False: server
        )
        return [json.loads(step.folder.load_json.read_text()) for step in measured]

    def offer(above: int, below: int, rounds: int) -> list[tuple[Result, Result]]:
        offered = [
            (number, rps) for number in range(rounds) for rps in in_random_order((above, below), "overload", number)
        ]
        loaded = loads(
            [
                (step_name("overload", rps, number), OVERLOAD_CONNECTIONS, Rate(rps, "a multiple of the knee"))
                for number, rps in offered
            ]
        )
        results = dict(zip(offered, loaded, strict=True))
        return [(results[number, above], results[number, below]) for number in range(rounds)]

    probes = loads([(step_name("capacity", number), FILLING, None) for number in range(TRIES)])
    capacity_rps = int(max(accepted(probe) / probe["elapsed_s"] for probe in probes))
    limits_rps = (LOWEST * capacity_rps, HIGHEST * capacity_rps)
    one_server = {"overload": server}
    searches = search(on, one_server, FIXED_GET, OVERLOAD_SEARCH_S, 1, OVERLOAD_CONNECTIONS, SERVED, limits_rps)
    knee = searches["overload"].knee
    say(f"overload: capacity {capacity_rps}/s, knee {knee.rps:,.0f}/s ({knee.kind})")
    return overload_rows(capacity_rps, knee, offer, say)


def overload_rows(capacity_rps: int, knee: Knee, offer: Offer, say: Say) -> list[Row]:
    """Return two rows: the p99 of accepted requests, and whether all others were refused."""
    name = f"server/noop-1ms/{OVERLOAD_CONNECTIONS}conn/overload-{ABOVE:g}x-vs-{BELOW:g}x-knee"
    goals: tuple[tuple[str, Literal["<=", ">="], float], ...] = (
        (f"{name}/p99-of-accepted", "<=", MOST_OF_P99),
        (f"{name}/accepted-or-503", ">=", 1.0),
    )
    if knee.kind != Kind.FOUND:
        why = f"no knee found ({knee.kind}), with a capacity of {capacity_rps}/s; run it again on a calm machine"
        return [NoFigure(*goal, why) for goal in goals]
    highs, lows, rounds = _rounds(offer, int(knee.rps * ABOVE), int(knee.rps * BELOW), say)
    if len(highs) < ROUNDS:
        why = f"the generator kept up in {len(highs)} of {rounds} rounds; give it a core of its own"
        return [NoFigure(*goal, why) for goal in goals]
    if not all(accepted(result) for result in (*highs, *lows)):
        return [NoFigure(*goal, "a round had nothing accepted; read the server's log") for goal in goals]
    note = (
        f"capacity {capacity_rps}/s, knee {knee.rps:.0f}/s; {_rates(knee.rps, ABOVE, highs)}; "
        f"{_rates(knee.rps, BELOW, lows)}; the generator kept up in all of these rounds, of {rounds}"
    )
    ours, peer = (tuple(map(p99_of_accepted_us, results)) for results in (highs, lows))
    responded = tuple(float(accepted(high) + refused(high)) for high in highs)
    due = tuple(float(high["requests"]["scheduled"]) for high in highs)
    return [
        Row(f"{name}/p99-of-accepted", "us", ours, peer, "<=", MOST_OF_P99, note),
        Row(f"{name}/accepted-or-503", "", responded, due, ">=", 1.0, note),
    ]


def _rounds(offer: Offer, above: int, below: int, say: Say) -> tuple[list[Result], list[Result], int]:
    """Return the loads above and below the knee of rounds in which the generator kept up, and the rounds run in all."""
    kept, rounds = list[tuple[Result, Result]](), 0
    while count := min(ROUNDS - len(kept), ROUNDS + SPARE_ROUNDS - rounds):
        for high, low in offer(above, below, count):
            rounds += 1
            say(f"overload: round {rounds}: offered {above}/s, {described(high)}; offered {below}/s, {described(low)}")
            if kept_up(high) and kept_up(low):
                kept.append((high, low))
    return [high for high, _ in kept], [low for _, low in kept], rounds


def _rates(knee_rps: float, times: float, results: Sequence[Result]) -> str:
    """Return offered rate, and the range of achieved rates and refused shares over the rounds, in words."""
    achieved = sorted(result["achieved_rps"] for result in results)
    shares = sorted(map(refused_share, results))
    requests = sum(result["requests"]["scheduled"] for result in results)
    return (
        f"at {times:g}x offered {int(knee_rps * times)}/s, achieved {achieved[0]:.0f} to {achieved[-1]:.0f}/s, "
        f"{requests} requests, {shares[0]:.2%} to {shares[-1]:.2%} refused"
    )
