"""Resuming a run: only with the same plan on the same machine, and never with a process that measures it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runners.errors import PlanError
from runners.execution.batch import reopened, resumed_parameters, same_parameters
from runners.storage.run_folder import RunFolder

MANIFEST: dict[str, Any] = {
    "title": "The knee",
    "parameters": {"size": "smoke", "setting": "lsm", "minutes": 5.0, "objective": "p99<=10ms"},
    "machine": {"cpu_model": "Invented", "kernel": "6.1.0"},
    "tools": {"java": "25", "lab_sources": "aaaaaaaaaaaa", "loadgen_sources": "bbbbbbbbbbbb"},
    "pid": os.getpid(),
}


def interrupted(root: Path) -> RunFolder:
    folder = RunFolder.create(root, "knee", "smoke", MANIFEST)
    folder.finish("interrupted")
    return folder


def test_the_same_run_goes_on_with_another_budget(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    parameters = {**MANIFEST["parameters"], "minutes": 60.0}
    again = reopened(folder, "knee", {**MANIFEST, "parameters": parameters, "pid": 7})
    manifest = again.manifest()
    assert manifest["status"] == "running" and manifest["pid"] == 7 and manifest["parameters"]["minutes"] == 60.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parameters": {**MANIFEST["parameters"], "objective": "p99<=1ms"}}, "objective: p99<=10ms against p99<=1ms"),
        ({"machine": {"cpu_model": "Invented", "kernel": "6.12.0"}}, "machine.kernel: 6.1.0 against 6.12.0"),
        ({"tools": {**MANIFEST["tools"], "lab_sources": "c" * 12}}, "tools.lab_sources: aaaaaaaaaaaa against c"),
        ({"tools": {**MANIFEST["tools"], "loadgen_sources": "d" * 12}}, "tools.loadgen_sources: bbbbbbbbbbbb against"),
        ({"parameters": {**MANIFEST["parameters"], "size": "quick"}}, "size: smoke against quick"),
    ],
)
def test_what_differs_is_named_and_the_folder_left_as_it_was(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    folder = interrupted(tmp_path)
    before = folder.manifest_path.read_bytes()
    with pytest.raises(PlanError) as refusal:
        reopened(folder, "knee", {**MANIFEST, **changed})
    assert message in str(refusal.value) and "begin a new run" in str(refusal.value)
    assert folder.manifest_path.read_bytes() == before


def test_a_run_begins_again_with_its_own_parameters_and_what_is_given(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    assert resumed_parameters(folder, "knee", {"minutes": 60.0}) == {**MANIFEST["parameters"], "minutes": 60.0}
    same_parameters(folder, resumed_parameters(folder, "knee", {"minutes": 60.0}))
    with pytest.raises(PlanError, match="objective: p99<=10ms against p99<=1ms"):
        same_parameters(folder, resumed_parameters(folder, "knee", {"objective": "p99<=1ms"}))


def test_a_complete_run_is_not_gone_on_with(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    folder.finish("complete")
    with pytest.raises(PlanError, match="it is complete"):
        resumed_parameters(folder, "knee", {})


def test_the_manifest_tells_when_a_run_was_gone_on_with(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    for session in (1, 2):
        folder.update_manifest(pid=None)
        assert len(reopened(folder, "knee", {**MANIFEST, "pid": None}).manifest()["resumed_unix_s"]) == session


def test_a_run_of_another_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="it is a run of knee, not of compare"):
        reopened(interrupted(tmp_path), "compare", MANIFEST)


def test_a_run_that_is_still_measured_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "knee", "smoke", MANIFEST)
    with pytest.raises(PlanError, match=f"process {MANIFEST['pid']} is still measuring it"):
        reopened(folder, "knee", MANIFEST)
