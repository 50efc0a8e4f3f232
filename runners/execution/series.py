"""Many loads of one kind in a row: the probes of a search, the rungs around a knee, the repeats of two settings."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace

from runners.analysis import facts
from runners.analysis.comparison import FEWEST_ROUNDS, PRIMARY, order, settled
from runners.analysis.knee import Kind, Search
from runners.analysis.meets import Outcome, meets
from runners.claims.climbing import Ladder, ladder_of
from runners.claims.comparing import CLOSED, REPEAT, Repeats, repeats_of, said
from runners.design.block import LOAD
from runners.design.climb import Climb, nearest, rung_rates
from runners.design.objective import Objective
from runners.design.rate import Rate, choose_rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.budget import CLOSED_S, rounds_within, seconds_of_a_probe
from runners.execution.climb import hunt
from runners.execution.rungs import Rungs, step_name
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.schema import COMPARISON, InterleavedRecord, LadderBase, LadderRecord, SearchRecord

START_SHARE = 0.5  # of what a closed loop reached: a first rate that most servers carry
OVERTIME = 1.25  # of the budget: rounds that take longer than planned may end this much later


class Series(Rungs):
    """Takes searches, climbs and comparisons. A step that the run folder already holds is not measured again."""

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
        earlier = taken[0].record.ladder if taken else None
        if earlier is not None and earlier.search is not None:
            search = earlier.search
        else:
            carried = facts.achieved_rps(self._warm(setting, workload, shape))
            search = SearchRecord(start_rps=float(f"{START_SHARE * carried:.3g}"), **limits)
        about = LadderRecord(name=name, objective=objective.text, search=search, minutes=minutes)

        def measure(index: int, rps: float) -> Step:
            step = self._rung(setting, workload, shape, about, index, rps)
            met = meets(step, objective)
            self._campaign.say(
                f"  probe {index}: {rps:,.0f}/s {climbing_word(met.outcome)} {'; '.join(met.missed)}".rstrip()
            )
            return step

        _, steps = hunt(taken, measure, Search(**asdict(search)), objective, minutes * 60, rung_s)
        if not steps:
            raise MeasureError(f"knee of {name}", "no probe was measured", "give more minutes")
        return ladder_of(name, steps)

    def load(self, setting: Setting, workload: Workload, given_rps: float, shape: Shape) -> Step:
        """One load on a warm server, at the rate that is given, or (0) at a share of what a closed loop reached."""
        name = step_name(workload.name, setting.name)
        if (taken := self._taken(name)) is not None:
            return taken
        closed = self._warm(setting, workload, shape)
        rate = choose_rate(None, {setting.name: facts.achieved_rps(closed)}, given_rps)
        self._campaign.say(f"{workload.label}: {rate.rps:,.0f}/s will be offered: {rate.basis}")
        assert self._server is not None  # it is warm
        return self._campaign.step(name, LOAD, self._server, workload, rate, shape=shape)

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
        what, knee, base_rps = "knee", None, 0.0
        if plan.knee_minutes:
            probes = dataclasses.replace(load, duration_s=plan.probe_s, warmup_s=plan.probe_warmup_s)
            limits = {"low_rps": 100.0, "high_rps": 1_000_000.0, "precision": plan.precision}
            answer = self.knee(setting, workload, objective, plan.knee_minutes, probes, limits).answer
            assert answer is not None  # a search has one
            sides = [rps for rps in (answer.rps, answer.low_rps, answer.high_rps) if rps > 0]  # NaN is not
            base_rps = sides[0] if sides else 0.0
            if answer.kind == Kind.FOUND:
                knee = (answer.rps, answer.low_rps, answer.high_rps)
        if not base_rps:  # nothing was searched, or no probe said anything on the server
            closed = self._taken(step_name("probe", name)) if plan.knee_minutes else None
            if closed is None:
                self._server = None
                closed = self._warm(setting, workload, load)
            base_rps, what = facts.achieved_rps(closed), "closed loop"
        rates = rung_rates(base_rps, plan.shares, nearest(base_rps, list(published.values()), plan.published))
        base = LadderBase(what=what, rps=base_rps, knee=knee)
        about = LadderRecord(name=f"{name}-rungs", published=tuple(published), objective=objective.text, base=base)

        def shape_at(rps: float) -> Shape:
            length_s = plan.length_s(rps in published.values())
            return dataclasses.replace(load, duration_s=length_s, warmup_s=plan.probe_warmup_s)

        steps = [
            self._kept_rung(setting, workload, shape_at(rps), about, index, rps) for index, rps in enumerate(rates, 1)
        ]
        steps += self._again(setting, workload, shape_at, about, steps, objective)
        profiled = dataclasses.replace(load, duration_s=plan.rung_s, warmup_s=plan.probe_warmup_s)
        for rps in _chosen(rates, base_rps, plan.profiled) if events else ():
            self._profiled(setting, workload, profiled, about, rps, events)
        return ladder_of(f"{name}-rungs", steps)

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
            carried = {setting.name: facts.achieved_rps(self._warm(setting, workload, shape)) for setting in (a, b)}
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


def climbing_word(outcome: Outcome) -> str:
    """An outcome as a verb."""
    return {
        Outcome.MET: "meets it",
        Outcome.MISSED: "misses it:",
        Outcome.GENERATOR: "says nothing:",
        Outcome.INVALID: "is not valid:",
    }[outcome]


def _chosen(rates: Sequence[float], base_rps: float, shares: Sequence[float] | None) -> list[float]:
    """The rungs nearest to these shares, each once; every one for None."""
    if shares is None:
        return list(rates)
    return list(dict.fromkeys(min(rates, key=lambda rps: abs(rps - share * base_rps)) for share in shares))
