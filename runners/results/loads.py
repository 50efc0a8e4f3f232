"""Loads of servers at one rate, one after the other: whether their medians differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.instrument import UNIT_US, incomparable
from runners.analysis.intervals import Bounded, difference
from runners.results.answer import Answer, Answering, Basis, Measure, Needed, Unit, Verdict, all_parts, any_part
from runners.results.comparisons import together

if TYPE_CHECKING:
    from runners.results.results import Results

MEDIAN = 0.5


def medians_apart(workloads: Sequence[str], first: str, second: str) -> Answering:
    """Answer: does the second server's median differ from the first's at the same rate?

    Never a no: one run of each shows no variability from start to start, so a difference within it is inconclusive.
    """

    def answer(results: Results) -> Answer | None:
        measures, verdicts, steps = [], [], []
        for workload in workloads:
            pair = [facts.clean(results.run, subject, workload) for subject in (first, second)]
            values = [facts.quoted(step, MEDIAN) if step is not None else None for step in pair]
            if values[0] is None or values[1] is None:
                continue
            own = Measure.of(f"{facts.engine_name(second)} {workload.upper()} p50", values[1], Unit.LATENCY_US)
            measures.append(own.against(Measure(facts.engine_name(first), values[0].value, Unit.LATENCY_US)))
            compared = not any(incomparable(results.steps, step, MEDIAN) for step in pair if step is not None)
            change = difference(values[1], values[0]) if compared else Bounded(math.nan)
            verdicts.append(Verdict.YES if apart(change) else Verdict.INCONCLUSIVE)
            steps += [step.name for step in pair if step is not None]
        if not measures:
            return None
        verdict, figure = all_parts(verdicts), f"spectrum-{workloads[0]}"
        return Answer(
            verdict, tuple(measures), Basis.LOADS, len(steps), Needed.INTERLEAVED, steps=tuple(steps), figure=figure
        )  # fmt: skip

    return answer


def apart(change: Bounded) -> bool:
    """Return whether a change of latency lies beyond zero by at least the unit in which latencies are kept."""
    return change.low >= UNIT_US or change.high <= -UNIT_US


def servers_apart(results: Results) -> Answer | None:
    """Answer: does the median of any server differ from the first's at the same rate? Yes where one does."""
    loads = list(results.clean_loads())
    first, *others = dict.fromkeys(step.subject for step in loads) or ("",)
    workloads = list(dict.fromkeys(step.workload for step in loads))
    answers = [given for other in others if (given := medians_apart(workloads, first, other)(results)) is not None]
    if not answers:
        return None
    whole = together(answers, any_part)
    return replace(whole, count=len(whole.steps))
