"""Checks of a run: conditions under which its numbers are evidence, and what follows if a condition does not hold.

A check concerns some steps. If it fails, these steps are no evidence, or their values are only bounds, or a report just
notes it. A report marks the answers that rest on these steps. An invalid step is never evidence (`analysis.validity`).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from runners import words
from runners.analysis import counts, facts, instrument, intervals
from runners.analysis.comparison import Comparison, Form
from runners.analysis.rate_steps import StepOutcome
from runners.analysis.steady_state import SETTLED_CORES, compiling_cores, steadiness
from runners.analysis.validity import FOREIGN_LIMIT_CORES, STEAL_LIMIT, Aspect, kept_up, may_quote, unusable
from runners.design.block import MOST_UTILISATION
from runners.design.objective import THROUGHPUT
from runners.design.session import EQUAL, PROFILED_RATE_STEP, RATE_STEP
from runners.readers.run import Run, Step
from runners.results import profiles
from runners.results.answer import Measure, Unit
from runners.results.generators import LATE_US
from runners.results.results import Results

FEWEST_PROFILE_SAMPLES = 300  # with so many, a share of 50 % is known to within about 6 %
#: The largest relative change of service time that the check allows in requests that follow a request to one server.
MOST_CARRY_OVER = 0.05

#: Names of the checks of response times: only answers that quote a latency depend on these checks.
SAMPLES, ONE_SECOND, STEADY = "samples", "p99 of more than one second", "steady loads"
FASTER = "no load faster than a server that does nothing"
OF_LATENCY = (SAMPLES, ONE_SECOND, STEADY, FASTER)
FAILED, KEPT_UP, LIMIT = "failed responses", "generator kept up", "generator not at its limit"
#: The names by which the lab's server reports which transport of one-nio it uses. Its JDK servers have no such choice.
NATIVE, JAVA = "native", "java"


class Consequence(StrEnum):
    """What follows from a failed check."""

    EXCLUDES = "excludes"  # its steps are no evidence
    BOUNDS = "bounds"  # the values of its steps are only bounds
    NOTES = "notes"  # the report only notes it


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a run: whether a condition holds."""

    about: str  # the condition
    ok: bool | None  # None if the run's data do not decide it
    consequence: Consequence = Consequence.NOTES
    steps: tuple[str, ...] = ()  # the names of the steps that failed
    measures: tuple[Measure, ...] = ()  # the numbers that decided, the worst first
    place: str = ""  # the name of the interleaved block that the check concerns, if it concerns one

    @property
    def failed(self) -> bool:
        return self.ok is False


def checks(results: Results) -> tuple[Check, ...]:
    """Return the checks of a run; a check that concerns none of the run's steps is left out."""
    run, excludes, bounds = results.run, Consequence.EXCLUDES, Consequence.BOUNDS
    clean, profiled = list(results.clean_loads()), [step for step in run.steps if step.profiled]
    rounds, floors = run.find(kind="round"), run.find(kind="floor")
    loaded = [*clean, *floors, *rounds, *(loop.step for loop in results.loops)]
    offered = [step for step in (*clean, *rounds) if math.isfinite(facts.offered_rps(step))]
    sentinel = run.manifest.get("sentinel")  # runs made before there was one have none
    stages = [loop.stage for loop in results.loops]
    all_checks = [
        _complete(run),
        _over("raw files read", run.steps, lambda step: (not step.unreadable, None), excludes),
        _over("offered rate achieved", offered, _achieved, excludes, low=True),
        _over(FAILED, [*clean, *run.find(kind="load", profiled=True), *rounds], _failed, excludes),
        _over(SAMPLES, clean, _samples, low=True),
        _over(KEPT_UP, [*clean, *floors, *rounds], _kept_up, bounds),
        _over(ONE_SECOND, clean, _one_second),
        _over(STEADY, clean, _steady, excludes),
        _over("JIT compilation done", clean, _warm, excludes),
        _over("native transport", [step for step in loaded if _transport_of(step) in (NATIVE, JAVA)], _transport),
        _over("samples of the profiles", profiled, _profile_samples, low=True),
        _over("rate kept while profiled", profiled, _achieved, excludes, low=True),
        _over("profiler's own share", profiled, _profiler_share),
        _over("quiet machine", loaded, _quiet),
        Check("machine as usual", sentinel.get("ok"), steps=("sentinel",)) if sentinel else None,
        _over("data in the store", clean, _data, excludes),
        _over(FASTER, clean, lambda step: _faster(step, run), excludes, low=True),
        _over("generators began together", [step for step in run.steps if step.record.shares], _together, excludes),
        *(check for comparison in results.comparisons for check in of_comparison(comparison)),
        *_of_ladders(results),
        _generators(results),
        Check("JDK of the report found", "after" in stages, excludes) if stages else None,
    ]
    return tuple(check for check in all_checks if check is not None)


