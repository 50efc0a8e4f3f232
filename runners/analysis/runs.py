"""Comparisons of run folders, by the loads that both sides have.

Runs should differ in the setting alone (see `differing`). With two or more runs on each side, intervals cover the
run-to-run variability (see quantities.welch; Bonferroni over the quantities). With one run on a side, they cover only
the sampling of requests, and there is no verdict. A closed-loop rate is that of a run's fastest closed loop on as many
connections as the loads. A percentile is not compared if a side's only load never became steady or ended with JIT
compilation unfinished. Nor is it compared if, in more than half of a side's loads, it is due to the machine or to a
late generator, not to the server.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from runners.analysis import counts, facts
from runners.analysis.comparison import FEWEST_RUNS, Comparison, Form, refuse_failing
from runners.analysis.instrument import kept_up_below
from runners.analysis.intervals import Direction, difference
from runners.analysis.quantities import ALPHA, LEAST_US, OF_LOADS, RESOLUTION, Reason, Refusal, Row, value_of, welch
from runners.analysis.steady_state import not_warm, steadiness
from runners.analysis.tables import TABLES
from runners.analysis.tail_attribution import made
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import THROUGHPUT
from runners.design.session import PROBE
from runners.readers.run import Run, Step
from runners.storage.schema import to_document

#: A side of a comparison: its name and its loads.
Side = tuple[str, Sequence[Step]]


def refusals(level: float, *sides: Side) -> tuple[Refusal, ...]:
    """Return the reasons why percentile `level` (0..1) may not be compared between the sides; empty if it may."""
    return tuple(filter(None, (_unsteady(side) or _late(level, side) or _machine(level, side) for side in sides)))


def _unsteady(side: Side) -> Refusal | None:
    name, steps = side
    if len(steps) != 1:
        return None
    if (seen := steadiness(steps[0])).steady is False:
        return Refusal(Reason.NEVER_STEADY, name, (seen.seconds,))
    return Refusal(Reason.JIT_UNFINISHED, name) if not_warm(steps[0]) else None


def _late(level: float, side: Side) -> Refusal | None:
    name, steps = side
    kept_up_to = [percent for step in steps if (percent := kept_up_below(step, level)) is not None]
    return Refusal(Reason.GENERATOR_LATE, name, (kept_up_to[0],)) if 2 * len(kept_up_to) > len(steps) else None


def _machine(level: float, side: Side) -> Refusal | None:
    name, steps = side
    causes_of = [causes for step in steps if (causes := made(step, level)) is not None]
    if 2 * len(causes_of) <= len(steps):
        return None
    if len(steps) == 1:
        return Refusal(Reason.MACHINE, name, causes=tuple(causes_of[0].items()))
    named = tuple(dict.fromkeys((cause, None) for causes in causes_of for cause in causes))
    return Refusal(Reason.MACHINE, name, (len(causes_of), len(steps)), named)


#: Fields of a load's record that may influence its results. A field is compared only if both sides recorded it.
FIELDS: list[str] = TABLES["step"]["conditions"]


@dataclass(frozen=True, slots=True)
class Differs:
    """A field in which two runs or loads differ, with both values."""

    field: str
    a: object
    b: object

    @property
    def text(self) -> str:
        return f"{self.field}: {self.a!s} against {self.b!s}"

    @property
    def group(self) -> str:
        """The first part of the field: `machine` for `machine.kernel`."""
        return self.field.partition(".")[0]


def of_manifests(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Differs]:
    """Yield the fields of machine, tools, parameters and size in which the manifests of two runs differ."""
    groups = TABLES["conditions"].items()
    return _differing(a, b, [*(f"{group}.{name}" for group, names in groups for name in names), "size"])


def _differing(a: Mapping[str, Any], b: Mapping[str, Any], fields: Iterable[str]) -> Iterator[Differs]:
    def at(value: Any, part: str) -> Any:
        return value.get(part) if isinstance(value, Mapping) else None

    documents: tuple[Any, Any] = (a, b)
    for field in fields:
        left, right = (reduce(at, field.split("."), document) for document in documents)
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        same = abs(left - right) < 1e-6 if numbers else left == right
        if left is not None and right is not None and not same:
            yield Differs(field, left, right)


def pairs(a: Sequence[Run], b: Sequence[Run]) -> list[tuple[str, Side, Side]]:
    """Return the unprofiled loads that both sides have, as (workload, side A, side B), matched by setting and workload.

    If both sides have only one setting, these two settings are matched, whatever their names.
    """
    left, right = _loads_by_setting_and_workload(a), _loads_by_setting_and_workload(b)
    alone = all(len({subject for subject, _ in loads}) == 1 for loads in (left, right))
    matched = list[tuple[str, Side, Side]]()
    for (subject, workload), steps in left.items():
        other = subject if (subject, workload) in right or not alone else next(iter(right))[0]
        first, second = map(facts.engine_name, (subject, other))
        if other == subject:
            first, second = f"{first} (A)", f"{second} (B)"
        if match := right.get((other, workload)):
            matched.append((workload, (first, steps), (second, match)))
    return matched


def _loads_by_setting_and_workload(runs: Sequence[Run]) -> dict[tuple[str, str], list[Step]]:
    steps = (step for run in runs for step in run.find(kind="load", profiled=False))
    evidence = (step for step in steps if facts.quotable(step) or counts.failing({"": [counts.of_step(step)]}))
    return facts.grouped(evidence, lambda step: (step.subject, step.workload))


def differing(a: Sequence[Run], b: Sequence[Run]) -> list[Differs]:
    """Return fields (not the setting) in which a run differs from the first run, or a load from its pair's first."""
    (first, *runs), fields = [*a, *b], dict[str, Differs]()
    compared = [of_manifests(first.manifest, run.manifest) for run in runs]
    for _, (_, left), (_, right) in pairs(a, b):
        step, *steps = (*left, *right)
        compared += [_differing(to_document(step.record), to_document(other.record), FIELDS) for other in steps]
    for differs in chain.from_iterable(compared):
        fields.setdefault(differs.field, differs)
    return list(fields.values())


