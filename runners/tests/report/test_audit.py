"""The audit's faces: text, JSON, annotations, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from runners.audit.audit import RULES, page
from runners.cli import lab
from runners.readers.published import ROOT
from runners.readers.tools import TOOLS as TOOLS_READ
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.outputs import CLOSED, HEALTHY
from runners.toolchain.tools import ROOT as ROOT_OF_CODE

FAULTY = HEALTHY.replace("-R2000", "-R3000")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(lab, ["audit", *map(str, words)])


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.md"
    path.write_text(f"# Bericht\n\n```\n{FAULTY}```\n", encoding="utf-8")
    return path


def test_a_line_names_file_line_code_evidence_and_remedy(report: Path) -> None:
    result = run(report, "--select", "RAT")
    first = result.stdout.splitlines()[0]
    assert result.exit_code == 1
    assert re.match(rf"{re.escape(str(report))}:5: load error: 2 000/s of 3 000/s .* - count .* \[RAT006\]$", first)
    assert result.stdout.splitlines()[-1].startswith("1 run in 1 file: 1 error")


def themes(text: str, path: Path) -> list[str]:
    path.write_text(text, encoding="utf-8")
    lines = [line for line in run(path).stdout.splitlines() if line.startswith(f"{path}:")]
    lines = [line for line in lines if ": highest rate achieved: " not in line and ": not in its outputs: " not in line]
    return [line.removeprefix(f"{path}:").split(": ")[1].split(" ")[0] for line in lines]


def test_a_document_has_one_line_a_rule_the_errors_first(tmp_path: Path) -> None:
    errors = FAULTY.replace("Requests/sec", "  Non-2xx or 3xx responses: 700\nRequests/sec")
    said = "# Report\n\nThe server was loaded.\n\nThe latency is now better than before.\n\n"
    timer = "\n 50.000%  650us\n 75.000%  960us\n 90.000%  1.14ms\n"
    listed = themes(f"{said}{errors}\n{errors.replace('-R3000', '-R4000')}{timer}", tmp_path / "report.md")
    assert listed == ["instrument", "load", "errors", "figures", "samples"]
    assert themes(HEALTHY, tmp_path / "fine.md") == []


def test_one_run_that_is_given_twice_is_examined_once(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text(FAULTY, encoding="utf-8")
    report = tmp_path / "report.md"
    report.write_text(f"# Report\n\nThe server was loaded.\n\nIt did quite well.\n\n{FAULTY}", encoding="utf-8")
    document = json.loads(run(tmp_path, "--format", "json").stdout)
    assert document["copies"] == [{"place": f"{report}:8", "of": f"{tmp_path / 'raw.txt'}:2"}]
    assert {Path(finding["file"]).name for finding in document["findings"]} == {"raw.txt"}


def test_json_names_the_highest_rate_and_what_was_taken_above_it(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"{HEALTHY}\n{FAULTY}", encoding="utf-8")
    (document,) = json.loads(run(path, "--format", "json").stdout)["documents"]
    assert document["highest_achieved_rps"] == {"put": 2_000}
    assert [place.rpartition(":")[2] for place in document["latency_above_it"]] == ["34"]


def test_github_is_given_an_annotation_a_line_with_its_text_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a,b.md"
    path.write_text(FAULTY, encoding="utf-8")
    first = run(path, "--format", "github").stdout.splitlines()[0]
    assert first.startswith(f"::error file={tmp_path}/a%2Cb.md,line=2,title=load%3A RAT006 never-offered::")
    assert "%25" in run(path, "--format", "github").stdout or "%" not in first.rpartition("::")[2]


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
    assert (result.exit_code, result.stdout) == (4, "No output of a load generator was read in 1 file.\n")


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
    put = next(load for load in document["runs"] if load["file"].endswith("report-1/put.txt"))
    assert put["latency_us"]["p99.9"] == 44_480
    assert (put["offered_rps"], put["samples"], put["samples_counted"]) == (25_000, 4_249_896, True)
    for finding in document["findings"]:
        assert finding["code"] in RULES
        assert finding["remedy"]


def test_a_run_folder_is_audited_by_its_loads_with_their_commands(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    document = json.loads(run(folder.path, "--format", "json").stdout)
    names = {Path(load["file"]).parent.name for load in document["runs"]}
    steps = {step.name for step in folder.steps() if step.read_meta()["role"] in ("load", "floor")}
    assert names == {name for name in steps if (folder.steps_path / name / "console.txt").exists()}
    assert all(load["offered_rps"] for load in document["runs"])


def test_the_line_quotes_the_worst_and_names_every_place(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    few, many = (
        CLOSED.replace("Requests/sec", f"  Non-2xx or 3xx responses: {errors}\nRequests/sec") for errors in (25, 4_680)
    )
    path.write_text(f"{few}\n{many}\n{few}", encoding="utf-8")
    (line,) = [line for line in run(path).stdout.splitlines() if ": errors error: " in line]
    assert line.startswith(f"{path}:18: errors error: 4 680 of 12 000 responses (39.0 %)")
    assert line.endswith("[ERR001 at 2, 18, 34]")


def test_a_rate_of_which_every_twentieth_response_failed_is_no_highest_rate(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    failing = HEALTHY.replace("-R2000", "-R1990").replace(
        "Requests/sec", "  Non-2xx or 3xx responses: 6000\nRequests/sec"
    )
    path.write_text(failing, encoding="utf-8")
    (document,) = json.loads(run(path, "--format", "json").stdout)["documents"]
    assert document["highest_achieved_rps"] == {}


def test_a_remedy_names_the_readers_tool(tmp_path: Path) -> None:
    path = tmp_path / "k6.txt"
    path.write_text("http_req_duration...: avg=5ms med=4ms max=9ms\nhttp_reqs...: 9500 942.2/s\n", encoding="utf-8")
    (line,) = [line for line in run(path).stdout.splitlines() if "RUN005]" in line]
    assert "--summary-trend-stats" in line
    assert "wrk" not in line


def test_the_tools_that_are_read_are_listed() -> None:
    listed = run("--tools").stdout
    assert all(tool in listed for tool in TOOLS_READ)
    assert all(line.split(maxsplit=1)[1:] for line in listed.splitlines())


def test_the_help_names_the_tools_that_are_read() -> None:
    helped = re.sub(r"\s+", " ", lab.commands["audit"].help or "")
    named = re.search(r"the files that they write: ([^.]+)\.", helped)
    assert named
    assert sorted(named[1].split(", ")) == sorted(TOOLS_READ)


def test_the_page_has_an_example_for_each_tool_that_is_read() -> None:
    text = (ROOT_OF_CODE / "runners" / "docs" / "tools-read.md").read_text(encoding="utf-8")
    table = text[text.index("| tool |") :].partition("\n\n")[0].replace("\\|", "¦")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert {name: example.replace("¦", "|") for name, _, example in rows} == {
        name: f"`{tool.reads}`" for name, tool in TOOLS_READ.items()
    }
    assert all(what for _, what, _ in rows)
