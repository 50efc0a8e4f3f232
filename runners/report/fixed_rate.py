"""Build the sections on loads at one rate: latency, profiles, and published figures next to reproduced ones."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.patches import Patch

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.steady_state import steadiness
from runners.analysis.validity import Aspect, may_quote
from runners.design.session import LOCK, PROFILED_RATE_STEP
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.flamegraph import STILL_SHARE, FlameGraph, flamegraphs
from runners.report.ladder import against_published, title
from runners.report.latency import headline, spectrum, timeline
from runners.report.style import Picture
from runners.report.tables import PROSE, Section, Table
from runners.results import profiles
from runners.results.results import Results

MOST_SHARES, MOST_REST = 5, 0.2  # rows of a table of shares; it has more if the rest would be more than MOST_REST
MOST_PUBLISHED = 4  # tables
MOST_OF_A_UNIT = 10_000  # a larger published latency has a unit of its own
LEVELS = (0.5, 0.99, 1.0)  # of a table of loads
PUBLISHED_LEVELS = (0.5, 0.9, 0.99, 0.999, 1.0)
MOST_GRAPHS, APART = 10, 1.5  # flame graphs of a load at two rates look alike unless the rates differ by this factor
CHANGING = "\u2020"  # behind the name of a load that never became steady
#: The mark after a percentile that the generator may have caused, and the mark if no floor was measured to tell.
UNRESOLVED, NO_FLOOR = "*", "\u2021"
#: The names in sections.toml of the notes that explain these marks below a table.
MARKS = {UNRESOLVED: "within-floor", NO_FLOOR: "no-floor"}
PROFILED = ", profiled"
MOST_BARS = 14
LEAST_SHARE = 0.01  # of a bar: what is narrower can't be seen
#: A bar: its name, CPU time per request in microseconds, and the shares of that time (`category`, `share`).
Bar = tuple[str, float, pd.DataFrame]


def percentile(step: Step, run: Run, level: float) -> str:
    """Return a percentile (0..1) of a step as text, marked if the generator may have caused it; a dash if unknown."""
    value = facts.quoted(step, level)
    if value is None:
        return tables.NONE
    if not instrument.unresolved(run.steps, step, level):
        return facts.written(value)
    has_floor = instrument.kept_up_below(step, level) is not None or instrument.own_floor(run.steps, step) is not None
    return facts.written(value) + (UNRESOLVED if has_floor else NO_FLOOR)


def mark(step: Step) -> str:
    """Return the mark behind the name of a load that never became steady, else nothing."""
    return CHANGING if steadiness(step).steady is False else ""


def marks_in(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the notes that explain the marks (see MARKS) in a table's cells."""
    cells = [cell for row in rows for cell in row]
    return [PROSE["loads"][note] for mark, note in MARKS.items() if any(cell.endswith(mark) for cell in cells)]


def loads_table(results: Results) -> Table | None:
    """Return a table of the loads at one rate; if there are none, of ladders' highest quotable steps; else None."""
    loads = list(results.clean_loads())
    of_ladders = not loads
    if of_ladders:
        kept = [[step for step in ladder.rate_steps if facts.quotable(step)] for ladder in results.offered]
        loads = [steps[-1] for steps in kept if steps]
    if not loads:
        return None
    rows = tuple(
        (
            f"{facts.title(step)}{mark(step)}{PROFILED * bool(step.profiled)}",
            words.rate(facts.achieved_rps(step)), words.count(sum(facts.errors(step).values())),
            *(percentile(step, results.run, level) for level in LEVELS), words.latency(facts.cpu_us(step)),
        )
        for step in loads
    )  # fmt: skip
    head = ("load", "rate", "errors", *map(words.level, LEVELS), "server CPU per request")
    own = PROSE["loads"]
    notes = [own["kept"]] * of_ladders + [own["response"], *marks_in(rows)] + [own["changing"]] * any(map(mark, loads))
    notes += [own["unquoted"]] * any(tables.NONE in row for row in rows)
    return Table("Loads at one rate", head, rows, " ".join(notes))


def latency_section(results: Results) -> Section:
    """Return the section on latency: spectra by workload, latency over time by load, and spectra of ladders by rate."""
    run, shown = results.run, list[Picture]()
    loads = [s for s in results.clean_loads() if facts.quotable(s) and facts.samples(s) >= facts.FEWEST_SAMPLES]
    for workload, own in facts.grouped(loads, lambda step: step.workload).items():
        floor = instrument.nearest_floor(run.steps, own[0])
        output = results.published_output(workload)
        report, heading = output[1] if output else None, headline([(step, run) for step in own])
        picture = spectrum(*own, published=report, floor=floor, heading=heading)
        shown.append(picture.at(f"spectrum-{workload}"))
        timed = [step for step in own if not step.frames["intervals"].empty]
        for place in range(0, len(timed), 2):  # two side by side
            pair = timed[place : place + 2]
            anchor = f"timeline-{workload}{f'-{place}' if place else ''}"
            shown.append(timeline(*pair, floor=floor).at(anchor))
    return Section.of("latency", *shown, *_by_rate(results))


