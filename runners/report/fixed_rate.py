"""Sections of loads at one rate: latency, where the time goes, published and reproduced side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.quantities import quantities_of
from runners.design.session import LOCK
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.cpu_time import LEAST_SHARE, cpu_figure, rate_rps
from runners.report.flamegraph import STILL_SHARE, FlameGraph, flamegraphs
from runners.report.ladder import PUBLISHED_TEXT, against_published
from runners.report.latency import spectrum, spectrum_charts, timeline, timeline_charts, timeline_data
from runners.report.overlay import headline
from runners.report.tables import Section, Shown, Table, with_spectra
from runners.results import profiles
from runners.results.results import Results

MOST_SHARES = 5
FEWEST_SAMPLES = 30  # of a figure
MOST_PUBLISHED = 4  # tables
LEVELS = (0.5, 0.99, 1.0)  # of a table of loads
DASH_TEXT = "A dash: not published, or not offered here."
BEYOND_TEXT = "Not offered here, too far beyond the knee on this machine or too long for this size"
PUBLISHED_LEVELS = (0.5, 0.9, 0.99, 0.999, 1.0)
MOST_GRAPHS = 10
UNRESOLVED = "*"  # behind a percentile that is inside the floor, or above what the generator kept up to
UPPER_LIMIT = (
    f"{UNRESOLVED} The machine and the generator alone give about as much, as a server that does nothing shows; the "
    "server's own part lies between 0 and this."
)
PUBLISHED_NOTE = f"{UPPER_LIMIT} The published machine is not named."
NOTE = f"Response time counts from the intended start of a request. {UPPER_LIMIT}"
#: Why CPU time differs between the table of loads and the comparisons of a report.
CPU_NOTE = (
    "CPU per request here is that of all threads of a server that runs alone. A comparison has several servers on the "
    "same cores and another rate, and leads with the responding threads, without compilers, collectors, flushes and "
    "compaction; so its figures differ from these."
)
OF_QUEUES = (
    "No load kept its rate while it was profiled. So these profiles are of servers with a queue: they show what is "
    "done, and not what a request takes at the rate that was offered."
)
EVENT_TITLES = {"cpu": "CPU samples", "alloc": "Allocated bytes", "lock": "Time waited for locks"}


def percentile(step: Step, run: Run, level: float) -> str:
    """Return a percentile of a load as a cell: with its interval, marked where it is the instrument's, or why not."""
    value = facts.quoted(step, level)
    if value is None:
        return facts.why_not(step) or tables.NONE
    return facts.written(value) + (UNRESOLVED if instrument.unresolved(run.steps, step, level) else "")


def loads_table(results: Results) -> Table | None:
    """Tabulate the loads at one rate, else the highest rate that each treatment of a ladder kept; None without any."""
    loads = list(results.clean_loads())
    if not loads:
        kept = [[step for step in ladder.rate_steps if facts.quotable(step)] for ladder in results.offered]
        loads = [steps[-1] for steps in kept if steps]
    if not loads:
        return None
    rows = tuple(
        (
            facts.title(step), words.rate(facts.achieved_rps(step)), words.count(sum(facts.errors(step).values())),
            *(percentile(step, results.run, level) for level in LEVELS), words.latency(quantities_of(step)["cpu_us"]),
        )
        for step in loads
    )  # fmt: skip
    head = ("load", "rate", "errors", *map(words.level, LEVELS), "CPU per request, all threads")
    note = f"{NOTE} {CPU_NOTE}" if results.comparisons else NOTE
    return Table("Loads at one rate", head, rows, note)


def latency_section(results: Results) -> Section:
    """Return the latency of the loads: a spectrum of each workload, each load over time, and spectra by rate."""
    run, shown = results.run, list[Shown]()
    loads = [step for step in results.clean_loads() if facts.quotable(step)]
    for workload in dict.fromkeys(step.workload for step in loads):
        own = [step for step in loads if step.workload == workload and facts.samples(step) >= FEWEST_SAMPLES]
        if not own:
            continue
        floor = instrument.nearest_floor(run.steps, own[0])
        output = results.published_output(workload)
        report, heading = output[1] if output else None, headline([(step, run) for step in own])
        picture = spectrum(*own, published=report, floor=floor, heading=heading)
        drawn = [*own, *([floor] if floor is not None else [])]
        curves = with_spectra(f"spectrum-{workload}", picture, drawn)
        shown.append(replace(curves, charts=spectrum_charts(own, report, floor, heading)))
        timed = [step for step in own if not step.frames["intervals"].empty]
        for place in range(0, len(timed), 2):  # two side by side
            pair = timed[place : place + 2]
            data = pd.concat(map(timeline_data, pair), ignore_index=True)
            anchor = f"timeline-{workload}{f'-{place}' if place else ''}"
            shown.append(Shown(anchor, timeline(*pair, floor=floor), data, timeline_charts(pair)))
    return Section("latency", "Latency", figures=(*shown, *_by_rate(results)))


