"""What is done during a measurement is done, but takes nothing from it."""

from __future__ import annotations

import os
import threading
import time
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
    by: list[tuple[int, int]] = []
    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", lambda _self: None)
    with idle_thread(lambda second: by.append((second, threading.get_ident()))) as request:
        for second in range(5):
            request(second)
    assert by == [(second, threading.get_ident()) for second in (1, 3)], "each at most once, and at once"


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


def test_an_error_of_the_work_is_raised_by_the_next_call_so_that_no_later_work_is_dropped() -> None:
    def work() -> None:
        raise ValueError("broken display")

    refused = 0
    with pytest.raises(ValueError, match="broken display"), idle_thread(work) as request:
        for _ in range(int(WAIT_S / 0.01)):
            refused += 1
            request()
            time.sleep(0.01)
    assert 1 < refused < WAIT_S / 0.01


def test_an_error_of_work_that_the_caller_does_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(second: int) -> None:
        done.append(second)
        if second == 1:
            raise ValueError("broken display")

    done: list[int] = []
    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", lambda _self: None)
    with idle_thread(work) as request:
        request(0)
        with pytest.raises(ValueError, match="broken display"):
            request(1)
        for second in (2, 3):
            request(second)
    assert done == [1, 3]
