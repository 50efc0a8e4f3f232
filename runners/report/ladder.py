"""Draw the rate steps of a ladder and the knees, with their tables and the published rates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts, instrument
from runners.analysis.knee import Answer, Kind, Met, Outcome, Point, rate_interval, rounded_rate
from runners.claims import climbing
from runners.claims.climbing import MOST_IN_ANSWER, Ladder, asked, ladders, searched_together
from runners.claims.settings import Knee, anchor, knees
from runners.design.setting import CEILING
from runners.readers import write
from runners.readers.output import Output
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.style import floor_lines, reach
from runners.report.tables import Linked, Section, Shown, Table
from runners.results.published import of_setting, taken_at_rps

ANCHOR = "ladders"
LEVELS = ((0.5, style.SKY, "o"), (0.99, style.BLUE, "s"), (0.999, style.PURPLE, "^"))
PALE, MARKED = 0.35, 0.99
WIDE = 8.0  # rates further apart than this are drawn on a logarithmic axis


def title(ladder: Ladder) -> str:
    """Return the result."""
    answer = ladder.answer
    if answer is None:
        if not any(point.counts for point in ladder.points):
            return f"{ladder.title}: nothing is known, the generator was late or the loads failed"
        met, missed = ladder.outcomes
        verb = "meets the objective at" if ladder.objective else "achieves"
        if met and missed and missed[0] < met[-1]:
            return f"{ladder.title}: {verb} {len(met)} of {len(met) + len(missed)} rates, not {tables.rate(missed[0])}"
        return f"{ladder.title}: {verb} {tables.rate(met[-1]) if met else 'none of the rates'}"
    if answer.kind == Kind.FOUND:
        return f"{ladder.title}: knee at {rate_interval(answer)}"
    if answer.late:
        return f"{ladder.title}: knee {rate_interval(answer)}, further up the generator was late"
    if answer.kind == Kind.ABOVE:
        return f"{ladder.title}: no knee up to {tables.rate(answer.low_rps)}"
    return f"{ladder.title}: no knee found, {climbing.bounds_of(answer)}"


def data(ladder: Ladder) -> pd.DataFrame:
    """Return a row a rate, as drawn."""
    levels = {f"p{level * 100:g}_us": level for level, _, _ in LEVELS}
    asked_for = {level for level, _ in ladder.objective.latencies} if ladder.objective else set[float]()
    columns = [
        "step", "offered_rps", "achieved_rps", "outcome", "generator_late", "missed", "samples", "machine_stalled",
        *levels,
    ]  # fmt: skip
    rows = [
        (
            point.step.name, point.rps, point.rps * point.rate_step.achieved, point.outcome.value, point.met.late,
            "; ".join(point.met.missed), point.samples, point.rate_step.stalled,
            *(_resolved(point, level, level in asked_for) for level in levels.values()),
        )
        for point in ladder.points
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).replace(math.inf, math.nan)


def _resolved(point: Point, level: float, judged: bool) -> float:
    """Return a percentile in microseconds; NaN where few samples lie beyond it, unless the objective judges it."""
    enough = point.samples * (1 - level) >= facts.ENOUGH_BEYOND
    return point.rate_step.at(level) if enough or judged else math.nan


@style.styled
def ladder(found: Ladder, published: Sequence[Output] = (), floor: Step | None = None) -> style.Picture:
    """Draw a ladder; `published` outputs are drawn at the rates that they were run at.

    No rate step has a floor of its own: `floor` is the nearest that there is, and a thin line.
    """
    figure = style.Picture(8.4, 5.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1.0))
    rows = data(found)
    judged = [point.met for point in found.points]
    there = _published_rows(published)
    rates = [*rows["offered_rps"], *there["rate_rps"]]
    _latencies(above, found, rows, judged, there, floor)
    _achieved(below, found, rows, judged)
    low, high = min(rates), max(rates)
    for axes in (above, below):
        if high / low > WIDE:
            axes.set_xscale("log")
        spare = (high / low) ** 0.06 if high / low > WIDE else 0
        axes.set_xlim(low / spare if spare else 0, high * spare if spare else high * 1.08)
        _knee(axes, found.answer, axes is above)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: _minor(value, high / low)))
    below.set_xlabel("offered rate (requests per second)")
    line = floor_lines(above, floor, ())
    handles = [*above.get_legend_handles_labels()[0], *([line] if line else [])]
    style.legend(figure, 4, 8, handles)
    figure.align_ylabels([above, below])
    return figure.headed(title(found), f"Latency and achieved share against the offered rate. {title(found)}.")


def _minor(value: float, spread: float) -> str:
    """On a short logarithmic axis 2 and 5 are labelled too."""
    lead = value / 10 ** math.floor(math.log10(value)) if value > 0 else 0.0
    return style.axis_count(value) if spread <= 300 and round(lead, 6) in (2.0, 5.0) else ""


def _of_outcome(judged: Sequence[Met], outcome: Outcome) -> npt.NDArray[np.bool_]:
    """Mark the steps that ended so."""
    return np.array([each.outcome == outcome for each in judged])


def _published_rows(outputs: Sequence[Output]) -> pd.DataFrame:
    rows = [
        {
            "rate_rps": float(taken_at_rps(output) or output.offered_rps),
            "p50_us": output.report.latencies.at(0.5),
            "p99_us": output.report.latencies.at(0.99),
        }
        for output in outputs
        if output.offered_rps
    ]
    return pd.DataFrame(rows, columns=["rate_rps", "p50_us", "p99_us"]).astype(float)


def _latencies(
    axes: Axes, found: Ladder, rows: pd.DataFrame, judged: Sequence[Met], there: pd.DataFrame, floor: Step | None
) -> None:
    met, late, still = (_of_outcome(judged, outcome) for outcome in (Outcome.MET, Outcome.GENERATOR, Outcome.STALLED))
    bounds = np.array([each.late for each in judged])
    x, seen = rows["offered_rps"].to_numpy(float), reach(floor)
    for level, colour, marker in LEVELS:
        name = f"p{level * 100:g}"
        y = rows[f"{name}_us"].to_numpy(float)
        known = np.isfinite(y) & (y > 0) & ~late
        shown = known & ~still
        if not (shown.any() or (level == MARKED and known.any())):
            continue
        dots: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 5, "zorder": 3}
        if level == MARKED and (known & still).any():
            plus = dots | {"color": style.QUIET, "marker": "+", "zorder": 2}
            axes.plot(x[known & still], y[known & still], gid=f"{name}, undecided", **plus)
        sure, bound, missed = shown & met & ~bounds, shown & met & bounds, shown & ~met
        axes.plot(x[sure], y[sure], label=name, **dots)
        axes.plot(x[bound], y[bound], gid=f"{name}, at most", alpha=PALE, markeredgewidth=0, **dots)
        axes.plot(x[missed], y[missed], gid=f"{name}, misses the objective", fillstyle="none", **dots)
        order = np.argsort(x[shown], kind="stable")
        middle = pd.DataFrame({"x": x[shown][order], "y": y[shown][order]}).groupby("x")["y"].median()
        line = f"{name}, median of a rate"
        axes.plot(middle.index, middle.to_numpy(), color=colour, linewidth=0.9, alpha=0.6, gid=line)
        seen += [*y[shown], *(y[known & still] if level == MARKED else ())]
    if still.any():
        text = f"p{MARKED * 100:g}, undecided: the machine stalled"
        axes.scatter([], [], 30, color=style.QUIET, marker="+", linewidths=0.9, label=text)
    if (~met & ~late & ~still).any():
        axes.scatter([], [], 26, facecolors="none", edgecolors=style.INK, label="hollow: misses the objective")
    if (bounds & ~still).any():
        axes.scatter([], [], 26, color=style.INK, alpha=PALE, linewidths=0, label="pale: at most, generator late")
    if len(there):
        for column, face in (("p99_us", style.VERMILION), ("p50_us", "none")):
            name = f"published {column[:3]}"
            axes.scatter(
                there["rate_rps"],
                there[column],
                34,
                marker="D",
                facecolors=face,
                edgecolors=style.VERMILION,
                label=name,
            )
        seen += [value for column in ("p50_us", "p99_us") for value in there[column] if value > 0]
    limits = found.objective.latencies if found.objective else ()
    for level, limit in limits:
        axes.axhline(limit, color=style.VERMILION, linewidth=1.0, linestyle=(0, (4, 3)))
        text = f"limit of p{level * 100:g}: {tables.latency(limit)}"
        axes.annotate(
            text, (0.0, limit), (4, 3), ("axes fraction", "data"), "offset points", fontsize=7.5, color=style.VERMILION
        )
    seen += [limit for _, limit in limits]
    if late.any():
        axes.plot(
            x[late], np.full(int(late.sum()), 0.02), "x", transform=axes.get_xaxis_transform(), color=style.QUIET,
            label="missed, the generator was late", clip_on=False,
        )  # fmt: skip
    style.latency_axis(axes, min(seen, default=1.0), max(seen, default=1e3))
    axes.set_ylabel("response time (log)")


def _achieved(axes: Axes, found: Ladder, rows: pd.DataFrame, judged: Sequence[Met]) -> None:
    share = (rows["achieved_rps"] / rows["offered_rps"]).to_numpy(float) * 100
    x = rows["offered_rps"].to_numpy(float)
    late, still = (_of_outcome(judged, outcome) for outcome in (Outcome.GENERATOR, Outcome.STALLED))
    for chosen, colour, marker, name in (
        (~late & ~still, style.INK, "o", "achieved"), (still, style.QUIET, "+", "undecided"),
        (late, style.QUIET, "x", "generator late"),
    ):  # fmt: skip
        dots: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 4, "zorder": 3}
        axes.plot(x[chosen], share[chosen], gid=name, **dots)
    least = (found.objective.achieved if found.objective else facts.LEAST_ACHIEVED) * 100
    axes.axhline(least, color=style.VERMILION, linewidth=0.9, linestyle=(0, (4, 3)))
    known = share[np.isfinite(share)]
    axes.set_ylim(max(0.0, min([least, *known]) - 5), 102)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axes.set_ylabel("achieved")


def _knee(axes: Axes, answer: Answer | None, legend: bool) -> None:
    if answer is None:
        return
    if answer.kind == Kind.FOUND:
        label = "knee, 95 % interval" if legend else None
        axes.axvspan(answer.low_rps, answer.high_rps, color=style.ORANGE, alpha=0.3, linewidth=0, label=label)
        axes.axvline(answer.rps, color=style.ORANGE, linewidth=1.4)
    if math.isfinite(answer.ceiling_rps):
        label = "beyond the generator" if legend else None
        right = max(axes.get_xlim()[1], answer.ceiling_rps)
        axes.axvspan(answer.ceiling_rps, right, facecolor="none", edgecolor=style.GRID, hatch="///", label=label)


HEAD = ("", "knee (95 %)", "interval (wanted)", "missed just above", "probes judged", "generator", "fixed rates")
NOTE = (
    "Interval: its width, and the one that was wanted. Missed just above: what the probes just above the knee missed, "
    "and how many of them. Where the generator was late and the objective was met all the same, the latencies are "
    "upper bounds; where it was missed, the probe says nothing, and a knee is known from below only. "
    "Fixed rates: the rate steps offered besides a search."
)


def search_table(found: Sequence[Ladder], drawn: Collection[str] = ()) -> Table:
    """Tabulate a row a search with the rate steps offered besides; those without a search have a row of their own.

    `drawn`: searches whose knees a figure shows and writes; where it has all of them, the table has none.
    """
    searched = {ladder.title: ladder for ladder in found if ladder.search is not None}
    offered: dict[str, Ladder] = {}
    rows = []
    for ladder in found:
        if ladder.search is None and ladder.title in searched:
            offered.setdefault(ladder.title, ladder)
    for ladder in found:
        if ladder.search is not None:
            rows.append(_searched(ladder, offered.get(ladder.title)))
        elif offered.get(ladder.title) is not ladder:
            rows.append(_fixed(ladder))
    head: tuple[str, ...] = HEAD
    if all(ladder.name in drawn for ladder in searched.values()):
        head, rows = _without_knees(head), [_without_knees(row) for row in rows]
    return Table(_caption(found), head, tuple(rows), NOTE, numeric=False)


def _without_knees(row: tuple[str, ...]) -> tuple[str, ...]:
    return row[:1] + row[2:]


def _caption(found: Sequence[Ladder]) -> str:
    """Return what all ladders have in common."""
    text = "All ladders"
    over = {ladder.steps[0].record.connections for ladder in found}
    if len(over) == 1:
        text += f" on {write.connections(over.pop())}"
    objective = objectives(found)
    return f"{text}; objective: {objective}" if objective else text


def objectives(found: Sequence[Ladder]) -> str:
    """Return the objective of all ladders in words; empty where they have none, or several."""
    texts = dict.fromkeys(asked(ladder.objective) for ladder in found if ladder.objective)
    return next(iter(texts)) if len(texts) == 1 else ""


def _searched(ladder: Ladder, rate_steps: Ladder | None) -> tuple[str, ...]:
    return (
        Linked(facts.title(ladder.steps[0]), ladder.anchor),
        _knee_cell(ladder),
        _width(ladder),
        _missed(ladder),
        _judging(ladder),
        _generator(ladder),
        Linked(_rates(rate_steps), rate_steps.anchor) if rate_steps else tables.NONE,
    )


def _fixed(ladder: Ladder) -> tuple[str, ...]:
    name = Linked(facts.title(ladder.steps[0]), ladder.anchor)
    none = tables.NONE
    return (name, none, none, none, _judging(ladder), _generator(ladder), Linked(_rates(ladder), ladder.anchor))


def _knee_cell(ladder: Ladder) -> str:
    answer = ladder.answer
    if answer is None or answer.kind == Kind.FAILED:
        return "not measured"
    if answer.known_below:
        return rate_interval(answer)
    if answer.kind == Kind.BELOW:
        return f"below {tables.rate(answer.high_rps)}"
    return f"not found: {climbing.bounds_of(answer)}"


def _width(ladder: Ladder) -> str:
    answer, search = ladder.answer, ladder.search
    if answer is None or search is None or answer.kind != Kind.FOUND:
        return tables.NONE
    return f"{tables.share(answer.width)} ({write.given_share(search.precision)})"


def _missed(ladder: Ladder) -> str:
    kinds, near, _ = climbing.missed_above(ladder, ladder.answer) if ladder.answer else (Counter[str](), 0, ())
    if not near:
        return tables.NONE
    if near == 1:
        return ", ".join(map(climbing.part_of, kinds))
    parts = (
        f"{climbing.part_of(kind)} in {tables.count(n)} of {tables.count(near)}" for kind, n in kinds.most_common()
    )
    return ", ".join(parts)


def _judging(ladder: Ladder) -> str:
    points = ladder.points
    return f"{tables.count(sum(point.counts for point in points))} of {tables.count(len(points))}"


def _generator(ladder: Ladder) -> str:
    bounds = sum(point.met.late for point in ladder.points)
    silent = [point.rps for point in ladder.points if point.outcome == Outcome.GENERATOR]
    parts = [f"late in {tables.count(bounds)} that met it"] if bounds else []
    if silent:
        parts.append(f"late in {tables.count(len(silent))} that missed it, from {tables.rate(min(silent))} on")
    return "; ".join(parts) or "kept up"


def _rates(ladder: Ladder) -> str:
    """Return which of the fixed rates are achieved, in short (rule K05 says it in full)."""
    met, missed = ladder.outcomes
    if not met and not missed:
        return "nothing is known"
    late = f"; generator late at {write.listed(map(tables.rate, ladder.unknown))}" if ladder.unknown else ""
    return _judged_rates(met, missed) + late


def _judged_rates(met: Sequence[float], missed: Sequence[float]) -> str:
    """Return which of the judged rates are achieved; there is one at least."""
    if not met:
        return f"none of {tables.count(len(missed))}" if len(missed) > 1 else f"not {tables.rate(missed[0])}"
    if not missed:
        return f"all up to {tables.rate(met[-1])}"
    if missed[0] > met[-1]:
        return f"{tables.rate(met[-1])}, not {tables.rate(missed[0])}"
    return f"{tables.count(len(met))} of {tables.count(len(met) + len(missed))}, not {tables.rate(missed[0])}"


def ladder_section(run: Run) -> Section | None:
    """Return all ladders of a run, or None."""
    found = ladders(run)
    if not found:
        return None
    searched = [each for each in found if each.search is not None]
    alone = (searched or found) if not knees(run) else []  # knees side by side are drawn once, together
    return Section(
        ANCHOR,
        "The knee" if searched else "The ladder",
        figures=tuple(
            _figure(each, instrument.nearest_floor(run.steps, each.steps[0])) for each in alone[:MOST_IN_ANSWER]
        ),
        tables=(search_table(found, [knee.ladder.name for each in knees(run).values() for knee in each]),),
    )


def _figure(found: Ladder, floor: Step | None) -> Shown:
    outputs = [output for _, output in of_setting(found)]
    return Shown(found.anchor, ladder(found, outputs, floor), data(found))


KNEES_TEXT = "{search}. Bars are the estimates of the knees, lines their 95 % intervals."
BOUNDS_TEXT = " A bar without a line is a lower bound: above it no step was missed that says something of the server."
TOGETHER = "One search finds the knees of all {what}s under a load, by slices in random order, each on its own server"
APART = "Each {what} has its own search for the knee, on a server of its own"


def knee_data(found: Sequence[Knee]) -> pd.DataFrame:
    """Return a row a setting: `setting`, `rps`, `low_rps`, `high_rps`, `probes`."""
    rows = [(k.name, k.answer.rps, k.answer.low_rps, k.answer.high_rps, len(k.ladder.points)) for k in found]
    return pd.DataFrame(rows, columns=["setting", "rps", "low_rps", "high_rps", "probes"])


def knee_picture(run: Run, workload: str, found: Sequence[Knee]) -> style.Picture:
    """Draw the knees of one workload, one bar a setting, in the order in which they were measured.

    The heading says who is ahead by the ratios of the knees, as the claims do: intervals that overlap don't decide it.
    A server that stores nothing is no store, so it is not in the race, nor is one whose knee is known from below only.
    """
    stores = [knee for knee in found if knee.ladder.steps[0].subject != CEILING]
    late = [knee for knee in stores or found if knee.answer.from_below]
    racing = [knee for knee in stores or found if not knee.answer.from_below]
    parts = [f"{style.plain(knee.name, 24)} {rate_interval(knee.answer)}" for knee in late]
    if racing:
        best = max(racing, key=lambda knee: knee.answer.rps)
        ratios = {knee.name: climbing.between(run, knee.ladder, best.ladder) for knee in racing if knee is not best}
        near = [style.plain(name, 24) for name, apart in ratios.items() if apart is None or not apart.high < 1]
        of = (" of the others" if late else " of the stores") if len(found) > len(racing) else ""
        parts.append(f"{style.plain(best.name, 24)} has the highest knee{of}, {rounded_rate(best.answer.rps)}")
        parts += [f"inconclusive against it: {write.listed(near)}"] if near else []
    heading = f"{style.plain(workload.upper(), 12)}: {'; '.join(parts)}"
    series = [("knee, 95 % interval", style.BLUE, [knee.least_rps for knee in found])]
    ends = [(knee.least_rps if knee.answer.from_below else knee.answer.low_rps, knee.answer.high_rps) for knee in found]
    said = {knee.least_rps: rate_interval(knee.answer) for knee in found}
    names = [knee.name for knee in found]
    return style.bars(
        names, series, lambda rps: said.get(rps, rounded_rate(rps)), "requests per second", heading, ends=ends
    )


def knees_of(steps: Sequence[Step], run: Run) -> style.Picture:
    """Draw the knees that these loads of a run show, of a search over several servers."""
    found = [(each, each.answer) for each in climbing.ladders_of(steps)]
    known = [Knee(each, answer) for each, answer in found if answer is not None and answer.known_below]
    return knee_picture(run, steps[0].workload, known) if known else style.empty("no knee was found")


def knee_sections(run: Run) -> Iterator[Section]:
    """Yield the knees of a run's settings, side by side; none for a run of one setting."""
    found = knees(run)
    if not found:
        return
    figures = [Shown(anchor(work), knee_picture(run, work, each), knee_data(each)) for work, each in found.items()]
    engines = {knee.ladder.steps[0].engine for each in found.values() for knee in each}
    heading, what = ("Ways to run a request", "way") if len(engines) == 1 else ("The knees of the stores", "store")
    paired = all(searched_together(each[0].ladder, knee.ladder) for each in found.values() for knee in each)
    text = KNEES_TEXT.format(search=(TOGETHER if paired else APART).format(what=what))
    text += BOUNDS_TEXT if any(knee.answer.from_below for each in found.values() for knee in each) else ""
    yield Section("knees", heading, text=text, figures=tuple(figures))


