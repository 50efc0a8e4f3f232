"""Build the sections on load generators: the latency that they add (floor), wrk2's timer, a frozen server, CPU time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.instrument import Floor, Stall, stalls
from runners.analysis.intervals import Bounded
from runners.audit.rules import timing
from runners.design.session import PAIRED
from runners.design.two_generators import NAME, TRUEPACE
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import curve
from runners.report.tables import PROSE, Section, Table
from runners.results import generators
from runners.results.generators import Difference, TwoReadings, two_readings

PUBLISHED = "report-1/put"  # wrk2 on one connection, with its whole spectrum
UP_TO = 0.95  # the highest percentile on a linear axis
ROW_IN = 0.34  # the height of a generator's row
ANCHOR, FIGURE = "wrk2", "two-generators"
#: The colours of the generators, in the order in which figures show them.
COLOURS = style.COLOURS["generators"]
LABELS = {"blocking": "blocking client", "epoll": "plain epoll loop", "truepace": "truepace (ours)"}
DASHES: dict[str, Any] = {"blocking": (0, (4, 2)), "epoll": (0, (1, 1.2))}


def instrument_sections(run: Run) -> Iterator[Section]:
    """Yield the sections on load generators: the latency that they add, a frozen server, wrk2's timer, CPU time."""
    measured = instrument.floors(run.steps)
    if instrument.points(measured):
        yield Section.of("floors", floors(measured).at(generators.FLOORS))
    if seen := stalls(run.find(kind="stall")):
        yield Section.of("stall", stall(seen).at(generators.STALL))
    if rounds := run.find(kind="round"):
        shown, output = chosen(rounds), published(PUBLISHED)
        here = any(facts.tool(step) == "wrk2" for step in shown)
        text = f"{PROSE['timer']['text']} {PROSE['timer']['here' if here else 'absent']}"
        if (line := instrument.timer_fit(output.spectrum_frame())) is not None:
            text += f", which climbs over {words.latency(line.width_us)} at {words.rate(output.rate_rps)}"
        yield Section.of("timer", staircase(shown, output).at(generators.STAIRCASE), text=words.sentence(text))
    if good := [floor for floor in measured if floor.good]:
        yield Section.of(generators.CPU, _costs(good))


def _costs(measured: Sequence[Floor]) -> Table:
    """Return a table of CPU seconds per million requests: a row per generator, a column per rate and connections."""

    def place(floor: Floor) -> tuple[int, float | None]:
        return floor.connections, None if floor.closed else floor.rate_rps

    def cell(cost: Bounded | None) -> str:
        if cost is None:
            return tables.NONE
        value, low, high = map(words.number, (cost.value, cost.low, cost.high))
        return f"{value} ({low}{words.DASH}{high})" if cost.bounded else value

    costs = {(floor.tool, place(floor)): floor.cpu_s_a_million() for floor in measured}
    tools, places = (list(dict.fromkeys(column)) for column in zip(*costs, strict=True))
    head = (f"{words.rate(r) if r else 'closed loop'} on {words.connections(c)}" for c, r in places)
    rows = tuple((label_of(tool), *(cell(costs.get((tool, at))) for at in places)) for tool in tools)
    note = PROSE[generators.CPU]["note"]
    return Table("CPU seconds per million requests", ("generator", *head), rows, note)


def label_of(tool: str) -> str:
    """Return a generator's name for figures."""
    return LABELS.get(tool, style.plain(tool, 20))


def colour_of(tool: str) -> str:
    return COLOURS.get(tool, style.QUIET)


def _lead(measured: Sequence[Floor]) -> tuple[int, float, dict[str, Floor]]:
    fewest, rate = max(instrument.points(measured), key=lambda point: (-point[0], point[1]))
    return fewest, rate, instrument.at_point(measured, fewest, rate)


