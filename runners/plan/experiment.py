"""The experiments: each is a notebook, its title, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from runners.errors import PlanError
from runners.plan.parameter import Parameter
from runners.plan.size import SIZES

ENGINES = ("rocksdb", "lsm", "memory", "noop")
EVENTS = ("cpu", "alloc", "lock")
GENERATORS = ("loadgen", "wrk2")

#: What every experiment on one server understands.
COMMON = (
    Parameter("size", "quick", "how long it runs", choices=tuple(SIZES)),
    Parameter("rate_rps", 0, "offered rate; 0: the published one, else what fits", "requests/s", low=0, high=1_000_000),
    Parameter("engines", "rocksdb,lsm", "stores, first one as published", choices=ENGINES, several=True),
    Parameter("profile", "cpu,alloc,lock", "events, or none", choices=EVENTS, several=True, optional=True),
    Parameter("generator", "loadgen", "who sends the load", choices=GENERATORS),
    Parameter("heap_mb", 128, "the server's heap", "MiB", low=16, high=65_536),
    Parameter("selectors", 0, "selector threads; 0: one a core", "threads", low=0, high=256),
    Parameter("port", 0, "the server's port; 0: a free one", low=0, high=65_535),
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One numbered notebook. `published` names the report that it reproduces."""

    number: str
    notebook: str
    title: str
    published: str
    parameters: tuple[Parameter, ...]


EXPERIMENTS = {
    experiment.number: experiment
    for experiment in (
        Experiment(
            "01", "01_single_connection.ipynb", "One connection: PUT and GET at a stable rate", "report-1", COMMON
        ),
    )
}


def experiment(number: str) -> Experiment:
    """The experiment of that number (`01` or `1`). Raises PlanError with the list of those there are."""
    found = EXPERIMENTS.get(number.zfill(2))
    if found is None:
        known = ", ".join(f"{e.number} ({e.title})" for e in EXPERIMENTS.values())
        raise PlanError(f"experiment {number!r}", "unknown", f"valid: {known}")
    return found
