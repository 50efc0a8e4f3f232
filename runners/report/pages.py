"""What a report holds, in its order, before it becomes HTML or Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from runners.analysis import floors
from runners.analysis.facts import quotable
from runners.analysis.finding import Anchor, Finding
from runners.claims.conclusion import Conclusion
from runners.claims.merging import merged
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import probe, style, tables
from runners.report.flamegraph import FlameGraph, flamegraphs
from runners.report.floor import is_own
from runners.report.notices import notices, reason
from runners.report.section import Place, Section, Shown, shown_of
from runners.report.sections import sections
from runners.report.shares import events_of, rows_of
from runners.report.shares import shares as draw_shares
from runners.report.spectrum import p99, spectrum
from runners.report.tables import Table
from runners.report.timeline import timeline

LEAD = 8  # findings on the first screen
COMPARING = ("rungs", "arrows")  # sections that set this run beside a published one
GRAVITY = ("error", "warning")
SAID_BY_ANSWER = ("A01", "A02", "A03", "A04")
EVENT_TITLES = {"cpu": "CPU time", "alloc": "Allocations", "lock": "Waits for locks"}
LINK_TEXT = {
    "checks": "the checks",
    "spectrum": "latency curve",
    "ladders": "all ladders",
    "timeline": "over time",
    "shares": "shares",
    "comparison": "side by side",
    "cost": "clean and profiled",
    "rates": "rates",
    "flame": "flame graph",
    "causes": "what made it",
    "differential": "frames that changed",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What was run in one step: command lines as a shell takes them, and the console output as it was printed."""

    step: str
    generator: str
    server: str
    console: str
    server_log_tail: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Section 3 for one workload."""

    name: str
    curve: Shown | None
    over_time: Shown | None
    percentiles: Table | None
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Section 4 for one event."""

    event: str
    bars: Shown
    table: Table | None
    graphs: tuple[FlameGraph, ...]
    hot: tuple[Table, ...]

    @property
    def title(self) -> str:
        return EVENT_TITLES.get(self.event, self.event)


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    run: Run
    conclusion: Conclusion
    notices: tuple[str, ...]
    workloads: tuple[Workload, ...]
    costs: tuple[Shown, ...]
    profiles: tuple[Profile, ...]
    rates: Shown | None
    commands: tuple[Command, ...]
    sections: tuple[Section, ...] = ()

    @property
    def anchors(self) -> set[str]:
        """The places that a finding can be linked to."""
        shown = [figure for part in self.workloads for figure in (part.curve, part.over_time) if figure]
        shown += [*self.costs, *(profile.bars for profile in self.profiles), *([self.rates] if self.rates else [])]
        shown += [figure for section in self.sections for figure in section.figures]
        places = {figure.anchor for figure in shown} | {section.anchor for section in self.sections}
        places |= {"checks", "tail"}
        places |= {graph.anchor for profile in self.profiles for graph in profile.graphs}
        return places | {Anchor.comparison(table.workload) for table in self.conclusion.comparison}

    def link(self, finding: Finding) -> tuple[str, str] | None:
        """Anchor and link text of a finding's figure; None when the report has no such figure."""
        anchor = finding.figure or ""
        workload = anchor.partition("-")[2]
        nearer = {"P03": f"cost-{workload}", "A05": "rates"}.get(finding.code, anchor)
        anchor = nearer if nearer in self.anchors else anchor
        return (anchor, LINK_TEXT.get(anchor.split("-")[0], "figure")) if anchor in self.anchors else None

    @property
    def lead(self) -> tuple[Finding, ...]:
        """What the first screen says below the answer: the gravest first, one of each rule before a second.

        Findings that the answer itself or the notices already say are not repeated there.
        """
        every = self._unsaid()
        seen: dict[str, int] = {}
        ranked = []
        for place, finding in enumerate(every):
            seen[finding.code] = seen.get(finding.code, 0) + 1
            rank = GRAVITY.index(finding.severity.value) if finding.severity.value in GRAVITY else len(GRAVITY)
            ours = rank < len(GRAVITY) or finding in self.conclusion.findings
            ranked.append((seen[finding.code] > 1, rank, not ours, seen[finding.code], place))
        return tuple(every[key[-1]] for key in sorted(ranked)[:LEAD])

    def _unsaid(self) -> list[Finding]:
        every = (*self.conclusion.missed, *self.conclusion.findings)
        return [finding for finding in every if finding.code not in SAID_BY_ANSWER]

    @property
    def more(self) -> int:
        """How many findings stand only in the sections below."""
        return len(self._unsaid()) - len(self.lead)

    def at(self, place: Place) -> tuple[Section, ...]:
        """The sections that this experiment adds in one place."""
        return tuple(section for section in self.sections if section.place == place)

    @property
    def only_sections(self) -> bool:
        """Whether this run is told by its own sections alone: no latency of a server, no profile, nothing published."""
        return bool(self.sections) and not (self.workloads or self.profiles or self.conclusion.comparison or self.rates)

    @property
    def has_latency(self) -> bool:
        """Whether to speak of latency at all: not of a run whose own sections do."""
        return bool(self.workloads) or not self.sections

    @property
    def has_published(self) -> bool:
        """Whether something published stands beside this run, or should have stood."""
        return bool(self.conclusion.comparison or self.rates or self.missed) or not self.sections

    @property
    def missed(self) -> tuple[Finding, ...]:
        """What the authors missed, as far as no section of this experiment tells it already."""
        told = [finding for section in self.sections for finding in section.findings]
        return tuple(finding for finding in self.conclusion.missed if finding not in told)

    @property
    def nothing_compared(self) -> str:
        """What stands in place of a comparison: which of the experiment's own sections has it, or none."""
        own = [section.title for section in self.sections if section.anchor in COMPARING]
        return f"See above: {write.listed(own)}." if own else "There is nothing published to compare with."

    def about(self, place: str) -> tuple[Finding, ...]:
        """The findings of one place: a figure's anchor, `cost`, `rates` or `tail`."""
        return tuple(f for f in self.conclusion.findings if f.code not in SAID_BY_ANSWER and place_of(f) == place)


