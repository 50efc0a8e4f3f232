"""Compose a report: questions with their answers, findings, two figures, validity, sections, limits."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from runners.analysis import facts, instrument
from runners.claims import profile
from runners.claims.checks import NOTHING_TO_LOOK_AT
from runners.claims.climbing import ladders
from runners.claims.conclusion import MEANINGS, RULES, Check, Comparison, Conclusion
from runners.claims.published import UNRESOLVED
from runners.claims.question import Answered, Verdict
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step
from runners.report import overview, style, tables
from runners.report.closed_loop import BUILDERS as CLOSED_LOOP
from runners.report.comparison import interleaved_sections
from runners.report.flamegraph import FlameGraph, differential, flamegraph
from runners.report.ladder import PUBLISHED_TEXT, against_published, knee_sections, ladder_section
from runners.report.latency import attribution_of, spectrum, timeline, timeline_data
from runners.report.notices import notices
from runners.report.sections import (
    client_lock_section,
    history_section,
    keys_section,
    outage_section,
    shared_response_sections,
    store_sections,
)
from runners.report.tables import Section, Shown, Table, with_spectra
from runners.report.validation import BUILDERS as INSTRUMENT

MOST_FINDINGS, MOST_FIGURES, MOST_OWN, MOST_ROWS = 10, 12, 4, 18
MOST_SHARES, MOST_COMPARED = 6, 2
MOST_NEXT = 5
FEWEST_SAMPLES = 30  # of a figure
LEVELS = (0.5, 0.99)  # of a table of loads
NOT_RESOLVED = f"{UNRESOLVED} not resolved, so neither a headline nor compared."
MOST_PUBLISHED = 4  # published rates of a table
MOST_MORE = 3  # findings of a section besides those at the head
MOST_TEXT = 320  # characters of a check
MOST_COMMANDS = 6
EVENT = facts.CPU
EVENT_TITLES = {"cpu": "CPU samples", "alloc": "Allocated bytes"}
GRAVITY = (Severity.NOTE, Severity.GOOD, Severity.WARNING, Severity.ERROR)
PROSE, BUSY = "figures and prose", "M-BUSY"
SAME = 0.01  # of a value in a table and in the data of a figure
#: Where a finding is shown whose own figure the report does not draw, by the first word of its figure's anchor.
SECTION_OF = {
    "spectrum": "latency", "timeline": "latency", "shares": "where", "byrate": "where", "differential": "where",
    "causes": "tail", "comparison": "published", "rates": "published", "ladder": "ladders", "knees": "ladders",
    "ablation": "own", "ablations": "own", "checks": "validity",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])[+\u2212-]?\d[\d\u202f]*(?:\.\d+)?[ \u00a0]?(?:/s|us|ms|s|%)(?!\w)")


@dataclass(frozen=True, slots=True)
class Highlight:
    """A finding of the report: question, evidence and meaning. `more` names where the same holds."""

    finding: Finding
    question: str
    meaning: str
    more: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report in its order."""

    run: Run
    conclusion: Conclusion
    answers: tuple[Answered, ...]
    findings: tuple[Highlight, ...]
    first: tuple[Shown, ...]
    wrong: tuple[tuple[Check, str], ...]
    well: str
    sections: tuple[Section, ...]
    limits: tuple[str, ...]
    next_steps: tuple[Finding, ...]
    commands: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]

    @property
    def figures(self) -> tuple[Shown, ...]:
        """Every figure except flame graphs, in order."""
        return (*self.first, *(shown for section in self.sections for shown in section.figures))

    @property
    def graphs(self) -> tuple[FlameGraph, ...]:
        """Every flame graph of one profile."""
        return tuple(graph for section in self.sections for graph in section.graphs if graph.other is None)

    @property
    def warnings(self) -> tuple[tuple[str, str], ...]:
        """What was unusual before the run, with its code; of other work, whether the loads were disturbed by any."""
        quiet = any(check.name == "machine" and check.ok for check in self.conclusion.checks)
        found = []
        for each in self.run.manifest.get("warnings") or ():
            calmed = each["code"] == BUSY and quiet
            rest = "during the loads it was no more than may be" if calmed else each.get("remedy")
            found.append((" ".join(write.sentence(str(text)) for text in (each["text"], rest) if text), each["code"]))
        return tuple(found)

    @property
    def anchors(self) -> set[str]:
        """The places that can be linked to."""
        places = {shown.anchor for shown in self.figures} | {graph.anchor for graph in self.graphs}
        return places | {part.anchor for part in self.sections} | {f"finding-{t.finding.code}" for t in self.findings}

    def place(self, anchor: str | None) -> str | None:
        """Return the place that shows what an anchor stands for: itself, or the section that it belongs to."""
        if not anchor:
            return None
        known = self.anchors | {"validity", "limits"}
        for each in (anchor, f"{anchor}-figure", f"{anchor}-section", SECTION_OF.get(anchor.partition("-")[0], "")):
            if each in known:
                return each
        return None

    def shown(self, anchor: str | None) -> str | None:
        """Return the figure or finding that an anchor of a cell stands for; none where only a section would be left."""
        place = self.place(anchor)
        return None if place in {part.anchor for part in self.sections} else place

    def link(self, answered: Answered) -> str | None:
        """Where the evidence of an answer stands."""
        finding = answered.answer.finding
        by_rule = f"finding-{finding.code}" if finding is not None else ""
        return self.place(answered.answer.link) or (by_rule if by_rule in self.anchors else None)


