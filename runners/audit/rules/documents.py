"""DOC, and what a whole document leaves out: its text held against its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from runners.audit.figures import is_report
from runners.audit.rule import Group, Rule, Seen
from runners.readers import context, units, write
from runners.readers.documents import Line
from runners.readers.outputs import Output
from runners.readers.severity import Severity

OTHER_RATE = 0.1  # a heading rounds its rate by less
SAME_FIGURE = 0.02
FAR_OFF = 2.0
ENOUGH_ROWS = 4  # outputs that agree in this many percentiles are one output
MOST_COMPARED = 60

#: What a reader needs to know of a run, and the words by which a document says it.
_CONDITIONS = {
    "processor and cores": r"\bcores?\b|\bCPUs?\s*:|ядер|ядра|Xeon|Ryzen|\bCore i\d|\bM[1-4]\b|Celeron",
    "memory": r"\bRAM\b|ОЗУ|оперативн\w+ памят\w+\s*[:\d]|\bDDR\d|\d\s?(?:GB|GiB|ГБ|Гб) (?:of )?(?:memory|памяти)",
    "warm-up": r"warm(?:ed)?[ -]?up|прогре|разогре",
}
_OF_THE_JVM = {
    "heap": r"-Xm[xs]|\bheap\b|\bхип|размер кучи",
    "JDK": r"\bJDK\b|openjdk|\bjava (?:version|\d)|GraalVM|\bJava \d",
}
_JVM = re.compile(r"\bjava\b|\bjvm\b|async-profiler|asprof|one[-.]nio|\bG1\b|\bjit\b", re.IGNORECASE)
_STATED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in (_CONDITIONS | _OF_THE_JVM).items()}
_UNIT = r"(?:мкс|мс|ms|us|µs|μs|секунд\w*|сек|seconds?|sec|с|s)"
_QUOTED = re.compile(
    rf"(?<![\d.,])(?P<level>\d{{2}}(?:[.,]\d{{1,3}})?)\s?(?:%|пер[сц]ентил\w+|процентил\w+|percentile)"
    rf"[^.;%\n]{{0,60}}?(?<![\d.,])(?<!ше на )(?<!же на )"
    rf"(?P<value>\d{{1,6}}(?:[.,]\d{{1,3}})?)\s?(?P<unit>{_UNIT})(?!\w)"
)
_PLAIN = {"мкс": "us", "мс": "ms", "с": "s", "сек": "s", "sec": "s"}


def _conditions(group: Group) -> Iterator[Seen]:
    first = group[0]
    if not is_report(first) or first.entry:
        return  # an index beside the file is ours, and says it elsewhere
    text = "\n".join(line.text for line in first.prose)
    wanted = [*_CONDITIONS, *(_OF_THE_JVM if _JVM.search(text) else ())]
    missing = [name for name in wanted if not _STATED[name].search(text)]
    if missing:
        yield Seen(first, f"nowhere is said: {write.listed(missing)}", {"conditions_missing": len(missing)})


def _other_rate(group: Group) -> Iterator[Seen]:
    """A heading that names another rate than the command under it."""
    for output in group:
        asked = output.command.rate_rps if output.command else None
        said = context.stated([Line(output.line, f"# {output.headings[-1]}")], 1, None) if output.headings else None
        if not asked or not said or output.columns > 1:
            continue
        rate = said.rates_rps[0]
        if abs(rate - asked) > OTHER_RATE * asked:
            text = f"the heading says {write.rate(rate)}, the command -R {asked:g}"
            yield Seen(output, text, {"heading_rps": rate, "command_rps": asked})


def _rows(output: Output) -> tuple[tuple[float, float], ...]:
    return output.report.latencies.rows


def _same_output(group: Group) -> Iterator[Seen]:
    """One output that stands for two rates or for two settings."""
    known = [output for output in group if len(_rows(output)) >= ENOUGH_ROWS and output.offered_rps][:MOST_COMPARED]
    for first, second in combinations(known, 2):
        if _rows(first) == _rows(second) and first.offered_rps != second.offered_rps:
            text = (
                f"it is the output of {first.place} once more, given there for {write.rate(first.offered_rps or 0)} "
                f"and here for {write.rate(second.offered_rps or 0)}"
            )
            yield Seen(second, text, {"first": first.place})


def _time_us(value: str, unit: str) -> float | None:
    plain = _PLAIN.get(unit, "s" if unit.startswith(("секунд", "second")) else unit)
    return units.time_us(value.replace(",", ".") + plain)


def _near(value: float | None, other: float) -> bool:
    return value is not None and abs(value - other) <= SAME_FIGURE * other


def _misquoted(group: Group) -> Iterator[Seen]:
    """A percentile in a sentence that has the figure of another row, or the figure with another unit."""
    for line in group[0].prose:
        for quote in _QUOTED.finditer(line.text):
            level = round(float(quote["level"].replace(",", ".")) / 100, 9)
            value = _time_us(quote["value"], quote["unit"])
            if value is None or not value or level <= 0:
                continue
            if found := _contradicted(group, level, value):
                output, at_level = found
                text = (
                    f"line {line.number} gives {write.latency(value)} as {write.level(level)}, which is "
                    f"{write.latency(at_level)} in the output"
                )
                yield Seen(output, text, {"quoted_us": value, "printed_us": at_level, "said_at_line": line.number})


def _contradicted(group: Sequence[Output], level: float, value_us: float) -> tuple[Output, float] | None:
    printed = [(output, dict(_rows(output))) for output in group]
    if any(_near(rows.get(level), value_us) for _, rows in printed):
        return None
    for output, rows in printed:
        there = rows.get(level)
        if there is None or not there:
            continue
        other_row = any(_near(each, value_us) for at, each in rows.items() if at != level)
        other_unit = any(_near(there * factor, value_us) for factor in (1e-3, 1e3))
        if (other_row and there > FAR_OFF * value_us) or other_unit:
            return output, there
    return None


RULES = (
    Rule(
        "RUN006",
        "conditions-not-stated",
        "The document does not say under which conditions was measured",
        Severity.WARNING,
        "state cores, memory, JDK, heap and warm-up, and on which machine the generator ran",
        _conditions,
    ),
    Rule(
        "DOC001",
        "rate-of-the-heading",
        "The heading names another rate than the command",
        Severity.WARNING,
        "correct the one that is wrong",
        _other_rate,
    ),
    Rule(
        "DOC002",
        "misquoted",
        "The text gives a percentile another figure than the output",
        Severity.ERROR,
        "quote the row of the percentile that is named, with its unit",
        _misquoted,
    ),
    Rule(
        "DOC003",
        "one-output-twice",
        "One output is given for two different loads",
        Severity.ERROR,
        "put the second run's own output in its place",
        _same_output,
    ),
)
