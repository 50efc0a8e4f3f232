"""Rows on the knee of one server by many short steps: how wide is it after a minute, and does it come again?"""

from __future__ import annotations

import random
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from runners.analysis.intervals import Bounded
from runners.analysis.knee_curve import (
    ShortStep,
    curve,
    first_rates,
    next_rates,
    steps_of,
    undisturbed,
)
from runners.bench.fixture import Fixture
from runners.bench.row import Row
from runners.design.workload import SCRIPTS
from runners.process.cpu_placement import usable_cpus
from runners.process.supervisor import pinned
from runners.readers.activity import read_stall_log
from runners.readers.columns import frame
from runners.readers.requests_log import read_requests_log
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.trial import machine
from runners.trial.witness import StallWitness

STEP_S, REST_S = 0.5, 0.5
BATCHES, BATCH = 4, 15  # a minute in all
REST_SHARE = 0.2  # of what a closed loop reached
LIMIT_US = 10_000.0
CONNECTIONS = 16
WARM_S = 8
WIDTH_LIMIT, WITHIN = 0.2, 0.1
_TIMEOUT_S = 60.0


def batch(on: Fixture, target: Sequence[str], rates: Sequence[float], rest_rps: float) -> list[ShortStep]:
    """Offer the rates one after the other, each followed by a rest, in one load under the stall witness."""
    log, stalls = on.folder / "requests.log", on.folder / "stalls.txt"
    offered = ",".join(f"{rps:.0f},{rest_rps:.0f}" for rps in rates)
    length_s = len(rates) * (STEP_S + REST_S)
    flags = ["-t1", f"-c{CONNECTIONS}", "-R", offered, "-d", f"{length_s:g}s", "--requests-log", str(log), *target]
    command = pinned([str(TRUEPACE), *flags], on.generator_cpus, machine.taskset())
    with StallWitness(TRUEPACE.with_name("stall-witness")).beside(usable_cpus(), stalls) as watched:
        subprocess.run(command, capture_output=True, timeout=length_s + _TIMEOUT_S, cwd=ROOT, check=True)
    requests = read_requests_log(log)
    seen = read_stall_log(stalls) if watched[0].cpus else None
    stood = seen.frame(requests.start_unix_us) if seen is not None else frame("stalls", [])
    return steps_of(requests.frame, stood, rates, STEP_S, STEP_S + REST_S)


def search(on: Fixture, target: Sequence[str], closed_rps: float, seed: int) -> tuple[Bounded, float]:
    """Search the knee of a warm server for a minute; gives it and the share of steps left out for the machine."""
    chance = random.Random(seed)  # noqa: S311 - an order, no secret
    steps: list[ShortStep] = []
    rates = first_rates(closed_rps, BATCH)
    for _ in range(BATCHES):
        steps += batch(on, target, chance.sample(rates, len(rates)), REST_SHARE * closed_rps)
        kept, left_out = undisturbed(steps)
        found = curve(kept or steps, LIMIT_US)
        rates = next_rates(found, BATCH)
    return found.knee, left_out


def rows(on: Fixture, engine: str, repeats: int) -> Iterator[Row]:
    """Search the knee of one engine again and again, on one warm server."""
    spec = replace(on.spec(f"knee-{engine}"), engine=engine)
    found: list[Bounded] = []
    with on.running(spec) as server:
        target = [f"{server.url}/v0/entity?id=1"] if engine == "noop" else ["-s", str(SCRIPTS / "put.lua"), server.url]
        on.load(target, WARM_S, CONNECTIONS)
        for number in range(repeats):
            closed_rps = float(on.load(target, 2, CONNECTIONS)["achieved_rps"])
            began = time.monotonic()
            knee, left_out = search(on, target, closed_rps, number)
            found.append(knee)
            print(
                f"  {engine} {number + 1} of {repeats}: {knee.value:,.0f}/s ({knee.low:,.0f} to {knee.high:,.0f}), "
                f"{left_out:.0%} of the steps left out, closed loop {closed_rps:,.0f}/s, "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
    middle = statistics.median(each.value for each in found)
    widths = tuple(100 * (each.high / each.low - 1) for each in found)
    within = sum(abs(each.value / middle - 1) <= WITHIN for each in found)
    yield Row(f"power/knee-{engine}/width-vs-limit", "%", widths, (100 * WIDTH_LIMIT,) * repeats, "<=", 1.0)
    note = f"median {middle:,.0f}/s"
    yield Row(f"power/knee-{engine}/within-10%", "searches", (float(within),), (float(repeats),), ">=", 1.0, note)
