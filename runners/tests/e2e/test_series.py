"""`lab knee` with real servers: killed at any moment it leaves no process, and goes on from what it kept."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from runners.storage.run_folder import RunFolder
from runners.tests.e2e.conftest import LAB, lab
from runners.tests.waiting import LIMIT_S, left_in, working_in

pytestmark = [pytest.mark.e2e, pytest.mark.long]  # test_campaign_run kills and resumes, test_any_server finds a knee
KNEE = (
    *("knee", "--engine", "noop", "--size", "smoke", "--minutes", "0.2", "--connections", "4"),
    *("-p", "probe_s=0.2", "-p", "precision=0.005"),
)
INTERRUPTED = 130


def _kept(folder: RunFolder) -> dict[str, int]:
    return {step.name: int(step.read_meta()["started_unix_us"]) for step in folder.steps()}


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, id="ctrl-c"), pytest.param(signal.SIGKILL, id="kill -9")],
)
def test_an_interrupted_search_leaves_no_process_and_is_gone_on_with(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*LAB, *KNEE],
        env=dict(os.environ, LAB_RUNS=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    reported = []
    for line in process.stdout:
        reported.append(line)
        if "load 1 of put-noop" in line:
            break
    assert working_in(tmp_path), "".join(reported)
    process.send_signal(number)
    said = process.stdout.read()
    process.wait(LIMIT_S)
    assert not left_in(tmp_path)
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    if number == signal.SIGINT:
        assert process.returncode == INTERRUPTED and folder.manifest()["status"] == "interrupted"
        assert shlex.join(["lab", *KNEE, "--resume", str(path)]) in said.splitlines(), said
    before = {name: at for name, at in _kept(folder).items() if name.startswith("rate-step-")}
    assert before, "what was measured is kept"

    if number == signal.SIGINT:
        return  # going on takes long, and is the same however it was interrupted
    refused = lab("compare", "--engine", "lsm", "--engine", "noop", "--resume", str(path), runs=tmp_path)
    assert refused.returncode == 2 and "it is a run of knee, not of 09" in refused.stderr, refused.stderr
    refused = lab("knee", "--objective", "p99<=1s", "--resume", str(path), runs=tmp_path)
    assert refused.returncode == 2 and "objective: p99<=10ms" in refused.stderr, refused.stderr

    done = lab("knee", "--resume", str(path), runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == [path] and folder.manifest()["status"] == "complete"
    after = _kept(folder)
    assert {name: after[name] for name in before} == before, "a probe that was kept was measured again"
    assert "noop" in folder.report_md.read_text(encoding="utf-8")
    assert not left_in(tmp_path)
