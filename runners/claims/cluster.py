"""Conclude on clusters: changes one at a time, copies by client, what a node passes on, waits for its lock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.analysis import facts, outages, placement
from runners.analysis.comparison import FEWEST_ROUNDS, Verdict
from runners.analysis.finding import Finding
from runners.analysis.intervals import Bounded
from runners.claims import climbing, turns
from runners.claims.conclusion import Check, Claims
from runners.claims.rate_steps import named
from runners.claims.turns import CARRIED, TAIL, Group
from runners.design.report_5 import NEW, NEW_THREADS, OLD, OLD_THREADS, PUBLISHED_KEYS, get, put
from runners.readers import write
from runners.readers.published import outputs
from runners.readers.run import Run, Step
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
        findings += [*_changes(group), *passed_on(run, group), *_threads(group)]
        findings += lock_waits(of_run(run))
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
            f"{write.count(len(untold))} of {write.count(len(given))} published rates state neither the achieved rate "
            "nor the number of errors; a full queue of the report's server refuses with 503, which "
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


KEYS_ANCHOR = "keys"
AGREE = 0.02  # measured and computed shares this close are one


@dataclass(frozen=True, slots=True)
class Passed:
    """One setting over all its steps: requests that the loaded node served itself and passed on, and the calls' time.

    `expected` is the share of ids that lie on other nodes, by the hash; NaN for a hash that is not computed here.
    """

    name: str
    hashing: str
    topology: tuple[str, ...]
    local: int
    proxied: int
    expected: float
    call_p50_us: float
    call_p99_us: float
    failed_calls: int

    @property
    def share(self) -> float:
        asked = self.local + self.proxied
        return self.proxied / asked if asked else float("nan")


def passed(steps: list[Step]) -> Passed | None:
    """What these steps of one setting passed on, as the status of the loaded node tells; None where it does not."""
    local = proxied = 0
    last: Mapping[str, Any] = {}
    for step in steps:
        before, after = step.record.cluster_before, step.record.cluster_after
        if before.get("served") and after.get("served"):
            local += int(after["served"]["local"]) - int(before["served"]["local"])
            proxied += int(after["served"]["proxied"]) - int(before["served"]["proxied"])
            last = after
    if not last or not local + proxied:
        return None
    topology, hashing = tuple(sorted(str(url) for url in last["topology"])), str(last["hashing"])
    expected = float("nan")
    if hashing in placement.HASHES:
        own = placement.shares(topology, hashing, PUBLISHED_KEYS)
        expected = 1 - own[topology.index(str(last["self"]))]
    busiest: Mapping[str, Any] = max(last["peers"], key=lambda peer: peer["answered"], default={})
    latency = busiest.get("latency_us") or {}
    failed = sum(int(count) for peer in last["peers"] for count in peer["failed"].values())
    p50, p99 = (float(latency.get(name) or "nan") for name in ("p50", "p99"))
    return Passed(steps[0].subject, hashing, topology, local, proxied, expected, p50, p99, failed)


def of_group(group: Group) -> list[Passed]:
    """Each setting of a group whose status tells."""
    found = []
    for name in group.settings:
        every = [step for pair in group.turns[name].values() for step in pair if step is not None]
        if (one := passed(every)) is not None:
            found.append(one)
    return found


def topology(run: Run) -> tuple[str, ...] | None:
    """The addresses of the run's first cluster in one JVM."""
    for step in run.steps:
        about = step.record.cluster_after
        if step.kind == turns.TURN and about.get("topology"):
            return tuple(sorted(str(url) for url in about["topology"]))
    return None


