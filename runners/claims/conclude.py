"""The conclusion of a run: every rule asked once, the findings in the order in which a reader wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from runners.analysis import facts, machine_stalls, tail_attribution
from runners.analysis.finding import Anchor, Finding
from runners.analysis.steady_state import Steadiness, head, steadiness
from runners.claims import (
    against,
    answer,
    climbing,
    closed_loop,
    cluster,
    executions,
    faults,
    hosts,
    interleaved,
    profile,
    rate_steps,
    stores,
    trends,
    validation,
)
from runners.claims.checks import NOTHING_TO_LOOK_AT, checks, cross_checks
from runners.claims.conclusion import Check, Claims, Conclusion
from runners.claims.next_steps import next_steps
from runners.claims.questions import Asked, Evidence, answered
from runners.design.session import RATE_STEP, SHARED, SOLO
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

WORKLOADS = ("put", "get")
HEAD_MATTERS = 0.1  # of the p99: a smaller change is within what a run tells
#: Looks at a run and claims what its kind of experiment lets it, or nothing.
Analyser = Callable[[Run], Claims | None]
#: In the order in which their findings stand.
ANALYSERS: tuple[Analyser, ...] = (
    cluster.analyse,
    faults.analyse,
    executions.analyse,
    climbing.analyse,
    rate_steps.analyse,
    interleaved.analyse,
    stores.analyse,
    validation.analyse,
    closed_loop.analyse,
    trends.analyse,
    hosts.analyse,
)


def conclude(run: Run, published: Mapping[str, ConsoleReport], questions: Sequence[Asked] = ()) -> Conclusion:
    """Explain a run beside the published outputs, named as in data/published (`report-1/put`).

    Any run can be given: interrupted, with failed or missing steps, or made with another generator. What is not there
    is said to be missing; from a step that is invalid or saturated no latency is quoted.
    """
    workloads, engines = _workloads(run, published), _engines(run)
    claimed = [claims for analyser in ANALYSERS if (claims := analyser(run)) is not None]
    asked = bool(run.find(kind="load")) or not _tells_itself(run)
    answers = [
        (engine, work, answer.answer(run, engine, work))
        for engine in engines
        for work in workloads
        if asked and _expected(run, engine, work)
    ]
    outputs = {work: _of(published, work) for work in workloads}
    missed: list[Finding] = []
    comparisons = []
    for work in workloads:
        name, output = outputs[work]
        if output is None:
            continue
        steps = _clean_steps(run, engines, work)
        comparisons.append(against.comparison(run, work, name, output, steps))
        missed += against.missed(work, name, output, steps)
    if repeated := against.not_repeated({name: out for name, out in outputs.values() if out is not None}):
        missed.append(repeated)
    headlines = [claims.answer for claims in claimed if claims.answer]
    if answers:
        headlines.append(answer.headline(answers))
    findings = (
        *(finding for claims in claimed for finding in claims.findings),
        *_findings(run, engines, workloads, [finding for _, _, finding in answers]),
    )
    missed = [*(finding for claims in claimed for finding in claims.missed), *missed]
    return Conclusion(
        title=str(run.manifest.get("title") or run.name),
        answer=" ".join(headlines) or "Nothing was measured.",
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
    """Whether a load of an engine was planned: a complete run has at least its probe, or any other step of it."""
    return run.manifest.get("status") != "complete" or bool(run.find(subject=engine, workload=workload))


def _tells_itself(run: Run) -> bool:
    """Whether this run is a ladder or a comparison: it is not asked for loads."""
    return any(step.kind in (RATE_STEP, SOLO, SHARED) for step in run.steps)


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


def _of(published: Mapping[str, ConsoleReport], workload: str) -> tuple[str, ConsoleReport | None]:
    for name, output in published.items():
        if name.rpartition("/")[2] == workload:
            return name, output
    return "", None


def _clean_steps(run: Run, engines: list[str], workload: str) -> list[Step]:
    return [step for engine in engines if (step := facts.clean(run, engine, workload)) is not None]


def _findings(run: Run, engines: list[str], workloads: list[str], answers: list[Finding]) -> Iterator[Finding]:
    yield from answers
    for work in workloads:
        steps = _clean_steps(run, engines, work)
        for each in steps:
            if finding := answer.over_floor(each, facts.floor(run, work)):
                yield finding
            if finding := answer.one_spike(each):
                yield finding
        yield from answer.engines_apart(steps, facts.floor(run, work))
    for work in workloads:
        profiles = [step for engine in engines if (step := facts.profiled(run, engine, work)) is not None]
        for step in profiles:
            yield from profile.where(step)
        yield from profile.differences(profiles)
    yield from profile.of_frames(run)
    for work in workloads:
        for step in _clean_steps(run, engines, work):
            yield from tail_attribution.findings(step)
    yield from machine_stalls.findings([step for work in workloads for step in _clean_steps(run, engines, work)])
    for work in workloads:
        for engine in engines:
            if finding := profile.cost(facts.clean(run, engine, work), facts.profiled(run, engine, work)):
                yield finding
            if finding := answer.capacity(run, engine, work):
                yield finding
    yield from _unsteady(run, engines, workloads)


def _unsteady(run: Run, engines: list[str], workloads: list[str]) -> Iterator[Finding]:
    """What never became steady, and a head that moves the p99; the rest is a line in the checks."""
    for work in workloads:
        for step in _clean_steps(run, engines, work):
            seen = steadiness(step)
            if facts.quotable(step) and (finding := _head(step, seen)):
                yield finding
            if facts.quotable(step) and seen.steady is False:
                text = (
                    f"{facts.title(step)} never became steady in {seen.seconds} seconds: the median of a second drifts "
                    f"{write.growth(seen.drift)}"
                )
                evidence: dict[str, write.Value] = {"seconds": seen.seconds, "drift": seen.drift}
                yield Finding(
                    "S01",
                    Severity.WARNING,
                    write.sentence(text),
                    evidence,
                    (step.name,),
                    Anchor.timeline(work),
                    "Warm up longer, or run a larger size.",
                )


def _head(step: Step, seen: Steadiness) -> Finding | None:
    before = head(step)
    if before is None or abs(before.whole_us - before.steady_us) < HEAD_MATTERS * before.steady_us:
        return None
    text = (
        f"The first {write.seconds(seen.from_s)} of {facts.title(step)} are not steady (its {seen.last_to_settle} "
        f"settles last): its p99 is {write.latency(before.whole_us)}, without them {write.latency(before.steady_us)}"
    )
    evidence: dict[str, write.Value] = {
        "steady_from_s": seen.from_s,
        "p99_us": before.whole_us,
        "p99_steady_us": before.steady_us,
    }
    figure, remedy = Anchor.timeline(step.workload), "Warm up longer: the recorded window should begin steady."
    return Finding("S02", Severity.WARNING, write.sentence(text), evidence, (step.name,), figure, remedy)
