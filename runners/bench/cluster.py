"""Rows of `make bench-server` about clusters: three nodes in one JVM beside one node, and the clients between nodes.

On the engine that stores nothing, 64 connections to the first node, many keys: two of three requests go on to another
node. Each side runs on the same cores as a single node would, so three nodes share what one had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from runners.bench import ladder
from runners.bench.fixture import CONNECTIONS, Fixture, Result
from runners.bench.pairs import AROUND_A_LOAD_S, DURATION_S, ROUNDS, START_S, Comparison, Side, Takes, rps
from runners.bench.row import NoFigure, Row
from runners.design.workload import SCRIPTS
from runners.targets.lab_server import RunningServer

#: A cluster has more code to compile than one node, on the core that also serves.
COMPILE_S = 10
KEYS = 1_000_000
#: One selector a node: three nodes share the cores that one has alone.
NODES = ("--nodes", "3", "--selectors", "1")
ONE_REPLICA = (*NODES, "--replication-from", "1")
TWO_OF_THREE = (*NODES, "--replication-from", "3", "--replication-ack", "2")
#: Report 5 before and after: pool of 20 or 6 threads, a lock around the client, the hash that picks one node.
BEFORE = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "20", "--client-lock")
AFTER = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "6")
#: What a cluster from one replica keeps of a single node.
SHARE = 0.45
#: How many times as fast a client is that no thread waits for.
ASYNCHRONOUS = 1.5
GET, PUT = "get_random.lua", "put.lua"
WORKS = {"get": GET, "put": PUT}
OURS, PEER = "cluster", "single"
#: For the planned time: rate steps until one is carried, of both servers.
RATE_STEPS = 7
Load = Callable[[str, int | None], Result]
Say = Callable[[str], None]


def target(script: str, server: RunningServer) -> list[str]:
    """What the generator is told of one run over many keys."""
    return ["-s", str(SCRIPTS / script), server.url, *(["--", str(KEYS)] if script == GET else [])]


def _compared(name: str, script: str, ours: tuple[str, ...], peer: tuple[str, ...], goal: float) -> Comparison:
    takes: Takes = (("rps", "/s", rps, (">=", goal)),)
    return Comparison(name, Side(ours), Side(peer), takes, partial(target, script), compile_s=COMPILE_S)


FROM_ONE = (
    _compared("cluster/3nodes/from1/get/64conn/closed-loop-vs-single", GET, ONE_REPLICA, (), SHARE),
    _compared("cluster/3nodes/from1/put/64conn/closed-loop-vs-single", PUT, ONE_REPLICA, (), SHARE),
)
_ONE_NIO = (*TWO_OF_THREE, "--client", "one-nio")
_JDK, _JDK_ASYNC = ((*TWO_OF_THREE, "--client", client) for client in ("jdk", "jdk-async"))
CLIENTS = (
    _compared("cluster/3nodes/ack2of3/put/64conn/pipelined-vs-one-nio", PUT, TWO_OF_THREE, _ONE_NIO, ASYNCHRONOUS),
    _compared("cluster/3nodes/ack2of3/get/64conn/pipelined-vs-one-nio", GET, TWO_OF_THREE, _ONE_NIO, ASYNCHRONOUS),
    _compared("cluster/3nodes/ack2of3/put/64conn/jdk-async-vs-jdk", PUT, _JDK_ASYNC, _JDK, ASYNCHRONOUS),
)
REPORT_5 = (_compared("cluster/3nodes/from1/put/64conn/report-5-after-vs-before", PUT, AFTER, BEFORE, 1.0),)


def knee_duration_s() -> float:
    """About how long the knees of one kind of request take."""
    return START_S + 2 * COMPILE_S + ROUNDS * (2 + RATE_STEPS) * (DURATION_S + AROUND_A_LOAD_S)


def knees(work: str, on: Fixture, say: Say) -> list[Row | NoFigure]:
    """The row of the knees for one kind of request, each the first rate of a ladder downwards that is carried."""
    script = WORKS[work]
    with ExitStack() as running:
        sides = {OURS: ONE_REPLICA, PEER: ()}
        servers = {name: running.enter_context(on.running(on.spec(name, flags))) for name, flags in sides.items()}
        for server in servers.values():
            on.load(target(script, server), COMPILE_S)

        def load(who: str, rate_rps: int | None) -> Result:
            return on.load(target(script, servers[who]), DURATION_S, CONNECTIONS, rate_rps)

        return [knee_row(f"cluster/3nodes/from1/{work}/64conn/knee-vs-single", load, say)]


def knee_row(name: str, load: Load, say: Say) -> Row | NoFigure:
    """Knees of both, round by round; each ladder starts at what its server carries in a closed loop of that round."""
    late, loads = 0, 0

    def counted(who: str, rate_rps: int | None) -> Result:
        nonlocal late, loads
        result = load(who, rate_rps)
        loads += 1
        late += not result["generator"]["kept_up"]
        return result

    found: dict[str, list[float]] = {OURS: [], PEER: []}
    for number in range(ROUNDS):
        say(f"  knees, round {number + 1} of {ROUNDS}")
        for who in _turn(number):
            capacity_rps = rps(load(who, None))
            found[who].append(ladder.knee_rps(who, counted, capacity_rps, say))
    if not all(found[PEER]):
        return NoFigure(name, ">=", SHARE, f"{PEER} carried no rate of its ladder; run it again on a calm machine")
    note = (
        f"p99 within {ladder.OBJECTIVE_P99_US / 1000:g} ms; the generator was late in {late} of {loads} loads, "
        "which makes a rate harder to carry, never easier"
    )
    return Row(name, "/s", tuple(found[OURS]), tuple(found[PEER]), ">=", SHARE, note)


def _turn(number: int) -> Sequence[str]:
    return (PEER, OURS) if number % 2 else (OURS, PEER)
