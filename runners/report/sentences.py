"""Write every typed value of an answer in words. No other module turns answers into English.

`words_of` writes one piece of evidence by the function for its type. An experiment that has evidence of another type
registers a function for this type with `words_of.register`.
"""

import math
import tomllib
from collections.abc import Callable, Iterable
from functools import singledispatch

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Direction
from runners.analysis.knee import Knee, rate_interval
from runners.analysis.latency_spikes import FOREIGN, STALL, STALLED
from runners.analysis.quantities import FACTOR_FROM, Reason, Refusal, Row, changed, factor, signed
from runners.design.setting import CEILING
from runners.readers.run import Run
from runners.report.tables import Table, template
from runners.results.answer import Answer, Answered, Bound, Measure, Needed, Relation, Unit, Verdict
from runners.results.comparisons import Cost, Difference
from runners.results.generators import AtRate
from runners.results.knees import LONGER, KneeRatio, PublishedRate
from runners.results.tails import Explained

MOST_NAMED = 3  # categories or causes of one sentence
MOST_PAIRS = 3  # so many pairs of values fit into a sentence; more are a table
#: Causes of a tail whose names are plural.
_PLURAL = (STALLED, FOREIGN, STALL, "waits for the disk", "waits for memory")

_VALUE: dict[Unit, Callable[[float], str]] = {
    Unit.LATENCY_US: words.latency,
    Unit.RATE_RPS: words.rounded_rate,
    Unit.SHARE: words.percent,
    Unit.CHANGE: signed,
    Unit.COUNT: words.count,
    Unit.SIZE_BYTES: words.size,
    Unit.TIME_S: words.seconds,
    Unit.FACTOR: words.number,
    Unit.TIMES: lambda value: f"{words.number(value)}{words.NBSP}times",
    Unit.CORES: lambda value: f"{words.number(value)}{words.NBSP}cores",
}


def value_of(measure: Measure) -> str:
    """Return a measure's number as text with unit and interval, such as 24.2 % (22.2 to 26.6)."""
    written = _VALUE[measure.unit]
    bare = words.number if measure.unit == Unit.TIMES else written
    if measure.bound != Bound.EXACT:
        return f"{measure.bound.value} {written(measure.value)}"
    if not (math.isfinite(measure.low) and math.isfinite(measure.high)) or measure.low == measure.high:
        return written(measure.value)
    if measure.value in (measure.low, measure.high) and measure.unit != Unit.SHARE:  # the ends of several values
        if written(measure.low) == written(measure.high):
            return written(measure.high)
        return f"{bare(measure.low)} to {written(measure.high)}"
    if measure.unit == Unit.LATENCY_US and measure.low <= measure.value <= measure.high:
        return words.latency_interval(measure.value, measure.low, measure.high)
    if measure.unit == Unit.SHARE:
        return words.percent_interval(measure.value, measure.low, measure.high)
    if measure.unit == Unit.CHANGE:
        return words.change_interval(measure.value, measure.low, measure.high)
    return f"{written(measure.value)} ({bare(measure.low)} to {bare(measure.high)})"


@singledispatch
def words_of(evidence: object) -> str:
    """Return one piece of an answer's evidence in words. Raises TypeError for a type without a registered function."""
    raise TypeError(f"no words for {type(evidence).__name__}: register them with words_of.register")


@words_of.register
def _(measure: Measure) -> str:
    text = f"{measure.label} {value_of(measure)}".strip()
    if measure.other is None:
        return text
    if measure.relation == Relation.OF:
        return f"{text} of {value_of(measure.other)}"
    return f"{text} against {f'{measure.other.label} {value_of(measure.other)}'.strip()}"


@words_of.register
def _(at: AtRate) -> str:
    return f"{words_of(at.measure)} at {words.rate(at.rate_rps)} on {words.connections(at.connections)}"


