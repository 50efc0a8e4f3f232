"""What a reader of the original reports looks for stands in ours: graphs, shares and tables of the references."""

from __future__ import annotations

import pytest

from runners.report.fixed_rate import MOST_GRAPHS, MOST_REST, shares_section, where_section
from runners.report.report import kept_figures, to_markdown
from runners.report.sentences import effect_words
from runners.results.answer import Answered, Measure, Unit
from runners.tests.fixtures.references import KEPT, answer, concluded, page
from runners.tests.tiers import in_short

MOST_LINES = 220


def answered(number: str, key: str) -> Answered:
    return next(given for given in concluded(number).answers if given.question.key == key)


def drawn(number: str) -> list[tuple[str, str, str]]:
    """The treatment, the load and the event of each flame graph of a reference."""
    return [(graph.step.subject, graph.step.workload, graph.event) for graph in page(number).graphs]


@pytest.mark.parametrize("number", in_short(KEPT, ("02", "05")))
def test_no_report_has_too_many_flame_graphs_or_two_of_one_kind(number: str) -> None:
    graphs = [(graph.step.name, graph.event) for graph in page(number).graphs]
    assert len(set(graphs)) == len(graphs) <= MOST_GRAPHS


def test_the_server_that_the_author_changed_is_drawn_too() -> None:
    assert {(subject, event) for subject, _, event in drawn("02")} == {("before", "cpu"), ("after", "cpu")}


@pytest.mark.long
def test_the_second_way_to_run_a_request_is_drawn_until_there_are_enough_graphs() -> None:
    graphs = {(subject, load) for subject, load, event in drawn("03") if event != "lock"}
    assert graphs == {(name, load) for name in ("blocking-one", "blocking-many") for load in ("put", "get")}
    assert len(drawn("03")) == MOST_GRAPHS


@pytest.mark.parametrize("number", in_short(KEPT, ("02", "05")))
def test_no_table_of_shares_leaves_more_than_a_fifth_to_its_last_row(number: str) -> None:
    results = concluded(number).results
    for table in (*where_section(results).tables, *shares_section(results).tables):
        name, *rest = table.rows[-1]
        assert name == "the rest"
        assert all(float(cell.split("\u00a0")[0]) <= 100 * MOST_REST for cell in rest), table


@pytest.mark.parametrize("number", in_short(("01", "02", "03", "05", "07"), ("02", "05")))
def test_a_report_has_no_more_lines_than_a_reader_bears(number: str) -> None:
    text = to_markdown(page(number), kept_figures(page(number)))
    assert len(text.partition("\n# Appendix\n")[0].splitlines()) <= MOST_LINES


def test_the_question_on_one_node_shows_what_was_published_of_one_and_of_three() -> None:
    (part,) = [question for question in page("05").questions if question.answered.question.key == "one-node"]
    assert [figure.anchor for figure in part.shown.figures] == ["interleaved-one-node-put"]
    *_, table = part.shown.tables
    assert [row[0] for row in table.rows] == ["PUT", "GET"]
    assert table.rows[0][1].startswith("125\u202f000/s") and table.rows[0][2].startswith("60\u202f000/s")
    assert all(cell.startswith("40\u202f000/s") for cell in table.rows[1][1:])
    assert "12\u202f000 keys" in table.caption and "3\u202f710\u202f000" in table.caption


def test_the_smaller_pool_has_the_threads_of_here_and_of_the_author() -> None:
    text = effect_words(answered("05", "threads"))
    assert "before and after: 13 against 4" in text and "before and after: 20 against 6" in text


def test_whether_more_selectors_gain_more_with_large_values_is_said_with_its_interval() -> None:
    gains = [measure for measure in answer("03", "large-values").evidence if isinstance(measure, Measure)]
    assert [gain.unit for gain in gains] == [Unit.CHANGE, Unit.COUNT], "the rates of PUT of 10 kB are only bounds"
    large, points = gains
    assert large.label.startswith("GET") and large.other is not None
    assert large.low < large.other.value < large.high and points.low < 0 < points.high
    assert "not decided to differ" in points.label


def test_polling_and_the_bytes_of_a_response_stand_next_to_what_the_author_says_of_them() -> None:
    assert "11.5 %" in answered("01", "sockets").question.claim
    polling = [
        measure
        for measure in answer("01", "sockets").evidence
        if isinstance(measure, Measure) and measure.other is None
    ]
    assert ["polling" in measure.label for measure in polling] == [True, True]
    assert all(0.2 < measure.low < measure.high < 0.4 for measure in polling)
    *_, response = answer("01", "alloc").evidence
    assert isinstance(response, Measure) and 0.5 < response.low < 0.66 < response.high < 0.8


def test_the_proposals_are_quoted_from_report_4_and_a_flush_is_asked_about() -> None:
    claims = [part.claim for part in page("07").questions if part.claim]
    assert claims and all(claim.startswith("Report 4, line") for claim in claims)
    assert "Not measured" not in effect_words(answered("07", "bloom")) and answered("07", "flush").measured
