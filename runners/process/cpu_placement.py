"""On which cores threads may run, and more of them for a while for a JVM's compiler (Linux only).

A server that is pinned shares its cores with its compiler. While it starts or warms up nothing is measured, so its
compiler may use the generator's cores too.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

COMPILER = re.compile(r"C[12] Compiler")
_LOOK_S = 0.01  # the kernel tells nobody of another process's new threads: they are looked for


def usable_cpus() -> list[int]:
    """The cores this process may run on; empty where the system does not say (macOS)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextlib.contextmanager
def compiling_anywhere(pid: int, await_s: float = 0.0) -> Iterator[None]:
    """For a while, a process's compiler threads may run on every core that this process may use.

    They go back to the process's own cores, those too that the compiler started meanwhile. All others stay pinned. Of a
    process that has just begun they are awaited up to `await_s`. It does nothing where the kernel does not tell what
    threads there are.
    """
    everywhere = usable_cpus()
    with contextlib.suppress(OSError):
        began, found = time.monotonic(), _pin(pid, everywhere)
        while not found and time.monotonic() - began < await_s:
            time.sleep(_LOOK_S)
            if found := _pin(pid, everywhere):
                time.sleep(_LOOK_S)  # a JVM starts them one after the other
                _pin(pid, everywhere)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            _pin(pid, os.sched_getaffinity(pid) if everywhere else ())


def compilers(pid: int) -> Iterator[Path]:
    """The compiler threads of a process, as folders below /proc. Raises OSError where there is no such process."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if COMPILER.match((thread / "comm").read_text(encoding="ascii", errors="replace")):
                yield thread


def _pin(pid: int, cpus: Iterable[int]) -> int:
    """Bind a process's compiler threads; tells how many there were."""
    found = 0
    for thread in compilers(pid) if cpus else ():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)
            found += 1
    return found
