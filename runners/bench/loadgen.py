"""`make bench-loadgen`: the load generator against the simplest honest clients, on the server that stores nothing.

Each round runs ours and the peer one after the other under the same pinning, in random order; medians over
the rounds are compared. A run that other work disturbed is made again. `ROWS="one many"` runs only these groups.

What is compared are clients, with flags that no block of the lab has, on one server: so they are run here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runners.analysis.treatments import Start
from runners.bench import power
from runners.bench.fixture import REFERENCE, STALL_WITNESS, Fixture, Result, Row, asked, fixture
from runners.bench.power import Design, shared, spinning
from runners.design.load import SCRIPTS
from runners.design.session import in_random_order
from runners.process.cpu_placement import usable_cpus
from runners.readers.activity import StallLog, read_stall_log
from runners.readers.wrk_console import read_console
from runners.targets.lab_server import RunningServer
from runners.toolchain.tools import find_wrk, find_wrk2
from runners.trial.activity import Activity, StallWitness
from runners.trial.profiler import Recorder

DURATION_S = 4
WARMUP_S = 1
SCRIPT_S = 1
ROUNDS = 7
#: A tail is the machine's more than a median is: it takes more rounds to tell two of them apart. They are short so that
#: what else the machine does spoils few of them; at 2000/s 40 responses of a round lie beyond its p99.
TAIL_ROUNDS = 25
TAIL_DURATION_S = 2
WRK2_ROUNDS = 3
#: wrk2 needs ten seconds to calibrate.
WRK2_DURATION_S = 15
MEMORY_LIMIT_BYTES = 32 * 1024 * 1024
MEMORY_SHORT_S, MEMORY_LONG_S = 4, 16
MANY_CONNECTIONS = 10_000
#: Processor time with 64 connections in open loop, of what the plain epoll loop takes.
CPU_GOAL = 0.6
#: What a Lua `request()` may add, in microseconds of processor time.
LUA_LIMIT_US = 1.5
WARM_S = 8
#: Whose clock says when a response came, and the mark in a row's name. The references read their own, as `user` does.
CLOCKS = {"kernel": "", "user": "-user-clock"}
#: Of one schedule over two targets, one connection each: how often it is repeated, and its load.
REPEATS = 20
SHARED = Design("", 1, load_s=8.0, rate_rps=4_000)
#: What repeats may spread by, in per cent: the standard deviation of the log ratio of two percentiles of one server.
SPREADS = {power.P50: 1.0, power.ALL_P99: 10.0, power.SERVICE_P99: 10.0, power.P99: 10.0}
PLANTED_US, TOLERANCE_US = 5.0, 1.0
#: Of the repeats, this share has to find what was planted within the tolerance.
FOUND_SHARE = 0.9
#: What recording the causes of a tail costs: the load, and what each figure may be times the plain load's.
RECORDED_ROUNDS, RECORDED_S, RECORDED_RPS = 15, 3, 5_000
FIGURES = (("p50", "us", 1.02), ("p99", "us", 1.1), ("late", "%", 1.1))
#: A p99 jumps where one request in a hundred is held up by the machine; how many are later than this does not.
LATE_US = 100.0
#: The share of a core that the stall witness may use.
WITNESS_LIMIT_PERCENT = 2.5
#: Results of ours and of the peer, round by round.
Pair = tuple[list[Result], list[Result]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients that are compared, ours, the references, wrk and wrk2, each as one call; and a server to load."""

    on: Fixture
    server: RunningServer

    @property
    def url(self) -> str:
        return f"{self.server.url}/v0/entity?id=1"

    def ours(
        self, connections: int, rate_rps: int | None, duration_s: int = DURATION_S, clock: str = "kernel",
        *, requests_log: bool = False,
    ) -> Result:  # fmt: skip
        """Run our generator once; gives its JSON."""
        log = ["--requests-log", str(self.on.folder / "requests")] if requests_log else []
        target = ["--receive-clock", clock, *log, self.url]
        return self.on.calm.measure(lambda: self.on.load(target, duration_s, connections, rate_rps, WARMUP_S))

    def _said(self, words: Sequence[str], duration_s: int) -> str:
        return self.on.calm.measure(lambda: self.on.run(words, duration_s))

    def reference(self, kind: str, connections: int, rate_rps: int, duration_s: int = DURATION_S) -> Result:
        """Run a reference client once; gives its JSON."""
        flags = ["--kind", kind, "-c", str(connections), "-d", f"{duration_s}s", "-R", str(rate_rps)]
        command = [str(REFERENCE), *flags, "--warmup", f"{WARMUP_S}s", self.url]
        result: Result = json.loads(self._said(command, duration_s))
        return result

    def script_us(self, script: str) -> float:
        """Measure the processor time of one `request()` of one of the lab's scripts, in microseconds."""
        command = [str(REFERENCE), "--kind", "script", "-s", str(SCRIPTS / script), "-d", f"{SCRIPT_S}s", self.url]
        return float(json.loads(self._said(command, SCRIPT_S))["us_a_call"])

    def wrk_rps(self, wrk: Path, connections: int) -> float:
        """Measure the requests per second of wrk in a closed loop, as its console says."""
        command = [str(wrk), "-t1", f"-c{connections}", f"-d{DURATION_S}s", self.url]
        return read_console(self._said(command, DURATION_S)).requests_per_s or float("nan")

    def wrk2_p50_us(self, wrk2: Path, connections: int, rate_rps: int, duration_s: int) -> float:
        """Measure the median response time of wrk2, as its console says."""
        command = [str(wrk2), "-t1", f"-c{connections}", f"-d{duration_s}s", "-R", str(rate_rps), "-L", self.url]
        return read_console(self._said(command, duration_s)).latencies.at(0.5) or float("nan")

    def wrk2_cpu_a_million(self, wrk2: Path, connections: int, rate_rps: int, duration_s: int) -> float:
        """Measure the processor seconds of wrk2 for a million requests, those of its calibration included."""
        command = [str(wrk2), "-t1", f"-c{connections}", f"-d{duration_s}s", "-R", str(rate_rps), self.url]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = self._said(command, duration_s)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used_s * 1e6 / (read_console(said).requests or math.nan)


