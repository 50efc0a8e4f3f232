"""Draw and tabulate ladders (loads of one server at several rates), their knees, and published rates."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.knee import Kind, Knee, Limit, rate_interval
from runners.analysis.rate_steps import ACHIEVED, ERRORS, Point, StepOutcome
from runners.design.objective import Objective
from runners.design.setting import CEILING
from runners.readers.console_report import Latencies
from runners.readers.output import Output
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.style import floor_lines, reach
from runners.report.tables import PROSE, Linked, Section, Table
from runners.results.ladders import KNEE, Ladder, Searched, between, knees, ladders, missed_above, searched_together
from runners.results.published import of_setting, taken_at_rps

LEVELS = ((0.5, style.SKY, "o"), (0.99, style.BLUE, "s"), (0.999, style.PURPLE, "^"))
WIDE = 8.0  # rates whose ratio is larger than this are drawn on a logarithmic axis
FEW_DECADES = 100.0  # if the ratio of the rates is below this, a logarithmic axis has labels at 1, 2 and 5 of a decade
MOST_DRAWN = 3  # ladders that a report draws one by one
MOST_NOT_OFFERED = 2  # rows that a table has, of the highest published rates, if this run offered none of them


def objective_words(objective: Objective) -> str:
    """Return an objective in words: p99 within 10 ms, 99 % of the rate, no errors."""
    limits = [f"{words.level(level)} within {words.given_latency(limit)}" for level, limit in objective.latencies]
    errors = f"errors up to {words.given_share(objective.errors)}" if objective.errors else "no errors"
    return ", ".join([*limits, f"{words.given_share(objective.achieved)} of the rate", errors])


def sides_of(knee: Knee) -> str:
    """Return in words at which rates the objective was met and missed, for a search without a knee."""
    low, high = (words.rate(rps) if words.known(rps) else "" for rps in (knee.low_rps, knee.high_rps))
    if low and high:
        return f"met up to {low} and missed from {high} on, with no knee between"
    if low:
        return f"met at {low}; the steps above do not bound the knee"
    return f"missed at {high}; the steps below do not bound the knee" if high else "neither met nor missed often enough"


def support_words(ladder: Ladder, knee: Knee) -> str:
    """Return in words what bounds a knee: longer steps, or else a closed loop; if nothing does, "not confirmed"."""
    missed = "objective missed" if knee.limit == Limit.LONGER_STEP else ""
    refuting = ladder.known.refuting if missed and ladder.known else None
    stalled = ", the machine's stalls left out" if refuting is not None and refuting.busy < 1 else ""
    bounding = {knee.confirmed_by: ("objective met", ""), knee.refuted_by: (missed, stalled)}
    steps = {step.name: step for step in (*ladder.steps, *ladder.other_steps)}
    parts = [
        f"{outcome} for {words.seconds(step.record.duration_s)} at {words.rate(facts.offered_rps(step))}{during}"
        for name, (outcome, during) in bounding.items()
        if outcome and (step := steps.get(name)) is not None
    ]
    if knee.confirmed and ladder.known and (above := [step for step in ladder.known.met if step.rps > knee.rps]):
        highest = f"for {words.seconds(above[-1].length_s)} at {words.rate(above[-1].rps)}"
        parts.insert(1, f"{highest} (too short to confirm it)")
    if parts:
        return ", ".join(parts)
    if knee.limit == Limit.CLOSED_LOOP:
        reached = f"its closed loop reaches {words.rounded_rate(knee.closed_loop_rps)}"
        return f"{reached}, before JIT compilation was done" if ladder.compiling else reached
    return "not confirmed"


def title(ladder: Ladder) -> str:
    """Return a heading with a ladder's result: its knee, or the fixed rates that met the objective."""
    knee = ladder.knee
    if knee is None:
        return f"{ladder.title}: {'objective met: ' if ladder.objective else ''}{_rates(ladder)}"
    if knee.late:
        return f"{ladder.title}: knee {rate_interval(knee)}, further up the generator was late"
    if knee.kind == Kind.ABOVE:
        return f"{ladder.title}: no knee up to {tables.rate(knee.low_rps)}"
    if not knee.known:
        return f"{ladder.title}: no knee known, {sides_of(knee)}"
    at = "knee at" if knee.located else "knee"
    return f"{ladder.title}: {at} {rate_interval(knee)}, {support_words(ladder, knee)}"


def _resolved(point: Point, level: float, judged: bool) -> float:
    enough = point.samples * (1 - level) >= facts.ENOUGH_BEYOND
    return point.rate_step.at(level) if enough or judged else math.nan


