"""Build the sections on clusters, killed nodes, shared responses, stores, and the history of runs."""

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.knee import rate_interval
from runners.analysis.quantities import changed, signed
from runners.design.cluster import ONE, PUBLISHED_KEYS
from runners.design.session import FAULT, FILL
from runners.design.setting import CEILING
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import timeline
from runners.report.tables import PROSE, Section, Table
from runners.results import cluster, faults, loads, published
from runners.results.faults import Outage
from runners.results.stores import AMPLIFICATION, MEMORY, TABLE, Store, gain, reference, stores
from runners.results.trends import Trend, trends_of

RESPONSES_SHOWN = (1, 2, 10, 100, 1_000)
MB = 1e6
TRENDS, MOST_PANELS, COLUMNS = "trends", 12, 3  # of the figure of trends: anchor, most panels, and panels in a row


def rounds_sections(run: Run) -> Iterator[Section]:
    """Yield the section with a bar for each closed loop that was measured in rounds; none for a run without them."""
    if not (rates := loads.rates(run)):
        return
    names = [f"{work.upper()}, {words.connections(n)}: {facts.engine_name(name)}" for name, n, work in rates]
    values, ends = [mean.value for mean in rates.values()], [(mean.low, mean.high) for mean in rates.values()]
    heading = f"Closed-loop rates: {words.span(values, words.rounded_rate)}"
    series = [("mean of the rounds, with its 95 % interval", style.BLUE, values)]
    known = ends if all(map(math.isfinite, sum(ends, ()))) else ()  # one round has no interval
    shown = style.bars(names, series, words.rounded_rate, "requests per second", heading, ends=known)
    bars = "; ".join(f"{name} {words.rounded_rate(value)}" for name, value in zip(names, values, strict=True))
    figure = shown.headed(heading, f"Closed-loop rates, means of the rounds. {bars}.").at(loads.RATES)
    yield Section(loads.RATES, "Closed loops in rounds", figures=(figure,))


def outage_title(death: Outage) -> str:
    """Return a title: the share of failed responses among those in the seconds wholly without the killed node."""
    failed, offered = death.failed("without")
    name = style.plain(facts.engine_name(death.step.subject), 24)
    if not offered:
        return f"{name}: no whole second without the node"
    share = f"{tables.share(failed / offered)} of the responses fail" if failed else "no response fails"
    return f"{name}: {share} in the {words.several(len(death.part('without')), 'second')} wholly without the node"


def outage(deaths: Sequence[Outage], floor: Step | None = None) -> style.Picture:
    """Draw latency and responses over time, a column per load in which a node was killed. `floor`: as in `timeline`."""
    marks = {death.step.name: death.events for death in deaths}
    return timeline(*(death.step for death in deaths), floor=floor, marks=marks, titles=list(map(outage_title, deaths)))


def outage_table(deaths: Sequence[Outage]) -> Table:
    """Return a table of failed responses and of p99s before, during and after a node's absence."""

    def cells(death: Outage, part: str) -> tuple[str, str]:
        failed, offered = death.failed(part)
        p99, counts = tables.latency(death.p99_us(part)), f"({tables.count(failed)} of {tables.count(offered)})"
        return f"{tables.share(failed / offered)} {counts}" if offered else tables.NONE, p99

    rows = tuple(
        (
            facts.engine_name(death.step.subject), tables.rate(facts.offered_rps(death.step)),
            *(cell for part in ("before", "without", "after") for cell in cells(death, part)),
            tables.seconds(death.back_s - death.killed_s),
        )
        for death in deaths
    )  # fmt: skip
    heads = (text for part in ("before", "without it", "after") for text in (f"failed {part}", f"p99 {part}"))
    note = PROSE["outages-section"]["note"]
    return Table("Before, while and after a node is away", ("setting", "offered", *heads, "away for"), rows, note)


