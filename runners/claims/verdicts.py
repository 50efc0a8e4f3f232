"""Answer the questions that one experiment alone asks, each by the finding or the frames of its run.

What several experiments ask is answered in `answers`, by interleaved trials in `interleaved`.
"""

from __future__ import annotations

import math

from runners.analysis import facts, instrument, knee
from runners.analysis.facts import grouped
from runners.analysis.interleaved import comparisons
from runners.analysis.knee import rate_interval
from runners.analysis.quantities import Quantity, factor
from runners.claims import faults, interleaved, profile, settings
from runners.claims.climbing import Ladder, ladders
from runners.claims.question import (
    Answer,
    Answering,
    Evidence,
    Verdict,
    either,
    number,
    of_finding,
    of_rule,
    verdict_of,
)
from runners.claims.rate_steps import taken_at_rps
from runners.claims.trends import JUDGED, Trend, trends_of
from runners.claims.validation import FLOORS, OURS
from runners.design.cluster import OLD
from runners.design.load import SENTINEL
from runners.design.objective import THROUGHPUT
from runners.design.session import PROBE
from runners.readers import write
from runners.readers.finding import Finding
from runners.readers.published import published_outputs
from runners.readers.run import Run, Step

MEDIAN = 0.5
#: Of the requests that the schedule makes wait, how many more or fewer may be counted.
WHOLE = 0.05
#: By how much a closed loop may reach less than it could, as the machine varies.
SPREAD = 0.1
#: A share of the CPU samples that has to move before it matters, as the table of questions has it.
SHARE_MARGIN = 0.02


