"""Comparisons of interleaved treatments with their baseline: the ratio of each quantity, with its interval.

A start runs fresh processes of its treatments and is one randomised block (see analysis.treatments). If requests are
interleaved, response and service times come from the load that all servers share. Throughput then comes from a closed
loop on one server alone, in the same start. If slices of time are interleaved, a slice loads one server in closed loop;
the throughput of a server comes from its own slices.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

import numpy as np
import pandas as pd

from runners import words
from runners.analysis import counts, facts, machine_stalls, quantities, treatments
from runners.analysis.comparison import Alone, Comparison, Form, refuse_failing
from runners.analysis.counts import Counts
from runners.analysis.instrument import MEDIAN
from runners.analysis.intervals import Bounded
from runners.analysis.quantities import ALL_CPU, BACKGROUND_CPU, QUANTITIES, RESPONDING_CPU, Reason, Refusal, Row
from runners.analysis.steady_state import steadiness
from runners.analysis.treatments import Effect, Start, compare, start_from, start_of, starts_of, usable
from runners.analysis.validity import kept_up_to, only_late
from runners.design.block import FEWEST_STARTS, REFERENCE_TARGET
from runners.design.objective import CPU, THROUGHPUT, UNDISTURBED
from runners.design.session import ALONE, SHARED, SOLO
from runners.readers.console_report import ENOUGH_BEYOND
from runners.readers.run import Run, Step
from runners.storage.schema import InterleavedRecord, TargetRecord

#: JIT compilation counts as unfinished if it takes more than this share of the CPU time of the threads that respond.
UNFINISHED_JIT = 0.1
#: If the generator was at its limit, it limited each side that reached at least this share of the highest rate.
AT_LIMIT = 0.95


@lru_cache(maxsize=4)
def comparisons(run: Run) -> tuple[Comparison, ...]:
    """Return one comparison of servers for every interleaved block that a run has measured, in order of time."""
    loads = (step for step in run.steps if step.kind in (SHARED, ALONE, SOLO) and step.record.interleaved)
    blocks = facts.grouped(loads, lambda step: step.record.interleaved and step.record.interleaved.name)
    measured = [steps for steps in blocks.values() if any(step.kind == SHARED for step in steps)]
    compared = []
    for block in map(comparison, measured):
        base, *others = (facts.clean(run, name, block.workload) for name in (block.baseline, *block.treatments))
        pairs = zip(block.treatments, (alone(base, other) for other in others), strict=True)
        compared.append(replace(block, alone={name: medians for name, medians in pairs if medians}))
    return tuple(compared)


def alone(baseline: Step | None, treatment: Step | None) -> Alone | None:
    """Return the medians of two loads on one server each; None if their rates differ or a valid median is missing."""
    if baseline is None or treatment is None:
        return None
    medians = [facts.quoted(step, MEDIAN) for step in (baseline, treatment)]
    rates_rps = [facts.offered_rps(step) for step in (baseline, treatment)]
    if medians[0] is None or medians[1] is None or rates_rps[0] != rates_rps[1]:
        return None
    steady = all(steadiness(step).steady is not False for step in (baseline, treatment))
    return Alone(rates_rps[0], medians[0], medians[1], steady)


def comparison(steps: Sequence[Step]) -> Comparison:
    """Return the comparison of servers in one interleaved block, from loads on all at once and loads on one alone."""
    about = steps[-1].record.interleaved  # a run that goes on may have been given more minutes
    assert about is not None
    compared = (*about.treatments, *([about.control] if about.control else []))
    names = (*compared, *([about.reference] if about.reference else []))
    shared = {step.record.round or 0: step for step in steps if step.kind == SHARED}
    reached_alone: dict[int, dict[str, float]] = defaultdict(dict)
    failed_alone: dict[str, list[Counts]] = defaultdict(list)
    for step in steps:
        if step.kind == ALONE and step.valid and step.record.interleaved is not None:
            reached_alone[step.record.round or 0][step.record.interleaved.arm] = facts.achieved_rps(step)
            failed_alone[step.record.interleaved.arm].append(counts.of_step(step))
    bad = {n: s for n, s in shared.items() if not (facts.quotable(s) or only_late(s) or (_in_slices(s) and s.valid))}
    left_out = {number: facts.why_not(step) for number, step in bad.items()}
    # a start whose load of all is not there yet was interrupted
    used = {number: shared[number] for number in sorted(shared) if number not in left_out}
    late = tuple(number for number, step in used.items() if only_late(step))
    form = Form.SLICES if any(map(_in_slices, shared.values())) else Form.REQUESTS
    starts: dict[str, list[Start]] = defaultdict(list)
    without_stalls: list[float] = []
    for number, step in used.items():
        calm: pd.DataFrame | None = None
        if machine_stalls.watched(step) and not step.frames["requests"].empty:
            calm, share = machine_stalls.outside(step.frames["requests"], machine_stalls.stalls_of(step))
            without_stalls.append(share)
        for quantity, start in _starts(step, names, reached_alone[number], calm).items():
            starts[quantity].append(start)
    rows, control, reference = list[Row](), list[Row](), dict[str, float]()
    values: dict[tuple[str, str], tuple[float, ...]] = {}
    between_starts = math.nan
    for quantity in sorted(QUANTITIES, key=lambda name: name != about.primary):
        many = len(compared)  # the first ones: without the reference target
        firsts = ((start, Start(start.logs[:many], start.left_out[:, :many])) for start in starts[quantity])
        kept = [(start, first) for start, first in firsts if usable([first], 0)]
        whole, own = [start for start, _ in kept], [first for _, first in kept]
        # an archive keeps service times only of starts in which the generator was late: such starts alone are no row
        in_few = QUANTITIES[quantity].column == "service_us" and len(own) < len(used)
        if not own or (in_few and quantity != about.primary):
            continue
        against = compared, about.treatments[0], about.smallest_difference, about.control or None
        most_starts = about.planned_rounds if about.until else 0
        effects = compare(own, *against, most_starts)
        if quantity == about.primary:
            between_starts = effects.between_starts
        logs = np.array([start.logs for start in own])
        base_value = math.exp(float(logs[:, 0].mean()))
        count = dict(zip(compared, np.isfinite(logs).sum(axis=0).tolist(), strict=True))
        solo = _solo(steps, quantity, tuple(used), compared) if form == Form.REQUESTS else []
        spilt: tuple[Effect, ...] = ()
        if solo and effects.starts >= FEWEST_STARTS:  # fewer can't contradict the shared load
            base_value = math.exp(float(np.mean([start.logs[0] for start in solo])))
            of_solo = compare(solo, *against, most_starts)
            effects = treatments.without_spill_over(effects, of_solo)
            spilt = of_solo.effects
        over = _above(whole, names, about, quantity)
        for effect in effects.effects:
            row = _row(quantity, compared[0], effect, base_value, count[effect.treatment], effect in spilt)
            rows.append(_resolved(row, over, about))
        if effects.control is not None:
            control.append(_row(quantity, compared[0], effects.control, base_value, count[about.control]))
        if about.reference:
            reference[quantity] = float(np.exp(np.mean([start.logs[-1] for start in whole])))
        values |= {(quantity, name): tuple(np.exp(logs[:, at]).tolist()) for at, name in enumerate(compared)}
    compiling_us = _jit_us_per_request(list(used.values()))
    responses = [counts.of_targets(step, compared) for step in shared.values()]
    failed = {name: tuple(start.get(name, (0, 0)) for start in responses) for name in compared}
    failed_of = {THROUGHPUT: {name: (*failed[name], *failed_alone[name]) for name in compared}}
    cpu_us = {name: float(np.nanmean(of)) for (quantity, name), of in values.items() if quantity == CPU}
    responding_known = any(quantity == ALL_CPU for quantity, _ in values)

    def marked(row: Row) -> Row:
        if row.quantity.name == CPU and responding_known:
            row = replace(row, quantity=RESPONDING_CPU)
        if late and form == Form.SLICES:
            row = _limited_by_generator(row, values)
        warm = _refuse_cold(row, compiling_us, cpu_us)
        return refuse_failing(warm, failed_of.get(row.quantity.name, failed))

    controls = tuple(map(marked, control))
    shifts = [treatments.carry_over(step.frames["successions"]) for step in used.values()]
    carriers = dict.fromkeys(name for shift in shifts for name in shift)
    rates_rps = [rate for step in used.values() for rate in step.frames["targets"]["offered_rps"] if words.known(rate)]
    return Comparison(
        name=about.name, form=form, baseline=about.treatments[0], treatments=about.treatments[1:],
        margin=about.smallest_difference, primary=about.primary, workload=steps[-1].workload,
        rows=tuple(refuse_as_control(marked(row), controls) for row in rows), failed=failed,
        rate_rps=float(np.median(rates_rps)) if rates_rps else math.nan,
        steps=tuple(step.name for step in used.values()), planned=about.planned_rounds,
        until=about.until, starts=tuple(used), late=late, left_out=tuple(left_out.items()),
        control=controls, reference=reference, cpu_groups=about.cpu_groups,
        without_stalls=float(np.mean(without_stalls)) if without_stalls else math.nan,
        carried_over={name: float(np.mean([shift[name] for shift in shifts if name in shift])) for name in carriers},
        utilisation=max((_utilisation(step, reached_alone[number]) for number, step in used.items()), default=math.nan),
        between_starts=between_starts, values=values, start_s=_median_start_s(steps), slice_s=about.slice_s,
    )  # fmt: skip


def _limited_by_generator(row: Row, values: Mapping[tuple[str, str], Sequence[float]]) -> Row:
    if row.quantity.name != THROUGHPUT:
        return row
    rates_rps = {name: float(np.nanmax(of)) for (quantity, name), of in values.items() if quantity == THROUGHPUT}
    least_rps = AT_LIMIT * max(rates_rps.values())
    bounds = frozenset(name for name in (row.baseline, row.treatment) if rates_rps.get(name, 0.0) >= least_rps)
    refused = (Refusal(Reason.GENERATOR_LIMITED),) if len(bounds) == 2 else row.refused
    return replace(row, at_least=bounds, refused=refused)


def refuse_as_control(row: Row, control: Sequence[Row]) -> Row:
    """Return the row, marked as refused if the control (baseline against itself) differs too and intervals overlap."""
    own = next((own for own in control if own.quantity.name == row.quantity.name and own.decided), None)
    if own is None or not row.decided or row.low > own.high or row.high < own.low:
        return row
    return replace(row, refused=(Refusal(Reason.CONTROL, amounts=(own.ratio - 1,)),))


def _refuse_cold(row: Row, compiling_us: Mapping[str, float], cpu_us: Mapping[str, float]) -> Row:
    sides = (row.treatment, row.baseline)
    cold = [name for name in sides if compiling_us.get(name, 0.0) > UNFINISHED_JIT * cpu_us.get(name, math.inf)]
    if row.quantity.name not in (ALL_CPU, BACKGROUND_CPU) or not cold:
        return row
    return replace(row, refused=tuple(Refusal(Reason.JIT_UNFINISHED, name) for name in cold))


def _jit_us_per_request(steps: Sequence[Step]) -> dict[str, float]:
    jit_us: dict[str, float] = defaultdict(float)
    for step in steps:
        served = dict(zip(step.frames["targets"]["target"], step.frames["targets"]["served"], strict=True))
        for target in step.record.targets:
            if used_s := target.background_by_role_s.get("jit"):
                jit_us[target.name] += used_s * 1e6 / served[target.name] / len(steps)
    return jit_us


def _above(
    starts: Sequence[Start], names: Sequence[str], about: InterleavedRecord, quantity: str
) -> dict[str, Bounded]:
    """Return {server: relative change of its latency from a do-nothing server's}; empty without such latencies."""
    if not about.reference or not QUANTITIES[quantity].is_latency or not usable(starts, len(names) - 1):
        return {}
    effects = compare(starts, names, about.reference, about.smallest_difference).effects
    return {effect.treatment: effect.change for effect in effects}


def _resolved(row: Row, above: Mapping[str, Bounded], about: InterleavedRecord) -> Row:
    """Return the row, refused if the slower side may be as fast as a do-nothing server; a tail also if none was run."""
    if not row.quantity.is_latency or REFERENCE_TARGET.name in about.treatments:
        return row
    if not about.reference:
        is_median = row.quantity.level is not None and row.quantity.level <= MEDIAN
        return row if is_median else replace(row, refused=(Refusal(Reason.NO_REFERENCE),))
    inside = frozenset(name for name in (row.baseline, row.treatment) if name in above and not above[name].low > 0)
    higher = row.treatment if row.ratio > 1 else row.baseline
    return replace(row, at_most=inside, refused=(Refusal(Reason.WITHIN_FLOOR),) if higher in inside else ())


def _solo(steps: Sequence[Step], quantity: str, starts: Sequence[int], names: Sequence[str]) -> list[Start]:
    """Return one `Start` per number in `starts`, from loads on one server alone; empty if a load is missing."""
    level, kind = QUANTITIES[quantity].level, QUANTITIES[quantity].column.removesuffix("_us")
    by_start: dict[int, dict[str, float]] = defaultdict(dict)
    for step in steps:
        about = step.record.interleaved
        if level is None or step.kind != SOLO or about is None or facts.samples(step) * (1 - level) < ENOUGH_BEYOND:
            continue
        value = facts.quoted(step, level, kind)
        if value is not None and value.value > 0:
            by_start[step.record.round or 0][about.arm] = value.value
    whole = level is not None and all(set(names) <= by_start[number].keys() for number in starts)
    return [start_from(by_start[number], names) for number in starts] if whole else []


def _in_slices(step: Step) -> bool:
    return step.record.offered_rps is None


def _median_start_s(steps: Sequence[Step]) -> float:
    starts = facts.grouped((step.record for step in steps), lambda record: record.round or 0).values()
    spans_us = [max(load.ended_unix_us for load in own) - min(load.started_unix_us for load in own) for own in starts]
    return float(np.median(spans_us)) / 1e6


def _starts(
    step: Step, names: Sequence[str], alone: Mapping[str, float], calm: pd.DataFrame | None
) -> dict[str, Start]:
    """Return {quantity: `Start` with the values of all servers} for the fresh start in which the load `step` ran.

    Response-time percentiles that late sends affect are left out. `alone`: {server: the rate of its closed loop}.
    `calm`: the requests outside of the machine's stalls; None if these are not known.
    """
    requests, targets = step.frames["requests"], step.frames["targets"]
    on_time_to = 1.0 if step.valid else kept_up_to(step)
    present = [name for name in names if name in set(targets["target"])]
    fewest = int(requests["target"].value_counts().reindex(present, fill_value=0).min())
    by_column: dict[str, dict[float, str]] = defaultdict(dict)
    for name, quantity in QUANTITIES.items():
        level, column = quantity.level, quantity.column
        if level is None or fewest * (1 - level) < ENOUGH_BEYOND:
            continue
        if column != "response_us" or level <= on_time_to:
            by_column[column][level] = name
    starts = dict[str, Start]()
    for column, named in by_column.items():
        if requests[column].notna().any():
            of_levels = starts_of(requests, names, tuple(named), column)
            starts |= {name: of_levels[level] for level, name in named.items()}
    if calm is not None and "p99_us" in starts:
        starts[UNDISTURBED] = start_of(calm, names, 0.99)
    served = dict(zip(targets["target"], targets["served"], strict=True))

    def per_request(amount: Callable[[TargetRecord], float | None], scale: float = 1.0) -> dict[str, float]:
        amounts = ((target.name, amount(target)) for target in step.record.targets)
        return {name: value / served[name] * scale for name, value in amounts if value and served.get(name)}

    if _in_slices(step):
        alone = dict(zip(targets["target"], targets["achieved_rps"], strict=True))
    values_of = {
        CPU: per_request(lambda target: target.cpu_s and target.cpu_s - (target.background_cpu_s or 0.0), 1e6),
        BACKGROUND_CPU: per_request(lambda target: target.background_cpu_s, 1e6),
        ALL_CPU: per_request(lambda target: None if target.background_cpu_s is None else target.cpu_s, 1e6),
        **{quantity.name: per_request(attrgetter(quantity.name)) for quantity in quantities.COUNTED},
        THROUGHPUT: alone,
        quantities.MEMORY: {target.name: float(target.rss_bytes) for target in step.record.targets if target.rss_bytes},
        quantities.DISK: {target.name: target.disk_bytes for target in step.record.targets if target.disk_bytes},
    }
    for measured, values in values_of.items():
        if present and all(values.get(name, 0.0) > 0 for name in present):
            starts[measured] = start_from(values, names)
    return starts


def _row(quantity: str, base: str, effect: Effect, base_value: float, starts: int, spill_over: bool = False) -> Row:
    change = effect.change
    return Row(
        QUANTITIES[quantity], base, effect.treatment, 1 + change.value, 1 + change.low, 1 + change.high,
        effect.direction, base_value, base_value * (1 + change.value), starts, effect.starts_needed, spill_over,
    )  # fmt: skip


def _utilisation(step: Step, alone: Mapping[str, float]) -> float:
    targets = step.frames["targets"]
    rates = dict(zip(targets["target"], targets["offered_rps"], strict=True))
    known = [rates[name] / rps for name, rps in alone.items() if name in rates and rps > 0]
    return sum(known) if known else math.nan
