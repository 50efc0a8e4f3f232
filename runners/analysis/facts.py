"""Facts of a step for reports: latencies that may be quoted, number of samples, a line of description, profile."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from runners import words
from runners.analysis import intervals
from runners.analysis.counts import RESPONSE as RESPONSE
from runners.analysis.counts import achieved_rps as achieved_rps
from runners.analysis.counts import achieved_share as achieved_share
from runners.analysis.counts import cpu_us as cpu_us
from runners.analysis.counts import errors as errors
from runners.analysis.counts import number as number
from runners.analysis.counts import offered_rps as offered_rps
from runners.analysis.counts import per_second as per_second
from runners.analysis.counts import server_cores as server_cores
from runners.analysis.intervals import Bounded
from runners.analysis.tables import TABLES
from runners.analysis.validity import FAILED, Aspect, Cause, cause, in_short, may_quote, may_quote_level, only_late
from runners.analysis.validity import fell_short as fell_short
from runners.analysis.validity import why_not as why_not
from runners.design.objective import LEAST_ACHIEVED as LEAST_ACHIEVED
from runners.design.session import FILL
from runners.design.setting import ENGINES
from runners.readers.console_report import ENOUGH_BEYOND as ENOUGH_BEYOND
from runners.readers.run import Run, Step

#: The names that reports give to all engines and to some settings of an engine.
ENGINE_NAMES: dict[str, str] = {name: label for name, (label, _) in ENGINES.items()} | TABLES["names"]

Key = TypeVar("Key")
Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return {key: list of the items with this key}; keys and lists are in the order of `items`."""
    by_key: dict[Key, list[Item]] = {}
    for item in items:
        by_key.setdefault(key(item), []).append(item)
    return by_key


def quotable(step: Step) -> bool:
    """Return whether a step has percentiles and reports may quote all of them."""
    return may_quote(step, Aspect.MEDIAN) and may_quote(step, Aspect.TAIL) and not step.frames["percentiles"].empty


def at_most(step: Step, level: float) -> Bounded | None:
    """Return the latency in us at percentile `level` (0..1) if a late generator makes it an upper bound, else None."""
    value = at(step, level) if only_late(step) else None
    return None if value is None or value.at_least else value


def at(step: Step, level: float, kind: str = RESPONSE) -> Bounded | None:
    """Return the latency in us at percentile `level` (0..1) with its interval; None if it was not recorded.

    `kind`: RESPONSE or SERVICE time. The interval of a response time is the one of intervals.interval.
    """
    row = _percentile_row(step, level, kind)
    if row is None:
        return None
    recorded = Bounded(float(row["value_us"]), float(row["low_us"]), float(row["high_us"]), _is_lower_bound(row))
    return intervals.interval(step, level, recorded) if kind == RESPONSE else recorded


def most_us(step: Step, level: float) -> float:
    """Return the latency in us at percentile `level` (0..1) if unanswered requests waited for ever; NaN if unknown.

    Such worst-case bounds: C. Manski, 2003, *Partial Identification of Probability Distributions*, chapter 1.
    """
    row = _percentile_row(step, level, RESPONSE)
    return math.nan if row is None else float(row["most_us" if _is_lower_bound(row) else "value_us"])


def _percentile_row(step: Step, level: float, kind: str) -> pd.Series | None:
    rows = step.frames["percentiles"]
    if rows.empty:
        return None
    # a pandas mask takes six times as long, and a report asks thousands of times
    asked = (rows["kind"].to_numpy() == kind) & (np.abs(rows["percentile"].to_numpy() - level) < 1e-9)
    return rows.iloc[int(asked.argmax())] if asked.any() else None


def _is_lower_bound(row: pd.Series) -> bool:
    return not pd.isna(row["at_least"]) and bool(row["at_least"])


def written(value: Bounded) -> str:
    """Return a latency as text: with its interval, or with "at least" if it is a lower bound."""
    if value.at_least:
        return f"at least {words.latency(value.value)}"
    return words.latency_interval(value.value, value.low, value.high)


def written_at_most(value: Bounded) -> str:
    """Return "at most" and a latency as text: the upper end of the interval, or the value if it has no interval."""
    return f"at most {words.latency(value.high if value.bounded else value.value)}"


def latency_text(step: Step, level: float) -> str:
    """Return the latency at percentile `level` (0..1) as text: its value, an upper bound, or why neither is known."""
    if (value := quoted(step, level)) is not None:
        return written(value)
    bound = at_most(step, level)
    return written_at_most(bound) if bound is not None else in_short(step) or words.UNKNOWN


