"""Switches: a figure and a table for each, the responses of the fault one by one, and the table in which all ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pandas as pd

from runners.analysis import facts
from runners.analysis.comparison import Difference
from runners.claims.ablations import FAULT, Ablation, Row, ablations, amount, cost, label, verdict
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.comparison import drawn
from runners.report.section import Section, Shown
from runners.report.tables import Table

TEXT = (
    "Each switch starts from the store as reports 4 and 5 had it and changes one thing. Every repeat starts a server "
    "anew; reads find the same data, which each setting wrote once. The order within a round is drawn by chance."
)
FAULT_ANCHOR = "ablation-fault"
ANSWERS_SHOWN = (1, 2, 10, 100, 1_000)


def data(found: Ablation) -> pd.DataFrame:
    """A row a setting, round and quantity: `setting`, `round`, `quantity`, `a` (published), `b`, `difference`."""
    rows = []
    for row in found.rows:
        for each in row.found:
            name = each.quantity.name
            for number, a, b in zip(row.rounds[name], row.values[0][name], row.values[1][name], strict=True):
                rows.append((row.name, number, name, a, b, b / a - 1))
    return pd.DataFrame(rows, columns=["setting", "round", "quantity", "a", "b", "difference"])


def title(found: Ablation) -> str:
    """The result: what the switch does to the quantity that it is about."""
    parts = [f"{style.plain(_value(row), 24)} {amount(row.gain)}" for row in found.rows if row.gain is not None]
    return f"{found.switch.title}, {label(found.switch)}: {', '.join(parts) or 'not measured'}"


def _value(row: Row) -> str:
    """A setting without the name of its switch."""
    return row.name.removeprefix(f"{row.switch.name}-")


def ablation(found: Ablation) -> style.Picture:
    """Draw every quantity of every setting against the published one, the rounds as dots."""
    dots, shown = data(found), []
    for row in found.rows:
        for each in row.found:
            shown.append(_named(each, row))
            own = (dots["setting"] == row.name) & (dots["quantity"] == each.quantity.name)
            dots.loc[own, "drawn"] = shown[-1].quantity.name
    place = dots.drop(columns="quantity").rename(columns={"drawn": "quantity"}) if shown else dots
    base = found.switch.settings[0].name
    note = f"against {base}, {found.switch.workload.upper()}: diamonds and bars are the typical round and its interval"
    return drawn(shown, place, title(found), note)


def _named(each: Difference, row: Row) -> Difference:
    """The same difference, called by its setting too, so that those of several settings stand in one figure."""
    several = len(row.switch.settings) > 2
    text = f"{_value(row)}: {each.quantity.label}" if several else each.quantity.label
    quantity = dataclasses.replace(each.quantity, name=f"{row.name} {each.quantity.name}", label=text)
    return dataclasses.replace(each, quantity=quantity)


def verdicts(found: list[Ablation]) -> Table:
    """A row a setting: what it costs beside its gain, and the verdict."""
    rows = []
    for each in found:
        for row in each.rows:
            name = f"{each.switch.title}: {_value(row)}"
            rows.append((name, row.switch.workload.upper(), cost(row), verdict(row)))
    head = ("switch", "load", "cost", "verdict")
    names = dict.fromkeys(each.quantity.label for ablated in found for row in ablated.rows for each in row.found)
    note = (
        f"Against the published setting of each switch. Asked for a cost: {write.listed(names)}. A dash: nothing is "
        "worse beyond its interval."
    )
    return Table("Cost and verdict of each switch", head, tuple(rows), note, numeric=False)


def answers(step: Step) -> Table:
    """Heads of responses by their number: the fault that a shared object makes."""
    heads = step.record.fault.heads if step.record.fault else ()
    last = heads[-1]["number"] if heads else 0
    rows = tuple(
        (numbers.count(each["number"]), numbers.size(each["bytes"]), numbers.count(each["fields"]))
        for each in heads
        if each["number"] in (*ANSWERS_SHOWN, last)
    )
    return Table("Responses of one connection, in their order", ("response", "head", "fields in it"), rows)


def gains(found: list[Ablation]) -> Shown:
    """Every switch's gain against its published setting, in one figure."""
    shown, dots = [], []
    for row in (row for each in found for row in each.rows):
        if row.gain is None:
            continue
        name = row.gain.quantity.name
        quantity = dataclasses.replace(row.gain.quantity, name=row.name, label=f"{row.name}: {row.gain.quantity.label}")
        shown.append(dataclasses.replace(row.gain, quantity=quantity))
        pairs = zip(row.values[0][name], row.values[1][name], strict=True)
        dots += [(row.name, b / a - 1) for a, b in pairs]
    note = "against the published setting; diamonds and bars: geometric mean of the rounds and its interval"
    frame = pd.DataFrame(dots, columns=["quantity", "difference"])
    return Shown(
        "switches", drawn(shown, frame, "The gain of each switch", note), pd.concat([data(each) for each in found])
    )


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """The gain of every switch, what it costs, and the fault; none for a run without switches."""
    found = ablations(run)
    if found:
        figures = (gains(found),) if any(row.gain is not None for each in found for row in each.rows) else ()
        yield Section("own", "One switch at a time", text=TEXT, figures=figures, tables=(verdicts(found),))
    for step in run.find(kind=FAULT):
        told = tuple(finding for finding in conclusion.findings if finding.figure == FAULT_ANCHOR)
        name = facts.engine_name(step.subject)
        yield Section(FAULT_ANCHOR, f"The fault of {name}", findings=told, tables=(answers(step),))
