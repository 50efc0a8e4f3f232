"""Tables of a report as plain values; the templates turn them into HTML and Markdown, which escape each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from runners.claims.conclusion import Comparison
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.shares import WHAT, rows_of
from runners.report.spectrum import number
from runners.storage.schema import GeneratorRecord, ServerRecord


class Linked(str):
    """A cell that leads to a place of the report."""

    anchor: str

    def __new__(cls, text: str, anchor: str) -> Linked:
        cell = super().__new__(cls, text)
        cell.anchor = anchor
        return cell


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the first column holds the rows' names. `note` stands below."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    numeric: bool = True


def name_of(step: Step) -> str:
    """How a column calls a step: "RocksDB PUT"."""
    if step.kind == "floor":
        return "floor (noop)"
    return f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}"


def shares(steps: Sequence[Step], event: str) -> Table | None:
    """Shares by category of one event, a column a profiled step."""
    shown = [(step, rows_of(step, event).set_index("category")) for step in steps]
    shown = [(step, rows) for step, rows in shown if not rows.empty]
    if not shown:
        return None
    weight = pd.concat([rows["share"] for _, rows in shown]).groupby(level=0).sum()
    categories = [str(name) for name in weight.sort_values(ascending=False, kind="stable").index]
    head = ["category", *(f"{name_of(step)}: {numbers.count(rows['samples'].sum())} samples" for step, rows in shown)]
    body = []
    for category in categories:
        cells = [category]
        for _, rows in shown:
            if category not in rows.index:
                cells.append(numbers.NONE)
                continue
            row = rows.loc[category]
            text = numbers.share_interval(row["share"], row["low"], row["high"])
            cells.append(f"{text}\nn = {numbers.count(row['samples'])}")
        body.append(tuple(cells))
    note = f"Share of {WHAT.get(event, 'samples')} with its 95 % interval and the number of samples behind it."
    return Table(f"{event}: shares by category", tuple(head), tuple(body), note)


def comparison(table: Comparison) -> Table:
    """Published and reproduced, side by side."""
    rows = tuple((row.name, *row.values) for row in table.rows)
    return Table(f"{table.workload.upper()}: published and reproduced", ("", *table.columns), rows)


def steps(run: Run) -> Table:
    """What was run: every step with its load."""
    rows = []
    for step in run.steps:
        record = step.record
        offered = numbers.rate(record.offered_rps)
        offered = "closed loop" if offered == numbers.NONE else offered
        basis = record.rate_basis
        reasons = "; ".join(record.invalid_reasons)
        rows.append(
            (
                step.name,
                f"{offered} ({basis})" if basis else offered,
                numbers.rate(number(step.frames["summary"], "achieved_rps")),
                f"{record.connections or numbers.NONE} / {record.threads or numbers.NONE}",
                f"{numbers.seconds(record.warmup_s)} + {numbers.seconds(record.duration_s)}",
                f"{_cpus(record.server)} / {_cpus(record.generator)}",
                "yes" if step.valid else f"no: {reasons or 'no reason given'}",
            )
        )
    head = ("step", "offered", "achieved", "connections / threads", "warm-up + measured", "CPUs server / load", "valid")
    return Table("Steps", head, tuple(rows), numeric=False)


def _cpus(part: ServerRecord | GeneratorRecord) -> str:
    return ", ".join(str(cpu) for cpu in part.cpus) if part.cpus else "any"


def when(unix_s: Any) -> str:
    """A time in UTC to the second."""
    try:
        return datetime.fromtimestamp(float(unix_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (TypeError, ValueError, OverflowError, OSError):
        return numbers.NONE
