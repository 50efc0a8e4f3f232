"""The words of the project are those of its glossary: a file that still holds others may hold fewer, never more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.tests.words import ALLOWED, GLOSSARY, ROOT, TERMS, counted, excess, found_in, shrunk, tracked


def test_no_file_holds_more_replaced_words_than_it_may() -> None:
    allowed = json.loads(ALLOWED.read_text(encoding="utf-8"))
    counts = counted(tracked())
    assert excess(counts, allowed) == [], "run: python -m runners.tests.words"


def test_every_term_is_in_the_glossary() -> None:
    glossary = (ROOT / GLOSSARY).read_text(encoding="utf-8")
    assert [term for term in TERMS if term not in glossary] == []


def test_a_replaced_word_is_found_with_its_line_and_term() -> None:
    text = "A rate step.\nThe highest rung of the ladder wrung nothing.\nTypically 3 ms."
    assert found_in(text) == [
        (2, "rung", "rate step"),
        (3, "Typically", "geometric mean, median of rounds"),
    ]
    assert [word for _, word, _ in found_in("published_rungs = rungs_of(ladder)")] == ["rungs", "rungs"], "identifiers"


@pytest.mark.parametrize(
    "name",
    [
        "questions.carries_published(LOADS)", "connections carry their load", "for turn in range(starts):",
        "(0..count).map(move |turn| turn)", "// Whole turns of all targets.", "_is_a_turn(output)", "worth_of_all = 3",
        "the typical run and its interval", "typical_us(output)", "highest rate held: put", "held_share(step)",
        "share < facts.HELD", "least_held = 1", "Whether a difference can't be seen",
    ],
)  # fmt: skip
def test_names_that_were_found_by_a_reader_are_kept_out(name: str) -> None:
    assert len(found_in(name)) == 1


def test_keys_of_recorded_results_keep_their_words() -> None:
    assert found_in('{"least_held": 1.0, "highest_carried_rps": 5}') == []


def test_an_answer_is_a_response_where_nothing_else_is_answered() -> None:
    text = '/** Sends an answer. */ flushAnswers(); put("answered", 1); "--answer-text"'
    assert [word for _, word, _ in found_in(text, "Session.java")] == ["answer", "Answers"]
    assert found_in(text, "question.py") == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("(found,) = comparisons(run)", "a.py"), ("for at, each in pairs:", "a.py"),
        ("    found = search(seed)", "a.py"), ("found: Knee | None = None", "a.py"), ("for each in steps:", "a.py"),
        ("lambda those: those.name", "a.py"), ("def found() -> int:", "a.py"), ("let mut found = 0;", "a.rs"),
        ("steps.map(|each| each.name)", "a.rs"), ("for (Path each : paths) {", "A.java"),
        ("List<Path> found = list();", "A.java"), ("int found;", "A.java"), ("map((found) -> 1)", "A.java"),
    ],
)  # fmt: skip
def test_a_variable_says_what_it_holds(code: str, name: str) -> None:
    assert [term for _, _, term in found_in(code, name)] == ["what it holds"]


@pytest.mark.parametrize("code", ["not_found = 1", "step.found = 1", "# Loads found in a folder", "found_in(text) = 1"])
def test_a_name_that_only_ends_so_is_no_vague_name(code: str) -> None:
    assert found_in(code, "a.py") == []


def test_numbers_only_shrink(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one rung", encoding="utf-8")
    (tmp_path / "b.md").write_text("none", encoding="utf-8")
    counts = counted(["a.md", "b.md"], tmp_path)
    assert counts == {"a.md": 1}
    assert excess(counts, {}) == ["a.md"] and excess(counts, {"a.md": 1}) == []
    assert shrunk(counts, {"a.md": 3, "b.md": 2}) == {"a.md": 1}
    assert shrunk({"a.md": 5}, {"a.md": 3}) == {"a.md": 3}
