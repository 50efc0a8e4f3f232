"""A report from a run folder: read, conclude, render. Starts nothing, measures nothing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from runners import report
from runners.claims.conclude import conclude
from runners.claims.conclusion import Conclusion
from runners.claims.questions import Asked
from runners.design.commands import plan_of
from runners.design.workload import Workload
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published
from runners.readers.reading import archived_content, read_run
from runners.readers.run import Run
from runners.storage.archive import write_archive
from runners.storage.run_folder import REFERENCE, RunFolder, StoreError, write_json


def _reference(workload: Workload) -> str:
    """A published output's name, ending in that of the workload that reproduces it."""
    name = str(workload.published)
    return name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"


def concluded(folder: RunFolder, questions: Sequence[Asked] = ()) -> tuple[Run, Conclusion, dict[str, ConsoleReport]]:
    """A run as its folder holds it, what it says, and the published outputs that it is set beside."""
    run = read_run(folder)
    workloads = plan_of(str(run.manifest["experiment"])).workloads
    references = {_reference(w): published(w.published) for w in workloads if w.published}
    return run, conclude(run, references, questions), references


def write_report(folder: RunFolder, questions: Sequence[Asked] = (), with_html: bool = True) -> Conclusion:
    """Write report.html (where wanted), report.md, their figures and conclusions.json, from the run folder alone."""
    run, conclusion, references = concluded(folder, questions)
    report.render(run, conclusion, references, with_html)
    write_json(folder.conclusions, conclusion.as_json())
    return conclusion


def keep_reference(folder: RunFolder, questions: Sequence[Asked] = (), root: Path = REFERENCE) -> RunFolder:
    """Archive a complete run as data/reference/<experiment>, with its report, to be committed.

    What lay there is replaced. What frames were made from is left out: recordings, logs, HTML flame graphs, and
    report.html, which `lab report` makes again. Raises StoreError when the run was not completed.
    """
    manifest = folder.manifest()
    if manifest["status"] != "complete":
        raise StoreError(str(folder.path), f"the run is {manifest['status']}", "keep a complete one")
    target = root / str(manifest["experiment"])
    fresh = RunFolder(root / ".new" / target.name)
    shutil.rmtree(fresh.path.parent, ignore_errors=True)
    write_archive(fresh.path, map(archived_content, read_run(folder).steps))
    fresh.write_manifest(manifest)
    write_report(fresh, questions, with_html=False)
    shutil.rmtree(target, ignore_errors=True)
    fresh.path.replace(target)
    fresh.path.parent.rmdir()
    return RunFolder(target)
