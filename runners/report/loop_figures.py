"""Closed loops as pictures: the share of responses by their latency, and requests a second over connections."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from runners.analysis import facts, loops
from runners.analysis.loops import Loop
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Step
from runners.report import style
from runners.report.floor import DOTTED
from runners.report.floor import label as floor_label

COLOURS = {
    "before": style.ORANGE, "after": style.VERMILION, "nodelay": style.BLUE, "jdk25": style.GREEN,
    "delayed": style.PURPLE, "one-write": style.SKY,
}  # fmt: skip
DASHES: dict[str, object] = {"before": (0, (5, 2)), "jdk25": (0, (4, 1.5)), "delayed": (0, (1, 1.2))}
MARKERS = {"before": "s", "after": "o", "nodelay": "^", "jdk25": "v", "delayed": "D", "one-write": "P"}
#: The three curves, and what stands in for JDK 17 where there is none.
THREE, FALLBACK = ("after", "nodelay", "jdk25"), ("delayed", "jdk25")
CURVE_LOOPS = ("put", "get")
RATE_LOOPS = (("put",), ("get", "get-few"), ("mixed-once", "mixed"))
NAMES = {
    "put": "PUT",
    "get": "GET",
    "get-few": "GET, absent keys",
    "mixed-once": "mixed as published",
    "mixed": "mixed",
}


def name_of(name: str) -> str:
    return NAMES.get(name, style.plain(name, 20))


def curves_of(found: Sequence[Loop]) -> list[Loop]:
    """The loops that the curves are of: each stage's on its fewest connections."""
    stages = THREE if any(loop.stage == THREE[0] for loop in found) else FALLBACK
    chosen = [loops.first(found, stage, name) for name in CURVE_LOOPS for stage in stages]
    return [loop for loop in chosen if loop is not None]


def _loops(steps: Sequence[Step]) -> list[Loop]:
    return [
        loops.Loop(step) for step in steps if step.kind == loops.KIND and not step.profiled and facts.quotable(step)
    ]


def curves_title(chosen: Sequence[Loop]) -> str:
    """The result: the medians of the first loop drawn."""
    shown = [loop for loop in chosen if loop.name == chosen[0].name] if chosen else []
    parts = [f"{_short(loop)} {write.latency(loop.median_us)}" for loop in shown]
    return f"{name_of(shown[0].name)}, p50: {', '.join(parts)}" if parts else "No loop was measured"


def _short(loop: Loop) -> str:
    return {
        "after": "JDK 17", "nodelay": "with nodelay", "jdk25": "JDK 25", "delayed": "JDK 25 without nodelay",
    }.get(loop.stage, loop.title)  # fmt: skip


def _ticks(axes: Axes, hz: object) -> None:
    """The timer of delayed acknowledgements, and where it ends after a tick."""
    low, high = loops.DELAYED_ACK_US, loops.DELAYED_ACK_US
    text = f"delayed ACK\n{write.latency(low)}"
    if isinstance(hz, int) and hz > 0:
        high = loops.expected_us(hz)
        text += f" + a tick,\n{write.latency(high)}"
    axes.axvspan(low, max(high, low * 1.004), color=style.FLOOR, alpha=0.35, linewidth=0, zorder=0)
    axes.annotate(
        text, (low, 0.5), xytext=(-6, 0), textcoords="offset points", ha="right", va="center", fontsize=8,
        color=style.QUIET,
    )  # fmt: skip


