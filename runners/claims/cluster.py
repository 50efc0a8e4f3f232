"""Conclude on clusters: changes one at a time, copies by client, what a node passes on, waits for its lock.

On which node a key lies is computed for many ids at once as the server computes it for one. Murmur3 is A. Appleby's
MurmurHash3_x86_32 (public domain, 2010); a node's weight for a key is that of the key, seeded with that of the node's
address (rendezvous hashing, see WeightedPlacement.java). The old hash adds a number that the address makes to one that
the key makes, so hardly any key changes the order of the nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.claims import climbing, profile
from runners.claims.conclusion import Claims
from runners.claims.rate_steps import named
from runners.design.cluster import CHANGES, NEW, NEW_THREADS, OLD, OLD_THREADS, PUBLISHED_KEYS
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.published import columns, published_outputs
from runners.readers.run import Run, Step

TICK_US = 1_000.0  # wrk2's
_POOL = re.compile(r"--pool-threads=(\d+)")
REPORT = "report-5"


def analyse(run: Run) -> Claims | None:
    """Claim what a run of experiment 05 tells besides its comparisons; None for any other."""
    loads = [step for step in run.steps if step.subject in CHANGES]
    if not loads:
        return None
    findings = (*passed_on(clusters(run)), *_threads(loads), *lock_waits(of_run(run)))
    return Claims(findings=findings, missed=tuple(_missed(run)))


def _threads(loads: Sequence[Step]) -> Iterator[Finding]:
    """Yield how the published numbers of threads were scaled to this machine."""
    pools = {}
    for name in (OLD, NEW):
        flags = next((" ".join(step.record.server.command) for step in loads if step.subject == name), "")
        if match := _POOL.search(flags):
            pools[name] = int(match[1])
    if len(pools) < 2 or (pools[OLD], pools[NEW]) == (OLD_THREADS, NEW_THREADS):
        return
    text = (
        f"The pools are scaled to this machine's cores: {pools[OLD]} and {pools[NEW]} threads a node in place of the "
        f"published {OLD_THREADS} and {NEW_THREADS}, in the same ratio"
    )
    evidence: dict[str, write.Value] = {"old_threads": pools[OLD], "new_threads": pools[NEW]}
    yield Finding.of("H05", Severity.NOTE, text, evidence, (), KEYS_ANCHOR)


def _missed(run: Run) -> Iterator[Finding]:
    """Yield what the published figures show, or do not, and their authors did not say."""
    named_here = published_outputs("report-5/put-ladder")[0].changes
    text = (
        f"Between its two PUT tables the report changes {write.count(len(named_here))} things "
        f"({'; '.join(named_here)}); one more, the pool, was changed before the first"
    )
    yield Finding.of(
        "M11",
        Severity.ERROR,
        text,
        {"changes": len(named_here) + 1},
        ("report-5/put-12000-pool", "report-5/put-ladder"),
        None,
        "Change one thing at a time, in interleaved rounds.",
    )
    given = list(named([*columns(REPORT, "put-ladder"), *columns(REPORT, "get-ladder")]))
    silent = [name for name, output in given if output.report.requests_per_s is None]
    if silent:
        text = (
            f"{write.count(len(silent))} of {write.count(len(given))} published rates stand without the achieved rate "
            "and without the number of errors; a full queue of the report's server refuses with 503, which is a fast "
            "response"
        )
        yield Finding.of(
            "M12",
            Severity.WARNING,
            text,
            {"rates": len(silent)},
            tuple(silent),
            None,
            "Keep the whole output.",
        )
    yield from _tick(run)


def _tick(run: Run) -> Iterator[Finding]:
    """Yield a median that stays while the rate grows is the generator's."""
    flat = [
        (output.offered_rps, us)
        for _, output in named(columns(REPORT, "put-ladder"))
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
        f"what they show. Timed without a tick, the median here "
    )
    ends = [f"{write.latency(us)} at {write.rate(rps)}" for rps, us in (low, high)]
    text += f"is {ends[0]}" if low == high else f"goes from {ends[0]} to {ends[1]}"
    evidence = {
        "published_low_us": medians[0], "published_high_us": medians[-1], "own_low_us": low[1], "own_high_us": high[1],
    }  # fmt: skip
    remedy = "Use a generator that is paced finer than what it measures."
    yield Finding.of("M13", Severity.WARNING, text, evidence, columns(REPORT, "put-ladder"), None, remedy)


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
    """Return what these steps of one setting passed on, as the status of the loaded node tells; None where it does
    not.
    """
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
    if hashing in HASHES:
        own = shares(topology, hashing, PUBLISHED_KEYS)
        expected = 1 - own[topology.index(str(last["self"]))]
    busiest: Mapping[str, Any] = max(last["peers"], key=lambda peer: peer["answered"], default={})
    latency = busiest.get("latency_us") or {}
    failed = sum(int(count) for peer in last["peers"] for count in peer["failed"].values())
    p50, p99 = (float(latency.get(name) or "nan") for name in ("p50", "p99"))
    return Passed(steps[0].subject, hashing, topology, local, proxied, expected, p50, p99, failed)


