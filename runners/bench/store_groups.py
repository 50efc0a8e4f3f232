"""The groups of rows of `make bench-store`; the rows of a group are known after its last round.

Each engine runs in Java processes of its own with the same heap, on the same keys. A round measures every engine once
in random order, so that the machine affects all alike; medians over the rounds are compared. A name is an engine and
its variations, as `lab.bench.Engines` reads it.

A block of the lab can't load a store inside a JVM, so the rounds are made here.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runners.bench import programs
from runners.bench.fixture import Course, Goal, Part, Row, remove
from runners.bench.programs import Programs, Puts, Recording, Stall
from runners.design.session import in_random_order
from runners.errors import MeasureError
from runners.trial.activity import stalls_watched

OURS, OURS_LEVELED, OURS_VERIFYING = "lsm", "lsm+leveled", "lsm+verify"
DEFAULTS, TUNED, LEVELDB = "rocksdb", "rocksdb-tuned", "leveldb"
MMAP, UNIVERSAL, PACED = f"{TUNED}+mmap", f"{TUNED}+universal", f"{TUNED}+paced"
OURS_SYNC, TUNED_SYNC = "lsm+sync", f"{TUNED}+sync"
KEY_BYTES, SMALL_BYTES, USUAL_BYTES = 16, 128, 1200
READS = ("getPresent", "getAbsent", "range")
#: A call for a hundred keys; its figure is of one key.
MULTI_GET = "multiGet"
#: It writes, so it comes after the reads of the same store.
MIXED = ("mixed",)
#: A cache of all the data also holds what RocksDB keeps besides the values; a quarter of the data is a small cache.
ALL_OF_IT, CACHE_SHARE = 1.25, 4
WRITERS = (1, 16)
TAIL_RATE_RPS = 20_000
TAILS = {"put-p99.9": 0.999, "put-p99.99": 0.9999}
OPEN_BYTES, OPEN_ROUNDS = 1 << 30, 3
NO_GROWTH = 1.01
#: Memory outside the heap is comparable where all of the heap is resident, and where the second compiler is off,
#: which takes 5 MB more or less by when it ran.
PLAIN_MEMORY = ("-Xms128m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1")
#: How many times as fast as each peer ours has to be, by work.
TUNED_GOALS = {"put": 2.0, "getPresent": 2.0, "getAbsent": 1.5, "range": 3.0, "mixed": 1.5}
SPEEDUPS = {
    DEFAULTS: {"put": 2.0, "getPresent": 3.0, "getAbsent": 10.0, "range": 3.0},
    TUNED: TUNED_GOALS,
    LEVELDB: {"put": 1.0, "getPresent": 1.0, "getAbsent": 1.0, "range": 1.0, "mixed": 1.0},
}
LARGER_THAN_CACHE_SPEEDUP = 1.5
AMPLIFICATION_OF_UNIVERSAL = 1.2
JNI_SHARE = 0.1
#: Seconds for the announcement: starting a program, a put, a byte of it, reading a store before its benchmark.
START_S, PUT_S, BYTE_S, SCAN_S = 1.5, 4e-6, 5e-9, 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured, and for how long."""

    rounds: int = 3
    keys: int = 200_000
    rewrites: int = 2
    warmup_puts: int = 150_000
    quiet_s: float = 5.0
    jmh: tuple[str, ...] = ("-wi", "2", "-w", "600ms", "-i", "3", "-r", "400ms")
    jmh_s: float = 2.4
    leveldb: bool = False
    larger_keys: int = 1_000_000
    larger_works: tuple[str, ...] = ("getPresent",)
    durable_warmup_s: float = 0.5
    durable_s: float = 2.0
    tail_rounds: int = 3
    tail_warmup_s: int = 5
    tail_s: int = 15
    open_bytes: int = OPEN_BYTES

    def put_s(self, puts: int, value_bytes: int) -> float:
        """Return about how many seconds so many puts take."""
        return START_S + puts * (PUT_S + value_bytes * BYTE_S)

    def fill_s(self, puts: int, value_bytes: int) -> float:
        """Return about how many seconds a fill takes."""
        return self.quiet_s + self.put_s(puts + self.warmup_puts, value_bytes)

    def read_s(self, works: int) -> float:
        """Return about how many seconds so many benchmarks of reads take."""
        return works * (self.jmh_s + START_S + SCAN_S)


