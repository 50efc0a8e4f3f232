"""The store's benchmark through HTTP: the knees and the closed loops that two servers are compared by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from runners.analysis.knee import Kind, Knee
from runners.bench.fixture import NoFigure, Row
from runners.bench.store import http_durations_s, http_rows


def result(achieved_rps: float) -> dict[str, Any]:
    """What the generator says of a closed loop."""
    return {"achieved_rps": achieved_rps}


def knee_at(rps: float) -> Knee:
    return Knee(Kind.FOUND, rps, rps / 1.05, rps * 1.05, True)


def test_knees_are_compared_round_by_round() -> None:
    limits = {"lsm": 46_000.0, "noop": 50_000.0, "noop-1200B": 48_000.0}
    said: list[str] = []
    knee, closed, alike, closed_alike = http_rows(
        "get",
        lambda who: result(int(limits[who])),
        lambda names, _seed: {who: knee_at(limits[who]) for who in names},
        said.append,
        rounds=2,
    )
    assert isinstance(knee, Row) and isinstance(alike, Row) and closed.ratio and closed_alike.ratio
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


def test_a_round_without_both_knees_does_not_count_and_is_reported() -> None:
    lost = Knee(Kind.BELOW, math.nan, math.nan, 1_000.0)

    def seek(names: Sequence[str], seed: int) -> dict[str, Knee]:
        return {who: knee_at(40_000) if seed or who == "lsm" else lost for who in names}

    knee, _closed = http_rows("put", lambda _who: result(45_000), seek, lambda _line: None, rounds=2)
    assert isinstance(knee, Row) and len(knee.ours) == 1 and knee.note == "in 1 rounds no knee of both"


def test_without_a_knee_to_compare_with_its_row_has_no_figure() -> None:
    lost = Knee(Kind.OPEN, math.nan, math.nan, math.nan)
    knee, closed = http_rows(
        "put",
        lambda _who: result(50_000),
        lambda names, _seed: dict.fromkeys(names, lost),
        lambda _line: None,
        rounds=1,
    )
    assert closed.name == "store/http/put/closed-loop-vs-noop"
    assert isinstance(knee, NoFigure) and knee.name == "store/http/put/knee-vs-noop"


def test_each_kind_of_request_has_a_duration() -> None:
    get_s, put_s = http_durations_s()
    assert get_s > put_s > 0, "the store is filled before the first"
