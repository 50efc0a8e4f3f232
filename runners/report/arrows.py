"""Percentiles by rate in the form of the report's own tables: before -> after in each cell, beside the published."""

from __future__ import annotations

from collections.abc import Sequence

from runners.analysis import facts
from runners.claims.climbing import Ladder
from runners.design.report_5 import get, put
from runners.readers import write
from runners.readers.outputs import Output
from runners.readers.published import outputs
from runners.readers.run import Step
from runners.report import numbers
from runners.report.tables import Table

ARROW = " → "
WIDEST = 7  # columns that a page has room for
LEVELS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0)
TEXT = (
    "Each cell is the state before, an arrow, the state after the report's changes, at the same offered rate. Rates "
    "are shares of the knee after the changes, and the published ones within reach."
)
NOTE = (
    "One load a cell, so without intervals; those that differ in rounds are above. ≤: the generator was late, which is "
    "in the figure. Where less than the rate was answered, a response time is the length of a queue and is not shown."
)
PUBLISHED_NOTE = (
    "As published, one run each; the rates that were answered, and how many responses were errors, are not told."
)
#: Each published table by the workload that it is of.
PUBLISHED = {"put": put("full").published_rungs, "get": get("full").published_rungs}
POOL = "report-5/put-12000-pool"


def cell(step: Step | None, level: float) -> str:
    """A percentile, or in one word why there is none."""
    if step is None:
        return numbers.NONE
    if bound := facts.at_most(step, level):
        return f"≤ {numbers.latency(bound.value)}"
    value = facts.quoted(step, level)
    if value is None:
        return "saturated" if facts.is_saturated(step) else numbers.NONE
    return ("≥ " if value.at_least else "") + numbers.latency(value.value)


def _pair(before: Step | None, after: Step, level: float) -> str:
    """Both sides of an arrow; a dash where neither tells."""
    sides = (cell(before, level), cell(after, level))
    return numbers.NONE if sides == (numbers.NONE, numbers.NONE) else ARROW.join(sides)


def arrows(after: Ladder, before: Ladder) -> Table:
    """Percentiles of two ladders over the same rates, a column a rate."""
    old = {round(facts.offered_rps(step)): step for step in before.rungs}
    steps = after.rungs
    head = ["percentile"]
    for step in steps:
        rate = facts.offered_rps(step)
        of = f" ({numbers.share(rate / after.base.rps)} of the {after.base.what})" if after.base else ""
        head.append(f"{numbers.rate(rate)}{of}")
    pairs = [(old.get(round(facts.offered_rps(step))), step) for step in steps]
    rows = [(write.level(level), *(_pair(*pair, level) for pair in pairs)) for level in LEVELS]
    caption = f"{after.steps[0].workload.upper()} here, before{ARROW}after"
    return Table(caption, tuple(head), tuple(rows), NOTE)


def published(workload: str) -> list[Table]:
    """The published percentiles of a workload, a column a rate; that of the two pools first. None without any."""
    found: list[Output] = [output for name in PUBLISHED.get(workload, ()) for output in outputs(name)]
    if not found:
        return []
    columns = [(numbers.rate(output.offered_rps), [_at(output, level) for level in LEVELS]) for output in found]
    if workload == "put":
        pools = outputs(POOL)
        pair = [ARROW.join(_at(output, level) for output in pools) for level in LEVELS]
        columns.insert(0, (f"{numbers.rate(pools[0].offered_rps)}, pool of 20{ARROW}6", pair))
    parts = [columns[start : start + WIDEST] for start in range(0, len(columns), WIDEST)]
    return [_part(workload, part, last=part is parts[-1]) for part in parts]


def _part(workload: str, columns: Sequence[tuple[str, list[str]]], last: bool) -> Table:
    rows = [(write.level(level), *(cells[place] for _, cells in columns)) for place, level in enumerate(LEVELS)]
    head = ("percentile", *(name for name, _ in columns))
    return Table(f"{workload.upper()} as published", head, tuple(rows), PUBLISHED_NOTE if last else "")


def _at(output: Output, level: float) -> str:
    return numbers.latency(output.report.latencies.at(level))
