"""Can these numbers be trusted? One check a question, over all measured steps, each with its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from runners.explain import facts, resolution, words
from runners.explain.audit.audit import audit
from runners.explain.conclusion import Check
from runners.explain.steady import head, steadiness
from runners.read.outputs import find_outputs
from runners.read.run import Run, Step

STEAL_LIMIT = 0.01  # of all cores
FOREIGN_LIMIT_CORES = 0.25
LOAD_PER_CORE_LIMIT = 0.5
RUNG = "rung"
PROFILED = "rung-profiled"
TURN, TURN_PROFILED = "turn", "turn-profiled"
#: Steps with these in their metadata are told by a teller of their own, also when they are not valid.
TOLD_ELSEWHERE = {"ablation", "fault", "turn", "outage"}
NOTHING_TO_LOOK_AT = "No step to look at."
FEWEST_PROFILE_SAMPLES = 300  # then a share of 50 % is known to about 6 %


@dataclass(frozen=True, slots=True)
class _Verdict:
    ok: bool | None
    text: str


def checks(run: Run) -> tuple[Check, ...]:
    """Every check of a run, in the order in which a reader asks."""
    if rounds := run.find(kind="round"):  # generators were measured, not a server: their teller has checks of its own
        return (_complete(run), _over("transport", rounds, _transport), _machine(run, rounds), _readable(run))
    if loops := run.find(kind="loop"):  # in closed loop there is no rate to hold and no floor at it
        return tuple(_of_loops(run, loops))
    if not run.steps and run.frames:  # it looked at other runs
        return (_complete(run),)
    clean = run.find(kind="load", profiled=False)
    profiled = run.find(kind="load", profiled=True)
    measured = [*clean, *run.find(kind="floor")]
    return (
        _complete(run),
        _over("offered and achieved rate", clean, _rate),
        _over("samples", clean, _samples),
        _over("errors", [*clean, *profiled], _errors),
        _over("generator kept up", measured, _kept_up),
        _over("end of an answer", measured, _arrival),
        _over("instrument floor", clean, lambda step: _floor(step, facts.floor(run, step.workload))),
        _over("resolution", clean, lambda step: _resolution(step, facts.floor(run, step.workload))),
        _over("steady", clean, _steady),
        _over("causes recorded", clean, _causes),
        _over("transport", clean, _transport),
        _over("profiler", profiled, _profiler),
        _machine(run, measured),
        *_sentinel(run),
        _over("data in the store", clean, _data),
        _readable(run),
        _audited([*measured, *profiled]),
    )


def _of_loops(run: Run, loops: list[Step]) -> Iterator[Check]:
    clean = [step for step in loops if not step.profiled]
    yield _complete(run)
    yield _over("profiler", [step for step in loops if step.profiled], _profiler)
    yield _machine(run, clean)
    yield from _sentinel(run)
    yield _readable(run)
    yield _audited(step for step in clean if step.workload != "get-few")  # its 404s are what it is there for


def _over(name: str, steps: Iterable[Step], check: Callable[[Step], _Verdict]) -> Check:
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
        text = "; ".join(f"{words.listed(labels)}: {text}" for text, labels in texts.items())
    return Check(name, all(known) if known else None, words.sentence(text), tuple(step.name for step, _ in verdicts))


def _sentinel(run: Run) -> Iterator[Check]:
    """Runs made before there was a sentinel have none, and nothing is said of it."""
    if told := run.manifest.get("sentinel"):
        yield Check("machine as usual", told.get("ok"), str(told.get("text")), ("sentinel",))


def _complete(run: Run) -> Check:
    status = run.manifest.get("status")
    text = facts.how_it_ended(run)
    if run.unfinished:
        text += f"; {words.listed(run.unfinished)} was begun and not finished"
    bad = [
        step
        for step in run.steps
        if not step.valid and step.kind not in (RUNG, PROFILED) and not step.meta.keys() & TOLD_ELSEWHERE
    ]  # a ladder and a switch say that of their own
    if bad:
        text += "; " + "; ".join(f"{step.label}: {facts.why_not(step)}" for step in bad)
    return Check("run", status == "complete" and not bad, words.sentence(text), tuple(step.name for step in bad))


def _rate(step: Step) -> _Verdict:
    offered, achieved, held = facts.offered_rps(step), facts.achieved_rps(step), facts.held_share(step)
    if not words.known(held):
        return _Verdict(None, "the rates are not known")
    text = f"{words.rate(achieved)} of {words.rate(offered)} ({words.percent(held)})"
    censored = facts.number(step, "censored")
    if words.known(censored) and censored:
        text += f", {words.count(censored)} requests without an answer at the end"
    return _Verdict(held >= facts.HELD, text)


def _samples(step: Step) -> _Verdict:
    count = facts.samples(step)
    if not count:
        return _Verdict(False, "no latency was recorded")
    thin = facts.thin_levels(step)
    text = f"{words.count(count)} samples"
    if thin:
        text += f", fewer than {facts.ENOUGH_BEYOND} beyond {words.listed(words.level(level) for level in thin)}"
    return _Verdict(not any(level <= 0.99 for level in thin), text)


def _errors(step: Step) -> _Verdict:
    kinds = {
        "connect_errors": "connect",
        "read_errors": "read",
        "write_errors": "write",
        "timeouts": "timeout",
        "parse_errors": "parse",
    }
    if step.frames["summary"].empty:
        return _Verdict(None, "not known")
    found = {word: facts.number(step, column) for column, word in kinds.items()}
    parts = [f"{words.count(number)} {word}" for word, number in found.items() if words.known(number) and number]
    status = step.frames["status"]
    bad = status[~status["code"].str.startswith(("2", "3"))]
    if not bad.empty:
        pairs = zip(bad["code"], bad["count"], strict=True)
        parts += [f"{words.count(int(number))} answers {code}" for code, number in pairs]
    else:
        non_2xx = facts.number(step, "non_2xx")
        parts += [f"{words.count(non_2xx)} answers other than 2xx and 3xx"] if words.known(non_2xx) and non_2xx else []
    return _Verdict(not parts, words.listed(parts) or "none")


_CLOCKS = {
    "kernel": "stamped by the kernel, the generator's own waking is not in it",
    "user": "read by the generator once it was awake, its own waking is in it",
}


def _kept_up(step: Step) -> _Verdict:
    summary = step.frames["summary"]
    kept = None if summary.empty or pd.isna(summary["kept_up"].iloc[0]) else bool(summary["kept_up"].iloc[0])
    if kept is None:
        return _Verdict(None, f"{facts.tool(step)} does not tell")
    lag = facts.number(step, "lag_p99_us")
    text = "yes" if kept else "no"
    text += f", p99 of its own lateness {words.latency(lag)}" if words.known(lag) else ""
    return _Verdict(kept, text)


def _arrival(step: Step) -> _Verdict:
    clock = _CLOCKS.get(facts.receive_clock(step) or "")
    return _Verdict(True if clock else None, clock or f"{facts.tool(step)} does not tell; its own waking may be in it")


def _floor(step: Step, floor: Step | None) -> _Verdict:
    if floor is None:
        return _Verdict(None, "not measured")
    if not facts.quotable(floor):
        return _Verdict(False, f"can't be used ({facts.why_not(floor)})")
    p50, p99 = facts.at(floor, 0.5), facts.at(floor, 0.99)
    text = f"its p50 {words.latency(p50.value if p50 else None)}, p99 {words.latency(p99.value if p99 else None)}"
    ours, theirs = facts.offered_rps(step), facts.offered_rps(floor)
    if words.known(ours) and words.known(theirs) and abs(ours - theirs) > 0.01 * ours:
        return _Verdict(False, f"{text}, but at {words.rate(theirs)} instead of {words.rate(ours)}")
    return _Verdict(True, f"{text} at {words.rate(theirs)}")


def _resolution(step: Step, floor: Step | None) -> _Verdict:
    """The sentence that every report prints; of a floor at another rate it would be about something else."""
    resolved = resolution.of_floor(floor)
    same = floor is not None and floor.meta.get("connections") == step.meta.get("connections")
    if resolved is None or not same or abs(resolved.rate_rps - facts.offered_rps(step)) > 0.01 * resolved.rate_rps:
        return _Verdict(None, resolution.UNKNOWN)
    return _Verdict(True, resolved.sentence())


def _steady(step: Step) -> _Verdict:
    seen = steadiness(step)
    if seen.steady is None:
        return _Verdict(None, f"{seen.seconds} whole seconds are too few to tell")
    if not seen.steady:
        return _Verdict(False, f"never in {seen.seconds} seconds; the median drifts by {words.percent(seen.drift)}")
    if not seen.from_s:
        return _Verdict(True, f"from the first of {seen.seconds} seconds on")
    text = f"from second {seen.from_s:.0f} of {seen.seconds} on (the {seen.last_to_settle} settled last)"
    before = head(step)
    if before is not None:
        text += (
            f"; without what came before p99 is {words.latency(before.steady_us)}, not {words.latency(before.whole_us)}"
        )
    return _Verdict(True, text)


def _causes(step: Step) -> _Verdict:
    if step.frames["slices"].empty:
        return _Verdict(None, "latency was not recorded by tenths of a second")
    if note := step.meta.get("events_note"):
        return _Verdict(False, f"the flight recorder failed: {str(note).splitlines()[0]}")
    parts = ["latency", "pauses"]
    parts += ["threads and machine"] if not step.frames["activity"].empty else []
    parts += ["events of store, compiler and disk"] if "events_note" in step.meta else []
    return _Verdict(True, f"{words.listed(parts)} are there by tenths of a second or finer")


def _transport(step: Step) -> _Verdict:
    transport = ((step.meta.get("server") or {}).get("ready") or {}).get("transport")
    if not transport:
        return _Verdict(None, "not known")
    return _Verdict(transport == "native", str(transport))


def _profiler(step: Step) -> _Verdict:
    profiler = step.meta.get("profiler") or {}
    counted = profiler.get("samples") or {}
    if not counted:
        return _Verdict(False, "recorded nothing")
    parts = [f"{words.count(number)} {event}" for event, number in counted.items()]
    text = f"engine {profiler.get('engine') or words.UNKNOWN}, samples: {words.listed(parts)}"
    enough = all(counted.get(event, 0) >= FEWEST_PROFILE_SAMPLES for event in ("cpu",) if event in step.profiled)
    return _Verdict(enough, text + (f"; {profiler['note']}" if profiler.get("note") else ""))


def _machine(run: Run, steps: list[Step]) -> Check:
    """Steal, foreign load and load average; the worst step counts."""
    machine = run.manifest.get("machine") or {}
    parts: list[str] = []
    oks: list[bool] = []
    rows = [step.frames["telemetry"] for step in steps if not step.frames["telemetry"].empty]
    if rows:
        steal = max(float(frame["steal_share"].mean()) for frame in rows)
        foreign = max(float(frame["foreign_cpu_cores"].mean()) for frame in rows)
        if words.known(steal):
            parts.append(f"steal {words.percent(steal)}")
            oks.append(steal <= STEAL_LIMIT)
        if words.known(foreign):
            parts.append(f"{foreign:.2f} cores used by others")
            oks.append(foreign <= FOREIGN_LIMIT_CORES)
    load, cores = machine.get("load_average"), machine.get("cores")
    if load and cores:
        parts.append(f"load average {load[0]:.2f} on {cores} cores at the start")
        oks.append(load[0] <= LOAD_PER_CORE_LIMIT * cores)
    return Check("machine", all(oks) if oks else None, words.sentence(", ".join(parts) or "nothing is known"))


def _data(step: Step) -> _Verdict:
    before, after = step.meta.get("store_before") or {}, step.meta.get("store_after") or {}
    had, has = before.get("entries_estimate"), after.get("entries_estimate")
    if step.workload == "get":
        if had is None:
            return _Verdict(None, "not known")
        return _Verdict(had > 0, f"about {words.count(had)} entries before")
    if has is None:
        return _Verdict(None, "not known")
    return _Verdict(has > 0, f"about {words.count(had or 0)} entries before, {words.count(has)} after")


def _readable(run: Run) -> Check:
    broken = [(step, problem) for step in run.steps for problem in step.meta.get("unreadable") or ()]
    if not broken:
        return Check("raw files", True, "All were read.")
    text = "; ".join(f"{step.name}: {problem}" for step, problem in broken)
    return Check("raw files", False, words.sentence(text), tuple(dict.fromkeys(step.name for step, _ in broken)))


def _audited(steps: Iterable[Step]) -> Check:
    """The rules that any published report is held to (`lab audit`), on our own consoles."""
    found = audit(find_outputs(step.folder.console) for step in steps if step.folder.console.is_file())
    if not found.outputs:
        return Check("audit", None, "No console output to audit.")
    seen = [f"{rule.code} in {words.count(on)} ({rule.reason})" for rule, on, _ in found.counts]
    told = "; ".join(seen) or "nothing found"
    text = f"{words.count(len(found.outputs))} outputs under the rules of `lab audit`: {told}"
    bad = dict.fromkeys(remark.output.path.parent.name for remark in found.of(words.Severity.ERROR))
    return Check("audit", not found.failed, words.sentence(text), tuple(bad))
