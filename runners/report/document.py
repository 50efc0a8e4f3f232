"""Compose a report from a run's conclusion: the evidence for each question, then latency, profiles and conditions."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from runners import words
from runners.analysis import facts
from runners.design.experiment import Extent, Shortfall
from runners.design.session import LOAD, RATE_STEP
from runners.design.setting import CEILING
from runners.readers.run import Run
from runners.report import closed_loop, comparison, fixed_rate, ladder, sections, validation
from runners.report.flamegraph import FlameGraph
from runners.report.sentences import evidence_table
from runners.report.style import Picture
from runners.report.tables import PROSE, Section, Table
from runners.report.validity import marks_of, notices
from runners.results.answer import Answered
from runners.results.checks import CheckName
from runners.results.conclusion import Conclusion

MOST_ROWS = 18
MOST_COMMANDS = 6
BUSY = "M-BUSY"
CURVES = "curves"  # the anchor of the section with the first curves


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """The part of a report on one question: the question, its answer and its evidence."""

    number: int  # from 1
    answered: Answered
    shown: Section  # the evidence; empty if it is shown elsewhere
    elsewhere: str | None  # the anchor of an earlier part that shows the evidence
    marks: tuple[str, ...]  # the failed checks that touch the answer, in words

    @property
    def claim(self) -> str:
        """The claim of the original report's author, with source and line numbers; empty if the question has none."""
        question = self.answered.question
        lines = (question.line,) if isinstance(question.line, int) else question.line
        place = f", {'line' if len(lines) == 1 else 'lines'} {words.listed(map(str, lines))}" if lines else ""
        return words.sentence(f"{question.source}{place}: {question.claim}") if question.claim else ""


