"""Reports of the reference results: short, each figure where it answers, and what is not resolved is no heading."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.analysis.interleaved import comparisons
from runners.analysis.quantities import QUANTITIES
from runners.report.comparison import table as table_of
from runners.report.flamegraph import short
from runners.results import cluster
from runners.storage.run_folder import REFERENCE
from runners.tests.fixtures import references
from runners.tests.fixtures.references import KEPT, reference
from runners.tests.tiers import in_short

MOST_LINES = 220  # without the appendix


@pytest.mark.parametrize("number", KEPT)
def test_the_kept_reports_are_short(number: str) -> None:
    main = (REFERENCE / number / "report.md").read_text(encoding="utf-8").partition("\n# Appendix\n")[0]
    assert len(main.splitlines()) <= MOST_LINES


def test_a_figure_stands_with_the_first_question_that_it_answers_and_once() -> None:
    page = references.page("05")
    shown = [figure.anchor for figure in page.figures]
    assert len(shown) == len(set(shown))
    by_key = {part.answered.question.key: part for part in page.questions}
    first, second = by_key["three-changes"], by_key["lock"]
    assert [figure.anchor for figure in first.shown.figures] == [first.answered.answer.figure]
    assert second.shown.empty and second.elsewhere == first.shown.anchor


def test_a_verdict_that_a_failed_check_touches_is_marked_where_it_stands() -> None:
    page = references.page("05")
    marked = {part.answered.question.key: part.marks for part in page.questions}
    touched = {number for check in page.conclusion.checks if check.failed for number in page.conclusion.touched(check)}
    assert touched and all(bool(part.marks) == (part.number in touched) for part in page.questions), marked


def test_what_is_not_resolved_is_no_heading_of_a_kept_report() -> None:
    page = references.page("01")
    titles = {shown.anchor: shown.heading for shown in page.figures}
    assert "p99" not in titles["spectrum-put"] and "LSM too fast" in titles["spectrum-put"]
    for comparison in page.conclusion.results.comparisons:
        decided = any(row.decided for row in comparison.rows if row.quantity.label == "p99")
        assert decided or "p99" not in titles[f"interleaved-{comparison.name}"]


def test_flame_graphs_of_put_and_get_name_their_widest_towers() -> None:
    page = references.page("01")
    seen = {(graph.step.workload, graph.event) for graph in page.graphs}
    assert {("put", "cpu"), ("put", "alloc"), ("get", "cpu"), ("get", "alloc")} <= seen
    for graph in page.graphs:
        shares = [tower.share for tower in graph.towers]
        assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1 + 1e-9
        assert all(short(tower.name) in graph.words for tower in graph.towers)


@pytest.mark.parametrize("number", in_short(["01", "03", "07", "09"], ("01", "09")))
def test_the_leading_quantity_stands_first_in_a_table_of_few_rows(number: str) -> None:
    for comparison in comparisons(reference(number)):
        table = table_of(replace(comparison, rate_rps=1_800.0))
        assert QUANTITIES[comparison.leading].label in table.rows[0][0]
        assert table.caption.endswith("1\u202f800/s")
        assert not any(row.change in cell for row in comparison.rows for cells in table.rows for cell in cells)
        labels = [row[0] for row in table.rows]
        first = next(place for place, name in enumerate(labels) if "CPU per request" in name)
        assert first < max((place for place, name in enumerate(labels) if "service" in name), default=9)


def test_what_threads_wait_for_a_lock_is_the_share_of_what_they_wait() -> None:
    waiting = next(waited for waited in cluster.lock_waits(reference("05")) if waited.client_s)
    assert waiting.share is not None
    assert waiting.share.value == pytest.approx(waiting.client_s / waiting.all_s, rel=1e-6)
