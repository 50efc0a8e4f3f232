"""Two run folders compared: refused where more than the setting differs, no verdict from single runs."""

from __future__ import annotations

import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from runners.analysis.comparison import QUANTITIES, Verdict
from runners.claims.between import differing, pairs, welch
from runners.cli import lab
from runners.commands import compare_folders
from runners.errors import PlanError
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
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


def test_runs_of_two_states_of_the_sources_are_refused_by_field_and_can_be_compared_despite_it(tmp_path: Path) -> None:
    folders = [made(tmp_path), made(tmp_path)]
    fields = ["tools.lab_sources", "tools.loadgen_sources"]
    for folder, sources in zip(folders, ("a" * 12, "b" * 12), strict=True):
        tools = {**folder.manifest()["tools"], "lab_sources": sources, "loadgen_sources": sources}
        folder.update_manifest(tools=tools)
    a, b = ([folder.path] for folder in folders)
    with pytest.raises(PlanError) as refusal:
        compare_folders(a, b, fields[:1], 0.02)
    assert "tools.loadgen_sources: aaaaaaaaaaaa against bbbbbbbbbbbb" in str(refusal.value)
    assert "tools.lab_sources" not in str(refusal.value)
    assert compare_folders(a, b, fields, 0.02)


def test_two_engines_are_a_setting_and_no_verdict_comes_from_single_runs(tmp_path: Path) -> None:
    a, b = made(tmp_path, "rocksdb"), made(tmp_path, "lsm")
    runs = [read_run(a)], [read_run(b)]
    assert not differing(*runs)
    assert {pair.names for pair in pairs(*runs)} == {("RocksDB", "LSM")}
    lines = compare_folders([a.path], [b.path], [], 0.02)
    assert any("this is no verdict" in line for line in lines)
    assert not any(" than " in line for line in lines)


def test_groups_of_runs_give_a_verdict(tmp_path: Path) -> None:
    groups = [[made(tmp_path, engine).path for _ in range(3)] for engine in ("rocksdb", "lsm")]
    lines = compare_folders(groups[0], groups[1], [], 0.02)
    assert any("LSM is faster than RocksDB in p50" in line for line in lines)
    same = compare_folders(groups[0], [made(tmp_path, "rocksdb").path for _ in range(3)], [], 0.02)
    assert not any(" than " in line for line in same)


def test_a_run_given_twice_is_no_repeat(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, "lsm")
    for left, right in (([a.path], [a.path]), ([a.path, a.path], [b.path]), ([a.path], [b.path, b.path])):
        with pytest.raises(PlanError, match="given twice"):
            compare_folders(left, right, [], 0.02)


@pytest.mark.parametrize("see", [math.nan, -1.0, 0.0, math.inf])
def test_a_difference_of_interest_that_is_none_is_refused(tmp_path: Path, see: float) -> None:
    with pytest.raises(PlanError, match=r"see=.*0\.001 to 1"):
        compare_folders([made(tmp_path).path], [made(tmp_path, "lsm").path], [], see)


@pytest.mark.parametrize(
    "words", [("--minutes", "5"), ("--workload", "put"), ("-p", "repeat_s=2"), ("--size", "quick")]
)
def test_options_that_measure_are_refused_beside_runs(tmp_path: Path, words: tuple[str, str]) -> None:
    result = CliRunner().invoke(lab, ["compare", str(tmp_path), str(tmp_path), *words])
    assert result.exit_code == 2 and "runs are compared as they are" in result.output


def test_another_heap_beside_another_engine_is_refused_by_field(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, "lsm")
    for folder, heap_mb in ((a, 128), (b, 256)):
        folder.update_manifest(parameters={**folder.manifest().get("parameters", {}), "heap_mb": heap_mb})
    with pytest.raises(PlanError, match=r"parameters\.heap_mb: 128 against 256"):
        compare_folders([a.path], [b.path], [], 0.02)
    assert compare_folders([a.path], [b.path], ["parameters.heap_mb"], 0.02)


def test_groups_that_each_read_one_figure_differ_by_no_less_than_a_histogram_can_tell() -> None:
    quantity = next(each for each in QUANTITIES if each.name == "p50_us")
    seen = welch(quantity, ("A", "B"), np.log([52.0] * 3), np.log([52.0] * 3), 0.01, 0.02)
    assert seen.low < 0.991 and seen.high > 1.009
    assert welch(quantity, ("A", "B"), np.log([52.0] * 3), np.log([52.2] * 3), 0.01, 0.02).verdict == Verdict.SAME
    assert welch(quantity, ("A", "B"), np.log([52.0] * 3), np.log([54.0] * 3), 0.01, 0.02).verdict == Verdict.HIGHER


def test_other_rates_are_refused(tmp_path: Path) -> None:
    a = made(tmp_path)
    b = make_run(
        tmp_path, engines=("rocksdb",), duration_s=5, without=PROFILED, rates={"put": 9_000.0, "get": 12_400.0}
    )
    with pytest.raises(PlanError, match="offered_rps"):
        compare_folders([a.path], [b.path], [], 0.02)


def test_a_page_has_every_sentence_and_figure_and_names_what_was_overlooked(tmp_path: Path) -> None:
    a, b, page = made(tmp_path), made(tmp_path, "lsm", kernel="6.12.0"), tmp_path / "compared.html"
    lines = compare_folders([a.path], [b.path], ["machine.kernel"], 0.02, page)
    text = unescape(page.read_text(encoding="utf-8"))
    assert all(line.strip().removesuffix(":") in text for line in lines)
    assert text.count("<svg") == 2 and text.count("data (CSV)") == 2, "PUT and GET"
    assert "machine.kernel: 6.1.0 against 6.12.0" in text and a.name in text and b.name in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text), "it works offline"


def test_a_page_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, "lsm")
    with pytest.raises(PlanError, match="No such file or directory"):
        compare_folders([a.path], [b.path], [], 0.02, tmp_path / "nowhere" / "compared.html")
