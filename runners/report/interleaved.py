"""Draw treatments that shared one schedule: each quantity's ratio to the baseline, its interval, and every start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from runners.analysis import facts
from runners.analysis.comparison import Difference
from runners.claims.comparing import absolute
from runners.claims.conclusion import Conclusion
from runners.claims.interleaved import Comparison, Row, anchor, comparisons
from runners.claims.questions import ratio
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.difference import drawn
from runners.report.section import Section, Shown
from runners.report.tables import Table

TEXT = (
    "Each start has fresh servers of all treatments, up at once. One schedule offers each request to one of them, in a "
    "balanced random order, so that what disturbs the machine disturbs all alike; a second process of the baseline is "
    "the control. Throughput is that of a closed loop on each server alone. Intervals are over starts; the primary "
    "quantity keeps its error rate, the others stand beside it."
)


def data(found: Comparison) -> pd.DataFrame:
    """A row a quantity, treatment and start: `quantity`, `treatment`, `start`, `ratio` to the baseline."""
    rows = [
        {"quantity": quantity, "treatment": treatment, "start": start, "ratio": value}
        for (quantity, treatment), values in found.dots.items()
        for start, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows, columns=["quantity", "treatment", "start", "ratio"])


def title(found: Comparison) -> str:
    """The result: what differs, the primary quantity first."""
    decided = [row for row in found.rows if row.decided][:3]
    parts = [
        f"{style.plain(facts.engine_name(row.treatment), 24)} {row.quantity.label} "
        f"{ratio(row.ratio - 1, row.low - 1, row.high - 1)}"
        for row in decided
    ]
    against = f"Against {style.plain(facts.engine_name(found.baseline), 24)}"
    return f"{against}: {', '.join(parts) or 'no difference is decided'}"


def interleaved(steps: Sequence[Step], run: Run) -> style.Picture:
    """Draw the comparison that these steps of a run hold."""
    found = comparisons(replace(run, steps=tuple(steps)))
    return picture(found[0]) if found else style.Picture(8.4, 1.4)


def picture(found: Comparison) -> style.Picture:
    """Draw each row: the starts as dots, the interval as a bar, the control below its quantity."""
    several = len(found.treatments) > 1
    shown, dots = [], []
    for row in _ordered(found):
        control = row in found.control
        name = f"{row.quantity.name} {row.treatment}"
        named = f"{'control' if control else style.plain(facts.engine_name(row.treatment), 24)}: {row.quantity.label}"
        label = named if several or control else row.quantity.label
        quantity = replace(row.quantity, name=name, label=label)
        shown.append(_difference(row, quantity, found))
        dots += [(name, value - 1) for value in found.dots.get((row.quantity.name, row.treatment), ())]
    note = (
        "against the baseline; diamonds and bars: geometric mean of the starts and its 95 % interval, dots the starts"
    )
    return drawn(shown, pd.DataFrame(dots, columns=["quantity", "difference"]), title(found), note)


def _ordered(found: Comparison) -> list[Row]:
    controls = [row for row in found.control if row.quantity.name == found.primary]
    return [*(row for row in found.rows if row.quantity.name == found.primary), *controls, *(
        row for row in found.rows if row.quantity.name != found.primary
    )]  # fmt: skip


def _difference(row: Row, quantity: object, found: Comparison) -> Difference:
    return Difference(
        quantity, row.baseline_value, row.treatment_value, row.ratio - 1, row.low - 1, row.high - 1,  # type: ignore[arg-type]
        row.starts, float("nan"), found.margin,
    )  # fmt: skip


def table(found: Comparison) -> Table:
    """A row a quantity and treatment: values, ratio, verdict, control, and what a server reads that does nothing."""
    head = ("quantity", "baseline", "treatment", "change (95 %)", "verdict", "control", "does nothing")
    controls = {row.quantity.name: row for row in found.control}
    rows = []
    for row in found.rows:
        name = row.quantity.name
        control = controls.get(name)
        idle = found.reference.get(name)
        rows.append(
            (
                row.quantity.label,
                f"{facts.engine_name(row.baseline)} {absolute(row.quantity, row.baseline_value)}",
                f"{facts.engine_name(row.treatment)} {absolute(row.quantity, row.treatment_value)}",
                ratio(row.ratio - 1, row.low - 1, row.high - 1),
                row.said,
                ratio(control.ratio - 1, control.low - 1, control.high - 1) if control else write.DASH,
                absolute(row.quantity, idle) if idle is not None else write.DASH,
            )
        )
    note = f"The primary quantity stands first; a change within {write.percent(found.margin)} would not matter."
    if write.known(found.between_starts):
        part = write.percent(found.between_starts)
        note += f" Of the variance of the primary quantity {part} lies between starts, the rest between requests."
    if write.known(found.without_stalls):
        note += f" Without the machine's stalls {write.percent(found.without_stalls)} of the time is left out."
    return Table(f"{write.several(len(found.starts), 'start')} of each", head, tuple(rows), note)


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """A section a comparison."""
    for found in comparisons(run):
        if found.rows:
            place = anchor(found.name)
            findings = tuple(finding for finding in conclusion.findings if finding.figure == place)
            figures = (Shown(place, picture(found), data(found)),)
            yield Section(
                f"{place}-section", "Treatments by one schedule", TEXT, findings, figures, tables=(table(found),)
            )
