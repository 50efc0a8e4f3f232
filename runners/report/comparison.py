"""Draw treatments against a baseline, by request or by slices: each quantity's difference with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from runners.analysis import facts
from runners.analysis.interleaved import (
    ALL_CPU,
    BACKGROUND_CPU,
    NO_REFERENCE,
    REQUESTS,
    SLICES,
    Comparison,
    comparisons,
)
from runners.analysis.quantities import Floats, Row, Verdict, absolute, signed
from runners.design.objective import CPU, THROUGHPUT
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.tables import Section, Shown, Table
from runners.results.comparisons import figure_of as anchor

#: By quantity and treatment, the ratio to the baseline in each start.
Dots = Mapping[tuple[str, str], Sequence[float]]
BETTER, WORSE, BAND = style.BLUE, style.VERMILION, "#dde2e7"
MOST_ROWS = 8  # of a report, besides what differs in nothing
NOTE_WIDTH = 5.6  # inches of the text below an axis
MAIN = (THROUGHPUT, "p50_us", "p99_us", CPU, ALL_CPU)
MOST_TIMES = 30.0  # an interval that goes beyond is cut at the axis' end, with an arrow and its edge in words
TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 30.0)


@style.styled
def drawn(
    rows: Sequence[Row], margin: float, heading: str, note: str, *, dots: Dots | None = None,
    labels: Sequence[str] = (), judged: bool = True, changes: bool = False,
) -> style.Picture:  # fmt: skip
    """Draw changes as ratios on a logarithmic axis, on which half and double are equally far from the same.

    `dots`: by quantity and treatment, the ratio in each start; `labels` in place of the quantities' own; not `judged`:
    no colour says better or worse; `changes`: each is written with its bar, and the values are left to a table.
    """
    figure = style.Picture(8.4, 1.8 + (0.36 if changes else 0.55) * max(1, len(rows)))
    axes = figure.add_subplot()
    axes.axvline(1, color=style.INK, linewidth=1.0)
    axes.axvspan(1 / (1 + margin), 1 + margin, color=BAND, linewidth=0)
    own = [np.array((dots or {}).get((row.quantity.name, row.treatment), ())) for row in rows]
    compared = [not row.machine for row in rows]
    side = _side(list(compress(rows, compared)), list(compress(own, compared)))
    for index, (row, values) in enumerate(zip(rows, own, strict=True)):
        colour = (BETTER if row.better else WORSE) if judged and row.decided else style.INK
        if changes:
            said = row.said if row.machine else row.change
            axes.annotate(
                said, (1.0, index), (5, 0), axes.get_yaxis_transform(), "offset points", va="center", fontsize=7.5,
                color=colour, annotation_clip=False,
            )  # fmt: skip
        if row.machine:
            continue  # what is not compared has no bar
        lift = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else np.zeros(len(values))
        axes.scatter(values, index + lift, 12, color=style.QUIET, alpha=0.55, zorder=2)
        if write.known(row.low) and write.known(row.high):
            ends = [max(row.low, 1e-9), row.high]
            axes.plot(ends, [index, index], color=colour, linewidth=4, zorder=3)
            far: dict[bool, list[str]] = {}
            for edge, bound in zip(ends, (row.low, row.high), strict=True):
                if not 1 / side <= edge <= side:
                    far.setdefault(edge < 1, []).append(_far(bound - 1))
            for below, bounds in far.items():  # one label a side: both bounds where both lie beyond it
                at, mark, turned = (side**-0.985, "<", "left") if below else (side**0.985, ">", "right")
                axes.plot(at, index, mark, color=colour, markersize=8, zorder=3)
                if changes:
                    continue
                text = f"{bounds[0]} to {bounds[1]}" if len(set(bounds)) == 2 else f"to {bounds[0]}"
                axes.text(at, index - 0.2, text, ha=turned, va="bottom", fontsize=8, color=style.INK)
        if 1 / side <= row.ratio <= side:
            axes.plot(row.ratio, index, "D", color=colour, markersize=6, zorder=4)
    axes.set_xscale("log")
    axes.set_xlim(1 / side, side)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(side, 4 if changes else 6)))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    values_of = (
        "" if changes else f"\n{absolute(r.quantity, r.baseline_value)} → {absolute(r.quantity, r.treatment_value)}"
        for r in rows
    )
    named = labels or [row.quantity.label for row in rows]
    texts = [f"{name}{value}" for name, value in zip(named, values_of, strict=True)]
    axes.set_yticks(range(len(rows)), texts, fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.set_xlabel("\n".join(style.broken(note, NOTE_WIDTH)), fontsize=8)
    style.legend(figure, 5, 8, _legend(margin, judged, any(map(len, own))))
    each = ". ".join(f"{name} {row.said if row.machine else row.change}" for name, row in zip(named, rows, strict=True))
    return figure.headed(heading, f"Differences with their intervals. {heading}." + (f" {each}." if changes else ""))


def _legend(margin: float, judged: bool, dots: bool) -> list[Artist]:
    """Return what colours, band and dots of the figure say."""
    kinds = [(BETTER, "better"), (WORSE, "worse"), (style.INK, "inconclusive or the same")] if judged else []
    handles: list[Artist] = [Line2D([], [], color=colour, linewidth=4, label=label) for colour, label in kinds]
    handles.append(Patch(color=BAND, label=f"within {write.given_share(margin)}: would not matter"))
    if dots:
        handles.append(Line2D([], [], color=style.QUIET, marker="o", linestyle="none", markersize=4, label="a start"))
    return handles


def _ticks(side: float, most: int) -> list[float]:
    """Ratios to label, at most so many a side and evenly apart so that their labels are, and their reciprocals."""
    up = [1.0]
    for tick in TICKS:
        if tick <= side and math.log(tick / up[-1]) >= math.log(side) / most:
            up.append(tick)
    return sorted([*up, *(1 / tick for tick in up[1:])])


def _far(share: float) -> str:
    """Return a bound that is not drawn: beyond fivefold as a factor."""
    times = 1 + share
    return f"x {write.count(times) if times >= 100 else f'{times:.3g}'}" if share > 4 else signed(share)


def _tick(ratio: float) -> str:
    if ratio == 1:
        return "0"
    return f"{(ratio - 1) * 100:+.0f} %" if ratio < 5 else f"x {ratio:g}"


def _side(rows: Sequence[Row], dots: Sequence[Floats]) -> float:
    """Return how far the axis goes, as a ratio: to the furthest bound, start or value, but no further than fits."""
    ratios = [value for row in rows for value in (row.low, row.high, row.ratio)]
    ratios += [float(value) for values in dots for value in values]
    reach = [max(ratio, 1 / ratio) if ratio > 0 else MOST_TIMES for ratio in ratios if write.known(ratio)]
    return min(MOST_TIMES, 1.08 * max([1.05, *reach]))


TEXTS = {
    REQUESTS: (
        "Each start has fresh servers of all treatments, up at once. One schedule offers each request to one of them, "
        "in a balanced random order, so that what disturbs the machine disturbs all alike; a second process of the "
        "baseline is the control. A closed-loop rate is that of each server alone."
    ),
    SLICES: (
        "Each start has fresh servers, up at once. One of them is loaded in closed loop while the others are idle, for "
        "{slice}, then another, in a random order; a second process of the baseline is the control. CPU "
        "time is what a server used in the slices of others too."
    ),
}
INTERVALS = (
    "Intervals are over starts, with the variance of all treatments and Dunnett's bounds; the primary quantity "
    "keeps its error rate; those of the others do not account for their number."
)
RESPONDING = (
    "CPU per request is that of the threads that respond; that of the background (compilers, collectors, flushes, "
    "compaction) comes in bursts and stands apart, and is in that of all threads."
)
FORMS = {REQUESTS: "by request", SLICES: "by slices"}


def _texts(found: Comparison) -> list[str]:
    """Return how it was compared, each part once in a report."""
    apart = [RESPONDING] if found.row(BACKGROUND_CPU) else []
    how = f"a slice of {write.given_latency(found.slice_s * 1e6)}" if found.slice_s else "a short slice of time"
    return [TEXTS[found.form].format(slice=how), *apart, INTERVALS]


def interleaved_data(found: Comparison) -> pd.DataFrame:
    """Return a row a quantity, treatment and start: `quantity`, `treatment`, `start`, `ratio` to the baseline."""
    rows = [
        {"quantity": quantity, "treatment": treatment, "start": start, "ratio": value}
        for (quantity, treatment), values in found.dots.items()
        for start, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows, columns=["quantity", "treatment", "start", "ratio"])


def interleaved_title(found: Comparison) -> str:
    """Give the result: what differs, the primary quantity first, without CPU time that background threads outweigh."""
    decided = [row for row in found.rows if row.decided and not found.contradicting(row)][:3]
    parts = [
        f"{style.plain(facts.engine_name(row.treatment), 24)} {row.quantity.label} {row.change}" for row in decided
    ]
    against = f"Against {style.plain(facts.engine_name(found.baseline), 24)}"
    return f"{against}: {', '.join(parts) or 'no difference is decided'}"


def interleaved(steps: Sequence[Step], run: Run) -> style.Picture:
    """Draw the comparison that these steps of a run hold."""
    found = comparisons(replace(run, steps=tuple(steps)))
    return interleaved_picture(found[0], offered_rps(found[0], steps)) if found else style.empty("nothing to compare")


def interleaved_picture(found: Comparison, rate_rps: float = math.nan) -> style.Picture:
    """Draw each row: the starts as dots, the interval as a bar, the control below its quantity."""
    primary, others = (
        [row for row in found.rows if (row.quantity.name == found.primary) == first] for first in (True, False)
    )
    controls = [row for row in found.control if row.quantity.name == found.primary]
    rows = [*primary, *controls, *others]
    labels = [row.quantity.label for row in rows]
    if len(found.treatments) > 1 or controls:
        names = ["control" if row in controls else style.plain(facts.engine_name(row.treatment), 24) for row in rows]
        single = len(found.treatments) == 1
        labels = [
            label if single and name != "control" else f"{name}: {label}"
            for name, label in zip(names, labels, strict=True)
        ]
    at = f" at {write.rate(rate_rps)} each" if write.known(rate_rps) else ""
    note = f"against the baseline{at}; diamonds and bars: geometric mean of the starts and its 95 % interval"
    heading, dots = interleaved_title(found), found.dots
    return drawn(rows, found.margin, heading, note, dots=dots, labels=labels, changes=True)


def interleaved_table(found: Comparison, rate_rps: float = math.nan, most: int = 99) -> Table:
    """Tabulate what the figure of the changes does not show, a row a quantity: values, verdicts, control, reference.

    `rate_rps` is what each server was offered. Of more than so many rows the primary quantity's stands first, then the
    main ones, then those that differ.
    """
    controls = {row.quantity.name: row for row in found.control}
    head = ["quantity", *map(facts.engine_name, (found.baseline, *found.treatments))]
    head += ["control"] * bool(controls) + ["reference target"] * bool(found.reference)
    by_quantity = facts.grouped(found.rows, lambda row: row.quantity.name)
    first = list(dict.fromkeys((found.primary, *MAIN)))
    ranks = {name: rank for rank, name in enumerate(first)}
    order = sorted(
        by_quantity, key=lambda name: (ranks.get(name, len(first)), not any(map(_decided, by_quantity[name])))
    )

    def marks(quantity: str, name: str) -> str:
        return "*" if (quantity, name) in found.inside else ""

    def cells(name: str) -> Iterator[str]:
        rows = {row.treatment: row for row in by_quantity[name]}
        one = by_quantity[name][0]
        yield one.quantity.label
        yield f"{absolute(one.quantity, one.baseline_value)}{marks(name, found.baseline)}"
        for treatment in found.treatments:
            row = rows.get(treatment)
            value = (
                f"{absolute(row.quantity, row.treatment_value)}{marks(name, treatment)}, {_said(row)}" if row else ""
            )
            yield value or write.DASH
        if controls:
            yield controls[name].change if name in controls else write.DASH
        if found.reference:
            yield absolute(one.quantity, found.reference[name]) if name in found.reference else write.DASH

    # What differs in nothing is in the figure, but for the main ones.
    order = [name for name in order if name in first or any(map(_decided, by_quantity[name]))]
    shown = order[:most]
    note = f"The primary quantity stands first; a change within {write.given_share(found.margin)} would not matter."
    note += " The changes are in the figure."
    if controls:
        note += " Control: a second process of the baseline against the first."
    if found.reference:
        note += " The reference target is a server that does nothing, loaded with the others."
    if any(marks(name, each) for name in shown for each in (found.baseline, *found.treatments)):
        note += " * not above the reference target beyond noise: at most that, and not compared where both are."
    if any(row.machine == NO_REFERENCE for name in shown for row in by_quantity[name]):
        note += f" Not compared: {NO_REFERENCE}."
    if len(shown) < len(by_quantity):
        note += f" {write.several(len(by_quantity) - len(shown), 'more row')}: see the figure."
    if write.known(found.between_starts):
        part = write.percent(found.between_starts)
        note += f" Of the variance of the primary quantity {part} lies between starts, the rest between requests."
    if write.known(found.without_stalls):
        note += f" The p99 without the machine's stalls leaves out {write.percent(found.without_stalls)} of the time."
    title = f"{found.name}: {write.several(len(found.starts), 'start')}"
    if (repeats := max((row.starts for row in found.rows), default=0)) < len(found.starts):
        title += f", a treatment in {write.count(repeats)} of them"
    if write.known(rate_rps):
        title += f"; each server is offered {write.rate(rate_rps)}"
    return Table(title, tuple(head), tuple(tuple(cells(name)) for name in shown), note)


def _decided(row: Row) -> bool:
    return row.decided


def _said(row: Row) -> str:
    return "the same" if row.verdict == Verdict.SAME and not row.machine else row.said


def offered_rps(found: Comparison, steps: Sequence[Step]) -> float:
    """Return the rate that each server was offered where its latency was taken; NaN in closed loop."""
    rates = [rate for step in steps if step.name in found.steps for rate in step.frames["targets"]["offered_rps"]]
    known = [rate for rate in rates if write.known(rate)]
    return float(np.median(known)) if known else math.nan


def interleaved_sections(run: Run) -> Iterator[Section]:
    """Yield a section a comparison."""
    said: set[str] = set()
    for found in comparisons(run):
        if found.rows:
            fresh = [text for text in _texts(found) if text not in said]
            said.update(fresh)
            place = anchor(found.name)
            rate_rps = offered_rps(found, run.steps)
            figures = (Shown(place, interleaved_picture(found, rate_rps), interleaved_data(found)),)
            yield Section(
                f"{place}-section",
                f"Treatments {FORMS[found.form]}: {found.name}",
                " ".join(fresh),
                figures,
                tables=(interleaved_table(found, rate_rps, MOST_ROWS),),
            )
