"""Planted warm-ups are found by the second, noise is steady, drifts never are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from runners.analysis.steady_state import DRIFT, change_points, steadiness, steady_from
from runners.readers.run import Step, complete, frame
from runners.tests.counts import allowed, rounds
from runners.tests.fixtures.latency_process import step_of as recorded

Values = npt.NDArray[np.float64]


def step_of(medians: Values, rate: Values | None = None, jit_ms: Values | None = None) -> Step:
    """A step of these seconds."""
    answered = np.full(len(medians), 1_000.0) if rate is None else rate
    rows = [
        {"t_s": float(t), "kind": "response", "count": 1_000, "p50_us": float(p50), "completed": float(done)}
        for t, (p50, done) in enumerate(zip(medians, answered, strict=True))
    ]
    base = recorded(np.full((1, 1), 100, np.int64))
    frames = {**complete({"intervals": frame("intervals", rows)})}
    if jit_ms is not None:
        t_s = np.arange(len(jit_ms), dtype=float)
        frames["activity"] = pd.DataFrame({"t_s": t_s, "length_s": 1.0, "kind": "jit", "busy_ms": jit_ms})
    return Step(base.name, base.record, base.folder, frames)


def flat(random: np.random.Generator, seconds: int, noise: float) -> Values:
    made: Values = 100 * np.exp(random.normal(0, noise, seconds))
    return made


@pytest.mark.parametrize("seconds", [13, 60, 180])
@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_a_planted_warm_up_is_found_to_the_second(seconds: int, noise: float) -> None:
    random, count = np.random.default_rng(1), rounds(20, 500)
    detected = 0
    for _ in range(count):
        warm = int(random.integers(2, max(3, seconds // 3)))
        medians = flat(random, seconds, noise)
        medians[:warm] *= 1 + 0.6 * np.linspace(1, 0.3, warm)
        steady = steadiness(step_of(medians)).steady is True
        detected += steady and abs(steady_from(np.log(medians), DRIFT) - warm) <= 1
    print(f"warm-up in {seconds} s, noise {noise:.0%}: found to the second in {detected / count:.1%} of {count}")
    assert detected / count >= allowed(0.94, count)


@pytest.mark.parametrize(("seconds", "noise"), [(13, 0.01), (60, 0.01), (60, 0.03), (180, 0.03)])
def test_noise_is_steady_and_a_drift_is_not(seconds: int, noise: float) -> None:
    random, count = np.random.default_rng(2), rounds(20, 500)
    steady = sum(steadiness(step_of(flat(random, seconds, noise))).steady is True for _ in range(count))
    drifts = flat(random, seconds, noise) * np.linspace(1, 1.6, seconds)
    drifting = sum(
        steadiness(step_of(flat(random, seconds, noise) * np.linspace(1, 1.6, seconds))).steady is False
        for _ in range(count)
    )
    print(
        f"{seconds} s, noise {noise:.0%}: noise steady in {steady / count:.1%}, drift never in {drifting / count:.1%}"
    )
    assert steady / count >= allowed(0.93, count)
    assert drifting / count >= allowed(0.97, count)
    assert steadiness(step_of(drifts)).steady is False


def test_the_compiler_counts_too() -> None:
    random = np.random.default_rng(3)
    early, late = (np.where(np.arange(30) < end, 400.0, 1.0) for end in (8, 20))
    assert steadiness(step_of(flat(random, 30, 0.01), jit_ms=early)).steady
    assert steadiness(step_of(flat(random, 30, 0.01), jit_ms=late)).changing == ("JIT compilation",)


def test_the_rate_counts_too() -> None:
    random = np.random.default_rng(4)
    early, late = (np.where(np.arange(30) < end, 700.0, 1_000.0) for end in (5, 20))
    assert steadiness(step_of(flat(random, 30, 0.01), early)).steady
    assert steadiness(step_of(flat(random, 30, 0.01), late)).changing == ("rate",)


def test_a_second_that_stands_out_is_not_the_end_of_a_warm_up() -> None:
    medians = flat(np.random.default_rng(5), 30, 0.01)
    medians[14] *= 3
    assert steadiness(step_of(medians)).steady and steady_from(np.log(medians), DRIFT) == 0


def test_a_change_late_in_the_run_is_never_steady() -> None:
    medians = flat(np.random.default_rng(6), 20, 0.01)
    medians[15:] *= 1.5
    assert steadiness(step_of(medians)).steady is False and 15 in change_points(np.log(medians))


def test_change_points_are_where_they_were_planted() -> None:
    values = np.repeat([1.0, 2.0, 1.0], 10) + np.random.default_rng(7).normal(0, 0.05, 30)
    assert change_points(values) == [10, 20]
    assert change_points(np.ones(30)) == []
