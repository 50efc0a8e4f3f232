"""Measure while nothing else runs: a measurement that other work disturbed is made again, and counted."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import psutil

T = TypeVar("T")

#: Share of one core that others may use during a measurement.
FOREIGN_LIMIT = 0.05
#: A machine that is never calm is measured as it is after so many attempts.
ATTEMPTS = 3


def _own_s(server_pids: Iterable[int]) -> float:
    """CPU seconds of this process, of its children that have ended, and of the servers."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for server in (psutil.Process(pid).cpu_times() for pid in server_pids):
        total += server.user + server.system
    return total


def _busy_s() -> float:
    """CPU seconds of the whole machine that were not idle, the hypervisor's share included."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.values()) - times["idle"] - times.get("iowait", 0.0) - times.get("guest", 0.0))


@dataclass(slots=True)
class Calm:
    """Makes measurements again that were disturbed. `repeated` holds the foreign share of each that was dropped.

    What the servers of `server_pids` use is our own; they run as long as they are in it.
    """

    server_pids: list[int] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    disturbed: int = 0

    def measure(self, take: Callable[[], T], most: int | None = None) -> T:
        """The first calm result, or the last of the attempts: `most`, where they are to be fewer than usual."""
        attempts = min(most or ATTEMPTS, ATTEMPTS)
        for attempt in range(attempts):
            busy, own, begun = _busy_s(), _own_s(self.server_pids), time.monotonic()
            result = take()
            elapsed = max(time.monotonic() - begun, 1e-3)
            foreign = (_busy_s() - busy - (_own_s(self.server_pids) - own)) / elapsed
            if foreign <= FOREIGN_LIMIT:
                return result
            if attempt + 1 < attempts:
                self.repeated.append(round(foreign, 3))
        self.disturbed += 1
        return result

    def sentence(self) -> str:
        """What was done about the disturbances."""
        return (
            f"other work disturbed {len(self.repeated)} measurements, which were made again; "
            f"{self.disturbed} stayed disturbed"
        )
