"""Rows of `make bench-server` about clusters: three nodes in one JVM beside one node, and the clients between nodes.

On the engine that stores nothing, closed loop, 64 connections to the first node, many keys: two of three requests go
on to another node. Each side runs on the same cores as a single node would, so three nodes share what one had.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runners.bench.row import Row
from runners.bench.stand import DURATION_S, Result, Stand, stand
from runners.launch.server import RunningServer
from runners.plan.workload import SCRIPTS

ROUNDS = 5
#: A cluster has more code to compile than one node, on the core that also serves.
COMPILE_S = 8
KEYS = 1_000_000
#: One selector a node: three nodes share the cores that one has alone.
NODES = ("--nodes", "3", "--selectors", "1")
ONE_REPLICA = (*NODES, "--replication-from", "1")
TWO_OF_THREE = (*NODES, "--replication-from", "3", "--replication-ack", "2")
#: Report 5 before and after: pool of 20 or 6 threads, a lock around the client, the hash that picks one node.
BEFORE = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "20", "--client-lock")
AFTER = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "6")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers under the same requests. A floor for the rate of ours in parts of the peer's."""

    name: str
    script: str
    ours: tuple[str, ...]
    peer: tuple[str, ...]
    goal_op: Literal["<=", ">="]
    goal: float


GET = "get_random.lua"
PUT = "put.lua"
PAIRS = (
    Pair("cluster/3nodes/from1/get/64conn/rps-vs-single", GET, ONE_REPLICA, (), ">=", 0.45),
    Pair("cluster/3nodes/from1/put/64conn/rps-vs-single", PUT, ONE_REPLICA, (), ">=", 0.45),
    Pair(
        "cluster/3nodes/ack2of3/put/64conn/pipelined-vs-one-nio",
        PUT,
        TWO_OF_THREE,
        (*TWO_OF_THREE, "--client", "one-nio"),
        ">=",
        1.5,
    ),
    Pair(
        "cluster/3nodes/ack2of3/get/64conn/pipelined-vs-one-nio",
        GET,
        TWO_OF_THREE,
        (*TWO_OF_THREE, "--client", "one-nio"),
        ">=",
        1.5,
    ),
    Pair(
        "cluster/3nodes/ack2of3/put/64conn/jdk-async-vs-jdk",
        PUT,
        (*TWO_OF_THREE, "--client", "jdk-async"),
        (*TWO_OF_THREE, "--client", "jdk"),
        ">=",
        1.5,
    ),
    Pair("cluster/3nodes/from1/put/64conn/report-5-after-vs-before", PUT, AFTER, BEFORE, ">=", 1.0),
)


def target(server: RunningServer, script: str) -> list[str]:
    """What the generator is told of one run over many keys."""
    return ["-s", str(SCRIPTS / script), server.url, *(["--", str(KEYS)] if script == GET else [])]


def rps(on: Stand, server: RunningServer, script: str, duration_s: int = DURATION_S) -> float:
    """Answers a second of one run; failed requests are said, for they make a rate worthless."""
    result = on.load(target(server, script), duration_s)
    if failed := failures(result):
        print(f"{failed} of {result['requests']['completed']} requests failed", flush=True)
    return float(result["achieved_rps"])


def compare(on: Stand, pair: Pair) -> Row:
    """Interleaved runs of both servers of a pair, after each is warm."""
    with on.running(on.spec("ours", pair.ours)) as ours, on.running(on.spec("peer", pair.peer)) as peer:
        for server in (ours, peer):
            rps(on, server, pair.script, COMPILE_S)
        return row(pair, [(rps(on, ours, pair.script), rps(on, peer, pair.script)) for _ in range(ROUNDS)])


def row(pair: Pair, rounds: Sequence[tuple[float, float]]) -> Row:
    """A pair's figures as a line of the benchmark."""
    ours, peer = zip(*rounds, strict=True)
    return Row(pair.name, "/s", ours, peer, pair.goal_op, pair.goal)


def failures(result: Result) -> int:
    """Requests that ended in an error or in a status of 400 or more."""
    return sum(int(count) for count in result["errors"].values())


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    found: list[Row] = []
    with stand() as on:
        for pair in PAIRS:
            if not names or any(name in pair.name for name in names):
                found.append(compare(on, pair))
                print(found[-1].line(), flush=True)
        on.keep("cluster", found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