def compare_runs(a: Sequence[Run], b: Sequence[Run], margin: float) -> list[Comparison]:
    """Return a comparison for each load that both sides have; `margin`: the smallest relative change that matters."""
    comparisons = []
    for workload, *sides in pairs(a, b):
        (baseline, left), (treatment, right) = sides
        failed = {name: tuple(map(counts.of_step, steps)) for name, steps in sides}
        single = min(len(left), len(right)) < FEWEST_RUNS
        loops = [(name, _closed_loops(runs, steps[0])) for (name, steps), runs in zip(sides, (a, b), strict=True)]
        rows = _single(sides) if single else _repeated(sides, loops, margin)
        comparisons.append(Comparison(
            name=workload, form=Form.RUNS, baseline=baseline, treatments=(treatment,), margin=margin,
            rows=tuple(refuse_failing(row, failed) for row in rows), failed=failed, workload=workload,
        ))  # fmt: skip
    return comparisons


def _closed_loops(runs: Sequence[Run], load: Step) -> list[Step]:
    """Return the fastest closed loop of each run that has one with setting, workload and connections of `load`."""
    probes = (run.find(kind=PROBE, subject=load.subject, workload=load.workload, profiled=False) for run in runs)
    many = load.record.connections
    like = ([s for s in of_run if s.record.connections == many and may_quote(s, Aspect.RATE)] for of_run in probes)
    return [max(of_run, key=facts.achieved_rps) for of_run in like if of_run]


def _single(sides: Sequence[Side]) -> Iterator[Row]:
    (baseline, left), (treatment, right) = sides
    for quantity in OF_LOADS:
        if (level := quantity.level) is None:
            continue
        a, b = (facts.at(steps[0], level) for steps in (left, right))
        if a is None or b is None or not a.value > 0:
            continue
        less = difference(b, a)
        refused = () if less.holds_zero else refusals(level, (baseline, left[:1]), (treatment, right[:1]))
        ends = (less.value, less.low, less.high)
        ratio, low, high = (1 + max(-1.0, end / a.value) for end in ends)  # no latency is below 0
        yield Row(
            quantity, baseline, treatment, ratio, low, high, Direction.INCONCLUSIVE, a.value, b.value, 1,
            refused=refused, sampled=True,
        )  # fmt: skip


def _repeated(loads: Sequence[Side], loops: Sequence[Side], margin: float) -> Iterator[Row]:
    measured = [(quantity, loops if quantity.name == THROUGHPUT else loads) for quantity in OF_LOADS]
    values = [(q, sides, [np.array([value_of(step, q) for step in of]) for _, of in sides]) for q, sides in measured]
    known = [row for row in values if all(len(side) and np.all((side > 0) & np.isfinite(side)) for side in row[2])]
    for quantity, sides, (a, b) in known:
        # the least difference of two logarithms that a histogram and its unit can resolve
        blur = RESOLUTION + (LEAST_US / float(min(a.mean(), b.mean())) if quantity.is_latency else 0.0)
        row = welch(quantity, (sides[0][0], sides[1][0]), np.log(a), np.log(b), ALPHA / len(known), margin, blur)
        refused: tuple[Refusal, ...] = ()
        if quantity.level is None:
            cold = [name for name, steps in sides if 2 * sum(map(not_warm, steps)) > len(steps)]
            refused = tuple(Refusal(Reason.JIT_UNFINISHED, name) for name in cold)
        elif row.decided:
            refused = refusals(quantity.level, *sides)
        yield replace(row, refused=refused)
