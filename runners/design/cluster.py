"""Set up a cluster: three nodes of the LSM store in one JVM or a process each, sharded or with copies."""

from __future__ import annotations

from runners.design.setting import FLUSH, OLD_LSM, WAL, Setting

ENGINE = "lsm"
NODES = 3
#: Ids that the report wrote, from 0 on; its GET asked for random ones of them.
PUBLISHED_KEYS = 3_710_000
#: Threads of a node's pool, before and after. The report does not tell its number of cores.
OLD_THREADS, NEW_THREADS = 20, 6
THREADS_A_CORE = 2
QUEUE = 128
#: Replicated, a request of the first node is two calls; the blocking client has room for QUEUE of them.
REPLICATED_CONNECTIONS = 60
OLD, NEW = "all-old", "all-new"
#: The report's state before, each of its changes alone, and its state after. A short size has no time for all.
FEWER_OBJECTS = "fewer-objects"
CHANGES = (OLD, "fewer-threads", "no-lock", FEWER_OBJECTS, "murmur3", NEW)
ONE = "one-node"
#: Whether a thread of the node waits for each replica, and how many of the three must have responded.
REPLICATED = ("blocking-2of3", "async-2of3", "blocking-3of3", "async-3of3")
SHARDED = "sharded"


def threads(cores: int) -> tuple[int, int]:
    """Return the threads of a node's pool before and after the changes; before in the published ratio to after."""
    new = min(NEW_THREADS, THREADS_A_CORE * cores)
    return round(new * OLD_THREADS / NEW_THREADS), new


def setting(name: str, cores: int) -> Setting:
    """Return one of CHANGES or REPLICATED: three nodes of the LSM store in one JVM.

    Of CHANGES, a key is on one node and one-nio's blocking client between them; of REPLICATED it is on all.
    """
    old, new = threads(cores)
    if name in REPLICATED:
        client, _, acks = name.partition("-")
        ack, _, copies = acks.partition("of")
        between = ("--client=one-nio", f"--peer-threads={new}") if client == "blocking" else ("--client=pipelined",)
        flags = (*_node(new), f"--replication-from={copies}", f"--replication-ack={ack}", *between)
        return Setting(name, ENGINE, flags, nodes=NODES, all_cores=True)
    pool = new if name in ("fewer-threads", NEW) else old
    hashing = "rendezvous" if name in ("murmur3", NEW) else "objects-hash"
    lock = () if name in ("no-lock", NEW) else ("--client-lock",)
    unused = () if name in (FEWER_OBJECTS, NEW) else ("--unused-response",)
    flags = (*_node(pool), "--replication-from=1", "--client=one-nio", f"--peer-threads={pool}", *lock, *unused)
    return Setting(name, ENGINE, (*flags, f"--hashing={hashing}"), nodes=NODES, all_cores=True)


def alone(cores: int) -> Setting:
    """Return one node without the others, otherwise as after the changes."""
    return Setting(ONE, ENGINE, _node(threads(cores)[1])[1:], all_cores=True)


def apart(name: str, cores: int) -> Setting:
    """Return a node of a cluster of three processes, with a log, so that a killed node loses nothing."""
    whole = setting(NEW if name == SHARDED else name, cores)
    flags = tuple(flag for flag in whole.server_flags if not flag.startswith(("--nodes", WAL)))
    return Setting(name, ENGINE, flags, processes=NODES, all_cores=True)


def _node(pool: int) -> tuple[str, ...]:
    """Return the flags of the report's node: a pool with a bounded queue that refuses, and a flush at 1 MiB."""
    queue = ("--execution=pool", f"--pool-threads={pool}", "--queue=array", f"--queue-size={QUEUE}")
    store = (f"{flag}={OLD_LSM[flag]}" for flag in (WAL, FLUSH))
    return (f"--nodes={NODES}", "--selectors=1", *queue, *store)
