"""Ladders of a run: one load at several rates, each rate step a trial; with an objective, a search for the knee."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.knee import (
    Answer,
    Curve,
    Kind,
    Outcome,
    Point,
    RateStep,
    at_least,
    curve,
    estimate,
    points,
    pooled,
    rate_interval,
    ratio,
    rounded_rate,
)
from runners.claims.conclusion import Check, Claims
from runners.design.load import STABLE_SHARE
from runners.design.objective import Objective
from runners.design.session import RATE_STEP
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.run import Run, Step
from runners.storage.schema import LadderBase, LadderRecord, SearchRecord

MOST_IN_ANSWER = 3  # more ladders than that stand side by side, see settings
JUST_ABOVE = 1.3  # rates up to here above the knee tell what is missed first
KNEE = "knee"  # as the record of a ladder calls what its rates are shares of


@dataclass(frozen=True, slots=True)
class Base:
    """What rate steps are shares of: the knee as a search found it, a bound of it, or what a closed loop reached.

    `knee`: what is known of it. `estimated`: whether the search itself took it for found.
    """

    rps: float
    what: str
    knee: Answer | None = None
    estimated: bool = False

    @property
    def named(self) -> str:
        """What the rate is, in words; a search that found no knee leaves a bound of it."""
        if self.what != KNEE or (self.knee is not None and self.knee.kind == Kind.FOUND):
            return self.what
        return f"{'estimate' if self.estimated else 'bound'} of the knee"


@dataclass(frozen=True)  # without slots, for what is worked out once
class Ladder:
    """The rate steps of one server under one load, in the order in which they were measured."""

    name: str
    steps: tuple[Step, ...]
    objective: Objective | None
    search: SearchRecord | None
    published: tuple[str, ...] = ()
    base: Base | None = None

    @property
    def rate_steps(self) -> list[Step]:
        """One step a rate, lowest first: a rate step that was offered again counts by its repeat."""
        last = {facts.offered_rps(step): step for step in self.steps}
        return [last[rps] for rps in sorted(last)]

    @property
    def anchor(self) -> str:
        return f"ladder-{self.name}"

    @cached_property
    def points(self) -> list[Point]:
        """Each rate against the objective, or against the rate alone; of a search's loads each short step."""
        objective = self.objective or Objective(latencies=(), errors=1.0)
        return [point for step in self.steps for point in points(step, objective)]

    @property
    def rated(self) -> list[RateStep]:
        """The steps that are a measurement, those too that the generator's lateness leaves undecided."""
        return [point.rate_step for point in self.points if point.outcome != Outcome.INVALID]

    @property
    def outcomes(self) -> tuple[list[float], list[float]]:
        """The rates that every step met which tells something, and those that one missed, each lowest first."""
        met, missed = (
            {point.rps for point in self.points if point.outcome == outcome}
            for outcome in (Outcome.MET, Outcome.MISSED)
        )
        return sorted(met - missed), sorted(missed)

    @property
    def unknown(self) -> list[float]:
        """The rates of which nothing is known, since the generator was late in every step that offered them."""
        met, missed = self.outcomes
        late = {point.rps for point in self.points if point.outcome == Outcome.GENERATOR}
        return sorted(late - {*met, *missed})

    @cached_property
    def answer(self) -> Answer | None:
        """The knee that these rates show, or for rates at shares of it the one that was found before; else None."""
        if self.search is None or self.objective is None:
            return self.base.knee if self.base else None
        limits = (self.search.low_rps, self.search.high_rps)
        return estimate(self.rated, self.objective, self.search.precision, limits)

    @cached_property
    def curve(self) -> Curve | None:
        """The posterior of the knee; None without a search or without steps."""
        if self.search is None or self.objective is None or not self.rated:
            return None
        return curve(self.rated, self.objective)

    @cached_property
    def lower_curve(self) -> Curve | None:
        """The posterior of a lower bound of the knee, which is that of the knee unless it is known from below only."""
        return at_least(self.rated, self.objective) if self.objective and _from_below(self) else self.curve

    @property
    def starts(self) -> int:
        """Of how many fresh starts of the server the steps are."""
        return len({step.record.ladder.start for step in self.steps if step.record.ladder is not None}) or 1

    @property
    def title(self) -> str:
        connections = self.steps[0].record.connections
        return f"{facts.title(self.steps[0])} on {write.connections(connections)}"