def clusters(run: Run) -> list[Step]:
    """Return the loads on three nodes whose status tells where requests were served."""
    return [step for step in run.steps if step.subject in CHANGES and step.record.cluster_after.get("topology")]


def by_treatment(loads: Sequence[Step]) -> list[Passed]:
    """Return each treatment of these loads whose status tells, over all of its loads on one cluster."""
    found = []
    for name in dict.fromkeys(step.subject for step in loads):
        if (one := passed([step for step in loads if step.subject == name])) is not None:
            found.append(one)
    return found


def topology(loads: Sequence[Step]) -> tuple[str, ...] | None:
    """Return the addresses of the first cluster."""
    return next((tuple(sorted(map(str, step.record.cluster_after["topology"]))) for step in loads), None)


def passed_on(loads: Sequence[Step]) -> Iterator[Finding]:
    """Yield how each hash spreads the report's keys, and what was passed on."""
    nodes = topology(loads)
    if nodes is not None:
        old = shares(nodes, OBJECTS_HASH, PUBLISHED_KEYS)
        new = shares(nodes, RENDEZVOUS, PUBLISHED_KEYS)
        text = (
            f"Of the {write.count(PUBLISHED_KEYS)} ids that the report wrote, the old hash (Objects.hash) puts "
            f"{write.percent(max(old))} on one of these nodes; rendezvous hashing with murmur3 puts "
            f"{write.span(new, write.percent)} on each"
        )
        evidence: dict[str, write.Value] = {"most_old": max(old), "least_new": min(new), "most_new": max(new)}
        yield Finding.of("H02", Severity.WARNING, text, evidence, (), KEYS_ANCHOR)
    found = by_treatment(loads)
    parts = [
        f"{write.percent(one.share)} in {facts.engine_name(one.name)} (its hash says {write.percent(one.expected)})"
        for one in found
    ]
    if found:
        agree = all(not write.known(one.expected) or abs(one.share - one.expected) <= AGREE for one in found)
        text = f"Of its requests the loaded node passes on {write.listed(parts)}"
        evidence = {f"{one.name} share": one.share for one in found}
        evidence |= {f"{one.name} expected": one.expected for one in found}
        yield Finding.of("H03", Severity.NOTE if agree else Severity.WARNING, text, evidence, (), KEYS_ANCHOR)


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
    """Return what a step's lock profile tells; None without one."""
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
        low, high = float(rows["low"].iloc[0]), float(rows["high"].iloc[0])
        # the frame is also on stacks that wait for other locks, so its own share is a little more than the lock's
        share = Bounded(min(max(float(own["count"][client].sum()) / total, low), high), low, high)
    return Waited(step, total / _NS / length_s, float(own["count"][client].sum()) / _NS / length_s, share)


def of_run(run: Run) -> list[Waited]:
    """Return the last profiled load of each treatment, in order."""
    last = {step.subject: step for step in run.steps if step.profiled and step.subject in CHANGES}
    found = (waited(step) for step in last.values())
    return [one for one in found if one is not None]


