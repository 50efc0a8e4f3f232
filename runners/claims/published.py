"""Compare a run with a published output: a table of both, what differs, and what its authors did not see in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from runners.analysis import facts, instrument
from runners.analysis.intervals import expected_hits
from runners.audit.rules.timing import fitted_line
from runners.claims.conclusion import Comparison
from runners.readers import write
from runners.readers.console_report import ConsoleReport, beyond
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step

LEVELS = (0.5, 0.9, 0.99, 0.999, 1.0)
KEYS = 10_000  # report 1's GET asks for random(1..10000)
SILENT_ON_ERRORS = ("report-1/get",)  # reports whose text says nothing on the errors in their output
_NOT_SAID = "not stated"
UNRESOLVED = "*"  # behind a percentile that is inside the floor, or above what the generator kept up to

Cells = tuple[str, ...]


def comparison(run: Run, workload: str, name: str, published: ConsoleReport, steps: Sequence[Step]) -> Comparison:
    """Return one workload: the published output and the clean step of each engine."""

    def row(name: str, stated: float | None, unit: Callable[[float], str], measured: Callable[[Step], float]) -> Cells:
        return (name, _stated(stated, unit), *(unit(measured(step)) for step in steps))

    def percentile(level: float) -> Cells:
        values = (facts.quoted(step, level) for step in steps)
        cells = (
            facts.written(value) + _unresolved(run, step, level)
            if value is not None
            else facts.why_not(step) or _NOT_SAID
            for step, value in zip(steps, values, strict=True)
        )
        return (write.level(level), _stated(published.latencies.at(level), write.latency), *cells)

    rows = (
        row("offered rate", published.rate_rps, write.rate, facts.offered_rps),
        row("achieved rate", published.requests_per_s, write.rate, facts.achieved_rps),
        *map(percentile, LEVELS),
        row("samples", published.latencies.count, write.count, facts.samples),
        row("errors", published.errors, write.count, _errors),
        row("duration", published.duration_s, write.seconds, _elapsed_s),
        ("generator", published.tool or _NOT_SAID, *map(facts.tool, steps)),
        ("transport", _NOT_SAID, *(s.record.server.ready.get("transport") or _NOT_SAID for s in steps)),
        ("machine", _NOT_SAID, *(_machine(run) for _ in steps)),
    )
    columns = ("published", *(facts.engine_name(step.subject) for step in steps))
    return Comparison(workload, name, columns, rows, tuple(_differs(run, published, steps)))


def _unresolved(run: Run, step: Step, level: float) -> str:
    """Give the mark of a percentile that is not the server's, or nothing."""
    return UNRESOLVED if instrument.unresolved(run.steps, step, level) else ""


def _stated(value: float | None, unit: Callable[[float], str]) -> str:
    """Return what a published output states, in its unit."""
    return _NOT_SAID if value is None else unit(value)


def _errors(step: Step) -> float:
    counts = facts.errors(step)
    return sum(counts.values()) if counts else float("nan")


def _elapsed_s(step: Step) -> float:
    return facts.number(step, "elapsed_s")


def _machine(run: Run) -> str:
    machine = run.manifest.get("machine") or {}
    parts = [str(machine.get("cpu_model") or ""), f"{machine['cores']} cores" if machine.get("cores") else ""]
    return ", ".join(part for part in parts if part) or _NOT_SAID


def _differs(run: Run, published: ConsoleReport, steps: Sequence[Step]) -> Iterator[str]:
    if not steps:
        return
    tools = list(dict.fromkeys(facts.tool(step) for step in steps))
    if published.tool and tools != [published.tool]:
        yield write.sentence(f"The generator is {write.listed(tools)}; the published one is {published.tool}")
    rates = list(dict.fromkeys(write.rate(facts.offered_rps(step)) for step in steps))
    if published.rate_rps and rates != [write.rate(published.rate_rps)]:
        basis = next((_basis(step) for step in steps if step.record.rate_basis), "")
        why = f", {basis}" if basis else ""
        rate = f"The rate of {steps[0].workload.upper()} is {write.listed(rates)}{why}"
        yield write.sentence(f"{rate}; the published one is {write.rate(published.rate_rps)}")
    lengths = list(dict.fromkeys(write.seconds(_elapsed_s(step)) for step in steps))
    if published.duration_s and lengths != [write.seconds(published.duration_s)]:
        there = write.seconds(published.duration_s)
        yield write.sentence(f"A load takes {write.listed(lengths)}; a published one took {there}")
    yield write.sentence(
        f"The machine is {_machine(run)}; the published output does not name its own, so absolute figures can't be "
        "compared, shapes and causes can"
    )


def _basis(step: Step) -> str:
    """Write what a rate was taken from as a report does; runs of earlier labs recorded an engine by its key."""
    text = re.sub(r"(?<=\d)%", f"{write.NBSP}%", step.record.rate_basis)
    return re.sub(r"(?<= of what )\S+", lambda found: facts.engine_name(found.group()), text)


def missed_in(
    workload: str, name: str, published: ConsoleReport, ours: Sequence[Step], every: Sequence[Step] = ()
) -> Iterator[Finding]:
    """Yield what can be read in the published output and its authors did not say; `every`: all steps of the run."""
    rules = (_absent, _left_out, _thin)
    found = (_timer(workload, name, published, ours, every), *(rule(workload, name, published) for rule in rules))
    yield from filter(None, found)


