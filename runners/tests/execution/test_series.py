"""Series of loads on an invented server: the knee, interleaved rounds, and nothing that was measured is repeated."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from runners.analysis.comparison import PRIMARY, Verdict, order
from runners.analysis.meets import Outcome
from runners.claims.climbing import Ladder
from runners.claims.comparing import Repeats
from runners.design.climb import Climb
from runners.design.objective import Objective
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import GET, PUT
from runners.errors import MeasureError, PlanError
from runners.execution.beside import in_time
from runners.execution.budget import rounds_within, seconds_of_a_probe
from runners.execution.series import Series
from runners.report.ladder import table as ladder_table
from runners.storage.run_folder import RunFolder
from runners.storage.schema import read_record
from runners.tests.fixtures.fake_campaign import SIZE, FakeCampaign, Machine, Server

SHAPE = Shape(4, 1, 1.0, 0.0)
LIMITS = {"low_rps": 100.0, "high_rps": 100_000.0, "precision": 0.2}
KNEE_RPS = 2_000.0
LATE = Server(KNEE_RPS, 20_000.0, kept_up=False)
ROUNDS = 8
MINUTES = ROUNDS * 14.5 / 60


def opened(root: Path) -> RunFolder:
    return RunFolder.create(root, "series", "smoke", {"title": "t"})


def series(folder: RunFolder, machine: Machine) -> Series:
    return Series(folder, FakeCampaign(folder, machine), SIZE, machine.launch)


def search(folder: RunFolder, machine: Machine, minutes: float = 5.0) -> Ladder:
    return series(folder, machine).knee(Setting.of("lsm"), PUT, Objective(), minutes, SHAPE, LIMITS)


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


def rates(folder: RunFolder) -> list[float]:
    return [read_record(step).offered_rps or 0.0 for step in folder.steps() if step.name.startswith("rung-")]


def test_the_knee_of_an_invented_server_is_found_on_one_warm_server(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    found = search(folder, machine)
    assert found.answer is not None and found.answer.low_rps <= KNEE_RPS <= found.answer.high_rps
    assert len(machine.launched) == 1 and machine.measured[0].startswith("probe-")


def test_a_search_that_was_interrupted_keeps_its_probes_and_repeats_none(tmp_path: Path) -> None:
    whole = opened(tmp_path / "whole")
    search(whole, Machine({"lsm": Server(KNEE_RPS)}))
    folder, first = opened(tmp_path / "cut"), Machine({"lsm": Server(KNEE_RPS)})
    stop_at(first, 5)  # a warm-up and four probes
    with pytest.raises(KeyboardInterrupt):
        search(folder, first)
    kept = started(folder)
    second = Machine({"lsm": Server(KNEE_RPS)})
    found = search(folder, second)
    rungs = [name for name in second.measured if name.startswith("rung-")]
    assert rungs and not set(rungs) & set(first.measured)
    after = started(folder)
    assert all(after[name] == kept[name] for name in first.measured if name.startswith("rung-"))
    assert found.answer is not None and found.answer.low_rps <= KNEE_RPS <= found.answer.high_rps
    assert rates(folder)[:5] == rates(whole)[:5], "it goes on where the other would have gone"


def test_a_search_that_is_done_measures_nothing_more(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    before = search(folder, machine)
    again = Machine({"lsm": Server(KNEE_RPS)})
    assert search(folder, again).answer == before.answer
    assert not again.measured and not again.launched


def test_a_server_that_died_between_probes_is_started_and_warmed_again(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})

    def die(_name: str) -> None:
        if len(machine.measured) == 3:
            machine.launched[-1].living = False

    machine.before = die
    search(folder, machine)
    assert len(machine.launched) == 2
    assert Counter(name.split("-")[0] for name in machine.measured)["probe"] == 2


def test_a_ladder_takes_only_the_rungs_that_are_missing(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    series(folder, machine).ladder(Setting.of("lsm"), GET, [500, 1_000], SHAPE)
    assert machine.filled and machine.filled[0][0] == "lsm"
    again = Machine({"lsm": Server(KNEE_RPS)})
    found = series(folder, again).ladder(Setting.of("lsm"), GET, [500, 1_500, 2_500], SHAPE)
    assert [name for name in again.measured if name.startswith("rung-")] == ["rung-get-lsm-002", "rung-get-lsm-003"]
    assert [probe.rps for probe in found.probes] == [500, 1_500, 2_500]


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
    with pytest.raises(PlanError, match=r"0\.5 minutes: too short for 4 probes of \d+ s"):
        seconds_of_a_probe(0.5, Shape(4, 1, 20.0, 1.0), LIMITS)
    with pytest.raises(PlanError, match="no rate between them"):
        seconds_of_a_probe(5, SHAPE, {**LIMITS, "low_rps": 200_000.0})
    with pytest.raises(PlanError, match=r"too short for \d+ rounds of \d+ s"):
        rounds_within(0.2, SHAPE)
    assert rounds_within(MINUTES, SHAPE) == ROUNDS


def test_a_climb_finds_the_knee_then_offers_shares_of_it_and_published_rates_within_reach(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    plan = Climb(3.0, 1.0, 0.0, (0.5, 0.9, 1.2), (0.5, 0.9), 1.0, precision=0.2, published_s=2.0)
    published = {"near": 1_234.0, "far": 9_999.0}
    found = series(folder, machine).climb(Setting.of("lsm"), PUT, Objective(), plan, SHAPE, published, ("cpu",))
    assert found.base is not None and found.base.knee is not None
    assert found.base.knee.low_rps <= KNEE_RPS <= found.base.knee.high_rps
    offered = [(step.record.offered_rps or 0.0) for step in found.steps]
    assert offered == sorted(offered) and 1_234.0 in offered and 9_999.0 not in offered and len(offered) == 4
    recorded_s = {(step.record.offered_rps or 0.0): step.record.duration_s for step in found.steps}
    assert recorded_s.pop(1_234.0) == 2.0 and set(recorded_s.values()) == {1.0}, "as long as what was published"
    note = ladder_table(found).note
    assert note is not None and "Recorded for 1\u00a0s each, 1\u202f234/s for 2\u00a0s." in note
    profiled = [step for step in folder.steps() if step.name.startswith("rung-profiled-")]
    assert {read_record(step).offered_rps for step in profiled} <= set(offered) and len(profiled) == 2
    assert len(machine.launched) == 1  # all of it on one warm server


@pytest.mark.parametrize("left", [1, 2, 3, 5])
def test_a_climb_that_was_interrupted_goes_on_and_measures_nothing_again(tmp_path: Path, left: int) -> None:
    plan = Climb(3.0, 1.0, 0.0, (0.5, 0.9, 1.2), (0.5, 0.9), 1.0, precision=0.2)

    def climb(folder: RunFolder, machine: Machine) -> Ladder:
        return series(folder, machine).climb(Setting.of("lsm"), PUT, Objective(), plan, SHAPE, {}, ("cpu",))

    whole = Machine({"lsm": Server(KNEE_RPS)})
    climb(opened(tmp_path / "whole"), whole)
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    stop_at(machine, len(whole.measured) - left)
    with pytest.raises(KeyboardInterrupt):
        climb(folder, machine)
    before, again = started(folder), Machine({"lsm": Server(KNEE_RPS)})
    found = climb(folder, again)
    after = started(folder)
    rungs = {name: at for name, at in before.items() if name.startswith("rung-")}
    assert rungs and {name: after[name] for name in rungs} == rungs
    assert [name for name in machine.measured if name.startswith("rung-")][: len(rungs)] == list(rungs)
    assert after.keys() == started(RunFolder(next((tmp_path / "whole").iterdir()))).keys(), "profiled rungs too"
    assert len(found.rungs) == 3 and len(again.launched) == 1


def test_a_climb_without_a_search_takes_shares_of_the_closed_loop(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    plan = Climb(0, 1.0, 0.0, (0.5,), (), 1.0)
    found = series(folder, machine).climb(Setting.of("lsm"), PUT, Objective(), plan, SHAPE, {})
    assert found.base is not None and found.base.what == "closed loop" and found.base.knee is None
    assert found.steps[0].record.offered_rps == pytest.approx(found.base.rps / 2, rel=0.01)


def test_a_climb_whose_probes_say_nothing_goes_on_from_the_closed_loop(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": LATE})
    plan = Climb(1.0, 1.0, 0.0, (0.5,), (), 1.0)
    found = series(folder, machine).climb(Setting.of("lsm"), PUT, Objective(), plan, SHAPE, {})
    assert found.base is not None and found.base.what == "closed loop" and found.base.knee is None
    assert [step.record.offered_rps for step in found.rungs] == [pytest.approx(found.base.rps / 2, rel=0.01)]
    assert len(machine.launched) == 1


def test_rungs_at_which_the_generator_was_late_are_offered_once_more_up_to_a_third(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": LATE})

    def calm_down(name: str) -> None:
        if name.endswith("-004"):
            machine.servers["lsm"] = Server(KNEE_RPS)

    machine.before = calm_down
    plan = Climb(0, 1.0, 0.0, (0.2, 0.3, 0.4, 0.5), (), 1.0)
    found = series(folder, machine).climb(Setting.of("lsm"), PUT, Objective(), plan, SHAPE, {})
    assert machine.measured[-2:] == ["rung-put-lsm-rungs-001-again", "rung-put-lsm-rungs-002-again"]
    assert [met.outcome for met in found.judged] == [Outcome.GENERATOR] * 4 + [Outcome.MET] * 2, "the first are kept"
    assert [step.valid for step in found.rungs] == [True, True, False, False]


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


def test_a_rung_that_misses_its_objective_is_not_offered_again(tmp_path: Path) -> None:
    folder, machine = opened(tmp_path), Machine({"lsm": Server(KNEE_RPS)})
    found = series(folder, machine).ladder(Setting.of("lsm"), PUT, [500, 9_000], SHAPE)
    assert [met.outcome for met in found.judged] == [Outcome.MET, Outcome.MISSED]
    assert not [name for name in machine.measured if name.endswith("-again")]
