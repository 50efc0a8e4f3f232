"""A load whose rate changes is cut into its steps, without the rests between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.design.session import Sweep
from runners.readers.requests_log import least_response_us, rate_steps_frame


def log_of(at_s: Any, **columns: Any) -> pd.DataFrame:
    """A log of requests that were all sent in time, and had their response after 100 us."""
    sent = {"wait_us": 0.0, "response_us": 100.0, "lag_us": 0.0, "fate": "completed", "status": 200}
    return pd.DataFrame({"t_s": at_s, **sent, **columns})


def test_a_load_is_cut_into_its_steps() -> None:
    at_s = np.concatenate([np.arange(0, 0.5, 0.01), np.arange(0.5, 0.75, 0.1), np.arange(0.75, 1.25, 0.005)])
    log = log_of(at_s)
    log.loc[log["t_s"] >= 1.0, "fate"] = "censored"
    log.loc[(log["t_s"] > 0.485) & (log["t_s"] < 0.5), "response_us"] = 30_000.0
    log.loc[(log["t_s"] > 0.75) & (log["t_s"] < 0.758), "status"] = 404
    seen = pd.DataFrame({"t_s": [0.4, 0.6], "duration_ms": [200.0, 100.0]})
    rows = rate_steps_frame(log, seen, Sweep(rates=(100, 200), rest_rps=10, step_s=0.5))
    first, second = (rows.iloc[index] for index in (0, 1))
    assert first["p99_us"] == 30_000 and first["p50_us"] == 100 and first["achieved"] == pytest.approx(0.98)
    assert first["stalled"] == pytest.approx(0.2) and first["lost"] == 0 and first["requests"] == 50
    assert second["p99_us"] == math.inf and second["achieved"] == pytest.approx(0.5, abs=0.02)
    assert first["p99_least_us"] == 30_000 and first["achieved_most"] == first["achieved"]
    assert second["stalled"] == 0 and second["lost"] == pytest.approx(0.01)


def test_a_step_in_which_nothing_was_due_has_no_row() -> None:
    log = log_of([0.1])
    seen = pd.DataFrame({"t_s": [], "duration_ms": []})
    rows = rate_steps_frame(log, seen, Sweep(rates=(1, 1), rest_rps=0, step_s=0.5))
    assert rows["t_s"].tolist() == [0.0]


#: Of each request: seconds since the one before was due, of its service, and by how much its generator was late.
REQUESTS = st.lists(st.tuples(*[st.floats(0, 0.02)] * 3), min_size=1, max_size=60)


@given(REQUESTS, st.integers(1, 3))
def test_a_generator_on_time_would_have_read_no_less_than_the_bound(
    requests: list[tuple[float, float, float]], servers: int
) -> None:
    gaps, services, lags = (np.array(column) for column in zip(*requests, strict=True))
    due_s = np.cumsum(gaps)
    # they are sent in order, so that what is late makes what follows late
    sent_s = np.maximum.accumulate(due_s + lags)
    log = log_of(
        due_s, wait_us=(sent_s - due_s) * 1e6, lag_us=(sent_s - due_s) * 1e6,
        response_us=(ends(sent_s, services, servers) - due_s) * 1e6,
    )  # fmt: skip
    on_time_us = (ends(due_s, services, servers) - due_s) * 1e6
    least_us = least_response_us(log)
    assert (least_us <= on_time_us + 1e-3).all() and (least_us <= log["response_us"]).all()
    assert (on_time_us <= log["response_us"] + 1e-3).all(), "lateness only adds"


def ends(arrivals_s: Any, services_s: Any, servers: int) -> Any:
    """When each request ends, of a queue that so many threads serve in order."""
    free, ends_s = [0.0] * servers, []
    for arrival_s, service_s in zip(arrivals_s, services_s, strict=True):
        free.sort()
        free[0] = max(free[0], arrival_s) + service_s
        ends_s.append(free[0])
    return np.array(ends_s)


def test_lateness_ends_with_the_busy_period_and_is_not_known_of_older_logs() -> None:
    log = log_of([0.0, 0.1, 0.2], wait_us=[5_000.0, 0.0, 0.0], lag_us=[5_000.0, 0.0, 0.0], response_us=5_100.0)
    assert least_response_us(log) == pytest.approx([100, 5_100, 5_100])
    log.loc[0, "response_us"] = 150_000.0
    assert least_response_us(log) == pytest.approx([145_000, 100, 5_100])
    log.loc[2, "fate"] = "censored"
    assert least_response_us(log)[2] == 5_100, "it had waited for so long"
    assert np.isnan(least_response_us(log.assign(lag_us=math.nan))).all()
