"""A server frozen at known times: how many requests had to wait how long, and how many each generator counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from runners.analysis.stall import Stall, stalls
from runners.claims.instrument import ordered
from runners.readers import write
from runners.readers.run import Step
from runners.report import numbers, style
from runners.report.floors import colour_of, label_of
from runners.report.tables import Table

_DASHES = {"blocking": (0, (4, 2)), "epoll": (0, (1, 1.2)), "truepace": "-", "wrk2": "-"}
_WIDTHS = {"truepace": 2.6, "wrk2": 2.2}
_POINTS = 400


def title(seen: Sequence[Stall]) -> str:
    """The result: the part of the waits that each generator with a schedule counts."""
    paced = [one for one in ordered(seen) if write.known(one.seen_share)]
    parts = [f"{label_of(one.tool)} {write.percent(one.seen_share)}" for one in paced]
    return f"Long waits that are counted: {', '.join(parts)}" if parts else "No generator with a schedule saw a stall"


def _strip(axes: Axes, one: Stall, length_s: float) -> None:
    """The server over the time of the load: running, standing still."""
    axes.axvspan(0, length_s, color=style.GREEN, alpha=0.25, linewidth=0)
    for freeze in one.freezes:
        axes.axvspan(freeze.at_s, freeze.at_s + freeze.length_s, color=style.VERMILION, alpha=0.55, linewidth=0)
        text = f"frozen\n{write.seconds(round(freeze.length_s, 3))}" + (", to the end" if freeze.at_end else "")
        middle = freeze.at_s + freeze.length_s / 2
        axes.text(middle, 0.5, text, ha="center", va="center", fontsize=8, color=style.INK)
    axes.text(0.02 * length_s, 0.5, "server\nruns", va="center", fontsize=8, color=style.INK)
    axes.set_xlim(0, length_s)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time in the load (s)", fontsize=8)


def _waits(axes: Axes, seen: Sequence[Stall], longest_s: float) -> None:
    waits = np.linspace(0.01 * longest_s, longest_s * 1.02, _POINTS)
    paced = [one for one in seen if write.known(one.rate_rps)]
    if paced:
        best = next((one for one in paced if write.known(one.censored)), paced[0])
        expected = [best.expected_above(wait) for wait in waits]
        axes.plot(
            waits, expected, color=style.FLOOR, linewidth=7, alpha=0.55, solid_capstyle="butt",
            label="must wait, by the schedule",
        )  # fmt: skip
        _lost(axes, paced, best, waits)
    for one in reversed(ordered(seen)):
        colour = colour_of(one.tool)
        counted = np.array([one.counted_above(wait) for wait in waits])
        if np.isfinite(counted).any():
            axes.plot(
                waits, counted, color=colour, linestyle=_DASHES.get(one.tool, "-"),
                linewidth=_WIDTHS.get(one.tool, 1.8), label=label_of(one.tool),
            )  # fmt: skip
        else:
            axes.plot([0, one.max_us / 1e6], [1, 1], color=colour, linewidth=2)
            axes.scatter(
                [one.max_us / 1e6], [1], color=colour, s=30, zorder=4, label=f"{label_of(one.tool)} (its longest)"
            )
    axes.set_xlim(0, longest_s * 1.04)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    axes.set_xlabel("response time (s)")
    axes.set_ylabel("requests that took longer")


def _lost(axes: Axes, paced: Sequence[Stall], best: Stall, waits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """What wrk2's distribution lacks, where it lacks much."""
    wrk2 = next((one for one in paced if one.tool == "wrk2" and one.seen_share < 0.9), None)
    if wrk2 is None:
        return
    expected = np.array([best.expected_above(wait) for wait in waits])
    counted = np.array([wrk2.counted_above(wait) for wait in waits])
    axes.fill_between(waits, counted, expected, color=colour_of("wrk2"), alpha=0.07, linewidth=0)
    middle = len(waits) * 2 // 5
    height = (expected[middle] + counted[middle]) / 2
    text = "waited, and is in no figure of wrk2:\nhad no response when the load ended"
    axes.text(waits[middle], height, text, ha="center", va="center", fontsize=8, color=colour_of("wrk2"))


@style.styled
def stall(steps: Sequence[Step]) -> style.Picture:
    """Draw when the server stood still, and over each response time how many requests took longer.

    The broad grey line is what the schedule makes wait. A generator that sees the whole of a stall lies on it.
    """
    seen = stalls(steps)
    if not seen:
        figure = style.Picture(8.4, 1.4)
        figure.text(0.5, 0.5, "no stall was measured", ha="center", color=style.QUIET)
        figure.alt = "An empty figure: no stall."
        return figure
    figure = style.Picture(8.4, 5.4)
    strip, waits = figure.subplots(2, 1, height_ratios=(0.55, 4))
    shown = next((one for one in seen if one.tool == "truepace"), seen[0])
    ends = [freeze.at_s + freeze.length_s for freeze in shown.freezes]
    _strip(strip, shown, max(ends, default=1.0))
    _waits(waits, seen, max(one.longest_s for one in seen))
    figure.suptitle(title(seen), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=3)
    figure.alt = f"Requests that took longer than a time, of a server that was frozen. {title(seen)}."
    return figure


def table(seen: Sequence[Stall]) -> Table:
    """The same as numbers."""
    long = next((one.long_s for one in seen), float("nan"))
    rows = []
    for one in seen:
        closed = not write.known(one.rate_rps)
        rows.append(
            (
                label_of(one.tool) + (", closed loop" if closed else ""),
                numbers.latency(one.max_us),
                numbers.NONE if closed else numbers.latency(one.longest_s * 1e6),
                numbers.count(one.counted_above(one.long_s)),
                numbers.NONE if closed else numbers.count(one.expected_above(one.long_s)),
                numbers.share(one.seen_share),
                numbers.count(one.censored),
                numbers.NONE if closed else numbers.count(one.expected_censored),
            )
        )
    over = write.latency(long * 1e6)
    head = (
        "generator", "longest", "by the schedule", f"over {over}", "by the schedule", "counted",
        "without a response", "by the schedule",
    )  # fmt: skip
    note = (
        "By the schedule: a request is due every 1/rate; what falls due while the server stands still waits for its "
        "end, or has no response when the generator ends. The times of the freezes are those at which the process was "
        "stopped and continued; a generator that does not tell when its window began is taken to have begun with its "
        "process, so its columns are good to about a hundredth. A dash: it does not tell, or has no schedule."
    )
    return Table("What each generator says of the stall", head, tuple(rows), note)
