"""Say what interleaved treatments differ in: findings, checks and answers, from analysis.interleaved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from runners.analysis import facts
from runners.analysis.interleaved import NO_REFERENCE, QUANTITIES, REQUESTS, Comparison, comparisons
from runners.analysis.intervals import Bounded
from runners.analysis.quantities import Row, signed
from runners.analysis.treatments import Verdict
from runners.claims.conclusion import Check, Claims
from runners.claims.question import Answer, Answering, Evidence
from runners.claims.question import Verdict as Said
from runners.design.block import MOST_UTILISATION
from runners.design.session import EQUAL
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.run import Run, Step

MEDIAN = "p50_us"
#: Comparisons one by one in a headline; more are counted by what came out.
MOST_IN_HEADLINE = 3
#: So much longer a request may take after one target than after another, before that is said.
MOST_CARRY_OVER = 0.05


def anchor(name: str) -> str:
    """Return the place of a comparison's figure."""
    return f"interleaved-{name}"


def analyse(run: Run) -> Claims | None:
    """Claim what the comparisons of a run tell; None when it has none."""
    found = comparisons(run)
    if not found:
        return None
    findings = tuple(finding for each in found for finding in _findings(each))
    checks = tuple(check for each in found for check in _checks(each))
    primary = [row for each in found for row in each.rows if row.quantity.name == each.primary]
    answer = " ".join(each.headline for each in found) if len(primary) <= MOST_IN_HEADLINE else _counted(primary)
    busy = [each.name for each in found if each.busy]
    if busy and len(primary) > MOST_IN_HEADLINE:
        answer += f" The generator was at its limit in {write.listed(busy)}: the higher rates there are lower bounds."
    return Claims(answer, findings, checks=checks)


def _counted(rows: Sequence[Row]) -> str:
    """Many treatments by what came out: which gain, which lose, and how many are undecided."""
    gains, losses = ([row for row in rows if row.decided and row.better is good] for good in (True, False))
    parts = []
    for what, some in (("Gains", gains), ("Losses", losses)):
        for label in dict.fromkeys(row.quantity.label for row in some):
            own = (f"{facts.engine_name(row.treatment)} {row.change}" for row in some if row.quantity.label == label)
            parts.append(f"{what} in {label}: {write.listed(own)}")
    same = sum(row.verdict == Verdict.SAME and not row.machine for row in rows)
    rest = len(rows) - len(gains) - len(losses) - same
    others = [
        f"{write.count(count)} {'is' if count == 1 else 'are'} {text}"
        for count, text in ((same, "the same as the baseline"), (rest, "inconclusive"))
        if count
    ]
    if others:
        parts.append(f"of {write.several(len(rows), 'treatment')} {write.listed(others)}")
    return " ".join(write.sentence(part) for part in parts)


def _findings(found: Comparison) -> Iterator[Finding]:
    place = anchor(found.name)
    if not found.rows:
        yield Finding("C03", Severity.ERROR, found.headline, {}, found.steps, place)
    for row in found.rows:
        code = "C01" if row.decided else "C02"
        severity = Severity.NOTE if row.verdict == Verdict.INCONCLUSIVE or row.machine else Severity.GOOD
        yield Finding(
            code, severity, found.sentence(row), _evidence(row, found), found.steps, place, _remedy(row, found)
        )
    yield from _over_reference(found)
    for row in found.control:
        if row.quantity.name == found.primary and row.decided:
            text = f"{found.label}a second process of {facts.engine_name(row.baseline)} differs from the first: "
            text += replace(row, treatment="the second").sentence(found.margin)
            remedy = "Measure again; where it stays, differences of this size are not the treatments'."
            yield Finding("C04", Severity.WARNING, write.sentence(text), {}, found.steps, place, remedy)


