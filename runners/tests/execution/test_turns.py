"""Settings that take turns, on invented servers: every round has each of them once, all at one rate."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from pathlib import Path

import pytest

from runners.analysis.comparison import FEWEST_ROUNDS
from runners.claims import cluster, turns
from runners.design.report_5 import PUBLISHED_RPS, Turns, get, put
from runners.design.setting import Setting
from runners.execution import turns as taking_turns
from runners.execution import warming
from runners.execution.turns import TakingTurns
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.storage.run_folder import RunFolder, StepFolder
from runners.tests.fixtures.fake_campaign import FakeCampaign, Machine, Server

PLAN = Turns(rounds=3, warm_s=1.0, rehearsals=2, closed_s=1.0, warmup_s=0.0, load_s=1.0)
SETTINGS = [Setting.of("one"), Setting.of("other")]


def taken(root: Path, machine: Machine, workload: object = None, **more: object) -> Run:
    folder = RunFolder.create(root, "05", "smoke", {"title": "t"})
    taking = TakingTurns(FakeCampaign(folder, machine), machine.launch, PLAN, 4)
    taking.take("changes", SETTINGS, workload or put("smoke"), PUBLISHED_RPS, **more)  # type: ignore[arg-type]
    return read_run(folder)


def test_every_round_has_each_setting_once_at_one_rate(tmp_path: Path) -> None:
    run = taken(tmp_path, Machine({"one": Server(2_040.0), "other": Server(1_020.0)}))
    (group,) = turns.groups(run.steps)
    assert group.settings == ("one", "other") and group.planned == PLAN.rounds
    assert all(sorted(group.turns[name]) == [1, 2, 3] for name in group.settings)
    assert {step.record.offered_rps for step in group.steps} == {700.0}, "70 % of what the weaker carries"
    each = turns.of(group.against("one", "other"), turns.CARRIED)
    assert each is not None and each.share == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize(("seconds", "rounds"), [(0.0, 9), (1_000.0, FEWEST_ROUNDS)])
def test_a_slow_machine_ends_its_rounds_early_and_the_report_says_so(
    tmp_path: Path, seconds: float, rounds: int
) -> None:
    """Each look at the clock is so many seconds after the last: of a slow machine, the first round is late already."""
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    folder = RunFolder.create(tmp_path, "05", "smoke", {"title": "t"})
    plan, clock = dataclasses.replace(PLAN, rounds=9), itertools.count(0.0, seconds)
    taking = TakingTurns(FakeCampaign(folder, machine), machine.launch, plan, 4, lambda: next(clock))
    taking.take("changes", SETTINGS, put("smoke"), PUBLISHED_RPS)
    run = read_run(folder)
    (group,) = turns.groups(run.steps)
    assert sorted(group.turns["one"]) == sorted(group.turns["other"]) == list(range(1, rounds + 1))
    claims = cluster.analyse(run)
    assert claims is not None
    (check,) = [check for check in claims.checks if check.name == "changes, rounds"]
    assert check.text.endswith("in 9 rounds." if rounds == 9 else f"in {rounds} of 9 planned rounds.")


def test_the_published_rate_is_offered_where_all_carry_it(tmp_path: Path) -> None:
    run = taken(tmp_path, Machine({"one": Server(20_000.0), "other": Server(15_000.0)}))
    assert {step.record.offered_rps for step in run.find(kind=turns.TURN)} == {float(PUBLISHED_RPS)}


@pytest.mark.parametrize("rests", [True, False])
def test_a_server_rehearses_its_turn_until_its_compiler_rests_and_no_rehearsal_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rests: bool
) -> None:
    monkeypatch.setattr(taking_turns, "not_warm", lambda _step: not rests)
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    run = taken(tmp_path, machine)
    rehearsals = 1 if rests else PLAN.rehearsals
    assert machine.measured.count("changes-warm-one") == 1 + 2 * rehearsals + 1
    (last,) = run.find(kind=turns.WARM, subject="one")
    assert last.record.offered_rps is None and not last.record.compiler_on_any_core
    superseded = [StepFolder(path).read_meta() for path in run.folder.steps_path.glob("superseded/changes-warm-one-*")]
    assert {meta["compiler_on_any_core"] for meta in superseded} == {True}
    (group,) = turns.groups(run.steps)
    assert sorted(group.turns["one"]) == [1, 2, 3]


def test_a_server_that_still_compiles_is_left_alone_before_anything_else_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    rested: list[str] = []
    monkeypatch.setattr(warming, "not_warm", lambda step: step.subject == "one")
    monkeypatch.setattr(warming, "await_rest", lambda _read_s, _bound_s: rested.append(machine.measured[-1]))
    taken(tmp_path, machine)
    turns_of_one = [name for name in machine.measured if name.startswith("changes-one-")]
    assert len(turns_of_one) == 2 * PLAN.rounds, "no turn is taken again by this clock of the compiler"
    assert [name for name in rested if "-warm-" not in name] == turns_of_one
    assert {name for name in rested if "-warm-" in name} == {"changes-warm-one", "changes-warm-other"}


def test_a_turn_in_which_a_server_compiled_is_taken_again_once_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    monkeypatch.setattr(taking_turns, "not_warm", lambda step: step.name == "changes-one-02-closed")
    run = taken(tmp_path, machine)
    counted = collections.Counter(name for name in machine.measured if "-warm-" not in name)
    assert counted.pop("changes-one-02-closed") == 2 and set(counted.values()) == {1}
    (group,) = turns.groups(run.steps)
    assert group.taken_again == 1 and len(group.turns["one"]) == PLAN.rounds
    claims = cluster.analyse(run)
    assert claims is not None
    (check,) = [check for check in claims.checks if check.name == "changes, compilers at rest"]
    assert check.text.endswith("; taken again for that: 1.")


def test_only_those_named_are_measured_with_the_profiler_and_only_for_events(tmp_path: Path) -> None:
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    run = taken(tmp_path / "a", machine, events=("lock",), profiled=("other",))
    assert [step.subject for step in run.find(kind=turns.PROFILED)] == ["other"]
    assert not taken(tmp_path / "b", machine, events=(), profiled=("other",)).find(kind=turns.PROFILED)


def test_a_store_that_is_read_is_filled_once_a_setting(tmp_path: Path) -> None:
    machine = Machine({"one": Server(2_000.0), "other": Server(1_000.0)})
    taken(tmp_path, machine, get("smoke"))
    assert [name for name, _ in machine.filled] == ["one", "other"] and len(machine.launched) == 2
