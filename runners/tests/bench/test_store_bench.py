"""The store's benchmark through HTTP: which rates count as carried, and the knees that two servers are compared by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from runners.analysis.knee import Answer, Kind
from runners.bench import ladder, store_http

P99_US = ladder.OBJECTIVE_P99_US


#: How much later than its 99th percentile the latest send is.
LATEST = 10.0


def result(
    offered: int | None, limit: int, p99_us: float = 900.0, kept_up: bool = True, lag_p99_us: float = 0.0
) -> dict[str, Any]:
    """What a server tells that answers so many requests a second at most."""
    scheduled = limit if offered is None else offered
    return {
        "achieved_rps": float(min(scheduled, limit)),
        "requests": {"scheduled": scheduled},
        "status": {"200": min(scheduled, limit)},
        "latency_us": {"response": {"p99": p99_us}},
        "generator": {"kept_up": kept_up, "lag_us": {"p99": lag_p99_us, "max": LATEST * lag_p99_us}},
    }


def found(rps: float) -> Answer:
    return Answer(Kind.FOUND, rps, rps / 1.05, rps * 1.05, True)


def test_knees_are_compared_round_by_round() -> None:
    limits = {"lsm": 46_000.0, "noop": 50_000.0, "noop-1200B": 48_000.0}
    said: list[str] = []
    knee, closed, alike, closed_alike = store_http.rows_of(
        "get",
        lambda who: result(None, int(limits[who])),
        lambda names, _seed: {who: found(limits[who]) for who in names},
        said.append,
        rounds=2,
    )
    assert knee.name == "store/http/get/knee-vs-noop"
    assert len(knee.ours) == len(knee.peer) == 2
    assert knee.ratio == pytest.approx(0.92) and knee.note == ""
    assert closed.ratio == pytest.approx(0.92)
    assert (alike.name, closed_alike.name) == (
        "store/http/get/knee-vs-noop-1200B",
        "store/http/get/closed-loop-vs-noop-1200B",
    )
    assert alike.ratio == pytest.approx(46 / 48) and closed_alike.ratio == pytest.approx(46 / 48)
    assert any("lsm 46,000/s (found)" in line for line in said)


def test_a_round_without_both_knees_does_not_count_and_is_told() -> None:
    lost = Answer(Kind.BELOW, math.nan, math.nan, 1_000.0)

    def seek(names: Sequence[str], seed: int) -> dict[str, Answer]:
        return {who: found(40_000) if seed or who == "lsm" else lost for who in names}

    knee, _closed = store_http.rows_of("put", lambda _who: result(None, 45_000), seek, lambda _line: None, rounds=2)
    assert len(knee.ours) == 1 and knee.note == "in 1 rounds no knee of both"


def test_without_a_knee_to_compare_with_there_is_no_row_of_it() -> None:
    said: list[str] = []
    lost = Answer(Kind.OPEN, math.nan, math.nan, math.nan)
    (closed,) = store_http.rows_of(
        "put",
        lambda _who: result(None, 50_000),
        lambda names, _seed: dict.fromkeys(names, lost),
        said.append,
        rounds=1,
    )
    assert closed.name == "store/http/put/closed-loop-vs-noop"
    assert "no knee to compare with" in said[-1]


def test_each_kind_of_request_has_a_duration() -> None:
    both, one = store_http.durations_s(), store_http.durations_s(["put"], rounds=3)
    assert len(both) == 2
    assert len(one) == 1


def test_a_ladder_downwards_ends_at_the_first_rate_that_is_carried() -> None:
    said: list[str] = []
    assert ladder.knee_rps("lsm", lambda _who, rate: result(rate, 46_000), 50_000.0, said.append) == 45_000.0
    assert len(said) == 3
    assert said[0].startswith("  lsm: offered 50000/s, achieved 46000/s")
    late = result(1000, 1000, p99_us=P99_US, kept_up=False)
    assert ladder.knee_rps("lsm", lambda _who, _rate: late, 1000.0, said.append) == 1000.0
    assert said[-1].endswith("generator did not keep up")
    assert ladder.knee_rps("lsm", lambda _who, rate: result(rate, 10), 50_000.0, said.append) == 0.0
