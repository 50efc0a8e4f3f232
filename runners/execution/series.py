"""Load one server that is warm, at a rate that is given or follows from a closed loop."""

from __future__ import annotations

from collections.abc import Callable

from runners.analysis import facts
from runners.design.block import WarmServer
from runners.design.ladder import step_name
from runners.design.rate import choose_rate
from runners.design.session import LOAD
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import Size
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.campaign import Campaign
from runners.execution.warming import warm_up
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.targets.base import Target
from runners.trial.profiler import ProfileSpec

Launch = Callable[[Setting], Target]


class Series:
    """Takes single loads. A step that the run folder already holds is not measured again."""

    def __init__(self, folder: RunFolder, campaign: Campaign, size: Size, launch: Launch) -> None:
        self._folder, self._campaign, self._size, self._launch = folder, campaign, size, launch

    def load(
        self, setting: Setting, workload: Workload, given_rps: float, shape: Shape, profile: tuple[str, ...] = ()
    ) -> list[Step]:
        """One load on a warm server, at the rate that is given, or (0) at a share of what a closed loop reached.

        With events to `profile`, the same once more while they are recorded.
        """
        name = step_name(workload.name, setting.name)
        names = [name, *([f"{name}-profiled"] if profile else [])]
        if all(taken := [self._folder.named(each) for each in names]):
            return [read_step(each[0]) for each in taken]
        server, closed = self._warm(setting, workload, shape)
        rate = choose_rate(None, {setting.name: facts.achieved_rps(closed)}, given_rps)
        self._campaign.say(f"{workload.label}: {rate.rps:,.0f}/s will be offered: {rate.basis}")
        steps = [self._campaign.step(name, LOAD, server, workload, rate, shape=shape)]
        if profile:
            clean = steps[0].record
            length_s = (clean.warmup_s or 0.0) + (clean.duration_s or 0.0)
            spec = ProfileSpec.for_load(profile, rate.rps, length_s, self._campaign.server_cpu_share(name))
            steps.append(self._campaign.step(names[1], LOAD, server, workload, rate, spec, shape))
        return steps

    def _warm(self, setting: Setting, workload: Workload, shape: Shape) -> tuple[Target, Step]:
        """A server that is filled and warm, and what a closed loop reaches on it."""
        server, (trial,) = self._launch(setting), WarmServer(setting, workload, self._size).warm_up(shape).trials
        if workload.filled_keys:
            self._campaign.fill(server, workload)
        loops, whole_s = Shape(shape.connections, shape.threads), trial.shape.duration_s or 0.0
        step = warm_up(self._campaign, trial.name, server, workload, loops, whole_s, kind=trial.role)
        if not facts.achieved_rps(step) > 0:
            raise MeasureError(f"warm-up of {setting.name}", facts.why_not(step), "see the server's log")
        return server, step
