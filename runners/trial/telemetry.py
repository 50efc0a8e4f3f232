"""Sample CPU time and memory of server, generator and machine during a load, and read a server's footprint around it.

A sample is a line of JSON. The footprint is memory by kind, bytes read and written, and room on the disk.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

import psutil

from runners.process.supervisor import tree
from runners.storage.schema import ProcessStatus
from runners.targets.base import Target


class Telemetry:
    """Appends a sample to `path` at each call of `sample`. Counters are cumulative; readers take differences.

    A sample takes a millisecond: it is taken when a core is idle (see activity.IdleThread), or latencies would show it.
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
            "unix_us": time.time_ns() // 1000, "server": self._server.usage(), "generator": _usage(self._generator),
            "machine": {"busy_s": sum(machine) - idle_s - steal_s, "idle_s": idle_s, "steal_s": steal_s},
            "cores": self._cores,
        }  # fmt: skip
        self._out.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._out.close()


class _Processes:
    """A server's processes with their children. Processor time of processes that have ended still counts."""

    def __init__(self, roots: Collection[int]) -> None:
        self._roots = tuple(roots)
        self._running: dict[int, psutil.Process] = {}
        self._used_s: dict[psutil.Process, float] = {}

    def usage(self) -> dict[str, float] | None:
        """Return their processor time so far and their memory now; None where none of them is there."""
        processes = {pid: self._running.get(pid) or _process(pid) for pid in tree(self._roots)}
        self._running = {pid: process for pid, process in processes.items() if process is not None}
        usages = {process: usage for process in self._running.values() if (usage := _usage(process)) is not None}
        self._used_s |= {process: usage["cpu_s"] for process, usage in usages.items()}
        rss_bytes = sum(usage["rss_bytes"] for usage in usages.values())
        return {"cpu_s": sum(self._used_s.values()), "rss_bytes": rss_bytes} if usages else None


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


REST_S = 0.4  # a store that wrote nothing for so long is at rest
REST_BYTES = 64 * 1024  # logs of the JVM may be written meanwhile
_LOOK_S = 0.1  # the counter is polled, for nothing signals that a process has stopped writing
_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is
_PAGE_BYTES = 4096  # what most file systems give a file at least
_FIELDS = {
    "RssAnon": "rss_anon_bytes", "RssFile": "rss_file_bytes", "RssShmem": "rss_shmem_bytes",
    "read_bytes": "read_bytes", "write_bytes": "written_bytes",
}  # fmt: skip


def process_status(pid: int) -> ProcessStatus:
    """Return memory and disk traffic of a process; None for values that the kernel does not give (Linux only).

    `written_bytes` go to a disk, counted when a page becomes dirty, also through a mapping. `rss_file_bytes` are mapped
    files, which the kernel may take back.
    """
    fields: dict[str, int] = {}
    try:
        text = "".join(Path(f"/proc/{pid}/{name}").read_text(encoding="ascii") for name in ("status", "io"))
    except OSError:
        return ProcessStatus()
    for name, key in _FIELDS.items():
        if value := re.search(rf"^{name}:\s+(\d+)( kB)?$", text, re.M):
            fields[key] = int(value[1]) * (1024 if value[2] else 1)
    return ProcessStatus(**fields)


def processes(pids: Collection[int]) -> ProcessStatus:
    """Return the sums of memory and disk traffic of processes; None for values that the kernel gives of none."""
    statuses, sums = [process_status(pid) for pid in pids], dict[str, int]()
    for name in ProcessStatus.__struct_fields__:
        if values := [value for status in statuses if (value := getattr(status, name)) is not None]:
            sums[name] = sum(values)
    return ProcessStatus(**sums)


def disk_bytes(folder: Path) -> int:
    """Return the bytes of a folder's files on the disk, in whole pages, without room that is only reserved.

    A file that disappears meanwhile is left out.
    """
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - many files
            except OSError:
                continue
            total += min(status.st_blocks * _BLOCK_BYTES, -(-status.st_size // _PAGE_BYTES) * _PAGE_BYTES)
    return total


def rest_s(server: Target, bound_s: float) -> float | None:
    """Wait until the server's processes write no more; return the seconds waited, None if they never rested."""
    began = time.monotonic()
    last, since = processes(server.pids).written_bytes or 0, began
    while (now := time.monotonic()) - began < bound_s:
        time.sleep(_LOOK_S)
        written = processes(server.pids).written_bytes or 0
        if written - last > REST_BYTES:
            last, since = written, time.monotonic()
        elif now - since >= REST_S:
            return since - began
    return None
