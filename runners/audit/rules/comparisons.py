"""CMP: before and after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from runners.audit.reports import is_report, tells
from runners.audit.rule import Group, Seen, achieved_rps, at, rule
from runners.audit.rules.alternatives import named_alike, under_one_load
from runners.audit.rules.comparing import comparing
from runners.audit.rules.headings import completed, opposed
from runners.audit.rules.quantity import REPEATED, said_above
from runners.audit.rules.sentences import sentences
from runners.audit.rules.subjects import (
    against_a_baseline,
    alternatives,
    captioned,
    ranked,
    releases,
    subjects,
    variants,
)
from runners.readers import context, write
from runners.readers.finding import Severity
from runners.readers.output import Output

#: Runs of one setting on one machine seldom agree more closely; without repeats nothing smaller can be claimed.
NOISE = 0.05
SEVERAL = 2
FEW_REPEATS = 3
MOST_COMPARED = 100  # outputs of one script that a later one is compared with
#: Past forms of "removed, replaced, changed ...": the audit reads English and Russian here, and nothing else.
_CHANGED = re.compile(
    r"(?i)\b(?:removed|replaced|added|changed|increased|reduced|decreased|disabled|enabled|switched|upgraded|rewr(?:ote"
    r"|itten)|(?:убран|замен[её]н|добавлен|измен[её]н|увеличен|уменьшен|отключ[её]н|включ[её]н|переписан"
    r"|удал[её]н)[аоы]?|(?:убрал|заменил|добавил|изменил|увеличил|уменьшил|отключил|включил|переписал|удалил)[аи]?)\b"
)


def pairs(group: Group) -> Iterator[tuple[Output, Output]]:
    """Outputs that a report compares: two columns of a table at one rate, old and new, before and after."""
    for first, second in pairwise(group):
        columns = first.columns == second.columns == 2 and (first.column, second.column) == (0, 1)
        if columns and first.place == second.place and first.offered_rps == second.offered_rps:
            yield first, second
    sides: dict[tuple[object, ...], dict[str, list[Output]]] = {}
    for output in group:
        if output.change and output.columns != 2:
            where = (output.place, context.unchanged(output.label)) if output.columns > 2 else ()
            key = (output.script, output.threads, output.connections, output.offered_rps, where)
            sides.setdefault(key, {}).setdefault(output.change, []).append(output)
    for side in sides.values():
        if len(side.get("before", ())) == 1 and len(side.get("after", ())) == 1:
            yield side["before"][0], side["after"][0]


def _change_of(before: float | None, after: float | None) -> float | None:
    return after / before - 1 if before and after is not None else None


@rule(
    "CMP001",
    "within-noise",
    Severity.WARNING,
    "repeat both, interleaved, until the interval of the difference leaves out zero (lab compare)",
    across=True,
)
def _within_noise(group: Group) -> Iterator[Seen]:
    """Before and after differ by less than 5 %, with one run of each."""
    for before, after in pairs(group):
        median = _change_of(at(before, 0.5), at(after, 0.5))
        rate = _change_of(achieved_rps(before), achieved_rps(after))
        known = [change for change in (median, rate) if change is not None]
        if not known or any(abs(change) > NOISE for change in known):
            continue
        parts = []
        if median is not None:
            parts.append(f"the median by {write.percent(median)}")
        if rate is not None:
            parts.append(f"the rate by {write.percent(rate)}")
        text = (
            f"it differs from {before.place} in {write.listed(parts)}, with one run of each: runs of one setting "
            "may differ as much"
        )
        evidence: dict[str, write.Value] = {
            "before": before.place,
            "p50_change": None if median is None else round(median, 5),
            "rate_change": None if rate is None else round(rate, 5),
        }
        yield Seen(after, text, evidence)


@rule(
    "CMP003",
    "compared-once",
    Severity.WARNING,
    "run both states several times, interleaved, and give the interval of the difference (lab compare)",
)
def _in_words(group: Group) -> Iterator[Seen]:
    """The text compares runs that were not repeated.

    Find text, or names of runs under one load, that compare states, where no setting was run more than once.
    """
    first = group[0]
    if first.entry:
        return
    prose, report = sentences(first.prose), is_report(first)
    said = next(comparing(prose) if report else opposed(prose), None)
    if said is None:
        captions = [(output.line, caption) for output in group for caption in captioned(output)]
        said = next(completed(captions), None) or next(against_a_baseline(group), None)
    if said is None and report:
        things = subjects(group)
        said = next(ranked(prose, things), None)
        pair = alternatives(things) or variants(group) or releases(group)
        if said is None and pair:
            said = first.line, " and ".join(pair)
    milder = None
    if said is None and (said := under_one_load(group)) and not report and not tells(group):
        milder = Severity.NOTE  # of a bare record nobody says what it is for
    label, settings = "", Counter[tuple[object, ...]]()
    for output, things_of in zip(group, named_alike(group), strict=True):
        above = [line.text for line in output.text_above if not report and line.text.rstrip("* ").endswith(":")]
        label = above[-1] if above else label
        settings[label, *_setting(output), things_of] += 1
    repeated = sum(times for times in settings.values() if times >= FEW_REPEATS)
    if (
        said is None
        or repeated > len(group) / 2
        or (report and any(REPEATED.search(line.text) for line in first.prose))
    ):
        return
    line, phrase = said
    text = f"line {line} compares ({phrase!r}) runs that were made once each: their spread is not known"
    yield Seen(first, text, {"said_at_line": line}, milder)


def _setting(output: Output) -> tuple[object, ...]:
    """What an output was run with; one that does not say is a setting of its own."""
    asked = (output.script, output.offered_rps, output.threads, output.connections, output.report.url)
    if output.report.transcribed:
        return (*asked, output.headings, output.label)
    if not any(asked) or output.columns > 1:
        return output.line, output.column
    return (*asked, output.headings, said_above(output))


@rule("CMP002", "several-changes", Severity.WARNING, "change one thing at a time, and measure after each", across=True)
def _several_changes(group: Group) -> Iterator[Seen]:
    """Before and after differ in more than one thing."""
    yield from _settings_changed(group)
    last: dict[tuple[object, ...], Output] = {}
    for output in group:
        rate = output.offered_rps
        key = (rate, output.headings[:2])
        same = last.get(key)
        last[key] = output
        if same is None or rate is None or output.column:
            continue  # the text above a table is that of its first column
        said = [found[0] for line in output.text_above for found in _CHANGED.finditer(line.text)]
        changes = output.changes or said
        if len(changes) < SEVERAL:
            continue
        text = (
            f"{write.count(len(changes))} changes are named between it and {same.place} at the same {write.rate(rate)} "
            f"({write.listed(changes)}): which of them did it is not known"
        )
        evidence: dict[str, write.Value] = {"before": same.place, "changes": len(changes)}
        yield Seen(output, text, evidence)


def _settings_changed(group: Group) -> Iterator[Seen]:
    """Before and after of one script that were run with other settings too."""
    earlier: dict[str, list[Output]] = {}
    for output in group:
        if output.change == "before" and output.script and output.columns == 1:
            earlier.setdefault(output.script, []).append(output)
    for after in group:
        others = earlier.get(after.script, [])[:MOST_COMPARED]
        if after.change != "after" or after.columns > 1 or not others:
            continue
        changed = [_changed(before, after) for before in others]
        before, names = min(zip(others, changed, strict=True), key=lambda each: len(each[1]))
        if len(names) >= SEVERAL:
            text = f"besides the change itself, {write.listed(names)} differ from {before.place}"
            yield Seen(after, text, {"before": before.place, "settings_changed": len(names)})


def _changed(before: Output, after: Output) -> list[str]:
    settings = (
        ("threads", before.threads, after.threads),
        ("connections", before.connections, after.connections),
        ("duration", before.duration_s, after.duration_s),
        ("offered rate", before.offered_rps, after.offered_rps),
        ("generator", before.tool, after.tool),
    )
    return [name for name, was, became in settings if was is not None and became is not None and was != became]


RULES = (_within_noise, _in_words, _several_changes)
