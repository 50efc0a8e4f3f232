"""Settings that take turns: all their servers run, and each round measures every one of them, in an order by chance."""

from __future__ import annotations

import dataclasses
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from runners.analysis import facts
from runners.analysis.comparison import FEWEST_ROUNDS
from runners.analysis.steady_state import not_warm
from runners.claims import turns
from runners.design.rate import Rate, choose_rate
from runners.design.report_5 import Turns
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.campaign import Campaign
from runners.execution.warming import all_compiling_anywhere, let_rest, rehearsal
from runners.readers.run import Step
from runners.storage.schema import CLUSTER, InterleavedRecord
from runners.targets.lab_server import RunningServer
from runners.trial.profiler import ProfileSpec

Launch = Callable[[Setting], RunningServer]
AGAIN = 1  # times that a load is taken again whose server was still compiling


class TakingTurns:
    """Runs one group of settings. Servers that wait for their turn do nothing, so they may all run at once."""

    def __init__(
        self,
        campaign: Campaign,
        launch: Launch,
        plan: Turns,
        connections: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._campaign, self._launch, self._plan, self._connections = campaign, launch, plan, connections
        self._clock = clock

    def take(
        self,
        group: str,
        settings: Sequence[Setting],
        workload: Workload,
        published_rps: float | None,
        events: tuple[str, ...] = (),
        profiled: Sequence[str] = (),
    ) -> list[Step]:
        """Rounds of every setting, at one rate that all carry; then those named in `profiled` once more.

        All planned rounds, or as many as fit into the plan's bound, FEWEST_ROUNDS at least.
        The rate is the published one, or a share of what the weakest carries. Raises MeasureError when a setting
        answers nothing.
        """
        plan, began = self._plan, self._clock()
        servers = {setting.name: self._launch(setting) for setting in settings}
        about = InterleavedRecord(family=CLUSTER, name=group, treatments=tuple(servers), seed=secrets.randbelow(2**31))
        for server in servers.values() if workload.filled_keys else ():
            self._campaign.fill(server, workload)
        carried = self._warmed(group, servers, workload, published_rps, {"interleaved": about})
        rate = choose_rate(published_rps, carried)
        self._campaign.say(f"{group}: {rate.rps:,.0f}/s will be offered to all: {rate.basis}")
        about = replace(about, rate_rps=rate.rps, rate_basis=rate.basis, planned_rounds=plan.rounds)
        chance = random.Random(about.seed)  # noqa: S311 - an order, no secret
        steps: list[Step] = []
        for number in range(1, plan.rounds + 1):
            for name in chance.sample(list(servers), len(servers)):
                steps += self._turn(servers[name], workload, rate, about, number)
            late = self._clock() - began > plan.bound_s(len(settings))
            if FEWEST_ROUNDS <= number < plan.rounds and late:
                self._campaign.say(
                    f"  the time is up after {number} of {plan.rounds} rounds: this machine is slow today"
                )
                break
        for name in profiled if events else ():
            steps.append(self._profiled(servers[name], workload, rate, about, events))
        return steps

    def _warmed(
        self,
        group: str,
        servers: Mapping[str, RunningServer],
        workload: Workload,
        published_rps: float | None,
        more: dict[str, object],
    ) -> dict[str, float]:
        """What each server carries in closed loop when it is warm.

        They are warmed by turns and without a rest between: while one is loaded, the compilers of the others work off
        what they have to do. First closed loops, then turns that do not count; then all rest.
        """
        plan, campaign, closed, carried = self._plan, self._campaign, dict[str, Step](), dict[str, float]()
        shape = Shape(self._connections)

        def load(name: str, rate: Rate | None, length_s: float) -> Step:
            step = f"{group}-warm-{name}"
            return rehearsal(campaign, step, servers[name], workload, rate, shape, length_s, turns.WARM, more)

        with all_compiling_anywhere(servers.values()):
            for name in servers:
                closed[name] = load(name, None, plan.warm_s)
            for _ in range(plan.rehearsals):
                for name in servers:
                    load(name, choose_rate(published_rps, {name: _carried(closed[name])}), plan.closed_s)
                    closed[name] = load(name, None, plan.closed_s)
                if not any(map(not_warm, closed.values())):
                    break
        last = dataclasses.replace(shape, duration_s=plan.closed_s)
        for name, server in servers.items():
            step = campaign.step(f"{group}-warm-{name}", turns.WARM, server, workload, None, shape=last, more=more)
            carried[name] = _carried(step)
            let_rest(server, step)
        return carried

    def _turn(
        self, server: RunningServer, workload: Workload, rate: Rate, interleaved: InterleavedRecord, number: int
    ) -> list[Step]:
        """One setting's turn: what it carries, then its latency at the rate of all.

        What a server was still compiling in is measured again, once: it is the time after a start, and no setting's.
        """
        plan, name = self._plan, f"{interleaved.name}-{server.subject}-{number:02d}"
        closed = Shape(self._connections, 1, plan.closed_s)
        load = Shape(self._connections, 1, plan.load_s, plan.warmup_s)
        measured: list[Step] = []
        for suffix, kind, at, shape in (("closed", turns.CLOSED, None, closed), ("turn", turns.TURN, rate, load)):
            for again in range(1 + AGAIN):
                about = {"interleaved": replace(interleaved, again=again), "round": number}
                step = self._campaign.step(f"{name}-{suffix}", kind, server, workload, at, shape=shape, more=about)
                let_rest(server, step)
                if not not_warm(step) or not server.alive():
                    break
            measured.append(step)
        return measured

    def _profiled(
        self,
        server: RunningServer,
        workload: Workload,
        rate: Rate,
        interleaved: InterleavedRecord,
        events: tuple[str, ...],
    ) -> Step:
        length_s = max(self._plan.load_s, turns.LEAST_PROFILED_S)
        spec = ProfileSpec.for_load(events, rate.rps, self._plan.warmup_s + length_s)
        shape = Shape(self._connections, 1, length_s, self._plan.warmup_s)
        name = f"{interleaved.name}-{server.subject}-profiled"
        return self._campaign.step(
            name, turns.PROFILED, server, workload, rate, spec, shape, {"interleaved": interleaved}
        )


def _carried(step: Step) -> float:
    """Requests a second of a closed loop; raises MeasureError where it answered nothing."""
    rps = facts.achieved_rps(step)
    if not rps > 0:
        raise MeasureError(f"warm-up of {step.subject}", facts.why_not(step), "see the server's log")
    return rps
