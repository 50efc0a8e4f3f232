"""Profiles: categories' shares of the work (they add up to one), and frames that differ between two profiles.

Hundreds of frames are tested at once. To keep differences by chance few, the false discovery rate is controlled (Y.
Benjamini and Y. Hochberg, 1995, J. Royal Stat. Soc. B 57). Frames with the same two shares are tested as one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scipy.stats import false_discovery_control, norm

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, difference
from runners.design.session import LOCK, PROFILED_RATE_STEP
from runners.readers.run import Run, Step
from runners.readers.stacks import batches
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results

PROFILER, MUCH = "profiler", 0.05  # above this share of the samples, figures give the profiler's own share
POLL = "poll"
#: Categories of stacks that are the store's own work: a store that costs nothing would save them all.
STORE = ("storage", "log", "flush", "compaction", "cache")
SOCKETS = ("socket read", "socket write")
#: The work of receiving a request and making its response, apart from sockets and the store.
HTTP = ("HTTP parsing", "handler", "response")
MOST = 0.5
#: Anchor of the figure of CPU time per request by category.
CPU_FIGURE = "cpu-a-request"
ALLOC = "alloc"
EVENT_NAMES = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}


@dataclass(frozen=True, slots=True)
class Part:
    """Categories of one event that a question is about: do they take more than half of it, or more than `others`?

    `label`: a name of their share, with {} for the load. `than_half`: one half is the limit, `others` are only shown.
    """

    label: str
    event: str
    categories: Sequence[str]
    other_label: str = ""
    others: Sequence[str] = ()
    than_half: bool = True


STORE_CPU = Part("the store's share in {}", facts.CPU, STORE)
SOCKETS_CPU = Part("sockets' share in {}", facts.CPU, SOCKETS, "the store's", STORE, than_half=False)
POLLING_CPU = Part("polling of the selector in {}", facts.CPU, (POLL,))
HTTP_BYTES = Part("allocated for {} by HTTP", ALLOC, HTTP, "by the store", STORE)
STORE_WAITS = Part("waits for the store in {}", LOCK, ("storage",), "for the pool", ("hand-over",))


def share(step: Step, event: str, category: str) -> Bounded | None:
    """Return the share of one category in an event's samples with its interval; None without the category."""
    rows = step.frames["shares"]
    # masks of pandas take ten times as long, and two profiles are compared in each of their categories
    asked = (rows["event"].to_numpy() == event) & (rows["category"].to_numpy() == category)
    if not asked.any():
        return None
    row = rows.iloc[int(asked.argmax())]
    return Bounded(float(row["share"]), float(row["low"]), float(row["high"]))


def together(step: Step, categories: Sequence[str], event: str = facts.CPU) -> Bounded | None:
    """Return the summed share of several categories, with summed bounds; None if the profile has none of them."""
    parts = [part for category in categories if (part := share(step, event, category)) is not None]
    if not parts:
        return None
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Bounded(value, low, min(1.0, high))


def own_share(step: Step, event: str = facts.CPU) -> float:
    """Return the share of the samples that the profiler's own frames take; 0 if there are none."""
    part = share(step, event, PROFILER)
    return part.value if part is not None else 0.0


RATE = 0.05
LEAST_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Change:
    """A frame's shares of the work in two profiles, the change (95 % bounds), its p-value, and if it is significant."""

    frame: str
    before: float
    after: float
    change: Bounded
    p: float
    beyond: bool = False


def frame_shares(step: Step, event: str) -> dict[str, tuple[float, float]]:
    """Return the (share, variance) of each frame for one event; threads, whose names are in brackets, are left out."""
    seen = batches(step.frames["samples"], event)
    if seen is not None:
        whole = float(seen.whole.sum())
        shares = {name: (float(part.sum()) / whole, seen.variance(part)) for name, part in seen.by_name(set).items()}
    else:
        frame = step.frames["frames"]
        rows = frame[frame["event"] == event]
        shares = {}
        for name, share, samples in zip(rows["frame"], rows["share"], rows["samples"], strict=True):
            resting_on = float(samples) / float(share) if share else math.nan
            shares[str(name)] = (float(share), float(share) * (1 - float(share)) / max(1.0, resting_on))
    return {name: value for name, value in shares.items() if not name.startswith("[")}


def changes(first: Step, second: Step, event: str = "cpu") -> list[Change]:
    """Return the changes of frames with at least LEAST_SHARE in a profile, largest first; significant if `beyond`."""
    a, b = frame_shares(first, event), frame_shares(second, event)
    depth = _depths(first, event) | _depths(second, event)
    together: dict[tuple[float, float], str] = {}
    for name in sorted(a.keys() | b.keys()):
        key = (round(a.get(name, (0.0, 0.0))[0], 9), round(b.get(name, (0.0, 0.0))[0], 9))
        if max(key) >= LEAST_SHARE and (key not in together or depth.get(name, 0) > depth.get(together[key], 0)):
            together[key] = name
    tested = [_tested(name, a.get(name, (0.0, 0.0)), b.get(name, (0.0, 0.0))) for name in together.values()]
    adjusted = false_discovery_control([change.p for change in tested]) if tested else ()
    marked = [replace(change, beyond=bool(p <= RATE)) for change, p in zip(tested, adjusted, strict=True)]
    return sorted(marked, key=lambda change: (-abs(change.change.value), change.frame))


