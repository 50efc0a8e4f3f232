"""What a target is called, prints or holds is text in each form of a report: no markup, no control sequence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from markdown_it import MarkdownIt

from runners.design.description import Ready, Target, TargetWorkload
from runners.errors import UNPRINTABLE, LabError, ReadError
from runners.execution.progress import Progress, Sink
from runners.experiments.e01_single_connection import questions
from runners.readers.published import published_of
from runners.readers.reading import read_run
from runners.report.concluded import Concluded
from runners.results.conclusion import Conclusion, conclude
from runners.storage.run_folder import RunFolder
from runners.storage.schema import StepRecord, read_record, to_document, write_record
from runners.tests.fixtures.fake_run import make_run
from runners.tests.report.conftest import rendered
from runners.tests.report.outside import Page
from runners.tests.tiers import in_short

MARK = "planted"
HOSTILE = {
    "html": (
        f'" onmouseover=alert(1) \' onfocus=alert(1) x="--></pre></details></svg></style></script>'
        f"<script src=http://h.invalid/x.js></script><img src=x onerror=alert(1)><marquee onclick='x'>{MARK}"
    ),
    "markdown": f"a | {MARK} |\n\n# head\n| c | d |\n|---|---|\n````\n![x](http://h.invalid/x.png)[x](javascript:alert(1))",
    "control": f"{MARK}\x00\x08\x0c\r\x7f\x85\u009b31m\u202eback\u2028next",
    "ansi": f"\x1b[2J\x1b[31m{MARK}\x1b]8;;http://h.invalid\x07link\x1b]0;title\x07",
}
#: What a record's text is read by, and so can't be any text: names of rows, columns and files.
KEYS = ("schema", "name", "block", "role", "specification", "workload", "engine", "treatment", "tool")
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Reports(NamedTuple):
    """What a run concludes in which each free text is hostile, its reports, and those of one without such text."""

    conclusion: Conclusion
    html: str
    markdown: str
    innocent_html: str
    innocent_markdown: str


def _all(value: object, text: str, key: str = "") -> object:
    """Every text of a document that is shown as it is, in place of what it was."""
    if isinstance(value, dict):
        return {name: _all(item, text, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_all(item, text, key) for item in value]
    return text if isinstance(value, str) and key not in KEYS else value


def _planted(folder: RunFolder, text: str) -> None:
    """Put a text into each field of a run: the target's description, records, console, logs, frames, threads."""
    target = Target(
        name="rocksdb", url="http://127.0.0.1:1", command=(text,), build=(text,), environment={text: text},
        headers={text: text}, ready=Ready(line=text), workloads={text: TargetWorkload(path=f"/{text}")},
        categories={"storage": (text,)},
    )  # fmt: skip
    described = {**msgspec.to_builtins(target), "name": text, "file": text}
    manifest = folder.manifest()
    for part in ("machine", "tools", "warnings", "git"):
        manifest[part] = _all(manifest.get(part), text)
    folder.write_manifest({**manifest, "targets": [described], "title": text, "rerun": text})
    for step in folder.steps():
        record = json.loads(json.dumps(to_document(read_record(step))))
        record = {**_all(record, text), "profiled": record.get("profiled", [])}  # type: ignore[dict-item]
        record |= {"profiler_note": text, "server_log_tail": [text], "invalid_reasons": []}
        record["server"] = {"command": [text], "left_out": [text], "jvm_flags": [text], "ready": {"transport": text}}
        record["valid"] = step.name != "put-rocksdb"
        if not record["valid"]:
            record["invalid_reasons"] = [text]
        write_record(step, msgspec.convert(record, StepRecord))
        step.console.write_text(f"{text}\n{step.console.read_text(encoding='utf-8')}", encoding="utf-8")
        step.server_log.write_text(text, encoding="utf-8")
        for event in record["profiled"]:
            frame = re.sub(r"[\s;]", "_", text)
            with step.collapsed(event).open("a", encoding="utf-8") as out:
                out.write(f"a;{frame} 900000000\n")


@pytest.fixture(scope="module", params=in_short(HOSTILE, HOSTILE.keys() - {"ansi"}))
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, report: RunFolder) -> Reports:
    root = tmp_path_factory.mktemp("hostile")
    folder = make_run(root, engines=("rocksdb",), duration_s=2, stop_after="put-rocksdb-profiled")
    _planted(folder, HOSTILE[request.param])
    rendered(folder)
    files = (folder.report_html, folder.report_md, report.report_html, report.report_md)
    texts = [path.read_text(encoding="utf-8") for path in files]
    return Reports(conclude(read_run(folder), published_of("report-1"), questions()), *texts)


def test_the_page_has_no_element_attribute_or_address_of_a_target(reports: Reports) -> None:
    page, innocent = Page(reports.html), Page(reports.innocent_html)
    assert MARK in "".join(page.text) and any(MARK in "".join(frame.text) for frame in page.frames)
    for document in (page, *page.frames):
        assert document.outside() == [] and document.handlers == [] and not {"img", "marquee"} & set(document.tags)
    assert page.tags.count("script") == innocent.tags.count("script")
    assert {frame.tags.count("script") for frame in page.frames} == {2}
    assert not any(MARK in identifier for identifier in page.ids)


def test_markdown_has_no_markup_of_a_target(reports: Reports) -> None:
    assert MARK in reports.markdown
    page, innocent = (Page(MARKDOWN.render(text)) for text in (reports.markdown, reports.innocent_markdown))
    assert page.handlers == [] and page.outside() == [] and not {"script", "marquee"} & set(page.tags)
    images = [[value for tag, _, value in parsed.references if tag == "img"] for parsed in (page, innocent)]
    assert set(images[0]) <= set(images[1])
    assert page.tags.count("h1") == 2  # the title and the appendix


def test_a_table_of_markdown_has_in_each_row_its_columns(reports: Reports) -> None:
    tables = re.findall(r"(?m)(?:^\|.*\n)+", reports.markdown)
    assert tables
    for table in tables:
        columns = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(columns) == 1, table


def test_no_report_has_a_control_character(reports: Reports) -> None:
    pages = [reports.html, *("".join(frame.text) for frame in Page(reports.html).frames)]
    for text in (*pages, reports.markdown):
        assert UNPRINTABLE.findall(text) == []
    shown = Concluded(reports.conclusion, Path("report.html"))
    assert UNPRINTABLE.findall(repr(shown)) == [] == UNPRINTABLE.findall(shown._repr_markdown_())


class Shown(Sink):
    """A sink that keeps what it is to show."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def show(self, event: object) -> None:
        self.lines.append(event.whole_text)  # type: ignore[attr-defined]

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_terminal_obeys_nothing_of_a_target(kind: str) -> None:
    text, sink = HOSTILE[kind], Shown()
    progress = Progress(1.0, sink)
    progress.say(text)
    with progress.part(text, 1.0):
        pass
    errors = [LabError(text, f"its last lines:\n{text}", text), ReadError(Path("x"), text, text)]
    lines = [*sink.lines, *map(str, errors)]
    assert len(lines) == 4 and all(MARK in line and not UNPRINTABLE.search(line) for line in lines)
    assert ("\\x1b[31m" in lines[0]) == (kind == "ansi"), "a control sequence is spelled out, not lost"
