"""Reference results: runs that are kept in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

from runners.storage.run_folder import REFERENCE, SUPERSEDED, RunFolder, StoreError

#: What a reference result leaves out: recordings and logs that its frames were made from, and scratch.
RAW_AND_SCRATCH = (
    "*.jfr",
    "*.log",
    "*.hlog",
    "*.slices",
    "*.samples",
    "*.collapsed",
    "*.jsonl",
    "events.json",
    "finished.json",
    "load.json",
    "servers",
    SUPERSEDED,
)


def keep_reference(folder: RunFolder, root: Path | None = None) -> RunFolder:
    """Copy a complete run's frames, manifest and report to data/reference/<experiment>, to be committed.

    What lay there is replaced. Raises StoreError when the run was not completed.
    """
    manifest = folder.manifest()
    if manifest["status"] != "complete":
        raise StoreError(str(folder.path), f"the run is {manifest['status']}", "keep a complete one")
    target = (root or REFERENCE) / str(manifest["experiment"])
    fresh = target.with_name(target.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(
        folder.path, fresh, ignore=shutil.ignore_patterns(*RAW_AND_SCRATCH, "notebook.ipynb", "report.html")
    )
    shutil.rmtree(target, ignore_errors=True)
    fresh.replace(target)
    return RunFolder(target)
