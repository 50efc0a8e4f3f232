"""The five published reports: each known fault is flagged where it is, and not where it isn't."""

from __future__ import annotations

from functools import cache

import pytest

from runners.audit.audit import RULES, audit
from runners.audit.rule import Remark
from runners.readers.finding import Severity
from runners.readers.outputs import find_in
from runners.readers.published import ROOT

#: Codes that must be seen in at least one output of a report; every other code must be seen in none.
EXPECTED = {
    "report-1": {"TIM001", "ERR001", "ERR002", "RAT008", "RUN004", "SMP004"},
    "report-2": {"NET001", "RAT004", "ERR001", "ERR002", "ERR005", "CMP001", "SMP004", "SUM004"},
    "report-3": {"TIM002", "RAT001", "RAT002", "ERR001", "ERR003", "RUN002", "RUN005", "SMP004"},
    "report-4": {"TIM001", "TIM002", "RAT002", "RAT007", "SMP002", "SMP004"},
    "report-5": {"TIM002", "RAT005", "CMP002", "SMP001", "SMP002", "SMP004"},
}
#: Where exactly: the outputs in which a code is seen, by file. Those of a report that are not named have it not.
EXACTLY = {
    ("report-1", "TIM001"): {"put", "get"},
    ("report-1", "ERR001"): {"get"},
    ("report-1", "ERR002"): {"get"},
    ("report-2", "ERR001"): {"after-get-1", "after-get-2", "after-get-4"},
    ("report-2", "ERR002"): {"after-get-1", "after-get-2", "after-get-4"},
    ("report-2", "ERR005"): {f"{phase}-mixed-{n}" for phase in ("before", "after") for n in (1, 2, 4)},
    ("report-2", "CMP001"): {f"after-{kind}-{n}" for kind in ("put", "get", "mixed") for n in (1, 2, 4)},
    ("report-3", "RAT001"): {
        "one-selector-put-60000",
        "one-selector-get-15000-1conn",
        "one-selector-get-60000",
        "selectors-put-53000",
        "selectors-get-60000",
        "selectors-put-60000",
        "selectors-put-65000",
    },
    ("report-4", "TIM001"): {"put-10000-cold", "put-10000-warm", "put-30000", "get-20000"},
    ("report-1", "RAT008"): {"get"},
    ("report-4", "RAT002"): {"put-45000"},
    ("report-4", "RAT007"): {"get-25000"},
    ("report-5", "RAT005"): {"put-ladder"},
    ("report-5", "CMP002"): {"put-ladder"},
}
COUNTS = {("report-2", "NET001"): 18, ("report-2", "RAT004"): 18, ("report-3", "RUN002"): 13, ("report-3", "ERR003"): 7}


@cache
def remarks() -> tuple[Remark, ...]:
    return audit(find_in(ROOT)).remarks


def seen(report: str, code: str) -> list[Remark]:
    return [remark for remark in remarks() if remark.output.group == report and remark.code == code]


@pytest.mark.parametrize("report", EXPECTED)
def test_a_report_has_these_faults_and_no_others(report: str) -> None:
    assert {code for code in RULES if seen(report, code)} == EXPECTED[report]


@pytest.mark.parametrize(("report", "code"), EXACTLY)
def test_a_fault_is_flagged_where_it_is_and_nowhere_else(report: str, code: str) -> None:
    assert {remark.output.path.stem for remark in seen(report, code)} == EXACTLY[report, code]


@pytest.mark.parametrize(("report", "code"), COUNTS)
def test_a_fault_of_many_outputs_is_flagged_in_each(report: str, code: str) -> None:
    assert len(seen(report, code)) == COUNTS[report, code]


def test_saturation_is_called_so_exactly_where_the_rate_was_not_held() -> None:
    assert {remark.output.path.stem for remark in seen("report-3", "RAT002")} == EXACTLY["report-3", "RAT001"]


def test_connections_lost_to_division_are_counted() -> None:
    assert {remark.seen.evidence["opened"] for remark in seen("report-3", "RUN002")} == {60}
    assert "one-selector-get-15000-1conn" not in {remark.output.path.stem for remark in seen("report-3", "RUN002")}


def test_one_number_of_writes_explains_all_reads_of_a_store() -> None:
    explained = {remark.seen.evidence["outputs_explained"] for remark in seen("report-3", "ERR003")}
    assert explained == {3, 4}


def test_a_tail_of_fewer_than_ten_samples_is_counted() -> None:
    (remark,) = [each for each in seen("report-5", "SMP001") if each.output.path.stem == "get-ladder"][:1]
    assert remark.seen.evidence["beyond_p99.999"] == 1
    assert remark.seen.evidence["counted"] is False


def test_every_finding_carries_numbers_and_a_remedy() -> None:
    for remark in remarks():
        assert any(isinstance(value, (int, float)) for value in remark.seen.evidence.values()), remark
        assert remark.rule.remedy
        assert any(character.isdigit() for character in remark.seen.text) or remark.code in (
            "RUN005",
            "RAT004",
            "SMP004",
        )


def test_a_handful_of_errors_is_a_warning_and_a_share_an_error() -> None:
    assert {remark.severity for remark in seen("report-1", "ERR001")} == {Severity.WARNING}
    assert {remark.severity for remark in seen("report-2", "ERR001")} == {Severity.ERROR}
