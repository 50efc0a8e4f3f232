"""Set the stores side by side: what each achieves, writes and takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import Block, FixedRate
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import AroundTheKnee, LadderSize, WarmServer
from runners.design.load import Starts, Workload, lasting, random_gets, sized_puts
from runners.design.objective import Objective
from runners.design.setting import REFERENCE_STORE, STORES, Setting
from runners.experiments.question_table import answered_by
from runners.results.answer import Asked, either

VALUE_BYTES = 1_200
#: Keys of the store, by size: with their values 1 GiB in the full one.
KEYS = {"smoke": 2_000, "quick": 16_000, "published": 100_000, "full": 860_000}
#: How often the fill writes each key again, so that there is something to merge and to drop.
REWRITES = 2
#: A store on the heap needs one that holds the whole of it.
MEMORY_HEAP_MB = {"full": 4_096}
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (), 1.0),
    "quick": LadderSize(0.6, 0.3, 0.15, (), (), 1.5, precision=0.15, starts=3),
    "published": LadderSize(1, 0.5, 0.5, (0.7,), (), 10.0, precision=0.1, starts=3),
    "full": LadderSize(6, 0.5, 2.0, (0.5, 0.7, 0.9, 1.0, 1.1), (0.7,), 60.0, starts=3),
}
#: Of the loads at one rate, in seconds: warm-up and length, their floor, and a closed loop before.
LOADS = lasting(
    smoke=(0.3, 1.0, 1.0, 0.7), quick=(0.5, 2.0, 3.1, 0.7), published=(5.0, 60.0, 20.0, 5.0),
    full=(15.0, 120.0, 60.0, 15.0),
)  # fmt: skip
#: Of these two by one schedule, and the difference of medians that would matter. Smoke answers nothing: one start.
COMPARED = {"smoke": ("get",), "quick": ("put", "get"), "published": ("put", "get"), "full": ("put", "get")}
STARTS = {
    "smoke": Starts(1, 0.1, 0.5, 0.3), "quick": Starts(3, 0.3, 2.0, 0.4), "published": Starts(5, 1.0, 8.0, 2.0),
    "full": Starts(6, 2.0, 15.0, 5.0),
}  # fmt: skip
MARGIN = 0.03
#: Stores that are read in the quick size, as a fill goes before, and that are written to: no question asks for others.
READ = (REFERENCE_STORE, "lsm")
WRITTEN = (*READ, "rocksdb-tuned", "leveldb", "files", "noop")
#: Two stores whose profiles are set against each other, at one rate.
PROFILED = (STORES["rocksdb"], STORES["lsm"])


def fitting(chosen: list[Setting], workload: Workload, size: str) -> list[Setting]:
    """Return the stores whose knees a size has time for; where it has time for none that was chosen, all of them."""
    if size != "quick":
        return chosen
    fit = [each for each in chosen if each.name in (READ if workload.filled_keys else WRITTEN)]
    return fit or chosen


def settings(names: str, size: str) -> list[Setting]:
    """Return the stores of a comma-separated list, in its order."""
    chosen = [STORES[name] for name in names.split(",")]
    heap_mb = MEMORY_HEAP_MB.get(size, 0)
    return [replace(each, heap_mb=heap_mb) if each.engine == "memory" else each for each in chosen]


def loads(size: str) -> tuple[Workload, Workload]:
    """PUT of random keys of a fixed set, and GET of keys that are all there, each written several times before."""
    return sized_puts(KEYS[size], VALUE_BYTES), random_gets(KEYS[size], VALUE_BYTES, rewrites=REWRITES)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the knees of the stores in one search, PUT and then GET; then two of them at one rate and by one
    schedule.
    """
    size, connections = str(asked["size"]), int(asked["connections"])
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    chosen, found = settings(str(asked["stores"]), size), list[Block]()
    puts, gets = loads(size)
    for workload, keys in (
        (puts, ("put", "leveldb", "nothing", "files", "tuned", "memory")),
        (gets, ("get", "written", "room", "memory")),
    ):
        measured = fitting(chosen, workload, size)
        servers = [WarmServer(setting, workload, LOADS[size]) for setting in measured]
        title = f"{workload.label}: the knees of all stores, by slices in random order"
        knees = AroundTheKnee(LADDERS[size], objective, connections, questions=keys)
        found += knees.of_each(workload.name, title, servers)
    for workload in (puts, gets):
        if profiled := tuple(each for each in PROFILED if each in chosen):
            fixed = FixedRate(
                f"profiled-{workload.name}", f"{workload.label} of two stores at one rate, with profiles", profiled,
                workload, LOADS[size], connections=connections, profile=listed(asked["profile"]),
                questions=("median",),
            )  # fmt: skip
            found.append(fixed)
            if len(profiled) > 1 and workload.name in COMPARED[size]:
                name, plan_s = f"{fixed.name}-compared", STARTS[size]
                found.append(fixed.compared(name, plan_s, MARGIN, ("median",)))
    return tuple(found)


EXPERIMENT = Experiment(
    "06", "06_storage_engines.ipynb", "The stores side by side: what each sustains, writes and takes", "",
    (
        *without(LADDER, "rate_rps"),
        Parameter("stores", ",".join(STORES), "stores to measure", choices=tuple(STORES), several=True),
        Parameter.connections(64, "connections of every load"),
    ),
    blocks,
    own_servers="it compares the storage engines of the lab's server",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """Return what is asked of the stores, and what answers it."""
    from runners.results import comparisons
    from runners.results.answer import Unit
    from runners.results.knees import knees_apart
    from runners.results.loads import medians_apart
    from runners.results.stores import AMPLIFICATION, MEMORY, less

    pair = ("lsm", "rocksdb")
    return answered_by("06", {
        "put": knees_apart("put", "lsm", "rocksdb"),
        "get": knees_apart("get", "lsm", "rocksdb"),
        "leveldb": knees_apart("put", "lsm", "leveldb"),
        "nothing": knees_apart("put", "noop", "lsm"),
        "files": knees_apart("put", "files", "rocksdb"),
        "tuned": knees_apart("put", "rocksdb-tuned", "rocksdb"),
        "median": either(
            comparisons.median_differs({"profiled-put-compared": "PUT", "profiled-get-compared": "GET"}, "lsm"),
            medians_apart(("put", "get"), "rocksdb", "lsm"),
        ),
        "written": less("bytes written per byte given", Unit.FACTOR, lambda store: store.written, *pair, AMPLIFICATION),
        "room": less("bytes on the disk per live byte", Unit.FACTOR, lambda store: store.room, *pair, AMPLIFICATION),
        "memory": less("memory of its own", Unit.SIZE_BYTES, lambda store: store.rss["anon"], *pair, MEMORY),
    })  # fmt: skip
