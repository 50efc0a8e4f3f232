"""Compare the stores: what each carries, writes and takes."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis import facts
from runners.analysis.finding import Finding
from runners.claims import interleaved, questions
from runners.claims.questions import Answer, Answering, Asked, Question, Verdict, number, of_rule
from runners.design import storage_engines
from runners.design.block import Block, FixedRate
from runners.design.ladder import AroundTheKnee, WarmServer
from runners.design.objective import Objective
from runners.design.parameter import Value, listed
from runners.readers import write

LSM, ROCKSDB, LEVELDB, NOOP = "lsm", "rocksdb", "leveldb", "noop"


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The knees of the stores in one search, PUT and then GET; then two of them at one rate and by one schedule."""
    size, connections = str(asked["size"]), int(asked["connections"])
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    chosen, found = storage_engines.settings(str(asked["stores"]), size), list[Block]()
    for workload, keys in (
        (storage_engines.put(size), ("put", "leveldb", "nothing", "files", "tuned", "memory")),
        (storage_engines.get(size), ("get", "written", "room", "memory")),
    ):
        measured = storage_engines.measured(chosen, workload, size)
        servers = [WarmServer(setting, workload, storage_engines.sized(size)) for setting in measured]
        title = f"{workload.label}: the knees of all stores, by slices in random order"
        knees = AroundTheKnee(storage_engines.LADDERS[size], objective, connections, questions=keys)
        found += knees.of_each(workload.name, title, servers)
    for workload in (storage_engines.put(size), storage_engines.get(size)):
        if profiled := tuple(each for each in storage_engines.PROFILED if each in chosen):
            fixed = FixedRate(
                f"profiled-{workload.name}", f"{workload.label} of two stores at one rate, with profiles", profiled,
                workload, storage_engines.sized(size), connections=connections, profile=listed(asked["profile"]),
                questions=("median",),
            )  # fmt: skip
            found.append(fixed)
            if len(profiled) > 1 and workload.name in storage_engines.COMPARED[size]:
                name, plan_s = f"{fixed.name}-compared", storage_engines.STARTS[size]
                found.append(fixed.compared(name, plan_s, storage_engines.MARGIN, ("median",)))
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


QUESTIONS = (
    Asked(
        Question("put", "Is the PUT knee of our LSM store higher than RocksDB's?"),
        questions.knees_apart("put", LSM, ROCKSDB),
    ),
    Asked(Question("get", "Is its GET knee higher than RocksDB's?"), questions.knees_apart("get", LSM, ROCKSDB)),
    Asked(Question("leveldb", "Is its PUT knee higher than LevelDB's?"), questions.knees_apart("put", LSM, LEVELDB)),
    Asked(
        Question("nothing", "Is the PUT knee higher than that of our LSM store when nothing is stored?"),
        questions.knees_apart("put", NOOP, LSM),
    ),
    Asked(
        Question("files", "Is the PUT knee with one file per key as high as RocksDB's?"),
        questions.knees_apart("put", "files", ROCKSDB),
    ),
    Asked(
        Question("tuned", "Does tuning RocksDB raise its PUT knee?"),
        questions.knees_apart("put", "rocksdb-tuned", ROCKSDB),
    ),
    Asked(
        Question("median", "Does our store's median differ from RocksDB's?"),
        questions.either(
            interleaved.median_differs({"profiled-put-compared": "PUT", "profiled-get-compared": "GET"}, LSM),
            questions.medians_apart(("put", "get"), ROCKSDB, LSM),
        ),
    ),
    Asked(
        Question("written", "Does our store write less to the disk than RocksDB?"),
        less("G02", LSM, ROCKSDB, "bytes per byte given"),
    ),
    Asked(Question("room", "Does it take less room on the disk?"), less("G03", LSM, ROCKSDB, "bytes per live byte")),
    Asked(Question("memory", "Does it take less memory?"), memory),
)
