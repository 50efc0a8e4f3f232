"""Samples of server, generator and machine during a load; memory, disk use and disk traffic of a server's processes."""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import psutil

from runners.process.supervisor import ProcessClock, tree
from runners.storage.schema import ProcessStatus
from runners.targets.group import Target


@contextlib.contextmanager
def telemetry(path: Path, server_pids: Collection[int]) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the generator's pid and appends a sample to `path`; a call takes a millisecond."""
    server, generator, cores = ProcessClock(server_pids), ProcessClock(()), psutil.cpu_count() or 1
    with path.open("a", encoding="utf-8", buffering=1) as out:

        def sample(generator_pid: int) -> None:
            nonlocal generator
            if generator.roots != (generator_pid,):
                generator = ProcessClock((generator_pid,))
            machine = psutil.cpu_times()
            steal_s = getattr(machine, "steal", 0.0)
            idle_s = machine.idle + getattr(machine, "iowait", 0.0)
            line = {
                "unix_us": time.time_ns() // 1000, "server": _usage(server), "generator": _usage(generator),
                "machine": {"busy_s": sum(machine) - idle_s - steal_s, "idle_s": idle_s, "steal_s": steal_s},
                "cores": cores,
            }  # fmt: skip
            out.write(json.dumps(line) + "\n")

        yield sample


def _usage(clock: ProcessClock) -> dict[str, float | None] | None:
    resident = []
    for pid in tree(clock.roots):
        with contextlib.suppress(psutil.Error):
            resident.append(psutil.Process(pid).memory_info().rss)
    return {"cpu_s": clock.read_s(), "rss_bytes": sum(resident)} if resident else None


REST_S = 0.4  # a store whose process has written at most REST_BYTES for so long is at rest
REST_BYTES = 64 * 1024  # logs of the JVM may be written meanwhile
_LOOK_S = 0.1  # the counter is polled, for nothing signals that a process has stopped writing
_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is
_PAGE_BYTES = 4096  # the unit in which most file systems give room to files
#: Fields of /proc/PID/status and io, with our names. RssFile: mapped files; write_bytes: grows when a page gets dirty.
_FIELDS = {
    "RssAnon": "rss_anon_bytes", "RssFile": "rss_file_bytes",
    "read_bytes": "read_bytes", "write_bytes": "written_bytes",
}  # fmt: skip


def process_status(pid: int) -> ProcessStatus:
    """Return memory and disk traffic of a process; None for values that the kernel does not give (Linux only)."""
    fields: dict[str, int] = {}
    with contextlib.suppress(OSError):
        text = "".join(Path(f"/proc/{pid}/{name}").read_text(encoding="ascii") for name in ("status", "io"))
        for name, key in _FIELDS.items():
            if value := re.search(rf"^{name}:\s+(\d+)( kB)?$", text, re.M):
                fields[key] = int(value[1]) * (1024 if value[2] else 1)
    return ProcessStatus(**fields)


def processes(pids: Collection[int]) -> ProcessStatus:
    """Return memory and disk traffic, summed over processes; None for a value that no process has."""
    statuses, sums = [process_status(pid) for pid in pids], dict[str, int]()
    for name in ProcessStatus.__struct_fields__:
        if values := [value for status in statuses if (value := getattr(status, name)) is not None]:
            sums[name] = sum(values)
    return ProcessStatus(**sums)


def disk_bytes(folder: Path) -> int:
    """Return the disk space (bytes) of a folder's files, in whole pages, without space reserved beyond their ends."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - many files
                total += min(status.st_blocks * _BLOCK_BYTES, -(-status.st_size // _PAGE_BYTES) * _PAGE_BYTES)
    return total


def rest_s(server: Target, bound_s: float) -> float | None:
    """Wait until a server's processes stop writing; return the seconds until then, None if they go on for `bound_s`."""
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
