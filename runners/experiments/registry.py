"""Find the experiments: files `eNN_name.py` with an `EXPERIMENT` and its `questions()`."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from runners import experiments
from runners.design.experiment import Experiment
from runners.errors import PlanError
from runners.experiments.commands import COMMANDS, TARGET_COMPARE
from runners.experiments.e09_compare import EXPERIMENT as COMPARE
from runners.results.answer import Asked

_MODULES: dict[str, Any] = {
    module.name[1:3]: import_module(f"{experiments.__name__}.{module.name}")
    for module in iter_modules(experiments.__path__)
    if module.name[0] == "e" and module.name[1:3].isdigit()
}
EXPERIMENTS: dict[str, Experiment] = {number: module.EXPERIMENT for number, module in _MODULES.items()}


def experiment(number: str) -> Experiment:
    """Return the experiment of this number (`01` or `1`). Raises PlanError, which lists all, if there is none."""
    if (plan := EXPERIMENTS.get(number.zfill(2))) is None:
        known = ", ".join(f"{plan.number} ({plan.title})" for plan in EXPERIMENTS.values())
        raise PlanError(f"experiment {number!r}", "unknown", f"valid: {known}")
    return plan


def plan_of(name: str) -> Experiment:
    """Return the command or experiment of this name, for example load or 01. Raises PlanError if there is none."""
    return COMMANDS.get(name) or experiment(name)


def questions_of(number: str, asked: Mapping[str, object] | None = None) -> tuple[Asked, ...]:
    """Return an experiment's questions.

    If the parameters `asked` name several targets, return those on targets; if they name one target, none.
    """
    module = _MODULES.get(COMPARE.number if number == TARGET_COMPARE.number else number)
    if target := str((asked or {}).get("target", "")):
        of_targets = getattr(module, "target_questions", None)
        return of_targets() if of_targets is not None and "," in target else ()
    return module.questions() if module is not None else ()
