"""Benchmarks run to their end in small: a line a row in the form that is promised, and the same kept as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from runners.bench import audit, fixture, loadgen

LINE = re.compile(
    r"^(?P<name>\S+) ours=\S+ peer=\S+ ratio=(?P<ratio>\d+\.\d+) goal=(<=|>=)\S+ (met|short)( within noise)? \(",
    re.MULTILINE,
)
SMALL = {audit: {"OUTPUTS": 20, "ROUNDS": 1}, loadgen: {"RECORDED_ROUNDS": 1, "RECORDED_S": 1, "WARM_S": 1}}
ROWS = {
    audit: {r"audit/\d+-outputs/s-vs-budget"},
    loadgen: {
        rf"recording/{how}/{figure}-vs-plain"
        for how in ("recording", "sampling", "watching")
        for figure in ("p50", "p99", "late")
    }
    | {"recording/watching/busiest-core-vs-limit"},
}


def may_watch() -> bool:
    """Whether this user has the right to real-time priority, without which the stall witness sees nothing."""
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", ask], stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.e2e
@pytest.mark.parametrize(
    "bench",
    [audit, pytest.param(loadgen, marks=pytest.mark.long)],
    ids=lambda module: module.__name__.rsplit(".", 1)[-1],
)
def test_a_benchmark_runs_to_its_end(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fixture, "RUNS", tmp_path)
    monkeypatch.setattr(fixture, "ATTEMPTS", 1)  # a machine that isn't calm is good enough here
    for name, value in SMALL[bench].items():
        monkeypatch.setattr(bench, name, value)
    main: Callable[[Sequence[str]], int] = bench.main
    assert main(["recording"] if bench is loadgen else []) == 0
    said = {found["name"]: float(found["ratio"]) for found in LINE.finditer(capsys.readouterr().out)}
    expected = {pattern for pattern in ROWS[bench] if "watching" not in pattern or may_watch()}
    assert len(said) == len(expected)
    for pattern in expected:
        assert any(re.fullmatch(pattern, name) for name in said), (pattern, said)
    (path,) = tmp_path.iterdir()
    kept = json.loads(path.read_text())
    assert {one["name"]: one["ratio"] for one in kept["rows"]} == pytest.approx(said, abs=0.001)
    assert kept["about"]["machine"]