def generator_adds(tool: str) -> Answering:
    """Answer: does a generator add to the median of the simplest client, in interleaved rounds?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = instrument.floors(evidence.run.steps)
        parts, lows, highs, rested = [], [], [], dict[str, None]()
        for connections, rate in instrument.points(found):
            point = instrument.at_point(found, connections, rate)
            floor, reference = point.get(tool), instrument.reference_of(point)
            added = instrument.added(floor, reference, MEDIAN) if floor is not None and reference is not None else None
            if added is not None:
                few = min((each for each in (floor, reference) if each is not None), key=lambda each: len(each.good))
                enough, text = len(few.good) >= instrument.ENOUGH_ROUNDS, added.as_latency
                text = text if enough else f"{text.removesuffix(')')}, {few.spread()})"
                parts.append(f"{text} at {write.rate(rate)}")
                lows.append(added.low)
                highs.append(added.high)
                rested[few.spread()] = None
        if not parts:
            return None
        # at one rate at least, or at none
        verdict = Verdict.YES if max(lows) > 0 else verdict_of(max(lows), max(highs))
        finding = evidence.first("I03" if tool == OURS else "I04")
        basis = f"interleaved, {write.listed(rested)}"
        return Answer(verdict, write.listed(parts), basis, "", finding, FLOORS)

    return answer


def sees_a_stall(code: str, tool: str) -> Answering:
    """Answer: does a generator count every request that a frozen server makes wait?"""

    def answer(evidence: Evidence) -> Answer | None:
        finding = evidence.about(code, f"stall-{tool}")
        if finding is None or not number(finding, "expected") > 0:
            return None
        share = number(finding, "counted") / number(finding, "expected")
        effect = f"{write.percent(share)} of {write.count(number(finding, 'expected'))} requests"
        whole = abs(share - 1) <= WHOLE
        return Answer(Verdict.YES if whole else Verdict.NO, effect, "one load, frozen at known times", finding=finding)

    return answer


def generator_costs(evidence: Evidence) -> Answer | None:
    """Answer: does our generator take less CPU time per request than a plain epoll loop?"""
    paced = [floor for floor in instrument.floors(evidence.run.steps) if not floor.closed and floor.good]
    if not paced:
        return None
    top = max(paced, key=lambda floor: floor.rate_rps)
    point = instrument.at_point(paced, top.connections, top.rate_rps)
    ours, plain = (point[tool].cpu_s_a_million() if tool in point else None for tool in (OURS, "epoll"))
    if ours is None or plain is None:
        return None
    text = f"{write.seconds(ours.value)} against {write.seconds(plain.value)} per million requests"
    apart = ours.apart_from(plain)
    verdict = (Verdict.YES if ours.value < plain.value else Verdict.NO) if apart else Verdict.INCONCLUSIVE
    needed = "more rounds: the intervals overlap" if not apart else ""
    confidence = f"{len(point[OURS].good)} interleaved rounds at {write.rate(top.rate_rps)}"
    return Answer(verdict, text, confidence, needed, evidence.first("I07"))


@of_rule("M02")
def errors_are_the_keys(finding: Finding) -> Answer:
    """Answer: do the published errors say that the server failed? Not where they agree with a number of absent keys."""
    expected = f"{write.count(number(finding, 'expected_low'))} to {write.count(number(finding, 'expected_high'))}"
    effect = f"{write.count(number(finding, 'non_2xx'))} errors; "
    effect += f"{write.several(number(finding, 'absent_keys'), 'absent key')} would give {expected}"
    return Answer(Verdict.NO, effect, "computed from the published output", finding=finding)


@of_rule("D01")
def one_flag(finding: Finding) -> Answer:
    """Answer: is more to be had from the server with the same code?"""
    ratios = [number(finding, name) for name in finding.evidence]
    verdict = Verdict.YES if min(ratios) > 1 else Verdict.NO
    effect = f"TCP_NODELAY alone: {write.span(ratios, write.count)} times the throughput"
    return Answer(verdict, effect, f"{len(ratios)} pairs of closed loops", finding=finding)


@of_rule("D04")
def executor(finding: Finding) -> Answer:
    """Answer: does the cached pool help?"""
    least, most = number(finding, "least_us"), number(finding, "most_us")
    effect = f"the median moves by {write.latency(least)} to {write.latency(most)}"
    verdict = Verdict.NO if least <= 0 <= most else Verdict.INCONCLUSIVE
    return Answer(verdict, effect, f"{write.count(number(finding, 'pairs'))} pairs of closed loops", finding=finding)


@of_rule("D02")
def timer_and_tick(finding: Finding) -> Answer | None:
    """Answer: is the wait the kernel's delayed-ACK timer and one tick?"""
    if not write.known(number(finding, "expected_us")):
        return None
    low, high, expected = (number(finding, name) for name in ("least_p50_us", "most_p50_us", "expected_us"))
    verdict = Verdict.YES if max(abs(low - expected), abs(high - expected)) < 0.05 * expected else Verdict.NO
    effect = f"medians {write.span((low, high), write.latency)}; computed {write.latency(expected)}"
    return Answer(verdict, effect, "every closed loop that waits; the kernel's counter agrees", finding=finding)


@of_rule("D07")
def of_the_script(finding: Finding) -> Answer:
    """Answer: do the 404s say anything of the server?"""
    same = number(finding, "non_2xx") == number(finding, "replayed")
    effect = f"{write.count(number(finding, 'non_2xx'))} of {write.count(number(finding, 'requests'))} are 404; "
    effect += f"the script's numbers replayed make {write.count(number(finding, 'replayed'))}"
    return Answer(Verdict.NO if same else Verdict.INCONCLUSIVE, effect, "counted, and computed", finding=finding)


@of_rule("D10")
def mixed(finding: Finding) -> Answer:
    """Answer: is the mixed script a mix?"""
    puts, asked = number(finding, "puts"), number(finding, "requests")
    effect = f"{write.count(puts)} of {write.count(asked)} are PUT"
    return Answer(Verdict.NO if puts in (0, asked) else Verdict.YES, effect, "counted", finding=finding)


@of_rule("D06")
def one_write(finding: Finding) -> Answer:
    """Answer: does a response of one write wait too?"""
    one, two = number(finding, "one_write_us"), number(finding, "two_writes_us")
    effect = f"p50 {write.latency(one)} with one write, {write.latency(two)} with two ({factor(two / one)} as long)"
    return Answer(Verdict.NO if one < two / 2 else Verdict.YES, effect, "one closed loop each", finding=finding)


