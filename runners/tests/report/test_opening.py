"""A report opens with its terms and treatments, and ends with what its author concluded rightly and wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.report import author, opening
from runners.results.answer import Verdict
from runners.tests.fixtures.references import concluded


def test_a_knee_is_defined_where_it_is_quoted_and_each_treatment_is_said() -> None:
    results = concluded("03").results
    assert [text.partition(":")[0] for text in opening.terms(results)][:1] == ["Knee"]
    table = opening.treatments(results.run)
    assert table is not None and {"blocking-one", "selector"} <= {row[0] for row in table.rows}
    stores = opening.treatments(concluded("01").results.run)
    assert stores is not None and {"rocksdb", "lsm"} == {row[0] for row in stores.rows}


@pytest.mark.parametrize("number", ["01", "03"])
def test_the_author_reads_ten_lines_at_most_right_where_the_answer_is_the_claim(number: str) -> None:
    conclusion = concluded(number)
    lines = author.lines(conclusion)
    assert 0 < len(lines) <= 10
    agreeing = [one for one in conclusion.answers if one.agrees]
    assert sum(line.startswith("Right") for line in lines) == min(author.MOST_CLAIMS, len(agreeing))
    opposite = {Verdict.YES: Verdict.NO, Verdict.NO: Verdict.YES}
    turned = tuple(
        replace(one, answer=replace(one.answer, verdict=opposite.get(one.answer.verdict, one.answer.verdict)))
        for one in conclusion.answers
    )
    wrong = author.lines(replace(conclusion, answers=turned))
    assert sum(line.startswith("Wrong") for line in wrong) == min(author.MOST_CLAIMS, len(agreeing))


def test_a_run_without_claims_has_no_lines_for_an_author() -> None:
    assert author.lines(concluded("09")) == ()
