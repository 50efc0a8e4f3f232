"""The first screen of a report: the machine, what was measured on it, the main answers, and definitions of terms."""

import tomllib
from collections.abc import Iterator

from runners import words
from runners.analysis.facts import engine_name
from runners.analysis.quantities import RESPONDING_CPU
from runners.design.load import PUBLISHED
from runners.design.session import CLOSED, LOOP, PROBE
from runners.readers.run import Run
from runners.report import sentences
from runners.report.ladder import objectives, title
from runners.report.tables import Table, template
from runners.report.validity import marks_of
from runners.results.answer import Verdict
from runners.results.conclusion import Conclusion
from runners.results.results import Results

MOST_ANSWERS = 5

#: Explanations of the lab's treatments and loads whose names do not explain themselves, by name.
TREATMENTS: dict[str, str] = tomllib.loads(template("treatments.toml"))
_TERMS: dict[str, list[tuple[str, str]]] = tomllib.loads(template("terms.toml"))


def summary(conclusion: Conclusion) -> Iterator[str]:
    """Yield a sentence on verdicts and machine, then the main answers; if there are no verdicts, results of ladders."""
    run = conclusion.results.run
    machine = run.manifest.get("machine") or {}
    verdicts = [answered.answer.verdict for answered in conclusion.answers if answered.measured]
    parts = [f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts]
    if absent := len(conclusion.answers) - len(verdicts):
        parts.append(f"{absent} not measured")
    asked = words.several(len(conclusion.answers), "question")
    questions = f"{asked}: {words.listed(parts)}" if verdicts else "Measured"
    where = ""
    if machine.get("cpu_model"):
        cores = words.several(machine["cores"], "core")
        apart = run.manifest.get("targets") or any(step.record.shares for step in run.steps) or not run.steps
        shared = "" if apart else " for server and generator together"
        where = f"{',' if verdicts else ''} on {machine['cpu_model']}, {cores}{shared}"
    yield words.sentence(f"{questions}{where}")
    if not verdicts:
        yield from (f"{title(ladder)}." for ladder in conclusion.results.ladders[:MOST_ANSWERS])
    decided = [
        (marks_of(number, conclusion), answered)
        for number, answered in enumerate(conclusion.answers, 1)
        if answered.answer.verdict != Verdict.INCONCLUSIVE or (answered.question.headline and answered.measured)
    ]
    decided.sort(key=lambda row: (not row[1].question.headline, row[1].question.claimed is None))
    said = list[str]()
    for marks, answered in decided[:MOST_ANSWERS]:
        mark = "".join(f" ⚠ {'As above.' if text in said else text}" for text in marks[:1])
        said += marks[:1]
        verdict, main = sentences.verdict_words(answered).removesuffix("."), sentences.main_evidence(answered.answer)
        joint = "; " if ":" in verdict else ": "
        short = verdict if main is None else f"{verdict}{joint}{sentences.words_of(main)}"
        yield f"{answered.question.text} {short}.{mark}"


def size_words(run: Run) -> str:
    """Return the size of a run (a preset of how long loads last) in words. The size `published` is explained."""
    text = "the published workloads at rates that this machine achieves, most for a minute (size “{}”)"
    size = str(run.manifest.get("size"))
    return text.format(size) if size == PUBLISHED else f"size {size}"


def terms(results: Results) -> Iterator[tuple[str, str]]:
    """Yield (term, definition) for what the answers use: intervals, knee, closed loop, CPU time, “at least”."""
    yield from _TERMS["interval"]
    objective = objectives(results.ladders)
    if objective:
        yield "Knee", f"the highest rate that meets the objective ({objective})."
    if any(step.kind in (PROBE, CLOSED, LOOP) for step in results.run.steps):
        yield from _TERMS["closed-loop"]
    rows = [row for comparison in results.comparisons for row in comparison.rows]
    if RESPONDING_CPU in {row.quantity for row in rows}:
        yield from _TERMS["cpu"]
    if any(row.at_least for row in rows):
        yield from _TERMS["at-least"]


def treatments(run: Run) -> Table | None:
    """Return a table of the treatments and loads in TREATMENTS; None for a run of targets, or under two rows."""
    if run.manifest.get("targets"):
        return None  # whatever their names, they are not the lab's
    names = {step.subject: engine_name(step.subject) for step in run.steps}
    names |= {step.workload: step.workload.upper() for step in run.steps}
    rows = tuple((names[name], text, name) for name, text in TREATMENTS.items() if name in names)
    head = ("name", "what it is", "in commands and files")
    return Table("What is compared", head, rows, numeric=False) if len(rows) > 1 else None
