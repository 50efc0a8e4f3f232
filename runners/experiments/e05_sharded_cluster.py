"""Reproduce report 5: a cluster of three nodes, the report's changes one at a time, replication, a node that dies."""

from collections.abc import Iterator, Mapping, Sequence

from runners.design import cluster
from runners.design.block import FEWEST_STARTS, SLICE_S, WRITES_SLICE_S, Block, FaultInjection, FixedRate, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import Ladder, WarmServer
from runners.design.load import PUBLISHED, SCRIPTS, SIZES, Shape, Workload, random_gets
from runners.design.objective import CPU, THROUGHPUT
from runners.design.session import EVENTS, LOCK, KillNode
from runners.design.setting import Setting
from runners.design.two_generators import by_two_generators
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import ladders, plan_for, sizes
from runners.process.cpu_placement import usable_cpus
from runners.readers.published import columns, with_rates
from runners.results.answer import Asked, Verdict, with_more

Blocks = tuple[Block, ...]
CONNECTIONS, VALUE_BYTES = 120, 25
KEYS = {"smoke": 2_000, "quick": 12_000, PUBLISHED: cluster.PUBLISHED_KEYS, "full": cluster.PUBLISHED_KEYS}
LADDERS = ladders("05")
LOADS = sizes("05", "loads")
SLICES = sizes("05", "slices")
#: By size of run, loads that compare one node with three by request: what passing on costs; short sizes have none.
PRICE = sizes("05", "price")
#: How many treatments are up at once besides the baseline and its control (so four JVMs); the change that matters.
AT_ONCE, MARGIN = 2, 0.05
#: Offered rates as shares of a closed loop's: with profiles (low: a lock profile costs much), and with a node killed.
IN_DEPTH_SHARE, OUTAGE_SHARE = 0.3, 0.5
COPIES = {"smoke": ("2of3",), "quick": ("2of3", "3of3"), PUBLISHED: ("2of3", "3of3"), "full": ("2of3", "3of3")}
#: Clusters that lose a node: sharded, then with copies of which two or all must respond. Each node is a process.
_KILLED = (cluster.SHARDED, "async-2of3", "async-3of3")
OUTAGES = {size: _KILLED[:many] for size, many in {"smoke": 1, "quick": 2, PUBLISHED: 2, "full": 3}.items()}
#: By size: seconds of the server's warm-up before an outage, of the load's warm-up, and of the load.
OUTAGE_S = {"smoke": (1.0, 0.3, 6.0), "quick": (2.0, 0.5, 6.0), PUBLISHED: (5.0, 1.0, 60.0), "full": (10.0, 2.0, 60.0)}
#: Questions on shares that are alike in PUT and GET, each with the event of the profiles that answer it.
ALIKE = {"alike-allocations": "alloc", "alike-locks": LOCK}
DIES_AT, RETURNS_AT = 0.25, 0.5  # shares of the load, when the node is killed and started again


def put() -> Workload:
    """Return PUT of small values to ascending ids."""
    outputs = columns("report-5", "put-ladder")
    return Workload("put", SCRIPTS / "put.lua", arguments=(str(VALUE_BYTES),), published_rates=outputs)


def get(size: str) -> Workload:
    """Return GET of random ids that the store holds; `size` (for example quick) decides how many."""
    return random_gets(KEYS[size], VALUE_BYTES, columns("report-5", "get-ladder"))


def compared(
    name: str, title: str, settings: Sequence[Setting], size: str, connections: int, questions: tuple[str, ...],
    workload: Workload | None = None,
) -> Interleaved:  # fmt: skip
    """Return a comparison of settings, the first of which is the baseline, by closed loops in slices of time.

    Two settings are started FEWEST_STARTS times; three or more, or size full, as SLICES says. `workload`: None is PUT.
    """
    plan = SLICES[size]
    return Interleaved(
        name, title, tuple(settings), settings[0].name, workload or put(), plan,
        plan.shape(connections, servers=min(len(settings), 1 + AT_ONCE) + 1),
        starts=plan.starts if len(settings) > 2 or size == "full" else FEWEST_STARTS, primary=THROUGHPUT,
        margin=MARGIN, slice_s=SLICE_S if workload else WRITES_SLICE_S, at_once=AT_ONCE, questions=questions,
    )  # fmt: skip


def one_node(single: Setting, before: Setting, after: Setting, size: str, connections: int) -> Iterator[Block]:
    """Yield comparisons of one node with three, `before` and `after` report 5's changes; none if PRICE lacks `size`."""
    plan, few = PRICE.get(size), min(connections, cluster.REPLICATED_CONNECTIONS)
    if plan is None:
        return
    for workload in (put(), get("quick")):
        method = workload.label
        yield compared(
            f"one-node-{workload.name}", f"{method}: one node, and three before and after the changes",
            (single, before, after), size, connections, ("one-node",), workload if workload.filled_keys else None,
        )  # fmt: skip
        yield Interleaved(
            f"passed-on-{workload.name}", f"{method}: one node and three, request by request", (single, after),
            single.name, workload, plan, plan.shape(few), plan.starts, primary=CPU, margin=MARGIN, solo=False,
            loops=False, questions=("passed-on", "put-get"),
        )  # fmt: skip


