"""Reproduce report 3: who runs a request, and what handing it over costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import Block, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.ladder import AroundTheKnee, Ladder, LadderSize, WarmServer
from runners.design.load import SCRIPTS, SIZES, Starts, Workload, random_gets
from runners.design.objective import Objective
from runners.design.session import EVENTS
from runners.design.setting import Setting
from runners.experiments.question_table import answered_by
from runners.readers.published import columns, with_rates
from runners.results.answer import Asked

ENGINE = "leveldb"
VALUE_BYTES = 12
#: Numbers that keys are drawn from, by size; as published in the full one.
KEYS = {"smoke": 2_000, "quick": 50_000, "full": 1_000_000}
CONNECTIONS = 64
#: Of the comparison on one connection. Each server is warmed for as long as its closed loop takes, where it has one.
STARTS = {"smoke": Starts(3, 1.0, 0.5, 0.7), "quick": Starts(6, 1.0, 3.0, 2.0), "full": Starts(12, 1.0, 5.0, 15.0)}
POOL = "pool"
#: Offered to a pool, as shares of what it reaches in closed loop: once what fits, once what does not.
OVERLOAD_SHARES = (0.8, 1.5)
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (0.4,), 1.0),
    "quick": LadderSize(0.38, 0.3, 0.3, (0.7,), (0.7,), 1.2, precision=0.15, published=1, starts=3),
    "full": LadderSize(6, 0.5, 2.0, (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3), (0.5, 0.9), 30.0, published_s=120.0, starts=3),
}


def _execution(name: str, *flags: str) -> Setting:
    return Setting(name, ENGINE, flags, all_cores=True)


#: As the report says, then what one-nio does by default, then the ways that do not block a selector.
EXECUTIONS = {
    setting.name: setting
    for setting in (
        _execution("blocking-one", "--execution=blocking-pool", "--selectors=1"),
        _execution("blocking-many", "--execution=blocking-pool"),
        _execution("selector", "--execution=selector"),
        _execution(POOL, "--execution=pool"),
        _execution("virtual", "--execution=virtual"),
    )
}
#: Pools that differ in their queue only: short and long, oldest first and newest first, a list in place of an array.
_QUEUES = (("array", 16), ("array", 1_024), ("lifo", 1_024), ("linked", 1_024))
_TRIED = {"smoke": 1, "quick": 3, "full": len(_QUEUES)}


def executions(names: str) -> list[Setting]:
    """Return the settings of a comma-separated list, in its order."""
    return [EXECUTIONS[name] for name in names.split(",")]


def queues(size: str) -> list[Setting]:
    """Return the pools that a size has time for; all of them in the full one."""
    return [
        _execution(f"queue-{kind}-{length}", "--execution=pool", f"--queue={kind}", f"--queue-size={length}")
        for kind, length in _QUEUES[: _TRIED[size]]
    ]


def put(size: str) -> Workload:
    """PUT of random keys and values, two draws a request."""
    outputs = columns("report-3", "-put-")
    return Workload("put", SCRIPTS / "put_random.lua", arguments=(str(KEYS[size]),), published_rates=outputs)


def get(size: str) -> Workload:
    """GET of random keys that are all there, unlike the published ones."""
    outputs = tuple(name for name in columns("report-3", "-get-") if not name.endswith("-1conn"))
    return random_gets(KEYS[size], VALUE_BYTES, outputs)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the hand-over on one connection, the knee of each way to run a request, and pools with more than fits."""
    size, connections = SIZES[str(asked["size"])], int(asked["connections"])
    plan, puts, gets = LADDERS[size.name], put(size.name), get(size.name)
    starts = STARTS[size.name]
    # on one connection nothing is done in parallel: the server's core is enough, and no generator shares it
    ways = tuple(replace(EXECUTIONS[name], all_cores=False) for name in ("selector", "blocking-one"))
    hand_over = Interleaved(
        "hand-over", "a request on the selector, and handed over to a pool that the selector waits for", ways,
        "selector", puts, replace(size, probe_s=starts.server_s), starts.shape(1),
        starts=starts.count, primary="cpu_us", margin=0.03, solo=False, loops=size.name == "full",
        questions=("hand-over", "median"),
    )  # fmt: skip
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    knees = [
        block
        for workload, names, keys in (
            (puts, asked["put_executions"], ("pool", "selectors", "virtual", "beyond")),
            (gets, asked["get_executions"], ("get",)),
        )
        for block in AroundTheKnee(
            plan, objective, connections, with_rates(workload.published_rates), listed(asked["profile"]), keys
        ).of_each(
            workload.name, f"{workload.label}: the knees of all ways to run a request, by slices in random order",
            [WarmServer(setting, workload, size) for setting in executions(str(names))],
        )
    ]  # fmt: skip
    overloads = [
        Ladder(
            setting.name, f"{setting.name}: less and more than fits", WarmServer(setting, puts, size),
            plan.shape(connections), shares=OVERLOAD_SHARES, questions=("queue",),
        )
        for setting in queues(size.name)
    ]  # fmt: skip
    return (hand_over, *knees, *overloads)


ALL = tuple(EXECUTIONS)
EXPERIMENT = Experiment(
    "03", "03_executor_and_selectors.ipynb",
    "Executors and selectors: who runs a request, and what the hand-over costs", "report-3",
    (
        *without(LADDER, "rate_rps", "profile", "selectors"),
        Parameter.profile(",".join(EVENTS)),
        Parameter("put_executions", ",".join(ALL), "ways to run a PUT, first as published", choices=ALL, several=True),
        Parameter("get_executions", "blocking-one,selector", "ways to run a GET", choices=ALL, several=True),
        Parameter.connections(CONNECTIONS, "connections of the ladders"),
    ),
    blocks,
    own_servers="it varies the executor and the selectors of the lab's server",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """Return what is asked of the report and of its ways to run a request, and what answers it."""
    from runners.results import comparisons, knees, published

    return answered_by("03", {
        "pool": knees.knees_apart("put", "blocking-one", "selector"),
        "selectors": knees.knees_apart("put", "blocking-many", "blocking-one"),
        "hand-over": comparisons.differs(("hand-over", "compare"), "blocking-one", "cpu_us"),
        "median": comparisons.differs(("hand-over", "compare"), "blocking-one", "p50_us"),
        "get": knees.knees_apart("get", "selector", "blocking-one"),
        "virtual": knees.knees_apart("put", "virtual", "blocking-one"),
        "queue": knees.longer_queue,
        "errors": published.reads_miss(lambda: columns("report-3", "-get-")),
        "beyond": published.beyond_the_knee,
    })  # fmt: skip
