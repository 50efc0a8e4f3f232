"""What a run with ladders says: its knee, what is missed above it, the generator's limit; no word on missing loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.explain.climbing import ladders
from runners.explain.conclude import conclude
from runners.explain.knee import Kind
from runners.read.reading import read_run
from runners.show import render
from runners.tests.fixtures.ladder_run import make_ladder

RATES = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)


def test_a_knee_is_told_with_its_interval_and_what_is_missed_above(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, RATES))
    (ladder,) = ladders(run)
    assert ladder.answer is not None and ladder.answer.kind == Kind.FOUND
    assert ladder.answer.low_rps <= 2_020 <= ladder.answer.high_rps
    conclusion = conclude(run, {})
    found = {finding.code: finding for finding in conclusion.findings}
    assert "keeps p99 within 10.0" in found["K01"].sentence and "up to" in conclusion.answer
    assert "achieved" in found["K02"].sentence
    assert not {"A01", "A03", "A04"} & set(found)
    assert [check.name for check in conclusion.checks if "No step" in check.text] == []


def test_a_late_generator_is_named_and_its_probes_are_not_the_servers(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 1_800.0, 1_900.0, 1_900.0), late=(1_900.0,)))
    (ladder,) = ladders(run)
    assert ladder.answer is not None and ladder.answer.ceiling_rps == 1_900
    found = {finding.code: finding for finding in conclude(run, {}).findings}
    assert "2 of 4" in found["K03"].sentence


def test_fixed_rates_say_which_are_carried(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 2_000.0, 3_000.0), searched=False))
    (ladder,) = ladders(run)
    assert ladder.answer is None
    conclusion = conclude(run, {})
    assert conclusion.answer.endswith("carries 2\u202f000/s and falls short of 3\u202f000/s.")


@pytest.mark.parametrize("searched", [True, False])
def test_the_report_shows_each_rung(tmp_path: Path, searched: bool) -> None:
    run = read_run(make_ladder(tmp_path, RATES, searched=searched, late=(4_000.0,)))
    render(run, conclude(run, {}), {})
    html, text = run.folder.report_html.read_text(), run.folder.report_md.read_text()
    for report in (html, text):
        assert "<h2>Latency</h2>" not in report and "## Latency" not in report
        assert "No load step" not in report
    assert 'id="ladder-put-lsm"' in html
    csv = (run.folder.figures_path / "ladder-put-lsm.csv").read_text()
    assert len(csv.splitlines()) == len(RATES) + 1
