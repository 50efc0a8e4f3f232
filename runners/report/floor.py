"""The instrument's floor on any plot of latency: below it nothing is said about a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from runners.analysis import facts, floors
from runners.readers import write
from runners.readers.run import Step
from runners.report import numbers, style

LEVELS = (0.5, 0.99)
DOTTED = (0, (1, 1.5))


def is_own(floor: Step, loads: Sequence[Step]) -> bool:
    """Whether the floor was taken at the rate and connections of one of the loads that are drawn."""
    return any(floors.taken_at(floor, load) for load in loads)


def label(floor: Step, loads: Sequence[Step]) -> str:
    """What a legend says of a floor: of one that was taken elsewhere, at which rate."""
    return "instrument floor (noop)" if is_own(floor, loads) else f"instrument floor at {floors.where(floor)}"


def floor_lines(
    axes: Axes, floor: Step | None, loads: Sequence[Step], levels: Sequence[float] = LEVELS, *, upright: bool = False
) -> Line2D | None:
    """Draw the floor's percentiles across a plot of these loads, each with its value; gives the legend's entry.

    For plots of which an axis, y or if `upright` x, is latency in microseconds. Call it when the limits of that axis
    are set: they are kept, and a line beyond them is left out. What lies below the lowest is shaded where the floor was
    taken at the load's rate and connections; another floor is a thin line. None where there is no floor to quote.
    """
    found = [(level, value.value) for level in levels if floor and (value := facts.quoted(floor, level)) is not None]
    if floor is None or not found:
        return None
    at_load = is_own(floor, loads)
    drawn: dict[str, Any] = {"color": style.FLOOR, "linewidth": 0.9, "linestyle": "-" if at_load else DOTTED}
    low, high = axes.get_xlim() if upright else axes.get_ylim()
    if at_load:
        shade = axes.axvspan if upright else axes.axhspan
        shade(low, found[0][1], color=style.FLOOR, alpha=0.22, linewidth=0, zorder=0)
    for level, us in found:
        if low < us < high:
            (axes.axvline if upright else axes.axhline)(us, zorder=1, **drawn)
            _name(axes, f"floor {write.level(level)} {numbers.latency(us)}", us, upright)
    (axes.set_xlim if upright else axes.set_ylim)(low, high)
    return Line2D([], [], label=label(floor, loads), **drawn)


def floor_across(
    figure: Figure, panels: Sequence[Axes], floor: Step | None, loads: Sequence[Step],
    levels: Sequence[float] = LEVELS, *, upright: bool = False,
) -> None:  # fmt: skip
    """The same on every panel, with its name below the figure: for figures that have no legend there."""
    entries = [floor_lines(axes, floor, loads, levels, upright=upright) for axes in panels]
    if entries and entries[0] is not None:
        figure.legend(handles=[entries[0]], loc="outside lower center", fontsize=8)


def _name(axes: Axes, text: str, us: float, upright: bool) -> None:
    """The level and value of a line, at its end."""
    if upright:
        axes.annotate(
            text, (us, 0.02), (2, 0), ("data", "axes fraction"), "offset points", rotation=90, fontsize=6.5,
            color=style.QUIET, va="bottom",
        )  # fmt: skip
    else:
        axes.annotate(
            text, (1, us), (-3, 1.5), ("axes fraction", "data"), "offset points", fontsize=6.5, color=style.QUIET,
            ha="right", va="bottom",
        )  # fmt: skip


def reach(floor: Step | None) -> list[float]:
    """The floor's median, for the limits of an axis: none where there is no floor to quote."""
    value = facts.quoted(floor, LEVELS[0]) if floor is not None else None
    return [value.value] if value is not None else []
