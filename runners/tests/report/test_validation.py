"""The report of experiment 00 stands with any generators that were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners import report
from runners.readers.published import published
from runners.report import render
from runners.results.conclusion import conclude
from runners.tests.fixtures.fake_rounds import run_of

EVERY = ("blocking", "epoll", "truepace", "wrk2", "wrk")


@pytest.mark.parametrize("tools", [EVERY, ("blocking", "epoll", "truepace"), ("truepace",), ("wrk2", "wrk")])
def test_both_reports_are_made_whatever_was_found(tools: tuple[str, ...], tmp_path: Path) -> None:
    run = run_of(tmp_path, tools, rounds=3)
    for step in run.steps:
        step.folder.path.mkdir(parents=True)
    render(conclude(run, {}))
    for page in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        assert "The floor of each generator" in page and "The stall" in page and "The timer" in page
        assert "What a generator costs" in page and "CPU seconds per million requests" in page
        assert "there is no latency to show" not in page
        assert ("wrk2 is not on this machine" in page) == ("wrk2" not in tools)
    for name in ("instrument-floors", "instrument-staircase", "instrument-stall"):
        assert (run.folder.figures_path / f"{name}.png").stat().st_size
        assert (run.folder.figures_path / f"{name}.csv").read_text().count("\n") > 1


def test_the_figures_say_their_result(tmp_path: Path) -> None:
    run = run_of(tmp_path, EVERY)
    rounds, stalls = run.find(kind="round"), run.find(kind="stall")
    assert "blocking client 5" in report.floors(rounds).alt
    assert "wrk2 (1.1" in report.staircase(rounds).alt
    assert "published wrk2 (1.2" in report.staircase([], published("report-1/put")).alt
    assert "wrk2 25" in report.stall(stalls).alt and "truepace (ours)" in report.stall(stalls).alt


def test_nothing_measured_is_an_empty_figure() -> None:
    for picture in (report.floors([]), report.staircase([]), report.stall([])):
        assert picture.alt and picture._repr_png_()[0].startswith(b"\x89PNG")
