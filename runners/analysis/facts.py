"""What the rules ask of a step: its rate, its latencies, its errors, and whether its latencies may be quoted at all.

Of its profile: whether it is evidence, which ones a report shows, and which two are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from runners.analysis import intervals
from runners.analysis.intervals import Bounded
from runners.design.session import FILL
from runners.design.setting import ENGINES
from runners.readers import write
from runners.readers.console_report import ENOUGH_BEYOND as ENOUGH_BEYOND
from runners.readers.run import Run, Step

LEAST_ACHIEVED = 0.99  # a rate is achieved when at least this share of what was offered got a response
RESPONSE, SERVICE = "response", "service"
#: What reports call an engine, or a setting of one that has a name of its own.
ENGINE_NAMES = {engine.name: engine.label for engine in ENGINES.values()} | {
    "rocksdb-tuned": "RocksDB tuned",
    "lsm-as-published": "LSM as published",
    "lsm-all-on": "LSM with all on",
    "lsm-cold": "LSM cold",
}


Key = TypeVar("Key")
Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by their key, in the order in which they come."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def receive_clock(step: Step) -> str | None:
    """Whose clock said when a response came, `kernel` or `user`; None where the generator does not tell."""
    column = step.frames["summary"].get("receive_clock")
    value = None if column is None or column.empty else column.iloc[0]
    return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Held:
    """Sends that the generator held back so that they left with the next: their share, and for how long at most."""

    share: float
    most_us: float


def held(step: Step) -> Held | None:
    """None where no send was held back, and where the generator does not tell (frames before it did have no column)."""
    summary = step.frames["summary"]
    if summary.empty or not {"held", "coalesce_us"} <= set(summary.columns):
        return None
    count, sent, most_us = (number(step, column) for column in ("held", "sent", "coalesce_us"))
    return Held(count / sent, most_us) if count > 0 and sent > 0 and write.known(most_us) else None


def number(step: Step, column: str) -> float:
    """Return a value of the step's summary; NaN when it is not there."""
    summary = step.frames["summary"]
    known = not summary.empty and column in summary  # older runs lack younger columns
    value: Any = summary[column].iat[0] if known else math.nan
    return math.nan if pd.isna(value) else float(value)


#: Columns of the summary that count requests without a good response, and what each says of them.
ERRORS = {
    "non_2xx": "non 2xx", "connect_errors": "connect", "read_errors": "read", "write_errors": "write",
    "timeouts": "timeout", "parse_errors": "parse",
}  # fmt: skip


def errors(step: Step) -> dict[str, float]:
    """Return how many requests had no good response, by kind; kinds that the generator does not count are left out."""
    return {column: count for column in ERRORS if write.known(count := number(step, column))}


def offered_rps(step: Step) -> float:
    """Return the offered rate; NaN in closed loop."""
    value = number(step, "offered_rps")
    asked = step.record.offered_rps
    return float(asked) if math.isnan(value) and isinstance(asked, (int, float)) else value


def achieved_rps(step: Step) -> float:
    return number(step, "achieved_rps")


def achieved_share(step: Step) -> float:
    """Achieved over offered; NaN in closed loop."""
    offered = offered_rps(step)
    return achieved_rps(step) / offered if offered else math.nan


def fell_short(step: Step) -> bool:
    """Return whether the step responded to less than was offered, by its own word or by its figures."""
    return step.saturated or achieved_share(step) < LEAST_ACHIEVED


def was_held_up(step: Step) -> bool:
    """Return whether the step fell short although at least half of its seconds kept the rate: a stall, not its
    capacity.
    """
    completed = per_second(step)["completed"]
    return fell_short(step) and len(completed) > 1 and float(completed.median()) >= LEAST_ACHIEVED * offered_rps(step)


def is_saturated(step: Step) -> bool:
    """Return whether the step was offered more than it can serve."""
    return fell_short(step) and not was_held_up(step)


def quotable(step: Step) -> bool:
    """Return whether the step's latencies mean anything: valid, at its rate, with samples.

    In saturation a response time is the length of the queue, which grows with the length of the run.
    """
    return step.valid and not fell_short(step) and not step.frames["percentiles"].empty


