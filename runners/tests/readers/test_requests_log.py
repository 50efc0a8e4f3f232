"""The log of requests, as `runners/loadgen/docs/requests.md` describes it."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.requests_log import MAGIC, read_requests_log

ROW = struct.Struct("<QQQQQQIIHBBBB2x")


def block(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body


def description(tags: list[str]) -> bytes:
    about = {"targets": ["a", "b"], "tags": tags, "block_slots": 64, "start_unix_us": 5, "receive_clock": "user"}
    return block(1, json.dumps(about).encode())


def row(slot: int, target: int, predecessor: int, tag: int = 0, fate: int = 0) -> bytes:
    return ROW.pack(slot, slot * 1_000_000, 500, 80_000, 90_000, 300, 40, 120, 200, target, predecessor, tag, fate)


def test_rows_are_in_the_order_of_the_schedule_and_names_stand_for_numbers(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    second = block(2, row(2, 0, 1, fate=3))
    first = block(2, row(1, 1, 0, tag=1) + row(0, 0, 255))
    path.write_bytes(MAGIC + description([]) + second + description(["PUT"]) + first)
    log = read_requests_log(path)
    frame = log.frame
    assert log.start_unix_us == 5
    assert list(frame["slot"]) == [0, 1, 2]
    assert list(frame["target"]) == ["a", "b", "a"]
    assert frame["predecessor"].isna().tolist() == [True, False, False]
    assert list(frame["predecessor"].dropna()) == ["a", "b"]
    assert list(frame["operation"].dropna()) == ["PUT"]
    assert list(frame["fate"]) == ["completed", "completed", "unsent"]
    assert list(frame["response_us"]) == [80.5] * 3
    assert list(frame["t_s"]) == pytest.approx([0, 0.001, 0.002])


def test_a_log_that_was_cut_short_is_read_up_to_its_last_whole_block(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    whole = MAGIC + description([]) + block(2, row(0, 0, 255))
    for more in (b"\x02\x00", block(2, row(1, 1, 0))[:-1]):
        path.write_bytes(whole + more)
        assert len(read_requests_log(path).frame) == 1


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"not a log", "no log of requests"),
        (MAGIC, "no description"),
        (MAGIC + description([]) + block(9, b""), "kind 9"),
        (MAGIC + description([]) + block(2, b"short"), "5 bytes"),
        (MAGIC + description([]) + block(2, row(0, 7, 255)), "beyond its 2"),
    ],
)
def test_what_is_no_log_is_refused_by_name(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "requests"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=word):
        read_requests_log(path)
