"""What a run with ladders says: its knee, what is missed above it, the generator's limit; no word on missing loads."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from runners.analysis import facts
from runners.analysis.facts import NOT_KEPT_UP
from runners.analysis.knee import Kind, Outcome, meets
from runners.claims.climbing import ladders
from runners.claims.conclude import conclude
from runners.design.objective import Objective
from runners.readers.reading import read_run
from runners.report import render
from runners.report.ladder import title
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.fixtures.ladder_run import make_ladder

BASE = {"what": "knee", "rps": 2_000.0}
RATES = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)


def test_a_knee_is_reported_with_its_interval_and_what_is_missed_above(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES))
    (ladder,) = ladders(run)
    assert ladder.answer is not None and ladder.answer.kind == Kind.FOUND
    assert ladder.answer.low_rps <= 2_020 <= ladder.answer.high_rps
    conclusion = conclude(run, {})
    found = {finding.code: finding for finding in conclusion.findings}
    limits = "(p99 within 10\u00a0ms, 99\u00a0% of the rate, no errors)"
    assert f"meets the objective {limits} up to" in found["K01"].sentence and "up to" in conclusion.answer
    assert re.fullmatch(
        r"Of the (\d) probes just above the knee of LSM PUT that missed the objective, .*\1 missed the rate.*\.",
        found["K02"].sentence,
    )
    assert not {"A01", "A03", "A04"} & set(found)
    assert [check.name for check in conclusion.checks if "No step" in check.text] == []


def test_a_late_generator_is_named_and_its_probes_are_not_the_servers(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 1_800.0, 1_900.0, 1_900.0), late=(1_900.0,)))
    (ladder,) = ladders(run)
    assert ladder.answer is not None and ladder.answer.ceiling_rps == 1_900
    assert [point.counts for point in ladder.points] == [True, True, False, False]
    found = {finding.code: finding for finding in conclude(run, {}).findings}
    assert found["K03"].sentence.startswith("In 2 of 4 probes of LSM PUT, from 1\u202f900/s on, the generator did not")


def test_a_rate_is_advised_by_the_bound_of_the_knee_that_it_is_a_share_of(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES))
    (ladder,) = ladders(run)
    (advice,) = (finding for finding in conclude(run, {}).next_steps if finding.code == "K06")
    assert ladder.answer is not None and advice.evidence["knee_low_rps"] == ladder.answer.low_rps
    assert advice.sentence.endswith("/s, 50\u00a0% of its knee's lower bound.")


def test_rates_at_shares_of_a_knee_that_was_not_found_are_said_to_be_of_a_bound(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0}
    for name, about, said in (("a", {**base, "knee": [2e3, 1.9e3, 2.1e3]}, "knee"), ("b", base, "bound of the knee")):
        folder = make_ladder(
            tmp_path / name, (800.0, 1_400.0), searched=False, base=about, published=("report-4/put-20000",)
        )
        (finding,) = (each for each in conclude(read_run(folder), {}).findings if each.code == "R02")
        assert f"1.3 times the {said} of LSM PUT" in finding.sentence and finding.sentence.startswith(
            "20\u202f000/s of"
        )


def test_what_is_met_although_the_generator_was_late_is_met_and_its_latency_a_bound(tmp_path: Path) -> None:
    rates = (1_000.0, 2_000.0, 4_000.0, 2_800.0)
    run = read_run(make_ladder(tmp_path, rates, late=(2_000.0, 4_000.0), late_us=900.0))
    (ladder,) = ladders(run)
    assert [point.outcome for point in ladder.points] == [Outcome.MET, Outcome.MET, Outcome.MISSED, Outcome.MISSED]
    assert [point.met.late for point in ladder.points] == [False, True, False, False]
    assert ladder.answer is not None and ladder.answer.kind == Kind.FOUND and ladder.search is not None
    conclusion = conclude(run, {})
    assert [check.text for check in conclusion.checks if "1 of them only as a bound" in check.text]
    assert "K03" not in {finding.code for finding in conclusion.findings}
    render(run, conclusion, {})
    assert "upper bounds" in run.folder.report_md.read_text()


def test_what_was_due_within_the_allowed_latency_before_the_end_is_under_way_and_not_lost(tmp_path: Path) -> None:
    (step,) = read_run(make_ladder(tmp_path, (1_000.0,))).steps
    objective = Objective.parse("p99<=100ms")
    assert meets(with_summary(step, censored=100), objective).outcome == Outcome.MET
    lost = meets(with_summary(step, censored=101), objective)
    assert lost.outcome == Outcome.MISSED and "errors" in lost.missed[0]
    assert meets(with_summary(step, censored=101), Objective.parse("p99<=200ms")).outcome == Outcome.MET


def test_a_step_with_another_fault_than_a_late_generator_gives_no_bound(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 4_000.0), late=(1_000.0, 4_000.0), late_us=900.0))
    late, saturated = run.steps
    assert facts.at_most(late, 0.99) is not None and facts.at_most(saturated, 0.99) is None
    broken = dataclasses.replace(late, record=replace(late.record, invalid_reasons=(NOT_KEPT_UP, "the server is gone")))
    assert facts.at_most(broken, 0.99) is None
    assert meets(broken, Objective()).outcome == Outcome.GENERATOR


def test_a_rate_that_is_missed_by_more_than_lateness_explains_is_missed_by_the_server(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (2_100.0, 4_000.0), late=(2_100.0, 4_000.0), late_us=900.0))
    little, much = run.steps
    assert meets(much, Objective()).outcome == Outcome.MISSED
    latest = {"lag_p99_us": 500_000.0, "lag_max_us": 5_000_000.0}  # it could not send them
    summary = much.frames["summary"].assign(**latest)
    weak = dataclasses.replace(much, frames={**much.frames, "summary": summary})
    assert meets(weak, Objective()).outcome == Outcome.GENERATOR
    assert meets(little, Objective()).outcome != Outcome.MET


def test_rates_at_which_the_generator_was_late_are_named_with_those_that_were_judged(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (800.0, 1_400.0, 1_800.0), searched=False, base=BASE, late=(1_800.0,)))
    (ladder,) = ladders(run)
    assert ladder.unknown == [1_800.0]
    conclusion = conclude(run, {})
    (finding,) = (each for each in conclusion.findings if each.code == "K05")
    assert finding.sentence.endswith("; the generator was late at 1\u202f800/s.")
    assert "highest rate that was offered" not in finding.sentence
    (check,) = (each for each in conclusion.checks if each.name == "generator kept up" and "ladders" in each.text)
    assert check.ok is False and check.steps == (ladder.steps[2].name,) and "1 of 3 rate steps" in check.text
    render(run, conclusion, {})
    assert "all up to 1\u202f400/s; generator late at 1\u202f800/s" in run.folder.report_md.read_text()


def test_a_ladder_of_silent_rate_steps_claims_nothing_of_its_server(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (800.0, 1_400.0), searched=False, base=BASE, late=(800.0, 1_400.0)))
    (finding,) = (each for each in conclude(run, {}).findings if each.code == "K05")
    assert finding.sentence.startswith("Nothing is known of LSM PUT on 64 connections at the 2 rates offered: ")
    assert "did not keep up" in finding.sentence
    assert "nothing is known" in title(ladders(run)[0])


def test_many_ladders_share_their_checks_and_the_silent_one_is_named(tmp_path: Path) -> None:
    folder = make_ladder(tmp_path, (800.0, 1_400.0), name="put-a", subject="a")
    for name in ("b", "c"):
        make_ladder(tmp_path, (800.0, 1_400.0), name=f"put-{name}", subject=name, into=folder)
    make_ladder(tmp_path, (800.0,), name="put-d", subject="d", into=folder, late=(800.0,))
    checks = {check.name: check for check in conclude(read_run(folder), {}).checks}
    assert (
        "6 of 7 probes could be judged" in checks["probes of 4 ladders"].text
        and checks["probes of 4 ladders"].ok is False
    )
    assert "of d PUT it is not known which rates meet the objective" in checks["probes of 4 ladders"].text
    assert checks["samples of the probes"].ok is not None
    assert not [name for name in checks if name.startswith(("probes, ", "samples, "))]


def test_fixed_rates_say_which_are_achieved(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 2_000.0, 3_000.0), searched=False))
    (ladder,) = ladders(run)
    assert ladder.answer is None
    conclusion = conclude(run, {})
    assert conclusion.answer.endswith("achieves 2\u202f000/s, not 3\u202f000/s.")


def test_a_ladder_that_misses_a_rate_below_one_that_it_meets_claims_neither(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 1_500.0, 2_000.0), searched=False))
    steps = [
        with_summary(step, achieved_rps=0.94 * 1_500.0) if facts.offered_rps(step) == 1_500 else step
        for step in run.steps
    ]
    run = dataclasses.replace(run, steps=tuple(steps))
    (ladder,) = ladders(run)
    assert ladder.outcomes == ([1_000.0, 2_000.0], [1_500.0])
    assert title(ladder).endswith("achieves 2 of 3 rates, not 1\u202f500/s")
    assert conclude(run, {}).answer.endswith("achieves 2 of 3 rates; the lowest that it missed is 1\u202f500/s.")


def test_the_one_rate_that_was_offered_and_missed_is_reported_as_one(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (3_000.0,), searched=False))
    (finding,) = (each for each in conclude(run, {}).findings if each.code == "K05")
    assert finding.sentence.endswith("does not achieve 3\u202f000/s, the one rate that can be judged.")
    assert finding.evidence["rates"] == 1


@pytest.mark.parametrize("searched", [True, False])
def test_the_report_shows_each_rate_step(tmp_path: Path, searched: bool) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=searched, late=(4_000.0,)))
    render(run, conclude(run, {}), {})
    html, text = run.folder.report_html.read_text(), run.folder.report_md.read_text()
    for report in (html, text):
        assert "<h2>Latency</h2>" not in report and "## Latency" not in report
        assert "No load step" not in report
    assert 'id="ladder-put-lsm"' in html
    csv = (run.folder.figures_path / "ladder-put-lsm.csv").read_text()
    assert len(csv.splitlines()) == len(RATES) + 1
