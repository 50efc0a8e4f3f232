"""Clusters: which node owns a key, how many requests a node passes on, how long threads wait for a lock.

Rendezvous hashing gives the owner of a key, as in WeightedPlacement.java, here for many keys at once. The hash is
MurmurHash3_x86_32 (A. Appleby, 2010, public domain) or the old Objects.hash, which ranks nodes alike for most keys.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, Direction, difference
from runners.analysis.validity import Aspect, may_quote
from runners.design.cluster import CHANGES, NEW, NEW_THREADS, NODES, OLD, OLD_THREADS, PUBLISHED_KEYS
from runners.design.objective import CPU
from runners.design.session import LOCK
from runners.readers.run import Run, Step
from runners.results import profiles
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.comparisons import MEDIAN, answer_of, difference_of, together
from runners.results.results import Results

KEYS_ANCHOR, ONE_NODE_ANCHOR = "keys", "question-one-node"


@dataclass(frozen=True, slots=True)
class Passed:
    """The requests to the loaded node of a cluster: served by this node, or passed on to the key's owner."""

    name: str  # of the cluster's setting
    hashing: str
    local: int  # requests that the node served itself
    proxied: int  # requests that it passed on
    expected: float  # the share of the keys that other nodes own; NaN for a hash not in HASHES
    call_p50_us: float  # times of calls to the busiest of the other nodes
    call_p99_us: float
    failed_calls: int  # to all other nodes

    @property
    def share(self) -> float:
        """The share of the requests that were passed on."""
        return self.proxied / (self.local + self.proxied)


def passed(steps: list[Step]) -> Passed | None:
    """Return how many requests a cluster's loaded node served and passed on in `steps`; None without any count."""
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
    topology, hashing, expected = sorted(str(url) for url in last["topology"]), str(last["hashing"]), math.nan
    if hashing in HASHES:
        expected = 1 - shares(tuple(topology), hashing, PUBLISHED_KEYS)[topology.index(str(last["self"]))]
    busiest: Mapping[str, Any] = max(last["peers"], key=lambda peer: peer["answered"], default={})
    latency = busiest.get("latency_us") or {}
    failed = sum(int(count) for peer in last["peers"] for count in peer["failed"].values())
    p50, p99 = (float(latency.get(name) or "nan") for name in ("p50", "p99"))
    return Passed(steps[0].subject, hashing, local, proxied, expected, p50, p99, failed)


def clusters(run: Run) -> list[Step]:
    """Return the steps on a setting in CHANGES for which the loaded node's status lists the nodes of the cluster."""
    return [step for step in run.steps if step.subject in CHANGES and step.record.cluster_after.get("topology")]


def by_treatment(loads: Sequence[Step]) -> list[Passed]:
    """Return one `Passed` (requests served and passed on) for each setting in `loads` that has counts of requests."""
    by_subject = facts.grouped(loads, lambda step: step.subject).values()
    return [passed_on for steps in by_subject if (passed_on := passed(steps)) is not None]


#: The stack frames (caller, lock) of a wait for the HTTP client's lock. Other locks belong to the client's library.
CLIENT_FRAME = "lab/server/cluster/BlockingTransport$Task.run"
LOCK_FRAME = "java/util/concurrent/locks/ReentrantLock.lock"
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Waited:
    """The time that threads waited for locks in a profiled step, in seconds per second of the step."""

    step: Step
    all_s: float  # for all locks
    client_s: float  # for the HTTP client's lock
    share: Bounded | None  # `client_s` as a share of `all_s`; None if no thread waited for the client's lock


