"""Settings that take turns: all their servers run, and each round measures every one of them, in an order by chance."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence

from runners.campaign import Campaign
from runners.errors import MeasureError
from runners.explain import facts, turns
from runners.explain.compare import FEWEST_ROUNDS
from runners.explain.compiling import not_warm
from runners.launch.server import RunningServer
from runners.measure.profiler import ProfileSpec
from runners.plan.rate import Rate, choose_rate
from runners.plan.report_5 import Turns
from runners.plan.setting import Setting
from runners.plan.shape import Shape
from runners.plan.workload import Workload
from runners.read.run import Step
from runners.warming import let_rest, rehearsal, warm_up

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
        about: dict[str, object] = {"group": group, "settings": list(servers), "seed": secrets.randbelow(2**31)}
        carried: dict[str, float] = {}
        for name, server in servers.items():
            if workload.filled_keys:
                self._campaign.fill(server, workload)
            carried[name] = self._warm(f"{group}-warm-{name}", server, workload, published_rps, {"turn": about})
        rate = choose_rate(published_rps, carried)
        self._campaign.say(f"{group}: {rate.rps:,.0f}/s will be offered to all: {rate.basis}")
        about |= {"rate_rps": rate.rps, "rate_basis": rate.basis, "planned": plan.rounds}
        chance = random.Random(int(str(about["seed"])))  # noqa: S311 - an order, no secret
        steps: list[Step] = []
        for number in range(1, plan.rounds + 1):
            for name in chance.sample(list(servers), len(servers)):
                steps += self._turn(servers[name], workload, rate, {"turn": {**about, "round": number}}, number)
            late = self._clock() - began > plan.bound_s(len(settings))
            if FEWEST_ROUNDS <= number < plan.rounds and late:
                self._campaign.say(
                    f"  the time is up after {number} of {plan.rounds} rounds: this machine is slow today"
                )
                break
        for name in profiled if events else ():
            steps.append(self._profiled(servers[name], workload, rate, {"turn": about}, events))
        return steps

    def _warm(
        self,
        name: str,
        server: RunningServer,
        workload: Workload,
        published_rps: float | None,
        more: dict[str, dict[str, object]],
    ) -> float:
        """What a server carries in closed loop when it is warm: closed loops, then turns that do not count."""
        plan, shape = self._plan, Shape(self._connections)
        closed = warm_up(self._campaign, name, server, workload, shape, plan.warm_s, kind=turns.WARM, more=more)
        for _ in range(plan.rehearsals):
            rate = choose_rate(published_rps, {server.subject: _carried(closed)})
            load = rehearsal(self._campaign, name, server, workload, rate, shape, plan.closed_s, turns.WARM, more)
            closed = rehearsal(self._campaign, name, server, workload, None, shape, plan.closed_s, turns.WARM, more)
            if not not_warm(load) and not not_warm(closed):
                break
        return _carried(closed)

    def _turn(
        self, server: RunningServer, workload: Workload, rate: Rate, more: dict[str, dict[str, object]], number: int
    ) -> list[Step]:
        """One setting's turn: what it carries, then its latency at the rate of all.

        What a server was still compiling in is measured again, once: it is the time after a start, and no setting's.
        """
        plan, name = self._plan, f"{more['turn']['group']}-{server.subject}-{number:02d}"
        closed = Shape(self._connections, 1, plan.closed_s)
        load = Shape(self._connections, 1, plan.load_s, plan.warmup_s)
        measured: list[Step] = []
        for suffix, kind, at, shape in (("closed", turns.CLOSED, None, closed), ("turn", turns.TURN, rate, load)):
            for again in range(1 + AGAIN):
                about = {"turn": {**more["turn"], "again": again}}
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
        more: dict[str, dict[str, object]],
        events: tuple[str, ...],
    ) -> Step:
        length_s = max(self._plan.load_s, turns.LEAST_PROFILED_S)
        spec = ProfileSpec.for_load(events, rate.rps, self._plan.warmup_s + length_s)
        shape = Shape(self._connections, 1, length_s, self._plan.warmup_s)
        name = f"{more['turn']['group']}-{server.subject}-profiled"
        return self._campaign.step(name, turns.PROFILED, server, workload, rate, spec, shape, more)


def _carried(step: Step) -> float:
    """Requests a second of a closed loop; raises MeasureError where it answered nothing."""
    rps = facts.achieved_rps(step)
    if not rps > 0:
        raise MeasureError(f"warm-up of {step.subject}", facts.why_not(step), "see the server's log")
    return rps
