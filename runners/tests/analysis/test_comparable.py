"""A measurement that never became steady is compared with none, whichever way its percentiles differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.analysis.quantities import Reason, Refusal
from runners.analysis.runs import compare_runs
from runners.readers.run import Step, frame
from runners.report.validity import check_words
from runners.results.checks import checks
from runners.results.results import Results
from runners.tests.analysis.sides import why_of_steps
from runners.tests.report import steps

SECONDS, ANSWERS = 20, 40_000


def load(
    folder: Path, engine: str, drift: float = 0.0, *, slower: float = 1.0, compiling: float | None = None, **meta: Any
) -> Step:
    """A load whose response times grow by this share, its compiler at work on so many cores in its last seconds."""
    random = np.random.default_rng(len(engine))
    values = slower * 120 * random.lognormal(0, 0.3, ANSWERS) * np.linspace(1, 1 + drift, ANSWERS)
    name = str(meta.pop("name", f"put-{engine}"))
    frames = {"intervals": steps.frames_of(list(values), SECONDS)["intervals"]}
    if compiling is not None:
        cores = [compiling if t_s >= SECONDS - 1.5 else 0.0 for t_s in np.arange(SECONDS * 10) / 10]
        rows = [{"t_s": i / 10, "length_s": 0.1, "kind": "jit", "busy_ms": 100 * busy} for i, busy in enumerate(cores)]
        frames["activity"] = frame("activity", rows)
    return steps.whole(steps.step(folder, name, list(values), frames=frames, engine=engine, **meta))


def test_a_p99_of_a_load_that_never_became_steady_is_not_compared(tmp_path: Path) -> None:
    why = why_of_steps(load(tmp_path, "rocksdb", 0), load(tmp_path, "lsm", 0.5, slower=3))
    assert why == f"LSM PUT never became steady in {SECONDS} seconds"


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_a_p99_of_a_steady_load_is_compared(tmp_path: Path, drift: float) -> None:
    assert why_of_steps(load(tmp_path, "rocksdb", 0), load(tmp_path, "lsm", drift, slower=3)) == ""


@pytest.mark.parametrize(("cores", "compared"), [(0.35, False), (0.05, True)])
def test_a_load_whose_server_still_compiled_is_not_compared_and_a_check_says_so(
    tmp_path: Path, cores: float, compared: bool
) -> None:
    fast, slow = load(tmp_path, "rocksdb", compiling=0.0), load(tmp_path, "lsm", slower=3, compiling=cores)
    (check,) = [
        check for check in checks(Results(steps.run(tmp_path, [fast, slow]))) if check.about == "JIT compilation done"
    ]
    assert check.ok is compared and check.steps == (() if compared else ("put-lsm",))
    assert (why_of_steps(fast, slow) == "") is compared


def test_of_many_loads_that_fail_a_check_the_worst_are_named(tmp_path: Path) -> None:
    few = [steps.step(tmp_path, f"put-{count}", steps.times(count)) for count in (400, 200, 600, 100, 300)]
    all_cores = enumerate((0.3, 0.6, 0.2, 0.5, 0.4))
    cold = [load(tmp_path, "lsm", compiling=cores, name=f"put-lsm-{place}") for place, cores in all_cores]
    made = checks(Results(steps.run(tmp_path, [*map(steps.whole, few), *cold])))
    by_name = {str(check.about): check for check in made}
    said = {name: check_words(by_name[name]).replace("\u00a0", " ") for name in ("samples", "JIT compilation done")}
    assert "(RocksDB PUT 100; RocksDB PUT 200; RocksDB PUT 300; 2 more)" in said["samples"]
    assert "(LSM PUT 0.600 cores; LSM PUT 0.500 cores; LSM PUT 0.400 cores; 2 more)" in said["JIT compilation done"]


def test_two_runs_are_not_compared_by_loads_that_never_became_steady(tmp_path: Path) -> None:
    clean = load(tmp_path, "lsm", 0)
    a, b = steps.run(tmp_path / "a", [clean]), steps.run(tmp_path / "b", [load(tmp_path, "lsm", 0.5, slower=3)])
    (pair,) = compare_runs([a], [b], 0.02)
    high = [row for row in pair.rows if row.quantity.is_latency]
    assert high and all(row.refused == (Refusal(Reason.NEVER_STEADY, "LSM (B)", (20,)),) for row in high)


def test_one_reason_is_given_once_whomever_it_holds_for(tmp_path: Path) -> None:
    why = why_of_steps(load(tmp_path, "rocksdb", 0.5), load(tmp_path, "lsm", 0.5))
    assert why == "RocksDB PUT and LSM PUT never became steady in 20 seconds"
