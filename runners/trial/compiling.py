"""A JVM's compiler: wait until it has worked off what it has to do (Linux only).

A server that is pinned shares its cores with its compiler, and while it is loaded the compiler gets what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from runners.process.cpu_placement import compilers

LOOK_S = 0.2
AT_REST = 0.05  # of a core, from one look to the next


def compiler_s(pid: int) -> float | None:
    """CPU seconds of a process's compiler threads so far; None where there are none or the kernel does not tell."""
    try:
        used = [int((thread / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9 for thread in compilers(pid)]
    except (OSError, ValueError, IndexError):
        return None
    return sum(used) if used else None


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