def document(run: Run, conclusion: Conclusion, published: dict[str, ConsoleReport]) -> Document:
    """Compose the report of a run from its conclusion; a figure that would be beyond the limits is left out."""
    first = tuple(overview.figures(run))
    findings = _findings(conclusion)
    named = {each.finding.code for each in findings}
    own = _limited((_not_yet_named(part, named) for part in sections(run, conclusion)), MOST_OWN)
    parts = [
        *_latency(run, conclusion, published),
        *own,
        *_where(run),
        *_tail(run, conclusion),
        *_published(run, conclusion),
    ]
    left = MOST_FIGURES - len(first) - sum(graph.other is None for part in parts for graph in part.graphs)
    parts = _limited(parts, left)
    left -= sum(len(part.figures) for part in parts)
    if sum(graph.other is not None for part in parts for graph in part.graphs) > left:
        # the figure of the frames that changed shows the same difference
        parts = [replace(part, graphs=tuple(one for one in part.graphs if one.other is None)) for part in parts]
    made = Document(
        run,
        conclusion,
        conclusion.answers,
        findings,
        first,
        (),
        "",
        tuple(parts),
        tuple(_limits(run, conclusion)),
        once(conclusion.next_steps)[:MOST_NEXT],
        tuple(_commands(run)),
        tuple(notices(run, has_sections=bool(own))),
    )
    checks = (*conclusion.checks, figures_and_prose(made))
    return replace(made, wrong=tuple(_wrong(checks, conclusion)), well=_well(checks))


def _not_yet_named(part: Section, named: set[str]) -> Section:
    """Return a section without what the findings at the head of the report say already, and with few more."""
    return replace(part, findings=once(f for f in part.findings if f.code not in named)[:MOST_MORE])


def _limited(parts: Iterable[Section], most: int) -> list[Section]:
    """Sections with no more figures than may be in all; a section that has nothing left goes."""
    kept = []
    for part in parts:
        figures = part.figures[: max(0, most)]
        most -= len(figures)
        cut = replace(part, figures=figures, tables=tuple(map(_short, part.tables)))
        if figures or cut.tables or cut.graphs or cut.findings or (cut.text and not part.figures):
            kept.append(cut)  # a text that introduces figures goes with them
    return kept


def _short(table: Table) -> Table:
    if len(table.rows) <= MOST_ROWS:
        return table
    more = write.several(len(table.rows) - MOST_ROWS, "more row")
    note = f"{table.note} {more}: see conclusions.json and the data of the figures."
    return replace(table, rows=table.rows[:MOST_ROWS], note=note.strip())