def place_of(finding: Finding) -> str:
    """Where in a report a finding stands."""
    anchor = finding.figure or ""
    if finding.code == "P03":
        return "cost"
    if anchor.startswith("comparison"):
        return "rates"
    return "tail" if anchor.startswith("timeline") else anchor


def page(run: Run, conclusion: Conclusion, published: dict[str, ConsoleReport]) -> Page:
    """Collect figures and tables of a run; what is missing is left out and named in the notices.

    Findings on many ladders are merged here, for the page alone: conclusions.json holds each of them.
    """
    conclusion = replace(conclusion, findings=merged(conclusion.findings))
    by_workload = {name.rsplit("/", 1)[-1]: report for name, report in published.items()}
    loads = run.find(kind="load")
    names = list(dict.fromkeys(step.workload for step in loads))
    rows = probe.carried(run, published)
    own = sections(run, conclusion)
    return Page(
        run=run,
        conclusion=conclusion,
        notices=tuple(notices(run, told_otherwise=bool(own))),
        workloads=tuple(_workload(run, name, by_workload.get(name)) for name in names),
        costs=tuple(shown for name in names if (shown := _cost(run, name)) is not None),
        profiles=tuple(_profiles(run.steps)),
        rates=Shown("rates", probe.rates(run, published), pd.DataFrame(rows)) if rows else None,
        commands=tuple(_command(step) for step in run.steps),
        sections=own,
    )


def _workload(run: Run, name: str, published: ConsoleReport | None) -> Workload:
    clean = run.find(workload=name, profiled=False)
    good = [step for step in clean if quotable(step)]
    asked = run.find(kind=floors.KIND, workload=name)
    left_out = tuple((step.name, reason(step)) for step in [*clean, *asked] if not quotable(step))
    there = published.spectrum_frame() if published is not None else pd.DataFrame()
    if not good and there.empty:
        return Workload(name, None, None, None, left_out)
    floor = floors.nearest(run.steps, (clean or asked)[0]) if clean or asked else None
    own = floor if floor is not None and is_own(floor, clean) else None
    curve = spectrum(*clean, published=published, floor=floor)
    drawn = [*good, *([floor] if floor else [])]
    published_too = [there.assign(step="published")] if not there.empty else []
    over_time = None
    if any(not step.frames["intervals"].empty for step in good):
        over_time = shown_of(Anchor.timeline(name), timeline(*clean, floor=floor), good, "intervals")
    return Workload(
        name,
        shown_of(Anchor.spectrum(name), curve, drawn, "spectrum", published_too),
        over_time,
        tables.percentiles(name, clean, own),
        left_out,
    )


def _cost(run: Run, name: str) -> Shown | None:
    pairs = [step for step in run.find(workload=name) if quotable(step)]
    if not any(step.profiled for step in pairs) or all(step.profiled for step in pairs):
        return None
    moves = []
    for step in pairs:
        others = [other for other in pairs if other.profiled and other.subject == step.subject]
        if not step.profiled and others:
            moves.append(f"{style.engine_name(step.subject)} p99 {p99(step)} clean, {p99(others[-1])} profiled")
    heading = f"{style.plain(name.upper(), 12)}: {', '.join(moves) or 'clean and profiled'}"
    floor = floors.nearest(run.steps, pairs[0])
    picture = spectrum(*pairs, service=False, heading=heading, floor=floor)
    return shown_of(f"cost-{name}", picture, [*pairs, *([floor] if floor else [])], "spectrum")


def _profiles(steps: Sequence[Step]) -> list[Profile]:
    profiled = [step for step in steps if step.profiled]
    found = []
    for event in events_of(profiled):
        steps = [step for step in profiled if not rows_of(step, event).empty]
        graphs = tuple(graph for step in steps for graph in flamegraphs(step) if graph.event == event)
        hot = tuple(table for step in steps if (table := tables.hot_frames(step, event)) is not None)
        bars = shown_of(Anchor.shares(event), draw_shares(steps, event), steps, "shares")
        found.append(Profile(event, bars, tables.shares(steps, event), graphs, hot))
    return found


def _command(step: Step) -> Command:
    return Command(
        step.name,
        shlex.join(step.record.generator.command),
        shlex.join(step.record.server.command),
        step.folder.console_text() or "",
        "\n".join(step.record.server_log_tail),
    )
