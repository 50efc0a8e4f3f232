"""The run folder is never half-overwritten."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from runners.storage.run_folder import RunFolder, StoreError, runs, write_json
from runners.storage.schema import StepRecord


def a_run(root: Path) -> RunFolder:
    return RunFolder.create(root, "01", "smoke", {"title": "t"})


def test_a_new_run_is_running_until_it_is_finished(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    assert run.manifest()["status"] == "running"
    run.update_manifest(git={"commit": "abc"})
    run.finish("complete")
    manifest = RunFolder.open(run.path).manifest()
    assert manifest["status"] == "complete" and manifest["git"] == {"commit": "abc"} and manifest["title"] == "t"
    assert runs(tmp_path) == [run]


def test_a_step_is_seen_only_when_it_is_complete(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    step = run.begin_step("put-lsm")
    step.console.write_text("half")
    assert run.steps() == []
    done = run.commit_step(step, StepRecord(started_unix_us=1))
    assert [s.name for s in run.steps()] == ["put-lsm"] and done.console.read_text() == "half"


def test_a_step_taken_again_replaces_the_former_whole_and_keeps_it(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    for text in ("first", "second"):
        step = run.begin_step("put-lsm")
        step.console.write_text(text)
        run.commit_step(step, StepRecord(started_unix_us=1))
    assert [s.console.read_text() for s in run.steps()] == ["second"]
    kept = list((run.steps_path / "superseded").iterdir())
    assert [(folder / "console.txt").read_text() for folder in kept] == ["first"]


def test_an_attempt_that_broke_off_leaves_the_former_step(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    step = run.begin_step("put-lsm")
    step.console.write_text("good")
    run.commit_step(step, StepRecord(started_unix_us=1))
    run.begin_step("put-lsm").console.write_text("broken off")
    assert [s.console.read_text() for s in run.steps()] == ["good"]


def test_steps_come_in_the_order_in_which_they_started(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    for name, at in (("b", 2), ("a", 3), ("c", 1)):
        run.commit_step(run.begin_step(name), StepRecord(started_unix_us=at))
    assert [step.name for step in run.steps()] == ["c", "b", "a"]


@pytest.mark.parametrize("name", ["../up", "", "A", "a b", "-a", "a/b"])
def test_a_step_name_is_a_plain_folder_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="small letters"):
        a_run(tmp_path).begin_step(name)


def test_what_is_no_run_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        RunFolder.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="can't be read"):
        RunFolder.open(tmp_path).manifest()


def test_json_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert path.read_text() == '{\n "a": 1\n}\n'


def test_frames_go_through_parquet_unchanged(tmp_path: Path) -> None:
    step = a_run(tmp_path).begin_step("put-lsm")
    frame = pd.DataFrame({"kind": ["response"], "value_us": [1.5]})
    step.write_frames({"spectrum": frame})
    read = step.read_frame("spectrum")
    assert read is not None
    pd.testing.assert_frame_equal(read, frame)
    assert step.read_frame("none") is None


def test_frames_without_a_row_are_named_and_have_no_file(tmp_path: Path) -> None:
    step = a_run(tmp_path).begin_step("put-lsm")
    frame = pd.DataFrame({"kind": ["response"]})
    step.write_frames({"spectrum": frame, "pauses": frame.iloc[:0]})
    assert step.empty_frames() == {"pauses"} and step.read_frame("pauses") is None
    assert {path.name for path in step.empty.parent.iterdir()} == {"spectrum.parquet", "empty.json"}
    step.write_frames({"spectrum": frame.iloc[:0], "pauses": frame})  # what was stored before is gone
    assert step.empty_frames() == {"spectrum"} and step.read_frame("spectrum") is None
    assert step.read_frame("pauses") is not None
