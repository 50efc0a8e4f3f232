"""Start processes that can't outlive the lab, on ports that are free, and stop them in order."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from runners.errors import ServerError, ToolError
from runners.toolchain.tools import ROOT

GUARD = Path(__file__).with_name("guard.py")
GRACE_S = 8.0
_START_TIMEOUT_S = 10.0
_LOOK_S = 0.0005


@dataclass(slots=True)
class Frozen:
    """When a process was frozen: wall clock in microseconds since 1970, length by the monotonic clock."""

    start_unix_us: int = 0
    end_unix_us: int = 0
    length_us: float = 0.0
    _monotonic_ns: int = 0

    def began(self) -> None:
        self.start_unix_us, self._monotonic_ns = time.time_ns() // 1000, time.monotonic_ns()

    def ended(self) -> None:
        self.end_unix_us = time.time_ns() // 1000
        self.length_us = (time.monotonic_ns() - self._monotonic_ns) / 1000


class Child:
    """A process under its guard. `pid` is the process itself, not the guard."""

    def __init__(self, command: Sequence[str], guard: subprocess.Popen[bytes], lab_end: socket.socket) -> None:
        self.command = tuple(command)
        self._guard = guard
        self._lab_end = lab_end
        self._said = b""  # what the guard wrote after the pid
        self.pid = self._read_pid()

    def _read_pid(self) -> int:
        self._lab_end.settimeout(_START_TIMEOUT_S)
        text = b""
        with contextlib.suppress(OSError):
            while b"\n" not in text:
                more = self._lab_end.recv(32)
                if not more:
                    break
                text += more
        pid, newline, self._said = text.partition(b"\n")
        if not newline:
            self.stop()
            raise ToolError(self.command[0], "can't be started", "check that it is there and may be executed")
        return int(pid)

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
        if self._lab_end.fileno() < 0:  # `stop` has closed it
            return True
        ready, _, _ = select.select([self._lab_end], [], [], timeout_s)
        return bool(ready)

    @property
    def cpu_s(self) -> float | None:
        """Processor time of the process and of what it started, in seconds, once it has ended and before `stop`."""
        if not self._said and self.poll() is not None and self._lab_end.fileno() >= 0:
            with contextlib.suppress(OSError):
                self._said = self._lab_end.recv(64)
        return float(self._said) if self._said.endswith(b"\n") else None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[Frozen]:
        """Stop the process where it stands (SIGSTOP) while the body runs; the times are complete after it.

        They begin when the process is seen to be stopped and end before it goes on: in between it did nothing.
        """
        times = Frozen()
        os.kill(self.pid, signal.SIGSTOP)
        self._await_stopped()
        times.began()
        try:
            yield times
        finally:
            times.ended()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    def _await_stopped(self) -> None:
        """Wait until no thread of the process runs: a busy core may take a signal milliseconds late."""
        give_up = time.monotonic() + _START_TIMEOUT_S
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self.pid)
            while process.status() != psutil.STATUS_STOPPED and time.monotonic() < give_up:
                time.sleep(_LOOK_S)

    def kill(self) -> None:
        """End the process itself at once (SIGKILL), as a crash does. Its guard and `stop` then tell its exit code."""
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """Ask the process itself to finish early and still write what it has (SIGINT)."""
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signal.SIGINT)

    def stop(self, grace_s: float = GRACE_S) -> int:
        """Its stop signal, then SIGKILL when the grace time is over. May be called again; gives the exit code."""
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
    directory: Path = ROOT,
    stop_signal: str = "SIGTERM",
) -> Child:
    """Start `command` under a guard, in the project's folder or another. Raises ToolError when it can't be started."""
    lab_end, guard_end = socket.socketpair()
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(guard_end.fileno()), str(grace_s), stop_signal, *command],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=[guard_end.fileno()],
            process_group=0,
            env=env,
            cwd=directory,
        )
    finally:
        guard_end.close()
    return Child(command, guard, lab_end)


def pinned(command: Sequence[str], cpus: Sequence[int] | None, taskset: Path | None) -> list[str]:
    """`command` bound to `cpus` by taskset; unchanged when there are none or there is no taskset (macOS)."""
    if not cpus or taskset is None:
        return list(command)
    return [str(taskset), "-c", ",".join(map(str, cpus)), *command]


HOST = "127.0.0.1"
#: Below the range from which systems give ports to clients, so that none is taken between the look and the start.
FIRST_PORT, LAST_PORT = 20_000, 30_000
_ATTEMPTS = 200


def in_a_row(count: int) -> int:
    """The first of so many free ports. Raises ServerError when none are found."""
    for _ in range(_ATTEMPTS):
        first = random.randrange(FIRST_PORT, LAST_PORT - count)  # noqa: S311 - any will do
        if all(_free(first + place) for place in range(count)):
            return first
    raise ServerError(
        f"{count} ports in a row", f"none free from {FIRST_PORT} to {LAST_PORT}", "end other servers, or give port="
    )


def _free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
