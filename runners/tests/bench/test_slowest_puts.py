"""The slowest puts are attributed to what held their writer up, the queue behind it too."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from runners.bench import programs
from runners.bench.programs import Event, Puts, Recording, attribute
from runners.trial.profiler import Recorder

EVERY_NS, TAKES_NS, MS = 50_000, 3_000, 1_000_000


def held_up_in_a_call(at: int, for_ns: int, count: int = 2_000) -> Puts:
    """One writer, of which one put takes long."""
    due = np.arange(count, dtype=np.int64) * EVERY_NS
    called, returned, free = np.empty_like(due), np.empty_like(due), 0
    for i, due_ns in enumerate(due):
        called[i] = max(int(due_ns), free)
        free = returned[i] = called[i] + (for_ns if i == at else TAKES_NS)
    return Puts(due, called, returned)


def held_up_between_calls(at: int, for_ns: int) -> Puts:
    """One writer that does not run for a while before a put."""
    puts = held_up_in_a_call(at, for_ns)
    called, returned = puts.called_ns.copy(), puts.returned_ns.copy()
    called[at] = returned[at] - TAKES_NS
    return Puts(puts.due_ns, called, returned)


def shares(puts: Puts, *events: Event, left_out: slice = slice(0, 0)) -> list[tuple[str, int]]:
    marked = np.zeros(len(puts.due_ns), dtype=np.bool_)
    marked[left_out] = True
    return [(share.cause, share.puts) for share in attribute(puts, marked, events)]


def test_the_queue_behind_a_slow_call_has_its_cause() -> None:
    puts = held_up_in_a_call(500, 8 * MS)
    at_ns = int(puts.called_ns[500])
    flush, merge = (Event(kind, at_ns - 50 * MS, at_ns + MS) for kind in ("flush", "compaction"))
    assert shares(puts, flush) == [("in a call, during a flush", 120)]
    assert shares(puts, flush, merge) == [("in a call, during a flush and merge", 120)]
    assert shares(puts) == [("in a call, nothing recorded", 120)]
    assert shares(puts, Event("gc", at_ns + MS, at_ns + 7 * MS), flush) == [("GC pause", 120)]


def test_what_is_over_before_the_wait_is_no_cause() -> None:
    puts = held_up_in_a_call(500, 8 * MS)
    before = Event("stall", int(puts.called_ns[500]) - MS, int(puts.called_ns[500]) - 1)
    assert shares(puts, before) == [("in a call, nothing recorded", 120)]


def test_a_writer_that_does_not_run_is_distinguished_from_a_call_that_takes_long() -> None:
    puts = held_up_between_calls(500, 8 * MS)
    merge = Event("compaction", 0, int(puts.returned_ns[-1]))
    assert shares(puts, merge) == [("between two calls, during a merge", 120)]


def test_puts_that_are_left_out_are_not_attributed() -> None:
    puts = held_up_in_a_call(500, MS)
    throttled = Event("stall", int(puts.due_ns[800]), int(puts.due_ns[801]))
    assert shares(puts, throttled, left_out=slice(400, 2_000)) == [("in a call, nothing recorded", 120)]
    assert shares(puts, left_out=slice(0, 1_990)) == [("in a call, nothing recorded", 10)]


def test_the_line_names_each_cause_with_its_slowest_put() -> None:
    line = programs.line(attribute(held_up_in_a_call(500, 8 * MS), np.zeros(2_000, dtype=np.bool_), []))
    assert line == "the 120 slowest puts: 120 in a call, nothing recorded (up to 8e+03 us)"


def test_events_and_pauses_are_read_by_the_clock_of_the_puts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(_self: Recorder, recording: Path, out: Path) -> None:
        assert recording.exists()
        begin = (
            datetime.fromtimestamp(flush_unix_ns / 1e9, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        )
        values = {"startTime": begin, "duration": "PT0.25S"}
        out.write_text(json.dumps({"events": [{"type": "lab.Flush", "values": values}]}))

    monkeypatch.setattr(Recorder, "convert", convert)
    now_ns, flush_unix_ns = time.monotonic_ns(), time.time_ns()
    ended = datetime.fromtimestamp(flush_unix_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"
    (tmp_path / "puts.jfr").touch()
    (tmp_path / "puts-jvm.log").write_text(f"[{ended}][info][gc] GC(2) Pause Young (Normal) 36M->10M(128M) 4.000ms\n")
    flush, pause = Recording(None, tmp_path).take()  # type: ignore[arg-type]
    assert flush.kind == "flush"
    assert flush.begin_ns == pytest.approx(now_ns, abs=1e9)
    assert flush.end_ns - flush.begin_ns == pytest.approx(250 * MS, abs=1e3)
    assert pause.kind == "gc"
    assert pause.end_ns - pause.begin_ns == pytest.approx(4 * MS + 2 * programs.PAUSE_ERROR_NS, abs=1e3)
    assert list(tmp_path.iterdir()) == []
    assert Recording(None, tmp_path).take() == []  # type: ignore[arg-type]
