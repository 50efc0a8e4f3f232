"""Report 5: its changes one at a time, copies with a blocking and an asynchronous client, and what it does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runners.analysis import facts, outages
from runners.analysis.comparison import FEWEST_ROUNDS, Verdict
from runners.analysis.finding import Finding
from runners.claims import client_lock, climbing, passing, turns
from runners.claims.conclusion import Check, Claims
from runners.claims.published_ladders import named
from runners.claims.turns import CARRIED, TAIL, Group
from runners.design.report_5 import NEW, NEW_THREADS, OLD, OLD_THREADS, get, put
from runners.readers import write
from runners.readers.published import outputs
from runners.readers.run import Run
from runners.readers.severity import Severity

CHANGES, REPLICATION = "changes", "replication"
TICK_US = 1_000.0  # wrk2's
_POOL = re.compile(r"--pool-threads=(\d+)")
_PUT_COLUMNS, _GET_COLUMNS = put("full").published_rates, get("full").published_rates


def anchor(group: str) -> str:
    """Where a group's differences are drawn."""
    return f"turns-{group}"


def analyse(run: Run) -> Claims | None:
    """What a run of experiment 05 says; None for any other."""
    found = {each.name: each for each in turns.groups(run.steps)}
    died = list(outages.findings_of(run))
    if not found and not died:
        return None
    findings: list[Finding] = []
    if group := found.get(CHANGES):
        findings += [*_changes(group), *passing.findings_of(run, group), *_threads(group)]
        findings += client_lock.findings_of(client_lock.of_run(run))
    if group := found.get(REPLICATION):
        findings += _replication(group)
    findings += died
    headline = [text for name in (CHANGES, REPLICATION) if (text := in_short(found.get(name)))]
    if deaths := outages.outages(run.steps):
        headline.append(outages.in_short(deaths))
    checks = tuple(check for group in found.values() for check in _checks(group))
    return Claims(" ".join(headline), tuple(findings), tuple(_missed(run, findings)), tuple(_next(findings)), checks)


def in_short(group: Group | None) -> str:
    """What a group's changes do to the closed-loop rate, in a sentence; empty without a group or a pair."""
    if group is None:
        return ""
    if group.name == CHANGES:
        return _changes_in_short(group)
    parts = []
    for acks, blocking, name in _clients(group):
        if (each := turns.of(group.against(blocking, name), CARRIED)) is not None:
            ack, _, of = acks.partition("of")
            parts.append(f"with {ack} of {of} copies answering {turns.told(each)}")
    return (
        write.sentence(f"Asynchronous against blocking client, closed-loop rate: {'; '.join(parts)}") if parts else ""
    )


def _changes_in_short(group: Group) -> str:
    """All changes at once, then by name what one of them alone was seen to do."""
    found = {name: turns.of(group.against(OLD, name), CARRIED) for name in group.settings if OLD in group.settings}
    every = found.pop(NEW, None)
    alone = {name: each for name, each in found.items() if each is not None and name != OLD}
    if every is None or not alone:
        return ""
    text = f"The report's three changes at once, closed-loop rate: {turns.told(every)}"
    seen = [name for name, each in alone.items() if turns.verdict(each) in (Verdict.LOWER, Verdict.HIGHER)]
    text += "".join(f"; {facts.engine_name(name)} alone {turns.told(alone[name])}" for name in seen)
    rest = [facts.engine_name(name) for name in alone if name not in seen]
    text += f"; no change by {' or '.join(rest)} alone can be seen" if rest else ""
    return write.sentence(text)


def _clients(group: Group) -> Iterator[tuple[str, str, str]]:
    """By how many replicas must respond: that, the blocking client's setting and the asynchronous one's."""
    for name in group.settings:
        client, _, acks = name.partition("-")
        if client == "async" and f"blocking-{acks}" in group.settings:
            yield acks, f"blocking-{acks}", name


