"""A program (standard library only) that forks a guard for every child of the lab, so that no child outlives the lab.

    python -I guard.py SOCKET_FD

For each child the lab sends four open files over SOCKET_FD: the guard's end of a socket pair, and the child's standard
streams. The guard, a fork of this program, reads a line of JSON from its end (`command`, `directory`, `environment`,
`grace_s`, `stop_signal`), starts the child, and writes a line with its own pid and the child's. Any later byte, or the
end of the lab, makes it stop the child. At the end it writes the CPU seconds of the child and its descendants, and the
exit code. See runners/docs/0001-guard-process.md.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_STREAMS = 3  # standard input, output and error
_ORPHANED_GRACE_S = 1.0  # once the lab is gone


def _own_group_and_die_with_guard() -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a lab in the background of a shell ignores it; the child must not
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _kill_orphans() -> None:
    """Kill and reap the processes that the child left behind, which the guard inherits as subreaper (Linux)."""
    children = f"/proc/self/task/{os.getpid()}/children"
    with contextlib.suppress(OSError):  # ECHILD: none is left
        while True:
            with open(children, encoding="ascii") as left:  # noqa: PTH123 - the program starts faster without pathlib
                for pid in left.read().split():
                    os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _guard(lab: socket.socket) -> None:
    """Run the child that JSON from `lab` describes; stop it on request or if the lab ends; leave no process behind."""
    os.setpgid(0, 0)
    with lab.makefile("r", encoding="ascii") as reading:
        order = json.loads(reading.readline())
    grace_s, stop_signal = float(order["grace_s"]), signal.Signals[order["stop_signal"]]
    if select.select([lab], [], [], 0)[0]:
        return  # the lab is gone already
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    try:
        child = subprocess.Popen(
            order["command"], cwd=order["directory"], env=order["environment"], preexec_fn=_own_group_and_die_with_guard
        )
    except OSError as error:
        print(f"{order['command'][0]}: can't be started: {error.strerror}", file=sys.stderr, flush=True)
        return
    with contextlib.suppress(OSError):
        lab.sendall(f"{os.getpid()} {child.pid}\n".encode())
    deadline: float | None = None
    watched: list[int | socket.socket] = [wake_read, lab]
    while child.poll() is None:
        wait_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select(watched, [], [], wait_s)
        asked = wake_read in ready and signal.SIGTERM in os.read(wake_read, 4096)
        if lab in ready:
            asked = True
            received = b""
            with contextlib.suppress(ConnectionResetError):
                received = lab.recv(256)
            if not received:
                watched.remove(lab)
                grace_s = min(grace_s, _ORPHANED_GRACE_S)
                deadline = None  # an earlier request to stop may have given the child more time
        if asked and deadline is None:
            _signal_group(child.pid, stop_signal)
            _signal_group(child.pid, signal.SIGCONT)  # a frozen child hears no signal
            deadline = time.monotonic() + grace_s
        elif deadline is not None and time.monotonic() >= deadline:
            _signal_group(child.pid, signal.SIGKILL)
            deadline = time.monotonic() + grace_s
    _signal_group(child.pid, signal.SIGKILL)
    _kill_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    with contextlib.suppress(OSError):  # the lab may be gone
        lab.sendall(f"{used.ru_utime + used.ru_stime:.6f} {code}\n".encode())


def main(descriptor: int) -> None:
    """Fork a guard for each child that the lab requests over the socket `descriptor`, until the lab is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects the guards
    lab = socket.socket(fileno=descriptor)
    while True:
        files: list[int] = []
        with contextlib.suppress(ConnectionResetError):
            _, files, _, _ = socket.recv_fds(lab, 1, 1 + _STREAMS)
        if not files:
            return
        if os.fork() == 0:
            try:
                lab.close()
                own, *streams = files
                for number, file in enumerate(streams):
                    os.dup2(file, number)
                    os.close(file)
                _guard(socket.socket(fileno=own))
            except Exception:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        for file in files:
            os.close(file)


if __name__ == "__main__":
    main(int(sys.argv[1]))