def outage_sections(run: Run) -> Iterator[Section]:
    """Yield the section on nodes that were killed during a run."""
    if deaths := faults.outages(run.steps):
        floor = instrument.nearest_floor(run.steps, deaths[0].step)
        yield Section.of("outages-section", outage(deaths, floor).at(faults.OUTAGES), outage_table(deaths))


def cluster_sections(run: Run) -> Iterator[Section]:
    """Yield the sections on the published rates of one node and three, and on the nodes that served requests."""
    if fills := run.find(kind=FILL, subject=ONE):
        rows = tuple(
            (method, *(f"{tables.rate(rps)}, p99 {tables.latency(us)}" for rps, us in map(published.sustained, parts)))
            for method, parts in (("PUT", ("/single-put-", "/put-")), ("GET", ("/single-get-", "/get-")))
        )
        here, there = map(words.count, (fills[-1].record.fill.keys, PUBLISHED_KEYS))
        caption = f"Published: the highest rates with a p99 within {words.given_latency(published.LIMIT_US)}; the GETs"
        caption += f" here are of {here} keys, the published of {there}"
        table = Table(caption, ("", "one node", "three nodes"), rows)
        yield Section(cluster.ONE_NODE_ANCHOR, "One node", tables=(table,))
    if loads := cluster.clusters(run):
        keys = tuple(
            (
                facts.engine_name(nodes.name), nodes.hashing, tables.count(nodes.local), tables.count(nodes.proxied),
                tables.share(nodes.share), tables.share(nodes.expected), tables.latency(nodes.call_p50_us),
                tables.latency(nodes.call_p99_us), tables.count(nodes.failed_calls),
            )
            for nodes in cluster.by_treatment(loads)
        )  # fmt: skip
        columns = (
            "setting", "hash", "served itself", "passed on", "share passed on", "share by the hash", "call p50",
            "call p99", "failed calls",
        )  # fmt: skip
        note = PROSE["keys-section"]["note"]
        yield Section.of("keys-section", Table("What the first node passes on", columns, keys, note))


def shared_response_sections(run: Run) -> Iterator[Section]:
    """Yield a section with the sizes of HTTP heads of a server whose requests share one response object."""
    for step in run.find(kind=FAULT):
        heads = step.record.fault.heads if step.record.fault else ()
        last = heads[-1]["number"] if heads else 0
        shown = ((head["number"], head["bytes"], head["fields"]) for head in heads)
        chosen = (head for head in shown if head[0] in (*RESPONSES_SHOWN, last))
        rows = tuple((tables.count(number), tables.size(size), tables.count(fields)) for number, size, fields in chosen)
        table = Table("Responses of one connection, in their order", ("response", "head", "fields in it"), rows)
        yield Section(faults.SHARED_RESPONSE, f"The fault of {facts.engine_name(step.subject)}", tables=(table,))


def standing(store: Store, against: Store) -> str:
    """Return in words, by workload, if store `store` has a higher or lower knee than store `against`, or neither."""
    if store.subject == against.subject:
        return "baseline"
    parts = []
    for workload in dict.fromkeys([*against.searches, *store.searches]):
        more = gain(store, against, workload)
        if more is not None:
            word = "ahead" if more.low > 0 else "behind" if more.high < 0 else "inconclusive"
            parts.append(f"{workload.upper()} {word}")
    text = ", ".join(parts) or "knee not known"
    return f"stores nothing: {text}" if store.subject == CEILING else text


def amplification(stores: Sequence[Store]) -> style.Picture:
    """Draw bars for each store with files: bytes written per byte received, and bytes on disk per byte of live data."""
    kept = [store for store in stores if store.on_disk]
    known = [store for store in kept if words.known(store.written)]
    heading = "What a byte costs on the disk"
    if known:
        least = min(known, key=lambda store: store.written)
        heading = f"{style.plain(least.name, 24)} writes least for a byte: {least.written:.2f}"
    series = (
        ("written, for each byte given", style.BLUE, [s.written for s in kept]),
        ("room on the disk, for each live byte", style.ORANGE, [s.room for s in kept]),
    )
    marks = [("the least there can be", 1.0, style.INK, "-")]
    return style.bars([store.name for store in kept], series, "{:.2f}".format, "bytes per byte", heading, marks)


