"""Who else used the processor: a busy process is named, what is measured and what sleeps is not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runners.trial.activity import THIS_PROGRAM, Activity, available

pytestmark = pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
BUSY, ASLEEP = "while True: pass", "import time; time.sleep(60)"
WATCHED_S = 1.0


@contextmanager
def running(folder: Path, name: str, code: str) -> Iterator[int]:
    """A process that the kernel knows by a name of its own: other tests run with this one in the same program."""
    (program := folder / name).symlink_to(sys.executable)
    command = [str(program), "-I", "-S", "-c", f"print(flush=True)\n{code}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


@pytest.mark.timed
def test_a_busy_process_is_named_and_neither_what_is_measured_nor_what_sleeps(tmp_path: Path) -> None:
    with (
        running(tmp_path, "foreign", BUSY),
        running(tmp_path, "measured", BUSY) as measured,
        running(tmp_path, "asleep", ASLEEP),
    ):
        with Activity(tmp_path / "activity.jsonl", (measured,), None) as activity:
            time.sleep(WATCHED_S)
        cores = {process.name: process.cores for process in activity.busiest()}
    assert 0.1 < cores["foreign"] <= 1.1 and not cores.keys() & {"measured", "asleep"}


@pytest.mark.timed
def test_this_lab_is_named_by_what_it_is(tmp_path: Path) -> None:
    with Activity(tmp_path / "activity.jsonl", (), None) as activity:
        ends = time.monotonic() + WATCHED_S
        while time.monotonic() < ends:
            pass
    assert THIS_PROGRAM in [process.name for process in activity.busiest()]