@dataclass(frozen=True, slots=True)
class Document:
    """A report as sections and texts, which the templates write as HTML or Markdown."""

    run: Run
    conclusion: Conclusion
    curves: Section  # the first latency curves, above the questions
    questions: tuple[QuestionPart, ...]
    sections: tuple[Section, ...]
    appendix: tuple[Section, ...]  # with shortened tables
    commands: tuple[tuple[str, str], ...]  # (name of a step, shell commands of its server and generator)
    notices: tuple[str, ...]  # what a reader must know before the first number

    @property
    def parts(self) -> tuple[Section, ...]:
        """All sections of evidence, in order; some may be empty."""
        return (self.curves, *(question.shown for question in self.questions), *self.sections, *self.appendix)

    @property
    def figures(self) -> tuple[Picture, ...]:
        """All figures in order, except flame graphs."""
        return tuple(shown for part in self.parts for shown in part.figures)

    @property
    def graphs(self) -> tuple[FlameGraph, ...]:
        """All flame graphs in order."""
        return tuple(graph for part in self.parts for graph in part.graphs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings on the machine before the run; not that of a busy machine, if it was quiet during the loads."""
        quiet = any(check.about == CheckName.QUIET and check.ok for check in self.conclusion.checks)
        all_warnings = self.run.manifest.get("warnings") or ()
        unusual = (warning for warning in all_warnings if not (quiet and warning["code"] == BUSY))
        return tuple(words.sentence(str(warning["text"])) for warning in unusual)

    def place(self, anchor: str | None) -> str | None:
        """Return `anchor` if it belongs to a figure, flame graph or section of the report, else None."""
        shown = {figure.anchor for figure in self.figures} | {graph.anchor for graph in self.graphs}
        return anchor if anchor in shown | {part.anchor for part in self.parts} else None


def document(conclusion: Conclusion) -> Document:
    """Compose the report of a run from its conclusion."""
    results = conclusion.results
    pool = [
        fixed_rate.latency_section(results),
        fixed_rate.tail_section(results),
        *own_sections(results.run),
        fixed_rate.where_section(results),
        fixed_rate.shares_section(results),
    ]
    curves, pool = _taken(next((shown.anchor for shown in pool[0].figures), None), pool, CURVES)
    questions, pool = _questions(conclusion, pool, {shown.anchor: CURVES for shown in curves.figures})
    whole = {"latency", "where", validation.ANCHOR} if questions else {part.anchor for part in pool} - {"tail"}
    measured = any(part.anchor not in {"latency", "where", "shares"} and not part.empty for part in pool)
    main = [part for part in pool if part.anchor in whole and not part.empty]
    rest = [part for part in pool if part.anchor not in {*whole, "tail"} and not part.empty]
    published = fixed_rate.published_section(results)
    return Document(
        results.run, conclusion, curves, questions, (*main, *([] if published.empty else [published])),
        tuple(_short(part) for part in rest), tuple(_commands(results.run)),
        tuple(notices(results.run, has_sections=measured or bool(questions))),
    )  # fmt: skip


def _questions(
    conclusion: Conclusion, pool: Sequence[Section], shown_before: Mapping[str, str]
) -> tuple[tuple[QuestionPart, ...], list[Section]]:
    """Return the questions' parts, and the sections of `pool` without the evidence that these parts show.

    A figure goes to the first question that it answers. `shown_before` has the anchors of figures that are above the
    questions, with the anchors of their sections.
    """
    left, parts, places = list(pool), list[QuestionPart](), dict(shown_before)
    first_at = dict[str, int]()  # the first question that a mark stands at
    for number, answered in enumerate(conclusion.answers, 1):
        figure, place = answered.answer.figure or "", f"question-{answered.question.key}"
        section, left = _taken(figure, left, place)
        own, left = _taken(place, left, place)  # tables that belong to the question, not to its figure
        whole = replace(section, tables=(*section.tables, *own.tables))
        marks = marks_of(number, conclusion)
        shortened = tuple(f"As in question {first_at[mark]}." if mark in first_at else mark for mark in marks)
        first_at = dict.fromkeys(marks, number) | first_at
        table = evidence_table(answered.answer)
        shown = replace(whole, tables=(*([table] if table else []), *whole.tables))
        parts.append(QuestionPart(number, answered, _short(shown), places.get(figure), tuple(dict.fromkeys(shortened))))
        if not section.empty:
            places[figure] = place
    return tuple(parts), left


def _taken(anchor: str | None, pool: Sequence[Section], place: str) -> tuple[Section, list[Section]]:
    """Take out of `pool` the figure with `anchor`, or else the tables of the section with `anchor`.

    Return (a new section with anchor `place`, which is empty if nothing was taken; `pool` without the taken parts).
    """
    for index, part in enumerate(pool):
        figures = tuple(shown for shown in part.figures if shown.anchor == anchor)
        if figures:
            rest = replace(part, figures=tuple(shown for shown in part.figures if shown.anchor != anchor))
            taken = Section(place, "", figures=figures)
        elif part.anchor == anchor and part.tables:
            rest = replace(part, tables=())
            taken = Section(place, "", part.text, tables=part.tables)
        else:
            continue
        return taken, [*pool[:index], rest, *pool[index + 1 :]]
    return Section(place, ""), list(pool)


def _short(part: Section) -> Section:
    def shortened(table: Table) -> Table:
        if len(table.rows) <= MOST_ROWS:
            return table
        more = words.several(len(table.rows) - MOST_ROWS, "more row")
        note = f"{table.note} {more} left out.".strip()
        return replace(table, rows=table.rows[:MOST_ROWS], note=note)

    return replace(part, tables=tuple(map(shortened, part.tables)))


def limits(run: Run) -> Iterator[str]:
    """Yield sentences on a run's hardware, software and conditions, and on what the run did not test."""
    machine, tools = run.manifest.get("machine") or {}, run.manifest.get("tools") or {}
    memory = words.size(float(machine["memory_bytes"])) if machine.get("memory_bytes") else words.UNKNOWN
    if machine:
        what = "virtual machine" if machine.get("virtualised") == "yes" else "machine"
        parts = [f"one {what}", machine.get("cpu_model"), f"{machine.get('cores')} cores", memory, machine.get("os")]
        text = ", ".join(str(part) for part in [*parts, f"kernel {machine.get('kernel')}"])
        yield f"Hardware: {text}; server and generator share it, with no network between."
    if tools:
        yield f"Software: {', '.join(_version(name, text) for name, text in tools.items() if 'sources' not in name)}."
    yield from _placements(run)
    stored = [size for step in run.steps if (size := step.record.store_after.disk_bytes)]
    if stored and machine.get("memory_bytes"):
        most = words.size(float(max(stored)))
        held = words.listed(_held(run))
        data = f"Data: at most {most} on disk against {memory} of memory, so reads hit the page cache."
        yield f"{data} Held by the store at most, by workload: {held}." if held else data
    yield from _shortfalls(run)
    yield from _durability(run)
    # empty and zero values left the choice to the lab
    given = run.manifest.get("parameters") or {}
    parameters = {name: value for name, value in given.items() if value not in ("", None, 0) and name != "size"}
    if parameters:
        texts = (f"{name} {f'{value:g}' if type(value) is float else value}" for name, value in parameters.items())
        yield f"Parameters: {', '.join(texts)}; all others as the lab chooses."
    yield from validation.left_out(run)
    yield "Not tested: other machines, networks, longer runs than this size, other failures than the ones named."


def _durability(run: Run) -> Iterator[str]:
    """Yield at most one sentence: what becomes of acknowledged PUTs in each store after a crash, by the store's log."""
    settings = [(step.record.server.ready.get("engine_settings") or {}, step.record.engine) for step in run.steps]
    modes = {(engine, str(own.get("wal", own.get("sync")))): None for own, engine in settings if engine != CEILING}
    texts, known = PROSE["durability"], [pair for pair in modes if pair[1] in PROSE["durability"]]
    of_engine = {
        name: tuple(texts[mode] for _, mode in own) for name, own in facts.grouped(known, lambda p: p[0]).items()
    }
    parts = [
        f"{words.listed(map(facts.engine_name, engines))}{', by treatment' if len(own) > 1 else ''}: {' Or '.join(own)}"
        for own, engines in facts.grouped(of_engine, lambda engine: of_engine[engine]).items()
    ]
    if parts:
        yield f"Durability of PUTs. {' '.join(parts)}"


def _held(run: Run) -> Iterator[str]:
    """Yield a text per workload: the largest store after its loads (bytes, keys), and the keys that GETs draw from."""
    single = (step for step in run.steps if not step.record.cluster_after)
    loads = [step for step in single if step.kind in (LOAD, RATE_STEP) and step.record.store_after.disk_bytes]
    for workload, steps in facts.grouped(loads, lambda step: step.workload).items():
        step = max(steps, key=lambda step: step.record.store_after.disk_bytes or 0.0)
        held, (*command, last) = step.record.store_after, ("", *step.record.generator.command)
        keys = f" in about {words.count(held.entries_estimate)} keys" if held.entries_estimate else ""
        drawn = words.count(float(last)) if "get_random.lua" in " ".join(command) and last.isdigit() else ""
        yield f"{workload.upper()} {words.size(held.disk_bytes)}{keys}{f' (GETs draw from {drawn})' if drawn else ''}"


def _shortfalls(run: Run) -> Iterator[str]:
    """Yield at most one sentence: what a run can't show as its stores are smaller, or loads shorter, than published."""
    rows = msgspec.convert(run.manifest.get("shortfalls") or [], list[Shortfall])
    lengths = [row for row in rows if row.extent == Extent.LENGTH_S]
    fills = [row for row in rows if row.extent == Extent.DATA_BYTES]
    sizes = ((row.workload.upper(), words.size(row.published), words.size(row.here)) for row in fills)
    parts = [f"{workload} with {there} in the store (here {here})" for workload, there, here in sizes]
    if lengths:
        most = max(lengths, key=lambda row: row.published / row.here)
        here, there = words.seconds(most.here), words.seconds(most.published)
        parts.append(f"what takes longer than {here} a load (published {there})")
    if parts:
        yield f"This size can't show: {words.listed(parts)}."


def _placements(run: Run) -> Iterator[str]:
    started = [step for step in run.steps if step.record.server.command and step.kind != "sentinel"]
    by_cpus = facts.grouped(started, lambda step: _cpus(step.record.server.cpus)).items()
    parts = list[str]()
    for cpus, steps in sorted(by_cpus, key=lambda pair: -len(pair[1])):
        blocks = dict.fromkeys(f"“{step.record.block or step.kind}”" for step in steps if step.subject != CEILING)
        where = f" for {words.listed(blocks or [f'the {facts.engine_name(CEILING)}'])}" if parts else ""
        parts.append(f"{f'CPU {cpus}' if cpus else 'all CPUs'}{where}")
    if parts:
        yield f"Placement of the server: {', and '.join(parts)}."
    if own := [cpus for cpus in dict.fromkeys(_cpus(step.record.generator.cpus) for step in started) if cpus]:
        shared = "; a busy server on all CPUs also delays it" if "" in dict(by_cpus) else ""
        yield f"Placement of the generator: CPU {words.listed(own)}{shared}."


def _cpus(cpus: Iterable[int] | None) -> str:
    return words.listed(map(str, cpus or ()))


def _version(name: str, printed: object) -> str:
    version = str(printed).partition(" [")[0]
    first, _, rest = version.partition(" ")
    return f"{name} {rest if rest and name.startswith(first) else version}"


def _commands(run: Run) -> Iterator[tuple[str, str]]:
    kinds = ("load", "rate-step", "round", "loop")
    loads = [step for step in run.steps if step.record.server.command and step.kind in kinds]
    for first, *_ in list(facts.grouped(loads, lambda step: step.subject).values())[:MOST_COMMANDS]:
        commands = (first.record.server.command, first.record.generator.command)
        yield first.name, "\n".join(shlex.join(map(str, command)) for command in commands if command)


#: The builders of sections, in the order of the sections in a report.
BUILDERS: tuple[Callable[[Run], Iterable[Section]], ...] = (
    comparison.interleaved_sections, sections.rounds_sections, sections.outage_sections, ladder.knee_sections,
    ladder.ladder_sections, sections.cluster_sections, sections.store_sections, sections.shared_response_sections,
    fixed_rate.by_rate_sections, validation.instrument_sections, closed_loop.closed_loop_sections,
    sections.history_sections, validation.two_generators_sections,
)  # fmt: skip


def own_sections(run: Run) -> list[Section]:
    """Return the sections that BUILDERS make of a run's data. A builder without data in the run makes none."""
    return [section for builder in BUILDERS for section in builder(run)]
