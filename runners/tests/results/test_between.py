"""Two run folders compared: refused where more than the setting differs, no verdict from single runs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from runners.analysis.quantities import QUANTITIES, Verdict
from runners.claims.between import differing, pairs, sentences, welch
from runners.cli import lab, work
from runners.cli.work import compare_folders
from runners.errors import PlanError
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import RATES, make_run

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
    lines = list(sentences(compare_folders([a.path], [b.path], [], 0.02)))
    assert any("this is no verdict" in line for line in lines)
    assert not any(" than " in line for line in lines)


def test_groups_of_runs_give_a_verdict(tmp_path: Path) -> None:
    groups = [[made(tmp_path, engine).path for _ in range(3)] for engine in ("rocksdb", "lsm")]
    lines = list(sentences(compare_folders(groups[0], groups[1], [], 0.02)))
    assert any("LSM is faster than RocksDB in p50" in line for line in lines)
    same = list(sentences(compare_folders(groups[0], [made(tmp_path).path for _ in range(3)], [], 0.02)))
    assert not any(" than " in line for line in same)


def test_groups_are_compared_as_json(tmp_path: Path) -> None:
    groups = [[made(tmp_path, engine).path for _ in range(2)] for engine in ("rocksdb", "lsm")]
    sides = [
        word for flag, group in zip(("--a", "--b"), groups, strict=True) for path in group for word in (flag, path)
    ]
    printed = CliRunner().invoke(lab, ["compare", "--json", *map(str, sides)])
    put, get = json.loads(printed.stdout)
    assert (put["workload"], get["workload"]) == ("put", "get")
    assert put["a"] == "RocksDB" and put["b"] == "LSM" and put["runs"] == [2, 2] and put["verdicts"]
    rows = {row["quantity"]: row for row in put["differences"]}
    assert rows["p50_us"]["change"] < 0 and rows["p50_us"]["low"] <= rows["p50_us"]["change"] <= rows["p50_us"]["high"]


#: Runs of `lab load` on a target, before and after it was changed: in the fixture LSM has the lower median.
BEFORE, AFTER = "rocksdb", "lsm"


def kept_load(root: Path, engine: str, target: Path) -> RunFolder:
    folder = made(root, engine)
    folder.update_manifest(experiment="load", parameters={"setting": f"target={target}", "rate_rps": 0})
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target.yaml"
    path.write_text("name: mine\nurl: http://127.0.0.1:1\nworkloads: {put: {path: /}}\n")
    return path


@pytest.mark.parametrize(
    ("engine", "limit", "code", "outcome"),
    [(AFTER, "p50<-3%", 3, "failed"), (BEFORE, "p50>+60%", 0, "passed"), (AFTER, "errors>+1%", 4, "inconclusive")],
)
def test_a_target_is_judged_against_a_folder_of_kept_runs(
    engine: str, limit: str, code: int, outcome: str, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    for _ in range(3):
        kept_load(kept, BEFORE, target)
    made(kept)  # a run of another kind is passed over
    loaded = []

    def load(given: Mapping[str, object]) -> RunFolder:
        loaded.append(given)
        return kept_load(tmp_path / "own", engine, target)

    monkeypatch.setattr(work, "load_target", load)
    words = ["compare", "--target", str(target), "--baseline", str(kept), "--fail-on", limit, "--json"]
    printed = CliRunner().invoke(lab, words)
    (judged,) = json.loads(printed.stdout)["limits"]
    assert (judged["outcome"], printed.exit_code) == (outcome, code), printed.output
    assert len(loaded) == 3, "as often as there are kept runs"
    assert all(given["rate_rps"] == RATES["put"] and given["setting"] == f"target={target}" for given in loaded)


def test_one_kept_run_is_no_ground_and_none_is_an_error(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "load_target", lambda _: kept_load(tmp_path / "own", AFTER, target))
    one = kept_load(tmp_path / "kept", BEFORE, target).path
    words = ["compare", "--target", str(target), "--fail-on", "p50>+10%"]
    alone = CliRunner().invoke(lab, [*words, "--baseline", str(one)])
    assert alone.exit_code == 4 and "keep two or more" in alone.output
    assert CliRunner().invoke(lab, [*words, "--baseline", str(one), "--inconclusive", "pass"]).exit_code == 0
    with pytest.raises(PlanError, match="no complete run of `lab load`"):
        work.compare_with_runs({}, target, tmp_path / "own" / "..", [])
    assert CliRunner().invoke(lab, [*words[:3], "--baseline", str(one)]).exit_code == 2, "without a limit"


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
def test_options_that_measure_are_refused_with_runs(tmp_path: Path, words: tuple[str, str]) -> None:
    result = CliRunner().invoke(lab, ["compare", str(tmp_path), str(tmp_path), *words])
    assert result.exit_code == 2 and "runs are compared as they are" in result.output


def test_another_heap_with_another_engine_is_refused_by_field(tmp_path: Path) -> None:
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
    lines = list(sentences(compare_folders([a.path], [b.path], ["machine.kernel"], 0.02, page)))
    text = unescape(page.read_text(encoding="utf-8"))
    assert all(line.strip().removesuffix(":") in text for line in lines)
    assert text.count("<svg") == 2 and text.count("data (CSV)") == 2, "PUT and GET"
    assert "machine.kernel: 6.1.0 against 6.12.0" in text and a.name in text and b.name in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text), "it works offline"


def test_a_page_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, "lsm")
    with pytest.raises(PlanError, match="No such file or directory"):
        compare_folders([a.path], [b.path], [], 0.02, tmp_path / "nowhere" / "compared.html")
