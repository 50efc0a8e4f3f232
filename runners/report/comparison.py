"""Write, draw and tabulate comparisons: the differences of quantities with their intervals, and outcomes of limits."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from runners import words
from runners.analysis import counts, facts
from runners.analysis.comparison import Comparison, Form
from runners.analysis.interleaved import comparisons
from runners.analysis.intervals import Direction
from runners.analysis.quantities import ALL_CPU, Reason, Row, absolute, changed, signed
from runners.design.objective import CPU, ERRORS, THROUGHPUT, UNDISTURBED, Outcome
from runners.readers.run import Run
from runners.report import style
from runners.report.sentences import refusal_words
from runners.report.tables import PROSE, Section, Table
from runners.results.limits import Judgement

#: The ratios of treatment to baseline, one for each start of the servers, by (quantity, treatment).
Dots = Mapping[tuple[str, str], Sequence[float]]
BETTER, WORSE, BAND = style.BLUE, style.VERMILION, "#dde2e7"
WHOLE = "-all"  # suffix of the anchor of a comparison's figure of all quantities
MOST_ROWS = 8  # of a comparison's table in a report
NOTE_WIDTH = 5.6  # inches of the text below an axis
SERVICE = "service_"  # the prefix of quantities of service time
MAIN = (THROUGHPUT, "p50_us", "p99_us", CPU, ALL_CPU)
MOST_TIMES = 30.0  # the largest ratio on an axis; an interval beyond is cut there, and its bounds are written
TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 30.0)


@style.styled
def drawn(
    rows: Sequence[Row], margin: float, heading: str, note: str, *, dots: Dots | None = None,
    labels: Sequence[str] = (), judged: bool = True,
) -> style.Picture:  # fmt: skip
    """Draw the changes in `rows` as ratios on a logarithmic axis, one below the other.

    The range of changes that do not matter (`margin`) is shaded. `note` is the text below the axis. `dots` are ratios
    of single server starts. `labels` replace the quantities' names. Unless `judged`, better and worse look the same.
    """
    figure = style.Picture(8.4, 1.8 + 0.36 * max(1, len(rows)))
    axes = figure.add_subplot()
    axes.axvline(1, color=style.INK, linewidth=1.0)
    axes.axvspan(1 / (1 + margin), 1 + margin, color=BAND, linewidth=0)
    ratios = [(dots or {}).get((row.quantity.name, row.treatment), ()) for row in rows]
    compared = [(row, own) for row, own in zip(rows, ratios, strict=True) if not row.refused]
    drawn_ratios = [ratio for row, own in compared for ratio in (row.low, row.high, row.ratio, *own)]
    reach = [max(ratio, 1 / ratio) if ratio > 0 else MOST_TIMES for ratio in drawn_ratios if words.known(ratio)]
    side = min(MOST_TIMES, 1.08 * max([1.05, *reach]))  # a little beyond the ratio that is furthest from 1
    for index, (row, own) in enumerate(zip(rows, ratios, strict=True)):
        colour = (BETTER if row.better else WORSE) if judged and row.decided else style.INK
        style.row_value(axes, "not compared" if row.refused else row.change, index, colour=colour)
        if row.refused:
            continue  # what is not compared has no bar
        axes.scatter(own, index + np.linspace(-0.16, 0.16, len(own)), 12, color=style.QUIET, alpha=0.55, zorder=2)
        if words.known(row.low) and words.known(row.high):
            axes.plot([max(row.low, 1e-9), row.high], [index, index], color=colour, linewidth=4, zorder=3)
        axes.plot(row.ratio, index, "D", color=colour, markersize=6, zorder=4)
    axes.set(xscale="log", xlim=(1 / side, side))
    axes.xaxis.set(major_locator=FixedLocator(_ratio_ticks(side)), minor_locator=NullLocator(), major_formatter=_tick)
    style.rows(axes, labels or [row.quantity.label for row in rows], 8)
    axes.set_xlabel("\n".join(style.broken(note, NOTE_WIDTH)), fontsize=8)
    kinds = [(BETTER, "better"), (WORSE, "worse"), (style.INK, "inconclusive or the same")] if judged else []
    handles: list[Artist] = [Line2D([], [], color=colour, linewidth=4, label=label) for colour, label in kinds]
    handles.append(Patch(color=BAND, label=f"within {words.given_share(margin)}: would not matter"))
    if any(ratios):
        handles.append(Line2D([], [], color=style.QUIET, marker="o", linestyle="none", markersize=4, label="a start"))
    style.legend(figure, 5, 8, handles)
    return figure.headed(heading, f"Changes against the baseline, with 95{words.NBSP}% intervals. {heading}.")


def _ratio_ticks(largest: float) -> list[float]:
    up = [1.0]
    for tick in TICKS:
        if tick <= largest and math.log(tick / up[-1]) >= math.log(largest) / 3:
            up.append(tick)
    return sorted([*up, *(1 / tick for tick in up[1:])])


def _tick(ratio: float, _place: float = 0) -> str:
    if ratio == 1:
        return "0"
    return f"{(ratio - 1) * 100:+.0f} %" if ratio < 5 else f"x {ratio:g}"


def title(comparison: Comparison) -> str:
    """Return a heading with at most three decided differences. It omits differences that another row contradicts."""
    if min(comparison.repeats) < comparison.fewest and not comparison.interleaved:
        return f"{heading(comparison)}: one run on a side is no verdict"
    decided = [row for row in _in_order(comparison) if row.decided and not comparison.contradicting(row)]
    main = [row for row in decided if _is_main(comparison, row)]
    parts = [f"{_name(row.treatment)} {row.quantity.label} {row.change}" for row in (main or decided)[:3]]
    leading = comparison.rows_of(comparison.leading)
    if not parts and leading and all(row.direction == Direction.SAME and not row.refused for row in leading):
        names = words.listed(_name(row.treatment) for row in leading)
        parts = [f"{names} {leading[0].quantity.label} the same within {words.given_share(comparison.margin)}"]
    load = f"{style.plain(comparison.workload.upper(), 12)} against" if comparison.workload else "Against"
    return f"{load} {_name(comparison.baseline)}: {', '.join(parts) or 'no difference is decided'}"


def _name(side: str) -> str:
    return style.plain(facts.engine_name(side), 24)


def _in_order(comparison: Comparison) -> list[Row]:
    return sorted(comparison.rows, key=lambda row: row.quantity.name != comparison.leading)


def picture(comparison: Comparison, whole: bool = True) -> style.Picture:
    """Draw a comparison: single server starts as dots, intervals as bars. If not `whole`, only main quantities."""
    ordered = [row for row in _in_order(comparison) if whole or _is_main(comparison, row)]
    first = len(comparison.rows_of(comparison.leading))
    controls = [row for row in comparison.control if row.quantity.name == comparison.leading]
    rows = [*ordered[:first], *controls, *ordered[first:]]
    several = len(comparison.treatments) > 1
    labels = [
        f"control: {row.quantity.label}" if row in controls
        else f"{_name(row.treatment)}: {row.quantity.label}" if several
        else row.quantity.label
        for row in rows
    ]  # fmt: skip
    sampled = any(row.sampled for row in rows)
    at = f" at {words.rate(comparison.rate_rps)} on each server" if words.known(comparison.rate_rps) else ""
    note = f"against the baseline{at}; diamonds, bars: geometric mean of the {comparison.unit}s and its 95 % interval"
    if sampled:
        note = "bars hold what the requests of one run tell, not what differs between runs"
    heading = title(comparison)
    return drawn(rows, comparison.margin, heading, note, dots=comparison.dots, labels=labels, judged=not sampled)


def _is_main(comparison: Comparison, row: Row) -> bool:
    return row.quantity.name == comparison.leading or (row.quantity.name in MAIN and not row.refused)


def table(comparison: Comparison, most: int = 99) -> Table:
    """Return a table of a comparison with a row per quantity, `most` at most, and the values of all sides.

    The leading quantity is first, then the main quantities, then all others with a decided difference. Further columns
    have the control, and the reference target (a server that does nothing).
    """
    controls = {row.quantity.name: row for row in comparison.control}
    head = ["quantity", *map(facts.engine_name, (comparison.baseline, *comparison.treatments))]
    head += ["control"] * bool(controls) + ["reference target"] * bool(comparison.reference)
    by_quantity = facts.grouped(comparison.rows, lambda row: row.quantity.name)
    first = dict.fromkeys((comparison.leading, *MAIN))
    # a quantity without a decided difference is only in the picture, unless it is a main one
    differ = [name for name, rows in by_quantity.items() if any(row.decided for row in rows)]
    shown = list(dict.fromkeys([*(name for name in first if name in by_quantity), *differ]))[:most]

    def value(row: Row, name: str, number: float) -> str:
        least, mark = "at least " * (name in row.at_least), "*" * (name in row.at_most)
        return f"{least}{absolute(row.quantity, number)}{mark}"

    def cells(name: str) -> Iterator[str]:
        rows, first_row = {row.treatment: row for row in by_quantity[name]}, by_quantity[name][0]
        yield from (first_row.quantity.label, value(first_row, comparison.baseline, first_row.baseline_value))
        for treatment in comparison.treatments:
            row = rows.get(treatment)
            yield f"{value(row, treatment, row.treatment_value)}, {direction_words(row)}" if row else words.DASH
        if controls:
            yield controls[name].change if name in controls else words.DASH
        if comparison.reference:
            known = name in comparison.reference
            yield absolute(first_row.quantity, comparison.reference[name]) if known else words.DASH

    starts = max((row.starts for row in comparison.rows), default=0)
    caption = f"{comparison.name}: {words.several(starts, comparison.unit)} of each server"
    if words.known(comparison.rate_rps):
        caption += f"; each server is offered {words.rate(comparison.rate_rps)}"
    notes = " ".join(_notes(comparison, shown, by_quantity))
    return Table(caption, tuple(head), tuple(tuple(cells(name)) for name in shown), notes)


def _notes(comparison: Comparison, shown: Sequence[str], by_quantity: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Yield the notes below a table of the quantities in `shown`; `by_quantity`: the differences in all quantities."""
    leads = "The primary quantity stands first"
    if comparison.leading != comparison.primary:
        leads = f"{by_quantity[comparison.leading][0].quantity.label} first, for the generator limited some rates"
    matters = f"a change within {words.given_share(comparison.margin)} would not matter"
    yield f"{words.sentence(f'{leads}; {matters}')} The figures show the changes."
    if comparison.control:
        yield "Control: a second process of the baseline against the first."
    if comparison.reference:
        yield "The reference target is a server that does nothing, loaded with the others."
    if any(row.at_most for name in shown for row in by_quantity[name]):
        yield "* Not above the reference target beyond noise: at most that. Two of them are not compared."
    refused = list[str]()
    for name in shown:
        refusals = dict.fromkeys(refusal for row in by_quantity[name] for refusal in row.refused)
        if beyond := [refusal for refusal in refusals if refusal.reason != Reason.WITHIN_FLOOR]:
            refused.append(f"{by_quantity[name][0].quantity.label}, for {refusal_words(beyond)}")
    if refused:
        yield f"Not compared: {'; '.join(refused)}."
    for name, medians in comparison.alone.items():
        values = f"{facts.written(medians.treatment)} for {facts.engine_name(name)} and "
        values += f"{facts.written(medians.baseline)} for {facts.engine_name(comparison.baseline)}"
        yield f"In a load of one server alone, at {words.rate(medians.rate_rps)}, the median is {values}: no verdict."
    if left := len(by_quantity) - len(shown):
        yield f"The figure of all quantities has {words.count(left)} more."
    if words.known(comparison.between_starts):
        part = words.percent(comparison.between_starts)
        yield f"Of the variance of the primary quantity {part} lies between starts, the rest between requests."
    if any(name.startswith(SERVICE) for name in shown):
        yield "Service time counts from when a request was sent, so it has no wait for the generator in it."
    if UNDISTURBED in shown and words.known(comparison.without_stalls):
        out = words.percent(comparison.without_stalls)
        yield f"The p99 without the machine's stalls leaves out {out} of the time."