def _changes(group: Group) -> Iterator[Finding]:
    """All changes at once, then each alone, against the state before."""
    if OLD not in group.settings:
        return
    parts, evidence = [], dict[str, write.Value]()
    for name in group.settings:
        each = turns.of(group.against(OLD, name), CARRIED) if name != OLD else None
        if each is None:
            continue
        evidence |= {f"{name} share": each.share, f"{name} low": each.low, f"{name} high": each.high}
        if name == NEW:
            all_at_once = f"{turns.told(each)}, {write.rate(each.b)} against {write.rate(each.a)}"
        else:
            parts.append(f"{name}: {turns.told(each)}")
    if parts and f"{NEW} share" in evidence:
        text = f"The report's three changes at once, closed-loop rate: {all_at_once}; each alone: {', '.join(parts)}"
        steps = tuple(step.name for step in group.steps)
        yield Finding("H01", Severity.GOOD, write.sentence(text), evidence, steps, anchor(group.name))
    for name in group.settings[1:]:
        yield from _latency(group, OLD, name)


def _latency(group: Group, a: str, b: str) -> Iterator[Finding]:
    """What a setting does to the latency at the rate of all."""
    found = group.against(a, b)
    tail, middle = turns.of(found, TAIL), turns.of(found, "p50_us")
    if tail is None or middle is None or not write.known(tail.low):
        return
    text = (
        f"{facts.engine_name(b)} against {facts.engine_name(a)} at {write.rate(group.rate_rps)}: "
        f"p50 {turns.told(middle)}, {write.latency(middle.b)} against {write.latency(middle.a)}; "
        f"p99 {turns.told(tail)}, {write.latency(tail.b)} against {write.latency(tail.a)}"
    )
    evidence: dict[str, write.Value] = {
        "p50_share": middle.share, "p99_share": tail.share, "p99_low": tail.low, "p99_high": tail.high,
        "rounds": tail.rounds,
    }  # fmt: skip
    yield Finding("H06", Severity.NOTE, write.sentence(text), evidence, (), anchor(group.name))


def _threads(group: Group) -> Iterator[Finding]:
    """How the published numbers of threads were scaled to this machine."""
    pools = {}
    for name in (OLD, NEW):
        if name in group.turns:
            step = next(iter(group.turns[name].values()))[1]
            flags = " ".join(step.record.server.command)
            if match := _POOL.search(flags):
                pools[name] = int(match[1])
    if len(pools) < 2 or (pools[OLD], pools[NEW]) == (OLD_THREADS, NEW_THREADS):
        return
    text = (
        f"The pools are scaled to this machine's cores: {pools[OLD]} and {pools[NEW]} threads a node in place of the "
        f"published {OLD_THREADS} and {NEW_THREADS}, in the same ratio"
    )
    evidence: dict[str, write.Value] = {"old_threads": pools[OLD], "new_threads": pools[NEW]}
    yield Finding("H05", Severity.NOTE, write.sentence(text), evidence, (), anchor(group.name))


def _replication(group: Group) -> Iterator[Finding]:
    """The asynchronous client against the blocking one, by how many replicas must respond."""
    for acks, blocking, name in _clients(group):
        each = turns.of(group.against(blocking, name), CARRIED)
        if each is not None:
            ack, _, of = acks.partition("of")
            text = (
                f"With {ack} of {of} copies answering, the asynchronous client's closed-loop rate is "
                f"{turns.told(each)} than the blocking one's: {write.rate(each.b)} against {write.rate(each.a)}"
            )
            if turns.verdict(each) not in (Verdict.LOWER, Verdict.HIGHER):
                text = (
                    f"With {ack} of {of} copies answering, asynchronous against blocking client, closed-loop rate: "
                    f"{turns.told(each)}"
                )
            evidence: dict[str, write.Value] = {
                "share": each.share,
                "low": each.low,
                "high": each.high,
                "acks": acks,
            }
            yield Finding("H04", Severity.GOOD, write.sentence(text), evidence, (), anchor(group.name))
        yield from _latency(group, blocking, name)


def _missed(run: Run, findings: list[Finding]) -> Iterator[Finding]:
    """What the published figures show, or do not, and their authors did not say."""
    named_here = outputs("report-5/put-ladder")[0].changes
    alone = any(finding.code == "H01" for finding in findings)
    text = (
        f"Between its two PUT tables the report changes {write.count(len(named_here))} things "
        f"({'; '.join(named_here)}), after one more, the pool, in the first; a gain of all of them is none of any one's"
    )
    steps = ("report-5/put-12000-pool", "report-5/put-ladder")
    figure = anchor(CHANGES) if alone else None
    yield Finding(
        "M11",
        Severity.ERROR,
        write.sentence(text),
        {"changes": len(named_here) + 1},
        steps,
        figure,
        "Change one thing at a time, in interleaved rounds.",
    )
    given = list(named([*_PUT_COLUMNS, *_GET_COLUMNS]))
    untold = [name for name, output in given if output.report.requests_per_s is None]
    if untold:
        text = (
            f"{write.count(len(untold))} of {write.count(len(given))} published rates tell neither the rate that was "
            "answered nor how many responses were errors; a full queue of the report's server refuses with 503, which "
            "is a fast response"
        )
        yield Finding(
            "M12",
            Severity.WARNING,
            write.sentence(text),
            {"rates": len(untold)},
            tuple(untold),
            None,
            "Keep the whole output.",
        )
    yield from _tick(run)


