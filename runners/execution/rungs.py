"""Rungs: loads at several rates, one after the other, on one server that is warm."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from runners.analysis import facts
from runners.analysis.meets import Outcome, meets
from runners.claims import climbing
from runners.claims.checks import RUNG
from runners.claims.climbing import Ladder, ladder_of
from runners.design.climb import most_again
from runners.design.objective import Objective
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import Size
from runners.design.workload import Workload
from runners.errors import MeasureError, PlanError
from runners.execution.campaign import Campaign
from runners.execution.warming import warm_up
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.storage.schema import LadderRecord
from runners.targets.base import Target
from runners.trial.profiler import ProfileSpec

AGAIN = "again"
WARM_S = 5.0  # planned for closed loops before the first probe of a server

Launch = Callable[[Setting], Target]
ShapeAt = Callable[[float], Shape]  # the shape of a rung, by its rate


def step_name(*parts: object) -> str:
    """A step's name from words: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts).lower()).strip("-")


class Rungs:
    """Takes ladders. A rung that the run folder already holds is not measured again."""

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
        self._server: Target | None = None
        self._setting: Setting | None = None

    def ladder(
        self, setting: Setting, workload: Workload, rates: Sequence[float], shape: Shape, published: Sequence[str] = ()
    ) -> Ladder:
        """One rung for each rate, in the order given, on one server that is warm."""
        if not rates or min(rates) <= 0:
            raise PlanError(f"rates {list(rates)}", "a ladder needs rates above zero", "give some")
        name = step_name(workload.name, setting.name)
        about = LadderRecord(name=name, published=tuple(published))
        self._server = None
        steps = [self._kept_rung(setting, workload, shape, about, index, rps) for index, rps in enumerate(rates, 1)]
        steps += self._again(setting, workload, lambda _: shape, about, steps, Objective(latencies=(), errors=1.0))
        return ladder_of(name, steps)

    def _again(
        self,
        setting: Setting,
        workload: Workload,
        shape_at: ShapeAt,
        about: LadderRecord,
        steps: Sequence[Step],
        objective: Objective,
    ) -> list[Step]:
        """Rungs that say nothing on the server, once more, as many as there is time for; the first ones are kept too.

        Which are chosen does not depend on what the server did: a rung that misses its objective is not repeated.
        """
        silent = [
            (index, step)
            for index, step in enumerate(steps, start=1)
            if meets(step, objective).outcome in (Outcome.GENERATOR, Outcome.INVALID)
        ]
        again = []
        for index, step in silent[: most_again(len(steps))]:
            rps = facts.offered_rps(step)
            again.append(self._kept_rung(setting, workload, shape_at(rps), about, index, rps, AGAIN))
        return again

    def _kept_rung(
        self,
        setting: Setting,
        workload: Workload,
        shape: Shape,
        about: LadderRecord,
        index: int,
        rps: float,
        *more: str,
    ) -> Step:
        """The rung that the run folder holds at this rate, or one that is measured now."""
        taken = self._taken(step_name("rung", about.name, f"{index:03d}", *more))
        if taken is not None and taken.record.offered_rps == rps:
            return taken
        return self._rung(setting, workload, shape, about, index, rps, *more)

    def _profiled(
        self,
        setting: Setting,
        workload: Workload,
        shape: Shape,
        about: LadderRecord,
        rps: float,
        events: tuple[str, ...],
    ) -> Step | None:
        """A rung once more, with the profiler; None when the server did not live that long."""
        name = step_name(climbing.PROFILED, about.name, f"{rps:.0f}")
        if (taken := self._taken(name)) is not None:
            return taken
        if self._server is None:  # all rungs were kept from an earlier session
            self._warm(setting, workload, shape)
        if self._server is None or not self._server.alive():
            return None
        spec = ProfileSpec.for_load(events, rps, (shape.duration_s or 0.0) + (shape.warmup_s or 0.0))
        rate = Rate(rps, "a rung of a ladder, once more with the profiler")
        more = {"ladder": about}
        return self._campaign.step(name, climbing.PROFILED, self._server, workload, rate, spec, shape, more)

    def _rung(
        self,
        setting: Setting,
        workload: Workload,
        shape: Shape,
        about: LadderRecord,
        index: int,
        rps: float,
        *more: str,
    ) -> Step:
        if self._server is None or not self._server.alive() or self._setting != setting:
            self._warm(setting, workload, shape)
        assert self._server is not None
        name = step_name("rung", about.name, f"{index:03d}", *more)
        rate = Rate(rps, "a rung of a ladder")
        return self._campaign.step(name, RUNG, self._server, workload, rate, shape=shape, more={"ladder": about})

    def _warm(self, setting: Setting, workload: Workload, shape: Shape) -> Step:
        """A server that is filled and warm: a closed loop, which also tells what it can carry."""
        self._server, self._setting = self._launch(setting), setting
        if workload.filled_keys:
            self._campaign.fill(self._server, workload)
        whole_s = max(min(WARM_S, 2 * self._size.probe_s), self._size.probe_s)
        name, closed = step_name("probe", workload.name, setting.name), Shape(shape.connections, shape.threads)
        step = warm_up(self._campaign, name, self._server, workload, closed, whole_s, kind="probe")
        if not facts.achieved_rps(step) > 0:
            raise MeasureError(f"warm-up of {setting.name}", facts.why_not(step), "see the server's log")
        return step

    def _taken(self, name: str) -> Step | None:
        found = [folder for folder in self._folder.steps() if folder.name == name]
        return read_step(found[0]) if found else None

    def _earlier(self, name: str) -> list[Step]:
        """The rungs of this ladder that an interrupted session left, as far as they are without a gap."""
        steps: list[Step] = []
        while (step := self._taken(step_name("rung", name, f"{len(steps) + 1:03d}"))) is not None:
            steps.append(step)
        return steps
