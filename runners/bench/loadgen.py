"""`make bench-loadgen`: the load generator against the simplest honest clients, on the server that stores nothing.

Each round runs both clients one after the other on the same cores, in random order; medians over the rounds are
compared. A run that other work disturbed is made again. `ROWS="one many"` runs only these groups.

The clients have flags that no block of the lab has, so they are run here and not by the executor.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runners.analysis.treatments import Start
from runners.bench import power
from runners.bench.fixture import REFERENCE, Fixture, Result, Row, fixture, parse_rows
from runners.bench.power import Design, shared, spinning
from runners.design.load import SCRIPTS
from runners.design.session import in_random_order
from runners.readers.activity import StallLog, read_stall_log
from runners.readers.console_report import ConsoleReport
from runners.readers.wrk_console import find_reports
from runners.targets.lab_server import RunningServer
from runners.toolchain.tools import find_wrk, find_wrk2, require_jdk
from runners.trial.activity import Activity, stalls_watched
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
#: Share of the plain epoll loop's CPU time that ours may take with 64 connections in open loop.
CPU_GOAL = 0.6
#: Microseconds of CPU time that a Lua `request()` may take.
LUA_LIMIT_US = 1.5
WARM_S = 8
#: Which clock stamps a response, and the mark in a row's name. The reference clients read their own, as `user` does.
CLOCKS = {"kernel": "", "user": "-user-clock"}
#: One schedule over two targets with one connection each: its repeats, and its load.
REPEATS = 20
SHARED = Design("", 1, load_s=8.0, rate_rps=4_000)
#: What repeats may spread by, in per cent: the standard deviation of the log ratio of two percentiles of one server.
SPREADS = {power.P50: 1.0, power.ALL_P99: 10.0, power.SERVICE_P99: 10.0, power.P99: 10.0}
PLANTED_US, TOLERANCE_US = 5.0, 1.0
#: Share of the repeats that has to find the planted delay within the tolerance.
FOUND_SHARE = 0.9
#: The load during which causes of a tail are recorded, and how many times the plain load's each figure may be.
RECORDED_ROUNDS, RECORDED_S, RECORDED_RPS = 15, 3, 5_000
FIGURES = (("p50", "us", 1.02), ("p99", "us", 1.1), ("late", "%", 1.1))
#: A p99 jumps where the machine delays one request in a hundred; the share of responses later than this does not.
LATE_US = 100.0
#: The share of a core that the stall witness may use.
WITNESS_LIMIT_PERCENT = 2.5
#: Results of ours and of the peer, round by round.
Pair = tuple[list[Result], list[Result]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clients:
    """The compared clients, a method each: truepace, the reference clients, wrk and wrk2; and the server they load."""

    on: Fixture
    server: RunningServer

    @property
    def url(self) -> str:
        return f"{self.server.url}/v0/entity?id=1"

    def ours(
        self, connections: int, rate_rps: int | None, duration_s: int = DURATION_S, clock: str = "kernel",
        *, requests_log: bool = False,
    ) -> Result:  # fmt: skip
        """Run truepace once; return its JSON."""
        log = ["--requests-log", str(self.on.folder / "requests")] if requests_log else []
        target = ["--receive-clock", clock, *log, self.url]
        return self.on.calm.measure(lambda: self.on.load(target, duration_s, connections, rate_rps, WARMUP_S))

    def _printed(self, words: Sequence[str], duration_s: int) -> str:
        return self.on.calm.measure(lambda: self.on.run(words, duration_s))

    def reference(self, kind: str, connections: int, rate_rps: int, duration_s: int = DURATION_S) -> Result:
        """Run a reference client once; return its JSON."""
        flags = ["--kind", kind, "-c", str(connections), "-d", f"{duration_s}s", "-R", str(rate_rps)]
        command = [str(REFERENCE), *flags, "--warmup", f"{WARMUP_S}s", self.url]
        result: Result = json.loads(self._printed(command, duration_s))
        return result

    def script_us(self, script: str) -> float:
        """Return the CPU time of one `request()` of a script of the lab, in microseconds."""
        command = [str(REFERENCE), "--kind", "script", "-s", str(SCRIPTS / script), "-d", f"{SCRIPT_S}s", self.url]
        return float(json.loads(self._printed(command, SCRIPT_S))["us_a_call"])

    def wrk(self, program: Path, connections: int, duration_s: int, *flags: str) -> ConsoleReport:
        """Run wrk or wrk2 once; return what its console prints."""
        command = [str(program), "-t1", f"-c{connections}", f"-d{duration_s}s", *flags, self.url]
        return find_reports(self._printed(command, duration_s))[0]

    def wrk2_cpu_a_million(self, wrk2: Path, connections: int, rate_rps: int, duration_s: int) -> float:
        """Return the CPU seconds that wrk2 takes for a million requests, its calibration included."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        console = self.wrk(wrk2, connections, duration_s, "-R", str(rate_rps))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used_s * 1e6 / (console.requests or math.nan)


