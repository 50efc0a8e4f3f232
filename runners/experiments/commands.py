"""Plan the runs of `lab load`, `lab knee` and `lab compare`: experiments without a notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runners.design.block import Block, FixedRate
from runners.design.experiment import (
    LISTEN,
    ONE_LOAD,
    REPORT_S,
    SHARES,
    Experiment,
    Parameter,
    Value,
    listed,
    setting_of,
    workload_of,
)
from runners.design.ladder import SEARCH_STEP_S, KneeSearch, WarmServer
from runners.design.load import SENTINEL_PLANNED_S, SIZES, Shape
from runners.design.objective import Objective
from runners.design.target import whole_path
from runners.experiments.e09_compare import EXPERIMENT as COMPARE


def load(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return loads at one rate: on a do-nothing server, then on the given one. Raises PlanError for a bad parameter."""
    text, size = str(asked["setting"]), SIZES[str(asked["size"])]
    setting, workload = setting_of(text), workload_of(str(asked["workload"]), [text])
    return (FixedRate(
        "load", f"{workload.label} of {setting.name} at one rate", (setting,), workload,
        replace(size, duration_s=float(asked["duration_s"]) or size.duration_s), float(asked["rate_rps"]),
        int(asked["connections"]), int(asked["threads"]), listed(asked["profile"]),
    ),)  # fmt: skip


def knee(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return a knee search within the parameter `minutes`, or the shortest. Raises PlanError for a bad parameter."""
    text = str(asked["setting"])
    server = WarmServer(setting_of(text), workload_of(str(asked["workload"]), [text]), SIZES[str(asked["size"])])
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["probe_s"]))
    low_rps, high_rps, minutes = float(asked["low_rps"]), float(asked["high_rps"]), float(asked["minutes"])
    around_s = SENTINEL_PLANNED_S + server.warm_up(shape).planned_s + REPORT_S
    search = KneeSearch(
        "knee", f"the knee of {server.name}", server, Objective.parse(str(asked["objective"])), minutes, shape,
        low_rps, high_rps, float(asked["precision"]),
    )  # fmt: skip
    return (replace(search, minutes=max(minutes - around_s / 60, search.least_minutes)),)


def _with_target_workloads(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    workload = Parameter("workload", "", "a workload of the target; empty: its first")
    return tuple(workload if parameter.name == workload.name else parameter for parameter in parameters)


KNEE = Experiment(
    "knee", "", "The knee: the highest rate that meets an objective", "",
    (
        *ONE_LOAD,
        Parameter(
            "setting", "lsm", "the server: an engine, or engine=lsm,--flag=value,-Xflag", read=setting_of,
            kept=whole_path,
        ),
        Parameter("objective", Objective().text, "what must be kept", read=Objective.parse),
        Parameter("minutes", 10.0, "budget of the run, builds apart", "minutes", low=0.2, high=600),
        Parameter("low_rps", 100, "lowest rate of interest", "requests/s", low=1, high=1_000_000),
        Parameter("high_rps", 1_000_000, "highest rate of interest", "requests/s", low=1, high=10_000_000),
        Parameter("precision", 0.05, "width of the interval to stop at, as a share of the knee", low=0.005, high=1.0),
        Parameter("probe_s", SEARCH_STEP_S, "length of one short step", "s", low=0.1, high=600),
        SHARES,
        LISTEN,
    ),
    knee,
)  # fmt: skip
TARGET_KNEE = replace(KNEE, parameters=_with_target_workloads(KNEE.parameters))
_COMPARED = (*_with_target_workloads(COMPARE.parameters), SHARES, LISTEN)
TARGET_COMPARE = replace(COMPARE, number="compare", notebook="", parameters=_COMPARED)
LOAD = Experiment(
    "load", "", "One load: a constant rate on one server", "",
    (
        *_with_target_workloads(ONE_LOAD),
        Parameter("setting", "", "the server: target=FILE", read=setting_of, kept=whole_path),
        Parameter("rate_rps", 0, "offered rate; 0: half of a closed loop", "requests/s", low=0, high=10_000_000),
        Parameter("duration_s", 0.0, "length without warm-up; 0: as the size", "s", low=0, high=86_400),
        Parameter.profile("none"),
        SHARES,
        LISTEN,
    ),
    load,
)  # fmt: skip
COMMANDS = {
    "knee": KNEE, "compare": COMPARE, "load": LOAD, "target-knee": TARGET_KNEE, "target-compare": TARGET_COMPARE,
}  # fmt: skip
SERVERS = ("setting", "a", "b")
