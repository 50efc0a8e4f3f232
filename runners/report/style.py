"""The common look of figures: safe for colour-blind readers, readable in print, on a light card even on a dark page.

The colours are by Okabe and Ito (2008), "Color Universal Design". Curves of different colours also differ in line style
or in place, so that a figure can be read in grey. Figures are drawn without pyplot, so there is no global state and no
window. The same input gives the same bytes.
"""

import io
import math
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.facts import ENGINE_NAMES
from runners.design.setting import ENGINES
from runners.errors import UNPRINTABLE
from runners.readers.run import Step
from runners.report import tables

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY = "#E69F00", "#56B4E9"
INK, QUIET, GRID, CARD, FLOOR = "#1f2328", "#656d76", "#e4e7eb", "#ffffff", "#8c959f"
SPARE = (GREEN, PURPLE, ORANGE, SKY)
#: Spare colours after those of SPARE (P. Tol, 2021, *Colour Schemes*, muted).
FURTHER = ("#882255", "#332288", "#999933", "#44AA99", "#5b5b5b", "#661100")

COLOURS: dict[str, dict[str, str]] = tomllib.loads(tables.template("colours.toml"))
ENGINE_COLOURS = {name: colour for name, (_, colour) in ENGINES.items()} | COLOURS["treatments"]

#: Settings of matplotlib, which reads them both when it makes an artist and when it saves a figure.
RC = mpl.rc_params_from_file(Path(__file__).parent / "templates" / "lab.mplstyle", use_default_template=False)
PNG_DPI, POINTS_AN_INCH = 144, 72
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


@cache
def _settings() -> dict[Any, Any]:
    """Return matplotlib's defaults with the lab's settings. Cached, as matplotlib checks every value when it is set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        whole = dict(mpl.rcParams.copy())  # of a copy, since matplotlib's own would look for a backend now
    whole.pop("backend", None)
    return whole


@contextmanager
def lab_settings() -> Iterator[None]:
    """Apply the lab's matplotlib settings in the body of a `with`, whatever settings a notebook has made before."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A frame's name may hold letters that the font lacks; they are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcParams._update_raw(_settings())  # by which rc_context puts the former settings back, too
        yield


#: A decorator for functions that draw or save figures: they run with the lab's settings.
styled = lab_settings()

HEADING, HEADING_X = FontProperties(family=["DejaVu Sans"], size=11, weight="bold"), 0.01