FULL = Plan(
    rounds=5, keys=1_000_000, warmup_puts=300_000, quiet_s=6.0, jmh=(), jmh_s=6.0, leveldb=True,
    larger_works=("getPresent", "range"), durable_warmup_s=2.0, durable_s=10.0, tail_rounds=7, tail_warmup_s=25,
    tail_s=60,
)  # fmt: skip
#: A test of the benchmark itself: the figures mean nothing.
SMOKE = Plan(
    rounds=1, keys=2_000, rewrites=1, warmup_puts=2_000, quiet_s=0.2,
    jmh=("-f", "0", "-wi", "0", "-i", "1", "-r", "20ms"), jmh_s=0.1, larger_keys=4_000, durable_warmup_s=0.0,
    durable_s=0.1, tail_rounds=1, tail_warmup_s=0, tail_s=1, open_bytes=1 << 20,
)  # fmt: skip


@dataclass(slots=True)
class Samples:
    """Figures by name and engine, one a round."""

    figures: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, name: str, engine: str, value: float) -> None:
        self.figures.setdefault((name, engine), []).append(value)

    def of(self, name: str, engine: str) -> tuple[float, ...]:
        return tuple(self.figures.get((name, engine), ()))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of ours against a peer's, and the goal of their ratio. The peer's figure may have another name."""

    name: str
    figure: str
    unit: str
    ours: str
    peer: str
    goal: Goal
    peer_figure: str = ""

    def row(self, samples: Samples, note: str = "") -> Row | None:
        """Return the row, or None where a side was not measured."""
        ours, peer = samples.of(self.figure, self.ours), samples.of(self.peer_figure or self.figure, self.peer)
        return Row(self.name, self.unit, ours, peer, *self.goal, note) if ours and peer else None


@dataclass(slots=True)
class Bench:
    """The programs, plan, progress, samples and stall witness that all groups share."""

    programs: Programs
    plan: Plan
    course: Course
    say: Callable[[str], None]
    samples: Samples = field(default_factory=Samples)
    cpu: int | None = None
    witness: Path | None = None
    no_witness: str = ""

    def store(self, name: str) -> Path:
        return self.programs.folder / name

    def fill(self, engine: str, keys: int, value_bytes: int, rewrites: int) -> Path:
        """Fill a new store and keep the figures of its puts; return its folder."""
        store, size = self.store(f"{engine}-{value_bytes}"), f"{value_bytes}B"
        remove(store)
        with self.course.part("put", f"fill {engine}, {keys} values of {size}"):
            warmup, quiet_s = self.plan.warmup_puts, self.plan.quiet_s
            filled = self.programs.result("Fill", engine, store, keys, value_bytes, rewrites, warmup, quiet_s)
        self.samples.add(f"put/{size}", engine, filled["put_ns"] / 1e3)
        self.samples.add(f"write-amplification/{size}", engine, filled["written_bytes"] / filled["put_bytes"])
        self.samples.add(f"space/{size}", engine, filled["allocated_bytes"] / 1e6)
        self.samples.add(f"tables/{size}", engine, filled["table_bytes"] / 1e6)
        self.samples.add(f"live/{size}", engine, filled["live_bytes"] / 1e6)
        self.say(f"  {filled}")
        return store

    def read(self, engine: str, store: Path, keys: int, value_bytes: int, works: Sequence[str], prefix: str) -> None:
        """Measure reads of a filled store."""
        with self.course.part("reads", f"read {engine}, {keys} values of {value_bytes}B: {', '.join(works)}"):
            parameters = {"engine": engine, "folder": store, "keys": keys, "valueBytes": value_bytes}
            times_us = self.programs.microseconds(f"lab.bench.Reads.({'|'.join(works)})$", self.plan.jmh, parameters)
        for work, time_us in times_us.items():
            self.samples.add(f"{prefix}{work}/{value_bytes}B", engine, time_us)
        self.say("  " + ", ".join(f"{work} {time_us:.4g} us" for work, time_us in times_us.items()))


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are measured together: the parts of a plan, their engines, and the function that measures the rows."""

    parts: Callable[[Plan], list[Part]]
    engines: Callable[[Plan], Iterable[str]]
    rows: Callable[[Bench], list[Row]]


