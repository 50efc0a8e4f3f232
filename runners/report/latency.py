"""Draw latency: percentile spectra of loads, of one run or several, and latency over time with the causes of spikes.

A spectrum shows latency by percentile p, on a logarithmic axis of 1/(1 - p) as in HdrHistogram's plots (Tene, "How NOT
to measure latency"): each decade to the right is ten times rarer. Response time (from the intended start of a request)
is solid, service time (from its actual send) is dashed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from msgspec.structs import replace as record_with

from runners import words
from runners.analysis import facts, instrument, latency_spikes, tail_attribution
from runners.analysis.facts import quotable
from runners.analysis.latency_spikes import Grid
from runners.analysis.tail_attribution import Attribution, Share
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.flamegraph import names_of
from runners.report.style import floor_lines, reach

FEW = 10  # a percentile with fewer samples beyond it is drawn faint


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a spectrum: its points, and how it is drawn."""

    label: str
    x: np.ndarray[Any, np.dtype[np.float64]]  # 1/(1-p) for percentiles p
    value_us: np.ndarray[Any, np.dtype[np.float64]]
    count: int  # the number of samples
    colour: str
    dash: Any = "-"
    width: float = 1.8
    alpha: float = 1.0

    @property
    def few_from(self) -> float:
        """The value of 1/(1-p) beyond which fewer than ten samples lie."""
        return max(1.0, self.count / FEW)


def curve(spectrum: pd.DataFrame, kind: str, label: str, colour: str, **drawn: Any) -> Curve | None:
    """Return a spectrum's curve of one `kind` (response or service), None without data; `drawn`: fields of Curve."""
    rows = spectrum[spectrum["kind"] == kind]
    p, value_us, total = (rows[column].to_numpy(float) for column in ("percentile", "value_us", "total_count"))
    count = int(max(total[np.isfinite(total)], default=0))
    known = np.isfinite(p) & np.isfinite(value_us) & (value_us > 0) & (p >= 0) & (p <= 1)
    if count < 1 or not known.any():
        return None
    p, value_us = p[known], value_us[known]
    order = np.lexsort((value_us, p))
    with np.errstate(divide="ignore"):
        # The maximum has no place on a logarithmic axis. With n samples it is seen once in n.
        x = np.minimum(1 / (1 - p[order]), count)
    return Curve(style.plain(label, 60), x, np.maximum.accumulate(value_us[order]), count, colour, **drawn)


def curves(
    steps: Sequence[Step], published: ConsoleReport | None, service: bool, labels: Mapping[str, str]
) -> list[Curve]:
    """Return a curve of response time for every step that may be quoted, then the curve of the published output.

    `service` adds curves of service time. `labels` replaces names of steps in the legend, by step name.
    """
    lines, colours = list[Curve | None](), colours_of(steps)
    for step in filter(quotable, steps):
        spectrum, colour = step.frames["spectrum"], colours[step.name]
        name = labels.get(step.name, style.engine_name(step.subject))
        if step.profiled:
            label = f"{name} response, profiled"
            lines.append(curve(spectrum, "response", label, colour, dash="-.", width=1.4, alpha=0.6))
            continue
        lines.append(curve(spectrum, "response", f"{name} response", colour))
        if service:
            lines.append(curve(spectrum, "service", f"{name} service", colour, dash=(0, (4, 2)), width=1.2))
    if published is not None:
        at = f", at {tables.rate(published.rate_rps)}" if published.rate_rps else ""
        spectrum = published.spectrum_frame()
        lines.append(curve(spectrum, "response", f"published{at}", style.INK, dash=(0, (1, 1.2))))
    return [line for line in lines if line is not None]


#: The colours of several loads of one treatment, in the order of the loads.
RATE_COLOURS = (style.SKY, style.BLUE, style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE)


def colours_of(steps: Sequence[Step]) -> dict[str, str]:
    """Return a colour by step name: one per setting, or one per step if all steps are of one setting."""
    by_subject = style.colours_of(step.subject for step in steps)
    clean = [step.name for step in steps if not step.profiled]
    if len(by_subject) == 1 and len(clean) > 1:
        own = {name: RATE_COLOURS[place % len(RATE_COLOURS)] for place, name in enumerate(clean)}
        return {step.name: own.get(step.name, style.QUIET) for step in steps}
    return {step.name: by_subject[step.subject] for step in steps}


