"""A ladder: latency and achieved share against the offered rate, each probe shown, the knee with its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts
from runners.analysis.knee import Answer, Kind
from runners.analysis.meets import Met, Outcome
from runners.claims import climbing
from runners.claims.climbing import Ladder
from runners.claims.published_ladders import taken_at
from runners.readers import write
from runners.readers.outputs import Output
from runners.readers.run import Step
from runners.report import numbers, style
from runners.report.floor import floor_lines, reach
from runners.report.tables import Table

LEVELS = ((0.5, style.SKY, "o"), (0.99, style.BLUE, "s"), (0.999, style.PURPLE, "^"))
PALE = 0.35
WIDE = 8.0  # rates further apart than this are drawn on a logarithmic axis
OUTCOMES = {
    Outcome.MET: "meets the objective",
    Outcome.MISSED: "misses it",
    Outcome.GENERATOR: "says nothing: missed, the generator was late",
    Outcome.INVALID: "not valid",
}
LATE = ", generator late"


def title(ladder: Ladder) -> str:
    """The result."""
    answer = ladder.answer
    if answer is None:
        met = [probe.rps for probe in ladder.probes if probe.outcome == Outcome.MET]
        if not any(probe.outcome in (Outcome.MET, Outcome.MISSED) for probe in ladder.probes):
            return f"{ladder.title}: nothing can be told, the generator was late or the loads failed"
        missed = [probe.rps for probe in ladder.probes if probe.outcome == Outcome.MISSED]
        verb = "meets the objective at" if ladder.objective else "holds"
        if met and any(rps < max(met) for rps in missed):
            return f"{ladder.title}: {verb} {len(set(met))} of {len({*met, *missed})} rates, not in their order"
        return f"{ladder.title}: {verb} {numbers.rate(max(met)) if met else 'none of the rates'}"
    if answer.kind == Kind.FOUND:
        return f"{ladder.title}: knee at {climbing.rate_interval(answer)}"
    if answer.kind == Kind.ABOVE:
        return f"{ladder.title}: no knee up to {numbers.rate(answer.low_rps)}"
    return f"{ladder.title}: no knee found"


def data(ladder: Ladder) -> pd.DataFrame:
    """A row a rung, as drawn."""
    rows = []
    for step, met in zip(ladder.steps, ladder.judged, strict=True):
        row: dict[str, object] = {
            "step": step.name,
            "offered_rps": facts.offered_rps(step),
            "achieved_rps": facts.achieved_rps(step),
            "outcome": met.outcome.value,
            "generator_late": met.late,
            "missed": "; ".join(met.missed),
            "samples": facts.samples(step),
        }
        for level, _, _ in LEVELS:
            value = facts.at(step, level)
            row[f"p{level * 100:g}_us"] = value.value if value else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


@style.styled
def ladder(found: Ladder, published: Sequence[Output] = (), floor: Step | None = None) -> style.Picture:
    """Draw a ladder; `published` outputs are drawn at the rates that they were run at.

    No rung has a floor of its own: `floor` is the nearest that there is, and a thin line.
    """
    figure = style.Picture(8.4, 5.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1.0))
    rows = data(found)
    judged = found.judged
    there = _published(published)
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
    below.set_xlabel("offered rate (requests a second)")
    figure.suptitle(title(found), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    line = floor_lines(above, floor, ())
    handles = [*above.get_legend_handles_labels()[0], *([line] if line else [])]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    figure.align_ylabels([above, below])
    figure.alt = f"Latency and achieved share against the offered rate. {title(found)}."
    return figure


def _minor(value: float, spread: float) -> str:
    """On a short logarithmic axis 2 and 5 are labelled too."""
    lead = value / 10 ** math.floor(math.log10(value)) if value > 0 else 0.0
    return style.axis_count(value) if spread <= 300 and round(lead, 6) in (2.0, 5.0) else ""


def _published(outputs: Sequence[Output]) -> pd.DataFrame:
    rows = [
        {
            "rate_rps": float(taken_at(output) or output.offered_rps),
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
    met = np.array([each.outcome == Outcome.MET for each in judged])
    late = np.array([each.outcome == Outcome.GENERATOR for each in judged])
    bounds = np.array([each.late for each in judged])
    x, seen = rows["offered_rps"].to_numpy(float), reach(floor)
    for level, colour, marker in LEVELS:
        name = f"p{level * 100:g}"
        y = rows[f"{name}_us"].to_numpy(float)
        shown = np.isfinite(y) & (y > 0) & ~late
        sure, bound = shown & met & ~bounds, shown & met & bounds
        axes.scatter(x[sure], y[sure], 26, color=colour, marker=marker, label=name, zorder=3)
        axes.scatter(x[bound], y[bound], 26, color=colour, marker=marker, alpha=PALE, linewidths=0, zorder=3)
        axes.scatter(
            x[shown & ~met], y[shown & ~met], 26, facecolors="none", edgecolors=colour, marker=marker, zorder=3
        )
        order = np.argsort(x[shown], kind="stable")
        middle = pd.DataFrame({"x": x[shown][order], "y": y[shown][order]}).groupby("x")["y"].median()
        axes.plot(middle.index, middle.to_numpy(), color=colour, linewidth=0.9, alpha=0.6)
        seen += [*y[shown]]
    if (~met & ~late).any():
        axes.scatter([], [], 26, facecolors="none", edgecolors=style.INK, label="hollow: misses the objective")
    if bounds.any():
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
        text = f"limit of p{level * 100:g}: {numbers.latency(limit)}"
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
    for chosen, colour, marker in (
        ([each.outcome != Outcome.GENERATOR for each in judged], style.INK, "o"),
        ([each.outcome == Outcome.GENERATOR for each in judged], style.QUIET, "x"),
    ):
        axes.scatter(x[chosen], share[chosen], 16, color=colour, marker=marker, zorder=3)
    least = (found.objective.achieved if found.objective else facts.HELD) * 100
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


def table(found: Ladder) -> Table:
    """Percentiles by rung, in the order of their rates."""
    rows = []
    for step, met in sorted(zip(found.steps, found.judged, strict=True), key=lambda pair: facts.offered_rps(pair[0])):
        sure = met.outcome in (Outcome.MET, Outcome.MISSED) and not facts.fell_short(step)
        cells = [numbers.rate(facts.offered_rps(step)), numbers.rate(facts.achieved_rps(step))]
        if found.base:
            cells.insert(1, numbers.share(facts.offered_rps(step) / found.base.rps))
        cells += [_cell(step, level, sure) for level, _, _ in LEVELS]
        cells += [numbers.count(facts.samples(step)), _told(found, met)]
        rows.append(tuple(cells))
    share = (f"of the {found.base.what}",) if found.base else ()
    head = ("offered", *share, "achieved", "p50", "p99", "p99.9", "samples", "outcome")
    note = "Where less than the offered rate was answered, a response time is the length of a queue and is not shown."
    if any(met.late for met in found.judged):
        note += " Where the generator was late, its lateness is in the response times: they are upper bounds."
    note += _lengths(found)
    what = "probes of the search" if found.search is not None else "rungs"
    return Table(f"{found.title}: {what}", head, tuple(rows), note)


def _lengths(found: Ladder) -> str:
    """How long which rates were recorded, where not all alike: published ones may take the published time."""
    lengths = Counter(step.record.duration_s or 0.0 for step in found.steps)
    usual_s, _ = lengths.most_common(1)[0]
    if len(lengths) == 1:
        return ""
    other = {length_s: sorted({facts.offered_rps(s) for s in found.steps if s.record.duration_s == length_s})
             for length_s in sorted(lengths) if length_s != usual_s}  # fmt: skip
    told = [
        f"{write.listed([numbers.rate(rps) for rps in rates])} for {numbers.seconds(s)}" for s, rates in other.items()
    ]
    return f" Recorded for {numbers.seconds(usual_s)} each, {'; '.join(told)}."


def _cell(step: Step, level: float, sure: bool) -> str:
    return facts.told(step, level) if sure and facts.at(step, level) else numbers.NONE


def _told(found: Ladder, met: Met) -> str:
    if found.objective is None and met.outcome in (Outcome.MET, Outcome.MISSED):
        return "carried" + LATE * met.late if met.outcome == Outcome.MET else "; ".join(met.missed)
    return "; ".join(met.missed) if met.outcome == Outcome.MISSED else OUTCOMES[met.outcome] + LATE * met.late