def _latency(percentile: str) -> Callable[[Result], float]:
    return lambda result: float(result["latency_us"]["response"][percentile])


def _cpu_a_million(result: Result) -> float:
    used = result["generator"]["cpu_user_s"] + result["generator"]["cpu_system_s"]
    return float(used / max(1, result["requests"]["completed"]) * 1e6)


def _peak(result: Result) -> float:
    return float(result["generator"]["peak_memory_bytes"])


def _interleave(rounds: int, *clients: Callable[[], T]) -> list[list[T]]:
    """Run clients in an order drawn in each round, so that a drift of the machine favours none; return the results."""
    results: list[list[T]] = [[] for _ in clients]
    for number in range(rounds):
        print(f"  round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for place in in_random_order(range(len(clients)), "clients", number):
            results[place].append(clients[place]())
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
    """Run truepace by each clock and one reference client in the same rounds; return pairs by the mark of the clock."""
    calls = [lambda c=clock: clients.ours(connections, rate_rps, duration_s, c) for clock in CLOCKS]
    *by_clock, peer = _interleave(rounds, *calls, lambda: clients.reference(kind, connections, rate_rps, duration_s))
    return {mark: (ours, peer) for mark, ours in zip(CLOCKS.values(), by_clock, strict=True)}


def _both_clocks(results: list[Result]) -> str:
    """Say what the last of some runs has by each clock and what a request cost, and the runs' median lateness."""
    clocks = results[-1]["latency_us_by_clock"]
    medians = [f"{clock} clock p50 {times['response']['p50']:.1f} us" for clock, times in clocks.items()]
    lateness_us = statistics.median(float(result["generator"]["lag_us"]["p50"]) for result in results)
    cost = f"{_cpu_a_million(results[-1]):.2f} us of CPU a request"
    return ", ".join([*medians, cost, f"lateness p50 {lateness_us:.1f} us"])


def _one(clients: Clients) -> Iterator[Row]:
    """Compare one connection with a blocking client, which reads its own clock: the goals hold by the same clock."""
    for rate in (2_000, 5_000):
        for mark, pair in _against_client(clients, TAIL_ROUNDS, "blocking", 1, rate, TAIL_DURATION_S).items():
            name, note = f"loadgen/1conn/{rate}rps", _both_clocks(pair[0])
            yield _row(f"{name}/p50{mark}-vs-blocking", "us", *pair, _latency("p50"), 1.2, note)
            yield _row(f"{name}/p99{mark}-vs-blocking", "us", *pair, _latency("p99"), 1.3)


def _many(clients: Clients) -> Iterator[Row]:
    """Compare 64 connections with a plain epoll loop, and with wrk2 where that is on this machine."""
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
    """Compare CPU time with and without the log of every request."""
    with_log, without = _interleave(
        ROUNDS, lambda: clients.ours(64, 40_000, requests_log=True), lambda: clients.ours(64, 40_000)
    )
    note = f"{sum(result['requests_dropped'] for result in with_log)} requests dropped"
    yield _row("loadgen/64conn/40000rps/cpu-with-log-vs-without", "s/M", with_log, without, _cpu_a_million, 1.15, note)


def _aa(clients: Clients) -> Iterator[Row]:
    """Load one server as both targets: by how much does the ratio of its percentiles spread?

    Where some 1 % of the requests meet a stall of the machine, the p99 of response time lies on the edge between them
    and all others, where few requests are: it then spreads by some 30 % however the requests are shared out.
    """
    ways: dict[str, list[dict[str, Start]]] = {"request": [], "none": []}
    left_out: list[float] = []
    with spinning(clients.on, 0.0) as server:
        for seed in range(REPEATS):
            for way in in_random_order(ways, "aa", seed):
                stalled = left_out if way == "request" else None
                ways[way].append(shared(clients.on, (server, server), SHARED, way, seed, stalled))
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
        yield Row.within(f"loadgen/aa/{name}-spread-vs-limit", "%", (by_request,), limit, note)


def _planted(clients: Clients) -> Iterator[Row]:
    """Plant five microseconds of work in one of two servers: how often are they found?"""
    added: list[float] = []
    with spinning(clients.on, 0.0) as plain, spinning(clients.on, PLANTED_US) as slower:
        for seed in range(REPEATS):
            logs = shared(clients.on, (plain, slower), SHARED, "request", seed)[power.SERVICE_P50].logs
            added.append(math.exp(logs[1]) - math.exp(logs[0]))
    hits = sum(abs(added_us - PLANTED_US) <= TOLERANCE_US for added_us in added)
    low, middle, high = min(added), statistics.median(added), max(added)
    note = f"{PLANTED_US:g} us planted, {middle:.2f} us found in the median ({low:.2f} to {high:.2f})"
    wanted = math.ceil(FOUND_SHARE * REPEATS)
    yield Row("loadgen/planted/found-vs-wanted", "repeats", (float(hits),), (float(wanted),), ">=", 1.0, note)


def _closed(clients: Clients) -> Iterator[Row]:
    """Compare the rate of a closed loop with wrk's."""
    wrk = find_wrk()
    if wrk is None:
        print("wrk is not on this machine (Debian: apt-get install wrk); the closed-loop comparison is left out")
        return
    ours, peer = _interleave(
        ROUNDS,
        lambda: float(clients.ours(64, None)["achieved_rps"]),
        lambda: clients.wrk(wrk.path, 64, DURATION_S).requests_per_s or math.nan,
    )
    yield Row("loadgen/64conn/closed/rps-vs-wrk", "/s", tuple(ours), tuple(peer), ">=", 1.0)


def _wrk2(clients: Clients) -> Iterator[Row]:
    """Compare one connection with wrk2, whose runs are longer and so fewer."""
    wrk2 = find_wrk2()
    if wrk2 is None:
        print("wrk2 is not on this machine; it is left out")
        return
    ours, peer = _interleave(
        WRK2_ROUNDS,
        lambda: _latency("p50")(clients.ours(1, 5_000, WRK2_DURATION_S, "user")),
        lambda: clients.wrk(wrk2.path, 1, WRK2_DURATION_S, "-R", "5000", "-L").latencies.at(0.5) or math.nan,
    )
    yield Row("loadgen/1conn/5000rps/p50-vs-wrk2", "us", tuple(ours), tuple(peer), "<=", 1.0)


def _lua(clients: Clients) -> Iterator[Row]:
    """Hold the CPU time of a script's request(), without any connection, against its limit."""
    for script in ("get.lua", "put.lua"):
        took = tuple(clients.script_us(script) for _ in range(ROUNDS))
        yield Row.within(f"loadgen/lua/{script}/request-vs-limit", "us", took, LUA_LIMIT_US)


def _memory(clients: Clients) -> Iterator[Row]:
    """Hold memory with 1000 connections against its limit and over time; count what 10 000 connections complete."""
    short = _peak(clients.ours(1_000, 5_000, MEMORY_SHORT_S))
    long = _peak(clients.ours(1_000, 5_000, MEMORY_LONG_S))
    many = clients.ours(MANY_CONNECTIONS, 20_000)["requests"]
    yield Row.within("loadgen/1000conn/memory-vs-limit", "B", (short,), MEMORY_LIMIT_BYTES)
    yield Row(f"loadgen/1000conn/memory-{MEMORY_LONG_S}s-vs-{MEMORY_SHORT_S}s", "B", (long,), (short,), "<=", 1.05)
    completed, scheduled = (float(many["completed"]),), (float(many["scheduled"]),)
    yield Row(f"loadgen/{MANY_CONNECTIONS}conn/completed-vs-scheduled", "", completed, scheduled, ">=", 0.99)


def _recording(clients: Clients) -> Iterator[Row]:
    """Compare a load under each recorder of the causes of a tail with the plain load, interleaved.

    The flight recorder with its few events, ten samples a second of threads and machine, and the stall witness: each is
    started before the load and stopped after it, as in a run.
    """
    recorder, folder = Recorder(require_jdk()), clients.on.folder
    clients.ours(1, RECORDED_RPS, WARM_S)
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "recording": [], "sampling": [], "watching": []}
    stalls = folder / "stalls.txt"
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
                    watched = stack.enter_context(stalls_watched(stalls))
                result = clients.ours(1, RECORDED_RPS, RECORDED_S)
                taken[name].append(result["latency_us"]["response"] | {"late": _late_percent(result)})
            if name == "watching" and watched[0].cpus:
                used.append(_busiest_percent(read_stall_log(stalls)))
    if used:
        yield Row.within("recording/watching/busiest-core-vs-limit", "%", used, WITNESS_LIMIT_PERCENT)
    for name in ("recording", "sampling", *(["watching"] if used else [])):
        for figure, unit, goal in FIGURES:
            ours, peer = (tuple(float(result[figure]) for result in taken[way]) for way in (name, "plain"))
            yield Row(f"recording/{name}/{figure}-vs-plain", unit, ours, peer, "<=", goal)


