"""Checks of a run: what has to hold so that its numbers are evidence, and what follows where it does not.

A check that fails says what it excludes, bounds or merely notes, and of which steps; the answers that rest on those
steps change with it. Steps that are not valid for themselves are no evidence to begin with (`analysis.facts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import pandas as pd

from runners.analysis import counts, facts, instrument, intervals
from runners.analysis.comparison import Comparison
from runners.analysis.rate_steps import StepOutcome
from runners.analysis.steady_state import SETTLED_CORES, compiling_cores, steadiness
from runners.analysis.validity import FOREIGN_LIMIT_CORES, STEAL_LIMIT, Aspect, may_quote, unusable
from runners.design.block import MOST_UTILISATION
from runners.design.session import EQUAL, PROFILED_RATE_STEP, RATE_STEP
from runners.readers.run import Run, Step
from runners.results import profiles
from runners.results.answer import Measure, Unit, as_json
from runners.results.generators import began_together

if TYPE_CHECKING:
    from runners.results.results import Results

FEWEST_PROFILE_SAMPLES = 300  # then a share of 50 % is known to about 6 %
#: So much longer a request may take after one target than after another, before that is said.
MOST_CARRY_OVER = 0.05


class About(StrEnum):
    """What a check asks."""

    COMPLETE = "run complete"
    READABLE = "raw files read"
    ACHIEVED = "offered rate achieved"
    FAILED = "failed responses"
    SAMPLES = "samples"
    KEPT_UP = "generator kept up"
    FLOOR = "instrument floor"
    ONE_SECOND = "p99 of more than one second"
    STEADY = "steady loads"
    WARM = "JIT compilation done"
    TRANSPORT = "native transport"
    PROFILE_SAMPLES = "samples of the profiles"
    PROFILE_RATE = "rate kept while profiled"
    PROFILER_SHARE = "profiler's own share"
    MACHINE = "quiet machine"
    SENTINEL = "machine as usual"
    DATA = "data in the store"
    STARTS = "starts"
    CONTROL = "second process of the baseline"
    UTILISATION = "utilisation of the servers"
    CPU_GROUPS = "CPU groups of equal weight"
    CARRY_OVER = "carry-over from request to request"
    PROBES = "generator on time in the probes of ladders"
    KNEE_AGAIN = "rates offered again agree with the knee"
    FASTER = "no load faster than a server that does nothing"
    GENERATORS = "generators found"
    JDK = "JDK of the report found"
    TOGETHER = "generators began together"


class Consequence(StrEnum):
    """What follows where a check fails: its steps are no evidence, their values are bounds, or a reader is to know."""

    EXCLUDES = "excludes"
    BOUNDS = "bounds"
    NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `ok` is None where the run does not tell.

    `steps`: those that failed it. `measures`: the values that decided it, the worst first. `place`: the block or the
    server that it is of, where there are several.
    """

    about: About
    ok: bool | None
    consequence: Consequence = Consequence.NOTES
    steps: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    place: str = ""

    @property
    def failed(self) -> bool:
        return self.ok is False

    def as_json(self) -> dict[str, object]:
        """Return plain JSON values; a number that is not finite becomes null."""
        fields: dict[str, object] = as_json(self)
        return fields