def why_not(step: Step) -> str:
    """Return why a step's latencies may not be quoted; empty when they may."""
    if fell_short(step):
        return "saturated" if is_saturated(step) else "held up"
    if not step.valid:
        return ", ".join(step.record.invalid_reasons) or "marked invalid"
    return "" if quotable(step) else "no latencies recorded"


def only_late(step: Step) -> bool:
    """Return whether nothing speaks against a step but that its generator sent late: its rate got its responses all
    the same.

    A response time counts from the intended start, so lateness is in it. And where requests are served in the order in
    which they come, one that comes later gets no earlier response: it ends at the later of its arrival and the end of
    the one before it, plus its service (D. Lindley, 1952, *The theory of queues with a single server*, Mathematical
    Proceedings of the Cambridge Philosophical Society 48). So the response times of such a step are upper bounds of
    what a generator on time would have read.
    """
    reasons = set(step.record.invalid_reasons)
    return not step.valid and reasons == {NOT_KEPT_UP} and not fell_short(step)


def at_most(step: Step, level: float) -> Bounded | None:
    """Return a percentile of the response times that is an upper bound, since the generator was late; else None."""
    value = at(step, level) if only_late(step) else None
    return None if value is None or value.at_least else value


def at(step: Step, level: float, kind: str = RESPONSE) -> Bounded | None:
    """Return a percentile (0..1) in microseconds with its bounds; None if it was not recorded.

    Bounds of response times count neighbouring requests as dependent (see `effective`), where the log allows.
    """
    row = _percentile(step, level, kind)
    if row is None:
        return None
    recorded = Bounded(float(row["value_us"]), float(row["low_us"]), float(row["high_us"]), _at_least(row))
    return intervals.interval(step, level, recorded) if kind == RESPONSE else recorded


def most_us(step: Step, level: float) -> float:
    """Give what a percentile is at most, in microseconds, whenever the requests without a response would have got one.

    The percentile itself where they do not matter; NaN where nothing tells. It lies between its lower bound and this,
    and nothing more is known (C. Manski, 2003, *Partial Identification of Probability Distributions*, chapter 1).
    """
    row = _percentile(step, level, RESPONSE)
    return math.nan if row is None else float(row["most_us" if _at_least(row) else "value_us"])


def _percentile(step: Step, level: float, kind: str) -> pd.Series | None:
    """Return the row of a percentile, or None."""
    rows = step.frames["percentiles"]
    if rows.empty:
        return None
    # a pandas mask takes six times as long, and a report asks thousands of times
    asked = (rows["kind"].to_numpy() == kind) & (np.abs(rows["percentile"].to_numpy() - level) < 1e-9)
    return rows.iloc[int(asked.argmax())] if asked.any() else None


def _at_least(row: pd.Series) -> bool:
    """Return whether a percentile is a lower bound; what does not tell is taken for a figure."""
    return not pd.isna(row["at_least"]) and bool(row["at_least"])


def written(value: Bounded) -> str:
    """Give a latency in words: with its interval, or as a lower bound where requests without a response make it one."""
    if value.at_least:
        return f"at least {write.latency(value.value)}"
    return value.as_latency


def written_at_most(value: Bounded) -> str:
    """Return an upper bound in words; the upper end of its own interval, where that is known."""
    return f"at most {write.latency(value.high if value.bounded else value.value)}"


def latency_text(step: Step, level: float) -> str:
    """Return a percentile of the response times in words: as quoted, as an upper bound, or why it is neither."""
    if (value := quoted(step, level)) is not None:
        return written(value)
    bound = at_most(step, level)
    return written_at_most(bound) if bound is not None else why_not(step) or write.UNKNOWN


def quoted(step: Step, level: float, kind: str = RESPONSE) -> Bounded | None:
    """As `at`, but None from a step whose latencies mean nothing."""
    return at(step, level, kind) if quotable(step) else None


def samples(step: Step) -> int:
    """Return how many response times were recorded."""
    rows = step.frames["spectrum"]
    counts = rows[rows["kind"] == RESPONSE]["total_count"]
    return int(counts.max()) if len(counts) and not pd.isna(counts.max()) else 0


