"""Two run folders compared: refused where more than the setting differs, no verdict from single runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.commands import compare_folders
from runners.errors import PlanError
from runners.explain.between import differing, pairs
from runners.read.reading import read_run
from runners.store import RunFolder
from runners.tests.fixtures.fake_run import make_run

PROFILED = tuple(f"{workload}-{engine}-profiled" for workload in ("put", "get") for engine in ("rocksdb", "lsm"))


def made(root: Path, engine: str = "rocksdb", **changes: object) -> RunFolder:
    folder = make_run(root, engines=(engine,), duration_s=5, without=PROFILED)
    if changes:
        manifest = folder.manifest()
        folder.update_manifest(machine={**manifest["machine"], **changes})
    return folder


def test_runs_of_two_machines_are_refused_by_field(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, kernel="6.12.0")
    with pytest.raises(PlanError, match=r"machine\.kernel: 6\.1\.0 against 6\.12\.0") as refusal:
        compare_folders([a.path], [b.path], [], 0.02)
    assert "--despite machine.kernel" in str(refusal.value)
    assert compare_folders([a.path], [b.path], ["machine.kernel"], 0.02)


def test_two_engines_are_a_setting_and_no_verdict_comes_from_single_runs(tmp_path: Path) -> None:
    a, b = made(tmp_path, "rocksdb"), made(tmp_path, "lsm")
    runs = [read_run(a)], [read_run(b)]
    assert not differing(*runs)
    assert {pair.names for pair in pairs(*runs)} == {("RocksDB", "LSM")}
    lines = compare_folders([a.path], [b.path], [], 0.02)
    assert any("this is no verdict" in line for line in lines)
    assert not any("lower than" in line or "higher than" in line for line in lines)


def test_groups_of_runs_give_a_verdict(tmp_path: Path) -> None:
    groups = [[made(tmp_path, engine).path for _ in range(3)] for engine in ("rocksdb", "lsm")]
    lines = compare_folders(groups[0], groups[1], [], 0.02)
    assert any("LSM has a p50 lower than RocksDB by" in line for line in lines)
    same = compare_folders(groups[0], [made(tmp_path, "rocksdb").path for _ in range(3)], [], 0.02)
    assert not any("lower than" in line or "higher than" in line for line in same)


def test_other_rates_are_refused(tmp_path: Path) -> None:
    a = made(tmp_path)
    b = make_run(
        tmp_path, engines=("rocksdb",), duration_s=5, without=PROFILED, rates={"put": 9_000.0, "get": 12_400.0}
    )
    with pytest.raises(PlanError, match="offered_rate_rps"):
        compare_folders([a.path], [b.path], [], 0.02)
