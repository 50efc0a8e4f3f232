"""Compare two runs, or two groups of runs, from their folders; judge a comparison by limits of change.

Runs are compared only where nothing but the setting differs. With two or more runs on each side, what differs between
runs of one side is the measure (B. L. Welch, 1947, *The generalization of Student's problem*, Biometrika 34, on
logarithms; Bonferroni over the quantities). With one on each side there is no such measure: the difference is given
with what the requests of one run tell, which is too little for a verdict, and said to be.

A limit fails where the whole 95 % interval of the change lies beyond it, and passes where the whole interval lies
within it. The control is judged too: where a second process of the baseline breaks a limit, or where there are too few
starts, nothing is known of the treatment.

The difference of the shares of failed requests has the wider of two intervals: Student's over starts, for errors come
in bursts, and Newcombe's for all requests together, which knows that no error among few requests says little (R. G.
Newcombe, 1998, *Interval estimation for the difference between independent proportions*, Statistics in Medicine 17,
method 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

import numpy as np

from runners.analysis import comparable, facts
from runners.analysis.interleaved import Comparison
from runners.analysis.intervals import Bounded, difference, student_reach
from runners.analysis.quantities import (
    ALPHA,
    AT_MOST,
    LEVELS,
    QUANTITIES,
    Floats,
    Quantity,
    Row,
    Verdict,
    changed,
    of_step,
    resolution,
    signed,
    welch_half,
)
from runners.analysis.treatments import FEWEST_STARTS, starts_needed, verdict
from runners.design.objective import ERRORS, ChangeLimit
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.stacks import wilson

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
    steps = (step for run in runs for step in run.find(kind="load", profiled=False) if facts.quotable(step))
    return facts.grouped(steps, lambda step: (step.subject, step.workload))


def differing(a: Sequence[Run], b: Sequence[Run]) -> list[comparable.Differs]:
    """Return every field besides the setting that is not the same in all runs, each named once."""
    (first, *runs), found = [*a, *b], dict[str, comparable.Differs]()
    compared = [comparable.of_manifests(first.manifest, run.manifest) for run in runs]
    for pair in pairs(a, b):
        step, *steps = (*pair.a, *pair.b)
        compared += [comparable.of_steps(step.record, other.record) for other in steps]
    for differs in chain.from_iterable(compared):
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
        """Return the pair with its differences as plain JSON values; what is not finite becomes null."""
        rows = [
            {
                "quantity": each.quantity.name, "a": write.finite(each.baseline_value),
                "b": write.finite(each.treatment_value), "change": write.finite(each.ratio - 1),
                "low": write.finite(each.low - 1), "high": write.finite(each.high - 1),
            }
            for each in self.differences
        ]  # fmt: skip
        one, other = self.pair.names
        runs = [len(self.pair.a), len(self.pair.b)]
        return {
            "workload": self.pair.workload, "a": one, "b": other, "runs": runs, "verdicts": not self.single,
            "differences": rows,
        }  # fmt: skip


def compared(a: Sequence[Run], b: Sequence[Run], see: float) -> list[Compared]:
    """Give each pair of loads that match, with the difference of each quantity; `see`: the change that would matter."""
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
    """Yield each pair, each quantity, in words."""
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
            f"{quantity.label}: {facts.written(b)} against {facts.written(a)}, a difference of {less.as_latency}, or "
            f"{signed(share)}{f'; it is no difference of the two, for {why}' if why else ''}.",
        )


def _differences(pair: Pair, see: float) -> Iterator[Row]:
    left, right = ([of_step(step) for step in steps] for steps in (pair.a, pair.b))
    usable = [quantity for quantity in QUANTITIES if all(_known(each, quantity.name) for each in (*left, *right))]
    for quantity in usable:
        a, b = (np.log([each[quantity.name] for each in side]) for side in (left, right))
        yield welch(quantity, pair.names, a, b, ALPHA / len(usable), see)


def _known(run: dict[str, float], name: str) -> bool:
    """Return whether a run tells a quantity, and not only between what it lies."""
    value = run.get(name, math.nan)
    return math.isfinite(value) and value > 0 and run.get(name + AT_MOST, value) == value


def welch(quantity: Quantity, names: tuple[str, str], a: Floats, b: Floats, level: float, see: float) -> Row:
    """Give the difference of two groups of logarithms with Welch's interval, and what a histogram can't tell apart."""
    half, change, count = welch_half(a, b, level), float(b.mean() - a.mean()), min(len(a), len(b))
    half += resolution(quantity, np.exp(a), np.exp(b))
    low, high = (math.exp(change - half), math.exp(change + half)) if half < 10 else (math.nan, math.nan)
    found = verdict(Bounded(math.expm1(change), low - 1, high - 1), see)
    needed = starts_needed(change, half, count, see) if found == Verdict.INCONCLUSIVE else None
    values = math.exp(a.mean()), math.exp(b.mean())
    return Row(quantity, *names, math.exp(change), low, high, found, *values, count, needed)


#: Exit codes of `lab compare --fail-on`.
EXIT_FAILED, EXIT_INCONCLUSIVE = 3, 4
MOST_TIMES = 50  # so many times as many starts, and nobody waits for them


class Outcome(StrEnum):
    """What is known of a limit."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A limit, what the comparison says of it, and the change with its interval.

    `starts_needed` and `minutes_needed` are those of an answer, in all, as far as the variance of these starts tells;
    None where there is one, or where nothing tells.
    """

    limit: ChangeLimit
    outcome: Outcome
    change: Bounded
    reason: str
    starts_needed: int | None = None
    minutes_needed: float | None = None

    @property
    def sentence(self) -> str:
        """The judgement in words."""
        return f"{self.limit.text}: {self.outcome.value}, {self.reason}"

    def as_json(self) -> dict[str, object]:
        """Return the judgement as plain JSON values; what is not finite becomes null."""
        bounds = (self.change.value, self.change.low, self.change.high)
        value, low, high = map(write.finite, bounds)
        return {
            "limit": self.limit.text, "quantity": self.limit.quantity, "outcome": self.outcome.value, "change": value,
            "low": low, "high": high, "reason": self.reason, "starts_needed": self.starts_needed,
            "minutes_needed": self.minutes_needed,
        }  # fmt: skip


def judge(found: Comparison, limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    """Judge the first treatment of a comparison by each limit."""
    return tuple(_judged(found, limit) for limit in limits)


def judge_runs(found: Sequence[Compared], limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    """Judge runs that were measured one after the other, by Welch's intervals; one run on a side is no ground."""
    each = {row.quantity.name: (row, pair.single) for pair in found for row in pair.differences}
    return tuple(_judged_run(limit, *each.get(limit.quantity, (None, False))) for limit in limits)


