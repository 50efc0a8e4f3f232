"""Write what stands outside of reports: pages of an audit and of run folders compared, a comment, benchmark formats.

The comment on a change request is Markdown: what failed, one picture, the figures. The picture is of characters in a
code block: a comment has no files of its own, and no host draws one from the text. Bencher's metric format and
github-action-benchmark's hold the geometric mean over fresh starts, with Student's 95 % interval of its logarithm.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import pandas as pd
from markupsafe import Markup

from runners.analysis import facts
from runners.analysis.comparable import Differs
from runners.analysis.interleaved import QUANTITIES, Comparison
from runners.analysis.intervals import Bounded, geometric_mean
from runners.analysis.quantities import Quantity, Row, absolute
from runners.audit.audit import Audit, page
from runners.audit.listing import highest_rate_lines, written
from runners.audit.rule import Remark, achieved_rps, at, largest_us, samples
from runners.claims.between import Compared, Judgement, Outcome
from runners.design.objective import ERRORS
from runners.readers import write
from runners.readers.output import Output
from runners.readers.run import Run
from runners.report import report, style
from runners.report.comparison import drawn, interleaved_table
from runners.report.tables import Shown, Table, escape, fenced
from runners.report.tables import table as as_table
from runners.report.validity import check_words
from runners.results.checks import Check

#: A finding of the audit by its gravity.
ICONS = {"good": "✓", "note": "•", "warning": "⚠", "error": "✗"}
_ICONS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.INCONCLUSIVE: "?"}
_WIDTH = 49  # characters of the axis; odd, so that no change lies in the middle
_MOST = 1.0  # the axis goes to twice and to half at most
MOST_WARNINGS = 4
MOST_VALUES = 12  # rows of its table; the picture has them all


def comment(found: Comparison, judgements: Sequence[Judgement], checks: Sequence[Check]) -> str:
    """Give the comment: at most 60 lines."""
    lines = [f"### {escape(_headline(found, judgements))}", ""]
    if judgements:
        rows = tuple(
            (f"{_ICONS[each.outcome]} {each.outcome.value}", each.limit.text, each.reason) for each in judgements
        )
        lines += [as_table(Table("", ("outcome", "fails on", "change (95 %)"), rows)), ""]
    lines += [fenced(picture(found, judgements)), "", as_table(interleaved_table(found, most=MOST_VALUES)), ""]
    weak = [check for check in checks if check.failed]
    lines += [f"- {escape(check_words(check))}" for check in weak[:MOST_WARNINGS]]
    if not weak:
        lines.append(escape("All checks passed: starts, control, utilisation, carry-over."))
    return "\n".join(lines) + "\n"


def _headline(found: Comparison, judgements: Sequence[Judgement]) -> str:
    name = facts.engine_name(found.treatments[0]) if found.treatments else "the treatment"
    against = f"{name} against {facts.engine_name(found.baseline)}"
    failed = [each.limit.text for each in judgements if each.outcome == Outcome.FAILED]
    unknown = [each.limit.text for each in judgements if each.outcome == Outcome.INCONCLUSIVE]
    if failed:
        return f"{against}: {write.listed(failed)} failed"
    if unknown:
        return f"{against}: {write.listed(unknown)} inconclusive"
    if judgements:
        return f"{against}: every limit passed"
    row = found.row(found.primary)
    return write.sentence(row.sentence(found.margin)).removesuffix(".") if row else f"{against}: not known"


def picture(found: Comparison, judgements: Sequence[Judgement] = ()) -> str:
    """Draw each quantity's change as a line of characters: interval, value, no change, and the limit that it has."""
    limits = {each.limit.quantity: each.limit.change for each in judgements if each.limit.quantity != ERRORS}
    rows = [*found.rows, *(row for row in found.control if row.quantity.name == found.primary)]
    known = [abs(math.log(end)) for row in rows for end in (row.low, row.high, row.ratio) if 0 < end < math.inf]
    reach = min(math.log1p(_MOST), max([0.02, *known, *(1.2 * abs(math.log1p(each)) for each in limits.values())]))
    labels = [f"control: {row.quantity.label}" if row in found.control else row.quantity.label for row in rows]
    width = max(map(len, labels), default=0)
    lines = [
        f"{label:<{width}} {_drawn(row, reach, limits.get(row.quantity.name))} {row.change}".replace(
            write.THIN, " "
        ).replace(write.NBSP, " ")
        for label, row in zip(labels, rows, strict=True)
    ]
    ends = f"{math.expm1(-reach):+.0%}", f"{math.expm1(reach):+.0%}"
    scale = f"{ends[0]}{'0':^{_WIDTH - len(ends[0]) - len(ends[1])}}{ends[1]}"
    legend = "●: geometric mean of the starts; ├ ┤: 95 % interval; │: no change" + ("; ┊: limit" if limits else "")
    return "\n".join([*lines, f"{'':<{width}} {scale}", legend])


def _drawn(row: Row, reach: float, limit: float | None) -> str:
    middle = _WIDTH // 2

    def place(times: float) -> int:
        log = math.log(times) if times > 0 else -math.inf
        return max(0, min(_WIDTH - 1, middle + round(max(-reach, min(reach, log)) / reach * middle)))

    cells = [" "] * _WIDTH
    if math.isfinite(row.low) and math.isfinite(row.high):
        low, high = place(row.low), place(row.high)
        cells[low : high + 1] = "─" * (high - low + 1)
        cells[low], cells[high] = "├", "┤"
    cells[middle] = "│" if cells[middle] == " " else "┼"
    if limit is not None:
        cells[place(1 + limit)] = "┊"
    cells[place(row.ratio)] = "●"
    return "".join(cells)


