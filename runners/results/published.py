"""Answers to questions that compare published outputs of load generators with this run's results at the same loads."""

import math
from collections.abc import Callable, Iterator, Sequence

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.intervals import Bounded, expected_hits
from runners.analysis.steady_state import steadiness
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import Objective
from runners.errors import ReadError
from runners.readers.output import Output
from runners.readers.published import columns, published_outputs
from runners.readers.run import Step
from runners.results.answer import Answer, Basis, Bound, Measure, Unit, Verdict, answering
from runners.results.generators import two_readings
from runners.results.ladders import Ladder
from runners.results.results import Results

SAME_SHARE = 0.01  # by how much the shares of errors at several rates may differ
KEYS = 10_000  # report 1's GET asks for random(1..10000)
#: wrk2 wakes once a millisecond (its event loop's timer, ae.c); its percentiles leave out the first ten seconds.
TICK_US, SKIPS_S = 1_000.0, 10.0
QUEUE_US = 500_000.0  # a mean, median or p99 beyond this shows that a queue grew


def outputs_named(names: Sequence[str]) -> Iterator[tuple[str, Output]]:
    """Yield (name, output) for each name under which the lab has exactly one published output; skip other names."""
    for name in names:
        try:
            outputs = published_outputs(name)
        except ReadError:
            continue
        if len(outputs) == 1:
            yield name, outputs[0]


def of_setting(ladder: Ladder) -> Iterator[tuple[str, Output]]:
    """Yield (name, output) for a ladder's published outputs, unless the index of their folder names another setting."""
    for name, output in outputs_named(ladder.published):
        if output.entry.treatment in (None, ladder.steps[0].subject):
            yield name, output


def taken_at_rps(output: Output) -> float | None:
    """Return the rate at which `output` was measured: by its folder's index, else as offered; None if unknown."""
    return output.entry.ran_at_rps or output.offered_rps


def longest_us(output: Output) -> float:
    """Return the longest of mean, median and p99 of an output, in microseconds; 0 if it shows none."""
    report = output.report
    values = [report.latency.mean if report.latency else None, report.latencies.at(0.5), report.latencies.at(0.99)]
    return max((value for value in values if value is not None), default=0.0)


def keeps_its_rate(output: Output) -> bool:
    """Return whether an output's server kept up: it achieved the offered rate, if both are known, and no queue grew."""
    offered, achieved = output.offered_rps, output.report.requests_per_s
    short = offered and achieved and achieved < facts.LEAST_ACHIEVED * offered
    return not short and longest_us(output) <= QUEUE_US


@answering
def reaches_published_rate(results: Results, workloads: Sequence[str]) -> Answer | None:
    """Answer: does a closed loop here reach the published rate, in all workloads with both rates? None without any."""
    measures, enough, steps = [], [], []
    for workload in workloads:
        output = results.published_output(workload)
        probes = results.run.find(kind="probe", workload=workload)
        valid = [step for step in probes if may_quote(step, Aspect.RATE) and facts.achieved_rps(step) > 0]
        if output is None or not output[1].rate_rps or not valid:
            continue
        probe = next(step for step in reversed(valid) if step.subject == valid[0].subject)
        published_rps, here_rps = output[1].rate_rps, facts.achieved_rps(probe)
        enough.append(here_rps >= published_rps)
        here = Measure(f"{facts.title(probe)} here", here_rps, Unit.RATE_RPS)
        measures.append(here.against(Measure("published", published_rps, Unit.RATE_RPS)))
        steps.append(probe)
    return Answer.by(steps, Basis.CLOSED_LOOPS, all(enough), *measures) if steps else None


@answering
def median_is_the_timer(results: Results, workload: str) -> Answer | None:
    """Answer: does a workload's published median come from the server? No if a 1 ms timer set the median, else None."""
    output = results.published_output(workload)
    if output is None:
        return None
    name, report = output
    line, median_us = instrument.timer_fit(report.spectrum_frame()), report.latencies.at(0.5)
    if line is None or median_us is None or not line.is_millisecond_timer:
        return None
    even = f"an even spread over {words.latency(line.width_us)}, as up to p90, has a median of"
    published = Measure("the published", median_us, Unit.LATENCY_US)
    median, steps = Measure(even, line.width_us / 2, Unit.LATENCY_US).against(published), [name]
    loads = results.run.find(workload=workload, profiled=False)
    known = (step for step in loads if facts.tool(step) == "truepace" and facts.quoted(step, 0.5) is not None)
    ours = [step for step in known if steadiness(step).steady is not False]
    fits = ((step, instrument.timer_fit(step.frames["spectrum"])) for step in ours)
    own = next((step for step, fit in fits if fit is not None and not fit.is_millisecond_timer), None)
    if own is not None:
        steps.append(own.name)
    measures = (median, *_added_here(results), *([_median_of(own, results)] if own is not None else []))
    return Answer(Verdict.NO, measures, Basis.OUTPUTS, 1, steps=tuple(steps), figure=f"spectrum-{workload}")


