"""No process outlives the lab, by whatever death it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runners.errors import ToolError
from runners.process.supervisor import finished, pinned, start
from runners.tests.waiting import LIMIT_S, alive, gone, until

SLEEP = [sys.executable, "-c", "import time; time.sleep(120)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(120)",
]
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
print(child.pid, flush=True)
child.wait()
"""
LAB = """
import sys, time
from runners.process.supervisor import start
child = start([sys.executable, "-c", "import time; time.sleep(120)"])
print(child.pid, flush=True)
{then}
"""


def test_a_child_is_in_the_labs_session_but_in_no_group_that_its_terminal_interrupts() -> None:
    child = start(SLEEP)
    try:
        assert os.getsid(child.pid) == os.getsid(0)
        guard = psutil.Process(child.pid).ppid()
        assert len({os.getpgid(0), os.getpgid(guard), os.getpgid(child.pid)}) == 3
    finally:
        child.stop()


def test_a_child_is_stopped_and_its_exit_code_given() -> None:
    child = start(SLEEP)
    assert alive(child.pid) and child.poll() is None
    assert child.stop() == 128 + signal.SIGTERM
    assert not alive(child.pid)
    assert child.stop() == 128 + signal.SIGTERM  # may be called twice


def test_the_exit_code_of_a_child_that_ends_by_itself() -> None:
    child = start([sys.executable, "-c", "raise SystemExit(7)"])
    assert child.wait(LIMIT_S) == 7
    assert child.wait_up_to(0)


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    child = start(STUBBORN, stdout=subprocess.PIPE, grace_s=0.3)
    child.stdout.readline()
    assert child.stop() == 128 + signal.SIGKILL
    assert not alive(child.pid)


def test_grandchildren_go_too() -> None:
    child = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    grandchild = int(child.stdout.readline())
    child.stop()
    assert gone(grandchild)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match="no-such-program"):
        start(["/no-such-program"])


def _kill_9(lab: subprocess.Popen[bytes]) -> None:
    lab.kill()


def _ctrl_c(lab: subprocess.Popen[bytes]) -> None:
    os.killpg(lab.pid, signal.SIGINT)


@pytest.mark.parametrize(
    ("then", "end"),
    [
        ("time.sleep(120)", _kill_9),
        ("time.sleep(120)", _ctrl_c),
        ("raise RuntimeError('a failed cell')", lambda _lab: None),
        ("import os; os._exit(0)", lambda _lab: None),
    ],
    ids=["kill -9", "ctrl-c", "exception", "exit without goodbye"],
)
def test_no_child_outlives_the_lab(then: str, end: Callable[[subprocess.Popen[bytes]], None]) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB.format(then=then)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert lab.stdout is not None
    pid = int(lab.stdout.readline())
    end(lab)
    lab.wait(LIMIT_S)
    assert gone(pid)


DEAF = """
import signal, time
def asked(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("asked", flush=True)
signal.signal(signal.SIGTERM, asked)
print("up", flush=True)
time.sleep(300)
"""
PATIENT_LAB = """
import subprocess, sys, threading, time
from runners.process.supervisor import start
child = start([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, grace_s=300.0)
child.stdout.readline()
{then}
print(child.pid, flush=True)
time.sleep(300)
"""


@pytest.mark.parametrize(
    "then",
    ["", "threading.Thread(target=child.stop).start(); child.stdout.readline()"],
    ids=["while it works", "while it is stopped"],
)
def test_a_child_keeps_no_grace_time_once_the_lab_is_gone(then: str) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-c", PATIENT_LAB.format(then=then), DEAF], stdout=subprocess.PIPE, start_new_session=True
    )
    assert lab.stdout is not None
    pid = int(lab.stdout.readline())
    lab.kill()
    lab.wait(LIMIT_S)
    lab.stdout.close()
    assert gone(pid), "long before its grace time is over"


def test_a_program_is_run_to_its_end() -> None:
    done = finished([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


NOTING = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(300)"
WAITING = "import sys; from runners.process.supervisor import finished; finished([sys.executable, '-c', *sys.argv[1:]])"


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        finished([sys.executable, "-c", NOTING, str(noted)], timeout_s=2.0)
    pid = noted.read_text() if noted.exists() else ""  # on a busy machine it was ended before it noted anything
    assert not pid or gone(int(pid))


def test_what_the_lab_waits_for_ends_with_it(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    lab = subprocess.Popen([sys.executable, "-c", WAITING, NOTING, str(noted)], start_new_session=True)
    assert until(lambda: noted.exists() and noted.read_text())
    lab.kill()
    lab.wait(LIMIT_S)
    assert gone(int(noted.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own kill is Linux's")
def test_no_child_outlives_a_killed_guard() -> None:
    child = start(SLEEP)
    guard = psutil.Process(child.pid).parent()
    assert guard is not None
    guard.kill()
    assert gone(child.pid)
    child.stop()


def test_pinning_is_part_of_the_command_line() -> None:
    assert pinned(["java"], (0,))[1:] == ["-c", "0", "java"]
    assert pinned(["java"], None) == ["java"]


def test_a_frozen_process_is_stopped_within_its_grace() -> None:
    child = start([sys.executable, "-c", "import time; time.sleep(60)"], grace_s=LIMIT_S)
    os.kill(child.pid, signal.SIGSTOP)
    assert child.stop() == 128 + signal.SIGTERM, "it was killed when its grace was over"


def test_a_child_is_waited_for_longer_than_the_grace_time_that_it_was_started_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child, waited_s = start(SLEEP, grace_s=300.0), list[float | None]()
    wait_up_to = child.wait_up_to

    def noted(timeout_s: float | None) -> bool:
        waited_s.append(timeout_s)
        return wait_up_to(timeout_s)

    monkeypatch.setattr(child, "wait_up_to", noted)
    assert child.stop() == 128 + signal.SIGTERM
    assert (waited_s[0] or 0.0) > 300.0, "else its guard is killed, and the child with it, before its grace is over"