def interleaved_sections(run: Run) -> Iterator[Section]:
    """Yield a section for each comparison of interleaved trials that has rows."""
    own, shown_before = PROSE["interleaved"], set[str]()
    for block in filter(lambda block: block.rows, comparisons(run)):
        texts = [words.sentence(errors)] if (errors := failing(block)) else []
        lasting = [f"A slice lasts {words.given_latency(block.slice_s * 1e6)}."] if block.slice_s else []
        how = [own[block.form.value], *lasting, own["intervals"]]
        place = f"interleaved-{block.name}"
        text = " ".join([*texts, *(said for said in how if said not in shown_before)])
        shown_before.update(how)
        figures = [picture(block, whole=False).at(place)]
        if not all(_is_main(block, row) for row in block.rows):
            figures.append(picture(block).at(f"{place}{WHOLE}"))
        heading = f"Treatments {'by slices' if block.form == Form.SLICES else 'by request'}: {block.name}"
        yield Section(f"{place}-section", heading, text, tuple(figures), (table(block, MOST_ROWS),))


def direction_words(row: Row) -> str:
    """Return a row's direction in words, such as faster (of a latency), higher, the same, or not compared."""
    if row.refused:
        return "not compared"
    if row.decided and row.quantity.is_latency:
        return "faster" if row.better else "slower"
    return "the same" if row.direction == Direction.SAME else row.direction.value