def _by_rate(results: Results) -> Iterator[Picture]:
    """Yield a picture per workload: spectra at the rates of the ladder with most quotable rates, and its objective."""
    kept = [(ladder, [step for step in ladder.rate_steps if facts.quotable(step)]) for ladder in results.offered]
    by_workload = facts.grouped(kept, lambda pair: pair[0].steps[0].workload)
    for workload, pairs in by_workload.items():
        ladder, steps = max(pairs, key=lambda pair: len(pair[1]))
        if len(steps) < 2 or any(step.frames["spectrum"].empty for step in steps):
            continue
        rates = {step.name: words.rate(facts.offered_rps(step)) for step in steps}
        values = [f"{instrument.latency_text(s, 0.99)} at {rates[s.name]}" for s in steps if facts.at(s, 0.99)]
        heading = f"{style.name_of(steps[0])}, p99: {', '.join(values)}"
        limits = ladder.objective.latencies if ladder.objective else ()
        picture = spectrum(*steps, service=False, heading=heading, labels=rates, limits=limits)
        yield picture.at(f"rates-{workload}")


def tail_section(results: Results) -> Section:
    """Return the section with a figure for each load: its latency over time, and below it the causes of its tail."""
    loads = [step for step in results.clean_loads() if facts.quotable(step) and not step.frames["slices"].empty]
    floors = (instrument.nearest_floor(results.run.steps, step) for step in loads)
    drawn = (timeline(step, floor=floor).at(f"causes-{step.name}") for step, floor in zip(loads, floors, strict=True))
    return Section.of("tail", *drawn)


def where_section(results: Results) -> Section:
    """Return the section on profiles: flame graphs, CPU time per request by category, and the categories' shares."""
    profiled, locks, text = facts.shown_profiles(results.run.steps), facts.shown_profiles(results.run.steps, LOCK), ""
    if not profiled:  # only profiles of overloaded servers, whose requests queued
        profiled = locks = [step for step in results.run.steps if step.profiled and facts.fell_short(step)]
        text = PROSE["where"]["queues"]
    graphs = chosen_graphs(profiled, locks)
    rows = bars(results.run)
    figures = [cpu(rows).at(profiles.CPU_FIGURE)] if rows else []
    legend = f"Flame graphs leave out frames under {words.given_share(STILL_SHARE)}. In brackets: a tower's category, "
    text = f"{text} {legend}with its share unless it is the whole tower.".strip() if graphs else ""
    return replace(Section.of("where", *figures, *_shares(profiled, (facts.CPU,)), text=text), graphs=graphs)


def shares_section(results: Results) -> Section:
    """Return the section on the categories' shares of allocated bytes and of the time waited for locks."""
    profiled, locks = facts.shown_profiles(results.run.steps), facts.shown_profiles(results.run.steps, LOCK)
    others = tuple(event for event in profiles.EVENT_NAMES if event not in (facts.CPU, LOCK))
    return Section.of("shares", *_shares(profiled, others), *_shares(locks, (LOCK,)))


def chosen_graphs(profiled: Sequence[Step], locks: Sequence[Step] = ()) -> tuple[FlameGraph, ...]:
    """Choose at most MOST_GRAPHS flame graphs for a report, of one treatment for each HTTP method.

    The cpu and alloc graphs are of the highest profiled rate, and of the lowest if the ratio of both is above APART.
    The lock graph is of the first step in `locks` with enough samples. If there is room, a second treatment follows.
    """
    chosen, next_ones = list[FlameGraph](), list[FlameGraph]()
    by_method = facts.grouped(profiled, lambda step: step.workload.partition("-")[0])
    for method, steps in by_method.items():
        by_load = facts.grouped(steps, lambda step: (step.subject, step.workload))
        first = max(by_load.values(), key=len)  # of a ladder that with most rates, else the first
        by_rate = sorted(first, key=rate_rps)
        apart = rate_rps(by_rate[-1]) > APART * rate_rps(by_rate[0])
        ends = {step.name: step for step in (by_rate[0 if apart else -1], by_rate[-1])}.values()
        chosen += [graph for step in ends for graph in flamegraphs(step) if graph.event != LOCK]
        alike = [FlameGraph(step, LOCK) for step in locks if step.workload.partition("-")[0] == method]
        chosen += [graph for graph in alike if graph.samples >= facts.FEWEST_SAMPLES][:1]
        others = [own for own in by_load.values() if own[0].subject != first[0].subject and len(own) == len(first)]
        next_ones += [g for own in others[:1] for g in flamegraphs(max(own, key=rate_rps)) if g.event != LOCK]
    return tuple([*chosen, *next_ones][:MOST_GRAPHS])


