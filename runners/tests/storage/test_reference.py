"""The committed reference results: what the README says is what they say, and their reports can be made again."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections import Counter
from pathlib import Path
from xml.dom import minidom

import pytest

from runners.audit.audit import audit
from runners.experiments.references import (
    BEGIN,
    END,
    keep_reference,
    readme_findings,
    with_part,
)
from runners.readers.outputs import find_in
from runners.readers.published import ROOT as PUBLISHED
from runners.report import render
from runners.storage.run_folder import REFERENCE, RunFolder, StoreError
from runners.tests.fixtures.golden import Numbers, differences, numbers, read_golden
from runners.tests.fixtures.references import KEPT, concluded
from runners.tests.tiers import in_short
from runners.toolchain.tools import ROOT

#: How the files of figures that have latency on an axis begin.
OF_LATENCY = ("spectrum", "timeline", "cost", "ladder", "causes", "outages", "delay-curves")
#: Experiment 00 is about floors, 09 about differences, 03 about knees.
NO_LATENCY = ("00", "03", "09")
README = ROOT / "README.md"


def test_the_readmes_findings_are_the_reference_runs_own_words() -> None:
    readme = README.read_text(encoding="utf-8")
    assert BEGIN in readme and with_part(readme, readme_findings()) == readme


def audit_table() -> str:
    """The table of audited.md: of every rule with findings, in how many runs of a published report they are."""
    audited = audit(find_in(PUBLISHED))
    runs = Counter(output.group for output in audited.outputs)
    faulty = {(remark.code, remark.output.group, id(remark.output)) for remark in audited.remarks}
    counts = Counter((code, group) for code, group, _ in faulty)
    rows = [
        ["rule", "what it found", *(f"{report.replace('-', ' ')} ({count})" for report, count in runs.items())],
        ["---", "---", *("---:" for _ in runs)],
    ]
    for rule, _, _ in audited.counts:
        cells = [str(counts[rule.code, report] or "") for report in runs]
        rows.append([f"[{rule.code}](rules/{rule.code}.md)", f"{rule.reason} ({rule.severity.value})", *cells])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"**{audited.summary}** In how many runs of a report each fault stands:\n\n{table}"


def test_the_audit_of_the_published_reports_is_the_audits_own_words() -> None:
    page = (ROOT / "runners" / "docs" / "audited.md").read_text(encoding="utf-8")
    assert BEGIN in page and with_part(page, audit_table()) == page


def test_the_readme_fits_two_screens_and_has_one_line_and_one_figure_a_published_report() -> None:
    readme = README.read_text(encoding="utf-8")
    lines = readme.splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 200
    part = list(filter(None, readme.partition(BEGIN)[2].partition(END)[0].splitlines()))
    assert len(part) == 10
    for number, (finding, figure) in enumerate(zip(part[::2], part[1::2], strict=True), 1):
        assert finding.startswith(f"[Report {number}](data/reference/0{number}/report.md): ")
        _, sentence, measure = re.split(r"(?<=\)): |(?<=\.) (?=[A-Z])", finding)
        assert not re.match("They|It|This|That", sentence) and re.search(r"\d", measure), finding
        assert figure.startswith("![") and (ROOT / figure.rpartition("](")[2].rstrip(")")).is_file()


def test_the_reference_results_are_under_300_files_of_at_most_20_mb_together() -> None:
    paths = (path for path in REFERENCE.rglob("*") if path.is_file() and path.name != "report.html")
    sizes = [path.stat().st_size for path in paths]
    assert 9 <= len(sizes) < 300 and sum(sizes) <= 20_000_000


@pytest.mark.parametrize("number", KEPT)
def test_no_sentence_that_introduces_a_section_of_a_kept_report_stands_twice(number: str) -> None:
    report = (REFERENCE / number / "report.md").read_text(encoding="utf-8")
    texts = re.findall(r"(?m)^## .+\n\n?((?!The original report|Report \d)[A-Z].+)$", report)
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=\.) ", text.strip())]
    assert texts and len(sentences) == len(set(sentences))


@pytest.mark.parametrize("number", KEPT)
def test_every_kept_figure_is_a_picture(number: str) -> None:
    for path in (REFERENCE / number / "figures").glob("*.svg"):
        assert minidom.parse(str(path)).getElementsByTagName("svg"), path


@pytest.mark.parametrize("number", KEPT)
def test_every_kept_figure_of_latency_shows_the_floor(number: str) -> None:
    drawn = [path for name in OF_LATENCY for path in (REFERENCE / number / "figures").glob(f"{name}*.svg")]
    assert bool(drawn) == (number not in NO_LATENCY)
    for path in drawn:
        assert "instrument floor" in path.read_text(encoding="utf-8"), path


#: One of each kind by default: the instrument, a fixed rate, ladders with failures, a comparison.
ANALYSED = in_short(KEPT, ("00", "01", "05", "09"))


@pytest.mark.parametrize("number", ANALYSED)
def test_a_reference_analysed_again_gives_the_same_numbers(number: str) -> None:
    assert differences(read_golden()[number], numbers(concluded(number))) == []


def test_every_reference_has_golden_numbers() -> None:
    assert sorted(read_golden()) == KEPT


def test_a_number_that_changes_is_found() -> None:
    golden: Numbers = {
        "answer put": {"knee_rps": 9_000.0, "severity": "note"},
        "step put": {"p99_us": [5.0, 4.0, None]},
    }
    changed: Numbers = {"answer put": {"knee_rps": 9_001.0}, "step put": {"p99_us": [5.0, 4.0, 6.0], "valid": True}}
    assert differences(golden, golden) == []
    assert differences(golden, changed) == [
        "answer put, knee_rps: 9000.0 is now 9001.0",
        "answer put, severity: note is missing",
        "step put, p99_us, high: None is now 6.0",
        "step put, valid: True is new",
    ]


#: Drawing a report with dozens of ladders takes half a minute.
SOON_MADE = in_short(KEPT, ("00",))


@pytest.mark.parametrize("number", SOON_MADE)
def test_a_reference_report_can_be_made_again_from_what_is_committed(number: str, tmp_path: Path) -> None:
    conclusion = concluded(number)
    copy = RunFolder(tmp_path / number)
    shutil.copytree(conclusion.results.run.folder.path, copy.path)
    before = copy.report_md.read_text(encoding="utf-8")
    results = dataclasses.replace(conclusion.results, run=dataclasses.replace(conclusion.results.run, folder=copy))
    render(dataclasses.replace(conclusion, results=results))
    assert copy.report_html.exists() and copy.report_md.read_text(encoding="utf-8") == before


def test_no_path_of_a_machine_is_in_a_reference_result() -> None:
    assert KEPT
    home = str(Path.home())
    for path in REFERENCE.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert str(ROOT).encode() not in content and home.encode() not in content, path


def test_of_an_archive_that_is_kept_again_only_the_report_is_made_anew(tmp_path: Path) -> None:
    shutil.copytree(REFERENCE / "09", tmp_path / "09")
    (tmp_path / "09" / "report.md").unlink()
    kept = keep_reference(RunFolder.open(tmp_path / "09"), root=tmp_path)
    assert kept.report_md.is_file() and not (tmp_path / ".new").exists()
    for path in (REFERENCE / "09").rglob("*"):
        if path.name in ("steps.archive", "manifest.json"):
            assert (kept.path / path.relative_to(REFERENCE / "09")).read_bytes() == path.read_bytes(), path.name


def test_only_a_complete_run_is_kept(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "01", "smoke", {"title": "t"})
    with pytest.raises(StoreError, match="the run is running"):
        keep_reference(run, root=tmp_path / "reference")


def test_only_what_stands_between_the_markers_is_replaced() -> None:
    assert with_part(f"head\n{BEGIN}\nold\n{END}\ntail", "new") == f"head\n{BEGIN}\nnew\n{END}\ntail"
    assert with_part("no marker", "new") == "no marker"


@pytest.mark.parametrize("text", [f"head\n{BEGIN}\nold\ntail", f"{END}\n{BEGIN}\nold\ntail"])
def test_a_part_without_its_end_is_refused_for_what_follows_would_be_lost(text: str) -> None:
    with pytest.raises(StoreError) as refusal:
        with_part(text, "new")
    assert refusal.value.thing == BEGIN and END in refusal.value.cause and "run again" in refusal.value.remedy