def searched_together(one: Ladder, other: Ladder) -> bool:
    """Decide whether two knees are of one search, whose loads went to both servers in random order."""
    return one.steps[-1].record.block == other.steps[-1].record.block


def between(run: Run, of: Ladder, against: Ladder) -> Bounded | None:
    """Return the ratio of two knees with its interval, from the posteriors of both; None where one was not searched.

    What the other servers of their search tell of the spread of starts is taken in. A knee that is known from below
    only leaves the ratio open on one side: infinite above, or zero below.
    """
    known = [_pooled(run, each, lower=False) for each in (of, against)]
    least = [_pooled(run, each, lower=True) for each in (of, against)]
    if known[0] is None or known[1] is None or least[0] is None or least[1] is None:
        return None
    apart = ratio(known[0], known[1])
    low = 0.0 if _from_below(against) else min(apart.low, ratio(least[0], known[1]).low)
    high = math.inf if _from_below(of) else max(apart.high, ratio(known[0], least[1]).high)
    return Bounded(apart.value, low, high)


def with_rate_steps(run: Run, searched: Ladder) -> Curve:
    """Return the posterior of a knee by the steps of its search and by the rates that were offered again, which count
    as one more start. Raises ValueError without steps.
    """
    steps = searched.rated
    for each in ladders(run):
        if each.title == searched.title and each.search is None:
            steps += [dataclasses.replace(step, start=searched.starts + 1) for step in each.rated]
    return curve(steps, searched.objective or Objective(latencies=(), errors=1.0))


def _from_below(ladder: Ladder) -> bool:
    return ladder.answer is not None and ladder.answer.from_below


def _pooled(run: Run, ladder: Ladder, *, lower: bool) -> Curve | None:
    own = _curve(ladder, lower=lower)
    if own is None or ladder.starts == 1:
        return own
    others = [
        _curve(each, lower=lower) for each in ladders(run) if each is not ladder and searched_together(each, ladder)
    ]
    return pooled([own, *(each for each in others if each is not None)])[0]


def _curve(ladder: Ladder, *, lower: bool) -> Curve | None:
    return ladder.lower_curve if lower else ladder.curve


@lru_cache(maxsize=2)
def ladders(run: Run) -> tuple[Ladder, ...]:
    """Return the ladders of a run, in order. What its searches found is known of the knees that rate steps are
    shares of.
    """
    found = ladders_of(run.find(kind=RATE_STEP))
    searched = {each.title: each for each in found if each.search is not None}
    return tuple(_on_its_search(each, searched.get(each.title)) for each in found)


def _on_its_search(ladder: Ladder, search: Ladder | None) -> Ladder:
    if search is None or ladder.base is None or ladder.base.what != KNEE:
        return ladder
    return dataclasses.replace(ladder, base=dataclasses.replace(ladder.base, knee=search.answer))


def ladders_of(steps: Iterable[Step]) -> tuple[Ladder, ...]:
    """Return the ladders that these rate steps make, in order."""
    by_name = facts.grouped(steps, lambda step: step.record.ladder.name if step.record.ladder else step.subject)
    return tuple(ladder_of(name, own) for name, own in by_name.items())


def ladder_of(name: str, steps: Sequence[Step]) -> Ladder:
    """Return one ladder from its rate steps, as their metadata describe it."""
    about = steps[0].record.ladder or LadderRecord(name=name)
    return Ladder(
        name,
        tuple(steps),
        Objective.parse(about.objective) if about.objective else None,
        about.search,
        about.published,
        _base(about.base),
    )


def _base(about: LadderBase | None) -> Base | None:
    if about is None:
        return None
    knee = Answer(Kind.FOUND, *about.knee, True) if about.knee is not None else None
    return Base(about.rps, about.what, knee, knee is not None)


def analyse(run: Run) -> Claims | None:
    """Return what the ladders of a run say; None when it has none."""
    found = ladders(run)
    if not found:
        return None
    findings = [finding for ladder in found for finding in _findings(ladder)]
    searched = {ladder.anchor for ladder in found if ladder.base is not None and ladder.base.estimated}
    sentences = [finding for finding in findings if finding.code in ("K01", "K05") and finding.figure not in searched]
    answer = _answer([ladder for ladder in found if ladder.anchor not in searched], sentences)
    nexts = tuple(finding for ladder in found for finding in _next(ladder))
    return Claims(answer, tuple(findings), next_steps=nexts, checks=tuple(checks(found)))


