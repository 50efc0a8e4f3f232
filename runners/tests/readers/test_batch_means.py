"""A variance from influences is that of the textbook's formula, whichever statistic they are of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.readers.batch_means import batch_variance, jackknife_variance, share_variance, t_factor

Floats = npt.NDArray[np.float64]
COUNTS = st.integers(0, 10_000)
VALUES = st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=40).map(
    lambda hundredths: np.array(hundredths, float) / 100
)
#: Requests beyond a level and all requests, or samples of a part and all samples, by batch.
BATCHES = st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=40).map(lambda pairs: np.array(pairs, float).T)


def without_each(values: Floats) -> Floats:
    return np.array([np.delete(values, batch).mean() for batch in range(len(values))])


@given(VALUES)
def test_of_estimates_without_each_batch_it_is_the_jackknifes(left_out: Floats) -> None:
    count = len(left_out)
    textbook = (count - 1) / count * np.sum((left_out - left_out.mean()) ** 2)
    assert jackknife_variance(left_out).value == pytest.approx(float(textbook), rel=1e-9, abs=1e-12)


@given(BATCHES)
def test_of_a_share_it_is_the_ratio_estimators(batches: Floats) -> None:
    part, whole = batches[0], batches.sum(axis=0) + 1
    count, share = len(whole), part.sum() / whole.sum()
    cochran = np.sum((part - share * whole) ** 2) / (count - 1) / count / whole.mean() ** 2
    assert share_variance(part, whole).value == pytest.approx(float(cochran), rel=1e-9, abs=1e-12)


@given(VALUES)
def test_of_a_mean_all_influences_are_the_same(values: Floats) -> None:
    textbook = float(values.var(ddof=1)) / len(values)
    assert share_variance(values, np.ones(len(values))).value == pytest.approx(textbook, rel=1e-9, abs=1e-12)
    assert jackknife_variance(without_each(values)).value == pytest.approx(textbook, rel=1e-9, abs=1e-12)


@given(VALUES)
def test_neighbours_that_vary_together_add_to_it(values: Floats) -> None:
    count, influences = len(values), (values - values.mean()) / len(values)
    alone, together = batch_variance(influences), batch_variance(influences, neighbours=True)
    covariance = float(np.sum(influences[1:] * influences[:-1]) + np.sum(influences**2) / count)
    added = 2 * count / (count - 1) * max(0.0, covariance)
    assert together.value == pytest.approx(alone.value + added, rel=1e-9, abs=1e-12)
    assert 0 < together.degrees <= count / 2 and 0 < alone.degrees <= count - 1


def test_a_variance_that_one_batch_makes_has_few_degrees() -> None:
    spike = np.zeros(40)
    spike[7] = 1.0
    few, many = (batch_variance((values - values.mean()) / 40).degrees for values in (spike, np.arange(40.0)))
    assert few < 3 < many
    assert t_factor(few) > t_factor(many) > 1
