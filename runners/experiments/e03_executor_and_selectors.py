"""Reproduce report 3: which thread runs a request, and what it costs to hand a request over."""

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import SLICE_S, WRITES_SLICE_S, Block, FixedRate, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import Ladder, WarmServer
from runners.design.load import SCRIPTS, SIZES, Workload, random_gets, sized_puts
from runners.design.objective import THROUGHPUT
from runners.design.session import EVENTS
from runners.design.setting import Setting
from runners.design.two_generators import by_two_generators
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import ladders, plan_for, sizes
from runners.readers.published import columns, with_rates
from runners.results.answer import Asked, Verdict, either, with_more

ENGINE = "leveldb"
VALUE_BYTES = 12
#: The number of keys to draw from, by size; `published` and `full` draw from as many as the report did.
KEYS = {"smoke": 2_000, "quick": 50_000, "published": 1_000_000, "full": 1_000_000}
CONNECTIONS = 64
#: By size of run, the loads on one connection that compare a request with the hand-over and without.
COMPARED = sizes("03", "compared")
#: By size of run, closed loops on one connection and on many, in rounds of fresh starts; short sizes have none.
LOOPS = sizes("03", "loops")
#: By size of run, comparisons by slices of selectors and hand-over, with small and large values; short sizes have none.
SLICES = sizes("03", "slices")
SLICED = ("put", "get", "put-10k", "get-10k")
SLICED_QUESTIONS = {"put": ("pool-rate", "selectors-rate"), "get": ("get-rate", "get-selectors")}
LARGE_BYTES, LARGE_KEYS, MARGIN, AT_ONCE = 10_000, 2_000, 0.05, 2
SMALL_GET = replace(random_gets(10_000, VALUE_BYTES), name="get-small")  # the fill takes less than a second
LOCK_S = {("published", "get-rates-blocking-many"): 60.0}  # seconds of a recording of rare waits, by (size, block)
#: Rates offered to a pool, as shares of its closed loop's rate: one that it can serve, and one that it can't.
OVERLOAD_SHARES = (0.8, 2.0)
LADDERS = ladders("03")


def _execution(name: str, *flags: str) -> Setting:
    return Setting(name, ENGINE, flags, all_cores=True)


#: Ways to run a request: as in the report, the same without a hand-over, and with a hand-over that blocks no selector.
EXECUTIONS = {setting.name: setting for setting in (
    _execution("blocking-one", "--execution=blocking-pool", "--selectors=1"),
    _execution("blocking-many", "--execution=blocking-pool"),
    _execution("selector-one", "--execution=selector", "--selectors=1"),
    _execution("selector", "--execution=selector"),
    _execution("pool", "--execution=pool"),
    _execution("virtual", "--execution=virtual"),
)}  # fmt: skip
#: One selector or one per core, with the hand-over and without; the first is the baseline.
CROSSED = ("blocking-one", "blocking-many", "selector-one", "selector")
#: Pools that differ in their queue only: short and long, oldest first and newest first, a list in place of an array.
_QUEUES = (("array", 16), ("array", 1_024), ("lifo", 1_024), ("linked", 1_024))
_TRIED = {"smoke": 1, "quick": 3, "published": len(_QUEUES), "full": len(_QUEUES)}


def queues(size: str) -> list[Setting]:
    """Return settings that differ only in the queue of the thread pool; a smaller `size` of run gets fewer of them."""
    return [
        _execution(f"queue-{kind}-{length}", "--execution=pool", f"--queue={kind}", f"--queue-size={length}")
        for kind, length in _QUEUES[: _TRIED[size]]
    ]


def put(size: str) -> Workload:
    """Return PUT of random keys and values; `size` (for example quick) decides how many keys there are."""
    outputs = columns("report-3", "-put-")
    return Workload("put", SCRIPTS / "put_random.lua", arguments=(str(KEYS[size]),), published_rates=outputs)


def get(size: str) -> Workload:
    """Return GET of random keys, all in the store (the published GET also drew absent ones). `size`: such as quick."""
    outputs = tuple(name for name in columns("report-3", "-get-") if not name.endswith("-1conn"))
    return random_gets(KEYS[size], VALUE_BYTES, outputs)


