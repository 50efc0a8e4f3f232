"""What a server's process takes: memory by kind, bytes read and written, and its store's room on the disk."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from pathlib import Path

from runners.storage.schema import ProcessStatus
from runners.targets.base import Target

REST_S = 0.4  # a store that wrote nothing for so long is at rest
REST_BYTES = 64 * 1024  # logs of the JVM may be written meanwhile
_LOOK_S = 0.1  # the kernel tells nobody that a process has stopped writing: its counter is looked at
_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is
_PAGE_BYTES = 4096  # what most file systems give a file at least
_MEMORY = {"RssAnon": "rss_anon_bytes", "RssFile": "rss_file_bytes", "RssShmem": "rss_shmem_bytes"}


def process(pid: int) -> ProcessStatus:
    """Memory and disk traffic of a process; unknown where the kernel does not tell (Linux only).

    `written_bytes` are those that it made go to a disk, counted when a page becomes dirty, also through a mapping.
    `rss_file_bytes` are mapped files, which the kernel may take back.
    """
    found: dict[str, int] = {}
    try:
        status, io = (Path(f"/proc/{pid}/{name}").read_text(encoding="ascii") for name in ("status", "io"))
    except OSError:
        return ProcessStatus()
    for name, key in _MEMORY.items():
        if value := re.search(rf"^{name}:\s+(\d+) kB", status, re.M):
            found[key] = int(value[1]) * 1024
    for name, key in (("read_bytes", "read_bytes"), ("write_bytes", "written_bytes")):
        if value := re.search(rf"^{name}: (\d+)", io, re.M):
            found[key] = int(value[1])
    return ProcessStatus(**found)


def processes(pids: Collection[int]) -> ProcessStatus:
    """Sum up memory and disk traffic of several processes; what the kernel tells of none stays unknown."""
    found = [process(pid) for pid in pids]
    known = {
        name: [v for each in found if (v := getattr(each, name)) is not None]
        for name in ProcessStatus.__struct_fields__
    }
    return ProcessStatus(**{name: sum(values) for name, values in known.items() if values})


def disk_bytes(folder: Path) -> int:
    """What the files of a folder take on the disk, in whole pages; room that is only reserved is not counted.

    A file that goes meanwhile counts nothing.
    """
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                told = os.lstat(os.path.join(root, name))  # noqa: PTH118 - many files
            except OSError:
                continue
            total += min(told.st_blocks * _BLOCK_BYTES, -(-told.st_size // _PAGE_BYTES) * _PAGE_BYTES)
    return total


def rest(server: Target, bound_s: float) -> float | None:
    """Wait until the server's process writes no more; gives the seconds that took, None when it never rested."""
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
