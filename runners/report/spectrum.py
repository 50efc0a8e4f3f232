"""The percentile spectrum: latency against the percentile, with the tail stretched by 1/(1 - p).

The form is that of HdrHistogram's plots (Tene, "How NOT to measure latency"): each step to the right is ten times
rarer. Response time (from the intended start) is solid, service time (from the actual send) dashed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from runners.analysis import facts
from runners.analysis.facts import quotable
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Step
from runners.report import style, tables
from runners.report.style import DOTTED, is_own, label

FEW = 10  # with fewer samples beyond it, a percentile is an anecdote


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a spectrum: values in us over 1/(1-p), the number of samples, and how it is drawn."""

    label: str
    x: np.ndarray[Any, np.dtype[np.float64]]
    value_us: np.ndarray[Any, np.dtype[np.float64]]
    count: int
    colour: str
    dash: str = "-"
    width: float = 1.8
    alpha: float = 1.0

    @property
    def few_from(self) -> float:
        """The 1/(1-p) from which fewer than ten samples lie beyond."""
        return max(1.0, self.count / FEW)


def curve(frame: pd.DataFrame, kind: str, label: str, colour: str, **drawn: Any) -> Curve | None:
    """The curve of one kind of time in a spectrum frame; None where it has no finite, positive values."""
    rows = frame[frame["kind"] == kind] if "kind" in frame.columns else frame
    if rows.empty:
        return None
    p = pd.to_numeric(rows["percentile"], errors="coerce").to_numpy(dtype=float)
    value = pd.to_numeric(rows["value_us"], errors="coerce").to_numpy(dtype=float)
    total = pd.to_numeric(rows["total_count"], errors="coerce").to_numpy(dtype=float)
    count = int(np.nanmax(total)) if np.isfinite(total).any() else 0
    good = np.isfinite(p) & np.isfinite(value) & (value > 0) & (p >= 0) & (p <= 1)
    if count < 1 or not good.any():
        return None
    p, value = p[good], value[good]
    order = np.lexsort((value, p))
    p, value = p[order], value[order]
    with np.errstate(divide="ignore"):
        x = 1 / (1 - p)
    # The maximum has no place on a logarithmic axis. With n samples it is seen once in n.
    x = np.minimum(x, max(count, 1))
    return Curve(style.plain(label, 60), x, np.maximum.accumulate(value), count, colour, **drawn)


def published_curve(published: ConsoleReport | None) -> Curve | None:
    """The spectrum of a parsed console report; None when it prints none."""
    if published is None:
        return None
    at = f", at {tables.rate(published.rate_rps)}" if published.rate_rps else ""
    return curve(published.spectrum_frame(), "response", f"published{at}", style.INK, dash=(0, (1, 1.2)))


def curves(
    steps: tuple[Step, ...], published: ConsoleReport | None, service: bool, labels: Mapping[str, str]
) -> list[Curve]:
    """Response and service time of every step that may be quoted, and the published curve."""
    found: list[Curve | None] = []
    colours = style.colours_of(step.subject for step in steps)
    for step in steps:
        if not quotable(step):
            continue
        colour, name = colours[step.subject], labels.get(step.name, style.engine_name(step.subject))
        frame = step.frames["spectrum"]
        if step.profiled:
            found.append(
                curve(frame, "response", f"{name} response, profiled", colour, dash="-.", width=1.4, alpha=0.6)
            )
            continue
        found.append(curve(frame, "response", f"{name} response", colour))
        if service:
            found.append(curve(frame, "service", f"{name} service", colour, dash=(0, (4, 2)), width=1.2))
    found.append(published_curve(published))
    return [line for line in found if line is not None]


def _line(axes: Axes, line: Curve) -> None:
    cut = line.few_from
    sure = line.x <= cut
    # The last sure point starts the faint part, so that the line has no gap.
    faint = ~sure
    if sure.any():
        faint = faint | (line.x == line.x[sure].max())
    drawn: dict[str, Any] = {"color": line.colour, "linestyle": line.dash, "linewidth": line.width}
    marker = "o" if len(line.x) == 1 else None
    axes.plot(line.x[sure], line.value_us[sure], label=line.label, alpha=line.alpha, marker=marker, **drawn)
    if (~sure).any():
        axes.plot(line.x[faint], line.value_us[faint], alpha=line.alpha * 0.35, **drawn)
    if sure.any() and (~sure).any():
        where = int(np.flatnonzero(sure)[-1])
        axes.plot(
            line.x[where],
            line.value_us[where],
            marker="|",
            markersize=9,
            markeredgewidth=1.6,
            color=line.colour,
            alpha=line.alpha,
        )


def _floor_curve(floor: Step, loads: Sequence[Step]) -> Curve | None:
    """The floor's curve: dotted where it was taken at another rate than these loads."""
    loads = loads or (floor,)
    dash: Any = "-" if is_own(floor, loads) else DOTTED
    return curve(floor.frames["spectrum"], "response", label(floor, loads), style.FLOOR, dash=dash, width=0.9)