def _answer(found: Sequence[Ladder], sentences: Sequence[Finding]) -> str:
    """Few ladders in their own words; settings under one load stand side by side, see settings."""
    searched = [ladder for ladder in found if ladder.search is not None]
    known = [ladder for ladder in searched if ladder.answer is not None and ladder.answer.kind == Kind.FOUND]
    if max(Counter(ladder.steps[0].workload for ladder in known).values(), default=0) > 1:
        return ""
    if (text := together(found)) or len(sentences) <= MOST_IN_ANSWER:
        return text or " ".join(finding.sentence for finding in sentences)
    return "" if known or not searched else f"None of the {write.count(len(searched))} searches found a knee."


def _findings(ladder: Ladder) -> Iterator[Finding]:
    answer = ladder.answer
    if answer is None or ladder.objective is None or ladder.search is None:
        yield _fixed(ladder)
    else:
        yield _knee(ladder, ladder.objective, answer)
        if finding := _missed_first(ladder, answer):
            yield finding
        if answer.kind in (Kind.FOUND, Kind.OPEN) and not answer.precise:
            yield _not_precise(ladder, answer)
    if finding := _generator(ladder):
        yield finding


def _evidence(ladder: Ladder, answer: Answer) -> dict[str, write.Value]:
    counted = Counter(point.outcome.value for point in ladder.points)
    counted["met, late"] = sum(point.met.late for point in ladder.points)
    return {
        "ladder": facts.title(ladder.steps[0]), "kind": answer.kind.value,
        "objective": ladder.objective.text if ladder.objective else None, "knee_rps": answer.rps,
        "low_rps": answer.low_rps, "high_rps": answer.high_rps,
        **{f"probes {name}": number for name, number in counted.items()},
    }  # fmt: skip


def _knee(ladder: Ladder, objective: Objective, answer: Answer) -> Finding:
    limits, probes = f"the objective ({asked(objective)})", _steps(ladder)
    severity = Severity.NOTE
    if answer.kind == Kind.FOUND:
        severity = Severity.GOOD
        text = f"{ladder.title} meets {limits} up to {rate_interval(answer)}, by {probes}{_stalled(ladder)}"
    elif answer.kind == Kind.ABOVE:
        above = f"its knee lies above {rounded_rate(answer.low_rps)}"
        text = f"{ladder.title} meets {limits} up to the highest rate offered: {above}, by {probes}"
        if answer.late:
            text = f"{ladder.title} meets {limits}, and {above}, by {probes}; wherever it was missed further up, the "
            text += "generator was late too"
    elif answer.kind == Kind.BELOW:
        severity = Severity.WARNING
        text = f"{ladder.title} misses {limits} even at {write.rate(answer.high_rps)}, the lowest rate offered"
    elif answer.kind == Kind.OPEN:
        severity = Severity.WARNING
        text = f"The knee of {ladder.title} was not found in {probes}: {limits} was {bounds_of(answer)}"
    else:
        severity = Severity.ERROR
        reasons = [facts.why_not(step) for step in ladder.steps[-1:] if not step.valid]
        reasons = reasons or [reason for point in ladder.points[-1:] for reason in point.met.missed]
        text = f"The knee of {ladder.title} could not be measured: {write.listed(reasons) or 'probes failed'}"
    steps = tuple(step.name for step in ladder.steps)
    return Finding.of("K01", severity, text, _evidence(ladder, answer), steps, ladder.anchor)


def bounds_of(answer: Answer) -> str:
    """Say which side of a knee that was not found is not known, to follow what was to be met."""
    low, high = (write.rate(rps) if write.known(rps) else "" for rps in (answer.low_rps, answer.high_rps))
    if low and high:
        return f"met up to {low} and missed from {high} on, with no knee between"
    if low:
        return f"met at {low}; the steps above do not bound the knee"
    return f"missed at {high}; the steps below do not bound the knee" if high else "neither met nor missed often enough"


def _steps(ladder: Ladder) -> str:
    """Return how many rate steps of which length: 64 short steps of 0.5 s."""
    sweeps = [step.record.sweep for step in ladder.steps if step.record.sweep is not None]
    length = write.seconds(sweeps[-1].step_s if sweeps else ladder.steps[-1].record.duration_s)
    return f"{write.several(len(ladder.points) or len(ladder.steps), 'short step' if sweeps else 'probe')} of {length}"


