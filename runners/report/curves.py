"""Take the curves out of a figure as data, so that a report can show them with values under the pointer.

They are read from the very lines that were drawn, so that what is hovered is what is seen.
"""

from __future__ import annotations

import json
import math

import matplotlib.colors as colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

FEWEST_POINTS = 3
MOST_POINTS = 400  # of a line: more cannot be told apart on a screen
DIGITS = 5


def charts(figure: Figure) -> str:
    """The panels of a figure that hold named curves, as JSON; empty where there is none."""
    found = [chart for axes in figure.axes if (chart := _chart(axes)) is not None]
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False) if found else ""


def _chart(axes: Axes) -> dict[str, object] | None:
    series: list[dict[str, object]] = []
    for line in axes.get_lines():
        label = str(line.get_label())
        pairs = _points(line)
        # what carries no name continues the named line before it: faint where few samples lie beyond
        if label.startswith("_"):
            continues = bool(series) and series[-1]["colour"] == _colour(line) and len(pairs) > 1
            if continues and not series[-1]["points"]:
                xs, ys = series[-1]["x"], series[-1]["y"]
                assert isinstance(xs, list) and isinstance(ys, list)
                last = xs[-1]
                xs += [x for x, _ in pairs if x > last]
                ys += [y for x, y in pairs if x > last]
            continue
        if not pairs or (len(pairs) < FEWEST_POINTS and line.get_marker() in ("None", "", None)):
            continue
        series.append(
            {
                "label": label,
                "colour": _colour(line),
                "points": line.get_linestyle() in ("None", "none", ""),
                "dash": [] if line.get_linestyle() in ("-", "None") else [5, 3],
                "x": [x for x, _ in pairs],
                "y": [y for _, y in pairs],
            }
        )
    if not series:
        return None
    return {
        "title": axes.get_title(loc="left").replace("\n", " "),
        "x_label": axes.get_xlabel() or "x",
        "y_label": axes.get_ylabel() or "y",
        "x_log": axes.get_xscale() == "log",
        "y_log": axes.get_yscale() == "log",
        "x_unit": axes.xaxis.get_gid() or "number",
        "y_unit": axes.yaxis.get_gid() or "number",
        "series": series,
    }


def _points(line: Line2D) -> list[tuple[float, float]]:
    """Finite points in the order of x, thinned evenly where there are too many."""
    every = [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore[arg-type]
    finite = sorted((x, y) for x, y in every if math.isfinite(x) and math.isfinite(y))
    step = max(1, math.ceil(len(finite) / MOST_POINTS))
    kept = finite[::step]
    if finite and kept[-1] != finite[-1]:
        kept.append(finite[-1])
    return [(float(f"{x:.{DIGITS}g}"), float(f"{y:.{DIGITS}g}")) for x, y in kept]


def _colour(line: Line2D) -> str:
    return str(colors.to_hex(line.get_color()))
