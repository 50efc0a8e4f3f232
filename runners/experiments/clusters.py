"""The words of a notebook about clusters: a setting of three nodes, settings that take turns, a node that dies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from runners import report
from runners.analysis import facts, outages
from runners.claims.climbing import Ladder
from runners.claims.line import line
from runners.design import report_5
from runners.design.parameter import Value
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import WARM_UP_S, Size
from runners.design.workload import Workload
from runners.errors import MeasureError, ToolError
from runners.execution.beside import in_time
from runners.execution.campaign import Campaign
from runners.execution.servers import Servers
from runners.execution.turns import TakingTurns
from runners.execution.warming import warm_up
from runners.experiments.searches import Searches
from runners.generators.generators import generators
from runners.generators.load import LoadSpec
from runners.process.cpu_placement import usable_cpus
from runners.process.ports import in_a_row
from runners.readers.errors import ReadError
from runners.readers.load_json import read_load_json
from runners.readers.run import Step
from runners.report.cell import draw
from runners.storage.run_folder import StepFolder
from runners.targets.cluster import RunningNodes, launch_nodes
from runners.targets.lab_server import RunningServer
from runners.toolchain.workshop import Workshop
from runners.trial.outage import Outages
from runners.trial.profiler import ProfileSpec

LAST = report_5.NODES - 1  # the node that dies; the load goes to the first
OUTAGE_SHARE = 0.5  # of what a closed loop reached: a rate that two nodes carry too


class Clusters(Searches, ABC):
    """A part of `Lab`, which sets what these words use."""

    parameters: dict[str, Value]
    size: Size
    events: tuple[str, ...]
    _campaign: Campaign
    _shop: Workshop
    _servers: Servers

    @abstractmethod
    def launch(self, setting: Setting | str, keep_data: bool = False) -> RunningServer:
        """`Lab.launch`."""

    @abstractmethod
    def floor(self, workload: Workload, rate: Rate, shape: Shape | None = None) -> Step:
        """`Lab.floor`."""

    def cluster(self, name: str) -> Setting:
        """A setting of three nodes in one JVM by its name (see plan.report_5), its threads for this machine's cores."""
        return report_5.setting(name, self._cores())

    def _cores(self) -> int:
        """Cores that a server may use here."""
        return len(self._servers.cpus or usable_cpus())

    def same_rates(self, climbed: Ladder, setting: Setting, workload: Workload) -> Ladder:
        """The rungs of a ladder that was climbed, offered to another setting."""
        rates, plan = [facts.offered_rps(step) for step in climbed.rungs], report_5.LADDERS[self.size.name]
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

    def outage(self, name: str, workload: Workload) -> Step:
        """Three processes under a load to the first; the last is killed, and started again."""
        step = self._finished.once(f"outage of {name}", lambda: self._killed(name, workload))
        draw(lambda: report.outage([step], self._nearest_floor(step)))
        return step

    def _killed(self, name: str, workload: Workload) -> Step:
        self._servers.stop()
        plan = report_5.OUTAGE_TIMES[self.size.name]
        first = in_a_row(report_5.NODES)
        ports = range(first, first + report_5.NODES)
        nodes = launch_nodes(self._servers.specify(report_5.apart(name, self._cores())), ports)
        try:
            shape = Shape(int(self.parameters["connections"]), 1, plan.warm_s)
            warm = self._campaign.step(f"outage-warm-{name}", "outage-warm", nodes.first, workload, None, shape=shape)
            carried = facts.achieved_rps(warm)
            if not carried > 0:
                raise MeasureError(f"warm-up of {name}", facts.why_not(warm), "see the server's log")
            return self._outage(name, nodes, workload, float(f"{OUTAGE_SHARE * carried:.2g}"), plan)
        finally:
            nodes.stop()

    def _outage(
        self, name: str, nodes: RunningNodes, workload: Workload, rate_rps: float, plan: report_5.Outage
    ) -> Step:
        generator = generators(self._shop).get("truepace")
        if generator is None:
            raise ToolError("load generator", "only ours tells errors by the second", "install Rust, then run again")
        load = LoadSpec(
            nodes.first.url, workload.script, rate_rps, plan.load_s, plan.warmup_s,
            int(self.parameters["connections"]), script_arguments=workload.arguments,
        )  # fmt: skip
        lead_s = generator.lead_s(load)
        dying = Outages(nodes, LAST, lead_s + plan.kill_at_s, lead_s + plan.launch_at_s)

        def told(folder: StepFolder) -> dict[str, Any]:
            return {"outage": replace(dying.finish(), start_unix_us=_start_us(folder))}

        extra = {
            "label": f"{name}, a node killed", "role": outages.KIND, "workload": workload.name,
            "rate_basis": f"{OUTAGE_SHARE:.0%} of what a closed loop reached",
        }  # fmt: skip
        try:
            step = self._campaign.measured(
                f"outage-{name}", extra, nodes.first, load, generator, tick=lambda _s: dying.begin(), after=told
            )
        finally:
            dying.finish()
        self._campaign.say(line(step))
        return step


def _start_us(folder: StepFolder) -> float | None:
    """When the recorded window began, as the generator tells it."""
    try:
        return read_load_json(folder.load_json).start_unix_us
    except ReadError:
        return None
