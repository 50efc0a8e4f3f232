"""A block that is interrupted says how the run is resumed, and the run is marked at once."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from runners.errors import PlanError
from runners.execution.executor import Executor
from runners.experiments.registry import experiment
from runners.lab import Lab
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder, StoreError


class Interrupting:
    """An executor that is interrupted the first time."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.folder: RunFolder

    def run(self, _: object) -> list[Step]:
        self.statuses.append(self.folder.manifest()["status"])
        if len(self.statuses) == 1:
            raise KeyboardInterrupt
        return []


class Unlaunched(Lab):
    """A lab without servers."""

    def __init__(self, executor: Interrupting, folder: RunFolder) -> None:
        self.experiment = experiment("01")
        self.blocks = {block.name: block for block in self.experiment.blocks_of(self.experiment.checked({}))}
        self.folder = executor.folder = folder
        self._executor = cast("Executor", executor)
        self._servers = self  # type: ignore[assignment]

    def stop(self) -> None:
        return


def test_an_interrupted_block_names_the_resuming_call_and_may_be_run_again(tmp_path: Path) -> None:
    executor = Interrupting()
    lab = Unlaunched(executor, RunFolder.create(tmp_path, "01", "smoke", {"title": "t"}))
    with pytest.raises(KeyboardInterrupt, match=r'Lab\.begin\("01", globals\(\), resume=.* resumes the run'):
        lab.run("put")
    assert lab.folder.manifest()["status"] == "interrupted"
    assert lab.run("put").steps == ()
    assert executor.statuses == ["running", "running"]


def test_a_run_is_resumed_by_its_id_and_an_unknown_id_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    monkeypatch.setattr("runners.lab.prepare", lambda generator, *_, **__: built.append(generator))
    monkeypatch.setattr("runners.lab.circumstances", lambda _: {})
    monkeypatch.setattr("runners.storage.run_folder.RUNS", tmp_path)
    with pytest.raises(StoreError, match="01-none: not a run folder"):
        Lab.begin("01", resume="01-none")
    assert not built
    other = RunFolder.create(tmp_path, "02", "smoke", {"title": "t"})
    with pytest.raises(PlanError, match=f"{other.path}: it is a run of 02, not of 01"):
        Lab.begin("01", resume=other.name)
    assert built == ["truepace"]
