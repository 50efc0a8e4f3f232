"""Write how valid a report is: notices before the first number, the number of passed checks, and failed checks."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence

from runners import words
from runners.analysis import facts
from runners.analysis.facts import quotable
from runners.design.session import RATE_STEP
from runners.readers.run import Run, Step
from runners.report import tables
from runners.report.sentences import words_of
from runners.results.checks import Check, CheckName, Consequence
from runners.results.conclusion import Conclusion
from runners.results.generators import HostNetwork, host_networks

PREPARING = ("probe", "warm-up", "fill")  # kinds of steps that a load comes after
MOST_NAMED = 3  # the most values of a failed check in a sentence; if there is only one more, it is written too
#: By check: the text that says what failed, and the text that says what follows.
_FAILED = {CheckName(name): texts for name, texts in tomllib.loads(tables.template("checks.toml")).items()}


def check_words(*checks: Check, places: Iterable[str] | None = None) -> str:
    """Return failed checks of one kind in a sentence: what failed, where, and what follows.

    If `places` (names of loads) is given, it replaces the checks' own places and values.
    """
    failed, follows = _FAILED[checks[0].about]
    if places is None:
        where = words.listed(filter(None, map(_place_words, checks)))
    else:
        where = f"({', '.join(dict.fromkeys(places))})" if places else ""
    return words.sentence(f"{' '.join(filter(None, (failed, where)))}; {follows}")


def _place_words(check: Check) -> str:
    values = list(map(words_of, check.measures))
    if len(values) > MOST_NAMED + 1:
        values[MOST_NAMED:] = [f"{len(values) - MOST_NAMED} more"]
    where = [f"in “{check.place}”"] if check.place else []
    return " ".join([*where, *([f"({'; '.join(values)})"] if values else [])])


def validity_line(checks: Sequence[Check]) -> str:
    """Return a sentence on how many checks passed and failed, and which checks could not be made."""
    known = [check for check in checks if check.ok is not None]
    passed = sum(bool(check.ok) for check in known)
    kinds = len({check.about for check in known if check.failed})
    alike = f", of {words.several(kinds, 'kind')}" if kinds < len(known) - passed else ""
    failed = f" and {words.count(len(known) - passed)} failed{alike}" if passed < len(known) else ""
    text = f"{words.several(len(known), 'check')}: {words.count(passed)} passed{failed}"
    unknown = list(dict.fromkeys(check.about for check in checks if check.ok is None))
    missing = f"; {words.count(len(unknown))} more could not be made ({', '.join(unknown)})" if unknown else ""
    return words.sentence(text + missing)


def failed_checks(conclusion: Conclusion) -> Iterator[str]:
    """Yield a sentence on each kind of failed check and the questions it affects; kinds that affect none come last."""
    harmless = list[str]()
    failed = [check for check in conclusion.checks if check.failed]
    for checks in facts.grouped(failed, lambda check: check.about).values():
        text = check_words(*checks)
        if touched := sorted({number for check in checks for number in conclusion.touched(check)}):
            yield f"{text} It touches {numbered_questions(touched)}."
        elif conclusion.answers:
            harmless.append(f"{text} No answer uses what it excludes.")
        else:
            yield f"{text} It counts for all of this report."
    yield from harmless


def numbered_questions(numbers: Iterable[int]) -> str:
    """Return the numbers of questions as text, such as question 3 or questions 1, 2 and 6."""
    texts = list(map(str, sorted(numbers)))
    return f"question{'s' if len(texts) > 1 else ''} {words.listed(texts)}"


def marks_of(number: int, conclusion: Conclusion) -> list[str]:
    """Return sentences on the failed checks that touch question `number`, first on checks that exclude evidence."""
    touching = [check for check in conclusion.checks if check.failed and number in conclusion.touched(check)]
    touching.sort(key=lambda check: check.consequence != Consequence.EXCLUDES)
    used = set(conclusion.answers[number - 1].answer.steps)
    loads = [step for step in conclusion.results.run.steps if step.name in used and step.kind == "load"]
    places = [[facts.title(load) for load in loads if load.name in check.steps] for check in touching]
    return list(dict.fromkeys(check_words(check, places=of) for check, of in zip(touching, places, strict=True)))


def notices(run: Run, has_sections: bool = False) -> Iterator[str]:
    """Yield sentences that a reader must know before the first number, for example that a run is not complete.

    With `has_sections` (the experiment's report has sections of its own), a run may be complete without a load step.
    """
    if (status := run.manifest.get("status", "not known")) != "complete":
        yield f"This run is not complete (status: {status}). It holds {tables.count(len(run.steps))} finished steps."
    yield from (f"{name}: was begun and not finished; nothing of it is shown." for name in run.unfinished)
    # remarks that differ only in the step's name become one
    remarks = ((step, text.replace(f"steps{os.sep}{step.name}{os.sep}", "")) for step, text in _remarks(run))
    for text, alike in facts.grouped(remarks, lambda remark: remark[1]).items():
        yield f"{'; '.join(dict.fromkeys(_name_of(step) for step, _ in alike))}: {text}"
    if not run.find(kind="load") and not has_sections:
        yield "No load step is in this run, so there is no latency to show."


def _remarks(run: Run) -> Iterator[tuple[Step, str]]:
    """Yield (step, remark) on networks to generators' hosts, steps not quoted, unreadable files, empty profiles."""
    yield from ((network.step, _network(network)) for network in host_networks(run) if network.matters)
    measured = [step for step in run.steps if step.kind in ("load", "floor")]
    for step in measured:
        if not quotable(step) and not (step.profiled and facts.usable_profile(step)):
            yield step, f"{words.sentence(facts.why_not(step))} Latency is not shown."
    known = {(step.subject, step.workload) for step in run.steps if step.valid and step.kind not in PREPARING}
    for step in run.steps:
        shown_elsewhere = step in measured or step.record.own_section or step.kind == RATE_STEP
        only_before = step.kind in PREPARING and (step.subject, step.workload) in known
        if not (step.valid or shown_elsewhere or only_before):
            yield step, words.sentence(facts.why_not(step))
        yield from ((step, str(problem).replace(f"{run.folder.path}{os.sep}", "")) for problem in step.unreadable)
    for step in run.find(kind="load", profiled=True):
        if step.frames["shares"].empty:
            yield step, "its profile holds nothing."


def _name_of(step: Step) -> str:
    rate_rps, kind = facts.offered_rps(step), {"load": "", RATE_STEP: ""}.get(step.kind, f" ({step.kind})")
    at = f" at {words.rate(rate_rps)}" if words.known(rate_rps) else ""
    title = facts.title(step)
    return f"{title}{at}{' (profiled)' if step.profiled else kind}" if title else step.name  # of one that can't be read


def _network(network: HostNetwork) -> str:
    off_us = abs(network.off_us) if network.off_us is not None else None
    parts = (
        (network.round_trip_us, words.latency, "its round trip to the server, in every response time, takes {}"),
        (network.repeated_share, words.percent, "TCP sent {} of its segments again"),
        (off_us, words.latency, "its clock or its begin was off by {}"),
        (network.stalled_share, words.percent, "its cores stalled {} of the time"),
    )
    known = (text.format(written(value)) for value, written, text in parts if value is not None)
    return f"of the host {network.host}, {words.listed(known)}."
