"""The server's benchmark: what is compared, what counts as carried, and the knee that overload is a multiple of."""

from __future__ import annotations

from typing import Any

import pytest

from runners.bench import overload
from runners.bench.server import COMPARISONS, wants


def result(scheduled: int, accepted: int, refused: int, p99_us: float = 1000.0) -> dict[str, Any]:
    return {
        "achieved_rps": 1000.0,
        "requests": {"scheduled": scheduled, "censored": scheduled - accepted - refused},
        "status": {code: count for code, count in (("200", accepted), ("503", refused)) if count},
        "latency_us_by_class": {"2xx": {"response": {"p99": p99_us}}},
        "generator": {"kept_up": True},
    }


@pytest.mark.parametrize(
    ("scheduled", "accepted", "refused", "carried"),
    [(100, 100, 0, True), (100, 99, 0, True), (100, 98, 0, False), (100, 99, 1, False), (1000, 0, 1000, False)],
)
def test_a_rate_is_carried_if_almost_all_is_answered_and_nothing_refused(
    scheduled: int, accepted: int, refused: int, carried: bool
) -> None:
    assert overload.meets(result(scheduled, accepted, refused)) is carried


def test_the_knee_is_the_highest_rate_of_the_ladder_that_is_carried() -> None:
    limit = 860

    def load(_connections: int, rate: int | None) -> dict[str, Any]:
        if rate is None or rate <= limit:
            return result(100, 100, 0)
        return result(100, 90, 10)

    assert overload.find_knee(load) == (1000, 850)


def test_overload_is_offered_above_the_knee_and_compared_with_below_it() -> None:
    offered = []

    def load(_connections: int, rate: int | None) -> dict[str, Any]:
        offered.append(rate)
        if rate is not None and rate > 1000:
            return result(200, 100, 100, p99_us=2000.0)
        return result(100, 100, 0)

    said: list[str] = []
    p99, answered = overload.rows(load, said.append)
    assert offered[2:] == [1900, 760] * overload.ROUNDS
    assert p99.ratio == 2.0
    assert answered.ratio == 1.0
    assert all("100 refused" in line for line in said)


def test_comparisons_have_names_of_their_own_and_can_be_chosen_by_a_word() -> None:
    names = [comparison.name for comparison in COMPARISONS]
    assert len(set(names)) == len(names)
    assert wants("server/noop/64conn/pool-vs-selector", ["pool-vs"])
    assert not wants("server/noop/64conn/pool-vs-selector", ["bare"])
    assert all(wants(name, []) for name in names)
