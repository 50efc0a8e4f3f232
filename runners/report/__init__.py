"""Frames and verdicts to figures, flame graphs and reports.

What a block measured draws itself by them (see `runners.measured`); `report.render(...)` makes the reports. Some of
these functions have the name of the module that holds them, so within this package a module's other names are imported
from its full path.
"""

from runners.report.closed_loop import loop_curves, loop_rates
from runners.report.flamegraph import differential, flamegraph
from runners.report.ladder import ladder
from runners.report.latency import overlay, spectrum, timeline
from runners.report.report import render
from runners.report.sections import history, outage
from runners.report.validation import floors, staircase, stall

__all__ = [
    "differential", "flamegraph", "floors", "history", "ladder", "loop_curves", "loop_rates", "outage", "overlay",
    "render", "spectrum", "staircase", "stall", "timeline",
]  # fmt: skip
