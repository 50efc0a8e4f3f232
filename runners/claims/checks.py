"""Can these numbers be trusted? One check a question, over all measured steps, each with its figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from runners.analysis import facts, floors
from runners.audit.audit import audit
from runners.claims import step_checks as on
from runners.claims.conclusion import Check
from runners.design.session import PROFILED_RATE_STEP, RATE_STEP
from runners.readers import write
from runners.readers.outputs import find_outputs
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

STEAL_LIMIT = 0.01  # of all cores
FOREIGN_LIMIT_CORES = 0.25
LOAD_PER_CORE_LIMIT = 0.5
TURN, TURN_PROFILED = "turn", "turn-profiled"
#: Steps with these in their metadata are the matter of an analyser of their own, also when they are not valid.
NOTHING_TO_LOOK_AT = "No step to look at."


def checks(run: Run) -> tuple[Check, ...]:
    """Every check of a run, in the order in which a reader asks."""
    if rounds := run.find(kind="round"):  # generators were measured, not a server: their analyser has checks of its own
        return (_complete(run), _over("transport", rounds, on.transport), _machine(run, rounds), _readable(run))
    if loops := run.find(kind="loop"):  # in closed loop there is no rate to hold and no floor at it
        return tuple(_of_loops(run, loops))
    if not run.steps and run.frames:  # it looked at other runs
        return (_complete(run),)
    clean = run.find(kind="load", profiled=False)
    profiled = run.find(kind="load", profiled=True)
    measured = [*clean, *run.find(kind="floor")]
    return (
        _complete(run),
        _over("offered and achieved rate", clean, on.rate),
        _over("samples", clean, on.samples),
        _over("errors", [*clean, *profiled], on.errors),
        _over("generator kept up", measured, on.kept_up),
        _over("end of a response", measured, on.arrival),
        _over("instrument floor", clean, lambda step: on.floor(step, _floor(run, step))),
        _resolution(run, clean),
        _over("steady", clean, on.steady),
        _over("compiler at rest", clean, on.compiler),
        _over("causes recorded", clean, on.causes),
        _over("transport", clean, on.transport),
        _over("profiler", profiled, on.profiler),
        _machine(run, measured),
        *_sentinel(run),
        _over("data in the store", clean, on.data),
        _readable(run),
        _audited([*measured, *profiled]),
    )


def _of_loops(run: Run, loops: list[Step]) -> Iterator[Check]:
    clean = [step for step in loops if not step.profiled]
    yield _complete(run)
    yield _over("profiler", [step for step in loops if step.profiled], on.profiler)
    yield _resolution(run, [])
    yield _machine(run, clean)
    yield from _sentinel(run)
    yield _readable(run)
    # the 404s of get-few and the 44 ms are what the run is there for
    yield _audited((step for step in clean if step.workload != "get-few"), ("NET001",))


def _over(name: str, steps: Iterable[Step], check: Callable[[Step], on.Verdict]) -> Check:
    """One check over several steps: it fails if one fails, and is unknown if nothing can be said on any."""
    verdicts = [(step, check(step)) for step in steps]
    if not verdicts:
        return Check(name, None, NOTHING_TO_LOOK_AT)
    known = [verdict.ok for _, verdict in verdicts if verdict.ok is not None]
    texts: dict[str, list[str]] = {}
    for step, verdict in verdicts:
        label = facts.title(step) + (" profiled" if step.profiled else "") + (" floor" if step.kind == "floor" else "")
        texts.setdefault(verdict.text, []).append(label)
    if len(texts) == 1:
        text = next(iter(texts))
    else:
        text = "; ".join(f"{write.listed(labels)}: {text}" for text, labels in texts.items())
    return Check(name, all(known) if known else None, write.sentence(text), tuple(step.name for step, _ in verdicts))


def _floor(run: Run, step: Step) -> Step | None:
    """The floor that was taken for a step's workload, else one at its rate."""
    return facts.floor(run, step.workload) or floors.own(run.steps, step)


def _resolution(run: Run, loads: list[Step]) -> Check:
    """What the instrument resolves; of a run without loads, whose rates have no floor, at that of the sentinel."""
    before = floors.before(run.steps)
    if loads or not run.steps:
        return _over("resolution", loads, lambda step: on.resolvable(step, _floor(run, step), before))
    text = on.resolved_before(before, "the rates of this run")
    return Check("resolution", None, write.sentence(text), (before.name,) if before is not None else ())


