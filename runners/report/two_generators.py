"""Build the section of a load that truepace and wrk2 both sent: what wrk2's timer adds, and what each printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from matplotlib.axes import Axes

from runners.analysis import facts, instrument
from runners.analysis.intervals import Bounded
from runners.design.session import PAIRED
from runners.readers import write
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import Curve, curve
from runners.report.tables import Section, with_spectra
from runners.report.validation import colour_of, label_of
from runners.results.two_generators import TwoReadings, two_readings, wrk2_was_absent

ANCHOR = "two-generators"
ABSENT = "Not measured: the same load by wrk2, which is not on this machine; `lab build wrk2` makes it."


def two_generators_section(run: Run) -> Section | None:
    """Return what both generators read of one load; None for a run without it."""
    readings = two_readings(run.steps)
    if readings is None:
        return None
    shown = with_spectra(ANCHOR, two_generators(run.steps), readings.steps)
    return Section(ANCHOR, "What wrk2's timer adds", _text(readings), (shown,))


def _text(readings: TwoReadings) -> str:
    wrk2 = readings.wrk2
    load = f"{facts.title(wrk2.good[0])} at {write.rate(wrk2.rate_rps)} on {write.connections(wrk2.connections)}"
    median, tail = (_added(level, us) for level, us in _levels(readings))
    text = (
        f"{load}, by both generators, {write.several(len(wrk2.good), 'round')} in random order on one warm "
        f"server. {heading(readings)}: {median}, {tail}; the interval is that of the rounds."
    )
    if readings.tick_us is not None:
        tick = write.latency(readings.tick_us)
        text += f" Its percentiles climb evenly over {tick}: it wakes by the millisecond, so that requests leave late."
    return text


def _levels(readings: TwoReadings) -> tuple[tuple[float, Bounded], tuple[float, Bounded]]:
    return (instrument.MEDIAN, readings.p50_us), (instrument.TAIL, readings.p99_us)


def _added(level: float, added: Bounded) -> str:
    """Return by how much wrk2 reads more or less in a percentile, with the interval over the rounds."""
    sign = -1.0 if added.value < 0 else 1.0
    low, high = sorted((sign * added.low, sign * added.high))
    text = write.latency_interval(sign * added.value, low, high)
    return f"{write.level(level)} {text} {'lower' if added.value < 0 else 'higher'}"


def heading(readings: TwoReadings) -> str:
    """Return the result: which generator reads the higher median."""
    if readings.p50_us.holds_zero:
        return "wrk2 and truepace read about the same median"
    return f"wrk2 reads a {'higher' if readings.p50_us.value > 0 else 'lower'} median than truepace"


@style.styled
def two_generators(steps: Iterable[Step]) -> style.Picture:
    """Draw the response time of every round of both generators by percentile, with the difference at p50 and p99."""
    readings = two_readings(steps)
    lines = [line for step in readings.steps if (line := _curve(step)) is not None] if readings else []
    if readings is None or not lines:
        return style.empty("no load of two generators to draw")
    figure = style.Picture(8.4, 4.4)
    axes = figure.add_subplot()
    named = set[str]()
    for line in lines:
        label = None if line.label in named else line.label
        named.add(line.label)
        axes.plot(line.x, line.value_us, color=line.colour, linewidth=1.3, alpha=0.75, label=label)
    for level, added in _levels(readings):
        _mark(axes, readings, level, added)
    style.percentile_axis(axes, max(line.x[-1] for line in lines))
    style.latency_axis(axes, min(line.value_us[0] for line in lines), max(line.value_us[-1] for line in lines))
    axes.set_ylabel("response time (log)")
    style.legend(figure, 2)
    parts = ", ".join(_added(level, added) for level, added in _levels(readings))
    return figure.headed(f"wrk2 against truepace: {parts}", f"Response time by percentile of one load. {parts}.")


def _curve(step: Step) -> Curve | None:
    tool = facts.tool(step)
    return curve(step.frames["spectrum"], facts.RESPONSE, label_of(tool), colour_of(tool))


def _mark(axes: Axes, readings: TwoReadings, level: float, added: Bounded) -> None:
    """An arrow at a percentile from what truepace reads to what wrk2 reads."""
    ours, theirs = readings.truepace.at(level), readings.wrk2.at(level)
    if ours is None or theirs is None:
        return
    x = 1 / (1 - level)
    arrow = {"arrowstyle": "<->", "color": style.INK, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, theirs.value), (x, ours.value), arrowprops=arrow)
    sign = "+" if added.value >= 0 else write.MINUS
    middle = (ours.value * theirs.value) ** 0.5
    axes.annotate(f"{sign}{write.latency(abs(added.value))}", (x, middle), xytext=(5, 0), textcoords="offset points",
                  va="center", fontsize=8.5, color=style.INK)  # fmt: skip


def consoles(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what each generator printed of its first round, under its name."""
    for step in run.find(kind=PAIRED):
        if step.record.round == 1 and (text := step.folder.console_text()):
            load = f"{tables.rate(facts.offered_rps(step))} on {write.connections(step.record.connections or 1)}"
            yield f"What {facts.tool(step)} printed ({load})", text


def left_out(run: Run) -> Iterator[str]:
    """Yield that wrk2 was absent, and how to get it, where a load by it was planned."""
    if wrk2_was_absent(run):
        yield ABSENT
