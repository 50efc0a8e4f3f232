"""`make bench-server`: each way to handle requests beside what it reproduces, on the engine that stores nothing.

Every comparison starts both servers and loads them in turn, one run each a round; medians over the rounds are compared.
Closed loop, so the rate is what the server carries; both sides run on the same cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx

from runners.bench import nodelay, overload
from runners.bench.row import Row, keep
from runners.launch.server import RunningServer, ServerSpec, launch
from runners.launch.supervisor import pinned
from runners.launch.toolchain import LOADGEN, ROOT
from runners.launch.workshop import Workshop, prepare
from runners.measure import machine

ROUNDS = 5
DURATION_S = 3
WARMUP_S = 1
COMPILE_S = 5
CONNECTIONS = 64
#: Enough threads for all connections, so that a handler that waits holds nobody up.
WAITING_THREADS = 64
WAIT_US = 1_000
BARE = "lab.server.peer.BareServer"
_TIMEOUT_S = 60.0
Result = dict[str, Any]
Take = Callable[[Result], float]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two servers: its flags, and its main class if it is not the server itself."""

    flags: tuple[str, ...] = ()
    main_class: str = "lab.server.Main"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two servers under the same load. `takes` are the figures that make a row each: name, unit, figure, goal."""

    name: str
    ours: Side
    peer: Side
    takes: tuple[tuple[str, str, Take, Literal["<=", ">="], float], ...]


def rps(result: Result) -> float:
    """Answers a second."""
    return float(result["achieved_rps"])


def p99_us(result: Result) -> float:
    """99th percentile of the response time."""
    return float(result["latency_us"]["response"]["p99"])


def mode(*flags: str) -> Side:
    """The server in a mode."""
    return Side(flags)


def bare(threads: str) -> Side:
    """One-nio used in the plainest way, on the threads of a report."""
    return Side(("--threads", threads), BARE)


WAITING = ("--handler-delay-us", str(WAIT_US))
POOL = ("--execution", "pool")
COMPARISONS = (
    Comparison("server/noop/64conn/selector-vs-bare", mode(), bare("SELECTOR"), (("rps", "/s", rps, ">=", 0.95),)),
    Comparison("server/noop/64conn/pool-vs-selector", mode(*POOL), mode(), (("rps", "/s", rps, ">=", 0.9),)),
    Comparison(
        "server/noop-1ms/64conn/pool-vs-selector",
        mode(*POOL, *WAITING, "--pool-threads", str(WAITING_THREADS)),
        mode(*WAITING),
        (("p99", "us", p99_us, "<=", 1.0), ("rps", "/s", rps, ">=", 0.9)),
    ),
    Comparison(
        "server/noop-1ms/64conn/virtual-vs-selector",
        mode("--execution", "virtual", *WAITING),
        mode(*WAITING),
        (("p99", "us", p99_us, "<=", 1.0), ("rps", "/s", rps, ">=", 0.9)),
    ),
    Comparison(
        "server/noop/64conn/blocking-pool-vs-report-3",
        mode("--execution", "blocking-pool"),
        bare("REPORT_3"),
        (("rps", "/s", rps, ">=", 1.0),),
    ),
    Comparison(
        "server/noop/64conn/pool-6-128-vs-report-5",
        mode(*POOL, "--pool-threads", "6", "--queue", "array", "--queue-size", "128"),
        bare("REPORT_5"),
        (("rps", "/s", rps, ">=", 1.0),),
    ),
    Comparison(
        "server/noop/64conn/virtual-vs-selector",
        mode("--execution", "virtual"),
        mode(),
        (("rps", "/s", rps, ">=", 0.9),),
    ),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the servers come from and which cores are whose."""

    shop: Workshop
    folder: Path
    server_cpus: tuple[int, ...] | None
    generator_cpus: tuple[int, ...] | None

    def side(self, name: str, side: Side) -> ServerSpec:
        """How a side is started."""
        return ServerSpec(
            self.shop.jdk.java,
            self.shop.server.dist,
            "noop",
            self.folder / name / "server",
            self.folder / name / "data",
            cpus=self.server_cpus,
            taskset=machine.taskset(),
            main_class=side.main_class,
            server_flags=side.flags,
        )

    @contextmanager
    def running(self, spec: ServerSpec) -> Iterator[RunningServer]:
        """A server, warm."""
        server = launch(spec)
        try:
            self.load(server, COMPILE_S)
            yield server
        finally:
            server.stop()

    def load(
        self,
        server: RunningServer,
        duration_s: int = DURATION_S,
        connections: int = CONNECTIONS,
        rate_rps: int | None = None,
    ) -> Result:
        """One run of our generator, its JSON; a closed loop if no rate is given."""
        out = self.folder / "load.json"
        rate = ["-R", str(rate_rps)] if rate_rps else []
        flags = ["-t1", f"-c{connections}", f"-d{duration_s}s", "--warmup", f"{WARMUP_S}s", *rate, "--json", str(out)]
        command = [str(LOADGEN), *flags, f"{server.url}/v0/entity?id=1"]
        subprocess.run(
            pinned(command, self.generator_cpus, machine.taskset()),
            capture_output=True,
            timeout=_TIMEOUT_S,
            cwd=ROOT,
            check=True,
        )
        result: Result = json.loads(out.read_text())
        return result

    def compare(self, comparison: Comparison) -> list[Row]:
        """The rows of one comparison."""
        ours_spec, peer_spec = self.side("ours", comparison.ours), self.side("peer", comparison.peer)
        with self.running(ours_spec) as ours, self.running(peer_spec) as peer:
            pairs = [(self.load(ours), self.load(peer)) for _ in range(ROUNDS)]
        return [
            Row(
                f"{comparison.name}/{figure}",
                unit,
                tuple(take(a) for a, _ in pairs),
                tuple(take(b) for _, b in pairs),
                goal_op,
                goal,
            )
            for figure, unit, take, goal_op, goal in comparison.takes
        ]

    def overload(self) -> list[Row]:
        """The rows of the bounded queue."""
        with self.running(self.side("overload", Side(overload.FLAGS))) as server:
            return overload.rows(lambda c, rate: self.load(server, connections=c, rate_rps=rate), print)

    def nodelay(self) -> list[Row]:
        """The rows of the server of report 2. Its values are written first, so that there is a body to answer."""

        def load(server: RunningServer) -> Result:
            httpx.put(f"{server.url}/v0/entity?id=1", content=b"value1", trust_env=False)
            return self.load(server, connections=1)

        return nodelay.rows(self.folder, self.shop.jdk, self.server_cpus, self.running, load, print)


def wants(name: str, words: Sequence[str]) -> bool:
    """Whether a comparison is asked for: its name has one of the words, or there are none."""
    return not words or any(word in name for word in words)


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    shop = prepare("loadgen", print)
    server_cpus, generator_cpus = machine.pinning()
    facts = machine.facts()
    for warning in machine.noise(facts):
        print(f"Unusual today: {warning['text']} ({warning['remedy']})")
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(shop, Path(folder), server_cpus, generator_cpus)
        parts: dict[str, Callable[[], list[Row]]] = {
            **{c.name: partial(bench.compare, c) for c in COMPARISONS},
            "overload": bench.overload,
            "server-jdk17/nodelay": bench.nodelay,
        }
        for part in (part for name, part in parts.items() if wants(name, names)):
            for row in part():
                print(row.line(), flush=True)
                found.append(row)
    print(f"kept in {keep('server', found, {'machine': facts, 'tools': shop.versions()})}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
