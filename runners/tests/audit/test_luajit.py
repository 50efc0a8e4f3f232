"""The replayed random numbers are LuaJIT's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.audit.audit import examine
from runners.audit.rules import draws
from runners.audit.rules.draws import fractions, integers, replay, writes_that_give
from runners.readers.outputs import find_outputs


def one_by_one(count: int) -> list[float]:
    """The generator as published, a step at a time."""
    states = list(draws._first_states())
    drawn = []
    for _ in range(count):
        states = [draws._step(state, *component) for state, component in zip(states, draws._COMPONENTS, strict=True)]
        mixed = states[0] ^ states[1] ^ states[2] ^ states[3]
        drawn.append(int(mixed[0] & draws._MANTISSA) / 2**52)
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


@pytest.mark.parametrize(
    ("errors", "requests", "threads", "absent_share"),
    [
        (372, 3_959_100, 1, 1 / 10_000),  # key 1 is the request that the generator throws away
        (1_188, 1_335, 1, 0.9),  # only a tenth of the keys was written
        (2_381, 2_675, 2, 0.9),
        (4_769, 5_357, 4, 0.9),
    ],
)
def test_a_published_count_is_replayed(errors: int, requests: int, threads: int, absent_share: float) -> None:
    replayed = replay(errors, requests, threads)
    assert replayed is not None
    assert replayed.chance == pytest.approx(absent_share)
    assert replayed.accident < 0.1
    for other in (errors - 1, errors + 1):
        assert replay(other, requests, threads) is None


def test_a_scripts_own_range_decides_what_is_replayed() -> None:
    assert replay(372, 3_959_100, 1, (10_000,)) is not None
    assert replay(372, 3_959_100, 1, (20_000,)) is None
    replayed = replay(1_188, 1_335, 1, (10_000,))
    assert replayed is not None
    assert "1\u202f000 of 10\u202f000" in replayed.absent


@given(st.integers(1, 200), st.integers(5_000, 200_000))
@settings(max_examples=50, deadline=None)
def test_accidents_are_as_rare_as_they_are_said_to_be(errors: int, requests: int) -> None:
    replayed = replay(errors, requests, 1)
    assert replayed is None or 0 < replayed.accident <= 0.1


def test_a_count_that_chance_would_give_is_no_finding() -> None:
    assert replay(4, 40_000, 1) is None  # a mean of 4: every fifth wrong count would agree
    assert replay(0, 40_000, 1) is None
    assert replay(40_000, 40_000, 1) is None


@pytest.mark.parametrize(
    ("script", "lua", "explained"),
    [("get.lua", "", True), ("get.lua", "math.randomseed(os.time())", False), ("put_get.lua", "", False)],
)
def test_reads_that_draw_other_numbers_are_not_explained(
    script: str, lua: str, explained: bool, tmp_path: Path
) -> None:
    run = "wrk2 -t{} -c6 -d60 -s {} http://localhost:8080\n  6 threads and 6 connections\n"
    runs = [(6, "put.lua", 6_313_440, 0), (6, script, 1_799_671, 310_632), (6, script, 3_594_409, 619_023)]
    text = "".join(
        run.format(threads, name)
        + f"  {requests} requests in 1.00m, 1.00MB read\n"
        + (f"  Non-2xx or 3xx responses: {errors}\n" if errors else "")
        + f"Requests/sec: {requests / 60:.2f}\nTransfer/sec: 1.00MB\n"
        for threads, name, requests, errors in runs
    )
    (tmp_path / "report.md").write_text(text, encoding="utf-8")
    if lua:
        (tmp_path / script).write_text(lua, encoding="utf-8")
    assert ("ERR003" in {remark.code for remark in examine(find_outputs(tmp_path / "report.md").outputs)}) is explained


def test_one_number_of_writes_explains_a_reports_reads() -> None:
    reads = ((254_511, 1_481_384, 1), (310_632, 1_799_671, 6), (619_023, 3_594_409, 6), (938_621, 5_462_639, 6))
    writes = [writes_that_give(*read, 10**6) for read in reads]
    assert None not in writes
    known = [count for count in writes if count is not None]
    assert max(known) - min(known) < 100
    assert abs(known[0] - 6_313_440 / 6) < 0.03 * known[0]  # the longest write run before them, a thread
