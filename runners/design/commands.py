"""`lab knee`, the experiment that is a command instead of a notebook, and commands that are a notebook's other name."""

from __future__ import annotations

from runners.design.experiment import EXPERIMENTS, ONE_LOAD, Experiment, experiment, setting_of
from runners.design.objective import Objective
from runners.design.parameter import Parameter

KNEE = Experiment(
    "knee",
    "",
    "The knee: the highest rate that meets an objective",
    "",
    (
        *ONE_LOAD,
        Parameter("setting", "lsm", "the server: an engine, or engine=lsm,--flag=value,-Xflag", read=setting_of),
        Parameter("objective", Objective().text, "what must be kept", read=Objective.parse),
        Parameter("minutes", 10.0, "budget of the search", "minutes", low=0.2, high=600),
        Parameter("low_rps", 100, "lowest rate of interest", "requests/s", low=1, high=1_000_000),
        Parameter("high_rps", 1_000_000, "highest rate of interest", "requests/s", low=1, high=10_000_000),
        Parameter("precision", 0.05, "width of the interval to stop at, as a share of the knee", low=0.005, high=1.0),
        Parameter("probe_s", 5.0, "length of one probe, without its warm-up", "s", low=0.5, high=600),
    ),
    (),
)

COMPARE = EXPERIMENTS["09"]
COMMANDS = {"knee": KNEE, "compare": COMPARE}


def plan_of(name: str) -> Experiment:
    """The command or the notebook of that name. Raises PlanError with the list of notebooks."""
    return COMMANDS.get(name) or experiment(name)
