"""Interleaved blocks: what is asked for, in which order, and what an earlier session measured; then what it tells."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from runners import words
from runners.analysis import interleaved
from runners.analysis.comparison import Comparison, Form
from runners.analysis.interleaved import comparisons
from runners.analysis.intervals import Direction
from runners.analysis.quantities import QUANTITIES
from runners.analysis.treatments import Start
from runners.design.block import FEWEST_STARTS, MOST_UTILISATION, FixedRate, Interleaved
from runners.design.load import GET, PUT, SIZES, Rate, Shape, Size
from runners.design.objective import CPU, THROUGHPUT
from runners.design.session import ALONE, SHARED
from runners.design.setting import Setting
from runners.errors import PlanError
from runners.execution.executor import Executor
from runners.execution.progress import Progress
from runners.experiments import e04_lsm_rate_ladder as report_4
from runners.experiments.e04_lsm_rate_ladder import questions
from runners.readers.reading import archived_content, read_run
from runners.readers.run import Run
from runners.report.comparison import direction_words
from runners.report.comparison import interleaved_sections as sections
from runners.results.answer import Basis
from runners.results.answer import Verdict as Answered
from runners.results.checks import checks
from runners.results.comparisons import Difference, answer_of
from runners.results.results import Results
from runners.storage.archive import write_archive
from runners.storage.run_folder import RunFolder
from runners.targets.lab_server import RunningServer
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.fake_measurement import SIZE, FakeMeasurement, Machine, Server

SHAPE = Shape(4, 1, 4.0, 0.5)
SERVERS = {
    "lsm": Server(20_000.0, 100.0),
    "rocksdb": Server(16_000.0, 110.0, cpu_us=12.0),
    "noop": Server(40_000.0, 50.0),
}


def block(**changes: object) -> Interleaved:
    treatments = (Setting.of("rocksdb"), Setting.of("lsm"))
    plain = Interleaved("compare", "t", treatments, "lsm", PUT, SIZE, SHAPE)
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


class Bench:
    """A folder, an invented machine, and as many sessions of one run as a test wants."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder.create(root, "09", "smoke", {"title": "t"})
        self.machine = Machine(dict(SERVERS))
        self.kept_others: list[bool] = []

    def launch(self, setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
        self.kept_others.append(keep_others)
        return self.machine.launch(setting)

    def session(self) -> Executor:
        self.machine.measured.clear()
        self.machine.launched.clear()
        self.kept_others.clear()
        return Executor(self.folder, FakeMeasurement(self.folder, self.machine), self.launch, Progress(0.0, Memory()))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four starts as they are read back, for tests that only read them."""
    bench = Bench(tmp_path_factory.mktemp("compared"))
    bench.session().run(block(margin=0.03, starts=4))
    return read_run(bench.folder)


def test_each_start_has_fresh_servers_of_all_that_are_up_at_once(bench: Bench) -> None:
    steps = bench.session().run(block(starts=2))
    assert [step.name for step in steps if step.kind == SHARED] == ["compare-01", "compare-02"]
    for number in (1, 2):
        alone = {step.subject for step in steps if step.kind == ALONE and step.record.round == number}
        assert alone == {"lsm", "rocksdb", "lsm-control", "noop"}
    launched = [server.subject for server in bench.machine.launched[2:]]  # after the two probes
    assert [sorted(launched[at : at + 4]) for at in (0, 4)] == [["lsm", "lsm-control", "noop", "rocksdb"]] * 2
    assert bench.kept_others[2:] == [False, True, True, True] * 2
    (about,) = {step.record.interleaved for step in steps if step.kind == SHARED}
    assert about is not None
    assert (about.treatments, about.control, about.reference) == (("lsm", "rocksdb"), "lsm-control", "noop")
    assert {target.name for target in steps[-1].record.targets} == {"lsm", "rocksdb", "lsm-control", "noop"}


@pytest.mark.parametrize(("starts", "alone"), [(FEWEST_STARTS - 1, False), (FEWEST_STARTS, True)])
def test_a_ratio_s_values_are_of_loads_alone_only_if_these_could_contradict_it(
    compared: Run, monkeypatch: pytest.MonkeyPatch, starts: int, alone: bool
) -> None:
    steps = [step for step in compared.steps if step.record.interleaved and (step.record.round or 0) <= starts]
    shared = interleaved.comparison(steps).row("p50_us")
    solo = Start(np.log([200.0, 220.0, 200.0]), np.empty((0, 3)))
    monkeypatch.setattr(interleaved, "_solo", lambda *_: [solo] * starts)
    row = interleaved.comparison(steps).row("p50_us")
    assert row is not None and shared is not None and row.starts == starts
    assert row.baseline_value == pytest.approx(200.0 if alone else shared.baseline_value)
    assert row.treatment_value == pytest.approx(row.baseline_value * row.ratio)


def test_a_question_about_the_baseline_s_rate_has_the_change_in_its_direction(compared: Run) -> None:
    (comparison,) = comparisons(compared)
    row = comparison.row("p50_us")
    assert row is not None
    row = dataclasses.replace(
        row, quantity=QUANTITIES[THROUGHPUT], ratio=0.8, low=0.75, high=0.875, direction=Direction.LOWER,
        at_least=frozenset({"lsm"}),
    )  # fmt: skip
    answer = answer_of(comparison, row, (Direction.LOWER,))
    (difference,) = answer.evidence
    assert answer.verdict == Answered.YES and isinstance(difference, Difference)
    turned = difference.row
    assert (turned.treatment, turned.baseline, turned.direction) == ("lsm", "rocksdb", Direction.HIGHER)
    assert (turned.ratio, turned.low, turned.high) == pytest.approx((1 / 0.8, 1 / 0.875, 1 / 0.75))
    assert turned.text("lsm") == row.text("lsm") and turned.turned.direction == row.direction
    (plain,) = answer_of(comparison, row, (Direction.HIGHER,)).evidence
    assert isinstance(plain, Difference) and plain.row == row
    unknown = dataclasses.replace(
        row, low=math.nan, high=math.nan, direction=Direction.INCONCLUSIVE, at_least=frozenset()
    )
    assert all(map(math.isnan, (unknown.turned.low, unknown.turned.high))), "one start bounds nothing on either side"


def test_the_order_is_that_of_the_seed_and_differs_between_starts() -> None:
    rate = Rate(100.0, "given")

    def orders(seed: int) -> list[list[str]]:
        return [[member.name for member in start.members] for start in block(seed=seed, starts=8).sessions(rate)]

    assert orders(7) == orders(7) != orders(8)
    assert len({tuple(order) for order in orders(7)}) > 1


def test_all_rates_together_take_half_of_the_core_at_most() -> None:
    reached = {"lsm": 2_000.0, "rocksdb": 1_000.0}
    rate = block().rate(reached)
    assert rate is not None
    used = rate.rps * (1 / 2_000 + 1 / 1_000 + 1 / 2_000 + 1 / 2_000)
    assert 0.45 <= used <= MOST_UTILISATION + 0.01
    assert block(rate_rps=300.0).rate({}) == Rate(300.0, "given") and not block(rate_rps=300.0).probes()
    assert next(block().sessions(Rate(100.0, "given"))).load.rate == Rate(400.0, "given")
    assert next(block(control=False).sessions(Rate(100.0, "given"))).load.rate == Rate(300.0, "given")


def test_by_slices_there_is_no_rate_no_probe_and_no_server_that_does_nothing(bench: Bench) -> None:
    steps = bench.session().run(block(slice_s=0.1, primary=THROUGHPUT, margin=0.05))
    assert [step.kind for step in steps] == [SHARED] * 3 and all(step.record.offered_rps is None for step in steps)
    assert [len(step.record.targets) for step in steps] == [3] * 3
    assert [step.record.warmup_s for step in steps] == [SHAPE.warmup_s] * 3
    (comparison,) = comparisons(read_run(bench.folder))
    assert comparison.form == Form.SLICES
    row = comparison.row(THROUGHPUT)
    assert row is not None and row.direction == Direction.LOWER and not row.better
    assert row.ratio == pytest.approx(0.8, rel=0.05)
    used = comparison.row(CPU)
    assert used is not None and used.ratio == pytest.approx(1.2, rel=0.1)
    assert comparison.row("p50_us") is None and comparison.trusted
    run = read_run(bench.folder)
    (section,) = sections(run)
    assert f"A slice lasts {words.latency(100_000.0)}." in section.text


def test_an_incomplete_design_has_the_baseline_and_its_control_in_every_start(bench: Bench) -> None:
    treatments = tuple(Setting.of(name) for name in ("lsm", "rocksdb", "memory", "leveldb"))
    asked = block(treatments=treatments, slice_s=0.1, primary=THROUGHPUT, at_once=2, starts=3)
    sessions = list(asked.sessions(None))
    names = [{member.name for member in session.members} for session in sessions]
    assert len(sessions) == 6 and all({"lsm", "lsm-control"} < members and len(members) <= 4 for members in names)
    for name in ("rocksdb", "memory", "leveldb"):
        assert sum(name in members for members in names) == 3
    assert len({frozenset(members) for members in names}) > 2, "who shares a start changes"
    bench.machine.servers |= {"memory": Server(24_000.0, 80.0), "leveldb": Server(10_000.0, 200.0)}
    bench.session().run(asked)
    (comparison,) = comparisons(read_run(bench.folder))
    for name, planted in (("rocksdb", 0.8), ("memory", 1.2), ("leveldb", 0.5)):
        row = comparison.row(THROUGHPUT, name)
        assert row is not None and row.starts == 3 and row.decided, name
        assert row.ratio == pytest.approx(planted, rel=0.05), name


def test_what_an_earlier_session_measured_is_read_back_start_by_start(bench: Bench) -> None:
    def stop(name: str) -> None:
        if name == "compare-02":
            raise KeyboardInterrupt

    bench.machine.before = stop
    with pytest.raises(KeyboardInterrupt):
        bench.session().run(block(starts=2))
    bench.machine.before = lambda _name: None
    steps = bench.session().run(block(starts=2))
    assert not any(name.startswith(("compare-01", "probe")) for name in bench.machine.measured)
    assert {name[:10] for name in bench.machine.measured} == {"compare-02"}
    again = bench.session().run(block(starts=2))
    assert not bench.machine.measured and [step.record for step in again] == [step.record for step in steps]
    bench.session().run(block(rate_rps=100.0, starts=2))
    assert "compare-01" in bench.machine.measured, "another specification is measured"


def test_a_fill_is_made_for_each_server_but_the_one_that_does_nothing(bench: Bench) -> None:
    bench.session().run(block(workload=GET, rate_rps=100.0, starts=1))
    assert sorted(bench.machine.filled) == [
        (name, GET.filled_keys) for name in ("lsm", "lsm-control", "rocksdb")
    ]  # fmt: skip


def test_a_planted_difference_is_found_and_reported(compared: Run) -> None:
    run = compared
    (comparison,) = comparisons(run)
    row = comparison.row("p50_us")
    assert row is not None and row.direction == Direction.HIGHER and direction_words(row) == "slower" and not row.better
    assert row.low <= 1.1 <= row.high and row.ratio == pytest.approx(1.1, abs=0.02)
    assert comparison.rows[0] is row, "the primary quantity stands first"
    used = comparison.row(CPU)
    assert (
        used is not None
        and used.ratio == pytest.approx(1.2, rel=0.1)
        and direction_words(used) in ("higher", "inconclusive")
    )
    assert comparison.row(THROUGHPUT) is not None
    assert comparison.reference["p50_us"] == pytest.approx(52.0, rel=0.05) and THROUGHPUT in comparison.reference
    assert comparison.trusted and {control_row.treatment for control_row in comparison.control} == {"lsm-control"}
    (section,) = sections(run)
    assert section.tables[0].rows and "p50" in section.figures[0].alt


def test_an_archive_says_the_same_of_a_comparison_without_its_service_times(compared: Run, tmp_path: Path) -> None:
    archive = RunFolder(tmp_path / "archive")
    write_archive(archive.path, map(archived_content, compared.steps))
    archive.write_manifest(compared.manifest)
    (before,), (after,) = comparisons(compared), comparisons(read_run(archive))

    def ratios(comparison: Comparison) -> dict[tuple[str, str], float]:
        return {(row.quantity.name, row.treatment): row.ratio for row in comparison.rows}

    whole, archived = ratios(before), ratios(after)
    assert {name for name, _ in whole.keys() - archived.keys()} == {
        "service_p50_us",
        "service_p90_us",
        "service_p99_us",
    }
    assert archived == pytest.approx({key: whole[key] for key in archived}, rel=0.005)
    assert after.carried_over == before.carried_over != {}


def test_a_start_that_is_not_valid_is_left_out_and_said(compared: Run) -> None:
    steps = [
        dataclasses.replace(step, record=replace(step.record, valid=False, invalid_reasons=("the server died",)))
        if step.name == "compare-02"
        else step
        for step in compared.steps
    ]
    results = Results(dataclasses.replace(compared, steps=tuple(steps)))
    (check,) = (check for check in checks(results) if check.about == "starts")
    assert check.ok is False and check.place == "compare"
    (left_out,) = results.comparisons[0].left_out
    assert left_out[0] == 2 and "the server died" in left_out[1]


def test_a_budget_gives_the_number_of_starts_and_too_small_a_one_is_refused() -> None:
    plain = block()
    fits = plain.within(plain.planned_s / 60)
    assert fits.starts == plain.starts
    assert plain.within(10.0).planned_s <= 600
    with pytest.raises(PlanError, match="too short for 3 starts"):
        plain.within(0.05)


@pytest.mark.parametrize("changes", [{"baseline": "noop"}, {"treatments": (Setting.of("lsm"),)}, {"starts": 0}])
def test_what_can_not_be_compared_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(PlanError):
        block(**changes)


def test_a_block_with_until_ends_with_the_start_that_decides_it_and_says_so(bench: Bench) -> None:
    steps = bench.session().run(block(until=True, starts=8))
    (comparison,) = comparisons(read_run(bench.folder))
    assert comparison.answered and FEWEST_STARTS <= len(comparison.starts) < 8
    assert len([step for step in steps if step.kind == SHARED]) == len(comparison.starts)
    (check,) = [check for check in checks(Results(read_run(bench.folder))) if check.about == "starts"]
    assert check.ok and check.measures[0].value == len(comparison.starts) < comparison.planned
    launched = len(bench.machine.launched)
    again = bench.session().run(block(until=True, starts=8))
    assert [step.name for step in again] == [step.name for step in steps] and not bench.machine.launched, launched


def test_the_interval_of_a_block_that_may_end_early_is_wider_than_that_of_a_fixed_number_of_starts(
    compared: Run,
) -> None:
    (fixed,) = comparisons(compared)
    steps = [
        dataclasses.replace(step, record=replace(step.record, interleaved=replace(about, until=True, planned_rounds=9)))
        if (about := step.record.interleaved) is not None
        else step
        for step in compared.steps
    ]
    (early,) = comparisons(dataclasses.replace(compared, steps=tuple(steps)))
    fixed_row, early_row = fixed.row("p50_us"), early.row("p50_us")
    assert fixed_row is not None and early_row is not None
    assert early_row.low < fixed_row.low and early_row.high > fixed_row.high and early_row.ratio == fixed_row.ratio


def test_a_comparison_like_a_block_at_one_rate_takes_its_rate_from_that_blocks_closed_loops() -> None:
    fixed = FixedRate("put", "PUT", (Setting.of("lsm"), Setting.of("rocksdb")), PUT, SIZES["smoke"])
    plan = Size("smoke", 0.1, 0.5, 0.3, starts=FEWEST_STARTS)
    interleaved = fixed.compared("put-compared", plan, 0.03, ())
    rate = interleaved.rate({"lsm": 10_000.0, "rocksdb": 8_000.0})
    assert rate is not None and not interleaved.probes()
    # the control is a second LSM, and the server that does nothing reaches no less than the fastest
    assert 0.45 <= rate.rps * (2 / 10_000 + 1 / 8_000 + 1 / 10_000) <= MOST_UTILISATION + 0.011
    assert all(member.alone is None for start in interleaved.sessions(rate) for member in start.members)
    given = dataclasses.replace(fixed, rate_rps=8_000.0).compared("put-compared", plan, 0.03, ()).rate({})
    assert given is not None and given.rps == 1_000.0


def test_a_server_that_is_to_be_cold_is_not_warmed_and_has_no_closed_loop_of_its_own(bench: Bench) -> None:
    plain = report_4.cold_against_warm(Setting.of("lsm"), SIZES["quick"], 1)
    assert not plain.probes(), "a closed loop would warm it"
    bench.machine.servers["lsm-cold"] = Server(20_000.0, 130.0)
    bench.session().run(plain)
    first = f"{plain.name}-01-warm-"
    warmed = {name.removeprefix(first) for name in bench.machine.measured if name.startswith(first)}
    assert warmed == {"lsm", "lsm-control", "noop"}
    run = read_run(bench.folder)
    (comparison,) = comparisons(run)
    row = comparison.row("p50_us", "lsm-cold")
    assert row is not None and row.direction == Direction.HIGHER and row.low <= 1.3 <= row.high
    (asked,) = (asked for asked in questions() if asked.question.key == "warm")
    answer = asked.answer(Results(run))
    assert answer is not None and answer.verdict == Answered.YES
    assert (answer.count, answer.basis) == (3, Basis.STARTS_BY_REQUEST)
