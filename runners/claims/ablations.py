"""Switches: what each setting gains or loses against the published one, what it costs, and whether it is worth it.

Rounds are compared as in `compare`: the logarithm of a setting over the published one, round by round, with the
interval of the last look. The quantities of one setting share the 5 %; each setting of each switch stands on its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runners.analysis import comparable, facts
from runners.analysis.comparison import (
    AT_MOST,
    QUANTITIES,
    UNDECIDED,
    Difference,
    Quantity,
    Verdict,
    differences,
    looks,
)
from runners.analysis.finding import Finding
from runners.claims import comparing
from runners.claims.comparing import CLOSED as CLOSED
from runners.claims.comparing import REPEAT as REPEAT
from runners.claims.comparing import absolute, signed
from runners.claims.conclusion import Check, Claims
from runners.design.ablations import SWITCHES, Switch
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity
from runners.storage.schema import ABLATION

FAULT = "fault"
LEAST_COST = 0.01  # a store that is a thousandth larger costs nothing
MOST_LEFT_OUT = 3
TABLE = "ablations-table"
COMPARED = ("p99_us", "closed_loop_rps", "cpu_us")
#: What a setting may cost beside time.
TAKEN = (Quantity("rss_bytes", "memory", "bytes"), Quantity("disk_bytes", "room on the disk", "bytes"))
SIDES = (*(each for each in QUANTITIES if each.name in COMPARED), *TAKEN)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting of a switch against the published one."""

    switch: Switch
    name: str
    found: tuple[Difference, ...]
    rounds: Mapping[str, tuple[int, ...]]  # by quantity, those that both settings have
    values: tuple[Mapping[str, list[float]], Mapping[str, list[float]]]  # of the published one, of this one

    @property
    def gain(self) -> Difference | None:
        """The quantity that the switch is about; None when no round has it."""
        return next((each for each in self.found if each.quantity.name == self.switch.gain), None)

    @property
    def worse(self) -> list[Difference]:
        """What is worse beyond its interval, and by more than a trifle, beside the gain itself."""
        others = [each for each in self.found if each.quantity.name != self.switch.gain]
        return [each for each in others if better(each) is False and abs(each.share) >= LEAST_COST]

    @property
    def buys(self) -> str:
        """What it gives that no quantity shows, or nothing."""
        return dict(self.switch.buys).get(self.name, "")


@dataclass(frozen=True, slots=True)
class Ablation:
    """All rounds of one switch. `left_out` tells why the load of a round is not counted; its closed loop still is."""

    switch: Switch
    rows: tuple[Row, ...]
    left_out: tuple[str, ...]
    planned: int
    steps: tuple[Step, ...]

    @property
    def anchor(self) -> str:
        return f"ablation-{self.switch.name}"


def better(each: Difference) -> bool | None:
    """Whether B is better than A beyond the interval; None when that can't be seen or is too little to matter."""
    if each.verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return None
    return (each.verdict == Verdict.LOWER) == each.quantity.lower_is_better


def switch_of(step: Step) -> str | None:
    """The switch whose rounds a step belongs to, or None."""
    about = step.record.interleaved
    return about.name if about is not None and about.family == ABLATION else None


def ablation_of(switch: Switch, steps: Sequence[Step]) -> Ablation:
    """The rounds of one switch that these steps hold."""
    own = [step for step in steps if switch_of(step) == switch.name]
    about = own[0].record.interleaved if own else None
    planned, see = (about.planned_rounds, about.smallest_difference) if about else (0, 0.0)
    measured: dict[str, dict[int, dict[str, float]]] = {}
    left_out: dict[str, None] = {}
    closed = {(s.subject, s.record.round): s for s in own if s.kind == CLOSED}
    for step in (step for step in own if step.kind == REPEAT):
        number = step.record.round or 0
        measured.setdefault(step.subject, {})[number] = _of(step, closed.get((step.subject, number)))
        if not facts.quotable(step):
            left_out[f"round {number} of {step.subject}: {facts.why_not(step)}"] = None
    base, *others = (setting.name for setting in switch.settings)
    rows = []
    for name in others:
        pair = measured.get(base, {}), measured.get(name, {})
        shared = {
            each.name: tuple(
                number
                for number in sorted(pair[0].keys() & pair[1].keys())
                if all(math.isfinite(side[number][each.name]) for side in pair)
            )
            for each in SIDES
        }
        a, b = (_in_rounds(side, shared) for side in pair)
        found = differences(a, b, planned, see, SIDES)
        found = comparable.marked(found, *((side, _quotable(own, side)) for side in (base, name)))
        rows.append(Row(switch, name, tuple(found), shared, (a, b)))
    return Ablation(switch, tuple(rows), tuple(left_out), planned, tuple(own))


