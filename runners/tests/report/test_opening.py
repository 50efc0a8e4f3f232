"""A report opens with its terms and treatments, and ends with what its author concluded rightly and wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.report import author, opening
from runners.results.answer import Verdict
from runners.tests.fixtures.references import concluded
from runners.tests.tiers import in_short

CLAIMS = ("Wrong", "Not reproduced here", "Right", "Measured anew")  # how lines on an author's claims begin


def test_a_knee_is_defined_where_it_is_quoted_and_each_treatment_is_said() -> None:
    results = concluded("05").results
    assert [name for name, _ in opening.terms(results)][1] == "Knee"
    table = opening.treatments(results.run)
    assert table is not None and {"one-node", "murmur3"} <= {row[2] for row in table.rows}
    stores = opening.treatments(concluded("01").results.run)
    assert stores is not None and {"rocksdb", "lsm", "copied-values"} <= {row[2] for row in stores.rows}


@pytest.mark.parametrize("number", in_short(["01", "03", "05"], ("01", "05")))
def test_the_author_reads_ten_lines_at_most_right_where_the_answer_is_the_claim(number: str) -> None:
    conclusion = concluded(number)
    lines = author.lines(conclusion)
    assert 0 < len(lines) <= 10
    claims = [line for line in lines if line.startswith(CLAIMS)]
    decided = [answered for answered in conclusion.answers if answered.answer.verdict != Verdict.INCONCLUSIVE]
    assert len(claims) == min(author.MOST_CLAIMS, sum(bool(answered.question.claim) for answered in decided))
    concluded_by_author = [answered for answered in decided if not answered.question.observed]
    wrong = any(answered.agrees is False for answered in concluded_by_author)
    assert any(line.startswith("Wrong") for line in claims) == wrong
    opposite = {Verdict.YES: Verdict.NO, Verdict.NO: Verdict.YES}
    turned = tuple(
        replace(
            answered,
            answer=replace(answered.answer, verdict=opposite.get(answered.answer.verdict, answered.answer.verdict)),
        )
        for answered in conclusion.answers
    )
    others = author.lines(replace(conclusion, answers=turned))
    assert any(line.startswith("Wrong") for line in others) == any(answered.agrees for answered in concluded_by_author)


def test_the_main_conclusion_of_a_report_comes_first_and_then_what_is_wrong() -> None:
    conclusion = concluded("05")
    claims = [line.partition(")")[0] for line in author.lines(conclusion) if line.startswith(CLAIMS)]
    numbers = {answered.question.key: place for place, answered in enumerate(conclusion.answers, 1)}
    assert claims[0] == f"Measured anew (question {numbers['one-node']}"
    order = [CLAIMS.index(claim.partition(" (")[0]) for claim in claims[1:]]
    assert len(order) > 1 and sorted(order) == order


def test_a_run_without_claims_has_no_lines_for_an_author() -> None:
    assert author.lines(concluded("09")) == ()
