"""What the repeats of two settings in one run say: each quantity's difference with its interval, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from runners.analysis import comparable, facts
from runners.analysis.comparison import AT_MOST, LEVELS, PRIMARY, QUANTITIES, Difference, Quantity, Verdict, differences
from runners.analysis.finding import Finding
from runners.claims.conclusion import Check, Claims
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity
from runners.storage.schema import COMPARISON, InterleavedRecord

REPEAT, CLOSED = "repeat", "repeat-closed"
ANCHOR = "compared"
COUNTED = 1_000  # rounds: of more, nobody needs the number


@dataclass(frozen=True, slots=True)
class Repeats:
    """All rounds of a comparison. `values[side][quantity][i]` belongs to the i-th usable round."""

    names: tuple[str, str]
    rounds: tuple[int, ...]
    left_out: tuple[tuple[int, str], ...]
    planned: int
    see: float
    values: dict[str, dict[str, list[float]]]
    steps: tuple[Step, ...]

    @property
    def found(self) -> list[Difference]:
        seen = differences(self.values["a"], self.values["b"], self.planned, self.see)
        return comparable.marked(seen, self._side("a", 0), self._side("b", 1))

    def _side(self, side: str, index: int) -> comparable.Side:
        own = [step for step in self.steps if _about(step).arm == side]
        usable = [step for step in own if step.record.round in self.rounds]
        return facts.engine_name(self.names[index]), usable

    @property
    def last_round(self) -> tuple[Step, ...]:
        """Both repeats of the last usable round, A before B; none where no round is usable."""
        last = [step for step in self.steps if step.record.round in self.rounds[-1:]]
        return tuple(sorted(last, key=lambda step: _about(step).arm))


def _about(step: Step) -> InterleavedRecord:
    assert step.record.interleaved is not None
    return step.record.interleaved


def repeats_of(steps: list[Step]) -> Repeats | None:
    """The comparison that these steps hold, or None."""
    by_round: dict[int, dict[str, dict[str, Step]]] = {}
    for step in steps:
        about = step.record.interleaved
        if step.kind in (REPEAT, CLOSED) and about and about.family == COMPARISON:
            by_round.setdefault(step.record.round or 0, {}).setdefault(step.kind, {})[about.arm] = step
    if not by_round:
        return None
    about = next(each for step in steps if (each := step.record.interleaved) and each.family == COMPARISON)
    values: dict[str, dict[str, list[float]]] = {"a": {}, "b": {}}
    usable, left_out = [], []
    for number in sorted(by_round):
        pair = by_round[number].get(REPEAT, {})
        if len(pair) < 2:
            left_out.append((number, "only one setting was measured"))
            continue
        bad = dict.fromkeys(
            f"{facts.title(step)} {facts.why_not(step)}" for step in pair.values() if not facts.quotable(step)
        )
        if bad:
            left_out.append((number, write.listed(bad)))
            continue
        usable.append(number)
        for side, step in pair.items():
            measured = of_step(step, by_round[number].get(CLOSED, {}).get(side))
            for name, value in measured.items():
                values[side].setdefault(name, []).append(value)
    a, b = about.treatments
    names = (a, b) if a != b else (f"{a} (A)", f"{b} (B)")
    chosen = tuple(step for step in steps if step.kind == REPEAT)
    return Repeats(
        names, tuple(usable), tuple(left_out), about.planned_rounds, about.smallest_difference, values, chosen
    )


def of_step(step: Step, closed: Step | None = None) -> dict[str, float]:
    """What is compared, of one repeat: latencies in microseconds, NaN where not recorded or without an end.

    What a latency is at most stands beside it: requests without an answer may leave that open.
    """
    found = {}
    for name, level in LEVELS.items():
        value, most_us = facts.at(step, level), facts.most_us(step, level)
        found[name] = value.value if value is not None and math.isfinite(most_us) else math.nan
        found[name + AT_MOST] = most_us
    found["closed_loop_rps"] = facts.achieved_rps(closed) if closed is not None and closed.valid else math.nan
    telemetry, achieved = step.frames["telemetry"], facts.achieved_rps(step)
    cores = float(telemetry["server_cpu_cores"].mean()) if not telemetry.empty else math.nan
    found["cpu_us"] = cores / achieved * 1e6 if achieved > 0 else math.nan
    return found


def analyse(run: Run) -> Claims | None:
    """What the repeats of a run say; None when it has none."""
    repeats = repeats_of(list(run.steps))
    if repeats is None:
        return None
    found = repeats.found
    findings = tuple(finding for each in found for finding in _finding(repeats, each, len(found)))
    pair = write.listed(facts.engine_name(name) for name in repeats.names)
    if not findings:
        text = f"{pair} could not be compared: no round is valid for both"
        findings = (Finding("C03", Severity.ERROR, write.sentence(text), {}, (), ANCHOR),)
    first = next((finding for finding in findings if finding.evidence.get("quantity") == PRIMARY), None)
    if first is not None or findings[0].code == "C03":
        answer = (first or findings[0]).sentence
    else:
        label = next(quantity.label for quantity in QUANTITIES if quantity.name == PRIMARY)
        text = f"{pair} could not be compared in {label}: in a round it is only a bound, or not known"
        answer = f"{findings[0].sentence} In {label} they could not be compared."
        findings = (*findings, Finding("C03", Severity.WARNING, write.sentence(text), {}, (), ANCHOR))
    return Claims(answer, findings, checks=tuple(_checks(repeats)))


def said(each: Difference, a: str, b: str, quantities: int = 1, unit: str = "round") -> str:
    """One difference in words, B against A; `unit` is what was repeated."""
    label = each.quantity.label
    if each.verdict in (Verdict.LOWER, Verdict.HIGHER):
        edges = sorted((abs(each.low), abs(each.high)))
        by = write.percent(edges[0])
        by = by if by == write.percent(edges[1]) else f"{by} to {write.percent(edges[1])}"
        return f"{b} has a {label} {each.verdict.value} than {a} by {by}"
    if each.verdict == Verdict.MACHINE:
        return f"the {label} of {b} and {a} are not compared: {each.machine}"
    between = f"{signed(each.low)} to {signed(each.high)}"
    if each.verdict == Verdict.NONE:
        return f"{b} and {a} differ by less than {write.percent(each.see)} in {label} ({between})"
    count = f"{each.rounds} {unit}{'' if each.rounds == 1 else 's'}"
    text = f"the {label} of {b} against {a} is inconclusive after {count}"
    if not write.known(each.low):
        return f"{text}, too few for an interval"
    more = each.more_rounds(quantities)
    needed = f"about {write.count(more)} more" if more <= COUNTED else f"not even {write.count(COUNTED)} more"
    tail = f"; {needed} would show {write.percent(each.see)}" if more else ""
    return f"{text} ({between}){tail}"


def signed(share: float) -> str:
    """A share with its sign: +3.10 %."""
    return ("+" if share > 0 else "") + write.percent(share)


def absolute(quantity: Quantity, value: float) -> str:
    """A value in its unit."""
    if quantity.unit == "count":
        return f"{value:.3g}"
    unit = {"rps": write.rate, "bytes": write.size}.get(quantity.unit, write.latency)
    return unit(value)


def _finding(repeats: Repeats, each: Difference, count: int) -> Iterator[Finding]:
    a, b = (facts.engine_name(name) for name in repeats.names)
    pair = f"{absolute(each.quantity, each.b)} against {absolute(each.quantity, each.a)}"
    text, differs = said(each, a, b, count), each.verdict in (Verdict.LOWER, Verdict.HIGHER)
    if differs:
        text += f": {pair}, geometric means of {each.rounds} rounds"
    evidence: dict[str, write.Value] = {
        "quantity": each.quantity.name,
        "a": each.a,
        "b": each.b,
        "share": each.share,
        "low": each.low,
        "high": each.high,
        "rounds": each.rounds,
        "spread_between_rounds": each.spread,
    }
    steps = tuple(step.name for step in repeats.steps)
    if each.verdict == Verdict.MACHINE:
        remedy = comparable.QUIETER
        yield Finding("W05", Severity.WARNING, write.sentence(text), evidence, steps, ANCHOR, remedy)
        return
    code = "C01" if differs else "C02"
    severity = Severity.GOOD if differs or each.verdict == Verdict.NONE else Severity.NOTE
    yield Finding(code, severity, write.sentence(text), evidence, steps, ANCHOR)


def _checks(repeats: Repeats) -> Iterator[Check]:
    count = len(repeats.rounds)
    text = f"{count} of {repeats.planned} planned, each with both settings"
    if repeats.left_out:
        text += "; left out: " + "; ".join(f"round {number} ({why})" for number, why in repeats.left_out)
    yield Check("rounds", count > 0 and not repeats.left_out, write.sentence(text))
    offered = [facts.offered_rps(step) for step in repeats.steps]
    held = [facts.held_share(step) for step in repeats.steps]
    if offered and all(write.known(value) for value in (*offered, *held)):
        same = max(offered) - min(offered) < 1
        text = f"all were offered {write.rate(offered[0])}" if same else "not all were offered the same rate"
        text += f" and answered at least {write.percent(min(held))} of it"
        yield Check("repeats, rate", same and min(held) >= facts.HELD, write.sentence(text))
    samples = min((facts.samples(step) for step in repeats.steps), default=0)
    text = f"at least {write.count(samples)} in each repeat, {write.count(samples * 0.01)} beyond p99"
    yield Check("repeats, samples", samples * 0.01 >= facts.ENOUGH_BEYOND, write.sentence(text))
    errors = sum(value for step in repeats.steps if write.known(value := facts.number(step, "non_2xx")))
    yield Check("repeats, errors", errors == 0, write.sentence(write.several(errors, "response", " with an error")))