#: Whether a step passes a check (None if it is not known), and the value that decides it.
Judged = tuple[bool | None, Measure | None]


def _over(
    about: str, steps: Iterable[Step], judge: Callable[[Step], Judged], consequence: Consequence = Consequence.NOTES,
    low: bool = False,
) -> Check | None:  # fmt: skip
    """Return one check of all `steps`, or None without steps.

    `judge` decides for a single step. The check fails if any step fails, and is undecided if all steps are undecided.
    With `low`, the lowest values are the worst, and come first.
    """
    judged = [(step, *judge(step)) for step in steps]
    if not judged:
        return None
    known = any(ok is not None for _, ok, _ in judged)
    bad = [(step, measure) for step, ok, measure in judged if ok is False]
    measures = [measure for _, measure in bad if measure is not None]
    measures.sort(key=lambda m: abs(m.value) / ((m.other.value or 1.0) if m.other else 1.0), reverse=not low)
    return Check(about, not bad if known else None, consequence, tuple(step.name for step, _ in bad), tuple(measures))


def label_of(step: Step) -> str:
    """Return a step's name for checks: the label of a round or a start, else the title, such as RocksDB PUT."""
    return step.label if step.kind in ("round", "shared", "alone", "solo") else facts.title(step)


def _complete(run: Run) -> Check:
    in_its_section = (RATE_STEP, PROFILED_RATE_STEP)
    steps = (step for step in run.steps if step.kind not in in_its_section and not step.record.own_section)
    bad = [step for step in steps if unusable(step)]
    ok = run.manifest.get("status") == "complete" and not run.unfinished and not bad
    return Check("run complete", ok, Consequence.EXCLUDES, (*(step.name for step in bad), *run.unfinished))


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
    rows = step.frames["percentiles"]
    to_p99 = rows[(rows["kind"] == facts.RESPONSE) & (rows["percentile"] <= 0.99)]
    enough = not (to_p99["samples_beyond"] < facts.ENOUGH_BEYOND).any()
    return bool(facts.samples(step)) and enough, Measure(label_of(step), facts.samples(step), Unit.COUNT)


def _kept_up(step: Step) -> Judged:
    kept = kept_up(step)
    return kept, None if kept is None else Measure(label_of(step), facts.number(step, "lag_p99_us"), Unit.LATENCY_US)


def _one_second(step: Step) -> Judged:
    """Judge if a load's p99 stands for the whole load: not if it more than halves without one second of the load."""
    value = facts.quoted(step, 0.99)
    if value is None:
        return None, None
    if (without_us := intervals.without_its_second(step, 0.99)) is None:
        return True, None
    without = Measure("without that second", without_us, Unit.LATENCY_US)
    return False, Measure(label_of(step), value.value, Unit.LATENCY_US).against(without)


def _steady(step: Step) -> Judged:
    seen = steadiness(step)
    changing = words.listed(seen.changing) or "median"
    label = f"{label_of(step)}: {changing} changing, the medians of its seconds (10th to 90th percentile) apart by"
    return seen.steady, None if seen.spread is None else Measure(label, seen.spread, Unit.SHARE)


def _warm(step: Step) -> Judged:
    if (cores := compiling_cores(step)) is None:
        return None, None
    return cores <= SETTLED_CORES, Measure(label_of(step), cores, Unit.CORES)


def _transport_of(step: Step) -> object:
    return step.record.server.ready.get("transport")


def _transport(step: Step) -> Judged:
    return _transport_of(step) == NATIVE, None


def _profile_samples(step: Step) -> Judged:
    counted = step.record.profiler.samples
    if facts.CPU not in step.profiled:
        return (bool(counted) or None), None
    samples = counted.get(facts.CPU, 0)
    return samples >= FEWEST_PROFILE_SAMPLES, Measure(label_of(step), samples, Unit.COUNT)


def _profiler_share(step: Step) -> Judged:
    share = profiles.own_share(step)
    return share <= profiles.MUCH, Measure(label_of(step), share, Unit.SHARE)


def _quiet(step: Step) -> Judged:
    if step.frames["telemetry"].empty:
        return None, None
    foreign_cores, steal_share = counts.used_by_others(step)
    if foreign_cores > FOREIGN_LIMIT_CORES:
        return False, Measure(f"{label_of(step)}: used by others", foreign_cores, Unit.CORES)
    if steal_share > STEAL_LIMIT:
        return False, Measure(f"{label_of(step)}: steal", steal_share, Unit.SHARE)
    return True, None


def _data(step: Step) -> Judged:
    entries = step.record.store_before.entries_estimate
    return (None, None) if step.workload != "get" or entries is None else (entries > 0, None)


