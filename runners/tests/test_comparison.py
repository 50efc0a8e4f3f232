"""Experiment 09: its notebook and `lab compare` are one, so they ask the same of the same words."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import runners.lab
from runners import commands
from runners.analysis.comparison import FEWEST_ROUNDS
from runners.design import comparison
from runners.design.block import SEARCH_WARMUP_S
from runners.design.commands import plan_of
from runners.design.experiment import experiment
from runners.design.parameter import validate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import SIZES
from runners.design.workload import PUT
from runners.errors import PlanError
from runners.execution import batch
from runners.execution.budget import rounds_within
from runners.experiments.searches import Searches
from runners.storage.run_folder import RunFolder
from runners.toolchain.tools import ROOT

PLAN = experiment("09")
QUICK_S, SMOKE_S = 360.0, 120.0
FLAGGED = "engine=lsm,--wal=sync,-XX:+UseZGC,heap_mb=256,name=zgc"
GIVEN: list[dict[str, object]] = [
    {"minutes": 5.0},
    {"minutes": 7.5, "a": FLAGGED, "b": "memory", "workload": "get", "connections": 8, "threads": 2},
    {"minutes": 20.0, "size": "full", "rate_rps": 900, "see": 0.1, "repeat_s": 2.0, "heap_mb": 64, "port": 8080},
]


class Asked(Searches):
    """A lab that measures nothing, and keeps what was asked of it."""

    def __init__(self, number: str, parameters: dict[str, object]) -> None:
        plan = plan_of(number)
        self.parameters = validate(plan.parameters, parameters)
        self.size, self.folder = SIZES[str(self.parameters["size"])], RunFolder(Path("nowhere"))
        self.asked: list[Any] = [plan.number, self.parameters]
        self._series: Any = SimpleNamespace(compare=self._compare)

    def _compare(self, *asked: object) -> SimpleNamespace:
        self.asked += asked
        return SimpleNamespace(last_round=())

    def conclude(self) -> str:
        self.asked.append("concluded")
        return ""

    def close(self) -> None:
        """Nothing was started."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """The labs that were begun, whoever began them."""
    found: list[Asked] = []

    class Lab:
        @staticmethod
        def begin(number: str, resume: Path | None = None, **parameters: object) -> Asked:
            found.append(Asked(number, parameters))
            return found[-1]

    monkeypatch.setattr(runners.lab, "Lab", Lab)
    monkeypatch.setattr(commands, "Lab", Lab)
    return found


def by_notebook(parameters: dict[str, object]) -> None:
    """Its code cells one after the other, with these parameters in place of its own."""
    notebook = json.loads((ROOT / "notebooks" / PLAN.notebook).read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            names |= parameters if "parameters" in cell["metadata"].get("tags", []) else {}


@pytest.mark.parametrize("given", GIVEN, ids=["two engines", "flags", "full"])
def test_the_notebook_and_the_command_ask_the_same(given: dict[str, object], begun: list[Asked]) -> None:
    by_notebook(given)
    commands.compare_settings(given)
    notebook, command = (lab.asked for lab in begun)
    assert notebook == command
    number, parameters, a, b, *_, minutes, _, shape, last = notebook
    assert (number, last) == ("09", "concluded") and parameters | given == parameters
    assert isinstance(a, Setting) and isinstance(b, Setting) and isinstance(shape, Shape)
    assert a.name == ("zgc" if "a" in given else "lsm") and minutes == given["minutes"]


def test_without_a_budget_the_command_takes_its_own_and_the_notebook_the_sizes(begun: list[Asked]) -> None:
    for size in SIZES:
        by_notebook({"size": size})
        commands.compare_settings({"size": size})
    budgets = [lab.asked[-4] for lab in begun]
    assert budgets[::2] == list(comparison.MINUTES.values())
    assert budgets[1::2] == [commands.COMPARED_MINUTES] * len(SIZES)


def test_every_size_has_the_rounds_that_a_verdict_takes_within_its_promised_time() -> None:
    (repeat_s,) = (each.default for each in PLAN.parameters if each.name == "repeat_s")
    for minutes in comparison.MINUTES.values():
        assert rounds_within(minutes, Shape(64, 1, float(repeat_s), SEARCH_WARMUP_S)) >= FEWEST_ROUNDS
    assert PLAN.planned_s(SIZES["quick"]) <= QUICK_S
    assert PLAN.planned_s(SIZES["smoke"]) <= SMOKE_S


def test_runs_of_before_the_notebook_have_this_plan() -> None:
    assert plan_of("compare") is plan_of("09") is PLAN


@pytest.mark.parametrize("text", ["postgres", "engine=lsm,rocksdb", "engine=lsm,heap_mb=much", "engine=lsm,name=A B"])
def test_a_setting_that_can_not_be_is_refused_by_both_before_a_folder_is_made(
    text: str, begun: list[Asked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "RUNS", tmp_path)
    with pytest.raises(PlanError, match="setting"):
        batch.run_notebook("09", {"b": text})
    with pytest.raises(PlanError, match="setting"):
        commands.compare_settings({"b": text})
    with pytest.raises(PlanError, match="setting"):
        Asked("09", {}).compare("lsm", text, PUT)
    assert not begun and not list(tmp_path.iterdir())