def before_and_after(workload: Workload, before: Setting, after: Setting, asked: Mapping[str, Value]) -> Blocks:
    """Return two blocks: the knee of `after` with rates around it, one of them profiled; `before` at the same rates."""
    profile, published = listed(asked["profile"]), with_rates(workload.published_rates)
    plan = plan_for(asked, LADDERS, published=published, profile=profile, questions=("medians", *ALIKE))
    size = SIZES[str(asked["size"])]
    around = plan.block(
        workload.name, f"{workload.label} after the changes: the knee, and rates around it",
        WarmServer(after, workload, size),
    )  # fmt: skip
    same = Ladder(
        f"{workload.name}-before", f"{workload.label} before the changes, at the same rates",
        WarmServer(before, workload, size), plan.shape(plan.connections), like=around, questions=("three-changes",),
    )  # fmt: skip
    return around, same


def blocks(asked: Mapping[str, Value]) -> Blocks:
    """Return the blocks for the parameters `asked`: knees, profiles, single changes, one node, copies, killed nodes."""
    size, connections, cores = str(asked["size"]), int(asked["connections"]), len(usable_cpus())
    settings = {name: cluster.setting(name, cores) for name in (*cluster.CHANGES, *cluster.REPLICATED)}
    ends = settings[cluster.OLD], settings[cluster.NEW]
    puts, gets = (before_and_after(workload, *ends, asked) for workload in (put(), get(size)))
    in_depth = FixedRate(
        "in-depth", "PUT before and after the changes at one rate, with profiles", ends, put(), LOADS[size],
        connections=connections, profile=listed(asked["profile"]), share=IN_DEPTH_SHARE, questions=("spread", "waits"),
    )  # fmt: skip
    changes = compared(
        "changes", "the report's changes, each alone and all at once",
        [settings[name] for name in cluster.CHANGES if size in PRICE or name != cluster.FEWER_OBJECTS],
        size, connections, ("three-changes", "lock", "threads", "objects", "hash"),
    )  # fmt: skip
    single = one_node(cluster.alone(cores), *ends, size, connections)
    copies = [
        compared(
            f"replication-{acks}", f"a client that waits and one that does not, {acks.replace('of', ' of ')} copies",
            (settings[f"blocking-{acks}"], settings[f"async-{acks}"]), size,
            min(connections, cluster.REPLICATED_CONNECTIONS), ("async",),
        )
        for acks in COPIES[size]
    ]  # fmt: skip
    warm_s, warmup_s, load_s = OUTAGE_S[size]
    kill = KillNode(cluster.NODES, DIES_AT * load_s, RETURNS_AT * load_s)
    deaths = [
        FaultInjection(
            f"{name}-death", f"{name}: one of three nodes is killed under load, and started again",
            cluster.apart(name, cores), put(), (kill,), Shape(connections, 1, load_s, warmup_s), warm_up_s=warm_s,
            share=OUTAGE_SHARE, questions=(f"{'sharded' if name == cluster.SHARDED else 'copies'}-death",),
        )
        for name in OUTAGES[size]
    ]  # fmt: skip
    by_wrk2 = by_two_generators(settings[cluster.NEW], put(), size, connections, ("medians",))
    return (*puts, *gets, in_depth, changes, *single, *copies, *deaths, by_wrk2)


EXPERIMENT = Experiment(
    "05", "05_sharded_cluster.ipynb", "Three nodes: each change alone, and one node in their place", "report-5",
    (
        *without(LADDER, "rate_rps", "profile", "selectors", "heap_mb", "port"),
        Parameter.profile(",".join(EVENTS)),
        Parameter.connections(CONNECTIONS, "connections of the load"),
        Parameter.heap(256, "heap of the JVM that holds the nodes"),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.intervals import Direction
    from runners.results import cluster as passing
    from runners.results import comparisons, faults, published

    return answered_by("05", {
        "three-changes": comparisons.differs(("changes",), cluster.NEW, THROUGHPUT),
        "lock": comparisons.differs(("changes",), "no-lock", THROUGHPUT),
        "threads": with_more(comparisons.differs(("changes",), "fewer-threads", THROUGHPUT), passing.pool_threads),
        "objects": comparisons.differs(("changes",), cluster.FEWER_OBJECTS, THROUGHPUT),
        "hash": comparisons.differs(("changes",), "murmur3", THROUGHPUT),
        "one-node": comparisons.parts_differ(
            Verdict.of_all, {"one-node-put": "PUT", "one-node-get": "GET"}, cluster.NEW, THROUGHPUT, (Direction.LOWER,)
        ),
        "passed-on": passing.price_of_passing({"passed-on-put": "PUT", "passed-on-get": "GET"}),
        "put-get": passing.passing_weighs_more("passed-on-put", "passed-on-get"),
        **{name: passing.alike(event, "put", "get") for name, event in ALIKE.items()},
        "spread": passing.spreads,
        "waits": passing.waits_for_the_lock,
        "medians": published.medians_stay(columns("report-5", "put-ladder"), "put"),
        "async": comparisons.parts_differ(
            Verdict.of_all, {f"replication-{acks}": "PUT" for acks in COPIES["full"]}, None, THROUGHPUT
        ),
        "sharded-death": faults.fails("sharded"),
        "copies-death": faults.fails("async-2of3"),
    })  # fmt: skip
