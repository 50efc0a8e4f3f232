"""Check whether the numbers can be trusted: one check a question, over all measured steps, each with its figures.

Cross-checks ask whether a run's own measurements contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from runners.analysis import facts, instrument, machine_stalls
from runners.analysis.interleaved import Comparison, comparisons
from runners.analysis.knee import rate_interval
from runners.analysis.steady_state import SETTLED_CORES, compiling_cores, head, steadiness
from runners.audit.audit import audit
from runners.claims import profile
from runners.claims.climbing import Ladder, contradictions, ladders
from runners.claims.conclusion import Check
from runners.claims.settings import Knee, knees
from runners.design.objective import THROUGHPUT
from runners.design.session import ALONE, PROFILED_RATE_STEP, RATE_STEP, ROUND, SHARED, SOLO
from runners.design.setting import CEILING
from runners.readers import write
from runners.readers.finding import Severity
from runners.readers.outputs import find_outputs
from runners.readers.run import Run, Step

STEAL_LIMIT = 0.01  # of all cores
FOREIGN_LIMIT_CORES = 0.25
LOAD_PER_CORE_LIMIT = 0.5
#: Steps with these in their metadata are the matter of an analyser of their own, also when they are not valid.
NOTHING_TO_LOOK_AT = "No step to look at."


def checks(run: Run) -> tuple[Check, ...]:
    """Return every check of a run, in the order in which a reader asks."""
    if rounds := run.find(kind="round"):  # generators were measured, not a server: their analyser has checks of its own
        return (_complete(run), _over("transport", rounds, transport), _machine(run, rounds), _readable(run))
    if loops := run.find(kind="loop"):  # in closed loop there is no rate to hold and no floor at it
        return tuple(_of_loops(run, loops))
    if not run.steps and run.frames:  # it looked at other runs
        return (_complete(run),)
    clean = run.find(kind="load", profiled=False)
    profiled = run.find(kind="load", profiled=True)
    measured = [*clean, *run.find(kind="floor")]
    return (
        _complete(run),
        _over("offered and achieved rate", clean, rate),
        _over("samples", clean, samples),
        _over("errors", [*clean, *profiled], failed_requests),
        _over("generator kept up", measured, kept_up),
        _over("end of a response", measured, arrival),
        _over("instrument floor", clean, lambda step: floor(step, _floor(run, step))),
        _resolution(run, clean),
        _over("steady", clean, steady),
        _over("compiler at rest", clean, compiler),
        _over("causes recorded", clean, causes),
        _over("transport", clean, transport),
        _over("profiler", profiled, profiler),
        _machine(run, measured),
        *_sentinel(run),
        _over("data in the store", clean, data),
        _readable(run),
        _audited([*measured, *profiled]),
    )


def _of_loops(run: Run, loops: list[Step]) -> Iterator[Check]:
    clean = [step for step in loops if not step.profiled]
    yield _complete(run)
    yield _over("profiler", [step for step in loops if step.profiled], profiler)
    yield _resolution(run, [])
    yield _machine(run, clean)
    yield from _sentinel(run)
    yield _readable(run)
    # the 404s of get-few and the 44 ms are what the run is there for
    yield _audited((step for step in clean if step.workload != "get-few"), ("NET001",))


def _over(name: str, steps: Iterable[Step], check: Callable[[Step], Verdict]) -> Check:
    """Return one check over several steps: it fails if one fails, and is unknown if nothing can be said on any."""
    verdicts = sorted(((step, check(step)) for step in steps), key=lambda each: each[1].ok is not False)
    if not verdicts:
        return Check(name, None, NOTHING_TO_LOOK_AT)
    known = [verdict.ok for _, verdict in verdicts if verdict.ok is not None]
    texts: dict[str, list[str]] = {}
    for step, verdict in verdicts:
        texts.setdefault(verdict.text, []).append(_label(step))
    if len(texts) == 1:
        text = write.sentence(next(iter(texts)))
    else:
        text = " ".join(write.sentence(f"{write.listed(labels)}: {text}") for text, labels in texts.items())
    ok = all(known) if known else None
    about = [step.name for step, verdict in verdicts if ok is not False or verdict.ok is False]
    notes = Counter(verdict.note for _, verdict in verdicts if verdict.note)
    note = write.listed(f"{said} in {write.several(count, 'load')}" for said, count in notes.items())
    return Check(name, ok, text, tuple(about), note if notes else "")


def _label(step: Step) -> str:
    """Return a step as a reader tells it from the others: RocksDB PUT profiled; one of many rounds or starts by its
    label.
    """
    if step.kind in (ROUND, SHARED, ALONE, SOLO):
        return step.label
    return facts.title(step) + (" profiled" if step.profiled else "") + (" floor" if step.kind == "floor" else "")


def _floor(run: Run, step: Step) -> Step | None:
    """Return the floor that was taken for a step's workload, else one at its rate."""
    return facts.floor(run, step.workload) or instrument.own_floor(run.steps, step)


