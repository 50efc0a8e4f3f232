"""Go on with a run that was interrupted, if it is the same experiment on the same machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.errors import PlanError
from runners.explain.same import of_manifests
from runners.store import RunFolder

REMEDY = "begin a new run"


def of_plan(folder: RunFolder, plan: str) -> dict[str, Any]:
    """The manifest of a run of this plan. Raises PlanError for a run of another."""
    manifest = folder.manifest()
    if manifest.get("experiment") != plan:
        raise PlanError(str(folder.path), f"it is a run of {manifest.get('experiment')}, not of {plan}", REMEDY)
    return manifest


def continued(folder: RunFolder, plan: str, manifest: Mapping[str, Any]) -> RunFolder:
    """The run's folder, open again. Raises PlanError, naming what differs from the first session."""
    before, remedy = of_plan(folder, plan), REMEDY
    if before.get("status") == "running" and _alive(before.get("pid")):
        raise PlanError(str(folder.path), f"process {before['pid']} is still measuring it", "wait for it, or end it")
    differing = [differs.text for differs in of_manifests(before, manifest)]
    parameters = {**(before.get("parameters") or {}), "minutes": None}
    wanted = {**(manifest.get("parameters") or {}), "minutes": None}
    differing += [
        f"{name}: {parameters.get(name)} against {value}"
        for name, value in wanted.items()
        if parameters.get(name) != value
    ]
    if differing:
        raise PlanError(str(folder.path), f"it was begun with another {'; another '.join(differing)}", remedy)
    folder.update_manifest(pid=manifest.get("pid"), parameters=manifest.get("parameters"))
    folder.reopen()
    return folder


def _alive(pid: object) -> bool:
    import psutil  # only a run that was not closed needs it

    return isinstance(pid, int) and psutil.pid_exists(pid)
