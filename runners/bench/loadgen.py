"""`make bench-loadgen`: the load generator beside the simplest honest clients, on the server that stores nothing.

Each round runs ours and the peer one after the other under the same pinning, alternating which is first; medians over
the rounds are compared. A run that other work disturbed is made again. `ROWS="one many"` runs only these groups.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from runners.bench import sharing
from runners.bench.clients import DURATION_S, Clients, Result
from runners.bench.fixture import fixture
from runners.bench.row import Row
from runners.toolchain.tools import find_wrk, find_wrk2

ROUNDS = 7
#: A tail is the machine's more than a median is: it takes more rounds to tell two of them apart. They are short so that
#: what else the machine does spoils few of them; at 2000/s 40 answers of a round lie beyond its p99.
TAIL_ROUNDS = 25
TAIL_DURATION_S = 2
WRK2_ROUNDS = 3
#: wrk2 needs ten seconds to calibrate.
WRK2_DURATION_S = 15
MEMORY_LIMIT_BYTES = 32 * 1024 * 1024
MEMORY_SHORT_S, MEMORY_LONG_S = 4, 16
MANY_CONNECTIONS = 10_000
#: What a Lua `request()` may add, in microseconds of processor time.
LUA_LIMIT_US = 1.5
WARM_S = 8
#: Whose clock says when an answer came, and the mark in a row's name. The references read their own, as `user` does.
CLOCKS = {"kernel": "", "user": "-user-clock"}
#: Results of ours and of the peer, round by round.
Pair = tuple[list[Result], list[Result]]


def _latency(percentile: str) -> Callable[[Result], float]:
    return lambda result: float(result["latency_us"]["response"][percentile])


def _cpu_a_million(result: Result) -> float:
    used = result["generator"]["cpu_user_s"] + result["generator"]["cpu_system_s"]
    return float(used / max(1, result["requests"]["completed"]) * 1e6)


def _peak(result: Result) -> float:
    return float(result["generator"]["peak_memory_bytes"])


def _interleave(rounds: int, *clients: Callable[[], Result]) -> list[list[Result]]:
    """Results of each client. Who goes first changes each round, so that a drift of the machine favours nobody."""
    results: list[list[Result]] = [[] for _ in clients]
    for number in range(rounds):
        for turn in range(len(clients)):
            who = (number + turn) % len(clients)
            results[who].append(clients[who]())
    return results


def _row(
    name: str,
    unit: str,
    ours: list[Result],
    peer: list[Result],
    take: Callable[[Result], float],
    goal: float,
    note: str = "",
) -> Row:
    return Row(name, unit, tuple(map(take, ours)), tuple(map(take, peer)), "<=", goal, note)


def _beside(
    clients: Clients, rounds: int, kind: str, connections: int, rate_rps: int, duration_s: int = DURATION_S
) -> dict[str, Pair]:
    """Ours by each clock beside one reference client, all in the same rounds, by the mark in a row's name."""
    ours = [lambda c=clock: clients.ours(connections, rate_rps, duration_s, c) for clock in CLOCKS]
    *found, peer = _interleave(rounds, *ours, lambda: clients.reference(kind, connections, rate_rps, duration_s))
    return {mark: (mine, peer) for mark, mine in zip(CLOCKS.values(), found, strict=True)}


def _both_clocks(results: list[Result]) -> str:
    """What the last of some runs says by each clock."""
    return sharing.as_run(results[-1])


def _one(clients: Clients) -> Iterator[Row]:
    """One connection beside a blocking client, which reads its own clock: the goals hold by the same clock."""
    for rate in (2_000, 5_000):
        for mark, pair in _beside(clients, TAIL_ROUNDS, "blocking", 1, rate, TAIL_DURATION_S).items():
            name, note = f"loadgen/1conn/{rate}rps", _both_clocks(pair[0])
            yield _row(f"{name}/p50{mark}-vs-blocking", "us", *pair, _latency("p50"), 1.2, note)
            yield _row(f"{name}/p99{mark}-vs-blocking", "us", *pair, _latency("p99"), 1.3)


def _many(clients: Clients) -> Iterator[Row]:
    """64 connections beside a plain epoll loop."""
    for mark, pair in _beside(clients, ROUNDS, "epoll", 64, 40_000).items():
        note = _both_clocks(pair[0])
        yield _row(f"loadgen/64conn/40000rps/p50{mark}-vs-epoll", "us", *pair, _latency("p50"), 1.05, note)
        yield _row(f"loadgen/64conn/40000rps/cpu{mark}-vs-epoll", "s/M", *pair, _cpu_a_million, 0.85)


