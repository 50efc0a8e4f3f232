"""The first screen of a report: the machine, what was measured on it, the main answers, and definitions of terms."""

import tomllib
from collections.abc import Iterator

from runners import words
from runners.design.load import PUBLISHED
from runners.design.objective import THROUGHPUT
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


def summary(conclusion: Conclusion) -> Iterator[str]:
    """Yield a sentence on verdicts and machine, then the main answers, or without verdicts the ladders' results."""
    run = conclusion.results.run
    machine = run.manifest.get("machine") or {}
    verdicts = [answered.answer.verdict for answered in conclusion.answers if answered.measured]
    parts = [f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts]
    if absent := len(conclusion.answers) - len(verdicts):
        parts.append(f"{absent} not measured")
    questions = (
        f"{words.several(len(conclusion.answers), 'question')}: {words.listed(parts)}" if verdicts else "Measured"
    )
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
        evidence = map(sentences.words_of, answered.answer.evidence[:1])  # the first number behind the verdict
        short = ": ".join([sentences.verdict_words(answered).removesuffix("."), *evidence])
        yield f"{answered.question.text} {short}.{mark}"


def size_words(run: Run) -> str:
    """Return the size of a run (a preset of how long loads last) in words. The size `published` is explained."""
    size = str(run.manifest.get("size"))
    if size == PUBLISHED:
        return f"the published workloads at rates that this machine achieves, most for a minute (size “{size}”)"
    return f"size {size}"


def terms(results: Results) -> Iterator[str]:
    """Yield definitions of the terms in a run's answers, such as knee and closed-loop rate."""
    yield f"In brackets: 95{words.NBSP}% intervals; of several loads or nodes, the least and the largest."
    objective = objectives(results.ladders)
    if objective:
        yield f"Knee: the highest rate that meets the objective ({objective})."
    if objective and any(comparison.primary == THROUGHPUT for comparison in results.comparisons):
        yield (
            "Closed-loop rate, which the answers call throughput: every connection sends its next request as soon as "
            "its response has come. Compare it only between servers that were measured side by side."
        )
    if any(row.at_least for comparison in results.comparisons for row in comparison.rows):
        yield (
            "A rate of “at least” was limited by the generator, which shares the cores. So its change is what is given "
            "or more; the end of its interval that is nearest to no change stands in brackets."
        )


def treatments(run: Run) -> Table | None:
    """Return a table of the run's settings and loads that TREATMENTS explains; None if it has fewer than two rows."""
    names = {step.subject: step.subject for step in run.steps}
    names |= {step.workload: step.workload.upper() for step in run.steps}
    rows = tuple((names[name], text) for name, text in TREATMENTS.items() if name in names)
    return Table("What is compared", ("name", "what it is"), rows, numeric=False) if len(rows) > 1 else None
