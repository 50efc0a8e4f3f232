"""The groups of rows of `make bench-store`, with programs that return at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.bench import store, store_groups
from runners.bench.fixture import Course, Row
from runners.bench.programs import Programs, Puts, Stall
from runners.bench.store_groups import FULL, GROUPS, Bench, Plan, Samples

PEERS = ("rocksdb", "rocksdb-tuned")
SLOWER = {"lsm": 1.0, "rocksdb": 4.0, "rocksdb-tuned": 3.0, "leveldb": 2.0}


@dataclass(frozen=True, slots=True)
class Fake(Programs):
    """Programs whose figures follow from the engine's name."""

    filled: list[str] = field(default_factory=list)
    read: list[tuple[str, str]] = field(default_factory=list)

    def result(self, name: str, *arguments: object, flags: Sequence[str] = ()) -> dict[str, Any]:
        engine, store_folder = str(arguments[0]), Path(str(arguments[1]))
        slower = SLOWER[engine.split("+")[0]]
        if name == "Fill":
            self.filled.append(engine)
            store_folder.mkdir()
            figures = {"written": 3, "put": 1, "allocated": 2, "table": 2, "live": 1}
            return {"put_ns": 1000 * slower} | {f"{key}_bytes": slower * value for key, value in figures.items()}
        if name == "Durable":
            return {f"writers_{writers}_rps": 1000 * writers / slower for writers in (1, 16)}
        if name == "Tail":
            due = np.arange(1000, dtype="<i8") * 50_000
            np.stack([due, due, due + int(1000 * slower)], axis=1).tofile(str(arguments[-1]))
            return {"engine": engine}
        return {"open_s": 0.5, "off_heap_bytes": 1e6}

    def microseconds(self, pattern: str, options: Sequence[str], parameters: dict[str, object]) -> dict[str, float]:
        if pattern.startswith("lab.bench.Jni"):
            return {"call": 0.1}
        engine = str(parameters["engine"])
        assert Path(str(parameters["folder"])).is_dir()
        works = re.fullmatch(r"lab\.bench\.Reads\.\((.*)\)\$", pattern)
        assert works
        self.read.append((engine, works[1]))
        return dict.fromkeys(works[1].split("|"), SLOWER[engine.split("+")[0]])


def run(name: str, plan: Plan, folder: Path) -> tuple[list[Row], Fake, Course]:
    programs = Fake(None, folder)  # type: ignore[arg-type]
    said: list[str] = []
    course = Course(GROUPS[name].parts(plan), said.append)
    bench = Bench(programs, plan, course, said.append, no_witness="this is a test")
    return GROUPS[name].rows(bench), programs, course


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("plan", [Plan(), FULL], ids=["default", "full"])
def test_what_a_group_announces_is_what_it_runs_and_it_leaves_no_store_behind(
    name: str, plan: Plan, tmp_path: Path
) -> None:
    rows, _, course = run(name, plan, tmp_path)
    assert course._begun == len(course.parts)
    assert rows
    assert list(tmp_path.iterdir()) == []
    assert len({row.name for row in rows}) == len(rows)
    rounds = {"open": store_groups.OPEN_ROUNDS, "tail": plan.tail_rounds}.get(name, plan.rounds)
    assert {len(row.ours) for row in rows} == {rounds}


def test_the_default_form_is_planned_within_twenty_minutes() -> None:
    request = store.parse([])
    assert request.rows == ("durable", "128B", "1200B", "larger", "tail")
    assert sum(part.duration_s for part in request.parts()) < 19 * 60


def test_rows_of_every_variation_are_there(tmp_path: Path) -> None:
    rows = {row.name: row for name in GROUPS for row in run(name, Plan(), tmp_path)[0]}
    tuned = "vs-rocksdb-tuned"
    expected = {f"store/durable-put/{writers}-writers-{tuned}+sync": 1.0 for writers in (1, 16)}
    expected |= {
        f"store/put/{size}-vs-{peer}": 0.5 for size in ("128B", "1200B") for peer in ("rocksdb", "rocksdb-tuned")
    }
    expected |= {f"store/getPresent/1200B-{tuned}{more}": 0.5 for more in ("", "+mmap", "+cache", "+universal")}
    expected |= {f"store/range/1200B-{tuned}{more}": 0.3333 for more in ("", "+mmap", "+cache", "+universal")}
    expected |= {
        f"store/write-amplification/1200B-{tuned}+universal": 1.2,
        f"store/space-with-logs/1200B-{tuned}+universal": 1.0,
        f"store/lsm+leveled/write-amplification/1200B-{tuned}": 1.0,
        f"store/larger-than-cache/getPresent/1200B-{tuned}+cache": 0.6667,
        f"store/lsm+verify/larger-than-cache/getPresent/1200B-{tuned}+cache": 0.6667,
        f"store/lsm+verify/getPresent/1200B-{tuned}+mmap": 0.5,
        f"store/lsm+verify/range/1200B-{tuned}+mmap": 0.3333,
        "store/multi-get/128B-vs-get": 1.0,
        "store/multi-get/1200B-vs-get": 1.0,
        "store/jni-vs-getPresent/128B-of-rocksdb-tuned": 0.1,
        f"store/getPresent-less-jni/128B-{tuned}": 0.5,
        "store/getAbsent/128B-vs-rocksdb": 0.1,
    }
    tails = [
        f"store/put-{p}-{how}-vs-rocksdb-tuned"
        for p in ("p99.9", "p99.99")
        for how in ("while-merging", "call-while-merging", "with-stalls-while-merging")
    ]
    expected |= {f"{tail}{paced}": 1.0 for tail in tails for paced in ("", "+paced")}
    assert {name: rows[name].goal for name in expected} == expected
    durable = rows[f"store/durable-put/16-writers-{tuned}+sync"]
    assert durable.goal_op == ">="
    assert durable.ratio == pytest.approx(3.0)
    assert rows[f"store/put/1200B-{tuned}"].ratio == pytest.approx(1 / 3)
    assert rows["store/getPresent-less-jni/128B-vs-rocksdb-tuned"].ratio == pytest.approx(1 / 2.9)
    assert rows["store/jni-vs-getPresent/128B-of-rocksdb-tuned"].ratio == pytest.approx(0.1 / 3)
    assert rows[f"store/write-amplification/1200B-{tuned}+universal"].ratio == pytest.approx(1.0)
    assert rows["store/space-after-settling/1200B-vs-live"].ratio == pytest.approx(2.0)
    assert "no stall witness: this is a test" in rows[f"store/put-p99.9-while-merging-{tuned}"].line()
    assert not any("leveldb" in name for name in rows)