def _row(axes: Axes, floor: Floor, y: float) -> None:
    colour = colour_of(floor.tool)
    p50, p99 = floor.at(0.5), floor.at(0.99)
    if p50 is None or p99 is None:
        axes.annotate("no round that may be quoted", (0.5, y), xycoords=("axes fraction", "data"), va="center")
        return
    axes.plot([p50.value, p99.value], [y, y], color=colour, linewidth=1, alpha=0.45)
    for level, value, face in ((0.5, p50, colour), (0.99, p99, style.CARD)):
        rounds = [bounded.value for step in floor.good if (bounded := facts.at(step, level)) is not None]
        axes.scatter(rounds, [y + 0.24] * len(rounds), s=7, color=colour, alpha=0.45, linewidths=0)
        axes.plot([value.low, value.high], [y, y], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.scatter([value.value], [y], s=38, facecolor=face, edgecolor=colour, linewidths=1.5, zorder=3)
    text = f"{tables.latency(p50.value)}  /  {tables.latency(p99.value)}"
    style.row_value(axes, text, y, 8)


@style.styled
def floors(measured: Sequence[Floor]) -> style.Picture:
    """Draw every generator's p50 (filled) and p99 (hollow) over its rounds, on a server that does nothing.

    A panel has one rate and connection count. wrk, which has no rate, is in the last panel with its connection count.
    """
    panels: list[tuple[str, list[Floor]]] = []
    points = instrument.points(measured)
    for index, (connections, rate) in enumerate(points):
        group = list(instrument.at_point(measured, connections, rate).values())
        if all(other != connections for other, _ in points[index + 1 :]):  # the last of these connections
            group += [floor for floor in measured if floor.closed and floor.connections == connections]
        panels.append((f"{words.connections(connections)}, {words.rate(rate)}", group))
    ratios = [len(group) + 0.6 for _, group in panels]
    figure = style.Picture(8.4, 1.3 + sum(ROW_IN * len(group) + 0.42 for _, group in panels))
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=ratios)
    for axes, (heading, group) in zip(grid[:, 0], panels, strict=True):
        for y, floor in enumerate(group):
            _row(axes, floor, float(y))
        names = []
        for floor in group:
            reached = floor.achieved() if floor.closed else None
            names.append(label_of(floor.tool) + (f"\nclosed loop: {words.rate(reached.value)}" if reached else ""))
        style.rows(axes, names)
        axes.set_title(heading[0].upper() + heading[1:], fontsize=9.5, pad=4)
        axes.set_xscale("log")
        place: dict[str, Any] = {"xycoords": "axes fraction", "va": "bottom"}
        axes.annotate("p50  /  p99", (1.01, 1.0), fontsize=7.5, color=style.QUIET, **place)
    bottom = grid[-1][0]
    bottom.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    bottom.xaxis.set_major_formatter(style.axis_time)
    bottom.xaxis.set_minor_formatter(NullFormatter())
    bottom.set_xlabel("response time, log (filled: p50, hollow: p99; bar: interval over the rounds; dots: rounds)")
    connections, rate, by_tool = _lead(measured)
    reference = instrument.reference_of(by_tool)
    named = [floor for floor in by_tool.values() if floor.tool == TRUEPACE or floor is reference]
    medians = [f"{label_of(floor.tool)} {words.latency(p50.value)}" for floor in named if (p50 := floor.at(0.5))]
    heading = f"p50 at {words.rate(rate)} on {words.connections(connections)}: {', '.join(medians)}"
    return figure.headed(heading, f"Floors of the generators. {heading}.")


def chosen(steps: Sequence[Step]) -> list[Step]:
    """Return one step per generator: the round with its lowest p99 at the highest rate on the fewest connections."""
    measured = instrument.floors(steps)
    groups = [floor.good for floor in _lead(measured)[2].values()] if instrument.points(measured) else []
    shown = [[step for step in group if not _rows(step.frames["spectrum"]).empty] for group in groups]
    return [min(group, key=lambda step: facts.most_us(step, 0.99)) for group in shown if group]


def _rows(spectrum: pd.DataFrame) -> pd.DataFrame:
    return spectrum[(spectrum["kind"] == facts.RESPONSE) & (spectrum["percentile"] <= UP_TO)]


