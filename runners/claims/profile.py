"""Conclude on profiles: where time and memory go, what the profiler cost, and which frames changed between two.

Each frame's shares are compared by a normal test whose variances know how the shares vary over time (see
readers/stacks.py). Hundreds of frames are asked at once, so the false discovery rate is controlled at 5 % (Y. Benjamini
and Y. Hochberg, 1995, *Controlling the false discovery rate*, J. Royal Stat. Soc. B 57; it holds under the positive
dependence that frames of one stack have: Y. Benjamini and D. Yekutieli, 2001, Ann. Stat. 29). Frames that always stand
together in a stack have the same shares and are one test, called by the name of the deepest.

Shares of two profiles always add up to one, so what grows makes the rest shrink. What the work costs per request
comes with it: CPU time of the server over responses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from scipy.stats import false_discovery_control, norm

from runners.analysis import comparable, facts, instrument
from runners.analysis.intervals import Bounded, difference, student_reach
from runners.readers import write
from runners.readers.batch_means import mean_variance
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step
from runners.readers.stacks import UNIT_WEIGHT_EVENTS, batches, by_frame

TOP = 3
PROFILER, MUCH = "profiler", 0.05  # above that share of the samples its own work is said with every share
#: Categories of stacks that are the store's own work: a store that costs nothing would save them all.
STORE = ("storage", "log", "flush", "compaction", "cache")
SOCKETS = ("socket read", "socket write")
MOST_DIFFERENCES = 3
EVENT_NAMES = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}


def share(step: Step, event: str, category: str) -> Bounded | None:
    """Return one category's share with its interval."""
    rows = step.frames["shares"]
    # masks of pandas take ten times as long, and two profiles are compared in each of their categories
    asked = (rows["event"].to_numpy() == event) & (rows["category"].to_numpy() == category)
    if not asked.any():
        return None
    row = rows.iloc[int(asked.argmax())]
    return Bounded(float(row["share"]), float(row["low"]), float(row["high"]))


def together(step: Step, categories: Sequence[str]) -> Bounded | None:
    """Give the share of CPU samples of several categories, its bounds those of the parts added up; None without any."""
    parts = [part for category in categories if (part := share(step, "cpu", category)) is not None]
    if not parts:
        return None
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Bounded(value, low, min(1.0, high))


def overhead_note(*steps: Step) -> str:
    """Return what is said with every share where the profiler itself takes much of the samples; else empty."""
    if (most := max(map(_own, steps), default=0.0)) <= MUCH:
        return ""
    return f"; the profiler's own frames are up to {write.percent(most)} of the CPU samples"


def own(step: Step, event: str = facts.CPU) -> str:
    """Return what is said with a column of shares where the profiler itself takes much of its samples; else empty."""
    return f", profiler {write.percent(_own(step, event))}" if _own(step, event) > MUCH else ""


def _own(step: Step, event: str = facts.CPU) -> float:
    part = share(step, event, PROFILER)
    return part.value if part is not None else 0.0


def where(step: Step) -> Iterator[Finding]:
    """Yield the largest parts of each event of one profiled step."""
    if not facts.usable_profile(step):
        return
    name = facts.title(step)
    for event in dict.fromkeys(step.frames["shares"]["event"]):
        rows = facts.shares_of(step, event)
        rows = rows[rows["weight"] > 0]
        top = rows.head(TOP)
        if top.empty:
            continue
        found = list(top[["category", "share", "low", "high"]].itertuples(index=False, name=None))
        parts = [f"{category} {write.percent_interval(share, low, high)}" for category, share, low, high in found]
        samples = int(rows["samples"].sum())
        what = EVENT_NAMES.get(event, event)
        text = f"{name}, {what}: {write.listed(parts)}, from {write.count(samples)} samples{overhead_note(step)}"
        evidence = {"samples": samples, **{category: share for category, share, _, _ in found}}
        yield Finding.of("P01", Severity.NOTE, text, evidence, (step.name,), Anchor.shares(event))


def differences(steps: Sequence[Step]) -> Iterator[Finding]:
    """Categories whose share differs between two engines by more than their intervals, largest difference first."""
    good = [step for step in steps if facts.usable_profile(step)]
    for index, first in enumerate(good):
        for second in good[index + 1 :]:
            for event in dict.fromkeys(first.frames["shares"]["event"]):
                yield from _apart(first, second, event)


def moved(first: Step, second: Step, event: str) -> list[tuple[str, Bounded, Bounded]]:
    """Categories whose shares in two profiles differ by more than their intervals, the largest difference first."""
    categories = map(str, facts.shares_of(first, event)["category"])
    pairs = ((name, share(first, event, name), share(second, event, name)) for name in categories)
    found = [(name, a, b) for name, a, b in pairs if a and b and a.apart_from(b)]
    return sorted(found, key=lambda each: (-abs(each[1].value - each[2].value), each[0]))