def _findings(conclusion: Conclusion) -> tuple[Highlight, ...]:
    """At most ten: those that answers rest on, then those of the rules that mean most; one of each rule."""
    by_code = facts.grouped((*conclusion.missed, *conclusion.findings), lambda finding: finding.code)
    if any(each.evidence.get("quantity") == "p99_us" for each in by_code.get("C01", []) + by_code.get("C02", [])):
        by_code.pop("L02", None)  # one run of each says nothing more where starts were compared
    used = [each.answer.finding.code for each in conclusion.answers if each.answer.finding is not None]
    order = [code for code in dict.fromkeys([*used, *MEANINGS]) if code in by_code and code in MEANINGS]
    answers = {
        each.answer.finding.code: each.answer.finding for each in reversed(conclusion.answers) if each.answer.finding
    }
    return tuple(
        Highlight(answers.get(code, by_code[code][0]), RULES[code], MEANINGS[code], len(by_code[code]) - 1)
        for code in order[:MOST_FINDINGS]
    )


def once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the gravest finding of each rule, with how many more there are of its kind."""
    by_code = facts.grouped(findings, lambda finding: finding.code)
    return tuple(
        replace(first, sentence=f"{first.sentence} ({len(each) - 1} more of this kind.)") if len(each) > 1 else first
        for each in by_code.values()
        for first in [max(each, key=lambda one: GRAVITY.index(one.severity))]
    )


def _latency(run: Run, conclusion: Conclusion, published: dict[str, ConsoleReport]) -> Iterator[Section]:
    """Yield the latency of the loads: a spectrum a workload, percentiles, and the least steady over time."""
    by_workload = {name.rpartition("/")[2]: report for name, report in published.items()}
    shown, found, listed = list[Shown](), list[tuple[str, ...]](), list[Step]()
    loads = [step for step in run.find(kind="load", profiled=False) if facts.quotable(step)]
    compared = {one.workload for one in conclusion.comparison[:MOST_COMPARED]}
    for workload in dict.fromkeys(step.workload for step in loads):
        own = [step for step in loads if step.workload == workload and facts.samples(step) >= FEWEST_SAMPLES]
        floor = instrument.nearest_floor(run.steps, own[0]) if own else None
        if not own:
            continue
        picture = spectrum(*own, published=by_workload.get(workload), floor=floor, heading=_heading(own, run))
        drawn = [*own, *([floor] if floor is not None else [])]
        shown.append(with_spectra(Anchor.spectrum(workload), picture, drawn))
        if workload not in compared:  # else it stands in the table with the published output
            found += [_row(step, run) for step in own]
            listed += own
    timed = [step for step in loads if not step.frames["intervals"].empty]
    if timed and not any(map(attribution_of, loads)):  # else its causes are drawn with it, see _tail
        worst = max(timed, key=_tail_of)
        picture = timeline(worst, floor=instrument.nearest_floor(run.steps, worst))
        shown.append(Shown(Anchor.timeline(worst.workload), picture, timeline_data(worst)))
    if shown:
        head = ("load", "rate", "p50 (95 %)", "p99 (95 %)", "CPU per request, all threads", "samples")
        note = _note(listed, run, found)
        table = (Table("Loads at a fixed rate", head, tuple(found), note),) if found else ()
        yield Section("latency", "Latency", figures=tuple(shown), tables=table)


def _note(loads: Sequence[Step], run: Run, rows: Iterable[Sequence[str]]) -> str:
    """Return what the marks in a table of these loads mean."""
    cells = [cell for row in rows for cell in row]
    note = "Response time counts from the intended start of a request."
    if any(cell.endswith(UNRESOLVED) for cell in cells):
        why = [why for step in loads for level in LEVELS if (why := instrument.unresolved(run.steps, step, level))]
        note += f" {NOT_RESOLVED[:-1]}{': ' * bool(why)}{', or '.join(dict.fromkeys(why))}."
    return note + (" ? stands for a bound that the load is too short to give." if any("?" in c for c in cells) else "")


def _heading(own: list[Step], run: Run) -> str:
    """Return the loads with what may be a headline of all: p99, else the median, else CPU time, else the achieved
    rate.
    """
    parts = []
    resolved = (p for p in (0.99, 0.5) if not any(instrument.unresolved(run.steps, step, p) for step in own))
    level = next(resolved, None)
    for step in own:
        value = facts.at(step, level) if level is not None else None
        cpu_us = overview.cpu_us(step)
        if level is not None and value is not None:
            least = "at least " if value.at_least else ""
            parts.append(f"{style.engine_name(step.subject)} {write.level(level)} {least}{write.latency(value.value)}")
        elif write.known(cpu_us):
            parts.append(f"{style.engine_name(step.subject)} {write.latency(cpu_us)} of CPU per request in all threads")
        else:
            parts.append(f"{style.engine_name(step.subject)} {write.rate(facts.achieved_rps(step))}")
    rates = {facts.offered_rps(step) for step in own}
    at = f" at {write.rate(rates.pop())}" if len(rates) == 1 else ""
    return f"{style.plain(own[0].workload.upper(), 12)}{at}: {', '.join(parts)}"


def _tail_of(step: Step) -> float:
    value = facts.at(step, 0.99)
    return value.value if value is not None else 0.0


def _row(step: Step, run: Run) -> tuple[str, ...]:
    def cell(level: float) -> str:
        value = facts.quoted(step, level)
        text = facts.written(value) if value else write.DASH
        return text + (UNRESOLVED if instrument.unresolved(run.steps, step, level) else "")

    cpu_us, samples = write.latency(overview.cpu_us(step)), write.count(facts.samples(step))
    return (facts.title(step), write.rate(facts.offered_rps(step)), *map(cell, LEVELS), cpu_us, samples)


def _where(run: Run) -> Iterator[Section]:
    """Where the time goes: flame graphs of the lowest and the highest rate, their difference, and shares."""
    profiled = facts.shown_profiles(run.steps)
    if not profiled:
        return
    ends = facts.profile_ends(profiled)
    graphs = [flamegraph(step, EVENT) for step in ends]
    text, figures = "", list[Shown]()
    if len(graphs) == 2:
        same = len({(step.subject, step.workload) for step in ends}) == 1
        text = f"Flame graphs of {'the lowest and the highest profiled rate' if same else 'two treatments'}, "
        if (pair := facts.compared_profiles(profiled)) is None:
            text += "whose stores share no code, so their frames are not compared"
        else:
            seen = differential(*pair, EVENT)
            figures.append(Shown(f"{seen.anchor}-figure", seen.picture(), seen.data))
            graphs += seen.graphs
            text += f"and their difference. {seen.title}"
    yield Section(
        "where", "Where the time goes", write.sentence(text) if text else "", figures=tuple(figures),
        tables=tuple(_shares(profiled)), graphs=tuple(graphs), pages=tuple(_pages(ends, run)),
    )  # fmt: skip


def _pages(ends: Sequence[Step], run: Run) -> Iterator[tuple[str, str]]:
    """Title and path of the profiler's own pages that the run folder holds of these steps; an archive holds none."""
    pages = {f"heat map of {step.name}": step.folder.heat_map(EVENT) for step in ends}
    for own, other in permutations(ends, 2):
        pages[f"{own.name} against {other.name}"] = own.folder.difference(EVENT, other.name)
    return ((title, page.relative_to(run.folder.path).as_posix()) for title, page in pages.items() if page.exists())


