"""Draw treatments against a baseline, by rounds or by one schedule: each quantity's difference with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter

from runners.analysis import facts
from runners.analysis.interleaved import (
    ALL_CPU,
    BACKGROUND_CPU,
    CPU,
    REQUESTS,
    ROUNDS,
    SLICES,
    THROUGHPUT,
    Comparison,
    comparisons,
)
from runners.analysis.quantities import Floats, Row, absolute, signed
from runners.claims.conclusion import Conclusion
from runners.claims.interleaved import anchor
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.tables import Section, Shown, Table

#: By quantity and treatment, the ratio to the baseline in each round.
Dots = Mapping[tuple[str, str], Sequence[float]]
BETTER, WORSE = style.BLUE, style.VERMILION
MOST_ROWS = 6  # of a report
MAIN = (THROUGHPUT, "p50_us", "p99_us", CPU, ALL_CPU)
MOST_TIMES = 30.0  # an interval that goes beyond is cut at the axis' end, with an arrow and its edge in words
TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 30.0)


@style.styled
def drawn(
    rows: Sequence[Row], margin: float, heading: str, note: str, *, dots: Dots | None = None,
    labels: Sequence[str] = (), judged: bool = True,
) -> style.Picture:  # fmt: skip
    """Draw changes as ratios on a logarithmic axis, on which half and double are equally far from the same.

    `dots`: by quantity and treatment, the ratio in each round; `labels` in place of the quantities' own; not `judged`:
    no colour says better or worse.
    """
    figure = style.Picture(8.4, 1.7 + 0.55 * max(1, len(rows)))
    axes = figure.add_subplot()
    axes.axvline(1, color=style.INK, linewidth=1.0)
    axes.axvspan(1 / (1 + margin), 1 + margin, color=style.GRID, alpha=0.6, linewidth=0)
    own = [np.array((dots or {}).get((row.quantity.name, row.treatment), ())) for row in rows]
    side = _side(rows, own)
    for index, (row, values) in enumerate(zip(rows, own, strict=True)):
        lift = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else np.zeros(len(values))
        axes.scatter(values, index + lift, 12, color=style.QUIET, alpha=0.55, zorder=2)
        colour = (BETTER if row.better else WORSE) if judged and row.decided else style.INK
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
                text = f"{bounds[0]} to {bounds[1]}" if len(set(bounds)) == 2 else f"to {bounds[0]}"
                axes.text(at, index - 0.2, text, ha=turned, va="bottom", fontsize=8, color=style.INK)
        if 1 / side <= row.ratio <= side:
            axes.plot(row.ratio, index, "D", color=colour, markersize=6, zorder=4)
    axes.set_xscale("log")
    axes.set_xlim(1 / side, side)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(side)))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    values_of = (f"{absolute(r.quantity, r.baseline_value)} → {absolute(r.quantity, r.treatment_value)}" for r in rows)
    named = labels or [row.quantity.label for row in rows]
    texts = [f"{name}\n{value}" for name, value in zip(named, values_of, strict=True)]
    axes.set_yticks(range(len(rows)), texts, fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.set_xlabel(f"{note}\ngrey is too small to matter", fontsize=8)
    return figure.headed(heading, f"Differences with their intervals. {heading}.")


def _ticks(side: float) -> list[float]:
    """Ratios to label, a sixth of each side apart or more so that their labels are, and their reciprocals."""
    up = [1.0]
    for tick in TICKS:
        if tick <= side and math.log(tick / up[-1]) >= math.log(side) / 6:
            up.append(tick)
    return sorted([*up, *(1 / tick for tick in up[1:])])


def _far(share: float) -> str:
    """A bound that is not drawn: beyond fivefold as a factor."""
    times = 1 + share
    return f"x {write.count(times) if times >= 100 else f'{times:.3g}'}" if share > 4 else signed(share)


def _tick(ratio: float) -> str:
    if ratio == 1:
        return "0"
    return f"{(ratio - 1) * 100:+.0f} %" if ratio < 5 else f"x {ratio:g}"


def _side(rows: Sequence[Row], dots: Sequence[Floats]) -> float:
    """How far the axis goes, as a ratio: to the furthest bound, round or value, but no further than fits."""
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
    ROUNDS: (
        "In each round every treatment was loaded, one after the other in a random order: in closed loop, then at one "
        "rate for all. The machine's stalls fall on one and not on the other, which widens the intervals of tails."
    ),
}
INTERVALS = (
    "Intervals are over {unit}s, with the variance of all treatments and Dunnett's bounds; the primary quantity keeps "
    "its error rate, the others stand beside it."
)
RESPONDING = (
    "CPU per request is that of the threads that respond; that of the background (compilers, collectors, flushes, "
    "compaction) comes in bursts and stands apart, and is in that of all threads."
)
FORMS = {REQUESTS: "by request", SLICES: "by slices", ROUNDS: "by rounds"}


def _texts(found: Comparison) -> list[str]:
    """How it was compared, each part once in a report."""
    apart = [RESPONDING] if found.row(BACKGROUND_CPU) else []
    how = f"a slice of {write.given_latency(found.slice_s * 1e6)}" if found.slice_s else "a short slice of time"
    return [TEXTS[found.form].format(slice=how), *apart, INTERVALS.format(unit=found.unit)]


def interleaved_data(found: Comparison) -> pd.DataFrame:
    """A row a quantity, treatment and start: `quantity`, `treatment`, `start`, `ratio` to the baseline."""
    rows = [
        {"quantity": quantity, "treatment": treatment, "start": start, "ratio": value}
        for (quantity, treatment), values in found.dots.items()
        for start, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows, columns=["quantity", "treatment", "start", "ratio"])


def interleaved_title(found: Comparison) -> str:
    """The result: what differs, the primary quantity first, without CPU time that background threads outweigh."""
    decided = [row for row in found.rows if row.decided and not found.contradicting(row)][:3]
    parts = [
        f"{style.plain(facts.engine_name(row.treatment), 24)} {row.quantity.label} {row.change}" for row in decided
    ]
    against = f"Against {style.plain(facts.engine_name(found.baseline), 24)}"
    return f"{against}: {', '.join(parts) or 'no difference is decided'}"


def interleaved(steps: Sequence[Step], run: Run) -> style.Picture:
    """Draw the comparison that these steps of a run hold."""
    found = comparisons(replace(run, steps=tuple(steps)))
    return interleaved_picture(found[0]) if found else style.empty("nothing to compare")


def interleaved_picture(found: Comparison) -> style.Picture:
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
    note = (
        "against the baseline; diamonds and bars: geometric mean of the starts and its 95 % interval, dots the starts"
    )
    return drawn(rows, found.margin, interleaved_title(found), note, dots=found.dots, labels=labels)


def interleaved_table(found: Comparison, most: int = 99) -> Table:
    """A row a quantity and treatment: values, ratio, verdict, control, and what a server reads that does nothing.

    Of more than so many rows the primary quantity's stand first, then the main ones, then those that differ.
    """
    head = ("quantity", "baseline", "treatment", "change (95 %)", "verdict", "control", "reference target")
    controls = {row.quantity.name: row for row in found.control}
    shown = found.rows
    if len(shown) > most:
        first = list(dict.fromkeys((found.primary, *MAIN)))
        ranks = {name: rank for rank, name in enumerate(first)}
        shown = tuple(sorted(shown, key=lambda row: (ranks.get(row.quantity.name, len(first)), not row.decided)))[:most]

    def marks(row: Row, name: str) -> str:
        return "*" if (row.quantity.name, name) in found.inside else ""

    def cells(row: Row) -> tuple[str, ...]:
        control, idle = controls.get(row.quantity.name), found.reference.get(row.quantity.name)
        return (
            row.quantity.label,
            f"{facts.engine_name(row.baseline)} {absolute(row.quantity, row.baseline_value)}{marks(row, row.baseline)}",
            f"{facts.engine_name(row.treatment)} {absolute(row.quantity, row.treatment_value)}"
            f"{marks(row, row.treatment)}",
            write.DASH if row.machine else row.change,
            row.said,
            control.change if control else write.DASH,
            absolute(row.quantity, idle) if idle is not None else write.DASH,
        )

    note = f"The primary quantity stands first; a change within {write.given_share(found.margin)} would not matter."
    if found.reference:
        note += " The reference target is a server that does nothing, loaded beside the others."
    if any(marks(row, name) for row in shown for name in (row.baseline, row.treatment)):
        note += " * not above the reference target beyond noise: then a difference is what the other side adds."
    if len(shown) < len(found.rows):
        note += f" {write.several(len(found.rows) - len(shown), 'more row')}: see the data of the figure."
    if write.known(found.between_starts):
        part = write.percent(found.between_starts)
        note += f" Of the variance of the primary quantity {part} lies between starts, the rest between requests."
    if write.known(found.without_stalls):
        note += f" The p99 without the machine's stalls leaves out {write.percent(found.without_stalls)} of the time."
    title = f"{found.name}: {write.several(len(found.starts), found.unit)}"
    if (most := max((row.starts for row in found.rows), default=0)) < len(found.starts):
        title += f", a treatment in {write.count(most)} of them"
    return Table(title, head, tuple(map(cells, shown)), note)


def interleaved_sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """A section a comparison."""
    said: set[str] = set()
    for found in comparisons(run):
        if found.rows:
            fresh = [text for text in _texts(found) if text not in said]
            said.update(fresh)
            place = anchor(found.name)
            figures = (Shown(place, interleaved_picture(found), interleaved_data(found)),)
            yield Section(
                f"{place}-section",
                f"Treatments {FORMS[found.form]}: {found.name}",
                " ".join(fresh),
                conclusion.about(place),
                figures,
                tables=(interleaved_table(found, MOST_ROWS),),
            )
