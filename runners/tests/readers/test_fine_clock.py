"""What is known by tenths of a second is read to the last figure, and cut or broken files are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.activity import read_activity, read_events
from runners.readers.stacks import read_timed_stacks

DATA = Path(__file__).parents[1] / "data" / "fine"


def test_a_recording_of_the_jdk_is_read_as_it_printed_it() -> None:
    """Golden: a recording of this server under load, printed by the JDK's own tool."""
    start_us = json.loads((DATA / "window.json").read_text())["start_unix_us"]
    events = read_events(DATA / "events.json", start_us, 13.0)
    assert (events["duration_ms"] > 0).all()
    flush = events[events["kind"] == "flush"]
    assert len(flush) == 1
    assert 0 <= flush["t_s"].iloc[0] <= 13
    assert flush["duration_ms"].iloc[0] > 50
    assert flush["bytes"].iloc[0] > 1_000_000
    assert set(events["kind"]) == {"flush", "compilation"}
    assert len(read_events(DATA / "events.json", start_us)) > len(events)  # those of the warm-up


def test_stamps_and_lengths_of_the_jdk(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    times = (
        ("2026-11-21T15:54:25.539030976Z", "PT0.011193095S"), ("2026-11-21T16:54:26.5+01:00", "PT1M2.5S"),
        ("2026-11-21T15:54:27Z", None),
    )  # fmt: skip
    values = [{"startTime": stamp, "duration": length} for stamp, length in times]
    path.write_text(json.dumps({"events": [{"type": "lab.Flush", "values": value} for value in values]}))
    events = read_events(path, 1_795_276_465 * 10**6)
    assert events["t_s"].tolist() == [0.539030976, 1.5, 2.0]
    assert events["duration_ms"].tolist() == [11.193095, 62_500.0, 0.0]
    path.write_text(json.dumps({"events": [{"type": "lab.Flush", "values": {"startTime": "yesterday?"}}]}))
    with pytest.raises(ReadError, match=r"events\.json"):
        read_events(path, 0)


def test_events_that_are_none_are_named(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    for text in ("", "{}", '{"events": [{"type": "lab.Flush", "values": {}}]}'):
        path.write_text(text)
        with pytest.raises(ReadError, match=r"events\.json"):
            read_events(path, 0)


def test_activity_is_the_difference_of_counters(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    lines = [
        {"unix_us": 1_000_000 + 100_000 * k, "steal_s": 1.0, "busy_s": 5 + 0.15 * k, "ran_ns": {"jit": 40_000_000 * k},
         "waited_ns": {"serving": 3_000_000 * k, "sending": 2_000_000 * k}, "generator_s": 0.05 * k,
         "disk_busy_ms": 7 * k}
        for k in range(4)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"unix_us"')
    frame = read_activity(path, 1_000_000)
    by_kind = frame.groupby("kind")["busy_ms"].mean()
    assert by_kind["jit"] == pytest.approx(40)
    assert by_kind["foreign"] == pytest.approx(150 - 40 - 50)
    assert by_kind["wait"] == pytest.approx(3)
    assert by_kind["sending wait"] == pytest.approx(2)
    assert by_kind["disk"] == pytest.approx(7)
    assert by_kind["steal"] == 0
    assert frame["t_s"].min() == 0
    path.write_text("nothing\n" + path.read_text())
    with pytest.raises(ReadError, match="line 1"):
        read_activity(path, 0)


def test_samples_of_a_profile_add_up(tmp_path: Path) -> None:
    path = tmp_path / "profile.samples"
    path.write_text(
        "S 0 [main tid=1];a/B.run_[j];c\nE cpu 2000000 0 1 1\nE cpu 2019999 0 2 2\nE cpu 2020000 0 1 1\n"
        "E alloc 2020000 0 1 524288\nE alloc 2020000 9"
    )
    frame = read_timed_stacks(path, 1_000_000)
    cpu = frame[frame["event"] == "cpu"]
    assert cpu["samples"].tolist() == [3, 1]
    assert cpu["t_s"].tolist() == [1.0, 1.02]
    assert set(frame["stack"]) == {"[main tid=1];a/B.run;c"}
    assert frame[frame["event"] == "alloc"]["weight"].tolist() == [524288]


def test_an_event_names_a_file_and_not_where_a_machine_keeps_it(tmp_path: Path) -> None:
    place = "/somebody/at/home/store/000001.table"
    values = {"startTime": "2026-11-21T12:00:00.5Z", "duration": "PT0.03S", "path": place, "bytesWritten": 4096}
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"events": [{"type": "jdk.FileWrite", "values": values}]}))
    (event,) = read_events(path, 1_795_262_400 * 10**6).to_dict("records")
    assert event["what"] == "store/000001.table" and event["bytes"] == 4096
