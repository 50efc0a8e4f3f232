"""`make bench-loadgen`: the load generator beside the simplest honest clients, on the server that stores nothing.

Each round runs ours and the peer one after the other under the same pinning; medians over the rounds are compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.bench.row import Row, keep
from runners.launch.server import RunningServer, ServerSpec, launch
from runners.launch.supervisor import pinned
from runners.launch.toolchain import LOADGEN, ROOT, find_wrk, find_wrk2
from runners.launch.workshop import prepare
from runners.measure import machine
from runners.read.wrk_console import read_console

REFERENCE = LOADGEN.with_name("loadgen-reference")
ROUNDS = 5
DURATION_S = 5
WARMUP_S = 1
WRK2_ROUNDS = 3
WRK2_DURATION_S = 15
MEDIAN = 0.5
_TIMEOUT_S = 60.0
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """A server to load and the cores to do it from."""

    server: RunningServer
    cpus: tuple[int, ...] | None

    def _run(self, command: Sequence[str]) -> str:
        done = subprocess.run(
            pinned(command, self.cpus, machine.taskset()),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            cwd=ROOT,
            check=True,
        )
        return done.stdout

    def ours(self, connections: int, rate_rps: int | None, duration_s: int = DURATION_S) -> Result:
        """One run of our generator, its JSON."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "load.json"
            rate = ["-R", str(rate_rps)] if rate_rps else []
            flags = [
                "-t1",
                f"-c{connections}",
                f"-d{duration_s}s",
                "--warmup",
                f"{WARMUP_S}s",
                *rate,
                "--json",
                str(out),
            ]
            self._run([str(LOADGEN), *flags, f"{self.server.url}/v0/entity?id=1"])
            result: Result = json.loads(out.read_text())
            return result

    def reference(self, kind: str, connections: int, rate_rps: int) -> Result:
        """One run of a reference client, its JSON."""
        flags = ["--kind", kind, "-c", str(connections), "-d", f"{DURATION_S}s", "-R", str(rate_rps)]
        text = self._run([str(REFERENCE), *flags, "--warmup", f"{WARMUP_S}s", f"{self.server.url}/v0/entity?id=1"])
        result: Result = json.loads(text)
        return result

    def console_p50_us(self, command: Sequence[str]) -> float:
        """The median response time in a generator's console output."""
        return read_console(self._run(command)).latencies.at(MEDIAN) or float("nan")

    def console_rps(self, command: Sequence[str]) -> float:
        """Requests a second as a generator's console output says."""
        return read_console(self._run(command)).requests_per_s or float("nan")


def _latency(percentile: str) -> Callable[[Result], float]:
    return lambda result: float(result["latency_us"]["response"][percentile])


def _cpu_a_million(result: Result) -> float:
    used = result["generator"]["cpu_user_s"] + result["generator"]["cpu_system_s"]
    return float(used / max(1, result["requests"]["completed"]) * 1e6)


def _interleave(ours: Callable[[], Result], peer: Callable[[], Result]) -> tuple[list[Result], list[Result]]:
    pairs = [(ours(), peer()) for _ in range(ROUNDS)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _row(
    name: str, unit: str, results: tuple[list[Result], list[Result]], take: Callable[[Result], float], goal: float
) -> Row:
    ours, peer = results
    return Row(name, unit, tuple(map(take, ours)), tuple(map(take, peer)), "<=", goal)


def rows(bench: Bench) -> list[Row]:
    """All comparisons that can be made with the peers on this machine."""
    found = []
    for rate in (2_000, 5_000):
        results = _interleave(lambda r=rate: bench.ours(1, r), lambda r=rate: bench.reference("blocking", 1, r))  # type: ignore[misc]
        found.append(_row(f"loadgen/1conn/{rate}rps/p50-vs-blocking", "us", results, _latency("p50"), 1.2))
        found.append(_row(f"loadgen/1conn/{rate}rps/p99-vs-blocking", "us", results, _latency("p99"), 1.3))
    results = _interleave(lambda: bench.ours(64, 40_000), lambda: bench.reference("epoll", 64, 40_000))
    found.append(_row("loadgen/64conn/40000rps/p50-vs-epoll", "us", results, _latency("p50"), 1.05))
    found.append(_row("loadgen/64conn/40000rps/cpu-vs-epoll", "s/M", results, _cpu_a_million, 0.85))
    wrk = find_wrk()
    if wrk is None:
        print("wrk is not on this machine (Debian: apt-get install wrk); the closed-loop comparison is left out")
    else:
        command = [str(wrk.path), "-t1", "-c64", f"-d{DURATION_S}s", f"{bench.server.url}/v0/entity?id=1"]
        pairs = [(float(bench.ours(64, None)["achieved_rps"]), bench.console_rps(command)) for _ in range(ROUNDS)]
        ours, peer = zip(*pairs, strict=True)
        found.append(Row("loadgen/64conn/closed/rps-vs-wrk", "/s", ours, peer, ">=", 1.0))
    wrk2 = find_wrk2()
    if wrk2 is None:
        print("wrk2 is not on this machine; it is left out")
    else:
        found.append(_against_wrk2(bench, wrk2.path))
    return found


def _against_wrk2(bench: Bench, wrk2: Path) -> Row:
    """One connection, 5000/s: wrk2 needs ten seconds to calibrate, so its runs are longer and fewer."""
    url = f"{bench.server.url}/v0/entity?id=1"
    command = [str(wrk2), "-t1", "-c1", f"-d{WRK2_DURATION_S}s", "-R", "5000", "-L", url]
    pairs = [
        (_latency("p50")(bench.ours(1, 5_000, WRK2_DURATION_S)), bench.console_p50_us(command))
        for _ in range(WRK2_ROUNDS)
    ]
    ours, peer = zip(*pairs, strict=True)
    return Row("loadgen/1conn/5000rps/p50-vs-wrk2", "us", ours, peer, "<=", 1.0)


def main() -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    shop = prepare("loadgen", print)
    server_cpus, generator_cpus = machine.pinning()
    facts = machine.facts()
    for warning in machine.noise(facts):
        print(f"Unusual today: {warning['text']} ({warning['remedy']})")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = ServerSpec(
            shop.jdk.java,
            shop.server.dist,
            "noop",
            folder / "server",
            folder / "data",
            cpus=server_cpus,
            taskset=machine.taskset(),
        )
        server = launch(spec)
        try:
            bench = Bench(server, generator_cpus)
            bench.ours(8, None, duration_s=8)  # the server's compiler is done before anything is compared
            found = rows(bench)
            transport = server.ready["transport"]
        finally:
            server.stop()
    for row in found:
        print(row.line())
    kept = keep("loadgen", found, {"machine": facts, "tools": shop.versions(), "transport": transport})
    print(f"kept in {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