LATE = "generator late"
PUBLISHED_TEXT = "Absolute figures of two machines can't be compared; the shape around the knee can."
_SAME = 0.001
MOST_NOT_OFFERED = 2  # the highest published rates of a table with none of this run at the same rate


def against_published(ladder: Ladder) -> Table | None:
    """Return a row a published output, with the rate step of this run at its rate; None where nothing was published."""
    if ladder.base is None:
        return None
    rows = []
    for name, output in of_setting(ladder):
        rate = output.offered_rps
        if not rate:
            continue
        own = next((step for step in ladder.rate_steps if abs(facts.offered_rps(step) / rate - 1) < _SAME), None)
        cells = (name, _rate(rate, output), *_there(output), tables.share(rate / ladder.base.rps), *_here(ladder, own))
        rows.append((own is None, cells))
    if not rows:
        return None
    shown = [cells for alone, cells in rows if not alone]
    shown += [cells for alone, cells in rows if alone][-MOST_NOT_OFFERED:]
    there = ("published achieved", "published p50 or mean", "published p99")
    here = (f"of the {ladder.base.named} here", "achieved here", "p50 here", "p99 here")
    note = (
        "A dash: not published, or not offered here, because it lies too far beyond the knee on this machine, or "
        "because this size has no time for it."
    )
    return Table(f"{ladder.title}", ("output", "rate", *there, *here), tuple(shown), note)


def _rate(published_rps: float, output: Output) -> str:
    """Return the rate as published, and the one at which the output was taken where that is another."""
    taken = taken_at_rps(output)
    text = tables.rate(published_rps)
    return text if taken == published_rps else f"{text} (taken at {tables.rate(taken)})"


def _there(output: Output) -> tuple[str, str, str]:
    report = output.report
    median_us = report.latencies.at(0.5)
    mean_us = report.latency.mean if report.latency else None
    middle = tables.latency(median_us) if median_us is not None else f"mean {tables.latency(mean_us)}"
    return tables.rate(report.requests_per_s), middle, tables.latency(report.latencies.at(0.99))


def _here(ladder: Ladder, step: Step | None) -> tuple[str, str, str]:
    if step is None:
        return tables.NONE, tables.NONE, tables.NONE
    if facts.offered_rps(step) in ladder.unknown:
        return tables.rate(facts.achieved_rps(step)), LATE, LATE
    return tables.rate(facts.achieved_rps(step)), facts.latency_text(step, 0.5), facts.latency_text(step, 0.99)
