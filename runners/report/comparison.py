"""Draw treatments against a baseline, by rounds or by one schedule: each quantity's difference with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter

from runners.analysis import facts
from runners.analysis.comparison import Difference, Verdict
from runners.claims.comparing import absolute, signed
from runners.claims.conclusion import Conclusion
from runners.claims.interleaved import BACKGROUND_CPU, REQUESTS, ROUNDS, SLICES, Comparison, Row, anchor, comparisons
from runners.claims.questions import ratio
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.section import Section, Shown
from runners.report.tables import Table

BETTER, WORSE = style.BLUE, style.VERMILION
MOST_TIMES = 30.0  # an interval that goes beyond is cut at the axis' end, with an arrow and its edge in words
TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 30.0)


@style.styled
def drawn(
    found: Sequence[Difference], dots: pd.DataFrame, heading: str, note: str, *, judged: bool = True
) -> style.Picture:
    """Draw differences as ratios on a logarithmic axis, on which half and double are equally far from the same.

    `dots`: a row a round, `quantity` and `difference`, or none; not `judged`: no colour says better or worse.
    """
    figure = style.Picture(8.4, 1.7 + 0.55 * max(1, len(found)))
    axes = figure.add_subplot()
    axes.axvline(1, color=style.INK, linewidth=1.0)
    if found:
        axes.axvspan(1 / (1 + found[0].see), 1 + found[0].see, color=style.GRID, alpha=0.6, linewidth=0)
    side = _side(found, dots)
    for index, each in enumerate(found):
        own = 1 + dots[dots["quantity"] == each.quantity.name]["difference"].to_numpy(float)
        lift = np.linspace(-0.16, 0.16, len(own)) if len(own) > 1 else np.zeros(len(own))
        axes.scatter(own, index + lift, 12, color=style.QUIET, alpha=0.55, zorder=2)
        colour = _colour(each) if judged else style.INK
        if write.known(each.low) and write.known(each.high):
            ends = [max(1 + each.low, 1e-9), 1 + each.high]
            axes.plot(ends, [index, index], color=colour, linewidth=4, zorder=3)
            for edge, share in zip(ends, (each.low, each.high), strict=True):
                if not 1 / side <= edge <= side:
                    at, mark = (side**-0.985, "<") if edge < 1 else (side**0.985, ">")
                    axes.plot(at, index, mark, color=colour, markersize=8, zorder=3)
                    turned = "left" if edge < 1 else "right"
                    axes.text(at, index - 0.2, f"to {_far(share)}", ha=turned, va="bottom", fontsize=8, color=style.INK)
        if 1 / side <= 1 + each.share <= side:
            axes.plot(1 + each.share, index, "D", color=colour, markersize=6, zorder=4)
    axes.set_xscale("log")
    axes.set_xlim(1 / side, side)
    ticks = _ticks(side)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    labels = [
        f"{each.quantity.label}\n{absolute(each.quantity, each.a)} → {absolute(each.quantity, each.b)}"
        for each in found
    ]
    axes.set_yticks(range(len(found)), labels, fontsize=8)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.set_xlabel(f"{note}\ngrey is too small to matter", fontsize=8)
    figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Differences with their intervals. {heading}."
    return figure


def _ticks(side: float) -> list[float]:
    """Ratios to label, at most five on each side, and their reciprocals."""
    up = [tick for tick in TICKS if side ** (1 / 7) <= tick <= side]
    up = up[:: max(1, math.ceil(len(up) / 4))]
    return sorted([1.0, *up, *(1 / tick for tick in up)])


def _far(share: float) -> str:
    """A bound that is not drawn: beyond fivefold as a factor."""
    return f"x {1 + share:.3g}" if share > 4 else signed(share)


def _tick(ratio: float) -> str:
    if ratio == 1:
        return "0"
    return f"{(ratio - 1) * 100:+.0f} %" if ratio < 5 else f"x {ratio:g}"


def _side(found: Sequence[Difference], dots: pd.DataFrame) -> float:
    """How far the axis goes, as a ratio: to the furthest bound, round or value, but no further than fits."""
    own = dots[dots["quantity"].isin([each.quantity.name for each in found])]["difference"]
    ratios = [1 + value for each in found for value in (each.low, each.high, each.share)]
    ratios += [1 + float(value) for value in own]
    reach = [max(ratio, 1 / ratio) if ratio > 0 else MOST_TIMES for ratio in ratios if write.known(ratio)]
    return min(MOST_TIMES, 1.08 * max([1.05, *reach]))


def _colour(each: Difference) -> str:
    if each.verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return style.INK
    better = (each.verdict == Verdict.LOWER) == each.quantity.lower_is_better
    return BETTER if better else WORSE


TEXTS = {
    REQUESTS: (
        "Each start has fresh servers of all treatments, up at once. One schedule offers each request to one of them, "
        "in a balanced random order, so that what disturbs the machine disturbs all alike; a second process of the "
        "baseline is the control. Throughput is that of a closed loop on each server alone."
    ),
    SLICES: (
        "Each start has fresh servers, up at once. One of them is loaded in closed loop while the others are idle, for "
        "a tenth of a second, then another, in a random order; a second process of the baseline is the control. CPU "
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
    "compaction) comes in bursts and stands apart."
)
FORMS = {REQUESTS: "by request", SLICES: "by slices", ROUNDS: "by rounds"}


def _text(found: Comparison) -> str:
    apart = [RESPONDING] if found.row(BACKGROUND_CPU) else []
    return " ".join([TEXTS[found.form], *apart, INTERVALS.format(unit=found.unit)])


def interleaved_data(found: Comparison) -> pd.DataFrame:
    """A row a quantity, treatment and start: `quantity`, `treatment`, `start`, `ratio` to the baseline."""
    rows = [
        {"quantity": quantity, "treatment": treatment, "start": start, "ratio": value}
        for (quantity, treatment), values in found.dots.items()
        for start, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows, columns=["quantity", "treatment", "start", "ratio"])


def interleaved_title(found: Comparison) -> str:
    """The result: what differs, the primary quantity first."""
    decided = [row for row in found.rows if row.decided][:3]
    parts = [
        f"{style.plain(facts.engine_name(row.treatment), 24)} {row.quantity.label} "
        f"{ratio(row.ratio - 1, row.low - 1, row.high - 1)}"
        for row in decided
    ]
    against = f"Against {style.plain(facts.engine_name(found.baseline), 24)}"
    return f"{against}: {', '.join(parts) or 'no difference is decided'}"


def interleaved(steps: Sequence[Step], run: Run) -> style.Picture:
    """Draw the comparison that these steps of a run hold."""
    found = comparisons(replace(run, steps=tuple(steps)))
    return interleaved_picture(found[0]) if found else style.Picture(8.4, 1.4)


def interleaved_picture(found: Comparison) -> style.Picture:
    """Draw each row: the starts as dots, the interval as a bar, the control below its quantity."""
    several = len(found.treatments) > 1
    shown, dots = [], []
    for row in _ordered(found):
        control = row in found.control
        name = f"{row.quantity.name} {row.treatment}"
        named = f"{'control' if control else style.plain(facts.engine_name(row.treatment), 24)}: {row.quantity.label}"
        label = named if several or control else row.quantity.label
        quantity = replace(row.quantity, name=name, label=label)
        shown.append(_difference(row, quantity, found))
        dots += [(name, value - 1) for value in found.dots.get((row.quantity.name, row.treatment), ())]
    note = (
        "against the baseline; diamonds and bars: geometric mean of the starts and its 95 % interval, dots the starts"
    )
    return drawn(shown, pd.DataFrame(dots, columns=["quantity", "difference"]), interleaved_title(found), note)


def _ordered(found: Comparison) -> list[Row]:
    controls = [row for row in found.control if row.quantity.name == found.primary]
    return [*(row for row in found.rows if row.quantity.name == found.primary), *controls, *(
        row for row in found.rows if row.quantity.name != found.primary
    )]  # fmt: skip


def _difference(row: Row, quantity: object, found: Comparison) -> Difference:
    return Difference(
        quantity, row.baseline_value, row.treatment_value, row.ratio - 1, row.low - 1, row.high - 1,  # type: ignore[arg-type]
        row.starts, float("nan"), found.margin,
    )  # fmt: skip


def interleaved_table(found: Comparison) -> Table:
    """A row a quantity and treatment: values, ratio, verdict, control, and what a server reads that does nothing."""
    head = ("quantity", "baseline", "treatment", "change (95 %)", "verdict", "control", "does nothing")
    controls = {row.quantity.name: row for row in found.control}
    rows = []
    for row in found.rows:
        name = row.quantity.name
        control = controls.get(name)
        idle = found.reference.get(name)
        rows.append(
            (
                row.quantity.label,
                f"{facts.engine_name(row.baseline)} {absolute(row.quantity, row.baseline_value)}",
                f"{facts.engine_name(row.treatment)} {absolute(row.quantity, row.treatment_value)}",
                ratio(row.ratio - 1, row.low - 1, row.high - 1),
                row.said,
                ratio(control.ratio - 1, control.low - 1, control.high - 1) if control else write.DASH,
                absolute(row.quantity, idle) if idle is not None else write.DASH,
            )
        )
    note = f"The primary quantity stands first; a change within {write.percent(found.margin)} would not matter."
    if write.known(found.between_starts):
        part = write.percent(found.between_starts)
        note += f" Of the variance of the primary quantity {part} lies between starts, the rest between requests."
    if write.known(found.without_stalls):
        note += f" Without the machine's stalls {write.percent(found.without_stalls)} of the time is left out."
    title = f"{found.name}: {write.several(len(found.starts), found.unit)}"
    return Table(title, head, tuple(rows), note)


def interleaved_sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """A section a comparison."""
    for found in comparisons(run):
        if found.rows:
            place = anchor(found.name)
            findings = tuple(finding for finding in conclusion.findings if finding.figure == place)
            figures = (Shown(place, interleaved_picture(found), interleaved_data(found)),)
            yield Section(
                f"{place}-section",
                f"Treatments {FORMS[found.form]}: {found.name}",
                _text(found),
                findings,
                figures,
                tables=(interleaved_table(found),),
            )
