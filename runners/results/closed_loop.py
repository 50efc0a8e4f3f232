"""The closed loops of report 2: what the 44 ms are, what cures them, and the errors and mixes that a script makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from runners.analysis import facts, loops
from runners.analysis.loops import CURVES, ERRORS, RATES, Loop
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict

if TYPE_CHECKING:
    from runners.results.results import Results

#: The wait and its cure, apart by one flag alone.
FLAG_PAIR = ("after", "nodelay")
LOOPS = ("put", "get", "mixed")
CLOSE = 0.05  # of the computed wait


def one_flag(results: Results) -> Answer | None:
    """Answer: is more to be had from the server with the same code?"""
    measures, steps = [], []
    for name in LOOPS:
        pairs = [(slow, fast) for slow, fast in loops.pairs(results.loops, FLAG_PAIR, name) if slow.waits]
        if pairs:
            ratios = [loops.times_as_many(slow, fast) for slow, fast in pairs]
            label = f"{name.upper()} rate with nodelay against without:"
            measures.append(Measure(label, ratios[0], Unit.TIMES, min(ratios), max(ratios)))
            steps += [loop.step.name for pair in pairs for loop in pair]
    if not measures:
        return None
    verdict = Verdict.YES if min(measure.low for measure in measures) > 1 else Verdict.NO
    return Answer(verdict, tuple(measures), Basis.CLOSED_LOOPS, len(steps), steps=tuple(steps), figure=RATES)


def executor(results: Results) -> Answer | None:
    """Answer: does the cached pool help?"""
    names = ("put", "get", "mixed-once")
    pairs = [pair for name in names for pair in loops.pairs(results.loops, ("before", "after"), name)]
    waiting = [(old, new) for old, new in pairs if old.waits]
    if not waiting:
        return None
    moves_us = [new.median_us - old.median_us for old, new in waiting]
    rates = [loops.times_as_many(old, new) - 1 for old, new in waiting]
    measures = (
        Measure.mean("change of the median", moves_us, Unit.LATENCY_US),
        Measure.mean("change of the rate", rates, Unit.CHANGE),
    )
    verdict = Verdict.NO if min(moves_us) <= 0 <= max(moves_us) else Verdict.INCONCLUSIVE
    steps = tuple(loop.step.name for pair in waiting for loop in pair)
    return Answer(verdict, measures, Basis.CLOSED_LOOPS, len(steps), Needed.INTERLEAVED, steps=steps, figure=RATES)


def timer_and_tick(results: Results) -> Answer | None:
    """Answer: is the wait the kernel's delayed-ACK timer and one tick?"""
    waiting = [loop for loop in results.loops if loop.waits]
    hz = waiting[0].step.record.loop.kernel_hz if waiting else None
    if not hz:
        return None
    expected_us = loops.expected_us(hz)
    medians_us = [loop.median_us for loop in waiting]
    measures = [
        Measure("medians", medians_us[0], Unit.LATENCY_US, min(medians_us), max(medians_us)),
        Measure("computed wait", expected_us, Unit.LATENCY_US),
    ]
    counted = [loop for loop in results.loops if math.isfinite(loop.a_request("DelayedACKs"))]
    for label, waits in (("delayed ACKs a request that waits", True), ("a request that does not", False)):
        if values := [loop.a_request("DelayedACKs") for loop in counted if loop.waits == waits]:
            measures.append(Measure.mean(label, values, Unit.FACTOR))
    close = all(abs(median_us - expected_us) < CLOSE * expected_us for median_us in medians_us)
    verdict = Verdict.YES if close else Verdict.NO
    steps = tuple(loop.step.name for loop in waiting)
    return Answer(verdict, tuple(measures), Basis.CLOSED_LOOPS, len(steps), steps=steps, figure=CURVES)


def one_write(results: Results) -> Answer | None:
    """Answer: does a response of one write wait too?"""
    one, two = loops.first(results.loops, "one-write", "put"), loops.first(results.loops, "after", "put")
    if one is None or two is None or not two.waits:
        return None
    measure = Measure("p50 with one write", one.median_us, Unit.LATENCY_US)
    measure = measure.against(Measure("with two", two.median_us, Unit.LATENCY_US))
    verdict = Verdict.NO if one.median_us < two.median_us / 2 else Verdict.YES
    steps = (one.step.name, two.step.name)
    return Answer(verdict, (measure,), Basis.CLOSED_LOOPS, 2, steps=steps, figure=RATES)


def errors_are_the_scripts(results: Results) -> Answer | None:
    """Answer: do the 404s say anything of the server? Not where the script's numbers, replayed, make as many."""
    few = [loop for loop in results.loops if math.isfinite(loop.absent_by_script) and loop.name == "get-few"]
    if not few:
        return None
    ended, absent = sum(loop.completed for loop in few), sum(loop.non_2xx for loop in few)
    replayed = sum(loop.absent_by_script for loop in few)
    measures = (
        Measure("responses 404", absent, Unit.COUNT).out_of(ended),
        Measure("by the script's numbers, replayed", replayed, Unit.COUNT),
    )
    verdict = Verdict.NO if absent == replayed else Verdict.INCONCLUSIVE
    steps = tuple(loop.step.name for loop in few)
    return Answer(verdict, measures, Basis.CLOSED_LOOPS, len(few), Needed.LONGER_LOAD, steps=steps, figure=ERRORS)


def created(loop: Loop) -> float:
    """Return how many of a loop's responses are those of a PUT; NaN where the generator does not tell."""
    status = loop.step.frames["status"]
    return float(status[status["code"] == "201"]["count"].sum()) if not status.empty else math.nan


def mixed(results: Results) -> Answer | None:
    """Answer: is the mixed script a mix?"""
    once = [loop for loop in results.loops if loop.name == "mixed-once" and math.isfinite(created(loop))]
    if not once:
        return None
    puts, ended = sum(map(created, once)), sum(loop.completed for loop in once)
    measures = (Measure("responses to PUT", puts, Unit.COUNT).out_of(ended),)
    verdict = Verdict.NO if puts in (0, ended) else Verdict.YES
    steps = tuple(loop.step.name for loop in once)
    return Answer(verdict, measures, Basis.CLOSED_LOOPS, len(once), steps=steps, figure=ERRORS)


def waits_idle(results: Results) -> Answer | None:
    """Answer: could a profile of CPU time show the wait? No: while a response waits, no thread computes."""
    measures, steps = [], []
    for step in results.run.find(kind=loops.KIND, profiled=True):
        samples = facts.profile_samples(step, facts.CPU)
        clean = loops.find(results.loops, step.record.loop.stage, step.workload, step.record.connections)
        if samples and clean and clean[0].waits and math.isfinite(clean[0].server_cores):
            measures.append(Measure(f"busy ({clean[0].title})", clean[0].server_cores, Unit.CORES))
            steps.append(step.name)
    if not measures:
        return None
    return Answer(Verdict.NO, tuple(measures), Basis.PROFILES, len(steps), steps=tuple(steps), figure="where")
