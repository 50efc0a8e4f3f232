"""Two settings compared: the difference of each quantity with its interval, and each round's own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts
from runners.analysis.comparison import Difference, Verdict
from runners.claims.comparing import ANCHOR, Repeats, absolute, repeats_of, said, signed
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.run import Run
from runners.report import style
from runners.report.section import Section, Shown
from runners.report.tables import Table

BETTER, WORSE = style.BLUE, style.VERMILION
WIDE = 4.0  # times the usual width: such an interval is cut at the axis' end, with an arrow and its edge in words


def title(repeats: Repeats, found: list[Difference]) -> str:
    """The result, of the quantity that decided."""
    primary = next((each for each in found if each.quantity.name == "p99_us"), found[0] if found else None)
    a, b = (facts.engine_name(name) for name in repeats.names)
    return said(primary, a, b, len(found)) if primary else f"{a} and {b}: nothing to compare"


def data(repeats: Repeats) -> pd.DataFrame:
    """A row a round and quantity."""
    rows = []
    for each in repeats.found:
        name = each.quantity.name
        for number, a, b in zip(repeats.rounds, repeats.values["a"][name], repeats.values["b"][name], strict=True):
            rows.append({"round": number, "quantity": name, "a": a, "b": b, "difference": b / a - 1})
    return pd.DataFrame(rows, columns=["round", "quantity", "a", "b", "difference"])


def difference(repeats: Repeats) -> style.Picture:
    """Draw each quantity as a line: rounds as dots, the interval as a bar, B against A in percent."""
    found = repeats.found
    a, b = (facts.engine_name(name) for name in repeats.names)
    note = f"{b} against {a}: diamonds and bars are the typical round and its interval, dots the rounds"
    return drawn(found, data(repeats), title(repeats, found), note)


@style.styled
def drawn(
    found: Sequence[Difference], dots: pd.DataFrame, heading: str, note: str, *, judged: bool = True
) -> style.Picture:
    """Differences as a figure. `dots` as `data` gives them, or none; not `judged`: no colour says better or worse."""
    figure = style.Picture(8.4, 1.7 + 0.55 * max(1, len(found)))
    axes = figure.add_subplot()
    axes.axvline(0, color=style.INK, linewidth=1.0)
    if found:
        axes.axvspan(-found[0].see * 100, found[0].see * 100, color=style.GRID, alpha=0.6, linewidth=0)
    side = _side(found, dots)
    for index, each in enumerate(found):
        own = dots[dots["quantity"] == each.quantity.name]["difference"].to_numpy(float) * 100
        lift = np.linspace(-0.16, 0.16, len(own)) if len(own) > 1 else np.zeros(len(own))
        axes.scatter(own, index + lift, 12, color=style.QUIET, alpha=0.55, zorder=2)
        colour = _colour(each) if judged else style.INK
        if write.known(each.low) and write.known(each.high):
            axes.plot([each.low * 100, each.high * 100], [index, index], color=colour, linewidth=4, zorder=3)
            for edge in (each.low * 100, each.high * 100):
                if abs(edge) > side:
                    at, mark = math.copysign(side * 0.985, edge), "<" if edge < 0 else ">"
                    axes.plot(at, index, mark, color=colour, markersize=8, zorder=3)
                    text, turned = f"to {signed(edge / 100)}", "left" if edge < 0 else "right"
                    axes.text(at, index - 0.2, text, ha=turned, va="bottom", fontsize=8, color=style.INK)
        if abs(each.share) * 100 <= side:
            axes.plot(each.share * 100, index, "D", color=colour, markersize=6, zorder=4)
    axes.set_xlim(-side, side)
    labels = [
        f"{each.quantity.label}\n{absolute(each.quantity, each.a)} → {absolute(each.quantity, each.b)}"
        for each in found
    ]
    axes.set_yticks(range(len(found)), labels, fontsize=8)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g} %" if value else "0"))
    axes.set_xlabel(f"{note}; grey is too small to matter", fontsize=8)
    figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Differences with their intervals. {heading}."
    return figure


def _side(found: Sequence[Difference], dots: pd.DataFrame) -> float:
    """How far the axis goes, in percent: all differences that are known well, and not the whole of a wide interval."""
    widths = [each.high - each.low for each in found if write.known(each.low) and write.known(each.high)]
    known = WIDE * float(np.median(widths)) if widths else math.inf
    narrow = [each for each in found if each.high - each.low <= known]
    own = dots[dots["quantity"].isin([each.quantity.name for each in narrow])]["difference"].abs()
    edges = [max(abs(each.low), abs(each.high)) for each in narrow] or [abs(each.share) for each in found]
    spread = [float(own.quantile(0.97))] if len(own) else []
    return 110 * max([0.05, *edges, *spread])


def _colour(each: Difference) -> str:
    if each.verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return style.INK
    better = (each.verdict == Verdict.LOWER) == each.quantity.lower_is_better
    return BETTER if better else WORSE


def table(repeats: Repeats) -> Table:
    """Each quantity with its difference."""
    a, b = (facts.engine_name(name) for name in repeats.names)
    rows = tuple(
        (
            each.quantity.label,
            absolute(each.quantity, each.a),
            absolute(each.quantity, each.b),
            signed(each.share),
            f"{signed(each.low)} to {signed(each.high)}",
            write.percent(each.spread),
        )
        for each in repeats.found
    )
    head = ("quantity", a, b, "difference", "interval", "spread between rounds")
    note = (
        "Geometric means over rounds. The intervals hold together with 95 %, although one looked before the end; the "
        "spread is the standard deviation of a round's difference."
    )
    return Table("Differences", head, rows, note)


def section(run: Run, conclusion: Conclusion) -> Section | None:
    """The comparison of a run, or None."""
    repeats = repeats_of(list(run.steps))
    if repeats is None:
        return None
    return Section(
        "comparison-of-settings",
        "The difference",
        text=(
            "Each round starts both servers anew on empty stores, warms them in a closed loop and offers both the same "
            "rate, in an order drawn by chance. What differs between rounds is what a difference has to exceed."
        ),
        findings=tuple(finding for finding in conclusion.findings if finding.figure == ANCHOR),
        figures=(Shown(ANCHOR, difference(repeats), data(repeats)),) if repeats.found else (),
        tables=(table(repeats),) if repeats.found else (),
    )
