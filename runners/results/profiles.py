"""Profiles: the share of the work of each category, and the frames that changed between two profiles.

Each frame's shares are compared by a normal test whose variances know how the shares vary over time (see
readers/stacks.py). Hundreds of frames are asked at once, so the false discovery rate is controlled at 5 % (Y. Benjamini
and Y. Hochberg, 1995, *Controlling the false discovery rate*, J. Royal Stat. Soc. B 57; it holds under the positive
dependence that frames of one stack have: Y. Benjamini and D. Yekutieli, 2001, Ann. Stat. 29). Frames that always stand
together in a stack have the same shares and are one test, called by the name of the deepest.

Shares of two profiles always add up to one, so what grows makes the rest shrink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy.stats import false_discovery_control, norm

from runners.analysis import facts
from runners.analysis.intervals import Bounded, difference
from runners.design.session import LOCK, PROFILED_RATE_STEP
from runners.readers.run import Run, Step
from runners.readers.stacks import UNIT_WEIGHT_EVENTS, batches, by_frame
from runners.results.answer import Answer, Answering, Basis, Measure, Needed, Unit, Verdict, verdict_of

if TYPE_CHECKING:
    from runners.results.results import Results

PROFILER, MUCH = "profiler", 0.05  # above that share of the samples its own share is given with every other
#: Categories of stacks that are the store's own work: a store that costs nothing would save them all.
STORE = ("storage", "log", "flush", "compaction", "cache")
SOCKETS = ("socket read", "socket write")
#: The work of receiving a request and making its response, apart from sockets and the store.
HTTP = ("HTTP parsing", "handler", "response")
MOST = 0.5
#: A share of the CPU samples that has to change before it matters, as the table of questions has it.
SHARE_MARGIN = 0.02
#: Where a report draws CPU time per request by category, and shares against the rate.
CPU_FIGURE = "cpu-a-request"
ALLOC = "alloc"
EVENT_NAMES = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}
#: By how much a share exceeds what the question asks, and the share as a number of the answer.
Effect = tuple[Bounded, Measure]


def share(step: Step, event: str, category: str) -> Bounded | None:
    """Return one category's share with its interval."""
    rows = step.frames["shares"]
    # masks of pandas take ten times as long, and two profiles are compared in each of their categories
    asked = (rows["event"].to_numpy() == event) & (rows["category"].to_numpy() == category)
    if not asked.any():
        return None
    row = rows.iloc[int(asked.argmax())]
    return Bounded(float(row["share"]), float(row["low"]), float(row["high"]))


def together(step: Step, categories: Sequence[str], event: str = facts.CPU) -> Bounded | None:
    """Return the share of several categories, its bounds those of the parts added up; None without any."""
    parts = [part for category in categories if (part := share(step, event, category)) is not None]
    if not parts:
        return None
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Bounded(value, low, min(1.0, high))


def own_share(step: Step, event: str = facts.CPU) -> float:
    """Return the share of the samples that the profiler's own frames take; 0 where there are none."""
    part = share(step, event, PROFILER)
    return part.value if part is not None else 0.0


def moved(first: Step, second: Step, event: str) -> list[tuple[str, Bounded, Bounded]]:
    """Return the categories whose shares in two profiles differ by more than their intervals, the largest first."""
    categories = map(str, facts.shares_of(first, event)["category"])
    pairs = ((name, share(first, event, name), share(second, event, name)) for name in categories)
    apart = [(name, a, b) for name, a, b in pairs if a and b and a.apart_from(b)]
    return sorted(apart, key=lambda row: (-abs(row[1].value - row[2].value), row[0]))


RATE = 0.05
LEAST_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Change:
    """A frame's share of the work in two profiles, and by how much it changed (95 % bounds)."""

    frame: str
    before: float
    after: float
    change: Bounded
    p: float
    beyond: bool = False


def frame_shares(step: Step, event: str) -> dict[str, tuple[float, float]]:
    """Return share and variance of each frame of one event; threads are no frames."""
    seen = batches(step.frames["samples"], event, event not in UNIT_WEIGHT_EVENTS)
    if seen is not None:
        whole = float(seen.whole.sum())
        shares = {name: (float(part.sum()) / whole, seen.variance(part)) for name, part in by_frame(seen).items()}
    else:
        frame = step.frames["frames"]
        rows = frame[frame["event"] == event]
        shares = {}
        for name, share, samples in zip(rows["frame"], rows["share"], rows["samples"], strict=True):
            resting_on = float(samples) / float(share) if share else math.nan
            shares[str(name)] = (float(share), float(share) * (1 - float(share)) / max(1.0, resting_on))
    return {name: value for name, value in shares.items() if not name.startswith("[")}