HOLLOW, PALE = "hollow: misses the objective", "pale: at most, generator late"
#: The marker styles of rate steps, by their labels in the legend.
MARKS: dict[str, dict[str, Any]] = {"": {}, HOLLOW: {"fillstyle": "none"}, PALE: {"alpha": 0.35, "markeredgewidth": 0}}


@style.styled
def ladder(shown: Ladder, published: Sequence[Output] = (), floor: Step | None = None) -> style.Picture:
    """Draw latency and achieved share by rate; latencies also of `published` and `floor` (on a do-nothing server)."""
    figure = style.Picture(8.4, 5.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1.0))
    there = [(float(taken_at_rps(o) or o.offered_rps), o.report.latencies) for o in published if o.offered_rps]
    _latencies(above, shown, there, floor)
    _achieved(below, shown)
    rates_rps = [*(point.rps for point in shown.points), *(rps for rps, _ in there)]
    low, high = min(rates_rps), max(rates_rps)
    for axes in (above, below):
        if high / low > WIDE:
            spare = (high / low) ** 0.06
            subs = (1.0, 2.0, 5.0) if high / low < FEW_DECADES else (1.0,)
            axes.set(xscale="log", xlim=(low / spare, high * spare))
            axes.xaxis.set(major_locator=LogLocator(subs=subs), minor_formatter=NullFormatter())
        else:
            axes.set_xlim(0, high * 1.08)
        _knee(axes, shown.knee)
        axes.xaxis.set_major_formatter(style.axis_count)
    below.set_xlabel("offered rate (requests per second)")
    line = floor_lines(above, floor, ())
    handles = [handle for axes in (above, below) for handle in axes.get_legend_handles_labels()[0]]
    style.legend(figure, 4, 8, [*handles, *([line] if line else [])])
    figure.align_ylabels([above, below])
    heading = title(shown)
    return figure.headed(heading, f"Latency and achieved share against the offered rate. {heading}.")


def _latencies(axes: Axes, shown: Ladder, there: Sequence[tuple[float, Latencies]], floor: Step | None) -> None:
    """Draw percentiles over the offered rate. `there` has (requests per second, latencies) of published outputs."""
    limits = shown.objective.latencies if shown.objective else ()
    decided, seen = [point for point in shown.points if point.counts], reach(floor)
    rates_rps, met = np.array([point.rps for point in decided]), StepOutcome.MET
    marks = np.array([HOLLOW if point.outcome != met else PALE if point.late else "" for point in decided], str)
    for level, colour, marker in LEVELS:
        us = np.array([_resolved(point, level, level in dict(limits)) for point in decided])
        known = np.isfinite(us) & (us > 0)
        if not known.any():
            continue
        dots: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 5, "zorder": 3}
        for mark, drawn in MARKS.items():
            own = known & (marks == mark)
            axes.plot(rates_rps[own], us[own], label="" if mark else f"p{level * 100:g}", **dots, **drawn)
        middle = pd.Series(us[known]).groupby(rates_rps[known]).median()
        axes.plot(middle.index, middle, color=colour, linewidth=0.9, alpha=0.6)
        seen += list(us[known])
    for mark in [mark for mark in (HOLLOW, PALE) if mark in marks]:
        axes.plot([], [], label=mark, color=style.INK, marker="o", linestyle="none", markersize=5, **MARKS[mark])
    for level, face in ((0.99, style.VERMILION), (0.5, "none")) if there else ():
        points = [(rps, stated) for rps, latencies in there if (stated := latencies.at(level)) is not None]
        axes.scatter(
            [rps for rps, _ in points], [us for _, us in points], 34, marker="D", facecolors=face,
            edgecolors=style.VERMILION, label=f"published p{level * 100:g}",
        )  # fmt: skip
        seen += [us for _, us in points if us > 0]
    for level, limit_us in limits:
        axes.axhline(limit_us, color=style.VERMILION, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            f"limit of p{level * 100:g}: {tables.latency(limit_us)}", (0.0, limit_us), (4, 3),
            ("axes fraction", "data"), "offset points", fontsize=7.5, color=style.VERMILION,
        )  # fmt: skip
        seen.append(limit_us)
    style.latency_axis(axes, min(seen, default=1.0), max(seen, default=1e3))
    axes.set_ylabel("response time (log)")