def memory(stores: Sequence[Store]) -> style.Picture:
    """Draw the memory of each store's process in MB: anonymous pages, and pages of mapped files."""
    most = max((store for store in stores if words.known(store.rss["anon"])), key=lambda store: store.rss["anon"])
    heading = f"{style.plain(most.name, 24)} takes most memory of its own: {tables.size(most.rss['anon'])}"
    kinds = (("its own", style.BLUE, "anon"), ("mapped files", style.ORANGE, "file"))
    series = [(name, colour, [store.rss[kind] / MB for store in stores]) for name, colour, kind in kinds]
    heaps = dict.fromkeys(store.heap_bytes for store in stores if words.known(store.heap_bytes))
    marks = [("limit of the heap", heap / MB, style.INK, "--") for heap in heaps]
    names, axis = [store.name for store in stores], "memory of the process (MB)"
    return style.bars(names, series, lambda value: tables.size(value * MB), axis, heading, marks)


def store_table(stores: Sequence[Store]) -> Table:
    """Return a table by store: PUT and GET knees relative to the reference store's, amplification, memory, verdict."""
    against = reference(stores)
    rows = tuple(
        (
            store.name, *(_gain(store, against, work) for work in ("put", "get")),
            *(f"{ratio:.2f}" if words.known(ratio) else tables.NONE for ratio in (store.written, store.room)),
            tables.size(store.rss["anon"]), standing(store, against),
        )
        for store in stores
    )  # fmt: skip
    head = ("store", "PUT knee", "GET knee", "written per byte", "room per byte", "memory of its own", "verdict")
    note = f"Gains are against {against.name}. A dash: a store without files, or a knee that is not known."
    return Table("Gain, cost and verdict of each store", head, rows, note)


def _gain(store: Store, against: Store, workload: str) -> str:
    if (more := gain(store, against, workload)) is not None:
        return changed(more.value, more.low, more.high)
    search = store.searches.get(workload)
    return rate_interval(search.knee) if search is not None and search.knee is not None else tables.NONE


def store_sections(run: Run) -> Iterator[Section]:
    """Yield the sections on stores, with amplification, memory and a table; nothing for a run without stores."""
    filled = list(stores(run))
    if not filled:
        return
    if any(store.on_disk for store in filled):
        yield Section.of("amplification", amplification(filled).at(AMPLIFICATION))
    if any(words.known(store.rss["anon"]) for store in filled):
        yield Section.of("memory", memory(filled).at(MEMORY))
    yield Section.of(TABLE, store_table(filled))


@style.styled
def history(trends: Sequence[Trend]) -> style.Picture:
    """Draw at most MOST_PANELS trends, changed ones first: a panel per trend, with dots for runs, lines for levels."""
    shown = sorted(trends, key=lambda trend: (not trend.changes, -len(trend.frame)))[:MOST_PANELS]
    if not shown:
        return style.empty("nothing was measured twice yet")
    rows = math.ceil(len(shown) / COLUMNS)
    figure = style.Picture(8.4, 0.6 + 2.0 * rows)
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for axes, trend in zip_longest(grid.flat, shown):
        axes.set_visible(trend is not None)
        if trend is not None:
            _panel(axes, trend)
    figure.supxlabel("runs, oldest first (hollow: the sentinel was unusual)", fontsize=8.5, color=style.QUIET)
    moved = sum(bool(trend.changes) for trend in trends)
    looked = sum(not trend.why_not for trend in trends)
    runs = words.count(len({run for trend in trends for run in trend.frame["run"]}))
    heading = f"{runs} runs: too few of a kind to look for changes"
    if looked:
        heading = f"{runs} runs: {moved or 'none'} of {words.count(looked)} trends changed level"
    return figure.headed(heading)


