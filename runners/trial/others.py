"""Who else used the processor while something ran: the processes that are none of what is measured, by name."""

from __future__ import annotations

import os
import time
from collections.abc import Collection

import psutil

from runners.storage.schema import OtherProcess

MOST = 3
LEAST_CORES = 0.02  # less is not worth a name
OWN = "this lab"


class Others:
    """Counts from its making on. What has begun or ended meanwhile is not seen."""

    def __init__(self, measured_pids: Collection[int]) -> None:
        self._measured = frozenset(measured_pids)
        self._began, self._before = time.monotonic(), _used_s()

    def busiest(self) -> tuple[OtherProcess, ...]:
        """Up to MOST of them, the busiest first."""
        elapsed_s = time.monotonic() - self._began
        found = [
            OtherProcess(name=name, cores=round((used_s - self._before[key][1]) / elapsed_s, 3))
            for key, (name, used_s) in _used_s().items()
            if key in self._before and key[0] not in self._measured
        ]
        worth = sorted((each for each in found if each.cores >= LEAST_CORES), key=lambda each: -each.cores)
        return tuple(worth[:MOST])


def _used_s() -> dict[tuple[int, float], tuple[str, float]]:
    """CPU seconds of every process by its number and start, for a number may be given again."""
    found: dict[tuple[int, float], tuple[str, float]] = {}
    for process in psutil.process_iter(("name", "cpu_times", "create_time")):
        about = process.info
        if about["cpu_times"] is not None:
            name = OWN if process.pid == os.getpid() else str(about["name"])
            times = about["cpu_times"]
            found[process.pid, about["create_time"]] = name, times.user + times.system
    return found