def _judged_run(limit: ChangeLimit, seen: Row | None, single: bool) -> Judgement:
    if seen is None:
        why = "it is not known: both sides need runs that tell it"
        return Judgement(limit, Outcome.INCONCLUSIVE, Bounded(math.nan), why)
    change, outcome, why = _change(seen), Outcome.INCONCLUSIVE, f"but {seen.machine}"
    if single:
        why = "but one run on a side shows no spread between runs; keep two or more"
    elif not seen.machine:
        outcome, why = _outcome(limit, change), f"{seen.starts} runs of each"
    return Judgement(limit, outcome, change, f"{seen.change}, {why}")


def exit_code(judgements: Sequence[Judgement], *, inconclusive_passes: bool) -> int:
    """3 where a limit failed, 4 where none did but one is inconclusive and does not pass, else 0."""
    outcomes = {each.outcome for each in judgements}
    if Outcome.FAILED in outcomes:
        return EXIT_FAILED
    return EXIT_INCONCLUSIVE if Outcome.INCONCLUSIVE in outcomes and not inconclusive_passes else 0


def _judged(found: Comparison, limit: ChangeLimit) -> Judgement:
    treatment = next((name for name in found.failed if name != found.baseline), "")
    row = found.row(limit.quantity)
    if limit.quantity == ERRORS:
        change, starts = errors(found, treatment), len(found.failed.get(treatment, ()))
        second = found.control[0].treatment if found.control else ""
        control = errors(found, second) if second in found.failed else None
        said = f"{signed(change.value)} of requests ({signed(change.low)} to {signed(change.high)})"
    else:
        change, starts = (_change(row), row.starts) if row else (Bounded(math.nan), 0)
        control = next((_change(each) for each in found.control if each.quantity.name == limit.quantity), None)
        said = changed(change.value, change.low, change.high)
    if row is not None and row.machine:
        return Judgement(limit, Outcome.INCONCLUSIVE, change, f"it is not compared: {row.machine}")
    if not math.isfinite(change.value):
        why = found.left_out[0][1] if found.left_out else "no start tells it of both"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, f"it is not known: {why}")
    if starts < FEWEST_STARTS:
        needed = FEWEST_STARTS
        reason = f"{said}, from {write.several(starts, 'start')}, where it takes {FEWEST_STARTS}"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, reason, needed, _minutes(found, needed))
    if control is not None and _outcome(limit, control) == Outcome.FAILED:
        bounds = f"{signed(control.value)} ({signed(control.low)} to {signed(control.high)})"
        reason = f"{said}, but a second process of the baseline breaks it too: {bounds}; measure again"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, reason)
    outcome = _outcome(limit, change)
    if outcome != Outcome.INCONCLUSIVE:
        return Judgement(limit, outcome, change, said)
    needed_or_none = _needed(limit, change, starts)
    if needed_or_none is None:
        return Judgement(limit, outcome, change, f"{said}: too wide, or too near the limit, for more starts to decide")
    minutes = _minutes(found, needed_or_none)
    takes = f" or {minutes:.2g} minutes" if minutes is not None else ""
    reason = f"{said}; about {write.several(needed_or_none, 'start')}{takes} in all would decide it"
    return Judgement(limit, outcome, change, reason, needed_or_none, minutes)


