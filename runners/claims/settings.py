"""Settings side by side: the knees of ways to run a request and of stores, full queues, and what a store writes.

Written bytes are the kernel's (`write_bytes` of /proc/PID/io, counted when a page becomes dirty), so that they mean the
same for every store, whether it writes by calls or through a mapping: log, tables, merging and all. A store's own
counters come with them where it has any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runners.analysis import comparable, facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import Answer, rate_interval, refused_share
from runners.analysis.quantities import WIDEST, one_sided, signed
from runners.claims import climbing
from runners.claims.climbing import Ladder, ladders, ranked, searched_together
from runners.claims.conclusion import Claims
from runners.design.block import FEWEST_STARTS
from runners.design.session import PROFILED_RATE_STEP, RATE_STEP
from runners.design.setting import CEILING, REFERENCE_STORE
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.run import Run, Step

FEWEST = 2
QUEUE = "queue-"  # settings that differ in their queue are called so
OVERLOADED = 1.2  # of the lower rate: from here on a rate step is more than fits


@dataclass(frozen=True, slots=True)
class Knee:
    """One setting's knee under one workload, with its interval."""

    ladder: Ladder
    answer: Answer

    @property
    def name(self) -> str:
        return facts.engine_name(self.ladder.steps[0].subject)

    @property
    def least_rps(self) -> float:
        """The knee, or the bound above which it lies."""
        return self.answer.low_rps if self.answer.from_below else self.answer.rps


def anchor(workload: str) -> str:
    """Where the knees of a workload are drawn."""
    return f"knees-{workload}"


def knees(run: Run) -> dict[str, list[Knee]]:
    """By workload, the knees that were searched in this run, or bounds of them; only where there are several."""
    found: dict[str, list[Knee]] = {}
    for ladder in ladders(run):
        answer = ladder.answer
        if ladder.search is not None and answer is not None and answer.known_below:
            found.setdefault(ladder.steps[0].workload, []).append(Knee(ladder, answer))
    return {workload: each for workload, each in found.items() if len({k.name for k in each}) >= FEWEST}


def analyse_knees(run: Run) -> Claims | None:
    """Return how the settings of a run compare; None for a run with fewer than two of one kind."""
    found = knees(run)
    findings = [_ranked(workload, each) for workload, each in found.items()]
    for workload, each in found.items():
        findings += _apart(run, workload, each)
    findings += _queues(overloaded(run))
    if not findings:
        return None
    return Claims(" ".join(_in_short(run, workload) for workload in found), tuple(findings))


def _in_short(run: Run, workload: str) -> str:
    """Return who is ahead under one workload. A server that stores nothing is no store, so it is not in the race."""
    searched = [each for each in ladders(run) if each.search is not None and each.steps[0].workload == workload]
    return ranked(run, workload, [each for each in searched if each.steps[0].subject != CEILING])


def _ranked(workload: str, found: Sequence[Knee]) -> Finding:
    order = sorted(found, key=lambda knee: -knee.least_rps)
    parts = [f"{knee.name} {rate_interval(knee.answer)}" for knee in order]
    over = write.connections(order[0].ladder.steps[0].record.connections)
    text = f"Knee of {workload.upper()} over {over}: {write.listed(parts)}"
    evidence = {f"{knee.name} rps": knee.answer.rps for knee in order if not knee.answer.from_below}
    evidence |= {f"{knee.name} low_rps": knee.answer.low_rps for knee in order if knee.answer.from_below}
    names = tuple(step.name for knee in order for step in knee.ladder.steps[-1:])
    return Finding.of("E01", Severity.GOOD, text, evidence, names, anchor(workload))


