"""Interleaved rounds of two invented servers: balanced, resumed as planned, and ended when they are settled."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runners.analysis.comparison import PRIMARY, Verdict, order
from runners.claims.comparing import Repeats
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import PUT
from runners.errors import MeasureError, PlanError
from runners.execution.beside import in_time
from runners.execution.budget import rounds_within
from runners.execution.series import Series
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_campaign import SIZE, FakeCampaign, Machine, Server

SHAPE = Shape(4, 1, 1.0, 0.0)
KNEE_RPS = 2_000.0
ROUNDS = 8
MINUTES = ROUNDS * 14.5 / 60


def opened(root: Path) -> RunFolder:
    return RunFolder.create(root, "series", "smoke", {"title": "t"})


def series(folder: RunFolder, machine: Machine) -> Series:
    return Series(folder, FakeCampaign(folder, machine), SIZE, machine.launch)


def compare(folder: RunFolder, machine: Machine, b: str = "rocksdb") -> Repeats:
    return series(folder, machine).compare(Setting.of("lsm"), Setting.of(b), PUT, 1_000.0, MINUTES, 0.05, SHAPE)


def stop_at(machine: Machine, count: int) -> None:
    """As Ctrl-C does, in the middle of the step after so many."""

    def interrupt(_name: str) -> None:
        if len(machine.measured) == count:
            raise KeyboardInterrupt

    machine.before = interrupt


def started(folder: RunFolder) -> dict[str, tuple[int, int]]:
    """When each kept step began, and the file that holds it."""
    return {step.name: (step.read_meta()["started_unix_us"], step.meta.stat().st_ino) for step in folder.steps()}


def test_a_setting_against_its_like_shows_no_difference_in_balanced_rounds(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(5_000.0), "rocksdb": Server(5_000.0)})
    found = compare(folder, machine)
    assert not [each for each in found.found if each.verdict in (Verdict.LOWER, Verdict.HIGHER)]
    repeats = [name for name in machine.measured if name.startswith("repeat-")]
    taken = ["".join(name[-1] for name in repeats[at : at + 2]).upper() for at in range(0, len(repeats), 2)]
    seed = next(step.read_meta()["interleaved"]["seed"] for step in folder.steps() if step.name.startswith("repeat-"))
    assert taken == order(ROUNDS, seed)[: len(taken)]
    assert len(machine.launched) == 2 + len(repeats), "each repeat has a new server"
    assert all(name.replace("repeat", "closed") in machine.measured for name in repeats)


def test_a_planted_difference_ends_the_rounds_early(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(5_000.0), "rocksdb": Server(5_000.0, 200.0)})
    found = compare(folder, machine)
    primary = next(each for each in found.found if each.quantity.name == PRIMARY)
    assert primary.verdict == Verdict.HIGHER and primary.low <= 1.0 <= primary.high
    assert len(found.rounds) < ROUNDS
    assert [step.name for step in found.last_round] == [f"repeat-{found.rounds[-1]:03d}-{side}" for side in "ab"]
    without_the_last = dataclasses.replace(found, rounds=(1, 2))
    assert [step.name for step in without_the_last.last_round] == ["repeat-002-a", "repeat-002-b"]
    assert dataclasses.replace(found, rounds=()).last_round == ()


@pytest.mark.parametrize("measured", [3, 7, 8])
def test_rounds_that_were_interrupted_go_on_as_they_were_planned(tmp_path: Path, measured: int) -> None:
    folder, first = opened(tmp_path), Machine({"lsm": Server(5_000.0), "rocksdb": Server(5_000.0)})
    stop_at(first, measured)
    with pytest.raises(KeyboardInterrupt):
        compare(folder, first)
    kept = started(folder)
    planned = {step.name: step.read_meta()["interleaved"] for step in folder.steps() if step.name.startswith("repeat-")}
    second = Machine({"lsm": Server(5_000.0), "rocksdb": Server(5_000.0)})
    compare(folder, second)
    done = {name for name in first.measured if name.startswith("repeat-")}
    assert not done & set(second.measured)
    assert all(started(folder)[name] == kept[name] for name in done)
    if planned:
        seeds = {step.read_meta()["interleaved"]["seed"] for step in folder.steps() if step.name.startswith("repeat-")}
        assert len(seeds) == 1


def test_rounds_that_take_too_long_end_with_the_budget_and_say_so(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(5_000.0), "rocksdb": Server(5_000.0)})
    now = iter(range(0, 1_000_000, 60))  # each look at the clock is a minute later
    slow = Series(folder, FakeCampaign(folder, machine), SIZE, machine.launch, lambda: float(next(now)))
    found = slow.compare(Setting.of("lsm"), Setting.of("rocksdb"), PUT, 1_000.0, MINUTES, 0.001, SHAPE)
    assert 4 <= len(found.rounds) < ROUNDS and found.planned == ROUNDS


def test_a_rate_that_neither_carries_ends_the_comparison_with_the_reason(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(600.0), "rocksdb": Server(600.0)})
    with pytest.raises(MeasureError, match="offer less"):
        compare(folder, machine)
    assert len([name for name in machine.measured if name.startswith("repeat-")]) < 2 * ROUNDS


def test_a_budget_that_is_too_short_says_what_would_do() -> None:
    with pytest.raises(PlanError, match=r"too short for \d+ rounds of \d+ s"):
        rounds_within(0.2, SHAPE)
    assert rounds_within(MINUTES, SHAPE) == ROUNDS


def test_a_load_whose_generator_was_late_is_taken_once_more_and_says_so(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS, kept_up=False)})

    def calm_down(_name: str) -> None:
        machine.servers["lsm"] = Server(KNEE_RPS)

    machine.before = calm_down
    campaign, server = FakeCampaign(folder, machine), machine.launch(Setting.of("lsm"))
    step = in_time(campaign, "put-lsm", "load", server, PUT, Rate(500.0, "given"), SHAPE)
    assert step.valid and step.record.rate_basis.startswith("given; taken again")
    assert machine.measured == ["put-lsm"] * 2 and [kept.name for kept in folder.steps()] == ["put-lsm"]
    assert len(list((folder.path / "steps" / "superseded").iterdir())) == 1
    assert in_time(campaign, "put-lsm", "load", server, PUT, Rate(9_000.0, "given"), SHAPE).saturated
    assert len(machine.measured) == 3, "what the server did is no reason"
