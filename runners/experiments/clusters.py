"""The words of a notebook about clusters: a setting of three nodes, and interleaved settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from runners import report
from runners.analysis import facts
from runners.claims.climbing import Ladder
from runners.design import report_5
from runners.design.parameter import Value
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import WARM_UP_S, Size
from runners.design.workload import Workload
from runners.execution.beside import in_time
from runners.execution.campaign import Campaign
from runners.execution.servers import Servers
from runners.execution.turns import TakingTurns
from runners.execution.warming import warm_up
from runners.experiments.e05_sharded_cluster import server_cores
from runners.experiments.searches import Searches
from runners.readers.run import Step
from runners.report.notebook import draw
from runners.targets.lab_server import RunningServer
from runners.trial.profiler import ProfileSpec


class Clusters(Searches, ABC):
    """A part of `Lab`, which sets what these words use."""

    parameters: dict[str, Value]
    size: Size
    events: tuple[str, ...]
    _campaign: Campaign
    _servers: Servers

    @abstractmethod
    def launch(self, setting: Setting | str, keep_data: bool = False) -> RunningServer:
        """`Lab.launch`."""

    @abstractmethod
    def floor(self, workload: Workload, rate: Rate, shape: Shape | None = None) -> Step:
        """`Lab.floor`."""

    def cluster(self, name: str) -> Setting:
        """A setting of three nodes in one JVM by its name (see plan.report_5), its threads for this machine's cores."""
        return report_5.setting(name, server_cores())

    def same_rates(self, climbed: Ladder, setting: Setting, workload: Workload) -> Ladder:
        """The rate steps of a ladder that was climbed, offered to another setting."""
        rates, plan = [facts.offered_rps(step) for step in climbed.rate_steps], report_5.LADDERS[self.size.name]
        found = self.ladder(
            setting,
            workload,
            rates,
            connections=int(self.parameters["connections"]),
            duration_s=plan.step_s,
            warmup_s=plan.probe_warmup_s,
        )
        draw(lambda: report.arrows(climbed, found))
        return found

    def in_depth(self, climbed: Ladder, setting: Setting, workload: Workload) -> Step:
        """A load well below the knee on a server of its own: the floor, clean with causes, then with the profiler."""
        base_rps = climbed.base.rps if climbed.base else max(facts.achieved_rps(step) for step in climbed.steps)
        share = report_5.STEADY_SHARE
        rate = Rate(
            float(f"{share * base_rps:.3g}"), f"{share:.0%} of the {climbed.base.what if climbed.base else 'most'}"
        )
        warmup_s, load_s = report_5.STEADY_S[self.size.name]
        shape = Shape(int(self.parameters["connections"]), 1, load_s, warmup_s)
        self.floor(workload, rate, shape)
        name = f"{workload.name}-{setting.name}"

        def measure() -> Step:
            server, whole_s = self.launch(setting), WARM_UP_S[self.size.name]
            warm_up(self._campaign, f"warm-{name}", server, workload, Shape(shape.connections), whole_s)
            step = in_time(self._campaign, name, "load", server, workload, rate, shape)
            if self.events:
                cpu_share = self._campaign.server_cpu_share(name)
                spec = ProfileSpec.for_load(self.events, rate.rps, warmup_s + load_s, cpu_share)
                self._campaign.step(f"{name}-profiled", "load", server, workload, rate, spec, shape)
            return step

        step = self._finished.once(f"{name} in depth", measure)
        draw(lambda: report.spectrum(step, floor=self._nearest_floor(step)))
        return step

    def take_turns(
        self,
        group: str,
        names: Sequence[str],
        workload: Workload,
        *,
        connections: int = 0,
        profiled: Sequence[str] = (),
    ) -> list[Step]:
        """Interleaved rounds of a group's settings at one rate; some once more with the profiler."""
        plan = report_5.TURNS[group][self.size.name]
        turns = TakingTurns(
            self._campaign, self._servers.beside, plan, connections or int(self.parameters["connections"])
        )
        settings = [self.cluster(name) for name in names]

        def measure() -> list[Step]:
            self._servers.stop()
            steps = turns.take(group, settings, workload, report_5.PUBLISHED_RPS, self.events, profiled)
            self._servers.stop()
            return steps

        steps = self._finished.once(f"turns of {group}", measure)
        draw(lambda: report.turns(steps, self._nearest_floor(steps[0])))
        return steps
