"""`lab knee`, the experiment that is a command instead of a notebook, and commands that are a notebook's other name."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runners.design.block import SEARCH_STEP_S
from runners.design.experiment import EVENTS, EXPERIMENTS, ONE_LOAD, Experiment, experiment, setting_of
from runners.design.objective import Objective
from runners.design.parameter import Parameter
from runners.design.target import LOOPBACK, whole_path

_WORKLOAD = Parameter("workload", "", "a workload of the target; empty: its first")


def _of_targets(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    return tuple(_WORKLOAD if each.name == _WORKLOAD.name else each for each in parameters)


#: Who sends a load, and who may reach its server.
SHARES = Parameter(
    "shares", 0, "generators that share a load, in a fleet on other hosts; 0: one beside the server", low=0, high=1000
)
OF_HOST = "host"
LISTEN = Parameter("listen", LOOPBACK, f"address that servers listen on; {OF_HOST}: that of their host in the fleet")

KNEE = Experiment(
    "knee",
    "",
    "The knee: the highest rate that meets an objective",
    "",
    (
        *ONE_LOAD,
        Parameter(
            "setting",
            "lsm",
            "the server: an engine, or engine=lsm,--flag=value,-Xflag",
            read=setting_of,
            kept=whole_path,
        ),
        Parameter("objective", Objective().text, "what must be kept", read=Objective.parse),
        Parameter("minutes", 10.0, "budget of the search", "minutes", low=0.2, high=600),
        Parameter("low_rps", 100, "lowest rate of interest", "requests/s", low=1, high=1_000_000),
        Parameter("high_rps", 1_000_000, "highest rate of interest", "requests/s", low=1, high=10_000_000),
        Parameter("precision", 0.05, "width of the interval to stop at, as a share of the knee", low=0.005, high=1.0),
        Parameter("probe_s", SEARCH_STEP_S, "length of one short step", "s", low=0.1, high=600),
        SHARES,
        LISTEN,
    ),
    (),
)

COMPARE = EXPERIMENTS["09"]

#: As on the lab's own servers, with the workloads that the targets describe.
TARGET_KNEE = dataclasses.replace(KNEE, parameters=_of_targets(KNEE.parameters))
TARGET_COMPARE = dataclasses.replace(
    COMPARE, number="compare", notebook="", parameters=(*_of_targets(COMPARE.parameters), SHARES, LISTEN)
)
LOAD = Experiment(
    "load",
    "",
    "One load: a constant rate on one server",
    "",
    (
        *_of_targets(ONE_LOAD),
        Parameter("setting", "", "the server: target=FILE", read=setting_of, kept=whole_path),
        Parameter("rate_rps", 0, "offered rate; 0: half of a closed loop", "requests/s", low=0, high=10_000_000),
        Parameter("duration_s", 0.0, "length without warm-up; 0: as the size", "s", low=0, high=86_400),
        Parameter("profile", "none", "events, or none", choices=EVENTS, several=True, optional=True),
        SHARES,
        LISTEN,
    ),
    (),
)
COMMANDS = {
    "knee": KNEE,
    "compare": COMPARE,
    "load": LOAD,
    "target-knee": TARGET_KNEE,
    "target-compare": TARGET_COMPARE,
}


def plan_of(name: str) -> Experiment:
    """The command or the notebook of that name. Raises PlanError with the list of notebooks."""
    return COMMANDS.get(name) or experiment(name)
