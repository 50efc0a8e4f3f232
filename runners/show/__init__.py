"""Frames and verdicts to figures, flame graphs and reports.

The words of a notebook: `show.spectrum(put, published=..., floor=...)`, `show.timeline(put)`, `show.shares([put])`,
`show.flamegraph(put, "cpu")`, `show.causes(put)`, `show.differential(one, other)`, `show.latency_heat(put)`,
`show.recording_heat(put)`, `show.rates(run, ...)`, `show.checks(c)`, `show.conclusion(c)`; and `show.render(...)` for
the reports. They take their names from the modules that hold them, so within this package a module's other names are
imported from its full path.
"""

from runners.show.ablations import ablation
from runners.show.arrows import arrows
from runners.show.blocks import checks, conclusion
from runners.show.by_rate import by_rate
from runners.show.causes import causes
from runners.show.difference import difference
from runners.show.differential import differential
from runners.show.flamegraph import flamegraph
from runners.show.floors import floors
from runners.show.heat import latency_heat, recording_heat
from runners.show.history import history
from runners.show.ladder import ladder
from runners.show.loop_figures import loop_curves, loop_rates
from runners.show.outage import outage
from runners.show.probe import probes, rates
from runners.show.report import render
from runners.show.shares import shares
from runners.show.spectrum import spectrum
from runners.show.staircase import staircase
from runners.show.stall import stall
from runners.show.timeline import timeline
from runners.show.turns import turns

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
