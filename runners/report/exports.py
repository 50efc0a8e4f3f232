"""Write what stands outside of reports: pages of an audit and of run folders compared, a comment, benchmark formats.

The comment on a change request is Markdown: what failed, every change with its interval, the values. Bencher's metric
format and github-action-benchmark's hold the geometric mean over fresh starts, with Student's 95 % interval of its
logarithm.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from runners import words
from runners.analysis import facts
from runners.analysis.comparison import Comparison
from runners.analysis.intervals import Bounded, geometric_mean
from runners.analysis.quantities import QUANTITIES, Quantity
from runners.analysis.runs import Differs
from runners.audit.audit import Audit, page
from runners.audit.figures import achieved_rps, at, largest_us, samples
from runners.audit.listing import highest_rates, written
from runners.design.objective import Outcome
from runners.readers.output import Output
from runners.readers.run import Run
from runners.report import report
from runners.report.comparison import heading, lines, reason, sentence
from runners.report.comparison import picture as drawing
from runners.report.comparison import table as comparison_table
from runners.report.sentences import refusal_words
from runners.report.tables import Table, escape
from runners.report.tables import table as as_table
from runners.report.validity import check_words
from runners.results.checks import Check
from runners.results.limits import Judgement

#: A finding of the audit by its gravity.
ICONS = {"good": "✓", "note": "•", "warning": "⚠", "error": "✗"}
_ICONS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.INCONCLUSIVE: "?"}
MOST_WARNINGS = 4
MOST_VALUES = 12  # changes of a comment, and rows of its table


def comment(comparison: Comparison, judgements: Sequence[Judgement], checks: Sequence[Check]) -> str:
    """Return the comment: at most 60 lines."""
    parts = [f"### {escape(_headline(comparison, judgements))}", ""]
    if judgements:
        rows = tuple(
            (f"{_ICONS[judgement.outcome]} {judgement.outcome.value}", judgement.limit.text, reason(judgement))
            for judgement in judgements
        )
        parts += [as_table(Table("", ("outcome", "fails on", "change (95 %)"), rows)), ""]
    parts += [f"- {escape(line)}" for line in lines(comparison)[:MOST_VALUES]]
    parts += ["", as_table(comparison_table(comparison, MOST_VALUES)), ""]
    weak = [check for check in checks if check.failed]
    parts += [f"- {escape(check_words(check))}" for check in weak[:MOST_WARNINGS]]
    if not weak:
        parts.append(escape("All checks passed: starts, control, utilisation, carry-over."))
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


def bencher(comparison: Comparison, benchmark: str) -> str:
    """Return Bencher's metric format: `{benchmark: {measure: {value, lower_value, upper_value}}}`."""
    measures = {}
    for quantity, value in _levels(comparison):
        bounds = {"lower_value": value.low, "upper_value": value.high} if value.bounded else {}
        measures[quantity.name] = {"value": value.value, **bounds}
    return json.dumps({benchmark: measures}, indent=1, allow_nan=False)


def benchmark_action(comparison: Comparison, benchmark: str) -> str:
    """Return github-action-benchmark's `customSmallerIsBetter`; throughput, of which more is better, is left out."""
    entries = [
        {
            "name": f"{benchmark} {quantity.label}",
            "unit": quantity.unit,
            "value": value.value,
            **({"range": f"{value.low:.4g} to {value.high:.4g}"} if value.bounded else {}),
        }
        for quantity, value in _levels(comparison)
        if quantity.lower_is_better
    ]
    return json.dumps(entries, indent=1, allow_nan=False)


#: By the name that `--format` takes.
FORMATS = {"bencher": bencher, "benchmark-action": benchmark_action}


def _levels(comparison: Comparison) -> Iterator[tuple[Quantity, Bounded]]:
    for (name, treatment), values in comparison.values.items():
        if treatment in comparison.treatments and all(0 < value < math.inf for value in values):
            yield QUANTITIES[name], geometric_mean(values)


def runs_json(comparison: Comparison) -> dict[str, object]:
    """Return a comparison of runs as plain JSON values; what is not finite becomes null."""
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
    """Return the page. `despite` are the fields in which the runs differ although they are compared."""
    figures = [drawing(pair).at(f"compared-{place}") for place, pair in enumerate(comparisons, start=1)]
    template = report.environment().get_template("between.html.j2")
    return template.render(
        parts=[
            (heading(pair), lines(pair), figure, comparison_table(pair))
            for pair, figure in zip(comparisons, figures, strict=True)
        ],
        sides=[("A", [run.folder.name for run in a]), ("B", [run.folder.name for run in b])],
        despite=[differs.text for differs in despite],
        svg=report.in_page(figures, report.drawings(figures)),
        css=report.source("report.css"),
    )


SHOWN_LEVELS = (0.5, 0.9, 0.99, 0.999)
HEAD = ("run", "tool", "offered", "achieved", *map(words.level, SHOWN_LEVELS), "max", "samples", "errors")


def as_html(audit: Audit) -> str:
    """Return one file: summary, the rules that found something, each run with its findings, and the rules' pages."""
    remarks = facts.grouped(audit.remarks, lambda remark: id(remark.output))
    template = report.environment().get_template("audit.html.j2")
    return template.render(
        audit=audit,
        files=[
            (path, [(output, remarks.get(id(output), [])) for output in outputs])
            for path, outputs in groupby(audit.outputs, key=lambda output: str(output.path))
        ],
        highest_rates=[f"{document}: {text}" for document, text in highest_rates(audit).items()],
        row=_row,
        head=HEAD,
        pages=[(rule, page(rule.code)) for rule, _, _ in audit.counts],
        icons=ICONS,
        value=written,
        sentence=words.sentence,
        css=report.source("report.css"),
    )


def _row(output: Output) -> tuple[str, ...]:
    """Return an output's figures as cells; what it does not say is a dash."""
    count, counted = samples(output)
    place = f"{f'cell {output.cell}, ' if output.cell is not None else ''}line {output.line}"

    def cell(number: float | None, unit: Callable[[float], str]) -> str:
        return words.DASH if number is None else unit(number)

    return (
        f"{place}{f', {output.label}' if output.label else ''}",
        output.tool or words.DASH,
        cell(output.offered_rps or None, words.rate),
        cell(achieved_rps(output), words.rate),
        *(cell(at(output, level), words.latency) for level in SHOWN_LEVELS),
        cell(largest_us(output), words.latency),
        ("" if counted or count is None else "about ") + cell(count, words.count),
        cell(output.report.errors if output.report.requests is not None else None, words.count),
    )
