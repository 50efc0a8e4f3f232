"""Draw the conclusion of a run: every rule asked once, the findings in the order in which a reader wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from runners.analysis import facts
from runners.claims import (
    climbing,
    closed_loop,
    cluster,
    faults,
    fixed_rate,
    interleaved,
    rate_steps,
    settings,
    trends,
    validation,
)
from runners.claims.checks import NOTHING_TO_LOOK_AT, checks, cross_checks
from runners.claims.conclusion import Check, Claims, Conclusion
from runners.claims.next_steps import next_steps
from runners.claims.published import comparison, missed_in, not_repeated
from runners.claims.question import Asked, Evidence, answered
from runners.design.session import RATE_STEP, SHARED, SOLO
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run

WORKLOADS = ("put", "get")
#: Looks at a run and claims what its kind of experiment lets it, or nothing.
Analyser = Callable[[Run], Claims | None]
#: In the order in which their findings stand.
ANALYSERS: tuple[Analyser, ...] = (
    cluster.analyse, faults.analyse, closed_loop.analyse, settings.analyse_knees, climbing.analyse, rate_steps.analyse,
    interleaved.analyse, settings.analyse_stores, validation.analyse, trends.analyse, validation.analyse_hosts,
)  # fmt: skip


def conclude(run: Run, published: Mapping[str, ConsoleReport], questions: Sequence[Asked] = ()) -> Conclusion:
    """Explain a run with the published outputs, named as in data/published (`report-1/put`).

    Any run can be given: interrupted, with failed or missing steps, or made with another generator. What is not there
    is said to be missing; from a step that is invalid or saturated no latency is quoted.
    """
    workloads, engines = _workloads(run, published), _engines(run)
    claimed = [claims for analyser in ANALYSERS if (claims := analyser(run)) is not None]
    tells_itself = any(step.kind in (RATE_STEP, SOLO, SHARED) for step in run.steps)  # a ladder or a comparison
    asked = bool(run.find(kind="load")) or not tells_itself
    answers = [
        (engine, work, fixed_rate.answer(run, engine, work))
        for engine, work in product(engines, workloads)
        if asked and _expected(run, engine, work)
    ]
    outputs = {name.rpartition("/")[2]: (name, output) for name, output in reversed(list(published.items()))}
    missed, comparisons = [finding for claims in claimed for finding in claims.missed], []
    for work in (each for each in workloads if each in outputs):
        (name, output), steps = outputs[work], fixed_rate.clean_steps(run, engines, work)
        comparisons.append(comparison(run, work, name, output, steps))
        missed += missed_in(work, name, output, steps, run.steps)
    missed += filter(None, [not_repeated(name for name, _ in outputs.values())])
    headlines = [*(claims.answer for claims in claimed), fixed_rate.headline(answers)]
    findings = (
        *(finding for claims in claimed for finding in claims.findings),
        *fixed_rate.findings(run, engines, workloads, [finding for _, _, finding in answers]),
    )
    return Conclusion(
        title=str(run.manifest.get("title") or run.name),
        answer=" ".join(filter(None, headlines)) or "Nothing was measured.",
        findings=findings,
        checks=_checks(run, claimed, asked),
        comparison=tuple(comparisons),
        missed=tuple(missed),
        next_steps=(*(finding for claims in claimed for finding in claims.next_steps), *next_steps(run)),
        answers=answered(questions, Evidence(run, (*findings, *missed), published)),
    )


def _checks(run: Run, claimed: list[Claims], asked: bool) -> tuple[Check, ...]:
    own = tuple(check for claims in claimed for check in claims.checks)
    every = (*checks(run), *cross_checks(run))
    return (*own, *every) if asked else (*own, *(check for check in every if check.text != NOTHING_TO_LOOK_AT))


def _expected(run: Run, engine: str, workload: str) -> bool:
    """Give whether a load of an engine was planned: a complete run has at least its probe, or any other step of it."""
    return run.manifest.get("status") != "complete" or bool(run.find(subject=engine, workload=workload))


def _workloads(run: Run, published: Mapping[str, ConsoleReport]) -> list[str]:
    """Workloads that were measured, and those that were published and so should have been."""
    climbed = {step.workload for step in run.steps if step.kind == RATE_STEP}  # a ladder's warm-up is a probe too
    seen = {step.workload for step in run.steps if step.kind in ("load", "floor")}
    seen |= {step.workload for step in run.steps if step.kind == "probe"} - climbed
    seen |= {name.rpartition("/")[2] for name in published}
    return [work for work in WORKLOADS if work in seen] + sorted(seen - set(WORKLOADS) - {""})


def _engines(run: Run) -> list[str]:
    """Engines that were asked for, then others that were measured."""
    asked = str((run.manifest.get("parameters") or {}).get("engines") or "")
    named = [engine.strip() for engine in asked.split(",") if engine.strip()]
    return list(dict.fromkeys([*named, *facts.engines(run.find(kind="load"))]))
