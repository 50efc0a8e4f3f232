"""A rate goes from the notebook to the generator's command line through few functions, and never back."""

from __future__ import annotations

import contextlib
import inspect
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from runners.design.block import Block, FixedRate, Interleaved
from runners.design.ladder import Ladder, WarmServer
from runners.design.load import PUT, SIZES, Shape
from runners.design.setting import Setting
from runners.execution.executor import Executor
from runners.generators import load as sending
from runners.generators.load import LoadSpec
from runners.lab import Lab
from runners.process.supervisor import Child
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import StepRecord
from runners.targets.group import Target
from runners.targets.lab_server import RunningServer
from runners.tests.fixtures.fake_measurement import FakeMeasurement, Machine, Server
from runners.trial.step import Instrument, measure_step

MOST_FUNCTIONS = 8
RATE_RPS = 800.0
SIZE, SHAPE = SIZES["smoke"], Shape(1, 1, 1.0, 0.2)
TREATMENTS = Setting.of("lsm"), Setting.of("rocksdb")
BLOCKS = (
    FixedRate("put", "one rate", TREATMENTS, PUT, SIZE, RATE_RPS),
    Ladder("ladder", "some rates", WarmServer(TREATMENTS[0], PUT, SIZE), SHAPE, rates=(RATE_RPS,)),
    Interleaved("pair", "one schedule", TREATMENTS, "lsm", PUT, SIZE, SHAPE, rate_rps=RATE_RPS),
)


class StartedError(Exception):
    """The generator's process would run now."""


class OneBlock(Lab):
    """A lab whose notebook runs one block."""

    def __init__(self, block: Block, executor: Executor, folder: RunFolder) -> None:
        self.blocks, self._executor, self.folder = {block.name: block}, executor, folder


class ToTheStart(FakeMeasurement):
    """Sends each load as the real one does until its generator's process is started, and invents the rest."""

    def __init__(self, folder: RunFolder, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, machine)
        self._measure, self._offered_rps = self._to_the_start, -1.0
        self.paths: list[list[tuple[str, str]]] = []
        self.commands: list[list[str]] = []
        monkeypatch.setattr(sending, "start", self._start)
        self._digits = sending.digits
        monkeypatch.setattr(sending, "digits", self._written)

    def _to_the_start(
        self, folder: StepFolder, server: Target, load: LoadSpec, instrument: Instrument, *more: Any, **named: Any
    ) -> StepRecord:
        self._offered_rps = load.rate_rps or -1.0
        with contextlib.suppress(StartedError):
            measure_step(folder, server, load, instrument)
        return self._invented(folder, server, load, instrument, *more, **named)

    def _written(self, value: float) -> str:
        """Note which functions of the lab are under way when the rate becomes a word of the command line."""
        if value == self._offered_rps:
            modules, frame = list[tuple[str, str]](), inspect.currentframe()
            while frame is not None:  # inspect.stack() would read the source of every frame
                modules.append((frame.f_globals["__name__"], frame.f_code.co_name))
                frame = frame.f_back
            own = [(m, f) for m, f in reversed(modules) if m.startswith("runners.") and ".tests." not in m]
            self.paths.append([(m, f) for m, f in own if f != "<listcomp>"])
        return self._digits(value)

    def _start(self, command: list[str], **_: object) -> Child:
        if self._offered_rps > 0:
            self.commands.append(command)
        raise StartedError


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_a_rate_reaches_the_command_line_in_few_functions_and_no_way_back(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine({name: Server(3_000.0) for name in ("lsm", "rocksdb", "noop")})
    folder = RunFolder.create(tmp_path, "01", "smoke", {"title": "t"})
    measurement = ToTheStart(folder, machine, monkeypatch)

    def launch(setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
        return machine.launch(setting)

    steps = OneBlock(block, Executor(folder, measurement, launch, measurement._progress), folder).run(block.name).steps

    offered = [step.record.offered_rps for step in steps if step.record.offered_rps]
    assert offered and [float(command[command.index("-R") + 1]) for command in measurement.commands] == offered
    assert len(measurement.paths) == len(offered)
    for path in measurement.paths:
        assert path[0] == ("runners.lab", "run") and path[-1][1] == "command", path
        assert len(set(path)) == len(path) <= MOST_FUNCTIONS, path
        rooms = [room for room, _ in groupby(module.split(".")[1] for module, _ in path)]
        assert len(set(rooms)) == len(rooms), f"{rooms} goes back"
