"""Percentiles of merged counts are those of the sorted samples, and their bounds hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.readers.console_report import beyond, rank
from runners.readers.samples import Samples, bound_ranks
from runners.tests.counts import allowed, rounds


def samples_of(values: list[int]) -> Samples:
    unique, counts = np.unique(np.array(values, np.int64), return_counts=True)
    return Samples(unique.astype(np.float64), counts.astype(np.int64))


values = st.lists(st.integers(1, 5_000), min_size=1, max_size=200)
levels = st.sampled_from((0.5, 0.75, 0.9, 0.99, 0.999, 1.0))


@given(values, levels)
def test_percentile_is_the_sample_at_its_rank(samples: list[int], level: float) -> None:
    ordered = sorted(samples)
    assert samples_of(samples).percentile(level) == ordered[rank(len(ordered), level) - 1]


@given(st.lists(values, min_size=1, max_size=6), levels)
def test_merging_loses_nothing(parts: list[list[int]], level: float) -> None:
    merged = Samples.merge(samples_of(part) for part in parts)
    everything = [value for part in parts for value in part]
    assert merged.total == len(everything)
    assert merged.percentile(level) == samples_of(everything).percentile(level)


@given(values)
def test_spectrum_rises_and_ends_with_all_samples(samples: list[int]) -> None:
    frame = samples_of(samples).spectrum("response")
    assert frame["value_us"].is_monotonic_increasing
    assert frame["percentile"].is_monotonic_increasing
    assert frame["percentile"].iloc[-1] == 1
    assert frame["total_count"].iloc[-1] == len(samples)
    assert frame["value_us"].iloc[-1] == max(samples)


def test_bounds_of_known_numbers_of_samples() -> None:
    low, high = bound_ranks(40_000, 0.999)
    assert low is not None
    assert high is not None
    assert [low / 40_000, high / 40_000] == pytest.approx([0.99868, 0.99930], abs=3e-5)
    assert beyond(40_000, 0.9999) == 4
    low, high = bound_ranks(400_000, 0.9999)
    assert low is not None
    assert high is not None
    assert [low / 400_000, high / 400_000] == pytest.approx([0.99987, 0.99993], abs=1e-5)
    assert bound_ranks(1_000, 0.999)[1] is None  # then the bound is beyond the maximum
    assert bound_ranks(0, 0.5) == (None, None)
    assert bound_ranks(10, 1.0) == (None, None)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_bounds_hold_the_true_percentile_in_95_of_100(level: float) -> None:
    random = np.random.default_rng(7)
    truth = -math.log(1 - level) * 1_000
    hits, count = 0, rounds(400, 2_000)
    for _ in range(count):
        drawn = random.exponential(1_000, 2_000)
        samples = samples_of([int(value) + 1 for value in drawn])
        low, high = map(samples.at_rank, bound_ranks(samples.total, level))
        hits += low <= truth + 1 and truth <= high
    print(f"p{100 * level:g} of independent requests: coverage of nominal 95 % {hits / count:.3f}, {count} samples")
    assert hits / count >= allowed(0.95, count)


def test_requests_without_an_answer_make_a_lower_bound() -> None:
    answered, waiting = samples_of([10] * 90), samples_of([5] * 5 + [500] * 5)
    frame = answered.percentiles("response", waiting)
    values = dict(zip(frame["percentile"], frame["value_us"], strict=True))
    bounds = dict(zip(frame["percentile"], frame["at_least"], strict=True))
    assert (values[0.5], bounds[0.5]) == (10, False)
    assert (values[0.99], bounds[0.99]) == (500, True)
    most = dict(zip(frame["percentile"], frame["most_us"], strict=True))
    assert most[0.5] == 10 and math.isnan(most[0.99])
    alone = answered.percentiles("response")
    assert not alone["at_least"].any() and (alone["most_us"] == alone["value_us"]).all()


@given(
    st.lists(st.integers(1, 1_000), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(1, 1_000), st.integers(0, 5_000)), max_size=20),
)
def test_whenever_they_had_been_answered_the_percentiles_lie_within_what_is_reported(
    answered: list[int], waiting: list[tuple[int, int]]
) -> None:
    reported = samples_of(answered).percentiles("response", samples_of([waited for waited, _ in waiting]))
    truth = samples_of([*answered, *(waited + more for waited, more in waiting)])
    for row in reported.to_dict("records"):
        at = truth.percentile(row["percentile"])
        assert row["value_us"] <= at
        assert math.isnan(row["most_us"]) or at <= row["most_us"]
        assert row["at_least"] == (row["value_us"] != row["most_us"])


def test_no_samples_make_no_rows() -> None:
    nothing = Samples.merge([])
    assert nothing.percentiles("response").empty
    assert nothing.spectrum("response").empty
    assert math.isnan(nothing.percentile(0.5))
    assert math.isnan(nothing.max_us)
    assert Samples.merge([]).total == 0
