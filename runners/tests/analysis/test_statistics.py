"""Each statistic against a known truth."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from runners.analysis.instrument import timer_fit
from runners.analysis.intervals import Bounded, difference, expected_hits
from runners.analysis.steady_state import steadiness
from runners.readers.published import published
from runners.readers.run import Step, complete, frame
from runners.readers.samples import Samples
from runners.storage.run_folder import StepFolder
from runners.storage.schema import StepRecord
from runners.tests.counts import allowed, rounds


def spectrum_of(values_us: npt.NDArray[np.float64]) -> pd.DataFrame:
    unique, counts = np.unique(values_us.astype(np.int64) + 1, return_counts=True)
    return Samples(unique.astype(np.float64), counts.astype(np.int64)).spectrum("response")


def step_of(seconds: list[dict[str, float]]) -> Step:
    rows = [{"t_s": float(t), "kind": "response", "count": 1000, "max_us": 1, **row} for t, row in enumerate(seconds)]
    frames = complete({"intervals": frame("intervals", rows)})
    record = StepRecord(valid=True, role="load", engine="lsm", workload="put")
    return Step("put-lsm", record, StepFolder(Path("put-lsm")), frames)


@pytest.mark.parametrize(("name", "width_ms"), [("report-1/put", 1.20), ("report-1/get", 1.25)])
def test_published_medians_are_the_timers(name: str, width_ms: float) -> None:
    line = timer_fit(published(name).spectrum_frame())
    assert line is not None
    assert line.is_millisecond_timer
    assert line.width_us / 1000 == pytest.approx(width_ms, abs=0.01)
    assert line.r_squared > 0.999


def test_a_millisecond_tick_is_seen_and_a_server_is_not() -> None:
    random = np.random.default_rng(5)
    server = 45 * random.lognormal(0, 0.2, 100_000)
    ticking = timer_fit(spectrum_of(server + random.uniform(0, 1_100, 100_000)))
    assert ticking is not None
    assert ticking.is_millisecond_timer
    others = {
        "a fast server": server,
        "a slow one": 600 * random.lognormal(0, 0.5, 100_000),
        "exponential": random.exponential(600, 100_000),
        "a coarser tick": random.uniform(0, 10_000, 100_000),
        "delayed acknowledgement": 44_000 + random.normal(0, 300, 100_000),
        "saturation": random.uniform(0, 4e6, 100_000),
    }
    for name, values in others.items():
        line = timer_fit(spectrum_of(values))
        assert line is not None
        assert not line.is_millisecond_timer, name


def test_a_spectrum_with_few_rows_tells_nothing() -> None:
    assert timer_fit(frame("spectrum")) is None
    fit = timer_fit(spectrum_of(np.full(1_000, 600)))
    assert fit is None or not fit.is_millisecond_timer


def test_exactly_one_absent_key_explains_the_published_errors() -> None:
    hits = expected_hits(3_959_100, 10_000)
    assert hits.value == pytest.approx(395.91)
    assert hits.low <= 372 <= hits.high
    assert expected_hits(3_959_100, 10_000, 2).low > 372
    assert expected_hits(3_959_100, 10_000, 0).high == 0


def test_the_interval_of_a_difference_holds_the_truth() -> None:
    random = np.random.default_rng(11)
    hits, count = 0, rounds(400, 2_000)
    truth = 100 * np.log(2)
    for _ in range(count):
        parts = []
        for scale in (300.0, 200.0):
            ordered = np.sort(random.exponential(scale, 1_000))
            low, high = ordered[468], ordered[531]
            parts.append(Bounded(float(ordered[499]), float(low), float(high)))
        seen = difference(*parts)
        hits += seen.low <= truth <= seen.high
    print(f"difference of medians: coverage of nominal 95 % {hits / count:.3f}, {count} pairs")
    assert hits / count >= allowed(0.95, count)


def test_a_difference_of_unbounded_values_has_no_bounds() -> None:
    assert not difference(Bounded(5), Bounded(3, 2, 4)).bounded
    assert difference(Bounded(5), Bounded(3, 2, 4)).sign == 0
    assert not Bounded(1, 0, 2).apart_from(Bounded(5))
    assert Bounded(1, 0, 2).apart_from(Bounded(5, 3, 6))
    assert not Bounded(1, 0, 4).apart_from(Bounded(5, 3, 6))


def test_what_is_known_on_one_side_tells_the_sign_of_a_difference() -> None:
    open_above = Bounded(5, 4, math.nan)
    less = difference(open_above, Bounded(2, 1, 2.5))
    assert less.sign == 1 and 0 < less.low < 3 and math.isnan(less.high)
    assert difference(Bounded(2, 1, 2.5), open_above).sign == -1
    assert difference(Bounded(5, 1, math.nan), Bounded(2, 1, 2.5)).sign == 0
    assert open_above.apart_from(Bounded(2, 1, 2.5)) and not open_above.apart_from(Bounded(5, 4, 6))


def test_a_load_is_steady_after_a_planted_warm_up() -> None:
    warm = [200, 170, 140, 120, 100, 101, 99, 100, 101, 100, 99, 100, 101, 100]
    assert steadiness(step_of([{"p50_us": value} for value in warm])).steady
    assert steadiness(step_of([{"p50_us": 100.0}] * 14)).steady


def test_a_drift_that_never_ends_is_never_steady() -> None:
    seen = steadiness(step_of([{"p50_us": 100.0 + 5 * t} for t in range(14)]))
    assert seen.steady is False
    assert seen.spread is not None
    assert seen.spread == pytest.approx(0.8 * 65 / 132.5)  # evenly from 100 to 165 us
    assert steadiness(step_of([{"p50_us": 100.0}] * 3)).steady is None


def test_noise_is_steady_in_most_cases() -> None:
    random = np.random.default_rng(2)
    steady = sum(
        bool(steadiness(step_of([{"p50_us": float(v)} for v in random.normal(100, 3, 14)])).steady) for _ in range(100)
    )
    assert steady >= 95