def _achieved(axes: Axes, shown: Ladder) -> None:
    for name, counts, dot in (("", True, "o"), ("undecided: generator late, or machine stalled", False, "x")):
        points = [point for point in shown.points if point.counts == counts]
        percent, colour = [100 * point.rate_step.achieved for point in points], style.INK if counts else style.QUIET
        if points:
            axes.plot([point.rps for point in points], percent, dot, color=colour, markersize=4, zorder=3, label=name)
    least = 100 * (shown.objective.achieved if shown.objective else facts.LEAST_ACHIEVED)
    axes.axhline(least, color=style.VERMILION, linewidth=0.9, linestyle=(0, (4, 3)))
    known = [100 * achieved for point in shown.points if math.isfinite(achieved := point.rate_step.achieved)]
    axes.set(ylim=(max(0.0, min([least, *known]) - 5), 102), ylabel="achieved")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")


def _knee(axes: Axes, knee: Knee | None) -> None:
    if knee is not None and knee.kind == Kind.FOUND:
        band: dict[str, Any] = {"color": style.ORANGE, "alpha": 0.3, "linewidth": 0, "label": "knee, 95 % interval"}
        axes.axvspan(knee.low_rps, knee.high_rps, **band)
        axes.axvline(knee.rps, color=style.ORANGE, linewidth=1.4)
    if knee is not None and math.isfinite(knee.ceiling_rps):
        right = max(axes.get_xlim()[1], knee.ceiling_rps)
        band = {"facecolor": "none", "edgecolor": style.GRID, "hatch": "///", "label": "beyond the generator"}
        axes.axvspan(knee.ceiling_rps, right, **band)


HEAD = (
    "", "knee (95 %)", "bounded by", "interval (wanted)", "missed just above", "probes judged", "generator",
    "fixed rates that met it",
)  # fmt: skip


def search_table(all_ladders: Sequence[Ladder], drawn: Collection[str] = ()) -> Table:
    """Return a table of all ladders. A search and the ladder of fixed rates with the same title share a row.

    `drawn` has the names of the searches whose knees a figure shows. If it has all, the table has no column of knees.
    """
    searched = {ladder.title: ladder for ladder in all_ladders if ladder.search is not None}
    fixed = (ladder for ladder in reversed(all_ladders) if ladder.search is None and ladder.title in searched)
    besides = {ladder.title: ladder for ladder in fixed}  # the first of a title
    leading = [ladder for ladder in all_ladders if besides.get(ladder.title) is not ladder]
    rows = [_row(ladder, besides.get(ladder.title) if ladder.search is not None else ladder) for ladder in leading]
    head: tuple[str, ...] = HEAD
    if all(ladder.name in drawn for ladder in searched.values()):  # without the column of knees
        head, *rows = (row[:1] + row[2:] for row in (head, *rows))
    caption = "All ladders"
    connections = {ladder.steps[0].record.connections for ladder in all_ladders}
    if len(connections) == 1:
        caption += f" on {words.connections(connections.pop())}"
    if objective := objectives(all_ladders):
        caption += f"; objective{' of the searches' if searched else ''}: {objective}"
    return Table(caption, head, tuple(rows), PROSE["ladders"]["note"], numeric=False)


def objectives(ladders: Sequence[Ladder]) -> str:
    """Return in words the objective of all searches, or else of all ladders; empty if there are several objectives."""
    searched = [ladder for ladder in ladders if ladder.search is not None]
    texts = {objective_words(ladder.judged_by) for ladder in searched or ladders}
    return texts.pop() if len(texts) == 1 else ""


def _row(ladder: Ladder, fixed_rates: Ladder | None) -> tuple[str, ...]:
    judged = f"{tables.count(sum(point.counts for point in ladder.points))} of {tables.count(len(ladder.points))}"
    return (
        Linked(facts.title(ladder.steps[0]), ladder.anchor),
        *(_search_cells(ladder) if ladder.search is not None else (tables.NONE,) * 4),
        judged,
        _generator(ladder),
        Linked(_rates(fixed_rates), fixed_rates.anchor) if fixed_rates else tables.NONE,
    )


def _search_cells(ladder: Ladder) -> tuple[str, str, str, str]:
    knee, search = ladder.knee, ladder.search
    if knee is None or search is None or knee.kind == Kind.FAILED:
        return "not measured", tables.NONE, tables.NONE, tables.NONE
    width = f"{words.percent(knee.width)} ({words.given_share(search.precision)})" if knee.kind == Kind.FOUND else ""
    if not knee.known:
        return f"not known: {sides_of(knee)}", tables.NONE, width or tables.NONE, _missed(ladder)
    return rate_interval(knee), support_words(ladder, knee), width or tables.NONE, _missed(ladder)


