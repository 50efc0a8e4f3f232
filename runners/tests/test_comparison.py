"""Experiment 09: its notebook and `lab compare` are one, so they ask the same of the same words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import runners.lab
from runners.cli import work
from runners.cli.planned import COMPARED_MINUTES, comparison
from runners.design.block import COMPARED_WARMUP_S, FEWEST_STARTS, Interleaved
from runners.design.experiment import validate
from runners.design.load import SIZES, Shape
from runners.errors import PlanError
from runners.execution import batch
from runners.experiments.commands import TARGET_COMPARE
from runners.experiments.e09_compare import MINUTES
from runners.experiments.registry import experiment, plan_of
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


class Asked:
    """A lab that measures nothing, and keeps what was asked of it."""

    def __init__(self, number: str, parameters: dict[str, object]) -> None:
        plan = plan_of(number)
        self.parameters = validate(plan.parameters, parameters)
        self.blocks = {block.name: block for block in plan.blocks_of(self.parameters)}
        self.folder = RunFolder(Path("nowhere"))
        self.asked: list[Any] = [plan.number, self.parameters]

    def plan(self) -> None:
        """The notebook shows it."""

    def run(self, name: str) -> None:
        self.asked.append(self.blocks[name])

    def conclude(self) -> str:
        self.asked.append("concluded")
        return ""

    def close(self) -> None:
        """Nothing was started."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """The labs that were begun, whoever began them."""
    labs: list[Asked] = []

    class Lab:
        @staticmethod
        def begin(
            number: str, names: Mapping[str, object] | None = None, resume: Path | None = None, **parameters: object
        ) -> Asked:
            known = {parameter.name for parameter in PLAN.parameters}.intersection(names or ())
            labs.append(Asked(number, {name: (names or {})[name] for name in known} | parameters))
            return labs[-1]

    monkeypatch.setattr(runners.lab, "Lab", Lab)
    monkeypatch.setattr(work, "Lab", Lab)
    return labs


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
    work.measure(comparison(given))
    notebook, command = (lab.asked for lab in begun)
    assert notebook == command
    number, parameters, block, last = notebook
    assert (number, last) == ("09", "concluded") and parameters | given == parameters
    assert isinstance(block, Interleaved) and block.baseline == ("zgc" if "a" in given else "lsm")
    assert block.margin == parameters["see"] and block.rate_rps == parameters["rate_rps"]
    assert block.shape == Shape(
        parameters["connections"], parameters["threads"], parameters["repeat_s"], COMPARED_WARMUP_S
    )
    assert float(given["minutes"]) * 60 * 0.5 < block.planned_s <= float(given["minutes"]) * 60  # type: ignore[arg-type]


def test_without_a_budget_the_command_takes_its_own_and_the_notebook_the_sizes(begun: list[Asked]) -> None:
    for size in SIZES:
        by_notebook({"size": size})
        work.measure(comparison({"size": size}))
    blocks = [lab.asked[-2] for lab in begun]
    for size, (notebook, command) in zip(SIZES, zip(blocks[::2], blocks[1::2], strict=True), strict=True):
        assert notebook.starts == notebook.within(MINUTES[size]).starts >= FEWEST_STARTS
        assert command.starts == command.within(COMPARED_MINUTES).starts


def test_every_size_has_the_starts_that_a_verdict_takes_within_its_promised_time() -> None:
    for size, most_s in (("quick", QUICK_S), ("smoke", SMOKE_S)):
        asked = validate(PLAN.parameters, {"size": size})
        (block,) = PLAN.blocks_of(asked)
        assert isinstance(block, Interleaved) and block.starts >= FEWEST_STARTS
        assert PLAN.planned_s(asked) <= most_s


def test_a_setting_against_itself_has_two_names() -> None:
    (block,) = PLAN.blocks_of(validate(PLAN.parameters, {"a": "lsm", "b": "lsm"}))
    assert isinstance(block, Interleaved)
    assert [treatment.name for treatment in block.treatments] == ["lsm", "lsm-again"]


def test_two_targets_on_one_port_are_refused(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.yaml").write_text(
            f"name: {name}\ncommand: [server]\nurl: http://127.0.0.1:8080\nworkloads: {{get: {{path: /}}}}\n"
        )
    given = {"a": f"target={tmp_path / 'old.yaml'}", "b": f"target={tmp_path / 'new.yaml'}"}
    with pytest.raises(PlanError, match="give one of them another port"):
        TARGET_COMPARE.blocks_of(validate(TARGET_COMPARE.parameters, given))


def test_runs_of_before_the_notebook_have_this_plan() -> None:
    assert plan_of("compare") is plan_of("09") is PLAN


@pytest.mark.parametrize("text", ["postgres", "engine=lsm,rocksdb", "engine=lsm,heap_mb=much", "engine=lsm,name=A B"])
def test_a_setting_that_can_not_be_is_refused_by_both_before_a_folder_is_made(
    text: str, begun: list[Asked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "RUNS", tmp_path)
    with pytest.raises(PlanError, match="setting"):
        batch.run_notebook(PLAN, {"b": text})
    with pytest.raises(PlanError, match="setting"):
        comparison({"b": text})
    with pytest.raises(PlanError, match="setting"):
        Asked("09", {"b": text})
    assert not begun and not list(tmp_path.iterdir())
