"""A report from a run folder: read, conclude, render. Starts nothing, measures nothing."""

from __future__ import annotations

from collections.abc import Sequence

from runners import report
from runners.claims.conclude import conclude
from runners.claims.conclusion import Conclusion
from runners.claims.questions import Asked
from runners.design.commands import plan_of
from runners.design.workload import Workload
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.storage.run_folder import RunFolder, write_json


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


def write_report(folder: RunFolder, questions: Sequence[Asked] = ()) -> Conclusion:
    """report.html, report.md, their figures and conclusions.json, from what the run folder holds."""
    run, conclusion, references = concluded(folder, questions)
    report.render(run, conclusion, references)
    write_json(folder.conclusions, conclusion.as_json())
    return conclusion