def _waited(step: Step, length_s: float) -> Waited:
    """Return the waits for locks in a step of `length_s` seconds, from its lock profile."""
    stacks = step.frames["stacks"]
    own = stacks[stacks["event"] == LOCK] if not stacks.empty else stacks
    if own.empty:
        return Waited(step, 0.0, 0.0, None)
    client = own["stack"].str.contains(f"{CLIENT_FRAME};{LOCK_FRAME}", regex=False)
    total = float(own["count"].sum())
    rows = step.frames["frames"]
    rows = rows[(rows["event"] == LOCK) & (rows["frame"].str.contains(CLIENT_FRAME, regex=False))]
    share = None
    if not rows.empty and client.any():
        low, high = float(rows["low"].iloc[0]), float(rows["high"].iloc[0])
        # the frame is also on stacks that wait for other locks, so its own share is a little more than the lock's
        share = Bounded(min(max(float(own["count"][client].sum()) / total, low), high), low, high)
    return Waited(step, total / _NS / length_s, float(own["count"][client].sum()) / _NS / length_s, share)


def lock_waits(run: Run) -> list[Waited]:
    """Return the waits for locks in the last profiled load of every setting of the cluster."""
    last = {step.subject: step for step in run.steps if LOCK in step.profiled and step.subject in CHANGES}
    return [_waited(step, step.record.duration_s) for step in last.values() if step.record.duration_s]


RENDEZVOUS, OBJECTS_HASH = "rendezvous", "objects-hash"
HASHES = (OBJECTS_HASH, RENDEZVOUS)
_CHUNK = 250_000
_FACTOR = 31  # of String.hashCode and Objects.hash
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


@cache
def shares(topology: tuple[str, ...], hashing: str, ids: int) -> tuple[float, ...]:
    """Return nodes' shares (0..1) of keys 0 to `ids` - 1, sorted by address in `topology`; `hashing` is in HASHES."""
    nodes = [np.frombuffer(node.encode(), dtype=np.uint8)[None, :] for node in sorted(topology)]
    counts = np.zeros(len(nodes), dtype=np.int64)
    for keys in _texts(ids):
        if hashing == RENDEZVOUS:
            weights = [murmur3(keys, int(murmur3(node, 0)[0])) for node in nodes]
        else:  # Objects.hash adds a number that the address makes to one that the key makes
            own, parts = text_hash(keys), [_FACTOR * (_FACTOR + int(text_hash(node)[0])) for node in nodes]
            weights = [own + np.uint32(part % 2**32) for part in parts]
        owners = np.stack(weights).view(np.int32).argmax(axis=0)  # of equal weights the first counts
        counts += np.bincount(owners, minlength=len(nodes))
    return tuple(float(count) / ids for count in counts)


@lru_cache(maxsize=1)
def _texts(ids: int) -> tuple[Bytes, ...]:
    """Return the numbers 0 to `ids` - 1 as rows of ASCII digits. Numbers in one array have equally many digits."""
    texts = []
    for digits in range(1, len(str(ids - 1)) + 1):
        powers, end = 10 ** np.arange(digits - 1, -1, -1, dtype=np.int64), min(10**digits, ids)
        for first in range(10 ** (digits - 1) if digits > 1 else 0, end, _CHUNK):
            numbers = np.arange(first, min(first + _CHUNK, end), dtype=np.int64)
            texts.append((numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8))
    return tuple(texts)


def text_hash(keys: Bytes) -> Words:
    """Return Java's `String.hashCode` of each row of bytes."""
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for column in keys.T:
        hashes = hashes * np.uint32(_FACTOR) + column
    return hashes