@style.styled
def staircase(rounds: Sequence[Step], published: ConsoleReport) -> style.Picture:
    """Draw latency by percentile on linear axes. A generator with a 1 ms timer, such as wrk2, has a straight line."""
    curves = [(label_of(tool := facts.tool(step)), step.frames["spectrum"], colour_of(tool), "-") for step in rounds]
    name = f"published (wrk2, {words.rate(published.rate_rps)})"
    curves.append((name, published.spectrum_frame(), style.INK, ":"))
    figure = style.Picture(8.4, 4.2)
    axes = figure.add_subplot()
    ticks = list[str]()
    tops: dict[bool, list[float]] = {True: [], False: []}  # the height of the lines that climb by a tick, and of others
    for name, spectrum, colour, dash in curves:
        rows, line = _rows(spectrum), instrument.timer_fit(spectrum)
        axes.plot(rows["percentile"], rows["value_us"], color=colour, linestyle=dash, label=name)
        climbs = line is not None and line.is_millisecond_timer
        tops[climbs].append(float(rows[rows["percentile"] <= timing.UP_TO]["value_us"].max()))
        if line is not None and climbs:
            ticks.append(f"{name.partition(',')[0].replace('(wrk2', 'wrk2')} ({words.latency(line.width_us)})")
    axes.set(xlim=(0, 1), xlabel=f"percentile (linear, up to p{100 * UP_TO:g})")
    axes.set(ylim=(0, 1.35 * max(tops[True] or tops[False])), ylabel="response time (linear)")
    axes.xaxis.set(major_locator=MultipleLocator(0.1), major_formatter=lambda value, _: f"{100 * value:.0f} %")
    axes.yaxis.set_major_formatter(style.axis_time)
    style.legend(figure, 5)
    heading = "No generator shows a tick: latencies are flat in the percentile"
    if ticks:
        verb = "climbs" if len(ticks) == 1 else "climb"
        heading = f"{words.listed(ticks)} {verb} in a straight line: a timer of 1{words.NBSP}ms"
    return figure.headed(heading, f"Latency over the percentile on linear axes. {heading}.")


@style.styled
def stall(seen: Sequence[Stall]) -> style.Picture:
    """Draw how many requests to a frozen server took longer than each response time, a line per generator.

    The broad grey line shows the waits that the schedule implies. The line of a generator that counts all lies on it.
    """
    figure = style.Picture(8.4, 4.6)
    axes = figure.add_subplot()
    seen = sorted(seen, key=lambda load: (*COLOURS, load.tool).index(load.tool))
    longest_s = max(load.longest_s for load in seen)
    waits_s = np.linspace(0.01, 1.02, 400) * longest_s
    paced = [load for load in seen if words.known(load.rate_rps)]
    if paced:
        best = next((load for load in paced if words.known(load.censored)), paced[0])
        broad: dict[str, Any] = {"color": style.FLOOR, "linewidth": 7, "alpha": 0.55, "solid_capstyle": "butt"}
        expected = [best.expected_above(wait_s) for wait_s in waits_s]
        axes.plot(waits_s, expected, label="must wait, by the schedule", **broad)
    for load in reversed(seen):
        label = label_of(load.tool)
        drawn: dict[str, Any] = {"color": colour_of(load.tool), "linewidth": 2}
        if len(load.waits_s):
            counted = [load.counted_above(wait_s) for wait_s in waits_s]
            axes.plot(waits_s, counted, linestyle=DASHES.get(load.tool, "-"), label=label, **drawn)
        else:
            axes.plot([0, load.max_us / 1e6], [1, 1], "o-", markevery=[1], label=f"{label} (its longest)", **drawn)
    axes.set(xlim=(0, longest_s * 1.04), xlabel="response time (s)")
    axes.set(ylim=(0, None), ylabel="requests that took longer")
    axes.yaxis.set_major_formatter(style.axis_count)
    style.legend(figure, 3)
    counting = [load for load in seen if words.known(load.seen_share)]
    parts = [f"{label_of(load.tool)} {words.percent(load.seen_share)}" for load in counting]
    counted_text = f"Long waits that are counted: {', '.join(parts)}"
    heading = counted_text if parts else "No generator with a schedule saw a stall"
    return figure.headed(heading, f"Requests that took longer than a time, of a server that was frozen. {heading}.")


