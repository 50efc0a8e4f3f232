"""Reproduce report 5: three nodes, its changes one at a time, copies, and a node that dies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runners.design import cluster
from runners.design.block import FEWEST_STARTS, WRITES_SLICE_S, Block, FaultInjection, FixedRate, Interleaved
from runners.design.cluster import CHANGES, NEW, OLD, PUBLISHED_KEYS, REPLICATED, SHARDED
from runners.design.experiment import (
    EVENTS,
    LADDER,
    Experiment,
    Value,
    connections_parameter,
    heap_parameter,
    listed,
    profile_parameter,
    without,
)
from runners.design.ladder import AroundTheKnee, Ladder, LadderSize, WarmServer
from runners.design.load import SCRIPTS, SIZES, Shape, Size, Starts, Workload, random_gets
from runners.design.objective import Objective
from runners.design.session import KillNode
from runners.design.setting import Setting
from runners.process.cpu_placement import usable_cpus
from runners.readers.published import columns, with_rates

if TYPE_CHECKING:
    from runners.claims.questions import Asked

CONNECTIONS = 120
VALUE_BYTES = 25
KEYS = {"smoke": 2_000, "quick": 12_000, "full": PUBLISHED_KEYS}
#: Replicated, a request of the first node is two calls; the blocking client has room for cluster.QUEUE of them.
REPLICATED_CONNECTIONS = 60

LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (), 1.0),
    "quick": LadderSize(0.23, 0.4, 0.3, (0.4, 0.7, 1.0), (), 1.5, precision=0.15, published=1),
    "full": LadderSize(10, 0.5, 2.0, (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3), (), 60.0),
}
#: Of each size, the warm-up of a server before its starts are compared, and the lengths of the loads in depth.
LOADS_S = {"smoke": (0.5, 2.0, 2.0, 0.6), "quick": (1.0, 4.0, 5.0, 2.0), "full": (15.0, 60.0, 60.0, 10.0)}
STARTS = {
    "smoke": Starts(3, 0.1, 0.5, 0.6),
    "quick": Starts(5, 0.4, 2.5, 2.2),
    "full": Starts(6, 2.0, 15.0, 15.0),
}
#: Two treatments are up beside the baseline and its control, four JVMs.
AT_ONCE = 2
MARGIN = 0.05
#: The rate of the loads in depth, of what a closed loop reached: a profile of locks takes a good part of that.
IN_DEPTH_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Outage:
    """A node's death within a load: seconds after the recorded window began."""

    warm_s: float
    warmup_s: float
    load_s: float
    kill_at_s: float
    launch_at_s: float


OUTAGE_TIMES = {
    "smoke": Outage(1.0, 0.3, 6.0, 1.5, 3.0),
    "quick": Outage(2.0, 0.5, 6.0, 1.5, 3.0),
    "full": Outage(10.0, 2.0, 60.0, 15.0, 30.0),
}
#: The offered rate with a dying node, of what a closed loop reached: one that two nodes keep too.
OUTAGE_SHARE = 0.5

COPIES = {"smoke": ("2of3",), "quick": ("2of3", "3of3"), "full": ("2of3", "3of3")}
#: What loses a node: keys on one node each, then copies of which two or all must respond. Each node is a process.
OUTAGES = {
    "smoke": (SHARDED,),
    "quick": (SHARDED, "async-2of3"),
    "full": (SHARDED, "async-2of3", "async-3of3"),
}


def sized(size: str) -> Size:
    """The lengths of a size, as this experiment has time for them."""
    return SIZES[size].lasting(*LOADS_S[size])


def compared(
    name: str, title: str, settings: tuple[Setting, ...], size: str, connections: int, questions: tuple[str, ...]
) -> Interleaved:
    """Clusters compared in closed loop by slices, the first of them the baseline.

    A pair of them differs by several times, and has as few starts as there may be.
    """
    plan = STARTS[size]
    servers = min(len(settings), 1 + AT_ONCE) + 1
    starts = plan.count if len(settings) > 2 or size == "full" else FEWEST_STARTS
    return Interleaved(
        name, title, settings, settings[0].name, put(size), sized(size),
        Shape(connections, 1, plan.server_s * servers, plan.warmup_s), starts=starts, primary="closed_loop_rps",
        margin=MARGIN, slice_s=WRITES_SLICE_S, at_once=AT_ONCE, questions=questions,
    )  # fmt: skip


def put(size: str) -> Workload:
    """PUT of ids that count up, with small values; the same in every size."""
    return Workload(
        "put", SCRIPTS / "put.lua", arguments=(str(VALUE_BYTES),), published_rates=columns("report-5", "put-ladder")
    )