def waits_idle(evidence: Evidence) -> Answer | None:
    """Answer: does a profile show the wait?"""
    effect = "while a response waits for its acknowledgement, no thread computes"
    return of_finding(evidence.first("D12"), Verdict.NO, effect)


def handed_over(quantity: str) -> Answering:
    """Answer: does handing a request over raise a quantity, against running it on the selector?"""
    return interleaved.differs(("hand-over", "compare"), "blocking-one", quantity)


def longer_queue(evidence: Evidence) -> Answer | None:
    """Answer: does a longer queue refuse less of what does not fit?"""
    pairs = sorted(settings.overloaded(evidence.run), key=lambda pair: settings.queue_length(pair[1]))
    if len(pairs) < 2:
        return None
    parts = [f"{facts.engine_name(high.subject)}: {_refused(high)}" for _, high in pairs]
    shares = [knee.refused_share(high) for _, high in pairs]
    verdict = Verdict.YES if shares[-1] < shares[0] else Verdict.NO
    return Answer(verdict, "; ".join(parts), "one load each", finding=evidence.first("E03"))


def _refused(load: Step) -> str:
    """Return the share of a load's requests that the server refused; a connection waits with one request at a time."""
    text = f"{write.percent(knee.refused_share(load))} refused"
    connections = load.record.connections or 0
    if 0 < connections <= settings.queue_length(load):
        text += f" ({write.count(connections)} connections wait with as many requests at most, and never fill it)"
    return text


@of_rule("M08")
def misses(finding: Finding) -> Answer:
    """Answer: are the published errors the server's?"""
    shares = f"{write.percent(number(finding, 'low'))} to {write.percent(number(finding, 'high'))}"
    effect = f"{shares} at every rate: keys that were never written"
    return Answer(Verdict.NO, effect, f"{write.count(number(finding, 'outputs'))} published outputs", finding=finding)


def published_rates(evidence: Evidence) -> Answer | None:
    """Answer: does one connection keep the objective at the published rates? Those beyond the knee there are none to
    keep.
    """
    parts, enough, figure, late, searches = [], [], None, False, 0
    beyond = {output for found in evidence.all("M07") for output in found.steps}
    for ladder in ladders(evidence.run):
        found = ladder.answer
        there = [name for name in ladder.published if name not in beyond]
        rates = [
            float(taken_at_rps(each) or each.offered_rps or 0) for name in there for each in published_outputs(name)
        ]
        if ladder.base is None or found is None or not rates:
            continue
        closed_rps, sent = _in_closed_loop(evidence.run, ladder), ladder.steps[0].workload.upper()
        if closed_rps * (1 + SPREAD) < max(rates):
            figure = figure or ladder.anchor
            enough.append(Verdict.NO)
            parts.append(f"{sent} {write.rate(closed_rps)} in closed loop, of {write.rate(max(rates))}")
            continue
        if not found.known_below:
            continue
        figure = figure or ladder.anchor
        searches += 1
        enough.append(verdict_of(found.low_rps - max(rates), found.high_rps - max(rates)))
        late = late or found.late
        knee = f"{'knee' if found.from_below else 'up to'} {rate_interval(found)}"
        parts.append(f"{sent} {knee} of {write.rate(max(rates))}")
    if not parts:
        return None
    verdict = next((each for each in (Verdict.NO, Verdict.INCONCLUSIVE) if each in enough), Verdict.YES)
    needed = "more cores for the generator, which was late above the bound" if late else "longer searches"
    needed = needed if verdict == Verdict.INCONCLUSIVE else ""
    basis = f"one {'search' if searches else 'closed loop'} each; another machine"
    return Answer(verdict, write.listed(parts), basis, needed, evidence.first("R02"), figure)


def _in_closed_loop(run: Run, ladder: Ladder) -> float:
    """Return what the ladder's load reached in closed loop, infinite where that is not known.

    More can't be achieved over as many connections, as each of them waits for its response.
    """
    own = ladder.steps[0]
    probes = run.find(kind=PROBE, subject=own.subject, workload=own.workload)
    same = [step for step in probes if step.valid and step.record.connections == own.record.connections]
    return max(map(facts.achieved_rps, same), default=math.inf)


