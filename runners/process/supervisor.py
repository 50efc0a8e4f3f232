"""Start processes that can't outlive the lab, on ports that are free, and stop them in order."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
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
_STOP = b"stop\n"
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


class Guards:
    """The program that forks a guard for each child. It starts with the first one and ends with this process."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def fork(self, own_end: socket.socket, streams: Sequence[int]) -> None:
        """Fork a guard that holds one end of a socket pair and a child's standard input, output and error."""
        with self._starting:
            if self._socket is None or self._program is None or self._program.poll() is not None:
                self._socket, theirs = socket.socketpair()
                with theirs:
                    self._program = subprocess.Popen(
                        [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno())],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        pass_fds=[theirs.fileno()],
                        process_group=0,
                        cwd="/",
                    )
            socket.send_fds(self._socket, [b"+"], [own_end.fileno(), *streams])


_GUARDS = Guards()


class Child:
    """A process under its guard. `pid` is the process itself, not the guard."""

    def __init__(self, command: Sequence[str], lab_end: socket.socket, stdout: IO[bytes] | None) -> None:
        self.command = tuple(command)
        self._lab_end, self._stdout = lab_end, stdout
        self._reading = threading.Lock()
        self._said = b""
        self._code: int | None = None
        self._cpu_s: float | None = None
        first = self._line() if self._readable(_START_TIMEOUT_S) else b""
        if not first:
            self._close()
            raise ToolError(self.command[0], "can't be started", "check that it is there and may be executed")
        self._guard_pid, self.pid = map(int, first.split())

    def _readable(self, timeout_s: float | None) -> bool:
        return bool(select.select([self._lab_end], [], [], timeout_s)[0])

    def _line(self) -> bytes:
        """The next line of the guard; empty when it has gone without one."""
        while b"\n" not in self._said:
            more = b""
            with contextlib.suppress(ConnectionResetError):
                more = self._lab_end.recv(256)
            if not more:
                return b""
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return line

    def _ended(self, timeout_s: float | None) -> bool:
        """Whether the process ends within that time. Sleeps on the guard's socket: no polling beside a measurement."""
        if self._code is None and (self._said or self._readable(timeout_s)):
            with self._reading:
                if self._code is None:
                    used_s, _, code = self._line().decode().partition(" ")
                    self._cpu_s = float(used_s) if used_s else None
                    # without a word the guard was killed, and so the kernel has killed the process
                    self._code = int(code) if code else 128 + signal.SIGKILL
        return self._code is not None

    @property
    def stdout(self) -> IO[bytes]:
        """The child's standard output, when it was started with a pipe."""
        assert self._stdout is not None
        return self._stdout

    def poll(self) -> int | None:
        """The exit code (128 + signal when killed), or None while it runs."""
        self._ended(0)
        return self._code

    def wait(self, timeout_s: float | None = None) -> int:
        """The exit code. Raises subprocess.TimeoutExpired."""
        self._ended(timeout_s)
        if self._code is None:
            raise subprocess.TimeoutExpired(self.command, timeout_s or 0.0)
        return self._code

    def wait_up_to(self, timeout_s: float) -> bool:
        """Whether it ended within that time."""
        return self._ended(timeout_s)

    @property
    def cpu_s(self) -> float | None:
        """Processor time of the process and of what it started, in seconds, once it has ended."""
        self._ended(0)
        return self._cpu_s

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
        with contextlib.suppress(OSError):  # the guard has gone, or this was called before
            self._lab_end.sendall(_STOP)
        if not self._ended(grace_s * 2 + 2):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._guard_pid, signal.SIGKILL)  # the kernel then kills the child
        code = self.wait()
        self._close()
        return code

    def _close(self) -> None:
        self._lab_end.close()
        if self._stdout is not None:
            self._stdout.close()


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
    order = {
        "command": list(command),
        "directory": str(directory),
        "environment": dict(os.environ if env is None else env),
        "grace_s": grace_s,
        "stop_signal": stop_signal,
    }
    with contextlib.ExitStack() as given:
        nothing = given.enter_context(Path(os.devnull).open("r+b", buffering=0)).fileno()
        reading: IO[bytes] | None = None
        out = stdout if isinstance(stdout, int) else stdout.fileno()
        if out == subprocess.PIPE:
            read_end, out = os.pipe()
            reading = os.fdopen(read_end, "rb")
            given.callback(os.close, out)
        elif out == subprocess.DEVNULL:
            out = nothing
        err = stderr if isinstance(stderr, int) else stderr.fileno()
        err = {subprocess.DEVNULL: nothing, subprocess.STDOUT: out}.get(err, err)
        lab_end, guard_end = socket.socketpair()
        given.enter_context(guard_end)
        _GUARDS.fork(guard_end, (nothing, out, err))
    with contextlib.suppress(OSError):  # a guard that has gone can't start it, which its end says
        lab_end.sendall(json.dumps(order).encode() + b"\n")
    return Child(command, lab_end, reading)


def finished(command: Sequence[str], timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run `command` under a guard to its end, in the present folder; gives its exit code and what it printed.

    Raises ToolError where it can't be started, subprocess.TimeoutExpired where it takes longer.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = start(command, stdout=out, stderr=err, directory=Path.cwd())
        try:
            code = child.wait(timeout_s)
        finally:
            child.stop()
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(command, code, *printed)


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
