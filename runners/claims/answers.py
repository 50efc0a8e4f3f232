"""Answer the questions that several experiments ask of the loads, profiles and searches of a run.

What one experiment alone asks is answered in `verdicts`, what is asked of interleaved trials in `interleaved`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from runners.analysis import facts
from runners.analysis.instrument import UNIT_US, incomparable
from runners.analysis.intervals import Bounded, difference
from runners.analysis.knee import pooled, rate_interval, ratio
from runners.analysis.quantities import changed
from runners.claims import profile, settings
from runners.claims.climbing import Ladder, between, contradictions, ladders, searched_together, with_rate_steps
from runners.claims.question import (
    Answer,
    Answering,
    Evidence,
    Verdict,
    counted,
    number,
    of_rule,
    verdict_of,
)
from runners.design.block import FEWEST_STARTS
from runners.readers import write
from runners.readers.finding import Anchor, Finding
from runners.readers.run import Run, Step

MOST = 0.5
CHANCE = 0.05


def reaches_published_rate(workloads: Sequence[str]) -> Answering:
    """Answer: does a closed loop on as many connections as published reach the published rate here?"""

    def answer(evidence: Evidence) -> Answer | None:
        parts, enough, finding = [], [], None
        for workload in workloads:
            there = next((o for name, o in evidence.published.items() if name.rpartition("/")[2] == workload), None)
            found = [f for f in evidence.all("A05") if any(s.startswith(f"probe-{workload}") for s in f.steps)]
            if there is None or not there.rate_rps or not found:
                continue
            finding = finding or found[0]
            here = number(found[0], "achieved_rps")
            enough.append(here >= there.rate_rps)
            parts.append(f"{workload.upper()} {write.rate(here)} of {write.rate(there.rate_rps)}")
        if not parts:
            return None
        verdict = Verdict.YES if all(enough) else Verdict.NO
        return Answer(verdict, write.listed(parts), "one closed loop each; another machine", finding=finding)

    return answer


def store_is_most(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: is the store's own work (storage, log, flush, compaction, cache) more than half of the CPU time?"""

    def look(step: Step) -> Seen | None:
        if (part := profile.together(step, profile.STORE)) is None:
            return None
        text = f"{part.as_share} of {step.workload.upper()}{profile.own(step)}"
        return part.low - MOST, part.high - MOST, text

    return _of_profiles(workloads, subject, look, "store and log take ")


def sockets_over_store(workloads: Sequence[str], subject: str) -> Answering:
    """Answer: do reads and writes of sockets take more CPU time than the store's own work?"""

    def look(step: Step) -> Seen | None:
        sockets, store = profile.together(step, profile.SOCKETS), profile.together(step, profile.STORE)
        if sockets is None or store is None:
            return None
        text = f"{step.workload.upper()} {write.percent(sockets.value)} against {write.percent(store.value)}"
        text += profile.own(step)
        return sockets.low - store.high, sockets.high - store.low, text

    return _of_profiles(workloads, subject, look)


#: Bounds of an effect that is above zero where the answer is yes, and what was seen in words.
Seen = tuple[float, float, str]


def _of_profiles(
    workloads: Sequence[str], subject: str, look: Callable[[Step], Seen | None], begins: str = ""
) -> Answering:
    def answer(evidence: Evidence) -> Answer | None:
        steps = (facts.profiled(evidence.run, subject, workload) for workload in workloads)
        found = [seen for step in steps if step and facts.usable_profile(step) and (seen := look(step)) is not None]
        if not found:
            return None
        verdict = verdict_of(min(low for low, _, _ in found), max(high for _, high, _ in found))
        needed = "more samples" if verdict == Verdict.INCONCLUSIVE else ""
        effect = begins + write.listed(text for _, _, text in found)
        return Answer(verdict, effect, "one profile each", needed, figure=Anchor.shares("cpu"))

    return answer


def medians_apart(workloads: Sequence[str], first: str, second: str) -> Answering:
    """Answer: does the second engine's median differ from the first's at the same rate?"""

    def answer(evidence: Evidence) -> Answer | None:
        parts, changes = [], []
        for workload in workloads:
            sides = [facts.clean(evidence.run, engine, workload) for engine in (first, second)]
            values = [facts.quoted(step, 0.5) if step is not None else None for step in sides]
            if values[0] is None or values[1] is None:
                continue
            steps = evidence.run.steps
            if why := next(filter(None, (incomparable(steps, step, 0.5) for step in sides if step)), ""):
                changes.append(Bounded(math.nan))
                parts.append(f"{workload.upper()} p50 not compared: {why}")
                continue
            change = difference(values[1], values[0])
            changes.append(change)
            pair = f"{write.latency(values[1].value)} against {write.latency(values[0].value)}"
            parts.append(f"{workload.upper()} {moved(change)} ({pair})")
        if not changes:
            return None
        verdict = Verdict.YES if all(map(apart, changes)) else Verdict.INCONCLUSIVE
        needed = "interleaved rounds (lab compare)" if verdict == Verdict.INCONCLUSIVE else ""
        return Answer(
            verdict, write.listed(parts), "one run of each, not interleaved", needed, evidence.first("P04"),
            Anchor.spectrum(workloads[0]),
        )  # fmt: skip

    return answer


