"""The report of experiment 02 stands with any stages that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from runners.experiments.e02_closed_loop_jdk import STAGES, Stage
from runners.readers.run import Run
from runners.report import render
from runners.report.document import document
from runners.report.report import to_markdown
from runners.results.conclusion import conclude
from runners.tests.fixtures import fake_loops
from runners.tests.fixtures.fake_loops import ALL, run_of

BEFORE, AFTER, NEW_JDK, DELAYED = (STAGES[name] for name in ("before", "after", "jdk25", "delayed"))

TITLES = ("Where the responses lie", "Threads, connections, executors", "The kernel's evidence")


def _run(root: Path, stages: Sequence[Stage]) -> Run:
    run = run_of(root, stages)
    for step in run.steps:
        step.folder.path.mkdir(parents=True)
    return run


def _markdown(root: Path, stages: Sequence[Stage]) -> str:
    """The report as Markdown, for which nothing has to be drawn."""
    return to_markdown(document(conclude(_run(root, stages), {})))


@pytest.mark.parametrize("stages", [(NEW_JDK, DELAYED), (BEFORE,), pytest.param((AFTER,), marks=pytest.mark.long)])
def test_both_reports_are_made_whatever_was_measured(stages: Sequence[Stage], tmp_path: Path) -> None:
    run = _run(tmp_path, stages)
    render(conclude(run, {}))
    for page in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        assert all(title in page.replace("&#39;", "'") for title in TITLES[1:])
        assert (TITLES[0] in page) == (list(stages) != [BEFORE])
        assert "there is no latency to show" not in page and "There is nothing published" not in page
        assert "No load step is in this run" not in page
        published = "Published, reproduced, and what the authors missed"
        assert (published in page) == (BEFORE in stages or AFTER in stages)
    assert (run.folder.figures_path / "delay-rates.png").stat().st_size


@pytest.mark.parametrize(("seconds", "stands"), [(20.0, False), (60.0, True)])
def test_a_percentile_stands_where_ten_responses_were_slower(
    seconds: float, stands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_loops, "SECONDS", seconds)
    text = _markdown(tmp_path, (BEFORE,))
    (row,) = (line for line in text.splitlines() if line.startswith("| before\u00a0put\u00a01 "))
    published, ours = row.split("|")[2:4]
    assert "p99" in published and ("p99" in ours) == stands


def test_where_every_stage_was_measured_every_published_run_stands_in_the_table(tmp_path: Path) -> None:
    text = _markdown(tmp_path, ALL)
    rows = [line for line in text.splitlines() if line.startswith(("| before\u00a0", "| after\u00a0"))]
    assert len(rows) == 18 and not any("not measured" in row for row in rows)
    assert sum("404, by the script" in row for row in rows) == 3
    assert sum("no PUT among its requests" in row for row in rows) == 6
    assert sum("the flag alone" in row for row in rows) == 9
    assert sum("with the flag and a" in row for row in rows) == 9