def _apart(run: Run, workload: str, found: Sequence[Knee]) -> Iterator[Finding]:
    """Compare the knee of each setting with that of the one that was measured first."""
    first, *others = found
    for other in others:
        apart = climbing.between(run, other.ladder, first.ladder)
        if apart is None:
            continue
        low, high = apart.low - 1, apart.high - 1
        text = f"{workload.upper()}: the knee of {other.name} "
        bound = one_sided(low, high)
        if low <= 0 <= high:
            text += f"against that of {first.name} is inconclusive ({bound or f'{signed(low)} to {signed(high)}'})"
        elif bound:
            word, least = ("above", low) if low > 0 else ("below", -high)
            text += f"lies {word} that of {first.name} by at least {write.percent(least)}"
        elif high > WIDEST:
            text += f"is {write.number(1 + low)} to {write.number(1 + high)} times that of {first.name}"
        else:
            word = "above" if low > 0 else "below"
            sides = sorted((abs(low), abs(high)))
            text += f"lies {word} that of {first.name} by {write.percent(sides[0])} to {write.percent(sides[1])}"
        evidence: dict[str, write.Value] = {"low": low, "high": high, "of": other.name, "against": first.name}
        if min(each.ladder.starts for each in (first, other)) < FEWEST_STARTS:
            text += ", by one start of each"
        paired = searched_together(first.ladder, other.ladder)
        remedy = None if paired else "One search of each, one after the other; one search of both pairs them by slices."
        yield Finding.of("E02", Severity.NOTE, text, evidence, (), anchor(workload), remedy)


def overloaded(run: Run) -> list[tuple[Step, Step]]:
    """Pools by queue: a rate step that fits and one that does not."""
    pairs = []
    for ladder in ladders(run):
        steps = ladder.rate_steps
        if steps[0].subject.startswith(QUEUE) and len(steps) >= FEWEST:
            low, high = steps[0], steps[-1]
            if facts.offered_rps(high) >= OVERLOADED * facts.offered_rps(low):
                pairs.append((low, high))
    return pairs


def queue_length(step: Step) -> int:
    """Return the length of a pool's queue, by which its setting ends."""
    return int(step.subject.rpartition("-")[2])


def _queues(pairs: Sequence[tuple[Step, Step]]) -> Iterator[Finding]:
    for low, high in pairs:
        refused = refused_share(high)
        text = (
            f"{facts.engine_name(high.subject)}, offered {write.rate(facts.offered_rps(high))}, responds to "
            f"{write.rate(facts.achieved_rps(high))}; {write.percent(refused) if refused else 'none'} of its responses "
            "are refusals"
        )
        evidence = {"offered_rps": facts.offered_rps(high), "refused": refused}
        if facts.fell_short(high):
            text += ". It falls short of what was offered, so its p99 is the length of its queue"
        elif (after := facts.at(high, 0.99)) is not None and (before := facts.at(low, 0.99)) is not None:
            text += f"; p99 of all responses {facts.latency_text(high, 0.99)}, "
            at = write.rate(facts.offered_rps(low))
            short = facts.fell_short(low)
            text += (
                f"though not all of {at} got a response"
                if short
                else f"against {facts.latency_text(low, 0.99)} at {at}"
            )
            if why := "" if short else comparable.why_of_steps(low, high):
                text += f"; they are not compared, for {why}"
            evidence |= {"p99_us": after.value, "p99_low_us": before.value}
        ladder = f"ladder-{high.record.ladder.name if high.record.ladder else ''}"
        yield Finding.of("E03", Severity.NOTE, text, evidence, (low.name, high.name), ladder)


AMPLIFICATION, MEMORY, TABLE = "stores-amplification", "stores-memory", "stores-table"


@dataclass(frozen=True, slots=True)
class Store:
    """One store of a run: the step that filled it, its other steps, its knees by workload."""

    run: Run = field(repr=False, compare=False)
    subject: str
    fill: Step
    steps: tuple[Step, ...]
    knees: Mapping[str, Knee]

    @property
    def name(self) -> str:
        return facts.engine_name(self.subject)

    @property
    def on_disk(self) -> bool:
        """Whether it keeps its data in files."""
        return _number(self.fill.record.fill.data_bytes) > 0

    @property
    def written(self) -> float:
        """Bytes that its process has written for each byte given; NaN without files, or where nothing tells."""
        wrote = _number(self.fill.record.process_after.written_bytes)
        return wrote / _number(self.fill.record.fill.given_bytes) if self.on_disk and wrote > 0 else math.nan

    @property
    def room(self) -> float:
        """Bytes on the disk for each byte of the newest values and their keys, when the store is at rest."""
        filled = self.fill.record.fill
        return _number(filled.data_bytes) / _number(filled.live_bytes) if self.on_disk else math.nan

    @property
    def tables(self) -> float:
        """Files that a read may have to look into, after the fill."""
        return _number(self.fill.record.store_after.tables) if self.on_disk else math.nan

    @property
    def searched(self) -> float:
        """Tables that a read which goes to the tables searches, by the store's own count; NaN where it has none."""
        read = [step for step in self.steps if step.workload == "get"]
        return _number(read[-1].record.statistics_after.get("read_amplification")) if read else math.nan

    @property
    def rss(self) -> Mapping[str, float]:
        """The most memory of its own (`anon`) and of mapped files (`file`) after any of its steps, in bytes."""
        found = [step.record.process_after for step in self.steps]
        anon = [each.rss_anon_bytes for each in found if each.rss_anon_bytes is not None]
        file = [each.rss_file_bytes for each in found if each.rss_file_bytes is not None]
        return {"anon": float(max(anon, default=math.nan)), "file": float(max(file, default=math.nan))}

    @property
    def heap_bytes(self) -> float:
        """The limit of the server's heap."""
        limits = (step.record.server.ready.get("heap_max_bytes") for step in self.steps)
        return _number(next((limit for limit in limits if limit is not None), None))


