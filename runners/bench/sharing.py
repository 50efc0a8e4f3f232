"""Rows on several targets in one schedule: how well the generator tells two servers apart, beside one after the other.

The servers are the crate's own, which do nothing, or spin for a while on each request: what is compared is the
measurement and not a server. Both stand on the server's core, one connection each, 4 000 requests per second in all.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from runners.analysis.machine_stalls import outside
from runners.bench.clients import REFERENCE, Clients
from runners.bench.row import Row
from runners.process.supervisor import pinned, start
from runners.readers.activity import read_stall_log
from runners.readers.requests_log import read_requests_log
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.trial import machine
from runners.trial.witness import StallWitness

REPEATS = 20
DURATION_S = 8
RATE_RPS = 4_000
#: What a repeat may spread by, in per cent: the standard deviation of the log ratio of two percentiles of one server.
P50_LIMIT, P99_LIMIT = 1.0, 10.0
PLANTED_US, TOLERANCE_US = 5.0, 1.0
#: Of the repeats, this share has to find what was planted within the tolerance.
FOUND_SHARE = 0.9
_TIMEOUT_S = 60.0
NAMES = ("a", "b")
STALL_WITNESS = TRUEPACE.with_name("stall-witness")
WATCHED = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Shared:
    """One run of two targets: percentiles of response and of service time, in microseconds.

    `undisturbed_p99_us` are those of response time without the machine's stalls, `left_out` the share of time that they
    lack; NaN where the stall witness may not run.
    """

    p50_us: tuple[float, float]
    p99_us: tuple[float, float]
    service_p50_us: tuple[float, float]
    service_p99_us: tuple[float, float]
    undisturbed_p99_us: tuple[float, float] = (math.nan, math.nan)
    left_out: float = math.nan

    @property
    def log_p50(self) -> float:
        return math.log(self.p50_us[1] / self.p50_us[0])

    @property
    def log_p99(self) -> float:
        return math.log(self.p99_us[1] / self.p99_us[0])

    @property
    def log_service_p99(self) -> float:
        return math.log(self.service_p99_us[1] / self.service_p99_us[0])

    @property
    def log_undisturbed_p99(self) -> float:
        return math.log(self.undisturbed_p99_us[1] / self.undisturbed_p99_us[0])

    @property
    def added_us(self) -> float:
        """By how much the second target's median service time is longer."""
        return self.service_p50_us[1] - self.service_p50_us[0]


@contextmanager
def reference_server(cpus: tuple[int, ...] | None, work_us: float = 0.0) -> Iterator[str]:
    """A server that does nothing but spin for `work_us` on each request; gives its URL."""
    command = [str(REFERENCE), "--kind", "server", "--work", f"{work_us}us", "http://127.0.0.1"]
    server = start(pinned(command, cpus, machine.taskset()), stdout=subprocess.PIPE)
    try:
        yield server.stdout.readline().decode().strip()
    finally:
        server.stop()


def share(clients: Clients, urls: tuple[str, str], interleave: str, seed: int) -> Shared:
    """Load two targets in one schedule."""
    with tempfile.TemporaryDirectory() as folder:
        out, log, stalls = (Path(folder) / name for name in ("load.json", "requests.log", "stalls.txt"))
        flags = ["-t1", "-c1", f"-R{RATE_RPS}", f"-d{DURATION_S}s", "--warmup", "1s", "--seed", str(seed)]
        named = [f"{name}={url}" for name, url in zip(NAMES, urls, strict=True)]
        flags += chain(*(("--target", each) for each in named))
        flags += ["--interleave", interleave, "--json", str(out), "--requests-log", str(log)]
        command = pinned([str(TRUEPACE), *flags], clients.cpus, machine.taskset())
        with StallWitness(STALL_WITNESS).beside(WATCHED, stalls) as watched:
            subprocess.run(command, capture_output=True, timeout=DURATION_S + _TIMEOUT_S, cwd=ROOT, check=True)
        targets = json.loads(out.read_text())["targets"]
        undisturbed = _undisturbed(log, stalls) if watched[0].cpus else ()

    def of(kind: str, percentile: str) -> tuple[float, float]:
        first, second = (float(target["latency_us"][kind][percentile]) for target in targets)
        return first, second

    return Shared(
        of("response", "p50"), of("response", "p99"), of("service", "p50"), of("service", "p99"), *undisturbed
    )


