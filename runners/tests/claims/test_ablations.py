"""Switches: a gain is told beyond its interval only, with what it costs; a fault is shown; the plan is fair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.claims.ablations import Ablation, ablations, amount, better, cost, decided, verdict
from runners.claims.conclude import conclude
from runners.claims.conclusion import Conclusion
from runners.design.ablations import FIT, FITTING, PUBLISHED, ROUNDS, SWITCHES, TOGETHER, chosen, workload
from runners.design.experiment import EXPERIMENTS
from runners.design.size import SIZES
from runners.execution.ablating import round_order
from runners.readers import write
from runners.readers.run import Run
from runners.report import render
from runners.report.ablations import ablation, answers, data, verdicts
from runners.tests.fixtures.fake_switch import MB, Truth, make_switch
from runners.tests.fixtures.fake_switch import ROUNDS as MADE

QUICK_S = 360.0
HEADS = [{"number": number, "bytes": 70 + 24 * number, "fields": 1 + number} for number in range(1, 1_001)]


@pytest.fixture(scope="module")
def bloom(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Filters that gain a half and take a tenth more memory and room."""
    truths = {"bloom-off": Truth(10_000.0), "bloom-10-bits": Truth(15_000.0, rss_bytes=110 * MB, disk_bytes=11 * MB)}
    return make_switch(tmp_path_factory.mktemp("bloom"), "bloom", truths)


@pytest.fixture(scope="module")
def told(bloom: Run) -> Conclusion:
    return conclude(bloom, {})


def _only(run: Run) -> Ablation:
    (found,) = ablations(run)
    return found


def test_a_gain_is_told_with_its_interval_and_what_it_costs(bloom: Run, told: Conclusion) -> None:
    (row,) = _only(bloom).rows
    assert row.gain is not None and row.gain.low < 0.5 < row.gain.high and row.gain.low > 0.4
    assert row.rounds["p99_us"] == tuple(range(1, MADE + 1)) and decided(_only(bloom))
    assert verdict(row) == "gains, at a cost"
    assert cost(row).startswith("memory +10.") and "room on the disk +10.0" in cost(row)
    codes = {finding.code: finding for finding in told.findings}
    assert "bloom-10-bits has a closed-loop rate higher than bloom-off by" in codes["V01"].sentence
    assert codes["V02"].sentence.startswith("Bloom-10-bits costs memory")
    assert told.answer.startswith("Gains: bloom-10-bits, closed-loop rate of GET-HALF +50")


def test_every_round_is_checked(told: Conclusion) -> None:
    (check,) = (check for check in told.checks if check.name == "rounds, Bloom filters")
    assert check.ok and check.text.startswith(f"{MADE} of {MADE}")


def test_what_moves_less_than_the_rounds_is_not_told_apart(tmp_path: Path) -> None:
    truths = {"cache-off": Truth(10_000.0), "cache-32m": Truth(10_030.0)}
    run = make_switch(tmp_path, "cache", truths, rounds=4, spread=0.03)
    (row,) = _only(run).rows
    assert row.gain is not None and better(row.gain) is None and verdict(row) == "not told apart"
    conclusion = conclude(run, {})
    assert "inconclusive against" in conclusion.answer and not conclusion.answer.startswith("Gains")
    assert [finding.code for finding in conclusion.next_steps].count("V05") == 1


def test_a_loss_says_what_it_buys(tmp_path: Path) -> None:
    truths = {"wal-off": Truth(10_000.0), "wal-buffered": Truth(8_000.0), "wal-sync": Truth(1_000.0)}
    found = _only(make_switch(tmp_path, "wal", truths, rounds=4))
    by_name = {row.name: row for row in found.rows}
    assert verdict(by_name["wal-buffered"]).startswith("loses closed-loop rate; buys: a killed process")
    assert verdict(by_name["wal-sync"]).endswith("a machine without power loses nothing that was answered")
    assert not [each for row in found.rows for each in row.found if each.quantity.name == "disk_bytes"]
    assert [row[0] for row in verdicts([found]).rows] == ["Log: buffered", "Log: sync"]
    assert "buffered: " in ablation(found).alt or "buffered" in ablation(found).alt


def test_a_load_that_is_not_valid_tells_no_latency_but_its_closed_loop_counts(tmp_path: Path) -> None:
    truths = {"bloom-off": Truth(10_000.0), "bloom-10-bits": Truth(15_000.0, late=True)}
    (row,) = _only(make_switch(tmp_path, "bloom", truths, rounds=4)).rows
    assert (
        row.gain is not None and better(row.gain) and not row.rounds["p99_us"] and len(row.rounds[row.switch.gain]) == 4
    )
    assert "p99_us" not in {each.quantity.name for each in row.found}


