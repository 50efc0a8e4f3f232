"""Compare the stores: the highest rate that they achieve, the bytes that they write, the disk and memory they take."""

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import Block, FixedRate
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import WarmServer
from runners.design.load import Workload, random_gets, sized_puts
from runners.design.setting import REFERENCE_STORE, STORES, Setting
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import ladders, plan_for, sizes
from runners.results.answer import Asked, Verdict, either

VALUE_BYTES = 1_200
#: The number of keys in the store, by size: in `full`, keys and values take 1 GiB.
KEYS = {"smoke": 2_000, "quick": 16_000, "published": 100_000, "full": 860_000}
#: How often the fill writes each key again, so that there is something to merge and to drop.
REWRITES = 2
#: The heap of the store in memory, which must hold all keys and values, by size.
MEMORY_HEAP_MB = {"full": 4_096}
LADDERS = ladders("06")
LOADS = sizes("06", "loads")
#: By size of run, loads that compare two stores by one schedule; and the relative difference of medians that matters.
COMPARED = sizes("06", "compared")
MARGIN = 0.03
#: The stores that the quick size reads (after a fill), and the stores that it writes: no question is on other stores.
READ = (REFERENCE_STORE, "lsm")
WRITTEN = (*READ, "rocksdb-tuned", "leveldb", "files", "noop")
#: Two stores whose profiles at one rate are compared.
PROFILED = (STORES["rocksdb"], STORES["lsm"])


def fitting(chosen: list[Setting], workload: Workload, size: str) -> list[Setting]:
    """Return the chosen stores whose knee search fits into a run of this size; if none of them does, all of them."""
    names = STORES if size != "quick" else READ if workload.filled_keys else WRITTEN
    return [store for store in chosen if store.name in names] or chosen


def settings(names: str, size: str) -> list[Setting]:
    """Return a server setting for each store in `names`, separated by commas. `size` decides the heap of `memory`."""
    chosen = [STORES[name] for name in names.split(",")]
    heap_mb = MEMORY_HEAP_MB.get(size, 0)
    return [replace(store, heap_mb=heap_mb) if store.engine == "memory" else store for store in chosen]


def loads(size: str) -> tuple[Workload, Workload]:
    """Return (PUT, GET) for a size: PUT of random keys, GET of random keys that the fill has written several times."""
    return sized_puts(KEYS[size], VALUE_BYTES), random_gets(KEYS[size], VALUE_BYTES, rewrites=REWRITES)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: the knees of all stores, then two stores profiled and compared."""
    size, connections = str(asked["size"]), int(asked["connections"])
    plan = plan_for(asked, LADDERS)
    chosen, planned = settings(str(asked["stores"]), size), list[Block]()
    puts, gets = loads(size)
    for workload, keys in (
        (puts, ("put", "leveldb", "nothing", "files", "tuned", "memory")),
        (gets, ("get", "written", "room", "memory")),
    ):
        servers = [WarmServer(setting, workload, LOADS[size]) for setting in fitting(chosen, workload, size)]
        title = f"{workload.label}: the knees of all stores, by slices in random order"
        planned += replace(plan, questions=keys).blocks(workload.name, title, servers)
    for workload in (puts, gets):
        if profiled := tuple(store for store in PROFILED if store in chosen):
            fixed = FixedRate(
                f"profiled-{workload.name}", f"{workload.label} of two stores at one rate, with profiles", profiled,
                workload, LOADS[size], connections=connections, profile=listed(asked["profile"]),
                questions=("median",),
            )  # fmt: skip
            planned.append(fixed)
            if len(profiled) > 1 and (workload is gets or size != "smoke"):
                planned.append(fixed.compared(f"{fixed.name}-compared", COMPARED[size], MARGIN, ("median",)))
    return tuple(planned)


EXPERIMENT = Experiment(
    "06", "06_storage_engines.ipynb", "The stores side by side: what each sustains, writes and takes", "",
    (
        *without(LADDER, "rate_rps"),
        Parameter("stores", ",".join(STORES), "stores to measure", choices=tuple(STORES), several=True),
        Parameter.connections(64, "connections of every load"),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
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
            comparisons.parts_differ(
                Verdict.of_any, {"profiled-put-compared": "PUT", "profiled-get-compared": "GET"}, "lsm", "p50_us",
                comparisons.DIFFERS, also=("p99_us",),
            ),
            medians_apart(("put", "get"), "rocksdb", "lsm"),
        ),
        "written": less("bytes written per byte given", Unit.FACTOR, lambda store: store.written, *pair, AMPLIFICATION),
        "room": less("bytes on the disk per live byte", Unit.FACTOR, lambda store: store.room, *pair, AMPLIFICATION),
        "memory": less("memory of its own", Unit.SIZE_BYTES, lambda store: store.rss["anon"], *pair, MEMORY),
    })  # fmt: skip