def _shares(profiled: list[Step]) -> Iterator[Table]:
    """Yield shares of CPU time and of allocations with their intervals, a column a profiled step."""
    last = {(step.subject, step.workload): step for step in profiled}
    for event in ("cpu", "alloc"):
        steps = [step for step in list(last.values())[:4] if facts.profile_samples(step, event) >= FEWEST_SAMPLES]
        shown = [facts.shares_of(step, event).set_index("category") for step in steps]
        if not shown:
            continue
        every = pd.concat([rows["share"] for rows in shown]).groupby(level=0)
        weight = every.sum()[every.max() >= overview.LEAST_SHARE]
        counts = zip(steps, shown, strict=True)
        heads = (
            f"{style.name_of(step)}: {tables.count(rows['samples'].sum())} samples{profile.own(step, event)}"
            for step, rows in counts
        )
        body = [
            (str(name), *(_share(rows, str(name)) for rows in shown))
            for name in weight.sort_values(ascending=False, kind="stable").index[:MOST_SHARES]
        ]
        note = f"Share of {profile.EVENT_NAMES[event]} with its 95 % interval and the number of samples behind it."
        if event == EVENT:
            note += f" Where the store's share is named, it is that of {write.listed(profile.STORE)} together."
        yield Table(f"{EVENT_TITLES[event]}: shares by category", ("category", *heads), tuple(body), note)


