"""Build a report's sections on loads in closed loop, which repeat the runs of the published report report-2."""

import math
from collections.abc import Iterator, Mapping, Sequence

from matplotlib.ticker import NullFormatter, NullLocator

from runners import words
from runners.analysis import facts, instrument
from runners.analysis.quantities import factor
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published_of
from runners.readers.run import Run, Step
from runners.report import style, tables
from runners.report.latency import spectrum
from runners.report.tables import PROSE, Section, Table
from runners.results import loops
from runners.results.loops import Loop


def closed_loop_sections(run: Run) -> Iterator[Section]:
    """Yield the sections on closed loops, such as their latency curves and their rates; none for a run without them."""
    measured = loops.of_run(run)
    if not measured:
        return
    outputs = published_of(loops.REPORT)
    if curves_of(measured):
        yield Section.of("delay", loop_curves(measured, instrument.floor_before(run.steps)).at(loops.CURVES))
    yield Section.of("rates-of-loops", loop_rates(measured, outputs).at(loops.RATES))
    if counted := [loop for loop in measured if words.known(loop.a_request("DelayedACKs"))]:
        rows = tuple(
            (
                _label(loop), tables.latency(loop.median_us), tables.count(loop.completed),
                *(tables.number(loop.a_request(counter)) for counter in ("DelayedACKs", "OutSegs")),
            )
            for loop in sorted(counted, key=lambda loop: loop.connections)  # loops that wait are next to others
        )  # fmt: skip
        head = ("loop", "p50", "requests", "delayed ACKs per request", "segments per request")
        table = Table("Counters of TCP", head, rows, PROSE[loops.COUNTERS]["note"])
        yield Section.of(loops.COUNTERS, table)
    gets = [loop for loop in measured if loop.name in ("get-few", "get")]
    if gets := [loop for loop in gets if loop.stage in ("after", "delayed", "jdk25")]:
        responses = tuple(
            (_label(loop), *map(tables.count, (loop.completed, loop.non_2xx, absent)))
            for loop in gets
            for absent in (loop.absent_by_script if loop.name == "get-few" else 0,)
        )
        columns = ("loop", "requests", "404", "by the script's numbers")
        yield Section.of(loops.ERRORS, Table("GET on a store with and without the keys", columns, responses))
    if any(loop.published for loop in measured):
        yield Section.of(loops.TABLE, _published(measured, outputs))


def _published(measured: Sequence[Loop], outputs: Mapping[str, ConsoleReport]) -> Table:
    """Return a table with a row for every published run, compared with the loop that repeats the run here."""
    here = {loop.published: loop for loop in measured if loop.published}
    rows = []
    for name, output in outputs.items():
        loop = here.get(name)
        there = _cell(output.requests_per_s, output.latencies.at(0.5), output.latencies.at(0.99), output.errors)
        ours, missed = "not measured", tables.NONE
        if loop is not None:
            p50, p99 = (facts.quoted(loop.step, level) for level in (0.5, 0.99))
            known = p99 if facts.samples(loop.step) * 0.01 >= facts.ENOUGH_BEYOND else None
            ours = _cell(loop.rate_rps, p50.value if p50 else None, known.value if known else None, loop.non_2xx)
            other = {"mixed-once": "mixed", "get-few": "get"}.get(loop.name, loop.name)
            missed = _missed(loop, output, next(iter(loops.find(measured, "nodelay", other, loop.connections)), None))
        rows.append((name.rpartition("/")[2].replace("-", words.NBSP), there, ours, missed))
    head = ("run", "published", "reproduced", "what the authors missed")
    note = PROSE[loops.TABLE]["note"].format(enough=facts.ENOUGH_BEYOND)
    return Table("Every published run", head, tuple(rows), note, numeric=False)


def _missed(loop: Loop, output: ConsoleReport, with_nodelay: Loop | None) -> str:
    parts = []
    if with_nodelay is not None and loop.waits and not with_nodelay.waits:
        many = factor(with_nodelay.rate_rps / loop.rate_rps)
        how = {"mixed-once": "with the flag and a true mix", "get-few": "with the flag and all keys"}
        parts.append(f"{how.get(loop.name, 'the flag alone')}: {tables.rate(with_nodelay.rate_rps)}, {many} as many")
    if output.non_2xx and output.requests:
        parts.append(f"{tables.share(output.non_2xx / output.requests)} of its responses are 404, by the script")
    if loop.name == "mixed-once":
        parts.append("no PUT among its requests")
    return "; ".join(parts) or tables.NONE


