"""Reproduce report 1: one connection at a stable rate, PUT and GET."""

from __future__ import annotations

from collections.abc import Mapping

from runners.design.block import Block, FixedRate
from runners.design.experiment import COMMON, TARGET, Experiment, Parameter, Value, listed, without
from runners.design.load import GET, PUT, SIZES, Starts, Workload
from runners.design.setting import Setting
from runners.design.target import shared_workloads, targets_of
from runners.experiments.question_table import answered_by
from runners.results.answer import Asked, Question, either

WORKLOADS = ("put", "get")
PUT_QUESTIONS = ("rate", "store-cpu", "sockets", "merge-tail", "median", "gc-tail")
GET_QUESTIONS = ("rate", "store-cpu", "sockets", "errors")
TARGET_KEYS = ("servers",)
#: Of the stores by one schedule, and the difference of medians that would matter. Smoke answers nothing: one start.
COMPARED = {"smoke": ("put",), "quick": WORKLOADS, "published": WORKLOADS, "full": WORKLOADS}
STARTS = {
    "smoke": Starts(1, 0.1, 0.5, 0.3), "quick": Starts(3, 0.5, 4.0, 1.0), "published": Starts(6, 1.0, 10.0, 3.0),
    "full": Starts(6, 2.0, 15.0, 5.0),
}  # fmt: skip
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


EXPERIMENT = Experiment(
    "01", "01_single_connection.ipynb", "One connection: PUT and GET at a stable rate", "report-1",
    (*without(COMMON, "profile"), Parameter.profile("cpu,alloc"), TARGET),
    blocks, (PUT, GET),
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """Return what is asked of the report and of the stores, and what answers it."""
    from runners.results import comparisons, loads, profiles, published, tails

    return answered_by("01", {
        "rate": published.reaches_published_rate(WORKLOADS),
        "store-cpu": profiles.store_is_most(WORKLOADS, "rocksdb"),
        "sockets": profiles.sockets_over_store(WORKLOADS, "rocksdb"),
        "merge-tail": tails.tail_by("compaction", "put-rocksdb"),
        "median": published.median_is_the_timer("put"),
        "errors": published.errors_are_absent_keys("get"),
        "engines": either(
            comparisons.median_differs({"put-compared": "PUT", "get-compared": "GET"}, "lsm"),
            loads.medians_apart(WORKLOADS, "rocksdb", "lsm"),
        ),
        "gc-tail": tails.tail_by("GC pause", "put-rocksdb"),
    })  # fmt: skip


def target_questions() -> tuple[Asked, ...]:
    """Return what is asked of anybody's servers, where there are several."""
    from runners.results.loads import servers_apart

    return (Asked(Question("servers", "Do the servers' medians differ at one rate?"), servers_apart),)
