"""What a server does to itself is not left out as the machine's, and what the machine does is."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from runners.analysis.machine_stalls import not_of_the_disk
from runners.bench import plants
from runners.bench.plants import MACHINE, judged, planted, read
from runners.process.cpu_placement import usable_cpus
from runners.readers.run import frame
from runners.toolchain.build import build_truepace

RECORDED = Path(__file__).parents[1] / "data" / "plants"
EVENTS = [(0.25 + 0.5 * number, 0.27 + 0.5 * number) for number in range(30)]


def stalls(spans: list[tuple[float, float]]) -> pd.DataFrame:
    return frame("stalls", [{"cpu": 1, "t_s": begin, "duration_ms": 1000 * (end - begin)} for begin, end in spans])


def test_a_plant_that_the_witness_does_not_see_stays_in() -> None:
    seen = judged(stalls([]), EVENTS)
    assert (seen.events, seen.left_out, seen.by_chance) == (30, 0, 0)
    assert 25 <= seen.kept_at_least <= 29, "a few may be dropped by chance even where no moment between was"


def test_a_plant_that_the_witness_sees_is_left_out_and_fails_the_server() -> None:
    seen = judged(stalls(EVENTS), EVENTS)
    assert (seen.left_out, seen.by_chance) == (30, 0)
    assert seen.events - seen.left_out < seen.kept_at_least


def test_where_the_machine_stalls_all_the_time_a_plant_may_be_dropped_as_often() -> None:
    everywhere = stalls([(0.1 * number, 0.1 * number + 0.004) for number in range(160)])
    seen = judged(everywhere, EVENTS)
    assert (seen.left_out, seen.by_chance) == (30, 29) and seen.kept_at_least <= 0


def recorded(name: str, *, disk: bool = False) -> plants.Planted:
    """Judge what the witness and a plant wrote on a shared machine; `disk`: it worked during each event."""
    log, events = read(RECORDED / f"{name}.stalls", None, (RECORDED / f"{name}.events").read_text())
    busy = [{"t_s": b, "length_s": e - b, "kind": "disk", "busy_ms": 900 * (e - b)} for b, e in events if disk]
    return judged(not_of_the_disk(log, frame("activity", busy)), events)


@pytest.mark.parametrize("name", ["collecting", "interrupting", "sleeping", "spinning", "unmapping"])
def test_recorded_plants_of_a_server_stay_in(name: str) -> None:
    seen = recorded(name)
    assert seen.events >= 20 and seen.events - seen.left_out >= seen.kept_at_least, seen


def test_a_recorded_hog_of_higher_priority_is_left_out() -> None:
    seen = recorded(MACHINE)
    assert seen.left_out == seen.events > seen.by_chance


def test_recorded_forcing_of_files_held_up_the_witness_and_stays_in_by_the_work_of_the_disk() -> None:
    """A server can delay even a thread of real-time priority: that is why a busy disk keeps a stall in."""
    bare, known = recorded("forcing"), recorded("forcing", disk=True)
    assert bare.left_out == bare.events and bare.events - bare.left_out < bare.kept_at_least
    assert known.events - known.left_out >= known.kept_at_least, known


@pytest.mark.timed
@pytest.mark.parametrize("name", [*plants.ACTS, MACHINE])
def test_plants_made_now_are_distinguished(name: str, tmp_path: Path) -> None:
    build_truepace(lambda _line: None)
    command = [sys.executable, "-m", "runners.bench.plants", name, f"{plants.SECONDS:g}"]
    result = planted(command, usable_cpus()[-1], tmp_path)
    if isinstance(result, str):
        pytest.skip(result)
    counts = judged(*result)
    if name == MACHINE:
        assert counts.left_out >= 0.9 * counts.events, counts
    else:
        assert counts.events - counts.left_out >= counts.kept_at_least, counts
