"""Settings of report 5's clusters: three nodes of the LSM store, in one JVM or in three, sharded or replicated."""

from runners.design.setting import FLUSH, OLD_LSM, WAL, Setting

ENGINE = "lsm"
NODES = 3
#: How many ids the report wrote, from 0 on; the report's GETs read random ids among these.
PUBLISHED_KEYS = 3_710_000
#: Threads of a node's pool, before and after the report's changes. The report does not state its number of cores.
OLD_THREADS, NEW_THREADS = 20, 6
THREADS_A_CORE = 2
QUEUE = 128
#: For each request, a replicated cluster's first node calls two others; its blocking client has room for QUEUE calls.
REPLICATED_CONNECTIONS = 60
OLD, NEW = "all-old", "all-new"
#: Names of settings: the server before the report's changes, with one of them, with all. Small sizes omit some.
FEWER_OBJECTS = "fewer-objects"
CHANGES = (OLD, "fewer-threads", "no-lock", FEWER_OBJECTS, "murmur3", NEW)
ONE = "one-node"
#: Names of settings: whether a node's thread waits for each replica (blocking), and how many of 3 must respond.
REPLICATED = ("blocking-2of3", "async-2of3", "blocking-3of3", "async-3of3")
SHARDED = "sharded"


def threads(cores: int) -> tuple[int, int]:
    """Return (before, after): the threads of a node's pool before and after report 5's changes, on `cores` cores."""
    new = min(NEW_THREADS, THREADS_A_CORE * cores)
    return round(new * OLD_THREADS / NEW_THREADS), new


def setting(name: str, cores: int) -> Setting:
    """Return the setting of this name, one of CHANGES or REPLICATED: three nodes of the LSM store in one JVM.

    In CHANGES a key is on one node, and nodes call one another by one-nio's blocking client. In REPLICATED every key is
    on all nodes. `cores`: cores of the machine, which limit the threads of the pools.
    """
    old, new = threads(cores)
    if name in REPLICATED:
        client, _, acks = name.partition("-")
        ack, _, copies = acks.partition("of")
        between = ("--client=one-nio", f"--peer-threads={new}") if client == "blocking" else ("--client=pipelined",)
        flags = (*_node_flags(new), f"--replication-from={copies}", f"--replication-ack={ack}", *between)
        return Setting(name, ENGINE, flags, nodes=NODES, all_cores=True)
    pool = new if name in ("fewer-threads", NEW) else old
    hashing = "rendezvous" if name in ("murmur3", NEW) else "objects-hash"
    lock = () if name in ("no-lock", NEW) else ("--client-lock",)
    unused = () if name in (FEWER_OBJECTS, NEW) else ("--unused-response",)
    flags = (*_node_flags(pool), "--replication-from=1", "--client=one-nio", f"--peer-threads={pool}", *lock, *unused)
    return Setting(name, ENGINE, (*flags, f"--hashing={hashing}"), nodes=NODES, all_cores=True)


def alone(cores: int) -> Setting:
    """Return the setting of one node without a cluster, with report 5's changes; `cores` limits the pool's threads."""
    return Setting(ONE, ENGINE, _node_flags(threads(cores)[1])[1:], all_cores=True)


def apart(name: str, cores: int) -> Setting:
    """Return the setting of three nodes in three JVMs, with a write-ahead log; `name`: SHARDED or one of REPLICATED."""
    whole = setting(NEW if name == SHARDED else name, cores)
    flags = tuple(flag for flag in whole.server_flags if not flag.startswith(("--nodes", WAL)))
    return Setting(name, ENGINE, flags, processes=NODES, all_cores=True)


def _node_flags(pool: int) -> tuple[str, ...]:
    queue = ("--execution=pool", f"--pool-threads={pool}", "--queue=array", f"--queue-size={QUEUE}")
    store = (f"{flag}={OLD_LSM[flag]}" for flag in (WAL, FLUSH))
    return (f"--nodes={NODES}", "--selectors=1", *queue, *store)
