"""Reproduce report 5: three nodes, its changes one at a time, copies, and a node that dies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.design import cluster
from runners.design.block import FEWEST_STARTS, SLICE_S, WRITES_SLICE_S, Block, FaultInjection, FixedRate, Interleaved
from runners.design.cluster import (
    CHANGES,
    FEWER_OBJECTS,
    NEW,
    OLD,
    PUBLISHED_KEYS,
    REPLICATED,
    REPLICATED_CONNECTIONS,
    SHARDED,
)
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import AroundTheKnee, Ladder, LadderSize, WarmServer
from runners.design.load import PUBLISHED, SCRIPTS, SIZES, Shape, Starts, Workload, lasting, random_gets
from runners.design.objective import CPU, THROUGHPUT, Objective
from runners.design.session import EVENTS, KillNode
from runners.design.setting import Setting
from runners.design.two_generators import by_two_generators
from runners.experiments.question_table import answered_by
from runners.process.cpu_placement import usable_cpus
from runners.readers.published import columns, with_rates
from runners.results.answer import Asked

Blocks = tuple[Block, ...]
CONNECTIONS, VALUE_BYTES = 120, 25
KEYS = {"smoke": 2_000, "quick": 12_000, PUBLISHED: PUBLISHED_KEYS, "full": PUBLISHED_KEYS}
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (), 1.0),
    "quick": LadderSize(0.57, 0.4, 0.3, (0.4, 0.7, 1.0), (), 1.5, precision=0.15, published=1),
    PUBLISHED: LadderSize(
        1.5, 0.5, 1.0, (0.4, 0.7), (0.4,), 5.0, precision=0.1, profiled_s=20.0, published_s=30.0, beyond=True
    ),
    "full": LadderSize(10, 0.5, 2.0, (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3), (0.5,), 60.0, profiled_s=30.0),
}
#: Of each size, the warm-up of a server before its starts are compared, and the lengths of the loads in depth.
LOADS = lasting(
    smoke=(0.5, 2.0, 2.0, 0.6), quick=(1.0, 4.0, 5.0, 2.0), published=(5.0, 60.0, 20.0, 3.0),
    full=(15.0, 60.0, 60.0, 10.0),
)  # fmt: skip
STARTS = {
    "smoke": Starts(3, 0.1, 0.5, 0.6), "quick": Starts(5, 0.4, 2.5, 2.2), PUBLISHED: Starts(6, 1.0, 5.0, 5.0),
    "full": Starts(6, 2.0, 15.0, 15.0),
}  # fmt: skip
#: Of one node and three by request, for the price of a request that is passed on; a short size has no time for it.
PRICE = {PUBLISHED: Starts(6, 1.0, 8.0, 3.0), "full": Starts(8, 2.0, 15.0, 10.0)}
#: Two treatments are up with the baseline and its control, four JVMs.
AT_ONCE, MARGIN = 2, 0.05
#: Offered, of what a closed loop reached: in depth, as a profile of locks takes a good part; and what two nodes keep.
IN_DEPTH_SHARE, OUTAGE_SHARE = 0.3, 0.5
COPIES = {"smoke": ("2of3",), "quick": ("2of3", "3of3"), PUBLISHED: ("2of3", "3of3"), "full": ("2of3", "3of3")}
#: What loses a node: keys on one node each, then copies of which two or all must respond. Each node is a process.
OUTAGES = {
    "smoke": (SHARDED,), "quick": (SHARDED, "async-2of3"), PUBLISHED: (SHARDED, "async-2of3"),
    "full": (SHARDED, "async-2of3", "async-3of3"),
}  # fmt: skip
#: Seconds of the warm-up before an outage, of the load's own and of the load; when in it the node dies and returns.
OUTAGE_S = {
    "smoke": (1.0, 0.3, 6.0), "quick": (2.0, 0.5, 6.0), PUBLISHED: (5.0, 1.0, 60.0), "full": (10.0, 2.0, 60.0),
}  # fmt: skip
DIES_AT, RETURNS_AT = 0.25, 0.5


def put() -> Workload:
    """PUT of ids that count up, with small values; the same in every size."""
    outputs = columns("report-5", "put-ladder")
    return Workload("put", SCRIPTS / "put.lua", arguments=(str(VALUE_BYTES),), published_rates=outputs)


def get(size: str) -> Workload:
    """GET of random ids that are all there; as many as published in the full size."""
    return random_gets(KEYS[size], VALUE_BYTES, columns("report-5", "get-ladder"))


def compared(
    name: str, title: str, settings: Sequence[Setting], size: str, connections: int, questions: tuple[str, ...],
    workload: Workload | None = None,
) -> Interleaved:  # fmt: skip
    """Clusters compared in closed loop by slices, the first of them the baseline; they are sent PUT, or a workload.

    A pair of them differs by several times, and has as few starts as there may be.
    """
    plan = STARTS[size]
    return Interleaved(
        name, title, tuple(settings), settings[0].name, workload or put(), LOADS[size],
        plan.shape(connections, servers=min(len(settings), 1 + AT_ONCE) + 1),
        starts=plan.count if len(settings) > 2 or size == "full" else FEWEST_STARTS, primary=THROUGHPUT,
        margin=MARGIN, slice_s=SLICE_S if workload else WRITES_SLICE_S, at_once=AT_ONCE, questions=questions,
    )  # fmt: skip


def one_node(one: Setting, before: Setting, after: Setting, size: str, connections: int) -> Blocks:
    """Return one node against three on the same cores, PUT and GET: by slices, and by request with those after the
    changes. The few keys of a short size do: what is asked for is what passing a request on costs.
    """
    plan, few = PRICE.get(size), min(connections, REPLICATED_CONNECTIONS)
    if plan is None:
        return ()
    blocks = list[Block]()
    for workload in (put(), get("quick")):
        method = workload.label
        blocks.append(compared(
            f"one-node-{workload.name}", f"{method}: one node, and three before and after the changes",
            (one, before, after), size, connections, ("one-node",), workload if workload.filled_keys else None,
        ))  # fmt: skip
        blocks.append(Interleaved(
            f"passed-on-{workload.name}", f"{method}: one node and three, request by request", (one, after), one.name,
            workload, LOADS[size], plan.shape(few), starts=plan.count, primary=CPU, margin=MARGIN, solo=False,
            loops=False, questions=("passed-on",),
        ))  # fmt: skip
    return tuple(blocks)


def ladders(
    workload: Workload, before: Setting, after: Setting, size: str, p99_ms: float, connections: int,
    profile: tuple[str, ...],
) -> Blocks:  # fmt: skip
    """Return the knee after the changes with rates around it, one of them profiled, and the same rates before."""
    plan, objective = LADDERS[size], Objective.parse(f"p99<={p99_ms:f}ms")
    rates = with_rates(workload.published_rates)
    around = AroundTheKnee(plan, objective, connections, rates, profile, ("medians", "put-get", "alike")).of(
        workload.name, f"{workload.label} after the changes: the knee, and rates around it",
        WarmServer(after, workload, SIZES[size]),
    )  # fmt: skip
    same = Ladder(
        f"{workload.name}-before", f"{workload.label} before the changes, at the same rates",
        WarmServer(before, workload, SIZES[size]), plan.shape(connections), like=around, questions=("three-changes",),
    )  # fmt: skip
    return around, same


def death(name: str, size: str, connections: int, cores: int) -> FaultInjection:
    """One of three nodes is killed under load, and started again."""
    warm_s, warmup_s, load_s = OUTAGE_S[size]
    return FaultInjection(
        f"{name}-death", f"{name}: one of three nodes is killed under load, and started again",
        cluster.apart(name, cores), put(), (KillNode(cluster.NODES, DIES_AT * load_s, RETURNS_AT * load_s),),
        Shape(connections, 1, load_s, warmup_s), warm_up_s=warm_s, share=OUTAGE_SHARE,
        questions=(f"{'sharded' if name == SHARDED else 'copies'}-death",),
    )  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> Blocks:
    """Return PUT and GET by rate after the changes and before, both in depth, each change alone, one node against
    three, copies, and a dying node.
    """
    size, connections, cores = str(asked["size"]), int(asked["connections"]), len(usable_cpus())
    settings = {each: cluster.setting(each, cores) for each in (*CHANGES, *REPLICATED)}
    ends = settings[OLD], settings[NEW]
    p99_ms = float(asked["p99_ms"])
    profile = listed(asked["profile"])
    puts, gets = (ladders(each, *ends, size, p99_ms, connections, profile) for each in (put(), get(size)))
    in_depth = FixedRate(
        "in-depth", "PUT before and after the changes at one rate, with profiles", ends, put(), LOADS[size],
        connections=connections, profile=profile, share=IN_DEPTH_SHARE, questions=("spread", "waits"),
    )  # fmt: skip
    changes = compared(
        "changes", "the report's changes, each alone and all at once",
        [settings[each] for each in CHANGES if size in PRICE or each != FEWER_OBJECTS],
        size, connections, ("three-changes", "lock", "threads", "objects", "hash"),
    )  # fmt: skip
    one = one_node(cluster.alone(cores), *ends, size, connections)
    copies = [
        compared(
            f"replication-{acks}", f"a client that waits and one that does not, {acks.replace('of', ' of ')} copies",
            (settings[f"blocking-{acks}"], settings[f"async-{acks}"]), size, min(connections, REPLICATED_CONNECTIONS),
            (f"async-{acks}",),
        )
        for acks in COPIES[size]
    ]  # fmt: skip
    deaths = [death(each, size, connections, cores) for each in OUTAGES[size]]
    by_wrk2 = by_two_generators(settings[NEW], put(), size, connections, ("medians",))
    return (*puts, *gets, in_depth, changes, *one, *copies, *deaths, by_wrk2)


#: Three nodes share one JVM, so its heap is larger than a single server's. Ports are free ones in a row.
EXPERIMENT = Experiment(
    "05", "05_sharded_cluster.ipynb", "Three nodes, 120 connections: what three changes at once had hidden", "report-5",
    (
        *without(LADDER, "rate_rps", "profile", "selectors", "heap_mb", "port"),
        Parameter.profile(",".join(EVENTS)),
        Parameter.connections(CONNECTIONS, "connections of the load"),
        Parameter.heap(256, "heap of the JVM that holds the nodes"),
    ),
    blocks,
    own_servers="it measures the lab's cluster, a node of which it kills",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """Return what is asked of the report, of copies and of an outage, and what answers it."""
    from runners.analysis.intervals import Direction
    from runners.results import cluster, comparisons, faults, published

    return answered_by("05", {
        "three-changes": comparisons.differs(("changes",), NEW, THROUGHPUT),
        "lock": comparisons.differs(("changes",), "no-lock", THROUGHPUT),
        "threads": comparisons.differs(("changes",), "fewer-threads", THROUGHPUT),
        "objects": comparisons.differs(("changes",), FEWER_OBJECTS, THROUGHPUT),
        "hash": comparisons.differs(("changes",), "murmur3", THROUGHPUT),
        "one-node": comparisons.differs_in_all(
            {"one-node-put": "PUT", "one-node-get": "GET"}, NEW, THROUGHPUT, (Direction.LOWER,)
        ),
        "passed-on": cluster.price_of_passing({"passed-on-put": "PUT", "passed-on-get": "GET"}),
        "put-get": cluster.passing_weighs_more("put", "get"),
        "alike": cluster.alike("put", "get"),
        "spread": cluster.spreads,
        "waits": cluster.waits_for_the_lock,
        "medians": published.medians_stay(columns("report-5", "put-ladder"), "put"),
        "async-2of3": comparisons.differs(("replication-2of3",), "async-2of3", THROUGHPUT),
        "async-3of3": comparisons.differs(("replication-3of3",), "async-3of3", THROUGHPUT),
        "sharded-death": faults.fails("sharded"),
        "copies-death": faults.fails("async-2of3"),
    })  # fmt: skip
