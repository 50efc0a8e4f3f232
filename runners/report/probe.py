"""What one closed loop could carry, the rate that was then chosen, and the published rate, as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter

from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.spectrum import number


@dataclass(frozen=True, slots=True)
class Carried:
    """One engine under one workload: rates in requests a second, NaN where unknown."""

    engine: str
    workload: str
    closed_loop_rps: float
    offered_rps: float
    achieved_rps: float
    published_rps: float

    @property
    def label(self) -> str:
        return f"{style.engine_name(self.engine)} {style.plain(self.workload.upper(), 12)}"


def carried(run: Run, published: Mapping[str, ConsoleReport] | None = None) -> list[Carried]:
    """A row for each clean load step; `published` maps names such as `report-1/put` to what was published."""
    offered = {name.rpartition("/")[2]: numbers.value(report.rate_rps) for name, report in (published or {}).items()}
    rows = []
    for step in run.find(kind="load", profiled=False):
        probes = run.find(kind="probe", subject=step.subject, workload=step.workload)
        probe = number(probes[-1].frames["summary"], "achieved_rps") if probes else math.nan
        rows.append(
            Carried(
                step.subject,
                step.workload,
                probe,
                numbers.value(step.record.offered_rps),
                number(step.frames["summary"], "achieved_rps"),
                offered.get(step.workload, math.nan),
            )
        )
    return rows


def title(rows: list[Carried]) -> str:
    """The result: what each can carry in a closed loop."""
    parts = [f"{row.label} {numbers.rate(row.closed_loop_rps)}" for row in rows if math.isfinite(row.closed_loop_rps)]
    return f"One closed loop carries: {', '.join(parts)}" if parts else "Rates offered and achieved"


def rates(run: Run, published: Mapping[str, ConsoleReport] | None = None) -> style.Picture:
    """Draw the rates of each engine and workload of a run as bars."""
    return bars(carried(run, published))


def probes(steps: Sequence[Step], chosen_rps: float, published_rps: float | None) -> style.Picture:
    """Draw what each probe reached, the rate that was then chosen, and the published one."""
    published = math.nan if published_rps is None else published_rps
    return bars(
        [
            Carried(
                step.subject,
                step.workload,
                number(step.frames["summary"], "achieved_rps"),
                chosen_rps,
                math.nan,
                published,
            )
            for step in steps
        ]
    )


@style.styled
def bars(rows: list[Carried]) -> style.Picture:
    """Draw rows as bars, one group each."""
    figure = style.Picture(8.4, 1.3 + 0.62 * max(1, len(rows)))
    axes = figure.add_subplot()
    drawn = (
        ("closed-loop probe", "closed_loop_rps", style.SKY, 0.27),
        ("achieved at the chosen rate", "achieved_rps", style.BLUE, 0.0),
    )
    most = 1.0
    for name, attribute, colour, offset in drawn:
        values = [getattr(row, attribute) for row in rows]
        positions = [index - offset + 0.13 for index in range(len(rows))]
        axes.barh(positions, [v if math.isfinite(v) else 0 for v in values], 0.25, color=colour, label=name)
        for at, v, row in zip(positions, values, rows, strict=True):
            if math.isfinite(v):
                # Beside the mark of the offered rate, should the bar end before it.
                beyond = row.offered_rps if offset == 0 and row.offered_rps > v else v
                style.beside(axes, numbers.rate(v), beyond, at)
                most = max(most, v)
    for name, attribute, colour, marker in (
        ("offered (chosen)", "offered_rps", style.INK, "|"),
        ("published", "published_rps", style.VERMILION, "D"),
    ):
        points = [(getattr(row, attribute), index) for index, row in enumerate(rows)]
        points = [(v, index) for v, index in points if math.isfinite(v)]
        if points:
            size = 160 if marker == "|" else 26
            at = 0.13 if marker == "|" else 0.0
            axes.scatter(
                [v for v, _ in points],
                [index + at for _, index in points],
                marker=marker,
                s=size,
                color=colour,
                label=name,
                zorder=3,
            )
            most = max(most, *(v for v, _ in points))
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, most * 1.14)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    axes.set_xlabel("requests a second")
    figure.suptitle(title(rows), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    if rows:
        figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    figure.alt = f"Rates. {title(rows)}."
    return figure
