"""Build the sections of a cluster, of faults (a node, a response), of stores and of the history of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from runners import words
from runners.analysis import facts, instrument, latency_spikes
from runners.analysis.intervals import Bounded
from runners.analysis.knee import rate_interval
from runners.analysis.quantities import changed
from runners.design.session import FAULT
from runners.design.setting import CEILING
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import latency_of, timeline
from runners.report.tables import Section, Shown, Table
from runners.results import cluster, faults
from runners.results.faults import Outage
from runners.results.results import Results
from runners.results.stores import AMPLIFICATION, MEMORY, TABLE, Store, gain, reference
from runners.results.trends import Trend, trends_of

DEATH_TEXT = (
    "Three processes; the load goes to the first, the third is killed (SIGKILL) and started again on its port and its "
    "data. All share the server's cores, so the start of a JVM takes time from the two that live."
)
KEYS_TEXT = (
    "Computed for every id that the report wrote and for the addresses of this run's nodes, as the servers compute it. "
    "The load goes to the first node; what lies elsewhere it asks the owner for, and its own status counts that."
)
LOCK_TEXT = (
    "Each setting once more, while the profiler records who waits for a lock and how long. Waiting is "
    "added up over all threads, so it can be more than a second per second."
)
RESPONSES_SHOWN = (1, 2, 10, 100, 1_000)


def outage_title(each: Outage) -> str:
    """Return the result: which share of the responses failed in the whole seconds without the node."""
    bad, asked = each.failed("without")
    name = style.plain(each.name, 24)
    if not asked:
        return f"{name}: no whole second without the node"
    share = f"{tables.share(bad / asked)} of the responses fail" if bad else "no response fails"
    return f"{name}: {share} in the {words.several(len(each.part('without')), 'second')} wholly without the node"


def outage(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the deaths that these steps hold, a column each."""
    found = faults.outages(steps)
    if not found:
        return style.empty("no node was killed")
    marks = {each.step.name: each.events for each in found}
    return timeline(
        *(each.step for each in found), floor=floor, marks=marks, titles=[outage_title(each) for each in found]
    )


def outage_table(found: Sequence[Outage]) -> Table:
    """Failed responses and the p99 of a second before, while and after."""
    rows = []
    parts = ("before", "without", "after")
    for each in found:
        cells = [tables.rate(facts.offered_rps(each.step))]
        for which in parts:
            bad, asked = each.failed(which)
            counts = f"({tables.count(bad)} of {tables.count(asked)})"
            share = f"{tables.share(bad / asked)} {counts}" if asked else tables.NONE
            cells += [share, tables.latency(each.p99_us(which))]
        rows.append((each.name, *cells, tables.seconds(each.back_s - each.killed_s)))
    heads = (text for part in ("before", "without it", "after") for text in (f"failed {part}", f"p99 {part}"))
    note = (
        "p99: the median of the seconds' own. Without it: whole seconds between the node's death and its first "
        "response. A dash: no whole second was left."
    )
    head = ("setting", "offered", *heads, "away for")
    return Table("Before, while and after a node is away", head, tuple(rows), note)


def outage_section(run: Run) -> Section | None:
    """Return the deaths of a run, or None."""
    found = faults.outages(run.steps)
    if not found:
        return None
    steps = [each.step for each in found]
    rows = [latency_of(s, latency_spikes.tenths(s.frames["slices"])).assign(step=s.name) for s in steps]
    shown = Shown(faults.OUTAGES, outage(steps, instrument.nearest_floor(run.steps, steps[0])), pd.concat(rows))
    return Section("outages-section", "A node dies", DEATH_TEXT, (shown,), (outage_table(found),))


def keys_section(run: Run) -> Section | None:
    """Return the section of a run whose status tells where requests were served; None for any other."""
    loads = cluster.clusters(run)
    if cluster.topology(loads) is None:
        return None
    rows = tuple(
        (
            facts.engine_name(one.name), one.hashing, tables.count(one.local), tables.count(one.proxied),
            tables.share(one.share), tables.share(one.expected), tables.latency(one.call_p50_us),
            tables.latency(one.call_p99_us), tables.count(one.failed_calls),
        )
        for one in cluster.by_treatment(loads)
    )  # fmt: skip
    head = (
        "setting", "hash", "served itself", "passed on", "share passed on", "share by the hash", "call p50", "call p99",
        "failed calls",
    )  # fmt: skip
    note = "Calls to the node that was asked most, over the server's whole life: in closed loop and at the common rate."
    table = Table("What the first node passes on", head, rows, note)
    return Section("keys-section", "Where the keys lie", KEYS_TEXT, tables=(table,))


