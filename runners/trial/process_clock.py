"""Read the processor time of a server from its processes' own clocks, which count nanoseconds (Linux)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection

import psutil

from runners.process.tree import tree

_CPU_CLOCK = 2  # the kernel's number of the clock that the scheduler keeps, see clock_getcpuclockid(3)
_CLOCK_BITS = 3


class ProcessClock:
    """Sums up what a server's processes use, with all that they start.

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


def _used_s(pid: int) -> float | None:
    with contextlib.suppress(OSError, AttributeError):
        return time.clock_gettime_ns((~pid << _CLOCK_BITS) | _CPU_CLOCK) / 1e9
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return None
