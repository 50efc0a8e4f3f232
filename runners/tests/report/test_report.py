"""A report answers before it shows, is one file that works offline, and says what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from runners.analysis.interleaved import QUANTITIES, comparisons
from runners.analysis.knee import Kind
from runners.claims import cluster
from runners.claims.conclude import conclude
from runners.claims.settings import knees
from runners.experiments.e01_single_connection import questions
from runners.readers.published import published_of
from runners.readers.reading import read_run
from runners.report import overview, style
from runners.report.comparison import interleaved_table
from runners.report.document import Document, document
from runners.report.document import _limited as limited
from runners.report.document import _version as version
from runners.report.report import LIMIT_BYTES, MARGIN_BYTES, charts, to_html, to_markdown
from runners.report.validity import MOST_TEXT, figures_and_prose, shortened
from runners.storage.run_folder import REFERENCE, RunFolder
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.references import KEPT, concluded
from runners.tests.report.conftest import rendered
from runners.tests.report.outside import Page
from runners.tests.tiers import in_short

HEADINGS = [
    "# One connection, RocksDB",
    "## Questions and answers",
    "## Findings",
    "## The two figures",
    "## Validity",
    "## Latency",
    "## Where the time goes",
    "## Why the tail",
    "## Published and reproduced",
    "## Limits and conditions",
    "## Appendix",
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
    assert [f"{'#' * int(level)} {name}" for level, name in text] == [h for h in HEADINGS if "two figures" not in h]


def test_questions_are_answered_before_everything_else(report: RunFolder) -> None:
    main = html_of(report).split("<main>")[1]
    assert (
        main.index('class="answers"')
        < main.index('class="highlights"')
        < main.index("<figure")
        < main.index("Validity</h2>")
    )
    rows = re.findall(r"(?m)^\| .*\? .*\| \*\*(?:yes|no|inconclusive)\*\*", markdown_of(report))
    assert len(rows) == len(questions())


def test_a_report_is_short(report: RunFolder, page: Document) -> None:
    assert len(markdown_of(report).splitlines()) <= 300
    assert len(page.figures) + len(page.graphs) <= 12
    assert len(page.findings) <= 10
    assert len({shown.finding.code for shown in page.findings}) == len(page.findings)
    assert all(shown.question.endswith("?") and shown.meaning for shown in page.findings)


@pytest.mark.parametrize("number", KEPT)
def test_the_kept_reports_are_short_too(number: str) -> None:
    lines = (REFERENCE / number / "report.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300 and sum(re.match(r"\d+\. <a id", line) is not None for line in lines) <= 10
    assert sum("](figures/" in line or line.count("Figure in report.html") for line in lines) <= 12


@pytest.mark.parametrize("number", ["03", pytest.param("06", marks=pytest.mark.long)])
def test_a_figure_of_knees_in_a_kept_report_names_the_highest_as_its_claims_do(number: str) -> None:
    run, *_ = of_reference = concluded(number)
    found = [each for each in knees(run)["put"] if each.answer.kind == Kind.FOUND and each.name != "noop"]
    shown = next(shown for shown in document(*of_reference).figures if shown.anchor == "knees-put")
    heading = shown.picture.get_suptitle()
    best = max(found, key=lambda each: each.answer.rps)
    assert heading.startswith("PUT: ") and f"{best.name} has the highest knee" in heading


@pytest.mark.long
def test_a_ladder_of_a_kept_report_says_which_steps_are_undecided() -> None:
    page = document(*concluded("04"))
    ladder, *_ = (shown for shown in page.figures if shown.anchor == "ladder-put-lsm")
    named = [text.get_text() for text in ladder.picture.legends[0].get_texts()]
    assert "p99, undecided: the machine stalled" in named
    table = next(table for part in page.sections for table in part.tables if "All ladders" in table.caption)
    small = next(row for row in table.rows if row[0] == "LSM PUT-SMALL")
    assert small[1].startswith("above ")


def test_what_is_not_resolved_is_no_heading_of_a_kept_report() -> None:
    page = document(*concluded("01"))
    headings = {shown.anchor: shown.picture.get_suptitle() for shown in page.figures}
    assert "of CPU per request" in headings["spectrum-put"] and "p50" not in headings["spectrum-put"]
    assert "p99" not in headings["interleaved-put-compared"] and "no p99" in headings["throughput-p99"]
    (touched,) = [touched for check, touched in page.wrong if check.name == "steady"]
    assert touched == "no answer by itself", "GET was not steady, and the answers rest on PUT"
    assert re.search(r"generator kept up \(up to p[\d.]+ only in", page.well)


def test_the_first_figure_joins_loads_and_starts_and_names_what_has_no_point() -> None:
    run, *_ = concluded("01")
    rows = overview.points(run)
    assert set(rows["unit"]) == {"load", "start"} and len(set(rows["throughput_rps"].round(-2))) >= 3
    assert overview.missing(run, rows) == []
    lost = overview.missing(run, rows[rows["treatment"] == "lsm"])
    assert lost == ["RocksDB PUT", "RocksDB GET"]


def test_a_percentile_with_few_samples_beyond_it_is_not_printed() -> None:
    page = document(*concluded("02"))
    table = next(table for part in page.sections for table in part.tables if table.caption == "Every published run")
    for name, published, ours, _ in table.rows:
        assert ("p99" in published) and ("p99" not in ours), name
    counters = next(table for part in page.sections for table in part.tables if table.caption == "Counters of TCP")
    assert {row[0].split(",")[0] for row in counters.rows} >= {"JDK 17", "JDK 25"}, (
        "those that wait and those that do not"
    )


def test_the_first_two_figures_are_throughput_against_p99_and_cpu_a_request(page: Document) -> None:
    assert [shown.anchor for shown in page.first] == ["throughput-p99", "cpu-a-request"]


def test_curves_can_be_hovered_and_are_still_pictures(report: RunFolder) -> None:
    html = html_of(report)
    live = {
        name: json.loads(unescape(data))
        for name, data in re.findall(
            r'<figure id="([^"]+)">\s*<div [^>]*>\s*<svg(?:(?!</figure>).)*?<details [^>]*data-curves="([^"]*)"',
            html,
            re.S,
        )
    }
    assert {"throughput-p99", "spectrum-put"} <= set(live)
    (chart,) = live["spectrum-put"]
    assert chart["x_unit"] == "percentile" and chart["y_unit"] == "latency" and chart["y_log"]
    assert any("RocksDB response" in one["label"] for one in chart["series"])
    assert "instrument floor (noop)" in [one["label"] for one in chart["series"]], "a band of the legend is a curve too"
    assert all(len(one["x"]) == len(one["y"]) > 0 for one in chart["series"])
    assert all(each["title"] and each["x_label"] != "x" for found in live.values() for each in found[:1])
    assert html.count("<svg") >= len(live) and "svg { display: none" not in html  # they stay, whatever a script does
    assert html.count('class="curves" data-curves') == html.count("hidden><summary>Hover") == len(live)
    assert "uPlot" in html and len(html.encode()) < LIMIT_BYTES


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
    assert len(html.encode()) < LIMIT_BYTES
    page = Page(html)
    assert page.outside() == []
    assert page.handlers == []
    assert "default-src 'none'" in html
    assert len(page.frames) == 2  # flame graphs of two stores, which share no code: no difference of their frames
    assert "share no code" in html
    assert set(page.sandboxes) == {"allow-scripts"}
    assert all(frame.outside() == [] for frame in page.frames)


def test_data_of_a_figure_are_one_click_away(report: RunFolder) -> None:
    links = [value for tag, _, value in Page(html_of(report)).references if value.startswith("data:text/csv")]
    figures = list(report.figures_path.glob("*.svg"))
    assert len(links) == len(figures)
    table = pd.read_csv(report.figures_path / "spectrum-put.csv")
    assert {"step", "kind", "value_us", "percentile"} <= set(table.columns)
    assert {"put-rocksdb", "put-lsm", "floor-put"} == set(table["step"])


def test_figures_say_in_words_what_they_show(report: RunFolder) -> None:
    html = html_of(report)
    labels = re.findall(r'<div class="card" role="img" aria-label="([^"]+)"', html)
    assert len(labels) == html.count("<figure ") and all(len(label) > 20 for label in labels)
    assert re.findall(r"!\[\]", markdown_of(report)) == []


def test_exact_commands_are_there_and_raw_output_is_linked(report: RunFolder) -> None:
    step = next(step for step in read_run(report).steps if step.name == "put-rocksdb")
    for text in (html_of(report), markdown_of(report)):
        assert "lab run 01 --size quick" in text and "lab report RUN_FOLDER" in text
        assert " ".join(step.record.generator.command) in text
        assert "Detailed Percentile spectrum" not in text and "steps/" in text


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
def page(report: RunFolder) -> Document:
    run, published = read_run(report), published_of("report-1")
    return document(run, conclude(run, published, questions()), published)


def test_a_page_that_would_be_too_large_is_slimmed_and_says_so(page: Document) -> None:
    drawn = {shown.anchor: style.svg(shown.picture, shown.anchor) for shown in page.figures}
    whole = to_html(page, drawn)
    assert "To stay small" not in whole
    for limit in (len(whole) - 1, len(whole) * 2 // 3):
        small = to_html(page, drawn, limit + MARGIN_BYTES)
        assert "To stay small" in small and len(small.encode()) < len(whole.encode())
        assert Page(small).outside() == []
    least = to_html(page, drawn, 1)
    files = {value for _, _, value in Page(least).references if value.endswith(".csv")}
    assert files == {f"figures/{shown.anchor}.csv" for shown in page.figures}, "one link a figure, not one a step"


def test_a_report_with_one_figure_does_not_speak_of_two_nor_of_commands_that_it_lacks(page: Document) -> None:
    whole, less = to_markdown(page), to_markdown(replace(page, first=page.first[:1], commands=()))
    assert "## The two figures" in whole and "The first command of each treatment:" in whole
    assert "## The first figure" in less and "two figures" not in less and "The first command" not in less


def test_a_text_goes_with_the_figures_that_it_introduces(page: Document) -> None:
    alone = replace(page.sections[0], text="Below.", findings=(), tables=(), graphs=())
    assert limited([alone], 0) == [] and limited([replace(alone, figures=())], 0)


def test_a_tool_is_named_once_and_by_its_version_alone() -> None:
    printed = "wrk debian/4.1.0 [epoll] Copyright (C) 2012 Will Glozer"
    assert version("wrk", printed) == "wrk debian/4.1.0" and version("wrk2", "wrk 4.0.0 [epoll]") == "wrk2 4.0.0"
    assert version("java", "25.0.3 (Eclipse Adoptium)") == "java 25.0.3 (Eclipse Adoptium)"
    assert version("truepace", "0.1.0") == "truepace 0.1.0"


def test_a_long_check_is_cut_at_a_sentence() -> None:
    assert shortened("Short.") == "Short."
    text = shortened(" ".join(f"RocksDB PUT {n}: yes, up to p90." for n in range(30)))
    assert len(text) <= MOST_TEXT + 2 and text.endswith("up to p90. …")
    assert shortened("word " * 100).endswith("word …")


def test_a_number_in_a_figures_heading_that_the_text_lacks_is_found(page: Document) -> None:
    assert figures_and_prose(page.figures, page.prose, page.run).ok
    shown = page.figures[-1]
    other = style.Picture()
    other.suptitle("PUT: p99 12.3 ms")
    wrong = replace(page, sections=(replace(page.sections[0], figures=(replace(shown, picture=other),)),))
    check = figures_and_prose(wrong.figures, wrong.prose, wrong.run)
    assert check.ok is False and "12.3 ms" in check.text


def test_an_interrupted_run_says_so_first(made: Callable[..., RunFolder]) -> None:
    folder = made(status="interrupted", stop_after="put-rocksdb")
    for text in (html_of(folder), markdown_of(folder)):
        assert "not complete (status: interrupted)" in text
        assert "/s: there is no profile of this load." in text and "RocksDB PUT at " in text
        assert text.index("not complete") < text.rindex("Validity")


def test_a_run_without_any_load_still_has_a_report(made: Callable[..., RunFolder]) -> None:
    folder = made(status="failed", stop_after="probe-put-rocksdb")
    assert "No load step is in this run" in html_of(folder)
    assert "No load step is in this run" in markdown_of(folder)
    assert Page(html_of(folder)).outside() == []


def test_instead_of_figures_of_an_invalid_step_stands_the_reason(made: Callable[..., RunFolder]) -> None:
    folder = made(died=("get-rocksdb",), saturated=("put-rocksdb",))
    html = html_of(folder)
    touched = re.findall(r"(?m)Affects: (.*)\.$", markdown_of(folder))
    numbers = r"the answers? to questions? \d+(?:(?:, | and )\d+)*"
    assert touched and all(re.fullmatch(f"all answers|no answer by itself|{numbers}", each) for each in touched)
    assert re.search(r"RocksDB GET at [^:]+/s: invalid \(server died\)\.", html)
    assert re.search(r"RocksDB PUT at [^:]+/s: saturated \(saturated: achieved 8820/s of 12600/s\)\.", html)
    assert 'id="spectrum-put"' not in html


def test_a_run_with_wrk2_has_its_curve(made: Callable[..., RunFolder]) -> None:
    folder = made(wrk2=True, stop_after="put-rocksdb")
    assert 'id="spectrum-put"' in html_of(folder)


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
    assert page.tags.count("script") == 2
    assert page.tags.count("img") == 0
    assert HOSTILE in "".join(page.text)
    shown = Page(MarkdownIt("commonmark").enable("table").render(markdown_of(folder)))
    assert shown.handlers == []
    assert shown.outside() == []
    assert shown.tags.count("script") == 0
    assert "'$(reboot)'" in markdown_of(folder)


@pytest.mark.parametrize("number", in_short(["01", "03", "07", "09"], ("01", "09")))
def test_the_primary_quantity_stands_first_in_a_table_of_few_rows(number: str) -> None:
    run, _, _ = concluded(number)
    for found in comparisons(run):
        table = interleaved_table(found, 1_800.0)
        assert table.rows[0][0] == QUANTITIES[found.primary].label and table.caption.endswith("1\u202f800/s")
        assert not any(row.change in cell for row in found.rows for cells in table.rows for cell in cells)
        labels = [row[0] for row in table.rows]
        assert labels.index("CPU per request") < max(
            (i for i, name in enumerate(labels) if "service" in name), default=9
        )


def test_what_threads_wait_for_a_lock_is_the_share_of_what_they_wait() -> None:
    run, _, _ = concluded("05")
    one = next(each for each in cluster.of_run(run) if each.client_s)
    assert one.share is not None and one.share.value == pytest.approx(one.client_s / one.all_s, rel=1e-6)


def test_points_at_one_rate_are_all_in_the_curves_of_a_browser() -> None:
    page = document(*concluded("01"))
    points = next(shown for shown in page.figures if shown.anchor == "throughput-p99")
    (chart,) = json.loads(charts(points.picture))
    assert sum(len(set(one["x"])) for one in chart["series"]) == len(points.data) == 16
