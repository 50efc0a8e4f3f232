"""The replayed random numbers are LuaJIT's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.analysis import luajit
from runners.analysis.luajit import fractions, integers


def one_by_one(count: int) -> list[float]:
    """The generator as published, a step at a time."""
    states = list(luajit._first_states())
    drawn = []
    for _ in range(count):
        states = [luajit._step(state, *component) for state, component in zip(states, luajit._COMPONENTS, strict=True)]
        mixed = states[0] ^ states[1] ^ states[2] ^ states[3]
        drawn.append(int(mixed[0] & luajit._MANTISSA) / 2**52)
    return drawn


def test_many_lanes_draw_what_one_draws() -> None:
    assert np.array_equal(fractions(20_000), one_by_one(20_000))


@given(st.integers(1, 60_000))
@settings(max_examples=20, deadline=None)
def test_a_longer_sequence_begins_like_a_shorter_one(count: int) -> None:
    assert np.array_equal(fractions(count), fractions(70_000)[:count])


def test_the_counts_that_the_published_reports_show() -> None:
    assert int((integers(3_959_100, 10_000) == 1).sum()) == 372
    first = integers(1_336, 10_000)
    assert int((first[1:] <= 1_000).sum()) == 147
    assert int(integers(1, 2)[0]) == 2  # so a script that draws its method once never writes


@given(st.integers(-5, 5), st.integers(0, 1_000))
@settings(deadline=None)
def test_numbers_lie_between_their_bounds(low: int, width: int) -> None:
    drawn = integers(5_000, low + width, low)
    assert drawn.min() >= low
    assert drawn.max() <= low + width


def test_draws_are_even_enough() -> None:
    counts = np.bincount(integers(1_000_000, 100))[1:]
    assert abs(counts - 10_000).max() < 5 * 100  # five standard deviations
