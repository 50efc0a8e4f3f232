"""A report answers with the evidence of each answer, is one file that works offline, and says what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from runners.experiments.e01_single_connection import questions
from runners.readers.reading import read_run
from runners.report.document import Document
from runners.report.document import _version as version
from runners.report.report import LIMIT_BYTES, MARGIN_BYTES, drawings, to_html, to_markdown
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import make_run
from runners.tests.report.conftest import composed, rendered
from runners.tests.report.outside import Page

AFTER_QUESTIONS = [
    "## Can these numbers be trusted?",
    "## Latency",
    "## Where the time goes",
    "## Published and reproduced",
    "## If this were your report",
    "## Conditions",
    "# Appendix",
    "## Files and commands",
]
HOSTILE = "</pre></details><script src=http://h.invalid/x.js>alert(1)</script><img src=x onerror=alert(1)>"


def html_of(folder: RunFolder) -> str:
    return folder.report_html.read_text(encoding="utf-8")


def markdown_of(folder: RunFolder) -> str:
    return folder.report_md.read_text(encoding="utf-8")


#: The questions of experiment 01 of whose subject the invented run holds something.
MEASURED = [asked.question for asked in questions() if asked.question.key not in {"copies", "disk", "cache"}]


def outside_fences(text: str) -> str:
    return re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text)


def headings(text: str) -> list[str]:
    return [re.sub(r"<a id=[^>]*></a>", "", line) for line in re.findall(r"(?m)^#+ .*$", outside_fences(text))]


def test_markdown_has_a_section_a_question_and_then_what_all_share(report: RunFolder) -> None:
    asked = [f"## {number}. {question.text}" for number, question in enumerate(MEASURED, 1)]
    asked.append("## Not measured in this run")
    all_headings = headings(markdown_of(report))
    assert all_headings[1 : 1 + len(asked)] == asked and all_headings[0].startswith("# One connection")
    assert [heading for heading in all_headings[1 + len(asked) :] if heading in AFTER_QUESTIONS] == AFTER_QUESTIONS


def test_html_has_the_same_order(report: RunFolder) -> None:
    text = re.findall(r"<h2[^>]*>(.*?)</h2>", html_of(report))
    asked = [f"{number}. {question.text}" for number, question in enumerate(MEASURED, 1)]
    asked.append("Not measured in this run")
    assert [unescape(heading) for heading in text[: len(asked)]] == asked
    assert text[len(asked) :] == [heading.lstrip("# ") for heading in AFTER_QUESTIONS[:-1]]


def test_every_answer_begins_with_its_verdict(report: RunFolder) -> None:
    verdicts = re.findall(r"(?m)^\*\*(Yes|No|Inconclusive)\.", markdown_of(report))
    assert len(verdicts) == len(MEASURED)


def test_every_link_into_the_page_has_its_place(report: RunFolder) -> None:
    page = Page(html_of(report))
    wanted = {value[1:] for _, name, value in page.references if name == "href" and value.startswith("#")}
    assert wanted and wanted <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    text = markdown_of(report)
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(re.findall(r'<a id="([^"]+)">', text))


def test_every_file_that_markdown_names_is_there(report: RunFolder) -> None:
    targets = set(re.findall(r"\]\(((?:figures|steps)/[^)]+)\)", markdown_of(report)))
    assert any("flame-" in target for target in targets)
    assert [target for target in targets if not (report.path / target).is_file()] == []


def test_the_page_is_small_and_asks_nothing_of_the_network(report: RunFolder) -> None:
    html = html_of(report)
    assert len(html.encode()) < LIMIT_BYTES
    page = Page(html)
    assert page.outside() == []
    assert page.handlers == []
    assert "default-src 'none'" in html
    assert page.frames and set(page.sandboxes) == {"allow-scripts"}
    assert all(frame.outside() == [] for frame in page.frames)


def test_figures_say_in_words_what_they_show(report: RunFolder) -> None:
    html = html_of(report)
    labels = re.findall(r'<div class="card" role="img" aria-label="([^"]+)"', html)
    assert len(labels) == html.count("<figure ") and all(len(label) > 20 for label in labels)
    assert html.count('<div class="wide"><svg ') == html.count('<div class="narrow"><svg ') > len(labels) / 2
    assert re.findall(r"!\[\]", markdown_of(report)) == []


def test_exact_commands_are_there_and_raw_output_is_linked(report: RunFolder) -> None:
    step = next(step for step in read_run(report).steps if step.name == "put-rocksdb")
    for text in (html_of(report), markdown_of(report)):
        assert "lab run 01 --size quick" in text and "lab report RUN_FOLDER" in text
        assert " ".join(step.record.generator.command) in text
        assert "Detailed Percentile spectrum" not in text and "steps/" in text


def test_the_same_run_gives_the_same_bytes_and_figures_of_an_earlier_report_go(tmp_path: Path) -> None:
    folder = make_run(tmp_path, engines=("rocksdb",), duration_s=2, stop_after="put-rocksdb-profiled")
    rendered(folder, pictures=True, narrow=True)

    def files() -> dict[str, bytes]:
        paths = [folder.report_html, folder.report_md, *folder.figures_path.iterdir()]
        return {path.name: path.read_bytes() for path in paths}

    before = files()
    (folder.figures_path / "spectrum-other.png").write_bytes(b"stale")
    rendered(folder, pictures=True, narrow=True)
    after = files()
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []
    assert list(folder.path.glob("*.new")) == []


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The report of a run that measured PUT on one engine."""
    root = tmp_path_factory.mktemp("page")
    return composed(make_run(root, engines=("rocksdb",), duration_s=2, stop_after="put-rocksdb-profiled"))