def _apart(first: Step, second: Step, event: str) -> Iterator[Finding]:
    parts, evidence = [], dict[str, write.Value]()
    for category, a, b in moved(first, second, event)[:MOST_DIFFERENCES]:
        parts.append(f"{category} {a.as_share} against {b.as_share}")
        evidence |= {f"{category} {first.subject}": a.value, f"{category} {second.subject}": b.value}
    if not parts:
        return
    text = (
        f"{facts.title(first)} and {facts.title(second)} differ in {EVENT_NAMES.get(event, event)} by more than their "
        f"intervals: {write.listed(parts)}{overhead_note(first, second)}"
    )
    yield Finding.of("P02", Severity.NOTE, text, evidence, (first.name, second.name), Anchor.shares(event))


def cost(clean: Step | None, profiled: Step | None, every: Sequence[Step] = ()) -> Finding | None:
    """Return what the profiler cost at the same rate: the change of p50, of p99 and of the achieved rate.

    `every`: all steps of their run, their floor among them.
    """
    if clean is None or profiled is None or not facts.quotable(clean):
        return None
    name, figure, steps = facts.title(clean), Anchor.spectrum(clean.workload), (clean.name, profiled.name)
    if not facts.quotable(profiled):
        if not facts.is_saturated(profiled):
            return None
        text = (
            f"Profiling cost {name} its rate: {write.rate(facts.achieved_rps(profiled))} with the profiler, "
            f"{write.rate(facts.achieved_rps(clean))} without"
        )
        rates = {"clean_rps": facts.achieved_rps(clean), "profiled_rps": facts.achieved_rps(profiled)}
        remedy = "Profile at a lower rate, or with a longer sampling interval."
        return Finding.of("P03", Severity.WARNING, text, rates, steps, figure, remedy)
    parts = []
    evidence = {"clean_rps": facts.achieved_rps(clean), "profiled_rps": facts.achieved_rps(profiled)}
    refused: dict[float, str] = {}
    for level in (0.5, 0.99):
        before, after = facts.at(clean, level), facts.at(profiled, level)
        if before is None or after is None:
            continue
        change = difference(after, before)
        sides = (f"{name} without the profiler", (clean,)), (f"{name} with it", (profiled,))
        floored = instrument.of_instrument(every, clean, level) and instrument.of_instrument(every, profiled, level)
        if why := comparable.why(level, *sides) or comparable.unbounded(change) or floored:
            refused[level] = why
        else:
            parts.append(f"{write.level(level)} {_change(change)}")
        evidence |= {f"{write.level(level)}_change_us": change.value}
    parts += comparable.refusals(refused)
    if not parts:
        return None
    text = f"The profiler's cost for {name}, at {write.rate(facts.achieved_rps(profiled))}: {write.listed(parts)}"
    if own := share(profiled, "cpu", "profiler"):
        text += f"; its own frames are {own.as_share} of the CPU samples"
        evidence["own_share"] = own.value
    return Finding.of("P03", Severity.NOTE, text, evidence, steps, figure)


def _change(change: Bounded) -> str:
    if change.holds_zero:
        return f"inconclusive ({write.latency(change.low)} to {write.latency(change.high)})"
    return write.changed_by(change.value, change.low, change.high)


RATE = 0.05
LEAST_SHARE = 0.002
FEWEST_SECONDS = 4
FINEST_US = 0.01


