"""Waiting for what must come, however busy the machine is, and looking at processes that may end meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from runners.process.supervisor import GUARD

#: No condition that comes at all takes so long.
LIMIT_S = 60.0
_EVERY_S = 0.02


def until(condition: Callable[[], object], within_s: float = LIMIT_S) -> bool:
    """Wait until a condition is true; false if it never was."""
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return bool(condition())
        time.sleep(_EVERY_S)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected yet does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    return until(lambda: not alive(pid))


def working_in(folder: Path) -> list[psutil.Process]:
    """The processes that have a folder in their command line or their environment: labs, guards and loads of a test."""
    processes = []
    for process in psutil.process_iter():
        try:
            if any(str(folder) in word for word in (*process.cmdline(), *process.environ().values())):
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def described(processes: Iterable[psutil.Process]) -> list[dict[str, object]]:
    """What a failed test says about processes that should have ended."""
    wanted = ["pid", "ppid", "status", "cmdline", "create_time"]
    return [process.as_dict(wanted, ad_value="gone") for process in processes if process.is_running()]


def started() -> list[psutil.Process]:
    """The processes below this one that run, besides the guards."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()  # of a process that is ending it is empty: its memory is gone already
            if alive(process.pid) and command and str(GUARD) not in command:
                processes.append(process)
    return processes


def left_in(folder: Path) -> list[psutil.Process]:
    """The processes that still work in a folder after a while; none if they end."""
    until(lambda: not working_in(folder))
    return working_in(folder)