def _tick(run: Run) -> Iterator[Finding]:
    """A median that stays while the rate grows is the generator's."""
    flat = [
        (output.offered_rps, us)
        for _, output in named(_PUT_COLUMNS)
        if output.offered_rps and (us := output.report.latencies.at(0.5)) and us > TICK_US
    ]
    own = [
        (facts.offered_rps(step), value.value)
        for ladder in climbing.ladders(run)
        if ladder.base is not None
        for step in ladder.steps
        if (value := facts.quoted(step, 0.5)) is not None and step.workload == "put"
    ]
    if len(flat) < 2 or not own:
        return
    rates, medians = [rate for rate, _ in flat], sorted(us for _, us in flat)
    middle = medians[len(medians) // 4], medians[-len(medians) // 4 - 1]
    low, high = min(own), max(own)
    text = (
        f"From {write.rate(min(rates))} to {write.rate(max(rates))} half of the published PUT medians lie between "
        f"{write.latency(middle[0])} and {write.latency(middle[1])}: wrk2 wakes by the millisecond, and that is "
        f"what they tell. Timed without a tick, here the median goes from {write.latency(low[1])} at "
        f"{write.rate(low[0])} to {write.latency(high[1])} at {write.rate(high[0])}"
    )
    evidence: dict[str, write.Value] = {
        "published_low_us": medians[0],
        "published_high_us": medians[-1],
        "own_low_us": low[1],
        "own_high_us": high[1],
    }
    yield Finding(
        "M13",
        Severity.WARNING,
        write.sentence(text),
        evidence,
        tuple(_PUT_COLUMNS),
        None,
        "Use a generator that is paced finer than what it measures.",
    )


def _next(findings: list[Finding]) -> Iterator[Finding]:
    """What to try: rounds where they can't tell."""
    blind = [each for each in findings if each.code in ("H01", "H04", "H06") and turns.UNSEEN in each.sentence]
    if blind:
        text = "Measure more rounds (a larger size): some changes are too small, or their rounds too few, to be seen"
        yield Finding("H07", Severity.NOTE, write.sentence(text), {"sentences": len(blind)}, (), blind[0].figure)


def _checks(group: Group) -> Iterator[Check]:
    """Rounds, rate and errors of a group."""
    loads = group.steps
    good = [step for step in loads if facts.quotable(step)]
    taken = max(len(own) for own in group.turns.values())
    rounds = f"{taken} rounds" if taken >= group.planned else f"{taken} of {group.planned} planned rounds"
    text = f"{write.count(len(good))} of {write.count(len(loads))} loads tell a latency, in {rounds}"
    yield Check(f"{group.name}, rounds", len(good) == len(loads), write.sentence(text))
    compiling = [step.name for steps in group.compiling(*group.settings).values() for step in steps]
    named = (
        f"JIT compilation unfinished in {write.several(len(compiling), 'load')}; such rounds are left out where "
        f"{FEWEST_ROUNDS} others remain"
    )
    text = named if compiling else "in every round"
    if group.taken_again:
        text += f"; taken again for that: {write.count(group.taken_again)}"
    yield Check(f"{group.name}, compilers at rest", not compiling, write.sentence(text))
    held = [value for step in loads if write.known(value := facts.held_share(step))]
    if held:
        text = f"all were offered {write.rate(group.rate_rps)} and answered at least {write.percent(min(held))} of it"
        yield Check(f"{group.name}, rate", min(held) >= facts.HELD, write.sentence(text))
    errors = sum(value for step in loads if write.known(value := facts.number(step, "non_2xx")))
    yield Check(
        f"{group.name}, errors",
        errors == 0,
        write.sentence(write.several(errors, "response", " with an error")),
    )