@dataclass(frozen=True, slots=True)
class Change:
    """A frame's share of the work in two profiles, and by how much it changed (95 % bounds)."""

    frame: str
    before: float
    after: float
    change: Bounded
    p: float
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two profiled steps, with the clean ones that say what they cost; the second is compared with the first.

    `every`: all steps of their run.
    """

    first: Step
    second: Step
    clean: tuple[Step, Step] | None = None
    every: Sequence[Step] = ()


def pairs(run: Run) -> Iterator[Pair]:
    """Of each workload: the first engine's profile against each other's."""
    for workload in dict.fromkeys(step.workload for step in run.find(kind="load", profiled=True)):
        subjects = dict.fromkeys(step.subject for step in run.find(kind="load", workload=workload, profiled=True))
        good = [
            step
            for name in subjects
            if facts.usable_profile(step := facts.profiled(run, name, workload)) and step is not None
        ]
        for other in good[1:]:
            clean = [facts.clean(run, step.subject, workload) for step in (good[0], other)]
            both = (clean[0], clean[1]) if clean[0] is not None and clean[1] is not None else None
            yield Pair(good[0], other, both, run.steps)


def frame_shares(step: Step, event: str) -> dict[str, tuple[float, float]]:
    """Return share and variance of each frame of one event; threads are no frames."""
    seen = batches(step.frames["samples"], event, event not in UNIT_WEIGHT_EVENTS)
    if seen is not None:
        whole = float(seen.whole.sum())
        found = {name: (float(part.sum()) / whole, seen.variance(part)) for name, part in by_frame(seen).items()}
    else:
        frame = step.frames["frames"]
        rows = frame[frame["event"] == event]
        found = {}
        for name, share, samples in zip(rows["frame"], rows["share"], rows["samples"], strict=True):
            resting_on = float(samples) / float(share) if share else math.nan
            found[str(name)] = (float(share), float(share) * (1 - float(share)) / max(1.0, resting_on))
    return {name: value for name, value in found.items() if not name.startswith("[")}


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
    beyond = _discoveries([each.p for each in tested])
    marked = [replace(each, beyond=flag) for each, flag in zip(tested, beyond, strict=True)]
    return sorted(marked, key=lambda each: (-abs(each.change.value), each.frame))


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
    """Decide which hypotheses are rejected with a false discovery rate of at most RATE."""
    return [bool(p <= RATE) for p in false_discovery_control(p_values)] if p_values else []


def cpu_a_request(step: Step) -> Bounded | None:
    """Return CPU time of the server's process over responses, in microseconds, with bounds from its seconds."""
    telemetry: pd.DataFrame = step.frames["telemetry"]
    rate = facts.achieved_rps(step)
    cores = telemetry["server_cpu_cores"].dropna().to_numpy(float)
    if len(cores) < FEWEST_SECONDS or not write.known(rate) or rate <= 0:
        return None
    middle = float(cores.mean())
    reach = student_reach(mean_variance(cores).value, len(cores) - 1)
    scale = 1e6 / rate
    return Bounded(scale * middle, scale * (middle - reach), scale * (middle + reach))


def of_frames(run: Run) -> Iterator[Finding]:
    """Yield what changed from the first engine to the others, and which frames go with it."""
    for pair in pairs(run):
        event = "cpu"
        if event not in pair.first.profiled or event not in pair.second.profiled:
            continue
        all_changes = changes(pair.first, pair.second, event)
        beyond = [each for each in all_changes if each.beyond]
        first, second = facts.title(pair.first), facts.title(pair.second)
        measured, evidence = _measured(pair)
        evidence |= {"frames_asked": len(all_changes), "frames_changed": len(beyond)}
        if not measured and pair.first.engine != pair.second.engine:
            continue
        text = f"From {first} to {second}: {write.listed([*measured, *_frames(pair, beyond, len(all_changes), event)])}"
        evidence |= {each.frame: each.change.value for each in beyond[:TOP]}
        figure = Anchor.differential(pair.second.workload, pair.second.subject)
        yield Finding.of("P04", Severity.NOTE, text, evidence, (pair.first.name, pair.second.name), figure)


def _frames(pair: Pair, beyond: list[Change], asked: int, event: str) -> list[str]:
    """Count the frames that changed, of treatments of one engine; two engines share no code of their stores."""
    if pair.first.engine != pair.second.engine:
        return []
    what = EVENT_NAMES.get(event, event)
    if not beyond:
        return [f"none of {asked} frames changed its share of {what} beyond chance"]
    return [f"{len(beyond)} of {asked} frames changed their share of {what} beyond chance"]


def _measured(pair: Pair) -> tuple[list[str], dict[str, write.Value]]:
    """Return the measured differences of the clean steps, in words and as numbers."""
    parts: list[str] = []
    evidence: dict[str, write.Value] = {}
    if pair.clean is None:
        return parts, evidence
    a, b = pair.clean
    refused: dict[float, str] = {}
    for level in (0.5, 0.99):
        before, after = facts.quoted(a, level), facts.quoted(b, level)
        if before is None or after is None:
            continue
        change = difference(after, before)
        floored = [instrument.incomparable(pair.every, step, level) for step in (a, b)]
        if (
            why := comparable.why_of_steps(a, b, level)
            or comparable.unbounded(change)
            or next(filter(None, floored), "")
        ):
            refused[level] = why
        else:
            _add(parts, evidence, write.level(level), change)
    parts += comparable.refusals(refused)
    cost = cpu_a_request(a), cpu_a_request(b)
    if cost[0] is not None and cost[1] is not None:
        _add(parts, evidence, "CPU per request of all threads", difference(cost[1], cost[0]))
    return parts, evidence


def _add(parts: list[str], evidence: dict[str, write.Value], name: str, change: Bounded) -> None:
    evidence[f"{name} change_us"] = change.value
    if change.holds_zero:
        reach = max(-change.low, change.high)
        parts.append(f"{name} the same within {write.latency(reach)}" if reach >= FINEST_US else f"{name} the same")
        return
    parts.append(f"{name} {write.changed_by(change.value, change.low, change.high)}")
