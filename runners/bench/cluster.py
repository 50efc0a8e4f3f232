"""Rows of `make bench-server` about clusters: three nodes in one JVM beside one node, and the clients between nodes.

On the engine that stores nothing, closed loop, 64 connections to the first node, many keys: two of three requests go
on to another node. Each side runs on the same cores as a single node would, so three nodes share what one had.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runners.bench.row import Row, keep
from runners.launch.server import RunningServer, ServerSpec, launch
from runners.launch.supervisor import pinned
from runners.launch.toolchain import LOADGEN, ROOT
from runners.launch.workshop import Workshop, prepare
from runners.measure import machine

ROUNDS = 5
DURATION_S = 3
WARMUP_S = 1
#: A cluster has more code to compile than one node, on the core that also serves.
COMPILE_S = 8
CONNECTIONS = 64
KEYS = 1_000_000
SCRIPTS = ROOT / "runners" / "scripts"
_TIMEOUT_S = 60.0
Result = dict[str, Any]
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


def command(server: RunningServer, script: str, duration_s: int, out: Path) -> list[str]:
    """The generator's command line for one closed-loop run over many keys."""
    flags = ["-t1", f"-c{CONNECTIONS}", f"-d{duration_s}s", "--warmup", f"{WARMUP_S}s", "--json", str(out)]
    keys = ["--", str(KEYS)] if script == GET else []
    return [str(LOADGEN), *flags, "-s", str(SCRIPTS / script), server.url, *keys]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the servers come from and which cores are whose."""

    shop: Workshop
    folder: Path
    server_cpus: tuple[int, ...] | None
    generator_cpus: tuple[int, ...] | None

    @contextmanager
    def running(self, name: str, flags: tuple[str, ...]) -> Iterator[RunningServer]:
        """A server on the engine that stores nothing."""
        spec = ServerSpec(
            self.shop.jdk.java,
            self.shop.server.dist,
            "noop",
            self.folder / name / "server",
            self.folder / name / "data",
            cpus=self.server_cpus,
            taskset=machine.taskset(),
            server_flags=flags,
        )
        server = launch(spec)
        try:
            yield server
        finally:
            server.stop()

    def rps(self, server: RunningServer, script: str, duration_s: int = DURATION_S) -> float:
        """Answers a second of one run; failed requests are said, for they make a rate worthless."""
        out = self.folder / "load.json"
        subprocess.run(
            pinned(command(server, script, duration_s, out), self.generator_cpus, machine.taskset()),
            capture_output=True,
            timeout=_TIMEOUT_S,
            cwd=ROOT,
            check=True,
        )
        result: Result = json.loads(out.read_text())
        if failed := failures(result):
            print(f"{failed} of {result['requests']['completed']} requests failed", flush=True)
        return float(result["achieved_rps"])

    def compare(self, pair: Pair) -> Row:
        """Interleaved runs of both servers of a pair, after each is warm."""
        with self.running("ours", pair.ours) as ours, self.running("peer", pair.peer) as peer:
            for server in (ours, peer):
                self.rps(server, pair.script, COMPILE_S)
            return row(pair, [(self.rps(ours, pair.script), self.rps(peer, pair.script)) for _ in range(ROUNDS)])


def row(pair: Pair, rounds: Sequence[tuple[float, float]]) -> Row:
    """A pair's figures as a line of the benchmark."""
    ours, peer = zip(*rounds, strict=True)
    return Row(pair.name, "/s", ours, peer, pair.goal_op, pair.goal)


def failures(result: Result) -> int:
    """Requests that ended in an error or in a status of 400 or more."""
    return sum(int(count) for count in result["errors"].values())


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    shop = prepare("loadgen", print)
    server_cpus, generator_cpus = machine.pinning()
    facts = machine.facts()
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(shop, Path(folder), server_cpus, generator_cpus)
        for pair in PAIRS:
            if not names or any(name in pair.name for name in names):
                found.append(bench.compare(pair))
                print(found[-1].line(), flush=True)
    print(f"kept in {keep('cluster', found, {'machine': facts, 'tools': shop.versions()})}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