def _missed(ladder: Ladder) -> str:
    parts, near = missed_above(ladder)
    names = {part: {ACHIEVED: "the rate", ERRORS: "the limit of errors"}.get(part, part) for part in parts}
    if near == 1:
        return ", ".join(names.values())
    texts = (f"{names[part]} in {tables.count(count)} of {tables.count(near)}" for part, count in parts.most_common())
    return ", ".join(texts) or tables.NONE


def _generator(ladder: Ladder) -> str:
    bounds = sum(point.late for point in ladder.points)
    silent = [point.rps for point in ladder.points if point.outcome == StepOutcome.GENERATOR]
    parts = [f"late in {tables.count(bounds)} that met it"] if bounds else []
    if silent:
        parts.append(f"late in {tables.count(len(silent))} that missed it, from {tables.rate(min(silent))} on")
    return "; ".join(parts) or "kept up"


def _rates(ladder: Ladder) -> str:
    """Return in words which fixed rates met the objective or, without an objective, which the server kept up with."""
    (met, missed), disturbed = ladder.outcomes, ladder.disturbed
    kept = "" if ladder.objective else "rate kept: "
    if not met and not missed:
        kept, text = "", "nothing is known"
    elif not met:
        text = f"none of {tables.count(len(missed))}" if len(missed) > 1 else f"not {tables.rate(missed[0])}"
    elif not missed:
        listed = any(rps < met[-1] for rps in disturbed.keys() - {*met})
        text = words.listed(map(tables.rate, met)) if listed else f"all up to {tables.rate(met[-1])}"
    elif missed[0] > met[-1]:
        text = f"{tables.rate(met[-1])}, not {tables.rate(missed[0])}"
    else:
        text = f"{tables.count(len(met))} of {tables.count(len(met) + len(missed))}, not {tables.rate(missed[0])}"
    by_outcome = facts.grouped(sorted(disturbed), disturbed.__getitem__)
    notes = (f"{words.listed(map(tables.rate, rates))} {PROSE['disturbed'][why]}" for why, rates in by_outcome.items())
    return "; ".join([f"{kept}{text}", *notes])


def ladder_sections(run: Run) -> Iterator[Section]:
    """Yield the section on all ladders of a run; nothing for a run without ladders."""
    all_ladders = ladders(run)
    if not all_ladders:
        return
    searched = [ladder for ladder in all_ladders if ladder.search is not None]
    side_by_side = [search.name for searched in knees(run).values() for search, _ in searched]
    alone = [] if side_by_side else (searched or all_ladders)[:MOST_DRAWN]  # knees side by side are drawn together
    figures = []
    for drawn in alone:
        floor = instrument.nearest_floor(run.steps, drawn.steps[0])
        outputs = [output for _, output in of_setting(drawn)]
        figures.append(ladder(drawn, outputs, floor).at(drawn.anchor))
    heading = "The knee" if searched else "The ladder"
    yield Section("ladders", heading, figures=tuple(figures), tables=(search_table(all_ladders, side_by_side),))


def against_published(ladder: Ladder) -> Table | None:
    """Return a table of published outputs and this run's steps at their rates; None without outputs or a base rate.

    Rates that this run did not offer are only in the note; if it offered none, the table has the highest ones.
    """
    if ladder.base is None:
        return None
    knee, base_rps, base = ladder.knee, ladder.base.rps, ladder.base.what
    if knee is not None and knee.known:
        base_rps, base = knee.quoted_rps, KNEE
    elif base == KNEE and (ladder.base_knee is None or ladder.base_knee.kind != Kind.FOUND):
        base = f"{'estimate' if ladder.base.knee is not None else 'bound'} of the knee"
    ends_rps, bound = [base_rps], ""
    if knee is not None and (knee.from_below or knee.from_above):
        bound = "at most " if knee.from_below else "at least "
    if knee is not None and knee.kind == Kind.FOUND and not knee.located:
        ends_rps = [knee.high_rps, knee.low_rps]
    offered, not_offered = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for name, output in of_setting(ladder):
        rate_rps = output.offered_rps
        if not rate_rps:
            continue
        own = next((step for step in ladder.rate_steps if abs(facts.offered_rps(step) / rate_rps - 1) < 0.001), None)
        times = bound + words.DASH.join(f"{rate_rps / end_rps:.2f}" for end_rps in ends_rps)
        cells = (name, *_there(rate_rps, output), times, *_here(ladder, own))
        (not_offered if own is None else offered).append(cells)
    if not offered and not not_offered:
        return None
    head = (
        "output", "rate", "published achieved", "published p50 or mean", "published p99", f"times the {base} here",
        "achieved here", "p50 here", "p99 here",
    )  # fmt: skip
    beyond = f"{ladder.title} at {words.listed(row[1] for row in not_offered)}" if offered and not_offered else ""
    return Table(ladder.title, head, tuple(offered or not_offered[-MOST_NOT_OFFERED:]), beyond)