def _added_here(results: Results) -> Iterator[Measure]:
    if (readings := two_readings(results.run.steps)) is not None:
        label = f"on this machine, at {words.rate(readings.rate_rps)}, wrk2's median is higher than truepace's by"
        yield Measure.of(label, readings.median.added_us, Unit.LATENCY_US)


def _median_of(step: Step, results: Results) -> Measure:
    label = f"the median here by truepace, the lab's generator, at {words.rate(facts.offered_rps(step))}:"
    value = facts.quoted(step, 0.5) or Bounded(math.nan)
    if instrument.unresolved(results.run.steps, step, 0.5):
        return Measure(label, value.high if value.bounded else value.value, Unit.LATENCY_US, bound=Bound.AT_MOST)
    return Measure.of(label, value, Unit.LATENCY_US)


@answering
def medians_stay(results: Results, names: Sequence[str], workload: str) -> Answer | None:
    """Answer: do the medians of the published outputs `names` come from the server, not the generator? No or None.

    No if at least two of these medians are above TICK_US, and all those are above all of this run's under `workload`.
    """
    medians = (output.report.latencies.at(0.5) or 0.0 for _, output in outputs_named(names) if output.offered_rps)
    published_us = [median_us for median_us in medians if median_us > TICK_US]
    steps = (step for ladder in results.ladders if ladder.base for step in ladder.steps if step.workload == workload)
    own_us = [value.value for step in steps if (value := facts.quoted(step, 0.5)) is not None]
    if len(published_us) < 2 or not own_us or max(own_us) >= min(published_us):
        return None
    here = "here by truepace, which has no timer of 1 ms, at all rates offered"
    labelled = (("published medians", published_us), (here, own_us))
    measures = (Measure(label, min(us), Unit.LATENCY_US, min(us), max(us)) for label, us in labelled)
    return Answer(Verdict.NO, (*measures, *_added_here(results)), Basis.OUTPUTS, len(published_us), steps=tuple(names))


@answering
def errors_are_absent_keys(results: Results, workload: str) -> Answer | None:
    """Answer: did the server cause a workload's published errors? No if GETs of absent keys explain them, else None."""
    output = results.published_output(workload)
    if output is None or not output[1].errors or not output[1].requests:
        return None
    name, report = output
    draws, errors = report.requests or 0, report.errors
    keys = max(1, round(errors * KEYS / draws))
    one_less, exact, one_more = (expected_hits(draws, KEYS, absent) for absent in (keys - 1, keys, keys + 1))
    if not exact.low <= errors <= exact.high or errors <= one_less.high or errors >= one_more.low:
        return None
    return Answer.by(
        (name,), Basis.OUTPUTS, False,
        Measure("published errors", errors, Unit.COUNT).out_of(draws),
        Measure("absent keys", keys, Unit.COUNT).out_of(KEYS),
        Measure.of("errors that they make", exact, Unit.COUNT),
    )  # fmt: skip


#: The fewest bytes that the kernel reads from a disk at once; for a yes, the least number of such pages per GET.
PAGE_BYTES, MANY_READS = 4_096, 0.05


@answering
def reads_the_disk(results: Results, step_name: str) -> Answer | None:
    """Answer: do a load's GETs read the disk? Yes if at least MANY_READS pages per GET were read; None if unknown."""
    step = next((step for step in results.run.steps if step.name == step_name), None)
    read_bytes = step.record.process_after.read_bytes if step is not None else None
    if step is None or read_bytes is None or not may_quote(step, Aspect.RATE):
        return None
    share = read_bytes / PAGE_BYTES / facts.number(step, "completed")
    return Answer.by(
        (step,), Basis.LOADS, share >= MANY_READS,
        Measure("read from the disk since the server's start", float(read_bytes), Unit.SIZE_BYTES),
        Measure("GETs that may have read a page", min(share, 1.0), Unit.SHARE, bound=Bound.AT_MOST),
    )  # fmt: skip


