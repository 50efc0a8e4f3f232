"""Check the run that a command is to measure, before anything is built or loaded, and before slow imports."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.design.experiment import Experiment
from runners.design.target import AS_TARGET, target_of
from runners.errors import PlanError
from runners.execution.batch import manifest_of
from runners.experiments.commands import COMMANDS, KNEE, LOAD, SERVERS, TARGET_COMPARE
from runners.experiments.e09_compare import COMPARE_BLOCK
from runners.experiments.e09_compare import EXPERIMENT as COMPARE
from runners.storage.run_folder import RunFolder
from runners.targets import preflight

COMPARED_MINUTES = 10.0  # budget of `lab compare`, in every size, unless one is given


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that a command is to measure."""

    plan: str  # the experiment's or command's number
    block: str  # the name of the block to measure
    parameters: Mapping[str, Any]
    resume: Path | None = None  # the folder of a run to resume


def load(given: Mapping[str, object], resume: Path | None = None) -> PlannedRun:
    """Return the checked plan of a load. Raises PlanError, or ServerError if the target's port is dead or taken."""
    parameters = _resumed(LOAD.number, given, resume)
    if not _is_target(parameters.get("setting")):
        remedy = "name one: lab load http://127.0.0.1:8080/, or lab load target.yaml (`lab init` writes one)"
        raise PlanError("lab load", "no server was given", remedy)
    return _checked(LOAD, PlannedRun(LOAD.number, "load", parameters, resume))


def knee(given: Mapping[str, object], resume: Path | None = None) -> PlannedRun:
    """Return the checked plan of a search for a knee (highest rate that meets an objective). Raises as `load` does."""
    parameters = _resumed(KNEE.number, given, resume)
    if "setting" not in parameters:
        remedy = "name one: lab knee http://127.0.0.1:8080/, lab knee target.yaml, or the lab's own by --engine lsm"
        raise PlanError("lab knee", "no server was given", remedy)
    plan = "target-knee" if _is_target(parameters["setting"]) else KNEE.number
    return _checked(COMMANDS[plan], PlannedRun(plan, "knee", parameters, resume))


def comparison(given: Mapping[str, object], resume: Path | None = None) -> PlannedRun:
    """Return the checked plan of a comparison of two servers or settings. Raises as `load` does."""
    earlier = RunFolder.open(resume).manifest().get("experiment") if resume is not None else None
    targets = _is_target(given.get("a")) or _is_target(given.get("b")) or earlier == TARGET_COMPARE.number
    plan = "target-compare" if targets else COMPARE.number
    command = COMMANDS.get(plan, COMPARE)
    parameters = {"minutes": COMPARED_MINUTES, **_resumed(command.number, given, resume)}
    return _checked(command, PlannedRun(plan, COMPARE_BLOCK, parameters, resume))


def _is_target(setting: object) -> bool:
    return str(setting).startswith(AS_TARGET)


def _resumed(plan: str, given: Mapping[str, object], resume: Path | None) -> dict[str, Any]:
    earlier = manifest_of(RunFolder.open(resume), plan).get("parameters") or {} if resume is not None else {}
    return {**earlier, **given}


def _checked(plan: Experiment, run: PlannedRun) -> PlannedRun:
    checked = plan.checked(run.parameters)
    plan.blocks_of(checked)
    for name in SERVERS:
        if (target := target_of(str(checked.get(name, "")))) is not None:
            preflight.check(target)
    return run