def quoted(step: Step, level: float, kind: str = RESPONSE) -> Bounded | None:
    """Return the latency in us that `at` returns; None if reports may not quote it, or if it was not recorded."""
    return at(step, level, kind) if may_quote_level(step, level, kind) else None


def samples(step: Step) -> int:
    """Return how many response times were recorded."""
    rows = step.frames["spectrum"]
    counts = rows[rows["kind"] == RESPONSE]["total_count"]
    return int(counts.max()) if len(counts) and not pd.isna(counts.max()) else 0


def engine_name(engine: str) -> str:
    return ENGINE_NAMES.get(engine, engine)


def title(step: Step) -> str:
    """Return the title of a step as reports show it, for example RocksDB PUT."""
    return f"{step.record.loop.stage_title or engine_name(step.subject)} {step.workload.upper()}".strip()


def only(steps: list[Step]) -> Step | None:
    """Return the last of the steps, since a repeated step replaces the earlier ones; None without steps."""
    return steps[-1] if steps else None


def clean(run: Run, engine: str, workload: str) -> Step | None:
    """Return the last unprofiled load of a workload on the setting `engine` (such as lsm); None if there is none."""
    return only(run.find(kind="load", subject=engine, workload=workload, profiled=False))


def tool(step: Step) -> str:
    return step.record.generator.tool


def line(step: Step) -> str:
    """Return one line that describes a load: rates, percentiles, samples, errors, and why some of these are missing."""
    name = title(step) + (" profiled" if step.profiled else "")
    seen = cause(step)
    if seen in FAILED:
        return f"{name}: FAILED: {why_not(step)}"
    if not may_quote(step, Aspect.RATE) and seen not in (Cause.HELD_UP, Cause.GENERATOR):
        return f"{name}: NOT VALID: {why_not(step)}"
    if (sweep := step.record.sweep) is not None:
        low, high = words.rate(min(sweep.rates)), words.rate(max(sweep.rates))
        return f"{name}: {words.several(len(sweep.rates), 'short step')} from {low} to {high}"
    offered, achieved = offered_rps(step), achieved_rps(step)
    if not words.known(offered):
        many = step.record.connections
        loop = f"closed loop on {words.connections(many)}" if many and many != 1 else "closed loop"
        least = f"at least {words.rate(achieved)}, for {why_not(step)}"
        return f"{name}: {loop}, {least if seen is Cause.GENERATOR else words.rate(achieved)}"
    rates = f"{words.rate(achieved)} of {words.rate(offered)}"
    if fell_short(step):
        return f"{name}: {rates}, {why_not(step)}: its latency is the length of a queue and is not shown"
    values = {"p50": quoted(step, 0.5), "p99": quoted(step, 0.99)}
    latencies = [f"{level} {written(value)}" for level, value in values.items() if value is not None]
    if (bound := at_most(step, 0.99)) is not None and values["p99"] is None:
        latencies.append(f"p99 {written_at_most(bound)}, for {why_not(step)}")
    counted = f"{words.several(samples(step), 'sample')}, {words.several(sum(errors(step).values()), 'error')}"
    return f"{name}: {', '.join([rates, *latencies, counted])}"


def writes_rps(steps: Iterable[Step], subject: str, engine: str) -> float | None:
    """Return the lowest closed-loop write rate (1/s) of setting `subject`, else of `engine`'s last fill, or None."""
    loops = [step for step in steps if step.record.offered_rps is None and step.workload.startswith(("put", FILL))]
    writes = [(step, rps) for step in loops if (rps := achieved_rps(step)) > 0]
    fills = [rps for step, rps in writes if step.kind == FILL and step.record.engine == engine]
    return min((rps for step, rps in writes if step.record.treatment == subject), default=fills[-1] if fills else None)


CPU = "cpu"
FEWEST_SAMPLES = 30  # of a profile that is shown


def usable_profile(step: Step) -> bool:
    """Return whether a step has a profile and reports may quote it."""
    return not step.frames["shares"].empty and may_quote(step, Aspect.CPU)


def shown_profiles(steps: Sequence[Step], event: str = CPU) -> list[Step]:
    """Return the steps with a usable profile that has at least FEWEST_SAMPLES samples of this kind of event."""
    profiles = [step for step in steps if step.profiled and usable_profile(step)]
    return [step for step in profiles if profile_samples(step, event) >= FEWEST_SAMPLES]


def profile_samples(step: Step, event: str) -> int:
    return int(shares_of(step, event)["samples"].sum())


def shares_of(step: Step, event: str) -> pd.DataFrame:
    """Return the rows of the `shares` frame for one kind of profiled event (such as cpu), largest share first."""
    rows = step.frames["shares"]
    return rows[rows["event"] == event].sort_values("share", ascending=False, kind="stable").reset_index(drop=True)