@answering
def loads_several_nodes(_results: Results, names: Callable[[], Sequence[str]], nodes: int) -> Answer | None:
    """Answer: do the published outputs that `names` returns load at least `nodes` URLs? None if they show no URL."""
    outputs = dict(outputs_named(names()))
    urls = {output.report.url for output in outputs.values() if output.report.url}
    if not urls:
        return None
    measure = Measure("addresses under load", len(urls), Unit.COUNT).out_of(nodes)
    return Answer.by(outputs, Basis.OUTPUTS, len(urls) >= nodes, measure)


LIMIT_US = Objective().latencies[0][1]  # the highest p99 (us) at a rate that a published server sustains


def sustained(part: str) -> tuple[float, float]:
    """Return (highest rate with all p99s of report 5's `part` outputs within LIMIT_US, longest p99 in us), or NaNs."""
    by_rate = facts.grouped(outputs_named(columns("report-5", part)), lambda named: named[1].offered_rps or 0.0)
    longest = {
        rps: max(output.report.latencies.at(0.99) or math.inf for _, output in of) for rps, of in by_rate.items()
    }
    return max(((rps, us) for rps, us in longest.items() if us <= LIMIT_US), default=(math.nan, math.nan))


@answering
def reads_miss(results: Results, names: Callable[[], Sequence[str]]) -> Answer | None:
    """Answer: did the server cause the errors in outputs `names()`? No if their error shares are similar, else None."""
    reports = ((name, output.report) for name, output in outputs_named(names()))
    shares = {name: report.errors / report.requests for name, report in reports if report.errors and report.requests}
    low, high = min(shares.values(), default=0.0), max(shares.values(), default=0.0)
    if not shares or high - low > SAME_SHARE:
        return None
    measure = Measure("reads of keys that were never written", (low + high) / 2, Unit.SHARE, low, high)
    return Answer.by(shares, Basis.OUTPUTS, False, measure)


def _of_ladders(results: Results) -> list[tuple[str, Output]]:
    return list(outputs_named(list(dict.fromkeys(name for ladder in results.ladders for name in ladder.published))))


def beyond_the_knee(results: Results) -> Answer | None:
    """Answer: do all published latencies show the server, not a queue? No if it missed an offered rate, else None."""
    outputs = _of_ladders(results)
    queues = {name: output for name, output in outputs if output.offered_rps and not keeps_its_rate(output)}
    if not queues:
        return None
    many = Measure("published rates that the published server did not keep", len(queues), Unit.COUNT)
    longest = Measure("longest published mean, median or p99", max(map(longest_us, queues.values())), Unit.LATENCY_US)
    return Answer.by(queues, Basis.OUTPUTS, False, many.out_of(len(outputs)), longest)


def taken_at_another_rate(results: Results) -> Answer | None:
    """Answer: were published percentiles measured at the published rate? No if the index names another, else None."""
    for name, output in _of_ladders(results):
        ran_rps = taken_at_rps(output)
        if ran_rps is not None and output.offered_rps and ran_rps != output.offered_rps:
            measure = Measure("taken at", ran_rps, Unit.RATE_RPS)
            measure = measure.against(Measure("published under", output.offered_rps, Unit.RATE_RPS))
            return Answer.by((name,), Basis.OUTPUTS, False, measure)
    return None


@answering
def leaves_out_a_cold_start(results: Results, workload: str) -> Answer | None:
    """Answer: does a published run show its cold start? No: wrk2 omits the first 10 s. None if not repeated here."""
    cold = facts.only(results.run.find(workload=workload, profiled=False))
    if cold is None or not facts.quotable(cold):
        return None
    seconds = facts.per_second(cold)
    early = seconds[seconds["t_s"] < SKIPS_S]
    if early.empty:
        return None
    return Answer.by(
        (cold,), Basis.LOADS, False,
        Measure("wrk2 leaves out the first", SKIPS_S, Unit.TIME_S),
        Measure("slowest response in them here", float(early["max_us"].max()), Unit.LATENCY_US),
        Measure("p99 of the first second", float(early["p99_us"].iloc[0]), Unit.LATENCY_US),
        figure=f"timeline-{workload}",
    )  # fmt: skip
