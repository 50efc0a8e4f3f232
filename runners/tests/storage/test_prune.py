"""Old runs are thinned by the policy that is given, listed first, and never while they are measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from runners.cli import lab
from runners.errors import PlanError
from runners.storage.run_folder import DAY_S, RunFolder, finish_removals, given_up, remove_run

NOW_S = 1_000 * DAY_S


def make(root: Path, name: str, age_days: float, status: str = "complete", **more: object) -> RunFolder:
    run = RunFolder(root / name)
    run.path.mkdir(parents=True)
    started = NOW_S - age_days * DAY_S
    about = {"run": name, "experiment": "01", "parameters": {"size": "smoke"}, "machine": {"cores": 2}}
    run.write_manifest({**about, "status": status, "started_unix_s": started, **more})
    return run


def names(root: Path, **conditions: Any) -> list[str]:
    return [run.folder.name for run in given_up(root, now_unix_s=NOW_S, **conditions)]


def test_all_that_is_given_must_hold(tmp_path: Path) -> None:
    for age in (1, 10, 20, 30, 40):
        make(tmp_path, f"age-{age}", age)
    make(tmp_path, "other", 50, parameters={"size": "full"})
    make(tmp_path, "cut-off", 45, "interrupted")
    assert names(tmp_path, older_than_days=25) == ["other", "cut-off", "age-40", "age-30"]
    assert names(tmp_path, keep=2) == ["cut-off", "age-40", "age-30", "age-20"], "other has none after it"
    assert names(tmp_path, older_than_days=35, keep=1) == ["cut-off", "age-40"]
    assert names(tmp_path, incomplete=True) == ["cut-off"]


def test_no_policy_is_refused_and_a_run_that_is_measured_is_kept(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no policy was given"):
        names(tmp_path)
    make(tmp_path, "now", 1, "running", pid=os.getpid())
    make(tmp_path, "begun", 1, "running")
    make(tmp_path, "killed", 1, "running", pid=2**30)
    assert names(tmp_path, older_than_days=0) == ["killed"]


@given(
    ages=st.lists(st.integers(0, 100), min_size=1, max_size=12, unique=True),
    keep=st.none() | st.integers(0, 5),
    days=st.none() | st.integers(0, 100),
)
def test_the_latest_are_kept_and_the_young(
    tmp_path_factory: pytest.TempPathFactory, ages: list[int], keep: int | None, days: int | None
) -> None:
    root = tmp_path_factory.mktemp("runs")
    if keep is None and days is None:
        return
    for number, age in enumerate(ages):
        make(root, f"run-{number}", age)
    older_than_days = None if days is None else days + 0.5
    kept = {*ages} - {ages[int(name[4:])] for name in names(root, older_than_days=older_than_days, keep=keep)}
    young = {age for age in ages if days is not None and age <= days}
    assert kept == young | {*sorted(ages)[: keep or 0]}


def test_nothing_is_removed_without_yes(tmp_path: Path) -> None:
    make(tmp_path, "old", 10, address="0815")
    make(tmp_path, "new", 1)
    ask = ["prune", str(tmp_path), "--keep", "1"]
    listed = CliRunner().invoke(lab, ask)
    assert listed.exit_code == 0 and "old, result of a campaign" in listed.output and "new" not in listed.output
    assert "would be removed by --yes" in listed.output and len(list(tmp_path.iterdir())) == 2
    done = CliRunner().invoke(lab, [*ask, "--yes"])
    assert "old, result of a campaign" in done.output and "1 runs" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_removal_that_is_cut_short_leaves_no_run_and_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "old", 10)
    (run,) = given_up(tmp_path, older_than_days=1, now_unix_s=NOW_S)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("runners.storage.run_folder.shutil.rmtree", killed)
        remove_run(run)
    assert names(tmp_path, older_than_days=0) == []
    finish_removals(tmp_path)
    assert list(tmp_path.iterdir()) == []
