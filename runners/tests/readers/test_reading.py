"""A run is read whole, from any state that a run can be left in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from runners.readers.reading import read_run, read_step, store_frames
from runners.readers.run import COLUMNS
from runners.storage.run_folder import RunFolder, StepFolder, StoreError
from runners.storage.schema import StepRecord
from runners.tests.fixtures.fake_run import make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return make_run(tmp_path_factory.mktemp("runs"), duration_s=3)


def a_copy(folder: RunFolder, tmp_path: Path, step: str = "put-rocksdb-profiled") -> StepFolder:
    target = tmp_path / step
    shutil.copytree(folder.steps_path / step, target)
    return StepFolder(target)


def test_a_complete_run_has_every_frame_of_every_step(folder: RunFolder) -> None:
    run = read_run(folder)
    assert len(run.steps) == 16
    for step in run.steps:
        assert step.unreadable == ()
        assert {name: list(frame.columns) for name, frame in step.frames.items()} == {
            name: list(columns) for name, columns in COLUMNS.items()
        }
        assert step.frames["summary"]["achieved_rps"].iloc[0] > 0
        assert len(step.frames["intervals"]) == 6
        assert bool(step.profiled) == (not step.frames["shares"].empty)
    (clean,) = run.find(subject="rocksdb", workload="put", profiled=False)
    bounds = clean.frames["percentiles"].query("percentile == 0.99")
    assert (bounds["low_us"] <= bounds["value_us"]).all()
    assert (bounds["value_us"] <= bounds["high_us"]).all()
    assert len(clean.frames["pauses"]) > 0


def test_stored_frames_are_what_was_read(folder: RunFolder, tmp_path: Path) -> None:
    copy = a_copy(folder, tmp_path)
    step = read_step(copy)
    store_frames(step)
    for path in copy.path.glob("*.*"):
        if path.name != "step.json":
            path.unlink()
    again = read_step(copy)
    assert again.record == step.record
    for name, frame in step.frames.items():
        pd.testing.assert_frame_equal(again.frames[name], frame)


def test_a_frame_that_neither_is_stored_nor_was_empty_is_read_from_the_raw_files(
    folder: RunFolder, tmp_path: Path
) -> None:
    copy = a_copy(folder, tmp_path)
    whole = read_step(copy)
    store_frames(whole)
    assert copy.empty_frames() == {name for name, frame in whole.frames.items() if frame.empty} | {"unreadable"}
    copy.frame("pauses").unlink()
    pd.testing.assert_frame_equal(read_step(copy).frames["pauses"], whole.frames["pauses"])
    store_frames(whole)
    copy.empty.unlink()  # an earlier lab had no such list: nothing is taken for empty
    for name, frame in read_step(copy).frames.items():
        pd.testing.assert_frame_equal(frame, whole.frames[name])


def test_a_column_that_an_earlier_lab_did_not_store_is_missing_where_the_raw_files_are_gone(
    folder: RunFolder, tmp_path: Path
) -> None:
    copy = a_copy(folder, tmp_path)
    step = read_step(copy)
    store_frames(step)
    stored = copy.read_frame("summary")
    assert stored is not None
    stored.drop(columns="held").to_parquet(copy.frame("summary"))
    assert "held" in read_step(copy).frames["summary"], "read again from the raw files"
    for path in copy.path.glob("*.*"):
        if path.name != "step.json":
            path.unlink()
    again = read_step(copy)
    assert again.unreadable == step.unreadable
    summary = again.frames["summary"]
    assert list(summary) == list(step.frames["summary"]) and summary["held"].isna().all()


def test_what_was_unreadable_is_remembered_with_the_stored_frames(folder: RunFolder, tmp_path: Path) -> None:
    copy = a_copy(folder, tmp_path)
    copy.load_json.write_text("{")
    step = read_step(copy)
    store_frames(step)
    assert read_step(copy).unreadable == step.unreadable != ()


def test_broken_stored_frames_are_made_again(folder: RunFolder, tmp_path: Path) -> None:
    copy = a_copy(folder, tmp_path)
    store_frames(read_step(copy))
    copy.frame("spectrum").write_bytes(b"no parquet")
    step = read_step(copy)
    assert not step.frames["spectrum"].empty
    assert any("spectrum.parquet" in text for text in step.unreadable)


FILES = [
    "load.json",
    "load.hlog",
    "console.txt",
    "gc.log",
    "telemetry.jsonl",
    "cpu.collapsed",
    "alloc.collapsed",
    "step.json",
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "binary"])
def test_one_broken_file_costs_its_frames_only(folder: RunFolder, tmp_path: Path, name: str, damage: str) -> None:
    copy = a_copy(folder, tmp_path)
    path = copy.path / name
    content = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "half":
            path.write_bytes(content[: len(content) // 2])
        case _:
            path.write_bytes(bytes(range(256)) * 4)
    step = read_step(copy)
    assert set(step.frames) == set(COLUMNS)
    if name not in ("load.json", "load.hlog", "console.txt", "step.json"):
        assert not step.frames["percentiles"].empty
    if name in ("load.json", "load.hlog") and damage != "half":
        assert any(name in text for text in step.unreadable)
        assert not step.frames["percentiles"].empty  # the other file, or the console, has them
        assert not step.frames["summary"].empty
    if name == "step.json":
        assert not step.valid
        assert any("step.json" in text for text in step.unreadable)


def test_a_run_with_a_step_of_unreadable_metadata_is_still_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=1, engines=("lsm",))
    (folder.steps_path / "put-lsm" / "step.json").write_text("{")
    run = read_run(folder)
    assert len(run.steps) == 9
    assert [step.name for step in run.steps][:2] == ["put-lsm", "probe-put-lsm"]  # the others keep their order
    broken = next(step for step in run.steps if step.name == "put-lsm")
    assert not broken.valid


def test_an_interrupted_run_names_what_was_begun(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=1, status="interrupted", stop_after="floor-put")
    folder.begin_step("put-rocksdb")
    run = read_run(folder)
    assert run.unfinished == ("put-rocksdb",)
    assert [step.name for step in run.steps] == ["probe-put-rocksdb", "probe-put-lsm", "floor-put"]


def test_a_run_made_with_wrk2_has_what_its_console_tells(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, duration_s=2, wrk2=True, engines=("rocksdb",)))
    (step,) = run.find(workload="get", profiled=False)
    assert step.unreadable == ()
    assert step.frames["summary"]["offered_rps"].iloc[0] == 12_400
    assert not step.frames["spectrum"].empty
    assert not step.frames["percentiles"].empty
    assert step.frames["percentiles"]["low_us"].isna().all()
    assert step.frames["intervals"].empty


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"manifest\.json"):
        read_run(RunFolder(tmp_path))


def test_a_skipped_step_has_its_reason_and_no_complaints(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=1, engines=("lsm",), stop_after="floor-put")
    begun = folder.begin_step("get-lsm")
    folder.commit_step(begun, StepRecord(role="load", invalid_reasons=("skipped: the server is gone",)))
    skipped = next(step for step in read_run(folder).steps if step.name == "get-lsm")
    assert skipped.unreadable == ()
    assert set(skipped.frames) == set(COLUMNS)
    assert all(frame.empty for frame in skipped.frames.values())


def test_a_missing_file_is_named_without_the_path_to_it(folder: RunFolder, tmp_path: Path) -> None:
    copy = a_copy(folder, tmp_path)
    copy.hlog.unlink()
    (problem,) = read_step(copy).unreadable
    assert problem == "load.hlog: can't be read (it is not there); run the step again"
