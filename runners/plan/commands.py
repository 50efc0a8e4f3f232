"""The experiments that are commands instead of notebooks: `lab knee` and `lab compare`."""

from __future__ import annotations

from runners.plan.experiment import COMMON, Experiment, experiment
from runners.plan.objective import Objective
from runners.plan.parameter import Parameter
from runners.plan.workload import WORKLOADS

#: What an experiment on one server understands, less what these commands say in their own words.
_SHARED = tuple(each for each in COMMON if each.name not in ("rate_rps", "engines", "profile"))
_LOAD = (
    Parameter("workload", "put", "what is sent", choices=tuple(WORKLOADS)),
    Parameter("connections", 64, "connections of the load", "connections", low=1, high=10_000),
    Parameter("threads", 1, "threads of the generator", "threads", low=1, high=256),
)

KNEE = Experiment(
    "knee",
    "",
    "The knee: the highest rate that meets an objective",
    "",
    (
        *_SHARED,
        Parameter("setting", "lsm", "the server: an engine, or engine=lsm,--flag=value,-Xflag"),
        *_LOAD,
        Parameter("objective", Objective().text, "what must be kept"),
        Parameter("minutes", 10.0, "budget of the search", "minutes", low=0.2, high=600),
        Parameter("low_rps", 100, "lowest rate of interest", "requests/s", low=1, high=1_000_000),
        Parameter("high_rps", 1_000_000, "highest rate of interest", "requests/s", low=1, high=10_000_000),
        Parameter("precision", 0.05, "width of the interval to stop at, as a share of the knee", low=0.005, high=1.0),
        Parameter("probe_s", 5.0, "length of one probe, without its warm-up", "s", low=0.5, high=600),
    ),
    (),
)

COMPARE = Experiment(
    "compare",
    "",
    "Two settings compared in interleaved repeats",
    "",
    (
        *_SHARED,
        Parameter("a", "lsm", "first setting: an engine, or engine=lsm,--flag=value,-Xflag"),
        Parameter("b", "rocksdb", "second setting"),
        *_LOAD,
        Parameter(
            "rate_rps", 0, "offered rate; 0: 70 % of what the weaker one carries", "requests/s", low=0, high=1_000_000
        ),
        Parameter("minutes", 10.0, "budget of all rounds", "minutes", low=0.2, high=600),
        Parameter("see", 0.02, "smallest difference of interest, as a share", low=0.001, high=1.0),
        Parameter("repeat_s", 5.0, "length of one repeat, without its warm-up", "s", low=0.5, high=600),
    ),
    (),
)

COMMANDS = {plan.number: plan for plan in (KNEE, COMPARE)}


def plan_of(name: str) -> Experiment:
    """The command or the notebook of that name. Raises PlanError with the list of notebooks."""
    return COMMANDS.get(name) or experiment(name)