def test_a_page_that_would_be_too_large_is_slimmed_and_says_so(page: Document) -> None:
    drawn = drawings(page.figures)
    whole = to_html(page, drawn)
    assert "To stay small" not in whole
    small = to_html(page, drawn, len(whole) * 2 // 3 + MARGIN_BYTES)
    assert "To stay small" in small and len(small.encode()) < len(whole.encode())
    assert Page(small).outside() == []


def test_a_report_does_not_speak_of_commands_that_it_lacks(page: Document) -> None:
    assert "The first command of each treatment:" in to_markdown(page)
    assert "The first command" not in to_markdown(replace(page, commands=()))


def test_a_tool_is_named_once_and_by_its_version_alone() -> None:
    printed = "wrk debian/4.1.0 [epoll] Copyright (C) 2012 Will Glozer"
    assert version("wrk", printed) == "wrk debian/4.1.0" and version("wrk2", "wrk 4.0.0 [epoll]") == "wrk2 4.0.0"
    assert version("java", "25.0.3 (Eclipse Adoptium)") == "java 25.0.3 (Eclipse Adoptium)"
    assert version("truepace", "0.1.0") == "truepace 0.1.0"


def test_an_interrupted_run_says_so_first(made: Callable[..., RunFolder]) -> None:
    folder = made(status="interrupted", stop_after="put-rocksdb")
    for text in (html_of(folder), markdown_of(folder)):
        assert "not complete (status: interrupted)" in text
        assert text.index("not complete") < text.rindex("Can these numbers be trusted?")


def test_a_run_without_any_load_still_has_a_report(made: Callable[..., RunFolder]) -> None:
    folder = made(status="failed", stop_after="probe-put-rocksdb")
    assert "This run is not complete" in markdown_of(folder)
    assert Page(html_of(folder)).outside() == []


def test_instead_of_figures_of_an_invalid_step_stands_the_reason(made: Callable[..., RunFolder]) -> None:
    folder = made(died=("get-rocksdb",), saturated=("put-rocksdb",))
    html = html_of(folder)
    numbers = r"touches questions? \d+(?:(?:, | and )\d+)*"
    touched = re.findall(r"(?m)^- ✗ .* (?:It|No answer) (.*)\.$", markdown_of(folder))
    assert touched and all(re.fullmatch(f"uses what it excludes|{numbers}", text) for text in touched)
    assert re.search(r"RocksDB GET at [^:]+/s: Server died\.", html)
    assert re.search(r"RocksDB PUT at [^:]+/s: Saturated \([^)]+ of [^)]+\)\.", html)
    assert 'id="spectrum-put"' not in html


def test_a_run_with_wrk2_has_its_curve(tmp_path: Path) -> None:
    page = composed(make_run(tmp_path, engines=("rocksdb",), duration_s=2, wrk2=True, stop_after="put-rocksdb"))
    assert "spectrum-put" in {figure.anchor for figure in page.figures}


@pytest.mark.long  # test_hostile_text.py plants such text into a smaller run
def test_output_of_tools_is_text(tmp_path: Path) -> None:
    folder = make_run(tmp_path, engines=("rocksdb",), duration_s=2)
    manifest = folder.manifest()
    manifest["machine"]["cpu_model"] = manifest["title"] = HOSTILE
    manifest["rerun"] = manifest["warnings"][0]["text"] = HOSTILE
    folder.write_manifest(manifest)
    for step in folder.steps():
        step.console.write_text(HOSTILE + "\n````\n" + step.console.read_text(encoding="utf-8"), encoding="utf-8")
        meta = step.read_meta()
        meta["label"] = meta["rate_basis"] = HOSTILE
        meta["generator"]["command"] = ["truepace", HOSTILE, "$(reboot)"]
        meta["server"]["ready"]["transport"] = HOSTILE
        if step.name == "get-rocksdb":
            meta |= {"valid": False, "invalid_reasons": [HOSTILE], "server_log_tail": [HOSTILE]}
        step.meta.write_text(json.dumps(meta), encoding="utf-8")
        for event in meta.get("profiled", ()):
            lines = step.collapsed(event).read_text(encoding="utf-8")
            step.collapsed(event).write_text(lines + f"a;{HOSTILE.replace(' ', '_')} 900000000\n", encoding="utf-8")
    rendered(folder)
    page = Page(html_of(folder))
    assert page.outside() == []
    assert page.handlers == []
    assert page.tags.count("script") == 1
    assert page.tags.count("img") == 0
    assert HOSTILE in "".join(page.text)
    shown = Page(MarkdownIt("commonmark").enable("table").render(markdown_of(folder)))
    assert shown.handlers == []
    assert shown.outside() == []
    assert shown.tags.count("script") == 0
    assert "'$(reboot)'" in markdown_of(folder)