def _shares(profiled: list[Step], events: Sequence[str]) -> Iterator[Table]:
    """Yield a table for each event: a row per category, and in columns its shares in at most four profiled steps."""
    last = {(step.subject, step.workload): step for step in profiled}
    for event in events:
        steps = [s for s in list(last.values())[:4] if facts.profile_samples(s, event) >= facts.FEWEST_SAMPLES]
        shown = [facts.shares_of(step, event).set_index("category") for step in steps]
        if not shown:
            continue
        by_step = pd.concat([rows["share"] for rows in shown], axis=1)
        most = by_step.max(axis=1)
        pairs = zip(steps, shown, strict=True)
        heads = (
            f"{style.name_of(step)} at {words.rate(rate_rps(step))} ({tables.count(rows['samples'].sum())} samples)"
            for step, rows in pairs
        )
        ordered = most[most >= LEAST_SHARE].sort_index().sort_values(ascending=False, kind="stable").index
        rest = (1 - by_step.reindex(ordered).fillna(0.0).cumsum()).max(axis=1)
        named = list(map(str, ordered[: max(MOST_SHARES, 1 + int((rest > MOST_REST).sum()))]))
        intervals = [rows.reindex(named)[["share", "low", "high"]] for rows in shown]
        body = [(name, *(tables.share_interval(*own.loc[name]) for own in intervals)) for name in named]
        body.append(("the rest", *(words.percent(rows["share"].drop(named, errors="ignore").sum()) for rows in shown)))
        measured = profiles.EVENT_NAMES[event]
        note = f"Share of {measured} with its 95 % interval."
        texts = PROSE["categories"]
        meant = "; ".join(f"{name}: {texts[name]}" for name, *_ in body if name in texts)
        note += f" {words.sentence(meant)}" if meant else ""
        yield Table(f"{measured[0].upper()}{measured[1:]} by category", ("category", *heads), tuple(body), note)


def published_section(results: Results) -> Section:
    """Return the section that compares published with reproduced figures, of loads at one rate and of ladders."""
    by_workload = facts.grouped(results.clean_loads(), lambda step: step.workload)
    outputs = {workload: results.published_output(workload) for workload in by_workload}
    shown = [_against(results.run, work, out[1], by_workload[work]) for work, out in outputs.items() if out]
    of_ladders = [(ladder, table) for ladder in results.ladders if (table := against_published(ladder)) is not None]
    searches = {ladder.same: ladder for ladder in results.ladders if ladder.search is not None}
    known = [f"{title(searches.get(ladder.same, ladder))}." for ladder, _ in of_ladders if ladder.knee]
    own = PROSE["published"]
    texts = [own["shape"], *known, own["dash"]] if of_ladders else []
    if shown:
        tools = {cell for table in shown for name, *cells in table.rows if name == "generator" for cell in cells}
        marked = any(marks_in(table.rows) or CHANGING in "".join(table.head) for table in shown)
        texts += [own["marks"]] * marked + [own["timer"]] * ({"wrk2", "truepace"} <= tools)
    offered = [_together([table for _, table in of_ladders])] if of_ladders else []
    return Section.of("published", *[*shown, *offered][:MOST_PUBLISHED], text=" ".join(texts))


def _together(of_ladders: Sequence[Table]) -> Table:
    heads = zip(*(table.head for table in of_ladders), strict=True)
    head = tuple(" or ".join(dict.fromkeys(cells)) for cells in heads)  # shares of a knee, or of a bound of it
    rows = tuple((table.caption, *row) for table in of_ladders for row in table.rows)
    beyond = "; ".join(table.note for table in of_ladders if table.note)
    note = f"{PROSE['published']['beyond']}: {beyond}." if beyond else ""
    return Table("Rates published and offered here", ("load", *head), rows, note)


def _against(run: Run, workload: str, published: ConsoleReport, loads: Sequence[Step]) -> Table:
    """Return the table of one workload: a column for the published output, and a column for each load in this run."""
    latencies = published.latencies

    def row(name: str, stated: str, unit: Callable[[float], str], own: Callable[[Step], float]) -> tuple[str, ...]:
        return (name, stated, *(unit(own(step)) for step in loads))

    def there(level: float) -> str:
        value_us = latencies.at(level)
        ours_us = [value.value for step in loads if (value := facts.quoted(step, level)) is not None]
        scale, unit = words.time_unit(max(ours_us, default=value_us or 0.0))
        if value_us is None or value_us >= MOST_OF_A_UNIT * scale:
            return tables.latency(value_us)
        return f"{words.number(value_us / scale)}{words.NBSP}{unit}"  # a row has one unit

    levels = (
        (words.level(level), there(level), *(percentile(step, run, level) for step in loads))
        for level in PUBLISHED_LEVELS
    )
    rows = (
        row("offered rate", tables.rate(published.rate_rps), words.rate, facts.offered_rps),
        row("achieved rate", tables.rate(published.requests_per_s), words.rate, facts.achieved_rps),
        *levels,
        row("samples", tables.count(latencies.count), words.count, facts.samples),
        row("errors", tables.count(published.errors), words.count, lambda step: sum(facts.errors(step).values())),
        row("duration", tables.seconds(published.duration_s), words.seconds, lambda s: facts.number(s, "elapsed_s")),
        ("generator", published.tool or tables.NONE, *map(facts.tool, loads)),
    )
    head = (workload.upper(), "published", *(facts.engine_name(step.subject) + mark(step) for step in loads))
    return Table(f"{workload.upper()}: published and reproduced", head, rows)


