"""The processor time of a server: all that its processes use counts, also what one that ended had used."""

from __future__ import annotations

import subprocess
import sys

from runners.process.supervisor import ProcessClock

BUSY = "import time\nwhile time.process_time() < 0.2: pass\n"
PRINTED = "import time; print(time.process_time(), flush=True); input()"


def _child(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip


def test_it_reads_what_a_process_says_of_itself() -> None:
    with _child(BUSY + PRINTED) as child:
        assert child.stdout is not None and child.stdin is not None
        own_s = float(child.stdout.readline())
        read_s = ProcessClock((child.pid,)).read_s()
        child.stdin.close()
    assert read_s is not None and read_s >= own_s >= 0.2


def test_what_a_process_starts_counts_and_goes_on_counting_when_it_has_ended() -> None:
    starts = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {BUSY + PRINTED!r}]); p.wait()\n"
    with _child(starts + "print('over', flush=True); input()") as child:
        assert child.stdout is not None and child.stdin is not None
        clock = ProcessClock((child.pid,))
        own_s = float(child.stdout.readline())
        before_s = clock.read_s()
        assert before_s is not None and before_s >= own_s
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "over\n"
        after_s = clock.read_s()
        child.stdin.close()
    assert after_s is not None and after_s >= before_s


def test_a_server_that_was_not_started_here_has_no_clock() -> None:
    assert ProcessClock(()).read_s() is None
