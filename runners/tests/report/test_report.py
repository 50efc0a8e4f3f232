"""A report answers before it shows, is one file that works offline, and says what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from runners.claims.conclude import conclude
from runners.readers.published import published_of
from runners.readers.reading import read_run
from runners.report import pages, style
from runners.report.report import MARGIN_BYTES, figures, to_html
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import make_run
from runners.tests.report.conftest import rendered
from runners.tests.report.outside import Page

HEADINGS = [
    "# One connection, RocksDB",
    "## Can these numbers be trusted?",
    "## Latency",
    "### PUT",
    "### GET",
    "## Where the time goes",
    "### In short",
    "### CPU time",
    "### Allocations",
    "### What the profiler cost",
    "### From RocksDB PUT to LSM PUT",
    "### From RocksDB GET to LSM GET",
    "### PUT: when the CPU samples were taken",
    "### GET: when the CPU samples were taken",
    "## Why the tail",
    "### RocksDB PUT: what made its tail",
    "### LSM PUT: what made its tail",
    "### RocksDB GET: what made its tail",
    "### LSM GET: what made its tail",
    "### PUT: every answer by time",
    "### GET: every answer by time",
    "## Published and reproduced",
    "### PUT",
    "### GET",
    "### What the authors missed",
    "## What to try next",
    "## Appendix: what was run, and where",
    "### Commands and raw output",
]
HOSTILE = "</pre></details><script src=http://h.invalid/x.js>alert(1)</script><img src=x onerror=alert(1)>"


def html_of(folder: RunFolder) -> str:
    return folder.report_html.read_text(encoding="utf-8")


def markdown_of(folder: RunFolder) -> str:
    return folder.report_md.read_text(encoding="utf-8")


def outside_fences(text: str) -> str:
    return re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text)


def test_markdown_has_the_order_of_a_report(report: RunFolder) -> None:
    assert re.findall(r"(?m)^#+ .*$", outside_fences(markdown_of(report))) == HEADINGS


def test_html_has_the_same_order(report: RunFolder) -> None:
    text = re.findall(r"<h([123])[^>]*>(.*?)</h\1>", html_of(report))
    assert [f"{'#' * int(level)} {name}" for level, name in text] == [
        *HEADINGS[:2],
        "### What is unusual about this machine",
        *HEADINGS[2:],
    ]


def test_the_answer_stands_before_everything_else(report: RunFolder) -> None:
    main = html_of(report).split("<main>")[1]
    assert main.index('class="answer"') < main.index('class="findings"') < main.index("Can these numbers")
    text = markdown_of(report)
    assert text.splitlines()[2].startswith("**RocksDB: PUT holds")


def test_every_link_into_the_page_has_its_place(report: RunFolder) -> None:
    page = Page(html_of(report))
    wanted = {value[1:] for _, name, value in page.references if name == "href" and value.startswith("#")}
    assert wanted and wanted <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    text = markdown_of(report)
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(re.findall(r'<a id="([^"]+)">', text))


def test_every_file_that_markdown_names_is_there(report: RunFolder) -> None:
    targets = set(re.findall(r"\]\(((?:figures|steps)/[^)]+)\)", markdown_of(report)))
    assert any(target.endswith(".png") for target in targets)
    assert [target for target in targets if not (report.path / target).is_file()] == []


def test_the_page_is_small_and_asks_nothing_of_the_network(report: RunFolder) -> None:
    html = html_of(report)
    assert len(html.encode()) < 3_000_000
    page = Page(html)
    assert page.outside() == []
    assert page.handlers == []
    assert "default-src 'none'" in html
    assert len(page.frames) == 8 + 4  # flame graphs, and both directions of what differs between the engines
    assert set(page.sandboxes) == {"allow-scripts"}
    assert all(frame.outside() == [] for frame in page.frames)


def test_data_of_a_figure_are_one_click_away(report: RunFolder) -> None:
    links = [value for tag, _, value in Page(html_of(report)).references if value.startswith("data:text/csv")]
    figures = list(report.figures_path.glob("*.svg"))
    assert len(links) == len(figures)
    table = pd.read_csv(report.figures_path / "spectrum-put.csv")
    assert {"step", "kind", "value_us", "percentile"} <= set(table.columns)
    assert {"put-rocksdb", "put-lsm", "floor-put", "published"} == set(table["step"])


def test_figures_say_in_words_what_they_show(report: RunFolder) -> None:
    html = html_of(report)
    labels = re.findall(r'<div class="card" role="img" aria-label="([^"]+)"', html)
    assert len(labels) == html.count("<figure ") and all(len(label) > 20 for label in labels)
    assert re.findall(r"!\[\]", markdown_of(report)) == []


def test_exact_commands_and_raw_output_are_there(report: RunFolder) -> None:
    step = next(step for step in read_run(report).steps if step.name == "put-rocksdb")
    for text in (html_of(report), markdown_of(report)):
        assert "lab run 01 --size quick" in text
        assert " ".join(step.record.generator.command) in text
        assert "Detailed Percentile spectrum" in text


def test_the_same_run_gives_the_same_bytes_and_figures_of_an_earlier_report_go(made: Callable[..., RunFolder]) -> None:
    folder = made(stop_after="put-rocksdb-profiled")

    def files() -> dict[str, bytes]:
        paths = [folder.report_html, folder.report_md, *folder.figures_path.iterdir()]
        return {path.name: path.read_bytes() for path in paths}

    before = files()
    (folder.figures_path / "spectrum-other.png").write_bytes(b"stale")
    rendered(folder)
    after = files()
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []
    assert list(folder.path.glob("*.new")) == []


@pytest.fixture(scope="module")
def page(report: RunFolder) -> pages.Page:
    run, published = read_run(report), published_of("report-1")
    return pages.page(run, conclude(run, published), published)


def test_a_page_that_would_be_too_large_is_slimmed_and_says_so(page: pages.Page) -> None:
    drawn = {shown.anchor: style.svg(shown.picture, shown.anchor) for shown in figures(page)}
    whole = to_html(page, drawn)
    assert "To stay small" not in whole
    sizes = []
    for limit in (len(whole) - 1, len(whole) * 2 // 3, len(whole) // 2):
        small = to_html(page, drawn, limit + MARGIN_BYTES)
        assert "To stay small" in small
        sizes.append(len(small.encode()))
        assert Page(small).outside() == []
    assert sizes[0] < len(whole.encode()) and sizes == sorted(sizes, reverse=True)
    least = to_html(page, drawn, 1)
    assert "graph to zoom and search" in least
    files = {value for _, _, value in Page(least).references if value.endswith(".csv")}
    assert files == {f"figures/{shown.anchor}.csv" for shown in figures(page)}, "one link a figure, not one a step"


def test_an_interrupted_run_says_so_first(made: Callable[..., RunFolder]) -> None:
    folder = made(status="interrupted", stop_after="put-rocksdb")
    for text in (html_of(folder), markdown_of(folder)):
        assert "not complete (status: interrupted)" in text
        assert "put-rocksdb: there is no profile of this load." in re.sub(r"\\", "", text)
        assert text.index("not complete") < text.rindex("Can these numbers be trusted?")
    assert "No profile is in this run." in html_of(folder)


def test_a_run_without_any_load_still_has_a_report(made: Callable[..., RunFolder]) -> None:
    folder = made(status="failed", stop_after="probe-put-rocksdb")
    assert "No load step is in this run" in html_of(folder)
    assert "No load step is in this run" in markdown_of(folder)
    assert Page(html_of(folder)).outside() == []


def test_instead_of_figures_of_an_invalid_step_stands_the_reason(made: Callable[..., RunFolder]) -> None:
    folder = made(died=("get-rocksdb",), saturated=("put-rocksdb",))
    html = html_of(folder)
    assert "get-rocksdb: invalid (server died)." in html
    assert "put-rocksdb: saturated (saturated: achieved 8820/s of 12600/s)." in html
    assert "PUT: no measurement of which latency may be quoted" in html
    assert "RocksDB response</text>" not in html.split('id="where"')[0]
    assert "the invented server was told to die" in html
    assert "12600" in markdown_of(folder)


def test_a_run_with_wrk2_has_its_curve(made: Callable[..., RunFolder]) -> None:
    folder = made(wrk2=True, stop_after="put-rocksdb")
    assert 'id="spectrum-put"' in html_of(folder)
    assert "Thread Stats" in markdown_of(folder)


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
    assert shown.tags.count("details") == markdown_of(folder).count("<details><summary>")
    assert "'$(reboot)'" in markdown_of(folder)


def test_the_first_screen_names_what_the_authors_missed(page: pages.Page) -> None:
    assert {"M01", "M02"} <= {finding.code for finding in page.lead}
    assert len(page.lead) <= pages.LEAD


def test_every_finding_stands_somewhere(page: pages.Page) -> None:
    said = {id(finding) for place in places(page) for finding in page.about(place)}
    said |= {id(finding) for section in page.sections for finding in section.findings}
    assert said == {id(f) for f in page.conclusion.findings if f.code not in pages.SAID_BY_ANSWER}


def places(page: pages.Page) -> set[str]:
    figures = {f"spectrum-{part.name}" for part in page.workloads} | {f"shares-{p.event}" for p in page.profiles}
    return figures | {"cost", "rates", "tail"}
