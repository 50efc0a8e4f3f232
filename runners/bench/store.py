"""`make bench-store`: our store beside RocksDB, with the defaults of its Java binding and tuned, and LevelDB.

Each engine runs in Java processes of its own with the same heap, on the same keys. A round measures every engine once,
so that what the machine does to one it does to all; medians over the rounds are compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runners.bench import store_http
from runners.bench.course import Course, Part
from runners.bench.row import Row, keep
from runners.bench.stand import stand
from runners.errors import ToolError
from runners.launch.build import build_server
from runners.launch.toolchain import SERVER_JAVA, Jdk, require_jdk
from runners.measure import machine

DIST = SERVER_JAVA / "bench" / "target" / "dist"
FLAGS = ("-Xmx128m", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")
OURS, DEFAULTS, TUNED, LEVELDB = "lsm", "rocksdb", "rocksdb-tuned", "leveldb"
ENGINES = (OURS, DEFAULTS, TUNED, LEVELDB)
READS = ("getPresent", "getAbsent", "range", "mixed")
#: Large enough that both engines merge within the time, and long enough that one stop of the machine is not the figure.
TAIL_VALUE_BYTES = 1200
TAIL_RATE_RPS = 20_000
TAIL_DURATION_S = 60
TAIL_WARMUP_S = 45
TAIL_ROUNDS = 3
TAILS = {
    "put-p99.99-while-compacting": "p99.99_us",
    "put-p99.9-while-compacting": "p99.9_us",
    "put-call-p99.99-while-compacting": "call_p99.99_us",
}
OPEN_VALUE_BYTES = 1200
#: For telling the memory beside the heap: all of that is resident, and the second compiler, which takes 5 MB more or
#: less by when it ran, is off.
PLAIN_MEMORY = ("-Xms128m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1")
OPEN_ROUNDS = 3
NO_GROWTH = 1.01
SPACE = "store/space-after-settling/{size}-vs-live"
_TIMEOUT_S = 900
#: For telling how long it takes: a fill beside its puts (start, warm-up, settling), a put and a byte of it, one of the
#: JMH benchmarks.
FILL_S, PUT_S, BYTE_S, READ_S = 12.0, 5e-6, 10e-9, 8.0
WARMUP_PUTS = 300_000
Goal = tuple[Literal["<=", ">="], float]
#: How many times as fast as each peer, by work.
SPEEDUPS = {
    "put": {DEFAULTS: 2.0, TUNED: 2.0, LEVELDB: 1.0},
    "getPresent": {DEFAULTS: 3.0, TUNED: 2.0, LEVELDB: 1.0},
    "getAbsent": {DEFAULTS: 10.0, TUNED: 1.5, LEVELDB: 1.0},
    "range": {DEFAULTS: 3.0, TUNED: 3.0, LEVELDB: 1.0},
    "mixed": {TUNED: 1.5, LEVELDB: 1.0},
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how often."""

    rounds: int
    keys: int
    values_bytes: tuple[int, ...]
    rewrites: int
    works: tuple[str, ...]
    http: tuple[str, ...] = tuple(store_http.WORKS)
    http_rounds: int = store_http.ROUNDS


@dataclass(slots=True)
class Samples:
    """Figures by name and engine, one a round."""

    figures: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, name: str, engine: str, value: float) -> None:
        self.figures.setdefault((name, engine), []).append(value)

    def of(self, name: str, engine: str) -> tuple[float, ...]:
        return tuple(self.figures.get((name, engine), ()))


