"""Start processes that can't outlive the lab, and stop them in order."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from runners.errors import ToolError
from runners.launch.toolchain import ROOT

GUARD = Path(__file__).with_name("guard.py")
GRACE_S = 8.0
_START_TIMEOUT_S = 10.0


class Child:
    """A process under its guard. `pid` is the process itself, not the guard."""

    def __init__(self, command: Sequence[str], guard: subprocess.Popen[bytes], lab_end: socket.socket) -> None:
        self.command = tuple(command)
        self._guard = guard
        self._lab_end = lab_end
        self.pid = self._read_pid()

    def _read_pid(self) -> int:
        self._lab_end.settimeout(_START_TIMEOUT_S)
        text = b""
        with contextlib.suppress(OSError):
            while not text.endswith(b"\n"):
                more = self._lab_end.recv(32)
                if not more:
                    break
                text += more
        if not text.endswith(b"\n"):
            self.stop()
            raise ToolError(self.command[0], "can't be started", "check that it is there and may be executed")
        return int(text)

    @property
    def stdout(self) -> IO[bytes]:
        """The child's standard output, when it was started with a pipe."""
        assert self._guard.stdout is not None
        return self._guard.stdout

    def poll(self) -> int | None:
        """The exit code (128 + signal when killed), or None while it runs."""
        return self._guard.poll()

    def wait(self, timeout_s: float | None = None) -> int:
        """The exit code. Raises subprocess.TimeoutExpired."""
        return self._guard.wait(timeout_s)

    def wait_up_to(self, timeout_s: float) -> bool:
        """Whether it ended within that time. Sleeps on the guard's socket: no polling beside a measurement."""
        ready, _, _ = select.select([self._lab_end], [], [], timeout_s)
        return bool(ready)

    def interrupt(self) -> None:
        """Ask the process itself to finish early and still write what it has (SIGINT)."""
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signal.SIGINT)

    def stop(self, grace_s: float = GRACE_S) -> int:
        """SIGTERM, then SIGKILL when the grace time is over. May be called again; gives the exit code."""
        self._lab_end.close()
        try:
            code = self._guard.wait(grace_s * 2 + 2)
        except subprocess.TimeoutExpired:
            self._guard.kill()  # the kernel then kills the child
            code = self._guard.wait()
        if self._guard.stdout is not None:
            self._guard.stdout.close()
        return code


def start(
    command: Sequence[str],
    *,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    grace_s: float = GRACE_S,
) -> Child:
    """Start `command` under a guard, in the project's folder. Raises ToolError when it can't be started."""
    lab_end, guard_end = socket.socketpair()
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(guard_end.fileno()), str(grace_s), *command],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=[guard_end.fileno()],
            start_new_session=True,
            env=env,
            cwd=ROOT,
        )
    finally:
        guard_end.close()
    return Child(command, guard, lab_end)


def pinned(command: Sequence[str], cpus: Sequence[int] | None, taskset: Path | None) -> list[str]:
    """`command` bound to `cpus` by taskset; unchanged when there are none or there is no taskset (macOS)."""
    if not cpus or taskset is None:
        return list(command)
    return [str(taskset), "-c", ",".join(map(str, cpus)), *command]
