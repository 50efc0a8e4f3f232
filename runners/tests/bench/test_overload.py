"""At twice the knee a bounded queue serves whom it lets in and refuses the others: all get a response."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.bench import fixture as fixtures
from runners.bench import knee as overload
from runners.bench import server
from runners.bench.fixture import NoFigure, Result, Row, fixture
from runners.tests.counts import rounds
from runners.tests.tiers import LONG

CAPACITY_RPS = 1000
SECONDS = 10


@dataclass
class Pool:
    """A server that serves so many a second and refuses the rest, and some of all in any case; and its generator."""

    limit_rps: float
    refuses: float = 0.0
    late: Callable[[int, int], bool] = lambda rate, time: False
    offered: list[int] = field(default_factory=list)

    def __call__(self, connections: int, rate: int | None) -> Result:
        if rate is None:
            assert connections == overload.FILLING
            return result(CAPACITY_RPS * SECONDS, CAPACITY_RPS * SECONDS, 0)
        assert connections == overload.OVERLOAD_CONNECTIONS
        self.offered.append(rate)
        scheduled = rate * SECONDS
        served = round(min(rate, self.limit_rps) * SECONDS * (1 - self.refuses))
        kept_up = not self.late(rate, self.offered.count(rate))
        return result(scheduled, served, scheduled - served, 2000.0 if rate > self.limit_rps else 1000.0, kept_up)


def result(scheduled: int, served: int, refused: int, p99_us: float = 1000.0, kept_up: bool = True) -> Result:
    return {
        "achieved_rps": (served + refused) / SECONDS,
        "elapsed_s": float(SECONDS),
        "requests": {"scheduled": scheduled, "censored": scheduled - served - refused},
        "status": {code: count for code, count in (("200", served), ("503", refused)) if count},
        "latency_us_by_class": {"2xx": {"response": {"p99": p99_us}}} if served else {},
        "generator": {"kept_up": kept_up},
    }


def silent(_line: str) -> None:
    """Nobody listens."""


@pytest.mark.parametrize(
    ("scheduled", "served", "refused", "sustained"),
    [
        (100, 100, 0, True),
        (100, 99, 1, True),
        (100, 99, 0, True),
        (100, 98, 2, False),
        (1000, 0, 1000, False),
        (0, 0, 0, False),
    ],
)
def test_a_rate_is_achieved_if_all_but_one_in_a_hundred_is_served(
    scheduled: int, served: int, refused: int, sustained: bool
) -> None:
    assert overload.meets(result(scheduled, served, refused)) is sustained


@given(st.floats(0.31, 1.18), st.floats(0, 0.005))
def test_the_knee_is_the_highest_rate_of_the_ladder_that_is_achieved(limit: float, refuses: float) -> None:
    pool = Pool(limit * CAPACITY_RPS, refuses)
    rates = [int(share * CAPACITY_RPS) for share in overload.LADDER]
    sustained = [rate for rate in rates if overload.meets(pool(overload.OVERLOAD_CONNECTIONS, rate))]
    assert overload.find_knee(pool, silent) == overload.Knee(CAPACITY_RPS, max(sustained))


def test_a_server_that_serves_too_little_of_every_rate_has_no_knee_and_no_figure() -> None:
    pool = Pool(CAPACITY_RPS, refuses=0.02)
    knee = overload.find_knee(pool, silent)
    assert (knee.rate_rps, len(pool.offered)) == (None, len(overload.LADDER))
    for line in overload.overload_rows(pool, silent):
        assert isinstance(line, NoFigure)
        assert not line.met
        assert "ours=none peer=none ratio=none" in line.line()
        assert " short (no figure: no knee found: of no rate from 300/s to 1200/s 99% was served" in line.line()
    assert max(pool.offered) == 1200, "nothing is offered at twice a knee that there is not"


def test_a_rate_is_no_knee_unless_a_higher_one_was_too_much() -> None:
    knee = overload.find_knee(Pool(10 * CAPACITY_RPS), silent)
    assert knee.rate_rps is None
    assert "1200/s was sustained" in knee.why


def test_what_a_late_generator_spoils_is_offered_again_and_never_counts_as_too_much() -> None:
    once = Pool(860, late=lambda rate, time: time == 1)
    assert overload.find_knee(once, silent).rate_rps == 850
    assert once.offered == [1200, 1200, 1100, 1100, 1000, 1000, 950, 950, 900, 900, 850]
    above = Pool(860, late=lambda rate, time: rate > 860)
    assert overload.find_knee(above, silent).rate_rps is None


def test_overload_is_offered_at_twice_the_knee_and_compared_with_below_it() -> None:
    pool, said = Pool(860), list[str]()
    p99, answered = overload.overload_rows(pool, said.append)
    assert pool.offered[-2 * overload.ROUNDS :] == [1700, 680] * overload.ROUNDS
    assert isinstance(p99, Row)
    assert isinstance(answered, Row)
    assert (p99.ratio, p99.met, answered.ratio, answered.met) == (2.0, True, 1.0, True)
    for line in (p99.line(), answered.line()):
        assert "capacity 1000/s, knee 850/s" in line
        above, below = (rate * SECONDS * overload.ROUNDS for rate in (1700, 680))
        assert f"at 2x offered 1700/s, achieved 1700 to 1700/s, {above} requests, 49.41% to 49.41% refused" in line
        assert f"at 0.8x offered 680/s, achieved 680 to 680/s, {below} requests, 0.00% to 0.00% refused" in line
        assert f"the generator kept up in all of these rounds, of {overload.ROUNDS}" in line
    assert all("generator kept up" in line for line in said)


def test_rounds_of_a_late_generator_are_run_again_and_are_in_no_figure() -> None:
    pool = Pool(860, late=lambda rate, time: rate == 1700 and time == 2)
    p99, _ = overload.overload_rows(pool, silent)
    assert isinstance(p99, Row)
    assert len(p99.ours) == overload.ROUNDS
    assert pool.offered.count(1700) == overload.ROUNDS + 1
    never, _ = overload.overload_rows(Pool(860, late=lambda rate, time: rate == 1700), silent)
    assert isinstance(never, NoFigure)
    assert f"the generator kept up in 0 of {overload.ROUNDS + overload.SPARE_ROUNDS} rounds" in never.line()


def test_overload_that_shuts_everyone_out_has_no_figure() -> None:
    def shut(connections: int, rate: int | None) -> Result:
        return result(rate, 0, rate) if rate and rate > 1600 else Pool(860)(connections, rate)

    p99, _ = overload.overload_rows(shut, silent)
    assert isinstance(p99, NoFigure)
    assert "nothing accepted" in p99.line()


def test_a_row_without_a_figure_is_kept_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixtures, "RUNS", tmp_path)
    fixtures.keep("server", overload.overload_rows(Pool(CAPACITY_RPS, refuses=0.02), silent))
    (kept,) = tmp_path.iterdir()
    for line in json.loads(kept.read_text())["rows"]:
        assert (line["ours"], line["peer"], line["ratio"], line["met"]) == ([], [], None, False)
        assert line["why"]


@pytest.mark.long
@pytest.mark.e2e
def test_who_is_let_in_is_served_and_all_others_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs: list[tuple[int | None, Result]] = []
    with fixture() as on, server.warm(on, on.spec("overload", overload.FLAGS), compile_s=rounds(1, 5)) as running:

        def load(connections: int, rate_rps: int | None) -> Result:
            target = server.one_key(running)
            runs.append((rate_rps, on.load(target, connections=connections, rate_rps=rate_rps)))
            return runs[-1][1]

        probe = load(overload.FILLING, None)
        capacity_rps = overload.accepted(probe) / probe["elapsed_s"]
        load(overload.OVERLOAD_CONNECTIONS, int(overload.ABOVE * capacity_rps))
        # A ratio of two loads of one server, in the median of the rounds: only where nothing else should run.
        lines = overload.overload_rows(load, print) if LONG else []
        rejected = running.status()["requests"]["rejected"]
    above = [result for rate, result in runs if rate and rate > 1.5 * capacity_rps]
    assert above
    for result in above:
        served, refused = overload.accepted(result), overload.refused(result)
        assert served > 0
        assert refused > 0
        assert served + refused == sum(result["status"].values()) == result["requests"]["completed"]
    # The generator's figures leave its warm-up out; the server has counted that as well.
    assert rejected >= sum(overload.refused(result) for _, result in runs)
    with capsys.disabled():
        for line in lines:
            print(line.line())
    for line in lines:
        assert line.met, line.line()
    for answered in lines[1:]:
        assert answered.ours == answered.peer, "in every round all that was due was accepted or refused"