def _faster(step: Step, run: Run) -> Judged:
    """Judge a load's median: it is implausible if it is clearly lower than the median of a server that does nothing."""
    floor = instrument.own_floor(run.steps, step)
    resolved_us = instrument.resolution_us(floor, instrument.MEDIAN)
    own, least = facts.quoted(step, 0.5), facts.quoted(floor, 0.5) if floor is not None else None
    if resolved_us is None or own is None or least is None:
        return None, None
    faster = own.high < least.low and least.value - own.value > resolved_us
    measure = Measure(label_of(step), own.value, Unit.LATENCY_US).against(Measure("", least.value, Unit.LATENCY_US))
    return not faster, measure


def _together(step: Step) -> Judged:
    shares = [(share.clock, share.began_us) for share in step.record.shares if share.clock is not None]
    off_us = max((abs(began_us) for _, began_us in shares), default=0.0)
    ok = off_us <= LATE_US and not any(clock.stepped_us for clock, _ in shares)
    return ok, Measure(label_of(step), off_us, Unit.LATENCY_US)


def of_comparison(comparison: Comparison) -> Iterator[Check]:
    """Yield the checks of one comparison of interleaved trials, in which one load goes to several servers."""

    def check(about: str, ok: bool | None, *measures: Measure, consequence: Consequence = Consequence.NOTES) -> Check:
        return Check(about, ok, consequence, comparison.steps if ok is False else (), measures, comparison.name)

    ended = comparison.until and comparison.answered
    whole = not comparison.left_out and (ended or len(comparison.starts) >= comparison.planned)
    yield check("starts", whole, Measure("starts", len(comparison.starts), Unit.COUNT).out_of(comparison.planned))
    if comparison.failing:
        shares = comparison.failing.items()
        failing = (Measure(f"responses of {facts.engine_name(side)}", share, Unit.SHARE) for side, share in shares)
        yield check(FAILED, False, *failing, consequence=Consequence.EXCLUDES)
    if limited := {name for row in comparison.rows for name in row.at_least}:
        rows = comparison.rows_of(THROUGHPUT)
        rates_rps = {row.treatment: row.treatment_value for row in rows} | {rows[0].baseline: rows[0].baseline_value}
        reached = (Measure(facts.engine_name(name), rates_rps[name], Unit.RATE_RPS) for name in sorted(limited))
        yield check(LIMIT, False, *reached, consequence=Consequence.BOUNDS)
    elif comparison.late and comparison.form != Form.SLICES:
        late = Measure("loads", len(comparison.late), Unit.COUNT).out_of(len(comparison.starts))
        yield check(KEPT_UP, False, late, consequence=Consequence.BOUNDS)
    control = next((row for row in comparison.control if row.quantity.name == comparison.primary), None)
    if control is not None:
        change = Measure.of(control.quantity.label, control.relative, Unit.CHANGE)
        yield check("second process of the baseline", comparison.trusted, change, consequence=Consequence.EXCLUDES)
    if math.isfinite(comparison.utilisation):
        share = Measure("of what the servers reach", comparison.utilisation, Unit.SHARE)
        yield check("utilisation of the servers", comparison.utilisation <= MOST_UTILISATION, share)
    if comparison.cpu_groups:
        yield check("CPU groups of equal weight", comparison.cpu_groups == EQUAL or None)
    if comparison.carried_over:
        target, shift = max(comparison.carried_over.items(), key=lambda item: abs(item[1]))
        change = Measure(f"after {facts.engine_name(target)}", shift, Unit.CHANGE)
        yield check("carry-over from request to request", abs(shift) <= MOST_CARRY_OVER, change)


def _of_ladders(results: Results) -> Iterator[Check]:
    if not results.ladders:
        return
    judged = [point for ladder in results.ladders for point in ladder.points]
    late = [point for point in judged if point.outcome == StepOutcome.GENERATOR]
    counted = Measure("", len(late), Unit.COUNT).out_of(len(judged))
    names = tuple(dict.fromkeys(point.step.name for point in late))
    yield Check("generator on time in the probes of ladders", not late, Consequence.BOUNDS, names, (counted,))
    searched = [(ladder, ladder.knee) for ladder in results.ladders if ladder.search and ladder.knee]
    if searched:
        bounded = [(ladder, knee.repeated_rps) for ladder, knee in searched if math.isfinite(knee.repeated_rps)]
        measures = tuple(Measure(ladder.title, rate_rps, Unit.RATE_RPS) for ladder, rate_rps in bounded)
        steps = tuple(step.name for ladder, _ in bounded for step in (*ladder.steps, *ladder.other_steps))
        yield Check("rates offered again agree with the knee", not bounded, Consequence.BOUNDS, steps, measures)


def _generators(results: Results) -> Check | None:
    if not results.floors and not results.stalls:
        return None
    wanted = str((results.run.manifest.get("parameters") or {}).get("generators") or "").split(",")
    there = {floor.tool for floor in results.floors} | {stall.tool for stall in results.stalls}
    missing = [tool for tool in wanted if tool and tool not in there]
    measures = tuple(Measure(tool, 0, Unit.COUNT) for tool in missing)
    return Check("generators found", not missing, measures=measures)