def _timer(
    workload: str, name: str, published: ConsoleReport, ours: Sequence[Step], every: Sequence[Step]
) -> Finding | None:
    spectrum = published.spectrum_frame()
    line = fitted_line(spectrum[spectrum["kind"] == facts.RESPONSE])
    median = published.latencies.at(0.5)
    if line is None or median is None or not line.is_millisecond_timer:
        return None
    text = (
        f"The published {workload.upper()} median of {write.latency(median)} is the generator's timer, not the server: "
        f"up to p90 the latency grows in a straight line (R\u00b2 {line.r_squared:.4f}) over "
        f"{write.latency(line.width_us)}, as it does when requests leave on a millisecond tick"
    )
    evidence: dict[str, write.Value] = {
        "published_p50_us": median, "width_us": line.width_us, "r_squared": line.r_squared, "deviation": line.deviation,
    }  # fmt: skip
    for step in ours:
        own = facts.quoted(step, 0.5)
        rows = step.frames["spectrum"]
        own_line = fitted_line(rows[rows["kind"] == facts.RESPONSE])
        most = facts.quoted(step, 0.9)
        if own is None or most is None or own_line is None or facts.tool(step) != "truepace":
            continue
        if own_line.is_millisecond_timer:
            continue
        median_us, most_us = (
            facts.written_at_most(value) if instrument.unresolved(every, step, level) else write.latency(value.value)
            for level, value in ((0.5, own), (0.9, most))
        )
        text += (
            f". Here, timed without a tick, {facts.title(step)} at {write.rate(facts.offered_rps(step))} has a median "
            f"of {median_us} and 90{write.NBSP}% of its responses within {most_us}"
        )
        evidence |= {
            f"p50_us {step.name}": own.value,
            f"p90_us {step.name}": most.value,
            f"p50_most_us {step.name}": own.high if "most" in median_us else None,
            f"width_us {step.name}": own_line.width_us,
            f"r_squared {step.name}": own_line.r_squared,
        }
        break
    steps = (name, *(step.name for step in ours))
    remedy = "Measure with a generator that waits to the microsecond, or read wrk2's uncorrected figures (-U) as well."
    return Finding.of("M01", Severity.ERROR, text, evidence, steps, Anchor.spectrum(workload), remedy)


def _absent(workload: str, name: str, published: ConsoleReport) -> Finding | None:
    """Random keys out of a known number: how many absent ones would give the published errors?"""
    if workload != "get" or not published.errors or not published.requests:
        return None
    draws, seen = published.requests, published.errors
    keys = max(1, round(seen * KEYS / draws))
    one_less, exact, one_more = (expected_hits(draws, KEYS, chosen) for chosen in (keys - 1, keys, keys + 1))
    if not exact.low <= seen <= exact.high or seen <= one_less.high or seen >= one_more.low:
        return None
    several = "key" if keys == 1 else "keys"
    text = (
        f"The published GET has {write.count(seen)} responses other than 2xx in {write.count(draws)} requests, which "
        f"agrees with exactly {write.count(keys)} absent {several} of {write.count(KEYS)}: that gives "
        f"{write.count(exact.value)} ({write.count(exact.low)}{write.DASH}{write.count(exact.high)}), one more would "
        f"give {write.count(one_more.value)}"
    )
    if name in SILENT_ON_ERRORS:
        text += ". The report does not mention them"
    evidence = {
        "non_2xx": seen, "requests": draws, "absent_keys": keys, "expected": exact.value, "expected_low": exact.low,
        "expected_high": exact.high,
    }  # fmt: skip
    remedy = "Fill every key that is read, and report responses by status code."
    return Finding.of("M02", Severity.WARNING, text, evidence, (name,), Anchor.comparison(workload), remedy)


def _left_out(workload: str, name: str, published: ConsoleReport) -> Finding | None:
    """wrk2 counts more responses than its histogram holds: its warm-up is counted and not recorded."""
    recorded = published.latencies.count
    if published.requests is None or recorded is None or published.requests <= recorded or not published.requests_per_s:
        return None
    lost = published.requests - recorded
    text = (
        f"The published {workload.upper()} percentiles leave out {write.count(lost)} of "
        f"{write.count(published.requests)} requests, about the first "
        f"{write.seconds(lost / published.requests_per_s)}: the generator counts them and does not record them"
    )
    evidence = {"requests": published.requests, "recorded": recorded, "left_out": lost}
    return Finding.of("M03", Severity.NOTE, text, evidence, (name,), Anchor.comparison(workload))


def _thin(workload: str, name: str, published: ConsoleReport) -> Finding | None:
    count = published.latencies.count
    highest = max((level for level, _ in published.latencies.rows if level < 1), default=None)
    if count is None or highest is None:
        return None
    left = beyond(count, highest)
    text = (
        f"The published {workload.upper()} states no number of samples: {write.level(highest)} rests on "
        f"{write.count(left)} of {write.count(count)}"
    )
    severity = Severity.WARNING if left < facts.ENOUGH_BEYOND else Severity.NOTE
    evidence = {"samples": count, "samples_beyond": left, "percentile": highest}
    return Finding.of("M04", severity, text, evidence, (name,), Anchor.comparison(workload))


def not_repeated(published: Iterable[str]) -> Finding | None:
    """Return one output a workload, by these names: nothing is known on the spread from run to run."""
    if not (names := tuple(sorted(published))):
        return None
    text = "Each published figure comes from one run, so nothing tells how much it would differ in the next"
    return Finding.of("M05", Severity.NOTE, text, {"outputs": len(names)}, names, remedy="Repeat and give the spread.")
