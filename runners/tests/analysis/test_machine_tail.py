"""A difference of tails that the machine made is attributed to no engine, setting or profiler; any other one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from runners.analysis.runs import compare_runs
from runners.readers.run import Step, frame
from runners.report.sentences import refusal_words
from runners.tests.analysis.sides import why_of_steps
from runners.tests.fixtures.history import Span, history
from runners.tests.report import steps

LENGTH_S = 20.0
STALLS = [(3.0, 0.15), (8.1, 0.2), (12.7, 0.12), (17.2, 0.18)]
ELSEWHERE = [(1.0, 0.15), (5.1, 0.2), (10.2, 0.12), (15.2, 0.18)]
STEAL, FLUSH = "steal", "flush"


def load(
    folder: Path,
    engine: str,
    stalls: list[Span],
    cause: str = STEAL,
    at: list[Span] | None = None,
    *,
    slower: float = 1.0,
    seed: int = 1,
    **meta: Any,
) -> Step:
    """A load with these stalls, and events of a cause where they are, or elsewhere."""
    slices = history(np.random.default_rng(seed), LENGTH_S, stalls).slices
    slices = slices.assign(us=slices["us"] * slower)
    values = np.repeat(slices["us"].to_numpy(float), slices["count"].to_numpy(int))
    spans = stalls if at is None else at
    tenths = {k for begin, length in spans for k in range(int(begin * 10), int((begin + length) * 10) + 1)}
    busy = pd.DataFrame([{"t_s": k / 10, "length_s": 0.1, "kind": cause, "busy_ms": 100.0} for k in sorted(tenths)])
    busy = busy.reindex(columns=frame("activity").columns).astype(frame("activity").dtypes.to_dict())
    name = str(meta.pop("name", f"put-{engine}"))
    made = steps.step(folder, name, list(values), frames={"slices": slices, "activity": busy}, engine=engine, **meta)
    return steps.whole(made)


def test_a_p99_that_steal_made_is_compared_with_none(tmp_path: Path) -> None:
    calm, stolen = load(tmp_path, "rocksdb", []), load(tmp_path, "lsm", STALLS, seed=2)
    why = why_of_steps(calm, stolen)
    assert "CPU steal explains" in why and "LSM PUT" in why and "RocksDB" not in why


@pytest.mark.parametrize(
    ("cause", "at"), [(FLUSH, None), (STEAL, ELSEWHERE), (STEAL, [])], ids=["its own", "elsewhere", "none"]
)
def test_a_p99_that_the_machine_did_not_make_is_compared(tmp_path: Path, cause: str, at: list[Span] | None) -> None:
    assert why_of_steps(load(tmp_path, "rocksdb", []), load(tmp_path, "lsm", STALLS, cause, at, seed=2)) == ""


def test_two_runs_keep_to_the_same_rule(tmp_path: Path) -> None:
    a = [steps.run(tmp_path / f"a{n}", [load(tmp_path, "rocksdb", [], seed=n)]) for n in range(3)]
    b = [steps.run(tmp_path / f"b{n}", [load(tmp_path, "lsm", STALLS, seed=9 + n)]) for n in range(3)]
    for count, expected in ((3, "in 3 of 3"), (1, "CPU steal")):
        (pair,) = compare_runs(a[:count], b[:count], 0.02)
        assert any(expected in refusal_words(row.refused) for row in pair.rows if row.quantity.name == "p99_us")
