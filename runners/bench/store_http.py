"""Through HTTP: the knee of our store beside that of a store that does nothing, for GET of a filled store and for PUT.

For GET there are two that do nothing: one answers with a few digits, one with as many bytes as our store does. The
first is what is asked for; beside the second only what the store itself costs is left.

All servers run at once and are asked in turn. A round goes down the same ladder of rates for each; the knee is the
first rate that is carried: 99 % of what was offered, nothing refused, the p99 of the response time in the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from runners.bench.course import Course
from runners.bench.overload import MIN_ACHIEVED, accepted
from runners.bench.row import Row
from runners.bench.stand import CONNECTIONS, WARMUP_S, Result, Stand
from runners.errors import ToolError
from runners.launch.server import RunningServer
from runners.measure.footprint import rest
from runners.plan.workload import SCRIPTS

STORE_BYTES = 1 << 30
VALUE_BYTES = 1200
KEYS = STORE_BYTES // VALUE_BYTES
OURS, NOOP, NOOP_ALIKE = "lsm", "noop", f"noop-{VALUE_BYTES}B"
NOOP_FLAGS: dict[str, tuple[str, ...]] = {NOOP: (), NOOP_ALIKE: ("--noop-value-bytes", str(VALUE_BYTES))}
#: What each kind of request is compared with.
PEERS = {"get": (NOOP, NOOP_ALIKE), "put": (NOOP,)}
ROUNDS = 3
DURATION_S = 4
FILL_RPS_LEAST = 3_000
REST_BOUND_S = 60.0
OBJECTIVE_P99_US = 10_000.0
#: Shares of what the store that does nothing carries in a closed loop, highest first.
LADDER = tuple(share / 100 for share in range(100, 25, -5))
GOAL = 0.9
WORKS: dict[str, tuple[str, ...]] = {
    "get": ("get_random.lua", str(KEYS), "1"),
    "put": ("put_random.lua", str(KEYS), "1"),
}
#: For telling how long it takes: filling and settling, starting and ending one load, rungs until one is carried.
FILL_S, LOAD_S, RUNGS = 60.0, 1.5, 4
#: Offers a rate to a server of this name; None: as fast as it answers.
Load = Callable[[str, int | None], Result]
Say = Callable[[str], None]


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
        say(
            f"  {who}: offered {rate}/s, achieved {result['achieved_rps']:.0f}/s, "
            f"{result['requests']['scheduled']} requests, {accepted(result)} answered 2xx, "
            f"p99 {result['latency_us']['response']['p99']:.0f} us, "
            f"generator {'kept up' if result['generator']['kept_up'] else 'did not keep up'}"
        )
        if carried(result):
            return float(rate)
    return 0.0


def rows_of(work: str, load: Load, say: Say) -> list[Row]:
    """The rows of one kind of request: the knee, and the rate in a closed loop."""
    servers = (OURS, *PEERS[work])
    knees: dict[str, list[float]] = {who: [] for who in servers}
    rates: dict[str, list[float]] = {who: [] for who in servers}
    for number in range(ROUNDS):
        say(f"  {work}, round {number + 1} of {ROUNDS}")
        for who in servers:
            rates[who].append(float(load(who, None)["achieved_rps"]))
        for who in servers:
            knees[who].append(knee_rps(who, load, rates[NOOP][-1], say))
    for peer in PEERS[work]:
        if not all(knees[peer]):
            say(f"  {work}: no knee to compare with, {peer} carried no rate of the ladder; is the machine calm?")
    return [
        Row(f"store/http/{work}/{name}-vs-{peer}", "/s", tuple(of[OURS]), tuple(of[peer]), ">=", GOAL)
        for peer in PEERS[work]
        for name, of in (("knee", knees), ("closed-loop", rates))
        if all(of[peer])
    ]


def fill(on: Stand, server: RunningServer, say: Say) -> None:
    """Writes every key once and waits until the store rests."""
    flags = ["-n", str(KEYS), "-s", str(SCRIPTS / "fill.lua")]
    target = [*flags, f"{server.url}/v0/entity", "--", str(KEYS), str(VALUE_BYTES)]
    status = on.load(target, KEYS // FILL_RPS_LEAST)["status"]
    if any(not code.startswith("2") for code in status):
        raise ToolError("filling the store", f"it answered {status}", "free disk space, or read the server's log")
    rested = rest(server, REST_BOUND_S)
    say(f"  filled with {KEYS} values of {VALUE_BYTES} bytes; at rest after {rested} s; {server.status()['store']}")


def durations_s() -> list[float]:
    """About how long each kind of request takes; filling the store counts with the first."""
    load_s = DURATION_S + WARMUP_S + LOAD_S
    loads = [ROUNDS * (1 + len(PEERS[work])) * (1 + RUNGS) for work in WORKS]
    return [count * load_s + (FILL_S if number == 0 else 0.0) for number, count in enumerate(loads)]


def rows(on: Stand, course: Course) -> list[Row]:
    """All rows through HTTP."""
    say = course.say
    found: list[Row] = []
    with ExitStack() as running:
        specs = {name: on.spec(name, flags) for name, flags in NOOP_FLAGS.items()}
        specs[OURS] = replace(on.spec(OURS), engine=OURS)
        servers = {name: running.enter_context(on.running(spec)) for name, spec in specs.items()}

        def load(work: str, who: str, rate_rps: int | None) -> Result:
            script, *arguments = WORKS[work]
            target = ["-s", str(SCRIPTS / script), f"{servers[who].url}/v0/entity", "--", *arguments]
            return on.load(target, DURATION_S, CONNECTIONS, rate_rps)

        for number, work in enumerate(WORKS):
            with course.part("http", f"{work} through HTTP, {CONNECTIONS} connections"):
                if number == 0:
                    fill(on, servers[OURS], say)
                found += rows_of(work, partial(load, work), say)
    return found
