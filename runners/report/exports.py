"""Export a comparison: as a comment on a change request, as JSON, and as an HTML page."""

from collections.abc import Sequence

from runners import words
from runners.analysis import facts
from runners.analysis.comparison import Comparison
from runners.analysis.runs import Differs
from runners.design.objective import Outcome
from runners.readers.run import Run
from runners.report import report, tables
from runners.report.comparison import heading, lines, reason, sentence
from runners.report.comparison import picture as drawing
from runners.report.comparison import table as comparison_table
from runners.report.sentences import refusal_words
from runners.report.validity import check_words
from runners.results.checks import Check, Consequence
from runners.results.limits import Judgement

_ICONS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.INCONCLUSIVE: "?"}
MOST_WARNINGS = 4
MOST_VALUES = 12  # the most changes in a comment, and the most rows of its table


def comment(comparison: Comparison, judgements: Sequence[Judgement], checks: Sequence[Check]) -> str:
    """Return a Markdown comment for a change request: a comparison, its limits and failed checks, at most 60 lines."""
    parts = [f"### {tables.escape(_headline(comparison, judgements))}", ""]
    if judgements:
        rows = tuple((f"{_ICONS[own.outcome]} {own.outcome.value}", own.limit.text, reason(own)) for own in judgements)
        parts += [tables.table(tables.Table("", ("outcome", "fails on", "change (95 %)"), rows)), ""]
    parts += [f"- {tables.escape(line)}" for line in lines(comparison)[:MOST_VALUES]]
    parts += ["", tables.table(comparison_table(comparison, MOST_VALUES)), ""]
    weak = [check for rank in Consequence for check in checks if check.failed and check.consequence == rank]
    parts += [f"- {tables.escape(check_words(check))}" for check in weak[:MOST_WARNINGS]]
    if not weak:
        parts.append(tables.escape("All checks passed: starts, control, utilisation, carry-over."))
    return "\n".join(parts) + "\n"


def _headline(comparison: Comparison, judgements: Sequence[Judgement]) -> str:
    name = facts.engine_name(comparison.treatments[0]) if comparison.treatments else "the treatment"
    against = f"{name} against {facts.engine_name(comparison.baseline)}"
    for outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE):
        if named := [judgement.limit.text for judgement in judgements if judgement.outcome == outcome]:
            return f"{against}: {words.listed(named)} {outcome.value}"
    if judgements:
        return f"{against}: every limit passed"
    row = comparison.row(comparison.leading)
    return sentence(comparison, row).removesuffix(".") if row else f"{against}: not known"


def runs_json(comparison: Comparison) -> dict[str, object]:
    """Return a comparison of runs as plain JSON values; NaN and infinity become None."""
    return {
        "workload": comparison.workload, "a": comparison.baseline, "b": comparison.treatments[0],
        "runs": list(comparison.repeats), "verdicts": min(comparison.repeats) >= comparison.fewest,
        "failed": comparison.failed_json(),
        "differences": [
            {
                "quantity": row.quantity.name, "a": words.finite(row.baseline_value),
                "b": words.finite(row.treatment_value), "change": words.finite(row.ratio - 1),
                "low": words.finite(row.low - 1), "high": words.finite(row.high - 1), "verdict": row.direction.value,
                "not_compared": refusal_words(row.refused),
            }
            for row in comparison.rows
        ],
    }  # fmt: skip


def comparison_page(
    comparisons: Sequence[Comparison], a: Sequence[Run], b: Sequence[Run], despite: Sequence[Differs]
) -> str:
    """Return an HTML page with `comparisons` of runs `a` with runs `b`. `despite`: conditions that differ."""
    figures = [drawing(pair).at(f"compared-{place}") for place, pair in enumerate(comparisons, start=1)]
    drawn = zip(comparisons, figures, strict=True)
    template = report.environment().get_template("between.html.j2")
    return template.render(
        parts=[(heading(pair), lines(pair), figure, comparison_table(pair)) for pair, figure in drawn],
        sides=[("A", [run.folder.name for run in a]), ("B", [run.folder.name for run in b])],
        despite=[differs.text for differs in despite],
        svg=report.in_page(figures, report.drawings(figures)),
        css=report.source("report.css"),
    )