def bencher(found: Comparison, benchmark: str) -> str:
    """Bencher's metric format: `{benchmark: {measure: {value, lower_value, upper_value}}}`."""
    measures = {}
    for quantity, value in _levels(found):
        bounds = {"lower_value": value.low, "upper_value": value.high} if value.bounded else {}
        measures[quantity.name] = {"value": value.value, **bounds}
    return json.dumps({benchmark: measures}, indent=1, allow_nan=False)


def benchmark_action(found: Comparison, benchmark: str) -> str:
    """github-action-benchmark's `customSmallerIsBetter`: a list of names, units, values and ranges.

    Throughput, of which more is better, is left out: the format holds one direction.
    """
    entries = [
        {
            "name": f"{benchmark} {quantity.label}",
            "unit": quantity.unit,
            "value": value.value,
            **({"range": f"{value.low:.4g} to {value.high:.4g}"} if value.bounded else {}),
        }
        for quantity, value in _levels(found)
        if quantity.lower_is_better
    ]
    return json.dumps(entries, indent=1, allow_nan=False)


#: By the name that `--format` takes.
FORMATS = {"bencher": bencher, "benchmark-action": benchmark_action}


def _levels(found: Comparison) -> Iterator[tuple[Quantity, Bounded]]:
    for (name, treatment), values in found.values.items():
        if treatment in found.treatments and all(0 < value < math.inf for value in values):
            yield QUANTITIES[name], geometric_mean(values)


def data(one: Compared) -> pd.DataFrame:
    """Return a row a quantity: geometric means of A and B, and the difference as a share of A with its bounds."""
    rows = [
        (r.quantity.name, r.baseline_value, r.treatment_value, r.ratio - 1, r.low - 1, r.high - 1)
        for r in one.differences
    ]
    return pd.DataFrame(rows, columns=["quantity", "a", "b", "difference", "low", "high"])


def figure(one: Compared) -> style.Picture:
    """Return the differences of a pair. Those of single runs are drawn without a judgement."""
    a, b = one.pair.names
    counts = f"{write.count(len(one.pair.a))} and {write.count(len(one.pair.b))} runs"
    note = f"{b} against {a}: diamonds and bars are the geometric mean and its interval, of {counts}"
    heading = one.heading + (": one run on a side is no verdict" if one.single else "")
    if one.single:
        note = f"{b} against {a}: bars hold what the requests of one run tell, not what differs between runs"
    return drawn(one.differences, one.margin, heading, note, judged=not one.single)


def table(one: Compared) -> Table:
    """Return the figure's values."""
    rows = tuple(
        (
            row.quantity.label, absolute(row.quantity, row.baseline_value), absolute(row.quantity, row.treatment_value),
            row.change,
        )
        for row in one.differences
    )  # fmt: skip
    head = ("quantity", *one.pair.names, "difference (95 %)")
    return Table(f"Differences, {one.heading}", head, rows)


def comparison_page(found: Sequence[Compared], a: Sequence[Run], b: Sequence[Run], despite: Sequence[Differs]) -> str:
    """Return the page. `despite` are the fields in which the runs differ although they are compared."""
    shown = [Shown(f"compared-{index}", figure(each), data(each)) for index, each in enumerate(found, start=1)]
    drawings = [style.svg(each.picture, each.anchor) for each in shown]
    template = report.environment().get_template("between.html.j2")
    return template.render(
        parts=[
            (one, each, Markup(drawing), report.data_url(each), table(one))  # noqa: S704 - made by matplotlib, which escapes
            for one, each, drawing in zip(found, shown, drawings, strict=True)
        ],
        sides=[("A", [run.folder.name for run in a]), ("B", [run.folder.name for run in b])],
        despite=[differs.text for differs in despite],
        face=Markup(report.faces(report.letters(drawings))),  # noqa: S704 - made here, base64
        css=report.source("report.css"),
    )


SHOWN_LEVELS = (0.5, 0.9, 0.99, 0.999)
HEAD = (
    *("run", "tool", "offered", "achieved"),
    *(write.level(level) for level in SHOWN_LEVELS),
    *("max", "samples", "errors"),
)


def as_html(audit: Audit) -> str:
    """Return one file: summary, the rules that found something, each run with its findings, and the rules' pages."""
    found: dict[int, list[Remark]] = {id(output): [] for output in audit.outputs}
    for remark in audit.remarks:
        found[id(remark.output)].append(remark)
    template = report.environment().get_template("audit.html.j2")
    return template.render(
        audit=audit,
        files=[
            (path, [(output, found[id(output)]) for output in outputs])
            for path, outputs in groupby(audit.outputs, key=lambda output: str(output.path))
        ],
        highest_rates=list(highest_rate_lines(audit)),
        row=_row,
        head=HEAD,
        pages=[(rule, page(rule.code)) for rule, _, _ in audit.counts],
        icons=ICONS,
        value=written,
        sentence=write.sentence,
        css=report.source("report.css"),
    )


def _row(output: Output) -> tuple[str, ...]:
    """Return an output's figures as cells; what it does not say is a dash."""
    count, counted = samples(output)
    place = f"{f'cell {output.cell}, ' if output.cell is not None else ''}line {output.line}"
    cells = (
        f"{place}{f', {output.label}' if output.label else ''}",
        output.tool,
        write.rate(output.offered_rps) if output.offered_rps else None,
        write.rate(achieved_rps(output)) if achieved_rps(output) is not None else None,
        *(write.latency(at(output, level)) if at(output, level) is not None else None for level in SHOWN_LEVELS),
        write.latency(largest_us(output)) if largest_us(output) is not None else None,
        f"{'' if counted else 'about '}{write.count(count)}" if count is not None else None,
        write.count(output.report.errors) if output.report.requests is not None else None,
    )
    return tuple(cell or write.DASH for cell in cells)