def broken(heading: str, width_in: float) -> list[str]:
    """Return a heading in lines of at most `width_in` inches. Matplotlib's own wrapping takes dollars for formulas."""
    lines = [""]
    for word in heading.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        points = text_to_path.get_text_width_height_descent(longer, HEADING, ismath=False)[0]
        if lines[-1] and points > POINTS_AN_INCH * width_in:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Picture(Figure):
    """A figure in the lab's look, which a notebook shows without pyplot. The first save computes its layout.

    `heading` is the heading in one line, `alt` is a description in words, and `anchor` is the id in a report.
    """

    def __init__(self, width_in: float = 8.4, height_in: float = 4.4) -> None:
        super().__init__(figsize=(width_in, height_in), layout="constrained")
        FigureCanvasAgg(self)
        self.anchor, self.alt, self.heading = "", "", ""
        self.handles: list[Any] = []  # of the legend

    def headed(self, heading: str, alt: str = "") -> Self:
        """Set the figure's heading, and `alt` (or else the heading) as its description. Return the figure."""
        lines = broken(heading, (0.97 - HEADING_X) * self.get_figwidth())
        self.suptitle("\n".join(lines), x=HEADING_X, ha="left", fontproperties=HEADING)
        self.heading, self.alt = heading, alt or f"{heading}."
        return self

    def at(self, anchor: str) -> Self:
        """Set the figure's id in a report, and return the figure."""
        self.anchor = anchor
        return self

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure. Matplotlib calls this twice to save it: first only for the layout, then to draw."""
        engine = self.get_layout_engine()
        if self.canvas.is_saving() and isinstance(engine, ConstrainedLayoutEngine):
            engine.execute(self)
        else:
            super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = self.get_size_inches()
        return png(self), {"width": round(width * 96), "height": round(height * 96)}


@styled
def empty(text: str) -> Picture:
    """Return a figure that says why there is nothing to draw."""
    figure = Picture(8.4, 1.4)
    figure.set_layout_engine("none")  # without axes there is nothing to lay out
    figure.text(0.5, 0.5, text, ha="center", color=QUIET)
    figure.alt = f"An empty figure: {text}."
    return figure


#: Group ids that mark an axis of rows, and the values at its right end.
ROWS, VALUE = "rows", "value"


def rows(axes: Axes, labels: Sequence[str], fontsize: float = 9) -> None:
    """Label the y axis with the names of rows. The first row is at the top."""
    axes.set_yticks(range(len(labels)), labels, fontsize=fontsize)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.yaxis.set_gid(ROWS)


def row_value(axes: Axes, text: str, row: float, fontsize: float = 7.5, colour: str = INK) -> None:
    """Write `text`, the value of the row at the height `row`, at the right end of the row."""
    axes.annotate(
        text, (1, row), (5, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=fontsize,
        color=colour, annotation_clip=False, gid=VALUE,
    )  # fmt: skip


@styled
def bars(
    labels: Sequence[str], series: Sequence[tuple[str, str, Sequence[float]]], unit: Callable[[float], str], axis: str,
    heading: str, marks: Sequence[tuple[str, float, str, str]] = (), ends: Sequence[tuple[float, float]] = (),
) -> Picture:  # fmt: skip
    """Draw horizontal bars: in each row, one bar for each series. A series is (label, colour, values by row).

    `labels` names the rows, and `unit` writes a bar's value. `axis` is the label of the axis. `marks` are vertical
    lines (name, value, colour, dash). `ends` are intervals of the first series, drawn as black lines.
    """
    figure = Picture(8.4, 1.6 + 0.4 * max(1, len(labels)))
    axes = figure.add_subplot()
    height, most = 0.72 / len(series), [1e-9, *(at for _, at, _, _ in marks)]
    for index, (name, colour, values) in enumerate(series):
        places = [place + (index - (len(series) - 1) / 2) * height for place in range(len(labels))]
        known = [value if math.isfinite(value) else 0.0 for value in values]
        axes.barh(places, known, 0.94 * height, color=colour, label=name)
        for place, value, width in zip(places, values, known, strict=True):
            end = max([width, *(high for _, high in ends[round(place) : round(place) + 1] if index == 0)])
            if math.isfinite(value):
                label_bar(axes, unit(value), end, place)
            most.append(end)
    for place, (low, high) in enumerate(ends):
        axes.plot([low, high], [place, place], color=INK, linewidth=1.6)
    for name, at, colour, dash in marks:
        axes.axvline(at, color=colour, linestyle=dash, linewidth=1.2, label=name)
    rows(axes, [plain(label, 48) for label in labels])
    axes.set(xlim=(0, 1.16 * max(most)), xlabel=axis)
    axes.xaxis.set_major_formatter(axis_count)
    legend(figure, 4, 8)
    return figure.headed(heading)


@styled
def png(figure: Figure) -> bytes:
    """Return the figure as the content of a PNG file with PNG_DPI dots per inch."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=PNG_DPI, metadata={"Software": None})
    figure.set_layout_engine(None)  # it keeps the layout that it has now; to find it again takes half of the time
    return out.getvalue()


