"""DOC002 and DOC004: what a document's text says of its figures, held against them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from runners.audit.reports import COPIED, is_report
from runners.audit.rule import Group, Seen, achieved_rps, at, fell_short, finite, has_queue, rule
from runners.audit.rules import limits
from runners.audit.rules.comparing import comparing
from runners.audit.rules.comparisons import NOISE, pairs
from runners.audit.rules.sentences import (
    Claim,
    Quote,
    Sentence,
    called_even,
    claims,
    explained_by_jit,
    gains,
    miscounted,
    quotes,
    sentences,
    sustained,
)
from runners.audit.rules.subjects import bests, overturned, subjects, verdicts
from runners.audit.rules.tables import Change, changes, figure, level_of, read, reckoned
from runners.audit.rules.timing import at_timer
from runners.readers import write
from runners.readers.finding import Severity
from runners.readers.output import Output

#: What a text calls a standard deviation, and is no time: `стандартное отклонение 86 %`, `при отклонении в 96%`.
_DEVIATION = re.compile(
    r"(?i)\b(?:standard deviation|std ?dev|stdev|(?:(?:среднеквадрат|стандартн)\w+ )?откл\w{0,2}нени\w+)\b[^.%]{0,30}?"
    r"(?<![\d.,])(\d{1,3}(?:[.,]\d{1,2})?)\s?%"
)
SAME_FIGURE = 0.02
EXACT = 0.003
ROUNDED = 0.05  # no text rounds a figure by more
FAR_OFF = 2.0
OTHER_MEAN = 1.3  # a mean that a text rounds is nearer to the output's
MISCOPIED = 0.01
LEAST_MEANS = 2  # that are copied, for one that is not
UNEVEN = 1.0  # standard deviations of a latency by its mean; an exponential distribution has one
JUST_ABOVE_LINES = 6
REACH_LINES = 20  # a conclusion stands below the runs that it is of
LESS_DONE = 0.9
MOSTLY, FEW = 0.5, 0.1  # shares of errors
SAME_PERCENT = 0.15  # a summary rounds what its section says by less
COMPARED_LEVELS = (0.5, 0.9, 0.99)
MOST_COMPARED = 60


def _near(value: float | None, other: float, by: float = SAME_FIGURE) -> bool:
    return value is not None and abs(value - other) <= by * other


@rule("DOC002", "misquoted", Severity.ERROR, "quote the row of the percentile that is named, with its unit")
def _misquoted(group: Group) -> Iterator[Seen]:
    """The text gives a percentile or a mean another figure than the output."""
    whole = not any(output.report.transcribed for output in group)  # else the text retells what its tables give
    quoted = list(quotes(sentences(group[0].prose), short=whole))
    for quote in quoted:
        same = [other for other in quoted if other.line == quote.line and other.level != quote.level]
        found = _mean_contradicted(group, quote) if quote.level is None else _contradicted(group, quote, same)
        if found:
            output, printed_us = found
            named = "mean" if quote.level is None else write.level(quote.level)
            text = (
                f"line {quote.line} gives {write.latency(quote.value_us)} as {named}, which is "
                f"{write.latency(printed_us)} in the output"
            )
            evidence: dict[str, write.Value] = {"quoted_us": quote.value_us, "printed_us": printed_us}
            yield Seen(output, text, {**evidence, "said_at_line": quote.line})
    for line, share, output in _shares_as_deviations(group):
        text = f"line {line} gives {share:g} % as the standard deviation, which is the share within one"
        yield Seen(output, text, {"said_at_line": line})
    for line, level, output, mean_us in _means_as_percentiles(group):
        text = f"line {line} gives {write.latency(mean_us)} as {write.level(level)}, which is the mean of the output"
        yield Seen(output, text, {"quoted_us": mean_us, "said_at_line": line})
    for line, mean_us, output, printed in _miscopied(group, of_time=True):
        text = (
            f"line {line} gives a mean of {write.latency(mean_us)}, next to means that are copied: the output has "
            f"{write.latency(printed)}"
        )
        yield Seen(output, text, {"quoted_us": mean_us, "printed_us": printed, "said_at_line": line})
    for line, rate, output, printed in _miscopied(group, of_time=False):
        text = (
            f"line {line} gives {write.rate(rate)}, next to rates that are copied: the output has {write.rate(printed)}"
        )
        yield Seen(output, text, {"quoted_rps": rate, "printed_rps": printed, "said_at_line": line})


def _mean(output: Output) -> float | None:
    return finite(output.report.latency.mean) if output.report.latency else None


def _shares_as_deviations(group: Group) -> Iterator[tuple[int, float, Output]]:
    """Find standard deviations that a text gives in percent, and that are the shares of samples within one."""
    for sentence in sentences(group[0].prose):
        for found in _DEVIATION.findall(sentence.text):
            share = float(found.replace(",", "."))
            slack = 1.0 if share.is_integer() else 0.0  # a text rounds a share up, down or to its whole percents
            known = [(output, stats.within_stdev_percent) for output in group if (stats := output.report.latency)]
            near = [
                output for output, printed in known if printed == share or (printed and abs(printed - share) < slack)
            ]
            yield from [(sentence.line, share, output) for output in near][:1]


def _means_as_percentiles(group: Group) -> Iterator[tuple[int, float, Output, float]]:
    """Find a row or column of a table that is named as a percentile, and whose figures are the means of outputs."""
    means = [
        (output, stats.mean) for output in group if not output.report.transcribed and (stats := output.report.latency)
    ]
    known = [(output, mean) for output, mean in means if mean]
    for table in read(group[0].prose) if len(known) > 1 else ():
        rows = [(row[0], [(line, cell) for cell in row[1:]]) for line, row in table.rows]
        columns = [
            (head, [(line, row[index]) for line, row in table.rows if index < len(row)])
            for index, head in enumerate(table.head)
            if index
        ]
        for name, cells in (*rows, *columns):
            level = level_of(name)
            exact = [
                (line, cell)
                for line, cell in cells
                if not cell.lstrip("*` ").startswith(("<", ">", "\u2264", "\u2265"))
            ]
            figures = [(line, found) for line, cell in exact if (found := figure(cell, name)) and found[1]]
            if level is None or any(_near(at(output, level), each[0]) for output in group for _, each in figures):
                continue
            copied = [
                (line, level, output, mean)
                for line, (value, _, slack) in figures
                for output, mean in known
                if _near(mean, value, slack + COPIED)
            ]
            if len(copied) == len(figures) > 1:
                yield copied[0]


def _miscopied(group: Group, of_time: bool) -> Iterator[tuple[int, float, Output, float]]:
    """Find a figure in a table that no output has, where all others of its column are copied from all other outputs.

    `of_time` asks for mean latencies, else for rates.
    """
    outputs = [output for output in group if not output.report.transcribed]
    printed = [(output, value) for output in outputs if (value := _mean(output) if of_time else achieved_rps(output))]
    for table in read(group[0].prose) if len(printed) > (LEAST_MEANS if of_time else 1) else ():
        for index, head in enumerate(table.head):
            figures = [(line, figure(row[index], head)) for line, row in table.rows if index < len(row)]
            cells = [
                (line, found[0], found[2] + COPIED) for line, found in figures if found and bool(found[1]) == of_time
            ]
            left = [cell for cell in cells if not any(_near(rate, cell[1], cell[2]) for _, rate in printed)]
            others = [each for each in printed if not any(_near(each[1], value, slack) for _, value, slack in cells)]
            if len(left) == len(others) == 1 and len(cells) == len(printed):
                line, value, _ = left[0]
                output, rate = others[0]
                if not _near(rate, value, MISCOPIED):
                    yield line, value, output, rate


def _contradicted(group: Sequence[Output], quote: Quote, companions: Sequence[Quote]) -> tuple[Output, float] | None:
    """Find the output that a percentile is wrongly quoted from; `companions` are the quotes of the same line."""
    value_us, level = quote.value_us, quote.level or 0.0
    printed = [(output, dict(output.report.latencies.rows)) for output in group]
    if any(_near(rows.get(level), value_us) for _, rows in printed):
        return None
    if quote.at_least:
        known = [(rows[level], output) for output, rows in printed if level in rows]
        highest, output = max(known, key=lambda each: each[0], default=(value_us, group[0]))
        return (output, highest) if FAR_OFF * highest < value_us else None
    for output, rows in printed:
        there = rows.get(level)
        if there is None or not there:
            continue
        others = [each for at, each in rows.items() if at != level]
        other_row = there > FAR_OFF * value_us and any(_near(each, value_us) for each in others)
        just_above = 0 < quote.line - output.report.last_line <= JUST_ABOVE_LINES
        its_line = any(other.level and _near(rows.get(other.level), other.value_us, EXACT) for other in companions)
        its_row = (
            (just_above or its_line)
            and abs(there / value_us - 1) > ROUNDED
            and any(_near(each, value_us, EXACT) for each in others)
        )
        all_shifted = bool(companions) and all(
            any(at != other.level and _near(each, other.value_us, EXACT) for at, each in rows.items())
            for other in (quote, *companions)
        )
        other_unit = any(_near(there * factor, value_us) for factor in (1e-3, 1e3))
        if other_row or its_row or all_shifted or other_unit:
            return output, there
    return None


def _mean_contradicted(group: Sequence[Output], quote: Quote) -> tuple[Output, float] | None:
    """A mean is held against the outputs at the rate that the sentence names, else against the one just above it."""
    means = [(output, output.report.latency.mean) for output in group if output.report.latency]
    known = [(output, mean) for output, mean in means if mean]
    if any(_near(mean, quote.value_us) for _, mean in known):
        return None
    above = [(output, mean) for output, mean in known if 0 < quote.line - output.report.last_line <= JUST_ABOVE_LINES]
    of_rate = [(output, mean) for output, mean in known if quote.rate_rps and output.offered_rps == quote.rate_rps]
    for output, mean in of_rate if quote.rate_rps else above[-1:]:
        if max(mean, quote.value_us) > OTHER_MEAN * min(mean, quote.value_us):
            return output, mean
    return None


@rule(
    "DOC004",
    "conclusion-overturned",
    Severity.ERROR,
    "conclude what the figures show, or repeat both runs, interleaved, until they show it (lab compare)",
)
def _overturned(group: Group) -> Iterator[Seen]:
    """The figures overturn a conclusion in the text."""
    if not is_report(group[0]) or group[0].entry:
        return
    said = sentences(group[0].prose)
    compared = list(pairs(group))
    for claim in claims(said):
        pair = [each for each in compared if 0 < claim.line - _end(each) <= REACH_LINES][-1:]
        for before, after in pair:
            if against := _against(claim, before, after):
                text = f"line {claim.line} calls the new state {'faster' if claim.faster else 'slower'}: {against}"
                yield Seen(after, text, {"said_at_line": claim.line, "before": before.place})
    for line, rate, _ in sustained(said):
        at_rate = [
            output for output in group if output.offered_rps and abs(output.offered_rps / rate - 1) <= SAME_FIGURE
        ]
        if at_rate and all(fell_short(output) or has_queue(output) for output in at_rate):
            last = at_rate[-1]
            reached = f"{write.rate(achieved)} were achieved" if (achieved := achieved_rps(last)) else "a queue grew"
            yield Seen(
                last, f"line {line} says that {write.rate(rate)} are sustained: {reached}", {"said_at_line": line}
            )
    yield from _compared_with_errors(group, said)
    own = (*_against_tables(group, said, compared), *_against_itself(said), *miscounted(said))
    for line, text in (*own, *limits.contradicted(group, said)):
        yield Seen(group[0], f"line {line} {text}", {"said_at_line": line})
    things = subjects(group)
    for verdict in (*verdicts(said, things), *bests(said, things)):
        if against := overturned(verdict):
            yield Seen(verdict.first.runs[0], f"line {verdict.line} {against}", {"said_at_line": verdict.line})
    for line, words in called_even(said):
        if uneven := _all_uneven(group):
            stats = uneven.report.latency
            spread = f"{write.latency(stats.stdev)} about a mean of {write.latency(stats.mean)}" if stats else ""
            text = f"line {line} calls response times even ({words!r}): their standard deviation is {spread}"
            yield Seen(uneven, text, {"said_at_line": line})
    yield from limits.loads_contradicted(group, said)
    for sentence in explained_by_jit(said):
        near = [output for output in group if 0 < sentence.line - output.report.last_line <= REACH_LINES][-1:]
        for output in near:
            if at_timer(output):
                text = f"line {sentence.line} explains by the compiler what is the generator's timer"
                yield Seen(output, text, {"said_at_line": sentence.line, "p50_us": at(output, 0.5)})


def _all_uneven(group: Group) -> Output | None:
    """Give the last output where the latency of each that says so is spread by more than its own mean; else None."""
    known = [(output, stats.stdev, stats.mean) for output in group if (stats := output.report.latency)]
    spreads = [(output, stdev / mean) for output, stdev, mean in known if stdev and mean]
    return spreads[-1][0] if spreads and all(spread > UNEVEN for _, spread in spreads) else None


def _against_tables(
    group: Group, said: Sequence[Sentence], compared: Sequence[tuple[Output, Output]]
) -> Iterator[tuple[int, str]]:
    """Hold what the author says of a change against the tables that he made, and what he says in them."""
    made = list(read(group[0].prose))
    tables = list(changes(made))
    for row in (*tables, *reckoned(made)):
        if row.contradicted:
            said_of_it = f"{row.said_percent:g} %" if row.said_percent is not None else f"{row.said_factor:g} times"
            yield row.line, f"says {said_of_it} of {row.what}, which went from {_figures(row)}"
    known = tables + [change for pair in compared for change in _changes(*pair)]
    for gain in gains(said):
        moved = [row for row in known if row.is_latency == gain.is_latency and gain.level in (None, row.level)]
        against = [row for row in moved if (row.ratio < 1 - NOISE if gain.rose else row.ratio > 1 + NOISE)]
        if moved and len(against) == len(moved):
            way = "rose" if gain.rose else "fell"
            yield (
                gain.line,
                f"says that {_named(gain.is_latency, gain.level)} {way}: it went from {_figures(against[0])}",
            )


def _changes(before: Output, after: Output) -> Iterator[Change]:
    """Give the changes that a pair of outputs shows, as its author could have put them into a table."""
    for level in COMPARED_LEVELS:
        was, became = at(before, level), at(after, level)
        if was and became:
            yield Change(after.line, write.level(level), True, level, was, became)
    rate, now = achieved_rps(before), achieved_rps(after)
    if rate and now:
        yield Change(after.line, "the rate", False, None, rate, now)


def _figures(change: Change) -> str:
    figure = write.latency if change.is_latency else write.rate
    return f"{figure(change.before)} to {figure(change.after)} (line {change.line})"


def _named(latency: bool, level: float | None) -> str:
    return (write.level(level) if level else "latency") if latency else "the rate"


def _against_itself(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Two places of one text that can't both be true: of one rate, and of how one figure moved."""
    for line, rate, of in sustained(said):
        for other, same, what in sustained(said, holds=False):
            if rate == same and of == what:
                yield line, f"says that {write.rate(rate)} are sustained, line {other} that they are not"
    moves = list(gains(said))[:MOST_COMPARED]
    for first, second in combinations(moves, 2):
        if (first.is_latency, first.level, first.of) != (second.is_latency, second.level, second.of):
            continue
        percents = (first.percent, second.percent)
        if (
            first.rose == second.rose
            and None not in percents
            and not _near(percents[0], percents[1] or 0.0, SAME_PERCENT)
        ):
            figure = _named(first.is_latency, first.level)
            yield second.line, f"says {second.percent:g} % of {figure}, line {first.line} {first.percent:g} %"