def murmur3(keys: Bytes, seed: int) -> Words:
    """Return MurmurHash3_x86_32 of each row of bytes."""
    length, hashes = keys.shape[1], np.full(len(keys), seed, dtype=np.uint32)
    words = np.pad(keys, ((0, 0), (0, -length % 4))).view("<u4").T
    mixed = [_rotated(word * _C1, 15) * _C2 for word in words]
    for word in mixed[: length // 4]:
        hashes = _rotated(hashes ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    for word in mixed[length // 4 :]:  # a last one of fewer than four bytes
        hashes ^= word
    hashes ^= np.uint32(length)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    last: Words = hashes ^ (hashes >> np.uint32(16))
    return last


def _rotated(word: Words, by: int) -> Words:
    rotated: Words = (word << np.uint32(by)) | (word >> np.uint32(32 - by))
    return rotated


def spreads(results: Results) -> Answer | None:
    """Answer: did Objects.hash spread keys over nodes? No if one node owns over half; None if no cluster was loaded."""
    loads = clusters(results.run)
    if not loads:
        return None
    nodes = tuple(sorted(map(str, loads[0].record.cluster_after["topology"])))
    old, new = shares(nodes, OBJECTS_HASH, PUBLISHED_KEYS), shares(nodes, RENDEZVOUS, PUBLISHED_KEYS)
    fullest = Measure("keys on the fullest node by Objects.hash", max(old), Unit.SHARE)
    mean = Measure.mean("on each node by murmur3", new, Unit.SHARE)
    verdict = Verdict.NO if max(old) > 0.5 else Verdict.YES
    return Answer(verdict, (fullest, mean), Basis.COMPUTED, PUBLISHED_KEYS, figure=KEYS_ANCHOR)


#: The share of requests whose key lies on another node than the one that receives the request, if keys lie evenly.
PASSED_ON = 1 - 1 / NODES


@answering
def price_of_passing(results: Results, blocks: Mapping[str, str]) -> Answer | None:
    """Answer: does a request cost more CPU time if a node passes it on? None if none of the blocks was measured.

    `blocks`: {name of a block of trials: its HTTP method}. Yes if all these blocks say yes, no if any says no.
    """
    answers = []
    for comparison in results.comparisons:
        row = comparison.row(CPU, NEW) if comparison.name in blocks else None
        if row is None:
            continue
        method, own_us = blocks[comparison.name], row.baseline_value
        low_us, value_us, high_us = (own_us * (ratio - 1) / PASSED_ON for ratio in (row.low, row.ratio, row.high))
        label = f"handling CPU added to a {method} that is passed on ({NODES - 1} in {NODES} are)"
        at = f"at {words.rate(comparison.rate_rps)} on each server"
        whole = Measure(f"that of a whole {method} on one node {at}:", own_us, Unit.LATENCY_US)
        price = Measure(label, value_us, Unit.LATENCY_US, low_us, high_us).against(whole)
        evidence: list[object] = [price]
        if (median := comparison.row(MEDIAN, NEW)) is not None:
            evidence.append(difference_of(comparison, median, method))
        given = answer_of(comparison, row, (Direction.HIGHER,))
        answers.append(replace(given, evidence=tuple(evidence)))
    return together(answers, Verdict.of_all) if answers else None


def _of_clients(results: Results, event: str, workloads: Sequence[str]) -> list[tuple[Step, Bounded]]:
    """Return per workload (step on setting NEW, share of `event` for passing requests on); [] if one is missing."""
    shares_of = list[tuple[Step, Bounded]]()
    for workload in workloads:
        steps = profiles.profiled_rate_steps(results.run, workload, NEW)
        step = facts.only([step for step in steps if event in step.profiled])
        share = profiles.share(step, event, "cluster") if step is not None else None
        if step is not None and share is not None:
            shares_of.append((step, share))
    return shares_of if len(shares_of) == len(workloads) else []


@answering
def passing_weighs_more(results: Results, block: str, than: str) -> Answer | None:
    """Answer: does passing requests on take a larger share of CPU time in `block` than in `than`? None if unknown."""
    by_name = {comparison.name: comparison for comparison in results.comparisons}
    compared = [by_name[name] for name in (block, than) if name in by_name]
    rows = [row for own in compared if (row := own.row(CPU, NEW)) is not None and not row.refused]
    if len(rows) < 2:
        return None
    shares = [Bounded(1 - 1 / row.ratio, 1 - 1 / row.low, 1 - 1 / row.high) for row in rows]
    more = difference(*shares)
    first, second = (comparison.workload.upper() for comparison in compared)
    own = Measure.of(f"share of a mean {first}'s handling CPU that passing on takes:", shares[0], Unit.SHARE)
    other = Measure.of(f"that of a mean {second}:", shares[1], Unit.SHARE)
    steps = tuple(name for comparison in compared for name in comparison.steps)
    basis, starts = Basis.STARTS_BY_REQUEST, min(row.starts for row in rows)
    return Answer(Verdict.of(more.low, more.high), (own.against(other),), basis, starts, Needed.STARTS, steps=steps)


#: Shares of two workloads are called alike if they differ by less than this limit; the question's text names it too.
ALIKE = 0.1


@answering
def alike(results: Results, event: str, *workloads: str) -> Answer | None:
    """Answer: do nodes' HTTP clients take similar shares of a profile `event` (alloc, lock) in two `workloads`?

    Yes if the shares differ by less than ALIKE, no if they differ by more; None if the shares are unknown.
    """
    shares = _of_clients(results, event, workloads)
    if not shares:
        return None
    apart = difference(shares[0][1], shares[1][1])
    verdict = Verdict.YES if max(apart.high, -apart.low) < ALIKE else Verdict.INCONCLUSIVE
    if apart.low > ALIKE or apart.high < -ALIKE:
        verdict = Verdict.NO
    named = ((f"passing a {step.workload.upper()} on", part) for step, part in shares)
    own, other = (Measure.of(text, part, Unit.SHARE) for text, part in named)
    own = replace(own, label=f"of the {profiles.EVENT_NAMES[event]}, {own.label} takes")
    low, high = (apart.low, apart.high) if apart.value >= 0 else (-apart.high, -apart.low)
    label = f"difference of the shares (alike: below {100 * ALIKE:.0f} %)"
    more = Measure.of(label, Bounded(abs(apart.value), low, high), Unit.SHARE)
    steps = [step for step, _ in shares]
    return Answer.by(steps, Basis.PROFILES, verdict, own.against(other), more, needed=Needed.SAMPLES)


def pool_threads(results: Results) -> Answer | None:
    """Answer: has a node's thread pool fewer threads in setting NEW than in OLD? None if a command does not say."""
    flags = ((step.subject, flag) for step in results.run.steps for flag in step.record.server.command)
    here = {subject: int(flag.partition("=")[2]) for subject, flag in flags if flag.startswith("--pool-threads=")}
    if not {OLD, NEW} <= here.keys():
        return None
    pools = {"here": (here[OLD], here[NEW]), "of the author": (OLD_THREADS, NEW_THREADS)}
    named = [(f"threads of a pool {where}, before and after:", *own) for where, own in pools.items()]
    measures = (Measure(text, old, Unit.COUNT).against(Measure("", new, Unit.COUNT)) for text, old, new in named)
    return Answer(Verdict.YES if here[NEW] < here[OLD] else Verdict.NO, tuple(measures))


def waits_for_the_lock(results: Results) -> Answer | None:
    """Answer: do OLD's threads wait for the HTTP client's lock? Inconclusive if a rate was missed; None if unknown."""
    profiled = lock_waits(results.run)
    before = next((waits for waits in profiled if waits.step.subject == OLD), None)
    if before is None:
        return None
    label, seconds = "of the time waited for locks, the client's takes", "waited for it per second of load on {}"
    measures = [Measure.of(label, before.share or Bounded(0.0), Unit.SHARE)]
    named = ((seconds.format(facts.engine_name(own.step.subject)), own.client_s) for own in profiled)
    measures += (Measure(text, client_s, Unit.TIME_S) for text, client_s in named)
    verdict = Verdict.YES if before.client_s > 0 else Verdict.NO
    least_kept = min(facts.achieved_share(waits.step) for waits in profiled)
    if least_kept < facts.LEAST_ACHIEVED or not all(may_quote(own.step, Aspect.CPU) for own in profiled):
        verdict = Verdict.INCONCLUSIVE
        measures.append(Measure("of the offered rate, loads achieved while profiled", least_kept, Unit.SHARE))
    steps = [waits.step for waits in profiled]
    return Answer.by(steps, Basis.PROFILES, verdict, *measures, needed=Needed.RATE_KEPT)