def _depths(step: Step, event: str) -> dict[str, int]:
    stacks = step.frames["stacks"]
    depths: dict[str, int] = {}
    for stack in stacks[stacks["event"] == event]["stack"]:
        for level, name in enumerate(str(stack).split(";")):
            depths[name] = max(level, depths.get(name, 0))
    return depths


def _tested(name: str, before: tuple[float, float], after: tuple[float, float]) -> Change:
    """Test by the normal distribution whether a frame's two shares differ; each is given as (share, variance)."""
    value, error = after[0] - before[0], math.sqrt(before[1] + after[1])
    p = float(2 * norm.sf(abs(value) / error)) if error > 0 else float(value == 0)
    reach = float(norm.ppf(0.975)) * error
    return Change(name, before[0], after[0], Bounded(value, value - reach, value + reach), p)


@answering
def takes_most(results: Results, workloads: Sequence[str], subject: str, asked: Part) -> Answer | None:
    """Answer: in each workload's profile, do categories take more than half of the work, or more than the others?"""
    above, evidence, steps = list[Bounded](), list[Measure](), list[Step]()
    for step in _profiles(results, workloads, subject, asked.event):
        part, other = (together(step, named, asked.event) for named in (asked.categories, asked.others))
        if part is None or (asked.others and other is None):
            continue
        load = f"{step.workload.upper()} of {facts.engine_name(subject)}"
        measure = Measure.of(asked.label.format(load), part, Unit.SHARE)
        evidence.append(measure.against(Measure.of(asked.other_label, other, Unit.SHARE)) if other else measure)
        limit = Bounded(MOST, MOST, MOST) if asked.than_half or other is None else other
        above.append(Bounded(part.value - limit.value, part.low - limit.high, part.high - limit.low))
        steps.append(step)
    if not above:
        return None
    if asked.event == LOCK:
        evidence += _waits(results, workloads)
    verdict = Verdict.of(min(share.low for share in above), max(share.high for share in above))
    figure = None if asked.event == LOCK else CPU_FIGURE
    return Answer.by(steps, Basis.PROFILES, verdict, *evidence, needed=Needed.SAMPLES, figure=figure)


def _waits(results: Results, workloads: Sequence[str]) -> Iterator[Measure]:
    """Yield the number of waits for locks in every recording of these workloads, largest first."""
    recorded = [step for step in results.run.steps if LOCK in step.profiled and step.workload in workloads]
    for step in sorted(recorded, key=lambda step: -facts.profile_samples(step, LOCK)):
        load = f"{step.workload.upper()} of {facts.engine_name(step.subject)}"
        yield Measure(f"waits recorded in {load}", facts.profile_samples(step, LOCK), Unit.COUNT)


def _profiles(results: Results, workloads: Sequence[str], subject: str, event: str) -> list[Step]:
    """Return the last usable profile of an event for each of these workloads on one setting."""
    if event == LOCK:
        locks = facts.shown_profiles(results.run.steps, LOCK)
        own = {lock.workload: lock for lock in locks if lock.subject == subject and lock.workload in workloads}
        return list(own.values())
    loads = results.run.find(kind="load", subject=subject, profiled=True)
    last = {load.workload: load for load in loads if facts.CPU in load.profiled}
    return [last[workload] for workload in workloads if workload in last and facts.usable_profile(last[workload])]


def profiled_rate_steps(run: Run, workload: str, subject: str | None = None) -> list[Step]:
    """Return the profiled rate steps of a workload with usable profiles, lowest rate first."""
    steps = run.find(kind=PROFILED_RATE_STEP, workload=workload, subject=subject)
    return sorted(filter(facts.usable_profile, steps), key=facts.offered_rps)


def polling_halves(results: Results) -> Answer | None:
    """Answer: is polling's share of CPU time at each load's highest profiled rate at most half that at the lowest?"""
    below_half, evidence, steps = list[Bounded](), list[Measure](), list[Step]()
    first_steps = [ladder.steps[0] for ladder in results.ladders if ladder.base is not None]
    for workload, subject in dict.fromkeys((step.workload, step.subject) for step in first_steps):
        profiled = profiled_rate_steps(results.run, workload, subject)
        ends = [(step, part) for step in profiled if (part := share(step, facts.CPU, POLL)) is not None]
        if len(ends) < 2:
            continue
        (low, before), (high, after) = ends[0], ends[-1]
        below_half.append(difference(Bounded(before.value / 2, before.low / 2, before.high / 2), after))
        at_low, at_high = (f"at {words.rate(facts.offered_rps(step))}" for step in (low, high))
        name = f"{workload.upper()} of {facts.engine_name(subject)}"
        taken = Measure.of(f"polling in {name} {at_low}", before, Unit.SHARE)
        used = Measure(f"CPU per {workload.upper()} {at_low}", facts.cpu_us(low), Unit.LATENCY_US)
        evidence.append(taken.against(Measure.of(f"that {at_high}", after, Unit.SHARE)))
        evidence.append(used.against(Measure(f"that {at_high}", facts.cpu_us(high), Unit.LATENCY_US)))
        steps += [low, high]
    if not below_half:
        return None
    verdict = Verdict.of(min(part.low for part in below_half), max(part.high for part in below_half))
    figure = f"byrate-{steps[-1].workload}-{facts.CPU}"
    return Answer.by(steps, Basis.PROFILES, verdict, *evidence, needed=Needed.SAMPLES, figure=figure)
