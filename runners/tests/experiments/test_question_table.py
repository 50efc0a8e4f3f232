"""The table of questions: complete, fixed in its form, and joined with what the reference runs answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.errors import LabError
from runners.experiments import question_table
from runners.experiments.question_table import criteria, table
from runners.experiments.registry import questions_of

REPORTED = ("01", "02", "03", "04", "05", "06", "07")


def test_every_question_of_a_report_is_in_the_table_and_asked_by_its_experiment() -> None:
    asked = {number: {question.question.key for question in questions_of(number)} for number in REPORTED}
    assert {number: set(by_key) for number, by_key in criteria().items()} == asked


def test_what_is_counted_or_published_has_no_margin_and_everything_else_has() -> None:
    for number, by_key in criteria().items():
        for key, criterion in by_key.items():
            if criterion.design == "published":
                assert criterion.margin == criterion.width == 0, f"{number}.{key}"
            elif criterion.margin:
                assert 0 < criterion.margin < criterion.width <= 1, f"{number}.{key}"


def test_a_question_that_nothing_measured_counts_as_unanswered(tmp_path: Path) -> None:
    fixed = tmp_path / "questions.toml"
    rest = 'quantity = "p50 of response time"\nmargin = 0.03\nwidth = 0.06\ndesign = "requests"\n'
    fixed.write_text("".join(f"[{key}]\n{rest}" for key in ("01.rate", "02.more")))
    (tmp_path / "01").mkdir()
    answers = [{"key": key, "verdict": "yes", "effect": "+5 %"} for key in ("rate", "disk")]
    (tmp_path / "01" / "conclusions.json").write_text(json.dumps({"answers": answers}))
    rows = table(tmp_path, fixed)
    assert [row.verdict for row in rows] == ["yes", question_table.NOT_MEASURED]
    assert [row.answered for row in rows] == [True, False]


def test_a_table_with_a_misspelt_design_is_refused_by_name(tmp_path: Path) -> None:
    bad = tmp_path / "questions.toml"
    bad.write_text('[01.rate]\nquantity = "p50"\nmargin = 0.1\nwidth = 0.2\ndesign = "guess"\n')
    with pytest.raises(LabError, match="guess"):
        criteria(bad)