def bars(run: Run) -> list[Bar]:
    """Return a bar of CPU time per request for each profiled setting and workload, at its highest profiled rate."""
    profiled = sorted((s for s in run.steps if s.profiled and facts.usable_profile(s)), key=rate_rps)
    chosen = {(s.subject, s.workload): s for s in profiled if not facts.shares_of(s, facts.CPU).empty}
    drawn = list[Bar]()
    for (subject, workload), step in chosen.items():
        clean = [s for s in run.find(subject=subject, workload=workload, profiled=False) if may_quote(s, Aspect.CPU)]
        if (bar := _bar(style.name_of(step), step, facts.only(clean))) is not None:
            drawn.append(bar)
    return drawn[:MOST_BARS]


def _bar(name: str, step: Step, clean: Step | None = None) -> Bar | None:
    """Return a profiled step's bar, None without data. CPU time: that of `clean` (unprofiled load), else the step's."""
    shares = facts.shares_of(step, "cpu")
    own = float(shares[shares["category"] == "profiler"]["share"].sum())
    used_us = facts.cpu_us(clean) if clean is not None else facts.cpu_us(step) * (1 - own)
    if not math.isfinite(used_us) or shares.empty:
        return None
    rows = shares[shares["category"] != "profiler"][["category", "share"]].copy()
    rows["share"] /= 1 - own
    rows.loc[rows["share"] < LEAST_SHARE, "category"] = "other"  # too small to be seen
    together = rows.groupby("category", sort=False)["share"].sum().reset_index()
    named = f"{name}\nprofiler {tables.share(own)}" if own > profiles.MUCH else name
    return named, used_us, together.sort_values("category", key=lambda names: names == "other", kind="stable")


def rate_rps(step: Step) -> float:
    """Return the offered rate of a step as a key to sort by; 0 for a closed loop."""
    return words.finite(facts.offered_rps(step)) or 0.0


@style.styled
def cpu(rows: Sequence[Bar], heading: str = "Server CPU per request, by what it is used for") -> style.Picture:
    """Draw CPU time per request as stacked bars."""
    figure = style.Picture(8.4, 1.7 + 0.42 * len(rows))
    axes = figure.add_subplot()
    seen: dict[str, float] = {}
    for place, (_, used_us, shares) in enumerate(rows):
        left = 0.0
        for category, share in zip(map(str, shares["category"]), shares["share"], strict=True):
            part, colour = float(share) * used_us, style.category_colour(category)
            axes.barh(place, part, 0.72, left=left, color=colour, edgecolor=style.CARD, linewidth=0.4)
            left += part
            seen[category] = seen.get(category, 0.0) + part
        style.label_bar(axes, tables.latency(used_us), left, place)
    style.rows(axes, [name for name, _, _ in rows], 8)
    axes.set_xlim(0, max(used for _, used, _ in rows) * 1.14)
    axes.set_xlabel("server CPU per request: all its threads (microseconds)")
    ordered = sorted(seen, key=lambda name: -seen[name])
    handles = [Patch(color=style.category_colour(name), label=style.plain(name, 20)) for name in ordered]
    style.legend(figure, 6, 7.5, handles)
    return figure.headed(heading)


def by_rate_sections(run: Run) -> Iterator[Section]:
    """Yield a section for each workload that was profiled at several rates, with a bar of CPU time for every rate."""
    for workload in dict.fromkeys(step.workload for step in run.find(kind=PROFILED_RATE_STEP)):
        usable = profiles.profiled_rate_steps(run, workload)
        rows = [bar for step in usable if (bar := _bar(tables.rate(facts.offered_rps(step)), step)) is not None]
        if len({name for name, *_ in rows}) > 1:
            heading = f"{style.plain(workload.upper(), 12)}: server CPU per request, by rate and by what it is used for"
            shown = cpu(rows, heading).at(f"byrate-{workload}-{facts.CPU}")
            yield Section(f"byrate-{workload}", f"{workload.upper()}: CPU time by rate", figures=(shown,))
