"""`make bench-store`: our store against RocksDB, with the defaults of its Java binding and tuned.

The default form has 200 000 keys and three interleaved rounds. `BENCH=--full` measures a million keys in five rounds,
LevelDB too, and through HTTP; run it in parts with `ROWS=`, such as `ROWS="1200B tail"`. It says how long it takes.
Rows are printed as they are known. Ended by SIGTERM or Ctrl-C it leaves no process and no data. Knees through HTTP are
searched by the lab's executor, which can't load a store inside a JVM.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from runners.analysis.instrument import ENOUGH_ROUNDS
from runners.analysis.knee import Knee
from runners.bench import knee
from runners.bench.fixture import (
    CONNECTIONS,
    WARMUP_S,
    Course,
    Fixture,
    Part,
    Result,
    Row,
    Say,
    ending_in_order,
    fixture,
    keep,
    say,
    scratch,
)
from runners.bench.programs import FLAGS, Programs, find_witness
from runners.bench.store_groups import FULL, GROUPS, SMOKE, Bench, Plan
from runners.design.load import SCRIPTS, Workload, random_gets
from runners.design.session import in_random_order
from runners.errors import ToolError
from runners.process.cpu_placement import usable_cpus
from runners.storage.run_folder import RUNS
from runners.targets.lab_server import RunningServer
from runners.toolchain.build import build_server
from runners.toolchain.tools import require_jdk
from runners.trial import machine
from runners.trial.telemetry import rest_s

STORE_BYTES = 1 << 30
VALUE_BYTES = 1200
KEYS = STORE_BYTES // VALUE_BYTES
OURS, NOOP, NOOP_ALIKE = "lsm", "noop", f"noop-{VALUE_BYTES}B"
NOOP_FLAGS: dict[str, tuple[str, ...]] = {NOOP: (), NOOP_ALIKE: ("--noop-value-bytes", str(VALUE_BYTES))}
#: The peers of each kind of request.
PEERS = {"get": (NOOP, NOOP_ALIKE), "put": (NOOP,)}
#: As many as an interval of 95 % of their ratios takes.
ROUNDS = ENOUGH_ROUNDS
CLOSED_S = 2
SEARCH_S = 26.0  # of loads on each server: four of them
FILL_RPS_LEAST = 3_000
REST_BOUND_S = 60.0
GOAL = 0.9
WORKS = {"get": "get_random.lua", "put": "put_random.lua"}
#: Loads the server of a name in closed loop.
Load = Callable[[str], Result]
#: Searches the knees of the servers of these names in one search, with a seed.
Seek = Callable[[Sequence[str], int], dict[str, Knee]]


def http_rows(work: str, load: Load, seek: Seek, say: Say, rounds: int = ROUNDS) -> list[Row]:
    """Measure one kind of request and return its rows: the knee, and the rate in closed loop, against each peer."""
    servers = (OURS, *PEERS[work])
    knees: list[dict[str, Knee]] = []
    rates_rps: dict[str, list[float]] = {server: [] for server in servers}
    for number in range(rounds):
        say(f"  {work}, round {number + 1} of {rounds}")
        for server in in_random_order(servers, work, number):
            rates_rps[server].append(float(load(server)["achieved_rps"]))
        knees.append(seek(servers, number))
        say(knee.line(knees[-1]))
    rows: list[Row] = []
    for peer in PEERS[work]:
        closed = f"store/http/{work}/closed-loop-vs-{peer}"
        rows += [
            knee.row(f"store/http/{work}/knee-vs-{peer}", knees, OURS, peer, GOAL),
            Row(closed, "/s", tuple(rates_rps[OURS]), tuple(rates_rps[peer]), ">=", GOAL),
        ]
    return rows


def fill(on: Fixture, server: RunningServer, say: Say) -> None:
    """Write every key once and wait until the store rests. Raises ToolError where a PUT fails."""
    flags = ["-n", str(KEYS), "-s", str(SCRIPTS / "fill.lua")]
    target = [*flags, f"{server.url}/v0/entity", "--", str(KEYS), str(VALUE_BYTES)]
    status = on.load(target, KEYS // FILL_RPS_LEAST)["status"]
    if any(not code.startswith("2") for code in status):
        raise ToolError("filling the store", f"it responded with {status}", "free disk space, or read the server's log")
    rested_s = rest_s(server, REST_BOUND_S)
    say(f"  filled with {KEYS} values of {VALUE_BYTES} bytes; at rest after {rested_s} s; {server.status()['store']}")


def sent(work: str) -> Workload:
    """Return the workload of a kind of request."""
    return Workload(work, SCRIPTS / WORKS[work], arguments=(str(KEYS), "1"))


def http_durations_s() -> list[float]:
    """Return about how many seconds each kind of request takes; filling the store counts with the first."""
    durations_s = []
    for work in WORKS:
        servers = dict.fromkeys((OURS, *PEERS[work]), NOOP)
        searched_s = knee.search_block(servers, sent(work), SEARCH_S).planned_s
        durations_s.append(ROUNDS * (len(servers) * (CLOSED_S + WARMUP_S) + searched_s))
    durations_s[0] += random_gets(KEYS, VALUE_BYTES).fill_s()
    return durations_s


def http(on: Fixture, course: Course) -> Iterator[Row]:
    """Measure both kinds of requests through HTTP, and yield their rows."""
    with ExitStack() as running:
        specs = {name: on.spec(name, flags) for name, flags in NOOP_FLAGS.items()}
        specs[OURS] = replace(on.spec(OURS), engine=OURS)
        servers = {name: running.enter_context(on.running(spec)) for name, spec in specs.items()}

        def load(work: str, name: str) -> Result:
            flags = ["-s", str(SCRIPTS / WORKS[work]), f"{servers[name].url}/v0/entity", "--", str(KEYS), "1"]
            return on.load(flags, CLOSED_S, CONNECTIONS)

        def seek(work: str, names: Sequence[str], seed: int) -> dict[str, Knee]:
            up = {name: servers[name] for name in names}
            return knee.knees(knee.search(on, up, sent(work), SEARCH_S, seed, CONNECTIONS))

        for number, work in enumerate(WORKS):
            with course.part("http", f"{work} through HTTP, {CONNECTIONS} connections"):
                if number == 0:
                    fill(on, servers[OURS], course.say)
                rows = http_rows(work, partial(load, work), partial(seek, work), course.say)
            yield from rows


HTTP = "http"


@dataclass(frozen=True, slots=True)
class Request:
    """The plan, groups of rows and folder that a command line gives."""

    plan: Plan
    rows: tuple[str, ...]
    folder: Path

    def parts(self) -> list[Part]:
        """Return the parts of the benchmark, with about how long each takes on two cores."""
        parts = [part for name in self.rows if name in GROUPS for part in GROUPS[name].parts(self.plan)]
        return parts + [Part(HTTP, seconds) for seconds in http_durations_s() if HTTP in self.rows]

    def engines(self) -> list[str]:
        """Return the engines with their variations, each once."""
        names = (engine for name in self.rows if name in GROUPS for engine in GROUPS[name].engines(self.plan))
        return list(dict.fromkeys(names))


def parse(arguments: Sequence[str]) -> Request:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="bench-store", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="a million keys, five rounds, LevelDB, HTTP")
    form.add_argument("--smoke", action="store_true", help="a few keys, to test the harness; the figures mean nothing")
    parser.add_argument("--keys", type=int, help="keys in a store (default: 200000, with --full 1000000)")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default: 3, with --full 5 and 7 for the tail)")
    parser.add_argument("--folder", type=Path, default=RUNS, help="where the stores are made (default: %(default)s)")
    groups = (*GROUPS, HTTP)
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"only these groups of {', '.join(groups)}")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.rows) - set(groups)):
        parser.error(f"{', '.join(unknown)}: there is no such group of rows; choose from {', '.join(groups)}")
    plan = FULL if given.full else SMOKE if given.smoke else Plan()
    if given.keys:
        plan = replace(plan, keys=given.keys)
    if given.rounds:
        plan = replace(plan, rounds=given.rounds, tail_rounds=given.rounds)
    usual = groups if given.full else tuple(name for name in GROUPS if name != "open")
    return Request(plan, tuple(dict.fromkeys(given.rows)) or usual, given.folder.resolve())


def measure(request: Request) -> None:
    """Measure the groups of rows, print each row as it is measured, keep them as JSON."""
    jdk = require_jdk()
    server_sources = build_server(jdk, print)
    facts = machine.facts()
    for warning in machine.noise(facts):
        say(f"Unusual today: {warning['text']} ({warning['remedy']})")
    course = Course(request.parts(), say)
    course.announce()
    configurations: dict[str, dict[str, Any]] = {}
    figures: dict[str, list[float]] = {}

    def measured(bench: Bench) -> Iterator[Row]:
        for name in request.rows:
            if name == HTTP:
                with fixture() as on:
                    yield from http(on, course)
            else:
                yield from GROUPS[name].rows(bench)
        figures.update({f"{figure} {engine}": values for (figure, engine), values in bench.samples.figures.items()})

    with scratch(request.folder) as folder:
        bench = Bench(Programs(jdk, folder), request.plan, course, say)
        if request.engines():
            configurations |= bench.programs.configurations(request.engines())
        for engine, settings in configurations.items():
            say(f"configuration of {engine}: " + " ".join(f"{name}={value}" for name, value in settings.items()))
        if "tail" in request.rows:
            bench.cpu = next(reversed(usable_cpus()), None)
            bench.witness, bench.no_witness = find_witness(bench.cpu, folder)
        keep(
            "store",
            measured(bench),
            machine=facts,
            java=jdk.version,
            flags=FLAGS,
            server_sources=server_sources,
            keys=request.plan.keys,
            rewrites=request.plan.rewrites,
            configurations=configurations,
            took_s=course.took_s,
            figures=lambda: figures,
        )


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; return 0, for figures are no test. A signal ends it with 128 and the signal's number."""
    request = parse(arguments)
    with ending_in_order():
        measure(request)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