def changes(first: Step, second: Step, event: str = "cpu") -> list[Change]:
    """Return every frame with a share worth a look, the largest change first; `beyond`: chance does not make it."""
    a, b = frame_shares(first, event), frame_shares(second, event)
    depth = _depths(first, event) | _depths(second, event)
    together: dict[tuple[float, float], str] = {}
    for name in sorted(a.keys() | b.keys()):
        key = (round(a.get(name, (0.0, 0.0))[0], 9), round(b.get(name, (0.0, 0.0))[0], 9))
        if max(key) >= LEAST_SHARE and (key not in together or depth.get(name, 0) > depth.get(together[key], 0)):
            together[key] = name
    tested = [_tested(name, a.get(name, (0.0, 0.0)), b.get(name, (0.0, 0.0))) for name in together.values()]
    beyond = _discoveries([change.p for change in tested])
    marked = [replace(change, beyond=flag) for change, flag in zip(tested, beyond, strict=True)]
    return sorted(marked, key=lambda change: (-abs(change.change.value), change.frame))


def _depths(step: Step, event: str) -> dict[str, int]:
    stacks = step.frames["stacks"]
    depths: dict[str, int] = {}
    for stack in stacks[stacks["event"] == event]["stack"]:
        for level, name in enumerate(str(stack).split(";")):
            depths[name] = max(level, depths.get(name, 0))
    return depths


def _tested(name: str, before: tuple[float, float], after: tuple[float, float]) -> Change:
    """Test whether a frame's shares differ, each a value with its variance, by the normal distribution.

    scipy's `ttest_ind_from_stats` was looked at: it takes the spread and the count of independent samples, but samples
    of one second are alike, and their variances are those of the shares themselves.
    """
    value, error = after[0] - before[0], math.sqrt(before[1] + after[1])
    p = float(2 * norm.sf(abs(value) / error)) if error > 0 else float(value == 0)
    reach = float(norm.ppf(0.975)) * error
    return Change(name, before[0], after[0], Bounded(value, value - reach, value + reach), p)


def _discoveries(p_values: list[float]) -> list[bool]:
    """Return which hypotheses are rejected with a false discovery rate of at most RATE."""
    return [bool(p <= RATE) for p in false_discovery_control(p_values)] if p_values else []