def _panel(axes: Axes, trend: Trend) -> None:
    frame, colour = trend.frame, style.colour_of(trend.subject)
    x, values = np.arange(len(frame)), frame["value"].to_numpy(float)
    axes.plot(x, values, color=colour, linewidth=0.7, alpha=0.5)
    faces = np.where(frame["disturbed"].to_numpy(bool), style.CARD, colour)
    axes.scatter(x, values, 16, facecolors=faces, edgecolors=colour, zorder=2)
    edges = [0, *(change.index for change in trend.changes), len(frame)]
    levels = [trend.changes[0].before, *(change.after for change in trend.changes)] if trend.changes else []
    for left, right, level in zip(edges, edges[1:], levels, strict=False):
        axes.hlines(level, left - 0.4, right - 0.6, color=style.INK, linewidth=1.2)
    for change in trend.changes:
        axes.axvline(change.index - 0.5, color=style.INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.annotate(signed(change.ratio - 1), (change.index - 0.4, values.max()), fontsize=7.5, va="top")
    axes.set(xlim=(-0.8, len(frame) - 0.2), ylim=(0, values.max() * 1.2))
    axes.yaxis.set_major_formatter(style.axis_count if trend.metric == "achieved" else style.axis_time)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.tick_params(labelsize=7.5)
    axes.set_title(trend.title.replace(", experiment", "\nexperiment"), fontsize=8.5)


def trend_lines(trends: Sequence[Trend]) -> Iterator[str]:
    """Yield a sentence per change of level, the largest first, then one on the runs on an unusual machine, if any."""
    changes = [(trend, change) for trend in trends for change in trend.changes]
    for trend, change in sorted(changes, key=lambda pair: -abs(pair[1].ratio - 1)):
        row, last = trend.frame.iloc[change.index], trend.frame.iloc[change.index - 1]
        sizes = sorted((abs(1 - change.low), abs(1 - change.high)))
        by = words.percent_interval(abs(1 - change.ratio), *sizes)
        text = f"{trend.title} became {'higher' if change.ratio > 1 else 'lower'} by {by} with run {row['run']}: "
        text += f"{trend.written(change.before)} before, {trend.written(change.after)} after"
        commits = [str(commit)[:12] for commit in (last["git_commit"], row["git_commit"]) if isinstance(commit, str)]
        text += f" (commits {commits[0]} and {commits[1]})" if len(set(commits)) == 2 else ""
        yield words.sentence(text)
    disturbed = sorted({str(run) for trend in trends for run in trend.frame.loc[trend.frame["disturbed"], "run"]})
    if disturbed:
        yield f"The machine was not as usual, by its sentinel, in {words.listed(disturbed)}."


def trend_table(trends: Sequence[Trend]) -> Table:
    """Return a table with a row for each trend: number of runs, median, last value, and changes of level."""

    def row(trend: Trend) -> tuple[str, ...]:
        values, disturbed = trend.frame["value"], int(trend.frame["disturbed"].sum())
        runs_of = trend.frame["run"]
        changes = (f"{signed(change.ratio - 1)} with {runs_of.iloc[change.index]}" for change in trend.changes)
        runs = words.count(len(values)) + (f" ({disturbed} disturbed)" if disturbed else "")
        levels = map(trend.written, (float(values.median()), float(values.iloc[-1])))
        return trend.title, trend.machine_class, runs, *levels, trend.why_not or "; ".join(changes) or "no change"

    head = ("trend", "machine", "runs", "median", "last", "changes of level")
    return Table("Trends", head, tuple(map(row, trends)), numeric=False)


def history_sections(run: Run) -> Iterator[Section]:
    """Yield the section on trends, if the run is of experiment 08, which reads the history of other runs."""
    if (trends := trends_of(run)) is not None:
        yield Section.of("history", history(trends).at(TRENDS), *([trend_table(trends)] if trends else []))