def _in_rounds(
    measured: Mapping[int, Mapping[str, float]], shared: Mapping[str, tuple[int, ...]]
) -> dict[str, list[float]]:
    """Each quantity's values, and what they are at most where that is told, in the rounds that both settings have."""
    return {
        name: [measured[number][name] for number in numbers]
        for what, numbers in shared.items()
        for name in (what, what + AT_MOST)
        if all(name in measured[number] for number in numbers)
    }


def _quotable(steps: Sequence[Step], subject: str) -> list[Step]:
    return [step for step in steps if step.kind == REPEAT and step.subject == subject and facts.quotable(step)]


def _of(step: Step, closed: Step | None) -> dict[str, float]:
    """What is compared of one repeat; NaN where it was not recorded, or the load's figures mean nothing."""
    found = comparing.of_step(step, closed)
    if not facts.quotable(step):
        found |= {"p99_us": math.nan, "cpu_us": math.nan}
    process, store = step.record.process_after, step.record.store_after
    found["rss_bytes"] = float(process.rss_anon_bytes or math.nan)
    # what a load has written depends on how much was offered; what lies there after the same fill does not
    found["disk_bytes"] = float(store.disk_bytes or math.nan) if step.workload != "put" else math.nan
    kept = [name for each in SIDES for name in (each.name, each.name + AT_MOST)]
    return {name: found[name] for name in kept if name in found}


def decided(found: Ablation) -> bool:
    """Whether the rounds may stop: at a look, the gain of every setting is known."""
    return all(
        row.gain is not None
        and (row.gain.rounds >= found.planned or row.gain.rounds in looks(found.planned))
        and (row.gain.rounds >= found.planned or row.gain.verdict not in UNDECIDED)
        for row in found.rows
    )


def ablations(run: Run) -> list[Ablation]:
    """The switches of a run in the order of the plan; none for a run of other things."""
    seen = {switch_of(step) for step in run.steps}
    return [ablation_of(switch, run.steps) for name, switch in SWITCHES.items() if name in seen]


def amount(each: Difference) -> str:
    """A difference with its interval: +12.0 % (+8.00 % to +15.0 %)."""
    if not (write.known(each.low) and write.known(each.high)):
        return f"{signed(each.share)} (not bounded)"
    return f"{signed(each.share)} ({signed(each.low)} to {signed(each.high)})"


def label(switch: Switch) -> str:
    """What a switch is about, in words."""
    return next(each.label for each in SIDES if each.name == switch.gain)


def gain_said(row: Row) -> str:
    """The gain of a setting in words."""
    each = row.gain
    if each is None:
        return f"{row.name}: no round has its {label(row.switch)}"
    return f"{row.name} {each.quantity.label} {amount(each)}: {verdict(row)}"


def cost(row: Row) -> str:
    """What a setting costs, in words; a dash where nothing is seen to be worse."""
    parts = [f"{each.quantity.label} {amount(each)}" for each in row.worse]
    return write.listed(parts) or write.DASH


def verdict(row: Row) -> str:
    """Whether it is worth it, in a few words."""
    each = row.gain
    if each is None:
        return "not measured"
    good = better(each)
    if good:
        return "gains, at a cost" if row.worse else "worth it"
    text = f"loses {each.quantity.label}" if good is False else "not told apart"
    if each.verdict == Verdict.MACHINE:
        text = f"{each.quantity.label} not compared"
    if each.verdict == Verdict.NONE:
        text = f"no difference of {write.percent(each.see)}"
    return f"{text}; buys: {row.buys}" if row.buys else text


def analyse(run: Run) -> Claims | None:
    """What the switches of a run do; None for a run without any."""
    found = ablations(run)
    if not found:
        return None
    findings = [finding for each in found for finding in _findings(each)]
    findings += [finding for step in run.find(kind=FAULT) if (finding := _fault(step)) is not None]
    return Claims(_answer(found), tuple(findings), next_steps=tuple(_next(found)), checks=tuple(_checks(found)))


def _answer(found: Sequence[Ablation]) -> str:
    """The switches by what came out."""
    rows = [row for each in found for row in each.rows if row.gain is not None]
    gains = [row for row in rows if row.gain is not None and better(row.gain)]
    losses = [row for row in rows if row.gain is not None and better(row.gain) is False]
    sides = (("Gains", gains), ("Losses", losses))
    parts = [f"{what}: {write.listed(_short(row) for row in some)}" for what, some in sides if some]
    rest = len(rows) - len(gains) - len(losses)
    if rest:
        parts.append(
            f"{write.count(rest)} of {write.count(len(rows))} treatments are inconclusive against the published one"
        )
    return " ".join(write.sentence(part) for part in parts)


