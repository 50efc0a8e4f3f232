"""One real smoke run of experiment 01, shared by the tests that read what it made."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from runners import cli
from runners.storage import run_folder
from runners.storage.run_folder import RunFolder
from runners.tests.tiers import LONG

LAB = [sys.executable, "-m", "runners.cli"]
#: Parameters of the smoke run. In the short form the rate is given, so that no closed loop of each store looks for one,
#: and profiled loads keep it on a busy machine.
GIVEN = () if LONG else ("-p", "rate_rps=2000")


def lab(*arguments: str, runs: Path, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    """`lab` as a user calls it, with its runs in a folder of the test's own."""
    env = dict(os.environ, LAB_RUNS=str(runs))
    return subprocess.run(
        [*LAB, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env=env,
        stdin=subprocess.DEVNULL,
    )


def lab_here(*arguments: str, runs: Path) -> subprocess.CompletedProcess[str]:
    """`lab` in this process, which spares the seconds of its imports; only for commands that measure in theirs."""
    from runners import lab as measuring
    from runners.cli import work

    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for module in (measuring, work, run_folder):
            patch.setattr(module, "RUNS", runs)
        patch.setattr(sys, "argv", ["lab", *arguments])
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def report_again(run: Path) -> None:
    """`lab report` in this process, which has imported what it needs."""
    done = CliRunner().invoke(cli.lab, ["report", str(run)], catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, subprocess.CompletedProcess[str]]:
    """A complete run in the smoke size and what the command printed."""
    root = tmp_path_factory.mktemp("runs")
    done = lab("run", "01", "--size", "smoke", *GIVEN, runs=root)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = root.iterdir()
    return RunFolder.open(folder), done
