"""The store's benchmark through HTTP: which rates count as carried, and the knee that two servers are compared by."""

from __future__ import annotations

from typing import Any

import pytest

from runners.bench import store_http


def result(offered: int | None, limit: int, p99_us: float = 900.0, kept_up: bool = True) -> dict[str, Any]:
    """What a server tells that answers so many requests a second at most."""
    scheduled = limit if offered is None else offered
    return {
        "achieved_rps": float(min(scheduled, limit)),
        "requests": {"scheduled": scheduled},
        "status": {"200": min(scheduled, limit)},
        "latency_us": {"response": {"p99": p99_us}},
        "generator": {"kept_up": kept_up},
    }


def test_a_rate_is_carried_if_all_of_it_is_answered_in_time() -> None:
    assert store_http.carried(result(1000, 1000))
    assert store_http.carried(result(1000, 990))
    assert not store_http.carried(result(1000, 989))
    assert not store_http.carried(result(1000, 1000, p99_us=10_001.0))


def test_a_late_generator_is_told_and_its_lateness_is_in_the_response_time() -> None:
    said: list[str] = []
    late = result(1000, 1000, p99_us=9_000.0, kept_up=False)
    assert store_http.knee_rps("get lsm", lambda _who, _rate: late, 1000.0, said.append) == 1000.0
    assert said[0].endswith("generator did not keep up")


@pytest.mark.parametrize("status", ["404", "503", "507"])
def test_a_rate_with_refusals_is_not_carried(status: str) -> None:
    refused = result(1000, 1000)
    refused["status"] = {"200": 999, status: 1}
    assert not store_http.carried(refused)


def test_the_knee_of_both_is_sought_on_the_same_ladder() -> None:
    limits = {"lsm": 46_000, "noop": 50_000, "noop-1200B": 48_000}
    offered: dict[str, set[int | None]] = {who: set() for who in limits}

    def load(who: str, rate: int | None) -> dict[str, Any]:
        offered[who].add(rate)
        return result(rate, limits[who])

    said: list[str] = []
    knee, closed, alike, closed_alike = store_http.rows_of("get", load, said.append)
    assert knee.name == "store/http/get/knee-vs-noop"
    assert knee.ours == (45_000.0,) * store_http.ROUNDS
    assert knee.peer == (50_000.0,) * store_http.ROUNDS
    assert knee.met
    assert closed.ratio == pytest.approx(0.92)
    assert (alike.name, closed_alike.name) == (
        "store/http/get/knee-vs-noop-1200B",
        "store/http/get/closed-loop-vs-noop-1200B",
    )
    assert alike.peer == (47_500.0,) * store_http.ROUNDS
    assert closed_alike.ratio == pytest.approx(46 / 48)
    assert offered["noop"] < offered["lsm"]
    assert any("offered 47500/s, achieved 46000/s" in line for line in said)


def test_without_a_knee_to_compare_with_there_is_no_row_of_it() -> None:
    said: list[str] = []
    (closed,) = store_http.rows_of("put", lambda _who, rate: result(rate, 50_000, p99_us=1e6), said.append)
    assert closed.name == "store/http/put/closed-loop-vs-noop"
    assert "no knee to compare with" in said[-1]


def test_a_server_that_carries_no_rate_has_no_knee() -> None:
    assert store_http.knee_rps("lsm", lambda _who, rate: result(rate, 10), 50_000.0, lambda _line: None) == 0.0
