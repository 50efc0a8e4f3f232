"""Compare interleaved treatments with their baseline: the ratio of each quantity, with its interval.

Each start has fresh processes of its treatments and is one randomised block (see analysis.treatments). By request,
response and service times are those of one shared load, throughput that of a closed loop on each server alone in the
same start; by slices, throughput is that of each server's slices.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from runners.analysis import facts, machine_stalls
from runners.analysis.instrument import MEDIAN
from runners.analysis.intervals import Bounded
from runners.analysis.quantities import QUANTITIES as OF_LOADS
from runners.analysis.quantities import Quantity, Row
from runners.analysis.treatments import (
    Effect,
    Start,
    Verdict,
    carry_over,
    compare,
    start_from,
    start_of,
    usable,
    without_spill_over,
)
from runners.design.block import REFERENCE_TARGET
from runners.design.objective import CPU, THROUGHPUT, UNDISTURBED
from runners.design.session import ALONE, SHARED, SOLO
from runners.readers import write
from runners.readers.console_report import ENOUGH_BEYOND
from runners.readers.run import Run, Step
from runners.storage.schema import InterleavedRecord, TargetRecord

#: Percentiles of one load: the column of the requests, and the level.
LEVELS = {
    "p50_us": ("response_us", 0.5), "p90_us": ("response_us", 0.9), "p99_us": ("response_us", 0.99),
    "p999_us": ("response_us", 0.999), "service_p50_us": ("service_us", 0.5), "service_p90_us": ("service_us", 0.9),
    "service_p99_us": ("service_us", 0.99),
}  # fmt: skip
#: CPU time of the threads that do not respond, where they are known (compilers, collectors, flushes, compaction), and
#: of all.
BACKGROUND_CPU, ALL_CPU = "background_cpu_us", "all_cpu_us"
#: What background threads do, by their role.
BACKGROUND_NAMES = {
    "jit": "JIT compilation", "gc": "GC", "flush": "flushes", "compaction": "compaction", "profiler": "the profiler",
}  # fmt: skip
#: What the kernel and the JVM count of a server, over its requests: by the name in the record of a target.
COUNTED = {
    name: Quantity(
        name, f"{what} per request", unit, higher=f"{verb} more {noun} per request",
        lower=f"{verb} fewer {noun} per request",
    )
    for name, what, unit, verb, noun in (
        ("allocated_bytes", "allocated bytes", "bytes", "allocates", "bytes"),
        ("voluntary_switches", "voluntary context switches", "count", "makes", "voluntary context switches"),
        ("forced_switches", "involuntary context switches", "count", "has", "involuntary context switches"),
        ("read_write_calls", "calls to read or write", "count", "makes", "calls to read or write"),
    )
}  # fmt: skip
MEMORY, DISK = "rss_bytes", "disk_bytes"
QUANTITIES = {
    each.name: each
    for each in (
        *OF_LOADS,
        Quantity("service_p50_us", "service p50", "us"),
        Quantity("service_p90_us", "service p90", "us"),
        Quantity("service_p99_us", "service p99", "us"),
        Quantity(UNDISTURBED, "p99 without the machine's stalls", "us"),
        Quantity(
            BACKGROUND_CPU, "CPU per request of background threads", "us",
            higher="takes more CPU per request in background threads",
            lower="takes less CPU per request in background threads",
        ),
        Quantity(
            ALL_CPU, "CPU per request of all threads", "us", higher="takes more CPU per request in all threads",
            lower="takes less CPU per request in all threads",
        ),
        *COUNTED.values(),
        Quantity(MEMORY, "memory", "bytes", higher="takes more memory", lower="takes less memory"),
        Quantity(
            DISK, "room on the disk", "bytes", higher="takes more room on the disk", lower="takes less room on the disk"
        ),
    )
}  # fmt: skip
#: How a start offered its load: one schedule shared request by request, or a closed loop by slices.
REQUESTS, SLICES = "requests", "slices"
#: Why a difference in a percentile is not given.
NEITHER_ABOVE = "neither lies beyond noise above a server that does nothing, loaded with them"
NO_REFERENCE = "no server that does nothing was loaded with them, so what the instrument makes of a tail is not known"
NOT_ABOVE = "it is not above a server that does nothing, loaded with it"
LEAST_COST = 0.01  # a store that is a thousandth larger costs nothing
LEAST_COUNT = 0.1  # per request: fewer are next to none, however many times those of the baseline


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one block of interleaved trials found; `form`: REQUESTS or SLICES.

    `control`: the baseline's second process against its first, a row a quantity. `reference`: the values of the server
    that does nothing. `late`: starts in which the generator was; `left_out`: those that could not be used, and why.
    `without_stalls`: the share of time that the percentile without the machine's stalls leaves out. `carried_over`: by
    how much a request takes longer or shorter after each target. `between_starts`: the share of the primary quantity's
    variance that lies between starts, not between requests. `values`: by quantity and treatment, baseline and control
    included, the value in each start, NaN where it was in none. `failed`: by treatment, requests that ended and those
    of them that failed in each start, starts that were left out too. `start_s`: what one start takes. `slice_s`: how
    long one server was loaded before another, 0 where it is not known. `label`: what its sentences begin with, its load
    where the run compares under several. `background`: by treatment and role, the CPU time per request of threads that
    respond to none, the mean of the starts in microseconds. `above`: by quantity and treatment, the change
    from the server that does nothing.
    """

    name: str
    form: str
    baseline: str
    primary: str
    margin: float
    planned: int
    until: bool
    starts: tuple[int, ...]
    late: tuple[int, ...]
    rows: tuple[Row, ...]
    control: tuple[Row, ...]
    reference: Mapping[str, float]
    left_out: tuple[tuple[int, str], ...]
    cpu_groups: str
    without_stalls: float
    carried_over: Mapping[str, float]
    utilisation: float
    between_starts: float
    steps: tuple[str, ...]
    values: Mapping[tuple[str, str], tuple[float, ...]]
    failed: Mapping[str, tuple[tuple[int, int], ...]]
    start_s: float
    slice_s: float = 0.0
    label: str = ""
    background: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    above: Mapping[tuple[str, str], Bounded] = field(default_factory=dict)

    @property
    def inside(self) -> frozenset[tuple[str, str]]:
        """Quantities and treatments that lie within the instrument's floor."""
        return frozenset(key for key, change in self.above.items() if not change.low > 0)

    def unresolved(self, quantity: str, treatment: str) -> str:
        """Say why a percentile of a treatment is not its own; empty where it is."""
        if any(row.machine == NO_REFERENCE and row.quantity.name == quantity for row in self.rows):
            return NO_REFERENCE
        return NOT_ABOVE if (quantity, treatment) in self.inside else ""

    @property
    def dots(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """By quantity and treatment, the ratio to the baseline in each start."""
        return {
            (quantity, name): tuple(
                value / base
                for value, base in zip(own, self.values[quantity, self.baseline], strict=True)
                if math.isfinite(value)
            )
            for (quantity, name), own in self.values.items()
            if name != self.baseline
        }

    @property
    def treatments(self) -> tuple[str, ...]:
        """What is compared with the baseline."""
        return tuple(dict.fromkeys(row.treatment for row in self.rows))

    def costs(self, treatment: str) -> list[Row]:
        """Return what a treatment is worse in besides the primary quantity, by more than a trifle."""
        rows = (row for row in self.rows if row.treatment == treatment and row.quantity.name != self.primary)
        return [row for row in rows if row.decided and not row.better and _matters(row)]

    def row(self, quantity: str, treatment: str | None = None) -> Row | None:
        """Return the row of a quantity, of the first treatment unless one is named."""
        found = (row for row in self.rows if row.quantity.name == quantity and treatment in (None, row.treatment))
        return next(found, None)

    def contradicting(self, row: Row) -> Row | None:
        """Return the row of all threads where it does not decide as this one of the threads that respond; None
        elsewhere.
        """
        whole = self.row(ALL_CPU, row.treatment) if row.quantity.name == CPU and row.decided else None
        return whole if whole is not None and whole.verdict != row.verdict else None

    @property
    def headline(self) -> str:
        """The primary quantity of each treatment, in a sentence each."""
        if rows := [row for row in self.rows if row.quantity.name == self.primary]:
            return " ".join(map(self.sentence, rows))
        why = self.left_out[0][1] if self.left_out else "no start tells it of all"
        name = facts.engine_name(self.baseline)
        return write.sentence(f"{self.label}{name} could not be compared with any other: {why}")

    def sentence(self, row: Row) -> str:
        """Return what a row says, and what it is with all threads."""
        return write.sentence(self.label + row.sentence(self.margin) + self.addition(row))

    def addition(self, row: Row) -> str:
        """Return what has to be known with a row: of closed loops a busy generator, of CPU time that of all threads."""
        if row.quantity.name != THROUGHPUT or not self.busy:
            return self.in_all(row)
        starts = f"{write.count(len(self.busy))} of {write.several(len(self.starts), 'start')}"
        return f"; the generator was at its limit in {starts}, so the higher of the two is a lower bound"

    @property
    def busy(self) -> tuple[int, ...]:
        """Starts in whose closed loops the generator, and not the server, may have been the limit."""
        return self.late if self.primary == THROUGHPUT else ()

    def in_all(self, row: Row) -> str:
        """Return what follows CPU time of the threads that respond where that of all threads comes out otherwise."""
        whole = self.contradicting(row)
        if whole is None:
            return ""
        text = f"; with its background threads {whole.change}"
        text += ", inconclusive" if whole.verdict == Verdict.INCONCLUSIVE else ""
        own, base = (self.background.get(name, {}) for name in (row.treatment, row.baseline))
        if not own or not base:
            return text
        by = max(own, key=lambda role: abs(own[role] - base.get(role, 0.0)))
        values = (write.latency(roles.get(by, 0.0)) for roles in (own, base))
        return f"{text}, most of it {BACKGROUND_NAMES[by]}: {' against '.join(values)}"

    @property
    def trusted(self) -> bool:
        """Whether the control shows no difference in the primary quantity."""
        return not any(row.decided for row in self.control if row.quantity.name == self.primary)

    @property
    def answered(self) -> bool:
        """Whether every treatment's primary quantity differs, or is the same within the margin."""
        rows = [row for row in self.rows if row.quantity.name == self.primary]
        return bool(rows) and all(row.verdict != Verdict.INCONCLUSIVE for row in rows)

    def as_json(self) -> dict[str, object]:
        """Return the comparison as plain JSON values."""
        return {
            "name": self.name, "baseline": self.baseline, "primary": self.primary, "margin": self.margin,
            "starts": len(self.starts), "trusted": self.trusted, "start_s": write.finite(self.start_s),
            "rows": [row.as_json() for row in self.rows], "control": [row.as_json() for row in self.control],
        }  # fmt: skip


def _matters(row: Row) -> bool:
    """Return whether a difference is more than a trifle, relative and, of what is counted, per request."""
    more = abs(row.treatment_value - row.baseline_value)
    return abs(row.ratio - 1) >= LEAST_COST and (row.quantity.unit != "count" or more >= LEAST_COUNT)


def comparisons(run: Run) -> list[Comparison]:
    """Return the comparisons of a run, in the order in which they were measured."""
    blocks: dict[str, list[Step]] = {}
    for step in run.steps:
        about = step.record.interleaved
        if step.kind in (SHARED, ALONE, SOLO) and about is not None:
            blocks.setdefault(about.name, []).append(step)
    measured = [steps for steps in blocks.values() if any(step.kind == SHARED for step in steps)]
    loads = [steps[-1].workload.upper() for steps in measured]
    labels = [f"{load}: " if len(set(loads)) > 1 else "" for load in loads]
    return [replace(comparison(steps), label=label) for steps, label in zip(measured, labels, strict=True)]


def comparison(steps: Sequence[Step]) -> Comparison:
    """Compare the treatments of one block by the steps of its starts."""
    about = steps[-1].record.interleaved  # a run that goes on may have been given more minutes
    assert about is not None
    shared = {step.record.round or 0: step for step in steps if step.kind == SHARED}
    alone: dict[int, dict[str, float]] = defaultdict(dict)
    for step in steps:
        if step.kind == ALONE and step.valid and step.record.interleaved is not None:
            alone[step.record.round or 0][step.record.interleaved.arm] = facts.achieved_rps(step)
    bad = {number: step for number, step in shared.items() if not (facts.quotable(step) or _partly(step))}
    left_out = {number: facts.why_not(step) for number, step in bad.items()}
    # a start whose load of all is not there yet was interrupted
    usable_ones = [number for number in sorted(shared) if number not in left_out]
    form = SLICES if any(_in_slices(step) for step in shared.values()) else REQUESTS
    compared = (*about.treatments, *([about.control] if about.control else []))
    names = (*compared, *([about.reference] if about.reference else []))
    starts: dict[str, list[Start]] = defaultdict(list)
    left: list[float] = []
    for number in usable_ones:
        start_step = shared[number]
        if machine_stalls.watched(start_step) and not start_step.frames["requests"].empty:
            stalls = machine_stalls.stalls_of(start_step)
            left.append(machine_stalls.outside(start_step.frames["requests"], stalls)[1])
        for quantity, start in _starts(start_step, names, alone[number]).items():
            starts[quantity].append(start)
    rows, control, reference, above = list[Row](), [], dict[str, float](), dict[tuple[str, str], Bounded]()
    every: dict[tuple[str, str], tuple[float, ...]] = {}
    between_starts = math.nan
    for quantity in sorted(QUANTITIES, key=lambda name: name != about.primary):
        whole = [(start, _cut(start, len(compared))) for start in starts[quantity]]
        own = [cut for _, cut in whole if usable([cut], 0)]
        if not own:
            continue
        against = compared, about.treatments[0], about.smallest_difference, about.control or None
        most_starts = about.planned_rounds if about.until else 0
        found = compare(own, *against, most_starts)
        if quantity == about.primary:
            between_starts = found.between_starts
        logs = np.array([start.logs for start in own])
        base_value = math.exp(float(logs[:, 0].mean()))
        count = dict(zip(compared, np.isfinite(logs).sum(axis=0).tolist(), strict=True))
        levels = _solo(steps, quantity, usable_ones, compared) if form == REQUESTS else []
        spilt: tuple[Effect, ...] = ()
        if levels:
            base_value = math.exp(float(np.mean([start.logs[0] for start in levels])))
            of_levels = compare(levels, *against, most_starts)
            found = without_spill_over(found, of_levels)
            spilt = of_levels.effects
        over = _above([start for start, cut in whole if usable([cut], 0)], names, about, quantity)
        above |= {(quantity, name): change for name, change in over.items()}
        for each in found.effects:
            row = _row(QUANTITIES[quantity], about, each, base_value, count[each.treatment], each in spilt)
            rows.append(_resolved(row, over, about))
        if found.control is not None:
            control.append(_row(QUANTITIES[quantity], about, found.control, base_value, count[about.control]))
        if about.reference:
            reference[quantity] = float(np.exp(np.mean([start.logs[-1] for start, cut in whole if usable([cut], 0)])))
        for index, name in enumerate(compared):
            every[quantity, name] = tuple(np.exp(logs[:, index]).tolist())
    return Comparison(
        about.name, form, about.treatments[0], about.primary, about.smallest_difference, about.planned_rounds,
        about.until, tuple(usable_ones),
        tuple(number for number in usable_ones if facts.only_late(shared[number])),
        tuple(rows), tuple(control), reference, tuple(left_out.items()), about.cpu_groups,
        float(np.mean(left)) if left else math.nan,
        _carried_over([shared[number] for number in usable_ones]),
        max((_utilisation(shared[number], alone[number]) for number in usable_ones), default=math.nan),
        between_starts, tuple(step.name for step in steps if step.kind == SHARED), every,
        _failed(list(shared.values()), compared), _start_s(steps), about.slice_s,
        background=_background([shared[number] for number in usable_ones]),
        above=above,
    )  # fmt: skip


def _background(steps: Sequence[Step]) -> dict[str, dict[str, float]]:
    """Return CPU microseconds per request by treatment and role of its background threads, the mean of the starts."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for step in steps:
        served = dict(zip(step.frames["targets"]["target"], step.frames["targets"]["served"], strict=True))
        for target in step.record.targets:
            for role, used_s in target.background_by_role_s.items():
                found[target.name][role] += used_s * 1e6 / served[target.name] / len(steps)
    return {name: dict(roles) for name, roles in found.items()}


def _above(
    starts: Sequence[Start], names: Sequence[str], about: InterleavedRecord, quantity: str
) -> dict[str, Bounded]:
    """Return the change of a percentile from the server that does nothing to each treatment; empty where nothing
    tells.
    """
    base = len(names) - 1
    if not about.reference or quantity not in (*LEVELS, UNDISTURBED) or not usable(starts, base):
        return {}
    effects = compare(starts, names, about.reference, about.smallest_difference).effects
    return {each.treatment: each.change for each in effects}


def _resolved(row: Row, above: Mapping[str, Bounded], about: InterleavedRecord) -> Row:
    """Return the row, not compared where its percentile is the instrument's on both sides, or may be.

    One side that does not lie above a server that does nothing may take less than it reads, so the difference is the
    least that there can be. What an instrument adds to a median is on both sides and cancels.
    """
    if row.quantity.name not in (*LEVELS, UNDISTURBED) or REFERENCE_TARGET.name in about.treatments:
        return row
    if not about.reference:
        median = LEVELS.get(row.quantity.name, ("", 1.0))[1] <= MEDIAN
        return row if median else replace(row, machine=NO_REFERENCE)
    inside = frozenset(name for name in (row.baseline, row.treatment) if name in above and not above[name].low > 0)
    higher = row.treatment if row.ratio > 1 else row.baseline
    return replace(row, inside=inside, machine=NEITHER_ABOVE if higher in inside else "")


def _solo(steps: Sequence[Step], quantity: str, starts: Sequence[int], names: Sequence[str]) -> list[Start]:
    """Return a percentile of the loads alone, by start; empty unless every treatment has one in each of the starts."""
    if quantity not in LEVELS:
        return []
    column, level = LEVELS[quantity]
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for step in steps:
        about = step.record.interleaved
        if step.kind == SOLO and about is not None and facts.quotable(step):
            value = facts.at(step, level, column.removesuffix("_us"))
            if value is not None and value.value > 0 and facts.samples(step) * (1 - level) >= ENOUGH_BEYOND:
                found[step.record.round or 0][about.arm] = value.value
    whole = all(set(names) <= found[number].keys() for number in starts)
    return [start_from(found[number], names) for number in starts] if whole else []


def _cut(start: Start, treatments: int) -> Start:
    """Return a start without the server that does nothing, which is the last."""
    return Start(start.logs[:treatments], start.left_out[:, :treatments])


def _in_slices(step: Step) -> bool:
    return step.record.offered_rps is None


def _partly(step: Step) -> bool:
    """Return whether a load tells something though it is not valid: its generator was late, or it was a closed loop."""
    return facts.only_late(step) or (_in_slices(step) and step.valid)


def _failed(shared: Sequence[Step], names: Sequence[str]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return requests that ended and those of them that failed, by treatment and start: without a response, or 400
    and above.

    What had no response when the load ended, or was never sent, says nothing of the server.
    """
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    for step in shared:
        targets, requests = step.frames["targets"], step.frames["requests"]
        refused = dict(zip(targets["target"], targets["non_2xx"].fillna(0), strict=True))
        for name in names:
            fates = requests["fate"][requests["target"] == name].value_counts()
            failed, completed = (int(fates.get(fate, 0)) for fate in ("failed", "completed"))
            found[name].append((failed + completed, failed + int(refused.get(name, 0))))
    return {name: tuple(each) for name, each in found.items()}


def _start_s(steps: Sequence[Step]) -> float:
    """Return the median time from the first load of a start to the end of its last one; NaN without any."""
    ends: dict[int, list[int]] = defaultdict(list)
    for step in steps:
        ends[step.record.round or 0] += [step.record.started_unix_us, step.record.ended_unix_us]
    return float(np.median([max(each) - min(each) for each in ends.values()])) / 1e6 if ends else math.nan


def _starts(step: Step, names: Sequence[str], alone: Mapping[str, float]) -> dict[str, Start]:
    """Return every quantity that one start tells, by its name; NaN of treatments that were not in it."""
    requests, on_time, targets = step.frames["requests"], _on_time(step), step.frames["targets"]
    present = [name for name in names if name in set(targets["target"])]
    fewest = int(requests["target"].value_counts().reindex(present, fill_value=0).min())
    found = {
        name: start_of(requests, names, level, column)
        for name, (column, level) in LEVELS.items()
        if fewest * (1 - level) >= ENOUGH_BEYOND and (column != "response_us" or level <= on_time)
    }
    if machine_stalls.watched(step) and "p99_us" in found:
        kept, _ = machine_stalls.outside(requests, machine_stalls.stalls_of(step))
        found[UNDISTURBED] = start_of(kept, names, 0.99)
    served = dict(zip(targets["target"], targets["served"], strict=True))

    def per_request(amount: Callable[[TargetRecord], float | None], scale: float = 1.0) -> dict[str, float]:
        return {
            each.name: value / served[each.name] * scale
            for each in step.record.targets
            if (value := amount(each)) and served.get(each.name)
        }

    if _in_slices(step):
        alone = dict(zip(targets["target"], targets["achieved_rps"], strict=True))
    values_of = {
        CPU: per_request(lambda each: each.cpu_s and each.cpu_s - (each.background_cpu_s or 0.0), 1e6),
        BACKGROUND_CPU: per_request(lambda each: each.background_cpu_s, 1e6),
        ALL_CPU: per_request(lambda each: None if each.background_cpu_s is None else each.cpu_s, 1e6),
        **{quantity: per_request(attrgetter(quantity)) for quantity in COUNTED},
        THROUGHPUT: alone,
        MEMORY: {each.name: float(each.rss_bytes) for each in step.record.targets if each.rss_bytes},
        DISK: {each.name: each.disk_bytes for each in step.record.targets if each.disk_bytes},
    }
    read = {name: start_from(values, names) for name, values in values_of.items() if _of_all(values, present)}
    return {**found, **read}


def _of_all(values: Mapping[str, float], names: Sequence[str]) -> bool:
    return bool(names) and all(values.get(name, 0.0) > 0 for name in names)


def _on_time(step: Step) -> float:
    """Up to which percentile (0..1) of the response times the generator's own lateness does not matter.

    It is in the response times of all targets alike and would hide a difference; service times don't hold it.
    """
    if step.valid:
        return 1.0
    percent = facts.number(step, "kept_up_to")
    return percent / 100 if write.known(percent) else 0.0


def _row(
    quantity: Quantity, about: InterleavedRecord, effect: Effect, base_value: float, starts: int,
    spill_over: bool = False,
) -> Row:  # fmt: skip
    change, base = effect.change, about.treatments[0]
    return Row(
        quantity, base, effect.treatment, 1 + change.value, 1 + change.low, 1 + change.high, effect.verdict,
        base_value, base_value * (1 + change.value), starts, effect.starts_needed, spill_over,
    )  # fmt: skip


def _carried_over(steps: Sequence[Step]) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        for name, shift in carry_over(step.frames["requests"]).items():
            found[name].append(shift)
    return {name: float(np.mean(shifts)) for name, shifts in found.items()}


def _utilisation(step: Step, alone: Mapping[str, float]) -> float:
    """Give the share of the core that the offered rates take, from what each server reached alone; NaN if not known."""
    targets = step.frames["targets"]
    rates = dict(zip(targets["target"], targets["offered_rps"], strict=True))
    known = [rates[name] / rps for name, rps in alone.items() if name in rates and rps > 0]
    return sum(known) if known else math.nan
