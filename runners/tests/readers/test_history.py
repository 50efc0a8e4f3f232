"""All runs are one database; a broken one is named and costs nothing else."""

from __future__ import annotations

import secrets
import shutil
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from click.testing import CliRunner

from runners.cli import lab
from runners.errors import PlanError
from runners.readers.history import machine_class, open_history
from runners.readers.reading import read_run, store_frames
from runners.readers.run import COLUMNS
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import make_run


@cache
def _template(**how: object) -> tuple[TemporaryDirectory[str], RunFolder]:
    """A run with its frames stored, in a folder that lasts as long as this process."""
    scratch = TemporaryDirectory()
    folder = make_run(Path(scratch.name), **how)  # type: ignore[arg-type]
    for step in read_run(folder).steps:
        store_frames(step)
    return scratch, folder


def made(root: Path, **how: object) -> Path:
    """Another run of the same figures."""
    _, template = _template(**{"engines": ("lsm",), "duration_s": 2, **how})
    folder = RunFolder(root / f"{template.name[:-4]}{secrets.token_hex(2)}")
    shutil.copytree(template.path, folder.path)
    folder.update_manifest(run=folder.name, started_unix_s=time.time())
    return folder.path


def test_each_step_of_each_run_is_a_row(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path, without=("put-lsm",))
    history = open_history((tmp_path,))
    assert set(history.query("SELECT run FROM runs")["run"]) == {first.name, second.name}
    steps = history.query("SELECT run, count(*) AS n FROM steps GROUP BY run").set_index("run")["n"]
    assert steps[first.name] == steps[second.name] + 1
    for frame in COLUMNS:
        assert {"run", "step", *COLUMNS[frame]} <= set(history.query(f"FROM {frame} LIMIT 1").columns)


def test_a_measurement_is_the_figure_of_its_step(tmp_path: Path) -> None:
    made(tmp_path)
    step = next(step for step in read_run_of(tmp_path).steps if step.name == "put-lsm")
    frame = step.frames["percentiles"]
    p99 = frame[(frame["kind"] == "response") & (frame["percentile"] == 0.99)]["value_us"].iloc[0]
    rows = open_history((tmp_path,)).query("FROM measurements WHERE step = 'put-lsm' AND metric = 'p99'")
    assert list(rows["value"]) == [p99]
    assert list(rows["kind"]) == ["load"]


def read_run_of(root: Path):  # type: ignore[no-untyped-def]
    from runners.storage.run_folder import runs

    return read_run(runs(root)[0])


def test_profiled_saturated_and_invalid_steps_are_no_measurements(tmp_path: Path) -> None:
    made(tmp_path, engines=("rocksdb", "lsm"), saturated=("put-lsm",), died=("get-lsm",))
    steps = set(open_history((tmp_path,)).query("SELECT DISTINCT step FROM measurements")["step"])
    assert "put-rocksdb" in steps
    assert not steps & {"put-lsm", "get-lsm", "put-rocksdb-profiled"}


def test_a_run_that_lies_in_two_places_is_counted_once(tmp_path: Path) -> None:
    run = made(tmp_path / "a")
    shutil.copytree(run, tmp_path / "b" / "01")
    history = open_history((tmp_path / "a", tmp_path / "b"))
    assert len(history.query("FROM runs")) == 1


def test_a_broken_manifest_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    broken, good = made(tmp_path), made(tmp_path)
    (broken / "manifest.json").write_text("{")
    history = open_history((tmp_path,))
    assert list(history.query("SELECT run FROM runs")["run"]) == [good.name]
    assert len(history.unreadable) == 1
    assert broken.name in history.unreadable[0]


def test_frames_of_an_older_form_are_read_with_newer_ones(tmp_path: Path) -> None:
    old = made(tmp_path)
    made(tmp_path)
    path = old / "steps" / "put-lsm" / "frames" / "summary.parquet"
    pd.read_parquet(path).drop(columns=["lag_p99_us"]).to_parquet(path)
    rows = open_history((tmp_path,)).query("SELECT run, lag_p99_us FROM summary WHERE step = 'put-lsm'")
    assert len(rows) == 2
    assert rows.set_index("run")["lag_p99_us"].isna()[old.name]


def test_an_empty_history_answers(tmp_path: Path) -> None:
    history = open_history((tmp_path,))
    assert history.query("FROM measurements").empty


def test_a_wrong_question_names_the_views(tmp_path: Path) -> None:
    with pytest.raises(match=r"nonsense(?s:.*)measurements"):
        open_history((tmp_path,)).query("FROM nonsense")


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_lab_runs_lists_them(tmp_path: Path, form: str) -> None:
    run = made(tmp_path)
    result = CliRunner().invoke(lab, ["runs", str(tmp_path), "--format", form])
    assert result.exit_code == 0
    assert run.name in result.output


def test_a_question_without_an_answer_has_no_rows_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    ask = ["runs", str(tmp_path), "--sql"]
    assert CliRunner().invoke(lab, [*ask, "FROM runs WHERE false"]).output == "no rows\n"
    empty = CliRunner().invoke(lab, [*ask, " "])
    assert empty.exit_code == 1 and isinstance(empty.exception, PlanError)
    assert "no question was asked" in str(empty.exception)


def test_machine_classes_differ_in_what_changes_figures() -> None:
    small = {"cpu_model": "Zen", "cores": 2, "memory_bytes": 2 * 2**30, "virtualised": "yes"}
    assert machine_class(small) == "Zen, 2 cores, 2 GiB, virtual"
    assert machine_class({**small, "cores": 4}) != machine_class(small)
    assert machine_class({**small, "kernel": "6.1"}) == machine_class(small)
    assert "unknown" in machine_class({})
