"""Run a notebook from the command line: papermill executes it, this shows how far it is and closes the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from runners.errors import LabError
from runners.launch.toolchain import ROOT
from runners.plan.experiment import experiment
from runners.plan.parameter import Value, validate
from runners.progress import ADDRESS, listening, sink
from runners.store import RUN_VARIABLE, RUNS, RunFolder

KERNEL = "python3"


class NotebookError(LabError):
    """A cell that failed."""


def run_notebook(number: str, given: Mapping[str, object]) -> RunFolder:
    """Execute an experiment's notebook with these parameters into a new run folder.

    The folder is closed whatever happens: `complete` by the notebook itself, else `interrupted` or `failed`.
    Raises PlanError for parameters that can't be, NotebookError with the cell's own error.
    """
    plan = experiment(number)
    parameters = validate(plan.parameters, given)
    folder = RunFolder.create(RUNS, plan.number, plan.size_of(parameters), {"title": plan.title})
    status = "failed"
    try:
        with listening(sink(sys.stderr)) as address:
            os.environ.update({ADDRESS: address, RUN_VARIABLE: str(folder.path)})
            _execute(plan.notebook, folder, parameters)
        status = "complete"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        if folder.manifest()["status"] == "running":
            folder.finish(status if status != "complete" else "interrupted")
    return folder


def _execute(notebook: str, folder: RunFolder, parameters: Mapping[str, Value]) -> None:
    import papermill  # slow to import, and only a run needs it
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    try:
        papermill.execute_notebook(
            str(ROOT / "notebooks" / notebook),
            str(folder.notebook),
            parameters=dict(parameters),
            kernel_name=KERNEL,
            cwd=str(ROOT / "notebooks"),
            progress_bar=False,
            log_output=False,
            request_save_on_cell_execute=True,
            config=Config({"KernelManager": {"transport": "ipc"}}),  # files that only this user may open
        )
    except DeadKernelError as error:
        raise NotebookError(notebook, "its kernel died", f"run again; what was measured is in {folder.path}") from error
    except PapermillExecutionError as error:
        if error.ename == "KeyboardInterrupt":  # Ctrl-C reached the kernel first
            raise KeyboardInterrupt from error
        raise NotebookError(
            f"{notebook}, cell {error.exec_count}",
            f"{error.ename}: {error.evalue}",
            f"its output is in {folder.notebook}",
        ) from error
