"""Clocks of two hosts: the offset is known within the bound that the exchanges give, whatever the path does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.fleet.shares import Exchange, estimated, stepped_us
from runners.storage.schema import ClockRecord

DELAYS = st.integers(1_000, 50_000_000)
EXCHANGES = st.lists(st.tuples(DELAYS, DELAYS, st.integers(0, 2_000_000)), min_size=1, max_size=40)


def exchanges(offset_ns: int, paths: list[tuple[int, int, int]]) -> list[Exchange]:
    """Exchanges with a clock that is ahead by so much, over paths that take so long there, back, and between."""
    exchanged, now = [], 1_700_000_000_000_000_000
    for there, back, between in paths:
        received = now + there + offset_ns
        exchanged.append(Exchange(now, received, received + between, now + there + between + back))
        now += there + between + back + 1_000
    return exchanged


@given(st.integers(-(10**12), 10**12), EXCHANGES)
def test_the_offset_lies_within_its_uncertainty_however_asymmetric_the_path(
    offset_ns: int, paths: list[tuple[int, int, int]]
) -> None:
    clock = estimated(exchanges(offset_ns, paths))
    assert abs(clock.offset_us * 1e3 - offset_ns) <= clock.uncertainty_us * 1e3 + 1.5
    assert clock.round_trip_us == min(there + back for there, back, _ in paths) / 1e3
    assert clock.exchanges == len(paths)


def test_the_exchange_that_waited_least_counts_and_not_the_mean() -> None:
    queued, direct = (40_000_000, 1_000, 0), (50_000, 50_000, 10_000)
    clock = estimated(exchanges(7_000_000, [queued] * 20 + [direct]))
    assert (clock.offset_us, clock.uncertainty_us) == (7_000.0, 50.0)


def test_a_clock_that_was_set_is_distinguished_from_one_that_drifts() -> None:
    before = ClockRecord(offset_us=1_000.0, uncertainty_us=50.0)
    assert stepped_us(before, ClockRecord(offset_us=1_400.0, uncertainty_us=50.0), between_s=1.0) == 0
    moved = stepped_us(before, ClockRecord(offset_us=-2_000_000.0, uncertainty_us=50.0), between_s=60.0)
    assert moved == -2_001_000.0