def label(engine: str) -> str:
    """Return an engine's name in a row, without the size of a cache, which follows from the keys."""
    return re.sub(r"cache=\d+", "cache", engine)


def faster(times: float) -> Goal:
    """Return the goal of a ratio of durations where ours has to be so many times as fast."""
    return "<=", round(1 / times, 4)


def bytes_of(keys: int) -> int:
    """Return the bytes of so many entries with values of the usual size."""
    return keys * (KEY_BYTES + USUAL_BYTES)


def cached(keys: int, share: float) -> str:
    """Return the name of the tuned peer with a cache of this share of the data."""
    return f"{TUNED}+cache={int(bytes_of(keys) * share)}"


# --- values of one size: puts, reads, amplification


def _fills(plan: Plan, value_bytes: int) -> list[str]:
    more = [UNIVERSAL, OURS_LEVELED] if value_bytes == USUAL_BYTES else []
    return [OURS, DEFAULTS, TUNED, *([LEVELDB] if plan.leveldb else []), *more]


def _reads(plan: Plan, value_bytes: int) -> list[tuple[str, str]]:
    reads = [(engine, engine) for engine in _fills(plan, value_bytes)]
    if value_bytes == USUAL_BYTES:
        reads += [(OURS_VERIFYING, OURS), (MMAP, TUNED), (cached(plan.keys, ALL_OF_IT), TUNED)]
    return reads


def _works(engine: str) -> tuple[str, ...]:
    """Return the works that are read: all of an engine proper, two of a variation."""
    if engine == OURS:
        return (*READS, MULTI_GET)
    return READS if "+" not in engine else ("getPresent", "range")


def _mixing(plan: Plan) -> list[str]:
    return [OURS, TUNED, *([LEVELDB] if plan.leveldb else [])]


def _values_parts(plan: Plan, value_bytes: int) -> list[Part]:
    puts = plan.keys * (1 + plan.rewrites)
    round_parts = [Part("put", plan.fill_s(puts, value_bytes)) for _ in _fills(plan, value_bytes)]
    round_parts += [Part("reads", plan.read_s(len(_works(engine)))) for engine, _ in _reads(plan, value_bytes)]
    round_parts += [Part("reads", plan.read_s(len(MIXED))) for _ in _mixing(plan)]
    if value_bytes == SMALL_BYTES:
        round_parts.append(Part("JNI", plan.jmh_s + START_S))
    return round_parts * plan.rounds


def _values_comparisons(plan: Plan, value_bytes: int) -> Iterator[Comparison]:
    size = f"{value_bytes}B"
    pairs = [(OURS, peer, goals) for peer, goals in SPEEDUPS.items()]
    if value_bytes == USUAL_BYTES:
        pairs += [(OURS, peer, TUNED_GOALS) for peer in (MMAP, cached(plan.keys, ALL_OF_IT), UNIVERSAL)]
        pairs.append((OURS_LEVELED, TUNED, TUNED_GOALS))
        # Both check a block at each read.
        pairs.append((OURS_VERIFYING, MMAP, {work: TUNED_GOALS[work] for work in _works(OURS_VERIFYING)}))
    for ours, peer, goals in pairs:
        versus = f"{size}-vs-{label(peer)}"
        prefix = "store" if ours == OURS else f"store/{ours}"
        for work, times in goals.items():
            yield Comparison(f"{prefix}/{work}/{versus}", f"{work}/{size}", "us", ours, peer, faster(times))
        most = AMPLIFICATION_OF_UNIVERSAL if peer == UNIVERSAL else 1.0
        name = f"write-amplification/{size}"
        yield Comparison(f"{prefix}/write-amplification/{versus}", name, "x", ours, peer, ("<=", most))
        yield Comparison(f"{prefix}/space-with-logs/{versus}", f"space/{size}", "MB", ours, peer, ("<=", 1.0))
    yield Comparison(
        f"store/multi-get/{size}-vs-get", f"{MULTI_GET}/{size}", "us", OURS, OURS, ("<=", 1.0), f"getPresent/{size}"
    )
    yield Comparison(
        f"store/space-after-settling/{size}-vs-live", f"tables/{size}", "MB", OURS, OURS, ("<=", 1.15), f"live/{size}"
    )
    if value_bytes != SMALL_BYTES:
        return
    get, less = f"getPresent/{size}", f"getPresent-less-jni/{size}"
    yield Comparison(f"store/jni-vs-getPresent/{size}-of-{TUNED}", "jni", "us", "jni", TUNED, ("<=", JNI_SHARE), get)
    goal = faster(TUNED_GOALS["getPresent"])
    yield Comparison(f"store/getPresent-less-jni/{size}-vs-{TUNED}", get, "us", OURS, TUNED, goal, less)


