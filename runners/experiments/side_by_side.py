"""The words of a notebook that set stores or settings side by side: beside, ablate, together."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from runners import report
from runners.claims.ablations import Ablation
from runners.claims.climbing import Ladder
from runners.design import stores
from runners.design.ablations import Switch
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import Workload
from runners.execution.ablating import Ablating
from runners.execution.beside import beside, common_rate
from runners.execution.campaign import Campaign
from runners.execution.progress import Progress
from runners.execution.servers import Servers
from runners.experiments.searches import Searches
from runners.readers.run import Step
from runners.report.notebook import draw
from runners.targets.lab_server import RunningServer


class SideBySide(Searches, ABC):
    """A part of `Lab`, which sets what these words use."""

    _campaign: Campaign
    _progress: Progress
    _servers: Servers

    @abstractmethod
    def launch(self, setting: Setting | str, keep_data: bool = False) -> RunningServer:
        """`Lab.launch`."""

    def beside(self, settings: Sequence[Setting], workload: Workload, climbed: Sequence[Ladder]) -> list[Step]:
        """Experiment 06: these stores at one rate, a share of the lower knee, each clean and then profiled."""
        settings = [each for each in settings if each.name in {ladder.steps[0].subject for ladder in climbed}]
        if not settings:
            self._progress.say(f"None of the stores to profile was climbed with {workload.label}: left out")
            return []
        rate = common_rate(climbed, settings, stores.PROFILED_SHARE)
        warmup_s, duration_s = stores.LOADS_S[self.size.name]
        shape = Shape(int(self.parameters["connections"]), 1, duration_s, warmup_s)
        floor_s = stores.FLOOR_S[self.size.name]

        def ready(setting: Setting) -> RunningServer:
            server = self.launch(setting)
            if workload.filled_keys:
                self._campaign.fill(server, workload)
            return server

        warm_s = stores.WARM_UP_S[self.size.name]

        def measure() -> list[Step]:
            return beside(
                self._campaign, self.launch, ready, settings, workload, rate, shape, self.events, floor_s, warm_s
            )

        return self._seen(self._finished.once(f"{workload.name} beside each other", measure))

    def _seen(self, steps: list[Step]) -> list[Step]:
        profiled = [step for step in steps if step.profiled]
        draw(lambda: report.spectrum(*(s for s in steps if not s.profiled), floor=self._nearest_floor(steps[0])))
        if "cpu" in self.events and len(profiled) > 1:
            draw(lambda: report.differential(profiled[0], profiled[-1]))
        return steps

    def ablate(self, switch: Switch) -> Ablation:
        """Experiment 07: the settings of a switch in interleaved rounds, and the fault of one of them."""
        found = self._ablating().switch(switch, int(self.parameters["connections"]), self._drop)
        draw(lambda: report.ablation(found))
        return found

    def together(self) -> list[Step]:
        """Experiment 07: the published store and the one with every switch on, clean and profiled."""
        connections, ablating = int(self.parameters["connections"]), self._ablating()
        return self._seen(self._finished.once("together", lambda: ablating.together(connections, self.events)))

    def _drop(self, data: Path) -> None:
        self._servers.stop()
        shutil.rmtree(data, ignore_errors=True)

    def _ablating(self) -> Ablating:
        return Ablating(self.folder, self._campaign, self.size, self.launch)
