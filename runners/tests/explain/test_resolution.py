"""What an instrument resolves: never less than its own wavering, its own delay, its tick, or its unit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.explain.bounds import Bounded
from runners.explain.checks import checks
from runners.explain.resolution import FEWEST_SECONDS, UNIT_US, of_floor, of_rounds, tick_of, wavering_us
from runners.plan import ablations
from runners.plan.size import SIZES
from runners.read.run import Step
from runners.show import style
from runners.show.floor import floor_band
from runners.tests.show import steps

RATE = 12_600.0


def floor(folder: Path, p50_us: list[float], p99_us: list[float], **meta: Any) -> Step:
    """A floor whose seconds have these percentiles."""
    made = steps.step(folder, "floor-put", steps.times(), kind="floor", engine="noop", **meta)
    rows = [
        {"t_s": float(second), "kind": "response", "count": 12_600, "p50_us": p50, "p90_us": p50, "p99_us": p99}
        | {"p999_us": p99, "max_us": p99, "errors": 0, "completed": 12_600}
        for second, (p50, p99) in enumerate(zip(p50_us, p99_us, strict=True))
    ]
    return dataclasses.replace(made, frames={**made.frames, "intervals": pd.DataFrame(rows)})


@given(st.lists(st.floats(40, 90), min_size=3, max_size=20), st.floats(1, 5))
def test_wavering_scales_with_the_spread_and_not_with_the_level(values: list[float], factor: float) -> None:
    assert wavering_us([value + 1000 for value in values]) == pytest.approx(wavering_us(values), abs=1e-6)
    assert wavering_us([value * factor for value in values]) == pytest.approx(wavering_us(values) * factor, abs=1e-6)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**31))
def test_two_measurements_of_the_same_differ_by_less_in_95_of_100_cases(seed: int) -> None:
    random = np.random.default_rng(seed)
    inside = 0
    for _ in range(1_000):
        sample = random.normal(50, 2, 8)
        inside += abs(sample[6] - sample[7]) <= wavering_us(list(sample[:6]))
    assert 920 <= inside <= 978


def test_a_floor_resolves_what_its_seconds_leave_open(tmp_path: Path) -> None:
    wide = of_floor(floor(tmp_path, [50, 52, 48, 51, 49, 50], [80, 120, 90, 70, 100, 110]))
    narrow = of_floor(floor(tmp_path, [50, 50, 50, 50, 50, 50], [80, 82, 81, 80, 82, 81]))
    assert wide is not None and narrow is not None
    assert narrow.p50_us == UNIT_US < wide.p50_us < wide.p99_us
    assert "in the median" in wide.sentence() and "on one connection; from 6 seconds of its floor" in wide.sentence()


def test_too_few_seconds_tell_nothing(tmp_path: Path) -> None:
    assert of_floor(None) is None
    assert of_floor(floor(tmp_path, [50, 51], [80, 82])) is None
    assert of_floor(floor(tmp_path, [50] * 6, [80] * 6, valid=False)) is None


@pytest.mark.parametrize("size", ["quick", "full"])
def test_floors_last_long_enough_to_tell(size: str) -> None:
    for floor_s in (SIZES[size].floor_s, ablations.LOADS_S[size][2]):
        assert floor_s > FEWEST_SECONDS


def test_a_tick_is_what_its_generator_resolves(tmp_path: Path) -> None:
    ramp = [20 + 1100 * index / 20_000 for index in range(20_000)]
    ticking = steps.step(tmp_path, "floor-put", ramp, kind="floor", generator={"tool": "wrk2"})
    resolved = of_floor(ticking)
    assert resolved is not None and resolved.p50_us == tick_of(ticking) == pytest.approx(1_100, rel=0.02)
    assert "the tick of wrk2" in resolved.sentence()


def test_of_rounds_the_larger_of_wavering_and_own_delay_counts(tmp_path: Path) -> None:
    rounds = [steps.step(tmp_path, f"r{i}", steps.times(seed=i)) for i in range(6)]
    alone = of_rounds(rounds)
    beside = of_rounds(rounds, (Bounded(30, 20, 40), Bounded(-500, -900, -100)), "the blocking client")
    assert alone is not None and beside is not None
    assert alone.p50_us < 40 == beside.p50_us
    assert beside.p99_us == alone.p99_us, "what reads less than the simplest client adds nothing"
    assert "from 6 rounds beside the blocking client" in beside.sentence()
    assert of_rounds(rounds[:2]) is None


def _said(folder: Path, made: Step | None) -> tuple[bool | None, str]:
    load = steps.step(folder, "put-rocksdb", steps.times())
    run = steps.run(folder, [steps.whole(step) for step in (load, made) if step])
    (check,) = [check for check in checks(run) if check.name == "resolution"]
    return check.ok, check.text


def test_every_report_says_it_or_says_that_it_is_not_known(tmp_path: Path) -> None:
    six = ([50.0, 52, 48, 51, 49, 50], [80.0] * 6)
    ok, text = _said(tmp_path, floor(tmp_path, *six))
    assert (
        ok
        and text.startswith("This instrument resolves 2.10\u00a0us in the median")
        and "at this rate (12\u202f600/s" in text
    )
    for other in (None, floor(tmp_path, *six, connections=64)):
        assert _said(tmp_path, other) == (None, "What this instrument resolves at this rate is not known.")


def test_the_floor_can_be_drawn_on_any_plot_of_latency(tmp_path: Path) -> None:
    axes = style.Picture().add_subplot()
    axes.set_ylim(10, 1_000)
    made = floor(tmp_path, [50] * 6, [80] * 6)
    value = floor_band(axes, made)
    assert value is not None and axes.get_ylim() == (10, 1_000)
    assert axes.get_legend_handles_labels()[1] == [
        "floor: loadgen on a handler that does nothing, p99 at 12\u202f600/s"
    ]
    assert floor_band(axes, None) is None
    assert floor_band(axes, dataclasses.replace(made, meta={**made.meta, "valid": False})) is None
