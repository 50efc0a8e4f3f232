"""At twice the knee a bounded queue serves whom it lets in and refuses the others: all get a response."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from runners.analysis.knee import Kind, Knee
from runners.analysis.rate_steps import RateStep
from runners.bench import fixture as fixtures
from runners.bench import knee as overload
from runners.bench.fixture import NoFigure, Result, Row, fixture
from runners.design.load import FIXED_GET
from runners.tests.counts import rounds
from runners.tests.tiers import LONG

CAPACITY_RPS = 1000
SECONDS = 10


@dataclass
class Pool:
    """A server that serves so many a second and refuses the rest, and its generator."""

    limit_rps: float
    late: Callable[[int, int], bool] = lambda rate, time: False
    offered: list[int] = field(default_factory=list)

    def __call__(self, above: int, below: int, rounds: int) -> list[tuple[Result, Result]]:
        return [(self.load(above), self.load(below)) for _ in range(rounds)]

    def load(self, rate: int) -> Result:
        self.offered.append(rate)
        scheduled = rate * SECONDS
        served = round(min(rate, self.limit_rps) * SECONDS)
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


FOUND = Knee(Kind.FOUND, 850.0, 840.0, 860.0, True)
NONE = Knee(Kind.ABOVE, math.nan, 1300.0, math.nan, True)


@pytest.mark.parametrize(("lost", "met"), [(0.0, True), (0.009, True), (0.02, False), (1.0, False)])
def test_a_rate_is_achieved_if_all_but_one_in_a_hundred_is_served(lost: float, met: bool) -> None:
    assert (not RateStep(100.0, (), lost=lost).missed(overload.SERVED)) is met


def test_without_a_knee_there_is_no_figure() -> None:
    pool = Pool(CAPACITY_RPS)
    for line in overload.overload_rows(CAPACITY_RPS, NONE, pool, silent):
        assert isinstance(line, NoFigure)
        assert not line.met
        assert "ours=none peer=none ratio=none" in line.line()
        assert f" short (no figure: no knee found ({NONE.kind}), with a capacity of 1000/s" in line.line()
    assert not pool.offered, "nothing is offered at twice a knee that there is not"


def test_overload_is_offered_at_twice_the_knee_and_compared_with_below_it() -> None:
    pool, said = Pool(860), list[str]()
    p99, answered = overload.overload_rows(CAPACITY_RPS, FOUND, pool, said.append)
    assert pool.offered == [1700, 680] * overload.ROUNDS
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
    p99, _ = overload.overload_rows(CAPACITY_RPS, FOUND, pool, silent)
    assert isinstance(p99, Row)
    assert len(p99.ours) == overload.ROUNDS
    assert pool.offered.count(1700) == overload.ROUNDS + 1
    never, _ = overload.overload_rows(CAPACITY_RPS, FOUND, Pool(860, late=lambda rate, time: rate == 1700), silent)
    assert isinstance(never, NoFigure)
    assert f"the generator kept up in 0 of {overload.ROUNDS + overload.SPARE_ROUNDS} rounds" in never.line()


def test_overload_that_shuts_everyone_out_has_no_figure() -> None:
    p99, _ = overload.overload_rows(CAPACITY_RPS, FOUND, Pool(0.0), silent)
    assert isinstance(p99, NoFigure)
    assert "nothing accepted" in p99.line()


def test_a_row_without_a_figure_is_kept_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixtures, "RUNS", tmp_path)
    fixtures.keep("server", overload.overload_rows(CAPACITY_RPS, NONE, Pool(CAPACITY_RPS), silent))
    (kept,) = tmp_path.iterdir()
    for line in json.loads(kept.read_text())["rows"]:
        assert (line["ours"], line["peer"], line["ratio"], line["met"]) == ([], [], None, False)
        assert line["why"]


@pytest.mark.long
@pytest.mark.e2e
def test_who_is_let_in_is_served_and_all_others_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with fixture() as on, on.running(on.spec("overload", overload.FLAGS)) as running:
        load = partial(on.load, [running.url + FIXED_GET.path])
        load(rounds(1, 5))  # its code is compiled
        probe = load(connections=overload.FILLING)
        capacity_rps = overload.accepted(probe) / probe["elapsed_s"]
        result = load(connections=overload.OVERLOAD_CONNECTIONS, rate_rps=int(overload.ABOVE * capacity_rps))
        # A ratio of two loads of one server, in the median of the rounds: only where nothing else should run.
        lines = overload.overload(on, running, print) if LONG else []
        rejected = running.status()["requests"]["rejected"]
    served, refused = overload.accepted(result), overload.refused(result)
    assert served > 0
    assert refused > 0
    assert served + refused == sum(result["status"].values()) == result["requests"]["completed"]
    # The generator's figures leave its warm-up out; the server has counted that as well.
    assert rejected >= refused
    with capsys.disabled():
        for line in lines:
            print(line.line())
    for line in lines:
        assert line.met, line.line()
    for answered in lines[1:]:
        assert answered.ours == answered.peer, "in every round all that was due was accepted or refused"
