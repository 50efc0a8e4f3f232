"""A section that an experiment adds stands in both reports, and its figure's files lie with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report import document, render, style
from runners.report.tables import Section, Table
from runners.results.conclusion import conclude
from runners.tests.fixtures.fake_run import make_run


def _ladder(run: Run) -> list[Section]:
    picture = style.Picture()
    picture.add_subplot().plot([1, 2], [3, 4])
    picture.alt = "a ladder"
    table = Table("Rate steps", ("rate", "p99"), (("1 000/s", "<b>2 ms</b>"),))
    text, figures = f"Rates of {run.name}, <one> after the other.", (picture.at("ladder-put"),)
    return [Section("ladder", "The ladder", text, figures, (table,))]


def test_a_section_stands_in_both_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "BUILDERS", (_ladder, lambda run: ()))
    run = read_run(make_run(tmp_path, engines=("rocksdb",), duration_s=2))
    render(conclude(run, {}))
    html, text = run.folder.report_html.read_text(), run.folder.report_md.read_text()
    for report in (html, text):
        assert "The ladder" in report
        assert "after the other." in report
        assert "<b>2 ms</b>" not in report  # what a table holds is escaped
        assert "<one>" not in report
    assert '\n## <a id="ladder"></a>The ladder\n' in text
    assert "| rate | p99 |" in text
    assert "(figures/ladder-put.svg)" in text
    assert html.index("<h2>Latency</h2>") < html.index("<h2>The ladder</h2>")
    assert html.count('id="ladder"') == 1
    for name in ("ladder-put.png", "ladder-put.svg"):
        assert (run.folder.figures_path / name).stat().st_size
