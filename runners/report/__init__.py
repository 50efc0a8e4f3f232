"""Frames and verdicts to figures, flame graphs and reports.

A notebook calls `report.spectrum(put, published=..., floor=...)`, `report.timeline(put)`, `report.shares([put])`,
`report.flamegraph(put, "cpu")`, `report.causes(put)`, `report.differential(one, other)`, `report.rates(run, ...)`,
`report.checks(c)` and `report.conclusion(c)`; `report.render(...)` makes the reports. These functions have
the names of the modules that hold them, so within this package a module's other names are imported from its full path.
"""

from runners.report.ablations import ablation
from runners.report.arrows import arrows
from runners.report.blocks import checks, conclusion
from runners.report.by_rate import by_rate
from runners.report.causes import causes
from runners.report.difference import difference
from runners.report.differential import differential
from runners.report.flamegraph import flamegraph
from runners.report.floors import floors
from runners.report.history import history
from runners.report.interleaved import interleaved
from runners.report.ladder import ladder
from runners.report.loop_figures import loop_curves, loop_rates
from runners.report.outage import outage
from runners.report.probe import probes, rates
from runners.report.report import render
from runners.report.shares import shares
from runners.report.spectrum import spectrum
from runners.report.staircase import staircase
from runners.report.stall import stall
from runners.report.timeline import timeline
from runners.report.turns import turns

__all__ = [
    "ablation",
    "arrows",
    "by_rate",
    "causes",
    "checks",
    "conclusion",
    "difference",
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
    "rates",
    "render",
    "shares",
    "spectrum",
    "staircase",
    "stall",
    "timeline",
    "turns",
]
