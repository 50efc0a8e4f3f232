"""What experiment 00 concludes is what its rounds and stalls hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.analysis import facts, instrument
from runners.analysis.instrument import stall
from runners.claims.conclude import conclude
from runners.claims.conclusion import RULES
from runners.claims.validation import analyse
from runners.tests.fixtures.fake_rounds import FREEZES_S, STALL_RPS, round_of, run_of, stall_of
from runners.tests.report import steps


def test_a_run_without_rounds_is_none_of_its_business(tmp_path: Path) -> None:
    assert analyse(steps.run(tmp_path, [steps.step(tmp_path, "put-rocksdb", steps.times())])) is None


def test_what_ours_adds_to_the_blocking_client_is_found(tmp_path: Path) -> None:
    found = instrument.floors(run_of(tmp_path).steps)
    point = instrument.at_point(found, 1, 5_000.0)
    reference = instrument.reference_of(point)
    assert reference is point["blocking"]
    more = instrument.added(point["truepace"], reference, 0.5)
    assert more is not None and more.low <= more.value <= more.high and more.value == pytest.approx(4, abs=1)
    tick = instrument.added(point["wrk2"], reference, 0.5)
    assert tick is not None and tick.value == pytest.approx(540, abs=30)


def test_an_interval_over_six_rounds_is_their_range_and_fewer_are_called_a_range(tmp_path: Path) -> None:
    six, three = (instrument.floors(run_of(tmp_path, ("truepace",), count).steps)[0] for count in (6, 3))
    for floor in (six, three):
        each = [one.value for step in floor.good if (one := facts.at(step, 0.5))]
        value = floor.at(0.5)
        assert value is not None and (value.low, value.high) == (min(each), max(each))
    assert (six.spread(), three.spread()) == ("6 rounds", "range of 3")


def test_processor_time_is_of_the_window_where_reported_else_of_the_process(tmp_path: Path) -> None:
    assert instrument.cpu_s_a_million(round_of(tmp_path, "truepace", 1)) == pytest.approx(20)
    assert instrument.cpu_s_a_million(round_of(tmp_path, "wrk2", 1)) == pytest.approx(50)


def test_a_generator_that_sees_the_whole_stall_lies_on_the_schedule(tmp_path: Path) -> None:
    seen = stall(stall_of(tmp_path, "truepace"))
    assert seen is not None
    for wait_s in (0.1, 0.25, 0.4, 0.7, 1.0):
        assert seen.counted_above(wait_s) == pytest.approx(seen.expected_above(wait_s), rel=0.02, abs=8)
    assert seen.seen_share == pytest.approx(1, abs=0.02)
    assert seen.censored == STALL_RPS


def test_a_generator_that_loses_the_end_counts_the_middle_alone(tmp_path: Path) -> None:
    seen = stall(stall_of(tmp_path, "wrk2"))
    assert seen is not None
    middle_s, long_s = FREEZES_S[0][1], seen.long_s
    assert seen.counted_above(long_s) == pytest.approx(STALL_RPS * (middle_s - long_s), rel=0.03)
    assert seen.expected_above(long_s) == pytest.approx(STALL_RPS * (middle_s - long_s + 1 - long_s))
    assert seen.seen_share == pytest.approx(0.25, abs=0.02)


def test_the_conclusion_answers_first_and_names_every_generator(tmp_path: Path) -> None:
    conclusion = conclude(run_of(tmp_path), {})
    assert conclusion.answer.startswith("At 5\u202f000/s on one connection truepace adds ")
    assert "to the median of a blocking client, wrk2 adds " in conclusion.answer
    assert "truepace counts " in conclusion.answer and "wrk2 25" in conclusion.answer
    by_code = {finding.code: finding.sentence for finding in conclusion.findings}
    assert set(by_code) <= set(RULES)
    assert (
        "in p99 at this rate (5\u202f000/s on one connection; from 6 rounds against a blocking client)"
        in by_code["I01"]
    )
    assert by_code["I02"].startswith("This instrument (wrk2) resolves 1.1") and "the tick of wrk2" in by_code["I02"]
    assert "wakes once a millisecond" in by_code["I04"]
    said = " ".join(finding.sentence for finding in conclusion.findings if finding.code == "I06")
    assert "in no figure of it" in said and "wrk can show one thing" in said
    assert re.search(
        r"wrk2 counts 250 requests that wait longer than [^,]+, where by the schedule there are 1\s000 ", said
    )
    checks = {check.name: check for check in conclusion.checks}
    assert checks["generators"].ok is None and "not found or not asked for: epoll" in checks["generators"].text
    assert checks["resolution"].ok and checks["generator kept up"].ok and checks["errors"].ok
    assert "not measured" not in " ".join(check.text for check in conclusion.checks)
    assert any(finding.code == "I08" and "epoll" in finding.sentence for finding in conclusion.next_steps)


def test_without_wrk2_and_references_it_says_what_is_left(tmp_path: Path) -> None:
    conclusion = conclude(run_of(tmp_path, ("truepace",)), {})
    assert "truepace counts" in conclusion.answer
    assert {"I02", "I03", "I04", "I06"}.isdisjoint(finding.code for finding in conclusion.findings)
    (check,) = [check for check in conclusion.checks if check.name == "resolution"]
    assert check.ok and "from 6 rounds)" in check.text
