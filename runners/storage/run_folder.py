"""The run folder: the names of its files, its manifest, its steps (step_folder.py) and its data frames."""

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from runners import ROOT
from runners.errors import PlanError
from runners.storage.archive import Archive
from runners.storage.schema import StepRecord, write_record
from runners.storage.step_folder import PARTIAL, Inside, StepFolder, StoreError, read_json, write_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTIAL", "RunFolder", "StepFolder", "StoreError", "runs", "write_json"]

#: The folder of runs: the one that the environment variable LAB_RUNS names (e.g. on a larger disk), else data/runs.
RUNS = Path(os.environ.get("LAB_RUNS") or ROOT / "data" / "runs")
#: The folder of reference results, which are committed to git.
REFERENCE = ROOT / "data" / "reference"
#: Environment variable with the run folder that `lab run` made for the notebook it executes.
RUN_VARIABLE = "LAB_RUN"
#: Environment variable with the folder of an interrupted run that the notebook is to resume.
RESUME_VARIABLE = "LAB_RESUME"
#: A file that keeps room on the disk until the run ends, so that a run whose disk is full can still be closed.
RESERVE = ".reserve"
RESERVE_BYTES = 128 * 1024
_STEP_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")


def run_path(text: str) -> Path:
    """Return `text` as a path if that path exists, else the folder of the run with this id, else `text` as a path."""
    path = Path(text)
    if path.exists() or path.name != text:
        return path
    if (RUNS / text / "manifest.json").is_file():
        return RUNS / text
    for manifest in REFERENCE.glob("*/manifest.json"):
        if json.loads(manifest.read_text(encoding="utf-8")).get("run") == text:
            return manifest.parent
    return path


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder with everything that one run of an experiment produced."""

    path: Path

    manifest_path = Inside("manifest.json", "Plan, parameters, machine, tools and status of the run.")
    steps_path = Inside("steps")
    figures_path = Inside("figures")
    report_html = Inside("report.html")
    report_md = Inside("report.md")
    notebook = Inside("notebook.ipynb", "The executed notebook of a batch run.")
    conclusions = Inside("conclusions.json", "The report's conclusions.")
    lab_log = Inside("lab.log", "The lab's output while a campaign measured the run.")

    @classmethod
    def create(cls, root: Path, experiment: str, size: str, manifest: dict[str, Any], name: str | None = None) -> Self:
        """Make a run folder under `root` and write its manifest; the default name is experiment, UTC time and size."""
        now = datetime.now(UTC)
        run = name or f"{experiment}-{now:%Y%m%dT%H%M%SZ}-{size}-{secrets.token_hex(2)}"
        folder = cls(root / run)
        folder.steps_path.mkdir(parents=True)
        (folder.path / RESERVE).write_bytes(b"\1" * RESERVE_BYTES)
        about = {"schema": "run/1", "run": run, "experiment": experiment, "size": size, "status": "running"}
        folder.write_manifest({**about, "started_unix_s": now.timestamp(), **manifest})
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run folder at `path`. Raises StoreError if no run folder is there."""
        folder = cls(path)
        if not folder.manifest_path.is_file():
            raise StoreError(str(path), "not a run folder (it has no manifest.json)", "take one of `lab runs`")
        return folder

    @property
    def name(self) -> str:
        return self.path.name

    def write_frame(self, name: str, frame: "pd.DataFrame") -> None:
        """Store a data frame about the whole run, not about one step, as a Parquet file."""
        (self.path / "frames").mkdir(exist_ok=True)
        frame.to_parquet(self.path / "frames" / f"{name}.parquet", index=False)

    def read_frames(self) -> "dict[str, pd.DataFrame]":
        """Return the data frames about the whole run, by name. Raises StoreError if a file can't be read."""
        import pandas as pd  # here, because code that uses no frame imports this module too

        frames = {}
        for path in sorted((self.path / "frames").glob("*.parquet")):
            try:
                frames[path.stem] = pd.read_parquet(path)
            except (OSError, ValueError) as error:
                raise StoreError(str(path), f"can't be read ({error})", "run again, or remove it") from error
        return frames

    def server_folder(self, label: str) -> Path:
        """Return the folder with the logs of the server `label` and, until the run ends, its data."""
        return self.path / "servers" / label

    def manifest(self) -> dict[str, Any]:
        """Return manifest.json as a dict. Raises StoreError if the file can't be read."""
        return read_json(self.manifest_path, "the run can't be used; make it again")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        write_json(self.manifest_path, manifest)

    def update_manifest(self, **fields: object) -> None:
        """Set fields of the manifest; the file is replaced whole or not at all."""
        self.write_manifest({**self.manifest(), **fields})

    def finish(self, status: str) -> None:
        """Close the run with a status: `complete`, `interrupted` or `failed`. This works even if the disk is full."""
        (self.path / RESERVE).unlink(missing_ok=True)
        self.update_manifest(status=status, ended_unix_s=datetime.now(UTC).timestamp())

    def reopen(self) -> None:
        """Mark an interrupted run as running; the manifest's `resumed_unix_s` lists the time of each resumption."""
        (self.path / RESERVE).write_bytes(b"\1" * RESERVE_BYTES)
        resumed = [*self.manifest().get("resumed_unix_s", ()), datetime.now(UTC).timestamp()]
        self.update_manifest(status="running", resumed_unix_s=resumed)

    def begin_step(self, name: str) -> StepFolder:
        """Return a new folder for a step; an earlier unfinished one is removed. Raises StoreError for a bad name."""
        if not _STEP_NAME.match(name):
            raise StoreError(f"step {name!r}", "not a name for a folder", "use small letters, digits and dashes")
        folder = StepFolder(self.steps_path / (name + PARTIAL))
        shutil.rmtree(folder.path, ignore_errors=True)
        folder.path.mkdir()
        return folder

    def commit_step(self, step: StepFolder, record: StepRecord) -> StepFolder:
        """Give a measured step its final name; an earlier step of that name is moved into steps/superseded/."""
        write_record(step, record)
        final = StepFolder(self.steps_path / step.name)
        if final.path.exists():
            self.supersede(final)
        step.path.replace(final.path)
        return final

    def supersede(self, step: StepFolder) -> None:
        """Move a step that no longer counts into steps/superseded/."""
        graveyard = self.steps_path / "superseded"
        graveyard.mkdir(exist_ok=True)
        step.path.replace(graveyard / f"{step.name}-{secrets.token_hex(3)}")

    def steps(self) -> list[StepFolder]:
        """Return the complete steps, sorted by start time. Raises StoreError if a step's record can't be read."""
        return sorted(self.complete(), key=lambda step: step.read_meta().get("started_unix_us") or 0)

    def complete(self) -> list[StepFolder]:
        """Return the complete steps, even with an unreadable record, sorted by name; in an archive, by start time."""
        if archive := Archive.at(self.path):
            return [archive.step(name) for name in archive.metas]
        steps = map(StepFolder, sorted(self.steps_path.iterdir()) if self.steps_path.is_dir() else ())
        return [step for step in steps if not step.path.name.endswith(PARTIAL) and step.meta.is_file()]

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of steps that were begun and never completed."""
        return tuple(sorted(StepFolder(path).name for path in self.steps_path.glob(f"*{PARTIAL}")))

    @property
    def archived(self) -> bool:
        return Archive.at(self.path) is not None


def console_step(path: Path) -> StepFolder | None:
    """Return the step whose console output has this path, in a step folder or an archive; None for any other path."""
    step = StepFolder(path.parent)
    if path != step.console:
        return None
    if step.meta.is_file():
        return step
    try:
        archive = Archive.at(path.parent.parent.parent)
    except StoreError:
        return None
    return archive.step(step.name) if archive and step.name in archive.metas else None


def runs(root: Path) -> list[RunFolder]:
    """Return all run folders directly below `root`, sorted by name (experiment, then start time)."""
    return [RunFolder(manifest.parent) for manifest in sorted(root.glob("*/manifest.json"))]


DAY_S = 86_400.0
PRUNED = ".pruned"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that `lab prune` is to remove."""

    folder: RunFolder
    status: str
    age_days: float
    bytes: int
    result: bool  # the run is the result of a campaign's job; without it, the campaign would measure the job again

    @property
    def line(self) -> str:
        """The run as `lab prune` lists it."""
        note = ", result of a campaign" if self.result else ""
        return f"{self.bytes / 1e6:>9.1f} MB  {self.age_days:>6.1f} days  {self.status:<11}  {self.folder.name}{note}"