def _stalled(ladder: Ladder) -> str:
    """Return in how many steps the machine's stalls leave open whether they met."""
    count = sum(point.outcome == Outcome.STALLED for point in ladder.points)
    return f"; in {write.count(count)} of them the machine stalled, and may be why they missed" if count else ""


def missed_above(ladder: Ladder, answer: Answer) -> tuple[Counter[str], int, tuple[str, ...]]:
    """Give what the rate steps just above the knee missed and how often, how many steps those are, and their loads."""
    if answer.kind != Kind.FOUND:
        return Counter(), 0, ()
    near = [
        point
        for point in ladder.points
        if point.outcome == Outcome.MISSED and answer.low_rps <= point.rps <= JUST_ABOVE * answer.rps
    ]
    kinds = Counter(reason.split(" ")[0] for point in near for reason in point.met.missed)
    return kinds, len(near), tuple(dict.fromkeys(point.step.name for point in near))


def _missed_first(ladder: Ladder, answer: Answer) -> Finding | None:
    """Return what was missed in the rate steps just above the knee."""
    kinds, count, names = missed_above(ladder, answer)
    if not count:
        return None
    just = f"just above the knee of {facts.title(ladder.steps[0])} that missed the objective"
    if count == 1:
        text = f"The one probe {just} missed {write.listed(map(part_of, kinds))}"
    else:
        parts = [f"{write.count(number)} missed {part_of(kind)}" for kind, number in kinds.most_common()]
        text = f"Of the {write.count(count)} probes {just}, {write.listed(parts)}"
    evidence: dict[str, write.Value] = {f"missed {kind}": number for kind, number in kinds.items()}
    return Finding.of("K02", Severity.NOTE, text, evidence, names, ladder.anchor)


def part_of(kind: str) -> str:
    """Return a part of an objective as what a probe missed."""
    return {"achieved": "the rate", "errors": "the limit of errors"}.get(kind, kind)


def _generator(ladder: Ladder) -> Finding | None:
    late = [point for point in ladder.points if point.outcome == Outcome.GENERATOR]
    loads = {point.step.name: point.step for point in ladder.points if point.met.late and point.step.record.sweep}
    evidence: dict[str, write.Value] = {"ladder": facts.title(ladder.steps[0])}
    remedy = "Give the generator more cores or threads, or more machines, to look further."
    if late:
        lowest = min(point.rps for point in late)
        text = (
            f"In {write.count(len(late))} of {write.several(len(ladder.points), 'probe')} of "
            f"{facts.title(ladder.steps[0])}, from {write.rate(lowest)} on, the generator did not keep up and the "
            "objective was missed: whether by the server or by the generator is not known"
        )
        text += ", so the knee is known from below only" if _from_below(ladder) else ""
        evidence |= {"probes": len(late), "of_probes": len(ladder.points), "lowest_rps": lowest}
    elif loads:
        text = (
            f"The generator was late in {write.count(len(loads))} of {write.several(len(ladder.steps), 'load')} of the "
            f"search on {facts.title(ladder.steps[0])} and the objective was met all the same: the response times in "
            "them are upper bounds"
        )
        evidence |= {"probes": len(loads), "of_probes": len(ladder.steps)}
    else:
        return None
    names = tuple(dict.fromkeys(point.step.name for point in late)) or tuple(loads)
    return Finding.of("K03", Severity.WARNING, text, evidence, names, ladder.anchor, remedy)


def _not_precise(ladder: Ladder, answer: Answer) -> Finding:
    search = ladder.search
    assert search is not None  # only a search has an answer
    if answer.kind == Kind.FOUND:
        width = answer.width
        state = f"its interval is {write.percent(width)} wide"
    else:
        width, state = float("nan"), "it does not lie between a rate that meets the objective and one that misses it"
    to = write.given_share(search.precision)
    text = f"The time ran out before the knee of {facts.title(ladder.steps[0])} was known to {to}: {state}"
    remedy = "Give more minutes: lab knee --resume with this run goes on where it ended."
    evidence: dict[str, write.Value] = {"ladder": facts.title(ladder.steps[0]), "probes": len(ladder.points)}
    evidence |= {"width": width, "asked": search.precision}
    return Finding.of("K04", Severity.NOTE, text, evidence, (), ladder.anchor, remedy)


