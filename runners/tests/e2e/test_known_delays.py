"""The proof of known delays can fail: planted errors, on a quiet machine and on a disturbed one."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.tests.e2e import disturbance
from runners.tests.e2e.disturbance import DisturbedError, undisturbed
from runners.tests.e2e.known_delays import LEVELS, SHARE, TICK_US, KnownDelays, cycle_us, percentile_us
from runners.tests.e2e.waking import SLEEP_S, waking
from runners.tests.waiting import started

LATE_US = 300.0
EXACT = ("truepace", "epoll", "wrk", "blocking")
SHORT_US = [300] * 30 + [800] * 15 + [1_500] * 5  # a hundredth of each is less than 20 us

FREEZE_S = 0.2
DELAY_US = 5_000
REQUEST = b"GET /delayed HTTP/1.1\r\nHost: it\r\n\r\n"


def took_us(cycle: list[int], seed: int = 1) -> list[float]:
    """A server's own times: never shorter than the delay, and longer by some microseconds."""
    rng = np.random.default_rng(seed)
    return [float(delay) + float(rng.exponential(80.0)) for delay in cycle * 4]


def read(name: str, server_us: list[float], error: Callable[[float], float], late_us: float = LATE_US) -> KnownDelays:
    """What a generator with this error says of that server."""
    wrong = [error(time_us) for time_us in server_us]
    return KnownDelays(name, {level: percentile_us(wrong, level) for level in LEVELS}, server_us, late_us)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    ("cycle", "error"),
    [
        (cycle_us(), lambda us: us * (1 + 1.05 * SHARE) + LATE_US),
        (cycle_us(), lambda us: us * (1 - 1.05 * SHARE)),
        (SHORT_US, lambda us: us + 21.0 + LATE_US),
        (SHORT_US, lambda us: us - 21.0),
        (cycle_us(), lambda us: min(us, 260_000.0)),  # it loses what is longest
        (cycle_us(), lambda us: us + 20_000.0 * (us > 220_000.0)),  # it is right at the median alone
    ],
    ids=["1 % long", "1 % short", "20 us long", "20 us short", "its tail is lost", "its tail is long"],
)
def test_a_planted_error_fails_even_where_wake_ups_are_late(
    name: str, cycle: list[int], error: Callable[[float], float]
) -> None:
    with pytest.raises(AssertionError) as failure:
        read(name, took_us(cycle), error).check()
    assert not isinstance(failure.value, DisturbedError)


@given(share=st.floats(-0.9 * SHARE, 0.9 * SHARE), seed=st.integers(0, 2**32 - 1))
def test_what_is_within_a_hundredth_passes(share: float, seed: int) -> None:
    read("truepace", took_us(cycle_us(), seed), lambda us: us * (1 + share)).check()


@given(off_us=st.floats(-19.0, 19.0))
def test_what_is_within_20_us_passes(off_us: float) -> None:
    read("truepace", took_us(SHORT_US), lambda us: us + off_us).check()


def test_wrk2_is_allowed_its_ticks_and_nothing_else_is() -> None:
    ticks = read("wrk2", took_us(SHORT_US), lambda us: us + 1.9 * TICK_US)
    ticks.check()
    with pytest.raises(AssertionError):
        KnownDelays("truepace", ticks.read_us, ticks.took_us, 0.0).check()
    with pytest.raises(AssertionError):
        read("wrk2", took_us(SHORT_US), lambda us: us + 2.1 * TICK_US, 0.0).check()


def test_a_percentile_that_is_missing_fails() -> None:
    seen = read("truepace", took_us(cycle_us()), lambda us: us)
    with pytest.raises(AssertionError):
        KnownDelays("truepace", {0.5: seen.read_us[0.5]}, seen.took_us, seen.late_us).check()


def test_an_error_that_late_wake_ups_can_explain_is_measured_again_and_never_passes() -> None:
    measured = []

    def measure() -> tuple[KnownDelays, float]:
        measured.append(1)
        time.sleep(0.05)  # the machine's counters go by hundredths
        return read("truepace", took_us(cycle_us()), lambda us: us * (1 + SHARE) + 0.5 * LATE_US), 0.0

    with pytest.raises(pytest.skip.Exception, match="wake-ups were up to 300 us late"):
        undisturbed(measure, KnownDelays.check)
    assert len(measured) > 1


@pytest.mark.parametrize(("wrong", "raised"), [((True,), False), ((True, True), True), ((True, False), False)])
def test_what_is_wrong_each_time_is_raised_and_what_was_wrong_once_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, wrong: tuple[bool, ...], raised: bool
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(disturbance, "_counters", lambda: (0.0, 0.0, float(next(seconds))))
    outcomes = itertools.chain(wrong, itertools.repeat(False))

    def check(is_wrong: bool) -> None:
        assert not is_wrong

    with pytest.raises(AssertionError) if raised else contextlib.nullcontext():
        undisturbed(lambda: (next(outcomes), 0.0), check)


@contextlib.contextmanager
def frozen(process: psutil.Process) -> Iterator[None]:
    """The process stalls for a while."""
    process.suspend()
    try:
        yield
        time.sleep(FREEZE_S)
    finally:
        process.resume()


def test_the_witness_sees_that_it_was_woken_late() -> None:
    with waking() as seen:
        (witness,) = started()
        with frozen(witness):
            pass
    assert min(seen.late_us) >= 0 < seen.cpu_s
    assert seen.late_at(1.0) >= (FREEZE_S - SLEEP_S) * 1e6


def test_the_server_keeps_what_it_really_took_also_where_it_woke_up_late() -> None:
    command = [sys.executable, str(Path(__file__).with_name("delay_server.py")), str(DELAY_US)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            with socket.create_connection(("127.0.0.1", port)) as client:
                begin_s = time.monotonic()
                client.sendall(REQUEST)
                assert client.recv(1000).endswith(b"ok")
                with frozen(psutil.Process(server.pid)):
                    client.sendall(REQUEST)
                assert client.recv(1000).endswith(b"ok")
                whole_us = (time.monotonic() - begin_s) * 1e6
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/recorded", timeout=60) as answer:
                usual_us, late_us = json.loads(answer.read())
        finally:
            server.kill()
    assert usual_us >= DELAY_US and usual_us + late_us <= whole_us
    # the kernel stamps the request when it comes in; elsewhere the time begins when a late server has read it
    assert late_us >= (FREEZE_S * 1e6 if sys.platform == "linux" else DELAY_US)
