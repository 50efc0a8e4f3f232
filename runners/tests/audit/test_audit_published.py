"""The five published reports: each known fault is found where it is, with its numbers, and nowhere else."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from runners.audit.audit import audit
from runners.audit.rule import Remark, Severity
from runners.readers.outputs import find_in
from runners.readers.published import ROOT

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "published_findings.json"


def numbers(remark: Remark) -> dict[str, float]:
    return {
        name: value
        for name, value in remark.seen.evidence.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


@cache
def remarks() -> tuple[Remark, ...]:
    return audit(find_in(ROOT)).remarks


def seen(report: str, code: str) -> list[Remark]:
    return [remark for remark in remarks() if remark.output.group == report and remark.code == code]


def test_the_findings_are_the_known_ones_with_their_numbers() -> None:
    """Each is a file, a code, the run's line and column, and the numbers of its evidence."""
    known = [json.dumps(finding, sort_keys=True) for finding in json.loads(GOLDEN.read_text(encoding="utf-8"))]
    findings = [
        [output.path.relative_to(ROOT).as_posix(), remark.code, output.line, output.report.column, numbers(remark)]
        for remark in remarks()
        for output in (remark.output,)
    ]
    assert sorted(json.dumps(finding, sort_keys=True) for finding in findings) == sorted(known)


def test_connections_lost_to_division_are_counted() -> None:
    assert {remark.seen.evidence["opened"] for remark in seen("report-3", "RUN002")} == {60}
    assert "one-selector-get-15000-1conn" not in {remark.output.path.stem for remark in seen("report-3", "RUN002")}


def test_one_number_of_writes_explains_all_reads_of_a_store() -> None:
    explained = {remark.seen.evidence["outputs_explained"] for remark in seen("report-3", "ERR003")}
    assert explained == {3, 4}


def test_a_tail_of_fewer_than_ten_samples_is_counted() -> None:
    (remark,) = [remark for remark in seen("report-5", "SMP001") if remark.output.path.stem == "get-ladder"][:1]
    assert remark.seen.evidence["beyond_p99.999"] == 1
    assert remark.seen.evidence["counted"] is False


def test_every_finding_carries_numbers_and_a_remedy() -> None:
    for remark in remarks():
        assert any(isinstance(value, (int, float)) for value in remark.seen.evidence.values()), remark
        assert remark.remedy
        assert any(character.isdigit() for character in remark.seen.text) or remark.code in (
            "RUN005",
            "RAT004",
        )


def test_a_handful_of_errors_is_a_warning_and_a_share_an_error() -> None:
    assert {remark.severity for remark in seen("report-1", "ERR001")} == {Severity.WARNING}
    assert {remark.severity for remark in seen("report-2", "ERR001")} == {Severity.ERROR}
