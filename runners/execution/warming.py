"""Warm a server up: closed loops until its compiler has little left to do.

Under a closed loop the compiler's threads share the server's cores with those that serve, and what they have to do
piles up. So they may use the generator's cores too until the server is warm, and between two loops the server is left
alone until they have worked it off.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from runners.analysis.steady_state import not_warm
from runners.design.load import BURST_S, WARM_BOUND, Shape, Workload
from runners.design.session import Trial
from runners.execution.measurement import Measurement
from runners.process.cpu_placement import compilers, compiling_anywhere
from runners.readers.run import Step
from runners.targets.base import Jvm, Target
from runners.trial.activity import available

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


KIND = "warm-up"
#: In the record of each step of a warm-up: its throughput is not that of a server all of whose threads are pinned.
COMPILER = {"compiler_on_any_core": True}
#: For so long at most a server is left alone after one load.
REST_S = 2.0


def warm_up(
    measurement: Measurement,
    name: str,
    server: Target,
    workload: Workload,
    shape: Shape,
    whole_s: float,
    *,
    kind: str = KIND,
    more: Mapping[str, object] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Step:
    """A closed loop on a warm server: the last of as many as it takes; those before are kept under steps/superseded/.

    They end when the compiler rests at the end of one, or with the last that ends within WARM_BOUND times `whole_s`.
    Where the kernel does not tell what threads use, it is one loop of `whole_s`.
    """
    loop_s, bound_s = (min(BURST_S, whole_s), WARM_BOUND * whole_s) if available() else (whole_s, 0.0)
    loop, began = dataclasses.replace(shape, duration_s=loop_s, warmup_s=None), clock()
    more = {**(more or {}), **_compiler_noted(server)}
    with _compiler_freed(server):
        while True:
            step = measurement.step(Trial(name, kind, workload, None, loop), server, more=more)
            left_s = bound_s - (clock() - began) - loop_s
            if not not_warm(step) or left_s < 0 or not server.alive():
                return step
            _await_compiler(server, left_s)


def let_rest(server: Target, step: Step) -> None:
    """Where JIT compilation was unfinished when a step ended, leave it alone until its compiler has worked that off.

    Else it would do so while another server is measured, or itself is measured next.
    """
    if not_warm(step) and server.alive():
        with _compiler_freed(server):
            _await_compiler(server, REST_S)


def _compiler_noted(server: Target) -> dict[str, bool]:
    return COMPILER if isinstance(server, Jvm) else {}


def _compiler_freed(server: Target) -> AbstractContextManager[None]:
    """A JVM's compiler may use every core for a while; other servers have none that is known."""
    return compiling_anywhere(server.pid) if isinstance(server, Jvm) else contextlib.nullcontext()


def _await_compiler(server: Target, bound_s: float) -> None:
    if isinstance(server, Jvm):
        await_rest(partial(compiler_s, server.pid), bound_s)