@styled
def svg(figure: Figure, name: str) -> str:
    """Return the figure as an `<svg>` element. `name` is the prefix of the element's ids, and is unique in a page."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    figure.set_layout_engine(None)
    text = out.getvalue()
    text = UNPRINTABLE.sub("", text[text.index("<svg") :])
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # nothing refers to groups
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{name}-", text)
    # the size comes from the page; the view box keeps the proportions
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = _PLACES.sub(lambda places: _LONG.sub(lambda number: f"{float(number[0]):.1f}", places[0]), text)
    return "".join(line.strip() + "\n" for line in text.splitlines())


#: Attributes with coordinates, and numbers in them with more digits than a tenth of a point takes.
_PLACES, _LONG = re.compile(r'\b[dxy]="[^"]*"'), re.compile(r"-?\d+\.\d{2,}")


def plain(text: object, limit: int = 90) -> str:
    """Return `text` as a safe label: one line of at most `limit` letters, without control characters; "?" if empty."""
    line = _CONTROL.sub(" ", str(text)).strip()
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return line or "?"


#: The width around a label of a legend, in sizes of its font: line, gap, and space to the next column.
AROUND_LABEL = 4.8


def legend(figure: Picture, most: int, fontsize: float = 8.5, handles: Sequence[Any] | None = None) -> None:
    """Put a legend below a figure in at most `most` columns, with every label of `handles` (None: of all axes) once."""
    if handles is None:
        handles = [handle for axes in figure.axes for handle in axes.get_legend_handles_labels()[0]]
    font = FontProperties(family=["DejaVu Sans"], size=fontsize)
    by_label = {str(handle.get_label()): handle for handle in handles}
    widths = [text_to_path.get_text_width_height_descent(label, font, ismath=False)[0] for label in by_label]
    room = POINTS_AN_INCH * figure.get_figwidth()
    columns = max(1, min(most, len(widths)))
    while columns > 1 and sum(
        max(own, default=0.0) + AROUND_LABEL * fontsize for own in np.array_split(widths, columns)
    ) > room:  # fmt: skip
        columns -= 1
    figure.handles = list(by_label.values())
    figure.legend(handles=figure.handles, loc="outside lower center", ncols=columns, fontsize=fontsize)


def colour_of(engine: str) -> str:
    """Return an engine's own colour; if it has none, one of the SPARE colours, chosen by the engine's name."""
    return ENGINE_COLOURS.get(engine, SPARE[sum(map(ord, engine)) % len(SPARE)])


def colours_of(engines: Iterable[str]) -> dict[str, str]:
    """Return a distinct colour for every engine of one figure. If an engine's colour is taken, it gets a spare one."""
    colours: dict[str, str] = {}
    for engine in dict.fromkeys(engines):
        own, taken = colour_of(engine), set(colours.values())
        colours[engine] = next((colour for colour in (own, *SPARE, *FURTHER) if colour not in taken), own)
    return colours


def engine_name(engine: str) -> str:
    name = ENGINE_NAMES.get(engine, plain(engine, 20))
    return name.lstrip("_") or "?"  # a legend drops labels that start with an underscore


def name_of(step: Step) -> str:
    """Return a step's name for figures, such as RocksDB PUT."""
    title = plain(step.record.loop.stage_title or engine_name(step.subject), 40)
    return f"{title} {plain(step.workload.upper(), 12)}"


def workloads(steps: Iterable[Step]) -> str:
    """Return the names of the steps' workloads as one text, such as PUT/GET."""
    return "/".join(dict.fromkeys(plain(step.workload.upper(), 12) for step in steps)) or "Latency"


def category_colour(category: str) -> str:
    return COLOURS["categories"].get(category.lower(), COLOURS["categories"]["other"])


