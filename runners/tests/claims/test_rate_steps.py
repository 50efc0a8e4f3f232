"""What ladders at shares of a knee say: shares against the rate, rates out of reach, what the published ones hide."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.claims import rate_steps
from runners.claims.climbing import ladders
from runners.claims.conclude import conclude
from runners.claims.question import Evidence, Verdict
from runners.claims.verdicts import published_rates
from runners.design.ladder import MOST_SHARE, nearest, step_rates
from runners.readers.published import published, published_names, published_outputs
from runners.readers.reading import read_run
from runners.report import render
from runners.report.ladder import against_published
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.ladder_run import make_ladder
from runners.tests.report import steps

BASE = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
RATES = (800.0, 1_400.0, 1_800.0, 2_400.0)
REPORT_4 = ("report-4/put-20000", "report-4/put-30000", "report-4/put-45000")


def test_a_share_that_changes_with_the_rate_is_reported_with_both_intervals(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=BASE, polling={800.0: 600, 1_800.0: 200}))
    (moved,) = (finding for finding in conclude(run, {}).findings if finding.code == "R01")
    assert "800/s to 1\u202f800/s" in moved.sentence and "poll from 60.0" in moved.sentence
    assert moved.evidence["poll change"] == pytest.approx(-0.4)


def test_a_share_that_stays_is_not_said_to_move(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=BASE, polling={800.0: 410, 1_800.0: 400}))
    (moved,) = (finding for finding in conclude(run, {}).findings if finding.code == "R01")
    assert "no category's share changes" in moved.sentence


def test_rate_steps_know_the_knee_that_was_found_before_and_do_not_repeat_it_as_an_answer(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=BASE))
    (ladder,) = ladders(run)
    assert ladder.answer is not None and ladder.answer.rps == 2_000
    conclusion = conclude(run, {})
    assert conclusion.answer == "Nothing was measured."  # the search itself answers; it is not in this run
    assert not any(finding.code in ("K01", "K06") for finding in (*conclusion.findings, *conclusion.next_steps))


def test_published_rates_beyond_this_machine_are_named_as_not_offered(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=BASE, published=REPORT_4))
    (far,) = (finding for finding in conclude(run, {}).findings if finding.code == "R02")
    assert far.evidence["lowest_not_offered_rps"] == 20_000 and "not offered" in far.sentence


@pytest.mark.parametrize(("closed_rps", "verdict"), [(12_000.0, Verdict.NO), (60_000.0, Verdict.INCONCLUSIVE)])
def test_what_a_closed_loop_does_not_reach_is_not_kept_over_as_many_connections(
    tmp_path: Path, closed_rps: float, verdict: Verdict
) -> None:
    wide = {"what": "knee", "rps": 20_000.0, "knee": [20_000.0, 15_000.0, 60_000.0]}
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=wide, published=REPORT_4))
    first = run.steps[0]
    probe = with_summary(
        steps.step(tmp_path, "probe-put", steps.times(), role="probe", treatment=first.subject, workload="put",
                   connections=first.record.connections, offered_rps=None),
        offered_rps=float("nan"), achieved_rps=closed_rps,
    )  # fmt: skip
    answer = published_rates(Evidence(dataclasses.replace(run, steps=(probe, *run.steps)), ()))
    assert answer is not None and answer.verdict == verdict, answer
    assert ("in closed loop" in answer.effect) == (verdict == Verdict.NO)


def test_a_report_of_ladders_alone_says_what_the_authors_missed(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=False, base=BASE, published=REPORT_4))
    conclusion = conclude(run, {})
    assert {"M07", "M09", "M10"} <= {finding.code for finding in conclusion.missed}
    render(run, conclusion, {})
    text = run.folder.report_md.read_text(encoding="utf-8")
    assert all(f'id="finding-{code}"' in text for code in ("M07", "M09"))


def test_percentiles_under_another_rate_are_named_with_both_rates() -> None:
    found = {finding.code: finding for finding in rate_steps.published_missed(REPORT_4)}
    assert found["M09"].evidence == {"published_rps": 45_000.0, "ran_at_rps": 48_000.0}
    assert "45\u202f000/s" not in found["M07"].sentence and "48\u202f000/s" in found["M07"].sentence
    assert found["M10"].evidence == {"low_rps": 30_000.0, "high_rps": 48_000.0}
    assert "The published rates of PUT over one connection" in found["M10"].sentence


def test_report_3_reads_keys_that_were_never_written_and_calls_queues_latency() -> None:
    of_report_3 = [name for name in published_names() if name.startswith("report-3/")]
    found = {finding.code: finding for finding in rate_steps.published_missed(of_report_3)}
    absent = found["M08"].evidence
    assert absent["outputs"] == len([name for name in of_report_3 if "get" in name])
    assert all(0.16 < float(absent[side] or 0) < 0.19 for side in ("low", "high"))
    beyond = {
        name
        for name in of_report_3
        for output in published_outputs(name)
        if (output.report.requests_per_s or 0) < 0.99 * (output.offered_rps or 0)
    }
    assert beyond and beyond <= set(found["M07"].steps)


def test_a_ladder_stands_next_to_the_published_outputs_of_its_own_setting_alone(tmp_path: Path) -> None:
    names = ("report-3/one-selector-put-20000", "report-3/selectors-put-60000", "report-4/put-10000-warm")
    for subject, own in (("blocking-one", names[:1]), ("blocking-many", names[1:2]), ("lsm", ())):
        folder = make_ladder(tmp_path / subject, (800.0,), searched=False, base=BASE, published=names, subject=subject)
        (ladder,) = ladders(read_run(folder))
        assert [name for name, _ in rate_steps.of_setting(ladder)] == [*own, names[2]], "which no setting is named of"
        table = against_published(ladder)
        assert table is not None and {row[0] for row in table.rows} == {*own, names[2]}


def test_a_published_output_knows_the_rate_that_the_index_tells() -> None:
    report = published("report-4/put-10000-cold")
    assert report.rate_rps == 10_000 and report.tool == "wrk2" and report.duration_s == 120


@given(
    st.floats(100, 1e6),
    st.lists(st.floats(0.05, 2.0), min_size=1, max_size=9),
    st.lists(st.floats(10, 2e6), max_size=5),
)
def test_a_ladder_rises_holds_the_published_rates_within_reach_and_no_rate_twice(
    base_rps: float, shares: list[float], published_rps: list[float]
) -> None:
    rates = step_rates(base_rps, shares, published_rps)
    assert rates == sorted(set(rates))
    assert {rps for rps in published_rps if rps <= MOST_SHARE * base_rps} <= set(rates)
    assert not [rps for rps in rates if rps > MOST_SHARE * base_rps and rps in published_rps and rps not in
                {float(f"{share * base_rps:.3g}") for share in shares}]  # fmt: skip


def test_of_the_published_rates_within_reach_those_nearest_to_the_knee_are_offered() -> None:
    published = [500.0, 900.0, 1_100.0, 1_290.0, 1_310.0, 20_000.0]
    assert nearest(1_000.0, published, 2) == [900.0, 1_100.0]
    assert nearest(1_000.0, published, 99) == [500.0, 900.0, 1_100.0, 1_290.0]
    assert nearest(1_000.0, published, 0) == nearest(100.0, published, 5) == []


def test_both_reports_show_shares_by_rate_and_each_published_rate(tmp_path: Path) -> None:
    folder = make_ladder(
        tmp_path, RATES, searched=False, base=BASE, published=REPORT_4, polling={800.0: 600, 1_800.0: 200}
    )
    run = read_run(folder)
    render(run, conclude(run, {}), {})
    html, text = folder.report_html.read_text(), folder.report_md.read_text()
    for report in (html, text):
        assert "Published and reproduced" in report
        assert "of the knee" in report and "report-4/put-30000" in report and "taken at 48" in report
    assert len(list(folder.figures_path.glob("flame-*.png"))) == 2  # of the lowest and the highest rate
    assert list(folder.figures_path.glob("differential-*.png"))


def test_a_run_without_such_ladders_has_none_of_it(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path))
    assert not [finding for finding in conclude(run, {}).findings if finding.code.startswith("R")]