@words_of.register
def _(difference: Difference) -> str:
    row = difference.row
    cpu, of = difference.cpu, f"{difference.label} ".lstrip()
    label = f"{of}{row.quantity.label}"
    used = f"{of}{cpu.quantity.label} of {cpu.pair}, {cpu.change}{_offered(difference, cpu)}" if cpu is not None else ""
    leads, follows = (f"{used}; ", "") if cpu is not None and cpu.decided else ("", f"; {used}" if used else "")
    if row.refused:
        return f"{leads}{label} is not compared: {refusal_words(row.refused)}{follows}"
    text = f"{leads}{label} of {row.pair}, {_change(row)}"
    if row.direction == Direction.SAME:
        treatment, baseline = facts.engine_name(row.treatment), facts.engine_name(row.baseline)
        within = words.given_share(difference.margin)
        text = f"{label} of {treatment} is that of {baseline} within {within}: {row.change}"
    if row.spill_over:
        text += ", by the loads alone, which the shared schedule contradicts"
    if difference.all_threads is not None:
        text += f"; {difference.all_threads.quantity.label} {difference.all_threads.change}"
    text += _offered(difference, row) + follows
    if (medians := difference.alone) is not None:
        differ = f"{facts.written(medians.treatment)} against {facts.written(medians.baseline)}"
        differ += ", not decided" if medians.inconclusive else f", {signed(medians.share)}"
        if not medians.steady:
            differ = "not compared, for at least one of the two never became steady"
        text += f"; in a load of one server alone, at {words.rate(medians.rate_rps)}: {differ}"
    return text


def _change(row: Row) -> str:
    if not (row.decided and (row.at_most or row.at_least)):
        return row.change
    value = factor(row.ratio) if row.low - 1 > FACTOR_FROM else words.percent(abs(row.ratio - 1))
    return f"{row.change} (measured: {value} or more)"


def _offered(difference: Difference, row: Row) -> str:
    if not (row.quantity.is_latency or row.quantity.unit == "us"):
        return ""
    rate_rps = difference.rate_rps
    return f" at {words.rate(rate_rps)} on each server" if words.known(rate_rps) else " in closed loop"


def refusal_words(refusals: Iterable[Refusal]) -> str:
    """Return in words why a difference is not compared: every reason once, with the sides that it concerns."""
    sides: dict[str, list[str]] = {}
    for refusal in refusals:
        sides.setdefault(_refusal(refusal), []).append(facts.engine_name(refusal.side))
    return words.listed(text.replace("{}", words.listed(names)) for text, names in sides.items())


def _refusal(refusal: Refusal) -> str:
    amounts = refusal.amounts
    if refusal.reason == Reason.MACHINE and amounts:
        counts, names = " of ".join(map(words.count, amounts)), words.listed(name for name, _ in refusal.causes)
        return f"in {counts} measurements of {{}} the machine ({names}) explains most of the tail"
    if refusal.reason == Reason.MACHINE:
        verbs = ((f"{name} explain{'' if name in _PLURAL else 's'}", share or 0.0) for name, share in refusal.causes)
        return f"{words.listed(f'{verb} {words.percent(share)}' for verb, share in verbs)} of the tail of {{}}"
    if refusal.reason == Reason.FAILED:
        return f"{words.percent(amounts[0])} of the responses of {{}} failed"
    if refusal.reason == Reason.CONTROL:
        return f"two processes of the baseline differ by {signed(amounts[0])} themselves"
    return _WORDS["refusals"][refusal.reason].format(*amounts, side="{}")


@words_of.register
def _(cost: Cost) -> str:
    worst = cost.worst.row
    text = f"{cost.quantity.label} is worse in {words.count(cost.count)} of {words.count(cost.gaining)}"
    return f"{text}, most with {facts.engine_name(worst.treatment)}: {worst.change}"