def _values_rows(bench: Bench, value_bytes: int) -> list[Row]:
    plan, samples = bench.plan, bench.samples
    size = f"{value_bytes}B"
    for number in range(plan.rounds):
        bench.say(f"values of {size}, round {number + 1} of {plan.rounds}")
        order = in_random_order(_fills(plan, value_bytes), "fill", number)
        stores = {engine: bench.fill(engine, plan.keys, value_bytes, plan.rewrites) for engine in order}
        reads = {engine: stores[whose] for engine, whose in _reads(plan, value_bytes)}
        for engine in in_random_order(reads, "read", number):
            bench.read(engine, reads[engine], plan.keys, value_bytes, _works(engine), "")
        for engine in in_random_order(_mixing(plan), "mixed", number):
            bench.read(engine, stores[engine], plan.keys, value_bytes, MIXED, "")
        if value_bytes == SMALL_BYTES:
            with bench.course.part("JNI", "a call through JNI alone"):
                jni = bench.programs.microseconds("lab.bench.Jni.call$", plan.jmh, {})["call"]
            bench.say(f"  {jni:.4g} us")
            samples.add("jni", "jni", jni)
            samples.add(f"getPresent-less-jni/{size}", TUNED, samples.of(f"getPresent/{size}", TUNED)[-1] - jni)
        for store in stores.values():
            remove(store)
    return _rows(samples, _values_comparisons(plan, value_bytes))


def _rows(samples: Samples, comparisons: Iterable[Comparison], note: str = "") -> list[Row]:
    return [row for comparison in comparisons if (row := comparison.row(samples, note)) is not None]


# --- data of several times the cache


def _larger_engines(plan: Plan) -> list[str]:
    return [OURS, OURS_VERIFYING, cached(plan.larger_keys, 1 / CACHE_SHARE)]


def _larger_rows(bench: Bench) -> list[Row]:
    plan = bench.plan
    ours, verifying, peer = engines = _larger_engines(plan)
    # Reading changes nothing, so each is filled once; its puts are no figure of this group.
    apart = replace(bench, samples=Samples())
    stores = {engine: apart.fill(engine, plan.larger_keys, USUAL_BYTES, 0) for engine in (ours, peer)}
    stores[verifying] = stores[ours]
    for number in range(plan.rounds):
        for engine in in_random_order(engines, "larger", number):
            bench.read(engine, stores[engine], plan.larger_keys, USUAL_BYTES, plan.larger_works, "larger-than-cache/")
    for store in (stores[ours], stores[peer]):
        remove(store)
    data_gb = bytes_of(plan.larger_keys) / 1e9
    goal = faster(LARGER_THAN_CACHE_SPEEDUP)
    comparisons = (
        Comparison(f"store{variation}/{figure}-vs-{label(peer)}", figure, "us", engine, peer, goal)
        for engine, variation in ((ours, ""), (verifying, f"/{verifying}"))
        for figure in (f"larger-than-cache/{work}/{USUAL_BYTES}B" for work in plan.larger_works)
    )
    note = f"{data_gb:.3g} GB, {CACHE_SHARE} times the block cache; both have the page cache of the machine"
    return _rows(bench.samples, comparisons, note)


# --- each put on the disk before it returns


