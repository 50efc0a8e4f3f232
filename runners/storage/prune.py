"""Thin old runs: which run folders a policy gives up, what they take, and their removal.

Nothing is removed but what `given_up` has listed, and never a run that is being measured.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.errors import PlanError
from runners.storage.run_folder import RunFolder, StoreError, runs

DAY_S = 86_400.0
PRUNED = ".pruned"


@dataclass(frozen=True, slots=True)
class Policy:
    """A run is given up if all that is set holds.

    It began more than `older_than_days` ago; `keep` later runs of the same experiment and parameters, on the same kind
    of machine, are complete; with `incomplete`, it never was.
    """

    older_than_days: float | None = None
    keep: int | None = None
    incomplete: bool = False

    def __post_init__(self) -> None:
        if self.older_than_days is None and self.keep is None and not self.incomplete:
            raise PlanError("lab prune", "no policy was given", "give --older-than DAYS, --keep N or --incomplete")


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that the policy gives up. `result`: of a campaign, which would measure it again."""

    folder: RunFolder
    status: str
    age_days: float
    bytes: int
    result: bool

    @property
    def line(self) -> str:
        """The run as it is listed."""
        of = ", result of a campaign" if self.result else ""
        return f"{self.bytes / 1e6:>9.1f} MB  {self.age_days:>6.1f} days  {self.status:<11}  {self.folder.name}{of}"


def given_up(root: Path, policy: Policy, now_unix_s: float | None = None) -> Iterator[GivenUp]:
    """The runs below a folder that a policy gives up, oldest first."""
    now_unix_s = time.time() if now_unix_s is None else now_unix_s
    manifests: list[tuple[float, RunFolder, dict[str, Any]]] = []
    for folder in runs(root):
        try:
            manifest = folder.manifest()
        except StoreError:
            continue
        manifests.append((float(manifest.get("started_unix_s") or 0.0), folder, manifest))
    later: dict[str, int] = {}
    found = []
    for started_s, folder, manifest in sorted(manifests, key=lambda each: each[0], reverse=True):
        alike, complete = _alike(manifest), manifest.get("status") == "complete"
        age_days = (now_unix_s - started_s) / DAY_S
        if not (
            (policy.older_than_days is not None and age_days <= policy.older_than_days)
            or (policy.keep is not None and later.get(alike, 0) < policy.keep)
            or (policy.incomplete and complete)
            or _measured_now(manifest)
        ):
            result = complete and "address" in manifest
            found.append(GivenUp(folder, str(manifest.get("status")), age_days, _bytes(folder.path), result))
        later[alike] = later.get(alike, 0) + complete
    yield from reversed(found)


def remove(run: GivenUp) -> None:
    """Remove a run; one whose removal is cut short is no run any more."""
    gone = run.folder.path.with_name(run.folder.name + PRUNED)
    run.folder.path.replace(gone)
    RunFolder(gone).manifest_path.unlink()
    shutil.rmtree(gone)


def finish_removals(root: Path) -> None:
    """Remove what an earlier removal that was cut short has left."""
    for path in root.glob(f"*{PRUNED}"):
        shutil.rmtree(path, ignore_errors=True)


def _alike(manifest: Mapping[str, Any]) -> str:
    machine = manifest.get("machine") or {}
    kind = [machine.get(key) for key in ("cpu_model", "cores", "memory_bytes", "virtualised")]
    return json.dumps([manifest.get("experiment"), manifest.get("parameters"), kind], sort_keys=True)


def _measured_now(manifest: Mapping[str, Any]) -> bool:
    import psutil  # only a run that was not closed needs it

    pid = manifest.get("pid")
    return manifest.get("status") == "running" and (not isinstance(pid, int) or psutil.pid_exists(pid))


def _bytes(folder: Path) -> int:
    """What a folder takes on the disk."""
    return sum(os.lstat(Path(base, name)).st_blocks * 512 for base, _, names in os.walk(folder) for name in names)