def test_rounds_of_loads_that_are_not_valid_are_left_out_and_said(tmp_path: Path) -> None:
    truths = {"collector-g1": Truth(10_000.0), "collector-z": Truth(15_000.0, late=True)}
    run = make_switch(tmp_path, "collector", truths, rounds=4)
    row = next(row for row in _only(run).rows if row.name == "collector-z")
    assert row.gain is None and verdict(row) == "not measured" and len(_only(run).left_out) == 4
    conclusion = conclude(run, {})
    assert [finding.code for finding in conclusion.findings if finding.code.startswith("V")] == ["V03"] * 3
    (check,) = (check for check in conclusion.checks if check.name.startswith("rounds"))
    assert check.ok is False and "and 1 more" in check.text
    assert "not measured" in ablation(_only(run)).alt  # a notebook draws it all the same
    render(run, conclusion, {})
    assert "not measured" in run.folder.report_md.read_text()


def test_the_fault_is_told_by_its_answers(tmp_path: Path) -> None:
    truths = {"response-published": Truth(10_000.0), "response-direct": Truth(10_500.0)}
    run = make_switch(tmp_path, "response", truths, rounds=4, heads=HEADS)
    conclusion = conclude(run, {})
    (fault,) = (finding for finding in conclusion.findings if finding.code == "V04")
    assert "94\u00a0B and 2 fields" in fault.sentence and "24 bytes more with each" in fault.sentence
    (step,) = run.find(kind="fault")
    assert [row[0] for row in answers(step).rows] == ["1", "2", "10", "100", write.count(1_000)]
    render(run, conclusion, {})
    assert "Responses of one connection" in run.folder.report_html.read_text()


def test_an_answer_that_does_not_grow_is_no_fault(tmp_path: Path) -> None:
    same = [{"number": number, "bytes": 94, "fields": 2} for number in range(1, 10)]
    run = make_switch(tmp_path, "response", {"response-published": Truth(1e4), "response-direct": Truth(1e4)}, 4, same)
    assert not [finding for finding in conclude(run, {}).findings if finding.code == "V04"]


def test_both_reports_end_in_one_table(bloom: Run, told: Conclusion) -> None:
    render(bloom, told, {})
    for report in (bloom.folder.report_html.read_text(), bloom.folder.report_md.read_text()):
        assert "One switch at a time" in report and "gains, at a cost" in report
    (row,) = verdicts(ablations(bloom)).rows
    assert row[0] == "Bloom filters: 10-bits" and row[3] == "gains, at a cost" and len(row) == 4
    rows = data(_only(bloom))
    assert set(rows["round"]) == set(range(1, MADE + 1)) and set(rows["setting"]) == {"bloom-10-bits"}
    assert (bloom.folder.figures_path / "switches.csv").stat().st_size


def test_an_amount_without_an_interval_says_so(tmp_path: Path) -> None:
    run = make_switch(tmp_path, "bloom", {"bloom-off": Truth(10_000.0), "bloom-10-bits": Truth(15_000.0)}, rounds=1)
    (row,) = _only(run).rows
    assert row.gain is not None and "not bounded" in amount(row.gain) and better(row.gain) is None


@given(st.integers(1, 50), st.integers(0, 2**31))
def test_each_round_has_every_setting_and_each_second_one_is_the_reverse(number: int, seed: int) -> None:
    names = ["a", "b", "c", "d"]
    first, second = round_order(names, 2 * number - 1, seed), round_order(names, 2 * number, seed)
    assert sorted(first) == names and second == first[::-1]


def test_the_plan_changes_one_thing_at_a_time() -> None:
    for switch in SWITCHES.values():
        base, *others = switch.settings
        assert others and all(setting.engine == "lsm" for setting in switch.settings)
        for other in others:
            changed = set(base.server_flags) ^ set(other.server_flags) | set(base.jvm_flags) ^ set(other.jvm_flags)
            assert len({flag.partition("=")[0].rstrip("GCSerialPZ1") for flag in changed}) == 1, other.name
        assert {name for name, _ in switch.buys} <= {setting.name for setting in others}
        for size in SIZES:
            script = workload(switch.workload, size).script
            assert script is not None and script.is_file()
    for flag, value in PUBLISHED.items():
        assert f"{flag}={value}" in TOGETHER.settings[0].server_flags


def test_the_plan_fits_and_full_takes_all() -> None:
    assert EXPERIMENTS["07"].planned_s(SIZES["quick"]) <= QUICK_S
    assert set(FITTING["full"]) == set(SWITCHES) and all(ROUNDS[size].count >= 4 for size in SIZES)
    assert [switch.name for switch in chosen("wal,bloom", "quick")] == ["wal", "bloom"]
    assert [switch.name for switch in chosen(FIT, "smoke", "request")] == ["response"]