def thin_levels(step: Step) -> list[float]:
    """Return percentiles (not the maximum) with fewer than ten samples beyond them."""
    rows = step.frames["percentiles"]
    rows = rows[(rows["kind"] == RESPONSE) & (rows["percentile"] < 1) & (rows["samples_beyond"] < ENOUGH_BEYOND)]
    return [float(level) for level in rows["percentile"]]


def per_second(step: Step) -> pd.DataFrame:
    """Return the whole seconds of a step, in order; a last piece of a second with few requests is left out."""
    rows = step.frames["intervals"]
    rows = rows[rows["kind"] == RESPONSE].sort_values("t_s")
    rows = rows[rows["count"] > 0]
    if len(rows) > 1 and rows["count"].iloc[-1] < 0.5 * rows["count"].median():
        rows = rows.iloc[:-1]
    return rows.reset_index(drop=True)


def how_it_ended(run: Run) -> str:
    """Return the run's status in words."""
    status = str(run.manifest.get("status") or "")
    known = {"complete": "the run is complete", "running": "the run has not ended", "failed": "the run failed"}
    return known.get(status, f"the run was {status}" if status else "nothing tells how the run ended")


def engines(steps: Iterable[Step]) -> list[str]:
    """Engines in the order in which they were measured."""
    return list(dict.fromkeys(step.subject for step in steps))


def engine_name(engine: str) -> str:
    return ENGINE_NAMES.get(engine, engine)


def title(step: Step) -> str:
    """Return a step as a reader calls it: RocksDB PUT."""
    return f"{step.record.loop.stage_title or engine_name(step.subject)} {step.workload.upper()}".strip()


def only(steps: list[Step]) -> Step | None:
    """Return the last of the steps (a step that was run again is the one that counts), None without any."""
    return steps[-1] if steps else None


def clean(run: Run, engine: str, workload: str) -> Step | None:
    """Return the measurement without a profiler."""
    return only(run.find(kind="load", subject=engine, workload=workload, profiled=False))


def profiled(run: Run, engine: str, workload: str) -> Step | None:
    return only(run.find(kind="load", subject=engine, workload=workload, profiled=True))


def floor(run: Run, workload: str) -> Step | None:
    """Return the same load against a handler that does nothing."""
    return only(run.find(kind="floor", workload=workload))


def tool(step: Step) -> str:
    return step.record.generator.tool


