"""What report 5 ran: three nodes in one JVM, sharded, 120 connections to the first; and its changes one at a time.

A file beside the experiment's own, as what is claimed of clusters is computed from these settings and keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from runners.design.block import FEWEST_STARTS, WRITES_SLICE_S, Interleaved
from runners.design.ladder import LadderSize
from runners.design.load import SCRIPTS, SIZES, Shape, Size, Starts, Workload, random_gets
from runners.design.setting import Setting

ENGINE = "lsm"
NODES = 3
CONNECTIONS = 120
VALUE_BYTES = 25
#: Ids that the report wrote, from 0 on; GET asked for random ones of them.
PUBLISHED_KEYS = 3_710_000
KEYS = {"smoke": 2_000, "quick": 12_000, "full": PUBLISHED_KEYS}
#: Threads of a node's pool, before and after. The report does not tell its number of cores.
OLD_THREADS, NEW_THREADS = 20, 6
THREADS_A_CORE = 2
QUEUE = 128
#: Replicated, a request of the first node is two calls; the blocking client has room for QUEUE of them.
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

OLD, NEW = "all-old", "all-new"
#: The report's state before, each of its three changes alone, and its state after.
CHANGES = (OLD, "fewer-threads", "no-lock", "murmur3", NEW)
#: How many of three replicas must have responded, and whether a thread of the node waits for each.
REPLICATED = ("blocking-2of3", "async-2of3", "blocking-3of3", "async-3of3")
COPIES = {"smoke": ("2of3",), "quick": ("2of3", "3of3"), "full": ("2of3", "3of3")}
SHARDED = "sharded"
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


def threads(cores: int) -> tuple[int, int]:
    """Threads of a node's pool before and after, for a machine with so many cores for the server.

    Two a core and at most as published; the ratio of the two stays as published.
    """
    new = min(NEW_THREADS, THREADS_A_CORE * cores)
    return round(new * OLD_THREADS / NEW_THREADS), new


def sharded(name: str, cores: int) -> Setting:
    """One of CHANGES: three nodes in one JVM, a key on one of them, one-nio's blocking client between them."""
    old, new = threads(cores)
    pool = new if name in ("fewer-threads", NEW) else old
    hashing = "rendezvous" if name in ("murmur3", NEW) else "objects-hash"
    lock = () if name in ("no-lock", NEW) else ("--client-lock",)
    flags = (*_node(pool), "--replication-from=1", "--client=one-nio", f"--peer-threads={pool}", *lock)
    return Setting(name, ENGINE, (*flags, f"--hashing={hashing}"), nodes=NODES, all_cores=True)


def replicated(name: str, cores: int) -> Setting:
    """One of REPLICATED: the same three nodes with a copy of each key on all of them."""
    client, _, acks = name.partition("-")
    pool = threads(cores)[1]
    between = ("--client=one-nio", f"--peer-threads={pool}") if client == "blocking" else ("--client=pipelined",)
    return Setting(name, ENGINE, (*_node(pool), *_acks(acks), *between), nodes=NODES, all_cores=True)


def setting(name: str, cores: int) -> Setting:
    """Any setting of three nodes in one JVM by its name."""
    return replicated(name, cores) if name in REPLICATED else sharded(name, cores)


def apart(name: str, cores: int) -> Setting:
    """One of OUTAGES as one node of three processes; where the others are is added when they are started.

    It keeps a log, so that a killed node loses nothing.
    """
    whole = sharded(NEW, cores) if name == SHARDED else replicated(name, cores)
    return Setting(
        name,
        ENGINE,
        tuple(flag for flag in whole.server_flags if not flag.startswith(("--nodes", "--wal"))),
        processes=NODES,
        all_cores=True,
    )


def _node(pool: int) -> tuple[str, ...]:
    """A node as the report had it: a pool with a bounded queue that refuses, and a store that flushes at 1 MiB."""
    queue = ("--execution=pool", f"--pool-threads={pool}", "--queue=array", f"--queue-size={QUEUE}")
    store = ("--wal=off", "--flush-threshold-bytes=1048576")
    return (f"--nodes={NODES}", "--selectors=1", *queue, *store)


def _acks(acks: str) -> tuple[str, ...]:
    ack, _, of = acks.partition("of")
    return (f"--replication-from={of}", f"--replication-ack={ack}")


def _columns(name: str, rates: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"report-5/{name}@{rate}" for rate in rates)


def put(size: str) -> Workload:
    """PUT of ids that count up, with small values; the same in every size."""
    return Workload(
        "put",
        SCRIPTS / "put.lua",
        arguments=(str(VALUE_BYTES),),
        published_rates=(
            *_columns("put-ladder", (12_000, 20_000, 30_000, 35_000, 40_000, 45_000, 50_000, 60_000)),
            *_columns("put-ladder-high", (70_000, 80_000, 90_000, 100_000)),
        ),
    )


def get(size: str) -> Workload:
    """GET of random ids that are all there; as many as published in the full size."""
    return random_gets(KEYS[size], VALUE_BYTES, _columns("get-ladder", (10_000, 20_000, 30_000, 40_000, 50_000)))
