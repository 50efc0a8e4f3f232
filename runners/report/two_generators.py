"""Build the section of a load that truepace and wrk2 both sent: what wrk2's timer adds, and what each printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from matplotlib.axes import Axes

from runners import words
from runners.analysis import facts
from runners.design.session import PAIRED
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.latency import Curve, curve
from runners.report.tables import Section, with_spectra
from runners.report.validation import colour_of, label_of
from runners.results.two_generators import Difference, TwoReadings, two_readings, wrk2_was_absent

ANCHOR, FIGURE = "wrk2", "two-generators"
ABSENT = "Not measured: the same load by wrk2, which is not on this machine; lab build wrk2 makes it."


def two_generators_section(run: Run) -> Section | None:
    """Return what both generators read of one load; None for a run without it."""
    if (readings := two_readings(run.steps)) is None:
        return None
    shown = with_spectra(FIGURE, two_generators(run.steps), readings.loads)
    return Section(ANCHOR, "What wrk2's timer adds", _text(readings), (shown,))


def _text(readings: TwoReadings) -> str:
    load = f"{facts.title(readings.loads[0])} at {words.rate(readings.rate_rps)}"
    rounds = readings.median.rounds
    counted = f"{words.several(rounds, 'round')}, whose interval it is" if rounds > 1 else "one round has no interval"
    text = (
        f"{_heading(readings.median)}: {_words(readings)}. The load is {load} on "
        f"{words.connections(readings.connections)}, on one warm server, by both generators in random order; "
        f"{counted}."
    )
    if readings.tick_us is not None:
        text += (
            f" wrk2's percentiles climb evenly over {words.latency(readings.tick_us)}: it wakes by the millisecond, "
        )
        text += "so that requests leave late."
    return text


def _heading(median: Difference) -> str:
    """Return which generator reads the higher median."""
    if median.added_us.holds_zero:
        return "wrk2 and truepace read the same median, as far as these rounds tell"
    in_one = " in the one round" if median.rounds == 1 else ""
    return f"wrk2 reads a {'higher' if median.added_us.value > 0 else 'lower'} median than truepace{in_one}"


def _words(readings: TwoReadings) -> str:
    return ", ".join(map(_added, readings.differences))


def _added(difference: Difference) -> str:
    """Return by how much wrk2 reads more or less in a percentile, with the interval over the rounds."""
    added = difference.added_us
    if added.value < 0:
        text = f"{words.latency_interval(-added.value, -added.high, -added.low)} lower"
    else:
        text = f"{words.latency_interval(added.value, added.low, added.high)} higher"
    return f"{words.level(difference.level)} {text}"


@style.styled
def two_generators(steps: Iterable[Step]) -> style.Picture:
    """Draw the response time of every round of both generators by percentile, with the difference at p50 and p99."""
    readings = two_readings(steps)
    lines = [line for step in readings.loads if (line := _curve(step)) is not None] if readings else []
    if readings is None or not lines:
        return style.empty("no load of two generators to draw")
    figure = style.Picture(8.4, 4.4)
    axes = figure.add_subplot()
    labels = {line.label: line for line in reversed(lines)}  # a generator once, by its first round
    for line in lines:
        label = line.label if labels[line.label] is line else None
        axes.plot(line.x, line.value_us, color=line.colour, linewidth=1.3, alpha=0.75, label=label)
    for difference in readings.differences:
        _mark(axes, difference)
    style.percentile_axis(axes, max(line.x[-1] for line in lines))
    style.latency_axis(axes, min(line.value_us[0] for line in lines), max(line.value_us[-1] for line in lines))
    axes.set_ylabel("response time (log)")
    style.legend(figure, 2)
    heading = f"wrk2 against truepace: {_words(readings)}"
    return figure.headed(heading, f"Response time by percentile of one load. {heading}.")


def _curve(step: Step) -> Curve | None:
    tool = facts.tool(step)
    return curve(step.frames["spectrum"], facts.RESPONSE, label_of(tool), colour_of(tool))


def _mark(axes: Axes, difference: Difference) -> None:
    """Draw an arrow at a percentile from what truepace reads to what wrk2 reads."""
    x, added_us = 1 / (1 - difference.level), difference.added_us.value
    arrow = {"arrowstyle": "<->", "color": style.INK, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, difference.wrk2_us), (x, difference.truepace_us), arrowprops=arrow)
    text = f"{'+' if added_us >= 0 else words.MINUS}{words.latency(abs(added_us))}"
    middle = (x, (difference.truepace_us * difference.wrk2_us) ** 0.5)
    axes.annotate(text, middle, xytext=(5, 0), textcoords="offset points", va="center", fontsize=8.5, color=style.INK)


def consoles(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what each generator printed of its first round, under a title."""
    for step in run.find(kind=PAIRED):
        if step.record.round == 1 and (text := step.folder.console_text()):
            load = f"{words.rate(facts.offered_rps(step))} on {words.connections(step.record.connections)}"
            yield f"What {facts.tool(step)} printed ({load})", text


def left_out(run: Run) -> Iterator[str]:
    """Yield that wrk2 was absent, and how to get it, where a load by it was planned."""
    if wrk2_was_absent(run):
        yield ABSENT
