"""Conclude on generators: what each adds, resolves, sees of a stall, and costs; and what hosts of their own add."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from runners.analysis import comparable, facts, instrument
from runners.analysis.instrument import NAMES, Floor, Stall
from runners.analysis.intervals import Bounded
from runners.audit.rules.timing import fitted_line
from runners.claims.conclusion import Check, Claims
from runners.readers import write
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step
from runners.storage.schema import ShareRecord

OURS = "truepace"
FLOORS, STAIRCASE, STALL, CPU = "instrument-floors", "instrument-staircase", "instrument-stall", "instrument-cpu"
ALL = ("blocking", "epoll", "truepace", "wrk2", "wrk")
STALL_ORDER = ("truepace", "wrk2", "wrk", "blocking", "epoll")
LITTLE = 0.2  # of what the simplest client reads
SEEN = (0.95, 1.05)  # of what the schedule expects: the whole of a stall


def analyse(run: Run) -> Claims | None:
    """Return the conclusions of a run that holds rounds of generators or their stalls."""
    found, stalls = instrument.floors(run.steps), instrument.stalls(run.find(kind="stall"))
    if not found and not stalls:
        return None
    resolved = list(_resolved(found))
    return Claims(
        answer=_answer(found, stalls),
        findings=(*resolved, *_added(found), *_timer(found), *_stalls(stalls), *_cpu(found)),
        next_steps=tuple(_next(run, found)),
        checks=tuple(_checks(run, found, resolved)),
    )


def name(tool: str) -> str:
    return NAMES.get(tool, tool)


def adds(value: Bounded, quantity: str) -> str:
    """Return what is added to a quantity, in words that say so when nothing is seen."""
    if value.low <= 0 <= value.high:
        between = f"{write.latency(value.low)} to {write.latency(value.high)}"
        return f"adds nothing to {quantity} that this run can resolve ({between})"
    if value.value < 0:
        return f"reads {Bounded(-value.value, -value.high, -value.low).as_latency} less than {quantity}"
    return f"adds {value.as_latency} to {quantity}"


def _point(floor: Floor) -> str:
    return f"{write.rate(floor.rate_rps)} on {write.connections(floor.connections)}"


def _lead(found: Sequence[Floor]) -> list[tuple[Floor, dict[str, Floor]]]:
    """Ours and all others at the highest rate of each number of connections: the points of the answer."""
    last = dict(instrument.points(found))  # rates ascend
    points = [instrument.at_point(found, connections, rate) for connections, rate in last.items()]
    return [(point[OURS], point) for point in points if OURS in point and point[OURS].good]


def _answer(found: Sequence[Floor], stalls: Sequence[Stall]) -> str:
    parts = []
    for ours, point in _lead(found):
        reference = instrument.reference_of(point)
        more = instrument.added(ours, reference, instrument.MEDIAN) if reference else None
        if reference is None or more is None:
            continue
        text = f"At {_point(ours)} {OURS} {adds(more, f'the median of {name(reference.tool)}')}"
        wrk2 = point.get("wrk2")
        ticks = instrument.added(wrk2, reference, instrument.MEDIAN) if wrk2 else None
        if ticks is not None:
            text += f", wrk2 {adds(ticks, 'it')}"
        parts.append(text)
    seen = {one.tool: one for one in stalls}
    if OURS in seen:
        text = f"Of what a frozen server makes wait, {OURS} counts {write.percent(seen[OURS].seen_share)}"
        if "wrk2" in seen:
            text += f", wrk2 {write.percent(seen['wrk2'].seen_share)}"
        parts.append(text)
    return " ".join(write.sentence(part) for part in parts) or "No generator gave a floor that may be quoted."


def _resolved(found: Sequence[Floor]) -> Iterator[Finding]:
    """Yield the sentence that every report prints, at each point."""
    for connections, rate in instrument.points(found):
        point = instrument.at_point(found, connections, rate)
        for tool in (OURS, "wrk2"):
            resolved = instrument.resolved(point[tool], instrument.reference_of(point)) if tool in point else None
            if resolved is not None:
                evidence: dict[str, write.Value] = {"p50_us": resolved.p50_us, "p99_us": resolved.p99_us}
                steps = tuple(step.name for step in point[tool].good)
                sentence = resolved.sentence().replace("this instrument", f"This instrument ({tool})", 1) + "."
                yield Finding("I01" if tool == OURS else "I02", Severity.NOTE, sentence, evidence, steps, FLOORS)


def _added(found: Sequence[Floor]) -> Iterator[Finding]:
    """Yield what ours adds to the simplest client, in the median and in p99, at each point."""
    for connections, rate in instrument.points(found):
        point = instrument.at_point(found, connections, rate)
        reference, ours = instrument.reference_of(point), point.get(OURS)
        if reference is None or ours is None:
            continue
        p50, p99 = (instrument.added(ours, reference, level) for level in (instrument.MEDIAN, instrument.TAIL))
        own, their = ours.at(instrument.MEDIAN), reference.at(instrument.MEDIAN)
        if p50 is None or p99 is None or own is None or their is None:
            continue
        why = comparable.why(instrument.TAIL, (OURS, ours.good), (name(reference.tool), reference.good))
        tail = f"its p99 is not compared, for {why}" if why and not p99.holds_zero else adds(p99, "its p99")
        text = (
            f"At {_point(ours)} {OURS} {adds(p50, f'the median of {name(reference.tool)}')}, "
            f"{write.latency(own.value)} against {write.latency(their.value)}, and {tail}, "
            f"over {write.count(len(ours.good))} interleaved rounds"
        )
        if p50.high < 0 and {facts.receive_clock(step) for step in ours.good} == {"kernel"}:
            text += ". The kernel stamps its responses as they come, so its own waking is in none of its figures"
        if held := next(filter(None, map(facts.held, ours.good)), None):
            text += f". It held back {write.percent(held.share)} of its sends, each for at most "
            text += f"{write.latency(held.most_us)}, so that they left with the next; that is in its figures"
        evidence = {
            "p50_us": own.value, "reference_p50_us": their.value, "added_p50_us": p50.value, "added_p99_us": p99.value,
        }  # fmt: skip
        severity = Severity.GOOD if p50.high <= LITTLE * their.value else Severity.NOTE
        yield Finding.of("I03", severity, text, evidence, (), FLOORS)


def _timer(found: Sequence[Floor]) -> Iterator[Finding]:
    """wrk2's tick, in its own spectrum."""
    for floor in sorted(found, key=lambda each: (each.connections, each.closed, -each.rate_rps)):
        step = min(floor.good, key=instrument.p99_us, default=None)
        if floor.tool != "wrk2" or step is None:
            continue
        rows = step.frames["spectrum"]
        line, median = fitted_line(rows[rows["kind"] == facts.RESPONSE]), floor.at(instrument.MEDIAN)
        if line is None or median is None or not line.is_millisecond_timer:
            continue
        text = (
            f"the median of wrk2, {write.latency(median.value)} at {_point(floor)}, is its timer: it wakes once a "
            f"millisecond, so up to p90 its latencies climb in a straight line (R\u00b2 {line.r_squared:.4f}) over "
            f"{write.latency(line.width_us)}"
        )
        evidence: dict[str, write.Value] = {"width_us": line.width_us, "r_squared": line.r_squared}
        yield Finding.of("I04", Severity.WARNING, text, evidence, (step.name,), STAIRCASE)
        return