@of_rule("M09")
def wrong_rate(finding: Finding) -> Answer:
    """Answer: were the percentiles published for 45 000/s taken at that rate?"""
    effect = f"taken at {write.rate(number(finding, 'ran_at_rps'))}, beyond the knee"
    return Answer(Verdict.NO, effect, "the published output", finding=finding)


@of_rule("M06")
def cold_start(finding: Finding) -> Answer:
    """Answer: does the published cold run hold its cold start?"""
    effect = "wrk2 leaves out the first 10 s; here responses in them take up to "
    effect += f"{write.latency(number(finding, 'early_max_us'))}"
    if machine := finding.evidence.get("machine"):
        effect += f", but {machine} of what was slow in the first second"
    return Answer(Verdict.NO, effect, "wrk2's source; one load", finding=finding)


def changes_with_rate(evidence: Evidence) -> Answer | None:
    """Answer: does the work of a request change with the rate? The profiler's own share does, and is no work of a
    request.

    No where the intervals leave no category room for a change that matters.
    """
    found = [f for f in evidence.all("R01") if "CPU" in f.sentence]
    if not found:
        return None
    changes = [
        (abs(number(f, name)), f)
        for f in found
        for name in f.evidence
        if name.endswith(" change") and not name.startswith(profile.PROFILER)
    ]
    basis = f"{write.several(len(found), 'ladder')}, profiled at each rate"
    most, finding = max(changes, key=lambda each: each[0], default=(0.0, found[0]))
    if (bound := max(number(f, "at most") for f in found)) < SHARE_MARGIN:
        text = f"no category of a request's work changes by more than {write.percent(bound)} of the samples"
        return Answer(Verdict.NO, text, basis, "", finding)
    if most < SHARE_MARGIN:
        text = "no category of a request's work is seen to change by more than "
        text += f"{write.given_share(SHARE_MARGIN)} of the samples"
        return Answer(Verdict.INCONCLUSIVE, text, basis, "more samples, or rates further apart", finding)
    return Answer(Verdict.YES, finding.sentence.rstrip("."), basis, "", finding)