def get(size: str) -> Workload:
    """GET of random ids that are all there; as many as published in the full size."""
    return random_gets(KEYS[size], VALUE_BYTES, columns("report-5", "get-ladder"))


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """PUT and GET by rate after the changes and before, both in depth, each change alone, copies, and a dying node."""
    name, connections, cores = str(asked["size"]), int(asked["connections"]), len(usable_cpus())
    settings = {each: cluster.setting(each, cores) for each in (*CHANGES, *REPLICATED)}
    size, plan = SIZES[name], LADDERS[name]
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    ladders: list[Block] = []
    for workload in (put(name), get(name)):
        after = AroundTheKnee(
            plan, objective, connections, with_rates(workload.published_rates), questions=("medians",)
        ).of(
            workload.name, f"{workload.label} after the changes: the knee, and rates around it",
            WarmServer(settings[NEW], workload, size),
        )  # fmt: skip
        before = Ladder(
            f"{workload.name}-before", f"{workload.label} before the changes, at the same rates",
            WarmServer(settings[OLD], workload, size), Shape(connections, 1, plan.step_s, plan.probe_warmup_s),
            like=after, questions=("three-changes",),
        )  # fmt: skip
        ladders += [after, before]
    in_depth = FixedRate(
        "in-depth", "PUT before and after the changes at one rate, with profiles", (settings[OLD], settings[NEW]),
        put(name), sized(name), connections=connections, profile=listed(asked["profile"]),
        share=IN_DEPTH_SHARE, questions=("spread", "waits"),
    )  # fmt: skip
    changes = compared(
        "changes", "the report's three changes, each alone and all at once",
        tuple(settings[each] for each in CHANGES), name, connections,
        ("three-changes", "lock", "threads", "hash"),
    )  # fmt: skip
    copies = [
        compared(
            f"replication-{acks}", f"a client that waits and one that does not, {acks.replace('of', ' of ')} copies",
            (settings[f"blocking-{acks}"], settings[f"async-{acks}"]), name,
            min(connections, REPLICATED_CONNECTIONS), (f"async-{acks}",),
        )
        for acks in COPIES[name]
    ]  # fmt: skip
    return (
        *ladders,
        in_depth,
        changes,
        *copies,
        *(_death(each, name, connections, cores) for each in OUTAGES[name]),
    )


def _death(name: str, size: str, connections: int, cores: int) -> FaultInjection:
    times = OUTAGE_TIMES[size]
    return FaultInjection(
        f"{name}-death",
        f"{name}: one of three nodes is killed under load, and started again",
        cluster.apart(name, cores),
        put(size),
        (KillNode(cluster.NODES, times.kill_at_s, times.launch_at_s),),
        Shape(connections, 1, times.load_s, times.warmup_s),
        warm_up_s=times.warm_s,
        share=OUTAGE_SHARE,
        questions=(f"{'sharded' if name == SHARDED else 'copies'}-death",),
    )


#: Three nodes share one JVM, so its heap is larger than a single server's. Ports are free ones in a row.
EXPERIMENT = Experiment(
    "05", "05_sharded_cluster.ipynb", "Three nodes, 120 connections: what three changes at once had hidden", "report-5",
    (
        *without(LADDER, "rate_rps", "profile", "selectors", "heap_mb", "port"),
        profile_parameter(",".join(EVENTS)),
        connections_parameter(CONNECTIONS, "connections of the load"),
        heap_parameter(256, "heap of the JVM that holds the nodes"),
    ),
    blocks,
    own_servers="it measures the lab's cluster, a node of which it kills",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """What is asked of the report, of copies and of an outage, and what answers it."""
    from runners.analysis.interleaved import THROUGHPUT
    from runners.claims import questions as answers
    from runners.claims import verdicts
    from runners.claims.interleaved import differs
    from runners.experiments.question_table import answered_by

    return answered_by("05", {
        "three-changes": differs(("changes",), NEW, THROUGHPUT),
        "lock": differs(("changes",), "no-lock", THROUGHPUT),
        "threads": differs(("changes",), "fewer-threads", THROUGHPUT),
        "hash": differs(("changes",), "murmur3", THROUGHPUT),
        "spread": verdicts.spreads,
        "waits": verdicts.lock_waits,
        "medians": answers.published_timer(("M13",)),
        "async-2of3": differs(("replication-2of3",), "async-2of3", THROUGHPUT),
        "async-3of3": differs(("replication-3of3",), "async-3of3", THROUGHPUT),
        "sharded-death": verdicts.fails("sharded"),
        "copies-death": verdicts.fails("async-2of3"),
    })  # fmt: skip
