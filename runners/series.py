"""Many loads of one kind in a row: the rungs of a ladder, the probes of a search, the repeats of two settings."""

from __future__ import annotations

import dataclasses
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from runners.budget import CLOSED_S, rounds_within, seconds_of_a_probe
from runners.campaign import Campaign
from runners.climb import hunt
from runners.errors import MeasureError, PlanError
from runners.explain import climbing, facts
from runners.explain.checks import RUNG
from runners.explain.climbing import Ladder, ladder_of
from runners.explain.compare import FEWEST_ROUNDS, PRIMARY, order, settled
from runners.explain.comparing import CLOSED, REPEAT, Repeats, repeats_of, said
from runners.explain.knee import Kind, Search
from runners.explain.meets import Outcome, meets
from runners.launch.server import RunningServer
from runners.measure.profiler import ProfileSpec
from runners.plan.climb import Climb, rung_rates
from runners.plan.objective import Objective
from runners.plan.rate import Rate, choose_rate
from runners.plan.setting import Setting
from runners.plan.shape import Shape
from runners.plan.size import Size
from runners.plan.workload import Workload
from runners.read.reading import read_step
from runners.read.run import Step
from runners.store import RunFolder

START_SHARE = 0.5  # of what a closed loop reached: a first rate that most servers carry
WARM_S = 5.0  # of closed loop, before the first probe of a server
OVERTIME = 1.25  # of the budget: rounds that take longer than planned may end this much later

Launch = Callable[[Setting], RunningServer]


