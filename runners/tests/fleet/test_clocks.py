"""Clocks of two hosts: the offset is known within the bound that the exchanges give, whatever the path does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.fleet.shares import Clock, Exchange

DELAYS = st.integers(1_000, 50_000_000)
EXCHANGES = st.lists(st.tuples(DELAYS, DELAYS, st.integers(0, 2_000_000)), min_size=1, max_size=40)


def exchanges(offset_ns: int, paths: list[tuple[int, int, int]]) -> list[Exchange]:
    """Exchanges with a clock that is ahead by so much, over paths that take so long there, back, and between."""
    found, now = [], 1_700_000_000_000_000_000
    for there, back, between in paths:
        received = now + there + offset_ns
        found.append(Exchange(now, received, received + between, now + there + between + back))
        now += there + between + back + 1_000
    return found


@given(st.integers(-(10**12), 10**12), EXCHANGES)
def test_the_offset_lies_within_its_uncertainty_however_asymmetric_the_path(
    offset_ns: int, paths: list[tuple[int, int, int]]
) -> None:
    clock = Clock.estimate(exchanges(offset_ns, paths))
    assert abs(clock.offset_ns - offset_ns) <= clock.uncertainty_ns + 1
    assert clock.round_trip_ns == min(there + back for there, back, _ in paths)
    assert clock.exchanges == len(paths)


def test_the_exchange_that_waited_least_counts_and_not_the_mean() -> None:
    queued, direct = (40_000_000, 1_000, 0), (50_000, 50_000, 10_000)
    clock = Clock.estimate(exchanges(7_000_000, [queued] * 20 + [direct]))
    assert (clock.offset_ns, clock.uncertainty_ns) == (7_000_000, 50_000)


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**18))
def test_a_moment_of_one_clock_is_found_again_on_the_other(offset_ns: int, moment_ns: int) -> None:
    clock = Clock(offset_ns, 1)
    assert abs(clock.ours_us((moment_ns + clock.offset_ns) // 1000) - moment_ns // 1000) <= 1


def test_a_clock_that_was_set_is_distinguished_from_one_that_drifts() -> None:
    before = Clock(1_000_000, 50_000)
    assert before.stepped_ns(Clock(1_400_000, 50_000), between_s=1.0) == 0
    assert before.stepped_ns(Clock(-2_000_000_000, 50_000), between_s=60.0) == -2_001_000_000
