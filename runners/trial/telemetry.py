"""What the server, the generator and the machine used while a load ran: one JSON line a sample."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

import psutil

from runners.process.tree import tree


class Telemetry:
    """Appends a sample to `path` at each call of `sample`. Counters are cumulative; `read` takes differences.

    A sample costs a millisecond, so it is taken when a core is idle (see activity.IdleThread), or it would be a tail.
    """

    def __init__(self, path: Path, server_pids: Collection[int]) -> None:
        self._out: TextIO = path.open("a", encoding="utf-8", buffering=1)
        self._server = _Processes(server_pids)
        self._generator: psutil.Process | None = None
        self._cores = psutil.cpu_count() or 1

    def sample(self, generator_pid: int) -> None:
        if self._generator is None or self._generator.pid != generator_pid:
            self._generator = _process(generator_pid)
        machine = psutil.cpu_times()
        steal_s = getattr(machine, "steal", 0.0)
        idle_s = machine.idle + getattr(machine, "iowait", 0.0)
        line = {
            "unix_us": time.time_ns() // 1000,
            "server": self._server.usage(),
            "generator": _usage(self._generator),
            "machine": {"busy_s": sum(machine) - idle_s - steal_s, "idle_s": idle_s, "steal_s": steal_s},
            "cores": self._cores,
        }
        self._out.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._out.close()


class _Processes:
    """A server's processes with all that they start. Processor time of those that end still counts."""

    def __init__(self, roots: Collection[int]) -> None:
        self._roots = tuple(roots)
        self._there: dict[int, psutil.Process] = {}
        self._used_s: dict[psutil.Process, float] = {}

    def usage(self) -> dict[str, float] | None:
        """Their processor time so far and their memory now; None where there is none of them."""
        rss_bytes, seen = 0.0, False
        there = {pid: self._there.get(pid) or _process(pid) for pid in tree(self._roots)}
        self._there = {pid: process for pid, process in there.items() if process is not None}
        for process in self._there.values():
            if (used := _usage(process)) is not None:
                seen = True
                self._used_s[process] = used["cpu_s"]
                rss_bytes += used["rss_bytes"]
        return {"cpu_s": sum(self._used_s.values()), "rss_bytes": rss_bytes} if seen else None


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _usage(process: psutil.Process | None) -> dict[str, float] | None:
    if process is None:
        return None
    try:
        times = process.cpu_times()
        return {"cpu_s": times.user + times.system, "rss_bytes": process.memory_info().rss}
    except psutil.Error:
        return None
