"""Experiment 07's steps: a switch's settings on the same data, in interleaved rounds, and the fault of one of them."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from runners.analysis import facts
from runners.analysis.comparison import FEWEST_ROUNDS
from runners.claims.ablations import CLOSED, FAULT, REPEAT, Ablation, ablation_of, decided, gain_said, switch_of
from runners.design.ablations import LOADS_S, ROUNDS, TOGETHER, Switch, workload
from runners.design.rate import Rate, choose_rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import WARM_UP_S, Size
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.beside import beside
from runners.execution.campaign import Campaign
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.storage.schema import ABLATION, FaultRecord, InterleavedRecord
from runners.targets.lab_server import RunningServer
from runners.trial.answers import heads

OVERTIME = 1.5  # of what a switch is planned to take: a slow machine ends its rounds with what there is
ANSWERS = 1_000


class Launch(Protocol):
    """`Lab.launch`."""

    def __call__(self, setting: Setting, keep_data: bool = False) -> RunningServer: ...


def round_order(names: list[str], number: int, seed: int) -> list[str]:
    """Who goes when in a round: drawn by chance, and every second round the reverse of the one before it."""
    order = random.Random(f"{seed} {(number - 1) // 2}").sample(names, len(names))  # noqa: S311 - no secret
    return order if number % 2 else order[::-1]


class Ablating:
    """Takes the rounds of switches. What the run folder holds already is not measured again."""

    def __init__(
        self,
        folder: RunFolder,
        campaign: Campaign,
        size: Size,
        launch: Launch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._campaign, self._size, self._launch = folder, campaign, size, launch
        self._clock = clock

    def switch(self, switch: Switch, connections: int, drop: Callable[[Path], None]) -> Ablation:
        """Measure every setting of a switch in rounds, until each is decided or the rounds are over.

        For reads each setting fills a store once, which all its repeats use; `drop` removes it at the end. Raises
        MeasureError when a setting answers nothing.
        """
        rounds, load = ROUNDS[self._size.name], workload(switch.workload, self._size.name)
        steps = [step for step in self._steps() if switch_of(step) == switch.name]
        missing = [
            (number, setting)
            for number in range(1, rounds.count + 1)
            for setting in switch.settings
            if self._name(REPEAT, setting, number) not in {step.name for step in steps}
        ]
        about = steps[0].record.interleaved if steps else None
        if missing:
            rate = self._prepare(switch, load, connections, CLOSED)
            about = about or InterleavedRecord(
                family=ABLATION, name=switch.name, treatments=tuple(setting.name for setting in switch.settings),
                planned_rounds=rounds.count, smallest_difference=rounds.see, seed=secrets.randbelow(2**31),
                rate_rps=rate.rps, rate_basis=rate.basis,
            )  # fmt: skip
        assert about is not None
        began, planned_s = self._clock(), rounds.count * len(switch.settings) * rounds.repeat_s()
        for number in range(1, rounds.count + 1):
            for name in round_order([setting.name for setting in switch.settings], number, about.seed):
                setting = next(each for each in switch.settings if each.name == name)
                if (number, setting) in missing:
                    steps += self._repeat(setting, load, number, connections, about)
            found = ablation_of(switch, steps)
            if number >= FEWEST_ROUNDS and (decided(found) or self._clock() - began > OVERTIME * planned_s):
                break
        for setting in switch.settings:
            drop(self._folder.server_folder(setting.name) / "data")
        if switch.fault is not None:
            self._fault(switch, switch.fault, load)
        found = ablation_of(switch, steps)
        for row in found.rows:
            self._campaign.say(f"  {switch.title}: {gain_said(row)}")
        return found

    def together(self, connections: int, events: tuple[str, ...]) -> list[Step]:
        """The published store and the one with every switch on, at one rate: clean, then with the profiler."""
        load = workload(TOGETHER.workload, self._size.name)
        rate = self._prepare(TOGETHER, load, connections, "probe")
        warmup_s, duration_s, floor_s = LOADS_S[self._size.name]
        shape = Shape(connections, 1, duration_s, warmup_s)

        def ready(setting: Setting) -> RunningServer:
            return self._launch(setting, keep_data=True)

        settings, warm_s = TOGETHER.settings, WARM_UP_S[self._size.name]
        return beside(self._campaign, self._launch, ready, settings, load, rate, shape, events, floor_s, warm_s)

    def _prepare(self, switch: Switch, load: Workload, connections: int, kind: str) -> Rate:
        """Fill the stores, and choose one rate for all: a share of what the weakest carries in closed loop."""
        carried, shape = {}, Shape(connections, 1, ROUNDS[self._size.name].closed_s)
        for setting in switch.settings:
            server = self._launch(setting)
            if load.filled_keys:
                self._campaign.fill(server, load)
            step = self._campaign.step(f"probe-{setting.name}", kind, server, load, None, shape=shape)
            carried[setting.name] = facts.achieved_rps(step)
            if not carried[setting.name] > 0:
                raise MeasureError(f"probe of {setting.name}", facts.why_not(step), "see the server's log")
        rate = choose_rate(None, carried, 0)
        self._campaign.say(f"{switch.title}, {load.label}: {rate.rps:,.0f}/s will be offered to all: {rate.basis}")
        return rate

    def _repeat(
        self, setting: Setting, load: Workload, number: int, connections: int, about: InterleavedRecord
    ) -> list[Step]:
        """One repeat: a new server, on the data that its setting wrote where it reads; a closed loop, then the load."""
        rounds = ROUNDS[self._size.name]
        server = self._launch(setting, keep_data=bool(load.filled_keys))
        more = {"interleaved": replace(about, arm=setting.name), "round": number}
        closed = Shape(connections, 1, rounds.closed_s)
        shape = Shape(connections, 1, rounds.load_s, rounds.warmup_s)
        rate = Rate(about.rate_rps, about.rate_basis)
        names = [self._name(kind, setting, number) for kind in (CLOSED, REPEAT)]
        return [
            self._campaign.step(names[0], CLOSED, server, load, None, shape=closed, more=more),
            self._campaign.step(names[1], REPEAT, server, load, rate, shape=shape, more=more),
        ]

    def _fault(self, switch: Switch, setting: Setting, load: Workload) -> None:
        """The answers of the broken setting one by one; then, on a new server, a closed loop of one connection."""
        if any(step.kind == FAULT and step.subject == setting.name for step in self._steps()):
            return
        more = {"fault": FaultRecord(switch=switch.name, heads=tuple(heads(self._launch(setting), ANSWERS)))}
        server = self._launch(setting)
        shape = Shape(1, 1, max(1.0, ROUNDS[self._size.name].load_s))
        self._campaign.step(f"{FAULT}-{setting.name}", FAULT, server, load, None, shape=shape, more=more)

    def _steps(self) -> list[Step]:
        return [read_step(folder) for folder in self._folder.steps()]

    @staticmethod
    def _name(kind: str, setting: Setting, number: int) -> str:
        return f"{kind}-{number:03d}-{setting.name}"