def _fixed(ladder: Ladder) -> Finding:
    met, missed = ladder.outcomes
    count = len(met) + len(missed)
    does, fails = "achieves", "does not achieve"
    if ladder.objective:
        limits = f"the objective ({asked(ladder.objective)}) at"
        does, fails = f"meets {limits}", f"misses {limits}"
    if met and (not missed or met[-1] < missed[0]):
        text = f"{ladder.title} {does} {write.rate(met[-1])}"
        top = not ladder.unknown or ladder.unknown[-1] < met[-1]
        text += f", not {write.rate(missed[0])}" if missed else ", the highest rate that was offered" if top else ""
    elif met:
        text = f"{ladder.title} {does} {write.count(len(met))} of {write.count(count)} rates; the lowest that it "
        text += f"missed is {write.rate(missed[0])}"
    elif not missed:
        reasons = dict.fromkeys(reason for point in ladder.points for reason in point.met.missed)
        text = f"Nothing is known of {ladder.title} at the {write.several(len(ladder.rate_steps), 'rate')} offered: "
        text += write.listed(reasons)
    elif count == 1:
        text = f"{ladder.title} {fails} {write.rate(missed[0])}, the one rate that can be judged"
    else:
        text = f"{ladder.title} {does} none of the {write.count(count)} rates that can be judged"
    if count and ladder.unknown:
        text += f"; the generator was late at {write.listed(map(write.rate, ladder.unknown))}"
    evidence = {"rates": count, "highest_carried_rps": max(met, default=float("nan"))}
    steps = tuple(step.name for step in ladder.steps)
    return Finding.of("K05", Severity.GOOD if met else Severity.WARNING, text, evidence, steps, ladder.anchor)


def _next(ladder: Ladder) -> Iterator[Finding]:
    answer = ladder.answer
    if answer is None or answer.kind != Kind.FOUND or ladder.search is None:
        return
    rate = STABLE_SHARE * answer.low_rps
    name, offered = facts.title(ladder.steps[0]), write.rate(float(f"{rate:.2g}"))
    text = f"Measure the latency of {name} at {offered}, {write.given_share(STABLE_SHARE)} of its knee's lower bound"
    evidence = {"knee_low_rps": answer.low_rps, "suggested_rps": rate}
    yield Finding.of("K06", Severity.NOTE, text, evidence, (), ladder.anchor)


FEWEST = 2  # knees of one setting that are worth a sentence of their own


def asked(objective: Objective) -> str:
    """Return an objective in words: p99 within 10 ms, 99 % of the rate, no errors."""
    errors = f"errors up to {write.given_share(objective.errors)}" if objective.errors else "no errors"
    return ", ".join([*_latencies(objective), f"{write.given_share(objective.achieved)} of the rate", errors])


def _latencies(objective: Objective) -> list[str]:
    return [f"{write.level(level)} within {write.given_latency(limit)}" for level, limit in objective.latencies]


def together(found: Sequence[Ladder]) -> str:
    """Return the knees of one setting under several loads in one sentence; empty where one sentence can't hold them.

    It takes ladders that were all searched and found, over as many connections, for the same objective.
    """
    answers = [ladder.answer for ladder in found if ladder.search is not None and ladder.objective is not None]
    known = [answer for answer in answers if answer is not None and answer.kind == Kind.FOUND]
    common = {(_over(each), each.steps[0].subject, each.objective) for each in found}
    if len(known) < max(FEWEST, len(found)) or len(common) != 1:
        return ""
    ((over, subject, objective),) = common
    limits = _latencies(objective) if objective is not None else []
    parts = [
        f"{rate_interval(answer)} of {ladder.steps[0].workload.upper()}"
        for ladder, answer in zip(found, known, strict=True)
    ]
    kept = f"keeps {write.listed(limits)} up to" if limits else "achieves"
    return write.sentence(f"On {over} {facts.engine_name(subject)} {kept} {write.listed(parts)}")


