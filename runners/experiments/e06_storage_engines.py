"""Compare the stores: what each achieves, writes and takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.analysis import facts
from runners.claims import interleaved, questions
from runners.claims.questions import Answer, Answering, Verdict, number, of_rule
from runners.design.block import Block, FixedRate
from runners.design.experiment import Value, listed
from runners.design.ladder import AroundTheKnee, LadderSize, WarmServer
from runners.design.load import SCRIPTS, SIZES, Size, Starts, Workload, random_gets
from runners.design.objective import Objective
from runners.design.setting import REFERENCE_STORE, STORES, Setting
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding

VALUE_BYTES = 1_200
#: Keys of the store, by size: with their values 1 GiB in the full one.
KEYS = {"smoke": 2_000, "quick": 16_000, "full": 860_000}
#: How often the fill writes each key again, so that there is something to merge and to drop.
REWRITES = 2
#: A store on the heap needs one that holds the whole of it.
MEMORY_HEAP_MB = {"full": 4_096}
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (), 1.0),
    "quick": LadderSize(0.26, 0.3, 0.15, (), (), 1.5, precision=0.15, starts=3),
    "full": LadderSize(6, 0.5, 2.0, (0.5, 0.7, 0.9, 1.0, 1.1), (0.7,), 60.0, starts=3),
}
#: Of the loads at one rate, in seconds: warm-up and length, their floor, and a closed loop before.
LOADS_S = {"smoke": (0.3, 1.0, 1.0, 0.7), "quick": (0.5, 2.0, 3.1, 0.7), "full": (15.0, 120.0, 60.0, 15.0)}
#: Of these two by one schedule, and the difference of medians that would matter. Smoke answers nothing: one start.
COMPARED = {"smoke": ("get",), "quick": ("put", "get"), "full": ("put", "get")}
STARTS = {"smoke": Starts(1, 0.1, 0.5, 0.3), "quick": Starts(3, 0.3, 2.0, 0.4), "full": Starts(6, 2.0, 15.0, 5.0)}
MARGIN = 0.03
#: Stores that are read in the quick size, as a fill goes before, and one that is not written to: no question asks it.
READ, NOT_WRITTEN = (REFERENCE_STORE, "lsm"), ("memory",)
#: Two stores whose profiles are set against each other, at one rate.
PROFILED = (STORES["rocksdb"], STORES["lsm"])
LSM, ROCKSDB, LEVELDB, NOOP = "lsm", "rocksdb", "leveldb", "noop"


def fitting(chosen: list[Setting], workload: Workload, size: str) -> list[Setting]:
    """The stores whose knees a size has time for; where it has time for none that was chosen, all of them."""
    if size != "quick":
        return chosen
    fit = [each for each in chosen if (each.name in READ if workload.filled_keys else each.name not in NOT_WRITTEN)]
    return fit or chosen


def sized(size: str) -> Size:
    """The lengths of a size, as this experiment has time for them."""
    return SIZES[size].lasting(*LOADS_S[size])


def settings(names: str, size: str) -> list[Setting]:
    """The stores of a comma-separated list, in its order."""
    chosen = [STORES[name] for name in names.split(",")]
    heap_mb = MEMORY_HEAP_MB.get(size, 0)
    return [replace(each, heap_mb=heap_mb) if each.engine == "memory" else each for each in chosen]


def put(size: str) -> Workload:
    """PUT of random keys of a fixed set, so that a store on the heap has room for all of them."""
    return Workload("put", SCRIPTS / "put_sized.lua", arguments=(str(KEYS[size]), str(VALUE_BYTES)))


def get(size: str) -> Workload:
    """GET of random keys that are all there, in a store where each was written several times."""
    return random_gets(KEYS[size], VALUE_BYTES, rewrites=REWRITES)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The knees of the stores in one search, PUT and then GET; then two of them at one rate and by one schedule."""
    size, connections = str(asked["size"]), int(asked["connections"])
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    chosen, found = settings(str(asked["stores"]), size), list[Block]()
    for workload, keys in (
        (put(size), ("put", "leveldb", "nothing", "files", "tuned", "memory")),
        (get(size), ("get", "written", "room", "memory")),
    ):
        measured = fitting(chosen, workload, size)
        servers = [WarmServer(setting, workload, sized(size)) for setting in measured]
        title = f"{workload.label}: the knees of all stores, by slices in random order"
        knees = AroundTheKnee(LADDERS[size], objective, connections, questions=keys)
        found += knees.of_each(workload.name, title, servers)
    for workload in (put(size), get(size)):
        if profiled := tuple(each for each in PROFILED if each in chosen):
            fixed = FixedRate(
                f"profiled-{workload.name}", f"{workload.label} of two stores at one rate, with profiles", profiled,
                workload, sized(size), connections=connections, profile=listed(asked["profile"]),
                questions=("median",),
            )  # fmt: skip
            found.append(fixed)
            if len(profiled) > 1 and workload.name in COMPARED[size]:
                name, plan_s = f"{fixed.name}-compared", STARTS[size]
                found.append(fixed.compared(name, plan_s, MARGIN, ("median",)))
    return tuple(found)


def less(code: str, of: str, against: str, what: str) -> Answering:
    """Is an amplification of one store lower than that of another?"""

    @of_rule(code)
    def answer(finding: Finding) -> Answer | None:
        here, there = (number(finding, facts.engine_name(name)) for name in (of, against))
        if not (write.known(here) and write.known(there)):
            return None
        effect = f"{here:.2f} against {there:.2f} {what}"
        return Answer(Verdict.YES if here < there else Verdict.NO, effect, "one fill each, counted", finding=finding)

    return answer


@of_rule("G06")
def memory(finding: Finding) -> Answer | None:
    """Does our store take less memory than RocksDB?"""
    here, there = (number(finding, f"{facts.engine_name(name)} own_bytes") for name in (LSM, ROCKSDB))
    if not (write.known(here) and write.known(there)):
        return None
    effect = f"{write.size(here)} against {write.size(there)} of its own"
    return Answer(Verdict.YES if here < there else Verdict.NO, effect, "the most after any load", finding=finding)


QUESTIONS = answered_by("06", {
    "put": questions.knees_apart("put", LSM, ROCKSDB),
    "get": questions.knees_apart("get", LSM, ROCKSDB),
    "leveldb": questions.knees_apart("put", LSM, LEVELDB),
    "nothing": questions.knees_apart("put", NOOP, LSM),
    "files": questions.knees_apart("put", "files", ROCKSDB),
    "tuned": questions.knees_apart("put", "rocksdb-tuned", ROCKSDB),
    "median": questions.either(
        interleaved.median_differs({"profiled-put-compared": "PUT", "profiled-get-compared": "GET"}, LSM),
        questions.medians_apart(("put", "get"), ROCKSDB, LSM),
    ),
    "written": less("G02", LSM, ROCKSDB, "bytes per byte given"),
    "room": less("G03", LSM, ROCKSDB, "bytes per live byte"),
    "memory": memory,
})  # fmt: skip