def ordered(stalls: Sequence[Stall]) -> list[Stall]:
    """Ours, those that it would take the place of, then the simplest clients."""
    return sorted(stalls, key=lambda one: STALL_ORDER.index(one.tool) if one.tool in STALL_ORDER else math.inf)


def _stalls(stalls: Sequence[Stall]) -> Iterator[Finding]:
    for one in ordered(stalls):
        evidence: dict[str, write.Value] = {
            "counted": one.counted_above(one.long_s),
            "expected": one.expected_above(one.long_s),
            "max_us": one.max_us,
            "censored": one.censored,
        }
        whole = SEEN[0] <= one.seen_share <= SEEN[1]
        ours = one.tool == OURS
        severity = (Severity.GOOD if whole else Severity.WARNING) if ours else Severity.NOTE
        text = write.sentence(_account(one, whole))
        yield Finding("I05" if ours else "I06", severity, text, evidence, (f"stall-{one.tool}",), STALL)


def _account(one: Stall, whole: bool) -> str:
    lengths = write.listed(write.seconds(round(freeze.length_s, 2)) for freeze in one.freezes)
    frozen = f"of a server that stalls for {lengths}, the last to the end,"
    if not write.known(one.rate_rps):
        return (
            f"{frozen} {one.tool} can show one thing, its longest response of {write.latency(one.max_us)}: in closed "
            "loop it sends nothing in the meantime, so nothing else had to wait"
        )
    more = ": those served from the queue after a freeze wait on top of it" if one.seen_share > 1 else ""
    text = (
        f"{frozen} {name(one.tool)} counts {write.count(one.counted_above(one.long_s))} requests that wait longer than "
        f"{write.latency(one.long_s * 1e6)}, where by the schedule there are "
        f"{write.count(one.expected_above(one.long_s))} ({write.percent(one.seen_share)}{more}); its longest is "
        f"{write.latency(one.max_us)}"
    )
    if write.known(one.censored):
        return f"{text}, and it counts {write.count(one.censored)} that had no response when the load ended"
    return text if whole else f"{text}, and what had no response when the load ended is in no figure of it"


