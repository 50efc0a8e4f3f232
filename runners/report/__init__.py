"""Draw figures and flame graphs, and write reports, from the frames and verdicts of a run.

Some functions here have the name of the module that holds them, so within this package a module's other names are
imported from its full path.
"""

from runners.report.flamegraph import differential, flamegraph
from runners.report.latency import overlay, timeline
from runners.report.report import render
from runners.report.sections import history

__all__ = ["differential", "flamegraph", "history", "overlay", "render", "timeline"]
