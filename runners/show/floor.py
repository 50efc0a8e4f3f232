"""The instrument's floor on any plot of latency: below it nothing is said about a server."""

from __future__ import annotations

from matplotlib.axes import Axes

from runners.explain import facts
from runners.read.run import Step
from runners.show import numbers, style


def floor_band(axes: Axes, floor: Step | None, level: float = 0.99) -> float | None:
    """Shade what lies below the floor's percentile `level`, across the plot, and name it in the legend.

    For plots whose y axis is latency in microseconds, linear or logarithmic. Call it when the limits of the axis are
    set: they are kept. Gives the floor's value, or None where there is no floor of which latency may be quoted.
    """
    value = facts.quoted(floor, level) if floor is not None else None
    if floor is None or value is None:
        return None
    low, high = axes.get_ylim()
    at = numbers.rate(facts.offered_rps(floor))
    label = f"floor: {facts.tool(floor)} on a handler that does nothing, p{level * 100:g} at {at}"
    axes.axhspan(low, value.value, color=style.FLOOR, alpha=0.22, linewidth=0, label=label, zorder=0)
    axes.axhline(value.value, color=style.FLOOR, linewidth=0.9, zorder=1)
    axes.set_ylim(low, high)
    return value.value
