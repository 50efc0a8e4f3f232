"""Conclude on the rate steps of ladders, measured here and published: profiles by rate, reach, what was not said."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runners.analysis import facts, instrument, tail_attribution
from runners.analysis.intervals import difference
from runners.claims import profile
from runners.claims.climbing import Ladder, ladders
from runners.claims.conclusion import Claims
from runners.design.ladder import MOST_SHARE
from runners.design.session import EVENTS, PROFILED_RATE_STEP
from runners.errors import ReadError
from runners.readers import write
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.output import Output
from runners.readers.published import published_outputs
from runners.readers.run import Run, Step

MOST_CATEGORIES = 3
MOST_RATES = 3  # more than that stand as their ends
COLD, WARM = "put-cold", "put-warm"
FIRST_S = 1.0  # of a cold start
WRK2_SKIPS_S = 10.0  # and five milliseconds a connection: what wrk2 leaves out of its percentiles


def anchor(workload: str, event: str) -> str:
    """Where shares against the rate are drawn."""
    return f"byrate-{workload}-{event}"


def profiled_rate_steps(run: Run, workload: str, subject: str | None = None) -> list[Step]:
    """Return the profiled rate steps of a workload whose profile may be read, lowest rate first."""
    steps = [
        s for s in run.find(kind=PROFILED_RATE_STEP, workload=workload, subject=subject) if facts.usable_profile(s)
    ]
    return sorted(steps, key=facts.offered_rps)


def side_by_side(steps: Sequence[Step]) -> list[Step]:
    """Return one profiled rate step of each subject, the highest, in the order in which they were measured."""
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
    """Return what the rate steps of a run say; None for a run without rate steps at shares of a knee."""
    found = [ladder for ladder in ladders(run) if ladder.base is not None]
    if not found:
        return None
    findings = [_cold(run)]
    for ladder in found:
        findings += [_out_of_reach(ladder), *(each for event in EVENTS for each in _moved(run, ladder, event))]
    for workload in dict.fromkeys(ladder.steps[0].workload for ladder in found):
        findings += _apart(run, workload)
    names = dict.fromkeys(name for ladder in found for name in ladder.published)
    missed = [*_no_cold_start(run), *published_missed(list(names))]
    return Claims(findings=tuple(filter(None, findings)), missed=tuple(missed))


def _moved(run: Run, ladder: Ladder, event: str) -> Iterator[Finding]:
    """Find categories whose share differs between the lowest and highest profiled rate by more than their intervals.

    Besides these, `at most` is the largest change that the interval of any category leaves room for, the profiler's own
    share aside.
    """
    first = ladder.steps[0]
    steps = profiled_rate_steps(run, first.workload, first.subject)
    steps = [step for step in steps if not facts.shares_of(step, event).empty]
    if len(steps) < 2:
        return
    low, high = steps[0], steps[-1]
    moved, most = profile.moved(low, high, event), 0.0
    for category in facts.shares_of(low, event)["category"]:
        a, b = profile.share(low, event, str(category)), profile.share(high, event, str(category))
        if a and b and category != profile.PROFILER:
            change = difference(b, a)
            most = max(most, change.high, -change.low)
    rates = f"from {write.rate(facts.offered_rps(low))} to {write.rate(facts.offered_rps(high))}"
    what = profile.EVENT_NAMES.get(event, event)
    parts = [f"{category} from {a.as_share} to {b.as_share}" for category, a, b in moved[:MOST_CATEGORIES]]
    name = facts.title(first)
    text = f"{name}, {what}, {rates}: {write.listed(parts)}"
    if not parts:
        text = f"{name}, {what}: no category's share changes {rates} by more than its interval"
    evidence: dict[str, write.Value] = {"low_rps": facts.offered_rps(low), "high_rps": facts.offered_rps(high)}
    evidence["at most"] = most
    evidence |= {f"{category} change": b.value - a.value for category, a, b in moved}
    yield Finding.of("R01", Severity.NOTE, text, evidence, (low.name, high.name), anchor(first.workload, event))


def _out_of_reach(ladder: Ladder) -> Finding | None:
    """Published rates that were not offered, because here they only measure a queue."""
    assert ladder.base is not None  # only such ladders are asked
    far = sorted(
        {
            rate
            for _, output in of_setting(ladder)
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
        f"{rates} of the published report {'are' if several else 'is'} more than {MOST_SHARE:g} times the "
        f"{ladder.base.named} of {ladder.title} here, {write.rate(ladder.base.rps)}, and "
        f"{'were' if several else 'was'} not offered: such a rate step only measures the length of a queue"
    )
    evidence: dict[str, write.Value] = {"ladder": facts.title(ladder.steps[0]), "base": ladder.base.what}
    evidence |= {"base_rps": ladder.base.rps, "lowest_not_offered_rps": far[0]}
    return Finding.of("R02", Severity.NOTE, text, evidence, tuple(dict(of_setting(ladder))), ladder.anchor)


def _cold(run: Run) -> Finding | None:
    """Return the first second of a server that was just started, against its last ones and the warm load."""
    cold, warm = (facts.only(run.find(workload=each, profiled=False)) for each in (COLD, WARM))
    if cold is None or not facts.quotable(cold) or len(p99_us := facts.per_second(cold)["p99_us"]) < 3:
        return None
    first_us, rest_us = float(p99_us.iloc[0]), float(p99_us.iloc[len(p99_us) // 2 :].median())
    text = (
        f"The first second of {facts.title(cold)} at {write.rate(facts.offered_rps(cold))} has a p99 of "
        f"{write.latency(first_us)}, the median p99 of the seconds in its second half is {write.latency(rest_us)}"
    )
    evidence: dict[str, write.Value] = {"first_p99_us": first_us, "later_p99_us": rest_us}
    if early := tail_attribution.made_first(cold, FIRST_S):
        text += f", but {early.written} of what was slow in that second"
        evidence["machine"] = early.written
    names = [cold.name]
    whole = facts.quoted(warm, 0.99) if warm is not None else None
    if warm is not None and whole is not None:
        if why := instrument.unresolved(run.steps, warm, 0.99):
            text += f"; the p99 of the same load on the warm server is not compared: {why}"
        else:
            text += f"; the whole of the same load on the warm server has {facts.written(whole)}"
            text += f", but {by.written} of that tail" if (by := tail_attribution.made(warm)) else ""
            evidence["warm_p99_us"] = whole.value
        names.append(warm.name)
    return Finding.of("R03", Severity.NOTE, text, evidence, tuple(names), Anchor.timeline(COLD))


def _no_cold_start(run: Run) -> Iterator[Finding]:
    """wrk2's percentiles begin after its calibration: a cold start is over by then."""
    cold = facts.only(run.find(workload=COLD, profiled=False))
    if cold is None or not facts.quotable(cold):
        return
    seconds = facts.per_second(cold)
    early = seconds[seconds["t_s"] < WRK2_SKIPS_S]
    if early.empty:
        return
    most_us, first_us = float(early["max_us"].max()), float(early["p99_us"].iloc[0])
    text = (
        f"The published cold run holds no cold start: wrk2 leaves the first {write.seconds(WRK2_SKIPS_S)} out of its "
        f"percentiles. Here the responses of these seconds of {facts.title(cold)} take up to {write.latency(most_us)}, "
        f"with a p99 of {write.latency(first_us)} in the first second"
    )
    evidence: dict[str, write.Value] = {"early_max_us": most_us, "first_p99_us": first_us}
    if machine := tail_attribution.made_first(cold, FIRST_S):
        text += f", but {machine.written} of what was slow in that one, so most of it is not what a cold start costs"
        evidence["machine"] = machine.written
    remedy = "Measure a cold start from its first request, and warm-up as something of its own."
    yield Finding.of("M06", Severity.WARNING, text, evidence, (cold.name,), Anchor.timeline(COLD), remedy)


