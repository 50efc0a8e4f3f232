"""A process that holds one child and never lets it outlive the lab. Run as a script, standard library alone.

The lab keeps one end of a socket, the guard the other. When the lab goes away, by whatever death, the kernel closes
the lab's end; the guard reads the end of file and stops the child: STOP_SIGNAL, then SIGKILL after the grace time, to
the child's group; what it started outside of its group is killed when it has ended. Should the guard itself be killed,
the kernel kills the child (PR_SET_PDEATHSIG, Linux). Guard and child have process groups of their own, so Ctrl-C in
the lab's terminal does not reach the child: the lab decides. They stay in the lab's session, for a kernel that
schedules by session (`sched_autogroup_enabled`) knows no priorities between one session and another: the lab's idle
threads would hold up the server.

    python -I guard.py SOCKET_FD GRACE_S STOP_SIGNAL COMMAND...

It writes the child's pid and a newline to the socket, at its end the processor time in seconds that the child and what
it started took, and a newline; and it ends with the child's exit code (128 + signal if killed).
"""

import contextlib
import ctypes
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


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _own_group_and_die_with_guard() -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a lab in the background of a shell ignores it; the child must not
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _kill_orphans() -> None:
    """Kill and collect what the child left behind, which as its subreaper the guard has inherited (Linux)."""
    children = f"/proc/self/task/{os.getpid()}/children"
    with contextlib.suppress(OSError):  # ECHILD: none is left
        while True:
            with open(children, encoding="ascii") as left:  # noqa: PTH123 - the guard starts faster without pathlib
                for pid in left.read().split():
                    os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def main(arguments: list[str]) -> int:
    """Start the command, wait for its end or for the lab's, leave nothing behind."""
    lab = socket.socket(fileno=int(arguments[0]))
    grace_s, stop_signal, command = float(arguments[1]), signal.Signals[arguments[2]], arguments[3:]
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    try:
        child = subprocess.Popen(command, preexec_fn=_own_group_and_die_with_guard)
    except OSError as error:
        print(f"{command[0]}: can't be started: {error.strerror}", file=sys.stderr)
        return 127
    with contextlib.suppress(OSError):
        lab.sendall(f"{child.pid}\n".encode())
    deadline: float | None = None
    while child.poll() is None:
        wait_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        watched = [wake_read] if deadline else [wake_read, lab.fileno()]
        ready, _, _ = select.select(watched, [], [], wait_s)
        woken = os.read(wake_read, 4096) if wake_read in ready else b""
        if deadline is None and (lab.fileno() in ready or signal.SIGTERM in woken):
            _signal_group(child.pid, stop_signal)
            _signal_group(child.pid, signal.SIGCONT)  # a frozen child hears no signal
            deadline = time.monotonic() + grace_s
        elif deadline is not None and time.monotonic() >= deadline:
            _signal_group(child.pid, signal.SIGKILL)
            deadline = time.monotonic() + grace_s
    _signal_group(child.pid, signal.SIGKILL)
    _kill_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with contextlib.suppress(OSError):  # the lab may be gone
        lab.sendall(f"{used.ru_utime + used.ru_stime:.6f}\n".encode())
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
