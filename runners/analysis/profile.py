"""Where the time and the memory go, by category, and what the profiler itself cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from runners.analysis import comparable, facts
from runners.analysis.finding import Anchor, Finding
from runners.analysis.intervals import Bounded, difference
from runners.readers import write
from runners.readers.run import Step
from runners.readers.severity import Severity

TOP = 3
PROFILER, MUCH = "profiler", 0.05  # above that share of the samples its own work is said beside every share
#: Categories of stacks that are the store's own work: a store that costs nothing would save them all.
STORE = ("storage", "log", "flush", "compaction", "cache")
SOCKETS = ("socket read", "socket write")
MOST_DIFFERENCES = 3
EVENT_NAMES = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}


def usable(step: Step | None) -> bool:
    """Decide whether a profile is evidence: of a valid load that kept its rate, or of a closed loop.

    A load that fell short shows the work of another rate than the one that it stands under.
    """
    if step is None or step.frames["shares"].empty:
        return False
    return step.valid and not facts.fell_short(step)


def shares_of(step: Step, event: str) -> pd.DataFrame:
    """Shares of one event, largest first."""
    rows = step.frames["shares"]
    return rows[rows["event"] == event].sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def share(step: Step, event: str, category: str) -> Bounded | None:
    """One category's share with its interval."""
    rows = shares_of(step, event)
    rows = rows[rows["category"] == category]
    if rows.empty:
        return None
    row = rows.iloc[0]
    return Bounded(float(row["share"]), float(row["low"]), float(row["high"]))


def store_share(step: Step, event: str = "cpu") -> Bounded | None:
    """The share of all the store's categories together, its bounds those of the parts added up; None without any."""
    return _together(step, event, STORE)


def socket_share(step: Step, event: str = "cpu") -> Bounded | None:
    """The share of reads and writes of sockets together, its bounds those of the two added up; None without any."""
    return _together(step, event, SOCKETS)


def _together(step: Step, event: str, categories: Sequence[str]) -> Bounded | None:
    parts = [part for category in categories if (part := share(step, event, category)) is not None]
    if not parts:
        return None
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Bounded(value, low, min(1.0, high))


def beside(*steps: Step) -> str:
    """What is said beside every share where the profiler itself takes much of the samples; else empty."""
    own = [part.value for step in steps if (part := share(step, "cpu", PROFILER)) is not None]
    if max(own, default=0.0) <= MUCH:
        return ""
    return f"; the profiler's own frames are up to {write.percent(max(own))} of the CPU samples"


def where(step: Step) -> Iterator[Finding]:
    """The largest parts of each event of one profiled step."""
    if not usable(step):
        return
    name = facts.title(step)
    for event in dict.fromkeys(step.frames["shares"]["event"]):
        rows = shares_of(step, event)
        rows = rows[rows["weight"] > 0]
        top = rows.head(TOP)
        if top.empty:
            continue
        found = list(
            zip(
                top["category"].astype(str),
                top["share"].astype(float),
                top["low"].astype(float),
                top["high"].astype(float),
                strict=True,
            )
        )
        parts = [f"{category} {write.percent_interval(share, low, high)}" for category, share, low, high in found]
        samples = int(rows["samples"].sum())
        what = EVENT_NAMES.get(event, event)
        text = f"{name}, {what}: {write.listed(parts)}, from {write.count(samples)} samples{beside(step)}"
        evidence: dict[str, write.Value] = {
            "samples": samples,
            **{category: share for category, share, _, _ in found},
        }
        yield Finding("P01", Severity.NOTE, write.sentence(text), evidence, (step.name,), Anchor.shares(event))


def differences(steps: Sequence[Step]) -> Iterator[Finding]:
    """Categories whose share differs between two engines by more than their intervals, largest difference first."""
    good = [step for step in steps if usable(step)]
    for index, first in enumerate(good):
        for second in good[index + 1 :]:
            for event in dict.fromkeys(first.frames["shares"]["event"]):
                yield from _apart(first, second, event)


def _apart(first: Step, second: Step, event: str) -> Iterator[Finding]:
    found = []
    for category in shares_of(first, event)["category"]:
        a, b = share(first, event, category), share(second, event, category)
        if a and b and a.apart_from(b):
            found.append((abs(a.value - b.value), str(category), a, b))
    if not found:
        return
    found.sort(key=lambda item: (-item[0], item[1]))
    parts = []
    evidence: dict[str, write.Value] = {}
    for _, category, a, b in found[:MOST_DIFFERENCES]:
        parts.append(
            f"{category} {write.percent_interval(a.value, a.low, a.high)} against "
            f"{write.percent_interval(b.value, b.low, b.high)}"
        )
        evidence |= {f"{category} {first.subject}": a.value, f"{category} {second.subject}": b.value}
    text = (
        f"{facts.title(first)} and {facts.title(second)} differ in {EVENT_NAMES.get(event, event)} beyond their "
        f"intervals: {write.listed(parts)}{beside(first, second)}"
    )
    steps = (first.name, second.name)
    yield Finding("P02", Severity.NOTE, write.sentence(text), evidence, steps, Anchor.shares(event))


def cost(clean: Step | None, profiled: Step | None) -> Finding | None:
    """What the profiler cost at the same rate: the change of p50, of p99 and of the achieved rate."""
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
        rates: dict[str, write.Value] = {
            "clean_rps": facts.achieved_rps(clean),
            "profiled_rps": facts.achieved_rps(profiled),
        }
        remedy = "Profile at a lower rate, or with a longer sampling interval."
        return Finding("P03", Severity.WARNING, write.sentence(text), rates, steps, figure, remedy)
    parts = []
    evidence: dict[str, write.Value] = {
        "clean_rps": facts.achieved_rps(clean),
        "profiled_rps": facts.achieved_rps(profiled),
    }
    refused: dict[float, str] = {}
    for level in (0.5, 0.99):
        before, after = facts.at(clean, level), facts.at(profiled, level)
        if before is None or after is None:
            continue
        change = difference(after, before)
        sides = (f"{name} without it", (clean,)), (f"{name} with it", (profiled,))
        if why := comparable.why(level, *sides) or comparable.unbounded(change):
            refused[level] = why
        else:
            parts.append(f"{write.level(level)} {_change(change)}")
        evidence |= {f"{write.level(level)}_change_us": change.value}
    parts += comparable.refusals(refused)
    if not parts:
        return None
    text = f"The profiler's cost for {name}, at {write.rate(facts.achieved_rps(profiled))}: {write.listed(parts)}"
    if own := share(profiled, "cpu", "profiler"):
        text += f"; its own frames are {write.percent_interval(own.value, own.low, own.high)} of the CPU samples"
        evidence["own_share"] = own.value
    return Finding("P03", Severity.NOTE, write.sentence(text), evidence, steps, figure)


def _change(change: Bounded) -> str:
    if change.holds_zero:
        return f"without a change beyond its interval ({write.latency(change.low)} to {write.latency(change.high)})"
    return write.changed_by(change.value, change.low, change.high)
