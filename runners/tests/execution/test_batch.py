"""A notebook in batch: its kernel's sockets are private and gone afterwards, and what goes wrong is said."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest

from runners import cli, lab
from runners.errors import Exit, PlanError
from runners.execution import batch
from runners.execution.batch import KERNEL, NotebookError, execute
from runners.experiments.registry import experiment
from runners.storage.run_folder import RunFolder

#: What the kernel itself says of its connection, and of the sockets there while it runs.
LOOK = """
import json
from pathlib import Path
from ipykernel import get_connection_info

said = get_connection_info(unpack=True)
base = Path(said["ip"])
sockets = [path for path in base.parent.iterdir() if path.is_socket()]
Path(seen).write_text(json.dumps({
    "transport": said["transport"],
    "folder": str(base.parent),
    "mode": base.parent.stat().st_mode,
    "sockets": len(sockets),
    "here": str(Path.cwd()),
}))
"""


#: What `Lab.begin` writes into the run folder.
BEGIN = """
import os
from pathlib import Path
from runners.storage.run_folder import RunFolder

RunFolder(Path({folder!r})).update_manifest(pid=os.getpid())
"""


def _notebook(folder: Path, *cells: str) -> Path:
    path = folder / "notebook" / "it.ipynb"
    path.parent.mkdir()
    code: list[dict[str, object]] = [{"source": "seen = ''", "metadata": {"tags": ["parameters"]}}]
    code += [{"source": cell, "metadata": {}} for cell in cells]
    whole = {
        "cells": [{"cell_type": "code", "execution_count": None, "outputs": []} | cell for cell in code],
        "metadata": {"kernelspec": {"name": KERNEL, "display_name": "Python", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    path.write_text(json.dumps(whole))
    return path


def test_starts_for_which_there_is_no_time_are_refused_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "RUNS", tmp_path / "runs")
    with pytest.raises(PlanError, match=r"0\.5 minutes: too short for \d+ starts"):
        batch.run_notebook(experiment("09"), {"minutes": 0.5})
    monkeypatch.setattr("runners.toolchain.build.prepare", lambda *_: pytest.fail("the workshop was opened"))
    with pytest.raises(PlanError, match="more minutes"):
        lab.Lab.begin("09", minutes=0.5)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("99",),
        ("01", "-p", "rate=5"),
        ("01", "-p", "rate_rps=fast"),
        ("01", "-p", "x"),
        ("01", "--size", "smoke", "-p", "size=full"),
    ],
)
def test_what_can_not_be_run_is_refused_at_once(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batch, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(batch, "execute", lambda *_: pytest.fail("the notebook was executed"))
    monkeypatch.setattr(sys, "argv", ["lab", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == Exit.USAGE and capsys.readouterr().err.strip()
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", "00", "smoke", {"title": "t"})


def test_the_kernels_sockets_lie_in_a_private_folder_that_is_gone_afterwards(run: RunFolder, tmp_path: Path) -> None:
    notebook = _notebook(tmp_path, LOOK)
    execute(notebook, run, {"seen": str(tmp_path / "seen.json")})
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["transport"] == "ipc" and seen["sockets"] > 0
    assert stat.S_IMODE(seen["mode"]) == stat.S_IRWXU
    assert seen["here"] == str(notebook.parent) != seen["folder"]
    assert not Path(seen["folder"]).exists()
    assert list(notebook.parent.iterdir()) == [notebook]
    assert run.notebook.exists()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("raise ValueError('no such rate')", r"it\.ipynb, cell 4: ValueError: no such rate"),
        ("import os; os._exit(1)", r"it\.ipynb: its kernel died"),
    ],
    ids=["a cell fails", "the kernel dies"],
)
def test_what_ends_a_notebook_is_named_and_leaves_no_socket(
    cell: str, message: str, run: RunFolder, tmp_path: Path
) -> None:
    notebook = _notebook(tmp_path, LOOK, cell)
    with pytest.raises(NotebookError, match=message):
        execute(notebook, run, {"seen": str(tmp_path / "seen.json")})
    assert not Path(json.loads((tmp_path / "seen.json").read_text())["folder"]).exists()
    assert list(notebook.parent.iterdir()) == [notebook]


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_ends_the_cell_and_not_the_kernels_sockets(
    begun: bool, run: RunFolder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The cell interrupts the process of the notebook, as Ctrl-C at a terminal does, and would then go on."""
    cells = ["import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"]
    if begun:
        cells.insert(0, BEGIN.format(folder=str(run.path)))
    with pytest.raises(KeyboardInterrupt):
        execute(_notebook(tmp_path, *cells), run, {})
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("after_s", [0.5, *(pytest.param(after_s, marks=pytest.mark.long) for after_s in (0.1, 1.0))])
def test_an_interrupt_while_the_kernel_starts_prints_no_traceback(
    after_s: float, run: RunFolder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import papermill  # noqa: F401 - `execute` imports it, which is not what is interrupted here

    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        execute(_notebook(tmp_path, "import time\ntime.sleep(60)"), run, {})
    timer.join()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupted_notebook_names_the_run_that_resumes_it_if_it_was_begun(
    begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_notebook: Path, folder: RunFolder, _parameters: object) -> None:
        if begun:
            folder.update_manifest(machine={})
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(batch, "execute", interrupted)
    monkeypatch.setattr(os, "environ", dict(os.environ))  # the variables of a run are of this test alone
    monkeypatch.setattr(sys, "argv", ["lab", "run", "01", "--size", "smoke"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    (folder,) = (tmp_path / "runs").iterdir()
    said = capsys.readouterr().err
    assert ended.value.code == Exit.INTERRUPTED
    assert said.count(f"lab run 01 --size smoke --resume {folder}") == begun
    assert ("nothing was measured yet" in said) is not begun
    assert "Traceback" not in said
    assert RunFolder(folder).manifest()["status"] == "interrupted"
