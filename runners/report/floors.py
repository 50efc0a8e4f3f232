"""The floor of every generator: what each reads of a server that does nothing, at each rate, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from runners.analysis import facts, rounds
from runners.analysis.rounds import Floor
from runners.readers import write
from runners.readers.run import Step
from runners.report import numbers, style

COLOURS = {
    "blocking": style.INK,
    "epoll": style.GREEN,
    "truepace": style.BLUE,
    "wrk2": style.VERMILION,
    "wrk": style.PURPLE,
}
LABELS = {"blocking": "blocking client", "epoll": "plain epoll loop", "truepace": "truepace (ours)"}
_ROW_IN = 0.34
_ANY = 1e-9


def label_of(tool: str) -> str:
    """How a generator is called in a figure."""
    return LABELS.get(tool, style.plain(tool, 20))


def colour_of(tool: str) -> str:
    return COLOURS.get(tool, style.QUIET)


def title(found: Sequence[Floor]) -> str:
    """The result: the medians at the highest rate on the fewest connections."""
    points = rounds.points(found)
    if not points:
        return "No floor was measured"
    fewest = min(connections for connections, _ in points)
    rate = max(rate for connections, rate in points if connections == fewest)
    medians = []
    for tool, floor in rounds.at_point(found, fewest, rate).items():
        value = floor.at(0.5)
        if value is not None:
            medians.append(f"{label_of(tool)} {write.latency(value.value)}")
    return f"p50 at {write.rate(rate)} on {write.connections(fewest)}: {', '.join(medians)}"


def _row(axes: Axes, floor: Floor, y: float) -> None:
    colour = colour_of(floor.tool)
    p50, p99 = floor.at(0.5), floor.at(0.99)
    if p50 is None or p99 is None:
        axes.annotate("no round that may be quoted", (0.5, y), xycoords=("axes fraction", "data"), va="center")
        return
    axes.plot([p50.value, p99.value], [y, y], color=colour, linewidth=1, alpha=0.45)
    for level, value, face in ((0.5, p50, colour), (0.99, p99, style.CARD)):
        each = [one.value for step in floor.good if (one := facts.at(step, level)) is not None]
        axes.scatter(each, [y + 0.24] * len(each), s=7, color=colour, alpha=0.45, linewidths=0)
        axes.plot([value.low, value.high], [y, y], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.scatter([value.value], [y], s=38, facecolor=face, edgecolor=colour, linewidths=1.5, zorder=3)
    text = f"{numbers.latency(p50.value)}  /  {numbers.latency(p99.value)}"
    axes.annotate(text, (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=style.INK)


@style.styled
def floors(steps: Sequence[Step]) -> style.Picture:
    """Draw p50 (filled) and p99 (hollow) of each generator over its rounds, a panel a rate and number of connections.

    The thick bar is the interval over the rounds, small dots are the rounds. wrk, which has no rate, stands in the last
    panel of its number of connections.
    """
    found = rounds.floors(steps)
    panels: list[tuple[str, list[Floor]]] = []
    points = rounds.points(found)
    for index, (connections, rate) in enumerate(points):
        group = list(rounds.at_point(found, connections, rate).values())
        last = all(other != connections for other, _ in points[index + 1 :])
        if last:
            group += [floor for floor in found if floor.closed and floor.connections == connections]
        panels.append((f"{write.connections(connections)}, {write.rate(rate)}", group))
    count = sum(len(group) for _, group in panels)
    figure = style.Picture(8.4, 1.3 + _ROW_IN * count + 0.42 * len(panels))
    figure.alt = f"Floors of the generators. {title(found)}."
    if not panels:
        figure.text(0.5, 0.5, "no floor to draw", ha="center", color=style.QUIET)
        return figure
    ratios = [len(group) + 0.6 for _, group in panels]
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=ratios)
    for axes, (heading, group) in zip(grid[:, 0], panels, strict=True):
        for y, floor in enumerate(group):
            _row(axes, floor, float(y))
        names = []
        for floor in group:
            reached = floor.achieved()
            closed = f", closed loop: {write.rate(reached.value)}" if floor.closed and reached else ""
            names.append(label_of(floor.tool) + closed.replace(", ", "\n", 1))
        axes.set_yticks(range(len(group)), names)
        axes.set_ylim(len(group) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_title(heading[0].upper() + heading[1:], fontsize=9.5, pad=4)
        axes.set_xscale("log")
        axes.annotate(
            "p50  /  p99", (1.01, 1.0), xycoords="axes fraction", va="bottom", fontsize=7.5, color=style.QUIET
        )
    bottom = grid[-1][0]
    bottom.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    bottom.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_time(value)))
    bottom.xaxis.set_minor_formatter(NullFormatter())
    bottom.set_xlabel("response time, log (filled: p50, hollow: p99; bar: interval over the rounds; dots: rounds)")
    figure.suptitle(title(found), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    return figure
