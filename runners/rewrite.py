"""A report from a run folder: read, conclude, render. Starts nothing, measures nothing."""

from __future__ import annotations

from runners import show
from runners.explain.conclude import conclude
from runners.explain.conclusion import Conclusion
from runners.plan.commands import plan_of
from runners.plan.workload import Workload
from runners.read.console_report import ConsoleReport
from runners.read.published import published
from runners.read.reading import read_run
from runners.read.run import Run
from runners.store import RunFolder, write_json


def _reference(workload: Workload) -> str:
    """A published output's name, ending in that of the workload that reproduces it."""
    name = str(workload.published)
    return name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"


def concluded(folder: RunFolder) -> tuple[Run, Conclusion, dict[str, ConsoleReport]]:
    """A run as its folder holds it, what it says, and the published outputs that it is set beside."""
    run = read_run(folder)
    workloads = plan_of(str(run.manifest["experiment"])).workloads
    references = {_reference(w): published(w.published) for w in workloads if w.published}
    return run, conclude(run, references), references


def write_report(folder: RunFolder) -> Conclusion:
    """report.html, report.md, their figures and conclusions.json, from what the run folder holds."""
    run, conclusion, references = concluded(folder)
    show.render(run, conclusion, references)
    write_json(folder.conclusions, conclusion.as_json())
    return conclusion