def _resolution(run: Run, loads: list[Step]) -> Check:
    """Give what the instrument resolves; of a run without loads, whose rates have no floor, at that of the sentinel."""
    before = instrument.floor_before(run.steps)
    if loads or not run.steps:
        return _over("resolution", loads, lambda step: resolvable(step, _floor(run, step), before))
    text = resolved_before(before, "the rates of this run")
    return Check("resolution", None, write.sentence(text), (before.name,) if before is not None else ())


def _sentinel(run: Run) -> Iterator[Check]:
    """Runs made before there was a sentinel have none, and nothing is said of it."""
    if sentinel := run.manifest.get("sentinel"):
        yield Check("machine as usual", sentinel.get("ok"), str(sentinel.get("text")), ("sentinel",))


def _complete(run: Run) -> Check:
    status = run.manifest.get("status")
    bad = [
        step
        for step in run.steps
        if not step.valid and step.kind not in (RATE_STEP, PROFILED_RATE_STEP) and not step.record.own_section
    ]  # a ladder and a switch say that of their own
    # What failed comes first: of a run that is whole in all but some steps these are all there is to say.
    text = facts.how_it_ended(run) if status != "complete" or not bad else f"not valid: {_why_not(bad)}"
    if resumed := run.manifest.get("resumed_unix_s"):
        text += f"; it was measured in {write.count(len(resumed) + 1)} sessions"
    if run.unfinished:
        text += f"; {write.listed(run.unfinished)} was begun and not finished"
    if bad and status != "complete":
        text += f"; not valid: {_why_not(bad)}"
    return Check("run", status == "complete" and not bad, write.sentence(text), tuple(step.name for step in bad))


def _why_not(bad: Sequence[Step]) -> str:
    """Return steps that are not valid, those of one reason together."""
    by_why = facts.grouped(bad, facts.why_not)
    return "; ".join(f"{write.listed(dict.fromkeys(map(_label, steps)))} ({why})" for why, steps in by_why.items())


def _machine(run: Run, steps: list[Step]) -> Check:
    """Steal, foreign load and load average; the worst step counts."""
    machine = run.manifest.get("machine") or {}
    parts: list[str] = []
    oks: list[bool] = []
    steal, foreign = _means(steps, "steal_share"), _means(steps, "foreign_cpu_cores")
    if steal:
        most = max(steal.values())
        oks.append(most <= STEAL_LIMIT)
        parts.append(f"steal {write.percent(most)}{'' if oks[-1] else f' (limit {write.given_share(STEAL_LIMIT)})'}")
    if foreign:
        worst = max((step for step in steps if step.name in foreign), key=lambda step: foreign[step.name])
        oks.append(foreign[worst.name] <= FOREIGN_LIMIT_CORES)
        parts.append(f"{foreign[worst.name]:.2f} cores used by others{'' if oks[-1] else _who(worst)}")
    load, count = machine.get("load_average"), machine.get("cores")
    if load and count:
        limit = LOAD_PER_CORE_LIMIT * count
        oks.append(load[0] <= limit)
        beyond = "" if oks[-1] else f" (limit {limit:g})"
        parts.append(f"load average {load[0]:.2f}{beyond} on {count} cores at the start")
    return Check("machine", all(oks) if oks else None, write.sentence(", ".join(parts) or "nothing is known"))


def _means(steps: list[Step], column: str) -> dict[str, float]:
    """The mean of a column of the telemetry by step; what is not known of a step is left out."""
    means = {step.name: float(step.frames["telemetry"][column].mean()) for step in steps}
    return {name: mean for name, mean in means.items() if write.known(mean)}


WITNESS = "stall-witness"


def _who(step: Step) -> str:
    """In which load, and who used most; a run of an earlier lab does not tell, nor what lived shorter than the load."""
    others = (each for each in step.record.others if each.name != WITNESS)  # the lab's own is nobody else's work
    names = write.listed(f"{each.name} {each.cores:.2f}" for each in others)
    return f" (limit {FOREIGN_LIMIT_CORES:g}; in {_label(step)}{f': {names}' if names else ''})"


