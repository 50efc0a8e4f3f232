"""Precision and recall are counted once a document and rule, on labelled documents alone."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from runners.audit.audit import RULES
from runners.bench.audit import ON_TEXTS, lines, read_labels, score
from runners.tests.fixtures.outputs import CLOSED, HEALTHY


def test_findings_and_faults_are_counted_by_rule(tmp_path: Path) -> None:
    errors = "  Non-2xx or 3xx responses: 700\nRequests/sec"
    texts = {
        "both.txt": (CLOSED.replace("Requests/sec", errors) * 2, ("ERR001", "RAT004")),
        "wrong.txt": (CLOSED, ("TIM001|TIM002",)),
        "copy.txt": (CLOSED, ("TIM001|TIM002",)),  # the same content counts once
        "fine.txt": (HEALTHY, ()),
    }
    labels = {}
    for name, (text, faults) in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        labels[hashlib.sha256(text.encode()).hexdigest()] = faults
    (tmp_path / "unlabelled.txt").write_text(f"{CLOSED}\n", encoding="utf-8")
    documents, scores = score(tmp_path, labels)
    found = {each.code: (each.found, each.right, each.faults, each.named) for each in scores}
    assert documents == 3
    assert found["ERR001"] == (1, 1, 1, 1)
    assert found["RAT004"] == (2, 1, 1, 1)
    assert found["TIM001"] == (0, 0, 1, 0)
    assert found["all rules"] == (3, 2, 3, 2)


def test_labels_are_hashes_and_codes_and_nothing_else() -> None:
    sets = read_labels()
    assert len(sets["seen"]) >= 150
    assert len({name for labels in sets.values() for name in labels}) == sum(map(len, sets.values()))  # in one set each
    for labels in sets.values():
        assert all(re.fullmatch(r"[0-9a-f]{64}", name) for name in labels)
        assert {code for faults in labels.values() for fault in faults for code in fault.split("|")} <= {*RULES, "none"}


def test_a_folder_without_labelled_documents_says_so(tmp_path: Path) -> None:
    assert all(": 0 of " in line for line in lines(tmp_path))


def test_documents_that_are_labelled_for_their_text_score_the_rules_about_it_alone(tmp_path: Path) -> None:
    text = f"# Report\n\nIt ran for a minute.\nThe new version is 30 % faster.\n\n{CLOSED}"
    (tmp_path / "report.md").write_text(text, encoding="utf-8")
    labels = {hashlib.sha256(text.encode()).hexdigest(): ("CMP003",)}
    assert {each.code for each in score(tmp_path, labels, ON_TEXTS)[1]} == {"CMP003", "all rules"}
    assert "RAT004" in {each.code for each in score(tmp_path, labels)[1]}
