"""Experiment 02 in its smoke size with the real tools, with a JDK 17 where there is one and without it."""

from __future__ import annotations

import json

import pytest

from runners.design.setting import OLD_JDK
from runners.experiments.e02_closed_loop_jdk import STAGES
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.tests.e2e.conftest import lab
from runners.toolchain.tools import find_jdk

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    root = tmp_path_factory.mktemp("loops")
    done = lab("run", "02", "--size", "smoke", runs=root)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = root.iterdir()
    return RunFolder.open(path)


def test_every_stage_whose_jdk_is_here_was_measured(folder: RunFolder) -> None:
    run = read_run(folder)
    there = {name for name, stage in STAGES.items() if not stage.setting.jdk or find_jdk(OLD_JDK) is not None}
    assert {step.record.loop.stage for step in run.find(kind="loop")} == there
    for step in run.find(kind="loop"):
        assert step.valid and not step.unreadable, (step.name, step.record.invalid_reasons)
        assert step.frames["summary"]["completed"].iloc[0] > 0
        absent = step.frames["summary"]["non_2xx"].iloc[0]
        assert (absent > 0) == (step.workload == "get-few"), step.name


def test_its_servers_ran_on_the_jdk_that_their_stage_names(folder: RunFolder) -> None:
    for step in read_run(folder).find(kind="loop"):
        asked = STAGES[step.record.loop.stage].setting.jdk
        jvm = str(step.record.server.ready["jvm"])
        assert jvm.startswith(str(asked)) if asked else not jvm.startswith(str(OLD_JDK))


def test_the_report_answers_and_says_whether_jdk_17_was_missing(folder: RunFolder) -> None:
    conclusions = json.loads(folder.conclusions.read_text())
    assert "delayed ACK" in conclusions["answer"] or "no wait on this machine" in conclusions["answer"]
    codes = {finding["code"] for finding in conclusions["findings"]}
    assert ("D13" in codes) == (find_jdk(OLD_JDK) is None)
    assert folder.manifest()["status"] == "complete" and folder.report_html.exists()