def _readable(run: Run) -> Check:
    broken = [(step, problem) for step in run.steps for problem in step.unreadable]
    if not broken:
        return Check("raw files", True, "All were read.")
    text = "; ".join(f"{step.name}: {problem}" for step, problem in broken)
    return Check("raw files", False, write.sentence(text), tuple(dict.fromkeys(step.name for step, _ in broken)))


def _audited(steps: Iterable[Step], reproduced: Collection[str] = ()) -> Check:
    """Return the rules that any published report is held to (`lab audit`), on our own consoles.

    A fault that the run is there to reproduce is named, and does not fail it.
    """
    found = audit(find_outputs(step.folder.console) for step in steps if step.folder.console_text() is not None)
    if not found.outputs:
        return Check("audit", None, "No console output to audit.")
    seen = [
        f"{rule.code} in {write.count(many)} ({rule.reason}{'; this run reproduces it' * (rule.code in reproduced)})"
        for rule, many, _ in found.counts
    ]
    summary = "; ".join(seen) or "nothing found"
    text = f"{write.several(len(found.outputs), 'output')} under the rules of lab audit: {summary}"
    errors = [remark for remark in found.of(Severity.ERROR) if remark.code not in reproduced]
    bad = dict.fromkeys(remark.output.path.parent.name for remark in errors)
    return Check("audit", not errors, write.sentence(text), tuple(bad))


FEWEST_PROFILE_SAMPLES = 300  # then a share of 50 % is known to about 6 %


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok` None: nothing can be said. `note`: in how far only."""

    ok: bool | None
    text: str
    note: str = ""


def rate(step: Step) -> Verdict:
    """Offered and achieved rate."""
    offered, achieved, share = facts.offered_rps(step), facts.achieved_rps(step), facts.achieved_share(step)
    if not write.known(share):
        return Verdict(None, "the rates are not known")
    text = f"{write.rate(achieved)} of {write.rate(offered)} ({write.percent(share)})"
    censored = facts.number(step, "censored")
    if write.known(censored) and censored:
        text += f", {write.several(censored, 'request')} without a response at the end"
    return Verdict(share >= facts.LEAST_ACHIEVED, text)


def samples(step: Step) -> Verdict:
    """Return how many latencies there are, and beyond which percentile too few."""
    count = facts.samples(step)
    if not count:
        return Verdict(False, "no latency was recorded")
    thin = facts.thin_levels(step)
    text = write.several(count, "sample")
    if thin:
        text += f", fewer than {facts.ENOUGH_BEYOND} beyond {write.listed(write.level(level) for level in thin)}"
    return Verdict(not any(level <= 0.99 for level in thin), text)


def failed_requests(step: Step) -> Verdict:
    """Return responses with an error, and what failed, by code."""
    if step.frames["summary"].empty:
        return Verdict(None, "not known")
    found = facts.errors(step)
    non_2xx = found.pop("non_2xx", 0.0)
    parts = [f"{write.count(count)} {facts.ERRORS[kind]}" for kind, count in found.items() if count]
    status = step.frames["status"]
    bad = status[~status["code"].str.startswith(("2", "3"))]
    if not bad.empty:
        pairs = zip(bad["code"], bad["count"], strict=True)
        parts += [write.several(int(number), "response", f" {code}") for code, number in pairs]
    elif non_2xx:
        parts.append(write.several(non_2xx, "response", " other than 2xx and 3xx"))
    return Verdict(not parts, write.listed(parts) or "none")


def kept_up(step: Step) -> Verdict:
    """Return whether the generator kept to its own schedule."""
    summary = step.frames["summary"]
    kept = None if summary.empty or pd.isna(summary["kept_up"].iloc[0]) else bool(summary["kept_up"].iloc[0])
    if kept is None:
        return Verdict(None, f"{facts.tool(step)} does not tell")
    lag = facts.number(step, "lag_p99_us")
    text = "yes" if kept else "no"
    upto = facts.number(step, "kept_up_to")
    partly = kept and write.known(upto) and upto < instrument.THROUGHOUT
    text += f", up to p{upto:g}" if partly else ""
    text += f" (p99 of its lateness {write.latency(lag)})" if write.known(lag) else ""
    text += "; above that the response times are partly its own lateness" if partly else ""
    if held := facts.held(step):
        text += f"; {write.percent(held.share)} of its sends it held back, each for at most "
        text += f"{write.latency(held.most_us)}, so that they left with the next"
    return Verdict(kept, text, f"up to p{upto:g} only" if partly else "")


_CLOCKS = {
    "kernel": "stamped by the kernel, the generator's own waking is not in it",
    "user": "read by the generator once it was awake, its own waking is in it",
}


def arrival(step: Step) -> Verdict:
    """Whose clock ended a response."""
    clock = _CLOCKS.get(facts.receive_clock(step) or "")
    return Verdict(True if clock else None, clock or f"{facts.tool(step)} does not tell; its own waking may be in it")


def floor(step: Step, floor: Step | None) -> Verdict:
    """Return what the instrument itself reads at the same rate."""
    if floor is None:
        return Verdict(None, "not measured")
    if not facts.quotable(floor):
        return Verdict(False, f"can't be used ({facts.why_not(floor)})")
    p50, p99 = facts.at(floor, 0.5), facts.at(floor, 0.99)
    text = f"p50 {write.latency(p50.value if p50 else None)} and p99 {write.latency(p99.value if p99 else None)}"
    ours, theirs = facts.offered_rps(step), facts.offered_rps(floor)
    if write.known(ours) and write.known(theirs) and abs(ours - theirs) > 0.01 * ours:
        return Verdict(False, f"{text}, but at {write.rate(theirs)} instead of {write.rate(ours)}")
    return Verdict(True, f"{text} at {write.rate(theirs)}")


def resolvable(step: Step, floor: Step | None, before: Step | None) -> Verdict:
    """Return the sentence that every report prints: of the load's own floor, or of the fixed load before the campaign.

    The latter is about another rate, so it is no answer.
    """
    resolved = instrument.of_floor(floor) if floor is not None and instrument.taken_at(floor, step) else None
    if resolved is not None:
        return Verdict(True, resolved.sentence())
    return Verdict(None, resolved_before(before, "this load's rate"))


def resolved_before(before: Step | None, here: str) -> str:
    """Return what the fixed load before the campaign resolves, which says nothing on the rates `here`."""
    resolved = instrument.of_floor(before)
    return resolved.elsewhere(here) if resolved is not None else instrument.UNKNOWN


def steady(step: Step) -> Verdict:
    """From when on the step is steady."""
    seen = steadiness(step)
    if seen.steady is None:
        return Verdict(None, f"{seen.seconds} whole seconds are too few to tell")
    if not seen.steady:
        return Verdict(False, f"never in {seen.seconds} seconds, its median drifts {write.growth(seen.drift)}")
    if not seen.from_s:
        return Verdict(True, f"from the first of {seen.seconds} seconds on")
    text = f"from second {seen.from_s:.0f} of {seen.seconds} on (the {seen.last_to_settle} settled last)"
    before = head(step)
    if before is not None:
        text += f"; p99 is {write.latency(before.whole_us)}, without what came before {write.latency(before.steady_us)}"
    return Verdict(True, text)


def compiler(step: Step) -> Verdict:
    """Return whether the server's compiler had little left to do when the step ended."""
    cores = compiling_cores(step)
    if cores is None:
        return Verdict(None, "not recorded")
    text = f"{cores:.2f} cores in the last second"
    return Verdict(True, text) if cores <= SETTLED_CORES else Verdict(False, f"{text}, so the server was not warm yet")


def causes(step: Step) -> Verdict:
    """Return whether what explains a tail was recorded."""
    if step.frames["slices"].empty:
        return Verdict(None, "latency was not recorded by tenths of a second")
    if note := step.record.events_note:
        return Verdict(False, f"the flight recorder failed: {str(note).splitlines()[0]}")
    parts = ["latency"] if step.record.server.left_out else ["latency", "pauses"]
    parts += ["threads and machine"] if not step.frames["activity"].empty else []
    parts += ["events of store, compiler and disk"] if step.record.events_recorded else []
    text = f"{write.listed(parts)} are there by tenths of a second or finer"
    missing = step.record.server.left_out
    return Verdict(True, text + (f"; this server can't give: {write.listed(missing)}" if missing else ""))


def transport(step: Step) -> Verdict:
    """Return whether the server used its native transport."""
    transport = step.record.server.ready.get("transport")
    if not transport:
        return Verdict(None, "not known")
    return Verdict(transport == "native", str(transport))


def profiler(step: Step) -> Verdict:
    """Return which engine profiled, and how many samples it took."""
    profiler = step.record.profiler
    counted = profiler.samples
    if not counted:
        return Verdict(False, "recorded nothing")
    parts = [f"{write.count(number)} {event}" for event, number in counted.items()]
    text = f"engine {profiler.engine or write.UNKNOWN}, samples: {write.listed(parts)}"
    enough = all(counted.get(event, 0) >= FEWEST_PROFILE_SAMPLES for event in ("cpu",) if event in step.profiled)
    return Verdict(enough, text + (f"; {profiler.note}" if profiler.note else ""))


def data(step: Step) -> Verdict:
    """Return what the store held, before and after."""
    before, after = step.record.store_before, step.record.store_after
    had, has = before.entries_estimate, after.entries_estimate
    if step.workload == "get":
        if had is None:
            return Verdict(None, "not known")
        return Verdict(had > 0, f"about {write.count(had)} entries before")
    if has is None:
        return Verdict(None, "not known")
    return Verdict(has > 0, f"about {write.count(had or 0)} entries before, {write.count(has)} after")


MOST_NAMED = 3


def cross_checks(run: Run) -> Iterator[Check]:
    """Yield a check for each kind of measurement that another one can contradict."""
    if profiled := [step for step in run.steps if step.profiled and write.known(facts.offered_rps(step))]:
        yield _profiled(profiled)
        yield _own_share(profiled)
    if floored := [
        (s, f) for s in run.find(kind="load", profiled=False) if (f := instrument.own_floor(run.steps, s)) is not None
    ]:
        yield _faster(floored)
    if len(left_out := [(s, u) for s in run.find(kind="load", profiled=False) if (u := machine_stalls.of(s))]) > 1:
        yield _left_out(left_out)
    if nothing := [(w, each) for w, each in knees(run).items() if any(_is_nothing(knee) for knee in each)]:
        yield _ceiling(nothing)
    if searched := [each for each in ladders(run) if each.base is not None and each.base.knee is not None]:
        yield _rate_steps(run, searched)
    if pairs := list(_closed_loops(run)):
        yield _below_knees(run, pairs)


def _profiled(steps: list[Step]) -> Check:
    """A profile is evidence for a rate only where the load kept it."""
    bad = [step for step in steps if not facts.achieved_share(step) >= facts.LEAST_ACHIEVED]
    text = f"{write.count(len(steps) - len(bad))} of {write.several(len(steps), 'profiled load')} kept their rate"
    if bad:
        said = [
            f"{_label(step)} {write.rate(facts.achieved_rps(step))} of {write.rate(facts.offered_rps(step))}"
            for step in bad[:MOST_NAMED]
        ]
        said += [f"{len(bad) - MOST_NAMED} more"] * (len(bad) > MOST_NAMED)
        text += f"; no evidence: {write.listed(said)}"
    return Check("profiled loads", not bad, write.sentence(text), tuple(step.name for step in bad))


def _own_share(steps: list[Step]) -> Check:
    """Return what the profiler itself takes is not the server's."""
    found = {s.name: own.value for s in steps if (own := profile.share(s, "cpu", profile.PROFILER)) is not None}
    much = {name: value for name, value in found.items() if value > profile.MUCH}
    text = f"the profiler's own frames are at most {write.percent(max(found.values(), default=0.0))} of the CPU samples"
    if much:
        text += f", more than {write.given_share(profile.MUCH)} in {write.several(len(much), 'load')}"
    return Check("profiler's own share", not much, write.sentence(text), tuple(much))


def _faster(pairs: list[tuple[Step, Step]]) -> Check:
    """No server that stores something is faster than one that does nothing, beyond what the instrument resolves."""
    faster: dict[str, str] = {}
    for step, floor in pairs:
        resolved = instrument.of_floor(floor)
        finest = (resolved.p50_us, resolved.p99_us) if resolved is not None else (0.0, 0.0)
        for level, finest_us in zip((0.5, 0.99), finest, strict=True):
            own, least = facts.quoted(step, level), facts.quoted(floor, level)
            if own is None or least is None:
                continue
            if own.high < least.low and least.value - own.value > finest_us:
                pair = f"{facts.written(own)} against {facts.written(least)}"
                faster.setdefault(step.name, f"{write.level(level)} of {facts.title(step)} {pair}")
    text = "no load is faster than the server that does nothing"
    if faster:
        named = "; ".join(list(faster.values())[:MOST_NAMED])
        text = f"faster than the server that does nothing, so this is not the server's latency: {named}"
    return Check("faster than nothing", not faster, write.sentence(text), tuple(faster))


def _left_out(loads: list[tuple[Step, machine_stalls.Undisturbed]]) -> Check:
    """The machine's stalls take about the same share of the time from each load, or what is left can't be compared."""
    loads = sorted(loads, key=lambda load: load[1].left_out)
    least, most = loads[0], loads[-1]
    ok = machine_stalls.agree(least[1], most[1])
    shares = [f"{write.percent(each.left_out)} of {facts.title(step)}" for step, each in (least, most)]
    text = f"of {write.several(len(loads), 'load')} the machine's stalls take from {shares[0]} to {shares[1]}"
    if not ok:
        text += f"; p99 without stalls is not comparable between {facts.title(least[0])} and {facts.title(most[0])}"
    return Check("time left out of each load", ok, write.sentence(text), () if ok else (least[0].name, most[0].name))


def _is_nothing(knee: Knee) -> bool:
    return knee.ladder.steps[0].subject == CEILING


def _ceiling(found: list[tuple[str, list[Knee]]]) -> Check:
    """No store has a higher knee than storing nothing, beyond what the searches leave open."""
    faster = []
    for workload, each in found:
        nothing = next(knee for knee in each if _is_nothing(knee))
        faster += [f"{k.name} {workload.upper()}" for k in each if k.answer.low_rps > nothing.answer.high_rps]
    text = f"above the knee of the server that stores nothing: {write.listed(faster) or 'none beyond its interval'}"
    return Check("knees below that of storing nothing", not faster, write.sentence(text))


def _closed_loops(run: Run) -> Iterator[tuple[Comparison, str, float, Ladder]]:
    """Comparisons in closed loops with a treatment, the most that it reached in a start, and the search of its knee."""
    searches = [each for each in ladders(run) if each.search is not None and each.answer is not None]
    for found in comparisons(run):
        step = next(step for step in run.steps if step.name in found.steps)
        for (quantity, name), values in found.values.items():
            most_rps = max((rps for rps in values if write.known(rps)), default=float("nan"))
            of = (step.workload, step.record.connections)
            for each in searches if quantity == THROUGHPUT and write.known(most_rps) else ():
                first = each.steps[0]
                if first.subject == name and (first.workload, first.record.connections) == of:
                    yield found, name, most_rps, each


def _below_knees(run: Run, pairs: list[tuple[Comparison, str, float, Ladder]]) -> Check:
    """Give a closed loop reaches what the knee is at least: as many connections send whenever they have a response."""
    bad = [each for each in pairs if each[3].answer is not None and each[2] < each[3].answer.low_rps]
    text = f"the closed loops of {write.several(len(pairs), 'setting')} reach at least their knees"
    names = dict.fromkeys(name for found, *_ in bad for name in found.steps)
    if bad:
        parts = [
            f"{facts.engine_name(name)} {each.steps[0].workload.upper()} reaches at most {write.rate(most_rps)} in the "
            f"closed loops of {found.name}, its knee is {rate_interval(each.answer)}"
            for found, name, most_rps, each in bad
            if each.answer is not None
        ]
        cores = [compiling_cores(step) for step in run.steps if step.name in names]
        busy = [each for each in cores if each is not None and each > SETTLED_CORES]
        why = (
            f"JIT compilation was unfinished in {write.count(len(busy))} of {write.several(len(cores), 'closed loop')}"
        )
        text = f"{'; '.join(parts)}; {why if busy else 'why is not known'}: compare rates within a block alone"
    return Check("closed loops and knees", not bad, write.sentence(text), tuple(names))


def _rate_steps(run: Run, found: list[Ladder]) -> Check:
    """Return what a search says of a rate, the same rate offered again says too."""
    bad = [(ladder, rates) for ladder in found if (rates := contradictions(ladder))]
    text = f"the rate steps of {write.several(len(found) - len(bad), 'ladder')} agree with the knee"
    if bad:
        against = (f"{ladder.title} at {write.listed(map(write.rate, rates))}" for ladder, rates in bad)
        text += f"; these do not: {'; '.join(against)}"
    titles = {ladder.title for ladder, _ in bad}  # that of the search that found the knee is the same
    steps = tuple(step.name for ladder in ladders(run) if ladder.title in titles for step in ladder.steps)
    return Check("rate steps and knee", not bad, write.sentence(text), steps)