def _share(rows: pd.DataFrame, category: str) -> str:
    if category not in rows.index:
        return tables.NONE
    row = rows.loc[category]
    return f"{tables.share_interval(row['share'], row['low'], row['high'])}\nn = {tables.count(row['samples'])}"


def _tail(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Yield why the tail: the load whose tail is longest, with its causes."""
    loads = [step for step in run.find(kind="load", profiled=False) if attribution_of(step) is not None]
    own = [step for step in loads if not instrument.of_instrument(run.steps, step, 0.99)]
    if not own:
        about = once(f for step in loads for f in conclusion.about(Anchor.causes(step.name)))
        yield from [Section("tail", "Why the tail", findings=about[:MOST_MORE])] * bool(about)
        return
    step = max(own, key=_tail_of)
    picture = timeline(step, floor=instrument.nearest_floor(run.steps, step))
    shown = Shown(Anchor.causes(step.name), picture, timeline_data(step))
    yield Section(
        "tail", "Why the tail", findings=conclusion.about(Anchor.causes(step.name))[:MOST_MORE], figures=(shown,)
    )


def _published(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Published and reproduced, side by side, and what limits the comparison."""
    shown = [_compared(run, one) for one in conclusion.comparison[:MOST_COMPARED]]
    differs = dict.fromkeys(text for one in conclusion.comparison for text in one.differs)
    rates = [one for ladder in ladders(run) if (one := against_published(ladder)) is not None][:2]
    shown += [replace(one, rows=one.rows[:MOST_PUBLISHED], note=one.note if one is rates[-1] else "") for one in rates]
    if shown:
        text = " ".join(differs) or PUBLISHED_TEXT
        yield Section("published", "Published and reproduced", text=text, tables=tuple(shown))


def _compared(run: Run, one: Comparison) -> Table:
    """Return a published output and the loads of its workload: all that a report says of them in numbers."""
    loads = {style.engine_name(step.subject): step for step in run.find(kind="load", profiled=False)
             if step.workload == one.workload}  # fmt: skip
    used = (overview.cpu_us(loads[name]) if name in loads else math.nan for name in one.columns[1:])
    rows = list(one.rows)
    before = next((place for place, row in enumerate(rows) if row[0] == "samples"), len(rows))
    rows.insert(before, ("CPU per request, all threads", "not stated", *map(tables.latency, used)))
    title = f"{one.workload.upper()}: published and reproduced"
    return Table(title, ("", *one.columns), tuple(rows), _note(list(loads.values()), run, rows))


def _limits(run: Run, conclusion: Conclusion) -> Iterator[str]:
    """List the hardware, the conditions, and what was not tested."""
    machine, tools = run.manifest.get("machine") or {}, run.manifest.get("tools") or {}
    memory = write.size(float(machine["memory_bytes"])) if machine.get("memory_bytes") else write.UNKNOWN
    if machine:
        what = "virtual machine" if machine.get("virtualised") == "yes" else "machine"
        parts = [f"one {what}", machine.get("cpu_model"), f"{machine.get('cores')} cores", memory, machine.get("os")]
        text = ", ".join(str(part) for part in [*parts, f"kernel {machine.get('kernel')}"])
        yield f"Hardware: {text}; server and generator share it, with no network between."
    yield from (check.text for check in conclusion.checks if check.name == "resolution")
    if tools:
        yield f"Software: {', '.join(_version(name, text) for name, text in tools.items() if 'sources' not in name)}."
    if (placed := next((s.record for s in run.steps if s.record.server.cpus), None)) is not None:
        sides = [side.cpus or () for side in (placed.server, placed.generator)]
        server, generator = (write.listed(map(str, cpus)) or "any" for cpus in sides)
        yield f"Placement: server on CPU {server}, generator on CPU {generator}."
    stored = [each for s in run.steps if (each := s.record.store_after.disk_bytes)]
    if stored and machine.get("memory_bytes"):
        most = write.size(float(max(stored)))
        yield f"Data: at most {most} on disk against {memory} of memory, so reads hit the page cache."
    durable = {str(s.record.server.ready.get("durability")) for s in run.steps} - {"None", ""}
    if durable:
        yield f"Durability: {write.listed(sorted(durable))}."
    # what is empty or zero was left to the lab
    parameters = {k: v for k, v in (run.manifest.get("parameters") or {}).items() if v not in ("", None, 0)}
    if parameters:
        given = (
            f"{name} {value:g}" if type(value) is float else f"{name} {value}" for name, value in parameters.items()
        )
        yield f"Parameters: {', '.join(given)}; all others as the lab chooses."
    for finding in once(f for f in conclusion.findings if f.code == "R02"):
        yield f"Not tested: {finding.sentence}"
    undecided = [each for each in conclusion.answers if each.answer.verdict == Verdict.INCONCLUSIVE]
    if undecided:
        yield f"Not decided by this run: {_asked(undecided, conclusion)}."
    yield "Not tested: other machines, networks, longer runs than this size, failures other than those named."


def _version(name: str, text: object) -> str:
    """Return a tool with its version as a reader writes it: wrk 4.1.0, though it prints its name and its copyright
    too.
    """
    version = str(text).partition(" [")[0]
    first, _, rest = version.partition(" ")
    return f"{name} {rest if rest and name.startswith(first) else version}"


def _asked(chosen: Sequence[Answered], conclusion: Conclusion) -> str:
    """Questions by their numbers in the report: question 2, questions 1 and 3."""
    numbers = [str(place) for place, each in enumerate(conclusion.answers, 1) if each in chosen]
    return f"question{'s' if len(numbers) > 1 else ''} {write.listed(numbers)}"


def _commands(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the first server and load of each treatment, as a shell takes them."""
    seen: set[str] = set()
    for step in run.steps:
        words, load = step.record.server.command, step.record.generator.command
        if step.subject in seen or not words or step.kind not in ("load", "rate-step", "round", "loop"):
            continue
        seen.add(step.subject)
        yield (step.name, "\n".join(shlex.join(map(str, part)) for part in (words, load) if part))
        if len(seen) == MOST_COMMANDS:
            return


def _wrong(checks: Iterable[Check], conclusion: Conclusion) -> Iterator[tuple[Check, str]]:
    """Checks that failed, each with the questions that they touch."""
    for check in checks:
        if check.ok is False:
            touched = [each for each in conclusion.answers if each.answer.rests_on & set(check.steps)]
            alone = check.steps or check.name == PROSE
            which = "no answer by itself" if alone else "all answers"
            if touched:
                which = f"the answer{'s' if len(touched) > 1 else ''} to {_asked(touched, conclusion)}"
            yield replace(check, name=_named(check), text=_cut(check.text)), which


def _named(check: Check) -> str:
    """Return a check as a reader names it: starts of put-compared."""
    return check.name.replace(", ", " of ")


def _cut(text: str) -> str:
    """Return a long text up to a sentence, else to a word, that still fits."""
    if len(text) <= MOST_TEXT:
        return text
    whole, end, _ = text[:MOST_TEXT].rpartition(". ")
    return f"{whole}. …" if end else f"{text[:MOST_TEXT].rpartition(' ')[0]} …"


def _well(checks: Collection[Check]) -> str:
    """Return the checks that passed, in one line."""
    passed = [check for check in checks if check.ok]
    names = dict.fromkeys(f"{_named(check)} ({check.note})" if check.note else _named(check) for check in passed)
    unknown = [_named(check) for check in checks if check.ok is None and check.text != NOTHING_TO_LOOK_AT]
    text = f"Passed: {', '.join(names)}" if names else "No check passed"
    return write.sentence(text + (f". Not known: {', '.join(unknown)}" if unknown else ""))


def figures_and_prose(made: Document) -> Check:
    """Every number in the heading of a figure stands in the report's prose or tables too."""
    prose = " ".join(
        [
            *(each.answer.effect for each in made.answers),
            *(item.finding.sentence for item in made.findings),
            *(finding.sentence for part in made.sections for finding in part.findings),
            *(part.text for part in made.sections),
            *(cell for part in made.sections for table in part.tables for row in table.rows for cell in row),
        ]
    )
    said = set(numbers_in(prose))
    parts = []
    for shown in made.figures:
        # a figure that writes its own numbers, as alternative text does too, needs no other text
        texts = (each for axes in shown.picture.axes for each in axes.findobj(Text) if isinstance(each, Text))
        alt = shown.picture.alt.replace(shown.picture.get_suptitle(), "")
        written = " ".join([alt, *(each.get_text() for each in texts)])
        own = set(numbers_in(written))
        if lost := [n for n in numbers_in(shown.picture.get_suptitle()) if n not in said | own]:
            parts.append(f"{shown.anchor}: {write.listed(lost)} not in the text")
        if beyond_its_panel(shown.picture):
            parts.append(f"{shown.anchor}: a part of what is drawn lies beyond its panel")
        parts += [f"{shown.anchor}: {text}" for text in _against_data(shown, made.run)]
    text = "; ".join(parts) or "numbers in the headings of figures stand in the text, and tables agree with their data"
    return Check(PROSE, not parts, write.sentence(text))


def _against_data(shown: Shown, run: Run) -> Iterator[str]:
    """Yield percentiles that tables quote of a load and that the figure's data of the same load do not have."""
    if not shown.anchor.startswith("spectrum-") or "step" not in shown.data:
        return
    for step in run.find(kind="load", profiled=False):
        rows = shown.data[(shown.data["step"] == step.name) & (shown.data["kind"] == facts.RESPONSE)]
        rows = rows.sort_values("percentile")
        for level in LEVELS:
            value = facts.quoted(step, level)
            if value is None or value.at_least or len(rows) < 2:
                continue
            below, above = rows[rows["percentile"] <= level], rows[rows["percentile"] >= level]
            low = below["value_us"].iloc[-1] if len(below) else 0.0
            high = above["value_us"].iloc[0] if len(above) else math.inf
            if not (1 - SAME) * low <= value.value <= (1 + SAME) * high:
                yield f"{facts.title(step)} {write.level(level)} is {write.latency(value.value)} in the table"


def beyond_its_panel(picture: Figure) -> bool:
    """Return whether a curve or a bar goes beyond the upper or lower end of its panel."""
    for axes in picture.axes:
        low, high = sorted(axes.get_ylim())
        spare = SAME * (high - low)
        left, right = sorted(axes.get_xlim())
        values = []
        for line in (line for line in axes.get_lines() if line.get_transform() == axes.transData):
            x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            values.append(y[(x >= left) & (x <= right)])  # a figure may show a part of a curve's length
        bars = (
            bar for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_data_transform() == axes.transData
        )
        values += [np.array([bar.get_y(), bar.get_y() + bar.get_height()]) for bar in bars]
        every = np.concatenate(values) if values else np.array([])
        every = every[np.isfinite(every)]
        if len(every) and (every.max() > high + spare or every.min() < low - spare):
            return True
    return False


def numbers_in(text: str) -> list[str]:
    """Quantities with their units, as written."""
    return [found.replace("\u00a0", " ").lstrip("+") for found in _NUMBER.findall(text)]


Builder = Callable[[Run, Conclusion], Section | Iterable[Section] | None]

#: In the order in which the sections stand in a report.
BUILDERS: tuple[Builder, ...] = (
    interleaved_sections, outage_section, knee_sections, ladder_section, client_lock_section, keys_section,
    store_sections, shared_response_sections, *INSTRUMENT, *CLOSED_LOOP, history_section,
)  # fmt: skip


def sections(run: Run, conclusion: Conclusion) -> tuple[Section, ...]:
    """Return the sections that this run has something for."""
    found: list[Section] = []
    for builder in BUILDERS:
        built = builder(run, conclusion)
        if built is not None:
            found += [built] if isinstance(built, Section) else built
    return tuple(found)