def _line(axes: Axes, line: Curve) -> None:
    """Draw a curve. It is faint after the last point that has ten samples beyond it."""
    drawn: dict[str, Any] = {"color": line.colour, "linestyle": line.dash, "linewidth": line.width}
    sure = int(np.searchsorted(line.x, line.few_from, side="right"))
    marker = "o" if len(line.x) == 1 else None
    axes.plot(line.x[:sure], line.value_us[:sure], label=line.label, alpha=line.alpha, marker=marker, **drawn)
    if sure == len(line.x):
        return
    last = max(0, sure - 1)
    axes.plot(line.x[last:], line.value_us[last:], alpha=line.alpha * 0.35, **drawn)
    if sure:
        tick: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.6, "color": line.colour}
        axes.plot(line.x[last], line.value_us[last], alpha=line.alpha, **tick)


def _censored(axes: Axes, steps: Sequence[Step]) -> None:
    """Draw a line for each load in which requests got no response. Beyond that line, latencies are lower bounds."""
    colours = colours_of(steps)
    bounded = [step for step in steps if not step.profiled and quotable(step) and facts.number(step, "censored") >= 1]
    for place, step in enumerate(bounded):
        censored, scheduled = facts.number(step, "censored"), facts.number(step, "scheduled")
        x, colour = max(1.0, scheduled / censored), colours[step.name]
        name, missing = style.engine_name(step.subject), tables.count(censored)
        axes.axvline(x, color=colour, linewidth=1, linestyle=(0, (2, 3)))
        axes.annotate(
            f"{name}: {missing} without a response, beyond this line at least", (x, 0.99 - 0.05 * place), (-4, 0),
            ("data", "axes fraction"), "offset points", ha="right", va="top", fontsize=7.5, color=colour,
            bbox={"facecolor": style.CARD, "edgecolor": "none", "alpha": 0.85, "pad": 1},
        )  # fmt: skip


@style.styled
def spectrum(
    *steps: Step, published: ConsoleReport | None = None, floor: Step | None = None, service: bool = True,
    heading: str = "", labels: Mapping[str, str] | None = None, limits: Sequence[tuple[float, float]] = (),
) -> style.Picture:  # fmt: skip
    """Draw latency by percentile: of `steps`, a published output and the floor (a load on a do-nothing server).

    A curve is faint where fewer than ten samples are slower. Invalid and saturated steps have no curve. The floor is
    solid if its rate and connections are those of a step, else dotted. `service` adds service times. `heading` states
    the result. `labels`: {step name: name in the legend}. `limits`: (percentile 0..1, limit in us) of an objective.
    """
    lines, floor_curve = curves(steps, published, service, labels or {}), None
    if floor is not None and quotable(floor):
        label, dash = style.floor_look(floor, steps)
        floor_curve = curve(floor.frames["spectrum"], "response", label, style.FLOOR, dash=dash, width=0.9)
    drawn = [*([floor_curve] if floor_curve else []), *lines]
    if not drawn:
        return style.empty("nothing to draw")
    figure = style.Picture(8.4, 5.0)
    axes = figure.add_subplot()
    low = min(line.value_us[0] for line in drawn)
    high = max([*(line.value_us[-1] for line in drawn), *(limit_us for _, limit_us in limits)])
    for line in drawn:
        _line(axes, line)
    if floor_curve and floor_curve.dash == style.SOLID:  # taken at this load: what lies below is shaded
        axes.fill_between(floor_curve.x, low / 10, floor_curve.value_us, color=style.FLOOR, alpha=0.22, linewidth=0)
    for level, limit_us in limits:
        name = f"objective: {words.level(level)} within {words.given_latency(limit_us)}"
        ends = [1.0, 1 / (1 - level)]
        axes.plot(ends, [limit_us] * 2, ":", color=style.INK, marker="v", markevery=[1], linewidth=1.2, label=name)
    _censored(axes, steps)
    style.percentile_axis(axes, max(line.x[-1] for line in drawn))
    style.latency_axis(axes, low, high)
    axes.set_ylabel("latency (log)")
    if any(line.x[-1] > line.few_from for line in drawn):
        note = f"faint after |: fewer than {FEW} samples beyond"
        axes.text(0.995, 0.02, note, transform=axes.transAxes, ha="right", fontsize=7.5, color=style.QUIET)
    style.legend(figure, 3 if len(drawn) in (3, 5, 6) else 4)
    heading = heading or f"{style.workloads(steps)}: response time by percentile"
    return figure.headed(heading, f"Latency by percentile. {heading}.")


