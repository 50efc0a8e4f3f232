"""Build the sections of loads at one rate: latency, where the time goes, why the tail, published and reproduced."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import pandas as pd

from runners.analysis import facts, instrument
from runners.claims import profile
from runners.claims.climbing import ladders
from runners.claims.conclusion import Comparison, Conclusion
from runners.claims.published import UNRESOLVED
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.finding import Anchor
from runners.readers.run import Run, Step
from runners.report import overview, style, tables
from runners.report.flamegraph import differential, flamegraph
from runners.report.ladder import PUBLISHED_TEXT, against_published
from runners.report.latency import attribution_of, spectrum, timeline, timeline_data
from runners.report.tables import MOST_MORE, Section, Shown, Table, once, with_spectra

MOST_SHARES, MOST_COMPARED = 6, 2
FEWEST_SAMPLES = 30  # of a figure
LEVELS = (0.5, 0.99)  # of a table of loads
NOT_RESOLVED = f"{UNRESOLVED} not resolved, so neither a headline nor compared."
MOST_PUBLISHED = 4  # published rates of a table
EVENT = facts.CPU
EVENT_TITLES = {"cpu": "CPU samples", "alloc": "Allocated bytes"}


def latency_sections(run: Run, conclusion: Conclusion, published: dict[str, ConsoleReport]) -> Iterator[Section]:
    """Yield the latency of the loads: a spectrum a workload, percentiles, and the least steady over time."""
    by_workload = {name.rpartition("/")[2]: report for name, report in published.items()}
    shown, found, listed = list[Shown](), list[tuple[str, ...]](), list[Step]()
    loads = [step for step in run.find(kind="load", profiled=False) if facts.quotable(step)]
    compared = {one.workload for one in conclusion.comparison[:MOST_COMPARED]}
    for workload in dict.fromkeys(step.workload for step in loads):
        own = [step for step in loads if step.workload == workload and facts.samples(step) >= FEWEST_SAMPLES]
        floor = instrument.nearest_floor(run.steps, own[0]) if own else None
        if not own:
            continue
        picture = spectrum(*own, published=by_workload.get(workload), floor=floor, heading=_heading(own, run))
        drawn = [*own, *([floor] if floor is not None else [])]
        shown.append(with_spectra(Anchor.spectrum(workload), picture, drawn))
        if workload not in compared:  # else it stands in the table with the published output
            found += [_row(step, run) for step in own]
            listed += own
    timed = [step for step in loads if not step.frames["intervals"].empty]
    if timed and not any(map(attribution_of, loads)):  # else its causes are drawn with it, see tail_sections
        worst = max(timed, key=_tail_of)
        picture = timeline(worst, floor=instrument.nearest_floor(run.steps, worst))
        shown.append(Shown(Anchor.timeline(worst.workload), picture, timeline_data(worst)))
    if shown:
        head = ("load", "rate", "p50 (95 %)", "p99 (95 %)", "CPU per request, all threads", "samples")
        note = _note(listed, run, found)
        table = (Table("Loads at a fixed rate", head, tuple(found), note),) if found else ()
        yield Section("latency", "Latency", figures=tuple(shown), tables=table)


def _note(loads: Sequence[Step], run: Run, rows: Iterable[Sequence[str]]) -> str:
    """Return what the marks in a table of these loads mean."""
    cells = [cell for row in rows for cell in row]
    note = "Response time counts from the intended start of a request."
    if any(cell.endswith(UNRESOLVED) for cell in cells):
        why = [why for step in loads for level in LEVELS if (why := instrument.unresolved(run.steps, step, level))]
        note += f" {NOT_RESOLVED[:-1]}{': ' * bool(why)}{', or '.join(dict.fromkeys(why))}."
    return note + (" ? stands for a bound that the load is too short to give." if any("?" in c for c in cells) else "")


def _heading(own: list[Step], run: Run) -> str:
    """Return the loads with what may be a headline of all: p99, else the median, else CPU time, else the achieved
    rate.
    """
    parts = []
    resolved = (p for p in (0.99, 0.5) if not any(instrument.unresolved(run.steps, step, p) for step in own))
    level = next(resolved, None)
    for step in own:
        value = facts.at(step, level) if level is not None else None
        cpu_us = overview.cpu_us(step)
        if level is not None and value is not None:
            least = "at least " if value.at_least else ""
            parts.append(f"{style.engine_name(step.subject)} {write.level(level)} {least}{write.latency(value.value)}")
        elif write.known(cpu_us):
            parts.append(f"{style.engine_name(step.subject)} {write.latency(cpu_us)} of CPU per request in all threads")
        else:
            parts.append(f"{style.engine_name(step.subject)} {write.rate(facts.achieved_rps(step))}")
    rates = {facts.offered_rps(step) for step in own}
    at = f" at {write.rate(rates.pop())}" if len(rates) == 1 else ""
    return f"{style.plain(own[0].workload.upper(), 12)}{at}: {', '.join(parts)}"


def _tail_of(step: Step) -> float:
    value = facts.at(step, 0.99)
    return value.value if value is not None else 0.0


def _row(step: Step, run: Run) -> tuple[str, ...]:
    def cell(level: float) -> str:
        value = facts.quoted(step, level)
        text = facts.written(value) if value else write.DASH
        return text + (UNRESOLVED if instrument.unresolved(run.steps, step, level) else "")

    cpu_us, samples = write.latency(overview.cpu_us(step)), write.count(facts.samples(step))
    return (facts.title(step), write.rate(facts.offered_rps(step)), *map(cell, LEVELS), cpu_us, samples)


def profile_sections(run: Run) -> Iterator[Section]:
    """Where the time goes: flame graphs of the lowest and the highest rate, their difference, and shares."""
    profiled = facts.shown_profiles(run.steps)
    if not profiled:
        return
    ends = facts.profile_ends(profiled)
    graphs = [flamegraph(step, EVENT) for step in ends]
    text, figures = "", list[Shown]()
    if len(graphs) == 2:
        same = len({(step.subject, step.workload) for step in ends}) == 1
        text = f"Flame graphs of {'the lowest and the highest profiled rate' if same else 'two treatments'}, "
        if (pair := facts.compared_profiles(profiled)) is None:
            text += "whose stores share no code, so their frames are not compared"
        else:
            seen = differential(*pair, EVENT)
            figures.append(Shown(f"{seen.anchor}-figure", seen.picture(), seen.data))
            graphs += seen.graphs
            text += f"and their difference. {seen.title}"
    yield Section(
        "where", "Where the time goes", write.sentence(text) if text else "", figures=tuple(figures),
        tables=tuple(_shares(profiled)), graphs=tuple(graphs), pages=tuple(_pages(ends, run)),
    )  # fmt: skip


def _pages(ends: Sequence[Step], run: Run) -> Iterator[tuple[str, str]]:
    """Title and path of the profiler's own pages that the run folder holds of these steps; an archive holds none."""
    pages = {f"heat map of {step.name}": step.folder.heat_map(EVENT) for step in ends}
    for own, other in permutations(ends, 2):
        pages[f"{own.name} against {other.name}"] = own.folder.difference(EVENT, other.name)
    return ((title, page.relative_to(run.folder.path).as_posix()) for title, page in pages.items() if page.exists())


