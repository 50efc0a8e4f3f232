"""What ladders say beside their knee: where the time goes as the rate rises, and what a cold start costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from runners.analysis import facts, machine_tail, profile
from runners.analysis.finding import Anchor, Finding
from runners.claims import published_ladders
from runners.claims.climbing import Ladder, ladders
from runners.claims.conclusion import Claims
from runners.design.ladder import MOST_SHARE
from runners.design.session import PROFILED_RATE_STEP
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

EVENTS = ("cpu", "alloc", "lock")
MOST_CATEGORIES = 3
MOST_RATES = 3  # more than that are told by their ends
COLD, WARM = "put-cold", "put-warm"
WRK2_SKIPS_S = 10.0  # and five milliseconds a connection: what wrk2 leaves out of its percentiles


def anchor(workload: str, event: str) -> str:
    """Where shares against the rate are drawn."""
    return f"byrate-{workload}-{event}"


def profiled_rate_steps(run: Run, workload: str, subject: str | None = None) -> list[Step]:
    """The profiled rate steps of a workload whose profile may be read, lowest rate first."""
    steps = [s for s in run.find(kind=PROFILED_RATE_STEP, workload=workload, subject=subject) if profile.usable(s)]
    return sorted(steps, key=facts.offered_rps)


def side_by_side(steps: Sequence[Step]) -> list[Step]:
    """One profiled rate step of each subject, the highest, in the order in which they were measured."""
    chosen = {step.subject: step for step in sorted(steps, key=facts.offered_rps)}
    return sorted(chosen.values(), key=lambda step: step.record.started_unix_us)


def _apart(run: Run, workload: str) -> Iterator[Finding]:
    """Where the profiles of other ways to run a request differ from that of the first, which is the published one."""
    steps = side_by_side(profiled_rate_steps(run, workload))
    for other in steps[1:]:
        for finding in profile.differences([steps[0], other]):
            event = str(finding.figure).rpartition("-")[2]
            yield dataclasses.replace(finding, figure=anchor(workload, event))


def analyse(run: Run) -> Claims | None:
    """What the rate steps of a run say; None for a run without rate steps at shares of a knee."""
    found = [ladder for ladder in ladders(run) if ladder.base is not None]
    if not found:
        return None
    findings: list[Finding] = []
    if (finding := _cold(run)) is not None:
        findings.append(finding)
    for ladder in found:
        if (out_of_reach := _out_of_reach(ladder)) is not None:
            findings.append(out_of_reach)
        for event in EVENTS:
            findings += _moved(run, ladder, event)
    for workload in dict.fromkeys(ladder.steps[0].workload for ladder in found):
        findings += _apart(run, workload)
    names = dict.fromkeys(name for ladder in found for name in ladder.published)
    missed = [*_no_cold_start(run), *published_ladders.missed(list(names))]
    return Claims(findings=tuple(findings), missed=tuple(missed))


def _moved(run: Run, ladder: Ladder, event: str) -> Iterator[Finding]:
    """Find categories whose share differs between the lowest and highest profiled rate by more than their intervals."""
    first = ladder.steps[0]
    steps = profiled_rate_steps(run, first.workload, first.subject)
    steps = [step for step in steps if not profile.shares_of(step, event).empty]
    if len(steps) < 2:
        return
    low, high = steps[0], steps[-1]
    moved = []
    for category in profile.shares_of(low, event)["category"]:
        a, b = profile.share(low, event, str(category)), profile.share(high, event, str(category))
        if a and b and a.apart_from(b):
            moved.append((abs(a.value - b.value), str(category), a, b))
    moved.sort(key=lambda each: (-each[0], each[1]))
    rates = f"from {write.rate(facts.offered_rps(low))} to {write.rate(facts.offered_rps(high))}"
    what = profile.EVENT_NAMES.get(event, event)
    parts = [
        f"{category} from {write.percent_interval(a.value, a.low, a.high)} to "
        f"{write.percent_interval(b.value, b.low, b.high)}"
        for _, category, a, b in moved[:MOST_CATEGORIES]
    ]
    name = facts.title(first)
    text = f"{name}, {what}, {rates}: {write.listed(parts)}"
    if not parts:
        text = f"{name}, {what}: no category's share changes {rates} by more than its interval"
    evidence: dict[str, write.Value] = {"low_rps": facts.offered_rps(low), "high_rps": facts.offered_rps(high)}
    evidence |= {f"{category} change": b.value - a.value for _, category, a, b in moved}
    place = anchor(first.workload, event)
    yield Finding("R01", Severity.NOTE, write.sentence(text), evidence, (low.name, high.name), place)


def _out_of_reach(ladder: Ladder) -> Finding | None:
    """Published rates that were not offered, because here they only measure a queue."""
    assert ladder.base is not None  # only such ladders are asked
    far = sorted(
        {
            rate
            for _, output in published_ladders.named(ladder.published)
            if (rate := output.offered_rps) and rate > MOST_SHARE * ladder.base.rps
        }
    )
    if not far:
        return None
    several = len(far) > 1
    rates = write.listed(write.rate(rate) for rate in far)
    if len(far) > MOST_RATES:
        rates = f"{write.count(len(far))} rates from {write.rate(far[0])} to {write.rate(far[-1])}"
    text = (
        f"The published {rates} {'are' if several else 'is'} more than "
        f"{MOST_SHARE:g} times the {ladder.base.what} of {ladder.title} here, {write.rate(ladder.base.rps)}, and "
        f"{'were' if several else 'was'} not offered: such a rate step tells the length of its queue"
    )
    evidence: dict[str, write.Value] = {"ladder": facts.title(ladder.steps[0]), "base": ladder.base.what}
    evidence |= {"base_rps": ladder.base.rps, "lowest_not_offered_rps": far[0]}
    return Finding("R02", Severity.NOTE, write.sentence(text), evidence, ladder.published, ladder.anchor)


def _cold(run: Run) -> Finding | None:
    """The first second of a server that was just started, beside its last ones and beside the warm load."""
    cold = facts.only(run.find(workload=COLD, profiled=False))
    warm = facts.only(run.find(workload=WARM, profiled=False))
    if cold is None or not facts.quotable(cold):
        return None
    seconds = facts.per_second(cold)
    if len(seconds) < 3:
        return None
    first, rest = seconds.iloc[0], seconds.iloc[len(seconds) // 2 :]
    text = (
        f"Cold, the first second of {facts.title(cold)} at {write.rate(facts.offered_rps(cold))} has a p99 of "
        f"{write.latency(float(first['p99_us']))}; the seconds of its second half have "
        f"{write.latency(float(rest['p99_us'].median()))} in the median"
    )
    evidence: dict[str, write.Value] = {
        "first_p99_us": float(first["p99_us"]),
        "later_p99_us": float(rest["p99_us"].median()),
    }
    names = [cold.name]
    whole = facts.quoted(warm, 0.99) if warm is not None else None
    if warm is not None and whole is not None:
        text += f", and the same load on the warm server {facts.written(whole)} in all"
        if by := machine_tail.made(warm):
            text += f", but {by.written} of that tail"
        evidence["warm_p99_us"] = whole.value
        names.append(warm.name)
    return Finding("R03", Severity.NOTE, write.sentence(text), evidence, tuple(names), Anchor.timeline(COLD))


def _no_cold_start(run: Run) -> Iterator[Finding]:
    """wrk2's percentiles begin after its calibration: a cold start is over by then."""
    cold = facts.only(run.find(workload=COLD, profiled=False))
    if cold is None or not facts.quotable(cold):
        return
    seconds = facts.per_second(cold)
    early = seconds[seconds["t_s"] < WRK2_SKIPS_S]
    if early.empty:
        return
    text = (
        f"The published cold run holds no cold start: wrk2 leaves the first {write.seconds(WRK2_SKIPS_S)} out of its "
        f"percentiles. Here those of {facts.title(cold)} reach {write.latency(float(early['max_us'].max()))}, with a "
        f"p99 of {write.latency(float(early['p99_us'].iloc[0]))} in the first second"
    )
    evidence: dict[str, write.Value] = {
        "early_max_us": float(early["max_us"].max()),
        "first_p99_us": float(early["p99_us"].iloc[0]),
    }
    remedy = "Measure a cold start from its first request, and warm-up as something of its own."
    yield Finding("M06", Severity.WARNING, write.sentence(text), evidence, (cold.name,), Anchor.timeline(COLD), remedy)
