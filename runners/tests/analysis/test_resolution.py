"""What an instrument resolves: never less than its own run-to-run variability, its tick, or its unit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from msgspec.structs import replace

from runners.analysis import instrument
from runners.analysis.instrument import (
    FEWEST_REPEATS,
    MEDIAN,
    TAIL,
    UNIT_US,
    resolution_us,
    timer_tick_us,
)
from runners.analysis.intervals import student_reach
from runners.design.load import SENTINEL, SENTINEL_RPS, SENTINEL_S, SIZES
from runners.experiments import e05_sharded_cluster, e06_storage_engines
from runners.experiments import e07_ablations as ablations
from runners.readers.run import Step
from runners.report import style
from runners.report.style import floor_lines, reach
from runners.tests.report import steps

RATE = 12_600.0


def floor(folder: Path, p50_us: list[float], p99_us: list[float], **meta: Any) -> Step:
    """A floor whose seconds have these percentiles."""
    made = steps.step(folder, "floor-put", steps.times(), role="floor", engine="noop", **meta)
    rows = [
        {"t_s": float(second), "kind": "response", "count": 12_600, "p50_us": p50, "p90_us": p50, "p99_us": p99}
        | {"p999_us": p99, "max_us": p99, "errors": 0, "completed": 12_600}
        for second, (p50, p99) in enumerate(zip(p50_us, p99_us, strict=True))
    ]
    return dataclasses.replace(made, frames={**made.frames, "intervals": pd.DataFrame(rows)})


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**31))
def test_two_measurements_of_the_same_differ_by_less_in_95_of_100_cases(seed: int) -> None:
    random = np.random.default_rng(seed)
    inside = 0
    for _ in range(1_000):
        sample = random.normal(50, 2, 8)
        inside += abs(sample[6] - sample[7]) <= student_reach(2 * float(sample[:6].var(ddof=1)), 5)
    assert 920 <= inside <= 978


def test_a_floor_resolves_what_its_seconds_leave_open(tmp_path: Path) -> None:
    wide = floor(tmp_path, [50, 52, 48, 51, 49, 50], [80, 120, 90, 70, 100, 110])
    narrow = floor(tmp_path, [50, 50, 50, 50, 50, 50], [80, 82, 81, 80, 82, 81])
    wide_us, wide_tail_us = (resolution_us(wide, level) for level in (MEDIAN, TAIL))
    assert wide_us is not None and wide_tail_us is not None
    assert resolution_us(narrow, MEDIAN) == UNIT_US < wide_us < wide_tail_us


def test_too_few_seconds_tell_nothing(tmp_path: Path) -> None:
    assert resolution_us(None, MEDIAN) is None
    assert resolution_us(floor(tmp_path, [50, 51], [80, 82]), MEDIAN) is None
    assert resolution_us(floor(tmp_path, [50] * 6, [80] * 6, valid=False), MEDIAN) is None


@pytest.mark.parametrize("size", ["quick", "full"])
def test_floors_last_long_enough_to_tell(size: str) -> None:
    assert SENTINEL_S >= FEWEST_REPEATS
    for loads in (ablations.LOADS, e06_storage_engines.LOADS, e05_sharded_cluster.LOADS):
        assert loads[size].floor_s > FEWEST_REPEATS < SIZES[size].floor_s


def test_a_tick_is_what_its_generator_resolves(tmp_path: Path) -> None:
    ramp = [20 + 1100 * index / 20_000 for index in range(20_000)]
    ticking = steps.step(tmp_path, "floor-put", ramp, role="floor", generator={"tool": "wrk2"})
    resolved_us = resolution_us(ticking, MEDIAN)
    assert resolved_us is not None and resolved_us == timer_tick_us(ticking) == pytest.approx(1_100, rel=0.02)


def before(folder: Path, p50_us: float = 90.0, **meta: Any) -> Step:
    """The fixed load before a campaign: three seconds of 2 000/s on one connection."""
    made = floor(folder, [p50_us - 2, p50_us, p50_us + 2], [900, 1_200, 1_500])
    summary = made.frames["summary"].assign(offered_rps=SENTINEL_RPS, achieved_rps=SENTINEL_RPS)
    own = {"role": SENTINEL, "workload": "get", "offered_rps": SENTINEL_RPS, "name": SENTINEL, **meta}
    return dataclasses.replace(
        made, name=SENTINEL, record=replace(made.record, **own), frames={**made.frames, "summary": summary}
    )


SIX = ([50.0, 52, 48, 51, 49, 50], [80.0] * 6)


def test_the_nearest_floor_is_the_loads_own_then_one_on_as_many_connections_then_the_one_before(tmp_path: Path) -> None:
    load = steps.step(tmp_path, "put-rocksdb", steps.times())
    first = before(tmp_path, connections=1)
    apart = floor(tmp_path, *SIX, connections=64)
    slower = floor(tmp_path, *SIX)
    slower = dataclasses.replace(
        slower, frames={**slower.frames, "summary": slower.frames["summary"].assign(offered_rps=5_000.0)}
    )
    own = floor(tmp_path, *SIX)
    assert instrument.nearest_floor([], load) is None
    assert instrument.nearest_floor([first, apart], load) is first
    assert instrument.nearest_floor([first, apart, slower], load) is slower
    assert instrument.nearest_floor([first, own, apart, slower], load) is own
    closed = dataclasses.replace(load, record=replace(load.record, offered_rps=None))
    closed.frames["summary"]["offered_rps"] = np.nan
    assert instrument.own_floor([own], closed) is None, "a closed loop has no rate"


def _plot() -> Axes:
    axes = style.Picture().add_subplot()
    axes.set_ylim(10, 1_000)
    return axes


def test_the_floor_can_be_drawn_on_any_plot_of_latency(tmp_path: Path) -> None:
    load, made = steps.step(tmp_path, "put-rocksdb", steps.times()), floor(tmp_path, [50] * 6, [80] * 6)
    axes = _plot()
    entry = floor_lines(axes, made, [load])
    assert entry is not None and entry.get_label() == "instrument floor (do-nothing server)"
    assert axes.get_ylim() == (10, 1_000)
    p50 = reach(made)[0]
    assert p50 in [line.get_ydata()[0] for line in axes.lines], "each level is a line"  # type: ignore[index]
    assert [text.get_text().split()[1] for text in axes.texts] == ["p50", "p99"]
    assert axes.patches, "what lies below is shaded"
    for none in (None, dataclasses.replace(made, record=replace(made.record, valid=False))):
        assert floor_lines(_plot(), none, [load]) is None and reach(none) == []


def test_a_floor_of_another_rate_is_a_thin_line_that_says_so(tmp_path: Path) -> None:
    load, axes = steps.step(tmp_path, "put-rocksdb", steps.times()), _plot()
    entry = floor_lines(axes, before(tmp_path), [load])
    assert entry is not None and entry.get_label() == "instrument floor at 2\u202f000/s on one connection"
    assert axes.lines and not axes.patches
    low = _plot()
    low.set_ylim(10, 20)
    assert floor_lines(low, before(tmp_path), [load]) is not None
    assert not low.lines and not low.texts and low.get_ylim() == (10, 20), "beyond the axis only its name is shown"
