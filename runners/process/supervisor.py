"""Processes that can't outlive the lab; free ports for them, their descendants, and their CPU time."""

import contextlib
import json
import os
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from runners import ROOT
from runners.errors import ServerError, ToolError

GUARD = Path(__file__).with_name("guard.py")
GRACE_S, _HELD_GRACE_S = 8.0, 4.0
_STOP = b"stop\n"
_START_TIMEOUT_S = 10.0


class Guards:
    """A program that forks a guard for every child process; the guard stops its child when this process ends."""

    _starting = threading.Lock()
    _program: subprocess.Popen[bytes] | None = None
    _socket: socket.socket | None = None

    def fork(self, own_end: socket.socket, streams: Sequence[int]) -> None:
        """Fork a guard. `own_end`: the guard's socket; `streams`: descriptors of the child's stdin, stdout, stderr."""
        with self._starting:
            if self._socket is None or self._program is None or self._program.poll() is not None:
                self._socket, theirs = socket.socketpair()
                with theirs:
                    command = [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno())]
                    self._program = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                        process_group=0, cwd="/",
                    )  # fmt: skip
            socket.send_fds(self._socket, [b"+"], [own_end.fileno(), *streams])


_GUARDS = Guards()


class Child:
    """A child process with its guard, which ends it when the lab ends. `pid` is the pid of the child, not the guard."""

    def __init__(self, command: Sequence[str], end: socket.socket, stdout: IO[bytes] | None, grace_s: float) -> None:
        self.command = tuple(command)
        self._lab_end, self._stdout, self._grace_s = end, stdout, grace_s
        self._reading = threading.Lock()
        self._received = b""
        self._code: int | None = None
        self._cpu_s: float | None = None
        first = self._line_of_guard() if self._readable(_START_TIMEOUT_S) else b""
        if not first:
            self._close()
            raise ToolError(self.command[0], "can't be started", "check that it is there and may be executed")
        self._guard_pid, self.pid = map(int, first.split())

    def _readable(self, timeout_s: float | None) -> bool:
        return bool(select.select([self._lab_end], [], [], timeout_s)[0])

    def _line_of_guard(self) -> bytes:
        while b"\n" not in self._received:
            more = b""
            with contextlib.suppress(ConnectionResetError):
                more = self._lab_end.recv(256)
            if not more:
                return b""
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        return line

    def wait_up_to(self, timeout_s: float | None) -> bool:
        """Wait up to `timeout_s` (None: no limit), without polling; return whether the process has ended."""
        if self._code is None and (self._received or self._readable(timeout_s)):
            with self._reading:
                if self._code is None:
                    used_s, _, code = self._line_of_guard().decode().partition(" ")
                    self._cpu_s = float(used_s) if used_s else None
                    # a guard that ended without this line was killed, and then the kernel has killed the process
                    self._code = int(code) if code else 128 + signal.SIGKILL
        return self._code is not None

    @property
    def stdout(self) -> IO[bytes]:
        """The child's standard output; only of a child that was started with `stdout=PIPE`."""
        assert self._stdout is not None
        return self._stdout

    def poll(self) -> int | None:
        """Return the exit code (128 + signal if killed); None while the process runs."""
        self.wait_up_to(0)
        return self._code

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the process; return its exit code. Raises subprocess.TimeoutExpired after `timeout_s`."""
        self.wait_up_to(timeout_s)
        if self._code is None:
            raise subprocess.TimeoutExpired(self.command, timeout_s or 0.0)
        return self._code

    @property
    def cpu_s(self) -> float | None:
        """CPU seconds of the process and of all that it started; None until it has ended or if its guard was killed."""
        self.wait_up_to(0)
        return self._cpu_s

    def kill(self) -> None:
        """End the process itself at once (SIGKILL), as a crash does."""
        self._signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """Request by SIGINT that the process finishes early, but still writes its results."""
        self._signal(signal.SIGINT)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def stop(self) -> int:
        """Ask the process to stop, kill it after its grace time, and return the exit code. May be called twice."""
        with contextlib.suppress(OSError):  # the guard has gone, or this was called before
            self._lab_end.sendall(_STOP)
        if not self.wait_up_to(self._grace_s * 2 + 2):
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
    grace_s: float = GRACE_S,  # from the stop signal until it is killed
    directory: Path = ROOT,
    stop_signal: str = "SIGTERM",
) -> Child:
    """Start `command` under a guard, by default in the project's folder. Raises ToolError if it can't be started."""
    order = {
        "command": list(command), "directory": str(directory), "environment": dict(os.environ if env is None else env),
        "grace_s": grace_s, "stop_signal": stop_signal,
    }  # fmt: skip
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
    with contextlib.suppress(OSError):  # if the guard has ended, Child raises the error
        lab_end.sendall(json.dumps(order).encode() + b"\n")
    return Child(command, lab_end, reading, grace_s)


def finished(command: Sequence[str], timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command under a guard in the current folder; return exit code and output. Raises as `start` and `wait`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = start(command, stdout=out, stderr=err, directory=Path.cwd())
        try:
            code = child.wait(timeout_s)
        finally:
            child.stop()
        for file in (out, err):
            file.seek(0)
        printed = (file.read().decode(errors="replace") for file in (out, err))
        return subprocess.CompletedProcess(command, code, *printed)


def pinned(command: Sequence[str], cpus: Sequence[int] | None) -> list[str]:
    """Return `command` bound to `cpus` by taskset; unchanged without `cpus`. Raises ToolError if taskset is absent."""
    if not cpus:
        return list(command)
    if (taskset := shutil.which("taskset")) is None:
        raise ToolError("taskset", "it is not on PATH", "install util-linux, or name no cores")
    return [taskset, "-c", ",".join(map(str, cpus)), *command]


HOST = "127.0.0.1"
#: Below the range from which systems give ports to clients, so that a free port stays free until a server uses it.
FIRST_PORT, LAST_PORT = 20_000, 30_000
_ATTEMPTS = 200


def free_port(count: int = 1) -> int:
    """Return the first of `count` consecutive free ports. Raises ServerError if no attempt succeeds."""
    for _ in range(_ATTEMPTS):
        # the system's random numbers: processes with one seed would try the same ports at the same time
        first = FIRST_PORT + secrets.randbelow(LAST_PORT - count - FIRST_PORT + 1)
        if all(_free(first + place) for place in range(count)):
            return first
    cause = f"none free from {FIRST_PORT} to {LAST_PORT}"
    raise ServerError(f"{count} ports in a row", cause, "end other servers, or give port=")


def _free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_server((HOST, port)):
        return True
    return False


def hold(words: Sequence[str]) -> int:
    """Run Python with arguments until it ends or this process's standard input is closed; return its exit code.

    An SSH server whose connection is gone closes the standard input of a process that it started, but does not end it.
    """
    child = start([sys.executable, *words], stdout=sys.stdout.buffer, stderr=sys.stderr.buffer, grace_s=_HELD_GRACE_S)

    def await_end() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        child.stop()

    threading.Thread(target=await_end, daemon=True).start()
    return child.wait()


if __name__ == "__main__":  # python -m runners.process.supervisor WORDS…, as `python WORDS…`
    sys.exit(hold(sys.argv[1:]))


_CPU_CLOCK = 2  # the kernel's number of the CPU-time clock that its scheduler keeps, see clock_getcpuclockid(3)
_CLOCK_BITS = 3


def tree(roots: Collection[int]) -> tuple[int, ...]:
    """Return the pids of `roots` and of all their descendants that exist now, the roots first."""
    pids: dict[int, None] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop(0)
        if pid in pids or not psutil.pid_exists(pid):
            continue
        pids[pid] = None
        try:  # the kernel lists the children of each thread; psutil looks at all processes
            for thread in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
        except OSError:  # a thread has ended meanwhile, or the kernel has no such list
            with contextlib.suppress(psutil.Error):
                waiting += [child.pid for child in psutil.Process(pid).children()]
    return tuple(pids)


class ProcessClock:
    """The CPU time of processes and of all that they start; an ended process keeps the time of its last reading."""

    def __init__(self, roots: Collection[int]) -> None:
        self.roots, self._used_s = tuple(roots), dict[int, float]()

    def read_s(self) -> float | None:
        """Return CPU seconds so far; None if no process could be read yet."""
        for pid in tree(self.roots):
            if (used_ns := cpu_time_ns(pid)) is not None:
                self._used_s[pid] = used_ns / 1e9
        return sum(self._used_s.values()) if self._used_s else None


def cpu_time_ns(pid: int) -> int | None:
    """Return the CPU time (ns) of a process since its start; None if the process has ended."""
    with contextlib.suppress(OSError):
        return time.clock_gettime_ns((~pid << _CLOCK_BITS) | _CPU_CLOCK)
    return None


_COUNTER = re.compile(r"^(\w*voluntary_ctxt_switches|sysc[rw]):\s*(\d+)", re.MULTILINE)


def activity(roots: Collection[int]) -> dict[str, int | None]:
    """Return the numbers of context switches and of read and write calls of processes and their descendants.

    Switches are summed over living threads; calls of recv and send don't count. A number that /proc lacks is None.
    """
    counters = Counter[str]()
    for pid in tree(roots):
        for path in (*Path(f"/proc/{pid}/task").glob("*/status"), Path(f"/proc/{pid}/io")):
            with contextlib.suppress(OSError, ValueError):
                text = path.read_text(encoding="ascii", errors="replace")
                counters.update({name: int(count) for name, count in _COUNTER.findall(text)})
    return {
        "voluntary_switches": counters.get("voluntary_ctxt_switches"),
        "forced_switches": counters.get("nonvoluntary_ctxt_switches"),
        "read_write_calls": counters["syscr"] + counters["syscw"] if "syscr" in counters else None,
    }