def step_name(*parts: object) -> str:
    """A step's name from words: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts).lower()).strip("-")


class Series:
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
        self._server: RunningServer | None = None
        self._setting: Setting | None = None

    def ladder(
        self, setting: Setting, workload: Workload, rates: Sequence[float], shape: Shape, published: Sequence[str] = ()
    ) -> Ladder:
        """One rung for each rate, in the order given, on one server that is warm."""
        if not rates or min(rates) <= 0:
            raise PlanError(f"rates {list(rates)}", "a ladder needs rates above zero", "give some")
        name = step_name(workload.name, setting.name)
        about: dict[str, object] = {"name": name, "published": list(published)}
        self._server = None
        steps = []
        for index, rps in enumerate(rates, start=1):
            taken = self._taken(step_name("rung", name, f"{index:03d}"))
            if taken is not None and float(taken.meta["offered_rate_rps"]) == rps:
                steps.append(taken)
            else:
                steps.append(self._rung(setting, workload, shape, about, index, rps))
        return ladder_of(name, steps)

    def knee(
        self,
        setting: Setting,
        workload: Workload,
        objective: Objective,
        minutes: float,
        shape: Shape,
        limits: Mapping[str, float],
    ) -> Ladder:
        """Search the highest rate that meets the objective; `limits` are `low_rps`, `high_rps`, `precision`."""
        name = step_name(workload.name, setting.name)
        rung_s = seconds_of_a_probe(minutes, shape, limits)
        taken = self._earlier(name)
        self._server = None
        if taken:
            search = Search(**taken[0].meta["ladder"]["search"])
        else:
            carried = facts.achieved_rps(self._warm(setting, workload, shape))
            search = Search(start_rps=float(f"{START_SHARE * carried:.3g}"), **limits)
        about: dict[str, object] = {
            "name": name,
            "objective": objective.text,
            "search": asdict(search),
            "minutes": minutes,
        }

        def measure(index: int, rps: float) -> Step:
            step = self._rung(setting, workload, shape, about, index, rps)
            met = meets(step, objective)
            self._campaign.say(
                f"  probe {index}: {rps:,.0f}/s {climbing_word(met.outcome)} {'; '.join(met.missed)}".rstrip()
            )
            return step

        _, steps = hunt(taken, measure, search, objective, minutes * 60, rung_s)
        if not steps:
            raise MeasureError(f"knee of {name}", "no probe was measured", "give more minutes")
        return ladder_of(name, steps)

    def climb(
        self,
        setting: Setting,
        workload: Workload,
        objective: Objective,
        plan: Climb,
        load: Shape,
        published: Mapping[str, float],
        events: tuple[str, ...] = (),
    ) -> Ladder:
        """The knee, then rungs at shares of it and at the published rates within reach, then some with the profiler.

        `published` maps the names of outputs to the rates that they were run at.
        """
        name = step_name(workload.name, setting.name)
        base: dict[str, object] = {"what": "knee"}
        base_rps = 0.0
        if plan.knee_minutes:
            probes = dataclasses.replace(load, duration_s=plan.probe_s, warmup_s=plan.probe_warmup_s)
            limits = {"low_rps": 100.0, "high_rps": 1_000_000.0, "precision": plan.precision}
            answer = self.knee(setting, workload, objective, plan.knee_minutes, probes, limits).answer
            assert answer is not None  # a search has one
            sides = [rps for rps in (answer.rps, answer.low_rps, answer.high_rps) if rps > 0]  # NaN is not
            base_rps = sides[0] if sides else 0.0
            if answer.kind == Kind.FOUND:
                base["knee"] = [answer.rps, answer.low_rps, answer.high_rps]
        if not base_rps:  # nothing was searched, or no probe said anything on the server
            closed = self._taken(step_name("probe", name)) if plan.knee_minutes else None
            if closed is None:
                self._server = None
                closed = self._warm(setting, workload, load)
            base_rps, base["what"] = facts.achieved_rps(closed), "closed loop"
        rates = rung_rates(base_rps, plan.shares, list(published.values()))
        about: dict[str, object] = {"name": f"{name}-rungs", "published": list(published), "objective": objective.text}
        about["base"] = {**base, "rps": base_rps}
        shape = dataclasses.replace(load, duration_s=plan.rung_s, warmup_s=plan.probe_warmup_s)
        steps = [self._rung(setting, workload, shape, about, index, rps) for index, rps in enumerate(rates, start=1)]
        for share in plan.profiled if events else ():
            self._profiled(workload, shape, about, min(rates, key=lambda rps: abs(rps - share * base_rps)), events)
        return ladder_of(f"{name}-rungs", steps)

    def _profiled(
        self, workload: Workload, shape: Shape, about: Mapping[str, object], rps: float, events: tuple[str, ...]
    ) -> Step | None:
        """A rung once more, with the profiler; None when the server did not live that long."""
        if self._server is None or not self._server.alive():
            return None
        name = step_name(climbing.PROFILED, about["name"], f"{rps:.0f}")
        spec = ProfileSpec.for_load(events, rps, (shape.duration_s or 0.0) + (shape.warmup_s or 0.0))
        rate = Rate(rps, "a rung of a ladder, once more with the profiler")
        more = {"ladder": dict(about)}
        return self._campaign.step(name, climbing.PROFILED, self._server, workload, rate, spec, shape, more)

    def compare(
        self, a: Setting, b: Setting, workload: Workload, given_rps: float, minutes: float, see: float, shape: Shape
    ) -> Repeats:
        """Measure two settings in rounds until their difference is known, or the time is up."""
        planned, began = rounds_within(minutes, shape), self._clock()
        steps = [read_step(folder) for folder in self._folder.steps()]
        earlier = next((step.meta["compare"] for step in steps if step.meta.get("compare")), None)
        if earlier:  # what was planned stays planned, or looking would not be accounted for
            about = {**earlier}
            rate = Rate(float(about["rate_rps"]), str(about["rate_basis"]))
            planned = int(about["planned"])
        else:
            carried = {setting.name: facts.achieved_rps(self._warm(setting, workload, shape)) for setting in (a, b)}
            rate = choose_rate(None, carried, given_rps)
            self._campaign.say(f"{workload.label}: {rate.rps:,.0f}/s will be offered to both: {rate.basis}")
            about = {"a": a.name, "b": b.name, "planned": planned, "see": see}
            about |= {"rate_rps": rate.rps, "rate_basis": rate.basis, "seed": secrets.randbelow(2**31)}
        settings = {"a": a, "b": b}
        sides, taken = order(planned, int(about["seed"])), {step.name for step in steps}
        for number in range(1, planned + 1):
            for side in sides[number - 1].lower():
                names = [step_name(kind, f"{number:03d}", side) for kind in ("closed", "repeat")]
                if names[1] not in taken:
                    more = {"compare": {**about, "side": side, "round": number}}
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

    def _rung(
        self,
        setting: Setting,
        workload: Workload,
        shape: Shape,
        about: Mapping[str, object],
        index: int,
        rps: float,
    ) -> Step:
        if self._server is None or not self._server.alive() or self._setting != setting:
            self._warm(setting, workload, shape)
        assert self._server is not None
        name = step_name("rung", about["name"], f"{index:03d}")
        rate = Rate(rps, "a rung of a ladder")
        return self._campaign.step(name, RUNG, self._server, workload, rate, shape=shape, more={"ladder": dict(about)})

    def _warm(self, setting: Setting, workload: Workload, shape: Shape) -> Step:
        """A server that is filled and warm: a closed loop, which also tells what it can carry."""
        self._server, self._setting = self._launch(setting), setting
        if workload.filled_keys:
            self._campaign.fill(self._server, workload)
        closed = Shape(shape.connections, shape.threads, max(min(WARM_S, 2 * self._size.probe_s), self._size.probe_s))
        name = step_name("probe", workload.name, setting.name)
        step = self._campaign.step(name, "probe", self._server, workload, None, shape=closed)
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


def climbing_word(outcome: Outcome) -> str:
    """An outcome as a verb."""
    return {
        Outcome.MET: "meets it",
        Outcome.MISSED: "misses it:",
        Outcome.GENERATOR: "says nothing:",
        Outcome.INVALID: "is not valid:",
    }[outcome]