def _sentinel(run: Run) -> Iterator[Check]:
    """Runs made before there was a sentinel have none, and nothing is said of it."""
    if told := run.manifest.get("sentinel"):
        yield Check("machine as usual", told.get("ok"), str(told.get("text")), ("sentinel",))


def _complete(run: Run) -> Check:
    status = run.manifest.get("status")
    text = facts.how_it_ended(run)
    if resumed := run.manifest.get("resumed_unix_s"):
        text += f"; it was measured in {write.count(len(resumed) + 1)} sessions"
    if run.unfinished:
        text += f"; {write.listed(run.unfinished)} was begun and not finished"
    bad = [
        step
        for step in run.steps
        if not step.valid and step.kind not in (RATE_STEP, PROFILED_RATE_STEP) and not step.record.own_section
    ]  # a ladder and a switch say that of their own
    if bad:
        text += "; " + "; ".join(f"{step.label}: {facts.why_not(step)}" for step in bad)
    return Check("run", status == "complete" and not bad, write.sentence(text), tuple(step.name for step in bad))


def _machine(run: Run, steps: list[Step]) -> Check:
    """Steal, foreign load and load average; the worst step counts."""
    machine = run.manifest.get("machine") or {}
    parts: list[str] = []
    oks: list[bool] = []
    steal, foreign = _means(steps, "steal_share"), _means(steps, "foreign_cpu_cores")
    if steal:
        most = max(steal.values())
        parts.append(f"steal {write.percent(most)}")
        oks.append(most <= STEAL_LIMIT)
    if foreign:
        worst = max((step for step in steps if step.name in foreign), key=lambda step: foreign[step.name])
        oks.append(foreign[worst.name] <= FOREIGN_LIMIT_CORES)
        parts.append(f"{foreign[worst.name]:.2f} cores used by others{'' if oks[-1] else _who(worst)}")
    load, count = machine.get("load_average"), machine.get("cores")
    if load and count:
        parts.append(f"load average {load[0]:.2f} on {count} cores at the start")
        oks.append(load[0] <= LOAD_PER_CORE_LIMIT * count)
    return Check("machine", all(oks) if oks else None, write.sentence(", ".join(parts) or "nothing is known"))


def _means(steps: list[Step], column: str) -> dict[str, float]:
    """The mean of a column of the telemetry by step; what is not known of a step is left out."""
    means = {step.name: float(step.frames["telemetry"][column].mean()) for step in steps}
    return {name: mean for name, mean in means.items() if write.known(mean)}


def _who(step: Step) -> str:
    """In which load, and who used most; a run of an earlier lab does not tell, nor what lived shorter than the load."""
    names = write.listed(f"{each.name} {each.cores:.2f}" for each in step.record.others)
    return f" in {step.label}{f' ({names})' if names else ''}"


def _readable(run: Run) -> Check:
    broken = [(step, problem) for step in run.steps for problem in step.unreadable]
    if not broken:
        return Check("raw files", True, "All were read.")
    text = "; ".join(f"{step.name}: {problem}" for step, problem in broken)
    return Check("raw files", False, write.sentence(text), tuple(dict.fromkeys(step.name for step, _ in broken)))


def _audited(steps: Iterable[Step], reproduced: Collection[str] = ()) -> Check:
    """The rules that any published report is held to (`lab audit`), on our own consoles.

    A fault that the run is there to reproduce is told, and does not fail it.
    """
    found = audit(find_outputs(step.folder.console) for step in steps if step.folder.console_text() is not None)
    if not found.outputs:
        return Check("audit", None, "No console output to audit.")
    seen = [
        f"{rule.code} in {write.count(many)} ({rule.reason}{'; this run reproduces it' * (rule.code in reproduced)})"
        for rule, many, _ in found.counts
    ]
    told = "; ".join(seen) or "nothing found"
    text = f"{write.count(len(found.outputs))} outputs under the rules of `lab audit`: {told}"
    errors = [remark for remark in found.of(Severity.ERROR) if remark.code not in reproduced]
    bad = dict.fromkeys(remark.output.path.parent.name for remark in errors)
    return Check("audit", not errors, write.sentence(text), tuple(bad))