def _latency(percentile: str) -> Callable[[Result], float]:
    return lambda result: float(result["latency_us"]["response"][percentile])


def _cpu_a_million(result: Result) -> float:
    used = result["generator"]["cpu_user_s"] + result["generator"]["cpu_system_s"]
    return float(used / max(1, result["requests"]["completed"]) * 1e6)


def _peak(result: Result) -> float:
    return float(result["generator"]["peak_memory_bytes"])


def _interleave(rounds: int, *clients: Callable[[], T]) -> list[list[T]]:
    """Results of each client. Their order is drawn each round, so that a drift of the machine favours nobody."""
    results: list[list[T]] = [[] for _ in clients]
    for number in range(rounds):
        for who in in_random_order(range(len(clients)), "clients", number):
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


def _against_client(
    clients: Clients, rounds: int, kind: str, connections: int, rate_rps: int, duration_s: int = DURATION_S
) -> dict[str, Pair]:
    """Ours by each clock against one reference client, all in the same rounds, by the mark in a row's name."""
    ours = [lambda c=clock: clients.ours(connections, rate_rps, duration_s, c) for clock in CLOCKS]
    *found, peer = _interleave(rounds, *ours, lambda: clients.reference(kind, connections, rate_rps, duration_s))
    return {mark: (mine, peer) for mark, mine in zip(CLOCKS.values(), found, strict=True)}


def _both_clocks(results: list[Result]) -> str:
    """Say what the last of some runs has by each clock and what a request cost, and the runs' median lateness."""
    clocks = results[-1]["latency_us_by_clock"]
    medians = [f"{clock} clock p50 {times['response']['p50']:.1f} us" for clock, times in clocks.items()]
    lateness_us = statistics.median(float(result["generator"]["lag_us"]["p50"]) for result in results)
    cost = f"{_cpu_a_million(results[-1]):.2f} us of CPU a request"
    return ", ".join([*medians, cost, f"lateness p50 {lateness_us:.1f} us"])


def _one(clients: Clients) -> Iterator[Row]:
    """Yield one connection against a blocking client, which reads its own clock: the goals hold by the same clock."""
    for rate in (2_000, 5_000):
        for mark, pair in _against_client(clients, TAIL_ROUNDS, "blocking", 1, rate, TAIL_DURATION_S).items():
            name, note = f"loadgen/1conn/{rate}rps", _both_clocks(pair[0])
            yield _row(f"{name}/p50{mark}-vs-blocking", "us", *pair, _latency("p50"), 1.2, note)
            yield _row(f"{name}/p99{mark}-vs-blocking", "us", *pair, _latency("p99"), 1.3)


def _many(clients: Clients) -> Iterator[Row]:
    """Yield 64 connections against a plain epoll loop, and next to wrk2 where that is found."""
    wrk2 = find_wrk2()
    for rate in (20_000, 40_000):
        for mark, pair in _against_client(clients, ROUNDS, "epoll", 64, rate).items():
            note = _both_clocks(pair[0])
            yield _row(f"loadgen/64conn/{rate}rps/p50{mark}-vs-epoll", "us", *pair, _latency("p50"), 1.05, note)
            goal = 0.85 if mark else CPU_GOAL
            yield _row(f"loadgen/64conn/{rate}rps/cpu{mark}-vs-epoll", "s/M", *pair, _cpu_a_million, goal)
        if wrk2 is not None:
            ours, peer = _interleave(
                WRK2_ROUNDS,
                lambda rate=rate: _cpu_a_million(clients.ours(64, rate)),  # type: ignore[misc]
                lambda rate=rate: clients.wrk2_cpu_a_million(wrk2.path, 64, rate, WRK2_DURATION_S),  # type: ignore[misc]
            )
            yield Row(f"loadgen/64conn/{rate}rps/cpu-vs-wrk2", "s/M", tuple(ours), tuple(peer), "<=", 1.0)


