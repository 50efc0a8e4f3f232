"""Give servers that run side by side a CPU group of equal weight each, where the kernel allows it (Linux, cgroups).

Without groups the scheduler shares a core among threads, so that a server with more busy threads gets more of it. In
groups of equal weight each server has the same share, however many threads it has (the kernel's cgroup-v2.rst, "CPU";
sched-design-CFS.rst for version 1). A group bounds nothing while the core has room: weights count under contention.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.process.tree import tree

ROOT = Path("/sys/fs/cgroup")
EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class _Form:
    """Where groups are made, the file of a group's weight, and the weight that every group has."""

    folder: Path
    weight: str
    usual: str


def _form(root: Path) -> _Form | None:
    """Find the version of the kernel's groups that gives some of one's own; None without one."""
    if "cpu" in _text(root / "cgroup.subtree_control").split():
        return _Form(root, "cpu.weight", "100")
    first = _Form(root / "cpu", "cpu.shares", "1024")
    return first if (first.folder / first.weight).exists() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


@contextlib.contextmanager
def equal_groups(servers: Mapping[str, Collection[int]], root: Path = ROOT) -> Iterator[str]:
    """Put each server's processes into a group of its own while the body runs; gives "equal", or why they have none.

    `servers`: processes by name. Afterwards the processes are where they were, and the groups are gone.
    """
    form = _form(root)
    if form is None:
        yield "the kernel has no CPU groups here (no cgroup controller 'cpu')"
        return
    made: list[Path] = []
    note = EQUAL
    try:
        for name, pids in servers.items():
            group = form.folder / f"lab-{os.getpid()}-{name}"
            group.mkdir()
            made.append(group)
            (group / form.weight).write_text(form.usual, encoding="ascii")
            for pid in tree(pids):
                (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except OSError as error:
        note = f"no CPU groups may be made here ({error.strerror}: {error.filename}); run as root, or delegate 'cpu'"
        _remove(form.folder, made)
        made = []
    try:
        yield note
    finally:
        _remove(form.folder, made)


def _remove(folder: Path, groups: list[Path]) -> None:
    """Move what is in the groups back into the folder's own, and remove them."""
    for group in groups:
        for pid in _text(group / "cgroup.procs").split():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                (folder / "cgroup.procs").write_text(pid, encoding="ascii")
        with contextlib.suppress(OSError):
            group.rmdir()
