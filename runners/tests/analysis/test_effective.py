"""Intervals of percentiles within one run hold the truth, also where requests share their fate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.analysis import facts, intervals
from runners.analysis.intervals import Blocks
from runners.tests.counts import allowed, rounds
from runners.tests.fixtures.latency_process import SLICE_S, process, step_of

LEVELS = (0.5, 0.9, 0.99, 0.999, 0.9999)


def blocks(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Blocks:
    known, where = np.unique(values, return_inverse=True)
    counts = np.zeros((len(values), len(known)), np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(values)), values.shape[1]), where.ravel()), 1)
    return Blocks(np.arange(len(values), dtype=np.float64) * SLICE_S, known.astype(float), counts)


@pytest.mark.parametrize(
    ("name", "seconds", "memory", "stalls"),
    [
        ("independent", 13, 0.0, 0.0),
        ("alike for 0.2 s", 13, 0.5, 0.0),
        ("alike for 0.5 s", 13, 0.8, 0.0),
        pytest.param("alike for 0.5 s", 60, 0.8, 0.0, marks=pytest.mark.long),
        pytest.param("stalls", 60, 0.5, 0.01, marks=pytest.mark.long),
        ("stalls unlike each other", 60, 0.5, 0.1),
        ("few stalls unlike each other", 60, 0.5, 0.01),
    ],
)
def test_intervals_hold_the_truth(name: str, seconds: int, memory: float, stalls: float) -> None:
    random = np.random.default_rng(7)
    spread = 0.15 if memory else 0.0
    unlike = "unlike" in name
    long_run = process(random, rounds(8_000, 40_000), memory=memory, spread=spread, stalls=stalls, unlike=unlike)
    truth = np.quantile(long_run, LEVELS)
    count = rounds(15, 1_000)
    held, open_sides = dict.fromkeys(LEVELS, 0), dict.fromkeys(LEVELS, 0)
    for _ in range(count):
        seen = blocks(process(random, seconds, memory=memory, spread=spread, stalls=stalls, unlike=unlike))
        for level, value in zip(LEVELS, truth, strict=True):
            low, high = intervals.bounds(seen, level)
            held[level] += not (value < low * 0.995 or value > high * 1.005)
            open_sides[level] += math.isnan(low + high)
    shares = {level: number / count for level, number in held.items()}
    left_open = {level: number / count for level, number in open_sides.items()}
    print(f"coverage of nominal 95 %, {name}, {seconds} s, {count} runs: {shares}; a side left open in {left_open}")
    assert min(shares.values()) >= allowed(0.95, count)


def design_effect(blocks: Blocks, level: float) -> float:
    over = blocks.counts[:, blocks.index(level) + 1 :].sum(axis=1)
    return intervals.design_effect(over, blocks.counts.sum(axis=1))


def test_dependent_requests_count_for_fewer() -> None:
    random = np.random.default_rng(3)
    alone = blocks(process(random, 30, spread=0.0))
    alike = blocks(process(random, 30, memory=0.9, spread=0.3))
    assert design_effect(alone, 0.5) < 4
    assert design_effect(alike, 0.5) > 50


def test_one_spike_is_named_and_its_interval_is_wide() -> None:
    values = process(np.random.default_rng(5), 13, spread=0.05)
    values[62:64] = 313_000
    step = step_of(values)
    p99 = facts.at(step, 0.99)
    assert p99 is not None and p99.value == 313_000
    assert p99.low < 1_000, "a run in which it did not happen is as likely"
    without_us = intervals.without_its_second(step, 0.99)
    assert without_us is not None and without_us < 1_000
    assert intervals.without_its_second(step_of(process(np.random.default_rng(5), 13)), 0.99) is None


def test_stalls_all_over_a_run_are_no_spike() -> None:
    assert intervals.without_its_second(step_of(process(np.random.default_rng(5), 13, stalls=0.2)), 0.99) is None


def test_what_the_log_does_not_tell_keeps_its_bounds() -> None:
    step = step_of(process(np.random.default_rng(5), 13))
    step.frames["histograms"] = step.frames["histograms"].iloc[:0]
    p99 = facts.at(step, 0.99)
    assert p99 is not None and p99.bounded
    assert intervals.without_its_second(step, 0.99) is None


def test_bounds_enclose_the_value_and_never_fall_below_the_independent_ones() -> None:
    step = step_of(process(np.random.default_rng(6), 20, memory=0.5, stalls=0.01))
    rows = step.frames["percentiles"].set_index("percentile")[["low_us", "high_us"]].to_dict("index")
    for level in (0.5, 0.9, 0.99, 0.999):
        value = facts.at(step, level)
        assert value is not None
        assert not value.low > rows[level]["low_us"] and not value.high < rows[level]["high_us"]


def test_few_stretches_or_one_value_give_no_bound_and_no_error() -> None:
    single = Blocks(np.zeros(1), np.array([5.0]), np.array([[9]]))
    assert all(math.isnan(side) for side in intervals.bounds(single, 0.5))
    same = Blocks(np.arange(9.0), np.array([5.0]), np.full((9, 1), 4))
    assert all(math.isnan(side) for side in intervals.bounds(same, 0.99))
