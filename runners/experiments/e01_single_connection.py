"""Reproduce report 1: one connection at a stable rate, PUT and GET."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from runners.design.block import MOST_AT_ONCE, Block, FixedRate, Interleaved
from runners.design.experiment import COMMON, TARGET, Experiment, Parameter, Value, listed, without
from runners.design.load import GET, PUBLISHED, PUT, SIZES, Size, Workload
from runners.design.objective import CPU
from runners.design.setting import AS_PUBLISHED, CACHE, MIB, Setting
from runners.design.target import shared_workloads, targets_of
from runners.design.two_generators import by_two_generators
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import sizes
from runners.results.answer import Asked, Question, Verdict, either, with_more

WORKLOADS = ("put", "get")
PUT_QUESTIONS = ("rate", "store-cpu", "sockets", "alloc", "merge-tail", "median", "gc-tail")
GET_QUESTIONS = ("rate", "store-cpu", "sockets", "alloc", "disk", "errors")
TARGET_KEYS = ("servers",)
#: By size of run, the loads that compare stores by one schedule; and the relative difference of medians that matters.
COMPARED = sizes("01", "compared")
MARGIN = 0.03
#: The report's store; a load of about as many PUTs as published (4.5 million, over two memtables); its seconds by size.
STORE, VOLUME, VOLUME_S = "rocksdb", "put-volume", {PUBLISHED: 600.0, "full": 600.0}
#: Needless work of the published server (a setting for each kind), and the setting of the lab's own store with a cache.
DETOURS = ("copied-values", "string-keys", "new-response")
CACHED = Setting("lsm-cache", "lsm", (f"{CACHE}={32 * MIB}",))


def in_depth(name: str, size: Size, rate_rps: float) -> Iterator[Block]:
    """Yield the additional blocks that the sizes `published` and `full` have for the workload `name`, put or get."""
    if size.name not in VOLUME_S:
        return
    workload, compared = PUT if name == "put" else GET, COMPARED[size.name]
    detours = (Setting(detour, STORE, (f"{AS_PUBLISHED}={detour}",)) for detour in DETOURS)
    yield Interleaved(
        f"{workload.name}-copies", f"{workload.label}: what copies, texts and response objects cost, each alone",
        (Setting("direct", STORE), *detours), "direct", workload, compared, compared.shape(1), compared.starts,
        primary=CPU, margin=MARGIN, at_once=MOST_AT_ONCE, solo=False, loops=False, questions=("copies",),
    )  # fmt: skip
    if workload is PUT:  # for so long that the store flushes its memtables
        yield FixedRate(
            VOLUME, "PUT: as many keys as were published, on one store", (Setting.of(STORE),),
            replace(PUT, name=VOLUME), replace(size, duration_s=VOLUME_S[size.name]), rate_rps=rate_rps,
            questions=("merge-tail", "flush-tail"),
        )  # fmt: skip
    else:
        yield Interleaved(
            "get-cache", "GET: with a cache that holds every key, and without", (Setting.of("lsm"), CACHED), "lsm",
            GET, compared, compared.shape(1), compared.starts, margin=MARGIN, solo=False, loops=False,
            questions=("cache",),
        )  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`, all at one rate: PUT and GET of engines, or targets' workloads."""
    size, rate_rps = SIZES[str(asked["size"])], float(asked["rate_rps"])
    loads: list[tuple[str, Workload, tuple[str, ...]]]
    if targets := targets_of(str(asked["target"])):
        what, treatments = "server", tuple(file.setting for file in targets)
        loads = [(name, workload, TARGET_KEYS) for name, workload in shared_workloads(targets)]
    else:
        what, treatments = "engine", tuple(map(Setting.of, listed(asked["engines"])))
        loads = [("put", PUT, PUT_QUESTIONS), ("get", GET, GET_QUESTIONS)]
    planned, profile = list[Block](), listed(asked["profile"])
    for name, workload, keys in loads:
        title = f"{workload.label}: every {what} at one rate"
        fixed = FixedRate(name, title, treatments, workload, size, rate_rps, profile=profile, questions=keys)
        planned.append(fixed)
        if not targets and len(treatments) > 1 and (name == "put" or size.name != "smoke"):
            planned.append(fixed.compared(f"{name}-compared", COMPARED[size.name], MARGIN, ("engines",)))
        if not targets:
            planned += in_depth(name, size, rate_rps)
    if not targets:
        planned.append(by_two_generators(treatments[0], PUT, size.name, questions=("median",)))
    return tuple(planned)


EXPERIMENT = Experiment(
    "01", "01_single_connection.ipynb", "One connection: PUT and GET at a stable rate", "report-1",
    (*without(COMMON, "profile"), Parameter.profile("cpu,alloc"), TARGET),
    blocks, (PUT, GET),
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.intervals import Direction
    from runners.results import comparisons, loads, profiles, published, tails

    takes_most = partial(profiles.takes_most, WORKLOADS, "rocksdb")
    label = "of the bytes of a GET with a new response object, that object takes"
    response = comparisons.added_bytes(label, "get-copies", "new-response")
    return answered_by("01", {
        "rate": published.reaches_published_rate(WORKLOADS),
        "store-cpu": takes_most(profiles.STORE_CPU, {"put": 0.2052, "get": 0.4761}),
        "sockets": with_more(takes_most(profiles.SOCKETS_CPU), takes_most(profiles.POLLING_CPU)),
        "alloc": with_more(takes_most(profiles.HTTP_BYTES), response),
        "copies": comparisons.parts_differ(
            Verdict.of_any, {"put-copies": "PUT", "get-copies": "GET"}, None, "allocated_bytes", also=(CPU,)
        ),
        "merge-tail": either(
            tails.merges_out_of_reach(f"{VOLUME}-rocksdb", "put"),
            *(tails.tail_by("compaction", name) for name in (f"{VOLUME}-rocksdb", "put-rocksdb")),
        ),
        "flush-tail": either(*(tails.tail_by("flush", name) for name in (f"{VOLUME}-rocksdb", "put-rocksdb"))),
        "median": published.median_is_the_timer("put"),
        "disk": published.reads_the_disk("get-rocksdb"),
        "cache": comparisons.differs(("get-cache",), CACHED.name, "p50_us", (Direction.LOWER,)),
        "errors": published.errors_are_absent_keys("get"),
        "engines": either(
            comparisons.parts_differ(
                Verdict.of_any, {"put-compared": "PUT", "get-compared": "GET"}, "lsm", "p50_us", comparisons.DIFFERS
            ),
            loads.medians_apart(WORKLOADS, "rocksdb", "lsm"),
        ),
        "gc-tail": tails.tail_by("GC pause", "put-rocksdb"),
    })  # fmt: skip


def target_questions() -> tuple[Asked, ...]:
    """Return the question that a run with several targets answers."""
    from runners.results.loads import servers_apart

    return (Asked(Question("servers", "Do the servers' medians differ at one rate?"), servers_apart),)
