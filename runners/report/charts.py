"""Charts of a page that can be hovered and zoomed: the data of a figure as uPlot takes them (templates/curves.js)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

MOST_POINTS = 400  # of a line: more cannot be seen on a screen
DIGITS = 5
DASHED = (4, 3)  # lengths of dashes and gaps in pixels


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: its label, its colour and its points; without a dash it is solid."""

    label: str
    colour: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    dash: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """One panel. A unit is a name that the script knows: number, latency (us), percentile (as 1/(1 - p))."""

    title: str
    x_label: str
    y_label: str
    x_unit: str
    y_unit: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False


def series(label: str, colour: str, x: Iterable[float], y: Iterable[float], *, dashed: bool = False) -> Series | None:
    """Return a line of finite points in the order of x, thinned evenly where there are too many; None below two."""
    finite = sorted((float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b))
    if len(finite) < 2:
        return None
    step = max(1, math.ceil(len(finite) / MOST_POINTS))
    kept = finite[::step]
    kept += [finite[-1]] if kept[-1] != finite[-1] else []
    xs, ys = (tuple(float(f"{point[side]:.{DIGITS}g}") for point in kept) for side in (0, 1))
    return Series(label, colour, xs, ys, DASHED if dashed else ())


def as_text(charts: Sequence[Chart]) -> str:
    """Return charts as JSON; empty where there are none."""
    return json.dumps([asdict(chart) for chart in charts], separators=(",", ":"), ensure_ascii=False) if charts else ""
