"""Answers to questions on interleaved trials: does a treatment differ from its baseline, and what does a gain cost?"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from runners.analysis import facts
from runners.analysis.comparison import Alone, Comparison, Form
from runners.analysis.interleaved import alone
from runners.analysis.intervals import Bounded, Direction, difference
from runners.analysis.quantities import Quantity, Reason, Row
from runners.design.objective import CPU, THROUGHPUT
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results

DIFFERS = (Direction.HIGHER, Direction.LOWER)
MEDIAN = "p50_us"
#: A function that makes one verdict from the verdicts on a question's parts.
Combined = Callable[[Iterable[Verdict]], Verdict]


@dataclass(frozen=True, slots=True)
class Difference:
    """How a treatment differs from its baseline in one quantity, with further values to judge the difference by."""

    row: Row
    margin: float  # the relative change that would matter
    label: str = ""  # the load, or part of the question, that was compared
    all_threads: Row | None = None  # the CPU time of all threads, if it contradicts `row`
    cpu: Row | None = None  # the CPU time per request, if the generator limited a rate in `row`
    rate_rps: float = math.nan  # the rate offered to each side; NaN in closed loop
    alone: Alone | None = None  # the medians of two loads, on the baseline alone and on the treatment alone

    @property
    def turned(self) -> Self:
        """The difference of the baseline from the treatment."""
        rows = [row and row.turned for row in (self.all_threads, self.cpu)]
        return replace(self, row=self.row.turned, all_threads=rows[0], cpu=rows[1])


def difference_of(comparison: Comparison, row: Row, label: str = "", medians: Alone | None = None) -> Difference:
    """Return a comparison's row with values to judge it by. `medians`: of loads on one server; None: `comparison`'s."""
    cpu = comparison.row(CPU, row.treatment) if row.at_least else None
    medians = (medians or comparison.alone.get(row.treatment)) if row.quantity.name == MEDIAN else None
    return Difference(row, comparison.margin, label, comparison.contradicting(row), cpu, comparison.rate_rps, medians)


def _rows(
    results: Results, quantity: str, blocks: Collection[str] | None, treatment: str | None
) -> Iterator[tuple[Comparison, Row]]:
    for comparison in results.comparisons:
        if blocks is None or comparison.name in blocks:
            yield from ((comparison, row) for row in comparison.rows_of(quantity) if treatment in (None, row.treatment))


@answering
def differs(
    results: Results, blocks: Collection[str] | None, treatment: str | None, quantity: str,
    yes: Sequence[Direction] = (Direction.HIGHER,), loads_alone: tuple[tuple[str, str], ...] = (),
) -> Answer | None:  # fmt: skip
    """Answer: does a treatment change `quantity` (such as p50_us) against its baseline, in a direction in `yes`?

    The first comparison with a name in `blocks` (None: any) and with `treatment` (None: any) decides; None without one.
    `loads_alone`: (setting, workload) of a load on the baseline alone, then of one on the treatment alone; an answer
    on p50_us shows their medians too.
    """
    for comparison, row in _rows(results, quantity, blocks, treatment):
        loads = [facts.clean(results.run, *side) for side in loads_alone]
        return answer_of(comparison, row, yes, medians=alone(*loads) if loads else None)
    return None


@answering
def parts_differ(
    results: Results, combined: Combined, blocks: Mapping[str, str], treatment: str | None, quantity: str,
    yes: Sequence[Direction] = (Direction.HIGHER,), also: Sequence[str] = (),
) -> Answer | None:  # fmt: skip
    """Answer: does a treatment change `quantity` in a direction in `yes`, in several blocks? None if none was measured.

    `combined` joins verdicts. `blocks`: {name: label}. `treatment`: None means all. `also`: more quantities to show.
    """
    answers = []
    for comparison, row in _rows(results, quantity, blocks, treatment):
        label = blocks[comparison.name]
        given = answer_of(comparison, row, yes, label)
        others = (comparison.row(name, row.treatment) for name in also)
        more = (difference_of(comparison, other, label) for other in others if other and not other.refused)
        answers.append(replace(given, evidence=(*given.evidence, *more)))
    return together(answers, combined) if answers else None


@answering
def gains_apart(results: Results, label: str, blocks: Mapping[str, str], treatment: str) -> Answer | None:
    """Answer: does a treatment gain more throughput in the first of `blocks` than in the second? None if unknown.

    `label` names the gains. `blocks`: {label of a block in the answer: name of the block}, with two blocks.
    """
    compared = _rows(results, THROUGHPUT, tuple(blocks.values()), treatment)
    known = {comparison.name: row.relative for comparison, row in compared if not row.refused and not row.at_least}
    if len(known) < len(blocks):
        return None
    (here, there), (first, second) = blocks, (known[block] for block in blocks.values())
    more = difference(first, second)
    word = {1: "larger", -1: "smaller"}.get(more.sign, "not decided to differ")
    gain_there = Measure.of(f"with {there}", second, Unit.CHANGE)
    gains = Measure.of(f"{label} with {here}", first, Unit.CHANGE).against(gain_there)
    points = Bounded(100 * more.value, 100 * more.low, 100 * more.high)
    apart = Measure.of(f"with {here} it is {word}, difference in percentage points", points, Unit.COUNT)
    return Answer(Verdict.of(more.low, more.high), (gains, apart))


@answering
def added_bytes(results: Results, label: str, block: str, treatment: str) -> Answer | None:
    """Answer: does a treatment allocate more than its baseline? Yes, with the share added, if decided; else None."""
    rows = [
        row for _, row in _rows(results, "allocated_bytes", (block,), treatment) if row.direction == Direction.HIGHER
    ]
    parts = (Bounded(1 - 1 / row.ratio, 1 - 1 / row.low, 1 - 1 / row.high) for row in rows)
    return Answer(Verdict.YES, tuple(Measure.of(label, part, Unit.SHARE) for part in parts)) if rows else None


def answer_of(
    comparison: Comparison, row: Row, yes: Sequence[Direction] = DIFFERS, label: str = "", medians: Alone | None = None
) -> Answer:
    """Answer: has the change in `row` a direction in `yes`? Inconclusive if it is undecided or refused."""
    direction = Direction.INCONCLUSIVE if row.refused else row.direction
    verdict = Verdict.YES if direction in yes else Verdict.NO
    needed, count = None, 0
    if direction == Direction.INCONCLUSIVE:
        verdict, needed = Verdict.INCONCLUSIVE, Needed.QUIETER_MACHINE
        if not comparison.failing.keys().isdisjoint((row.treatment, row.baseline)):
            needed = Needed.SUCCESSES
        elif any(refusal.reason == Reason.NO_REFERENCE for refusal in row.refused):
            needed = Needed.REFERENCE_TARGET
        elif row.starts_needed is not None and not row.refused:
            needed, count = Needed.STARTS, row.starts_needed
    basis = Basis.STARTS_BY_REQUEST if comparison.form == Form.REQUESTS else Basis.STARTS_BY_SLICE
    differs_by, figure = difference_of(comparison, row, label, medians), f"interleaved-{comparison.name}"
    if tuple(yes) == (Direction.LOWER,) and not row.quantity.lower_is_better:  # the question asks about the baseline
        differs_by = differs_by.turned
    return Answer(verdict, (differs_by,), basis, row.starts, needed, count, comparison.steps, figure)


def together(answers: Sequence[Answer], combined: Combined) -> Answer:
    """Return one answer with all evidence, which rests on the `answers` that decide. `combined` joins the verdicts."""
    verdict = combined(given.verdict for given in answers)
    decide = [given for given in answers if given.verdict == verdict]
    parts = answers if verdict == Verdict.INCONCLUSIVE else decide
    steps = tuple(dict.fromkeys(name for given in parts for name in given.steps))
    count = len(steps) if decide[0].basis == Basis.LOADS else min(given.count for given in parts)
    evidence = tuple(measure for given in answers for measure in given.evidence)
    return replace(decide[0], evidence=evidence, count=count, steps=steps)


@dataclass(frozen=True, slots=True)
class Cost:
    """A quantity in which treatments are worse than the baseline, although they gain in their primary quantity."""

    quantity: Quantity
    count: int  # the number of treatments that gain and are worse in `quantity`
    gaining: int  # the number of all treatments that gain
    worst: Difference


def costs_anything(results: Results) -> Answer | None:
    """Answer: is a treatment that gains, where the control agrees, worse in a quantity other than the primary one?"""
    trusted = (own for own in results.comparisons if own.trusted)
    gains = [(own, row) for own in trusted for row in own.rows_of(own.primary) if row.better]
    gained = Measure("treatments that gain", len(gains), Unit.COUNT)
    if not gains:
        return Answer(Verdict.INCONCLUSIVE, (gained,), Basis.STARTS_BY_SLICE, 0, Needed.STARTS)
    worse = [difference_of(comparison, cost) for comparison, row in gains for cost in comparison.costs(row.treatment)]
    costs = tuple(
        Cost(rows[0].row.quantity, len(rows), len(gains), max(rows, key=lambda cost: abs(cost.row.ratio - 1)))
        for rows in facts.grouped(worse, lambda cost: cost.row.quantity.name).values()
    )
    steps = tuple(dict.fromkeys(name for comparison, _ in gains for name in comparison.steps))
    verdict, figure = (Verdict.YES if costs else Verdict.NO), f"interleaved-{gains[0][0].name}"
    starts = min(row.starts for _, row in gains)
    return Answer(verdict, (gained, *costs), Basis.STARTS_BY_SLICE, starts, steps=steps, figure=figure)
