"""Sample what server, generator and machine use while a load runs, and read what a server's process and store take.

A sample is a line of JSON. Memory by kind, bytes read and written and room on the disk are read before and after.
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
            "unix_us": time.time_ns() // 1000, "server": self._server.usage(), "generator": _usage(self._generator),
            "machine": {"busy_s": sum(machine) - idle_s - steal_s, "idle_s": idle_s, "steal_s": steal_s},
            "cores": self._cores,
        }  # fmt: skip
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


REST_S = 0.4  # a store that wrote nothing for so long is at rest
REST_BYTES = 64 * 1024  # logs of the JVM may be written meanwhile
_LOOK_S = 0.1  # the kernel tells nobody that a process has stopped writing: its counter is looked at
_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is
_PAGE_BYTES = 4096  # what most file systems give a file at least
_MEMORY = {"RssAnon": "rss_anon_bytes", "RssFile": "rss_file_bytes", "RssShmem": "rss_shmem_bytes"}


def process_status(pid: int) -> ProcessStatus:
    """Memory and disk traffic of a process; unknown where the kernel does not tell (Linux only).

    `written_bytes` are those that it made go to a disk, counted when a page becomes dirty, also through a mapping.
    `rss_file_bytes` are mapped files, which the kernel may take back.
    """
    fields: dict[str, int] = {}
    try:
        status, io = (Path(f"/proc/{pid}/{name}").read_text(encoding="ascii") for name in ("status", "io"))
    except OSError:
        return ProcessStatus()
    for name, key in _MEMORY.items():
        if value := re.search(rf"^{name}:\s+(\d+) kB", status, re.M):
            fields[key] = int(value[1]) * 1024
    for name, key in (("read_bytes", "read_bytes"), ("write_bytes", "written_bytes")):
        if value := re.search(rf"^{name}: (\d+)", io, re.M):
            fields[key] = int(value[1])
    return ProcessStatus(**fields)


def processes(pids: Collection[int]) -> ProcessStatus:
    """Sum up memory and disk traffic of several processes; what the kernel tells of none stays unknown."""
    statuses = [process_status(pid) for pid in pids]
    known = {
        name: [v for status in statuses if (v := getattr(status, name)) is not None]
        for name in ProcessStatus.__struct_fields__
    }
    return ProcessStatus(**{name: sum(values) for name, values in known.items() if values})


def disk_bytes(folder: Path) -> int:
    """Return what the files of a folder take on the disk, in whole pages; room that is only reserved is not counted.

    A file that goes meanwhile counts nothing.
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
    """Wait until the server's process writes no more; return the seconds waited, None when it never rested."""
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