LINES = (("p50_us", "p50", 1.2, "-"), ("p99_us", "p99", 1.5, (0, (4, 1.2))), ("max_us", "max", 0.8, (0, (1, 1))))
COLUMNS = ["t_s", "end_s", *(name for name, *_ in LINES)]
#: The colours of the lines across the panels, by what happened to the server.
EVENT_COLOURS = {"killed": style.VERMILION, "started": style.ORANGE, "responds": style.GREEN}
#: The colours of the lane of a cause that explains spikes beyond chance, of any other cause's lane, and of spikes.
NAMED, NOT_NAMED, MARK = style.PURPLE, "#9aa2ab", "#fbe3d3"
MOST_LANES = 9
TITLES = 0.78  # share of a column's width that its title may take; labels of the axis and the floor take the rest
WORDS = 0.35  # room above the curves for the words of `marks`, as a share of the curves' height
LEAST_WIDTH = 0.002  # of a drawn event, as a share of the axis, so that a pause of a millisecond can be seen

Marks = Mapping[str, Sequence[tuple[float, str]]]


def latency_of(step: Step, grid: Grid | None) -> pd.DataFrame:
    """Return a step's latencies over time: a row per time slice of `grid`, or per second if `grid` is None.

    The columns are COLUMNS: begin and end of the slice in seconds, then p50, p99 and maximum in us.
    """
    if grid is not None:
        t_s = np.arange(len(grid.counts)) * grid.slice_s
        values = (t_s, t_s + grid.slice_s, grid.at(0.5), grid.at(0.99), grid.at(1.0))
        return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
    rows = seconds_of(step)
    return rows.assign(end_s=rows["t_s"] + 1)[COLUMNS].astype(float)


def seconds_of(step: Step) -> pd.DataFrame:
    """Return the per-second rows of a step's response times, in time order."""
    frame = step.frames["intervals"]
    return frame[frame["kind"] == facts.RESPONSE].sort_values("t_s", kind="stable")


def timeline_title(step: Step, seen: Attribution | None) -> str:
    """Return a title with the causes of slow responses in `seen`; if that is None, median and worst p99 of a second."""
    name = style.name_of(step)
    if seen is None:
        p99_us = seconds_of(step)["p99_us"].to_numpy(float)
        if not np.isfinite(p99_us).any():
            return f"{name}: no latency by the second"
        usual, worst = tables.latency(np.nanmedian(p99_us)), tables.latency(np.nanmax(p99_us))
        return f"{name}: p99 of the usual second {usual}, of the worst {worst}"
    if not seen.tail.spikes:
        return f"{name}: nothing stands out; median p99 {tables.latency(seen.tail.usual_us)}"
    named = [share for share in seen.named if share.share.value >= tail_attribution.LEAST_SHARE]
    if not named:
        return f"{name}: no recorded cause explains the tail beyond chance"
    parts = [f"{share.cause.name} {tables.share(share.share.value)}" for share in named[:3]]
    return f"{name}, slow responses waited for: {', '.join(parts)}; no recorded cause {tables.share(seen.unexplained)}"


