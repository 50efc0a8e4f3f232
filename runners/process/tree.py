"""The processes that a server is made of: what was started, and whatever that started in turn."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import psutil

_KERNEL_TELLS = Path("/proc/self/task").is_dir()


def tree(roots: Collection[int]) -> tuple[int, ...]:
    """The processes of these numbers and all their descendants that are there now, the roots first.

    A descendant whose own parent has ended counts no more, as on every Unix.
    """
    found: dict[int, None] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop(0)
        if pid not in found and psutil.pid_exists(pid):
            found[pid] = None
            waiting += _children(pid)
    return tuple(found)


def _children(pid: int) -> list[int]:
    """The direct children of a process; on Linux from its threads' own lists, which costs no look at all others."""
    try:
        if _KERNEL_TELLS:
            lists = [path / "children" for path in Path(f"/proc/{pid}/task").iterdir()]
            return [int(child) for path in lists for child in path.read_text(encoding="ascii").split()]
    except FileNotFoundError:  # a thread has ended meanwhile, or the kernel has no such list
        pass
    except OSError:
        return []
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []
