"""The face of the history: the words of notebook 08. It looks at many runs and measures nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from runners.claims.trends import Trend, trends
from runners.design.experiment import experiment
from runners.errors import LabError
from runners.experiments import e08_history
from runners.readers.history import History, open_history
from runners.report.markdown import Concluded
from runners.report.references import write_report
from runners.storage.run_folder import REFERENCE, RUN_VARIABLE, RUNS, RunFolder

NUMBER = "08"
SHOWN_RUNS = 30


class Past:
    """All runs below some folders, and the folder of this look at them."""

    def __init__(self, history: History, folder: RunFolder, metrics: tuple[str, ...]) -> None:
        self._history, self.folder, self._metrics = history, folder, metrics

    @classmethod
    def begin(cls, **parameters: object) -> Past:
        """Open every run below the folders asked for. Raises PlanError for parameters that can't be."""
        plan = experiment(NUMBER)
        checked = plan.checked(parameters)
        given = str(checked["roots"])
        roots = [Path(root) for root in given.split(",") if root] if given else [RUNS, REFERENCE]
        for root in roots if given else ():
            if not root.is_dir():
                raise LabError(str(root), "is not a folder", "give the folders that hold runs, apart by commas")
        history = open_history(roots)
        manifest: dict[str, Any] = {
            "title": plan.title,
            "parameters": checked,
            "rerun": plan.rerun_command(checked),
            "pid": os.getpid(),
        }
        if made := os.environ.get(RUN_VARIABLE):
            folder = RunFolder.open(Path(made))
            folder.update_manifest(**manifest)
        else:
            folder = RunFolder.create(RUNS, plan.number, plan.size_of(checked), manifest)
        wanted = [name.strip().zfill(2) for name in str(checked["experiments"]).split(",") if name.strip()]
        for view in ("runs", "measurements"):
            frame = history.query(f"FROM {view} ORDER BY started_unix_s")
            folder.write_frame(view, frame[frame["experiment"].isin(wanted)] if wanted else frame)
        for text in history.unreadable:
            print(f"Passed over: {text}")
        return cls(history, folder, tuple(str(checked["metrics"]).split(",")))

    def query(self, sql: str) -> pd.DataFrame:
        """The answer to a question in SQL over all runs; `views()` names what can be asked."""
        return self._history.query(sql)

    def views(self) -> list[str]:
        return self._history.views()

    def runs(self) -> pd.DataFrame:
        """The latest runs, newest first."""
        return self._history.query(
            "SELECT run, experiment, size, status, started, machine_class, git_commit "
            "FROM runs ORDER BY started_unix_s DESC"
        ).head(SHOWN_RUNS)

    def trends(self) -> list[Trend]:
        """One series for each thing that was measured twice or more on one class of machine."""
        frames = self.folder.read_frames()
        return trends(frames["measurements"], frames["runs"], self._metrics)

    def conclude(self) -> Concluded:
        """Write report.html and report.md, and give the conclusion to be shown."""
        self.folder.finish("complete")
        conclusion = write_report(self.folder, e08_history.QUESTIONS)
        print(f"report.html: {self.folder.report_html}\nreport.md:   {self.folder.report_md}")
        return Concluded(conclusion)
