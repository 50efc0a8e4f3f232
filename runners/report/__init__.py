"""Frames and verdicts to figures, flame graphs and reports.

A notebook calls `report.spectrum(put, published=..., floor=...)`, `report.timeline(put)`, `report.checks(c)` and
`report.conclusion(c)`; `report.render(...)` makes the reports. Some of these functions have the name of the module that
holds them, so within this package a module's other names are imported from its full path.
"""

from runners.report.closed_loop import loop_curves, loop_rates, probes
from runners.report.cluster import outage
from runners.report.comparison import interleaved
from runners.report.differential import differential
from runners.report.flamegraph import flamegraph
from runners.report.history import history
from runners.report.instrument import floors, staircase, stall
from runners.report.ladder import ladder
from runners.report.notebook import checks, conclusion
from runners.report.report import render
from runners.report.shares import by_rate
from runners.report.spectrum import spectrum
from runners.report.timeline import causes, timeline

__all__ = [
    "by_rate",
    "causes",
    "checks",
    "conclusion",
    "differential",
    "flamegraph",
    "floors",
    "history",
    "interleaved",
    "ladder",
    "loop_curves",
    "loop_rates",
    "outage",
    "probes",
    "render",
    "spectrum",
    "staircase",
    "stall",
    "timeline",
]