def _floor_band(axes: Axes, floor: Curve, low: float) -> None:
    """The floor's own curve with what lies below it shaded; of one taken elsewhere the line alone."""
    if floor.dash == "-":
        axes.fill_between(floor.x, low, floor.value_us, color=style.FLOOR, alpha=0.22, linewidth=0, label=floor.label)
    name = floor.label if floor.dash != "-" else None
    axes.plot(floor.x, floor.value_us, color=style.FLOOR, linewidth=floor.width, linestyle=floor.dash, label=name)


def _censored(axes: Axes, steps: tuple[Step, ...]) -> None:
    """A mark where a step's responses end: the rest had none when the run ended, so they took longer than shown."""
    row, colours = 0, style.colours_of(step.subject for step in steps)
    for step in steps:
        censored, scheduled = facts.number(step, "censored"), facts.number(step, "scheduled")
        if step.profiled or not quotable(step) or not (censored >= 1 and scheduled > 0):
            continue
        x = max(1.0, scheduled / censored)
        colour = colours[step.subject]
        axes.axvline(x, color=colour, linewidth=1, linestyle=(0, (2, 3)))
        name, missing = style.engine_name(step.subject), tables.count(censored)
        axes.annotate(
            f"{name}: {missing} without a response, beyond this line at least",
            (x, 0.99 - 0.05 * row),
            xycoords=("data", "axes fraction"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=7.5,
            color=colour,
            bbox={"facecolor": style.CARD, "edgecolor": "none", "alpha": 0.85, "pad": 1},
        )
        row += 1


def p99(step: Step) -> str:
    """A step's p99 in words, "at least" where requests without a response make it a lower bound; empty when unknown."""
    value = facts.at(step, 0.99)
    if value is None or not math.isfinite(value.value):
        return ""
    return f"at least {tables.latency(value.value)}" if value.at_least else tables.latency(value.value)


def title(steps: tuple[Step, ...]) -> str:
    """The result: what was asked, and each engine's p99."""
    clean = [step for step in steps if not step.profiled and quotable(step)] or [s for s in steps if quotable(s)]
    if not clean:
        return f"{_workloads(steps)}: no measurement of which latency may be quoted"
    rates = {step.record.offered_rps for step in clean}
    rate = rates.pop() if len(rates) == 1 else None
    head = _workloads(clean) + (f" at {tables.rate(rate)}" if rate else "")
    parts = [f"{style.engine_name(step.subject)} p99 {value}" for step in clean if (value := p99(step))]
    return f"{head}: {', '.join(parts)}" if parts else head


def _workloads(steps: Iterable[Step]) -> str:
    return "/".join(dict.fromkeys(style.plain(step.workload.upper(), 12) for step in steps)) or "Latency"


@style.styled
def spectrum(
    *steps: Step,
    published: ConsoleReport | None = None,
    floor: Step | None = None,
    service: bool = True,
    heading: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> style.Picture:
    """Draw the spectra of `steps`, the published curve and the instrument floor (the same load against `noop`).

    A floor that was taken at another rate or on other connections is a dotted line that says where.

    A line turns faint after a tick where fewer than ten samples lie beyond. Steps that are invalid or saturated have
    no curve. `service=False` leaves out service time; `heading` replaces the title, which says each p99; `labels` names
    steps otherwise than by their treatment.
    """
    figure = style.Picture(8.4, 5.0)
    axes = figure.add_subplot()
    lines = curves(steps, published, service, labels or {})
    floor_line = None
    if floor is not None and quotable(floor):
        floor_line = _floor_curve(floor, steps)
    everything = [*lines, floor_line] if floor_line else list(lines)
    heading = title(steps) if heading is None else heading
    if not everything:
        axes.text(0.5, 0.5, "nothing to draw", ha="center", transform=axes.transAxes, color=style.QUIET)
        axes.set_axis_off()
        figure.alt = "An empty spectrum: no valid step."
        return figure
    low = min(line.value_us[0] for line in everything)
    high = max(line.value_us[-1] for line in everything)
    if floor_line:
        _floor_band(axes, floor_line, low / 10)
    for line in lines:
        _line(axes, line)
    _censored(axes, steps)
    style.percentile_axis(axes, max(line.x[-1] for line in everything))
    style.latency_axis(axes, low, high)
    axes.set_ylabel("latency (log)")
    if any(line.x[-1] > line.few_from for line in everything):
        note = f"faint after |: fewer than {FEW} samples beyond"
        axes.text(0.995, 0.02, note, transform=axes.transAxes, ha="right", fontsize=7.5, color=style.QUIET)
    figure.legend(loc="outside lower center", ncols=3 if len(everything) in (3, 5, 6) else 4)
    names = "; ".join(line.label for line in everything)
    return figure.headed(heading, f"Latency by percentile. {heading}. Curves: {names}.")