def client_lock_section(run: Run) -> Section | None:
    """Return the section of a run whose lock waits were profiled; None for any other."""
    found = cluster.of_run(run)
    if not found:
        return None
    rows = tuple(
        (
            one.name, tables.rate(facts.offered_rps(one.step)), tables.seconds(one.all_s),
            tables.seconds(one.client_s),
            tables.share_interval(one.share.value, one.share.low, one.share.high) if one.share else tables.NONE,
        )
        for one in found
    )  # fmt: skip
    head = ("setting", "offered", "waited per second", "for the client's lock", "share (95 %)")
    table = Table("Waits for locks", head, rows, "A dash: nobody waited for that lock.")
    place = cluster.LOCK_ANCHOR
    return Section(place, "The lock around the client", LOCK_TEXT, tables=(table,))


def shared_response_sections(run: Run) -> Iterator[Section]:
    """Heads of responses by their number, where all requests share one response object."""
    for step in run.find(kind=FAULT):
        heads = step.record.fault.heads if step.record.fault else ()
        last = heads[-1]["number"] if heads else 0
        rows = tuple(
            (tables.count(each["number"]), tables.size(each["bytes"]), tables.count(each["fields"]))
            for each in heads
            if each["number"] in (*RESPONSES_SHOWN, last)
        )
        table = Table("Responses of one connection, in their order", ("response", "head", "fields in it"), rows)
        place = faults.SHARED_RESPONSE
        outage_title = f"The fault of {facts.engine_name(step.subject)}"
        yield Section(place, outage_title, tables=(table,))


AMPLIFICATION_TEXT = (
    "Each key is written several times, then the store is left alone until it writes no more. Written bytes are the "
    "kernel's count of what the process sends to the disk: log, tables and merging. Room is what the files take, "
    "without what is only reserved."
)
MEMORY_TEXT = (
    "Memory of the process by kind, the most after any of its steps. Its own holds heap, code and what a store takes "
    "outside the heap; mapped files the kernel may take back."
)
TABLE_TEXT = "The gain is how far the knee lies above or below, with its 95 % interval."
MB = 1e6


def times(value: float) -> str:
    """Return a ratio: 1.04."""
    return f"{value:.2f}" if words.known(value) else words.UNKNOWN


def standing(store: Store, against: Store) -> str:
    """Say in a few words whether a store is ahead of the reference, behind it, or inconclusive, by workload."""
    if store.subject == against.subject:
        return "baseline"
    parts = []
    for workload in dict.fromkeys([*against.knees, *store.knees]):
        more = gain(store, against, workload)
        if more is not None:
            word = "ahead" if more.low > 0 else "behind" if more.high < 0 else "inconclusive"
            parts.append(f"{workload.upper()} {word}")
    text = ", ".join(parts) or "knee not known"
    return f"stores nothing: {text}" if store.subject == CEILING else text