def fails(subject: str) -> Answering:
    """Answer: do requests fail in the seconds that are wholly without a node?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = next((each for each in faults.outages(evidence.run.steps) if each.name == subject), None)
        if found is None:
            return None
        bad, asked = found.failed("without")
        if not asked:
            return None
        effect = f"{write.percent(bad / asked)} of {write.count(asked)} responses"
        confidence = f"one death, {write.several(len(found.part('without')), 'whole second')} without the node"
        finding = evidence.about("O01", found.step.name)
        return Answer(Verdict.YES if bad else Verdict.NO, effect, confidence, "", finding, faults.OUTAGES)

    return answer


@of_rule("H02")
def spreads(finding: Finding) -> Answer:
    """Answer: did the old hash spread the keys over the nodes?"""
    old, low, high = (number(finding, name) for name in ("most_old", "least_new", "most_new"))
    effect = f"{write.percent(old)} of the ids on one node; murmur3 {write.span((low, high), write.percent)} on each"
    verdict = Verdict.NO if old > 0.5 else Verdict.YES
    return Answer(verdict, effect, "computed for every id", finding=finding, figure="keys-section")


@of_rule("H08")
def lock_waits(finding: Finding) -> Answer:
    """Answer: do threads wait for the lock around the client?"""
    own, every = number(finding, f"{OLD} client_s"), number(finding, f"{OLD} all_s")
    effect = f"{write.seconds(own)} of the {write.seconds(every)} that threads wait for locks in each second"
    held = number(finding, "least_held")
    verdict, needed = (Verdict.YES if own > 0 else Verdict.NO), ""
    if held < facts.LEAST_ACHIEVED:
        verdict, needed = Verdict.INCONCLUSIVE, f"profiled loads that keep their rate; one kept {write.percent(held)}"
    return Answer(verdict, effect, "one profiled load each", needed, finding)


def less(code: str, of: str, against: str, what: str) -> Answering:
    """Answer: is an amplification of one store lower than that of another?"""

    @of_rule(code)
    def answer(finding: Finding) -> Answer | None:
        here, there = (number(finding, facts.engine_name(name)) for name in (of, against))
        if not (write.known(here) and write.known(there)):
            return None
        effect = f"{here:.2f} against {there:.2f} {what}"
        return Answer(Verdict.YES if here < there else Verdict.NO, effect, "one fill each, counted", finding=finding)

    return answer


@of_rule("G06")
def memory(finding: Finding) -> Answer | None:
    """Answer: does our store take less memory than RocksDB?"""
    here, there = (number(finding, f"{facts.engine_name(name)} own_bytes") for name in ("lsm", "rocksdb"))
    if not (write.known(here) and write.known(there)):
        return None
    effect = f"{write.size(here)} against {write.size(there)} of its own"
    return Answer(Verdict.YES if here < there else Verdict.NO, effect, "the most after any load", finding=finding)


def switch_raises(setting: str, alone: str) -> Answering:
    """Answer: does a setting raise GET throughput, in the factorial design or alone?"""
    factorial = interleaved.differs(("reads",), f"reads-{setting}", THROUGHPUT)
    return either(factorial, interleaved.differs(("compaction", "bloom"), alone, THROUGHPUT))


@of_rule("V04")
def shared_response(finding: Finding) -> Answer:
    """Answer: can one response object be shared by all requests?"""
    first, last = number(finding, "first_bytes"), number(finding, "last_bytes")
    effect = f"its head grows from {write.size(first)} to {write.size(last)} in "
    effect += f"{write.count(number(finding, 'answers'))} responses"
    return Answer(Verdict.NO if last > first else Verdict.YES, effect, "counted", finding=finding)


def costs_anything(evidence: Evidence) -> Answer | None:
    """Answer: does any switch that gains cost something else?"""
    gains = [
        (found, row)
        for found in comparisons(evidence.run)
        for row in found.rows
        if row.quantity.name == found.primary and row.better
    ]
    if not gains:
        needed = "more starts: no treatment is seen to gain"
        return Answer(Verdict.INCONCLUSIVE, "no treatment is seen to gain", "every switch of this run", needed)
    costs = grouped((worse for found, row in gains for worse in found.costs(row.treatment)), lambda row: row.quantity)
    parts = []
    for quantity, rows in costs.items():
        worst = max(rows, key=lambda row: abs(row.ratio - 1))
        count = f"{write.count(len(rows))} of {write.count(len(gains))}"
        parts.append(f"{quantity.label} in {count}, most {worst.change}, {worst.pair()}, with {worst.treatment}")
    effect = "; ".join(parts) or "none that gains is worse in another quantity"
    figure = interleaved.anchor(gains[0][0].name)
    basis = f"{write.several(len(gains), 'treatment')} that {'gains' if len(gains) == 1 else 'gain'}"
    return Answer(Verdict.YES if parts else Verdict.NO, effect, basis, figure=figure)


def trends_change(sentinel: bool) -> Answering:
    """Answer: did trends change their level: those of the machine's sentinel, or those of the servers?"""

    def wanted(trend: Trend) -> bool:
        return trend.kind == SENTINEL and trend.metric == JUDGED if sentinel else trend.kind != SENTINEL

    def answer(evidence: Evidence) -> Answer | None:
        found = [trend for trend in trends_of(evidence.run) or () if wanted(trend)]
        looked = [trend for trend in found if not trend.why_not]
        if not found:
            return None
        moved = [trend for trend in looked if trend.found]
        effect = f"{write.count(len(moved))} of {write.several(len(looked), 'trend')} that are long enough"
        confidence = f"{write.several(max((len(t.frame) for t in found), default=0), 'run')} at most"
        if not looked:
            return Answer(Verdict.INCONCLUSIVE, effect, confidence, found[0].why_not, figure="trends")
        return Answer(Verdict.YES if moved else Verdict.NO, effect, confidence, figure="trends")

    return answer


def treatments_differ(quantity: Quantity) -> Answering:
    """Answer: do the two treatments differ in a quantity?"""

    def answer(evidence: Evidence) -> Answer | None:
        finding = interleaved.finding_on(evidence.findings, quantity.name)
        return interleaved.answer_of(finding) if finding is not None else None

    return answer