def _cpu(found: Sequence[Floor]) -> Iterator[Finding]:
    """At the highest rate: what a million requests cost each."""
    paced = [floor for floor in found if not floor.closed and floor.good]
    if not paced:
        return
    top = max(paced, key=lambda floor: floor.rate_rps)
    point = instrument.at_point(found, top.connections, top.rate_rps)
    costs = {tool: cost for tool, floor in point.items() if (cost := floor.cpu_s_a_million()) is not None}
    if len(costs) < 2:
        return
    parts = [f"{name(tool)} {write.seconds(cost.value)}" for tool, cost in costs.items()]
    text = f"A million requests at {_point(top)} take {write.listed(parts)} of CPU time"
    yield Finding.of("I07", Severity.NOTE, text, {f"cpu_s {tool}": cost.value for tool, cost in costs.items()}, (), CPU)


def _next(run: Run, found: Sequence[Floor]) -> Iterator[Finding]:
    asked = str((run.manifest.get("parameters") or {}).get("generators") or "").split(",")
    missing = [tool for tool in ALL if tool in asked and tool not in {floor.tool for floor in found}]
    if missing:
        text = f"Put {write.listed(missing)} on PATH and run again: not found here, so nothing is said of them"
        yield Finding.of("I08", Severity.NOTE, text, {}, (), "checks")
    few = sorted({floor.tool for floor in found if 0 < len(floor.good) < instrument.ENOUGH_ROUNDS})
    if few:
        text = (
            f"Run a larger size for intervals of 95 %: {write.listed(few)} had fewer than "
            f"{instrument.ENOUGH_ROUNDS} rounds at some rate, so the smallest and the largest value are given"
        )
        yield Finding.of("I09", Severity.NOTE, text, {}, (), FLOORS)


def _checks(run: Run, found: Sequence[Floor], resolved: Sequence[Finding]) -> Iterator[Check]:
    tools = list(dict.fromkeys([*(floor.tool for floor in found), *(facts.tool(s) for s in run.find(kind="stall"))]))
    missing = [tool for tool in ALL if tool not in tools]
    text = f"found: {write.listed(tools)}" + (
        f"; not found or not asked for: {write.listed(missing)}" if missing else ""
    )
    yield Check("generators", None if missing else True, write.sentence(text))
    steps = [step for floor in found for step in floor.rounds]
    bad = [step for step in steps if not facts.quotable(step) and write.known(facts.offered_rps(step))]
    least = min(
        (facts.achieved_share(step) for step in steps if write.known(facts.achieved_share(step))), default=math.nan
    )
    text = f"{write.count(len(steps))} rounds, each achieved {write.percent(least)} of its rate or more"
    if bad:
        text += "; left out: " + "; ".join(_left_out(found))
    yield Check("rounds", not bad, write.sentence(text), tuple(step.name for step in bad))
    yield _errors(steps)
    ours = [step for step in steps if facts.tool(step) == OURS]
    kept = [step for step in ours if bool(step.frames["summary"]["kept_up"].fillna(value=False).iloc[0])]
    if ours:
        text = (
            f"{write.count(len(kept))} of {write.count(len(ours))} rounds of {OURS}; the other generators do not tell"
        )
        yield Check("generator kept up", len(kept) == len(ours), write.sentence(text))
    mine = [finding for finding in resolved if finding.code == "I01"]
    texts = " ".join(finding.sentence for finding in mine) or write.sentence(instrument.UNKNOWN)
    yield Check("resolution", True if mine else None, texts)
    sent = [samples for step in steps if (samples := facts.samples(step))]
    if sent:
        text = f"{write.count(min(sent))} to {write.count(max(sent))} samples per round"
        yield Check("samples", min(sent) >= 1_000, write.sentence(text))


def _left_out(found: Sequence[Floor]) -> Iterator[str]:
    """Yield what is not in the figures, a generator and a point at a time."""
    for floor in found:
        out = [step for step in floor.rounds if not facts.quotable(step)]
        if out and not floor.closed:
            reasons = write.listed(dict.fromkeys(facts.why_not(step) for step in out))
            count = f"{len(out)} of {write.several(len(floor.rounds), 'round')}"
            yield f"{count} of {floor.tool} at {_point(floor)} ({reasons})"


def _errors(steps: Sequence[Step]) -> Check:
    counts = {kind: sum(facts.errors(step).get(kind, 0.0) for step in steps) for kind in facts.ERRORS}
    parts = [f"{write.count(count)} {kind.replace('_', ' ')}" for kind, count in counts.items() if count]
    return Check("errors", not parts, write.sentence(write.listed(parts) or "none"))