@dataclass(frozen=True, slots=True)
class Bench:
    """Starts the Java programs of the bench module."""

    jdk: Jdk
    folder: Path

    def _run(self, program: Sequence[str], flags: Sequence[str] = ()) -> str:
        command = [str(self.jdk.java), *FLAGS, *flags, "-cp", f"{DIST}/*", *program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode != 0:
            last = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
            raise ToolError(program[0], f"it ended with {done.returncode}:\n{last}", "read the lines above")
        return done.stdout

    def result(self, name: str, *arguments: object, flags: Sequence[str] = ()) -> dict[str, Any]:
        """The line of JSON that a program prints last."""
        lines = self._run([f"lab.bench.{name}", *map(str, arguments)], flags).splitlines()
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def reads(self, engine: str, store: Path, plan: Plan, value_bytes: int) -> dict[str, float]:
        """Nanoseconds for each of the JMH benchmarks."""
        out = self.folder / "jmh.json"
        works = [work for work in READS if work in plan.works]
        parameters = {"engine": engine, "folder": str(store), "keys": plan.keys, "valueBytes": value_bytes}
        flags = [part for name, value in parameters.items() for part in ("-p", f"{name}={value}")]
        pattern = f"lab.bench.Reads.({'|'.join(works)})$"
        self._run(["org.openjdk.jmh.Main", pattern, "-foe", "true", "-rf", "json", "-rff", str(out), *flags])
        return {
            run["benchmark"].rsplit(".", 1)[1]: float(run["primaryMetric"]["score"])
            for run in json.loads(out.read_text())
        }

    def store(self, engine: str, value_bytes: int) -> Path:
        return self.folder / f"{engine}-{value_bytes}"


def _fill_s(puts: int, value_bytes: int) -> float:
    return FILL_S + (puts + WARMUP_PUTS) * (PUT_S + value_bytes * BYTE_S)


def parts(plan: Plan) -> list[Part]:
    """What a plan consists of, and about how long each part takes on two cores."""
    one: list[Part] = []
    reads = [work for work in READS if work in plan.works]
    if {"put", *READS, "tail"} & set(plan.works):
        for value_bytes in plan.values_bytes:
            one += [Part("put", _fill_s(plan.keys * (1 + plan.rewrites), value_bytes))] * len(ENGINES)
            one += [Part("reads", READ_S * len(reads))] * len(ENGINES) if reads else []
            if "tail" in plan.works and value_bytes == TAIL_VALUE_BYTES:
                one += [Part("tail", TAIL_WARMUP_S + TAIL_DURATION_S)] * (2 * TAIL_ROUNDS)
    found = one * plan.rounds
    if "open" in plan.works:
        puts = (1 << 30) // (16 + OPEN_VALUE_BYTES)
        found.append(Part("open", _fill_s(puts, OPEN_VALUE_BYTES) + _fill_s(puts // 4, OPEN_VALUE_BYTES)))
    if "http" in plan.works:
        found += [Part("http", seconds) for seconds in store_http.durations_s(plan.http, plan.http_rounds)]
    return found


def _round(bench: Bench, plan: Plan, samples: Samples, course: Course) -> None:
    for value_bytes in plan.values_bytes:
        for engine in ENGINES:
            store = bench.store(engine, value_bytes)
            shutil.rmtree(store, ignore_errors=True)
            size = f"{value_bytes}B"
            with course.part("put", f"fill {engine}, values of {size}"):
                filled = bench.result("Fill", engine, store, plan.keys, value_bytes, plan.rewrites)
            samples.add(f"put/{size}", engine, filled["put_ns"] / 1e3)
            samples.add(f"write-amplification/{size}", engine, filled["written_bytes"] / filled["put_bytes"])
            samples.add(f"disk/{size}", engine, filled["disk_bytes"] / 1e6)
            samples.add(f"live/{size}", engine, filled["live_bytes"] / 1e6)
            print(f"  filled {engine} {size}: {filled}", flush=True)
        if set(READS) & set(plan.works):
            for engine in ENGINES:
                with course.part("reads", f"read {engine}, values of {value_bytes}B"):
                    found = bench.reads(engine, bench.store(engine, value_bytes), plan, value_bytes)
                for work, nanoseconds in found.items():
                    samples.add(f"{work}/{value_bytes}B", engine, nanoseconds / 1e3)
                print(f"  read {engine} {value_bytes}B: {found}", flush=True)
        if "tail" in plan.works and value_bytes == TAIL_VALUE_BYTES:
            for engine in (OURS, TUNED) * TAIL_ROUNDS:
                store = bench.store(engine, value_bytes)
                with course.part("tail", f"put into {engine} while it merges"):
                    tail = bench.result("Tail", engine, store, plan.keys, value_bytes, TAIL_RATE_RPS, TAIL_DURATION_S)
                for name, figure in TAILS.items():
                    samples.add(name, engine, tail[figure])
                print(f"  tail {tail}", flush=True)


def _opening(bench: Bench, samples: Samples) -> None:
    """1 GiB beside a quarter of it: how long opening takes, and what grows with the data."""
    stores = {}
    for parts, name in ((4, "quarter"), (1, "whole")):
        keys = (1 << 30) // (16 + OPEN_VALUE_BYTES) // parts
        stores[name] = bench.folder / f"open-{name}", keys
        bench.result("Fill", OURS, *stores[name], OPEN_VALUE_BYTES, 0)
    for name, store in list(stores.items()) * OPEN_ROUNDS:
        opened, resident = (bench.result("Open", OURS, *store, flags=flags) for flags in ((), PLAIN_MEMORY))
        samples.add(f"open/{name}", OURS, opened["open_s"])
        samples.add(f"beside-heap/{name}", OURS, resident["beside_heap_bytes"] / 1e6)
        print(f"  opened {name}: {opened['open_s']} s, beside the heap {resident['beside_heap_bytes']} B", flush=True)
    for folder, _ in stores.values():
        shutil.rmtree(folder)


def rows(samples: Samples, plan: Plan) -> list[Row]:
    """Every comparison of which both sides were measured."""
    found: list[Row | None] = []
    for size in (f"{value}B" for value in plan.values_bytes):
        for work, peers in SPEEDUPS.items():
            for peer, times in peers.items():
                name = f"{work}/{size}"
                # nanoseconds of ours over theirs: to be so many times as fast is to take so small a part of the time
                found.append(_row(samples, f"store/{name}-vs-{peer}", name, "us", peer, ("<=", round(1 / times, 4))))
        amplification = f"write-amplification/{size}"
        for peer in (DEFAULTS, TUNED, LEVELDB):
            found.append(_row(samples, f"store/{amplification}-vs-{peer}", amplification, "x", peer, ("<=", 1.0)))
        disk, live = samples.of(f"disk/{size}", OURS), samples.of(f"live/{size}", OURS)
        found.append(Row(SPACE.format(size=size), "MB", disk, live, "<=", 1.15) if disk else None)
    for tail in TAILS:
        found.append(_row(samples, f"store/{tail}-vs-{TUNED}", tail, "us", TUNED, ("<=", 1.0)))
    opened = samples.of("open/whole", OURS)
    if opened:
        found.append(Row("store/open-1GiB-vs-one-second", "s", opened, (1.0,) * len(opened), "<=", 1.0))
        whole, quarter = samples.of("beside-heap/whole", OURS), samples.of("beside-heap/quarter", OURS)
        found.append(Row("store/memory-of-1GiB-vs-a-quarter", "MB", whole, quarter, "<=", NO_GROWTH))
    return [row for row in found if row is not None]


def _row(samples: Samples, name: str, figure: str, unit: str, peer: str, goal: Goal) -> Row | None:
    ours, theirs = samples.of(figure, OURS), samples.of(figure, peer)
    return Row(name, unit, ours, theirs, *goal) if ours and theirs else None


def _plan(arguments: Sequence[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="bench-store", description=__doc__)
    parser.add_argument("--full", action="store_true", help="five rounds instead of one")
    parser.add_argument("--keys", type=int, default=1_000_000, help="keys in a store (default: %(default)s)")
    parser.add_argument("--values", default="128,1200", help="bytes of a value (default: %(default)s)")
    parser.add_argument("--rewrites", type=int, default=2, help="times that all keys are written again (default: 2)")
    works = ",".join(("put", *READS, "tail", "open", "http"))
    parser.add_argument("--works", default=works, help="what to measure (default: %(default)s)")
    kinds = ",".join(store_http.WORKS)
    parser.add_argument("--http", default=kinds, help="requests to measure through HTTP (default: %(default)s)")
    parser.add_argument(
        "--http-rounds", type=int, default=store_http.ROUNDS, help="rounds through HTTP (default: %(default)s)"
    )
    given = parser.parse_args(arguments)
    values = tuple(int(value) for value in given.values.split(","))
    asked = tuple(given.works.split(",")), tuple(given.http.split(","))
    if unknown := set(asked[1]) - set(store_http.WORKS):
        parser.error(f"--http: {', '.join(sorted(unknown))} is not one of {kinds}")
    return Plan(5 if given.full else 1, given.keys, values, given.rewrites, *asked, given.http_rounds)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    plan = _plan(arguments)
    jdk = require_jdk()
    build = build_server(jdk, print)
    facts = machine.facts()
    for warning in machine.noise(facts):
        print(f"Unusual today: {warning['text']} ({warning['remedy']})")
    samples = Samples()
    course = Course(parts(plan), lambda line: print(line, flush=True))
    course.announce()
    with tempfile.TemporaryDirectory(prefix="bench-store-") as name:
        bench = Bench(jdk, Path(name))
        for number in range(plan.rounds if {"put", *READS, "tail"} & set(plan.works) else 0):
            print(f"round {number + 1} of {plan.rounds}", flush=True)
            _round(bench, plan, samples, course)
        if "open" in plan.works:
            with course.part("open", "fill and open 1 GiB, and a quarter of it"):
                _opening(bench, samples)
    found = rows(samples, plan)
    if "http" in plan.works:
        with stand() as on:
            found += store_http.rows(on, course, plan.http, plan.http_rounds)
    for row in found:
        print(row.line())
    about = {
        "machine": facts,
        "java": jdk.version,
        "flags": FLAGS,
        "server_sources": build.source_hash,
        "keys": plan.keys,
        "rewrites": plan.rewrites,
        "took_s": course.took_s(),
        "figures": {f"{figure} {engine}": values for (figure, engine), values in samples.figures.items()},
    }
    print(f"kept in {keep('store', found, about)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