def _busiest_percent(log: StallLog) -> float:
    (begin_ns, _), (end_ns, _) = log.moments
    return 100.0 * max(log.used_ns.values()) / (end_ns - begin_ns)


def _late_percent(result: Result) -> float:
    """Return the percentage of responses later than LATE_US; one is added, so that it is never 0."""
    spectrum = result["spectrum"]["response"]
    total = int(spectrum[-1][2])
    in_time = max((int(count) for value_us, _, count in spectrum if value_us <= LATE_US), default=0)
    return 100.0 * (total - in_time + 1) / (total + 1)


GROUPS: dict[str, Callable[[Clients], Iterator[Row]]] = {
    "aa": _aa, "planted": _planted, "one": _one, "many": _many, "log": _log, "closed": _closed, "wrk2": _wrk2,
    "lua": _lua, "memory": _memory, "recording": _recording,
}  # fmt: skip


def _rows(groups: Sequence[str], clients: Clients) -> Iterator[Row]:
    began_s = time.monotonic()
    for place, group in enumerate(groups, start=1):
        minutes = (time.monotonic() - began_s) / 60
        print(f"[{place} of {len(groups)}, after {minutes:.0f} min] {group}", file=sys.stderr, flush=True)
        yield from GROUPS[group](clients)


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line for each row, keep the JSON; return 0, for figures are no test."""
    given = parse_rows(argparse.ArgumentParser(prog="make bench-loadgen", description=__doc__), GROUPS, arguments)
    with fixture() as on, on.running(on.spec("noop")) as server:
        clients = Clients(on, server)
        clients.ours(8, None, WARM_S)  # the server's compiler is done before anything is compared
        return on.keep("loadgen", _rows(given.rows, clients), transport=server.ready["transport"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