@words_of.register
def _(ratio: KneeRatio) -> str:
    pairs = list(zip(ratio.names, ratio.knees, strict=True))
    text = " against ".join(f"{name} {knee_words(knee)}" for name, knee in pairs)
    if (change := ratio.change) is not None:
        if change.low <= -1 and change.high == math.inf:
            text = f"by how much is unknown, for only limits of the knees are known: {text}"
        else:
            text = f"knee of {text}, {changed(change.value, change.low, change.high)}"
    unconfirmed = [name for name, knee in pairs if knee.only_short]
    lower = f"longer ones may show a lower one, by up to {words.percent(1 - LONGER)}, which the change allows for"
    only_short = f"; short steps alone show the knee of {words.listed(unconfirmed)}, and {lower}"
    return text + only_short * bool(unconfirmed)


def knee_words(knee: Knee) -> str:
    """Return a knee in words with its interval, else a known bound of the knee, else "unknown"."""
    return rate_interval(knee) if knee.known else "unknown"


@words_of.register
def _(rate: PublishedRate) -> str:
    name, wanted = rate.workload.upper(), words.rate(rate.published_rps)
    if rate.knee is None:
        reached = words.rounded_rate(rate.closed_loop_rps)
        return f"{name} reaches {reached} in closed loop here, where the author's server kept {wanted}"
    return f"{name} knee here {knee_words(rate.knee)} against published {wanted}"


@words_of.register
def _(tail: Explained) -> str:
    count = f"{words.count(tail.slow)} " if tail.slow > 1 else ""
    slow = f"what the {count}responses slower than {words.latency(tail.threshold_us)} waited for"
    parts = [f"{name} {share.as_share}" for name, share in tail.causes[:MOST_NAMED]]
    return f"{slow}: {words.listed([*parts, f'no recorded cause {words.percent(tail.unexplained)}'])}"


def main_evidence(answer: Answer) -> object | None:
    """Return an answer's first evidence, or if that is a difference, the first decided one in its quantity, if any."""
    first = next(iter(answer.evidence), None)
    alike = (piece for piece in answer.evidence if isinstance(piece, Difference))
    of = first.row.quantity if isinstance(first, Difference) else None
    return next((piece for piece in alike if piece.row.decided and piece.row.quantity == of), first)


def evidence_of(answer: Answer) -> str:
    """Return an answer's evidence in one line: all of it, or only `main_evidence` if it has an `evidence_table`."""
    pieces = answer.evidence if evidence_table(answer) is None else [main_evidence(answer)]
    return "; ".join(filter(None, map(words_of, pieces)))


def evidence_table(answer: Answer) -> Table | None:
    """Return a table with a row per treatment or pair of values; None for few pairs, or if some evidence is no pair."""
    differences = [piece for piece in answer.evidence if isinstance(piece, Difference)]
    given = (piece for piece in answer.evidence if isinstance(piece, Measure))
    measures = [(own, own.other) for own in given if own.other is not None and own.relation == Relation.AGAINST]
    compared = [(piece, row) for piece in differences for row in (piece.cpu, piece.row) if row is not None]
    pairs = len(compared) + len(measures) + sum(piece.alone is not None for piece in differences)
    if pairs <= MOST_PAIRS or len(differences) + len(measures) < len(answer.evidence):
        return None
    by_quantity = facts.grouped(compared, lambda p: f"{p[0].label} {p[1].quantity.label}{_offered(*p)}".strip())
    rows = list[tuple[str, ...]]()
    if measures or len({row.baseline for _, row in compared}) > 1:
        units = [measure.unit for measure, _ in measures]
        measures.sort(key=lambda pair: units.index(pair[0].unit))
        rows += [(measure.label, value_of(measure), f"{other.label} {value_of(other)}") for measure, other in measures]
        rows += [(of, *pair[1].sides, _outcome(*pair)) for of, own in by_quantity.items() for pair in own]
        head = ("quantity", "value", "against", "change")[: 4 if compared else 3]
        filled = (row + (words.DASH,) * (len(head) - len(row)) for row in rows)
        return Table("quantity: value against another", head, tuple(filled), numeric=False)
    first = compared[0][1].baseline
    columns = list(by_quantity.values())
    rows.append((f"{facts.engine_name(first)} (baseline)", *(column[0][1].text(first) for column in columns)))
    for name in dict.fromkeys(row.treatment for _, row in compared):
        cells = ([_outcome(*pair) for pair in column if pair[1].treatment == name] for column in columns)
        rows.append((facts.engine_name(name), *(cell[0] if cell else words.DASH for cell in cells)))
    same = words.given_share(differences[0].margin)
    note = f"Changes against the baseline with their 95{words.NBSP}% intervals. The same: within {same}."
    return Table("treatment: changes against the baseline", ("treatment", *by_quantity), tuple(rows), note)