NOT_KEPT_UP = "the generator did not keep up with its own schedule"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reasons` is empty for a valid step. A saturated step is valid as a statement about rate, not about latency."""

    reasons: tuple[str, ...]
    saturated: bool

    @property
    def valid(self) -> bool:
        return not self.reasons


def judge(step: Step) -> Verdict:
    """Return the verdict on a step: what its metadata already says against it, and what its numbers say."""
    reasons = list(step.record.invalid_reasons)
    summary = step.frames.get("summary")
    if summary is None or summary.empty or not summary["completed"].iloc[0] > 0:
        return Verdict((*reasons, "no response was recorded"), saturated=False)
    if step.record.sweep is not None:
        return Verdict(tuple(reasons), saturated=False)  # each of its steps is judged apart
    row = summary.iloc[0]
    saturated = bool(row["offered_rps"] > 0 and row["achieved_rps"] < LEAST_ACHIEVED * row["offered_rps"])
    kept_up = row["kept_up"]
    if not saturated and not pd.isna(kept_up) and not bool(kept_up):
        reasons.append(NOT_KEPT_UP)
    return Verdict(tuple(reasons), saturated)


SHOWN_LEVELS = (0.5, 0.99)


def line(step: Step) -> str:
    """Return rates, percentiles with their intervals, samples and errors; in place of latencies, why there are none."""
    name = title(step) + (" profiled" if step.profiled else "")
    if not step.valid:
        bound = at_most(step, SHOWN_LEVELS[-1])
        most = f"; {write.level(SHOWN_LEVELS[-1])} {written_at_most(bound)}" if bound else ""
        return f"{name}: NOT VALID: {why_not(step)}{most}"
    if (sweep := step.record.sweep) is not None:
        low, high = write.rate(min(sweep.rates)), write.rate(max(sweep.rates))
        return f"{name}: {write.several(len(sweep.rates), 'short step')} from {low} to {high}"
    offered, achieved = offered_rps(step), achieved_rps(step)
    if not write.known(offered):
        many = step.record.connections
        loop = f"closed loop on {write.connections(many)}" if many and many != 1 else "closed loop"
        return f"{name}: {loop}, {write.rate(achieved)}"
    rates = f"{write.rate(achieved)} of {write.rate(offered)}"
    if fell_short(step):
        return f"{name}: {rates}, {why_not(step)}: its latency is the length of a queue and is not shown"
    values = [(level, quoted(step, level)) for level in SHOWN_LEVELS]
    latencies = [f"{write.level(level)} {written(value)}" for level, value in values if value is not None]
    errors = step.frames["summary"]["non_2xx"].iloc[0]
    counted = f"{write.several(samples(step), 'sample')}, {write.several(errors, 'error')}"
    return f"{name}: {', '.join([rates, *latencies, counted])}"


_WRITES = ("put", FILL)


def writes_rps(steps: Iterable[Step], subject: str, engine: str) -> float | None:
    """Return the slowest closed loop of writes that this store took, its fills included, in writes per second.

    A store that took none yet is expected to fill as another setting of its engine last did. None when neither is
    known.
    """
    own: list[float] = []
    alike: float | None = None
    for step in steps:
        rps = achieved_rps(step)
        kind, workload = step.record.role, step.record.workload
        if step.record.offered_rps is not None or not workload.startswith(_WRITES) or not rps > 0:
            continue
        if step.record.treatment == subject:
            own.append(rps)
        if kind == FILL and step.record.engine == engine:
            alike = rps
    return min(own, default=alike)


CPU = "cpu"
FEWEST_SAMPLES = 30  # of a profile that is shown
OTHER_RATE = 1.2  # times the lower one: from here on two rates differ


def usable_profile(step: Step | None) -> bool:
    """Decide whether a profile is evidence: of a valid load that kept its rate, or of a closed loop.

    A load that fell short shows the work of another rate than the one that it stands under.
    """
    if step is None or step.frames["shares"].empty:
        return False
    return step.valid and not fell_short(step)


def shown_profiles(steps: Sequence[Step]) -> list[Step]:
    """Choose the CPU profiles that a report shows: evidence, and enough of it."""
    return [
        step
        for step in steps
        if step.profiled and usable_profile(step) and profile_samples(step, CPU) >= FEWEST_SAMPLES
    ]


def profile_ends(profiled: Sequence[Step]) -> tuple[Step, ...]:
    """Give the lowest and the highest rate of the treatment with most rates; else two treatments under one workload."""
    most = max(grouped(profiled, lambda step: (step.subject, step.workload)).values(), key=len)
    if len(most) > 1:
        ordered = sorted(most, key=achieved_rps)
        if achieved_rps(ordered[-1]) >= OTHER_RATE * achieved_rps(ordered[0]):
            return ordered[0], ordered[-1]
    alike = {step.subject: step for step in profiled if step.workload == profiled[0].workload}
    return tuple(alike.values())[:2]


def compared_profiles(profiled: Sequence[Step]) -> tuple[Step, Step] | None:
    """Choose the two profiles whose frames are compared; None where there are none of one engine's code."""
    first, *rest = profile_ends(profiled) if profiled else (None,)
    return (first, rest[0]) if first and rest and first.engine == rest[0].engine else None


def profile_samples(step: Step, event: str) -> int:
    """Count the samples of one event."""
    rows = shares_of(step, event)
    return int(rows["samples"].sum()) if not rows.empty else 0


def shares_of(step: Step, event: str) -> pd.DataFrame:
    """Return shares of one event, largest first."""
    rows = step.frames["shares"]
    return rows[rows["event"] == event].sort_values("share", ascending=False, kind="stable").reset_index(drop=True)
