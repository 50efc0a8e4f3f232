"""Reproduce report 1: one connection at a stable rate, PUT and GET."""

from __future__ import annotations

from collections.abc import Mapping

from runners.claims import interleaved, questions
from runners.claims.questions import Answer, Asked, Question, Verdict, number, of_rule
from runners.design.block import Block, FixedRate
from runners.design.experiment import Value, listed
from runners.design.load import GET, PUT, SIZES, Starts, Workload
from runners.design.setting import Setting
from runners.design.target import shared_workloads, targets_of
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding

WORKLOADS = ("put", "get")
PUT_QUESTIONS = ("rate", "store-cpu", "sockets", "merge-tail", "median", "gc-tail")
GET_QUESTIONS = ("rate", "store-cpu", "sockets", "errors")
TARGET_KEYS = ("servers",)
#: Of the stores by one schedule, and the difference of medians that would matter. Smoke answers nothing: one start.
COMPARED = {"smoke": ("put",), "quick": WORKLOADS, "full": WORKLOADS}
STARTS = {"smoke": Starts(1, 0.1, 0.5, 0.3), "quick": Starts(3, 0.5, 4.0, 1.0), "full": Starts(6, 2.0, 15.0, 5.0)}
MARGIN = 0.03


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """PUT on an empty store, then GET on one that was filled: each engine at one rate that all of them achieve.

    Of targets each of their workloads, on what the target is filled with.
    """
    events, size = listed(asked["profile"]), SIZES[str(asked["size"])]
    loads: list[tuple[str, Workload, tuple[str, ...]]]
    if targets := targets_of(str(asked["target"])):
        what, treatments = "server", tuple(file.setting for file in targets)
        loads = [(name, workload, TARGET_KEYS) for name, workload in shared_workloads(targets)]
    else:
        what, treatments = "engine", tuple(map(Setting.of, listed(asked["engines"])))
        loads = [("put", PUT, PUT_QUESTIONS), ("get", GET, GET_QUESTIONS)]
    found = list[Block]()
    for name, workload, keys in loads:
        fixed = FixedRate(
            name,
            f"{workload.label}: every {what} at one rate",
            treatments,
            workload,
            size,
            rate_rps=float(asked["rate_rps"]),
            profile=events,
            questions=keys,
        )
        found.append(fixed)
        if not targets and len(treatments) > 1 and name in COMPARED[size.name]:
            found.append(fixed.compared(f"{name}-compared", STARTS[size.name], MARGIN, ("engines",)))
    return tuple(found)


@of_rule("M02")
def errors_are_the_keys(finding: Finding) -> Answer:
    """Do the published errors say that the server failed? Not where they agree with a number of absent keys."""
    expected = f"{write.count(number(finding, 'expected_low'))} to {write.count(number(finding, 'expected_high'))}"
    effect = f"{write.count(number(finding, 'non_2xx'))} errors; "
    effect += f"{write.several(number(finding, 'absent_keys'), 'absent key')} would give {expected}"
    return Answer(Verdict.NO, effect, "computed from the published output", finding=finding)


QUESTIONS = answered_by("01", {
    "rate": questions.reaches_published_rate(WORKLOADS),
    "store-cpu": questions.store_is_most(WORKLOADS, "rocksdb"),
    "sockets": questions.sockets_over_store(WORKLOADS, "rocksdb"),
    "merge-tail": questions.tail_by("compaction", "put-rocksdb"),
    "median": questions.published_timer(("M01",)),
    "errors": errors_are_the_keys,
    "engines": questions.either(
        interleaved.median_differs({"put-compared": "PUT", "get-compared": "GET"}, "lsm"),
        questions.medians_apart(WORKLOADS, "rocksdb", "lsm"),
    ),
    "gc-tail": questions.tail_by("GC pause", "put-rocksdb"),
})  # fmt: skip
#: Of anybody's servers, where there are several.
TARGET_QUESTIONS = (Asked(Question("servers", "Do the servers' medians differ at one rate?"), questions.servers_apart),)