def _over_reference(found: Comparison) -> Iterator[Finding]:
    """Yield what each treatment adds to the median of a server that does nothing, loaded with it."""
    for name in (found.baseline, *found.treatments):
        change, idle_us = found.above.get((MEDIAN, name)), found.reference.get(MEDIAN, math.nan)
        if change is None:
            continue
        added = Bounded(change.value * idle_us, change.low * idle_us, change.high * idle_us)
        pair = f"{write.latency(idle_us + added.value)} against {write.latency(idle_us)} in the same schedule"
        text = f"adds {added.as_latency} to the median of a server that does nothing: {pair}"
        if not added.low > 0:
            text = f"is not seen to add to the median of a server that does nothing: {pair}"
        text = f"{found.label}{facts.engine_name(name)} {text}; {write.several(len(found.starts), 'start')} of each"
        evidence: dict[str, write.Value] = {
            "p50_us": idle_us + added.value, "floor_p50_us": idle_us, "added_us": added.value,
            "added_low_us": added.low, "added_high_us": added.high, "block": found.name, "treatment": name,
        }  # fmt: skip
        yield Finding.of("L01", Severity.NOTE, text, evidence, found.steps, anchor(found.name))


def over_reference(found: Iterable[Comparison], step: Step, run: Run) -> bool:
    """Return whether interleaved trials say what the treatment of a load adds to a server that does nothing."""
    works = {each.name: each.workload for each in run.steps}
    return any(
        (MEDIAN, step.subject) in each.above and step.workload.startswith(works[each.steps[0]]) for each in found
    )


def _remedy(row: Row, found: Comparison) -> str | None:
    undecided = row.verdict == Verdict.INCONCLUSIVE and not row.machine
    if not undecided or row.quantity.name != found.primary or row.starts_needed is None:
        return None
    return f"About {write.several(row.starts_needed, 'start')} would decide it, if they vary as these."


def _evidence(row: Row, found: Comparison) -> dict[str, write.Value]:
    evidence = {key: value for key, value in row.as_json().items() if key not in ("unit", "lower_is_better")}
    verdict = Verdict.INCONCLUSIVE.value if row.machine else row.verdict.value
    evidence |= {"verdict": verdict, "margin": found.margin, "block": found.name, "form": found.form}
    return evidence | ({"addition": text} if (text := found.addition(row)) else {})  # type: ignore[return-value]


def finding_on(findings: Sequence[Finding], quantity: str) -> Finding | None:
    """Return the finding of a comparison by one schedule on a quantity, or None."""
    own = (each for each in findings if each.evidence.get("quantity") == quantity and "starts" in each.evidence)
    return next(own, None)


def differs(
    blocks: Sequence[str], treatment: str, quantity: str, yes: Sequence[Verdict] = (Verdict.HIGHER,)
) -> Answering:
    """Answer: does a treatment of one of these blocks differ from its baseline in a quantity, in one of these ways?"""

    def answer(evidence: Evidence) -> Answer | None:
        wanted = {"quantity": quantity, "treatment": treatment}
        for finding in evidence.findings:
            own = finding.evidence
            if own.get("block") in blocks and all(own.get(key) == value for key, value in wanted.items()):
                return answer_of(finding, yes)
        return None

    return answer


def answer_of(finding: Finding, yes: Sequence[Verdict] = (Verdict.HIGHER, Verdict.LOWER)) -> Answer:
    """Answer whether a treatment differs from the baseline in a quantity, in one of these ways."""
    evidence = finding.evidence
    verdict = Verdict(str(evidence["verdict"]))
    said = Said.YES if verdict in yes else Said.INCONCLUSIVE if verdict == Verdict.INCONCLUSIVE else Said.NO
    quantity = QUANTITIES[str(evidence["quantity"])]
    why = evidence["not_compared"]
    inside = frozenset(filter(None, str(evidence["inside"]).split(",")))
    ratio, low, high = (_number(evidence[name]) for name in ("ratio", "low", "high"))
    a, b = (_number(evidence[f"{name}_value"]) for name in ("baseline", "treatment"))
    base, treatment = (str(evidence[name]) for name in ("baseline", "treatment"))
    starts = int(_number(evidence["starts"]))
    row = Row(quantity, base, treatment, ratio, low, high, verdict, a, b, starts, inside=inside)
    text = f"{row.change}, {row.pair(named=True)}{evidence.get('addition', '')}"
    if verdict == Verdict.SAME:
        text = f"the same within {write.given_share(_number(evidence['margin']))}: {text}"
    effect = f"{quantity.label} {f'not compared: {why}' if why else text}"
    needed = evidence.get("starts_needed")
    known = isinstance(needed, int) and not why
    takes = f"about {write.several(_number(needed), 'start')}" if known else "a quieter machine"
    takes = "a server that does nothing in the same schedule (lab compare)" if why == NO_REFERENCE else takes
    basis = f"{write.several(starts, 'start')} of each, by "
    basis += "request" if evidence["form"] == REQUESTS else "slices"
    return Answer(said, effect, basis, takes if said == Said.INCONCLUSIVE else "", finding)


