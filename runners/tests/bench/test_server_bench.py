"""The server's benchmark: groups that can be run apart, rows that differ by name and say what they rest on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.bench import calm, cluster, modes, pairs, row, server
from runners.bench.pairs import Asked, Comparison
from runners.bench.server import compared
from runners.toolchain.tools import Jdk

JDK = Jdk(Path("jdk"), "17.0.1", "nobody")
COMPARISONS: tuple[Comparison, ...] = (
    *(*modes.SELECTOR, *modes.POOLS, *modes.VIRTUALS, *modes.REPORTS, *modes.of_report_2(JDK)),
    *(*cluster.FROM_ONE, *cluster.CLIENTS, *cluster.REPORT_5),
)
#: A group is to be run by itself, where the machine is not to be had for longer.
MOST_S = 300.0


def result(rps: float, *, completed: int = 1000, failed: int = 0, p99_us: float = 100.0) -> dict[str, Any]:
    return {
        "achieved_rps": rps,
        "elapsed_s": 2.0,
        "requests": {"completed": completed},
        "errors": {"status": failed, "timeout": 0},
        "latency_us": {"response": {"p99": p99_us}},
        "generator": {"kept_up": True, "cpu_user_s": 0.5, "cpu_system_s": 1.0},
    }


def test_comparisons_have_names_of_their_own_and_compare_two_things() -> None:
    names = [comparison.name for comparison in COMPARISONS]
    assert len(set(names)) == len(names)
    assert all(comparison.ours != comparison.peer for comparison in COMPARISONS)


def test_every_group_can_be_run_within_five_minutes() -> None:
    for name, measured in server.GROUPS.items():
        assert 0 <= sum(each.duration_s for each in measured()) <= MOST_S, name


def test_a_group_that_is_not_there_is_refused_and_those_there_are_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        server.main(["selektor"])
    told = capsys.readouterr().err
    assert "no group selektor" in told
    assert all(name in told for name in server.GROUPS)


def test_a_row_says_how_many_requests_it_rests_on_how_many_failed_and_who_had_no_core_to_spare() -> None:
    rounds = [(Asked(result(90.0, failed=1), 0.99), Asked(result(100.0), 0.5))] * pairs.ROUNDS
    (line,) = pairs.rows(modes.SELECTOR[0], rounds)
    assert line.ratio == pytest.approx(0.9)
    assert not line.met
    total = 2 * 1000 * pairs.ROUNDS
    assert f"{total} requests, {pairs.ROUNDS} failed" in line.line()
    assert "cores used: generator 0.75 and 0.75, server 0.99 and 0.50" in line.line()
    assert "95 %" in line.line(), "rounds enough for an interval"


def test_each_figure_of_a_comparison_has_its_row_and_its_goal() -> None:
    rounds = [(Asked(result(100.0, p99_us=120.0), 1.0), Asked(result(100.0, p99_us=100.0), 1.0))] * pairs.ROUNDS
    p99, rps = pairs.rows(modes.POOLS[1], rounds)
    assert (p99.name.rsplit("/", 1)[1], p99.goal_op, p99.met) == ("p99", "<=", False)
    assert (rps.name.rsplit("/", 1)[1], rps.goal_op, rps.met) == ("rps", ">=", True)


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.parametrize("group", ["reports", "jdk"])
def test_peers_answer_as_ours_do(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, name, value in (
        *((pairs, "ROUNDS", 1), (pairs, "DURATION_S", 1), (calm, "ATTEMPTS", 1), (row, "RUNS", tmp_path)),
        (server, "compared", lambda of: compared([replace(each, compile_s=1) for each in of])),
    ):
        monkeypatch.setattr(module, name, value)
    planned = [measured.name for measured in server.GROUPS[group]()]
    if not planned:
        pytest.skip("what it takes is not on this machine")
    assert server.main([group]) == 0
    said = capsys.readouterr().out
    lines = re.findall(r"^(\S+)/rps ours=.* requests, (\d+) failed", said, re.MULTILINE)
    assert [name for name, _ in lines] == planned
    assert all(failed == "0" for _, failed in lines), said
    (kept,) = tmp_path.iterdir()
    assert len(json.loads(kept.read_text())["rows"]) == len(lines)
