"""What the server, the generator and the machine used while a load ran: one JSON line a sample."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TextIO

import psutil


class Telemetry:
    """Appends a sample to `path` at each call of `sample`. Counters are cumulative; `read` takes differences.

    A sample costs a few reads of /proc (below a millisecond), once a second, so that it can't make a tail itself.
    """

    def __init__(self, path: Path, server_pid: int) -> None:
        self._out: TextIO = path.open("a", encoding="utf-8", buffering=1)
        self._server = _process(server_pid)
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
            "server": _usage(self._server),
            "generator": _usage(self._generator),
            "machine": {"busy_s": sum(machine) - idle_s - steal_s, "idle_s": idle_s, "steal_s": steal_s},
            "cores": self._cores,
        }
        self._out.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._out.close()


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