def _undisturbed(log: Path, stalls: Path) -> tuple[tuple[float, float], float]:
    """p99 of both targets without the machine's stalls, and the share of time left out."""
    requests = read_requests_log(log)
    kept, left_out = outside(requests.frame, read_stall_log(stalls).frame(requests.start_unix_us))
    first, second = (float(kept.loc[kept["target"] == name, "response_us"].quantile(0.99)) for name in NAMES)
    return (first, second), left_out


def _spread(logs: list[float]) -> float:
    """Standard deviation of log ratios, in per cent."""
    return statistics.stdev(logs) * 100


def same_against_itself(clients: Clients, server_cpus: tuple[int, ...] | None) -> Iterator[Row]:
    """One server as both targets: by how much does the ratio of its percentiles spread?

    Where some 1 % of the requests meet a stall of the machine, the p99 of response time lies on the edge between those
    and all others, where few requests are: it then spreads by some 30 % however the requests are shared out.
    """
    found: dict[str, list[Shared]] = {"request": [], "none": []}
    with reference_server(server_cpus) as url:
        for seed in range(REPEATS):
            for interleave, runs in found.items():
                runs.append(share(clients, (url, url), interleave, seed))
    limits = {"log_p50": P50_LIMIT, "log_p99": P99_LIMIT, "log_service_p99": P99_LIMIT}
    left_out = statistics.fmean(run.left_out for run in found["request"])
    if not math.isnan(left_out):
        limits["log_undisturbed_p99"] = P99_LIMIT
    for name, limit in limits.items():
        by_request, apart = (_spread([getattr(run, name) for run in runs]) for runs in found.values())
        percentile = name.removeprefix("log_").replace("_", "-")
        note = f"one after the other {apart:.3g} %"
        if name == "log_undisturbed_p99":
            note += f"; without the machine's stalls, {left_out:.1%} of the time left out"
        yield Row(f"loadgen/aa/{percentile}-spread-vs-limit", "%", (by_request,), (limit,), "<=", 1.0, note)


def planted(clients: Clients, server_cpus: tuple[int, ...] | None) -> Iterator[Row]:
    """A few microseconds of work in one of two servers: how often are they found?"""
    added: list[float] = []
    with reference_server(server_cpus) as plain, reference_server(server_cpus, PLANTED_US) as slower:
        for seed in range(REPEATS):
            added.append(share(clients, (plain, slower), "request", seed).added_us)
    hits = sum(abs(one - PLANTED_US) <= TOLERANCE_US for one in added)
    low, middle, high = min(added), statistics.median(added), max(added)
    note = f"{PLANTED_US:g} us planted, {middle:.2f} us found in the median ({low:.2f} to {high:.2f})"
    wanted = math.ceil(FOUND_SHARE * REPEATS)
    yield Row("loadgen/planted/found-vs-wanted", "repeats", (float(hits),), (float(wanted),), ">=", 1.0, note)


def as_run(result: dict[str, Any]) -> str:
    """Both clocks of a run and what a request cost, for the end of a row."""
    clocks = result["latency_us_by_clock"]
    medians = [f"{clock} clock p50 {times['response']['p50']:.1f} us" for clock, times in clocks.items()]
    used_s = result["generator"]["cpu_user_s"] + result["generator"]["cpu_system_s"]
    return ", ".join([*medians, f"{used_s / max(1, result['requests']['completed']) * 1e6:.2f} us of CPU a request"])