#: From this share of the median on, the network is part of the answer.
NETWORK_SHARE = 0.2
#: Where no latency may be quoted, a round trip of so long is named all the same.
FAR_US = 1_000.0
#: Segments sent again, as a share of those sent; TCP sends some again that were only late, so a few prove nothing.
LOSS, FEWEST_REPEATED = 0.001, 10
#: Cores that stall for this share of the time make a tail of their own.
STALLED_SHARE = 0.005
#: A generator that begins so much later than agreed does not load with the others, but after them.
LATE_US = 10_000.0


def analyse_hosts(run: Run) -> Claims | None:
    """Return what the hosts of a run's generators show; None for a run whose loads came from one generator each."""
    shared = [step for step in run.steps if any(share.clock is not None for share in step.record.shares)]
    if not shared:
        return None
    findings = [finding for step in shared for share in step.record.shares for finding in _of_share(step, share)]
    return Claims(findings=tuple(findings), checks=tuple(_began_together(step) for step in shared))


def round_trip_us(share: ShareRecord) -> float | None:
    """Return the median round trip of a host to the servers; None where it was not measured."""
    found = sorted(share.network.round_trips_us)
    return found[len(found) // 2] if found else None


def _of_share(step: Step, share: ShareRecord) -> Iterator[Finding]:
    def found(code: str, severity: Severity, text: str, remedy: str, **evidence: write.Value) -> Finding:
        return Finding.of(code, severity, f"{step.label}: {text}", evidence, (step.name,), Anchor.CHECKS, remedy)

    median, trip_us = facts.quoted(step, instrument.MEDIAN), round_trip_us(share)
    least_us = FAR_US if median is None else NETWORK_SHARE * median.value
    if trip_us is not None and trip_us >= least_us:
        median_text = "no response time is quoted" if median is None else f"the median is {write.latency(median.value)}"
        text = f"from host {share.host} a round trip over the network takes {write.latency(trip_us)}, which is part of "
        text += f"each response time; {median_text}"
        remedy = "Measure from a host that is nearer, or read the response time as one over this network."
        p50 = {} if median is None else {"p50_us": median.value}
        yield found("F01", Severity.NOTE, text, remedy, round_trip_us=trip_us, **p50)
    sent, repeated = share.network.sent_segments or 0, share.network.repeated_segments or 0
    if repeated >= FEWEST_REPEATED and repeated >= LOSS * sent:
        text = f"host {share.host} sent {write.percent(repeated / sent)} of its segments again ({repeated} of {sent}): "
        text += "the network loses packets, and each loss delays a request by the time until TCP notices"
        remedy = "Repair the path to the server, or leave this host out."
        yield found("F02", Severity.WARNING, text, remedy, repeated_segments=repeated, sent_segments=sent)
    if share.clock is not None and ((stepped_us := share.clock.stepped_us) or abs(share.began_us) > LATE_US):
        cause = f"it began {write.latency(abs(share.began_us))} off the agreed instant"
        if stepped_us:
            cause = f"a clock was set by {write.latency(abs(stepped_us))} during the load"
        text = f"the share of host {share.host} is not at the others' time: {cause}"
        remedy = "Let one service keep the clocks of all hosts, and measure again."
        yield found("F03", Severity.WARNING, text, remedy, began_us=share.began_us, stepped_us=stepped_us)
    cores = len(share.witness.cpus) if share.witness is not None else 0
    window_ms = (step.record.duration_s or 0.0) * 1e3
    if share.stalled_ms and cores and share.stalled_ms >= STALLED_SHARE * cores * window_ms:
        stood = write.percent(share.stalled_ms / (cores * window_ms))
        text = f"the cores of host {share.host} stalled for {stood} of the time, and the response times that it "
        text += "read hold that"
        remedy = "Generate from a host whose cores nobody else uses."
        yield found("F04", Severity.NOTE, text, remedy, stalled_ms=share.stalled_ms, cores=cores)


def _began_together(step: Step) -> Check:
    """Return whether the generators of a load were one instrument."""
    shares = [share for share in step.record.shares if share.clock is not None]
    worst = max((share.clock.uncertainty_us for share in shares if share.clock is not None), default=0.0)
    off_us = max(abs(share.began_us) for share in shares)
    fine = off_us <= LATE_US and not any(share.clock.stepped_us for share in shares if share.clock is not None)
    text = (
        f"{step.label}: {len(shares)} generators on {write.listed([share.host for share in shares])} began within "
        f"{write.latency(off_us)} of the agreed instant, by clocks compared to within {write.latency(worst)}"
    )
    return Check("generators began together", fine, write.sentence(text), (step.name,))