def _log(clients: Clients) -> Iterator[Row]:
    """Yield what the log of every request costs."""
    with_log, without = _interleave(
        ROUNDS, lambda: clients.ours(64, 40_000, requests_log=True), lambda: clients.ours(64, 40_000)
    )
    note = f"{sum(result['requests_dropped'] for result in with_log)} requests dropped"
    yield _row("loadgen/64conn/40000rps/cpu-with-log-vs-without", "s/M", with_log, without, _cpu_a_million, 1.15, note)


def _aa(clients: Clients) -> Iterator[Row]:
    """Yield one server as both targets: by how much does the ratio of its percentiles spread?

    Where some 1 % of the requests meet a stall of the machine, the p99 of response time lies on the edge between those
    and all others, where few requests are: it then spreads by some 30 % however the requests are shared out.
    """
    ways: dict[str, list[dict[str, Start]]] = {"request": [], "none": []}
    left_out: list[float] = []
    with spinning(clients.on, 0.0) as server:
        for seed in range(REPEATS):
            for way in in_random_order(ways, "aa", seed):
                of_shared = left_out if way == "request" else None
                ways[way].append(shared(clients.on, (server, server), SHARED, way, seed, of_shared))
    for quantity, limit in SPREADS.items():
        if not all(quantity in run for runs in ways.values() for run in runs):
            continue
        by_request, apart = (
            100 * statistics.stdev(float(run[quantity].logs[1] - run[quantity].logs[0]) for run in runs)
            for runs in ways.values()
        )
        note = f"one after the other {apart:.3g} %"
        if quantity == power.P99:
            note += f"; without the machine's stalls, {statistics.fmean(left_out):.1%} of the time left out"
        name = "undisturbed-p99" if quantity == power.P99 else quantity.replace(" ", "-")
        yield Row(f"loadgen/aa/{name}-spread-vs-limit", "%", (by_request,), (limit,), "<=", 1.0, note)


def _planted(clients: Clients) -> Iterator[Row]:
    """Five microseconds of work in one of two servers: how often are they found?"""
    added: list[float] = []
    with spinning(clients.on, 0.0) as plain, spinning(clients.on, PLANTED_US) as slower:
        for seed in range(REPEATS):
            logs = shared(clients.on, (plain, slower), SHARED, "request", seed)[power.SERVICE_P50].logs
            added.append(math.exp(logs[1]) - math.exp(logs[0]))
    hits = sum(abs(one - PLANTED_US) <= TOLERANCE_US for one in added)
    low, middle, high = min(added), statistics.median(added), max(added)
    note = f"{PLANTED_US:g} us planted, {middle:.2f} us found in the median ({low:.2f} to {high:.2f})"
    wanted = math.ceil(FOUND_SHARE * REPEATS)
    yield Row("loadgen/planted/found-vs-wanted", "repeats", (float(hits),), (float(wanted),), ">=", 1.0, note)


def _closed(clients: Clients) -> Iterator[Row]:
    """Closed loop against wrk."""
    wrk = find_wrk()
    if wrk is None:
        print("wrk is not on this machine (Debian: apt-get install wrk); the closed-loop comparison is left out")
        return
    ours, peer = _interleave(
        ROUNDS, lambda: float(clients.ours(64, None)["achieved_rps"]), lambda: clients.wrk_rps(wrk.path, 64)
    )
    yield Row("loadgen/64conn/closed/rps-vs-wrk", "/s", tuple(ours), tuple(peer), ">=", 1.0)


def _wrk2(clients: Clients) -> Iterator[Row]:
    """Yield one connection against wrk2, whose runs are longer and so fewer."""
    wrk2 = find_wrk2()
    if wrk2 is None:
        print("wrk2 is not on this machine; it is left out")
        return
    ours, peer = _interleave(
        WRK2_ROUNDS,
        lambda: _latency("p50")(clients.ours(1, 5_000, WRK2_DURATION_S, "user")),
        lambda: clients.wrk2_p50_us(wrk2.path, 1, 5_000, WRK2_DURATION_S),
    )
    yield Row("loadgen/1conn/5000rps/p50-vs-wrk2", "us", tuple(ours), tuple(peer), "<=", 1.0)


