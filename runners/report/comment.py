"""Write a comparison as Markdown for a comment on a change request: what failed, one picture, the figures.

The picture is of characters in a code block: a comment has no files beside it, and no host draws one from the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runners.analysis import facts
from runners.claims.conclusion import Check
from runners.claims.gate import Judgement, Outcome
from runners.claims.interleaved import Comparison, Row, sentence
from runners.claims.questions import ratio
from runners.design.objective import ERRORS
from runners.readers import write
from runners.report.comparison import interleaved_table
from runners.report.markdown import bold, escape, fenced
from runners.report.markdown import table as as_table
from runners.report.tables import Table

_ICONS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.INCONCLUSIVE: "?"}
_WIDTH = 49  # characters of the axis; odd, so that no change lies in the middle
_MOST = 1.0  # the axis goes to twice and to half at most
MOST_WARNINGS = 4


def comment(found: Comparison, judgements: Sequence[Judgement], checks: Sequence[Check]) -> str:
    """Give the comment: at most 60 lines."""
    lines = [f"### {escape(_headline(found, judgements))}", ""]
    if judgements:
        rows = tuple(
            (f"{_ICONS[each.outcome]} {each.outcome.value}", each.limit.text, each.reason) for each in judgements
        )
        lines += [as_table(Table("", ("outcome", "fails on", "change (95 %)"), rows)), ""]
    lines += [fenced(picture(found, judgements)), "", as_table(interleaved_table(found)), ""]
    weak = [check for check in checks if not check.ok]
    lines += [f"- {bold(check.name)}: {escape(check.text)}" for check in weak[:MOST_WARNINGS]]
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
    return sentence(row, found) if row else f"{against}: not known"


def picture(found: Comparison, judgements: Sequence[Judgement] = ()) -> str:
    """Draw each quantity's change as a line of characters: interval, value, no change, and the limit that it has."""
    limits = {each.limit.quantity: each.limit.change for each in judgements if each.limit.quantity != ERRORS}
    rows = [*found.rows, *(row for row in found.control if row.quantity.name == found.primary)]
    known = [abs(math.log(end)) for row in rows for end in (row.low, row.high, row.ratio) if 0 < end < math.inf]
    reach = min(math.log1p(_MOST), max([0.02, *known, *(1.2 * abs(math.log1p(each)) for each in limits.values())]))
    labels = [_label(row, found) for row in rows]
    width = max(map(len, labels), default=0)
    lines = [
        f"{label:<{width}} {_drawn(row, reach, limits.get(row.quantity.name))} "
        f"{ratio(row.ratio - 1, row.low - 1, row.high - 1)}".replace(write.THIN, " ").replace(write.NBSP, " ")
        for label, row in zip(labels, rows, strict=True)
    ]
    ends = f"{math.expm1(-reach):+.0%}", f"{math.expm1(reach):+.0%}"
    scale = f"{ends[0]}{'0':^{_WIDTH - len(ends[0]) - len(ends[1])}}{ends[1]}"
    legend = "●: geometric mean of the starts; ├ ┤: 95 % interval; │: no change" + ("; ┊: limit" if limits else "")
    return "\n".join([*lines, f"{'':<{width}} {scale}", legend])


def _label(row: Row, found: Comparison) -> str:
    return f"control: {row.quantity.label}" if row in found.control else row.quantity.label


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
