"""Run a notebook from the command line: check its plan, execute it with papermill, close the run; or resume a run."""

import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from runners.design.experiment import Experiment, Value
from runners.errors import Interrupted, LabError, PlanError
from runners.execution.progress import ADDRESS, listening, sink
from runners.storage.run_folder import RESUME_VARIABLE, RUN_VARIABLE, RUNS, RunFolder
from runners.toolchain.tools import CHECKOUT, NOTEBOOKS, ROOT

KERNEL = "python3"


class NotebookError(LabError):
    """The error for a notebook with a cell that failed, or whose kernel died."""


def run_notebook(plan: Experiment, given: Mapping[str, object], resume: Path | None = None) -> RunFolder:
    """Execute `plan`'s notebook with parameters `given` in a new run or the run `resume`; return the closed run folder.

    Raises PlanError, NotebookError, and after Ctrl-C Interrupted (KeyboardInterrupt if nothing was measured yet).
    """
    resumed = RunFolder.open(resume.resolve()) if resume is not None else None
    parameters = plan.checked(resumed_parameters(resumed, plan.number, given) if resumed else given)
    plan.blocks_of(parameters)  # refuses impossible blocks before anything is started
    if resumed:
        require_same(resumed, resumed.manifest(), parameters)
    folder = resumed or RunFolder.create(RUNS, plan.number, plan.size_of(parameters), {"title": plan.title})
    variable = RESUME_VARIABLE if resumed else RUN_VARIABLE
    status = "failed"
    try:
        with listening(sink(sys.stderr)) as address:
            os.environ.update({ADDRESS: address, variable: str(folder.path)})
            execute(NOTEBOOKS / plan.notebook, folder, parameters)
        status = "complete"
    except KeyboardInterrupt as interrupt:
        status = "interrupted"
        if "machine" not in folder.manifest():  # the manifest names the machine before anything is measured
            raise
        raise Interrupted(folder.path) from interrupt
    finally:
        if folder.manifest()["status"] == "running":
            folder.finish(status if status != "complete" else "interrupted")
    return folder


def execute(notebook: Path, folder: RunFolder, parameters: Mapping[str, Value]) -> None:
    """Execute a notebook into a copy in `folder`. Raises NotebookError if a cell fails or the Jupyter kernel dies."""
    # jsonschema runs without this grammar, which takes two seconds to build and serves a format that no notebook uses
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import papermill  # slow to import, and only a run needs it
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    resuming = f"`lab run {folder.manifest()['experiment']} --resume {folder.path}` resumes it"
    try:
        with tempfile.TemporaryDirectory(prefix="lab-") as sockets, _interrupts_for_the_kernel(folder):
            papermill.execute_notebook(
                str(notebook),
                str(folder.notebook),
                parameters=dict(parameters),
                kernel_name=KERNEL,
                cwd=str(notebook.parent if CHECKOUT else ROOT),
                progress_bar=False,
                log_output=False,
                request_save_on_cell_execute=True,
                # with ipc, "ip" is the prefix of the sockets' paths; by default they lie in the notebook's folder
                config=Config({"KernelManager": {"transport": "ipc", "ip": str(Path(sockets) / "kernel")}}),
            )
    except DeadKernelError as error:
        raise NotebookError(notebook.name, "its kernel died", resuming) from error
    except PapermillExecutionError as error:
        cell, remedy = f"{notebook.name}, cell {error.exec_count}", f"its output is in {folder.notebook}; {resuming}"
        raise NotebookError(cell, f"{error.ename}: {error.evalue}", remedy) from error


@contextlib.contextmanager
def _interrupts_for_the_kernel(folder: RunFolder) -> Iterator[None]:
    """Pass the first Ctrl-C to the notebook's kernel, which then ends the cell; the second Ctrl-C ends this process.

    nbclient itself would close the kernel's sockets in the middle of the cell. A kernel that has not begun the run is
    ended at once, since an import that is interrupted prints a traceback. Raises KeyboardInterrupt after a Ctrl-C.
    """
    interrupted = threading.Event()

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, before)
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if any("ipykernel" in word for word in child.cmdline()):
                    begun = child.pid == folder.manifest().get("pid")  # `Lab.begin` writes it
                    child.send_signal(signal.SIGINT if begun else signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception as error:
        if interrupted.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


REMEDY = "begin a new run"


def manifest_of(folder: RunFolder, plan: str) -> dict[str, Any]:
    """Return the manifest of a run of the experiment `plan`. Raises PlanError for another experiment's run."""
    manifest = folder.manifest()
    if manifest.get("experiment") != plan:
        raise PlanError(str(folder.path), f"it is a run of {manifest.get('experiment')}, not of {plan}", REMEDY)
    return manifest


def resumed_parameters(folder: RunFolder, plan: str, given: Mapping[str, object]) -> dict[str, Any]:
    """Return a run's parameters, updated by `given`. Raises PlanError if it is complete or another experiment's run."""
    manifest = manifest_of(folder, plan)
    if manifest.get("status") == "complete":
        raise PlanError(str(folder.path), "it is complete", f"{REMEDY}; `lab report` writes its report again")
    return {**(manifest.get("parameters") or {}), **given}


def reopened(folder: RunFolder, plan: str, manifest: Mapping[str, Any]) -> RunFolder:
    """Reopen and return a run's folder. Raises PlanError if a process measures it or it differs from `manifest`."""
    from runners.analysis.runs import of_manifests  # slow to import, and not needed to start a kernel

    before = manifest_of(folder, plan)
    if before.get("status") == "running" and psutil.pid_exists(int(before.get("pid") or -1)):
        raise PlanError(str(folder.path), f"process {before['pid']} is still measuring it", "wait for it, or end it")
    differences = [difference.text for difference in of_manifests(before, manifest)]
    require_same(folder, before, manifest.get("parameters") or {}, differences)
    folder.update_manifest(pid=manifest.get("pid"), parameters=manifest.get("parameters"))
    folder.reopen()
    return folder


def require_same(
    folder: RunFolder, before: Mapping[str, Any], wanted: Mapping[str, object], differences: Sequence[str] = ()
) -> None:
    """Raise PlanError if a run was begun with other parameters than the `wanted` ones; only `minutes` may differ.

    `before`: the run's manifest. `differences`: further differences, as text.
    """
    given = before.get("parameters") or {}
    changed = [name for name, value in wanted.items() if name != "minutes" and given.get(name) != value]
    differences = [*differences, *(f"{name}: {given.get(name)} against {wanted[name]}" for name in changed)]
    if differences:
        raise PlanError(str(folder.path), f"it was begun with another {'; another '.join(differences)}", REMEDY)
