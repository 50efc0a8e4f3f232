"""Changes of level are found where they were planted and, in a quiet history, nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from runners.analysis.steady_state import FEWEST_RUNS, changes, usual

HISTORIES = 400 if os.environ.get("LAB_LONG") else 60
Noise = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def _spiky(chance: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """A quiet machine on which one run in twelve is disturbed."""
    noise = chance.normal(0, 0.03, count)
    noise[chance.random(count) < 1 / 12] += 0.3
    return noise


NOISES: dict[str, Noise] = {
    "normal": lambda chance, count: chance.normal(0, 0.05, count),
    "heavy-tailed": lambda chance, count: 0.03 * chance.standard_t(3, count),
    "spiky": _spiky,
}


def at_most(share: float) -> int:
    """The largest count of HISTORIES that a true share of this size explains (99.9 %)."""
    return int(binom.ppf(0.999, HISTORIES, share))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("runs", [8, 20])
def test_a_history_without_a_change_shows_none(noise: str, runs: int) -> None:
    chance = np.random.default_rng(7)
    wrong = sum(bool(changes(100 * np.exp(NOISES[noise](chance, runs)))) for _ in range(HISTORIES))
    print(f"{noise}, {runs} runs: a change was seen in {wrong} of {HISTORIES} histories without one")
    assert wrong <= at_most(0.06)


@pytest.mark.parametrize("noise", ["normal", "heavy-tailed"])
def test_a_planted_shift_is_found_where_it_is_and_its_interval_holds_it(noise: str) -> None:
    chance = np.random.default_rng(8)
    detected = held = 0
    for _ in range(HISTORIES):
        level = NOISES[noise](chance, 20)
        level[10:] += np.log(1.2)
        near = [change for change in changes(100 * np.exp(level)) if abs(change.index - 10) <= 1]
        detected += bool(near)
        held += bool(near) and near[0].low <= 1.2 <= near[0].high
    print(f"{noise}: +20 % found in {detected} of {HISTORIES}, inside its interval in {held}")
    assert detected >= HISTORIES - at_most(0.05)
    assert held >= detected - at_most(0.05)


def test_the_usual_range_holds_the_next_run() -> None:
    chance = np.random.default_rng(9)
    held = 0
    for _ in range(HISTORIES):
        values = 90 * np.exp(chance.normal(0, 0.05, 13))
        bounds = usual([float(value) for value in values[:-1]])
        assert bounds is not None
        held += bounds[0] <= values[-1] <= bounds[1]
    print(f"the next run lay in the usual range in {held} of {HISTORIES}")
    assert held >= HISTORIES - at_most(0.05)


@given(st.lists(st.floats(1e-3, 1e9), max_size=30))
def test_any_figures_are_taken(values: list[float]) -> None:
    shifts = changes(values)
    assert shifts == changes(values)  # the same history tells the same
    assert all(0 < change.index < len(values) for change in shifts)
    assert [change.index for change in shifts] == sorted({change.index for change in shifts})
    assert len(values) >= FEWEST_RUNS or not shifts


def test_a_constant_history_has_no_change() -> None:
    assert changes([5.0] * 30) == []
    assert usual([5.0] * (FEWEST_RUNS - 1)) is None
