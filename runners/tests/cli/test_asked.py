"""`lab knee` and `lab compare` look at everything that was asked before they build, launch or open anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from runners.cli import asked
from runners.errors import Exit, PlanError
from runners.lab import Lab
from runners.storage.run_folder import RunFolder, StoreError


@pytest.fixture(autouse=True)
def nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a run was begun")

    monkeypatch.setattr(Lab, "begin", begin)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.3, "probe_s": 10}, "too short for 16 steps"),
        ({"low_rps": 5_000, "high_rps": 4_000}, "there is no rate between them"),
        ({"setting": "engine=postgres"}, "it names no engine that there is"),
        ({"objective": "fast"}, "objective"),
        ({"threads": 8, "connections": 4}, "each thread needs a connection"),
        ({"minuts": 5}, "minuts"),
    ],
)
def test_a_search_that_can_not_be_done_is_refused_before_it_begins(given: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        asked.knee({"setting": "lsm", **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.5}, "too short for 3 starts"),
        ({"generator": "wrk2"}, "it can't share one schedule"),
        ({"b": "engine=postgres"}, "it names no engine that there is"),
        ({"connections": 1, "threads": 2}, "each thread needs a connection"),
        ({"size": "huge"}, "huge"),
    ],
)
def test_a_comparison_that_can_not_be_done_is_refused_before_it_begins(given: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        asked.comparison(given)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        asked.comparison({}, tmp_path)


def test_a_run_of_the_other_command_is_named_and_not_its_parameters(tmp_path: Path) -> None:
    knee = RunFolder.create(tmp_path, "knee", "smoke", {"parameters": {"setting": "lsm"}})
    with pytest.raises(PlanError, match="it is a run of knee, not of 09"):
        asked.comparison({}, knee.path)


def test_a_knee_may_keep_p99_9() -> None:
    assert asked.knee({"setting": "lsm", "objective": "p99.9<=20ms"}).block == "knee"


@pytest.mark.parametrize("command", [asked.load, asked.knee])
def test_without_a_server_nothing_is_measured(command: Callable[[dict[str, object]], object]) -> None:
    with pytest.raises(PlanError, match="no server was given") as refused:
        command({})
    assert refused.value.exit_code == Exit.USAGE
