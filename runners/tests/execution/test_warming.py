"""A server is warmed up until its compiler rests, within its time; the loop that counts is the last."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runners.analysis.steady_state import compiling_cores
from runners.design.load import BURST_S, PUT, WARM_BOUND, Shape
from runners.design.session import Trial
from runners.execution import measurement
from runners.execution.measurement import AT_REST, LOOK_S, Measurement, await_rest_s, warm_up
from runners.process.cpu_placement import compiling_anywhere, usable_cpus
from runners.readers.run import Step, frame
from runners.targets.lab_server import RunningServer
from runners.tests.report.steps import step as made_step
from runners.tests.report.steps import times
from runners.tests.waiting import LIMIT_S

WHOLE_S = 5.0


def compiling(folder: Path, cores: Sequence[float], step_s: float = 0.1) -> Step:
    """A step whose compiler used so many cores in each tenth of a second."""
    step = made_step(folder, "warm", times(100, 100.0))
    rows = [
        {"t_s": index * step_s, "length_s": step_s, "kind": kind, "busy_ms": share * step_s * 1000}
        for index, cores_then in enumerate(cores)
        for kind, share in (("jit", cores_then), ("serving", 0.9))
    ]
    step.frames["activity"] = frame("activity", rows)
    return step


@dataclass
class Clock:
    """Time passes where a loop runs and where somebody sleeps, and nowhere else."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass
class Loops:
    """A measurement whose closed loops end with the compiler as planned; the last plan is true of all that follow."""

    folder: Path
    ends: Sequence[float]
    clock: Clock
    lengths_s: list[float] = field(default_factory=list)

    def step(self, trial: Trial, *_: object, **__: object) -> Step:
        shape = trial.shape
        assert shape.duration_s is not None
        cores = self.ends[min(len(self.lengths_s), len(self.ends) - 1)]
        self.lengths_s.append(shape.duration_s)
        self.clock.now_s += shape.duration_s
        return compiling(self.folder, [0.5] * 20 + [cores] * 10)


def warmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Sequence[float], *, reported: bool = True) -> Any:
    clock = Clock()
    loops = Loops(tmp_path, ends, clock)
    monkeypatch.setattr(measurement, "available", lambda: reported)
    monkeypatch.setattr(measurement, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(measurement, "await_rest_s", lambda _read_s, bound_s: clock.sleep(min(0.4, bound_s)))
    server = RunningServer.__new__(RunningServer)
    server.pid, server.alive = -1, lambda: True  # type: ignore[method-assign]
    step = warm_up(cast(Measurement, loops), "warm", server, PUT, Shape(4), WHOLE_S)
    return SimpleNamespace(step=step, loops=loops.lengths_s, took_s=clock.now_s)


def test_a_warm_up_ends_when_the_compiler_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert warmed(tmp_path, monkeypatch, [0.01]).loops == [BURST_S]
    later = warmed(tmp_path, monkeypatch, [0.6, 0.3, 0.01])
    assert later.loops == [BURST_S] * 3 and compiling_cores(later.step) == pytest.approx(0.01)


def test_a_warm_up_ends_in_its_time_whatever_the_compiler_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never = warmed(tmp_path, monkeypatch, [0.9])
    assert len(never.loops) > 1 and never.took_s <= WARM_BOUND * WHOLE_S


def test_where_the_kernel_does_not_tell_it_is_one_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert warmed(tmp_path, monkeypatch, [0.9], reported=False).loops == [WHOLE_S]


def test_what_counts_is_the_last_second(tmp_path: Path) -> None:
    assert compiling_cores(compiling(tmp_path, [0.8] * 20 + [0.1] * 10)) == pytest.approx(0.1)
    assert compiling_cores(compiling(tmp_path, [0.1] * 20 + [0.8] * 10)) == pytest.approx(0.8)
    assert compiling_cores(made_step(tmp_path, "other", times(100, 100.0))) is None


def test_the_compiler_rests_when_it_uses_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for busy_looks in (0, 3):
        clock = Clock()
        monkeypatch.setattr(measurement, "time", SimpleNamespace(monotonic=clock, sleep=clock.sleep))
        used = [0.5 * LOOK_S * look for look in range(busy_looks + 1)]
        used.append(used[-1] + 0.9 * AT_REST * LOOK_S)
        assert await_rest_s(iter(used).__next__, 10.0) == pytest.approx((busy_looks + 1) * LOOK_S)


def test_a_compiler_that_never_rests_is_not_waited_for_longer_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(measurement, "time", SimpleNamespace(monotonic=clock, sleep=clock.sleep))
    assert await_rest_s(lambda: clock.now_s, 1.0) is None and clock.now_s <= 1.0
    assert await_rest_s(lambda: None, 1.0) is None


#: A process with two compiler threads and one that serves; tells their numbers and waits.
THREADS = """
import sys, threading
numbers, started = {}, threading.Barrier(4)
def run(name):
    open("/proc/thread-self/comm", "w").write(name)
    numbers[name] = threading.get_native_id()
    started.wait()
    sys.stdin.read()
names = ("C1 CompilerThre", "C2 CompilerThre", "NIO Selector #0")
for name in names:
    threading.Thread(target=run, args=(name,)).start()
started.wait()
print(*(numbers[name] for name in names), flush=True)
"""


@pytest.mark.skipif(len(usable_cpus()) < 2 or not Path("/proc/self/task").exists(), reason="one core, or not Linux")
def test_only_the_compiler_may_leave_the_servers_cores_and_only_for_a_while() -> None:
    everywhere = set(usable_cpus())
    own = {min(everywhere)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-S", "-c", THREADS], stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        first, later, serving = (int(number) for number in child.stdout.readline().split())
        for thread in (child.pid, first, later, serving):
            os.sched_setaffinity(thread, own)
        with compiling_anywhere(child.pid):
            assert os.sched_getaffinity(first) == os.sched_getaffinity(later) == everywhere
            assert os.sched_getaffinity(serving) == os.sched_getaffinity(child.pid) == own
        assert all(os.sched_getaffinity(thread) == own for thread in (first, later, serving, child.pid))
        child.stdin.close()


@pytest.mark.skipif(len(usable_cpus()) < 2 or not Path("/proc/self/task").exists(), reason="one core, or not Linux")
def test_the_compiler_of_a_process_that_has_just_begun_is_awaited() -> None:
    own = {min(usable_cpus())}
    late = THREADS.replace("names = ", "import time; sys.stdin.readline(); time.sleep(0.2)\nnames = ")
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-S", "-c", late], stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        os.sched_setaffinity(child.pid, own)
        child.stdin.write("\n")
        child.stdin.flush()
        with compiling_anywhere(child.pid, LIMIT_S):
            first, later, serving = (int(number) for number in child.stdout.readline().split())
            assert os.sched_getaffinity(first) == set(usable_cpus())
            assert os.sched_getaffinity(serving) == own
        assert all(os.sched_getaffinity(thread) == own for thread in (first, later, serving))
        child.stdin.close()


def test_a_process_without_a_compiler_is_not_awaited_for_ever() -> None:
    began = time.monotonic()
    with compiling_anywhere(os.getpid(), 0.05):
        assert time.monotonic() - began >= 0.05


def test_a_process_that_is_gone_has_no_compiler_to_pin() -> None:
    with compiling_anywhere(-1):
        pass