def lock_waits(found: Sequence[Waited]) -> Iterator[Finding]:
    """Yield the settings that wait for the client's lock, then what the others wait."""
    with_it = [one for one in found if one.client_s > 0]
    without = [one for one in found if not one.client_s]
    if not with_it:
        return
    parts = []
    for one in with_it:
        share = one.share.as_share if one.share else write.UNKNOWN
        parts.append(
            f"in {one.name} threads wait {write.seconds(one.all_s)} for locks in each second, all together, {share} of "
            "it for the lock around the client between nodes"
        )
    text = write.listed(parts)
    if without:
        rest = write.listed(f"{write.seconds(one.all_s)} in {one.name}" for one in without)
        text += f"; without that lock they wait {rest}"
    text += profile.overhead_note(*(one.step for one in found))
    evidence: dict[str, write.Value] = {f"{one.name} client_s": one.client_s for one in found}
    evidence |= {f"{one.name} all_s": one.all_s for one in found}
    evidence["least_held"] = least = min(facts.achieved_share(one.step) for one in found)
    if least < facts.LEAST_ACHIEVED:
        text += f"; no evidence: a profiled load kept {write.percent(least)} of its offered rate"
    yield Finding.of(
        "H08",
        Severity.NOTE if least >= facts.LEAST_ACHIEVED else Severity.WARNING,
        text,
        evidence,
        tuple(one.step.name for one in found),
        LOCK_ANCHOR,
    )


RENDEZVOUS, OBJECTS_HASH = "rendezvous", "objects-hash"
HASHES = (OBJECTS_HASH, RENDEZVOUS)
_CHUNK = 250_000
_FACTOR = 31  # of String.hashCode and Objects.hash
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


@cache
def shares(topology: tuple[str, ...], hashing: str, ids: int) -> tuple[float, ...]:
    """Return which share of the ids 0 to `ids` - 1, as decimal text, each node owns; nodes in the order of their
    addresses.
    """
    nodes = tuple(sorted(topology))
    counts = np.zeros(len(nodes), dtype=np.int64)
    for keys in _texts(ids):
        weights = _rendezvous(keys, nodes) if hashing == RENDEZVOUS else _objects_hash(keys, nodes)
        counts += np.bincount(weights.argmax(axis=0), minlength=len(nodes))  # of equal weights the first counts
    return tuple(float(count) / ids for count in counts)


@lru_cache(maxsize=1)
def _texts(ids: int) -> tuple[Bytes, ...]:
    """Return the ids as rows of ASCII digits, those of one length together."""
    found, digits, first = [], 1, 0
    while first < ids:
        last = min(10**digits, ids)
        for start in range(first, last, _CHUNK):
            numbers = np.arange(start, min(start + _CHUNK, last), dtype=np.int64)
            powers = 10 ** np.arange(digits - 1, -1, -1, dtype=np.int64)
            found.append((numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8))
        digits, first = digits + 1, 10**digits
    return tuple(found)


def _rendezvous(keys: Bytes, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
    seeds = [murmur3(np.frombuffer(node.encode(), dtype=np.uint8)[None, :], 0)[0] for node in nodes]
    return np.stack([murmur3(keys, int(seed)).view(np.int32) for seed in seeds])


def _objects_hash(keys: Bytes, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
    own = text_hash(keys)
    parts = [
        _FACTOR * (_FACTOR + int(text_hash(np.frombuffer(node.encode(), dtype=np.uint8)[None, :])[0])) for node in nodes
    ]
    return np.stack([(own + np.uint32(part % 2**32)).view(np.int32) for part in parts])


def text_hash(keys: Bytes) -> Words:
    """`String.hashCode` of each row."""
    found = np.zeros(len(keys), dtype=np.uint32)
    for column in keys.T:
        found = found * np.uint32(_FACTOR) + column
    return found


def murmur3(keys: Bytes, seed: int) -> Words:
    """MurmurHash3_x86_32 of each row; all rows have one length."""
    length = keys.shape[1]
    found = np.full(len(keys), seed, dtype=np.uint32)
    whole = length // 4 * 4
    for at in range(0, whole, 4):
        found = _rotated(found ^ _mixed(_word(keys[:, at : at + 4])), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if whole < length:
        found ^= _mixed(_word(keys[:, whole:]))
    found ^= np.uint32(length)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ (found >> np.uint32(shift))) * np.uint32(factor)
    last: Words = found ^ (found >> np.uint32(16))
    return last


def _word(part: Bytes) -> Words:
    """Up to four bytes, the first the lowest."""
    found = np.zeros(len(part), dtype=np.uint32)
    for place, column in enumerate(part.T):
        found |= column.astype(np.uint32) << np.uint32(8 * place)
    return found


def _mixed(word: Words) -> Words:
    mixed: Words = _rotated(word * _C1, 15) * _C2
    return mixed


def _rotated(word: Words, by: int) -> Words:
    rotated: Words = (word << np.uint32(by)) | (word >> np.uint32(32 - by))
    return rotated