def _change(row: Row) -> Bounded:
    return Bounded(row.ratio - 1, row.low - 1, row.high - 1)


def _outcome(limit: ChangeLimit, change: Bounded) -> Outcome:
    if not change.bounded:
        return Outcome.INCONCLUSIVE
    beyond, within = (
        (change.low > limit.change, change.high <= limit.change)
        if limit.above
        else (change.high < limit.change, change.low >= limit.change)
    )
    return Outcome.FAILED if beyond else Outcome.PASSED if within else Outcome.INCONCLUSIVE


def _needed(limit: ChangeLimit, change: Bounded, starts: int) -> int | None:
    """Starts in all at which the interval would end at the limit; None where they are too many."""
    if limit.quantity == ERRORS:
        half, distance = (change.high - change.low) / 2, abs(change.value - limit.change)
    else:
        if not (change.bounded and change.low > -1):
            return None
        half = (math.log1p(change.high) - math.log1p(change.low)) / 2
        distance = abs(math.log1p(change.value) - math.log1p(limit.change))
    if not distance > half / math.sqrt(MOST_TIMES):
        return None
    return max(starts + 1, math.ceil(starts * (half / distance) ** 2))


def _minutes(found: Comparison, starts: int) -> float | None:
    return starts * found.start_s / 60 if math.isfinite(found.start_s) else None


def errors(found: Comparison, treatment: str) -> Bounded:
    """Estimate by how much more of the requests to a treatment fail than of those to the baseline, as a share of 1."""
    pairs = list(zip(found.failed.get(treatment, ()), found.failed.get(found.baseline, ()), strict=False))
    pairs = [pair for pair in pairs if all(ended for ended, _ in pair)]
    if not pairs:
        return Bounded(math.nan)
    shares = np.array([failed / ended for pair in pairs for ended, failed in pair]).reshape(-1, 2)
    each = shares[:, 0] - shares[:, 1]
    pooled = difference(*(_proportion([pair[side] for pair in pairs]) for side in (0, 1)))
    if len(each) < 2:
        return pooled
    reach = student_reach(float(each.var(ddof=1)) / len(each), len(each) - 1)
    return Bounded(pooled.value, min(pooled.low, pooled.value - reach), max(pooled.high, pooled.value + reach))


def _proportion(counts: Sequence[tuple[int, int]]) -> Bounded:
    ended, failed = (sum(each[place] for each in counts) for place in (0, 1))
    return Bounded(failed / ended, *wilson(failed / ended, ended))
