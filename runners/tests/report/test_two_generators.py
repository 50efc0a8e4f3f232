"""A load by two generators says what wrk2 reads above truepace; where wrk2 was absent the report says how to get it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from runners.analysis import facts
from runners.design.session import PAIRED
from runners.readers.run import Step
from runners.report.report import render
from runners.results.conclusion import conclude
from runners.results.generators import two_readings
from runners.tests.fixtures.fake_rounds import round_of, with_summary
from runners.tests.report import steps

BOTH = ("truepace", "wrk2")


def loads(folder: Path, tools: Sequence[str] = BOTH, rounds: int = 3) -> list[Step]:
    """Loads of a store, whose consoles are on disk."""
    made = []
    for number in range(1, rounds + 1):
        for tool in tools:
            step = round_of(folder, tool, number)
            step.folder.path.mkdir(parents=True)
            step.folder.console.write_text(f"Running 4s test by {tool}, <round> {number}\n")
            made.append(dataclasses.replace(step, record=replace(step.record, role=PAIRED, engine="lsm")))
    return made


def pages(made: list[Step], **manifest: object) -> tuple[str, str]:
    run = steps.run(made[0].folder.path.parent.parent, made, started_unix_s=1_795_262_400, **manifest)
    render(conclude(run, {}))
    return run.folder.report_html.read_text(), run.folder.report_md.read_text()


def test_wrk2_reads_half_of_its_tick_more_in_the_median_and_all_of_it_in_p99(tmp_path: Path) -> None:
    readings = two_readings(loads(tmp_path))
    assert readings is not None and readings.median.rounds == 3
    added = readings.median.added_us
    assert added.value == pytest.approx(590 - 54, abs=20) and 500 < added.low <= added.value <= added.high
    _, tail = readings.differences
    assert tail.added_us.value == pytest.approx(1_130 - 72, abs=40)
    assert readings.tick_us == pytest.approx(1_100, rel=0.05)


def test_one_round_has_no_interval(tmp_path: Path) -> None:
    readings = two_readings(loads(tmp_path, rounds=1))
    assert readings is not None and not readings.median.added_us.bounded


def test_a_late_generator_leaves_the_median_and_takes_the_tail(tmp_path: Path) -> None:
    late = [
        with_summary(step, kept_up=False, kept_up_to=90.0) if facts.tool(step) == "truepace" else step
        for step in loads(tmp_path)
    ]
    readings = two_readings(late)
    assert readings is not None and readings.differences == (readings.median,)


def test_the_consoles_are_of_a_round_that_is_counted(tmp_path: Path) -> None:
    first, *others = loads(tmp_path)
    disturbed = dataclasses.replace(first, record=replace(first.record, valid=False))
    readings = two_readings([disturbed, *others])
    assert readings is not None and readings.median.rounds == 2
    assert [step.record.round for step in readings.shown] == [2, 2]


@pytest.mark.parametrize("tools", [("truepace",), ("wrk2",), ()])
def test_one_generator_is_no_comparison(tmp_path: Path, tools: tuple[str, ...]) -> None:
    assert two_readings(loads(tmp_path, tools)) is None


def test_a_generator_whose_latency_may_not_be_quoted_is_none(tmp_path: Path) -> None:
    broken = [
        dataclasses.replace(step, record=replace(step.record, valid=step.record.generator.tool != "wrk2"))
        for step in loads(tmp_path)
    ]
    assert two_readings(broken) is None


def test_both_reports_have_the_figure_and_both_consoles_folded(tmp_path: Path) -> None:
    html, markdown = pages(loads(tmp_path))
    for page in (html, markdown):
        assert "What wrk2's timer adds" in page.replace("&#39;", "'") and "5\u202f000/s on one connection" in page
        for tool in BOTH:
            folded = page.partition(f"<details><summary>What {tool} printed")[2].partition("</details>")[0]
            assert f"test by {tool}" in folded and " 1" in folded
        assert "wrk2 is not on this machine" not in page
    assert "<round>" not in html, "what a program prints is no markup"
    assert (tmp_path / "figures" / "two-generators.svg").stat().st_size


def test_where_wrk2_was_absent_one_line_says_so_and_how_to_get_it(tmp_path: Path) -> None:
    load = steps.whole(steps.step(tmp_path, "put-lsm", steps.times()))
    load.folder.path.mkdir(parents=True)
    for page in pages([load], left_out=["wrk2"]):
        assert page.count("lab build wrk2") == 1 and "What wrk2" not in page
    resumed = loads(tmp_path)  # when it was there
    assert all("lab build wrk2" not in page for page in pages(resumed, left_out=["wrk2"]))


@pytest.mark.parametrize(("tool", "achieves"), [("wrk2", True), ("truepace", False)])
def test_what_wrk2_can_not_offer_while_it_connects_is_no_shortfall(tmp_path: Path, tool: str, achieves: bool) -> None:
    step = round_of(tmp_path, tool, 1, rate_rps=3_600.0, connections=120)
    step = with_summary(step, elapsed_s=11.0, achieved_rps=3_507.6)  # as wrk2 printed it
    assert (facts.achieved_share(step) >= facts.LEAST_ACHIEVED) == achieves
    fewer = with_summary(step, achieved_rps=3_400.0)
    assert facts.achieved_share(fewer) < facts.LEAST_ACHIEVED