def failing(block: Comparison) -> str:
    """Return the sides' shares of failed responses in words; empty if none is above the allowed share."""
    if not block.failing:
        return ""
    shares = {name: counts.failed_share(block.failed[name]) for name in (*block.treatments, block.baseline)}
    parts = [f"{words.percent(share)} of {facts.engine_name(name)}" for name, share in shares.items()]
    return f"responses that failed: {words.listed(parts)}"


def _addition(comparison: Comparison, row: Row) -> Iterator[str]:
    if row.quantity.is_latency and words.known(comparison.rate_rps):
        yield f" at {words.rate(comparison.rate_rps)} on each server"
    if row.spill_over:
        yield "; spill-over: the shared schedule contradicts the loads alone, which count"
    if row.at_least:
        yield f"; the generator was at its limit in {words.several(len(comparison.late), comparison.unit)}"
    if (whole := comparison.contradicting(row)) is not None:
        yield f"; {whole.quantity.label} {whole.change}"


def sentence(comparison: Comparison, row: Row) -> str:
    """Return a sentence on the difference between baseline and treatment in the quantity of `row`."""
    a, b = facts.engine_name(row.baseline), facts.engine_name(row.treatment)
    label, values = row.quantity.label, f"{row.change}, {row.pair}{''.join(_addition(comparison, row))}"
    unit = comparison.unit
    if row.refused:
        text = f"the {label} of {b} and {a} are not compared: {refusal_words(row.refused)}"
    elif row.sampled:
        text = f"{label} of one {unit} of each: {values}"
    elif row.decided:
        text = f"{b} is {direction_words(row)} than {a} in {label}: {values}"
    elif row.direction == Direction.SAME:
        text = f"{b} and {a} are the same in {label} within {words.given_share(comparison.margin)}: {values}"
    else:
        text = f"it is inconclusive whether {b} and {a} differ in {label}: {values}"
    return words.sentence(f"{text}; {words.several(row.starts, unit)} of each")


