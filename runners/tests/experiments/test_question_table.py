"""The table of questions: complete, fixed in its form, and joined with what the reference runs answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.errors import LabError
from runners.experiments import Criterion, Design, criteria, registry
from runners.experiments.registry import QUESTIONS, answered_share, table

REPORTED = ("01", "02", "03", "04", "05", "06", "07")


def test_every_question_of_a_report_is_in_the_table_and_asked_by_its_experiment() -> None:
    asked = {number: {each.question.key for each in QUESTIONS[number]} for number in REPORTED}
    assert {number: set(by_key) for number, by_key in criteria().items()} == asked


def test_what_is_counted_or_published_has_no_margin_and_everything_else_has() -> None:
    for number, by_key in criteria().items():
        for key, each in by_key.items():
            if each.design == Design.PUBLISHED:
                assert each.margin == each.width == 0, f"{number}.{key}"
            elif each.margin:
                assert 0 < each.margin < each.width <= 1, f"{number}.{key}"


def test_a_question_that_nothing_asks_or_nothing_measured_counts_as_unanswered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    criterion = Criterion("p50 of response time", 0.03, 0.06, Design.REQUESTS)
    fixed = {"01": {"rate": criterion, "gone": criterion}, "02": {"more": criterion}}
    monkeypatch.setattr(registry, "criteria", lambda: fixed)
    (tmp_path / "01").mkdir()
    answers = [{"key": key, "verdict": "yes", "effect": "+5 %"} for key in ("rate", "gone")]
    (tmp_path / "01" / "conclusions.json").write_text(json.dumps({"answers": answers}))
    rows = table(tmp_path)
    assert [row.verdict for row in rows] == ["yes", registry.NOT_ASKED, registry.NOT_MEASURED]
    assert [row.answered for row in rows] == [True, False, False]
    assert answered_share(rows) == pytest.approx(1 / 3)


def test_a_table_with_a_misspelt_design_is_refused_by_name(tmp_path: Path) -> None:
    bad = tmp_path / "questions.toml"
    bad.write_text('[01.rate]\nquantity = "p50"\nmargin = 0.1\nwidth = 0.2\ndesign = "guess"\n')
    with pytest.raises(LabError, match="guess"):
        criteria(bad)
