"""The words of a notebook show themselves without pyplot, in HTML and in Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace as record_with

from runners import report
from runners.readers.run import Step
from runners.report.concluded import Concluded
from runners.report.latency import spectrum
from runners.results.answer import Answer, Answered, Measure, Question, Unit, Verdict
from runners.results.conclusion import Conclusion
from runners.results.results import Results
from runners.tests.report import steps
from runners.tests.report.outside import Page


def profiled(folder: Path) -> Step:
    return steps.step(folder, "put", [50.0] * 20, profiled=["cpu"], frames=steps.profile_frames(["cpu"]))


def test_figures_show_themselves_as_png(tmp_path: Path) -> None:
    step = profiled(tmp_path)
    for picture in (spectrum(step), report.timeline(step)):
        data, size = picture._repr_png_()
        assert data.startswith(b"\x89PNG")
        assert set(size) == {"width", "height"}


def test_a_flame_graph_shows_itself_in_a_sandboxed_frame(tmp_path: Path) -> None:
    graph = report.flamegraph(profiled(tmp_path), "cpu")
    html = graph._repr_html_()
    assert graph.title in "".join(Page(html).text), "the title is seen"
    page = Page(html)
    assert page.sandboxes == ["allow-scripts"]
    assert len(page.frames) == 1 and page.frames[0].tags.count("script") == 2
    assert page.outside() == []


def test_a_flame_graph_of_a_load_that_is_not_valid_says_so_and_why(tmp_path: Path) -> None:
    step = profiled(tmp_path)
    record = record_with(step.record, valid=False, invalid_reasons=("the <generator> was late",))
    html = report.flamegraph(replace(step, record=record), "cpu")._repr_html_()
    assert (
        "Not valid" in html and "<generator>" not in html and "not valid" not in report.flamegraph(step)._repr_html_()
    )


def test_an_event_that_was_not_profiled_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no lock profile; profiled events here: cpu"):
        report.flamegraph(profiled(tmp_path), "lock")


def test_a_conclusion_escapes_what_it_quotes(tmp_path: Path) -> None:
    run = steps.run(tmp_path, [profiled(tmp_path)], title="<b>title</b>")
    given = Answer(Verdict.YES, (Measure("PUT | <i>", 0.5, Unit.SHARE),))
    answers = (Answered(Question("key", "Does <script> help?"), given),)
    shown = Concluded(Conclusion(Results(run), answers, ()), tmp_path / "report.html")
    page = Page(MarkdownIt("commonmark").enable("table").render(shown._repr_markdown_()))
    assert not {"script", "i", "b"} & set(page.tags) and "<b>title</b>" in "".join(page.text)
    assert "PUT | <i> 50.0\u00a0%" in "".join(page.text) and "yes" in repr(shown)


def test_nothing_that_shows_needs_pyplot() -> None:
    for path in Path(report.__file__).parent.glob("*.py"):
        assert not re.search(r"(?m)^\s*(import|from) matplotlib.*pyplot", path.read_text(encoding="utf-8")), path.name