def servers_apart(evidence: Evidence) -> Answer | None:
    """Answer: does the median of any server differ from the first's at the same rate? Yes where one does."""
    loads = evidence.run.find(profiled=False)
    first, *others = dict.fromkeys(step.subject for step in loads) or ("",)
    workloads = list(dict.fromkeys(step.workload for step in loads))
    pairs = [(other, medians_apart(workloads, first, other)(evidence)) for other in others]
    known = [replace(answer, effect=f"{other} to {first}: {answer.effect}") for other, answer in pairs if answer]
    if not known:
        return None
    order = (Verdict.YES, Verdict.INCONCLUSIVE, Verdict.NO)
    decides = min(known, key=lambda answer: order.index(answer.verdict))
    return replace(decides, effect="; ".join(answer.effect for answer in known))


def apart(change: Bounded) -> bool:
    """Decide whether a change of latency lies beyond zero by at least the unit in which latencies are kept."""
    return change.low >= UNIT_US or change.high <= -UNIT_US


def moved(change: Bounded) -> str:
    """Write a change of a median with its interval."""
    if apart(change):
        return f"p50 {write.changed_by(change.value, change.low, change.high)}"
    return f"p50 inconclusive ({write.latency(change.low)} to {write.latency(change.high)})"


def knees_apart(workload: str, of: str, against: str) -> Answering:
    """Answer: is the maximum throughput under the objective of one treatment higher than that of another?"""

    def answer(evidence: Evidence) -> Answer | None:
        pair = [searched(evidence.run, workload, name) for name in (of, against)]
        if pair[0] is None or pair[1] is None:
            return None
        b, a = pair[0].answer, pair[1].answer
        lost = [facts.engine_name(each.steps[0].subject) for each in pair if each and not _known(each)]
        if lost:
            effect = f"the search found no knee of {write.listed(lost)}"
            steps = tuple(step.name for each in pair if each is not None for step in each.steps)
            return Answer(
                Verdict.INCONCLUSIVE, effect, "one search", "a longer search", evidence.first("K01"), steps=steps
            )  # fmt: skip
        if b is None or a is None or (apart := between(evidence.run, pair[0], pair[1])) is None:
            return None
        low, high = apart.low - 1, apart.high - 1
        sides = [
            f"{facts.engine_name(each.steps[0].subject)} {rate_interval(found)}"
            for each, found in ((pair[0], b), (pair[1], a))
        ]
        effect = f"knee {changed(apart.value - 1, low, high)}, {sides[0]} against {sides[1]}"
        starts = min(each.starts for each in pair if each is not None)
        verdict = verdict_of(low, high) if starts >= FEWEST_STARTS else Verdict.INCONCLUSIVE
        against_it = contradicted(evidence.run, verdict, pair[0], pair[1])
        verdict = Verdict.INCONCLUSIVE if against_it else verdict
        together = searched_together(pair[0], pair[1])
        more = "a longer search" if together else "longer searches, or one search of both"
        if b.late or a.late:
            more = "more cores for the generator, which was late above the bound"
        if against_it:
            effect += f"; but {against_it}"
            more = "a longer search, whose knee the rate steps agree with"
        if starts < FEWEST_STARTS:
            more = f"{write.several(FEWEST_STARTS, 'start')} of each"
        needed = more if verdict == Verdict.INCONCLUSIVE else ""
        finding = next(
            (f for f in evidence.all("E02") if {f.evidence["of"], f.evidence["against"]} == {of, against}), None
        )
        basis = f"one search of {'both' if together else 'each'}, {write.several(starts, 'start')}"
        steps = tuple(step.name for each in pair if each is not None for step in each.steps)
        return Answer(verdict, effect, basis, needed, finding, settings.anchor(workload), steps)

    return answer


def contradicted(run: Run, verdict: Verdict, of: Ladder, against: Ladder) -> str:
    """Say which rates, offered again, contradict the knees so that the verdict may be wrong; empty where none does.

    They count as steps of one more start of their server: where the verdict is the same with them, none does.
    """
    parts = [
        f"{facts.title(each.steps[0])} at {write.listed(map(write.rate, rates))}"
        for each in ladders(run)
        if each.title in (of.title, against.title) and (rates := contradictions(each))
    ]
    if verdict == Verdict.INCONCLUSIVE or not parts:
        return ""
    known = [with_rate_steps(run, each) for each in (of, against)]
    apart = ratio(*pooled(known))
    agree = verdict_of(apart.low - 1, apart.high - 1) == verdict
    return "" if agree else f"the rate steps do not agree with the knee: {'; '.join(parts)}"


