"""The report of experiment 00 stands with any generators that were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners import show
from runners.explain.conclude import conclude
from runners.read.published import published
from runners.show import render
from runners.tests.fixtures.fake_rounds import run_of

EVERY = ("blocking", "epoll", "loadgen", "wrk2", "wrk")


@pytest.mark.parametrize("tools", [EVERY, ("blocking", "epoll", "loadgen"), ("loadgen",), ("wrk2", "wrk")])
def test_both_reports_are_made_whatever_was_found(tools: tuple[str, ...], tmp_path: Path) -> None:
    run = run_of(tmp_path, tools, rounds=3)
    for step in run.steps:
        step.folder.path.mkdir(parents=True)
    render(run, conclude(run, {}), {})
    for report in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        assert "The floor of each generator" in report and "The stall" in report and "The timer" in report
        assert "What a generator costs" in report and "Processor time a million requests" in report
        assert "there is no latency to show" not in report
        assert ("wrk2 is not on this machine" in report) == ("wrk2" not in tools)
    for name in ("instrument-floors", "instrument-staircase", "instrument-stall"):
        assert (run.folder.figures_path / f"{name}.png").stat().st_size
        assert (run.folder.figures_path / f"{name}.csv").read_text().count("\n") > 1


def test_the_figures_say_their_result(tmp_path: Path) -> None:
    run = run_of(tmp_path, EVERY)
    rounds, stalls = run.find(kind="round"), run.find(kind="stall")
    assert "blocking client 5" in show.floors(rounds).alt
    assert "wrk2 (1.1" in show.staircase(rounds).alt
    assert "published (wrk2, 25" in show.staircase([], published("report-1/put")).alt
    assert "wrk2 25" in show.stall(stalls).alt and "loadgen (ours)" in show.stall(stalls).alt


def test_nothing_measured_is_an_empty_figure() -> None:
    for picture in (show.floors([]), show.staircase([]), show.stall([])):
        assert picture.alt and picture._repr_png_()[0].startswith(b"\x89PNG")