@style.styled
def timeline(
    *steps: Step, floor: Step | None = None, marks: Marks | None = None, titles: Sequence[str] = ()
) -> style.Picture:
    """Draw each load as a column of two panels: latency with the floor, and good and failed responses per second.

    `floor` is a load on a server that does nothing. `marks` has the events of the server by step name, as (seconds,
    word): an event is a line across both panels. `titles` replaces the titles of the columns. A single load without
    `marks` also shows its latency spikes, and a lane with the events of each cause.
    """
    marks = marks or {}
    shown = []
    for step in steps:
        grid = (latency_spikes.tenths if marks else latency_spikes.grid)(step.frames["slices"])
        if (marks or quotable(step)) and not (rows := latency_of(step, grid)).empty:
            shown.append((step, rows))
    if not shown:
        return style.empty("no valid step to draw over time")
    seen = tail_attribution.attribution(shown[0][0]) if len(shown) == 1 and not marks else None
    # named causes first, then those that come nearest to spikes
    shares = sorted(seen.shares, key=lambda s: (not s.named, -s.share.value, s.p, s.cause.name)) if seen else []
    lanes = shares[:MOST_LANES]
    heights = [2.3, 0.9, *([0.24 * len(lanes)] if lanes else [])]
    figure = style.Picture(8.4, 4.2 + 0.26 * len(lanes))
    panels = figure.subplots(len(heights), len(shown), sharex="col", sharey="row", squeeze=False, height_ratios=heights)
    titles = titles or [timeline_title(step, seen) for step, _ in shown]
    values, most = list[float](), 1.0
    for place, (step, rows) in enumerate(shown):
        latency, responses, lowest = panels[0][place], panels[1][place], panels[-1][place]
        values += _latency(latency, step, rows)
        most = max(most, _responses(responses, step))
        for at_s, word in marks.get(step.name, ()):
            for axes in (latency, responses):
                axes.axvline(at_s, color=EVENT_COLOURS.get(word, style.INK), linewidth=1.2, linestyle=(0, (4, 2)))
            latency.annotate(
                word, (at_s, 0.985), (2, 0), ("data", "axes fraction"), "offset points", fontsize=7.5, color=style.INK,
                va="top", rotation=90,
            )  # fmt: skip
        if seen is None:
            room_in = TITLES * figure.get_figwidth() / len(shown)
            latency.set_title("\n".join(style.broken(titles[place], room_in)), fontsize=10)
        lowest.set_xlabel("seconds since the start of the measurement")
        lowest.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        latency.set_xlim(float(rows["t_s"].iloc[0]), float(rows["end_s"].iloc[-1]))
    low, high = min([*values, *reach(floor)], default=1.0), max(values, default=1e3)
    style.latency_axis(panels[0][0], low, high * ((high / low) ** WORDS if marks else 1.0))
    entries = [floor_lines(axes, floor, [step for step, _ in shown]) for axes in panels[0]]
    panels[0][0].set_ylabel("latency (log)")
    panels[1][0].set(ylabel="responses/s", ylim=(0, 1.15 * most))  # all columns share it
    if seen is not None:
        _spikes(panels[0][0], seen, f"latency spike ({len(seen.tail.spikes)})")
        panels[0][0].axhline(
            seen.tail.threshold_us, color=style.QUIET, linewidth=0.8, linestyle=(0, (6, 3)), label="threshold"
        )
        if lanes:
            _lanes(panels[2][0], lanes, seen)
    handles = [handle for axes in panels[:2, 0] for handle in axes.get_legend_handles_labels()[0]]
    style.legend(figure, 5, 8, [*handles, *(entry for entry in entries[:1] if entry)])
    figure.align_ylabels(list(panels[:2, 0]))
    if seen is not None:
        return figure.headed(titles[0], f"Latency over time. {titles[0]}.")
    figure.alt = f"Latency, responses and errors by time. {'. '.join(titles)}."
    return figure


def _latency(axes: Axes, step: Step, rows: pd.DataFrame) -> list[float]:
    middle_s = (rows["t_s"] + rows["end_s"]) / 2
    values: list[float] = []
    for name, line, width, dash in LINES:
        us = rows[name].to_numpy(float, copy=True)
        us[~((us > 0) & np.isfinite(us))] = np.nan
        drawn: dict[str, Any] = {"linewidth": width, "linestyle": dash, "marker": "o" if len(rows) < 3 else None}
        axes.plot(middle_s, us, color=style.colour_of(step.subject), label=line, **drawn)
        values += list(us[np.isfinite(us)])
    return values


def _responses(axes: Axes, step: Step) -> float:
    """Draw good and failed responses per second, and the offered rate; return the highest drawn rate."""
    rows = seconds_of(step)
    completed, failed = (np.nan_to_num(rows[name].to_numpy(float)) for name in ("completed", "errors"))
    if len(rows):
        edges = [*rows["t_s"], float(rows["t_s"].max()) + 1]
        axes.stairs(completed - failed, edges, fill=True, color=style.GRID, label="good")
        if failed.any():
            axes.stairs(completed, edges, baseline=completed - failed, fill=True, color=style.VERMILION, label="failed")
    offered_rps = step.record.offered_rps
    if words.known(offered_rps):
        axes.axhline(offered_rps, color=style.QUIET, linewidth=0.9, linestyle=(0, (4, 3)), label="offered")
    axes.yaxis.set(major_locator=MaxNLocator(4, integer=True), major_formatter=style.axis_count)
    return max([0.0, offered_rps or 0.0, *map(float, completed)])


def _spikes(axes: Axes, seen: Attribution, label: str | None = None) -> None:
    spans = _merged(((spike.begin_s, spike.end_s) for spike in seen.tail.spikes), LEAST_WIDTH * seen.tail.length_s)
    drawn: dict[str, Any] = {"color": MARK, "linewidth": 0, "zorder": 0, "label": label}
    if spans:
        axes.broken_barh(spans, (0, 1), transform=axes.get_xaxis_transform(), **drawn)