def given_up(
    root: Path, older_than_days: float | None = None, keep: int | None = None, incomplete: bool = False,
    now_unix_s: float | None = None,
) -> Iterator[GivenUp]:  # fmt: skip
    """Yield the runs directly below `root` that meet every given condition, oldest first, without runs in progress.

    `keep`: at least this many later, complete runs have the run's experiment, parameters and kind of machine.
    `incomplete`: the run's status is not complete. Raises PlanError if no condition is given.
    """
    if older_than_days is None and keep is None and not incomplete:
        raise PlanError("lab prune", "no policy was given", "give --older-than DAYS, --keep N or --incomplete")
    now_unix_s = time.time() if now_unix_s is None else now_unix_s
    manifests: list[tuple[float, RunFolder, dict[str, Any]]] = []
    for folder in runs(root):
        with contextlib.suppress(StoreError):
            manifest = folder.manifest()
            manifests.append((float(manifest.get("started_unix_s") or 0.0), folder, manifest))
    later, removed = Counter[str](), list[GivenUp]()
    for started_s, folder, manifest in sorted(manifests, key=lambda entry: entry[0], reverse=True):
        complete, machine = manifest.get("status") == "complete", manifest.get("machine") or {}
        kind = [machine.get(key) for key in ("cpu_model", "cores", "memory_bytes", "virtualised")]
        alike = json.dumps([manifest.get("experiment"), manifest.get("parameters"), kind], sort_keys=True)
        age_days = (now_unix_s - started_s) / DAY_S
        if not (
            (older_than_days is not None and age_days <= older_than_days)
            or (keep is not None and later[alike] < keep)
            or (incomplete and complete)
            or _measured_now(manifest)
        ):
            result = complete and "address" in manifest
            removed.append(GivenUp(folder, str(manifest.get("status")), age_days, _bytes_on_disk(folder.path), result))
        later[alike] += complete
    yield from reversed(removed)


def remove_run(run: GivenUp) -> None:
    """Remove a run. Its folder is renamed and loses the manifest first, so a removal cut short leaves no broken run."""
    gone = run.folder.path.with_name(run.folder.name + PRUNED)
    run.folder.path.replace(gone)
    RunFolder(gone).manifest_path.unlink()
    shutil.rmtree(gone)


def finish_removals(root: Path) -> None:
    """Remove what is left of runs whose removal was cut short."""
    for path in root.glob(f"*{PRUNED}"):
        shutil.rmtree(path, ignore_errors=True)


def _measured_now(manifest: Mapping[str, Any]) -> bool:
    import psutil  # here, because only a run that was not closed needs it

    pid = manifest.get("pid")
    return manifest.get("status") == "running" and (not isinstance(pid, int) or psutil.pid_exists(pid))


def _bytes_on_disk(folder: Path) -> int:
    return sum(os.lstat(Path(base, name)).st_blocks * 512 for base, _, names in os.walk(folder) for name in names)
