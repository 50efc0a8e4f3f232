"""Two servers under the same load: both run, and are asked in turn; medians over the rounds are compared.

Who goes first changes with each round, so that a drift of the machine favours nobody; a load that other work disturbed
is made again. Closed loop, so the rate is what the server carries, unless the generator's core was full first: how busy
both were stands in each row.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import psutil

from runners.bench.fixture import CONNECTIONS, Fixture, Result
from runners.bench.row import Row
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec

#: Enough for an interval, and odd, so that a median is a round's.
ROUNDS = 7
DURATION_S = 2
#: Seconds of closed loop before anything is compared, for the compiler.
COMPILE_S = 5
Take = Callable[[Result], float]
Goal = tuple[Literal["<=", ">="], float]
#: Figures that make a row each: name, unit, figure, goal.
Takes = tuple[tuple[str, str, Take, Goal], ...]
#: For the planned time: starting and stopping two servers, and what a load takes beside its seconds.
START_S, AROUND_A_LOAD_S = 4.0, 1.5
#: Tries for a load that other work disturbs, and the share of loads that is planned to be made again.
TRIES, AGAIN = 2, 0.4


@dataclass(frozen=True, slots=True)
class Side:
    """One of two servers: its flags, and its main class if it is not the server itself.

    `specify` makes of the fixture's spec what the side needs, such as another JDK.
    """

    flags: tuple[str, ...] = ()
    main_class: str = MAIN
    specify: Callable[[ServerSpec], ServerSpec] = lambda spec: spec

    def spec(self, on: Fixture, name: str) -> ServerSpec:
        """How it is started under a name."""
        return self.specify(on.spec(name, self.flags, self.main_class))


def one_key(server: RunningServer) -> list[str]:
    """GET of a single key."""
    return [f"{server.url}/v0/entity?id=1"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two servers and their load, and what is taken from both."""

    name: str
    ours: Side
    peer: Side
    takes: Takes
    target: Callable[[RunningServer], list[str]] = one_key
    connections: int = CONNECTIONS
    compile_s: int = COMPILE_S

    def duration_s(self) -> float:
        """About how long it takes."""
        loads_s = 2 * ROUNDS * (DURATION_S + AROUND_A_LOAD_S)
        return START_S + 2 * (self.compile_s + AROUND_A_LOAD_S) + (1 + AGAIN) * loads_s


def rps(result: Result) -> float:
    """Give responses per second."""
    return float(result["achieved_rps"])


def p99_us(result: Result) -> float:
    """99th percentile of the response time."""
    return float(result["latency_us"]["response"]["p99"])


def failures(result: Result) -> int:
    """Requests that ended in an error or in a status of 400 or more."""
    return sum(int(count) for count in result["errors"].values())


def busy_cores(result: Result) -> float:
    """Cores that the generator used while it measured."""
    generator = result["generator"]
    return float((generator["cpu_user_s"] + generator["cpu_system_s"]) / result["elapsed_s"])


@dataclass(frozen=True, slots=True)
class Asked:
    """One load: what the generator says of it, and the cores that the server used meanwhile."""

    result: Result
    server_cores: float


def ask(on: Fixture, server: RunningServer, comparison: Comparison) -> Asked:
    """One load of a comparison, and what the server used for it, its warm-up included."""
    process = psutil.Process(server.pid)

    def take() -> Asked:
        before, began = process.cpu_times(), time.monotonic()
        result = on.load(comparison.target(server), DURATION_S, comparison.connections)
        after, elapsed_s = process.cpu_times(), time.monotonic() - began
        return Asked(result, (after.user + after.system - before.user - before.system) / elapsed_s)

    return on.calm.measure(take, TRIES)


@contextmanager
def warm(on: Fixture, spec: ServerSpec, comparison: Comparison) -> Iterator[RunningServer]:
    """A server whose code is compiled."""
    with on.running(spec) as server:
        on.load(comparison.target(server), comparison.compile_s, comparison.connections)
        yield server


def compare(on: Fixture, comparison: Comparison) -> list[Row]:
    """The rows of one comparison."""
    specs = (comparison.ours.spec(on, "ours"), comparison.peer.spec(on, "peer"))
    with warm(on, specs[0], comparison) as ours, warm(on, specs[1], comparison) as peer:
        rounds = []
        for number in range(ROUNDS):
            if number % 2:
                theirs, mine = ask(on, peer, comparison), ask(on, ours, comparison)
            else:
                mine, theirs = ask(on, ours, comparison), ask(on, peer, comparison)
            rounds.append((mine, theirs))
    return rows(comparison, rounds)


def rows(comparison: Comparison, rounds: Sequence[tuple[Asked, Asked]]) -> list[Row]:
    """A row for each figure of the rounds."""
    ours, peer = zip(*rounds, strict=True)
    return [
        Row(
            f"{comparison.name}/{figure}",
            unit,
            tuple(take(asked.result) for asked in ours),
            tuple(take(asked.result) for asked in peer),
            *goal,
            note=note(ours, peer),
        )
        for figure, unit, take, goal in comparison.takes
    ]


def note(ours: Sequence[Asked], peer: Sequence[Asked]) -> str:
    """What the figures can't be read without: how many requests, how many failed, and who had no core to spare."""
    completed = sum(asked.result["requests"]["completed"] for asked in (*ours, *peer))
    failed = sum(failures(asked.result) for asked in (*ours, *peer))
    used = ", ".join(
        f"{who} {statistics.median(map(cores, ours)):.2f} and {statistics.median(map(cores, peer)):.2f}"
        for who, cores in (
            ("generator", lambda asked: busy_cores(asked.result)),
            ("server", lambda asked: asked.server_cores),
        )
    )
    return f"{completed} requests, {failed} failed; cores used: {used}"