def two_generators_sections(run: Run) -> Iterator[Section]:
    """Yield the section that compares what wrk2 and truepace measured of one load, if the run has such a load."""
    if (readings := two_readings(run.steps)) is not None:
        yield Section.of(ANCHOR, two_generators(readings).at(FIGURE), text=_text(readings))


def _text(readings: TwoReadings) -> str:
    step, rounds = readings.loads[-1], readings.median.rounds
    load = f"{facts.title(step)} at {words.rate(facts.offered_rps(step))}"
    on = words.connections(step.record.connections)
    counted = "one round has no interval" if rounds == 1 else f"in brackets the range of {words.count(rounds)} rounds"
    read = ", ".join(map(_added, readings.differences))
    added_us, in_one = readings.median.added_us, " in the one round" if rounds == 1 else ""
    heading = f"wrk2 reads a {'higher' if added_us.value > 0 else 'lower'} median than truepace{in_one}"
    if added_us.holds_zero:
        heading = "wrk2 and truepace read the same median, as far as these rounds tell"
    text = f"{heading}: {read}. The load is {load} on {on}, on one warm server, by wrk2 and by "
    text += f"truepace, the lab's own generator, in random order; {counted}."
    if readings.tick_us is None:
        return text
    tick = f"wrk2's percentiles climb evenly over {words.latency(readings.tick_us)}"
    return f"{text} {tick}: it wakes by the millisecond, so that requests leave late."


def _added(difference: Difference) -> str:
    added, name = difference.added_us, words.level(difference.level)
    if added.holds_zero:
        return f"{name} not decided ({words.latency_interval(added.value, added.low, added.high)})"
    if added.value < 0:
        return f"{name} {words.latency_interval(-added.value, -added.high, -added.low)} lower"
    return f"{name} {words.latency_interval(added.value, added.low, added.high)} higher"


@style.styled
def two_generators(readings: TwoReadings) -> style.Picture:
    """Draw response time by percentile, a line for every round of wrk2 and of truepace."""
    spectra = ((step.frames["spectrum"], facts.tool(step)) for step in readings.loads)
    curves = (curve(spectrum, facts.RESPONSE, label_of(tool), colour_of(tool)) for spectrum, tool in spectra)
    lines = [line for line in curves if line is not None]
    figure = style.Picture(8.4, 4.4)
    axes = figure.add_subplot()
    for line in lines:
        axes.plot(line.x, line.value_us, color=line.colour, linewidth=1.3, alpha=0.75, label=line.label)
    values = np.concatenate([line.value_us for line in lines] or [np.ones(1)])
    style.percentile_axis(axes, max((line.x[-1] for line in lines), default=1.0))
    style.latency_axis(axes, values.min(), values.max())
    axes.set_ylabel("response time (log)")
    style.legend(figure, 2)
    heading = f"wrk2 against truepace: {', '.join(map(_added, readings.differences))}"
    return figure.headed(heading, f"Response time by percentile of one load. {heading}.")


def consoles(run: Run) -> Iterator[tuple[str, str]]:
    """Yield (title, printed output) of each generator's first round that the comparison of medians counts, if any."""
    readings = two_readings(run.steps)
    for step in readings.shown if readings else run.find(kind=PAIRED):
        if text := step.folder.console_text():
            load = f"{words.rate(facts.offered_rps(step))} on {words.connections(step.record.connections)}"
            yield f"What {facts.tool(step)} printed ({load})", text


def left_out(run: Run) -> Iterator[str]:
    """If a load by wrk2 was planned but left out, yield a sentence that says so, and how to get wrk2."""
    if NAME in (run.manifest.get("left_out") or ()) and not run.find(kind=PAIRED):
        yield PROSE[ANCHOR]["absent"]
