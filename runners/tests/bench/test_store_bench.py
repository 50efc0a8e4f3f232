"""The store's benchmark through HTTP: which rates count as carried, and the knees that two servers are compared by."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from runners.bench import bracket, ladder, store_http
from runners.bench.bracket import Outcome

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


def judge(found: dict[str, Any]) -> Outcome:
    return bracket.outcome(found, 1.0)


def test_a_rate_is_carried_if_all_of_it_is_answered_in_time() -> None:
    assert judge(result(1000, 1000)) == Outcome.CARRIED
    assert judge(result(1000, 990)) == Outcome.CARRIED
    assert judge(result(1000, 989)) == Outcome.TOO_MUCH
    assert judge(result(1000, 1000, p99_us=P99_US + 1)) == Outcome.TOO_MUCH


def test_a_late_generator_is_not_counted_as_the_server_s_failing() -> None:
    assert judge(result(1000, 1000, p99_us=P99_US, kept_up=False)) == Outcome.CARRIED
    assert judge(result(1000, 1000, p99_us=P99_US + 1, kept_up=False)) == Outcome.UNKNOWN
    # So much more is missing than is due within its lateness that the server can't follow.
    assert judge(result(1000, 800, kept_up=False, lag_p99_us=1000.0)) == Outcome.TOO_MUCH
    assert judge(result(1000, 985, kept_up=False, lag_p99_us=1000.0)) == Outcome.UNKNOWN


@pytest.mark.parametrize("status", ["404", "503", "507"])
@pytest.mark.parametrize("kept_up", [True, False])
def test_a_rate_with_refusals_is_not_carried(status: str, kept_up: bool) -> None:
    refused = result(1000, 1000, kept_up=kept_up)
    refused["status"] = {"200": 999, status: 1}
    assert judge(refused) == Outcome.TOO_MUCH


def seek(probe: Callable[[str, int], dict[str, Any]], guess_rps: float = 50_000.0) -> bracket.Bracket:
    return bracket.seek(["lsm"], guess_rps, probe, judge, lambda _line: None)["lsm"]


@pytest.mark.parametrize("knee", [6_000, 20_000, 46_000, 54_000, 90_000])
def test_the_knee_is_found_wherever_it_is(knee: int) -> None:
    found = seek(lambda _who, rate: result(rate, knee))
    assert found.low_rps <= knee / 0.99 <= found.high_rps
    assert found.high_rps / found.low_rps <= bracket.PRECISION
    assert found.knee_rps == pytest.approx(knee / 0.99, rel=bracket.PRECISION - 1)


@pytest.mark.parametrize("seed", range(20))
def test_disturbed_probes_do_not_move_the_knee(seed: int) -> None:
    chance = random.Random(seed)
    disturbed = 0

    def probe(_who: str, rate: int) -> dict[str, Any]:
        nonlocal disturbed
        # Never so often in a row that a rate has no other probe.
        disturbed = disturbed + 1 if chance.random() < 0.5 and disturbed < bracket.TRIES - 1 else 0
        return result(rate, 46_000, p99_us=1e6 if disturbed else 900.0)

    assert seek(probe).knee_rps == pytest.approx(46_000 / 0.99, rel=bracket.PRECISION - 1)


def test_a_disturbance_that_outlasts_all_tries_at_a_rate_is_mended() -> None:
    probes = 0

    def probe(_who: str, rate: int) -> dict[str, Any]:
        nonlocal probes
        probes += 1
        return result(rate, 46_000, p99_us=1e6 if probes <= 2 * bracket.TRIES else 900.0)

    assert seek(probe).knee_rps == pytest.approx(46_000 / 0.99, rel=bracket.PRECISION - 1)


def test_a_bracket_that_a_late_generator_has_closed_says_so() -> None:
    late = seek(lambda _who, rate: result(rate, 1_000_000, p99_us=1e6 if rate > 40_000 else 900.0, kept_up=False))
    assert late.by_generator
    assert late.knee_rps == pytest.approx(40_000, rel=bracket.PRECISION - 1)
    assert not seek(lambda _who, rate: result(rate, 40_000)).by_generator


def test_a_server_that_carries_no_rate_has_no_knee_and_one_that_carries_all_the_highest() -> None:
    assert seek(lambda _who, rate: result(rate, 10)).knee_rps == 0.0
    everything = seek(lambda _who, rate: result(rate, rate))
    assert everything.knee_rps == pytest.approx(50_000 * bracket.HIGHEST, rel=bracket.PRECISION - 1)


def test_servers_are_interleaved_and_are_compared_round_by_round() -> None:
    limits = {"lsm": 46_000, "noop": 50_000, "noop-1200B": 48_000}
    asked: list[str] = []

    def load(who: str, rate: int | None) -> dict[str, Any]:
        asked.append(who)
        return result(rate, limits[who])

    said: list[str] = []
    knee, closed, alike, closed_alike = store_http.rows_of("get", load, said.append, rounds=2)
    assert knee.name == "store/http/get/knee-vs-noop"
    assert len(knee.ours) == len(knee.peer) == 2
    assert knee.ratio == pytest.approx(0.92, abs=0.04)
    assert knee.note == ""
    assert closed.ratio == pytest.approx(0.92)
    assert (alike.name, closed_alike.name) == (
        "store/http/get/knee-vs-noop-1200B",
        "store/http/get/closed-loop-vs-noop-1200B",
    )
    assert alike.ratio == pytest.approx(46 / 48, abs=0.04)
    assert closed_alike.ratio == pytest.approx(46 / 48)
    assert [who for who, _ in itertools.groupby(asked[:12])] == asked[:12]
    assert any("achieved 46000/s" in line and line.endswith("generator kept up: too much") for line in said)


def test_knees_that_the_generator_has_set_are_told_in_the_row() -> None:
    def load(who: str, rate: int | None) -> dict[str, Any]:
        late = who == "noop" and rate is not None and rate > 40_000
        return result(rate, 45_000, p99_us=1e6 if late else 900.0, kept_up=not late)

    knee, _closed = store_http.rows_of("put", load, lambda _line: None, rounds=1)
    assert "the generator alone set the upper end of 0 knees of lsm and 1 knees of noop" in knee.line()


def test_without_a_knee_to_compare_with_there_is_no_row_of_it() -> None:
    said: list[str] = []
    (closed,) = store_http.rows_of("put", lambda _who, rate: result(rate, 50_000, p99_us=1e6), said.append, rounds=1)
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
