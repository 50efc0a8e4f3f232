"""Draw figures and flame graphs, and write reports, from the frames and verdicts of a run.

Some functions have the same name as their module. So this package's modules import each other by their full paths.
"""

from runners.report.flamegraph import differential, flamegraph
from runners.report.latency import overlay, timeline
from runners.report.report import render
from runners.report.sections import history

__all__ = ["differential", "flamegraph", "history", "overlay", "render", "timeline"]