@style.styled
def loop_curves(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the cumulative share of responses by latency on the fewest connections: a panel a loop, a curve a stage.

    The curves are of JDK 17, of the same with the flag, and of JDK 25; where there is no JDK 17, of JDK 25 without and
    with its default. A closed loop has no rate and so no floor of its own: `floor` is a thin line, at a rate.
    """
    chosen = curves_of(_loops(steps))
    names = list(dict.fromkeys(loop.name for loop in chosen))
    figure = style.Picture(8.4, 4.3)
    if not names:
        figure.text(0.5, 0.5, "no loop to draw", ha="center", color=style.QUIET)
        figure.alt = "An empty figure: no loop."
        return figure
    panels = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        group = [loop for loop in chosen if loop.name == name]
        for loop in group:
            rows = loop.step.frames["spectrum"]
            rows = rows[rows["kind"] == facts.RESPONSE]
            label = loop.title if name == names[0] else None
            axes.step(
                rows["value_us"], rows["percentile"], where="post", color=COLOURS.get(loop.stage, style.INK),
                linestyle=DASHES.get(loop.stage, "-"), linewidth=2.2, label=label,
            )  # fmt: skip
        if floor is not None and facts.quotable(floor):
            rows = floor.frames["spectrum"]
            rows = rows[rows["kind"] == facts.RESPONSE]
            axes.step(
                rows["value_us"], rows["percentile"], where="post", color=style.FLOOR, linestyle=DOTTED, linewidth=1.2,
                label=floor_label(floor, ()) if name == names[0] else None,
            )  # fmt: skip
        _ticks(axes, group[0].step.record.loop.kernel_hz)
        counts = {loop.connections for loop in group}
        axes.set_title(f"{name_of(name)}, {write.connections(min(counts))}", fontsize=9.5, pad=4)
        axes.set_xscale("log")
        axes.set_xlim(10, 200_000)
        axes.set_ylim(0, 1.02)
        axes.xaxis.set_major_locator(LogLocator(base=10))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_time(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
        axes.set_xlabel("latency in closed loop (log)")
    panels[0].set_ylabel("share of responses at most so late")
    figure.suptitle(curves_title(chosen), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=3)
    figure.alt = f"Share of responses by latency in closed loop. {curves_title(chosen)}."
    return figure


def rates_title(found: Sequence[Loop]) -> str:
    """The result: the rates of the loops that wait, and of those that do not."""
    waiting, others = [one for one in found if one.waits], [one for one in found if not one.waits]
    parts = []
    for group, verb in ((waiting, "wait"), (others, "do not")):
        each = [loop.rate_rps / loop.connections for loop in group if write.known(loop.rate_rps)]
        if each:
            least, most = write.rate(min(each)), write.rate(max(each))
            span = most if least == most else f"{least} to {most}"
            parts.append(f"{span} a connection for loops that {verb}")
    return "; ".join(parts).capitalize() if parts else "No loop was measured"


@style.styled
def loop_rates(steps: Sequence[Step], published: dict[str, ConsoleReport] | None = None) -> style.Picture:
    """Draw requests a second over connections, a panel a kind of request, a line a stage; published ones as crosses."""
    found = _loops(steps)
    panels_of = [group for group in RATE_LOOPS if any(loop.name in group for loop in found)]
    figure = style.Picture(8.4, 4.6)
    if not panels_of:
        figure.text(0.5, 0.5, "no loop to draw", ha="center", color=style.QUIET)
        figure.alt = "An empty figure: no loop."
        return figure
    panels = figure.subplots(1, len(panels_of), sharey=True, squeeze=False)[0]
    named: set[str] = set()
    for axes, group in zip(panels, panels_of, strict=True):
        for stage in dict.fromkeys(loop.stage for loop in found):
            for name in group:
                _line(axes, loops.find(found, stage, name), named)
        _published(axes, [loop for loop in found if loop.name in group], published or {}, named)
        counts = sorted({loop.connections for loop in found if loop.name in group})
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(FixedLocator(counts))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(min(counts) / 1.4, max(counts) * 1.4)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_title(name_of(group[0]).split(" ")[0], fontsize=9.5, pad=4)
        axes.set_xlabel("connections (and threads)")
    panels[0].set_ylabel("requests a second (log)")
    panels[0].set_ylim(bottom=10)
    figure.suptitle(rates_title(found), x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.alt = f"Requests a second over connections, in closed loop. {rates_title(found)}."
    return figure


def _line(axes: Axes, group: Sequence[Loop], named: set[str]) -> None:
    rows = sorted((loop.connections, loop.rate_rps) for loop in group if math.isfinite(loop.rate_rps))
    if not rows:
        return
    title = group[0].title
    few = group[0].name == "get-few"
    axes.plot(
        [x for x, _ in rows], [y for _, y in rows], color=COLOURS.get(group[0].stage, style.INK),
        linestyle=DASHES.get(group[0].stage, "-"), marker="x" if few else MARKERS.get(group[0].stage, "o"),
        markersize=6, label=None if title in named else title,
    )  # fmt: skip
    named.add(title)


def _published(axes: Axes, group: Sequence[Loop], published: dict[str, ConsoleReport], named: set[str]) -> None:
    points = [
        (loop.connections, published[loop.published].requests_per_s or math.nan)
        for loop in group
        if loop.published in published
    ]
    if points:
        axes.scatter(
            [x for x, _ in points], [y for _, y in points], marker="+", s=110, color=style.INK, zorder=4,
            label=None if "published" in named else "published, before and after",
        )  # fmt: skip
        named.add("published")
