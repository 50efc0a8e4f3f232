"""The rows of `make bench-power`: how many comparisons fit, what counts as found, CPU time a request by blocks."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from runners.analysis.treatments import Effects, Start, compare
from runners.bench.power import CPU, NAMES, ROWS, Budget, Repeated, _cpu, _planted_rows, effects
from runners.readers.requests_log import RequestsLog

START_S = 1_700_000_000.0


def test_a_row_makes_comparisons_while_its_share_of_the_time_lasts() -> None:
    budget = Budget(10_000.0, 5, full=False)
    budget.began_s = time.monotonic() - 8_000.0
    assert budget.left_for(0) and budget.left_for(1), "two at least"
    assert not budget.left_for(2) and not budget.left_for(3), "as long as those before, it would end too late"
    budget.began_s = time.monotonic() - 4_000.0
    assert budget.left_for(2) and budget.left_for(4) and not budget.left_for(5), "five at most"
    assert not Budget(1e9, 5, full=False).left_for(5)
    assert set(ROWS) >= {"smallest", "planted-request", "planted-throughput", "planted-tail", "knee"}


def comparison(change: float, spread: float) -> tuple[Effects, list[dict[str, Start]]]:
    random = np.random.default_rng(1)
    starts = []
    for _ in range(6):
        logs = np.log(40.0) + random.normal(0, 0.1) + random.normal(0, spread, 2) + np.array([0, np.log1p(change)])
        starts.append({CPU: Start(logs, np.empty((0, 2)))})
    return effects(starts, CPU), starts


def test_what_is_planted_is_found_by_the_interval_and_its_estimate_is_held_against_the_truth() -> None:
    clear, starts = comparison(0.06, 0.002)
    vague, more = comparison(0.0, 0.02)
    hits, off = _planted_rows("cpu", Repeated([clear, clear], [vague, vague], [starts, more]), [0.06, 0.06])
    assert hits.ours == (2.0,) and hits.met and off.met and "2 of 2 found" in hits.note and "0 of 2 found" in hits.note
    hits, off = _planted_rows("cpu", Repeated([vague, vague], [vague, vague], [more, more]), [0.06, 0.06])
    assert hits.ours == (0.0,) and not hits.met and not off.met


def test_cpu_time_a_request_is_taken_between_readings_of_the_clocks_within_the_load() -> None:
    at_s = np.arange(0, 4, 0.001)
    frame = pd.DataFrame({"t_s": at_s, "response_us": 100.0, "fate": "completed"})
    frame["target"] = np.where(np.arange(len(at_s)) % 2, NAMES[1], NAMES[0])
    log = RequestsLog(frame, int(START_S * 1e6))
    moments = np.arange(-1.0, 4.0, 0.25)
    used = np.array([[START_S + s, 0.5 + 0.020 * s, 0.7 + 0.030 * s] for s in moments])  # 40 and 60 us a request
    start = _cpu(used, log)
    assert np.exp(start.logs) == pytest.approx([40.0, 60.0], rel=0.01)
    assert start.left_out.shape == (15, 2) and np.exp(start.left_out[3]) == pytest.approx([40.0, 60.0], rel=0.01)
    whole = compare([start], NAMES[:2], "baseline", 0.01).effects[0].change
    assert whole.low < 0.5 < whole.high and whole.value == pytest.approx(0.5, rel=0.02)