def _compared_with_errors(group: Group, said: Sequence[Sentence]) -> Iterator[Seen]:
    """A text compares runs at one rate, of which one had errors for most responses and another hardly any."""
    compared = next(comparing(said), None)
    if compared is None:
        return
    by_rate: dict[tuple[object, ...], list[Output]] = {}
    for output in group:
        if output.offered_rps and output.report.requests:
            by_rate.setdefault((output.offered_rps, output.threads, output.connections, output.script), []).append(
                output
            )
    for outputs in by_rate.values():
        shares = [(output.report.errors / (output.report.requests or 1), output) for output in outputs]
        failed = [output for share, output in shares if share >= MOSTLY]
        if failed and any(share < FEW for share, _ in shares):
            text = (
                f"line {compared[0]} compares runs, and this one had errors for "
                f"{write.count(failed[0].report.errors)} of {write.count(failed[0].report.requests or 0)} requests"
            )
            yield Seen(failed[0], text, {"said_at_line": compared[0]})
            return


def _end(pair: tuple[Output, Output]) -> int:
    return max(output.report.last_line for output in pair)


def _against(claim: Claim, before: Output, after: Output) -> str | None:
    """Say how the figures of a pair contradict what is claimed of it; None where they do not."""
    was, became = achieved_rps(before), achieved_rps(after)
    if claim.faster and was and became and became < LESS_DONE * was:
        return f"it achieved {write.rate(became)} where the old one achieved {write.rate(was)}"
    levels = (claim.level,) if claim.level else COMPARED_LEVELS
    known = [(at(before, level), at(after, level), level) for level in levels]
    changes = [(now / then - 1, level, then, now) for then, now, level in known if then and now]
    if not changes or len(changes) < len(levels):
        return None
    _, level, then, now = changes[0]
    figures = f"{write.level(level)} went from {write.latency(then)} to {write.latency(now)}"
    if all(abs(each[0]) <= NOISE for each in changes):
        return f"{figures}, with one run of each, and runs of one setting differ as much"
    worse = [each[0] if claim.faster else -each[0] for each in changes]
    return figures if min(worse) > NOISE else None


RULES = (_misquoted, _overturned)