def checks(results: Results) -> tuple[Check, ...]:
    """Return every check of a run that has something to look at, in the order in which a reader asks."""
    run = results.run
    clean, profiled = list(results.clean_loads()), [step for step in run.steps if step.profiled]
    rounds = run.find(kind="round")
    loaded = [*clean, *run.find(kind="floor"), *rounds, *(loop.step for loop in results.loops)]
    offered = [step for step in (*clean, *rounds) if math.isfinite(facts.offered_rps(step))]
    found = [
        _complete(run),
        _over(About.READABLE, run.steps, _readable, Consequence.EXCLUDES),
        _over(About.ACHIEVED, offered, _achieved, Consequence.EXCLUDES),
        _over(About.FAILED, [*clean, *run.find(kind="load", profiled=True), *rounds], _failed, Consequence.EXCLUDES),
        _over(About.SAMPLES, clean, _samples, Consequence.NOTES),
        _over(About.KEPT_UP, [*clean, *run.find(kind="floor"), *rounds], _kept_up, Consequence.BOUNDS),
        _over(About.ONE_SECOND, clean, _one_second, Consequence.NOTES),
        _over(About.STEADY, clean, _steady, Consequence.EXCLUDES),
        _over(About.WARM, clean, _warm, Consequence.EXCLUDES),
        _over(About.TRANSPORT, loaded, _transport, Consequence.NOTES),
        _over(About.PROFILE_SAMPLES, profiled, _profile_samples, Consequence.NOTES),
        _over(About.PROFILE_RATE, profiled, _profile_rate, Consequence.EXCLUDES),
        _over(About.PROFILER_SHARE, profiled, _profiler_share, Consequence.NOTES),
        _over(About.MACHINE, loaded, _quiet, Consequence.NOTES),
        _sentinel(run),
        _over(About.DATA, clean, _data, Consequence.EXCLUDES),
        _over(About.FASTER, clean, lambda step: _faster(step, run), Consequence.EXCLUDES),
        _over(About.TOGETHER, [step for step in run.steps if step.record.shares], _together, Consequence.EXCLUDES),
        *(check for comparison in results.comparisons for check in of_comparison(comparison)),
        *_of_ladders(results),
        _generators(results),
        _jdk(results),
    ]
    return tuple(check for check in found if check is not None)


#: Of one step: whether it is well, None where nothing tells, and the value that says so.
Judged = tuple[bool | None, Measure | None]


def _over(
    about: About, steps: Iterable[Step], judge: Callable[[Step], Judged], consequence: Consequence
) -> Check | None:
    """Return one check over several steps: it fails if one fails, and is unknown if nothing can be said of any."""
    judged = [(step, *judge(step)) for step in steps]
    if not judged:
        return None
    known = [ok for _, ok, _ in judged if ok is not None]
    if not known:
        return Check(about, None, consequence)
    bad = [(step, measure) for step, ok, measure in judged if ok is False]
    measures = tuple(measure for _, measure in bad if measure is not None)
    return Check(about, not bad, consequence, tuple(step.name for step, _ in bad), measures)


def label_of(step: Step) -> str:
    """Return a step as a check names it: the label of one of many rounds or starts, else its title."""
    return step.label if step.kind in ("round", "shared", "alone", "solo") else facts.title(step)


def _complete(run: Run) -> Check:
    own_section = (RATE_STEP, PROFILED_RATE_STEP)
    bad = [step for step in run.steps if unusable(step) and step.kind not in own_section]
    bad = [step for step in bad if not step.record.own_section]
    ok = run.manifest.get("status") == "complete" and not run.unfinished and not bad
    return Check(About.COMPLETE, ok, Consequence.EXCLUDES, (*(step.name for step in bad), *run.unfinished))


def _readable(step: Step) -> Judged:
    return not step.unreadable, None


def _achieved(step: Step) -> Judged:
    share = facts.achieved_share(step)
    if not math.isfinite(share):
        return None, None
    measure = Measure(label_of(step), facts.achieved_rps(step), Unit.RATE_RPS).out_of(facts.offered_rps(step))
    return share >= facts.LEAST_ACHIEVED and may_quote(step, Aspect.RATE), measure


def _failed(step: Step) -> Judged:
    if step.frames["summary"].empty:
        return None, None
    failures = counts.failures(step)
    return not failures.failed, Measure(label_of(step), failures.failed, Unit.COUNT).out_of(failures.requests)


def _samples(step: Step) -> Judged:
    thin = [level for level in facts.thin_levels(step) if level <= 0.99]
    return bool(facts.samples(step)) and not thin, Measure(label_of(step), facts.samples(step), Unit.COUNT)


def _kept_up(step: Step) -> Judged:
    summary = step.frames["summary"]
    if summary.empty or pd.isna(summary["kept_up"].iloc[0]):
        return None, None
    measure = Measure(label_of(step), facts.number(step, "lag_p99_us"), Unit.LATENCY_US)
    return bool(summary["kept_up"].iloc[0]), measure


