"""Checks of a run: conditions under which its numbers are evidence, and what follows if a condition does not hold.

If a check fails, its steps are excluded (`analysis.validity` withholds a load, and a comparison refuses its rows: no
verdict rests on them), or their values are only bounds, or a report just notes it at the answers that rest on them.
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
from runners.design.objective import MOST_FAILED, THROUGHPUT
from runners.design.session import CLOSED, EQUAL, PROFILED_RATE_STEP, RATE_STEP
from runners.readers.run import Run, Step
from runners.results import profiles
from runners.results.answer import Measure, Unit
from runners.results.generators import LATE_US
from runners.results.results import Results

FEWEST_PROFILE_SAMPLES = 300  # with so many, a share of 50 % is known to within about 6 %
#: The largest relative change of service time that the check allows in requests that follow a request to one server.
MOST_CARRY_OVER = 0.05
#: The names by which the lab's server reports which transport of one-nio it uses. Its JDK servers have no such choice.
NATIVE, JAVA = "native", "java"


class CheckName(StrEnum):
    """The name of a check, which is its condition; report/templates/checks.toml has the texts for a failed one."""

    COMPLETE = "run complete"
    READABLE = "raw files read"
    ACHIEVED = "offered rate achieved"
    FAILED = "failed responses"
    SAMPLES = "samples"
    KEPT_UP = "generator kept up"
    ONE_SECOND = "p99 of more than one second"
    STEADY = "steady loads"
    WARM = "JIT compilation done"
    TRANSPORT = "native transport"
    PROFILE_SAMPLES = "samples of the profiles"
    PROFILED_RATE = "rate kept while profiled"
    PROFILER = "profiler's own share"
    QUIET = "quiet machine"
    USUAL = "machine as usual"
    DATA = "data in the store"
    FASTER = "no load faster than a server that does nothing"
    TOGETHER = "generators began together"
    STARTS = "starts"
    LIMIT = "generator not at its limit"
    CONTROL = "second process of the baseline"
    UTILISATION = "utilisation of the servers"
    CPU_GROUPS = "CPU groups of equal weight"
    CARRY_OVER = "carry-over from request to request"
    ON_TIME = "generator on time in the probes of ladders"
    KNEES = "rates offered again agree with the knee"
    GENERATORS = "generators found"
    JDK = "JDK of the report found"

    @property
    def of_latency(self) -> bool:
        """Whether only answers that quote a latency depend on the check."""
        return self in (CheckName.ACHIEVED, CheckName.SAMPLES, CheckName.ONE_SECOND, CheckName.STEADY, CheckName.FASTER)


class Consequence(StrEnum):
    """What follows from a failed check."""

    EXCLUDES = "excludes"  # no verdict rests on its steps, or on a comparison's rows that it makes refused
    BOUNDS = "bounds"  # the values of its steps are only bounds
    NOTES = "notes"  # the report only notes it


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a run: whether a condition holds."""

    about: CheckName
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
    run, name, excludes, bounds = results.run, CheckName, Consequence.EXCLUDES, Consequence.BOUNDS
    clean, profiled = list(results.clean_loads()), [step for step in run.steps if step.profiled]
    rounds, floors = run.find(kind="round"), run.find(kind="floor")
    loaded = [*clean, *floors, *rounds, *(loop.step for loop in results.loops)]
    offered = [step for step in (*clean, *rounds) if math.isfinite(facts.offered_rps(step))]
    answering = (*clean, *run.find(kind="load", profiled=True), *rounds, *run.find(kind=CLOSED))
    failing = [step for step in answering if counts.failures(step).share > MOST_FAILED]
    transports = {step: step.record.server.ready.get("transport") for step in loaded}
    choosing = [step for step, transport in transports.items() if transport in (NATIVE, JAVA)]
    sentinel = run.manifest.get("sentinel")  # runs made before there was one have none
    stages = [loop.stage for loop in results.loops]
    all_checks = [
        _complete(run),
        _over(name.READABLE, run.steps, lambda step: (not step.unreadable, None)),
        _over(name.ACHIEVED, offered, _achieved, excludes, low=True),
        _over(name.FAILED, failing, _failed, excludes),
        _over(name.FAILED, (step for step in answering if step not in failing), _failed),
        _over(name.SAMPLES, clean, _samples, low=True),
        _over(name.KEPT_UP, [*clean, *floors, *rounds], _kept_up, bounds),
        _over(name.ONE_SECOND, clean, _one_second),
        _over(name.STEADY, clean, _steady, excludes),
        _over(name.WARM, clean, _at_most(compiling_cores, SETTLED_CORES, Unit.CORES)),
        _over(name.TRANSPORT, choosing, lambda step: (transports[step] == NATIVE, None)),
        _over(name.PROFILE_SAMPLES, profiled, _profile_samples, low=True),
        _over(name.PROFILED_RATE, profiled, _achieved, excludes, low=True),
        _over(name.PROFILER, profiled, _at_most(profiles.own_share, profiles.MUCH, Unit.SHARE)),
        _over(name.QUIET, loaded, _quiet),
        Check(name.USUAL, sentinel.get("ok"), steps=("sentinel",)) if sentinel else None,
        _over(name.DATA, clean, _data),
        _over(name.FASTER, clean, lambda step: _faster(step, run), low=True),
        _over(name.TOGETHER, [step for step in run.steps if step.record.shares], _together),
        *(check for comparison in results.comparisons for check in of_comparison(comparison)),
        *_of_ladders(results),
        _generators(results),
        Check(name.JDK, "after" in stages) if stages else None,
    ]
    return tuple(check for check in all_checks if check is not None)


