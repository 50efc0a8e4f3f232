"""Stores side by side: ratios are of what was given and of what is live; a knee is ahead beyond intervals only."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from runners import words
from runners.analysis.quantities import changed
from runners.design.experiment import validate
from runners.design.load import SIZES, Workload
from runners.design.setting import STORES
from runners.experiments.e06_storage_engines import KEYS, LADDERS, PROFILED, loads, settings
from runners.experiments.registry import EXPERIMENTS
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report import render
from runners.report.sections import amplification, memory, standing, store_table
from runners.report.sentences import evidence_of
from runners.results.conclusion import conclude
from runners.results.knees import KneeRatio, knees_apart
from runners.results.results import Results
from runners.results.stores import gain, reference
from runners.tests.fixtures.fake_stores import Invented, make_stores
from runners.tests.fixtures.ladder_run import make_ladder

QUICK_S = 540.0
NOTHING = "do-nothing server"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    invented = {
        "rocksdb": Invented(1_000.0),
        "lsm": Invented(1_800.0, written=4_500_000, data=1_100_000, settled_s=None),
        "leveldb": Invented(1_003.0, written=9_000_000),
        "noop": Invented(2_000.0, written=0, data=0, anon=90_000_000),
    }
    return make_stores(tmp_path_factory.mktemp("stores"), invented)


def test_amplification_is_over_what_was_given_and_what_is_live(run: Run) -> None:
    by_name = {store.subject: store for store in Results(run).stores}
    assert by_name["rocksdb"].written == pytest.approx(2.0) and by_name["rocksdb"].room == pytest.approx(1.5)
    assert by_name["lsm"].written == pytest.approx(1.5) and by_name["lsm"].room == pytest.approx(1.1)


def test_a_store_without_files_has_no_amplification(run: Run) -> None:
    noop = next(store for store in Results(run).stores if store.subject == "noop")
    assert not noop.on_disk and math.isnan(noop.written)


def test_memory_is_the_most_of_any_step(run: Run) -> None:
    rocksdb = next(store for store in Results(run).stores if store.subject == "rocksdb")
    assert rocksdb.rss == {"anon": 200e6, "file": 50e6} and rocksdb.heap_bytes == pytest.approx(128e6, rel=0.05)


def test_knees_are_ahead_or_behind_beyond_their_intervals_only(run: Run) -> None:
    results = Results(run)
    against = reference(results.stores)
    said = {store.subject: standing(store, against) for store in results.stores}
    assert against.subject == "rocksdb" and said["rocksdb"] == "baseline"
    assert said["lsm"] == "PUT ahead" and said["leveldb"] == "PUT inconclusive"
    assert said["noop"] == "stores nothing: PUT ahead"
    more = gain(next(store for store in results.stores if store.subject == "lsm"), against, "put")
    assert more is not None and 0 < more.low < 0.8 < more.high
    answer = knees_apart("put", "lsm", "rocksdb")(results)
    assert answer is not None and isinstance(answer.evidence[0], KneeRatio)
    assert answer.evidence[0].change == more, "one estimate of a gain"
    assert changed(more.value, more.low, more.high) in evidence_of(answer)


def test_the_table_has_a_row_a_store_and_ends_in_its_verdict(run: Run) -> None:
    made = store_table(Results(run).stores)
    rows = {row[0]: row[1:] for row in made.rows}
    assert set(rows) == {"RocksDB", "LSM", "LevelDB", NOTHING}
    assert all(len(row) == len(made.head) for row in made.rows)
    assert rows["LSM"][-1] == "PUT ahead" and rows["LSM"][2] == "1.50" and rows[NOTHING][2] == words.DASH


def test_figures_say_their_result_and_hold_their_data(run: Run) -> None:
    stores = Results(run).stores
    assert "LSM writes least for a byte: 1.50" in amplification(stores).alt
    assert "takes most memory of its own: 200" in memory(stores).alt


def test_both_reports_hold_the_sections(run: Run) -> None:
    render(conclude(run, {}))
    for report in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        for heading in (
            "The knees of the stores",
            "What is written, and what it takes",
            "Memory",
            "What the stores gain and take",
        ):
            assert heading in report
    for name in ("stores-amplification", "stores-memory", "knees-put"):
        assert (run.folder.figures_path / f"{name}.svg").stat().st_size


def test_a_ladder_without_such_fills_tells_no_stores(tmp_path: Path) -> None:
    other = read_run(make_ladder(tmp_path, (1_000.0,)))
    assert Results(other).stores == ()


def test_filled_bytes_are_digits_and_values() -> None:
    for keys in (1, 9, 10, 123, 2_000):
        workload = Workload("get", loads("smoke")[0].script, filled_keys=keys, filled_value_bytes=7)
        assert workload.filled_bytes == sum(len(str(key)) + 7 for key in range(1, keys + 1))


def test_the_plan_fits_and_its_stores_are_known() -> None:
    for size in SIZES:
        puts, gets = loads(size)
        assert all(load.script is not None and load.script.is_file() for load in (puts, gets)) and gets.rewrites
        plan = LADDERS[size]
        assert plan.shares or plan.knee_minutes
    assert EXPERIMENTS["06"].planned_s(validate(EXPERIMENTS["06"].parameters, {})) <= QUICK_S
    assert set(PROFILED) <= set(STORES.values())
    memory_full = settings("memory", "full")[0]
    assert memory_full.heap_mb * 2**20 > 2 * KEYS["full"] * 1_200 and settings("memory", "quick")[0].heap_mb == 0