def _one_second(step: Step) -> Judged:
    """Judge whether one second makes the p99, and so says when something happened rather than how often."""
    value = facts.quoted(step, 0.99)
    spike = intervals.spike(step, 0.99) if value is not None else None
    if value is None or spike is None:
        return (None if value is None else True), None
    without = Measure("without that second", spike.without_us, Unit.LATENCY_US)
    return False, Measure(label_of(step), value.value, Unit.LATENCY_US).against(without)


def _steady(step: Step) -> Judged:
    seen = steadiness(step)
    drift = Measure(label_of(step), seen.drift, Unit.CHANGE) if seen.drift is not None else None
    return seen.steady, drift


def _warm(step: Step) -> Judged:
    cores = compiling_cores(step)
    if cores is None:
        return None, None
    return cores <= SETTLED_CORES, Measure(label_of(step), cores, Unit.CORES)


def _transport(step: Step) -> Judged:
    transport = step.record.server.ready.get("transport")
    return (transport == "native" if transport else None), None


def _profile_samples(step: Step) -> Judged:
    counted = step.record.profiler.samples
    if facts.CPU not in step.profiled:
        return (bool(counted) or None), None
    samples = counted.get(facts.CPU, 0)
    return samples >= FEWEST_PROFILE_SAMPLES, Measure(label_of(step), samples, Unit.COUNT)


def _profile_rate(step: Step) -> Judged:
    return _achieved(step) if math.isfinite(facts.offered_rps(step)) else (None, None)


def _profiler_share(step: Step) -> Judged:
    share = profiles.own_share(step)
    return share <= profiles.MUCH, Measure(label_of(step), share, Unit.SHARE)


def _quiet(step: Step) -> Judged:
    """Judge what other processes and other virtual machines used of the cores during a load."""
    telemetry = step.frames["telemetry"]
    if telemetry.empty:
        return None, None
    steal, foreign = (float(telemetry[column].mean()) for column in ("steal_share", "foreign_cpu_cores"))
    if foreign > FOREIGN_LIMIT_CORES:
        return False, Measure(f"{label_of(step)}: used by others", foreign, Unit.CORES)
    if steal > STEAL_LIMIT:
        return False, Measure(f"{label_of(step)}: steal", steal, Unit.SHARE)
    return True, None


def _sentinel(run: Run) -> Check | None:
    """Runs made before there was a sentinel have none, and nothing is said of it."""
    sentinel = run.manifest.get("sentinel")
    return Check(About.SENTINEL, sentinel.get("ok"), Consequence.NOTES, ("sentinel",)) if sentinel else None


def _data(step: Step) -> Judged:
    """Judge whether a store held what a GET asks for."""
    entries = step.record.store_before.entries_estimate
    return (None, None) if step.workload != "get" or entries is None else (entries > 0, None)


def _faster(step: Step, run: Run) -> Judged:
    """No server that stores something is faster than one that does nothing, beyond what the instrument resolves."""
    floor = instrument.own_floor(run.steps, step)
    resolved = instrument.of_floor(floor)
    own, least = facts.quoted(step, 0.5), facts.quoted(floor, 0.5) if floor is not None else None
    if resolved is None or own is None or least is None:
        return None, None
    faster = own.high < least.low and least.value - own.value > resolved.p50_us
    measure = Measure(label_of(step), own.value, Unit.LATENCY_US).against(Measure("", least.value, Unit.LATENCY_US))
    return not faster, measure


def _together(step: Step) -> Judged:
    ok, off_us = began_together(step)
    return ok, Measure(label_of(step), off_us, Unit.LATENCY_US)