def test_rows_of_a_group_do_not_depend_on_the_groups_before_it(tmp_path: Path) -> None:
    programs = Fake(None, tmp_path)  # type: ignore[arg-type]
    plan = Plan(rounds=1)
    bench = Bench(
        programs, plan, Course([part for group in GROUPS.values() for part in group.parts(plan)], _quiet), _quiet
    )
    together = {name: [row.name for row in group.rows(bench)] for name, group in GROUPS.items() if name != "tail"}
    assert together == {name: [row.name for row in run(name, plan, tmp_path)[0]] for name in together}


def _quiet(_line: str) -> None:
    """Say nothing."""


def test_a_tuned_cache_holds_all_of_the_data_or_a_quarter_of_it(tmp_path: Path) -> None:
    plan = Plan()
    (whole,) = {engine for engine, _ in run("1200B", plan, tmp_path)[1].read if "cache" in engine}
    assert int(whole.split("=")[1]) > plan.keys * 1216
    (quarter,) = {engine for engine in run("larger", plan, tmp_path)[1].filled if "cache" in engine}
    assert int(quarter.split("=")[1]) * 4 == plan.larger_keys * 1216


def test_each_round_has_every_engine_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    _, programs, _ = run("128B", Plan(rounds=3), tmp_path)
    reads = [engine for engine, works in programs.read if works != "mixed"]
    for engines in (programs.filled, reads):
        rounds = [tuple(engines[at : at + 3]) for at in (0, 3, 6)]
        assert {frozenset(of_round) for of_round in rounds} == {frozenset(["lsm", "rocksdb", "rocksdb-tuned"])}
        assert len(set(rounds)) > 1


def test_what_writes_into_a_store_comes_after_all_that_reads_it(tmp_path: Path) -> None:
    _, programs, _ = run("1200B", Plan(rounds=1), tmp_path)
    assert [works for _, works in programs.read].index("mixed") == len(programs.read) - 2
    assert {engine for engine, works in programs.read if works == "mixed"} == {"lsm", "rocksdb-tuned"}
    assert all("mixed" not in works.split("|")[1:] for _, works in programs.read)


def test_puts_that_a_stall_delayed_are_left_out_and_the_row_says_so() -> None:
    samples = Samples()
    due = np.arange(20_000, dtype=np.int64) * 50_000
    returned = due + 4_000
    returned[10_000] += 5_000_000
    for engine in ("lsm", "rocksdb-tuned"):
        stall = [Stall(int(returned[10_000]), 5_000_000)]
        store_groups.add_tail(samples, engine, Puts(due, due, returned), stall)
    assert samples.of("put-p99.99-while-merging", "lsm") == (4.0,)
    assert samples.of("put-p99.99-with-stalls-while-merging", "lsm")[0] == pytest.approx(4.0)
    note = store_groups.tail_note(samples, "rocksdb-tuned", "")
    assert note.startswith("left out where the core stalled: 0.6")
    assert "longest 5 and 5 ms" in note


@pytest.mark.parametrize("wrong", [["jmh"], ["--full", "--smoke"], ["tail", "post"]])
def test_a_group_that_is_not_there_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        store.parse(wrong)
    assert "bench-store: error" in capsys.readouterr().err


def test_the_command_line_chooses_groups_and_counts() -> None:
    request = store.parse(["--keys", "500", "--rounds", "1", "tail", "durable", "tail"])
    assert request.rows == ("tail", "durable")
    assert request.plan == replace(Plan(), keys=500, rounds=1, tail_rounds=1)
    assert store.parse(["--full"]).rows == (*GROUPS, "http")
    assert store.parse(["--full", "http"]).engines() == []
    assert [part.work for part in store.parse(["http"]).parts()] == ["http", "http"]
