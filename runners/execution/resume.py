"""Go on with a run that was interrupted, if it is the same experiment on the same machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runners.analysis.comparable import of_manifests
from runners.errors import PlanError
from runners.storage.run_folder import RunFolder

REMEDY = "begin a new run"


def of_plan(folder: RunFolder, plan: str) -> dict[str, Any]:
    """The manifest of a run of this plan. Raises PlanError for a run of another."""
    manifest = folder.manifest()
    if manifest.get("experiment") != plan:
        raise PlanError(str(folder.path), f"it is a run of {manifest.get('experiment')}, not of {plan}", REMEDY)
    return manifest


def begun(folder: RunFolder, plan: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The parameters of a run of this plan that was not finished, and those that are given now.

    Raises PlanError for any other run. Whether those that are given may be is for `continued` to say.
    """
    manifest = of_plan(folder, plan)
    if manifest.get("status") == "complete":
        raise PlanError(str(folder.path), "it is complete", f"{REMEDY}; `lab report` writes its report again")
    return {**(manifest.get("parameters") or {}), **given}


def same_parameters(folder: RunFolder, wanted: Mapping[str, object]) -> None:
    """Raises PlanError, naming them, where parameters are not those that the run was begun with; minutes may differ."""
    if differing := list(_other_parameters(folder.manifest(), wanted)):
        raise PlanError(str(folder.path), _begun_with_another(differing), REMEDY)


def continued(folder: RunFolder, plan: str, manifest: Mapping[str, Any]) -> RunFolder:
    """The run's folder, open again. Raises PlanError, naming what differs from the first session."""
    before = of_plan(folder, plan)
    if before.get("status") == "running" and _alive(before.get("pid")):
        raise PlanError(str(folder.path), f"process {before['pid']} is still measuring it", "wait for it, or end it")
    differing = [differs.text for differs in of_manifests(before, manifest)]
    differing += _other_parameters(before, manifest.get("parameters") or {})
    if differing:
        raise PlanError(str(folder.path), _begun_with_another(differing), REMEDY)
    folder.update_manifest(pid=manifest.get("pid"), parameters=manifest.get("parameters"))
    folder.reopen()
    return folder


def _other_parameters(before: Mapping[str, Any], wanted: Mapping[str, object]) -> Iterator[str]:
    given = before.get("parameters") or {}
    for name, value in wanted.items():
        if name != "minutes" and given.get(name) != value:
            yield f"{name}: {given.get(name)} against {value}"


def _begun_with_another(differing: list[str]) -> str:
    return f"it was begun with another {'; another '.join(differing)}"


def _alive(pid: object) -> bool:
    import psutil  # only a run that was not closed needs it

    return isinstance(pid, int) and psutil.pid_exists(pid)
