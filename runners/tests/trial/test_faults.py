"""A process stalls for the planned times, and one that ends is waited for no longer."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runners.design.session import Freeze
from runners.process.supervisor import Child, start
from runners.tests.waiting import until
from runners.trial.faults import Freezer, stopped

NEVER_S = 600.0
#: A wait for what never comes fails the test.
pytestmark = pytest.mark.timeout(NEVER_S / 2)
SHORT = Freeze(at_s=0.0, length_s=0.2)


@pytest.fixture
def child() -> Iterator[Child]:
    child = start([sys.executable, "-c", f"import time; time.sleep({NEVER_S})"])
    yield child
    child.stop()


def test_each_freeze_is_reported_in_its_order(child: Child) -> None:
    freezer = Freezer(child, [SHORT, Freeze(at_s=0.4, length_s=0.2)], lead_s=0.1)
    before = time.time_ns() // 1000
    freezer.begin()
    began = freezer.began_unix_us
    freezer.begin()  # each tick of a load may call it
    first, second = freezer.record(None).freezes
    assert before <= began == freezer.began_unix_us
    assert began + 100_000 <= first.start_unix_us <= first.end_unix_us <= second.start_unix_us
    assert second.start_unix_us >= began + 500_000
    assert first.length_us > 0


def test_a_process_that_died_before_a_freeze_is_not_waited_for(child: Child) -> None:
    freezer = Freezer(child, [SHORT, Freeze(at_s=NEVER_S, length_s=0.2)], lead_s=0.0)
    freezer.begin()
    child.kill()
    assert len(freezer.record(None).freezes) <= 1


def test_a_process_that_dies_while_it_stalls_was_not_frozen_for_a_time_that_could_be_known(child: Child) -> None:
    freezer = Freezer(child, [Freeze(at_s=0.0, length_s=NEVER_S)], lead_s=0.0)
    freezer.begin()
    child.kill()
    assert freezer.record(None).freezes == ()


def test_a_freeze_that_fails_leaves_the_process_running(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(seconds: float) -> bool:
        raise OSError(seconds)

    monkeypatch.setattr(child, "wait_up_to", failing)
    with pytest.raises(OSError):
        stopped(child, time.monotonic() + 0.1)
    assert until(lambda: psutil.Process(child.pid).status() != psutil.STATUS_STOPPED)
    monkeypatch.undo()


def test_a_process_that_was_stopped_before_its_freeze_is_left_alone(child: Child) -> None:
    child.stop()
    assert child.wait_up_to(NEVER_S), "its end is known, without a wait"
    freezer = Freezer(child, [SHORT], lead_s=0.0)
    freezer.begin()
    assert freezer.record(None).freezes == ()
    assert Freezer(child, [SHORT], lead_s=0.0).record(None).freezes == (), "a load that never ticked"


HEART = """
import sys, time
with open(sys.argv[1], "a", buffering=1) as out:
    while True:
        print(time.time(), file=out)
        time.sleep(0.005)
"""


def test_a_frozen_process_stalls_for_the_time_that_is_reported(tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    child = start([sys.executable, "-c", HEART, str(beats)])
    try:
        assert until(lambda: beats.exists() and beats.stat().st_size > 200)
        frozen = stopped(child, time.monotonic() + 0.5)
        size = beats.stat().st_size
        assert until(lambda: beats.stat().st_size > size + 100), "it goes on"
    finally:
        child.stop()
    times_us = [float(line) * 1e6 for line in beats.read_text().splitlines()[:-1]]
    assert frozen is not None and 0 < frozen.length_us <= 1.1 * (frozen.end_unix_us - frozen.start_unix_us + 1_000)
    assert not [at for at in times_us if frozen.start_unix_us < at < frozen.end_unix_us]
    assert max(times_us) > frozen.end_unix_us
