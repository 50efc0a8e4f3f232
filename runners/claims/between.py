"""Two runs, or two groups of runs, compared from their folders: only where nothing but the setting differs.

With two or more runs on each side, what differs between runs of one side is the measure (B. L. Welch, 1947, *The
generalization of Student's problem*, Biometrika 34, on logarithms; Bonferroni over the quantities). With one on each
side there is no such measure: the difference is given with what the requests of one run tell, which is too little for
a verdict, and said to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from runners.analysis import comparable, facts
from runners.analysis.intervals import Bounded, difference
from runners.analysis.quantities import (
    ALPHA,
    AT_MOST,
    LEVELS,
    QUANTITIES,
    Floats,
    Quantity,
    Row,
    Verdict,
    of_step,
    resolution,
    signed,
    welch_half,
)
from runners.analysis.treatments import starts_needed, verdict
from runners.readers import write
from runners.readers.run import Run, Step

ALONE = "One run on a side shows no spread between runs, so this is no verdict. Repeat: lab compare --a … --b …"


@dataclass(frozen=True, slots=True)
class Pair:
    """Matching loads of the two sides: what they are called, and their steps."""

    names: tuple[str, str]
    workload: str
    a: tuple[Step, ...]
    b: tuple[Step, ...]

    @property
    def sides(self) -> tuple[comparable.Side, comparable.Side]:
        return (self.names[0], self.a), (self.names[1], self.b)


def pairs(a: Sequence[Run], b: Sequence[Run]) -> list[Pair]:
    """Clean loads that match by setting and workload; where each side has one setting only, by workload."""
    left, right = _loads(a), _loads(b)
    found = []
    for (subject, workload), steps in left.items():
        match = right.get((subject, workload))
        names = (f"{facts.engine_name(subject)} (A)", f"{facts.engine_name(subject)} (B)")
        if match is None and len({key[0] for key in left}) == len({key[0] for key in right}) == 1:
            other = next(iter(right))[0]
            match, names = right.get((other, workload)), (facts.engine_name(subject), facts.engine_name(other))
        if match:
            found.append(Pair(names, workload, tuple(steps), tuple(match)))
    return found


def _loads(runs: Sequence[Run]) -> dict[tuple[str, str], list[Step]]:
    found: dict[tuple[str, str], list[Step]] = {}
    for run in runs:
        for step in run.find(kind="load", profiled=False):
            if facts.quotable(step):
                found.setdefault((step.subject, step.workload), []).append(step)
    return found


def differing(a: Sequence[Run], b: Sequence[Run]) -> list[comparable.Differs]:
    """Every field besides the setting that is not the same in all runs, each named once."""
    runs = [*a, *b]
    found: dict[str, comparable.Differs] = {}
    for run in runs[1:]:
        for differs in comparable.of_manifests(runs[0].manifest, run.manifest):
            found.setdefault(differs.field, differs)
    for pair in pairs(a, b):
        steps = [*pair.a, *pair.b]
        for step in steps[1:]:
            for differs in comparable.of_steps(steps[0].record, step.record):
                found.setdefault(differs.field, differs)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Compared:
    """A pair, its differences, and what they say. `single`: one run on a side, which is no ground for a verdict.

    `margin`: the relative change that would matter.
    """

    pair: Pair
    differences: tuple[Row, ...]
    lines: tuple[str, ...]
    single: bool
    margin: float

    @property
    def heading(self) -> str:
        one, other = self.pair.names
        return f"{self.pair.workload.upper()}, {other} against {one}"

    def as_json(self) -> dict[str, object]:
        """The pair with its differences as plain JSON values; what is not finite becomes null."""
        rows = [
            {
                "quantity": each.quantity.name,
                "a": write.finite(each.baseline_value),
                "b": write.finite(each.treatment_value),
                "change": write.finite(each.ratio - 1),
                "low": write.finite(each.low - 1),
                "high": write.finite(each.high - 1),
            }
            for each in self.differences
        ]
        one, other = self.pair.names
        runs = [len(self.pair.a), len(self.pair.b)]
        return {
            "workload": self.pair.workload, "a": one, "b": other, "runs": runs, "verdicts": not self.single,
            "differences": rows,
        }  # fmt: skip


def compared(a: Sequence[Run], b: Sequence[Run], see: float) -> list[Compared]:
    """Each pair of loads that match, with the difference of each quantity; `see`: the change that would matter."""
    found = []
    for pair in pairs(a, b):
        if min(len(pair.a), len(pair.b)) < 2:
            single = list(_single(pair))
            lines = (*(line for _, line in single), ALONE)
            found.append(Compared(pair, tuple(each for each, _ in single), lines, single=True, margin=see))
        else:
            each = tuple(comparable.marked(list(_differences(pair, see)), *pair.sides))
            lines = tuple(write.sentence(row.sentence(see, "run")) for row in each)
            found.append(Compared(pair, each, lines, single=False, margin=see))
    return found


def sentences(found: Sequence[Compared]) -> Iterator[str]:
    """Each pair, each quantity, in words."""
    for each in found:
        yield f"{each.heading}:"
        yield from (f"  {line}" for line in each.lines)


def _single(pair: Pair) -> Iterator[tuple[Row, str]]:
    for quantity in QUANTITIES:
        level = LEVELS.get(quantity.name)
        a, b = (facts.at(steps[0], level) if level is not None else None for steps in (pair.a, pair.b))
        if level is None or a is None or b is None or not a.value > 0:
            continue
        less = difference(b, a)
        why = "" if less.holds_zero else comparable.why(level, *((name, steps[:1]) for name, steps in pair.sides))
        share, low, high = (max(-1.0, each / a.value) for each in (less.value, less.low, less.high))  # none is below 0
        yield (
            Row(quantity, *pair.names, 1 + share, 1 + low, 1 + high, Verdict.INCONCLUSIVE, a.value, b.value, 1),
            f"{quantity.label}: {facts.written(b)} against {facts.written(a)}, a difference of "
            f"{write.latency_interval(less.value, less.low, less.high)}, or {signed(share)}"
            f"{f'; it is no difference of the two, for {why}' if why else ''}.",
        )


def _differences(pair: Pair, see: float) -> Iterator[Row]:
    left, right = ([of_step(step) for step in steps] for steps in (pair.a, pair.b))
    usable = [quantity for quantity in QUANTITIES if all(_known(each, quantity.name) for each in (*left, *right))]
    for quantity in usable:
        a, b = (np.log([each[quantity.name] for each in side]) for side in (left, right))
        yield welch(quantity, pair.names, a, b, ALPHA / len(usable), see)


def _known(run: dict[str, float], name: str) -> bool:
    """Whether a run tells a quantity, and not only between what it lies."""
    value = run.get(name, math.nan)
    return math.isfinite(value) and value > 0 and run.get(name + AT_MOST, value) == value


def welch(quantity: Quantity, names: tuple[str, str], a: Floats, b: Floats, level: float, see: float) -> Row:
    """The difference of two groups of logarithms with Welch's interval, and what a histogram can't tell apart."""
    half, change, count = welch_half(a, b, level), float(b.mean() - a.mean()), min(len(a), len(b))
    half += resolution(quantity, np.exp(a), np.exp(b))
    low, high = (math.exp(change - half), math.exp(change + half)) if half < 10 else (math.nan, math.nan)
    found = verdict(Bounded(math.expm1(change), low - 1, high - 1), see)
    needed = starts_needed(change, half, count, see) if found == Verdict.INCONCLUSIVE else None
    values = math.exp(a.mean()), math.exp(b.mean())
    return Row(quantity, *names, math.exp(change), low, high, found, *values, count, needed)