def of_comparison(comparison: Comparison) -> Iterator[Check]:
    """Yield the checks of one block of interleaved trials."""
    name, steps = comparison.name, comparison.steps
    ended = comparison.until and comparison.answered
    whole = not comparison.left_out and (ended or len(comparison.starts) >= comparison.planned)
    used = (Measure("starts", len(comparison.starts), Unit.COUNT).out_of(comparison.planned),)
    yield Check(About.STARTS, whole, Consequence.NOTES, () if whole else steps, used, name)
    failing = tuple(
        Measure(f"responses of {facts.engine_name(side)}", share, Unit.SHARE)
        for side, share in comparison.failing.items()
    )
    if failing:
        yield Check(About.FAILED, False, Consequence.EXCLUDES, steps, failing, name)
    if comparison.late:
        late = (Measure("starts with a late generator", len(comparison.late), Unit.COUNT),)
        yield Check(About.KEPT_UP, False, Consequence.BOUNDS, steps, late, name)
    control = next((row for row in comparison.control if row.quantity.name == comparison.primary), None)
    if control is not None:
        change = Measure(control.quantity.label, control.ratio - 1, Unit.CHANGE, control.low - 1, control.high - 1)
        failed = () if comparison.trusted else steps
        yield Check(About.CONTROL, comparison.trusted, Consequence.EXCLUDES, failed, (change,), name)
    if math.isfinite(comparison.utilisation):
        ok = comparison.utilisation <= MOST_UTILISATION
        share = (Measure("of what the servers reach", comparison.utilisation, Unit.SHARE),)
        yield Check(About.UTILISATION, ok, Consequence.NOTES, () if ok else steps, share, name)
    if comparison.cpu_groups:
        equal = comparison.cpu_groups == EQUAL
        yield Check(About.CPU_GROUPS, equal or None, Consequence.NOTES, (), (), name)
    if comparison.carried_over:
        target, shift = max(comparison.carried_over.items(), key=lambda item: abs(item[1]))
        ok = abs(shift) <= MOST_CARRY_OVER
        change = Measure(f"after {facts.engine_name(target)}", shift, Unit.CHANGE)
        yield Check(About.CARRY_OVER, ok, Consequence.NOTES, () if ok else steps, (change,), name)


def _of_ladders(results: Results) -> Iterator[Check]:
    if not results.ladders:
        return
    judged = [point for ladder in results.ladders for point in ladder.points]
    late = [point for point in judged if point.outcome == StepOutcome.GENERATOR]
    counted = Measure("", len(late), Unit.COUNT).out_of(len(judged))
    names = tuple(dict.fromkeys(point.step.name for point in late))
    yield Check(About.PROBES, not late, Consequence.BOUNDS, names, (counted,))
    searched = [ladder for ladder in results.ladders if ladder.search is not None and ladder.knee is not None]
    if searched:
        bounded = [(ladder, ladder.knee.repeated_rps) for ladder in searched if ladder.knee is not None]
        bounded = [(ladder, rate_rps) for ladder, rate_rps in bounded if math.isfinite(rate_rps)]
        measures = tuple(Measure(ladder.title, rate_rps, Unit.RATE_RPS) for ladder, rate_rps in bounded)
        steps = tuple(step.name for ladder, _ in bounded for step in (*ladder.steps, *ladder.other_steps))
        yield Check(About.KNEE_AGAIN, not bounded, Consequence.BOUNDS, steps, measures)


def _generators(results: Results) -> Check | None:
    """Of a run on generators: whether all were there that it was to look at."""
    if not results.floors and not results.stalls:
        return None
    asked = str((results.run.manifest.get("parameters") or {}).get("generators") or "").split(",")
    there = {floor.tool for floor in results.floors} | {stall.tool for stall in results.stalls}
    missing = [tool for tool in asked if tool and tool not in there]
    measures = tuple(Measure(tool, 0, Unit.COUNT) for tool in missing)
    return Check(About.GENERATORS, not missing, Consequence.NOTES, (), measures)


def _jdk(results: Results) -> Check | None:
    """Of the closed loops of report 2: whether its stages could be measured."""
    stages: Sequence[str] = [loop.stage for loop in results.loops]
    return Check(About.JDK, "after" in stages, Consequence.EXCLUDES) if stages else None