def store_is_most(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: is the store's own work (storage, log, flush, compaction, cache) more than half of the CPU time?"""

    def effect(step: Step) -> Effect | None:
        store = together(step, STORE)
        if store is None:
            return None
        return store.less(MOST), Measure.of(f"the store's share in {step.workload.upper()}", store, Unit.SHARE)

    return _of_profiles(workloads, subject, effect)


def sockets_over_store(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: do reads and writes of sockets take more CPU time than the store's own work?"""

    def effect(step: Step) -> Effect | None:
        sockets, store = together(step, SOCKETS), together(step, STORE)
        if sockets is None or store is None:
            return None
        above = Bounded(sockets.value - store.value, sockets.low - store.high, sockets.high - store.low)
        measure = Measure.of(f"sockets' share in {step.workload.upper()}", sockets, Unit.SHARE)
        return above, measure.against(Measure.of("the store's", store, Unit.SHARE))

    return _of_profiles(workloads, subject, effect)


def http_allocates_most(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: do parsing, handling and responding allocate more than half of the bytes?"""

    def effect(step: Step) -> Effect | None:
        http, response = together(step, HTTP, ALLOC), share(step, ALLOC, "response")
        if http is None or response is None:
            return None
        measure = Measure.of(f"allocated for {step.workload.upper()} by HTTP", http, Unit.SHARE)
        return http.less(MOST), measure.against(Measure.of("by the response alone", response, Unit.SHARE))

    return _of_profiles(workloads, subject, effect)


def _of_profiles(workloads: Sequence[str], subject: str, effect: Callable[[Step], Effect | None]) -> Answering:
    """Answer whether an effect lies above zero in the profiles of all these workloads."""

    def answer(results: Results) -> Answer | None:
        profiles = [facts.profiled(results.run, subject, workload) for workload in workloads]
        usable = [step for step in profiles if step is not None and facts.usable_profile(step)]
        return _judged(usable, effect, CPU_FIGURE)

    return answer


def _judged(steps: Sequence[Step], effect: Callable[[Step], Effect | None], figure: str | None) -> Answer | None:
    """Answer whether an effect lies above zero in each of these profiles; None without any."""
    effects = [(step, seen) for step in steps if (seen := effect(step)) is not None]
    if not effects:
        return None
    verdict = verdict_of(min(above.low for _, (above, _) in effects), max(above.high for _, (above, _) in effects))
    evidence, names = tuple(measure for _, (_, measure) in effects), tuple(step.name for step, _ in effects)
    return Answer(verdict, evidence, Basis.PROFILES, len(effects), Needed.SAMPLES, steps=names, figure=figure)


def store_owns_the_waiting(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: is more than half of the time waited for locks the wait for those of the store?"""

    def effect(step: Step) -> Effect | None:
        store, pool = share(step, LOCK, "storage"), share(step, LOCK, "hand-over")
        if store is None or pool is None:
            return None
        measure = Measure.of(f"waits for the store in {step.workload.upper()}", store, Unit.SHARE)
        return store.less(MOST), measure.against(Measure.of("for the pool", pool, Unit.SHARE))

    def answer(results: Results) -> Answer | None:
        locks = [step for step in facts.lock_profiles(results.steps) if step.subject == subject]
        last = {step.workload: step for step in locks if step.workload in workloads}
        return _judged(tuple(last.values()), effect, None)

    return answer


@dataclass(frozen=True, slots=True)
class ChangeWithRate:
    """The changes of the categories' shares from the lowest to the highest profiled rate of a ladder.

    `most`: the largest change that the interval of any category leaves room for, the profiler's own share aside.
    """

    subject: str
    workload: str
    low_rps: float
    high_rps: float
    moved: tuple[tuple[str, Bounded, Bounded], ...]
    most: float
    steps: tuple[str, ...]

    @property
    def largest(self) -> float:
        """The largest change of a share beyond its intervals."""
        return max((abs(after.value - before.value) for _, before, after in self.moved), default=0.0)


def profiled_rate_steps(run: Run, workload: str, subject: str | None = None) -> list[Step]:
    """Return the profiled rate steps of a workload whose profile may be read, lowest rate first."""
    steps = run.find(kind=PROFILED_RATE_STEP, workload=workload, subject=subject)
    return sorted(filter(facts.usable_profile, steps), key=facts.offered_rps)


def change_with_rate(steps: Sequence[Step], event: str) -> ChangeWithRate | None:
    """Compare the lowest with the highest of these profiled rate steps; None without two rates."""
    with_event = [step for step in steps if not facts.shares_of(step, event).empty]
    if len(with_event) < 2:
        return None
    low, high = with_event[0], with_event[-1]
    most = 0.0
    for category in map(str, facts.shares_of(low, event)["category"]):
        before, after = share(low, event, category), share(high, event, category)
        if before and after and category != PROFILER:
            change = difference(after, before)
            most = max(most, change.high, -change.low)
    changed = tuple(row for row in moved(low, high, event) if row[0] != PROFILER)
    return ChangeWithRate(
        low.subject, low.workload, facts.offered_rps(low), facts.offered_rps(high), changed, most,
        (low.name, high.name),
    )  # fmt: skip


def changes_with_rate(results: Results) -> Answer | None:
    """Answer: does the work of a request change with the rate, the profiler's own share aside?

    No where the intervals leave no category room for a change that matters.
    """
    first_steps = [ladder.steps[0] for ladder in results.ladders if ladder.base is not None]
    pairs = dict.fromkeys((step.workload, step.subject) for step in first_steps)
    of_pairs = (change_with_rate(profiled_rate_steps(results.run, *pair), facts.CPU) for pair in pairs)
    seen = [change for change in of_pairs if change is not None]
    if not seen:
        return None
    widest, verdict = max(seen, key=lambda change: change.largest), Verdict.YES
    if max(change.most for change in seen) < SHARE_MARGIN:
        verdict = Verdict.NO
    elif widest.largest < SHARE_MARGIN:
        verdict = Verdict.INCONCLUSIVE
    figure = f"byrate-{widest.workload}-{facts.CPU}"
    return Answer(verdict, (widest,), Basis.PROFILES, len(seen), Needed.SAMPLES, steps=widest.steps, figure=figure)
