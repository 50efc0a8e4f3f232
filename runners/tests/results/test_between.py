"""Two run folders compared: refused where more than the setting differs, no verdict from single runs."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from runners.analysis.comparison import Comparison
from runners.analysis.intervals import Direction
from runners.analysis.quantities import LEAST_US, QUANTITIES, RESOLUTION, Reason, welch
from runners.analysis.runs import differing, pairs
from runners.cli import lab
from runners.cli.work import compare_folders
from runners.design.objective import THROUGHPUT
from runners.errors import PlanError
from runners.readers.reading import read_run
from runners.report.comparison import lines
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import PROBED, RATES, make_run

#: Of each load; what is compared here is the same with longer ones, which take longer to read.
LOAD_S = 2
PROFILED = tuple(f"{workload}-{engine}-profiled" for workload in ("put", "get") for engine in ("rocksdb", "lsm"))


def made(root: Path, engine: str = "rocksdb", **changes: object) -> RunFolder:
    folder = make_run(root, engines=(engine,), duration_s=LOAD_S, without=PROFILED)
    if changes:
        manifest = folder.manifest()
        folder.update_manifest(machine={**manifest["machine"], **changes})
    return folder


def decided(comparisons: list[Comparison]) -> list[tuple[str, str, Direction]]:
    return [(row.treatment, row.quantity.name, row.direction) for of in comparisons for row in of.rows if row.decided]


def test_runs_of_two_machines_are_refused_by_field(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, kernel="6.12.0")
    with pytest.raises(PlanError, match=r"machine\.kernel: 6\.1\.0 against 6\.12\.0") as refusal:
        compare_folders([a.path], [b.path], [], 0.02)
    assert "--despite machine.kernel" in str(refusal.value)
    assert compare_folders([a.path], [b.path], ["machine.kernel"], 0.02)


def test_a_name_of_what_may_differ_stands_for_all_fields_below_it(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, kernel="6.12.0", glibc="2.99")
    with pytest.raises(PlanError) as refusal:
        compare_folders([a.path], [b.path], ["machine.kernel"], 0.02)
    assert refusal.value.remedy.endswith("--despite machine.glibc")
    with pytest.raises(PlanError) as refusal:
        compare_folders([a.path], [b.path], ["mach"], 0.02)
    assert refusal.value.remedy.endswith("say --despite machine")
    assert compare_folders([a.path], [b.path], ["machine"], 0.02)


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
    assert {(a[0], b[0]) for _, a, b in pairs(*runs)} == {("RocksDB", "LSM")}
    compared = compare_folders([a.path], [b.path], [], 0.02)
    assert not decided(compared) and all(row.sampled for comparison in compared for row in comparison.rows)
    assert all("this is no verdict" in lines(comparison)[-1] for comparison in compared)


def test_groups_of_runs_give_a_verdict(tmp_path: Path) -> None:
    groups = [[made(tmp_path, engine).path for _ in range(3)] for engine in ("rocksdb", "lsm")]
    compared = compare_folders(groups[0], groups[1], [], 0.02)
    assert ("LSM", "p50_us", Direction.LOWER) in decided(compared)
    assert not decided(compare_folders(groups[0], [made(tmp_path).path for _ in range(3)], [], 0.02))


def test_the_rates_of_closed_loops_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [made(tmp_path).path for _ in range(2)]
    monkeypatch.setitem(PROBED, "put", 0.8 * PROBED["put"])
    after = [made(tmp_path).path for _ in range(2)]
    rows = [comparison.row(THROUGHPUT) for comparison in compare_folders(before, after, [], 0.02)]
    assert [(row.direction, row.starts) if row else None for row in rows] == [(Direction.LOWER, 2), (Direction.SAME, 2)]
    assert rows[0] is not None and rows[0].ratio == pytest.approx(0.8, rel=0.01) and rows[0].decided
    one_lacks_it = make_run(tmp_path, engines=("rocksdb",), duration_s=LOAD_S, without=(*PROFILED, "probe-put-rocksdb"))
    again = compare_folders(before, [*after[:1], one_lacks_it.path], [], 0.02)
    rows = [comparison.row(THROUGHPUT) for comparison in again]
    assert [(row.decided, row.starts) if row else None for row in rows] == [(False, 1), (False, 2)]


def sides(*engines: str, root: Path, count: int) -> list[str]:
    """The options that name so many runs of each of two engines."""
    return [
        word
        for flag, engine in zip(("--a", "--b"), engines, strict=True)
        for _ in range(count)
        for word in (flag, str(made(root, engine).path))
    ]


def test_groups_are_compared_as_json(tmp_path: Path) -> None:
    printed = CliRunner().invoke(lab, ["compare", "--json", *sides("rocksdb", "lsm", root=tmp_path, count=2)])
    put, get = json.loads(printed.stdout)
    assert (put["workload"], get["workload"]) == ("put", "get")
    assert put["a"] == "RocksDB" and put["b"] == "LSM" and put["runs"] == [2, 2] and put["verdicts"]
    rows = {row["quantity"]: row for row in put["differences"]}
    assert rows["p50_us"]["change"] < 0 and rows["p50_us"]["low"] <= rows["p50_us"]["change"] <= rows["p50_us"]["high"]


@pytest.mark.parametrize(
    ("engine", "limit", "code"), [("lsm", "p50<-3%", 3), ("rocksdb", "p50>+60%", 0), ("lsm", "errors>+1%", 0)]
)
def test_a_limit_on_runs_decides_the_exit_code(engine: str, limit: str, code: int, tmp_path: Path) -> None:
    groups = sides("rocksdb", engine, root=tmp_path, count=3)  # in the fixture LSM has the lower median
    printed = CliRunner().invoke(lab, ["compare", *groups, "--fail-on", limit])
    assert printed.exit_code == code, printed.output


def test_one_run_of_each_decides_no_limit(tmp_path: Path) -> None:
    words = ["compare", *sides("rocksdb", "lsm", root=tmp_path, count=1), "--fail-on", "p50>+10%"]
    alone = CliRunner().invoke(lab, words)
    assert alone.exit_code == 4 and "from 1 run of each, where it takes 2" in alone.output
    assert CliRunner().invoke(lab, [*words, "--inconclusive", "pass"]).exit_code == 0


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
    quantity = QUANTITIES["p50_us"]

    def compared(us: float) -> tuple[Direction, float, float]:
        a, b = np.array([52.0] * 3), np.array([us] * 3)
        row = welch(quantity, ("A", "B"), np.log(a), np.log(b), 0.01, 0.02, RESOLUTION + LEAST_US / 52.0)
        return row.direction, row.low, row.high

    _, low, high = compared(52.0)
    assert low < 0.991 and high > 1.009
    assert (compared(52.2)[0], compared(54.0)[0]) == (Direction.SAME, Direction.HIGHER)


def test_other_rates_are_refused(tmp_path: Path) -> None:
    a = made(tmp_path)
    b = make_run(
        tmp_path, engines=("rocksdb",), duration_s=LOAD_S, without=PROFILED, rates={"put": 9_000.0, "get": 12_400.0}
    )
    with pytest.raises(PlanError, match="offered_rps"):
        compare_folders([a.path], [b.path], [], 0.02)


def test_a_page_has_every_sentence_and_figure_and_names_what_was_overlooked(tmp_path: Path) -> None:
    a, b, page = made(tmp_path), made(tmp_path, "lsm", kernel="6.12.0"), tmp_path / "compared.html"
    compared = compare_folders([a.path], [b.path], ["machine.kernel"], 0.02, page)
    text = unescape(page.read_text(encoding="utf-8"))
    assert all(line in text for comparison in compared for line in lines(comparison))
    assert text.count("<figure") == 2, "PUT and GET"
    assert "machine.kernel: 6.1.0 against 6.12.0" in text and a.name in text and b.name in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text), "it works offline"


def test_a_page_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    a, b = made(tmp_path), made(tmp_path, "lsm")
    with pytest.raises(PlanError, match="No such file or directory"):
        compare_folders([a.path], [b.path], [], 0.02, tmp_path / "nowhere" / "compared.html")


@pytest.mark.parametrize("repeats", [1, 3])
def test_runs_of_which_more_responses_failed_fail_first_and_nothing_else_of_them_is_compared(
    repeats: int, tmp_path: Path
) -> None:
    failing: dict[str, Any] = {"engines": ("lsm",), "absent": {"put-lsm": round(RATES["put"] * LOAD_S / 2)}}
    groups = [
        [make_run(tmp_path, duration_s=LOAD_S, without=PROFILED, **side) for _ in range(repeats)]
        for side in ({"engines": ("rocksdb",)}, failing)
    ]
    a, b = ([str(folder.path) for folder in group] for group in groups)
    sides = [word for flag, side in (("--a", a), ("--b", b)) for path in side for word in (flag, path)]
    printed = CliRunner().invoke(lab, ["compare", *sides])
    assert printed.exit_code == 3, printed.output
    assert "errors>+0.1%: failed" in printed.output
    put, get = compare_folders([Path(path) for path in a], [Path(path) for path in b], [], 0.02)
    assert put.failing.keys() == {"LSM"} and all(row.refused[0].reason == Reason.FAILED for row in put.rows)
    assert not get.failing and lines(put)[0].startswith("Responses that failed: 50.0")
