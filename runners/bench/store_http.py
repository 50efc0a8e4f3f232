"""Through HTTP: the knee of our store beside that of a store that does nothing, for GET of a filled store and for PUT.

For GET there are two that do nothing: one answers with a few digits, one with as many bytes as our store does. The
first is what is asked for; beside the second only what the store itself costs is left.

All servers run at once. In each round the knee of each is searched anew, by loads of short rate steps that go to them
in random order (see `knee`), so that a ratio of a round holds what the machine did at that time, and rounds tell how
much such ratios differ. The objective: 99 % achieved, nothing refused, and p99 within 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from runners.analysis.instrument import ENOUGH_ROUNDS
from runners.analysis.knee import Answer
from runners.bench import knee
from runners.bench.fixture import CONNECTIONS, WARMUP_S, Fixture, Result
from runners.bench.row import Course, NoFigure, Row
from runners.design.workload import SCRIPTS
from runners.errors import ToolError
from runners.targets.lab_server import RunningServer
from runners.trial.telemetry import rest

STORE_BYTES = 1 << 30
VALUE_BYTES = 1200
KEYS = STORE_BYTES // VALUE_BYTES
OURS, NOOP, NOOP_ALIKE = "lsm", "noop", f"noop-{VALUE_BYTES}B"
NOOP_FLAGS: dict[str, tuple[str, ...]] = {NOOP: (), NOOP_ALIKE: ("--noop-value-bytes", str(VALUE_BYTES))}
#: What each kind of request is compared with.
PEERS = {"get": (NOOP, NOOP_ALIKE), "put": (NOOP,)}
#: So many make an interval of 95 % out of their ratios.
ROUNDS = ENOUGH_ROUNDS
CLOSED_S = 2
SEARCH_S = 24.0  # of loads on each server
FILL_RPS_LEAST = 3_000
REST_BOUND_S = 60.0
GOAL = 0.9
WORKS: dict[str, tuple[str, ...]] = {
    "get": ("get_random.lua", str(KEYS), "1"),
    "put": ("put_random.lua", str(KEYS), "1"),
}
#: For the planned time: filling and settling, starting and ending one load.
FILL_S, LOAD_S = 45.0, 0.4
#: Loads a server of this name in closed loop.
Load = Callable[[str], Result]
#: Searches the knees of servers of these names in one search, with a seed.
Seek = Callable[[Sequence[str], int], dict[str, Answer]]
Say = Callable[[str], None]


def rows_of(work: str, load: Load, seek: Seek, say: Say, rounds: int = ROUNDS) -> list[Row | NoFigure]:
    """Make the rows of one kind of request: the knee, and the rate in a closed loop."""
    servers = (OURS, *PEERS[work])
    knees: list[dict[str, Answer]] = []
    rates: dict[str, list[float]] = {who: [] for who in servers}
    for number in range(rounds):
        say(f"  {work}, round {number + 1} of {rounds}")
        for who in servers:
            rates[who].append(float(load(who)["achieved_rps"]))
        knees.append(seek(servers, number))
        say(knee.line(knees[-1]))
    found: list[Row | NoFigure] = []
    for peer in PEERS[work]:
        closed = f"store/http/{work}/closed-loop-vs-{peer}"
        found += [
            knee.row(f"store/http/{work}/knee-vs-{peer}", knees, OURS, peer, GOAL),
            Row(closed, "/s", tuple(rates[OURS]), tuple(rates[peer]), ">=", GOAL),
        ]
    return found


def fill(on: Fixture, server: RunningServer, say: Say) -> None:
    """Writes every key once and waits until the store rests."""
    flags = ["-n", str(KEYS), "-s", str(SCRIPTS / "fill.lua")]
    target = [*flags, f"{server.url}/v0/entity", "--", str(KEYS), str(VALUE_BYTES)]
    status = on.load(target, KEYS // FILL_RPS_LEAST)["status"]
    if any(not code.startswith("2") for code in status):
        raise ToolError("filling the store", f"it answered {status}", "free disk space, or read the server's log")
    rested = rest(server, REST_BOUND_S)
    say(f"  filled with {KEYS} values of {VALUE_BYTES} bytes; at rest after {rested} s; {server.status()['store']}")


def durations_s(works: Sequence[str] = tuple(WORKS), rounds: int = ROUNDS) -> list[float]:
    """About how long each kind of request takes; filling the store counts with the first."""
    closed_s, search_s = CLOSED_S + WARMUP_S + LOAD_S, SEARCH_S + CLOSED_S + WARMUP_S + 5 * LOAD_S
    return [
        rounds * (1 + len(PEERS[work])) * (closed_s + search_s) + (FILL_S if number == 0 else 0.0)
        for number, work in enumerate(works)
    ]


def rows(
    on: Fixture, course: Course, works: Sequence[str] = tuple(WORKS), rounds: int = ROUNDS
) -> list[Row | NoFigure]:
    """The rows through HTTP of these kinds of requests."""
    say = course.say
    found: list[Row | NoFigure] = []
    with ExitStack() as running:
        specs = {name: on.spec(name, flags) for name, flags in NOOP_FLAGS.items()}
        specs[OURS] = replace(on.spec(OURS), engine=OURS)
        servers = {name: running.enter_context(on.running(spec)) for name, spec in specs.items()}

        def target(work: str, who: str) -> list[str]:
            script, *arguments = WORKS[work]
            return ["-s", str(SCRIPTS / script), f"{servers[who].url}/v0/entity", "--", *arguments]

        def load(work: str, who: str) -> Result:
            return on.load(target(work, who), CLOSED_S, CONNECTIONS)

        def seek(work: str, names: Sequence[str], seed: int) -> dict[str, Answer]:
            return knee.answers(on, {who: target(work, who) for who in names}, SEARCH_S, seed, CONNECTIONS)

        for number, work in enumerate(works):
            with course.part("http", f"{work} through HTTP, {CONNECTIONS} connections"):
                if number == 0:
                    fill(on, servers[OURS], say)
                found += rows_of(work, partial(load, work), partial(seek, work), say, rounds)
    return found
