"""Answers to questions on knees (a knee is the highest rate that meets an objective), published rates and queues."""

import math
from dataclasses import dataclass

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import DROP, Knee
from runners.analysis.rate_steps import StepOutcome, points, refused_share
from runners.design.block import FEWEST_STARTS
from runners.design.objective import ACHIEVED_ALONE
from runners.readers.run import Step
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.ladders import between
from runners.results.published import keeps_its_rate, outputs_named, taken_at_rps
from runners.results.results import Results

#: The share (0..1) by which a closed loop's measured rate may be too low because the machine's speed varies.
SPREAD = 0.1
#: By this factor at most, longer steps are taken to lower a knee that only short steps show (see knee.DROP).
LONGER = math.exp(-2 * DROP)
QUEUE = "queue-"  # begins the names of settings that differ only in their queue; the names end with the queue's length
OVERLOADED = 1.2  # times the lowest rate of a ladder: a rate step at this rate or above is an overload
#: For a yes, the share (0..1) of requests refused must be lower by this with the longest queue than with the shortest.
REFUSED_MARGIN = 0.01


@dataclass(frozen=True, slots=True)
class KneeRatio:
    """The comparison of two servers' knees (highest rates that meet an objective) under one workload."""

    workload: str
    names: tuple[str, str]  # of the two servers, as reports show them
    knees: tuple[Knee, Knee]
    change: Bounded | None  # first knee / second knee - 1; None if a knee is not known


@answering
def knees_apart(results: Results, workload: str, of: str, against: str) -> Answer | None:
    """Answer: under `workload`, is the knee of setting `of` above that of `against`? None if one was not searched for.

    A knee is the highest rate that meets an objective. Inconclusive with under FEWEST_STARTS starts, or without a knee.
    """
    first, second = (results.searched(workload, name) for name in (of, against))
    if first is None or second is None or first.knee is None or second.knee is None:
        return None
    names, knees = (first.server, second.server), (first.knee, second.knee)
    steps = tuple(step.name for ladder in (first, second) for step in ladder.steps)
    starts, only_short = min(first.starts, second.starts), [knee.only_short for knee in knees]
    apart = between(results.run, first, second) if all(knee.known for knee in knees) else None
    if apart is not None and (first_only_short := only_short[0]) != only_short[1]:
        low, high = (LONGER, 1.0) if first_only_short else (1.0, 1 / LONGER)
        apart = Bounded(apart.value, low * apart.low, high * apart.high)
    change = apart.less(1) if apart is not None else None
    late = any(knee.late for knee in knees)
    verdict, needed, count = Verdict.INCONCLUSIVE, Needed.GENERATOR_CORES if late else Needed.LONGER_SEARCH, 0
    if starts < FEWEST_STARTS:
        needed, count = Needed.STARTS, FEWEST_STARTS
    elif change is not None:
        verdict = Verdict.of(change.low, change.high)
    evidence = (KneeRatio(workload, names, knees, change),)
    return Answer(verdict, evidence, Basis.STARTS_OF_SEARCH, starts, needed, count, steps, f"knees-{workload}")


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """The highest published rate of a workload, and the rates that this run's server reaches under this workload."""

    workload: str
    published_rps: float
    closed_loop_rps: float  # of this run's server
    knee: Knee | None  # of this run's server; None if even the closed loop is slower than the published rate


def published_rates(results: Results) -> Answer | None:
    """Answer: in all loads with both, is the knee above the highest published rate that was kept? None without such."""
    parts, verdicts, steps = [], [], []
    for ladder in results.ladders:
        kept = [output for _, output in outputs_named(ladder.published) if keeps_its_rate(output)]
        rates = [rate_rps for output in kept if (rate_rps := taken_at_rps(output) or output.offered_rps)]
        if ladder.base is None or ladder.knee is None or not rates:
            continue
        highest_rps, workload = max(rates), ladder.steps[0].workload
        closed_rps, knee = ladder.closed_loop_rps, ladder.knee
        slow = closed_rps * (1 + SPREAD) < highest_rps
        if not slow and not knee.known:
            continue
        above = Verdict.of(knee.low_rps - highest_rps, knee.high_rps - highest_rps)
        verdicts.append(Verdict.NO if slow else above)
        parts.append(PublishedRate(workload, highest_rps, closed_rps, None if slow else knee))
        steps += [step.name for step in ladder.steps]
    if not parts:
        return None
    verdict, late = Verdict.of_all(verdicts), any(part.knee is not None and part.knee.late for part in parts)
    needed = Needed.GENERATOR_CORES if late else Needed.LONGER_SEARCH
    figure = next((ladder.anchor for ladder in results.ladders if ladder.search is not None), None)
    return Answer(verdict, tuple(parts), Basis.CLOSED_LOOPS, len(parts), needed, steps=tuple(steps), figure=figure)


def _places(step: Step) -> int:
    return int(step.subject.rpartition("-")[2])


def _refused(step: Step, share: float) -> Measure:
    on = words.connections(step.record.connections)
    refused = Measure(f"{step.workload.upper()} on {on}: {facts.engine_name(step.subject)} refused", share, Unit.SHARE)
    return refused.out_of(facts.offered_rps(step), Unit.RATE_RPS)


def longer_queue(results: Results) -> Answer | None:
    """Answer: does the longest queue refuse fewer requests under overload than the shortest? None without two queues.

    Only queues that were full are compared: the load had more connections than the queue has places, and missed the
    rate or the limit on failed requests (see ACHIEVED_ALONE).
    """
    ends = [(ladder.rate_steps[0], ladder.rate_steps[-1]) for ladder in results.ladders]
    queues = [(low, high) for low, high in ends if low.subject.startswith(QUEUE)]
    overloads = (high for low, high in queues if facts.offered_rps(high) >= OVERLOADED * facts.offered_rps(low))
    pools = sorted(overloads, key=_places)
    if len(pools) < 2:
        return None
    full = [step for step in pools if (step.record.connections or 0) > _places(step)]
    filled = [step for step in full if points(step, ACHIEVED_ALONE)[0].outcome == StepOutcome.MISSED]
    shares = [refused_share(step) for step in filled]
    evidence = tuple(map(_refused, filled, shares))
    figure = next((ladder.anchor for ladder in results.ladders if pools[0] in ladder.steps), None)
    if len(filled) < 2:
        return Answer(Verdict.INCONCLUSIVE, evidence, Basis.LOADS, len(filled), Needed.CONNECTIONS, figure=figure)
    return Answer.by(filled, Basis.LOADS, shares[-1] < shares[0] - REFUSED_MARGIN, *evidence, figure=figure)