def _number(value: float | None) -> float:
    return float(value) if value is not None else math.nan


def stores(run: Run) -> list[Store]:
    """Return the stores of a run that were filled more than once over and climbed, in order; none for any other run."""
    fills = {step.subject: step for step in run.find(kind="fill") if step.record.fill.given_bytes is not None}
    measured = [step for step in run.steps if step.kind in (RATE_STEP, PROFILED_RATE_STEP)]
    subjects = [name for name in dict.fromkeys(step.subject for step in measured) if name in fills]
    if not subjects:
        return []
    known = knees(run)
    found = []
    for subject in subjects:
        own = {work: knee for work, each in known.items() for knee in each if knee.ladder.steps[0].subject == subject}
        steps = tuple(step for step in run.steps if step.subject == subject)
        found.append(Store(run, subject, fills[subject], steps, own))
    return found


def reference(found: Sequence[Store]) -> Store:
    """Return what the others are held against: the published one, or where it was not measured the first."""
    return next((store for store in found if store.subject == REFERENCE_STORE), found[0])


def gain(store: Store, against: Store, workload: str) -> Bounded | None:
    """Return how far a store's knee lies above another's, as a share with its interval; None without both."""
    if workload not in store.knees or workload not in against.knees or store.subject == against.subject:
        return None
    apart = climbing.between(store.run, store.knees[workload].ladder, against.knees[workload].ladder)
    return None if apart is None else Bounded(apart.value - 1, apart.low - 1, apart.high - 1)


def analyse_stores(run: Run) -> Claims | None:
    """Return what the stores of a run write and take; None for a run of other things."""
    found = stores(run)
    if not found:
        return None
    findings = [*_ceiling(found), *_amplification(found), *_reading(found), *_memory(found)]
    verdicts = list(_verdicts(found))
    return Claims(findings=(*verdicts, *findings), next_steps=tuple(_next(found)))


def _ceiling(found: Sequence[Store]) -> Iterator[Finding]:
    """Yield what of the server's own knee each store leaves."""
    ceiling = next((store for store in found if store.subject == CEILING), None)
    if ceiling is None:
        return
    for workload in ceiling.knees:
        parts, evidence = [], dict[str, write.Value]()
        for store in found:
            more = gain(store, ceiling, workload)
            if more is not None:
                parts.append(f"{_left(more)} with {store.name}")
                evidence[f"{store.name} share"] = 1 + more.value
        if parts:
            text = (
                f"Of the {workload.upper()} knee of a server that stores nothing, there is left {write.listed(parts)}"
            )
            yield Finding.of("G01", Severity.NOTE, text, evidence, (), anchor(workload))


def _left(more: Bounded) -> str:
    """Return what is left of a knee, where another lies so much higher: 45.0 % (40.1-50.2), or a bound of it."""
    if not one_sided(more.low, more.high):
        return write.percent_interval(1 + more.value, 1 + more.low, 1 + more.high)
    if more.low <= -1 and more.high == math.inf:
        return "an unknown part"
    return f"at least {write.percent(1 + more.low)}" if more.low > -1 else f"at most {write.percent(1 + more.high)}"


def _each(found: Sequence[Store], value: Callable[[Store], float]) -> tuple[list[str], dict[str, write.Value]]:
    """`name value` of each store that tells, lowest first, and the same as evidence."""
    known = sorted((value(store), store.name) for store in found if write.known(value(store)))
    return [f"{name} {times(number)}" for number, name in known], {name: number for number, name in known}


def times(value: float) -> str:
    """Return a ratio: 1.04."""
    return f"{value:.2f}" if write.known(value) else write.UNKNOWN