def _durable_rows(bench: Bench) -> list[Row]:
    plan = bench.plan
    for number in range(plan.rounds):
        for engine in in_random_order((OURS_SYNC, TUNED_SYNC), "durable", number):
            store = bench.store(engine)
            with bench.course.part("durable", f"durable puts into {engine}, writers: {', '.join(map(str, WRITERS))}"):
                times = plan.durable_warmup_s, plan.durable_s
                result = bench.programs.result("Durable", engine, store, plan.keys, SMALL_BYTES, *times, *WRITERS)
            for writers in WRITERS:
                bench.samples.add(f"durable-put/{writers}-writers", engine, result[f"writers_{writers}_rps"])
            bench.say(f"  {result}")
            remove(store)
    return _rows(
        bench.samples,
        (
            Comparison(f"store/{figure}-vs-{TUNED_SYNC}", figure, "/s", OURS_SYNC, TUNED_SYNC, (">=", 1.0))
            for figure in (f"durable-put/{writers}-writers" for writers in WRITERS)
        ),
    )


# --- the tail of puts while tables are merged


TAIL_ENGINES = (OURS, TUNED, PACED)


def add_tail(samples: Samples, engine: str, puts: Puts, stalls: Sequence[Stall]) -> npt.NDArray[np.bool_]:
    """Keep the percentiles of one run, with and without puts that stalls of the core delayed; return their mask."""
    delayed = programs.delayed(puts, stalls)
    if delayed.all():
        raise MeasureError("puts while merging", "the core stalled all the time", "run on a quiet machine")
    for name, share in TAILS.items():
        samples.add(f"{name}-while-merging", engine, programs.percentile(puts.response_us[~delayed], share))
        samples.add(f"{name}-call-while-merging", engine, programs.percentile(puts.service_us[~delayed], share))
        samples.add(f"{name}-with-stalls-while-merging", engine, programs.percentile(puts.response_us, share))
    samples.add("left-out", engine, float(np.mean(delayed)))
    samples.add("longest-stall", engine, max((stall.late_ns for stall in stalls), default=0) / 1e6)
    return delayed


def tail_note(samples: Samples, peer: str, no_witness: str) -> str:
    """Return what was left out of ours and of the peer's puts, in words."""
    if no_witness:
        return f"nothing left out, no stall witness: {no_witness}"
    share, longest = (
        [statistics.median(samples.of(figure, engine)) for engine in (OURS, peer)]
        for figure in ("left-out", "longest-stall")
    )
    return (
        f"left out where the core stalled: {share[0]:.2%} of ours, {share[1]:.2%} of the peer's, longest "
        f"{longest[0]:.2g} and {longest[1]:.2g} ms"
    )


def _tail_run(bench: Bench, engine: str) -> None:
    plan, records, late = bench.plan, bench.store("puts"), bench.store("stalls.txt")
    store = bench.store(engine)
    cpu = -1 if bench.cpu is None else bench.cpu
    arguments = (plan.keys, USUAL_BYTES, TAIL_RATE_RPS, plan.tail_warmup_s, plan.tail_s, cpu, records)
    recording = Recording(bench.programs.jdk, bench.programs.folder)
    with bench.course.part("tail", f"put into {engine} while it merges"):
        with stalls_watched(late, [cpu]) if bench.witness else nullcontext():
            result = bench.programs.result("Tail", engine, store, *arguments, flags=recording.flags())
        events = recording.take()
    stalls = programs.read_stalls(late) if bench.witness else []
    puts = programs.read_puts(records)
    stalls = [stall for stall in stalls if puts.due_ns[0] <= stall.woke_ns <= puts.returned_ns[-1]]
    delayed = add_tail(bench.samples, engine, puts, stalls)
    stalled_ms = sum(stall.late_ns for stall in stalls) / 1e6
    bench.say(f"  {result}; the core stalled {len(stalls)} times, {stalled_ms:.3g} ms in all")
    bench.say(f"  of {engine} {programs.line(programs.attribute(puts, delayed, events))}")
    records.unlink()
    remove(store)


