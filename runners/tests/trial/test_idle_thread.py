"""What is done during a measurement is done, but takes nothing from it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from runners.trial.activity import idle_thread

WAIT_S = 30.0


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="idle priority is Linux's")
def test_work_is_done_on_a_thread_of_idle_priority_and_the_asking_thread_keeps_its_own() -> None:
    policies: list[int] = []
    done = threading.Event()

    def work() -> None:
        policies.append(os.sched_getscheduler(0))
        done.set()

    before = os.sched_getscheduler(0)
    with idle_thread(work) as request:
        request()
        assert done.wait(WAIT_S)
    assert set(policies) == {os.SCHED_IDLE} and os.sched_getscheduler(0) == before


def test_whoever_asks_does_the_work_that_the_thread_finds_no_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that never runs stands for a machine without an idle moment."""
    by: list[int] = []
    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", lambda _self: None)
    with idle_thread(lambda: by.append(threading.get_ident())) as request:
        for _ in range(3):
            request()
    assert by == [threading.get_ident()] * 2


def test_nothing_is_done_twice_at_a_time() -> None:
    begun, go_on, calls = threading.Event(), threading.Event(), 0

    def work() -> None:
        nonlocal calls
        calls += 1
        begun.set()
        assert go_on.wait(WAIT_S)

    with idle_thread(work) as request:
        request()
        assert begun.wait(WAIT_S)
        request()  # it is being done: neither waited for nor done meanwhile
        assert calls == 1
        go_on.set()


def test_what_the_work_raises_is_raised_at_the_end_and_hides_nothing_else() -> None:
    done = threading.Event()

    def work() -> None:
        done.set()
        raise ValueError("broken display")

    with pytest.raises(ValueError, match="broken display"), idle_thread(work) as request:
        request()
        assert done.wait(WAIT_S)
    done.clear()
    with pytest.raises(KeyError, match="other"), idle_thread(work) as request:
        request()
        assert done.wait(WAIT_S)
        raise KeyError("other")
