"""Build the sections of closed loops: rates and curves by connections, and the probes that choose a rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from runners.analysis import facts, floors, loops
from runners.analysis.finding import Finding
from runners.analysis.loops import Loop
from runners.claims import closed_loop as told
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published_of
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.section import Section, Shown, shown_of
from runners.report.spectrum import number
from runners.report.style import DOTTED
from runners.report.style import label as floor_label
from runners.report.tables import Table


def _about(conclusion: Conclusion, anchor: str) -> tuple[Finding, ...]:
    every = (*conclusion.missed, *conclusion.findings)
    return tuple(finding for finding in every if finding.figure == anchor)


def curve_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Where the responses lie: at the timer, or a hundred times below it."""
    chosen = curves_of(loops.of_run(run))
    if not chosen:
        return None
    steps = [loop.step for loop in chosen]
    return Section(
        "delay",
        "Where the responses lie",
        "One connection sends its next request when the last one was answered. What is late is late by the timer of "
        "the client's delayed acknowledgement, on any number of threads; with TCP_NODELAY nothing waits for it.",
        _about(conclusion, loops.CURVES),
        (shown_of(loops.CURVES, loop_curves(steps, floors.before(run.steps)), steps, "spectrum"),),
    )


def rate_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Requests a second of every stage over connections."""
    found = loops.of_run(run)
    if not found:
        return None
    data = pd.DataFrame(
        [
            {
                "step": loop.step.name, "stage": loop.stage, "loop": loop.name, "connections": loop.connections,
                "achieved_rps": loop.rate_rps, "p50_us": loop.median_us, "completed": loop.completed,
                "non_2xx": loop.non_2xx,
            }
            for loop in found
        ]
    )  # fmt: skip
    picture = loop_rates([loop.step for loop in found], published_of(loops.REPORT))
    return Section(
        "rates-of-loops",
        "Threads, connections, executors",
        "Loops that wait carry one request a wait and connection, whatever the server does with its threads.",
        _about(conclusion, loops.RATES),
        (Shown(loops.RATES, picture, data),),
    )


def counter_section(run: Run, conclusion: Conclusion) -> Section | None:
    """What the kernel counted in each stage, a request."""
    found = [loop for loop in loops.of_run(run) if write.known(loop.a_request("DelayedACKs"))]
    if not found:
        return None
    rows = tuple(
        (
            f"{loop.title}: {name_of(loop.name)} x {loop.connections}",
            numbers.latency(loop.median_us),
            numbers.count(loop.completed),
            *(_a_request(loop, counter) for counter in ("DelayedACKs", "OutSegs")),
        )
        for loop in found
    )
    head = ("loop", "p50", "requests", "delayed ACKs a request", "segments a request")
    note = (
        "From /proc/net/netstat and /proc/net/snmp just before and after each loop; they count every connection of the "
        "machine, also the lab's own question for the server's status. A request that waits has one segment more: the "
        "lone acknowledgement of the head, for which the body waits."
    )
    return Section(
        loops.COUNTERS,
        "The kernel's evidence",
        "A packet capture would show each lone acknowledgement. The kernel counts them, and anyone may read that.",
        _about(conclusion, loops.COUNTERS),
        (),
        (Table("Counters of TCP", head, rows, note),),
    )


def _a_request(loop: Loop, counter: str) -> str:
    value = loop.a_request(counter)
    return f"{value:.3g}" if write.known(value) else numbers.NONE


def error_section(run: Run, conclusion: Conclusion) -> Section | None:
    """404s by the script, here and as published."""
    about = _about(conclusion, loops.ERRORS)
    if not about:
        return None
    rows = [
        (
            f"{loop.title}: {name_of(loop.name)} x {loop.connections}",
            numbers.count(loop.completed),
            numbers.count(loop.non_2xx),
            numbers.count(loop.absent_by_script) if loop.name == "get-few" else numbers.count(0),
        )
        for loop in loops.of_run(run)
        if loop.name in ("get-few", "get") and loop.stage in ("after", "delayed", "jdk25")
    ]
    head = ("loop", "requests", "404", "by the script's numbers")
    tables = (Table("GET on a store with and without the keys", head, tuple(rows)),) if rows else ()
    return Section(
        loops.ERRORS,
        "Where the errors come from",
        "Nothing seeds LuaJIT's random numbers, so every thread of every run draws the same, and how many of them ask "
        "for an absent key is known before the server is started.",
        about,
        (),
        tables,
    )


def _missed(loop: Loop, output: ConsoleReport, reference: Loop | None) -> str:
    """What the authors did not see in one published run."""
    parts = []
    if reference is not None and loop.waits and not reference.waits:
        many = told.times(loops.times_as_many(loop, reference))
        how = {"mixed-once": "with the flag and a true mix", "get-few": "with the flag and all keys"}
        parts.append(f"{how.get(loop.name, 'the flag alone')}: {numbers.rate(reference.rate_rps)}, {many} as many")
    if output.non_2xx and output.requests:
        parts.append(f"{numbers.share(output.non_2xx / output.requests)} of its responses are 404, by the script")
    if loop.name == "mixed-once":
        parts.append("no PUT among its requests")
    return "; ".join(parts) or numbers.NONE


def published_section(run: Run, conclusion: Conclusion) -> Section | None:
    """Every published run beside its reproduction."""
    found = loops.of_run(run)
    outputs = published_of(loops.REPORT)
    here = {loop.published: loop for loop in found if loop.published}
    rows = []
    for name, output in outputs.items():
        loop = here.get(name)
        there = _cell(output.requests_per_s, output.latencies.at(0.5), output.latencies.at(0.99), output.errors)
        ours, missed = "not measured", numbers.NONE
        if loop is not None:
            p50, p99 = loop.at(0.5), loop.at(0.99)
            ours = _cell(loop.rate_rps, p50.value if p50 else None, p99.value if p99 else None, loop.non_2xx)
            other = {"mixed-once": "mixed", "get-few": "get"}.get(loop.name, loop.name)
            missed = _missed(loop, output, next(iter(loops.find(found, "nodelay", other, loop.connections)), None))
        rows.append((name.rpartition("/")[2].replace("-", write.NBSP), there, ours, missed))
    head = ("run", "published", "reproduced", "what the authors missed")
    note = (
        "before: dispatcher thread; after: cached pool; then threads and connections. Published: wrk, one minute each, "
        "JDK 8 in a virtual machine, each run once. Reproduced: our generator in closed loop, JDK 17, same scripts' "
        "draws, times as the appendix says. Shorter runs have fewer requests, so fewer 404s; their share is the same."
    )
    table = Table("Every published run", head, tuple(rows), note, numeric=False)
    title = "Published, reproduced, and what the authors missed"
    return Section(loops.TABLE, title, "", (), (), (table,)) if here else None


def _cell(rate_rps: float | None, p50: float | None, p99: float | None, errors: float) -> str:
    rate = f"{rate_rps:.1f}/s" if rate_rps else numbers.NONE
    failed = f", {numbers.count(errors)} errors" if errors else ""
    return f"{rate}, p50 {numbers.latency(p50)}, p99 {numbers.latency(p99)}{failed}"


BUILDERS = (curve_section, rate_section, counter_section, error_section, published_section)


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


@style.styled
def probes(steps: Sequence[Step], chosen_rps: float, published_rps: float | None) -> style.Picture:
    """Draw what each closed-loop probe reached, with the rate that was then chosen and the published one as lines."""
    figure = style.Picture(8.4, 1.3 + 0.5 * max(1, len(steps)))
    axes = figure.add_subplot()
    reached = [number(step.frames["summary"], "achieved_rps") for step in steps]
    labels = [f"{style.engine_name(step.subject)} {style.plain(step.workload.upper(), 12)}" for step in steps]
    known = [rps if math.isfinite(rps) else 0.0 for rps in reached]
    axes.barh(range(len(steps)), known, 0.5, color=style.SKY, label="closed-loop probe")
    for place, rps in enumerate(reached):
        style.beside(axes, numbers.rate(rps), known[place], place)
    marks = [("offered (chosen)", chosen_rps, style.INK, "-"), ("published", published_rps, style.VERMILION, "--")]
    shown = [mark for mark in marks if mark[1] is not None and math.isfinite(mark[1])]
    for name, rate_rps, colour, dashes in shown:
        axes.axvline(rate_rps or 0.0, color=colour, linestyle=dashes, label=name)
    axes.set_yticks(range(len(steps)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max([1.0, *known, *(rate_rps or 0.0 for _, rate_rps, _, _ in shown)]) * 1.14)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.axis_count(value)))
    axes.set_xlabel("requests per second")
    parts = [f"{label} {numbers.rate(rps)}" for label, rps in zip(labels, reached, strict=True)]
    heading = f"Closed-loop throughput: {', '.join(parts) or 'nothing was probed'}"
    figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.alt = f"{heading}."
    return figure