def ranked(run: Run, workload: str, found: Sequence[Ladder]) -> str:
    """Return who is ahead, who inconclusive against it, and by how much the others are behind, in one sentence.

    `found` are the searches of all settings under one load; empty where none of them has a knee. Behind is whose ratio
    to the first lies below one with its whole interval.
    """
    answered = [(each, answer) for each in found if (answer := each.answer) is not None]
    known = [(each, answer) for each, answer in answered if answer.kind == Kind.FOUND]
    if not known:
        return ""
    (best, first), *others = sorted(known, key=lambda pair: -pair[1].rps)
    ratios = [(each, between(run, each, best)) for each, _ in others]
    near = [_name(each) for each, apart in ratios if apart is None or not apart.high < 1]
    behind = [
        f"{_name(each)} by {write.percent(1 - apart.high)} to {write.percent(1 - apart.low)}"
        for each, apart in ratios
        if apart is not None and apart.high < 1
    ]
    least = [f"{_name(each)} above {rounded_rate(answer.low_rps)}" for each, answer in answered if answer.from_below]
    of = " of the others" if least else ""
    knee = f"the knee of {_name(best)} is {rounded_rate(first.rps)}"
    knee = f"{_name(best)} has the highest knee{of}, {rounded_rate(first.rps)}" if others else knee
    beyond = f"{write.listed(least)}, known from below only; " if least else ""
    text = f"{workload.upper()} over {_over(best)}: {beyond}{knee}"
    if behind:
        text += f"; below it {'lies' if len(behind) == 1 else 'lie'} {write.listed(behind)}"
    if near:
        text += f"; inconclusive against it: {write.listed(near)}"
    lost = [_name(each) for each, answer in answered if not answer.known_below]
    if lost:
        text += f"; the knee{'s' if len(lost) > 1 else ''} of {write.listed(lost)} {_are(lost)} not known"
    return write.sentence(text)


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _name(ladder: Ladder) -> str:
    return facts.engine_name(ladder.steps[0].subject)


def _over(ladder: Ladder) -> str:
    return write.connections(ladder.steps[0].record.connections)


def checks(found: Sequence[Ladder]) -> Iterator[Check]:
    """Answer: can the probes of the ladders be trusted: how many are evidence on their server, and with how many
    samples?
    """
    judged = [(ladder, point) for ladder in found for point in ladder.points]
    judging = [each for each in judged if each[1].counts]
    silent = [ladder for ladder in found if not any(each[0] is ladder for each in judging)]
    invalid = sum(point.outcome == Outcome.INVALID for _, point in judged)
    text = f"{write.count(len(judging))} of {write.count(len(judged))} probes could be judged"
    if bounds := sum(point.met.late for _, point in judging):
        text += f", {write.count(bounds)} of them only as a bound, for the generator was late"
    text += f"; {write.count(invalid)} invalid" if invalid else ""
    if silent:
        text += f"; of {write.listed(facts.title(one.steps[0]) for one in silent)} "
        text += "it is not known which rates meet the objective"
    failed = [step.name for ladder in silent for step in ladder.steps]
    failed += [point.step.name for _, point in judged if point.outcome == Outcome.INVALID]
    name = f"probes of {write.several(len(found), 'ladder')}"
    yield Check(name, not silent and not invalid, write.sentence(text), tuple(dict.fromkeys(failed)))
    if late := [point for _, point in judged if point.outcome == Outcome.GENERATOR]:
        of = write.several(len(judged), "rate step")
        text = f"it was late in {write.count(len(late))} of {of} of ladders, "
        text += "which missed the objective and tell nothing of their server"
        names = tuple(dict.fromkeys(point.step.name for point in late))
        yield Check("generator kept up", False, write.sentence(text), names)
    beyond = [
        (point.samples * (1 - ladder.objective.latencies[-1][0]), ladder)
        for ladder, point in judging
        if point.outcome == Outcome.MET
        and not point.step.record.sweep
        and ladder.objective
        and ladder.objective.latencies
    ]
    if beyond:
        fewest, ladder = min(beyond, key=lambda each: each[0])
        text = f"at least {write.count(fewest)} requests beyond the objective's percentile in each probe that met the "
        text += f"objective, fewest of {facts.title(ladder.steps[0])}"
        yield Check("samples of the probes", fewest >= facts.ENOUGH_BEYOND, write.sentence(text))


def contradictions(ladder: Ladder) -> list[float]:
    """Return rates of a ladder that contradict its knee: missed below its interval, or met above it."""
    knee = ladder.base.knee if ladder.base is not None else None
    if knee is None or not knee.known_below:
        return []
    return [
        point.rps
        for point in ladder.points
        if (point.outcome == Outcome.MISSED and point.rps < knee.low_rps)
        or (point.outcome == Outcome.MET and point.rps > knee.high_rps)
    ]
