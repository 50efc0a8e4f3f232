"""Tables of a report as plain values; the templates turn them into HTML and Markdown, which escape each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from runners.analysis import effective_samples, facts
from runners.analysis.facts import quotable
from runners.claims.conclusion import Comparison
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.shares import WHAT, rows_of
from runners.report.spectrum import FEW, number
from runners.storage.schema import GeneratorRecord, ServerRecord

TOP_FRAMES = 8


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


def percentiles(workload: str, steps: Sequence[Step], floor: Step | None) -> Table | None:
    """Response and service time of the clean, valid steps of a workload, p50 to max, and of the floor."""
    shown = [step for step in steps if quotable(step) and not step.frames["percentiles"].empty]
    if not shown:
        return None
    columns = [*shown, *([floor] if floor is not None and quotable(floor) else [])]
    levels = sorted({float(p) for step in columns for p in step.frames["percentiles"]["percentile"]})
    head = ["percentile"]
    for step in columns:
        head += [f"{name_of(step)}: response (95 %)"]
        head += ["service", "samples beyond"] if step in shown else []
    few = False
    rows = []
    for level in levels:
        cells = [write.level(level)]
        for step in columns:
            response, service = _row(step, "response", level), _row(step, "service", level)
            beyond = number(response, "samples_beyond")
            mark = "*" if beyond < FEW and not response.empty else ""
            few = few or bool(mark)
            value = facts.at(step, level)
            cells += [(facts.written(value) if value else numbers.NONE) + mark]
            if step in shown:
                cells += [numbers.latency(number(service, "value_us")), numbers.count(beyond)]
        rows.append(tuple(cells))
    note = f"* fewer than {FEW} samples beyond it. " if few else ""
    note += "Response time counts from the intended start, service time from the actual send. Bounds are 95 % and " + (
        "count requests that share a stall as one; ? is a side that this run does not bound."
        if all(effective_samples.blocks_of(step) for step in shown)
        else "treat requests as independent: where one stall holds up many, they are too narrow."
    )
    return Table(f"{workload.upper()}: percentiles", tuple(head), tuple(rows), note)


def _row(step: Step, kind: str, level: float) -> pd.DataFrame:
    frame = step.frames["percentiles"]
    return frame[(frame["kind"] == kind) & ((frame["percentile"] - level).abs() < 1e-9)]


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


def hot_frames(step: Step, event: str) -> Table | None:
    """The frames in which most of an event's weight ends."""
    frame = step.frames["frames"]
    rows = frame[(frame["event"] == event) & (frame["self_share"] > 0)] if not frame.empty else frame
    if rows.empty:
        return None
    rows = rows.sort_values(["self_share", "frame"], ascending=[False, True], kind="stable").head(TOP_FRAMES)
    body = [
        (
            style.plain(row["frame"], 110),
            numbers.share(row["self_share"]),
            numbers.share_interval(row["share"], row["low"], row["high"]),
        )
        for row in rows.to_dict("records")
    ]
    return Table(f"{name_of(step)}, {event}: hottest frames", ("frame", "itself", "with what it calls"), tuple(body))


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


def machine(manifest: dict[str, Any]) -> Table:
    """Where it was run, and with what."""
    sized = {"memory_bytes": numbers.size, "steal_share": numbers.share}
    rows = [(_label(name), sized.get(name, _text)(value)) for name, value in (manifest.get("machine") or {}).items()]
    rows += [(_label(name), _text(value)) for name, value in (manifest.get("tools") or {}).items()]
    git = manifest.get("git") or {}
    if git:
        dirty = ", with uncommitted changes" if git.get("dirty") else ""
        rows.append(("lab, git commit", f"{_text(git.get('commit'))}{dirty}"))
    for name, field in (("started", "started_unix_s"), ("ended", "ended_unix_s")):
        if manifest.get(field):
            rows.append((name, when(manifest[field])))
    return Table("Machine and versions", ("", "value"), tuple(rows), numeric=False)


def parameters(manifest: dict[str, Any]) -> Table | None:
    """The parameters of the run."""
    rows = tuple((str(name), _text(value)) for name, value in (manifest.get("parameters") or {}).items())
    return Table("Parameters", ("parameter", "value"), rows, numeric=False) if rows else None


def when(unix_s: Any) -> str:
    """A time in UTC to the second."""
    try:
        return datetime.fromtimestamp(float(unix_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (TypeError, ValueError, OverflowError, OSError):
        return numbers.NONE


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)
