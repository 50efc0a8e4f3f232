"""All ladders of a run as one table: a row a setting under a load, from the same objects as the sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runners.analysis import facts
from runners.analysis.knee import Kind
from runners.analysis.meets import Outcome
from runners.claims import climbing
from runners.claims.climbing import Ladder
from runners.claims.knee_words import asked, rate_interval
from runners.readers import write
from runners.report import numbers
from runners.report.tables import Linked, Table

HEAD = ("", "knee (95 %)", "interval wide, asked", "missed just above", "probes that tell", "generator", "fixed rates")
NOTE = (
    "Missed just above: what the probes missed that were not far above the knee, and of several in how many. Where the "
    "generator was late and the objective was met all the same, the latencies are upper bounds; where it was missed, "
    "the probe says nothing. Fixed rates: the rungs offered beside a search. Names and rates lead to the figures."
)


def table(found: Sequence[Ladder]) -> Table:
    """A row a search, with the rungs that were offered beside it; rungs without a search have a row of their own."""
    searched = {ladder.title: ladder for ladder in found if ladder.search is not None}
    beside: dict[str, Ladder] = {}
    rows = []
    for ladder in found:
        if ladder.search is None and ladder.title in searched:
            beside.setdefault(ladder.title, ladder)
    for ladder in found:
        if ladder.search is not None:
            rows.append(_searched(ladder, beside.get(ladder.title)))
        elif beside.get(ladder.title) is not ladder:
            rows.append(_fixed(ladder))
    return Table(_caption(found), HEAD, tuple(rows), NOTE, numeric=False)


def _caption(found: Sequence[Ladder]) -> str:
    """What all ladders have in common."""
    text = "All ladders"
    over = {ladder.steps[0].record.connections for ladder in found}
    if len(over) == 1:
        text += f" on {write.connections(over.pop())}"
    objectives = dict.fromkeys(asked(ladder.objective) for ladder in found if ladder.objective)
    return f"{text}; asked for: {next(iter(objectives))}" if len(objectives) == 1 else text


def _searched(ladder: Ladder, rungs: Ladder | None) -> tuple[str, ...]:
    return (
        Linked(facts.title(ladder.steps[0]), ladder.anchor),
        _knee(ladder),
        _width(ladder),
        _missed(ladder),
        _telling(ladder),
        _generator(ladder),
        Linked(_rates(rungs), rungs.anchor) if rungs else numbers.NONE,
    )


def _fixed(ladder: Ladder) -> tuple[str, ...]:
    name = Linked(facts.title(ladder.steps[0]), ladder.anchor)
    none = numbers.NONE
    return (name, none, none, none, _telling(ladder), _generator(ladder), Linked(_rates(ladder), ladder.anchor))


def _knee(ladder: Ladder) -> str:
    answer = ladder.answer
    if answer is None or answer.kind == Kind.FAILED:
        return "not measured"
    if answer.kind == Kind.FOUND:
        return rate_interval(answer)
    if answer.kind == Kind.ABOVE:
        return f"above {numbers.rate(answer.low_rps)}"
    if answer.kind == Kind.BELOW:
        return f"below {numbers.rate(answer.high_rps)}"
    met = f"met at {numbers.rate(answer.low_rps)}" if write.known(answer.low_rps) else "met at none"
    missed = f"missed at {numbers.rate(answer.high_rps)}" if write.known(answer.high_rps) else "missed at none"
    return f"not found: {met}, {missed}"


def _width(ladder: Ladder) -> str:
    answer, search = ladder.answer, ladder.search
    if answer is None or search is None or answer.kind != Kind.FOUND:
        return numbers.NONE
    return f"{numbers.share(answer.width)}, {numbers.share(search.precision)}"


def _missed(ladder: Ladder) -> str:
    kinds, near = climbing.missed_above(ladder, ladder.answer) if ladder.answer else (Counter[str](), [])
    if not near:
        return numbers.NONE
    if len(near) == 1:
        return ", ".join(kinds)
    return ", ".join(f"{kind} in {numbers.count(n)} of {numbers.count(len(near))}" for kind, n in kinds.most_common())


def _telling(ladder: Ladder) -> str:
    said = sum(met.outcome in (Outcome.MET, Outcome.MISSED) for met in ladder.judged)
    return f"{numbers.count(said)} of {numbers.count(len(ladder.steps))}"


def _generator(ladder: Ladder) -> str:
    bounds = sum(met.late for met in ladder.judged)
    silent = [probe.rps for probe in ladder.probes if probe.outcome == Outcome.GENERATOR]
    parts = [f"late in {numbers.count(bounds)} that met it"] if bounds else []
    if silent:
        parts.append(f"late in {numbers.count(len(silent))} that missed it, from {numbers.rate(min(silent))} on")
    return "; ".join(parts) or "kept up"


def _rates(ladder: Ladder) -> str:
    """Which of the fixed rates are carried, in short (rule K05 says it in full)."""
    met = {probe.rps for probe in ladder.probes if probe.outcome == Outcome.MET}
    missed = {probe.rps for probe in ladder.probes if probe.outcome == Outcome.MISSED}
    if not met and not missed:
        return "nothing can be told"
    if not met:
        return f"none of {numbers.count(len(missed))}"
    if not missed:
        return f"all up to {numbers.rate(max(met))}"
    if min(missed) > max(met):
        return f"{numbers.rate(max(met))}, not {numbers.rate(min(missed))}"
    return f"{numbers.count(len(met))} of {numbers.count(len(met | missed))}, not in their order"
