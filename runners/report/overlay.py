"""Lay loads of one run or of several over each other: each has a name and a colour, and the heading holds for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as record_with

from runners import words
from runners.analysis import facts, instrument
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.flamegraph import names_of
from runners.report.latency import spectrum

#: A load with the run that it is of, whose floors say what of it is the server's.
Load = tuple[Step, Run]
#: Percentiles that may head a figure, the first of them that all its loads resolve.
HEADLINE_LEVELS = (0.99, 0.5)
MOST_VALUES = 4  # of a heading
ID_LETTERS = 4  # at the end of a run's name, which are its own


def headline(loads: Sequence[Load], names: Sequence[str] = ()) -> str:
    """Return what was sent, and the highest percentile that no instrument decides: p99, the median or none."""
    steps = [step for step, _ in loads]
    level = next((level for level in HEADLINE_LEVELS if _resolved(loads, level)), None)
    rates = {facts.offered_rps(step) for step in steps}
    at = f" at {words.rate(rates.pop())}" if len(rates) == 1 else ""
    heading = style.workloads(steps) + at
    if level is None:
        return f"{heading}: response time by percentile, about as on a server that does nothing"
    named = zip(names or [style.engine_name(step.subject) for step in steps], steps, strict=True)
    values = [
        f"{name} {facts.written(value)}" for name, step in named if (value := facts.quoted(step, level)) is not None
    ]
    if not 0 < len(values) <= MOST_VALUES:
        return f"{heading}: response time by percentile"
    return f"{heading}: {words.level(level)} {', '.join(values)}"


def _resolved(loads: Sequence[Load], level: float) -> bool:
    return not any(instrument.unresolved(run.steps, step, level) for step, run in loads)


def distinct_names(loads: Sequence[Load]) -> list[str]:
    """Return a name a load, no two alike: with its rate, its run and at last its step's name where these differ."""
    names = names_of(*(step for step, _ in loads))
    if len({run.folder.path for _, run in loads}) > 1:
        names = [f"{name}, {_run_name(run)}" for name, (_, run) in zip(names, loads, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name} ({step.name})"
        for name, (step, _) in zip(names, loads, strict=True)
    ]


def _run_name(run: Run) -> str:
    return f"reference {run.name}" if run.folder.archived else f"run {run.name[-ID_LETTERS:]}"


def overlay(loads: Sequence[Load], published: ConsoleReport | None = None) -> style.Picture:
    """Draw the spectra of loads over each other, with the floor of the first; each has a name and a colour."""
    names = distinct_names(loads)
    floor = instrument.nearest_floor(loads[0][1].steps, loads[0][0]) if loads else None
    drawn = [replace(step, name=name) for step, name in zip(as_treatments(loads), names, strict=True)]
    heading = headline(loads, names) if loads else ""
    labels = {name: name for name in names}
    picture = spectrum(*drawn, published=published, floor=floor, heading=heading, labels=labels)
    picture.alt = f"Latency by percentile. {heading}. Loads: {'; '.join(names) or 'none'}."
    return picture


def as_treatments(loads: Sequence[Load]) -> list[Step]:
    """Return the loads, each as a treatment of its own: figures name and colour treatments."""
    several = len({run.folder.path for _, run in loads}) > 1
    apart, taken = list[Step](), set[str]()
    for (step, run), name in zip(loads, distinct_names(loads), strict=True):
        treatment = f"{style.engine_name(step.subject)} {run.name[-ID_LETTERS:]}" if several else step.subject
        treatment = name if treatment in taken else treatment
        taken.add(treatment)
        apart.append(replace(step, record=record_with(step.record, treatment=treatment)))
    return apart
