"""The audit's faces: text, JSON, HTML, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from runners.cli import lab
from runners.explain.audit.registry import RULES, page
from runners.read.published import ROOT
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.outputs import CLOSED, HEALTHY
from runners.tests.show.outside import Page

FAULTY = HEALTHY.replace("-R2000", "-R3000")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(lab, ["audit", *map(str, words)])


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.md"
    path.write_text(f"# Bericht\n\n```\n{FAULTY}```\n", encoding="utf-8")
    return path


def test_a_line_names_file_line_code_evidence_and_remedy(report: Path) -> None:
    result = run(report, "--select", "RAT001")
    first = result.stdout.splitlines()[0]
    assert result.exit_code == 1
    assert re.match(rf"{re.escape(str(report))}:5: RAT001 error: .*\(offered_rps=3000, .*\) - offer less", first)
    assert result.stdout.splitlines()[-1].startswith("1 run in 1 file: 1 error")


def test_exit_codes_are_those_of_a_linter(report: Path, tmp_path: Path) -> None:
    fine = tmp_path / "fine.md"
    fine.write_text(HEALTHY, encoding="utf-8")
    assert run(report).exit_code == 1
    assert run(fine).exit_code == 0
    assert run(report, "--ignore", "RAT").exit_code == 0
    assert run().exit_code == 2
    assert run(tmp_path / "none.md").exit_code == 2
    assert run(report, "--select", "XYZ").exit_code == 2
    assert run(report, "--format", "pdf").exit_code == 2


def test_a_file_that_can_not_be_written_is_wrong_usage(report: Path, tmp_path: Path) -> None:
    result = run(report, "--output", tmp_path / "none" / "audit.txt")
    assert (result.exit_code, "name a file that can be written" in result.stderr) == (2, True)


def test_a_folder_without_outputs_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("nothing", encoding="utf-8")
    result = run(tmp_path)
    assert (result.exit_code, result.stdout) == (0, "No output of wrk, wrk2 or loadgen in 1 file.\n")


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\0")
    (tmp_path / "b.md").write_bytes(b"\n\n\xff" + CLOSED.encode())
    lines = run(tmp_path).stdout
    assert f"{tmp_path / 'a.md'}: unread: binary; skipped" in lines
    assert f"{tmp_path / 'b.md'}:3: unread: holds bytes that are not UTF-8" in lines


@pytest.mark.parametrize("code", RULES)
def test_a_rule_explains_itself(code: str) -> None:
    assert run("--explain", code.lower()).stdout.strip() == page(code).strip()


def test_json_holds_every_run_and_every_finding() -> None:
    document = json.loads(run(ROOT, "--format", "json").stdout)
    assert document["schema"] == "audit/1"
    assert document["summary"]["runs"] == len(document["runs"]) == 69
    assert document["summary"]["failed"] is True
    assert sum(rule["findings"] for rule in document["summary"]["rules"]) == len(document["findings"])
    put = next(each for each in document["runs"] if each["file"].endswith("report-1/put.txt"))
    assert put["latency_us"]["p99.9"] == 44_480
    assert (put["offered_rps"], put["samples"], put["samples_counted"]) == (25_000, 4_249_896, True)
    for finding in document["findings"]:
        assert finding["code"] in RULES
        assert finding["remedy"]


def test_the_page_is_one_offline_file_with_every_finding(tmp_path: Path) -> None:
    target = tmp_path / "audit.html"
    result = run(ROOT, "--format", "html", "--output", target)
    html = target.read_text(encoding="utf-8")
    assert (result.exit_code, str(target) in result.stdout) == (1, True)
    assert Page(html).outside() == []
    assert len(re.findall(r'<li class="(?:error|warning|note)">', html)) == len(
        json.loads(run(ROOT, "--format", "json").stdout)["findings"]
    )
    for target_id in re.findall(r'href="#([^"]+)"', html):
        assert f'id="{target_id}"' in html


def test_a_run_folder_is_audited_by_its_loads_with_their_commands(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    document = json.loads(run(folder.path, "--format", "json").stdout)
    names = {Path(each["file"]).parent.name for each in document["runs"]}
    steps = {step.name for step in folder.steps() if step.read_meta()["kind"] in ("load", "floor")}
    assert names == {name for name in steps if (folder.steps_path / name / "console.txt").exists()}
    assert all(each["offered_rps"] for each in document["runs"])