def passed_on(run: Run, group: Group) -> Iterator[Finding]:
    """How each hash spreads the report's keys, and what was passed on."""
    nodes = topology(run)
    if nodes is not None:
        old = placement.shares(nodes, placement.OBJECTS_HASH, PUBLISHED_KEYS)
        new = placement.shares(nodes, placement.RENDEZVOUS, PUBLISHED_KEYS)
        text = (
            f"Of the {write.count(PUBLISHED_KEYS)} ids that the report wrote, the old hash (Objects.hash) puts "
            f"{write.percent(max(old))} on one of these nodes; rendezvous hashing with murmur3 puts "
            f"{write.percent(min(new))} to {write.percent(max(new))} on each"
        )
        evidence: dict[str, write.Value] = {"most_old": max(old), "least_new": min(new), "most_new": max(new)}
        yield Finding("H02", Severity.WARNING, write.sentence(text), evidence, (), KEYS_ANCHOR)
    found = of_group(group)
    parts = [
        f"{facts.engine_name(one.name)} {write.percent(one.share)} (its hash says {write.percent(one.expected)})"
        for one in found
    ]
    if found:
        agree = all(not write.known(one.expected) or abs(one.share - one.expected) <= AGREE for one in found)
        text = f"The node that is asked passes on {write.listed(parts)} of its requests"
        evidence = {f"{one.name} share": one.share for one in found}
        evidence |= {f"{one.name} expected": one.expected for one in found}
        severity = Severity.NOTE if agree else Severity.WARNING
        yield Finding("H03", severity, write.sentence(text), evidence, (), KEYS_ANCHOR)


LOCK_ANCHOR = "client-lock"
#: The frame that takes the lock around a call, and what it calls for that; a lock further in is the client library's.
CLIENT_FRAME = "lab/server/cluster/BlockingTransport$Task.run"
LOCK_FRAME = "java/util/concurrent/locks/ReentrantLock.lock"
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Waited:
    """Waiting of one profiled step: seconds a second over all threads, and of that the client's lock."""

    step: Step
    all_s: float
    client_s: float
    share: Bounded | None

    @property
    def name(self) -> str:
        return facts.engine_name(self.step.subject)


def waited(step: Step) -> Waited | None:
    """What a step's lock profile tells; None without one."""
    stacks, length_s = step.frames["stacks"], (step.record.duration_s or 0.0)
    if "lock" not in step.profiled or not length_s:
        return None
    own = stacks[stacks["event"] == "lock"] if not stacks.empty else stacks
    if own.empty:
        return Waited(step, 0.0, 0.0, None)
    client = own["stack"].str.contains(f"{CLIENT_FRAME};{LOCK_FRAME}", regex=False)
    total = float(own["count"].sum())
    rows = step.frames["frames"]
    rows = rows[(rows["event"] == "lock") & (rows["frame"].str.contains(CLIENT_FRAME, regex=False))]
    share = None
    if not rows.empty and client.any():
        row = rows.iloc[0]
        share = Bounded(float(row["share"]), float(row["low"]), float(row["high"]))
    return Waited(step, total / _NS / length_s, float(own["count"][client].sum()) / _NS / length_s, share)


def of_run(run: Run) -> list[Waited]:
    """Every setting that was profiled in its turn, in order."""
    found = (waited(step) for step in run.find(kind=turns.PROFILED))
    return [one for one in found if one is not None]


def lock_waits(found: Sequence[Waited]) -> Iterator[Finding]:
    """The settings that wait for the client's lock, then what the others wait."""
    with_it = [one for one in found if one.client_s > 0]
    without = [one for one in found if not one.client_s]
    if not with_it:
        return
    parts = []
    for one in with_it:
        share = write.percent_interval(one.share.value, one.share.low, one.share.high) if one.share else write.UNKNOWN
        parts.append(
            f"{one.name} waits {write.seconds(one.all_s)} for locks in each second, all threads together, {share} "
            "of it for the one around the client between nodes"
        )
    text = write.listed(parts)
    if without:
        text += "; without that lock " + write.listed(f"{one.name} waits {write.seconds(one.all_s)}" for one in without)
    evidence: dict[str, write.Value] = {f"{one.name} client_s": one.client_s for one in found}
    evidence |= {f"{one.name} all_s": one.all_s for one in found}
    evidence["least_held"] = held = min(facts.held_share(one.step) for one in found)
    if held < facts.HELD:
        text += f"; no evidence: a profiled load kept {write.percent(held)} of its offered rate"
    names = tuple(one.step.name for one in found)
    yield Finding(
        "H08",
        Severity.NOTE if held >= facts.HELD else Severity.WARNING,
        write.sentence(text),
        evidence,
        names,
        LOCK_ANCHOR,
    )
