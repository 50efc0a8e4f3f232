"""All processes that a server is made of are found, and none outlives its stop."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runners.process.supervisor import start, tree
from runners.tests.waiting import gone, until

#: Starts a process in a session of its own, which no signal to the parent's group reaches, and prints both numbers.
PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(120)
"""
NOBODY = 2**22 + 1


def test_a_child_and_its_child_are_found() -> None:
    child = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    try:
        grandchild = int(child.stdout.readline())
        assert tree((child.pid,)) == (child.pid, grandchild)
        assert set(tree((os.getpid(),))) >= {os.getpid(), child.pid, grandchild}
    finally:
        child.stop()
    assert until(lambda: tree((child.pid,)) == ())


def test_of_nobody_there_is_no_tree() -> None:
    assert tree(()) == ()
    assert tree((NOBODY,)) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
def test_what_left_the_process_group_is_stopped_too() -> None:
    child = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    grandchild = int(child.stdout.readline())
    child.stop()
    assert gone(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
def test_what_a_crashed_child_left_behind_is_stopped_too() -> None:
    child = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    grandchild = int(child.stdout.readline())
    child.kill()
    assert gone(grandchild)
    child.stop()


def test_the_stop_signal_can_be_chosen() -> None:
    text = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(5)); print('up', flush=True); "
    child = start([sys.executable, "-c", text + "time.sleep(120)"], stdout=subprocess.PIPE, stop_signal="SIGINT")
    child.stdout.readline()
    assert child.stop() == 5
