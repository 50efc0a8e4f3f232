"""Counters' files: read again while open, gone with what they tell of, never more open than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.trial import counters
from runners.trial.activity import Activity, available
from runners.trial.counters import Counters


def _descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counters() as files:
        for text in ("1", "22 of it", ""):
            path.write_text(text)
            assert files.text(str(path)) == text


def test_no_file_is_no_text_until_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "later"
    with Counters() as files:
        assert files.text(str(path)) is None
        path.write_text("now")
        assert files.text(str(path)) == "now"


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_a_process_that_ended_has_none() -> None:
    with (
        Counters() as files,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
    ):
        path = f"/proc/{child.pid}/schedstat"
        first, before = files.text(path), _descriptors()
        assert first is not None
        assert len(first.split()) == 3
        child.communicate(b"\n")
        assert files.text(path) is None
        assert files.text(path) is None
        assert _descriptors() < before, "its file is closed"


def test_no_more_files_stay_open_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "KEPT", 3)
    before = _descriptors()
    with Counters() as files:
        for name in range(10):
            path = tmp_path / str(name)
            path.write_text(f"holds {name}")
            assert files.text(str(path)) == f"holds {name}"
            assert files.text(str(path)) == f"holds {name}"
        assert _descriptors() == before + 3
    assert _descriptors() == before


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_sampling_leaves_no_file_open(tmp_path: Path) -> None:
    before = _descriptors()
    with Activity(tmp_path / "activity.jsonl", (os.getpid(),), tmp_path):
        pass
    assert _descriptors() == before
    assert (tmp_path / "activity.jsonl").read_text().count("\n") == 2


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_sampling_begins_before_what_is_watched(tmp_path: Path) -> None:
    with Activity(tmp_path / "activity.jsonl", (os.getpid(),), tmp_path):
        first = (tmp_path / "activity.jsonl").read_text().splitlines()[0]
        assert json.loads(first)["ran_ns"], "however late the sampling thread gets a core"
