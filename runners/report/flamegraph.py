"""A flame graph in a report or a notebook: async-profiler's own, usable in place, with a still picture beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

from markupsafe import Markup

from runners.readers.run import Step
from runners.report import flame_html, numbers, style
from runners.report.flame_picture import picture

EVENTS = ("cpu", "alloc", "lock")
ROW_PX, BAR_PX = 16, 84
LEAST_PX, MOST_PX = 180, 620


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """One event of one profiled step.

    `page` is the HTML page for the frame, empty when async-profiler left none; `least_share` is what frames had to be
    wide to stay in it (0: all are there).
    """

    step: Step
    event: str
    page: str
    height_px: int
    least_share: float = 0.0

    @property
    def anchor(self) -> str:
        return f"flame-{self.step.name}-{self.event}"

    @property
    def label(self) -> str:
        """Whose stacks these are, e.g. "RocksDB PUT"."""
        return f"{style.engine_name(self.step.subject)} {style.plain(self.step.workload.upper(), 12)}"

    @property
    def has_stacks(self) -> bool:
        stacks = self.step.frames["stacks"]
        return bool(not stacks.empty and (stacks["event"] == self.event).any())

    @property
    def samples(self) -> str:
        """The number of samples as the recording counted it."""
        counted = self.step.record.profiler.samples.get(self.event)
        return numbers.count(counted)

    def smaller(self, least_share: float) -> FlameGraph:
        """The same without frames narrower than a share of the whole."""
        page = _page(self.step, self.event, least_share)
        return replace(self, page=page, height_px=_height(page), least_share=least_share)

    def iframe(self) -> Markup:
        """The graph in a sandboxed frame: its scripts run, but can reach neither the report nor the network."""
        title = escape(f"Flame graph: {self.label}, {self.event}")
        return Markup(  # noqa: S704 - both values are escaped
            f'<div class="flame"><iframe title="{title}" sandbox="allow-scripts" height="{self.height_px}" '
            f'style="width:100%;border:0" srcdoc="{escape(self.page)}"></iframe></div>'
        )

    def picture(self) -> style.Picture:
        """The graph as a still picture."""
        return picture(self.step.frames["stacks"], self.event, self.label)

    def _repr_html_(self) -> str | None:
        return str(self.iframe()) if self.page else None

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        return None if self.page else self.picture()._repr_png_()

    def __repr__(self) -> str:
        return f"FlameGraph({self.step.name!r}, {self.event!r}, samples={self.samples})"


def flamegraph(step: Step, event: str = "cpu") -> FlameGraph:
    """The flame graph of one event of a profiled step.

    Raises ValueError, with the events there are, when the step has neither async-profiler's page nor stacks of it.
    """
    page = _page(step, event, 0.0)
    graph = FlameGraph(step, event, page, _height(page))
    if not page and not graph.has_stacks:
        there = ", ".join(found.event for found in flamegraphs(step)) or "none"
        raise ValueError(f"{step.name}: no {event} profile; profiled events here: {there}")
    return graph


def flamegraphs(step: Step) -> list[FlameGraph]:
    """The graphs of all events that have samples: cpu, alloc, lock."""
    found = []
    for event in EVENTS:
        graph = FlameGraph(step, event, "", 0)
        if graph.has_stacks:
            page = _page(step, event, 0.0)
            found.append(replace(graph, page=page, height_px=_height(page)))
    return found


def _page(step: Step, event: str, least_share: float) -> str:
    path = step.folder.flamegraph(event)
    try:
        html = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return flame_html.prepare(flame_html.compact(html, least_share) if least_share else html)


def _height(page: str) -> int:
    deep = flame_html.levels(page)
    return MOST_PX if deep is None else max(LEAST_PX, min(MOST_PX, BAR_PX + ROW_PX * deep))