def _merged(spans: Iterable[tuple[float, float]], least_s: float) -> list[tuple[float, float]]:
    """Return spans as (begin, length) of at least `least_s`, joining spans that are less than `least_s` apart."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted((max(0.0, begin), end) for begin, end in spans):
        end = max(end, begin + least_s)
        if merged and begin < merged[-1][1] + least_s:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return [(begin, end - begin) for begin, end in merged]


def _lanes(axes: Axes, lanes: Sequence[Share], seen: Attribution) -> None:
    least_s = LEAST_WIDTH * seen.tail.length_s
    _spikes(axes, seen)
    for row, share in enumerate(lanes):
        spans = zip(share.cause.begin_s, share.cause.end_s, strict=True)
        colour = NAMED if share.named else NOT_NAMED
        axes.broken_barh(_merged(spans, least_s), (row - 0.36, 0.72), color=colour, linewidth=0)
    labels = [f"{s.cause.name} {tables.share(s.share.value)}" if s.named else s.cause.name for s in lanes]
    style.rows(axes, labels, 8)
    for text, share in zip(axes.get_yticklabels(), lanes, strict=True):
        text.set_fontweight("bold" if share.named else "normal")


#: A load and its run. The run's floors (loads on a do-nothing server) show what latency the generator may have added.
Load = tuple[Step, Run]
#: Percentiles for a figure's heading, which has the first of them that the generator did not cause in any load.
HEADLINE_LEVELS = (0.99, 0.5)
MOST_VALUES = 4  # of a heading
ID_LETTERS = 4  # the unique part at the end of a run's name


def headline(loads: Sequence[Load], names: Sequence[str] = ()) -> str:
    """Return a heading with workloads, rate and p99s, or medians if the generator may have caused one of the p99s."""
    steps = [step for step, _ in loads]
    made = {level for level in HEADLINE_LEVELS for step, run in loads if instrument.unresolved(run.steps, step, level)}
    level = next((level for level in HEADLINE_LEVELS if level not in made), None)
    rates = {facts.offered_rps(step) for step in steps}
    at = f" at {words.rate(rates.pop())}" if len(rates) == 1 else ""
    heading = style.workloads(steps) + at
    named = list(zip(names or [style.engine_name(step.subject) for step in steps], loads, strict=True))
    fast = [instrument.within_instrument(run.steps, step, 0.5) for step, run in loads]
    if level is None and all(fast):
        return f"{heading}: too fast for this instrument, about as a server that does nothing"
    shown = [pair for pair, own in zip(named, fast, strict=True) if level is not None or not own]
    quoted = ((name, facts.quoted(step, level or 0.5)) for name, (step, _) in shown)
    values = [f"{name} {facts.written(us)}" for name, us in quoted if us is not None]
    if not 0 < len(values) <= MOST_VALUES or (level is None and not any(fast)):
        return f"{heading}: response time by percentile"
    rest = [f"{name} too fast for this instrument" for (name, _), own in zip(named, fast, strict=True) if own]
    return f"{heading}: {words.level(level or 0.5)} {', '.join([*values, *(rest if level is None else [])])}"


def distinct_names(loads: Sequence[Load]) -> list[str]:
    """Return a distinct name for each load. A name has the rate, run or step only if it needs this to be distinct."""
    names = names_of(*(step for step, _ in loads))
    if len({run.folder.path for _, run in loads}) > 1:
        runs = (f"reference {run.name}" if run.folder.archived else f"run {run.name[-ID_LETTERS:]}" for _, run in loads)
        names = [f"{name}, {run}" for name, run in zip(names, runs, strict=True)]
    named = zip(names, loads, strict=True)
    return [name if names.count(name) == 1 else f"{name} ({step.name})" for name, (step, _) in named]


def overlay(loads: Sequence[Load], published: ConsoleReport | None = None) -> style.Picture:
    """Draw spectra of loads, of a published output, and of the do-nothing server at a load most like the first one."""
    names = distinct_names(loads)
    floor = instrument.nearest_floor(loads[0][1].steps, loads[0][0]) if loads else None
    drawn = [replace(step, name=name) for step, name in zip(as_treatments(loads), names, strict=True)]
    heading = headline(loads, names) if loads else ""
    labels = {name: name for name in names}
    picture = spectrum(*drawn, published=published, floor=floor, heading=heading, labels=labels)
    picture.alt = f"Latency by percentile. {heading}. Loads: {'; '.join(names) or 'none'}."
    return picture


def as_treatments(loads: Sequence[Load]) -> list[Step]:
    """Return the steps of `loads` with distinct names of treatments, as figures name and colour steps by treatment."""
    several = len({run.folder.path for _, run in loads}) > 1
    apart, taken = list[Step](), set[str]()
    for (step, run), name in zip(loads, distinct_names(loads), strict=True):
        treatment = f"{style.engine_name(step.subject)} {run.name[-ID_LETTERS:]}" if several else step.subject
        treatment = name if treatment in taken else treatment
        taken.add(treatment)
        apart.append(replace(step, record=record_with(step.record, treatment=treatment)))
    return apart
