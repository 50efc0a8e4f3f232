"""The cluster benchmark loads many keys, compares what it says it compares, and finds knees round by round."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.bench import cluster, fixture, pairs
from runners.bench.fixture import Result
from runners.bench.overload import MIN_ACHIEVED
from runners.bench.row import NoFigure, Row
from runners.design.workload import SCRIPTS
from runners.targets.lab_server import RunningServer


class _Server(RunningServer):
    """Only an address."""

    def __init__(self) -> None:
        pass

    @property
    def url(self) -> str:
        return "http://127.0.0.1:7"


@pytest.mark.parametrize("script", [cluster.GET, cluster.PUT])
def test_load_runs_a_script_that_exists_over_many_keys(script: str) -> None:
    words = fixture.command(cluster.target(script, _Server()), 3, 64, None, Path("out.json"))
    assert (SCRIPTS / script).is_file()
    assert str(SCRIPTS / script) in words
    assert "-R" not in words, "closed loop"
    assert (str(cluster.KEYS) in words) == (script == cluster.GET)


def test_names_of_rows_say_what_is_compared() -> None:
    for comparison in (*cluster.FROM_ONE, *cluster.CLIENTS, *cluster.REPORT_5):
        assert ("ack2of3" in comparison.name) == ("--replication-ack" in comparison.ours.flags)
        assert ("/get/" in comparison.name) == (cluster.GET in "".join(comparison.target(_Server())))


def test_every_kind_of_failure_counts() -> None:
    assert pairs.failures({"errors": {"connect": 1, "status": 2, "timeout": 0}}) == 3


def _loads(limits: dict[str, float], late_above: float = float("inf")) -> cluster.Load:
    """Servers that carry so many a second, and a generator that is late above a rate."""

    def load(who: str, rate_rps: int | None) -> Result:
        rate = rate_rps or limits[who] * 1.2
        served = round(min(rate, limits[who]))
        return {
            "achieved_rps": rate if rate_rps is None else served,
            "status": {"200": served},
            "requests": {"scheduled": round(rate)},
            "latency_us": {"response": {"p99": 100.0}},
            "generator": {"kept_up": rate <= late_above},
        }

    return load


def test_a_knee_is_the_first_rate_of_its_own_ladder_that_is_carried() -> None:
    said: list[str] = []
    found = cluster.knee_row("knee", _loads({cluster.OURS: 600.0, cluster.PEER: 1000.0}, late_above=900), said.append)
    assert isinstance(found, Row)
    assert len(found.ours) == len(found.peer) == pairs.ROUNDS
    for knees, limit in ((found.ours, 600.0), (found.peer, 1000.0)):
        assert all(0.9 * limit <= knee <= limit / MIN_ACHIEVED for knee in knees)
    assert found.met
    assert f"the generator was late in {5 * pairs.ROUNDS} of {10 * pairs.ROUNDS} loads" in found.line()
    assert any("did not keep up" in line for line in said)


def test_a_single_node_without_a_knee_gives_no_figure() -> None:
    none = cluster.knee_row("knee", _none, lambda _line: None)
    assert isinstance(none, NoFigure)
    assert "carried no rate" in none.line()


def _none(who: str, rate_rps: int | None) -> Result:
    """Answers nothing but refusals."""
    result = _loads({cluster.OURS: 100.0, cluster.PEER: 100.0})(who, rate_rps)
    return {**result, "status": {"503": 100}}
