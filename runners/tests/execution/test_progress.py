"""Progress: a bar where somebody looks, lines in a log, and a kernel that does not outlive `lab run`."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.display import HTML

from runners.execution.progress import (
    ADDRESS,
    BarSink,
    Event,
    LineSink,
    Moment,
    NotebookSink,
    Progress,
    Sink,
    listening,
)
from runners.tests.waiting import gone

KERNEL = """
import time
from runners.execution.progress import Progress, sink
progress = Progress(10.0, sink())
with progress.part("load lsm", 5.0) as tick:
    tick(2.5)
progress.say("built")
print("sent", flush=True)
time.sleep(60)
"""


class Memory(Sink):
    """A sink that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lines: list[str] = []
        self.closed = False

    def show(self, event: Event) -> None:
        self.events.append(event)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def rest(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True


@given(st.lists(st.tuples(st.floats(0, 100), st.lists(st.floats(0, 300), max_size=5)), max_size=10))
def test_progress_never_goes_back_beyond_a_part_and_never_over_its_total(
    parts: list[tuple[float, list[float]]],
) -> None:
    memory = Memory()
    progress = Progress(100.0, memory)
    for planned_s, ticks in parts:
        with progress.part("x", planned_s) as show:
            for tick in sorted(ticks):
                show(tick)
    done = [event.done_s for event in memory.events]
    assert done == sorted(done)
    assert all(event.done_s <= event.total_s for event in memory.events)


def test_what_is_known_better_by_now_changes_the_whole_and_not_what_is_done() -> None:
    memory = Memory()
    progress = Progress(100.0, memory)
    with progress.part("load", 10.0):
        pass
    with progress.part("fill", 30.0, in_plan_s=5.0) as tick:
        tick(20.0)
    with progress.part("load", 85.0):
        pass
    assert [(event.done_s, event.total_s) for event in memory.events] == [
        (0.0, 100.0), (10.0, 125.0), (30.0, 125.0), (40.0, 125.0),
    ]  # fmt: skip


def test_a_log_gets_plain_lines_with_share_and_time_left() -> None:
    out = io.StringIO()
    sink = LineSink(out)
    for done_s in (0.0, 1.0, 2.0):
        sink.show(Event(done_s, 200.0, "load lsm PUT"))
    sink.show(Event(100.0, 200.0, "load lsm GET"))
    lines = out.getvalue().splitlines()
    assert len(lines) == 2 and "\r" not in out.getvalue()
    assert lines[0] == "[  0%] 03:20 left  load lsm PUT" and lines[1].startswith("[ 50%]")


def test_a_notebook_has_one_live_line_a_cell_that_goes_and_keeps_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[str] = []
    updated: list[str] = []

    class Handle:
        def update(self, shown: HTML) -> None:
            updated.append(str(shown.data))

    def display(shown: HTML, display_id: bool) -> Handle:
        displayed.append(str(shown.data))
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    out = io.StringIO()
    sink = NotebookSink(out)
    sink.show(Event(100.0, 200.0, "load <lsm>", Moment(990.0, 100.0, 900.0)))
    sink.say("LSM PUT: measured")
    sink.note("wrk2 is left out")
    sink.rest()
    assert len(displayed) == 1 and "[ 50%]" in displayed[0] and "load &lt;lsm&gt;" in displayed[0]
    assert "LSM PUT: measured" in updated[0] and updated[-1] == ""
    assert out.getvalue() == "wrk2 is left out\n"


def test_a_terminal_gets_a_bar() -> None:
    out = io.StringIO()
    bar = BarSink(out)
    bar.show(Event(50.0, 100.0, "load lsm"))
    bar.say("a line")
    bar.close()
    assert "50 %" in out.getvalue() and "load lsm" in out.getvalue() and "a line\n" in out.getvalue()


def test_a_kernel_reports_to_lab_run_and_ends_with_it() -> None:
    lab_run = (
        "import os, subprocess, sys, threading\n"
        "from runners.execution.progress import listening, LineSink\n"
        # written at once: a buffer would be lost with the process
        "class Out:\n"
        "    shown, flush = threading.Event(), lambda self: None\n"
        "    def write(self, text):\n"
        "        os.write(1, text.encode())\n"
        "        if 'load lsm' in text: self.shown.set()\n"
        "out = Out()\n"
        "with listening(LineSink(out)) as address:\n"
        f"    kernel = subprocess.Popen([sys.executable, '-c', {KERNEL!r}], stdout=subprocess.PIPE,\n"
        f"        env=dict(os.environ, {ADDRESS}=address))\n"
        "    kernel.stdout.readline()\n"
        "    out.shown.wait(60)\n"
        "    os.write(1, b'pid %d\\n' % kernel.pid)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", lab_run], capture_output=True, text=True, timeout=120, check=False)
    assert "load lsm" in done.stdout
    pid = int(done.stdout.split("pid ")[1].split()[0])
    assert gone(pid), "the kernel lives on"


def test_events_arrive_in_order() -> None:
    memory = Memory()
    with listening(memory) as address:
        env = dict(os.environ, **{ADDRESS: address})
        kernel = subprocess.Popen([sys.executable, "-c", KERNEL], stdout=subprocess.PIPE, env=env)
        assert kernel.stdout is not None
        kernel.stdout.readline()
        kernel.kill()
        kernel.wait()
    assert [event.done_s for event in memory.events][:2] == [0.0, 2.5]
    assert memory.closed


def test_a_block_that_took_less_than_planned_leaves_the_rest_of_the_plan() -> None:
    """Of 100 s a block has 80: after two parts of 10 s it is done, and 20 s are left."""
    shown = Memory()
    progress = Progress(100.0, shown)
    with progress.block(80.0):
        for _ in range(2):
            with progress.part("a load", 10.0):
                pass
    with progress.part("the report", 20.0):
        pass
    assert (shown.events[-1].done_s, shown.events[-1].total_s) == (20.0, 40.0)


def test_a_part_that_no_plan_has_makes_the_whole_longer() -> None:
    shown = Memory()
    progress = Progress(100.0, shown)
    with progress.part("sentinel", 6.0, in_plan_s=0.0):
        pass
    with progress.part("a load", 10.0):
        pass
    assert (shown.events[-1].done_s, shown.events[-1].total_s) == (6.0, 106.0)
