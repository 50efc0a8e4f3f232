"""`make bench-recording`: what it costs to record the causes of a tail where latency is quoted.

The same load on one server, in turn plain, with the flight recorder's few events, with ten samples a second of threads
and machine, and under the stall witness; the recorder is started before the load and stopped after it, as in a run. The
server stores nothing, so that nothing hides the cost.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from runners.bench.clients import Clients, Result
from runners.bench.fixture import fixture
from runners.bench.row import Row
from runners.process.cpu_placement import usable_cpus
from runners.readers.activity import StallLog, read_stall_log
from runners.targets.lab_server import RunningServer
from runners.toolchain.tools import TRUEPACE
from runners.trial.activity import Activity
from runners.trial.recording import Recorder
from runners.trial.witness import StallWitness

ROUNDS = 15
DURATION_S = 3
WARM_S = 10
RATE_RPS = 5_000
#: What is compared, its unit, and what it may be times the plain load's.
FIGURES = (("p50", "us", 1.02), ("p99", "us", 1.1), ("late", "%", 1.1))
#: A p99 jumps where one request in a hundred is held up by the machine; how many are later than this does not.
LATE_US = 100.0
#: The share of a core that the stall witness may use.
WITNESS_LIMIT_PERCENT = 2.5


@contextlib.contextmanager
def recording(recorder: Recorder, server: RunningServer, folder: Path) -> Iterator[None]:
    """With the flight recorder on."""
    recorder.start(server.pid)
    try:
        yield
    finally:
        recorder.stop(server.pid, folder / "causes.jfr")
        (folder / "causes.jfr").unlink()


def rows(bench: Clients, recorder: Recorder, folder: Path) -> list[Row]:
    """Each way of recording against the plain load, interleaved."""
    bench.ours(1, RATE_RPS, WARM_S)
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "recording": [], "sampling": [], "watching": []}
    witness, stalls = StallWitness(TRUEPACE.with_name("stall-witness")), folder / "stalls.txt"
    used: list[float] = []
    for number in range(ROUNDS):
        for name, results in sorted(taken.items(), reverse=number % 2 == 1):
            with contextlib.ExitStack() as stack:
                if name == "recording":
                    stack.enter_context(recording(recorder, bench.server, folder))
                elif name == "sampling":
                    stack.enter_context(Activity(folder / "activity.jsonl", bench.server.pids, folder))
                elif name == "watching":
                    watched = stack.enter_context(witness.beside(usable_cpus(), stalls))
                result = bench.ours(1, RATE_RPS, DURATION_S)
                results.append(result["latency_us"]["response"] | {"late": late_percent(result)})
            if name == "watching" and watched[0].cpus:
                used.append(busiest_percent(read_stall_log(stalls)))
    name, limit = "recording/watching/busiest-core-vs-limit", (WITNESS_LIMIT_PERCENT,) * len(used)
    cost = [Row(name, "%", tuple(used), limit, "<=", 1.0)] if used else []
    return cost + [
        Row(
            f"recording/{name}/{figure}-vs-plain",
            unit,
            tuple(float(result[figure]) for result in taken[name]),
            tuple(float(result[figure]) for result in taken["plain"]),
            "<=",
            goal,
        )
        for name in taken
        if name != "plain" and (name != "watching" or used)
        for figure, unit, goal in FIGURES
    ]


def busiest_percent(log: StallLog) -> float:
    """Share of a core that the witness used, of the core on which it used most, in percent."""
    (begin_ns, _), (end_ns, _) = log.moments
    return 100.0 * max(log.used_ns.values()) / (end_ns - begin_ns)


def late_percent(result: Result) -> float:
    """Share of requests answered later than LATE_US, in percent; with one more of them, so that it is never 0."""
    spectrum = result["spectrum"]["response"]
    total = int(spectrum[-1][2])
    in_time = max((int(count) for value_us, _, count in spectrum if value_us <= LATE_US), default=0)
    return 100.0 * (total - in_time + 1) / (total + 1)


def main() -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    with fixture() as on:
        with on.running(on.spec("noop")) as server:
            clients = Clients(server, on.generator_cpus, on.server_cpus, on.calm)
            measured = rows(clients, Recorder(on.shop.jdk), on.folder)
        for row in measured:
            print(row.line())
        on.keep("recording", measured, rate_rps=RATE_RPS, duration_s=DURATION_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
