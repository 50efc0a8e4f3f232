"""Benchmarks run to their end in small: a line a row in the form that is promised, and the same kept as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from runners.bench import fixture, loadgen

LINE = re.compile(
    r"^(?P<name>\S+) ours=\S+ peer=\S+ ratio=(?P<ratio>\d+\.\d+) goal=(<=|>=)\S+ (met|short)( within noise)? \(",
    re.MULTILINE,
)
SMALL = {"RECORDED_ROUNDS": 1, "RECORDED_S": 1, "WARM_S": 1}
ROWS = {
    rf"recording/{how}/{figure}-vs-plain"
    for how in ("recording", "sampling", "watching")
    for figure in ("p50", "p99", "late")
} | {"recording/watching/busiest-core-vs-limit"}


def may_watch() -> bool:
    """Whether this user has the right to real-time priority, without which the stall witness sees nothing."""
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", ask], stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.e2e
@pytest.mark.long
def test_a_benchmark_runs_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fixture, "RUNS", tmp_path)
    monkeypatch.setattr(fixture, "ATTEMPTS", 1)  # a machine that isn't calm is good enough here
    for name, value in SMALL.items():
        monkeypatch.setattr(loadgen, name, value)
    assert loadgen.main(["recording"]) == 0
    said = {match["name"]: float(match["ratio"]) for match in LINE.finditer(capsys.readouterr().out)}
    expected = {pattern for pattern in ROWS if "watching" not in pattern or may_watch()}
    assert len(said) == len(expected)
    for pattern in expected:
        assert any(re.fullmatch(pattern, name) for name in said), (pattern, said)
    (path,) = tmp_path.iterdir()
    kept = json.loads(path.read_text())
    assert {row["name"]: row["ratio"] for row in kept["rows"]} == pytest.approx(said, abs=0.001)
    assert kept["about"]["machine"]
