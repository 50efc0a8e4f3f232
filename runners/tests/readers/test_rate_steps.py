"""A load whose rate changes is cut into its steps, without the rests between them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from runners.readers.requests_log import rate_steps_frame
from runners.storage.schema import SweepRecord


def test_a_load_is_cut_into_its_steps() -> None:
    at_s = np.concatenate([np.arange(0, 0.5, 0.01), np.arange(0.5, 1.0, 0.1), np.arange(1.0, 1.5, 0.005)])
    log = pd.DataFrame({"t_s": at_s, "response_us": 100.0, "fate": "completed", "status": 200})
    log.loc[log["t_s"] >= 1.25, "fate"] = "censored"
    log.loc[(log["t_s"] > 0.485) & (log["t_s"] < 0.5), "response_us"] = 30_000.0
    log.loc[(log["t_s"] > 1.0) & (log["t_s"] < 1.008), "status"] = 404
    seen = pd.DataFrame({"t_s": [0.4, 0.7], "duration_ms": [200.0, 100.0]})
    rows = rate_steps_frame(log, seen, SweepRecord(rates=(100, 200), rest_rps=10, step_s=0.5, rest_s=0.5))
    first, second = (rows.iloc[index] for index in (0, 1))
    assert first["p99_us"] == 30_000 and first["p50_us"] == 100 and first["achieved"] == pytest.approx(0.98)
    assert first["stalled"] == pytest.approx(0.2) and first["lost"] == 0 and first["requests"] == 50
    assert second["p99_us"] == math.inf and second["achieved"] == pytest.approx(0.5, abs=0.02)
    assert second["stalled"] == 0 and second["lost"] == pytest.approx(0.01)


def test_a_step_in_which_nothing_was_due_has_no_row() -> None:
    log = pd.DataFrame({"t_s": [0.1], "response_us": [100.0], "fate": ["completed"], "status": [200]})
    seen = pd.DataFrame({"t_s": [], "duration_ms": []})
    rows = rate_steps_frame(log, seen, SweepRecord(rates=(1, 1), rest_rps=0, step_s=0.5, rest_s=0.5))
    assert rows["t_s"].tolist() == [0.0]
