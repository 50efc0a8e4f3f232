"""A measurement that never became steady is compared with none, whichever way its percentiles differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.claims.between import compared
from runners.claims.conclude import conclude
from runners.claims.conclusion import RULES, Conclusion
from runners.claims.profile import Pair, cost
from runners.claims.profile import _measured as measured
from runners.readers.run import Step, frame
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
        rows = [{"t_s": i / 10, "length_s": 0.1, "kind": "jit", "busy_ms": 100 * each} for i, each in enumerate(cores)]
        frames["activity"] = frame("activity", rows)
    return steps.whole(steps.step(folder, name, list(values), frames=frames, engine=engine, **meta))


def concluded(folder: Path, *loads: Step) -> Conclusion:
    return conclude(steps.run(folder, [*loads, steps.floor(folder)], parameters={"engines": "rocksdb,lsm"}), {})


def sentences(found: Conclusion, code: str) -> list[str]:
    return [finding.sentence for finding in found.findings if finding.code == code]


def test_a_p99_of_a_load_that_never_became_steady_is_not_compared(tmp_path: Path) -> None:
    found = concluded(tmp_path, load(tmp_path, "rocksdb", 0), load(tmp_path, "lsm", 0.5, slower=3))
    assert not sentences(found, "L02")
    (why,) = sentences(found, "S03")
    text = f"The p99 of RocksDB PUT and LSM PUT are not compared: LSM PUT never became steady in {SECONDS} seconds."
    assert why == text and "S03" in RULES
    first, second = sentences(found, "A01")
    assert "steady" not in first and second.endswith("but it never became steady.")
    assert "never became steady" in found.answer, "the first page says it where it quotes the p99"


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_a_p99_of_a_steady_load_is_compared(tmp_path: Path, drift: float) -> None:
    found = concluded(tmp_path, load(tmp_path, "rocksdb", 0), load(tmp_path, "lsm", drift, slower=3))
    assert not sentences(found, "S03") and len(sentences(found, "L02")) == 1
    assert "steady" not in found.answer


@pytest.mark.parametrize(("cores", "compared"), [(0.35, False), (0.05, True)])
def test_a_load_whose_server_still_compiled_is_not_compared_and_a_check_says_so(
    tmp_path: Path, cores: float, compared: bool
) -> None:
    fast = load(tmp_path, "rocksdb", compiling=0.0)
    found = concluded(tmp_path, fast, load(tmp_path, "lsm", slower=3, compiling=cores))
    (check,) = (each for each in found.checks if each.name == "compiler at rest")
    assert check.ok is compared and f"LSM PUT: {cores:.2f} cores in the last second" in check.text
    assert bool(sentences(found, "L02")) is compared
    expected = (
        "The p99 of RocksDB PUT and LSM PUT are not compared: JIT compilation of the server of LSM PUT was unfinished "
        "when the load ended."
    )
    assert sentences(found, "S03") == ([] if compared else [expected])
    assert ("but JIT compilation was unfinished" in found.answer) is not compared


def test_neither_a_profilers_cost_nor_two_runs_are_compared_by_it(tmp_path: Path) -> None:
    clean = load(tmp_path, "lsm", 0)
    profiled = load(tmp_path, "lsm", 0.5, slower=3, profiled=["cpu"], name="put-lsm-profiled")
    finding = cost(clean, profiled)
    assert (
        finding is not None and "p50 and p99 not compared (LSM PUT with it never became steady in" in finding.sentence
    )
    a, b = steps.run(tmp_path / "a", [clean]), steps.run(tmp_path / "b", [load(tmp_path, "lsm", 0.5, slower=3)])
    (pair,) = compared([a], [b], 0.02)
    high = [line for line in pair.lines if line.startswith(("p50", "p90", "p99"))]
    assert high and all("it is no difference of the two, for" in line for line in high)
    assert all("never became steady in 20 seconds" in line for line in high)


def test_percentiles_of_loads_that_never_became_steady_are_not_called_the_same_either(tmp_path: Path) -> None:
    one, other = load(tmp_path, "rocksdb", 0.5), load(tmp_path, "lsm", 0.5)
    parts, evidence = measured(Pair(one, other, (one, other)))
    (finding,) = (part for part in parts if "p99" in part)
    text = "p50 and p99 not compared (RocksDB PUT and LSM PUT never became steady in 20 seconds)"
    assert finding == text, "one reason is given once, whomever it holds for"
    assert not evidence.keys() & {"p50 change_us", "p99 change_us"}
    calm = load(tmp_path, "rocksdb", name="a"), load(tmp_path, "rocksdb", name="b")
    parts, _ = measured(Pair(*calm, calm, [*calm, steps.floor(tmp_path)]))
    assert [part.split(" the same")[0] for part in parts if "p" in part][:2] == ["p50", "p99"]
