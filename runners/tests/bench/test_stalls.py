"""Puts that a stall of the core delayed are left out, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runners.bench import programs
from runners.bench.programs import PERIOD_NS, Puts, Stall
from runners.errors import ToolError
from runners.trial import activity

EVERY_NS = 50_000
TAKES_NS = 5_000
MS = 1_000_000
STALLS = """#stall-witness/1 period_ns=1000000 late_ns=100000
#begin monotonic_ns=0 unix_ns=5000
#end monotonic_ns=9000 unix_ns=14000
#core 0 cpu_ns=100
0 1000 20
0 3000 40
"""


def puts_with_a_stop(count: int, stop_from_ns: int, stop_to_ns: int) -> Puts:
    """A writer that is held up between two times and then makes up for it, put after put."""
    due = np.arange(count, dtype=np.int64) * EVERY_NS
    called, returned, free = np.empty_like(due), np.empty_like(due), 0
    for i, due_ns in enumerate(due):
        called[i] = max(int(due_ns), free)
        free = int(called[i]) + TAKES_NS
        if called[i] < stop_to_ns and free > stop_from_ns:
            free = stop_to_ns + TAKES_NS
        returned[i] = free
    return Puts(due, called, returned)


def test_without_stalls_nothing_is_left_out() -> None:
    assert not programs.delayed(puts_with_a_stop(1000, -1, -1), []).any()


def test_a_stall_and_the_queue_behind_it_are_left_out() -> None:
    puts = puts_with_a_stop(4000, 100 * MS, 110 * MS)
    marked = programs.delayed(puts, [Stall(110 * MS, 10 * MS - PERIOD_NS // 2)])
    late = puts.response_us > TAKES_NS / 1e3
    assert late.sum() > 10 * MS // EVERY_NS  # the queue as well
    assert marked[late & (puts.called_ns - puts.due_ns > programs.ON_TIME_NS)].all()
    # Of those on time at most the two periods are left out in which the stall may have begun.
    assert (marked & ~late).sum() <= 2 * PERIOD_NS // EVERY_NS
    assert programs.percentile(puts.response_us[~marked], 0.9999) < 2 * programs.ON_TIME_NS / 1e3
    assert programs.percentile(puts.response_us, 0.9999) > 9_000


def test_a_delay_of_the_store_s_own_stays() -> None:
    puts = puts_with_a_stop(4000, 100 * MS, 110 * MS)
    assert not programs.delayed(puts, [Stall(60 * MS, MS)])[puts.response_us > TAKES_NS / 1e3].any()


def test_a_store_that_never_catches_up_after_a_stall_is_left_out_for_as_long_again_only() -> None:
    puts = puts_with_a_stop(4000, 100 * MS, 200 * MS)
    marked = programs.delayed(puts, [Stall(102 * MS, MS)])
    assert int(puts.due_ns[marked].max()) < 102 * MS + 2 * PERIOD_NS


def test_records_are_read_as_the_programs_write_them(tmp_path: Path) -> None:
    (tmp_path / "stalls").write_text(STALLS)
    assert programs.read_stalls(tmp_path / "stalls") == [Stall(1000, 20), Stall(3000, 40)]
    np.array([[10, 11, 15], [20, 29, 31]], dtype="<i8").tofile(tmp_path / "puts")
    puts = programs.read_puts(tmp_path / "puts")
    assert puts.response_us.tolist() == [0.005, 0.011]
    assert puts.service_us.tolist() == [0.004, 0.002]


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = np.arange(1000, dtype=np.float64)
    assert programs.percentile(values, 0.999) == 999.0
    assert programs.percentile(values, 0.5) == 500.0
    assert programs.percentile(values[:3], 0.9999) == 2.0


def test_a_witness_that_can_t_be_built_or_does_not_watch_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_say: object) -> Path:
        raise ToolError("cargo", "it is not there", "install Rust")

    monkeypatch.setattr(programs, "build_truepace", refuse)
    assert programs.find_witness(0, tmp_path) == (None, "cargo: it is not there; install Rust")
    assert programs.find_witness(None, tmp_path)[0] is None
    program = tmp_path / "stall-witness"
    program.write_text("#!/bin/sh\necho real-time priority is refused\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(programs, "build_truepace", lambda _say: program)
    monkeypatch.setattr(activity, "STALL_WITNESS", program)
    witness, why = programs.find_witness(0, tmp_path)
    assert witness is None
    assert "real-time priority is refused" in why
