"""`make bench-store`: our store beside RocksDB, with the defaults of its Java binding and tuned.

The default form takes less than 20 minutes: 200 000 keys, three interleaved rounds. `BENCH=--full` measures a million
keys in five rounds, LevelDB too, and through HTTP; it takes hours, so run it in parts with `ROWS=`, such as
`ROWS="1200B tail"`. Rows are printed as they are known. Ended by SIGTERM or Ctrl-C it leaves no process and no data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runners.bench import store_http
from runners.bench.fixture import fixture
from runners.bench.programs import FLAGS, Programs, ending_in_order, scratch
from runners.bench.row import Course, NoFigure, Part, Row, keep, say
from runners.bench.stalls import find_witness
from runners.bench.store_groups import FULL, GROUPS, SMOKE, Bench, Plan
from runners.process.cpu_placement import usable_cpus
from runners.storage.run_folder import RUNS
from runners.toolchain.build import build_server
from runners.toolchain.tools import require_jdk
from runners.trial import machine

HTTP = "http"


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    plan: Plan
    rows: tuple[str, ...]
    folder: Path

    def parts(self) -> list[Part]:
        """List what it consists of, and about how long each part takes on two cores."""
        found = [part for name in self.rows if name in GROUPS for part in GROUPS[name].parts(self.plan)]
        return found + [Part(HTTP, seconds) for seconds in store_http.durations_s() if HTTP in self.rows]

    def engines(self) -> list[str]:
        """List the engines with their variations, each once."""
        names = (engine for name in self.rows if name in GROUPS for engine in GROUPS[name].engines(self.plan))
        return list(dict.fromkeys(names))


def parse(arguments: Sequence[str]) -> Request:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="bench-store", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="a million keys, five rounds, LevelDB, HTTP")
    form.add_argument("--smoke", action="store_true", help="a few keys, to test the harness; the figures mean nothing")
    parser.add_argument("--keys", type=int, help="keys in a store (default: 200000, with --full 1000000)")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default: 3, with --full 5 and 7 for the tail)")
    parser.add_argument("--folder", type=Path, default=RUNS, help="where the stores are made (default: %(default)s)")
    every = (*GROUPS, HTTP)
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"only these groups of {', '.join(every)}")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.rows) - set(every)):
        parser.error(f"{', '.join(unknown)}: there is no such group of rows; choose from {', '.join(every)}")
    plan = FULL if given.full else SMOKE if given.smoke else Plan()
    if given.keys:
        plan = replace(plan, keys=given.keys)
    if given.rounds:
        plan = replace(plan, rounds=given.rounds, tail_rounds=given.rounds)
    usual = every if given.full else tuple(name for name in GROUPS if name != "open")
    return Request(plan, tuple(dict.fromkeys(given.rows)) or usual, given.folder.resolve())


def _show(engine: str, settings: dict[str, Any]) -> str:
    return f"configuration of {engine}: " + " ".join(f"{name}={value}" for name, value in settings.items())


def measure(request: Request) -> None:
    """Measure the groups of rows, print each as it is known, keep them as JSON."""
    jdk = require_jdk()
    build = build_server(jdk, print)
    facts = machine.facts()
    for warning in machine.noise(facts):
        say(f"Unusual today: {warning['text']} ({warning['remedy']})")
    course = Course(request.parts(), say)
    course.announce()
    found: list[Row | NoFigure] = []
    with scratch(request.folder) as folder:
        bench = Bench(Programs(jdk, folder), request.plan, course, say)
        configurations = bench.programs.configurations(request.engines()) if request.engines() else {}
        for engine, settings in configurations.items():
            say(_show(engine, settings))
        if "tail" in request.rows:
            bench.cpu = next(reversed(usable_cpus()), None)
            bench.witness, bench.no_witness = find_witness(bench.cpu, folder)
        for name in request.rows:
            rows: Sequence[Row | NoFigure]
            if name == HTTP:
                with fixture() as on:
                    rows = store_http.rows(on, course)
            else:
                rows = GROUPS[name].rows(bench)
            for row in rows:
                say(row.line())
            found += rows
        figures = {f"{figure} {engine}": values for (figure, engine), values in bench.samples.figures.items()}
    about = {
        "machine": facts,
        "java": jdk.version,
        "flags": FLAGS,
        "server_sources": build.source_hash,
        "keys": request.plan.keys,
        "rewrites": request.plan.rewrites,
        "configurations": configurations,
        "took_s": course.took_s(),
        "figures": figures,
    }
    print(f"kept in {keep('store', found, about)}")


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark: 0 whatever the figures, for it is no test; 128 and the signal's number if it was ended."""
    request = parse(arguments)
    with ending_in_order():
        measure(request)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
