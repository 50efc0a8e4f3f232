"""Compare run folders: the loads that they share, by what differs between runs of one side.

Runs are compared only where nothing but the setting differs. With two or more runs on each side, what differs between
runs of one side is the measure (see quantities.welch; Bonferroni over the quantities). With one on each side there is
no such measure: the difference is given with what the requests of one run tell, which is too little for a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from runners.analysis import comparable, facts, failures
from runners.analysis.comparison import FEWEST_RUNS, Comparison, Form, refuse_failing
from runners.analysis.intervals import Direction, difference
from runners.analysis.quantities import ALPHA, AT_MOST, OF_LOADS, Row, quantities_of, resolution, welch
from runners.readers.run import Run, Step


@dataclass(frozen=True, slots=True)
class Pair:
    """The matching loads of two sides: what each side is called, and its steps."""

    names: tuple[str, str]
    workload: str
    a: tuple[Step, ...]
    b: tuple[Step, ...]

    @property
    def sides(self) -> tuple[comparable.Side, comparable.Side]:
        return (self.names[0], self.a), (self.names[1], self.b)


def pairs(a: Sequence[Run], b: Sequence[Run]) -> list[Pair]:
    """Return the clean loads that match by setting and workload; where each side has one setting only, by workload."""
    left, right = _loads(a), _loads(b)
    matched = []
    for (subject, workload), steps in left.items():
        match = right.get((subject, workload))
        names = (f"{facts.engine_name(subject)} (A)", f"{facts.engine_name(subject)} (B)")
        if match is None and len({key[0] for key in left}) == len({key[0] for key in right}) == 1:
            other = next(iter(right))[0]
            match, names = right.get((other, workload)), (facts.engine_name(subject), facts.engine_name(other))
        if match:
            matched.append(Pair(names, workload, tuple(steps), tuple(match)))
    return matched


def _loads(runs: Sequence[Run]) -> dict[tuple[str, str], list[Step]]:
    steps = (step for run in runs for step in run.find(kind="load", profiled=False) if _tells(step))
    return facts.grouped(steps, lambda step: (step.subject, step.workload))


def _tells(step: Step) -> bool:
    """Return whether a load is evidence: of its latencies, or of responses that failed."""
    return facts.quotable(step) or bool(failures.failing({step.name: [failures.of_step(step)]}))


def differing(a: Sequence[Run], b: Sequence[Run]) -> list[comparable.Differs]:
    """Return every field besides the setting that is not the same in all runs, once."""
    (first, *runs), fields = [*a, *b], dict[str, comparable.Differs]()
    compared = [comparable.of_manifests(first.manifest, run.manifest) for run in runs]
    for pair in pairs(a, b):
        step, *steps = (*pair.a, *pair.b)
        compared += [comparable.of_steps(step.record, other.record) for other in steps]
    for differs in chain.from_iterable(compared):
        fields.setdefault(differs.field, differs)
    return list(fields.values())


def compare_runs(a: Sequence[Run], b: Sequence[Run], margin: float) -> list[Comparison]:
    """Compare each pair of loads that match; `margin`: the relative change that would matter."""
    comparisons = []
    for pair in pairs(a, b):
        baseline, treatment = pair.names
        failed = {name: tuple(map(failures.of_step, steps)) for name, steps in pair.sides}
        single = min(len(pair.a), len(pair.b)) < FEWEST_RUNS
        rows = _single(pair) if single else _repeated(pair, margin)
        comparison = Comparison(
            name=pair.workload, form=Form.RUNS, baseline=baseline, treatments=(treatment,), margin=margin,
            rows=tuple(refuse_failing(row, failed) for row in rows), failed=failed, workload=pair.workload,
        )  # fmt: skip
        comparisons.append(comparison)
    return comparisons


def _single(pair: Pair) -> Iterator[Row]:
    for quantity in OF_LOADS:
        if (level := quantity.level) is None:
            continue
        a, b = (facts.at(steps[0], level) for steps in (pair.a, pair.b))
        if a is None or b is None or not a.value > 0:
            continue
        less = difference(b, a)
        sides = [(name, steps[:1]) for name, steps in pair.sides]
        refused = () if less.holds_zero else comparable.refusals(level, *sides)
        ends = (less.value, less.low, less.high)
        ratio, low, high = (1 + max(-1.0, end / a.value) for end in ends)  # no latency is below 0
        yield Row(
            quantity, *pair.names, ratio, low, high, Direction.INCONCLUSIVE, a.value, b.value, 1, refused=refused,
            sampled=True,
        )  # fmt: skip


def _repeated(pair: Pair, margin: float) -> Iterator[Row]:
    left, right = ([quantities_of(step) for step in steps] for steps in (pair.a, pair.b))
    usable = [quantity for quantity in OF_LOADS if all(_known(run, quantity.name) for run in (*left, *right))]
    for quantity in usable:
        a, b = (np.array([run[quantity.name] for run in side]) for side in (left, right))
        blur = resolution(quantity, a, b)
        row = welch(quantity, pair.names, np.log(a), np.log(b), ALPHA / len(usable), margin, blur)
        yield comparable.marked(row, *pair.sides)


def _known(run: dict[str, float], name: str) -> bool:
    """Return whether a run has a value of a quantity, and not only bounds of it."""
    value = run.get(name, math.nan)
    return math.isfinite(value) and value > 0 and run.get(name + AT_MOST, value) == value
