"""The floor stands on every figure of latency: its own as such, another with the rate at which it was taken."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from runners.design.load import SENTINEL, SENTINEL_RPS
from runners.design.session import FLOOR
from runners.readers.reading import read_run
from runners.readers.run import Step
from runners.report import style
from runners.report.closed_loop import loop_curves
from runners.report.document import document
from runners.report.ladder import ladder
from runners.report.latency import spectrum, timeline
from runners.report.sections import outage
from runners.results import faults, loops
from runners.results.conclusion import conclude
from runners.results.ladders import ladders
from runners.tests.fixtures.fake_clusters import outage_of
from runners.tests.fixtures.fake_loops import run_of as loops_of
from runners.tests.fixtures.ladder_run import make_ladder
from runners.tests.report import steps

OWN = "instrument floor (do-nothing server)"
BEFORE = "instrument floor at 2\u202f000/s on one connection"


def floor(root: Path) -> Step:
    """At the rate and on the connection of the load."""
    return steps.step(root, "floor-put", steps.times(median_us=40), role=FLOOR, engine="noop")


def before(root: Path) -> Step:
    """The fixed load before the campaign."""
    made = steps.step(root, SENTINEL, steps.times(median_us=45), role=SENTINEL, engine="noop", workload="get")
    summary = made.frames["summary"].assign(offered_rps=SENTINEL_RPS, achieved_rps=SENTINEL_RPS)
    return dataclasses.replace(made, frames={**made.frames, "summary": summary})


def load(root: Path) -> Step:
    """A load that is there by tenths of a second too."""
    tenths = [{"t_s": i / 10, "us": us, "count": many} for i in range(60) for us, many in ((60.0, 990), (300.0, 10))]
    return steps.whole(steps.step(root, "put-rocksdb", steps.times(), frames={"slices": pd.DataFrame(tenths)}))


def _ladder(root: Path, floor: Step) -> style.Picture:
    (measured,) = ladders(read_run(make_ladder(root / "runs", (1_000.0, 2_000.0, 4_000.0), searched=False)))
    return ladder(measured, (), floor)


def _loops(root: Path, floor: Step) -> style.Picture:
    return loop_curves(loops.of_run(loops_of(root)), floor)


FIGURES: dict[str, Callable[[Path, Step], style.Picture]] = {
    "spectrum": lambda root, floor: spectrum(load(root), floor=floor),
    "timeline": lambda root, floor: timeline(load(root), floor=floor),
    "ladder": _ladder,
    "loops": _loops,
    "outage": lambda root, floor: outage(faults.outages([outage_of(root, "sharded", 0.3)]), floor),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_latency_shows_the_floor_and_says_of_which_rate(name: str, tmp_path: Path) -> None:
    drawn = style.svg(FIGURES[name](tmp_path, before(tmp_path)), "test")
    assert drawn.count(BEFORE) == 1 and OWN not in drawn
    assert style.FLOOR in drawn.lower()


@pytest.mark.parametrize("name", ["spectrum", "timeline"])
def test_a_floor_of_the_loads_own_rate_is_called_the_floor(name: str, tmp_path: Path) -> None:
    drawn = style.svg(FIGURES[name](tmp_path, floor(tmp_path)), "test")
    assert drawn.count(OWN) == 1 and BEFORE not in drawn


def test_a_report_draws_the_floor_that_it_has(tmp_path: Path) -> None:
    for name, more, seen in (("own", [floor, before], OWN), ("before", [before], BEFORE)):
        root = tmp_path / name
        made = [load(root), *(steps.whole(make(root)) for make in more)]
        run = steps.run(root, made, started_unix_s=0.0, ended_unix_s=1.0)
        for step in run.steps:
            step.folder.path.mkdir(parents=True)
        shown = {figure.anchor: figure for figure in document(conclude(run, {})).figures}
        for anchor in ("spectrum-put", "timeline-put"):
            assert seen in style.svg(shown[anchor], anchor), anchor