def _cell(rate_rps: float | None, p50: float | None, p99: float | None, errors: float) -> str:
    rate = f"{rate_rps:.1f}/s" if rate_rps else tables.NONE
    failed = f", {tables.count(errors)} errors" if errors else ""
    slow = f", p99 {tables.latency(p99)}" if p99 is not None else ""
    return f"{rate}, p50 {tables.latency(p50)}{slow}{failed}"


MARKERS = {"before": "s", "after": "o", "nodelay": "^", "jdk25": "v", "delayed": "D", "one-write": "P"}
#: The stages (settings of the server) whose curves are drawn, and those drawn instead if JDK 17 was absent.
THREE, FALLBACK = ("after", "nodelay", "jdk25"), ("delayed", "jdk25")
RATE_LOOPS = (("put",), ("get", "get-few"), ("mixed-once", "mixed"))
NAMES = PROSE["loops"]


def _name_of(name: str) -> str:
    return NAMES.get(name, style.plain(name, 20))


def _label(loop: Loop) -> str:
    return f"{loop.title}: {_name_of(loop.name)} on {words.connections(loop.connections)}"


def curves_of(measured: Sequence[Loop]) -> list[Loop]:
    """Return the PUT loop on fewest connections of each stage in THREE, or in FALLBACK if no loop has THREE[0]."""
    stages = THREE if any(loop.stage == THREE[0] for loop in measured) else FALLBACK
    return [loop for stage in stages if (loop := loops.first(measured, stage, "put")) is not None]


def loop_curves(measured: Sequence[Loop], floor: Step | None = None) -> style.Picture:
    """Draw latency by percentile of the loops that `curves_of` returns, and of `floor`, a do-nothing server's load."""
    chosen = curves_of(measured)
    parts = [f"{loop.title} {words.latency(loop.median_us)}" for loop in chosen]
    heading = f"PUT in closed loop, p50: {'; '.join(parts)}"
    labels = {loop.step.name: loop.title for loop in chosen}
    return spectrum(*(loop.step for loop in chosen), floor=floor, service=False, heading=heading, labels=labels)


@style.styled
def loop_rates(measured: Sequence[Loop], published: Mapping[str, ConsoleReport]) -> style.Picture:
    """Draw rates over connections: a panel per kind of request, a line per setting, a + per output in `published`."""
    panels_of = [own for group in RATE_LOOPS if (own := [loop for loop in measured if loop.name in group])]
    figure = style.Picture(8.4, 4.6)
    panels = figure.subplots(1, len(panels_of), sharey=True, squeeze=False)[0]
    for axes, own in zip(panels, panels_of, strict=True):
        for (stage, name), loops_of_line in facts.grouped(own, lambda loop: (loop.stage, loop.name)).items():
            line = sorted(loops_of_line, key=lambda loop: loop.connections)
            axes.plot(
                [loop.connections for loop in line], [loop.rate_rps for loop in line], markersize=6,
                color=style.colour_of(stage), label=line[0].title,
                marker="x" if name == "get-few" else MARKERS.get(stage, "o"),
            )  # fmt: skip
        there = [loop for loop in own if loop.published in published]
        rates = [published[str(loop.published)].requests_per_s or math.nan for loop in there]
        if there:
            places = [loop.connections for loop in there]
            axes.plot(places, rates, "+", color=style.INK, markersize=10, zorder=4, label="published, before and after")
        counts = sorted({loop.connections for loop in own})
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [f"{count}" for count in counts])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(yscale="log", xlim=(min(counts) / 1.4, max(counts) * 1.4), xlabel="connections (and threads)")
        axes.yaxis.set(major_formatter=style.axis_count, minor_formatter=NullFormatter())
        axes.set_title(_name_of(own[0].name).split(" ")[0].rstrip(","), fontsize=9.5, pad=4)
    panels[0].set(ylabel="requests per second (log)", ylim=(10, None))
    style.legend(figure, 3, 8)
    parts = []
    for waits, what in ((True, "loops that wait"), (False, "loops that do not")):
        rates_rps = [loop.rate_rps / loop.connections for loop in measured if loop.waits == waits and loop.rate_rps > 0]
        if rates_rps:
            written = words.span(rates_rps, lambda rps: f"{rps:.1f}/s" if rps < 100 else words.rate(rps))
            parts.append(f"{written} for {what}")
    heading = f"Requests per second and connection: {words.listed(parts) or 'nothing was measured'}"
    return figure.headed(heading, f"Requests per second over connections, in closed loop. {heading}.")