def _outcome(difference: Difference, row: Row) -> str:
    if row.refused:
        return "not compared"
    same = ", the same" if row.direction == Direction.SAME else ", not decided"
    also = difference.all_threads if row is difference.row else None
    return f"{_change(row)}{'' if row.decided else same}{f'; {also.quantity.label} {also.change}' if also else ''}"


#: Texts of answers.toml: what would decide an answer, what an answer rests on, and why a difference is not compared.
_WORDS: dict[str, dict[str, str]] = tomllib.loads(template("answers.toml"))


def needed_words(answer: Answer) -> str:
    """Return in words what would decide an inconclusive answer; empty for any other answer."""
    if answer.needed is None:
        return ""
    count = words.count(answer.needed_count) if answer.needed_count else "more"
    return _WORDS["needed"][answer.needed].format(count=count)


def basis_words(answer: Answer, run: Run) -> str:
    """Return in words what an answer rests on, such as: 2 published outputs; 1 load (LSM PUT-COLD)."""
    steps = [step for step in run.steps if step.name in answer.steps]
    blocks = {step.record.block for step in steps} - {None, ""}  # a load that servers share starts none itself
    servers = [step for step in run.steps if step.record.server.command and step.subject != CEILING]
    own = [step for step in servers if step in steps or step.record.block in blocks]
    cpus = {tuple(step.record.server.cpus or ()) for step in own}
    others = any(not step.record.server.cpus for step in servers)
    pinned = f"; server on CPU {words.listed(map(str, *cpus))}" if others and len(cpus) == 1 and () not in cpus else ""
    if (text := _WORDS["basis"].get(answer.basis)) is not None:
        return text.format(count=words.count(answer.count)) + pinned
    loads = dict.fromkeys(map(facts.title, steps))
    named = f" ({'; '.join(loads)})" if 0 < len(loads) <= MOST_NAMED else ""
    return f"{words.several(answer.count, answer.basis.value)}{named}{pinned}" if answer.count else ""


def verdict_words(answered: Answered) -> str:
    """Return the verdict in a word, followed by the question's sentence for this verdict, if it has one."""
    verdict = answered.answer.verdict
    lead = {Verdict.YES: answered.question.yes, Verdict.NO: answered.question.no}.get(verdict, "")
    return f"{verdict.value.capitalize()}. {lead}".strip()


def effect_sentence(answered: Answered) -> str:
    """Return an answer's evidence as a sentence; a first word with a digit, such as p50, keeps its small letter."""
    text = effect_words(answered)
    named = any(map(str.isdigit, text.partition(" ")[0]))
    return f"{text}." if named else words.sentence(text)


def effect_words(answered: Answered) -> str:
    """Return an answer's evidence in one line, for a table; the line says so if nothing was measured."""
    if not answered.measured:
        return "not measured in this run"
    evidence, few_cores = evidence_of(answered.answer), answered.answer.needed == Needed.SERVER_CORES
    return f"not answerable on this machine: {evidence} core for the server" if few_cores else evidence
