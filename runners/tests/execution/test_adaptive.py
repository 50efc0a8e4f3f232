"""Searches and ladders on an invented server: their order, their budget, and what a later session reads back."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.analysis.rate_steps import StepOutcome
from runners.design.block import FEWEST_STARTS
from runners.design.experiment import validate
from runners.design.ladder import AroundTheKnee, KneeSearch, Ladder, WarmServer, nearest
from runners.design.load import GET, PUT, SIZES, Shape, Workload
from runners.design.objective import Objective
from runners.design.session import AROUND_A_PROFILE_S, AROUND_A_RATE_STEP_S, PROFILED_RATE_STEP, RATE_STEP
from runners.design.setting import Setting
from runners.errors import MeasureError, PlanError
from runners.execution.executor import Executor
from runners.execution.progress import Progress
from runners.experiments.e04_lsm_rate_ladder import LADDERS
from runners.experiments.registry import EXPERIMENTS
from runners.readers.reading import read_run, read_step
from runners.readers.run import Step
from runners.results.ladders import Ladder as Measured
from runners.results.ladders import between, ladder_of, ladders
from runners.storage.run_folder import RunFolder, StepFolder
from runners.targets.lab_server import RunningServer
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.fake_measurement import SIZE, FakeMeasurement, Machine, Server

SHAPE = Shape(4, 1, 0.5, 0.0)
KNEE_RPS = 2_000.0
SLACK = 1.03  # within half a second, a queue may grow by the objective's 10 ms
LATE = Server(KNEE_RPS, 20_000.0, kept_up=False)


def server(workload: Workload = PUT) -> WarmServer:
    return WarmServer(Setting.of("lsm"), workload, SIZE)


def search(minutes: float = 0.7, workload: Workload = PUT, precision: float = 0.0) -> KneeSearch:
    return KneeSearch("knee", "t", server(workload), Objective(), minutes, SHAPE, 100.0, 100_000.0, precision)


def given(*rates: float, workload: Workload = PUT) -> Ladder:
    return Ladder("rates", "t", server(workload), SHAPE, rates)


def around(
    plan: AroundTheKnee, published: tuple[tuple[str, float], ...] = (), profile: tuple[str, ...] = ()
) -> KneeSearch | Ladder:
    plan = dataclasses.replace(plan, connections=4, published=published, profile=profile)
    return plan.block("around", "t", server())


class Bench:
    """A folder, an invented machine, and as many sessions of one run as a test wants."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder.create(root, "04", "smoke", {"title": "t"})
        self.machine = Machine({"lsm": Server(KNEE_RPS)})
        self.progress = Progress(0.0, Memory())

    def launch(self, setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
        return self.machine.launch(setting)

    def session(self) -> Executor:
        """A session of the run from its beginning."""
        self.machine.measured.clear()
        self.machine.launched.clear()
        return Executor(self.folder, FakeMeasurement(self.folder, self.machine), self.launch, self.progress)

    def cut(self, block: KneeSearch | Ladder, count: int) -> None:
        """A session that is killed in the middle of the step after so many."""
        executor = self.session()

        def interrupt(_name: str) -> None:
            if len(self.machine.measured) == count:
                raise KeyboardInterrupt

        self.machine.before = interrupt
        with pytest.raises(KeyboardInterrupt):
            executor.run(block)
        self.machine.before = lambda _name: None

    def steps(self) -> dict[str, tuple[int, int]]:
        """When each kept step began, and the file that holds it."""
        return {
            step.name: (step.read_meta()["started_unix_us"], step.meta.stat().st_ino) for step in self.folder.steps()
        }


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def measured(steps: list[Step], name: str = "") -> Measured:
    own = [step for step in steps if step.kind == RATE_STEP and step.record.ladder is not None]
    last = name or (own[-1].record.ladder.name if own[-1].record.ladder else "")
    return ladder_of(last, [step for step in own if step.record.ladder and step.record.ladder.name == last])


def offered(steps: list[Step]) -> list[float | None]:
    return [step.record.offered_rps for step in steps if step.kind == RATE_STEP]


def test_the_knee_of_an_invented_server_is_found_on_one_warm_server(bench: Bench) -> None:
    steps = bench.session().run(search())
    knee = measured(steps).knee
    assert knee is not None and knee.low_rps / SLACK <= KNEE_RPS <= knee.high_rps * SLACK
    assert len(bench.machine.launched) == 1
    assert [step.name for step in steps[:3]] == ["probe-put-lsm", "rate-step-put-lsm-001", "rate-step-put-lsm-002"]
    assert {step.record.block for step in steps} == {"knee"} and all(step.record.specification for step in steps)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_search_that_was_killed_goes_on_where_it_would_have_gone(tmp_path: Path, count: int) -> None:
    whole, bench = Bench(tmp_path / "whole"), Bench(tmp_path / "cut")
    expected = offered(whole.session().run(search()))
    bench.cut(search(), count)
    kept = bench.steps()
    first = list(bench.machine.measured)
    steps = bench.session().run(search())
    assert offered(steps)[: count + 1] == expected[: count + 1]
    assert not set(bench.machine.measured) & set(first) and bench.machine.measured[0] == "re-probe-put-lsm"
    assert {name: bench.steps()[name] for name in kept} == kept
    knee = measured(steps).knee
    assert knee is not None and knee.low_rps / SLACK <= KNEE_RPS <= knee.high_rps * SLACK


def test_a_search_that_was_killed_twice_measures_no_step_twice(bench: Bench) -> None:
    bench.cut(search(), 3)
    bench.cut(search(), 3)  # a warm-up and two more steps
    kept = bench.steps()
    bench.session().run(search())
    assert {name: at for name, at in bench.steps().items() if name in kept and name.startswith("rate-step-")} == {
        name: at for name, at in kept.items() if name.startswith("rate-step-")
    }
    assert read_step(StepFolder(bench.folder.steps_path / "rate-step-put-lsm-003")).record.block == "knee"


def test_a_search_that_is_done_measures_nothing_more_and_is_taken_off_the_plan(bench: Bench) -> None:
    before = bench.session().run(search())
    bench.progress = Progress(1_000.0, memory := Memory())
    again = bench.session().run(search())
    assert [step.record for step in again] == [step.record for step in before]
    assert not bench.machine.measured and not bench.machine.launched
    with bench.progress.part("now", 0.0):
        pass
    assert memory.events[-1].total_s == pytest.approx(1_000.0 - search().planned_s)


def test_who_searches_again_has_it_measured_again_and_no_older_step_counts(bench: Bench) -> None:
    executor = bench.session()
    first = executor.run(search())
    bench.machine.servers["lsm"] = Server(700.0)
    second = executor.run(search())
    assert offered(first) != offered(second)
    (read,) = ladders(read_run(bench.folder))
    assert [step.record.offered_rps for step in read.steps] == offered(second)


def test_a_search_ends_with_its_budget_and_goes_on_with_a_larger_one(bench: Bench) -> None:
    steps = bench.session().run(search(0.4))  # a load counts six seconds and some around it
    short = [step for step in steps if step.record.sweep is not None]
    assert len(short) == 2
    more = bench.session().run(search(0.6))
    assert offered(more)[:2] == offered(short) and len([step for step in more if step.record.sweep]) == 4
    assert not {step.name for step in short} & set(bench.machine.measured)


def test_a_search_is_planned_with_its_budget_and_refused_without_one() -> None:
    assert search().planned_s == 0.7 * 60 + search().server.warm_up(SHAPE).planned_s
    filled_s = search(workload=GET).planned_s - search().planned_s
    assert filled_s == pytest.approx(GET.fill_s())
    with pytest.raises(PlanError, match=r"0\.5 minutes: too short for 16 steps of 20 s"):
        dataclasses.replace(search(), minutes=0.5, shape=Shape(4, 1, 20.0))
    with pytest.raises(PlanError, match=r"a short step has no p99\.99"):
        dataclasses.replace(search(), objective=Objective.parse("p99.99<=10ms"))
    with pytest.raises(PlanError, match="no rate between them"):
        dataclasses.replace(search(), low_rps=200_000.0)


def test_longer_steps_below_and_above_confirm_the_knee_of_each_server(bench: Bench) -> None:
    bench.machine.servers["memory"] = Server(1.5 * KNEE_RPS)
    other = dataclasses.replace(server(), treatment=Setting.of("memory"))
    block = dataclasses.replace(search(0.7, precision=0.15), others=(other,))
    steps = bench.session().run(block)
    longer = [step for step in steps if step.kind == RATE_STEP and step.record.sweep is None]
    assert {step.record.duration_s for step in longer} == {block.confirm_s}
    run = read_run(bench.folder)
    for ladder in ladders(run):
        knee, truth_rps = ladder.knee, KNEE_RPS * (1.5 if ladder.name == "put-memory" else 1.0)
        assert knee is not None and knee.confirmed and knee.rps <= SLACK * truth_rps
        assert knee.rps == max(s.record.offered_rps or 0 for s in longer if s.name == knee.confirmed_by)
        assert knee.high_rps <= knee.closed_loop_rps == pytest.approx(truth_rps, rel=0.05)
    for name in ("lsm", "memory"):  # the budget of each server holds all of its loads
        own = [step for step in steps if step.subject == name][1:]
        us = sum(step.record.ended_unix_us - step.record.started_unix_us for step in own)
        assert us / 1e6 <= block.minutes * 60


def test_a_server_that_died_between_steps_is_started_and_warmed_again(bench: Bench) -> None:
    def die(_name: str) -> None:
        if len(bench.machine.measured) == 3:
            bench.machine.launched[-1].living = False

    executor = bench.session()
    bench.machine.before = die
    executor.run(search())
    assert len(bench.machine.launched) == 2
    assert Counter(name for name in bench.machine.measured if "probe" in name) == {
        "probe-put-lsm": 1, "re-probe-put-lsm": 1, "probe-put-lsm-warm": 1,
    }  # fmt: skip
    assert read_step(StepFolder(bench.folder.steps_path / "re-probe-put-lsm")).kind == "warm-up"


def test_a_search_that_knows_its_knee_as_well_as_asked_ends_before_its_budget(bench: Bench) -> None:
    ladder = measured(bench.session().run(search(5.0, precision=0.2)))
    assert len(ladder.steps) < 6 and ladder.known is not None and ladder.known.estimate.precise
    assert ladder.known.estimate.width <= 0.2 and ladder.known.knee.confirmed


def test_several_servers_of_one_search_are_up_at_once_and_loaded_in_random_order(bench: Bench) -> None:
    bench.machine.servers["memory"] = Server(1.5 * KNEE_RPS)
    other = dataclasses.replace(server(), treatment=Setting.of("memory"))
    steps = bench.session().run(dataclasses.replace(search(), others=(other,)))
    assert len(bench.machine.launched) == 2 and all(running.alive() for running in bench.machine.launched)
    names = [step.subject for step in steps if step.record.sweep is not None]
    assert {frozenset(names[at : at + 2]) for at in range(0, len(names), 2)} == {frozenset({"lsm", "memory"})}
    assert len({tuple(names[at : at + 2]) for at in range(0, len(names), 2)}) == 2, "not always in one order"
    apart = between(read_run(bench.folder), *(measured(steps, f"put-{name}") for name in ("memory", "lsm")))
    assert apart is not None and apart.low <= 1.5 <= apart.high and apart.high / apart.low < 1.3


@pytest.mark.parametrize("count", [0, 5, pytest.param(8, marks=pytest.mark.long)])
def test_a_search_starts_all_servers_anew_and_goes_on_where_it_was_killed(bench: Bench, count: int) -> None:
    bench.machine.servers["memory"] = Server(1.5 * KNEE_RPS)
    other = dataclasses.replace(server(), treatment=Setting.of("memory"))
    block = dataclasses.replace(search(1.0), others=(other,), starts=FEWEST_STARTS)
    if count:
        bench.cut(block, count)
    steps = bench.session().run(block)
    assert [step.name for step in steps if "probe" in step.name] == [
        f"probe-put-{name}{again}"
        for again in ("", "-start-2", "-start-3", "-start-3-warm")
        for name in ("lsm", "memory")
    ]
    if not count:
        assert len(bench.machine.launched) == 2 * FEWEST_STARTS
    run = read_run(bench.folder)
    memory, lsm = (measured(steps, f"put-{name}") for name in ("memory", "lsm"))
    assert memory.starts == lsm.starts == FEWEST_STARTS
    assert len({point.rate_step.start for point in lsm.points}) == FEWEST_STARTS
    apart = between(run, memory, lsm)
    assert apart is not None and apart.low <= 1.5 <= apart.high and apart.high / apart.low < 1.4


def test_a_start_that_reaches_far_less_is_offered_less_and_rests_at_less(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
        if bench.machine.launched:
            bench.machine.servers["lsm"] = Server(KNEE_RPS / 10)
        return bench.machine.launch(setting)

    monkeypatch.setattr(bench, "launch", launch)
    steps = bench.session().run(dataclasses.replace(search(0.4, precision=0.3), starts=2))
    swept = [step.record for step in steps if step.record.sweep is not None]
    by_start = {record.ladder.start: record.sweep for record in swept if record.ladder}
    before, after = by_start[1], by_start[2]
    assert before is not None and after is not None
    assert max(after.rates) < min(before.rates) and after.rest_rps == pytest.approx(before.rest_rps / 10, rel=0.1)


def test_a_ladder_measures_only_the_rates_that_are_missing(bench: Bench) -> None:
    bench.session().run(given(500, 1_000, workload=GET))
    assert bench.machine.filled == [("lsm", GET.filled_keys)]
    steps = bench.session().run(given(500, 1_500, 2_500, workload=GET))
    assert bench.machine.measured == ["re-probe-get-lsm", "rate-step-get-lsm-002", "rate-step-get-lsm-003"]
    assert offered(steps) == [500, 1_500, 2_500]
    bench.session().run(given(500, 1_500, workload=GET))
    assert [step.record.offered_rps for step in read_run(bench.folder).find(kind=RATE_STEP)] == [500, 1_500]


def test_a_ladder_around_the_knee_offers_shares_of_it_and_published_rates_within_reach(bench: Bench) -> None:
    plan = AroundTheKnee(3.0, 0.5, 0.0, (0.5, 0.9, 1.2), (0.5, 0.9), 1.0, precision=0.2, published_s=2.0)
    steps = bench.session().run(around(plan, (("near", 1_234.0), ("far", 9_999.0)), ("cpu",)))
    ladder = measured(steps, "put-lsm-rates")
    assert ladder.base is not None and ladder.base_knee is not None
    assert ladder.base_knee.low_rps / SLACK <= KNEE_RPS <= ladder.base_knee.high_rps * SLACK
    rates = [step.record.offered_rps or 0.0 for step in ladder.steps]
    assert rates == sorted(rates) and 1_234.0 in rates and 9_999.0 not in rates and len(rates) == 4
    recorded_s = {step.record.offered_rps: step.record.duration_s for step in ladder.steps}
    assert recorded_s.pop(1_234.0) == 2.0 and set(recorded_s.values()) == {1.0}, "as long as what was published"
    profiled = [step for step in steps if step.kind == PROFILED_RATE_STEP]
    assert {step.record.offered_rps for step in profiled} <= set(rates) and len(profiled) == 2
    assert len(bench.machine.launched) == 1  # all of it on one warm server
    order = [step.name.rstrip("0123456789") for step in steps]
    assert list(dict.fromkeys(order)) == [
        "probe-put-lsm", "rate-step-put-lsm-", "probe-put-lsm-warm", "rate-step-put-lsm-confirming-",
        "rate-step-put-lsm-rates-", "rate-step-profiled-put-lsm-rates-",
    ]  # fmt: skip


def test_the_next_published_rate_beyond_the_knee_is_offered_where_the_size_says_so() -> None:
    rates = [60_000.0, 20_000.0, 40_000.0, 65_000.0]
    assert nearest(25_000.0, rates, 99) == [20_000.0]
    assert nearest(25_000.0, rates, 99, beyond=1) == [20_000.0, 40_000.0]
    assert nearest(9_000.0, rates, 99, beyond=1) == [20_000.0]
    assert nearest(9_000.0, rates, 99, beyond=2) == [20_000.0, 40_000.0]
    assert nearest(90_000.0, rates, 2, beyond=1) == [60_000.0, 65_000.0]


@pytest.mark.parametrize("left", [1, *(pytest.param(left, marks=pytest.mark.long) for left in (2, 3)), 5])
def test_a_ladder_that_was_killed_goes_on_and_measures_nothing_again(tmp_path: Path, left: int) -> None:
    block = around(
        AroundTheKnee(3.0, 1.0, 0.0, (0.5, 0.9, 1.2), (0.5, 0.9), 1.0, precision=0.2), profile=("cpu",)
    )  # fmt: skip
    whole, bench = Bench(tmp_path / "whole"), Bench(tmp_path / "cut")
    expected = whole.session().run(block)
    bench.cut(block, len(expected) - left)
    kept = bench.steps()
    steps = bench.session().run(block)
    assert {name: bench.steps()[name] for name in kept} == kept
    assert [step.name for step in steps] == [step.name for step in expected], "profiled steps too"
    assert len(bench.machine.launched) == 1 and len(bench.machine.measured) == 1 + left


def test_a_ladder_without_a_search_takes_shares_of_the_closed_loop(bench: Bench) -> None:
    ladder = measured(bench.session().run(around(AroundTheKnee(0, 1.0, 0.0, (0.5,), (), 1.0))))
    assert ladder.base is not None and ladder.base.what == "closed loop" and ladder.base_knee is None
    assert ladder.steps[0].record.offered_rps == pytest.approx(ladder.base.rps / 2, rel=0.01)


def test_a_ladder_without_an_objective_has_none_in_its_record(bench: Bench) -> None:
    block = around(AroundTheKnee(0, 1.0, 0.0, (0.5,), (), 1.0))
    assert isinstance(block, Ladder)
    assert measured(bench.session().run(dataclasses.replace(block, objective=None))).objective is None


def test_a_server_that_misses_at_every_rate_has_the_lowest_of_them_as_the_base(bench: Bench) -> None:
    bench.machine.servers["lsm"] = Server(KNEE_RPS, 20_000.0)
    steps = bench.session().run(around(AroundTheKnee(0.5, 0.5, 0.0, (0.5,), (), 1.0)))
    ladder = measured(steps, "put-lsm-rates")
    assert ladder.base is not None and ladder.base_knee is None
    lowest = min(point.rps for point in measured(steps, "put-lsm").points)
    assert ladder.base.rps == lowest and [step.record.offered_rps for step in ladder.rate_steps] == [
        pytest.approx(lowest / 2, rel=0.01)
    ]
    assert len(bench.machine.launched) == 1


def test_one_search_pairs_two_servers_and_each_ladder_takes_shares_of_its_own_knee(bench: Bench) -> None:
    bench.machine.servers["memory"] = Server(2 * KNEE_RPS)
    servers = [server(), WarmServer(Setting.of("memory"), PUT, SIZE)]
    knees = AroundTheKnee(1.0, 0.5, 0.0, (0.5,), (), 1.0, connections=4)
    both, *rates = knees.blocks("put", "t", servers)
    assert [block.name for block in (both, *rates)] == ["put", "put-rates-lsm", "put-rates-memory"]
    with pytest.raises(MeasureError, match="run put before"):
        bench.session().run(rates[0])
    executor = bench.session()
    steps = executor.run(both)
    assert {step.record.ladder.name for step in steps if step.record.ladder} == {"put-lsm", "put-memory"}
    for block, knee_rps in zip(rates, (KNEE_RPS, 2 * KNEE_RPS), strict=True):
        ladder = measured(executor.run(block))
        assert ladder.base is not None and ladder.base_knee is not None
        assert ladder.base_knee.low_rps / SLACK <= knee_rps <= ladder.base_knee.high_rps * SLACK
        assert ladder.steps[0].record.offered_rps == pytest.approx(ladder.base.rps / 2, rel=0.01)


def test_a_size_without_shares_has_the_search_alone() -> None:
    block = around(AroundTheKnee(1.0, 1.0, 0.0, (), (), 1.0, precision=0.3))
    assert isinstance(block, KneeSearch) and block.precision == 0.3 and block.minutes == 1.0


def test_steps_at_which_the_generator_was_late_are_offered_once_more_up_to_a_third(bench: Bench) -> None:
    bench.machine.servers["lsm"] = LATE
    executor = bench.session()

    def calm_down(name: str) -> None:
        if name.endswith("-004"):
            bench.machine.servers["lsm"] = Server(KNEE_RPS)

    bench.machine.before = calm_down
    ladder = measured(executor.run(around(AroundTheKnee(0, 1.0, 0.0, (0.2, 0.3, 0.4, 0.5), (), 1.0))))
    assert bench.machine.measured[-2:] == ["rate-step-put-lsm-rates-001-again", "rate-step-put-lsm-rates-002-again"]
    assert [point.outcome for point in ladder.points] == [StepOutcome.GENERATOR] * 4 + [StepOutcome.MET] * 2
    assert [step.valid for step in ladder.rate_steps] == [True, True, False, False]


def test_a_search_whose_generator_is_late_goes_on_and_counts_no_miss_that_lateness_explains(bench: Bench) -> None:
    bench.machine.servers["lsm"] = Server(KNEE_RPS, 900.0, kept_up=False)
    ladder = measured(bench.session().run(search()))
    assert ladder.knee is not None and ladder.knee.known and len(ladder.steps) > 2
    assert 0 < ladder.knee.low_rps <= KNEE_RPS * SLACK
    missed = [point for point in ladder.points if point.outcome in (StepOutcome.MISSED, StepOutcome.GENERATOR)]
    undecided = [point for point in missed if point.outcome == StepOutcome.GENERATOR]
    explained = [point for point in missed if (point.rate_step.best or point.rate_step).excess(Objective()) <= 0]
    assert undecided and undecided == explained


def test_a_step_that_misses_its_objective_is_not_offered_again(bench: Bench) -> None:
    ladder = measured(bench.session().run(given(500, 9_000)))
    assert [point.outcome for point in ladder.points] == [StepOutcome.MET, StepOutcome.MISSED]
    assert not [name for name in bench.machine.measured if name.endswith("-again")]


@pytest.mark.parametrize("size", list(SIZES))
def test_the_planned_time_of_a_ladder_is_the_sum_over_its_parts(size: str) -> None:
    plan = LADDERS[size]

    def alike(change: Callable[[Ladder], Ladder] = lambda block: block) -> float:
        block = around(plan, (("one", 1.0), ("two", 2.0), ("three", 3.0)), ("cpu",))
        assert isinstance(block, Ladder)
        return change(block).planned_s

    count = len(plan.shares)
    assert alike(lambda block: dataclasses.replace(block, profile=())) < alike()
    assert alike() - alike(lambda block: dataclasses.replace(block, search=None)) == pytest.approx(
        plan.knee_minutes * 60, abs=1.0
    )
    one_more = alike(lambda block: dataclasses.replace(block, shares=(*plan.shares, *(1.25, 1.26, 1.27)))) - alike()
    profiled = 3 if plan.profiled is None else 0
    own_s = plan.step_s + plan.probe_warmup_s
    plain_s, profiled_s = own_s + AROUND_A_RATE_STEP_S, own_s + AROUND_A_PROFILE_S
    assert one_more == pytest.approx(4 * plain_s + profiled * profiled_s), count


def test_experiment_04_is_planned_from_its_blocks_and_fits_its_quick_size() -> None:
    asked = validate(EXPERIMENTS["04"].parameters, {"size": "quick"})
    assert [block.name for block in EXPERIMENTS["04"].blocks_of(asked)] == [
        "cold-and-warm", "cold-against-warm", "put", "put-small", "get", "wrk2"
    ]  # fmt: skip
    by_wrk2_s = EXPERIMENTS["04"].blocks_of(asked)[-1].planned_s
    assert 180 <= EXPERIMENTS["04"].planned_s(asked) - by_wrk2_s <= 390
    assert {question for block in EXPERIMENTS["04"].blocks_of(asked) for question in block.questions} >= {
        "rates",
        "polling",
        "warm",
    }
