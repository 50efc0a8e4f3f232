"""Frames and verdicts to figures, flame graphs and reports.

The words of a notebook: `show.spectrum(put, published=..., floor=...)`, `show.timeline(put)`, `show.shares([put])`,
`show.flamegraph(put, "cpu")`, `show.causes(put)`, `show.differential(one, other)`, `show.latency_heat(put)`,
`show.recording_heat(put)`, `show.rates(run, ...)`, `show.checks(c)`, `show.conclusion(c)`; and `show.render(...)` for
the reports. They take their names from the modules that hold them, so within this package a module's other names are
imported from its full path.
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
from runners.report.heat import latency_heat, recording_heat
from runners.report.history import history
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
    "ladder",
    "latency_heat",
    "loop_curves",
    "loop_rates",
    "outage",
    "probes",
    "rates",
    "recording_heat",
    "render",
    "shares",
    "spectrum",
    "staircase",
    "stall",
    "timeline",
    "turns",
]
