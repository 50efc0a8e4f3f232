"""Counters' files: read again while open, gone with what they tell of, never more open than allowed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runners.readers.activity import read_activity
from runners.trial import activity
from runners.trial.activity import Activity, BackgroundClock, available, kept_open


def _descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with kept_open() as text_of:
        for text in ("1", "22 of it", ""):
            path.write_text(text)
            assert text_of(str(path)) == text


def test_no_file_is_no_text_until_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "later"
    with kept_open() as text_of:
        assert text_of(str(path)) is None
        path.write_text("now")
        assert text_of(str(path)) == "now"


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_a_process_that_ended_has_none() -> None:
    with (
        kept_open() as text_of,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
    ):
        path = f"/proc/{child.pid}/schedstat"
        first, before = text_of(path), _descriptors()
        assert first is not None
        assert len(first.split()) == 3
        child.communicate(b"\n")
        assert text_of(path) is None
        assert text_of(path) is None
        assert _descriptors() < before, "its file is closed"


def test_no_more_files_stay_open_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "KEPT", 3)
    before = _descriptors()
    with kept_open() as text_of:
        for name in range(10):
            path = tmp_path / str(name)
            path.write_text(f"holds {name}")
            assert text_of(str(path)) == f"holds {name}"
            assert text_of(str(path)) == f"holds {name}"
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


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_threads_of_the_background_count_with_what_they_used_after_their_end_too() -> None:
    started, end = threading.Event(), threading.Event()

    def compile_for_a_while() -> None:
        Path("/proc/thread-self/comm").write_text("C2 CompilerThre", encoding="ascii")
        while time.thread_time() < 0.05:
            pass
        started.set()
        end.wait()

    clock = BackgroundClock((os.getpid(),))
    before_s = clock.read_s()
    thread = threading.Thread(target=compile_for_a_while)
    thread.start()
    started.wait()
    used_s = clock.read_s()
    end.set()
    thread.join()
    assert before_s == {} and used_s is not None and set(used_s) == {"jit"} and used_s["jit"] >= 0.05
    assert (clock.read_s() or {})["jit"] >= used_s["jit"], "what it used on its way out may be seen or not"


@pytest.mark.skipif(not available(), reason="the kernel does not tell what its threads use")
def test_a_process_besides_the_load_is_known_by_its_name_and_one_of_the_load_is_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    spin = ["-c", "import time\ninput()\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"]
    for name in ("disturber", "of-the-load"):
        (tmp_path / name).symlink_to(sys.executable)
    with contextlib.ExitStack() as running:
        own, other = (
            running.enter_context(
                subprocess.Popen([tmp_path / name, *spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            for name in ("of-the-load", "disturber")
        )
        with Activity(path, (own.pid,), tmp_path):
            for process in (own, other):
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(b"\n")
                process.stdin.flush()
            for process in (own, other):
                assert process.stdout is not None
                process.stdout.readline()
        own.kill()
        other.kill()
    used = json.loads(path.read_text().splitlines()[-1])["others_ns"]
    assert "disturber" in used and "of-the-load" not in used
    began_us = json.loads(path.read_text().splitlines()[0])["unix_us"]
    rows = read_activity(path, began_us)
    assert (rows["kind"] == "process disturber").any()
