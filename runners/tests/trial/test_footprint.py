"""What a process takes: memory by kind, bytes written, files on the disk; a store at rest is seen to be."""

from __future__ import annotations

import os
import sys
from os import fsync  # the real one: what is counted is what went to the disk
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runners.storage.schema import ProcessStatus
from runners.tests.waiting import LIMIT_S
from runners.trial import telemetry
from runners.trial.telemetry import disk_bytes, process_status, rest_s


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_process_tells_its_memory_and_what_it_made_go_to_the_disk(tmp_path: Path) -> None:
    before = process_status(os.getpid())
    with (tmp_path / "data").open("wb") as out:
        out.write(b"x" * 3_000_000)
        out.flush()
        fsync(out.fileno())
    after = process_status(os.getpid())
    assert (after.rss_anon_bytes or 0) > 1_000_000
    wrote = (after.written_bytes or 0) - (before.written_bytes or 0)
    assert wrote == 0 or wrote >= 3_000_000, "a file system in memory counts nothing"


def test_a_process_that_is_gone_tells_nothing() -> None:
    assert process_status(2**22 + 1) == ProcessStatus()


def test_files_count_as_they_lie_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for index in range(3):
        with (tmp_path / "folder" / str(index)).open("wb") as out:
            out.write(b"x" * 100_000)
            fsync(out.fileno())
    assert 300_000 <= disk_bytes(tmp_path) < 400_000
    assert disk_bytes(tmp_path / "absent") == 0


def test_room_that_is_only_reserved_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    assert disk_bytes(tmp_path) <= 4_096  # a whole page, and no more
    with (tmp_path / "sparse").open("wb") as out:
        out.truncate(50_000_000)
    assert disk_bytes(tmp_path) <= 8_192


def test_a_store_is_at_rest_when_it_writes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    written = iter([0, 500_000, 900_000])
    last = [0]

    def reported(_: int) -> ProcessStatus:
        last[0] = next(written, last[0])
        return ProcessStatus(written_bytes=last[0])

    monkeypatch.setattr(telemetry, "process_status", reported)
    assert rest_s(cast(Any, SimpleNamespace(pids=(1,))), LIMIT_S) is not None


def test_a_store_that_never_rests_is_left_after_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    count = [0]

    def reported(_: int) -> ProcessStatus:
        count[0] += 1_000_000
        return ProcessStatus(written_bytes=count[0])

    monkeypatch.setattr(telemetry, "process_status", reported)
    assert rest_s(cast(Any, SimpleNamespace(pids=(1,))), 0.3) is None