def label_bar(axes: Axes, text: str, x: float, y: float) -> None:
    """Write a small label to the right of (`x`, `y`), the end of a bar."""
    axes.annotate(text, (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7.5)


def is_dark(colour: str) -> bool:
    """Return whether white text reads better than black on a colour (relative luminance as WCAG 2 defines it)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05


def axis_time(value_us: float, _place: float = 0) -> str:
    """Return the label of a tick on a latency axis, for matplotlib: 50 us, 1 ms, 2 s."""
    scale, unit = words.time_unit(value_us)
    return f"{value_us / scale:g} {unit}"


def axis_count(value: float, _place: float = 0) -> str:
    """Return the label of a tick on an axis of counts or rates, for matplotlib: 500, 12 000, 1.5 M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 10 else f"{value:g}"


def latency_axis(axes: Axes, low_us: float, high_us: float) -> None:
    """Make y a logarithmic axis with room for `low_us` to `high_us`. An axis of few decades has ticks at 1, 2 and 5."""
    low, high = max(low_us, 1e-3) / 1.25, max(high_us, low_us, 2e-3) * 1.4
    axes.set(yscale="log", ylim=(low, high))
    subs = (1.0, 2.0, 5.0) if math.log10(high / low) < 3.8 else (1.0,)
    axes.yaxis.set(gid="latency", major_formatter=axis_time, minor_formatter=NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=30))


PERCENTILE_TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)


def percentile_axis(axes: Axes, most: float) -> None:
    """Make x a logarithmic axis of 1/(1 - p), labelled with percentiles p. `most` is the largest value of 1/(1 - p)."""
    axes.set(xscale="log", xlim=(1, max(most, 2.5)), xlabel="percentile (axis: 1/(1-p))")
    labels = {1 / (1 - p): f"{100 * p:.8g} %" for p in PERCENTILE_TICKS if 1 / (1 - p) <= max(most, 2.5) * 1.001}
    axes.set_xticks(list(labels), list(labels.values()))
    axes.xaxis.set(gid="percentile", minor_locator=NullLocator())


LEVELS = (0.5, 0.99)
SOLID, DOTTED = "-", (0, (1, 1.5))


def floor_look(floor: Step, loads: Sequence[Step]) -> tuple[str, Any]:
    """Return (label, dash) of the floor's line: solid if it has the rate and connections of a load, else dotted."""
    if any(instrument.taken_at(floor, load) for load in loads):
        return "instrument floor (do-nothing server)", SOLID
    where = f"{words.rate(facts.offered_rps(floor))} on {words.connections(floor.record.connections or 0)}"
    return f"instrument floor at {where}", DOTTED


def floor_lines(axes: Axes, floor: Step | None, loads: Sequence[Step]) -> Line2D | None:
    """Draw percentiles of `floor`, a load on a server that does nothing, as lines across a plot of latency in us.

    Return the legend's entry, or None if no percentile may be quoted. Set the limits of the y axis before: they stay,
    and a line beyond them is omitted. If the floor has the rate and connections of a load, the area below its median is
    shaded; else the lines are dotted.
    """
    quoted = [(level, value.value) for level in LEVELS if floor and (value := facts.quoted(floor, level)) is not None]
    if floor is None or not quoted:
        return None
    label, line = floor_look(floor, loads)
    drawn: dict[str, Any] = {"color": FLOOR, "linewidth": 0.9, "linestyle": line}
    low, high = axes.get_ylim()
    if line == SOLID:
        axes.axhspan(low, quoted[0][1], color=FLOOR, alpha=0.22, linewidth=0, zorder=0)
    within = [(level, us) for level, us in quoted if low < us < high]
    for place, (level, us) in enumerate(within):
        axes.axhline(us, zorder=1, **drawn)
        # Beyond the end of the axis, where no curve is; the lower of two stands below its line.
        text = f"floor {words.level(level)}\n{tables.latency(us)}"
        anchored = "center" if len(within) == 1 else "bottom" if place else "top"
        axes.annotate(
            text, (1, us), (3, 0), ("axes fraction", "data"), "offset points", fontsize=6.5, color=QUIET, va=anchored,
            linespacing=1.0, annotation_clip=False,
        )  # fmt: skip
    axes.set_ylim(low, high)
    return Line2D([], [], label=label, **drawn)


def reach(floor: Step | None) -> list[float]:
    """Return [median in us] of `floor`, a load on a do-nothing server, for an axis's limits; [] if none is quotable."""
    value = facts.quoted(floor, LEVELS[0]) if floor is not None else None
    return [value.value] if value is not None else []
