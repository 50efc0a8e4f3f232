"""`make bench-store` in its smallest form: every row has a line. A signal leaves nothing of a benchmark behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runners.tests.waiting import LIMIT_S, left_in, until, working_in
from runners.toolchain.tools import ROOT

BENCH = [sys.executable, "-m", "runners.bench.store"]
ROW = re.compile(r"^(\S+) ours=\S+ peer=\S+ ratio=\d+\.\d+ goal=(?:<=|>=)\S+ (?:met|short)(?: within noise)? \(", re.M)


@pytest.mark.long
@pytest.mark.e2e
def test_a_smoke_run_prints_its_rows_group_by_group_and_keeps_them(tmp_path: Path) -> None:
    kept, data = tmp_path / "runs", tmp_path / "data"
    done = subprocess.run(
        [*BENCH, "--smoke", "--folder", str(data), "durable", "tail"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=ROOT,
        env={**os.environ, "LAB_RUNS": str(kept)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = ROW.findall(done.stdout)
    assert len(names) == 2 + 8
    lines = done.stdout.splitlines()
    durable, tail = (
        next(i for i, line in enumerate(lines) if line.startswith(name)) for name in ("store/d", "store/p")
    )
    assert any("put into lsm while it merges" in line for line in lines[durable:tail])
    assert "configuration of lsm+sync: wal=sync" in done.stdout
    assert re.search(r"configuration of rocksdb-tuned\+paced: .*bytes_per_sync=1048576", done.stdout)
    (file,) = kept.iterdir()
    results = json.loads(file.read_text())
    assert [row["name"] for row in results["rows"]] == names
    assert results["about"]["configurations"]["rocksdb-tuned+sync"]["wal"] == "sync"
    assert list(data.iterdir()) == []


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_signal_leaves_no_process_and_no_data(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        # So many keys that it is still filling when the signal comes.
        [*BENCH, "--smoke", "--keys", "5000000", "--folder", str(tmp_path), "128B"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LAB_RUNS": str(tmp_path / "runs")},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "] fill " in line:
                break
        assert until(lambda: list(tmp_path.glob("bench-*/*-128/*"))), "no store was made"
        assert working_in(tmp_path)
        process.send_signal(number)
        process.stdout.read()
        assert process.wait() == 128 + number
    assert not left_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("words", "begun"),
    [
        pytest.param(["power", "aa-lsm"], "*/data/*", marks=pytest.mark.long, id="power"),
        pytest.param(["overhead", "overhead"], "overhead/runs/**/steps/*", marks=pytest.mark.long, id="overhead"),
    ],
)
def test_a_signal_ends_what_a_benchmark_started_and_removes_its_data(
    words: list[str], begun: str, tmp_path: Path
) -> None:
    with (
        subprocess.Popen(
            [sys.executable, "-m", f"runners.bench.{words[0]}", *words[1:]],
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "LAB_RUNS": str(tmp_path / "runs"), "TMPDIR": str(tmp_path)},
        ) as process,
        contextlib.ExitStack() as in_the_end,
    ):
        in_the_end.callback(process.kill)  # else a test that fails waits for its end
        assert until(lambda: list(tmp_path.glob(f"bench-*/{begun}")), 2 * LIMIT_S), "nothing was measured"
        assert len(working_in(tmp_path)) > 1, "no server is up"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not left_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == []
