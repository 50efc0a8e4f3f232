"""Cross-check a run: do its own measurements contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator

from runners.analysis import facts, floors, machine_stalls, profile
from runners.analysis.knee import Kind
from runners.analysis.meets import Outcome
from runners.claims.climbing import Ladder, ladders
from runners.claims.conclusion import Check
from runners.claims.executions import Knee, knees
from runners.design.stores import CEILING
from runners.readers import write
from runners.readers.run import Run, Step

MOST_NAMED = 3


def cross_checks(run: Run) -> Iterator[Check]:
    """Yield a check for each kind of measurement that another one can contradict."""
    if profiled := [step for step in run.steps if step.profiled and write.known(facts.offered_rps(step))]:
        yield _profiled(profiled)
        yield _own_share(profiled)
    if floored := [
        (s, f) for s in run.find(kind="load", profiled=False) if (f := floors.own(run.steps, s)) is not None
    ]:
        yield _floor(floored)
    if len(left_out := [(s, u) for s in run.find(kind="load", profiled=False) if (u := machine_stalls.of(s))]) > 1:
        yield _left_out(left_out)
    if nothing := [(w, each) for w, each in knees(run).items() if any(_is_nothing(knee) for knee in each)]:
        yield _ceiling(nothing)
    if beside := [each for each in ladders(run) if each.base is not None and each.base.knee is not None]:
        yield _rate_steps(beside)


def _profiled(steps: list[Step]) -> Check:
    """A profile is evidence for a rate only where the load kept it."""
    bad = [step for step in steps if not facts.held_share(step) >= facts.HELD]
    text = f"{write.count(len(steps) - len(bad))} of {write.several(len(steps), 'profiled load')} kept their rate"
    if bad:
        said = (
            f"{step.label} {write.rate(facts.achieved_rps(step))} of {write.rate(facts.offered_rps(step))}"
            for step in bad[:MOST_NAMED]
        )
        more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
        text += f"; no evidence: {', '.join(said)}{more}"
    return Check("profiled loads", not bad, write.sentence(text), tuple(step.name for step in bad))


def _own_share(steps: list[Step]) -> Check:
    """What the profiler itself takes is not the server's."""
    found = {s.name: own.value for s in steps if (own := profile.share(s, "cpu", profile.PROFILER)) is not None}
    much = {name: value for name, value in found.items() if value > profile.MUCH}
    text = f"the profiler's own frames are at most {write.percent(max(found.values(), default=0.0))} of the CPU samples"
    if much:
        text += f", more than {write.percent(profile.MUCH)} in {write.several(len(much), 'load')}"
    return Check("profiler's own share", not much, write.sentence(text), tuple(much))


def _floor(pairs: list[tuple[Step, Step]]) -> Check:
    """No server that stores something is faster than one that does nothing, beyond noise."""
    faster: dict[str, str] = {}
    for step, floor in pairs:
        for level in (0.5, 0.99):
            own, least = facts.quoted(step, level), facts.quoted(floor, level)
            if own is not None and least is not None and own.high < least.low:
                pair = f"{facts.written(own)}, its floor {facts.written(least)}"
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


def contradictions(ladder: Ladder) -> list[float]:
    """Rates of a ladder that contradict its knee: missed below its interval, or met above it."""
    knee = ladder.base.knee if ladder.base is not None else None
    if knee is None or knee.kind != Kind.FOUND:
        return []
    return [
        point.rps
        for point in ladder.points
        if (point.outcome == Outcome.MISSED and point.rps < knee.low_rps)
        or (point.outcome == Outcome.MET and point.rps > knee.high_rps)
    ]


def _rate_steps(found: list[Ladder]) -> Check:
    """What a search says of a rate, the same rate offered again says too."""
    bad = {ladder.title: rates for ladder in found if (rates := contradictions(ladder))}
    text = f"the rate steps of {write.several(len(found) - len(bad), 'ladder')} agree with the knee"
    if bad:
        text += "; against it: " + "; ".join(
            f"{name} at {write.listed(map(write.rate, rates))}" for name, rates in bad.items()
        )
    return Check("rate steps and knee", not bad, write.sentence(text))