def _tail_rows(bench: Bench) -> list[Row]:
    for number in range(bench.plan.tail_rounds):
        for engine in in_random_order(TAIL_ENGINES, "tail", number):
            _tail_run(bench, engine)
    rows: list[Row] = []
    for peer in TAIL_ENGINES[1:]:
        without = tail_note(bench.samples, peer, bench.no_witness)
        for name in TAILS:
            for how, note in (("", without), ("-call", without), ("-with-stalls", "nothing left out")):
                figure = f"{name}{how}-while-merging"
                comparison = Comparison(f"store/{figure}-vs-{peer}", figure, "us", OURS, peer, ("<=", 1.0))
                rows += _rows(bench.samples, [comparison], note)
    return rows


# --- opening


def _open_keys(plan: Plan) -> dict[str, int]:
    whole = plan.open_bytes // (KEY_BYTES + USUAL_BYTES)
    return {"quarter": whole // 4, "whole": whole}


def _open_rows(bench: Bench) -> list[Row]:
    """Measure how long opening 1 GiB takes, and whether it takes more memory than opening a quarter of it."""
    samples, stores = bench.samples, {}
    apart = replace(bench, samples=Samples())  # its puts are no figure of this group
    for name, keys in _open_keys(bench.plan).items():
        stores[name] = apart.fill(OURS, keys, USUAL_BYTES, 0).rename(bench.store(f"open-{name}")), keys
    for name in chain.from_iterable(in_random_order(stores, "open", number) for number in range(OPEN_ROUNDS)):
        with bench.course.part("open", f"open a {name} GiB" if name == "quarter" else "open 1 GiB"):
            opened, resident = (
                bench.programs.result("Open", OURS, *stores[name], flags=flags) for flags in ((), PLAIN_MEMORY)
            )
        samples.add(f"open/{name}", OURS, opened["open_s"])
        samples.add(f"off-heap/{name}", OURS, resident["off_heap_bytes"] / 1e6)
        bench.say(f"  {opened['open_s']} s, outside the heap {resident['off_heap_bytes']} B")
    for folder, _ in stores.values():
        remove(folder)
    opened_s = samples.of("open/whole", OURS)
    whole, quarter = samples.of("off-heap/whole", OURS), samples.of("off-heap/quarter", OURS)
    return [
        Row.within("store/open-1GiB-vs-one-second", "s", opened_s, 1.0),
        Row("store/memory-of-1GiB-vs-a-quarter", "MB", whole, quarter, "<=", NO_GROWTH),
    ]


def _of_values(value_bytes: int) -> Group:
    return Group(
        lambda plan: _values_parts(plan, value_bytes),
        lambda plan: dict.fromkeys([*_fills(plan, value_bytes), *(name for name, _ in _reads(plan, value_bytes))]),
        lambda bench: _values_rows(bench, value_bytes),
    )


GROUPS = {
    "durable": Group(
        lambda plan: [
            Part("durable", START_S + len(WRITERS) * (plan.durable_warmup_s + plan.durable_s))
        ] * (2 * plan.rounds),
        lambda _plan: (OURS_SYNC, TUNED_SYNC), _durable_rows,
    ),
    "128B": _of_values(SMALL_BYTES),
    "1200B": _of_values(USUAL_BYTES),
    "larger": Group(
        lambda plan: [Part("put", plan.fill_s(plan.larger_keys, USUAL_BYTES))] * 2
        + [Part("reads", plan.read_s(len(plan.larger_works)))] * 3 * plan.rounds,
        _larger_engines, _larger_rows,
    ),
    "tail": Group(
        lambda plan: [
            Part("tail", plan.put_s(2 * plan.keys, USUAL_BYTES) + plan.tail_warmup_s + plan.tail_s + 2)
        ] * (len(TAIL_ENGINES) * plan.tail_rounds),
        lambda _plan: TAIL_ENGINES, _tail_rows,
    ),
    "open": Group(
        lambda plan: [
            *(Part("put", plan.fill_s(keys, USUAL_BYTES)) for keys in _open_keys(plan).values()),
            *[Part("open", 2 * (START_S + 1))] * (2 * OPEN_ROUNDS),
        ],
        lambda _plan: (OURS,), _open_rows,
    ),
}  # fmt: skip
