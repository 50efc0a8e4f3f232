"""Why the tail is what it is: the sentences on spikes, their causes, and what stays unexplained.

Where the generator recorded tenths of a second, causes are attributed (see attribution.py); older runs and other
generators allow only to look at whole seconds and the JVM's pauses (see seconds.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from runners.analysis import causes, facts, latency_spikes, seconds
from runners.analysis.attribution import Attribution, Share, attribute
from runners.analysis.finding import Anchor, Finding
from runners.analysis.intervals import Bounded
from runners.analysis.latency_spikes import Spike
from runners.readers import write
from runners.readers.run import Step
from runners.readers.severity import Severity

#: A cause that is credited with less of the tail than this is not worth a sentence.
LEAST_SHARE = 0.005
MOST_EVENTS = 3


def attribution(step: Step) -> Attribution | None:
    """The causes of a clean measurement's tail; None where its latencies may not be quoted or are too coarse."""
    if not facts.quotable(step):
        return None
    tail = latency_spikes.find(step.frames["slices"])
    return None if tail is None else attribute(tail, causes.of(step))


def findings(step: Step) -> Iterator[Finding]:
    """What can be said on the tail of a clean measurement."""
    if step.frames["slices"].empty:
        yield from seconds.findings(step)
        return
    if not facts.quotable(step):
        return
    seen = attribution(step)
    if seen is None:
        text = (
            f"{facts.title(step)} has too few responses in too short a time to look for the causes of its tail: at "
            f"least {latency_spikes.FEWEST_SLICES} slices with {latency_spikes.FEWEST_ANSWERS} responses each needed"
        )
        figure = Anchor.timeline(step.workload)
        yield Finding("W03", Severity.NOTE, write.sentence(text), {}, (step.name,), figure, "Run a larger size.")
        return
    yield _excursions(step, seen)
    if seen.tail.spikes:
        yield _explained(step, seen)
        yield _slowest(step, seen)


def _excursions(step: Step, seen: Attribution) -> Finding:
    tail, name = seen.tail, facts.title(step)
    count = len(tail.spikes)
    slow_s = sum(each.end_s - each.begin_s for each in tail.spikes)
    evidence: dict[str, write.Value] = {
        "slice_s": tail.slice_s,
        "length_s": tail.length_s,
        "spikes": count,
        "slow_s": slow_s,
        "usual_p99_us": tail.usual_us,
        "threshold_us": tail.threshold_us,
        "slow_answers": tail.slow,
        "excess_in_spikes": tail.inside,
    }
    window = f"{write.seconds(tail.slice_s)} of {write.seconds(tail.length_s)}"
    if not count:
        text = f"{name}: no stretch of {window} stands out; their median p99 is {write.latency(tail.usual_us)}"
        return _finding("W01", Severity.GOOD, text, evidence, step)
    text = (
        f"{name}: {count} latency spike{'s' if count > 1 else ''}, {write.seconds(round(slow_s, 1))} of "
        f"{write.seconds(tail.length_s)} in all, in which the p99 of {write.seconds(tail.slice_s)} exceeds "
        f"{write.latency(tail.threshold_us)} (usual: {write.latency(tail.usual_us)}); "
        f"they hold {write.percent(tail.inside)} of what slow responses took above that"
    )
    return _finding("W01", Severity.NOTE, text, evidence, step)


def _explained(step: Step, seen: Attribution) -> Finding:
    name, tail = facts.title(step), seen.tail
    told = [share for share in seen.named if share.share.value >= LEAST_SHARE]
    evidence: dict[str, write.Value] = {"unexplained": seen.unexplained, "slow_answers": tail.slow}
    for share in seen.shares:
        of = share.cause.name
        evidence |= {f"{of}: share": share.share.value, f"{of}: low": share.share.low, f"{of}: p": share.p}
    which = f"{write.several(tail.slow, 'response')} above {write.latency(tail.threshold_us)}"
    if told:
        parts = [f"{share.cause.name} {written(share.share)}" for share in told]
        rest = write.percent(seen.unexplained)
        text = f"{name}, its tail ({which}): explained by {write.listed(parts)}; {rest} stays unexplained"
        return _finding("W04", Severity.NOTE, text, evidence, step)
    text = f"{name}, its tail ({which}): no recorded cause explains it beyond chance"
    near = [share for share in seen.shares if share.spikes and share.share.value > 0]
    if near:
        best = min(near, key=lambda share: share.p)
        text += f"; nearest is {best.cause.name}, in {best.spikes} of {len(tail.spikes)} spikes ({p(best)})"
    remedy = "A longer run tells chance and cause apart." if near else None
    return _finding("W04", Severity.NOTE, text, evidence, step, remedy)


def _slowest(step: Step, seen: Attribution) -> Finding:
    worst = max(seen.tail.spikes, key=lambda each: each.peak_us)
    credit = seen.credited[seen.tail.spikes.index(worst)]
    there = [
        f"{one.name} ({write.latency(longest * 1000)})"
        for one in causes.of(step)
        if (longest := _longest_in(one, worst)) > 0
    ]
    text = f"The slowest responses of {facts.title(step)} took about {write.latency(worst.peak_us)}, {_when(worst)}; "
    evidence: dict[str, write.Value] = {"peak_us": worst.peak_us, "begin_s": worst.begin_s, **credit}
    if credit:
        parts = [f"{name} {write.percent(part)}" for name, part in sorted(credit.items(), key=lambda item: -item[1])]
        text += f"credited to {write.listed(parts)}"
    elif there:
        text += f"no named cause is long enough; there were {write.listed(there[:MOST_EVENTS])}"
    else:
        text += "nothing that was recorded happened there"
    return _finding("W02", Severity.NOTE, text, evidence, step)


def _longest_in(one: causes.Cause, window: Spike) -> float:
    """The largest capacity of a cause's events in a spike, in milliseconds; 0 without any."""
    inside = (one.begin_s <= window.end_s) & (one.end_s >= window.begin_s)
    return float(one.capacity_ms[inside].max()) if inside.any() else 0.0


def _when(window: Spike) -> str:
    return "in the first second" if window.begin_s < 1 else f"{write.seconds(round(window.begin_s, 1))} after the start"


def written(share: Bounded) -> str:
    """A share in words, with its interval where it has one."""
    return write.percent_interval(share.value, share.low, share.high)


def p(share: Share) -> str:
    """How often chance does as well: "p = 0.03", against the level that a cause has to reach."""
    return f"p{write.NBSP}={write.NBSP}{share.p:.2g}"


def _finding(
    code: str,
    severity: Severity,
    text: str,
    evidence: dict[str, write.Value],
    step: Step,
    remedy: str | None = None,
) -> Finding:
    figure = Anchor.causes(step.name)
    return Finding(code, severity, write.sentence(text), evidence, (step.name,), figure, remedy)
