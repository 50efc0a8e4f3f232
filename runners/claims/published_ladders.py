"""What published ladders show and their authors did not say.

Everything is read from the outputs, and from the index beside them where that says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runners.analysis import facts
from runners.analysis.finding import Finding
from runners.readers import write
from runners.readers.errors import ReadError
from runners.readers.outputs import Output
from runners.readers.published import outputs
from runners.readers.severity import Severity

QUEUE_US = 500_000.0  # a mean, median or p99 beyond this is a queue that grew
_RATE_OF_NAME = re.compile(r"[-@]\d.*")  # the end of an output's name


def named(names: Sequence[str]) -> Iterator[tuple[str, Output]]:
    """The outputs of these names that this lab holds, each with its name."""
    for name in names:
        try:
            found = outputs(name)
        except ReadError:
            continue
        if len(found) == 1:
            yield name, found[0]


def missed(names: Sequence[str]) -> Iterator[Finding]:
    """What published ladders show and their authors did not say."""
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
            short.append((name, taken_at(output) or output.offered_rps, achieved, max(_latencies(output), default=0.0)))
    if not short:
        return
    name, offered, achieved, latency = max(short, key=lambda each: each[3])
    of = f"{write.rate(achieved)} of {write.rate(offered)}" if write.known(achieved) else write.rate(offered)
    verb = "lie" if len(short) > 1 else "lies"
    text = (
        f"{write.count(len(short))} of the {write.count(len(given))} published rates {verb} beyond the knee; "
        f"what they call latency is the length of a queue, which grows with the length of the run: "
        f"{write.latency(latency)} at {of}"
    )
    evidence: dict[str, write.Value] = {"beyond": len(short), "rates": len(given), "longest_us": latency}
    steps = tuple(each[0] for each in short)
    yield Finding("M07", Severity.WARNING, write.sentence(text), evidence, steps, None, "State a knee instead.")


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
    evidence: dict[str, write.Value] = {"outputs": len(shares), "low": low, "high": high}
    remedy = "Fill every key that is read, and report responses by status code."
    yield Finding("M08", Severity.WARNING, write.sentence(text), evidence, tuple(shares), None, remedy)


def _other_rate(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    """Percentiles that stand under another rate than they were measured at, as the index beside the files says."""
    for name, output in given:
        ran = taken_at(output)
        if ran is None or not output.offered_rps or ran == output.offered_rps:
            continue
        text = (
            f"The percentiles published for {write.rate(output.offered_rps)} are those of a run at {write.rate(ran)}: "
            f"a median of {write.latency(output.report.latencies.at(0.5))} says nothing on the rate it stands under"
        )
        evidence: dict[str, write.Value] = {"published_rps": output.offered_rps, "ran_at_rps": ran}
        remedy = "Keep each output with its command line; a report made from run folders can't mix them up."
        yield Finding("M09", Severity.ERROR, write.sentence(text), evidence, (name,), None, remedy)


def _no_knee(given: Sequence[tuple[str, Output]]) -> Iterator[Finding]:
    """Between which two published rates the knee lies: a report of a few rate steps can't say more."""
    by_kind: dict[str, list[tuple[float, bool]]] = {}
    for name, output in given:
        rate = taken_at(output)
        if not rate:
            continue
        kind = _RATE_OF_NAME.sub("", name.rpartition("/")[2]).replace("-", " ")
        over = write.connections(output.connections)
        by_kind.setdefault(f"{kind} over {over}", []).append((rate, _met(output)))
    for kind, rate_steps in by_kind.items():
        rate_steps.sort()
        for (low, met), (high, met_too) in pairwise(rate_steps):
            if met and not met_too and high > low:
                text = (
                    f"The published rates of {kind} place the knee only between {write.rate(low)} and "
                    f"{write.rate(high)}, "
                    f"{write.percent(high / low - 1)} apart, each measured once"
                )
                evidence: dict[str, write.Value] = {"low_rps": low, "high_rps": high}
                remedy = "Search the knee: lab knee gives an interval."
                yield Finding("M10", Severity.NOTE, write.sentence(text), evidence, (), None, remedy)
                break


def taken_at(output: Output) -> float | None:
    """The rate at which an output was really taken."""
    ran = (output.entry or {}).get("ran_at_rps")
    return float(ran) if isinstance(ran, (int, float)) else output.offered_rps


def _latencies(output: Output) -> list[float]:
    """The mean, median and p99 of an output, as far as it has them, in microseconds."""
    report = output.report
    values = [report.latency.mean if report.latency else None, report.latencies.at(0.5), report.latencies.at(0.99)]
    return [value for value in values if value is not None]


def _met(output: Output) -> bool:
    """Whether an output held its rate, as far as it tells, without latencies that only a queue has."""
    offered, achieved = output.offered_rps, output.report.requests_per_s
    if offered and achieved and achieved < facts.HELD * offered:
        return False
    return max(_latencies(output), default=0.0) <= QUEUE_US
