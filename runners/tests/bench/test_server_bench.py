"""The server's benchmark: groups that can be run apart, and rows that compare what their names say."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.analysis.knee import Kind, Knee
from runners.bench import fixture, knee, server
from runners.bench.fixture import NoFigure, Row
from runners.bench.server import Comparison, Loaded
from runners.toolchain.tools import Jdk

JDK = Jdk(Path("jdk"), "17.0.1", "nobody")
COMPARISONS: tuple[Comparison, ...] = (
    *(*server.SELECTOR, *server.POOLS, *server.VIRTUALS, *server.REPORTS, *server.of_report_2(JDK)),
    *(*server.FROM_ONE, *server.CLIENTS, *server.REPORT_5, *server.plateau(JDK, JDK)),
)
#: A group is to be run by itself, where the machine is not to be had for longer.
MOST_S = 360.0


def result(rps: float, *, completed: int = 1000, failed: int = 0, p99_us: float = 100.0) -> dict[str, Any]:
    return {
        "achieved_rps": rps,
        "requests": {"completed": completed},
        "errors": {"status": failed, "timeout": 0},
        "latency_us": {"response": {"p99": p99_us}},
    }


def test_comparisons_have_names_of_their_own_and_compare_two_things() -> None:
    names = [comparison.name for comparison in COMPARISONS]
    assert len(set(names)) == len(names)
    assert all(comparison.ours != comparison.peer for comparison in COMPARISONS)


def test_every_group_can_be_run_within_six_minutes() -> None:
    for name, measured in server.GROUPS.items():
        assert 0 <= sum(part.duration_s for part in measured()) <= MOST_S, name


def test_a_group_that_is_not_there_is_refused_and_those_there_are_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        server.main(["selektor"])
    reported = capsys.readouterr().err
    assert "no group selektor" in reported
    assert all(name in reported for name in server.GROUPS)


def test_a_row_says_how_many_requests_it_rests_on_how_many_failed_and_who_had_no_core_to_spare() -> None:
    rounds = [(Loaded(result(90.0, failed=1), 0.99, 0.75), Loaded(result(100.0), 0.5, 0.75))] * server.ROUNDS
    (line,) = server.rows_of(server.SELECTOR[0], rounds)
    assert line.ratio == pytest.approx(0.9)
    assert not line.met
    total = 2 * 1000 * server.ROUNDS
    assert f"{total} requests, {server.ROUNDS} failed" in line.line()
    assert "cores used: generator 0.75 and 0.75, server 0.99 and 0.50" in line.line()
    assert "95 %" in line.line(), "rounds enough for an interval"


def test_each_figure_of_a_comparison_has_its_row_and_its_goal() -> None:
    ours, peer = (Loaded(result(100.0, p99_us=p99_us), 1.0, 0.5) for p99_us in (120.0, 100.0))
    rounds = [(ours, peer)] * server.ROUNDS
    p99, rps = server.rows_of(server.POOLS[1], rounds)
    assert (p99.name.rsplit("/", 1)[1], p99.goal_op, p99.met) == ("p99", "<=", False)
    assert (rps.name.rsplit("/", 1)[1], rps.goal_op, rps.met) == ("rps", ">=", True)


@pytest.mark.parametrize("script", [server.GET, server.PUT])
def test_load_runs_a_script_that_exists_over_many_keys(script: str) -> None:
    sent = server.many_keys(script)
    assert sent.script is not None and sent.script.is_file()
    assert sent.arguments == ((str(server.KEYS),) if script == server.GET else ())


def test_rounds_are_fresh_starts_of_both_in_closed_loop() -> None:
    for comparison in COMPARISONS:
        starts = list(comparison.block.sessions(comparison.block.rate({})))
        assert len(starts) == server.ROUNDS
        assert all({member.name for member in start.members} == {server.OURS, server.PEER} for start in starts)
        assert all(start.load.rate is None and start.slice_s for start in starts)
    assert len({start.members[0].name for start in starts}) == 2, "neither is always first"


def test_names_of_rows_say_what_is_compared() -> None:
    for comparison in (*server.FROM_ONE, *server.CLIENTS, *server.REPORT_5):
        assert ("ack2of3" in comparison.name) == ("--replication-ack" in comparison.ours.flags)
        assert ("/get/" in comparison.name) == (comparison.workload == server.many_keys(server.GET))


def test_every_kind_of_failure_counts() -> None:
    assert server.failures({"errors": {"connect": 1, "status": 2, "timeout": 0}}) == 3


def knee_at(rps: float) -> Knee:
    return Knee(Kind.FOUND, rps, rps / 1.05, rps * 1.05, True)


def test_knees_are_compared_over_the_rounds_that_found_both() -> None:
    lost = Knee(Kind.OPEN, math.nan, math.nan, math.nan)
    rounds = [{"cluster": knee_at(600.0), "single": knee_at(1000.0)}, {"cluster": lost, "single": knee_at(1000.0)}]
    compared = knee.row("knee", rounds, "cluster", "single", 0.45)
    assert isinstance(compared, Row) and compared.ours == (600.0,) and compared.met
    assert compared.note == "in 1 rounds no knee of both" and "cluster 600/s (found)" in knee.line(rounds[0])
    none = knee.row("knee", rounds[1:], "cluster", "single", 0.45)
    assert isinstance(none, NoFigure) and "in no round were both knees found" in none.line()


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.parametrize("group", ["reports", "jdk"])
def test_peers_answer_as_ours_do(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, name, value in ((server, "ROUNDS", 1), (server, "DURATION_S", 1), (fixture, "RUNS", tmp_path)):
        monkeypatch.setattr(module, name, value)
    quick = [replace(part, compile_s=1) for part in server.GROUPS[group]() if isinstance(part, Comparison)]
    if not quick:
        pytest.skip("what it takes is not on this machine")
    monkeypatch.setitem(server.GROUPS, group, lambda: quick)
    planned = [comparison.name for comparison in quick]
    assert server.main([group]) == 0
    said = capsys.readouterr().out
    lines = re.findall(r"^(\S+)/rps ours=.* requests, (\d+) failed", said, re.MULTILINE)
    assert [name for name, _ in lines] == planned
    assert all(failed == "0" for _, failed in lines), said
    (kept,) = tmp_path.iterdir()
    assert len(json.loads(kept.read_text())["rows"]) == len(lines)
