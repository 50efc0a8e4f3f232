"""Intervals of shares cover the truth also when a profile varies over time."""

from __future__ import annotations

import numpy as np
import pytest

from runners.readers.stacks import BATCHES, Batches, wilson
from runners.tests.counts import allowed, rounds

PROFILES = rounds(600, 5_000)
SLICES = 200  # of a tenth of a second
SAMPLES = 6_000


def profile(random: np.random.Generator, share: float, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a part and of all by batch. The part's share wanders: its log odds are an AR(1) series over slices."""
    noise = random.normal(0, spread, SLICES + 50)
    odds = np.zeros(SLICES + 50)
    for k in range(1, len(odds)):
        odds[k] = 0.7 * odds[k - 1] + noise[k]
    busy = random.poisson(SAMPLES / SLICES * random.gamma(8, 1 / 8, SLICES))
    part = random.binomial(busy, np.minimum(1, share * np.exp(odds[50:]) / _mean_of_exp(spread)))
    return part.reshape(BATCHES, -1).sum(axis=1).astype(float), busy.reshape(BATCHES, -1).sum(axis=1).astype(float)


def _mean_of_exp(spread: float) -> float:
    """The mean of exp of the AR(1) series, so that the true share is the one that was asked for."""
    return float(np.exp(spread**2 / (1 - 0.7**2) / 2))


@pytest.mark.parametrize(("share", "spread"), [(0.2, 0.0), (0.2, 0.25), (0.05, 0.35), (0.01, 0.3)])
def test_the_interval_covers_the_true_share(share: float, spread: float, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(11)
    covered = naive = 0
    for _ in range(PROFILES):
        part, whole = profile(random, share, spread)
        seen, total = float(part.sum() / whole.sum()), float(whole.sum())
        low, high = wilson(seen, Batches(whole, {}, total).effective(part))
        covered += low <= share <= high
        low, high = wilson(seen, total)
        naive += low <= share <= high
    with capsys.disabled():
        rate, before = covered / PROFILES, naive / PROFILES
        print(f"\n  share {share}, varying {spread}: covered {rate:.3f} (as independent samples {before:.3f})")
    assert covered / PROFILES >= allowed(0.95, PROFILES)
    if spread == 0.25:
        assert naive / PROFILES < 0.8  # what the batches are for


def test_bounds_are_never_narrower_than_those_of_independent_samples() -> None:
    random = np.random.default_rng(12)
    for _ in range(50):
        part, whole = profile(random, 0.1, 0.2)
        assert Batches(whole, {}, float(whole.sum())).effective(part) <= whole.sum()
    even = np.full(BATCHES, 10.0)
    assert Batches(10 * even, {}, 2_000.0).effective(even) == 2_000.0