def _there(rate_rps: float, output: Output) -> tuple[str, str, str, str]:
    report, taken_rps = output.report, taken_at_rps(output)
    rate = tables.rate(rate_rps) + (f" (taken at {tables.rate(taken_rps)})" if taken_rps != rate_rps else "")
    median_us = report.latencies.at(0.5)
    mean_us = report.latency.mean if report.latency else None
    middle = tables.latency(median_us) if median_us is not None else f"mean {tables.latency(mean_us)}"
    return rate, tables.rate(report.requests_per_s), middle, tables.latency(report.latencies.at(0.99))


def _here(ladder: Ladder, step: Step | None) -> tuple[str, str, str]:
    if step is None:
        return tables.NONE, tables.NONE, tables.NONE
    achieved = tables.rate(facts.achieved_rps(step))
    if ladder.disturbed.get(facts.offered_rps(step)) == StepOutcome.GENERATOR:
        return achieved, "generator late", "generator late"
    return achieved, instrument.latency_text(step, 0.5), instrument.latency_text(step, 0.99)


def knee_picture(run: Run, workload: str, searched: Sequence[Searched]) -> style.Picture:
    """Draw the knees of one workload, a bar for each setting. The heading names the highest knee.

    The heading ranks neither the server that stores nothing nor a setting of whose knee only a bound is known.
    """
    stores = [(ladder, knee) for ladder, knee in searched if ladder.steps[0].subject != CEILING] or searched
    racing = [(ladder, knee) for ladder, knee in stores if knee.kind == Kind.FOUND]
    bounded = [(ladder, knee) for ladder, knee in stores if knee.kind != Kind.FOUND]
    parts = [f"{style.plain(ladder.server, 24)} {rate_interval(knee)}" for ladder, knee in bounded]
    if racing:
        best, highest = max(racing, key=lambda pair: pair[1].rps)
        ratios = {ladder.server: between(run, ladder, best) for ladder, _ in racing if ladder is not best}
        near = [style.plain(name, 24) for name, apart in ratios.items() if apart is None or not apart.high < 1]
        of = (" of the others" if bounded else " of the stores") if len(searched) > len(racing) else ""
        parts.append(f"{style.plain(best.server, 24)} has the highest knee{of}, {rate_interval(highest)}")
        parts += [f"inconclusive against it: {words.listed(near)}"] if near else []
    heading = f"Knees of {style.plain(workload.upper(), 12)}: {'; '.join(parts)}"
    all_knees = [knee for _, knee in searched]
    values = [knee.quoted_rps for knee in all_knees]
    nothing = (math.nan, math.nan)  # a bound has no line
    ends = [(knee.low_rps, knee.high_rps) if knee.kind == Kind.FOUND else nothing for knee in all_knees]
    labels = dict(zip(values, map(rate_interval, all_knees), strict=True))
    return style.bars(
        [ladder.server for ladder, _ in searched], [("knee, 95 % interval", style.BLUE, values)],
        lambda rps: labels.get(rps, words.rounded_rate(rps)), "requests per second", heading, ends=ends,
    )  # fmt: skip


def knee_sections(run: Run) -> Iterator[Section]:
    """Yield the section with the knees of a run's settings side by side; nothing for a run of one setting."""
    by_workload = knees(run)
    if not by_workload:
        return
    figures = [knee_picture(run, work, searched).at(f"knees-{work}") for work, searched in by_workload.items()]
    every = [(searched[0][0], *pair) for searched in by_workload.values() for pair in searched]
    engines = {ladder.steps[0].record.engine for _, ladder, _ in every}
    heading, what = ("Ways to run a request", "way") if len(engines) == 1 else ("The knees of the stores", "store")
    paired = all(searched_together(first, ladder) for first, ladder, _ in every)
    bounds = any(knee.kind != Kind.FOUND for _, _, knee in every)
    texts = ["together" if paired else "apart", *["bounds"] * bounds]
    text = " ".join(PROSE["knees"][name] for name in texts).format(what=what)
    yield Section("knees", heading, text=text, figures=tuple(figures))
