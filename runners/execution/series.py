"""Interleaved rounds of two settings, until their difference is known or the time is up; and one load alone."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from runners.analysis import facts
from runners.analysis.comparison import FEWEST_ROUNDS, PRIMARY, order, settled
from runners.claims.comparing import CLOSED, REPEAT, Repeats, repeats_of, said
from runners.design.block import LOAD, WarmServer
from runners.design.ladder import step_name
from runners.design.rate import Rate, choose_rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import Size
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.budget import CLOSED_S, rounds_within
from runners.execution.campaign import Campaign
from runners.execution.warming import warm_up
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.storage.schema import COMPARISON, InterleavedRecord
from runners.targets.base import Target

OVERTIME = 1.25  # of the budget: rounds that take longer than planned may end this much later

Launch = Callable[[Setting], Target]


class Series:
    """Takes comparisons and single loads. A step that the run folder already holds is not measured again."""

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

    def compare(
        self, a: Setting, b: Setting, workload: Workload, given_rps: float, minutes: float, see: float, shape: Shape
    ) -> Repeats:
        """Measure two settings in rounds until their difference is known, or the time is up."""
        planned, began = rounds_within(minutes, shape), self._clock()
        steps = [read_step(folder) for folder in self._folder.steps()]
        earlier = next((step.record.interleaved for step in steps if step.record.interleaved), None)
        if earlier is not None:  # what was planned stays planned, or looking would not be accounted for
            about = earlier
            rate = Rate(about.rate_rps, about.rate_basis)
            planned = about.planned_rounds
        else:
            carried = {setting.name: facts.achieved_rps(self._warm(setting, workload, shape)[1]) for setting in (a, b)}
            rate = choose_rate(None, carried, given_rps)
            self._campaign.say(f"{workload.label}: {rate.rps:,.0f}/s will be offered to both: {rate.basis}")
            about = InterleavedRecord(
                family=COMPARISON, name="compare", treatments=(a.name, b.name), planned_rounds=planned,
                smallest_difference=see, rate_rps=rate.rps, rate_basis=rate.basis, seed=secrets.randbelow(2**31),
            )  # fmt: skip
        settings = {"a": a, "b": b}
        sides, taken = order(planned, about.seed), {step.name for step in steps}
        for number in range(1, planned + 1):
            for side in sides[number - 1].lower():
                names = [step_name(kind, f"{number:03d}", side) for kind in ("closed", "repeat")]
                if names[1] not in taken:
                    more = {"interleaved": replace(about, arm=side), "round": number}
                    steps += self._repeat(settings[side], workload, rate, shape, names, more)
            found = repeats_of(steps)
            if found is None:
                continue
            if len(found.left_out) >= FEWEST_ROUNDS and not found.rounds:
                remedy = "offer less (-p rate_rps=…), end other work, or see the server's log"
                raise MeasureError("the comparison", f"no round is usable: {found.left_out[-1][1]}", remedy)
            for each in found.found:
                if each.quantity.name == PRIMARY:
                    self._campaign.say(f"  round {number} of {planned}: {said(each, *found.names, len(found.found))}")
            if settled(found.found, planned):
                break
            if len(found.rounds) >= FEWEST_ROUNDS and self._clock() - began > OVERTIME * 60 * minutes:
                self._campaign.say(f"  the time is up after {number} of {planned} rounds: this machine is slow today")
                break
        last = repeats_of(steps)
        assert last is not None  # at least four rounds were measured
        return last

    def load(self, setting: Setting, workload: Workload, given_rps: float, shape: Shape) -> Step:
        """One load on a warm server, at the rate that is given, or (0) at a share of what a closed loop reached."""
        name = step_name(workload.name, setting.name)
        if taken := self._folder.named(name):
            return read_step(taken[0])
        server, closed = self._warm(setting, workload, shape)
        rate = choose_rate(None, {setting.name: facts.achieved_rps(closed)}, given_rps)
        self._campaign.say(f"{workload.label}: {rate.rps:,.0f}/s will be offered: {rate.basis}")
        return self._campaign.step(name, LOAD, server, workload, rate, shape=shape)

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

    def _repeat(
        self,
        setting: Setting,
        workload: Workload,
        rate: Rate,
        shape: Shape,
        names: Sequence[str],
        more: Mapping[str, object],
    ) -> list[Step]:
        """One repeat of one setting: a new server, a closed loop that warms it, the load."""
        server = self._launch(setting)
        if workload.filled_keys:
            self._campaign.fill(server, workload)
        closed = Shape(shape.connections, shape.threads, CLOSED_S)
        return [
            self._campaign.step(names[0], CLOSED, server, workload, None, shape=closed, more=more),
            self._campaign.step(names[1], REPEAT, server, workload, rate, shape=shape, more=more),
        ]
