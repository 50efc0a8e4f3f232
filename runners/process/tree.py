"""The processes that a server is made of, what was started and whatever that started in turn, and their CPU time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

_KERNEL_TELLS = Path("/proc/self/task").is_dir()
_CPU_CLOCK = 2  # the kernel's number of the clock that the scheduler keeps, see clock_getcpuclockid(3)
_CLOCK_BITS = 3


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


class ProcessClock:
    """Sums up the processor time of a server's processes and of all that they start, from the kernel's clocks (Linux).

    A process that ends counts with what it had used when it was last read.
    """

    def __init__(self, roots: Collection[int]) -> None:
        self._roots, self._used_s = tuple(roots), dict[int, float]()

    def read_s(self) -> float | None:
        """Processor seconds so far; None where there is no process to read."""
        for pid in tree(self._roots):
            if (used_s := _used_s(pid)) is not None:
                self._used_s[pid] = used_s
        return sum(self._used_s.values()) if self._used_s else None


def cpu_time_ns(pid: int) -> int | None:
    """Read what a process has used of processors since its start; None where it has ended, or without such a clock."""
    with contextlib.suppress(OSError, AttributeError):
        return time.clock_gettime_ns((~pid << _CLOCK_BITS) | _CPU_CLOCK)
    return None


def _used_s(pid: int) -> float | None:
    if (used_ns := cpu_time_ns(pid)) is not None:
        return used_ns / 1e9
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return None


@dataclass(frozen=True, slots=True)
class Activity:
    """What the kernel counted of a server: context switches by its own will and by force, and calls to read or write.

    None where /proc does not say. Receiving from and sending to a socket by calls of their own (recv, send) are no
    calls to read or write.
    """

    voluntary_switches: int | None = None
    forced_switches: int | None = None
    read_write_calls: int | None = None


def activity(roots: Collection[int]) -> Activity:
    """Sum up the counters of a server's processes and of all that they started, by their threads that are alive."""
    switches, calls = [0, 0], 0
    known = [False, False]
    for pid in tree(roots):
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            with contextlib.suppress(OSError, ValueError):
                last = status.read_text(encoding="ascii", errors="replace").splitlines()[-2:]
                own = [int(line.rpartition(":")[2]) for line in last if "ctxt_switches" in line]
                if len(own) == 2:
                    switches, known[0] = [a + b for a, b in zip(switches, own, strict=True)], True
        with contextlib.suppress(OSError, ValueError):
            lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
            calls += sum(int(line.rpartition(":")[2]) for line in lines if line.startswith(("syscr", "syscw")))
            known[1] = True
    return Activity(switches[0] if known[0] else None, switches[1] if known[0] else None, calls if known[1] else None)
