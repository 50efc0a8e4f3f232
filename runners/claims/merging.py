"""Findings of a run with many ladders, as a report shows them: once for all ladders, beside a table of them.

The findings of a conclusion stay as they are, one a ladder, with their evidence. Shown one below the other, those of a
dozen ladders say the same dozen times; so a report draws the usual ones as rows of a table, and tells what differs
from the usual, or limits the conclusion, in one sentence for all ladders that it holds for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runners.analysis.finding import Finding
from runners.claims.climbing import MOST_IN_ANSWER
from runners.design.ladder import MOST_SHARE
from runners.readers import write
from runners.readers.severity import Severity

#: Where merged findings stand: beside the table of all ladders.
ANCHOR = "ladders"
GRAVE = (Severity.WARNING, Severity.ERROR)
LADDERS = ("K01", "K05")  # every ladder has one of them


def many(findings: Iterable[Finding]) -> bool:
    """Whether these findings are on more ladders than can be told one by one."""
    return len({each.figure for each in findings if each.code in LADDERS}) > MOST_IN_ANSWER


def merged(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings with those on many ladders merged; the same findings where there are few ladders.

    What a row of the table says is left out: which knee was found, what was missed above it, which rates were carried.
    A merged finding stands where the first of its kind stood, with the steps of all.
    """
    if not many(findings):
        return tuple(findings)
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for each in findings:
        if (key := _key(each)) is not None:
            groups.setdefault(key, []).append(each)
    shown: list[Finding] = []
    for each in findings:
        key = _key(each)
        if key is not None:
            if groups[key][0] is each:
                shown.append(_merge(groups[key]))
        elif not _in_table(each):
            shown.append(each)
    return tuple(shown)


def _in_table(finding: Finding) -> bool:
    return finding.code == "K02" or (finding.code in LADDERS and finding.severity not in GRAVE)


def _key(finding: Finding) -> tuple[str, str | None] | None:
    """What a finding is merged by; None for one that stands alone."""
    if finding.code == "E02" and _undecided(finding):
        return finding.code, finding.figure
    if finding.code == "K01" and finding.evidence.get("kind") != "open":
        return None
    return (finding.code, None) if finding.code in _SENTENCES and finding.code != "E02" else None


def _undecided(finding: Finding) -> bool:
    low, high = _number(finding, "low"), _number(finding, "high")
    return low <= 0 <= high


def _merge(group: Sequence[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    steps = tuple(dict.fromkeys(step for each in group for step in each.steps))
    figure = first.figure if first.code == "E02" else ANCHOR
    text = _SENTENCES[first.code](group)
    evidence: dict[str, write.Value] = {"findings": len(group)}
    return Finding(first.code, first.severity, write.sentence(text), evidence, steps, figure, first.remedy)


def _not_found(group: Sequence[Finding]) -> str:
    return (
        f"The knees of {_ladders(group)} were not found: their probes did not both meet the objective and miss it, as "
        "far as they tell"
    )


def _generator(group: Sequence[Finding]) -> str:
    late, of = (sum(int(_number(each, name)) for each in group) for name in ("probes", "of_probes"))
    lowest = min(_number(each, "lowest_rps") for each in group)
    return (
        f"The generator did not keep up in {write.count(late)} of {write.count(of)} probes of {_ladders(group)}, from "
        f"{write.rate(lowest)} on, and the objective was missed: nobody can tell by whose fault"
    )


def _not_precise(group: Sequence[Finding]) -> str:
    widths = [width for each in group if write.known(width := _number(each, "width"))]
    asked = write.percent(_number(group[0], "asked"))
    text = f"The budget ended before {write.count(len(group))} knees were known as well as asked ({_ladders(group)})"
    if not widths:
        return f"{text}: none is yet between a rate that meets the objective and one that misses it"
    wide = write.percent(min(widths))
    wide += f" to {write.percent(max(widths))}" if len(widths) > 1 else ""
    text += f": their intervals are {wide} wide, {asked} was asked"
    lost = [each for each in group if not write.known(_number(each, "width"))]
    if lost:
        text += f", and {_ladders(lost)} {'have' if len(lost) > 1 else 'has'} none yet"
    return text


def _out_of_reach(group: Sequence[Finding]) -> str:
    by_rate: dict[float, list[Finding]] = {}
    for each in group:
        by_rate.setdefault(_number(each, "lowest_not_offered_rps"), []).append(each)
    parts = [f"to {_ladders(each)} those from {write.rate(rate)} on" for rate, each in sorted(by_rate.items())]
    bases = write.listed(dict.fromkeys(str(each.evidence["base"]) for each in group))
    return (
        f"Published rates of more than {MOST_SHARE:g} times the {bases} here were not offered: such a rate step shows "
        f"the length of its queue: {'; '.join(parts)}"
    )


def _no_difference(group: Sequence[Finding]) -> str:
    parts = [
        f"{each.evidence['of']} ({write.percent(_number(each, 'low'))} to {write.percent(_number(each, 'high'))})"
        for each in group
    ]
    workload = str(group[0].figure).partition("-")[2].upper()
    against = group[0].evidence["against"]
    return f"{workload}: the knees of {write.listed(parts)} against that of {against} are inconclusive"


_SENTENCES: dict[str, Callable[[Sequence[Finding]], str]] = {
    "K01": _not_found,
    "K03": _generator,
    "K04": _not_precise,
    "R02": _out_of_reach,
    "E02": _no_difference,
}


def _ladders(group: Iterable[Finding]) -> str:
    return write.listed(dict.fromkeys(str(each.evidence["ladder"]) for each in group))


def _number(finding: Finding, name: str) -> float:
    value = finding.evidence.get(name)
    return float(value) if isinstance(value, (int, float)) else float("nan")
