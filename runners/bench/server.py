"""`make bench-server`: each way to handle requests beside what it reproduces, on the engine that stores nothing.

Every comparison starts both servers and loads them in turn, one run each a round; medians over the rounds are compared.
Closed loop, so the rate is what the server carries; both sides run on the same cores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import httpx

from runners.bench import nodelay, overload
from runners.bench.row import NoFigure, Row
from runners.bench.stand import CONNECTIONS, DURATION_S, Result, Stand, stand
from runners.launch.server import MAIN, RunningServer, ServerSpec

ROUNDS = 5
COMPILE_S = 5
#: Enough threads for all connections, so that a handler that waits holds nobody up.
WAITING_THREADS = 64
WAIT_US = 1_000
BARE = "lab.server.peer.BareServer"
Take = Callable[[Result], float]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two servers: its flags, and its main class if it is not the server itself."""

    flags: tuple[str, ...] = ()
    main_class: str = MAIN


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


def load(
    on: Stand,
    server: RunningServer,
    duration_s: int = DURATION_S,
    connections: int = CONNECTIONS,
    rate_rps: int | None = None,
) -> Result:
    """One run against a single key; a closed loop if no rate is given."""
    return on.load([f"{server.url}/v0/entity?id=1"], duration_s, connections, rate_rps)


@contextmanager
def warm(on: Stand, spec: ServerSpec) -> Iterator[RunningServer]:
    """A server whose code is compiled."""
    with on.running(spec) as server:
        load(on, server, COMPILE_S)
        yield server


def compare(on: Stand, comparison: Comparison) -> list[Row]:
    """The rows of one comparison."""
    ours_spec, peer_spec = (
        on.spec(name, side.flags, side.main_class)
        for name, side in (("ours", comparison.ours), ("peer", comparison.peer))
    )
    with warm(on, ours_spec) as ours, warm(on, peer_spec) as peer:
        pairs = [(load(on, ours), load(on, peer)) for _ in range(ROUNDS)]
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


def overloaded(on: Stand) -> list[Row | NoFigure]:
    """The rows of the bounded queue."""
    with warm(on, on.spec("overload", overload.FLAGS)) as server:
        return overload.rows(lambda c, rate: load(on, server, connections=c, rate_rps=rate), print)


def nodelayed(on: Stand) -> list[Row]:
    """The rows of the server of report 2. Its values are written first, so that there is a body to answer."""

    def ask(server: RunningServer) -> Result:
        httpx.put(f"{server.url}/v0/entity?id=1", content=b"value1", trust_env=False)
        return load(on, server, connections=1)

    return nodelay.rows(on.folder, on.shop.jdk, on.server_cpus, partial(warm, on), ask, print)


def wants(name: str, words: Sequence[str]) -> bool:
    """Whether a comparison is asked for: its name has one of the words, or there are none."""
    return not words or any(word in name for word in words)


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    found: list[Row | NoFigure] = []
    with stand() as on:
        parts: dict[str, Callable[[Stand], Sequence[Row | NoFigure]]] = {
            **{c.name: partial(compare, comparison=c) for c in COMPARISONS},
            "overload": overloaded,
            "server-jdk17/nodelay": nodelayed,
        }
        for part in (part for name, part in parts.items() if wants(name, names)):
            for row in part(on):
                print(row.line(), flush=True)
                found.append(row)
        on.keep("server", found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
