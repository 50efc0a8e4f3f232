"""Compose a report: questions with their answers, findings, two figures, validity, sections, limits."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from runners.analysis import facts
from runners.claims.conclusion import MEANINGS, RULES, Check, Conclusion
from runners.claims.question import Answered, Verdict
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.finding import Finding
from runners.readers.run import Run
from runners.report import overview
from runners.report.closed_loop import BUILDERS as CLOSED_LOOP
from runners.report.comparison import interleaved_sections
from runners.report.fixed_rate import latency_sections, profile_sections, published_sections, tail_sections
from runners.report.flamegraph import FlameGraph
from runners.report.ladder import knee_sections, ladder_section
from runners.report.notices import notices
from runners.report.sections import (
    client_lock_section,
    history_section,
    keys_section,
    outage_section,
    shared_response_sections,
    store_sections,
)
from runners.report.tables import MOST_MORE, Section, Shown, Table, once
from runners.report.validation import BUILDERS as INSTRUMENT
from runners.report.validity import failed_checks, figures_and_prose, passed_checks, question_numbers

MOST_FINDINGS, MOST_FIGURES, MOST_OWN, MOST_ROWS = 10, 12, 4, 18
MOST_NEXT, MOST_COMMANDS = 5, 6
BUSY = "M-BUSY"
#: Where a finding is shown whose own figure the report does not draw, by the first word of its figure's anchor.
SECTION_OF = {
    "spectrum": "latency", "timeline": "latency", "shares": "where", "byrate": "where", "differential": "where",
    "causes": "tail", "comparison": "published", "rates": "published", "ladder": "ladders", "knees": "ladders",
    "ablation": "own", "ablations": "own", "checks": "validity",
}  # fmt: skip


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
    def prose(self) -> str:
        """All that it says of its figures in words and tables."""
        return " ".join(
            [
                *(each.answer.effect for each in self.answers),
                *(item.finding.sentence for item in self.findings),
                *(finding.sentence for part in self.sections for finding in part.findings),
                *(part.text for part in self.sections),
                *(cell for part in self.sections for table in part.tables for row in table.rows for cell in row),
            ]
        )

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
        *latency_sections(run, conclusion, published),
        *own,
        *profile_sections(run),
        *tail_sections(run, conclusion),
        *published_sections(run, conclusion),
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
    checks = (*conclusion.checks, figures_and_prose(made.figures, made.prose, run))
    return replace(made, wrong=tuple(failed_checks(checks, conclusion)), well=passed_checks(checks))


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
        yield f"Not decided by this run: {question_numbers(undecided, conclusion)}."
    yield "Not tested: other machines, networks, longer runs than this size, failures other than those named."


def _version(name: str, text: object) -> str:
    """Return a tool with its version as a reader writes it: wrk 4.1.0, though it prints its name and its copyright
    too.
    """
    version = str(text).partition(" [")[0]
    first, _, rest = version.partition(" ")
    return f"{name} {rest if rest and name.startswith(first) else version}"


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