#: Whether a step passes a check (None if it is not known), and the value that decides it.
Judged = tuple[bool | None, Measure | None]


def _over(
    about: CheckName, steps: Iterable[Step], judge: Callable[[Step], Judged],
    consequence: Consequence = Consequence.NOTES, low: bool = False,
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
    return Check(CheckName.COMPLETE, ok, Consequence.EXCLUDES, (*(step.name for step in bad), *run.unfinished))


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


def _at_most(value_of: Callable[[Step], float | None], most: float, unit: Unit) -> Callable[[Step], Judged]:
    def judge(step: Step) -> Judged:
        value = value_of(step)
        return (None, None) if value is None else (value <= most, Measure(label_of(step), value, unit))

    return judge


def _profile_samples(step: Step) -> Judged:
    counted = step.record.profiler.samples
    if facts.CPU not in step.profiled:
        return (bool(counted) or None), None
    samples = counted.get(facts.CPU, 0)
    return samples >= FEWEST_PROFILE_SAMPLES, Measure(label_of(step), samples, Unit.COUNT)


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

    def check(about: CheckName, ok: bool | None, *measures: Measure, then: Consequence = Consequence.NOTES) -> Check:
        return Check(about, ok, then, comparison.steps if ok is False else (), measures, comparison.name)

    ended = comparison.until and comparison.answered
    whole = not comparison.left_out and (ended or len(comparison.starts) >= comparison.planned)
    starts = Measure("starts", len(comparison.starts), Unit.COUNT)
    yield check(CheckName.STARTS, whole, starts.out_of(comparison.planned))
    if comparison.failing:
        shares = comparison.failing.items()
        failing = (Measure(f"responses of {facts.engine_name(side)}", share, Unit.SHARE) for side, share in shares)
        yield check(CheckName.FAILED, False, *failing, then=Consequence.EXCLUDES)
    if limited := {name for row in comparison.rows for name in row.at_least}:
        rows = comparison.rows_of(THROUGHPUT)
        rates_rps = {row.treatment: row.treatment_value for row in rows} | {rows[0].baseline: rows[0].baseline_value}
        reached = (Measure(facts.engine_name(name), rates_rps[name], Unit.RATE_RPS) for name in sorted(limited))
        yield check(CheckName.LIMIT, False, *reached, then=Consequence.BOUNDS)
    elif comparison.late and comparison.form != Form.SLICES:
        late = Measure("loads", len(comparison.late), Unit.COUNT).out_of(len(comparison.starts))
        yield check(CheckName.KEPT_UP, False, late, then=Consequence.BOUNDS)
    control = next((row for row in comparison.control if row.quantity.name == comparison.primary), None)
    if control is not None:
        change = Measure.of(control.quantity.label, control.relative, Unit.CHANGE)
        yield check(CheckName.CONTROL, comparison.trusted, change, then=Consequence.EXCLUDES)
    if math.isfinite(comparison.utilisation):
        share = Measure("of what the servers reach", comparison.utilisation, Unit.SHARE)
        yield check(CheckName.UTILISATION, comparison.utilisation <= MOST_UTILISATION, share)
    if comparison.cpu_groups:
        yield check(CheckName.CPU_GROUPS, comparison.cpu_groups == EQUAL or None)
    if comparison.carried_over:
        target, shift = max(comparison.carried_over.items(), key=lambda item: abs(item[1]))
        change = Measure(f"after {facts.engine_name(target)}", shift, Unit.CHANGE)
        yield check(CheckName.CARRY_OVER, abs(shift) <= MOST_CARRY_OVER, change)


def _of_ladders(results: Results) -> Iterator[Check]:
    if not results.ladders:
        return
    judged = [point for ladder in results.ladders for point in ladder.points]
    late = [point for point in judged if point.outcome == StepOutcome.GENERATOR]
    counted = Measure("", len(late), Unit.COUNT).out_of(len(judged))
    names = tuple(dict.fromkeys(point.step.name for point in late))
    yield Check(CheckName.ON_TIME, not late, Consequence.BOUNDS, names, (counted,))
    searched = [(ladder, ladder.knee) for ladder in results.ladders if ladder.search and ladder.knee]
    if searched:
        bounded = [(ladder, knee.repeated_rps) for ladder, knee in searched if math.isfinite(knee.repeated_rps)]
        measures = tuple(Measure(ladder.title, rate_rps, Unit.RATE_RPS) for ladder, rate_rps in bounded)
        steps = tuple(step.name for ladder, _ in bounded for step in (*ladder.steps, *ladder.other_steps))
        yield Check(CheckName.KNEES, not bounded, Consequence.BOUNDS, steps, measures)


def _generators(results: Results) -> Check | None:
    if not results.floors and not results.stalls:
        return None
    wanted = str((results.run.manifest.get("parameters") or {}).get("generators") or "").split(",")
    there = {floor.tool for floor in results.floors} | {stall.tool for stall in results.stalls}
    missing = [tool for tool in wanted if tool and tool not in there]
    measures = tuple(Measure(tool, 0, Unit.COUNT) for tool in missing)
    return Check(CheckName.GENERATORS, not missing, measures=measures)
