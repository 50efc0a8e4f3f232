"""Knees side by side: that of each way to run a request, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.ticker import FuncFormatter

from runners.claims.conclusion import Conclusion
from runners.claims.executions import Knee, anchor, knees
from runners.readers.run import Run
from runners.report import numbers, style
from runners.report.section import Section, Shown

TEXT = (
    "Each {what} has its own search for the knee, on a server of its own. Points are the middle of what the probes "
    "leave possible, bars their 95 % interval."
)


def data(found: Sequence[Knee]) -> pd.DataFrame:
    """A row a setting: `setting`, `rps`, `low_rps`, `high_rps`, `probes`."""
    rows = [
        {
            "setting": knee.name,
            "rps": knee.answer.rps,
            "low_rps": knee.answer.low_rps,
            "high_rps": knee.answer.high_rps,
            "probes": len(knee.ladder.steps),
        }
        for knee in found
    ]
    return pd.DataFrame(rows, columns=["setting", "rps", "low_rps", "high_rps", "probes"])


@style.styled
def picture(workload: str, found: Sequence[Knee]) -> style.Picture:
    """Draw the knees of one workload, one line a setting, in the order in which they were measured."""
    rows = data(found)
    figure = style.Picture(8.4, 1.5 + 0.36 * len(rows))
    axes = figure.add_subplot()
    for place, row in enumerate(rows.to_dict("records")):
        axes.plot([row["low_rps"], row["high_rps"]], [place, place], color=style.ORANGE, linewidth=5, alpha=0.5)
        axes.plot(row["rps"], place, "o", color=style.BLUE)
        style.beside(axes, numbers.rate(float(f"{row['rps']:.3g}")), row["high_rps"], place)
    axes.set_yticks(range(len(rows)), [style.plain(name, 24) for name in rows["setting"]])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, float(rows["high_rps"].max()) * 1.15)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    axes.set_xlabel("knee (requests a second), 95 % interval")
    best = max(found, key=lambda knee: knee.answer.rps)
    title = f"{style.plain(workload.upper(), 12)}: {style.plain(best.name, 24)} has the highest knee, "
    title += numbers.rate(float(f"{best.answer.rps:.3g}"))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.alt = f"Knees with their intervals. {title}."
    return figure


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """The knees of a run's settings, side by side; none for a run of one setting."""
    found = knees(run)
    if not found:
        return
    figures = []
    for workload, each in found.items():
        figures.append(Shown(anchor(workload), picture(workload, each), data(each)))
    anchors = {shown.anchor for shown in figures}
    told = tuple(finding for finding in conclusion.findings if finding.figure in anchors)
    engines = {knee.ladder.steps[0].engine for each in found.values() for knee in each}
    heading, what = ("Ways to run a request", "way") if len(engines) == 1 else ("The knees of the stores", "store")
    yield Section("knees", heading, text=TEXT.format(what=what), findings=told, figures=tuple(figures))