def _amplification(found: Sequence[Store]) -> Iterator[Finding]:
    fills = tuple(store.fill.name for store in found)
    writes, evidence = _each(found, lambda store: store.written)
    if len(writes) >= FEWEST:
        given = write.size(_number(found[0].fill.record.fill.given_bytes))
        text = (
            f"Bytes written to the disk for each byte given, until at rest: {write.listed(writes)}; {given} were given"
        )
        yield Finding.of("G02", Severity.NOTE, text, evidence, fills, AMPLIFICATION)
    room, evidence = _each(found, lambda store: store.room)
    if len(room) >= FEWEST:
        text = f"Bytes on the disk for each byte that is live, at rest: {write.listed(room)}"
        yield Finding.of("G03", Severity.NOTE, text, evidence, fills, AMPLIFICATION)
    restless = [s.name for s in found if s.on_disk and s.fill.record.fill.settled_s is None]
    if restless:
        text = f"{write.listed(restless)} still wrote when the wait for rest ended: what they wrote is a lower bound"
        remedy = "Give the store more time, or a smaller one."
        yield Finding.of("G04", Severity.WARNING, text, {}, fills, AMPLIFICATION, remedy)


def _reading(found: Sequence[Store]) -> Iterator[Finding]:
    """Yield how many tables a read may have to look into, and how many it does."""
    for store in found:
        if write.known(store.searched) and write.known(store.tables):
            several = store.tables != 1
            text = (
                f"{store.name} had {write.count(store.tables)} table{'s' if several else ''} after the fill, and a "
                f"read that went to the tables searched {times(store.searched)}"
            )
            evidence = {"tables": store.tables, "searched": store.searched}
            yield Finding.of("G05", Severity.NOTE, text, evidence, (), AMPLIFICATION)


def _memory(found: Sequence[Store]) -> Iterator[Finding]:
    parts, evidence = [], dict[str, write.Value]()
    for store in found:
        anon = store.rss["anon"]
        if write.known(anon) and write.known(store.heap_bytes):
            parts.append(f"{store.name} {write.size(anon)} of its own and {write.size(store.rss['file'])} of files")
            evidence |= {f"{store.name} own_bytes": anon, f"{store.name} file_bytes": store.rss["file"]}
    if parts:
        heaps = dict.fromkeys(write.size(store.heap_bytes) for store in found if write.known(store.heap_bytes))
        text = f"With a heap of {write.listed(heaps)}, the process takes at most: {'; '.join(parts)}"
        yield Finding.of("G06", Severity.NOTE, text, evidence, (), MEMORY)


def verdict(store: Store, against: Store) -> str:
    """In a few words: is it ahead of the reference, behind it, or can't one see a difference?"""
    if store.subject == against.subject:
        return "baseline"
    parts = []
    for workload in dict.fromkeys([*against.knees, *store.knees]):
        more = gain(store, against, workload)
        if more is None:
            continue
        word = "ahead" if more.low > 0 else "behind" if more.high < 0 else "inconclusive"
        parts.append(f"{workload.upper()} {word}")
    text = ", ".join(parts) or "knee not known"
    return f"stores nothing: {text}" if store.subject == CEILING else text


def _verdicts(found: Sequence[Store]) -> Iterator[Finding]:
    against = reference(found)
    rest = [store for store in found if store.subject not in (against.subject, CEILING)]
    verdicts = [f"{store.name} ({verdict(store, against)})" for store in rest if store.knees and against.knees]
    if verdicts:
        evidence = {store.name: verdict(store, against) for store in rest}
        yield Finding.of("G07", Severity.NOTE, f"Against {against.name}: {write.listed(verdicts)}", evidence, (), TABLE)


def _next(found: Sequence[Store]) -> Iterator[Finding]:
    """Knees whose difference is inconclusive are worth interleaved rounds."""
    against = reference(found)
    for store in found:
        for workload in store.knees:
            more = gain(store, against, workload)
            if more is not None and more.low <= 0 <= more.high:
                left = one_sided(more.low, more.high) or f"{signed(more.low)} to {signed(more.high)}"
                text = (
                    f"Compare {store.name} and {against.name} in interleaved rounds of {workload.upper()} (lab "
                    f"compare): their searches leave {left} between the knees"
                )
                yield Finding.of("G08", Severity.NOTE, text, {"low": more.low, "high": more.high}, (), anchor(workload))