def _log(clients: Clients) -> Iterator[Row]:
    """What the log of every request costs."""
    with_log, without = _interleave(
        ROUNDS, lambda: clients.ours(64, 40_000, requests_log=True), lambda: clients.ours(64, 40_000)
    )
    note = f"{sum(result['requests_dropped'] for result in with_log)} requests dropped"
    yield _row("loadgen/64conn/40000rps/cpu-with-log-vs-without", "s/M", with_log, without, _cpu_a_million, 1.15, note)


def _aa(clients: Clients) -> Iterator[Row]:
    """One server as both of two targets."""
    return sharing.same_against_itself(clients, clients.server_cpus)


def _planted(clients: Clients) -> Iterator[Row]:
    """Five microseconds in one of two servers."""
    return sharing.planted(clients, clients.server_cpus)


def _closed(clients: Clients) -> Iterator[Row]:
    """Closed loop beside wrk."""
    wrk = find_wrk()
    if wrk is None:
        print("wrk is not on this machine (Debian: apt-get install wrk); the closed-loop comparison is left out")
        return
    pairs = [(float(clients.ours(64, None)["achieved_rps"]), clients.wrk_rps(wrk.path, 64)) for _ in range(ROUNDS)]
    ours, peer = zip(*pairs, strict=True)
    yield Row("loadgen/64conn/closed/rps-vs-wrk", "/s", ours, peer, ">=", 1.0)


def _wrk2(clients: Clients) -> Iterator[Row]:
    """One connection beside wrk2, whose runs are longer and so fewer."""
    wrk2 = find_wrk2()
    if wrk2 is None:
        print("wrk2 is not on this machine; it is left out")
        return
    pairs = [
        (
            _latency("p50")(clients.ours(1, 5_000, WRK2_DURATION_S, "user")),
            clients.wrk2_p50_us(wrk2.path, 1, 5_000, WRK2_DURATION_S),
        )
        for _ in range(WRK2_ROUNDS)
    ]
    ours, peer = zip(*pairs, strict=True)
    yield Row("loadgen/1conn/5000rps/p50-vs-wrk2", "us", ours, peer, "<=", 1.0)


def _lua(clients: Clients) -> Iterator[Row]:
    """Processor time of a script's request(), without any connection, beside what it may be."""
    for script in ("get.lua", "put.lua"):
        took = tuple(clients.script_us(script) for _ in range(ROUNDS))
        yield Row(f"loadgen/lua/{script}/request-vs-limit", "us", took, (LUA_LIMIT_US,) * ROUNDS, "<=", 1.0)


def _memory(clients: Clients) -> Iterator[Row]:
    """Memory with 1000 connections beside its limit and over time, and whether 10 000 connections carry their load."""
    short = _peak(clients.ours(1_000, 5_000, MEMORY_SHORT_S))
    long = _peak(clients.ours(1_000, 5_000, MEMORY_LONG_S))
    many = clients.ours(MANY_CONNECTIONS, 20_000)["requests"]
    yield Row("loadgen/1000conn/memory-vs-limit", "B", (short,), (MEMORY_LIMIT_BYTES,), "<=", 1.0)
    yield Row(f"loadgen/1000conn/memory-{MEMORY_LONG_S}s-vs-{MEMORY_SHORT_S}s", "B", (long,), (short,), "<=", 1.05)
    completed, scheduled = (float(many["completed"]),), (float(many["scheduled"]),)
    yield Row(f"loadgen/{MANY_CONNECTIONS}conn/completed-vs-scheduled", "", completed, scheduled, ">=", 0.99)


GROUPS: dict[str, Callable[[Clients], Iterator[Row]]] = {
    "aa": _aa,
    "planted": _planted,
    "one": _one,
    "many": _many,
    "log": _log,
    "closed": _closed,
    "wrk2": _wrk2,
    "lua": _lua,
    "memory": _memory,
}


def _groups() -> list[str]:
    parser = argparse.ArgumentParser(prog="make bench-loadgen", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (default: all)")
    asked: list[str] = parser.parse_args().groups or list(GROUPS)
    unknown = [name for name in asked if name not in GROUPS]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    return asked


def main() -> int:
    """Run the benchmark, print a line a row, keep the JSON. 0 whatever the ratios are: a figure, not a test."""
    groups = _groups()
    with fixture() as on:
        with on.running(on.spec("noop")) as server:
            clients = Clients(server, on.generator_cpus, on.server_cpus, on.calm)
            clients.ours(8, None, WARM_S)  # the server's compiler is done before anything is compared
            found = []
            for group in groups:
                for row in GROUPS[group](clients):
                    print(row.line(), flush=True)
                    found.append(row)
            transport = server.ready["transport"]
        print(on.calm.sentence())
        on.keep("loadgen", found, transport=transport, disturbances=on.calm.sentence())
    return 0


if __name__ == "__main__":
    sys.exit(main())