def _lua(clients: Clients) -> Iterator[Row]:
    """Processor time of a script's request(), without any connection, against what it may be."""
    for script in ("get.lua", "put.lua"):
        took = tuple(clients.script_us(script) for _ in range(ROUNDS))
        yield Row(f"loadgen/lua/{script}/request-vs-limit", "us", took, (LUA_LIMIT_US,) * ROUNDS, "<=", 1.0)


def _memory(clients: Clients) -> Iterator[Row]:
    """Memory with 1000 connections against its limit and over time, and whether all of 10 000 are served."""
    short = _peak(clients.ours(1_000, 5_000, MEMORY_SHORT_S))
    long = _peak(clients.ours(1_000, 5_000, MEMORY_LONG_S))
    many = clients.ours(MANY_CONNECTIONS, 20_000)["requests"]
    yield Row("loadgen/1000conn/memory-vs-limit", "B", (short,), (MEMORY_LIMIT_BYTES,), "<=", 1.0)
    yield Row(f"loadgen/1000conn/memory-{MEMORY_LONG_S}s-vs-{MEMORY_SHORT_S}s", "B", (long,), (short,), "<=", 1.05)
    completed, scheduled = (float(many["completed"]),), (float(many["scheduled"]),)
    yield Row(f"loadgen/{MANY_CONNECTIONS}conn/completed-vs-scheduled", "", completed, scheduled, ">=", 0.99)


def _recording(clients: Clients) -> Iterator[Row]:
    """Yield each way to record the causes of a tail against the plain load, interleaved.

    The flight recorder with its few events, ten samples a second of threads and machine, and the stall witness: each is
    started before the load and stopped after it, as in a run.
    """
    recorder, folder = Recorder(clients.on.shop.jdk), clients.on.folder
    clients.ours(1, RECORDED_RPS, WARM_S)
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "recording": [], "sampling": [], "watching": []}
    witness, stalls = StallWitness(STALL_WITNESS), folder / "stalls.txt"
    used: list[float] = []
    for number in range(RECORDED_ROUNDS):
        for name in in_random_order(taken, "recording", number):
            with contextlib.ExitStack() as stack:
                if name == "recording":
                    recorder.start(clients.server.pid)
                    stack.callback((folder / "causes.jfr").unlink)
                    stack.callback(recorder.stop, clients.server.pid, folder / "causes.jfr")
                elif name == "sampling":
                    stack.enter_context(Activity(folder / "activity.jsonl", clients.server.pids, folder))
                elif name == "watching":
                    watched = stack.enter_context(witness.watch_if_allowed(usable_cpus(), stalls))
                result = clients.ours(1, RECORDED_RPS, RECORDED_S)
                taken[name].append(result["latency_us"]["response"] | {"late": _late_percent(result)})
            if name == "watching" and watched[0].cpus:
                used.append(_busiest_percent(read_stall_log(stalls)))
    if used:
        limit = (WITNESS_LIMIT_PERCENT,) * len(used)
        yield Row("recording/watching/busiest-core-vs-limit", "%", tuple(used), limit, "<=", 1.0)
    for name in ("recording", "sampling", *(["watching"] if used else [])):
        for figure, unit, goal in FIGURES:
            ours, peer = (tuple(float(result[figure]) for result in taken[of]) for of in (name, "plain"))
            yield Row(f"recording/{name}/{figure}-vs-plain", unit, ours, peer, "<=", goal)


def _busiest_percent(log: StallLog) -> float:
    (begin_ns, _), (end_ns, _) = log.moments
    return 100.0 * max(log.used_ns.values()) / (end_ns - begin_ns)


def _late_percent(result: Result) -> float:
    """Return share of responses later than LATE_US, in percent; with one more of them, so that it is never 0."""
    spectrum = result["spectrum"]["response"]
    total = int(spectrum[-1][2])
    in_time = max((int(count) for value_us, _, count in spectrum if value_us <= LATE_US), default=0)
    return 100.0 * (total - in_time + 1) / (total + 1)


GROUPS: dict[str, Callable[[Clients], Iterator[Row]]] = {
    "aa": _aa, "planted": _planted, "one": _one, "many": _many, "log": _log, "closed": _closed, "wrk2": _wrk2,
    "lua": _lua, "memory": _memory, "recording": _recording,
}  # fmt: skip


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. 0 whatever the ratios are: a figure, not a test."""
    given = asked(argparse.ArgumentParser(prog="make bench-loadgen", description=__doc__), GROUPS, arguments)
    with fixture() as on, on.running(on.spec("noop")) as server:
        clients = Clients(on, server)
        clients.ours(8, None, WARM_S)  # the server's compiler is done before anything is compared
        rows = (row for group in given.rows for row in GROUPS[group](clients))
        return on.keep("loadgen", rows, transport=server.ready["transport"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