def median_differs(blocks: Mapping[str, str], treatment: str) -> Answering:
    """Answer: does a treatment differ from the baseline in p50, in any of these blocks? Each has a name in the answer.

    No only where it is the same in all that were measured.
    """

    def answer(evidence: Evidence) -> Answer | None:
        ways = (Verdict.HIGHER, Verdict.LOWER)
        found = {
            name: one
            for block, name in blocks.items()
            if (one := differs((block,), treatment, "p50_us", ways)(evidence)) is not None
        }
        if not found:
            return None
        order = (Said.YES, Said.INCONCLUSIVE, Said.NO)
        decides = min(found.values(), key=lambda one: order.index(one.verdict))
        return replace(decides, effect="; ".join(f"{name} {one.effect}" for name, one in found.items()))

    return answer


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _checks(found: Comparison) -> Iterator[Check]:
    text = f"{len(found.starts)} of {found.planned} planned, each with fresh processes"
    if found.left_out:
        text += "; left out: " + "; ".join(f"start {number} ({why})" for number, why in found.left_out)
    ended = found.until and found.answered
    text += "; it ended when the primary quantity was decided" if ended and len(found.starts) < found.planned else ""
    whole = not found.left_out and (ended or len(found.starts) >= found.planned)
    yield Check(f"starts, {found.name}", whole, write.sentence(text), found.steps)
    if found.late:
        starts = f"start{'s' if len(found.late) > 1 else ''} {write.listed(map(str, found.late))}"
        text = f"it was late in {starts} of {found.name}: response times of these are the server's only up to the "
        text += "percentile to which it kept up; service times are not affected"
        if found.busy:
            text = f"it was at its limit in {starts} of {found.name}: a closed-loop rate there may be its own, and is "
            text += "a lower bound of the server's"
        yield Check("generator kept up", False, write.sentence(text), found.steps)
    control = next((row for row in found.control if row.quantity.name == found.primary), None)
    if control is not None:
        change = control.change
        name = facts.engine_name(found.baseline)
        text = f"a second process of {name} against the first in {control.quantity.label}: {change}"
        yield Check("control", found.trusted, write.sentence(text), found.steps)
    if write.known(found.utilisation):
        text = f"all rates together are {write.percent(found.utilisation)} of what the servers reach"
        yield Check("utilisation", found.utilisation <= MOST_UTILISATION, write.sentence(text), found.steps)
    if found.cpu_groups:
        equal = found.cpu_groups == EQUAL
        text = "each server has a CPU group of equal weight" if equal else found.cpu_groups
        text += "; what the kernel does in soft interrupts is in nobody's CPU time"
        yield Check("CPU groups", equal or None, write.sentence(text), found.steps)
    if found.carried_over:
        name, shift = max(found.carried_over.items(), key=lambda each: abs(each[1]))
        text = f"after a request to {facts.engine_name(name)}, service times change by {signed(shift)}; the order is "
        text += "balanced"
        yield Check("carry-over", abs(shift) <= MOST_CARRY_OVER, write.sentence(text), found.steps)