def _by_rate(results: Results) -> Iterator[Shown]:
    """Yield the spectra of each workload at several rates with the objective, of the treatment that kept most rates."""
    kept = [(ladder, [step for step in ladder.rate_steps if facts.quotable(step)]) for ladder in results.offered]
    by_workload = facts.grouped(kept, lambda pair: pair[0].steps[0].workload)
    for workload, pairs in by_workload.items():
        ladder, steps = max(pairs, key=lambda pair: len(pair[1]))
        if len(steps) < 2 or any(step.frames["spectrum"].empty for step in steps):
            continue
        rates = {step.name: words.rate(facts.offered_rps(step)) for step in steps}
        values = [(rates[step.name], value) for step in steps if (value := facts.at(step, 0.99)) is not None]
        heading = f"{style.name_of(steps[0])}, p99: {', '.join(f'{facts.written(v)} at {rate}' for rate, v in values)}"
        limits = ladder.objective.latencies if ladder.objective else ()
        picture = spectrum(*steps, service=False, heading=heading, labels=rates, limits=limits)
        yield with_spectra(f"rates-{workload}", picture, steps)


def tail_section(results: Results) -> Section:
    """Return the latency of single loads over time, with the causes of their tails in lanes below."""
    run, shown = results.run, list[Shown]()
    for step in results.clean_loads():
        if facts.quotable(step) and not step.frames["slices"].empty:
            picture = timeline(step, floor=instrument.nearest_floor(run.steps, step))
            shown.append(Shown(f"causes-{step.name}", picture, timeline_data(step)))
    return Section("tail", "Why the tail", figures=tuple(shown))


def where_section(results: Results) -> Section:
    """Return where the time goes: flame graphs of each workload, CPU time by category, and shares with intervals."""
    profiled, locks, text = facts.shown_profiles(results.steps), facts.lock_profiles(results.steps), ""
    if not profiled:  # what there is, said to be of a queue
        profiled, text = [step for step in results.steps if step.profiled and facts.fell_short(step)], OF_QUEUES
        locks = profiled
    graphs = chosen_graphs(profiled, locks)
    figure = cpu_figure(results.run)
    figures = (figure,) if figure is not None else ()
    text = f"{text} Flame graphs leave out frames under {words.given_share(STILL_SHARE)}.".strip() if graphs else ""
    return Section("where", "Where the time goes", text, figures, tuple(_shares(profiled, (facts.CPU,))), graphs)


def shares_section(results: Results) -> Section:
    """Return the shares of allocated bytes and of the time waited for locks, by category."""
    profiled, locks = facts.shown_profiles(results.steps), facts.lock_profiles(results.steps)
    others = tuple(event for event in EVENT_TITLES if event not in (facts.CPU, LOCK))
    tables_of_shares = (*_shares(profiled, others), *_shares(locks, (LOCK,)))
    return Section("shares", "Allocations and waits by category", tables=tables_of_shares)


def chosen_graphs(profiled: Sequence[Step], locks: Sequence[Step] = ()) -> tuple[FlameGraph, ...]:
    """Choose the flame graphs of a report: cpu and alloc of the first treatment under each workload, of a ladder cpu at
    the lowest and at the highest rate; lock of the first treatment whose threads are often seen to wait.

    `locks`: profiles of waiting, also those that are recordings of their own.
    """
    chosen = list[FlameGraph]()
    by_method = facts.grouped(profiled, lambda step: step.workload.partition("-")[0])
    for method, steps in by_method.items():
        by_load = facts.grouped(steps, lambda step: (step.subject, step.workload))
        first = max(by_load.values(), key=len)  # of a ladder that with most rates, else the first
        by_rate = sorted(first, key=rate_rps)
        ends = {step.name: step for step in (by_rate[0], by_rate[-1])}.values()
        graphs = [graph for step in ends for graph in flamegraphs(step) if graph.event != LOCK]
        chosen += [graph for graph in graphs if graph.event == facts.CPU or graph.step is by_rate[-1]]
        alike = [FlameGraph(step, LOCK) for step in locks if step.workload.partition("-")[0] == method]
        chosen += [graph for graph in alike if graph.samples >= FEWEST_SAMPLES][:1]
    return tuple(chosen[:MOST_GRAPHS])


