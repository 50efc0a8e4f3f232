"""Measure while nothing else runs: a measurement that other work disturbed is made again, and counted."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import psutil

T = TypeVar("T")

#: Share of one core that others may use during a measurement.
FOREIGN_LIMIT = 0.05
#: A machine that is never calm is measured as it is after so many attempts.
ATTEMPTS = 3


def _own_s(server_pid: int) -> float:
    """CPU seconds of this process, of its children that have ended, and of the server."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    server = psutil.Process(server_pid).cpu_times()
    return total + float(server.user + server.system)


def _busy_s() -> float:
    """CPU seconds of the whole machine that were not idle, the hypervisor's share included."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.values()) - times["idle"] - times.get("iowait", 0.0) - times.get("guest", 0.0))


@dataclass(slots=True)
class Calm:
    """Makes measurements again that were disturbed. `repeated` holds the foreign share of each that was dropped."""

    server_pid: int
    repeated: list[float] = field(default_factory=list)
    disturbed: int = 0

    def measure(self, take: Callable[[], T]) -> T:
        """The first calm result, or the last of the attempts."""
        for attempt in range(ATTEMPTS):
            busy, own, begun = _busy_s(), _own_s(self.server_pid), time.monotonic()
            result = take()
            elapsed = max(time.monotonic() - begun, 1e-3)
            foreign = (_busy_s() - busy - (_own_s(self.server_pid) - own)) / elapsed
            if foreign <= FOREIGN_LIMIT:
                return result
            if attempt + 1 < ATTEMPTS:
                self.repeated.append(round(foreign, 3))
        self.disturbed += 1
        return result

    def sentence(self) -> str:
        """What was done about the disturbances."""
        return (
            f"other work disturbed {len(self.repeated)} measurements, which were made again; "
            f"{self.disturbed} stayed disturbed"
        )
