"""Merged findings: few ladders are told one by one, many once; no warning is lost, the conclusion keeps all."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runners.analysis.finding import Finding
from runners.claims.conclude import conclude
from runners.claims.merging import ANCHOR, GRAVE, many, merged
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.readers.severity import Severity
from runners.report import render
from runners.tests.fixtures.ladder_run import make_ladder

AROUND = (1_000.0, 2_000.0, 4_000.0, 2_800.0)
MET_ONLY = (500.0, 1_000.0)
FAR = ("report-4/put-20000", "report-4/put-30000")


def run_of(root: Path, names: str = "abcd", open_: str = "", late: str = "") -> Run:
    """A run of one search and one rate step beside it, by name."""
    folder = None
    for name in names:
        rates = MET_ONLY if name in open_ else (*AROUND, 1_500.0, 1_500.0) if name in late else AROUND
        slow = (1_500.0,) if name in late else ()
        folder = make_ladder(root, rates, name=f"put-{name}", subject=name, late=slow, into=folder)
        base = {"what": "knee", "rps": 2_000.0 if name in names[:2] else 20_000.0}
        about = f"put-{name}-rates"
        folder = make_ladder(
            root, (1_400.0,), searched=False, base=base, name=about, subject=name, published=FAR, into=folder
        )
    assert folder is not None
    run = read_run(folder)
    return dataclasses.replace(run, steps=tuple(sorted(run.steps, key=lambda step: step.name)))  # all began at once


def told(run: Run, code: str) -> list[Finding]:
    return [finding for finding in merged(conclude(run, {}).findings) if finding.code == code]


def test_few_ladders_are_told_one_by_one(tmp_path: Path) -> None:
    findings = conclude(run_of(tmp_path, "a"), {}).findings
    assert not many(findings) and merged(findings) == findings


def test_what_a_row_of_the_table_says_is_not_said_again(tmp_path: Path) -> None:
    findings = conclude(run_of(tmp_path), {}).findings
    assert {"K01", "K02", "K05"} <= {finding.code for finding in findings}
    assert not {"K01", "K02", "K05"} & {finding.code for finding in merged(findings)}


def test_a_budget_that_ended_is_told_once_with_the_widths_of_all(tmp_path: Path) -> None:
    run = run_of(tmp_path, open_="d")
    each = [finding for finding in conclude(run, {}).findings if finding.code == "K04"]
    (one,) = told(run, "K04")
    assert len(each) == 4 and one.figure == ANCHOR and one.remedy == each[0].remedy
    assert "4 knees" in one.sentence and "a PUT, b PUT, c PUT and d PUT" in one.sentence
    assert "d PUT has none yet" in one.sentence


def test_searches_that_ended_open_are_named_together(tmp_path: Path) -> None:
    (one,) = told(run_of(tmp_path, open_="bd"), "K01")
    assert one.sentence.startswith("The knees of b PUT and d PUT were not found") and one.severity == Severity.WARNING
    (alone,) = told(run_of(tmp_path / "alone", open_="d"), "K01")
    assert "met at" in alone.sentence  # one alone keeps its own words


def test_late_generators_are_counted_over_all_ladders(tmp_path: Path) -> None:
    run = run_of(tmp_path, late="bc")
    (one,) = told(run, "K03")
    each = [finding for finding in conclude(run, {}).findings if finding.code == "K03"]
    late, of = (sum(int(str(finding.evidence[name])) for finding in each) for name in ("probes", "of_probes"))
    assert f"in {late} of {of} probes of b PUT and c PUT, from 1\u202f500/s on" in one.sentence
    assert set(one.steps) == {step for finding in each for step in finding.steps}


def test_published_rates_that_were_not_offered_are_grouped_by_where_they_begin(tmp_path: Path) -> None:
    (one,) = told(run_of(tmp_path), "R02")
    assert (
        "to a PUT and b PUT those from 20\u202f000/s on; to c PUT and d PUT those from 30\u202f000/s on" in one.sentence
    )


def test_knees_that_do_not_differ_from_the_first_are_told_in_one_sentence(tmp_path: Path) -> None:
    (one,) = told(run_of(tmp_path), "E02")
    assert (
        "the knees of b (" in one.sentence
        and "against that of a are inconclusive" in one.sentence
        and one.figure == "knees-put"
    )


def test_the_page_merges_and_the_conclusion_does_not(tmp_path: Path) -> None:
    run = run_of(tmp_path, open_="d")
    conclusion = conclude(run, {})
    before = json.dumps(conclusion.as_json(), sort_keys=True)
    render(run, conclusion, {})
    assert json.dumps(conclusion.as_json(), sort_keys=True) == before
    text = run.folder.report_md.read_text()
    assert text.count("<sub>K04</sub>") == 1 and before.count('"K04"') == 4


CODES = st.sampled_from(("K01", "K02", "K03", "K04", "K05", "R02", "E02", "P02", "M07"))


@given(st.lists(st.tuples(CODES, st.integers(0, 6), st.sampled_from(Severity), st.booleans()), max_size=40))
def test_no_grave_finding_is_lost_and_no_other_kind_is_touched(given_: list[tuple[str, int, Severity, bool]]) -> None:
    findings = [
        Finding(code, severity, f"{code} of {ladder}.", _evidence(ladder, flag), (f"step-{place}",), f"ladder-{ladder}")
        for place, (code, ladder, severity, flag) in enumerate(given_)
    ]
    shown = merged(findings)
    steps = {step for finding in shown for step in finding.steps}
    assert all(set(each.steps) <= steps for each in findings if each.severity in GRAVE and each.code != "K02")
    apart = [each for each in findings if each.code in ("P02", "M07")]
    assert [each for each in shown if each.code in ("P02", "M07")] == apart
    if many(findings):
        for code in ("K03", "K04", "R02"):
            assert sum(each.code == code for each in shown) == any(each.code == code for each in findings)


def _evidence(ladder: int, flag: bool) -> dict[str, float | int | str | bool | None]:
    return {
        "ladder": f"setting-{ladder}", "kind": "open" if flag else "below", "probes": 1, "of_probes": 5,
        "lowest_rps": 100.0, "width": 0.5 if flag else float("nan"), "asked": 0.05, "base": "knee",
        "lowest_not_offered_rps": 1_000.0 * ladder, "low": -0.1 if flag else 0.1, "high": 0.2, "of": "b",
        "against": "a",
    }  # fmt: skip
