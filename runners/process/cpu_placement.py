"""Placement of threads on cores: more cores for a JVM's compiler for a while; equal CPU shares of servers (Linux only).

Without control groups the scheduler shares a core among threads, so a server with more busy threads gets more of it
(the kernel's cgroup-v2.rst, "CPU"; sched-design-CFS.rst for version 1). Weights of groups matter only while servers
compete for the core.
"""

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from runners.design.session import EQUAL
from runners.process.supervisor import tree

COMPILER = re.compile(r"C[12] Compiler")
_LOOK_S = 0.01  # the kernel announces no new threads of another process


def usable_cpus() -> list[int]:
    """Return the cores that this process may run on."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def compiling_anywhere(pid: int, await_s: float = 0.0) -> Iterator[None]:
    """Let a JVM's compiler threads use all cores while the body runs; wait up to `await_s` until the threads exist."""
    everywhere = usable_cpus()
    with contextlib.suppress(OSError):
        began, pinned = time.monotonic(), _pin(pid, everywhere)
        while not pinned and time.monotonic() - began < await_s:
            time.sleep(_LOOK_S)
            if pinned := _pin(pid, everywhere):
                time.sleep(_LOOK_S)  # a JVM starts its compiler threads one after the other
                _pin(pid, everywhere)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            _pin(pid, os.sched_getaffinity(pid))


def _pin(pid: int, cpus: Iterable[int]) -> int:
    """Bind a process's compiler threads to cores; return their number. Raises OSError if there is no such process."""
    bound = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if COMPILER.match((thread / "comm").read_text(encoding="ascii", errors="replace")):
                os.sched_setaffinity(int(thread.name), cpus)
                bound += 1
    return bound


def proc_text(path: Path | str) -> str:
    """Return the text of a file of the Linux kernel (/proc, /sys); "" if it can't be read."""
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


@contextlib.contextmanager
def equal_groups(servers: Mapping[str, Collection[int]], root: Path = Path("/sys/fs/cgroup")) -> Iterator[str]:
    """Put each server into a control group of equal CPU weight while the body runs; yield "equal" or why it failed.

    `servers`: pids by server name. Afterwards all processes of a server are in the group that its first one came from.
    """
    folder, weight, usual, controller = root / "cpu", "cpu.shares", "1024", "cpu"
    if "cpu" in proc_text(root / "cgroup.subtree_control").split():
        folder, weight, usual, controller = root, "cpu.weight", "100", ""  # a line of version 2 names no controller
    elif not (folder / weight).exists():
        yield "the kernel has no CPU groups here (no cgroup controller 'cpu')"
        return
    made: dict[Path, Path] = {}  # the new groups, with the group that the server was in
    note = EQUAL
    try:
        for name, pids in servers.items():
            group = folder / f"lab-{os.getpid()}-{name}"
            group.mkdir()
            made[group] = _group_of(next(iter(pids), 0), controller, folder)
            (group / weight).write_text(usual, encoding="ascii")
            for pid in tree(pids):
                (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except OSError as error:
        note = f"no CPU groups may be made here ({error.strerror}: {error.filename}); run as root, or delegate 'cpu'"
        _remove(made)
        made.clear()
    try:
        yield note
    finally:
        _remove(made)


def _group_of(pid: int, controller: str, folder: Path) -> Path:
    """Return the folder of a process's CPU group, or `folder`, which holds all groups, if the group is not visible."""
    lines = (line.split(":", 2) for line in proc_text(f"/proc/{pid}/cgroup").splitlines())
    own = folder / next((path for _, names, path in lines if controller in names.split(",")), "").lstrip("/")
    return own if (own / "cgroup.procs").exists() else folder


def _remove(groups: Mapping[Path, Path]) -> None:
    for group, before in groups.items():
        for pid in proc_text(group / "cgroup.procs").split():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                (before / "cgroup.procs").write_text(pid, encoding="ascii")
        with contextlib.suppress(OSError):
            group.rmdir()
