"""The cluster benchmark loads many keys, compares what it says it compares, and counts what failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.bench import cluster, stand
from runners.launch.server import RunningServer
from runners.plan.workload import SCRIPTS


class _Server(RunningServer):
    """Only an address."""

    def __init__(self) -> None:
        pass

    @property
    def url(self) -> str:
        return "http://127.0.0.1:7"


@pytest.mark.parametrize("script", [cluster.GET, cluster.PUT])
def test_load_runs_a_script_that_exists_over_many_keys(script: str) -> None:
    words = stand.command(cluster.target(_Server(), script), 3, 64, None, Path("out.json"))
    assert (SCRIPTS / script).is_file()
    assert str(SCRIPTS / script) in words
    assert "-R" not in words, "closed loop"
    assert (str(cluster.KEYS) in words) == (script == cluster.GET)


def test_names_of_rows_are_different_and_say_what_is_compared() -> None:
    names = [pair.name for pair in cluster.PAIRS]
    assert len(set(names)) == len(names)
    for pair in cluster.PAIRS:
        assert pair.ours != pair.peer
        assert ("ack2of3" in pair.name) == ("--replication-ack" in pair.ours)


def test_row_compares_medians_of_interleaved_rounds() -> None:
    row = cluster.row(cluster.PAIRS[0], [(50.0, 100.0), (46.0, 100.0), (10.0, 10.0)])
    assert row.ratio == pytest.approx(0.46)
    assert row.met


def test_every_kind_of_failure_counts() -> None:
    assert cluster.failures({"errors": {"connect": 1, "status": 2, "timeout": 0}}) == 3