def searched(run: Run, workload: str, subject: str) -> Ladder | None:
    """Return the search for the knee of a treatment under a workload, or None."""
    for ladder in ladders(run):
        first = ladder.steps[0]
        named = subject in (first.subject, facts.engine_name(first.subject))
        if named and first.workload == workload and ladder.search is not None and ladder.answer is not None:
            return ladder
    return None


def _known(search: Ladder) -> bool:
    return search.answer is not None and search.answer.known_below


def published_timer(codes: Sequence[str]) -> Answering:
    """Answer: are the published medians those of the server? No, where they are the tick of the generator's timer."""

    def answer(evidence: Evidence) -> Answer | None:
        finding = next((found for code in codes if (found := evidence.first(code)) is not None), None)
        if finding is None:
            return None
        if finding.code == "M13":
            there, here = (
                write.span([number(finding, f"{side}_{end}_us") for end in ("low", "high")], write.latency)
                for side in ("published", "own")
            )
        else:
            there = write.latency(number(finding, "published_p50_us"))
            own = next((name.removeprefix("p50_us ") for name in finding.evidence if name.startswith("p50_us ")), "")
            most_us, value_us = (number(finding, f"{name} {own}") for name in ("p50_most_us", "p50_us"))
            here = f"at most {write.latency(most_us)}" if write.known(most_us) else write.latency(value_us)
        effect = f"published {there}; timed without a tick {here}"
        return Answer(Verdict.NO, effect, "shape of the published spectrum; another machine", finding=finding)

    return answer


@of_rule("M07")
def beyond_the_knee(finding: Finding) -> Answer:
    """Answer: are the latencies published at the highest rates response times? No, where only a queue is that long."""
    rates = f"{write.count(number(finding, 'beyond'))} of {write.count(number(finding, 'rates'))} rates"
    effect = f"{rates} lie beyond the knee: up to {write.latency(number(finding, 'longest_us'))}, the length of a queue"
    return Answer(Verdict.NO, effect, counted(finding), finding=finding)


#: The share of the time above p99 that a cause has to explain to be worth changing.
TAIL_MARGIN = 0.1


def tail_by(cause: str, step: str) -> Answering:
    """Answer: does a cause explain the tail of a load beyond chance, and a share of it whose interval lies above zero?

    No where it explains less than TAIL_MARGIN: where nothing is credited to it, or where the whole interval lies below.
    Inconclusive of a load in which there was none of it.
    """

    def answer(evidence: Evidence) -> Answer | None:
        finding, spikes = evidence.about("W04", step), evidence.about("W01", step)
        if finding is None and spikes is not None:
            there = write.known(number(spikes, f"{cause}: events"))
            effect = spikes.sentence.removesuffix(".") if there else f"no {cause} in this load"
            verdict, needed = (Verdict.NO, "") if there else (Verdict.INCONCLUSIVE, f"a load long enough for a {cause}")
            return Answer(verdict, effect, "one load", needed, spikes, Anchor.causes(step))
        if finding is None:
            if (unasked := evidence.about("W03", step)) is None:
                return None
            effect, needed = unasked.sentence.removesuffix("."), "a longer load on a quieter machine"
            return Answer(Verdict.INCONCLUSIVE, effect, "one load", needed, unasked, Anchor.causes(step))
        share, low, high, p = (number(finding, f"{cause}: {name}") for name in ("share", "low", "high", "p"))
        effect = (finding.sentence.partition("): ")[2] or finding.sentence).removesuffix(".")
        seen = write.known(p)
        verdict, needed = Verdict.NO, ""  # nothing of the kind, or nowhere near the tail
        if seen and share > 0 and not high < TAIL_MARGIN:
            verdict = Verdict.YES if p < CHANCE and low > 0 else Verdict.INCONCLUSIVE
            needed = "" if verdict == Verdict.YES else "a longer load, to tell cause from coincidence"
        if not seen:  # a load without it says nothing on what it does where there is some
            verdict, needed = Verdict.INCONCLUSIVE, f"a load long enough for a {cause}"
            effect = f"no {cause} in this load, which has a tail without: {effect}"
        basis = "one load, permutation test" + (f"; {cause}: p = {p:.2g}" if seen else "")
        if verdict == Verdict.NO and share > 0:
            basis += f", {write.percent_interval(share, low, high)} of it"
        return Answer(verdict, effect, basis, needed, finding, Anchor.causes(step))

    return answer