def heading(comparison: Comparison) -> str:
    """Return a heading: for compared runs the workload and both sides, for compared outputs their name."""
    if comparison.form == Form.OUTPUTS:
        return comparison.name
    return f"{comparison.name.upper()}, {comparison.treatments[0]} against {comparison.baseline}"


def lines(comparison: Comparison) -> list[str]:
    """Return a comparison of runs or outputs in sentences. If too many responses failed, the first sentence says so."""
    parts = [words.sentence(errors)] if (errors := failing(comparison)) else []
    parts += [sentence(comparison, row) for row in comparison.rows]
    parts += [f"{name} is not compared: {why}" for name, why in comparison.refused]
    parts += [f"note: {note}" for note in comparison.notes]
    if comparison.form == Form.RUNS and min(comparison.repeats) < comparison.fewest:
        single = "One run on a side shows no spread between runs, so this is no verdict."
        parts.append(f"{single} Repeat: lab compare --a … --b …")
    return parts


def judged(judgement: Judgement) -> str:
    """Return a judged limit as one line of text: the limit, its outcome, and the reason."""
    return f"{judgement.limit.text}: {judgement.outcome.value}, {reason(judgement)}"


def reason(judgement: Judgement) -> str:
    """Return why a limit has its outcome: the change with its interval, or what is missing to decide."""
    comparison, change = judgement.comparison, judgement.change
    unit = comparison.unit
    if judgement.refused:
        return f"it is not compared: {refusal_words(judgement.refused)}"
    if not words.known(change.value):
        return f"it is not known: {comparison.left_out[0][1] if comparison.left_out else f'no {unit} tells it of both'}"
    if judgement.limit.quantity == ERRORS:
        text = f"{signed(change.value)} of the responses ({signed(change.low)} to {signed(change.high)})"
        text += f"; {failing(comparison)}" if comparison.failing else ""
    else:
        text = changed(change.value, change.low, change.high)
    if (control := judgement.control) is not None:
        bounds = f"{signed(control.value)} ({signed(control.low)} to {signed(control.high)})"
        return f"{text}, but a second process of the baseline breaks it too: {bounds}; measure again"
    if judgement.outcome != Outcome.INCONCLUSIVE:
        return f"{text}, {words.several(judgement.starts, unit)} of each"
    if judgement.starts < comparison.fewest:
        return f"{text}, from {words.several(judgement.starts, unit)} of each, where it takes {comparison.fewest}"
    if judgement.starts_needed is None:
        return f"{text}: too wide, or too near the limit, for more {unit}s to decide"
    minutes = f" or {judgement.minutes_needed:.2g} minutes" if judgement.minutes_needed is not None else ""
    return f"{text}; about {words.several(judgement.starts_needed, unit)}{minutes} in all would decide it"
