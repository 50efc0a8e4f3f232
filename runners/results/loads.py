"""Servers loaded one after the other: whether their medians differ, and the ratio of their closed-loop rates.

Closed loops are measured in rounds, on one connection and on many. A round starts every setting afresh. A ratio of two
rates is the geometric mean of the ratios within rounds. Ratios of several settings separate the parts of a gain.
"""

from collections.abc import Callable, Sequence

from runners.analysis import facts
from runners.analysis.instrument import MEDIAN, UNIT_US, within_instrument
from runners.analysis.intervals import Bounded, difference, geometric_mean
from runners.analysis.steady_state import steadiness
from runners.analysis.validity import Aspect, may_quote
from runners.design.block import FEWEST_STARTS
from runners.design.session import CLOSED
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.comparisons import together
from runners.results.results import Results


@answering
def medians_apart(results: Results, workloads: Sequence[str], first: str, second: str) -> Answer | None:
    """Answer: do the medians of the settings `first` and `second` differ at one rate, under all `workloads`?

    Never no: medians alike, or of a load that never became steady, are inconclusive. None if no workload has both.
    """
    answers = []
    for workload in workloads:
        pair = [step for name in (first, second) if (step := facts.clean(results.run, name, workload)) is not None]
        medians = [value for step in pair if (value := facts.quoted(step, MEDIAN)) is not None]
        if len(medians) < 2:
            continue
        own = Measure.of(f"{facts.engine_name(second)} {workload.upper()} p50", medians[1], Unit.LATENCY_US)
        measure = own.against(Measure(facts.engine_name(first), medians[0].value, Unit.LATENCY_US))
        # a median needs no floor to be compared: the latency that a generator adds cancels
        compared = not any(within_instrument(results.run.steps, step, MEDIAN) for step in pair)
        compared = compared and all(steadiness(step).steady is not False for step in pair)
        change, figure = difference(medians[1], medians[0]), f"spectrum-{workloads[0]}"
        apart = compared and (change.low >= UNIT_US or change.high <= -UNIT_US)
        verdict = Verdict.YES if apart else Verdict.INCONCLUSIVE
        answers.append(Answer.by(pair, Basis.LOADS, verdict, measure, needed=Needed.INTERLEAVED, figure=figure))
    return together(answers, Verdict.of_all) if answers else None


def servers_apart(results: Results) -> Answer | None:
    """Answer: does any server's median differ from the first server's at one rate? Never no; None with one server."""
    loads = list(results.clean_loads())
    first, *others = dict.fromkeys(step.subject for step in loads) or ("",)
    workloads = list(dict.fromkeys(step.workload for step in loads))
    answers = [given for other in others if (given := medians_apart(workloads, first, other)(results)) is not None]
    return together(answers, Verdict.of_any) if answers else None


#: A closed loop: (name of the server's setting, number of connections, name of the workload).
Loop = tuple[str, int, str]
#: The anchor of the figure of closed loops' rates.
RATES = "closed-loop-rates"
#: A value of a step, such as its rate or its CPU time.
Value = Callable[[Step], float]


def _by_round(run: Run, loop: Loop) -> dict[int, Step]:
    subject, connections, workload = loop
    alike = (step for step in run.find(kind=CLOSED, subject=subject, workload=workload) if may_quote(step, Aspect.RATE))
    loops = (step for step in alike if step.record.connections == connections and facts.achieved_rps(step) > 0)
    return {step.record.round or 0: step for step in loops}


def rates(run: Run) -> dict[Loop, Bounded]:
    """Return {closed loop: geometric mean of its rates over rounds (per second)}, for loops measured in rounds."""
    steps = [step for step in run.find(kind=CLOSED) if step.record.round is not None]
    loops = dict.fromkeys((step.subject, step.record.connections or 0, step.workload) for step in steps)
    loops = dict.fromkeys(sorted(loops, key=lambda loop: (-loop[1], loop[2])))
    by_loop = {loop: list(map(facts.achieved_rps, _by_round(run, loop).values())) for loop in loops}
    return {loop: geometric_mean(values) for loop, values in by_loop.items() if values}


def times(
    run: Run, loop: Loop, against: Loop, *, value: Value = facts.achieved_rps
) -> tuple[Bounded, tuple[Step, ...]] | None:
    """Return (geometric mean over rounds of `loop`'s value / `against`'s, the steps); None if no round has both."""
    steps, others = _by_round(run, loop), _by_round(run, against)
    both = {number: (value(steps[number]), value(others[number])) for number in sorted(steps.keys() & others.keys())}
    rounds = [number for number, (own, other) in both.items() if own > 0 and other > 0]
    if not rounds:
        return None
    ratios = [both[number][0] / both[number][1] for number in rounds]
    pairs = tuple(step for number in rounds for step in (steps[number], others[number]))
    return geometric_mean(ratios), pairs


@answering
def more_than(
    results: Results, label: str, loop: Loop, against: Loop, *parts: tuple[Value, str, Loop, Loop], lower: bool = False
) -> Answer | None:
    """Answer: is the rate of `loop` higher (lower if `lower`) than that of `against`? None without shared rounds.

    `label` names this ratio in the answer. `parts` are more ratios to show: (value, label, loop, loop to divide by).
    """
    whole = times(results.run, loop, against)
    if whole is None:
        return None
    ratio, steps = whole
    others = [(text, times(results.run, *pair, value=value)) for value, text, *pair in parts]
    ratios = [(label, ratio), *((text, part[0]) for text, part in others if part is not None)]
    measures, rounds = tuple(Measure.of(text, part, Unit.TIMES) for text, part in ratios), len(steps) // 2
    named, wanted = tuple(dict.fromkeys(step.name for step in steps)), max(2 * rounds, FEWEST_STARTS)
    verdict = Verdict.of(1 - ratio.high, 1 - ratio.low) if lower else Verdict.of(ratio.low - 1, ratio.high - 1)
    return Answer(verdict, measures, Basis.ROUNDS, rounds, Needed.ROUNDS, wanted, named, RATES)