def closed_loops(size: str, connections: int) -> FixedRate:
    """Return the block of closed loops with and without a thread pool, in rounds of new servers with one selector."""
    return FixedRate.rounds(
        "connections", "closed loops behind one selector, on one connection and on many, with a pool and without",
        [replace(EXECUTIONS[name], all_cores=False) for name in ("selector-one", "blocking-one")],
        ((put(size), (1, connections)), (SMALL_GET, (1,))), LOOPS[size], ("connections", "one-connection"),
    )  # fmt: skip


def crossed(name: str, size: str, connections: int) -> Interleaved:
    """Return a comparison in slices of time: one selector or many, with and without a pool. `name`: such as put-10k."""
    plan, method, large = SLICES[size], name[:3], name.endswith("-10k")
    if large:
        sent = sized_puts(LARGE_KEYS, LARGE_BYTES) if method == "put" else random_gets(LARGE_KEYS, LARGE_BYTES)
    else:
        sent = put(size) if method == "put" else get("quick")
    value = "10 kB" if large else "12 B"
    return Interleaved(
        f"{name}-selectors", f"{method.upper()} of {value}: one selector or one a core, with a hand-over and without",
        tuple(EXECUTIONS[way] for way in CROSSED), CROSSED[0], sent, plan,
        plan.shape(connections, servers=AT_ONCE + 2), plan.starts, primary=THROUGHPUT, margin=MARGIN,
        slice_s=WRITES_SLICE_S if method == "put" else SLICE_S, at_once=AT_ONCE,
        questions=("large-values",) if large else SLICED_QUESTIONS[method],
    )  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: hand-over, closed loops, selectors, knees, full queues, wrk2."""
    size, connections = SIZES[str(asked["size"])], int(asked["connections"])
    puts, gets, compared = put(size.name), get(size.name), COMPARED[size.name]
    # on one connection nothing is done in parallel: the server's core is enough, and no generator shares it
    ways = tuple(replace(EXECUTIONS[name], all_cores=False) for name in ("selector-one", "blocking-one"))
    hand_over = Interleaved(
        "hand-over", "a request on the selector, and handed over to a pool that the selector waits for", ways,
        "selector-one", puts, compared, compared.shape(1), compared.starts, primary="cpu_us", margin=0.03, solo=False,
        loops=size.name == "full", questions=("hand-over", "median"),
    )  # fmt: skip
    plan = plan_for(asked, LADDERS, profile=listed(asked["profile"]))
    by_put = SLICED_QUESTIONS["put"]
    knees = [
        replace(
            block, published=with_rates(block.workload.published_rates, block.server.treatment.name),
            lock_s=LOCK_S.get((size.name, block.name)),
        )
        if isinstance(block, Ladder) else block
        for workload, names, fitting, keys in (
            (puts, listed(asked["put_executions"]), FITTING_PUT, (*by_put, "virtual", "locks", "beyond")),
            (gets, listed(asked["get_executions"]), FITTING_GET, ("get-rate", "locks-get")),
        )
        for block in replace(plan, questions=keys).blocks(
            workload.name, f"{workload.label}: the knees of all ways to run a request, by slices in random order",
            [WarmServer(EXECUTIONS[name], workload, size) for name in (fitting[size.name] if FIT in names else names)],
        )
    ]  # fmt: skip
    # fewer connections than places never fill a queue
    overloading = max(connections, 2 * max(length for _, length in _QUEUES[: _TRIED[size.name]]))
    overloads = [
        Ladder(
            setting.name, f"{setting.name}: less and more than fits", WarmServer(setting, puts, size),
            plan.shape(overloading), shares=OVERLOAD_SHARES, questions=("queue",),
        )
        for setting in queues(size.name)
    ]  # fmt: skip
    loops = [closed_loops(size.name, connections)] if size.name in LOOPS else []
    slices = [crossed(name, size.name, connections) for name in (SLICED if size.name in SLICES else ())]
    by_wrk2 = by_two_generators(EXECUTIONS["blocking-one"], puts, size.name, connections)
    return (hand_over, *loops, *slices, *knees, *overloads, by_wrk2)


#: The value of a parameter that stands for the ways that a size has time for; these ways, by size.
FIT = "fit"
_PUT = ("blocking-one", "blocking-many", "selector-one", "selector", "virtual")
FITTING_PUT = {"smoke": _PUT, "quick": _PUT, "published": _PUT, "full": tuple(EXECUTIONS)}
_GET = ("blocking-one", "selector")
FITTING_GET = {"smoke": _GET, "quick": _GET, "published": ("blocking-many", *_GET), "full": CROSSED}
WAYS = (FIT, *EXECUTIONS)
EXPERIMENT = Experiment(
    "03", "03_executor_and_selectors.ipynb",
    "Executors and selectors: who runs a request, and what the hand-over costs", "report-3",
    (
        *without(LADDER, "rate_rps", "profile", "selectors"),
        Parameter.profile(",".join(EVENTS)),
        Parameter("put_executions", FIT, "ways to run a PUT; fit: as the size has time", choices=WAYS, several=True),
        Parameter("get_executions", FIT, "ways to run a GET; fit: as the size has time", choices=WAYS, several=True),
        Parameter.connections(CONNECTIONS, "connections of the ladders"),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.facts import achieved_rps
    from runners.analysis.intervals import Direction
    from runners.results import comparisons, knees, profiles, published
    from runners.results.loads import more_than

    one, pooled_one = ("selector-one", 1, "put"), ("blocking-one", 1, "put")
    many, pooled = ("selector-one", CONNECTIONS, "put"), ("blocking-one", CONNECTIONS, "put")
    get_one, get_pooled = ("selector-one", 1, SMALL_GET.name), ("blocking-one", 1, SMALL_GET.name)
    gets, puts = (f"{method} rate with the pool, as a multiple of that without:" for method in ("GET", "PUT"))
    gain = "{} gain by more selectors"
    return answered_by("03", {
        "connections": more_than(
            f"PUT rate of {CONNECTIONS} connections with the pool, as a multiple of that without:", pooled, many,
            (achieved_rps, f"without the pool, {CONNECTIONS} connections reach, as a multiple of one:", many, one),
            (achieved_rps, f"{CONNECTIONS} connections with the pool, as a multiple of one without:", pooled, one),
        ),
        "one-connection": either(
            more_than(gets, get_pooled, get_one, (achieved_rps, puts, pooled_one, one), lower=True),
            more_than(puts, pooled_one, one, lower=True),
        ),
        "pool-rate": either(
            comparisons.differs(("put-selectors",), "selector-one", THROUGHPUT, (Direction.LOWER,)),
            knees.knees_apart("put", "blocking-one", "selector-one"),
        ),
        "selectors-rate": either(
            comparisons.differs(("put-selectors",), "blocking-many", THROUGHPUT, (Direction.HIGHER,)),
            knees.knees_apart("put", "blocking-many", "blocking-one"),
        ),
        "hand-over": comparisons.differs(("hand-over", "compare"), "blocking-one", "cpu_us"),
        "median": comparisons.differs(("hand-over", "compare"), "blocking-one", "p50_us"),
        "get-rate": either(
            with_more(
                comparisons.differs(("get-selectors",), "selector", THROUGHPUT, (Direction.HIGHER,)),
                comparisons.differs(("get-selectors",), "selector-one", THROUGHPUT),
            ),
            knees.knees_apart("get", "selector", "blocking-one"),
        ),
        "get-selectors": comparisons.differs(("get-selectors",), "blocking-many", THROUGHPUT),
        "large-values": with_more(
            comparisons.parts_differ(
                Verdict.of_all, {"put-10k-selectors": "PUT", "get-10k-selectors": "GET"}, "blocking-many", THROUGHPUT
            ),
            *(
                comparisons.gains_apart(gain.format(name.upper()), blocks, "blocking-many")
                for name in ("put", "get")
                for blocks in [{"10 kB": f"{name}-10k-selectors", "12 B": f"{name}-selectors"}]
            ),
        ),
        "virtual": knees.knees_apart("put", "virtual", "blocking-many"),
        # behind one selector that waits for the pool, one request at a time is in the store: nobody waits for its mutex
        "locks": profiles.takes_most(("put",), "blocking-many", profiles.STORE_WAITS),
        "locks-get": profiles.takes_most(("get",), "blocking-many", profiles.STORE_WAITS),
        "queue": knees.longer_queue,
        "errors": published.reads_miss(lambda: columns("report-3", "-get-")),
        "beyond": published.beyond_the_knee,
    })  # fmt: skip
