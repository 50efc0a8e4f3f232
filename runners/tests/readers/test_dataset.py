"""The figures of many runs as one Parquet data set: the same as from the runs themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from runners.cli import lab
from runners.errors import PlanError
from runners.readers import history
from runners.readers.history import machine_class, open_history, sentinel_history
from runners.storage.run_folder import RunFolder, runs
from runners.tests.readers.test_history import made

ONE = "SELECT run, step, metric, value FROM measurements ORDER BY ALL"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three runs on two kinds of machine."""
    folder = tmp_path / "runs"
    paths = [made(folder), made(folder), made(folder, engines=("rocksdb",))]
    run = RunFolder(paths[1])
    run.update_manifest(machine={**run.manifest()["machine"], "cpu_model": "O'Another, at 50 % = 2 GHz / é"})
    return folder


def test_a_data_set_holds_the_figures_of_all_runs_by_experiment_and_machine(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BATCH", 2)
    run_count, figures, _ = history.write_dataset(tmp_path / "set", (root,))
    dataset = history.open_dataset(tmp_path / "set")
    pd.testing.assert_frame_equal(dataset.query(ONE), open_history((root,)).query(ONE))
    assert (run_count, figures) == (3, len(dataset.query(ONE)))
    classes = {machine_class(run.manifest()["machine"]) for run in runs(root)}
    assert len(classes) == 2
    assert {*dataset.query("SELECT DISTINCT machine_class FROM measurements")["machine_class"]} == classes
    assert {path.name for path in (tmp_path / "set").iterdir()} == {history.MARK, "experiment=01"}
    kinds = dataset.query("DESCRIBE measurements").set_index("column_name")["column_type"]
    assert kinds["experiment"] == kinds["machine_class"] == "VARCHAR" and kinds["started"].startswith("TIMESTAMP")


def test_it_is_made_anew_when_it_is_whole_and_never_in_place_of_anything_else(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "set"
    history.write_dataset(place, (root,))
    before = history.open_dataset(place).query(ONE)

    def broken(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(history, "append", broken)
        history.write_dataset(place, (root,))
    pd.testing.assert_frame_equal(history.open_dataset(place).query(ONE), before)
    shutil.rmtree(runs(root)[0].path)
    history.write_dataset(place, (root,))
    assert history.open_dataset(place).query("SELECT DISTINCT run FROM measurements").shape == (2, 1)
    with pytest.raises(PlanError, match="it is there and no data set"):
        history.write_dataset(root, (root,))


def test_a_run_counts_once_and_one_that_cannot_be_read_is_named(root: Path, tmp_path: Path) -> None:
    shutil.copytree(runs(root)[0].path, tmp_path / "more" / "copy")
    (root / "broken").mkdir()
    (root / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    run_count, _, unreadable = history.write_dataset(tmp_path / "set", (root, tmp_path / "more"))
    assert run_count == 3 and len(unreadable) == 1 and "broken" in unreadable[0]


def test_without_a_figure_it_can_be_asked_too(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert history.write_dataset(tmp_path / "set", (tmp_path / "runs",))[1] == 0
    figures = history.open_dataset(tmp_path / "set").query("SELECT value, git_commit, kernel FROM measurements")
    assert figures.empty and [*figures.columns] == ["value", "git_commit", "kernel"]


def test_the_command_writes_it_and_answers_by_it(root: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "set")
    done = CliRunner().invoke(lab, ["dataset", place, str(root)])
    assert done.exit_code == 0 and "figures of 3 runs" in done.output
    asked = ["dataset", place, "--sql", "SELECT count(DISTINCT run) AS runs FROM measurements", "--format", "json"]
    assert json.loads(CliRunner().invoke(lab, asked).output) == [{"runs": 3}]
    assert isinstance(CliRunner().invoke(lab, ["dataset", place, "--sql", "FROM runs"]).exception, PlanError)
    assert isinstance(CliRunner().invoke(lab, ["dataset", str(root), "--sql", "FROM runs"]).exception, PlanError)


def test_a_sentinel_is_compared_with_the_latest_runs_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, *others = runs(root)
    for p50_us, run in enumerate((here, *others), 40):
        run.update_manifest(machine={"cores": 2}, tools={"server_sources": "1"}, sentinel={"p50_us": p50_us})
    assert len(others) >= 2 and len(sentinel_history(here)) == len(others)
    opened: list[str] = []
    manifest_of = RunFolder.manifest

    def counting(run: RunFolder) -> dict[str, Any]:
        opened.extend([run.name] if run.path.parent == root else [])
        return manifest_of(run)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "manifest", counting)
        patched.setattr("runners.readers.history.COMPARED_SENTINELS", 2)
        sentinel_history(here)
    assert len(opened) == 3, "the cost of a run must not grow with the number of those before it"
    others[0].update_manifest(tools={})
    assert len(sentinel_history(here)) == len(others) - 1, "a sentinel on another server is another"
    others[1].update_manifest(machine={"cores": 4})
    assert len(sentinel_history(here)) == len(others) - 2
