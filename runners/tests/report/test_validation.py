"""The report of experiment 00 stands with any generators that were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.analysis import instrument
from runners.readers.published import published
from runners.report import render
from runners.report.validation import chosen, floors, staircase, stall
from runners.results.conclusion import conclude
from runners.tests.fixtures.fake_rounds import run_of

EVERY = ("blocking", "epoll", "truepace", "wrk2", "wrk")


@pytest.mark.parametrize(
    "tools",
    [
        EVERY,
        ("truepace",),
        *(
            pytest.param(tools, marks=pytest.mark.long)
            for tools in (("blocking", "epoll", "truepace"), ("wrk2", "wrk"))
        ),
    ],
)
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


def test_the_figures_say_their_result(tmp_path: Path) -> None:
    run = run_of(tmp_path, EVERY)
    rounds, stalled = run.find(kind="round"), stall(instrument.stalls(run.find(kind="stall")))
    assert "blocking client 5" in floors(instrument.floors(rounds)).alt
    output = published("report-1/put")
    assert "wrk2 (1.1" in staircase(chosen(rounds), output).alt
    assert "published wrk2 (1.2" in staircase([], output).alt
    assert "wrk2 25" in stalled.alt and "truepace (ours)" in stalled.alt
