"""A report from a run folder: read, conclude, render. Starts nothing, measures nothing."""

from __future__ import annotations

from runners import show
from runners.explain.conclude import conclude
from runners.explain.conclusion import Conclusion
from runners.plan.experiment import experiment
from runners.read.published import published
from runners.read.reading import read_run
from runners.store import RunFolder


def write_report(folder: RunFolder) -> Conclusion:
    """report.html, report.md and their figures, from what the run folder holds."""
    run = read_run(folder)
    workloads = experiment(str(run.manifest["experiment"])).workloads
    references = {w.published: published(w.published) for w in workloads if w.published}
    conclusion = conclude(run, references)
    show.render(run, conclusion, references)
    return conclusion