def _shares(profiled: list[Step]) -> Iterator[Table]:
    """Yield shares of CPU time and of allocations with their intervals, a column a profiled step."""
    last = {(step.subject, step.workload): step for step in profiled}
    for event in ("cpu", "alloc"):
        steps = [step for step in list(last.values())[:4] if facts.profile_samples(step, event) >= FEWEST_SAMPLES]
        shown = [facts.shares_of(step, event).set_index("category") for step in steps]
        if not shown:
            continue
        every = pd.concat([rows["share"] for rows in shown]).groupby(level=0)
        weight = every.sum()[every.max() >= overview.LEAST_SHARE]
        counts = zip(steps, shown, strict=True)
        heads = (
            f"{style.name_of(step)}: {tables.count(rows['samples'].sum())} samples{profile.own(step, event)}"
            for step, rows in counts
        )
        body = [
            (str(name), *(_share(rows, str(name)) for rows in shown))
            for name in weight.sort_values(ascending=False, kind="stable").index[:MOST_SHARES]
        ]
        note = f"Share of {profile.EVENT_NAMES[event]} with its 95 % interval and the number of samples behind it."
        if event == EVENT:
            note += f" Where the store's share is named, it is that of {write.listed(profile.STORE)} together."
        yield Table(f"{EVENT_TITLES[event]}: shares by category", ("category", *heads), tuple(body), note)


def _share(rows: pd.DataFrame, category: str) -> str:
    if category not in rows.index:
        return tables.NONE
    row = rows.loc[category]
    return f"{tables.share_interval(row['share'], row['low'], row['high'])}\nn = {tables.count(row['samples'])}"


def tail_sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Yield why the tail: the load whose tail is longest, with its causes."""
    loads = [step for step in run.find(kind="load", profiled=False) if attribution_of(step) is not None]
    own = [step for step in loads if not instrument.of_instrument(run.steps, step, 0.99)]
    if not own:
        about = once(f for step in loads for f in conclusion.about(Anchor.causes(step.name)))
        yield from [Section("tail", "Why the tail", findings=about[:MOST_MORE])] * bool(about)
        return
    step = max(own, key=_tail_of)
    picture = timeline(step, floor=instrument.nearest_floor(run.steps, step))
    shown = Shown(Anchor.causes(step.name), picture, timeline_data(step))
    yield Section(
        "tail", "Why the tail", findings=conclusion.about(Anchor.causes(step.name))[:MOST_MORE], figures=(shown,)
    )


def published_sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Published and reproduced, side by side, and what limits the comparison."""
    shown = [_compared(run, one) for one in conclusion.comparison[:MOST_COMPARED]]
    differs = dict.fromkeys(text for one in conclusion.comparison for text in one.differs)
    rates = [one for ladder in ladders(run) if (one := against_published(ladder)) is not None][:2]
    shown += [replace(one, rows=one.rows[:MOST_PUBLISHED], note=one.note if one is rates[-1] else "") for one in rates]
    if shown:
        text = " ".join(differs) or PUBLISHED_TEXT
        yield Section("published", "Published and reproduced", text=text, tables=tuple(shown))


def _compared(run: Run, one: Comparison) -> Table:
    """Return a published output and the loads of its workload: all that a report says of them in numbers."""
    loads = {style.engine_name(step.subject): step for step in run.find(kind="load", profiled=False)
             if step.workload == one.workload}  # fmt: skip
    used = (overview.cpu_us(loads[name]) if name in loads else math.nan for name in one.columns[1:])
    rows = list(one.rows)
    before = next((place for place, row in enumerate(rows) if row[0] == "samples"), len(rows))
    rows.insert(before, ("CPU per request, all threads", "not stated", *map(tables.latency, used)))
    title = f"{one.workload.upper()}: published and reproduced"
    return Table(title, ("", *one.columns), tuple(rows), _note(list(loads.values()), run, rows))
