"""Claim what loads at one rate tell: whether each engine achieves it, with which p99, and what that is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from runners.analysis import comparable, facts, instrument, intervals, machine_stalls, tail_attribution
from runners.analysis.interleaved import comparisons
from runners.analysis.intervals import difference
from runners.analysis.quantities import of_step
from runners.analysis.steady_state import Steadiness, head, not_warm, steadiness
from runners.claims import interleaved, profile
from runners.design.load import STABLE_SHARE
from runners.readers import write
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step


def answer(run: Run, engine: str, workload: str) -> Finding:
    """Return one engine under one workload: held, saturated, invalid or missing."""
    step = facts.clean(run, engine, workload)
    name = f"{facts.engine_name(engine)} {workload.upper()}"
    figure = Anchor.spectrum(workload)
    if step is None:
        why = "" if run.manifest.get("status") == "complete" else f": {facts.how_it_ended(run)}"
        text = write.sentence(f"{name} was not measured{why}")
        return Finding("A04", Severity.ERROR, text, {}, (), Anchor.CHECKS, str(run.manifest.get("rerun") or "") or None)
    achieved, offered = facts.achieved_rps(step), facts.offered_rps(step)
    evidence: dict[str, write.Value] = {"offered_rps": offered, "achieved_rps": achieved}
    if facts.is_saturated(step):
        text = (
            f"{name} does not achieve {write.rate(offered)} on {write.connections(step.record.connections)}: it "
            f"responded to {write.rate(achieved)}, {write.percent(facts.achieved_share(step))} of what was offered. "
            "That is saturation, so its response times are the length of a queue and none is quoted"
        )
        remedy = f"Offer less: {write.given_share(STABLE_SHARE)} of what the closed-loop probe reached."
        return Finding.of("A02", Severity.ERROR, text, evidence, (step.name,), figure, remedy)
    if facts.was_held_up(step):
        text = (
            f"{name} responded to {write.rate(achieved)} of {write.rate(offered)}, "
            f"{write.percent(facts.achieved_share(step))}. In most of its seconds it achieved the rate, so it was held "
            "up for a while rather than out of capacity; no latency is quoted"
        )
        remedy = "Run the step again, on a quieter machine."
        return Finding.of("A06", Severity.ERROR, text, evidence, (step.name,), Anchor.timeline(workload), remedy)
    if not facts.quotable(step):
        text = f"{name} is invalid ({facts.why_not(step)}), so none of its figures is quoted"
        return Finding.of("A03", Severity.ERROR, text, {}, (step.name,), Anchor.CHECKS, "Run the step again.")
    p50, p99 = facts.at(step, 0.5), facts.at(step, 0.99)
    text = f"{name} achieves {write.rate(offered if write.known(offered) else achieved)}"
    why = instrument.unresolved(run.steps, step, 0.99)
    if p50 and p99 and why:
        cpu_us = of_step(step)["cpu_us"]
        median = instrument.unresolved(run.steps, step, 0.5)
        parts = [] if median else [f"a median of {facts.written(p50)}"]
        parts += [f"{write.latency(cpu_us)} of CPU time per request in all threads"] if write.known(cpu_us) else []
        text += f" with {write.listed(parts)}" if parts else ""
        if median == why:
            text += f"; its median and its p99 are not quoted, for {why.replace('it is', 'they are')}"
        else:
            text += f"; its median is not quoted, for {median}, nor its p99, for {why}" if median else ""
            text += "" if median else f"; its p99 is not quoted, for {why}"
        evidence |= {"p50_us": p50.value, "cpu_us": cpu_us}
    elif p99:
        text += f" with p99 {facts.written(p99)}"
        evidence |= {"p99_us": p99.value, "p99_low_us": p99.low, "p99_high_us": p99.high}
        if by := tail_attribution.made(step):
            text += f", but {by.written} of that tail"
            evidence |= by.shares
        if steadiness(step).steady is False:
            text += f"{';' if by else ', but'} it never became steady"
        elif not_warm(step):
            text += f"{';' if by else ', but'} JIT compilation was unfinished"
    return Finding.of("A01", Severity.GOOD, text, evidence, (step.name,), figure)


def headline(answers: list[tuple[str, str, Finding]]) -> str:
    """Return the answers of all engines and workloads in a few sentences, an engine each."""
    lines = []
    for engine in dict.fromkeys(engine for engine, _, _ in answers):
        name = facts.engine_name(engine)
        begins = write.sentence(f"{name} ").removesuffix(".") + " "  # a sentence begins with a capital
        parts = [finding.sentence.removesuffix(".").removeprefix(begins) for of, _, finding in answers if of == engine]
        lines.append(f"{begins.strip()}: {'; '.join(parts)}.")
    return " ".join(lines)


def capacity(run: Run, engine: str, workload: str) -> Finding | None:
    """Return what the closed-loop probe reached: the most that this number of connections can achieve."""
    step = facts.only(run.find(kind="probe", subject=engine, workload=workload))
    if step is None or not step.valid or not write.known(facts.achieved_rps(step)):
        return None
    achieved = facts.achieved_rps(step)
    over = write.connections(step.record.connections)
    text = f"In closed loop {facts.title(step)} reaches {write.rate(achieved)} on {over} here"
    if step.record.compiler_on_any_core:
        text += ", while the server's compiler might use the generator's cores too"
    return Finding.of("A05", Severity.NOTE, text, {"achieved_rps": achieved}, (step.name,), Anchor.comparison(workload))


HEAD_MATTERS = 0.1  # of the p99: a smaller change is within what a run tells
TAIL = 0.99
#: wrk2 rounds each wait up to a whole millisecond (its event loop's timer, ae.c).
WRK2_TICK_US = 1_000


def over_floor(step: Step, floor: Step | None) -> Finding | None:
    """Return what the server adds to the median of the same load against a handler that does nothing."""
    if floor is None or not facts.quotable(step) or not facts.quotable(floor):
        return None
    measured, least = facts.at(step, 0.5), facts.at(floor, 0.5)
    if measured is None or least is None:
        return None
    added, resolved = difference(measured, least), instrument.of_floor(floor)
    pair = f"{write.latency(measured.value)} against {write.latency(least.value)} for a handler that does nothing"
    finest_us = resolved.p50_us if resolved is not None else 0.0
    if facts.tool(step) == "wrk2" and abs(added.value) < WRK2_TICK_US:
        text = f"What {facts.title(step)} adds to the instrument's median is lost in wrk2's tick of 1 ms: {pair}"
    elif added.sign == 0 or abs(added.value) <= finest_us:
        text = f"Whether {facts.title(step)} adds to the instrument's median is inconclusive: {pair}"
        text += f", where this instrument resolves {write.latency(finest_us)}" if finest_us > abs(added.value) else ""
    elif added.sign < 0:
        text = f"{facts.title(step)} is not slower in the median than the instrument's floor: {pair}"
    else:
        amount = added.as_latency
        text = f"{facts.title(step)} adds {amount} to the instrument's median: {pair}"
    evidence: dict[str, write.Value] = {
        "p50_us": measured.value, "floor_p50_us": least.value, "added_us": added.value, "added_low_us": added.low,
        "added_high_us": added.high,
    }  # fmt: skip
    return Finding.of("L01", Severity.NOTE, text, evidence, (step.name, floor.name), Anchor.spectrum(step.workload))


def one_spike(step: Step) -> Finding | None:
    """Says so when the p99 is that of one second, and so tells when something happened rather than how often."""
    value = facts.quoted(step, TAIL)
    seen = intervals.spike(step, TAIL) if value is not None else None
    if value is None or seen is None:
        return None
    when = f"One second, {write.seconds(seen.t_s)} after the start," if seen.t_s else "The first second"
    text = (
        f"{when} makes the {write.level(TAIL)} of {facts.title(step)}: it is {write.latency(value.value)}, without "
        f"that second {write.latency(seen.without_us)}"
    )
    blocks = intervals.blocks_of(step)
    evidence: dict[str, write.Value] = {
        "value_us": value.value, "without_us": seen.without_us, "t_s": seen.t_s, "samples": facts.samples(step),
        "effective_samples": intervals.effective_samples(blocks, TAIL) if blocks is not None else None,
    }  # fmt: skip
    remedy = "Measure longer, or repeat: one run can't tell how often this happens."
    return Finding.of("L03", Severity.WARNING, text, evidence, (step.name,), Anchor.timeline(step.workload), remedy)


def engines_apart(steps: list[Step], every: Sequence[Step]) -> Iterator[Finding]:
    """Compare the p99 of engines at the same rate whose intervals do not overlap, where it is theirs at all.

    `every`: all steps of their run, its floors among them.
    """
    for first, second in combinations([step for step in steps if facts.quotable(step)], 2):
        a, b = facts.at(first, 0.99), facts.at(second, 0.99)
        same_rate = abs(facts.offered_rps(first) - facts.offered_rps(second)) < 1
        if a is None or b is None or not same_rate or not a.apart_from(b):
            continue
        if any(instrument.incomparable(every, step, 0.99) for step in (first, second)):
            continue
        if not_compared := comparable.not_compared(first, second, Anchor.spectrum(first.workload)):
            yield not_compared
            continue
        fast, slow = (first, second) if a.value < b.value else (second, first)
        low, high = (a, b) if a.value < b.value else (b, a)
        less = difference(high, low)
        text = (
            f"At {write.rate(facts.offered_rps(first))} the p99 of {facts.title(fast)} is lower than that of "
            f"{facts.title(slow)} by {less.as_latency}, in one run of each"
        )
        evidence: dict[str, write.Value] = {
            f"p99_us {first.subject}": a.value,
            f"p99_us {second.subject}": b.value,
            "difference_us": less.value,
        }
        steps_named = (first.name, second.name)
        remedy = "Repeat both, interleaved, before relying on it: one run shows no spread between runs."
        yield Finding.of("L02", Severity.NOTE, text, evidence, steps_named, Anchor.spectrum(first.workload), remedy)


def findings(run: Run, engines: list[str], workloads: list[str], answers: list[Finding]) -> Iterator[Finding]:
    """Yield what the loads of a run at one rate tell, in the order in which a reader wants it; `answers` come first."""
    yield from answers
    clean = {work: clean_steps(run, engines, work) for work in workloads}
    loads = [step for steps in clean.values() for step in steps]
    resolved = {step.name for step in loads if not instrument.of_instrument(run.steps, step, 0.99)}
    trials = comparisons(run)
    for work, steps in clean.items():
        floor = facts.floor(run, work)
        for step in steps:
            own = None if interleaved.over_reference(trials, step, run) else over_floor(step, floor)
            yield from filter(None, (own, one_spike(step) if step.name in resolved else None))
        yield from engines_apart(steps, run.steps)
    for work in workloads:
        profiles = [each for engine in engines if (each := facts.profiled(run, engine, work)) is not None]
        for step in profiles:
            yield from profile.where(step)
        yield from profile.differences(profiles)
    yield from profile.of_frames(run)
    for step in loads:
        yield from tail_attribution.findings(step, run.steps)
    yield from machine_stalls.findings(
        step for step in loads if step.name in resolved or (step.record.witness and step.record.witness.note)
    )
    for work, engine in product(workloads, engines):
        cost = profile.cost(facts.clean(run, engine, work), facts.profiled(run, engine, work), run.steps)
        yield from filter(None, (cost, capacity(run, engine, work)))
    for step in filter(facts.quotable, loads):
        yield from _unsteady(step, in_tail=step.name in resolved)


def clean_steps(run: Run, engines: list[str], workload: str) -> list[Step]:
    """Return the loads of these engines without a profiler, those that there are."""
    return [step for engine in engines if (step := facts.clean(run, engine, workload)) is not None]


def _unsteady(step: Step, *, in_tail: bool) -> Iterator[Finding]:
    """Yield a head that moves the p99 where that is the server's, and what never became steady; the checks have the
    rest.
    """
    seen = steadiness(step)
    if in_tail and (finding := _head(step, seen)):
        yield finding
    if seen.steady is False:
        text = f"{facts.title(step)} never became steady in {seen.seconds} seconds: the median of a second drifts "
        text += write.growth(seen.drift)
        yield Finding.of(
            "S01",
            Severity.WARNING,
            text,
            {"seconds": seen.seconds, "drift": seen.drift},
            (step.name,),
            Anchor.timeline(step.workload),
            "Warm up longer, or run a larger size.",
        )


def _head(step: Step, seen: Steadiness) -> Finding | None:
    before = head(step)
    if before is None or abs(before.whole_us - before.steady_us) < HEAD_MATTERS * before.steady_us:
        return None
    text = (
        f"The first {write.seconds(seen.from_s)} of {facts.title(step)} are not steady (its {seen.last_to_settle} "
        f"settles last): its p99 is {write.latency(before.whole_us)}, without them {write.latency(before.steady_us)}"
    )
    evidence = {"steady_from_s": seen.from_s, "p99_us": before.whole_us, "p99_steady_us": before.steady_us}
    figure, remedy = Anchor.timeline(step.workload), "Warm up longer: the recorded window should begin steady."
    return Finding.of("S02", Severity.WARNING, text, evidence, (step.name,), figure, remedy)