def _shares(profiled: list[Step], events: Sequence[str]) -> Iterator[Table]:
    """Yield shares of CPU time, allocations and waiting with their intervals, a column a profiled step."""
    last = {(step.subject, step.workload): step for step in profiled}
    for event in events:
        steps = [step for step in list(last.values())[:4] if facts.profile_samples(step, event) >= FEWEST_SAMPLES]
        shown = [facts.shares_of(step, event).set_index("category") for step in steps]
        if not shown:
            continue
        every = pd.concat([rows["share"] for rows in shown]).groupby(level=0)
        weight = every.sum()[every.max() >= LEAST_SHARE]
        heads = (
            f"{style.name_of(step)} ({tables.count(rows['samples'].sum())} samples)"
            for step, rows in zip(steps, shown, strict=True)
        )
        body = [
            (str(name), *(_share(rows, str(name)) for rows in shown))
            for name in weight.sort_values(ascending=False, kind="stable").index[:MOST_SHARES]
        ]
        note = f"Share of {profiles.EVENT_NAMES[event]} with its 95 % interval."
        if event == facts.CPU:
            note += f" The store is {words.listed(profiles.STORE)} together."
        yield Table(f"{EVENT_TITLES[event]} by category", ("category", *heads), tuple(body), note)


def _share(rows: pd.DataFrame, category: str) -> str:
    if category not in rows.index:
        return tables.NONE
    row = rows.loc[category]
    return tables.share_interval(row["share"], row["low"], row["high"])


def published_section(results: Results) -> Section:
    """Return published and reproduced side by side: loads at one rate, and the rates of ladders."""
    shown = []
    for workload in dict.fromkeys(step.workload for step in results.clean_loads()):
        output = results.published_output(workload)
        loads = [step for step in results.clean_loads() if step.workload == workload]
        if output is not None:
            shown.append(_against(results.run, workload, output[1], loads))
    of_ladders = [table for ladder in results.ladders if (table := against_published(ladder)) is not None]
    texts = [PUBLISHED_TEXT, DASH_TEXT] if of_ladders else []
    text = " ".join([*texts, *([PUBLISHED_NOTE] if shown else [])])
    return Section(
        "published", "Published and reproduced", text, tables=(*shown, *_together(of_ladders))[:MOST_PUBLISHED]
    )


def _together(of_ladders: Sequence[Table]) -> list[Table]:
    """Return the tables as one, whose first column is what each was headed by."""
    if not of_ladders:
        return []
    heads = zip(*(table.head for table in of_ladders), strict=True)
    head = tuple(" or ".join(dict.fromkeys(cells)) for cells in heads)  # shares of a knee, or of a bound of it
    rows = tuple((table.caption, *row) for table in of_ladders for row in table.rows)
    beyond = "; ".join(table.note for table in of_ladders if table.note)
    note = f"{BEYOND_TEXT}: {beyond}." if beyond else ""
    return [Table("Rates published and offered here", ("load", *head), rows, note)]


def _against(run: Run, workload: str, published: ConsoleReport, loads: Sequence[Step]) -> Table:
    """Return one workload: the published output and the clean load of each engine."""

    def row(
        name: str, stated: float | None, unit: Callable[[float], str], own: Callable[[Step], float]
    ) -> tuple[str, ...]:
        return (name, tables.NONE if stated is None else unit(stated), *(unit(own(step)) for step in loads))

    def level_row(level: float) -> tuple[str, ...]:
        stated = published.latencies.at(level)
        cells = (percentile(step, run, level) for step in loads)
        return (words.level(level), tables.NONE if stated is None else words.latency(stated), *cells)

    rows = (
        row("offered rate", published.rate_rps, words.rate, facts.offered_rps),
        row("achieved rate", published.requests_per_s, words.rate, facts.achieved_rps),
        *map(level_row, PUBLISHED_LEVELS),
        row("samples", published.latencies.count, words.count, facts.samples),
        row("errors", published.errors, words.count, lambda step: sum(facts.errors(step).values())),
        row("duration", published.duration_s, words.seconds, lambda step: facts.number(step, "elapsed_s")),
        ("generator", published.tool or tables.NONE, *map(facts.tool, loads)),
    )
    head = (workload.upper(), "published", *(facts.engine_name(step.subject) for step in loads))
    return Table(f"{workload.upper()}: published and reproduced", head, rows)