def _short(row: Row) -> str:
    each = row.gain
    assert each is not None  # only such rows are named
    return f"{row.name}, {each.quantity.label} of {row.switch.workload.upper()} {amount(each)}"


def _findings(found: Ablation) -> Iterator[Finding]:
    switch, base = found.switch, found.switch.settings[0].name
    for row in found.rows:
        each = row.gain
        if each is None:
            text = f"{row.name} and {base} could not be compared in {label(switch)}: no round has it for both"
            yield Finding("V03", Severity.ERROR, write.sentence(text), {}, (), found.anchor)
            continue
        evidence: dict[str, write.Value] = {"share": each.share, "low": each.low, "high": each.high}
        evidence |= {"a": each.a, "b": each.b, "rounds": each.rounds}
        said = comparing.said(each, base, row.name, len(row.found))
        if better(each) is not None:
            said += f": {absolute(each.quantity, each.b)} against {absolute(each.quantity, each.a)} (geometric means)"
        text = f"{switch.title}, {switch.workload.upper()}: {said}"
        good = better(each)
        severity = Severity.GOOD if good else Severity.NOTE
        names = tuple(step.name for step in found.steps if step.kind == REPEAT)
        yield Finding("V01", severity, write.sentence(text), evidence, names, found.anchor)
        if row.worse:
            text = f"{row.name} costs {cost(row)}, against {base}"
            evidence = {each.quantity.name: each.share for each in row.worse}
            yield Finding("V02", Severity.NOTE, write.sentence(text), evidence, names, found.anchor)


def _fault(step: Step) -> Finding | None:
    """What an object that all responses share does to them."""
    heads = step.record.fault.heads if step.record.fault else ()
    if len(heads) < 2 or heads[-1]["bytes"] <= heads[0]["bytes"]:
        return None
    first, last = heads[0], heads[-1]
    each = (last["bytes"] - first["bytes"]) / (last["number"] - first["number"])
    text = (
        f"A response that all requests share grows: the head of response {write.count(first['number'])} has "
        f"{write.size(first['bytes'])} and {write.count(first['fields'])} fields, that of response "
        f"{write.count(last['number'])} {write.size(last['bytes'])} and {write.count(last['fields'])}, "
        f"{each:.0f} bytes more with each: one-nio adds a field Connection to the object that it is given"
    )
    evidence: dict[str, write.Value] = {
        "first_bytes": first["bytes"],
        "last_bytes": last["bytes"],
        "answers": last["number"],
    }
    read, unread = facts.number(step, "completed"), facts.number(step, "parse_errors")
    if write.known(read) and write.known(unread) and unread > 0:
        text += (
            f". On a server of its own a closed loop of one connection reads {write.count(read)} responses; then heads "
            f"are longer than the client takes, and {write.count(unread)} responses can't be read"
        )
        evidence |= {"read": read, "unread": unread}
    remedy = "Make a response for each request, or write bytes that nobody changes."
    return Finding("V04", Severity.WARNING, write.sentence(text), evidence, (step.name,), "ablation-fault", remedy)


def _next(found: Sequence[Ablation]) -> Iterator[Finding]:
    for each in found:
        for row in each.rows:
            if row.gain is not None and row.gain.verdict == Verdict.UNSEEN:
                more = row.gain.more_rounds(len(row.found))
                if more:
                    text = (
                        f"Take about {write.count(more)} more rounds of {row.name}: they would show a difference of "
                        f"{write.percent(row.gain.see)} in {row.gain.quantity.label}"
                    )
                    evidence: dict[str, write.Value] = {"rounds": more, "see": row.gain.see}
                    yield Finding("V05", Severity.NOTE, write.sentence(text), evidence, (), each.anchor)


def _checks(found: Sequence[Ablation]) -> Iterator[Check]:
    for each in found:
        fewest = min((len(row.rounds[each.switch.gain]) for row in each.rows), default=0)
        text = f"{write.count(fewest)} of {write.count(each.planned)} planned rounds tell what the switch is about"
        if each.left_out:
            more = len(each.left_out) - MOST_LEFT_OUT
            named = [*each.left_out[:MOST_LEFT_OUT], *([f"{write.count(more)} more"] if more > 0 else [])]
            text += f"; loads left out: {write.listed(named)}"
        yield Check(f"rounds, {each.switch.title}", fewest >= each.planned, write.sentence(text))
