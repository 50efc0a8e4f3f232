"""A JVM's compiler: wait until it has worked off what it has to do, and give it more room for it (Linux only).

A server that is pinned shares its cores with its compiler, and while it is loaded the compiler gets what is left.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from runners.measure.activity import role
from runners.measure.machine import usable_cpus

LOOK_S = 0.2
AT_REST = 0.05  # of a core, from one look to the next


def compiler_s(pid: int) -> float | None:
    """CPU seconds of a process's compiler threads so far; None where there are none or the kernel does not tell."""
    try:
        used = [int((thread / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9 for thread in _compilers(pid)]
    except (OSError, ValueError, IndexError):
        return None
    return sum(used) if used else None


@contextlib.contextmanager
def compiling_anywhere(pid: int) -> Iterator[None]:
    """For a while, a process's compiler threads may run on every core that this process may use.

    They go back to the process's own cores, those too that the compiler started meanwhile. All others stay pinned. It
    does nothing where the kernel does not tell what threads there are.
    """
    everywhere = usable_cpus()
    with contextlib.suppress(OSError):
        _pin(pid, everywhere)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            _pin(pid, os.sched_getaffinity(pid) if everywhere else ())


def _compilers(pid: int) -> Iterator[Path]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if role((thread / "comm").read_text(encoding="ascii", errors="replace")) == "jit":
                yield thread


def _pin(pid: int, cpus: Iterable[int]) -> None:
    for thread in _compilers(pid) if cpus else ():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)


def await_rest(
    read_s: Callable[[], float | None],
    bound_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float | None:
    """Wait until the compiler rests from one look to the next; give the seconds that took, None when it never did.

    `read_s` gives its CPU seconds so far. A thread of it that ended makes a sum smaller, which counts as rest.
    """
    began = clock()
    before, at = read_s(), began
    while before is not None and clock() - began + LOOK_S <= bound_s:
        sleep(LOOK_S)
        now, now_at = read_s(), clock()
        if now is None or now - before <= AT_REST * (now_at - at):
            return now_at - began
        before, at = now, now_at
    return None