QUEUE_US = 500_000.0  # a mean, median or p99 beyond this is a queue that grew
_RATE_OF_NAME = re.compile(r"[-@]\d.*")  # the end of an output's name
_METHOD = re.compile(r"\b(?:put|get)\b")


def named(names: Sequence[str]) -> Iterator[tuple[str, Output]]:
    """Yield the outputs of these names that this lab holds, each with its name."""
    for name in names:
        try:
            found = published_outputs(name)
        except ReadError:
            continue
        if len(found) == 1:
            yield name, found[0]


def of_setting(ladder: Ladder) -> Iterator[tuple[str, Output]]:
    """Yield the published outputs of a ladder's own setting: those of which the index names another are left out."""
    for name, output in named(ladder.published):
        if (output.entry or {}).get("treatment") in (None, ladder.steps[0].subject):
            yield name, output


def published_missed(names: Sequence[str]) -> Iterator[Finding]:
    """Yield what published ladders show and their authors did not say."""
    given = list(named(names))
    yield from _queues(given)
    yield from _absent(given)
    yield from _other_rate(given)
    yield from _no_knee(given)


def _queues(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    short: list[tuple[str, float, float, float]] = []
    for name, output in given:
        if output.offered_rps and not _met(output):
            achieved = output.report.requests_per_s or float("nan")
            short.append(
                (name, taken_at_rps(output) or output.offered_rps, achieved, max(_latencies(output), default=0.0))
            )
    if not short:
        return
    name, offered, achieved, latency = max(short, key=lambda each: each[3])
    of = f"{write.rate(achieved)} of {write.rate(offered)}" if write.known(achieved) else write.rate(offered)
    verb = "lie" if len(short) > 1 else "lies"
    text = (
        f"{write.count(len(short))} of the {write.count(len(given))} published rates {verb} beyond the knee, where "
        f"what is called latency is the length of a queue: {write.latency(latency)} at {of}"
    )
    evidence = {"beyond": len(short), "rates": len(given), "longest_us": latency}
    steps = tuple(each[0] for each in short)
    yield Finding.of("M07", Severity.WARNING, text, evidence, steps, None, "State a knee instead.")


def _absent(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    shares = {
        name: output.report.errors / output.report.requests
        for name, output in given
        if output.report.errors and output.report.requests
    }
    if not shares:
        return
    low, high = min(shares.values()), max(shares.values())
    text = (
        f"In {write.count(len(shares))} of the {write.count(len(given))} published outputs {write.percent(low)} to "
        f"{write.percent(high)} of the responses are not 2xx, whatever the rate: the keys asked for are not the keys "
        "written, so a part of each GET figure is the time of a miss"
    )
    evidence = {"outputs": len(shares), "low": low, "high": high}
    remedy = "Fill every key that is read, and report responses by status code."
    yield Finding.of("M08", Severity.WARNING, text, evidence, tuple(shares), None, remedy)


def _other_rate(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    """Yield percentiles that stand under another rate than they were measured at, as the folder's index says."""
    for name, output in given:
        ran = taken_at_rps(output)
        if ran is None or not output.offered_rps or ran == output.offered_rps:
            continue
        text = (
            f"The percentiles published for {write.rate(output.offered_rps)} are those of a run at {write.rate(ran)}: "
            f"a median of {write.latency(output.report.latencies.at(0.5))} says nothing about the rate that it stands "
            "under"
        )
        evidence = {"published_rps": output.offered_rps, "ran_at_rps": ran}
        remedy = "Keep each output with its command line; a report made from run folders can't mix them up."
        yield Finding.of("M09", Severity.ERROR, text, evidence, (name,), None, remedy)


def _no_knee(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    """Between which two published rates the knee lies: a report of a few rate steps can't say more."""
    by_kind: dict[str, list[tuple[float, bool]]] = {}
    for name, output in given:
        rate = taken_at_rps(output)
        if not rate:
            continue
        kind = _RATE_OF_NAME.sub("", name.rpartition("/")[2]).replace("-", " ")
        kind = _METHOD.sub(lambda word: word[0].upper(), kind)
        over = write.connections(output.connections)
        by_kind.setdefault(f"{kind} over {over}", []).append((rate, _met(output)))
    for kind, rate_steps in by_kind.items():
        rate_steps.sort()
        for (low, met), (high, met_too) in pairwise(rate_steps):
            if met and not met_too and high > low:
                text = (
                    f"The published rates of {kind} place the knee only between {write.rate(low)} and "
                    f"{write.rate(high)}, {write.percent(high / low - 1)} apart, each measured once"
                )
                remedy = "Search the knee: lab knee gives an interval."
                yield Finding.of("M10", Severity.NOTE, text, {"low_rps": low, "high_rps": high}, (), None, remedy)
                break


def taken_at_rps(output: Output) -> float | None:
    """Return the rate at which an output was really taken."""
    ran = (output.entry or {}).get("ran_at_rps")
    return float(ran) if isinstance(ran, (int, float)) else output.offered_rps


def _latencies(output: Output) -> list[float]:
    """The mean, median and p99 of an output, as far as it has them, in microseconds."""
    report = output.report
    values = [report.latency.mean if report.latency else None, report.latencies.at(0.5), report.latencies.at(0.99)]
    return [value for value in values if value is not None]


def _met(output: Output) -> bool:
    """Return whether an output achieved its rate, as far as it tells, without latencies that only a queue has."""
    offered, achieved = output.offered_rps, output.report.requests_per_s
    if offered and achieved and achieved < facts.LEAST_ACHIEVED * offered:
        return False
    return max(_latencies(output), default=0.0) <= QUEUE_US
