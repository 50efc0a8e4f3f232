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
from scipy.stats import t

from runners.analysis import comparable, facts
from runners.analysis.comparison import ALPHA, AT_MOST, LEVELS, QUANTITIES, Difference, Quantity, resolution
from runners.analysis.intervals import difference
from runners.claims.comparing import of_step, said, signed
from runners.readers import write
from runners.readers.run import Run, Step

Key = tuple[str, str]
ALONE = "One run on a side shows no spread between runs, so this is no verdict. Repeat: lab compare --a … --b …"


@dataclass(frozen=True, slots=True)
class Pair:
    """Matching loads of the two sides: what they are called, and their steps."""

    names: tuple[str, str]
    workload: str
    a: tuple[Step, ...]
    b: tuple[Step, ...]


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


def _loads(runs: Sequence[Run]) -> dict[Key, list[Step]]:
    found: dict[Key, list[Step]] = {}
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
    """A pair, its differences, and what they say. `single`: one run on a side, which is no ground for a verdict."""

    pair: Pair
    differences: tuple[Difference, ...]
    lines: tuple[str, ...]
    single: bool

    @property
    def heading(self) -> str:
        one, other = self.pair.names
        return f"{self.pair.workload.upper()}, {other} against {one}"


def compared(a: Sequence[Run], b: Sequence[Run], see: float) -> list[Compared]:
    """Each pair of loads that match, with the difference of each quantity."""
    found = []
    for pair in pairs(a, b):
        if min(len(pair.a), len(pair.b)) < 2:
            single = list(_single(pair, see))
            lines = (*(line for _, line in single), ALONE)
            found.append(Compared(pair, tuple(each for each, _ in single), lines, single=True))
        else:
            sides = zip(pair.names, (pair.a, pair.b), strict=True)
            each = tuple(comparable.marked(list(_differences(pair, see)), *sides))
            lines = tuple(write.sentence(said(one, *pair.names, len(each), "run")) for one in each)
            found.append(Compared(pair, each, lines, single=False))
    return found


def sentences(found: Sequence[Compared]) -> Iterator[str]:
    """Each pair, each quantity, in words."""
    for each in found:
        yield f"{each.heading}:"
        yield from (f"  {line}" for line in each.lines)


def _single(pair: Pair, see: float) -> Iterator[tuple[Difference, str]]:
    for name, level in LEVELS.items():
        a, b = facts.at(pair.a[0], level), facts.at(pair.b[0], level)
        if a is None or b is None or not a.value > 0:
            continue
        less, share = difference(b, a), b.value / a.value - 1
        quantity = next(q for q in QUANTITIES if q.name == name)
        sides = zip(pair.names, (pair.a[:1], pair.b[:1]), strict=True)
        why = "" if less.holds_zero else comparable.why(level, *sides)
        low, high = (-1.0 if each < -a.value else each / a.value for each in (less.low, less.high))  # none is below 0
        yield (
            Difference(quantity, a.value, b.value, share, low, high, 1, math.nan, see),
            f"{quantity.label}: {facts.written(b)} against {facts.written(a)}, a difference of "
            f"{write.latency_interval(less.value, less.low, less.high)}, or {signed(share)}"
            f"{f'; it is no difference of the two, for {why}' if why else ''}.",
        )


def _differences(pair: Pair, see: float) -> Iterator[Difference]:
    left = [of_step(step) for step in pair.a]
    right = [of_step(step) for step in pair.b]
    usable = [quantity for quantity in QUANTITIES if all(_known(each, quantity.name) for each in (*left, *right))]
    for quantity in usable:
        yield welch(
            quantity,
            np.log([each[quantity.name] for each in left]),
            np.log([each[quantity.name] for each in right]),
            ALPHA / len(usable),
            see,
        )


def _known(run: dict[str, float], name: str) -> bool:
    """Whether a run tells a quantity, and not only between what it lies."""
    value = run.get(name, math.nan)
    return math.isfinite(value) and value > 0 and run.get(name + AT_MOST, value) == value


def welch(
    quantity: Quantity,
    a: np.ndarray[tuple[int], np.dtype[np.float64]],
    b: np.ndarray[tuple[int], np.dtype[np.float64]],
    level: float,
    see: float,
) -> Difference:
    """The difference of two groups of logarithms with Welch's interval, and what a histogram can't tell apart."""
    parts = [float(side.var(ddof=1)) / len(side) for side in (a, b)]
    error = math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(p**2 / (len(s) - 1) for p, s in zip(parts, (a, b), strict=True)) if error else 1.0
    half = float(t.ppf(1 - level / 2, freedom)) * error + resolution(quantity, np.exp(a), np.exp(b))
    mean = float(b.mean() - a.mean())
    spread = error * math.sqrt(min(len(a), len(b)))
    low, high = (math.expm1(mean - half), math.expm1(mean + half)) if half < 10 else (math.nan, math.nan)
    count = min(len(a), len(b))
    return Difference(
        quantity, float(np.exp(a.mean())), float(np.exp(b.mean())), math.expm1(mean), low, high, count, spread, see
    )