def store_data(found: Sequence[Store]) -> pd.DataFrame:
    """Give a row a store: `store`, `written` and `room` (a byte), `tables`, `own_bytes`, `file_bytes`, `heap_bytes`."""
    columns = ["store", "written", "room", "tables", "own_bytes", "file_bytes", "heap_bytes"]
    rows = [
        (s.subject, s.written, s.room, s.tables, s.rss["anon"], s.rss["file"], s.heap_bytes) for s in found
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def amplification(found: Sequence[Store]) -> style.Picture:
    """Draw what each store with files writes for a byte, and the room that a live byte takes."""
    kept = [store for store in found if store.on_disk]
    known = [store for store in kept if words.known(store.written)]
    heading = "What a byte costs on the disk"
    if known:
        least = min(known, key=lambda store: store.written)
        heading = f"{style.plain(least.name, 24)} writes least for a byte: {times(least.written)}"
    series = (
        ("written, for each byte given", style.BLUE, [s.written for s in kept]),
        ("room on the disk, for each live byte", style.ORANGE, [s.room for s in kept]),
    )
    marks = [("the least there can be", 1.0, style.INK, "-")]
    return style.bars([store.name for store in kept], series, times, "bytes per byte", heading, marks)


def memory(found: Sequence[Store]) -> style.Picture:
    """Draw the memory of each store's process: its own, and that of mapped files."""
    known = [store for store in found if words.known(store.rss["anon"])]
    heading = "Memory outside the heap"
    if known:
        most = max(known, key=lambda store: store.rss["anon"])
        heading = f"{style.plain(most.name, 24)} takes most memory of its own: {tables.size(most.rss['anon'])}"
    series = [
        (name, colour, [store.rss[kind] / MB for store in found])
        for name, colour, kind in (("its own", style.BLUE, "anon"), ("mapped files", style.ORANGE, "file"))
    ]
    heaps = dict.fromkeys(store.heap_bytes for store in found if words.known(store.heap_bytes))
    marks = [("limit of the heap", heap / MB, style.INK, "--") for heap in heaps]
    names = [store.name for store in found]
    axis = "memory of the process (MB)"
    return style.bars(names, series, lambda value: tables.size(value * MB), axis, heading, marks)


def store_table(found: Sequence[Store]) -> Table:
    """Return each store: gain with its interval, cost, verdict."""
    against = reference(found)
    rows = tuple(
        (
            store.name,
            *(_gain(gain(store, against, work), store, work) for work in ("put", "get")),
            *(times(ratio) if words.known(ratio) else tables.NONE for ratio in (store.written, store.room)),
            tables.size(store.rss["anon"]),
            standing(store, against),
        )
        for store in found
    )
    head = ("store", "PUT knee", "GET knee", "written per byte", "room per byte", "memory of its own", "verdict")
    note = (
        f"Gains are against {against.name}. A dash: a store without files, a knee that was not found, or nothing that "
        "tells."
    )
    return Table("Gain, cost and verdict of each store", head, rows, note)


def _gain(more: Bounded | None, store: Store, workload: str) -> str:
    if more is None:
        knee = store.knees.get(workload)
        return rate_interval(knee.knee) if knee is not None else tables.NONE
    return changed(more.value, more.low, more.high)


def store_sections(run: Run) -> Iterator[Section]:
    """Amplification, memory and the table; none for a run of other things."""
    found = Results(run).stores
    if not found:
        return
    rows = store_data(found)
    if any(store.on_disk for store in found):
        shown = (Shown(AMPLIFICATION, amplification(found), rows),)
        yield Section("amplification", "What is written, and what it takes", AMPLIFICATION_TEXT, shown)
    if any(words.known(store.rss["anon"]) for store in found):
        shown = (Shown(MEMORY, memory(found), rows),)
        yield Section("memory", "Memory", MEMORY_TEXT, shown)
    yield Section(TABLE, "All in one table", TABLE_TEXT, tables=(store_table(found),))


TRENDS = "trends"
MOST_PANELS = 12
COLUMNS = 3


def drawn_trends(history: Sequence[Trend]) -> list[Trend]:
    """Return the trends that are drawn: those with a change first, then those of most runs."""
    ranked = sorted(history, key=lambda trend: (not trend.found, -len(trend.frame)))
    return ranked[:MOST_PANELS]


@style.styled
def history(found: Sequence[Trend]) -> style.Picture:
    """Draw the trends, runs from old to new along x, each level between two changes as a line."""
    shown = drawn_trends(found)
    if not shown:
        return style.empty("nothing was measured twice yet")
    rows = math.ceil(len(shown) / COLUMNS)
    figure = style.Picture(8.4, 0.6 + 2.0 * rows)
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for axes, trend in zip(grid.flat, shown, strict=False):
        _panel(axes, trend)
    for axes in list(grid.flat)[len(shown) :]:
        axes.set_visible(False)
    figure.supxlabel("runs, oldest first (hollow: the sentinel was unusual)", fontsize=8.5, color=style.QUIET)
    return figure.headed(
        history_headline(found), history_headline(found) + ". " + ". ".join(_result(trend) for trend in shown) + "."
    )


def history_headline(found: Sequence[Trend]) -> str:
    """Return the figure's result in a line."""
    moved = sum(1 for trend in found if trend.found)
    runs = len({run for trend in found for run in trend.frame["run"]})
    looked = sum(1 for trend in found if not trend.why_not)
    if not looked:
        return f"{words.count(runs)} runs: too few of a kind to look for changes"
    return f"{words.count(runs)} runs: {moved or 'none'} of {words.count(looked)} trends changed level"


def _result(trend: Trend) -> str:
    if trend.why_not:
        return f"{trend.title}: {trend.why_not}"
    if not trend.found:
        return f"{trend.title}: no change"
    return f"{trend.title}: {', '.join(_ratio(change.ratio) for change in trend.found)}"


def _ratio(ratio: float) -> str:
    return f"{'+' if ratio > 1 else words.MINUS}{abs(ratio - 1):.0%}"


def _panel(axes: Axes, trend: Trend) -> None:
    frame = trend.frame
    colour = style.colour_of(trend.subject)
    x = range(len(frame))
    values = frame["value"].to_numpy(float)
    disturbed = frame["disturbed"].to_numpy(bool)
    axes.plot(x, values, color=colour, linewidth=0.7, alpha=0.5)
    for hollow in (False, True):
        at = [place for place in x if disturbed[place] == hollow]
        face = style.CARD if hollow else colour
        axes.plot(at, values[at], "o", color=colour, markerfacecolor=face, markersize=4, linestyle="none")
    edges = [0, *(change.index for change in trend.found), len(frame)]
    levels = [trend.found[0].before, *(change.after for change in trend.found)] if trend.found else []
    for left, right, level in zip(edges, edges[1:], levels, strict=False):
        axes.hlines(level, left - 0.4, right - 0.6, color=style.INK, linewidth=1.2)
    for change in trend.found:
        axes.axvline(change.index - 0.5, color=style.INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.annotate(_ratio(change.ratio), (change.index - 0.4, values.max()), fontsize=7.5, va="top")
    if trend.metric == "achieved":
        axes.set_ylim(0, values.max() * 1.2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
        axes.yaxis.set_major_locator(MaxNLocator(4))
    else:
        style.latency_axis(axes, float(values.min()) * 0.9, float(values.max()) * 1.1)
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlim(-0.8, len(frame) - 0.2)
    axes.tick_params(labelsize=7.5)
    axes.set_title(trend.title.replace(", experiment", "\nexperiment"), fontsize=8.5)


def trend_lines(found: Sequence[Trend]) -> list[str]:
    """Return each change of level in a line, the largest first, then the runs in which the machine was not as usual."""
    changes = [(trend, change) for trend in found for change in trend.found]
    lines = []
    for trend, change in sorted(changes, key=lambda pair: -abs(pair[1].ratio - 1)):
        row, last = trend.frame.iloc[change.index], trend.frame.iloc[change.index - 1]
        sizes = sorted((abs(1 - change.low), abs(1 - change.high)))
        by = words.percent_interval(abs(1 - change.ratio), *sizes)
        text = f"{trend.title} became {'higher' if change.ratio > 1 else 'lower'} by {by} with run {row['run']}: "
        text += f"{trend.written(change.before)} before, {trend.written(change.after)} after"
        commits = [str(commit)[:12] for commit in (last["git_commit"], row["git_commit"]) if isinstance(commit, str)]
        text += f" (commits {commits[0]} and {commits[1]})" if len(set(commits)) == 2 else ""
        lines.append(words.sentence(text))
    disturbed = sorted({str(run) for trend in found for run in trend.frame.loc[trend.frame["disturbed"], "run"]})
    if disturbed:
        lines.append(f"The machine was not as usual, by its sentinel, in {words.listed(disturbed)}.")
    return lines


def trend_table(found: Sequence[Trend]) -> Table:
    """Return every trend in a row: how many runs, the last figure, the median, and what changed."""

    def row(trend: Trend) -> tuple[str, ...]:
        values, disturbed = trend.frame["value"], int(trend.frame["disturbed"].sum())
        changed = (f"{_ratio(each.ratio)} with {trend.frame['run'].iloc[each.index]}" for each in trend.found)
        return (
            trend.title,
            trend.machine_class,
            words.count(len(values)) + (f" ({disturbed} disturbed)" if disturbed else ""),
            trend.written(float(values.median())),
            trend.written(float(values.iloc[-1])),
            trend.why_not or "; ".join(changed) or "no change",
        )

    head = ("trend", "machine", "runs", "median", "last", "changes of level")
    return Table("Trends", head, tuple(map(row, found)), numeric=False)


def history_section(run: Run) -> Section | None:
    """Return the trends of a run of experiment 08, which holds the history in frames of its own."""
    found = trends_of(run)
    if found is None:
        return None
    data = pd.concat([trend.frame.assign(trend=trend.title) for trend in found], ignore_index=True) if found else None
    return Section(
        "history",
        "Trends by machine class",
        text="Only figures of one machine class, experiment, size, setting and about the same rate make one trend.",
        figures=(Shown(TRENDS, history(found), data if data is not None else pd.DataFrame({"run": []})),),
        tables=(trend_table(found),) if found else (),
    )
