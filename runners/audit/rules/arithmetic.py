"""Rules SUM and DOC003: figures of one output that contradict one another, and outputs that are given twice."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from runners import words
from runners.audit import figures
from runners.audit.rule import Group, Seen, Severity, rule, said
from runners.audit.rules.conduct import WARM_UP_SLACK, left_out_by_warm_up
from runners.readers.console_report import Latencies, SpectrumRow
from runners.readers.output import Output
from runners.readers.summary import NEGATIVE
from runners.readers.tools import WRK, facts

ROUNDED = 0.012  # rounding of two figures to two decimals, both at least 0.85 of their unit
BUCKET = 0.002  # share of a value by which the upper end of its histogram bucket may exceed it
INVENTED = 0.03  # share by which wrk's rate may exceed connections / mean latency
CONTRADICTING = 0.1  # the same of another tool
_PIPELINE = re.compile(r"(?i)pipelin.*\s--\s(?:.*\s)?(\d{1,5})\s*$")  # a script with the depth of its pipeline
_ADDED = "wrk adds samples that it did not take after each long one, and mean and high percentiles hold them"
MOST_OF_HEY = 1_000_000  # responses that hey keeps
OF_THE_MEAN = 0.1  # share by which a mean may lie outside its bounds, because percentiles may be estimates
ENOUGH_ROWS = 4  # percentiles; two outputs of different runs may agree in fewer
MOST_COMPARED = 60  # outputs with the same percentiles
WHOLE_US = 1_000.0  # rounding of whole milliseconds
Contradiction = tuple[str, Mapping[str, words.Value]]  # in words, and first the two figures that contradict each other


@rule("SUM001")
def _rate_mismatch(output: Output) -> Iterator[Seen]:
    report = output.report
    requests, elapsed, rate = report.requests, words.finite(report.elapsed_s), figures.achieved_rps(output)
    if requests is None or not elapsed or rate is None or figures.is_of_no_run(output):
        return
    reckoned = requests / elapsed
    of_all = output.tool == "hey" and requests == MOST_OF_HEY and rate > reckoned
    if facts(output.tool).mean_of_intervals or of_all:
        return
    unit_s = next((unit_s for unit_s in (3600.0, 60.0) if elapsed >= 0.85 * unit_s), 1.0)  # wrk's, as in `1.00m`
    slack = (0.5 if output.tool == "JMeter" else 0.005 * unit_s) / elapsed + 1e-3  # half of the last digit
    if abs(reckoned - rate) <= slack * reckoned + 0.01:
        return
    counted = f"{words.count(requests)} requests in {words.seconds(elapsed)}"
    text = f"{counted} are {reckoned:.2f}/s, and Requests/sec says {rate:.2f}"
    evidence = {"requests": requests, "elapsed_s": elapsed, "requests_per_s": rate}
    yield Seen(output, text, evidence, size=abs(reckoned - rate) / max(reckoned, rate))


def _descents(latencies: Latencies) -> Iterator[str]:
    for (low, value), (high, next_value) in pairwise(latencies.rows):
        if next_value < value * (1 - 1e-9):
            yield f"{words.level(high)} {words.latency(next_value)} below {words.level(low)} {words.latency(value)}"
    for row, after in pairwise(latencies.spectrum):
        falls = after.value_ms < row.value_ms or after.total_count < row.total_count
        if falls or after.percentile < row.percentile:
            yield f"{after.value_ms:g} ms at {after.percentile:g} after {row.value_ms:g} ms at {row.percentile:g}"


@rule("SUM002")
def _not_monotonic(output: Output) -> Iterator[Seen]:
    descents = [*_descents(output.report.latencies), *_descents(output.report.uncorrected)]
    if descents:
        more = f", and {len(descents) - 1} more" if len(descents) > 1 else ""
        text = f"percentiles must ascend: {descents[0]}{more}"
        yield Seen(output, text, {"descents": len(descents)}, size=len(descents))


@rule("SUM003")
def _contradictory(output: Output) -> Iterator[Seen]:
    for text, evidence in (*_contradictions(output), *_impossible_mean(output), *_missing_from_histogram(output)):
        apart = sorted(float(value or 0.0) for value in (*evidence.values(), 0.0, 0.0)[:2])
        yield Seen(output, text, evidence, size=apart[1] / apart[0] if apart[0] else math.inf)


def _contradictions(output: Output) -> Iterator[Contradiction]:
    report, latencies = output.report, output.report.latencies
    if report.non_2xx is not None and report.requests is not None and report.non_2xx > report.requests:
        text = f"{words.count(report.non_2xx)} errors in {words.count(report.requests)} requests"
        yield text, {"non_2xx": report.non_2xx, "requests": report.requests}
    counted, last = latencies.total_count, latencies.spectrum[-1] if latencies.spectrum else None
    if counted is not None and last and _is_row_of(last, 1.0):
        if counted != last.total_count:
            samples = words.count(last.total_count)
            text = f"the spectrum ends with {samples} samples and its footer counts {words.count(counted)}"
            yield text, {"spectrum_count": last.total_count, "footer_count": counted}
        largest = words.finite(latencies.max_ms)
        if largest and abs(largest - last.value_ms) > BUCKET * last.value_ms + 0.001:
            text = f"the spectrum ends at {last.value_ms:g} ms and its footer's maximum is {largest:g} ms"
            yield text, {"spectrum_max_ms": last.value_ms, "footer_max_ms": largest}
    for level, value in latencies.rows:
        there = next((row for row in latencies.spectrum if _is_row_of(row, level)), None)
        if there and _apart(value, there.value_ms * 1000) and not _is_adjacent(value, level, latencies):
            listed, in_spectrum = words.latency(value), words.latency(there.value_ms * 1000)
            text = f"{words.level(level)} is {listed} in the list and {in_spectrum} in the spectrum"
            yield text, {"listed_us": value, "spectrum_us": there.value_ms * 1000}
    stats = report.latency
    highest = max((value for _, value in latencies.rows), default=None)
    most = words.finite(stats.max) if stats else None
    if most is not None and highest is not None and highest > most * (1 + ROUNDED):
        text = f"a percentile of {words.latency(highest)} lies above the maximum of {words.latency(most)}"
        yield text, {"percentile_us": highest, "max_us": most}
    mean, footer_ms = figures.mean_us(output), words.finite(latencies.mean_ms)
    if mean and footer_ms and abs(mean - footer_ms * 1000) > OF_THE_MEAN * max(mean, footer_ms * 1000):
        text = f"the mean is {words.latency(mean)} in the table and {words.latency(footer_ms * 1000)} in the footer"
        yield text, {"mean_us": mean, "footer_mean_us": footer_ms * 1000}
    if most is not None and mean is not None and mean > most * (1 + ROUNDED):
        yield f"the mean of {words.latency(mean)} lies above the maximum", {"mean_us": mean, "max_us": most}
    least, middle = report.least_us or 0.0, min(filter(None, (mean, latencies.at(0.5))), default=math.inf)
    if least > middle * (1 + ROUNDED) + WHOLE_US * facts(output.tool).whole_ms:
        text = f"the shortest latency of {words.latency(least)} lies above mean or median, {words.latency(middle)}"
        yield text, {"min_us": least, "middle_us": middle}
    if NEGATIVE in report.extra:
        yield NEGATIVE, {}
    if report.requests_per_s == 0 and highest:
        yield f"responses took up to {words.latency(highest)} at a rate of 0/s", {"requests_per_s": 0}


def mean_bounds_us(rows: Sequence[tuple[float, float]], largest_us: float | None) -> tuple[float, float]:
    """Return the least and the greatest mean (us) that the percentiles in `rows` allow.

    `rows` are pairs of a level (0..1) and a latency (us). A response between two percentiles took at least the time at
    the lower and at most the time at the upper one. Without a maximum, the greatest mean is infinite.
    """
    least = most = level = below = 0.0
    for next_level, value in sorted(rows):
        least += (next_level - level) * below
        most += (next_level - level) * value
        level, below = next_level, value
    return least + (1 - level) * below, most + (1 - level) * largest_us if largest_us is not None else math.inf


def _impossible_mean(output: Output) -> Iterator[Contradiction]:
    rows, mean = output.report.latencies.rows, figures.mean_us(output)
    if mean is None or not rows or not all(math.isfinite(value) for _, value in rows):
        return
    least, most = mean_bounds_us(rows, figures.largest_us(output))
    name, bound_us = ("most", most) if mean > most else ("least", least)
    if mean > most * (1 + OF_THE_MEAN) + WHOLE_US or mean < least * (1 - OF_THE_MEAN) - WHOLE_US:
        allowed = f"which allow at {name} {words.latency(bound_us)}"
        text = f"a mean of {words.latency(mean)} is impossible by its percentiles, {allowed}"
        yield text, {"mean_us": mean, f"{name}_us": round(bound_us, 1)}


def _is_row_of(row: SpectrumRow, level: float) -> bool:
    # a row may print the level 1 by rounding: then its inverse, 1 / (1 - level), is finite
    last = row.inverse is None or math.isinf(row.inverse)
    return math.isclose(row.percentile, level, abs_tol=1e-9) and (level < 1 or last)


def _apart(value_us: float, other_us: float) -> bool:
    return abs(value_us - other_us) > ROUNDED * value_us + 1


def _is_adjacent(value_us: float, level: float, latencies: Latencies) -> bool:
    """Return whether a list's value at a level may be the sample before or after the spectrum's sample at that level.

    Floating point can raise a whole rank by one: 0.9 of 150 is 135, but the row counts 136. The sample then lies
    between that row and the one before.
    """
    rows = latencies.spectrum
    rank = math.ceil(level * rows[-1].total_count - 1e-6)
    at = next(index for index, row in enumerate(rows) if math.isclose(row.percentile, level, abs_tol=1e-9))
    before, after = {1: (at - 1, at), -1: (at, at + 1)}.get(rows[at].total_count - rank, (-1, len(rows)))
    if before < 0 or after >= len(rows):
        return False
    low, high = rows[before].value_ms * 1000, rows[after].value_ms * 1000
    return low <= value_us <= high or not _apart(value_us, low) or not _apart(value_us, high)


def _missing_from_histogram(output: Output) -> Iterator[Contradiction]:
    lost, usual, requests = figures.left_out(output), left_out_by_warm_up(output), output.report.requests
    if figures.fell_short(output) or figures.dead_connections(output) or figures.has_queue(output):
        return  # responses that came late or never are in no histogram; other rules report them
    if lost is None or requests is None:
        return
    if lost < 0:
        more = f"{words.count(-lost)} samples more than there were requests"
        yield f"the histogram holds {more}", {"requests": requests, "recorded": requests - lost}
    elif usual and lost > WARM_UP_SLACK * usual:
        left_out = f"{words.count(lost)} of {words.count(requests)} requests are not in the histogram"
        text = f"{left_out}; the warm-up explains {words.count(usual)} of them"
        yield text, {"requests": requests, "recorded": requests - lost, "explained": round(usual)}


@rule("SUM004")
def _more_than_connections(output: Output) -> Iterator[Seen]:
    """Yield a finding if a closed loop's mean latency is too long for the rate that its connections achieved.

    In a closed loop, rate = connections / mean latency (J. D. C. Little, 1961, Oper. Res. 9).
    """
    rate, mean, connections = figures.achieved_rps(output), figures.mean_us(output), figures.opened(output)
    known, report, of_wrk = facts(output.tool), output.report, output.tool == WRK
    if figures.is_open_loop(output) or not mean or not rate or not connections:
        return
    piped = _PIPELINE.search(output.command.text) if output.command else None
    depth = int(piped[1]) if piped else report.depth or known.depth
    least_rps, least_us = rate, mean
    if not of_wrk:  # failed requests may have no latency; a mean of whole milliseconds may be rounded up
        least_rps, least_us = rate * (1 - figures.failed_share(output)), mean - figures.TICK_US * known.whole_ms
        if known.mean_of_intervals and report.requests and report.elapsed_s:
            least_rps = min(least_rps, report.requests / report.elapsed_s)
    reckoned = connections * depth / mean * 1e6
    if least_rps * least_us / 1e6 <= connections * depth * (1 + (INVENTED if of_wrk else CONTRADICTING)):
        return
    within = f", up to {depth} requests in each," if depth > 1 else ""
    of = f"{words.several(connections, known.sender)}{within} at a mean of {words.latency(mean)}"
    text = said("SUM004", of, reckoned, rate, _ADDED if of_wrk else "latency and rate contradict each other")
    evidence = {"connections": connections, "mean_us": mean, "reckoned_rps": round(reckoned, 2), "requests_per_s": rate}
    yield Seen(output, text, evidence, Severity.NOTE if of_wrk else None, size=rate / reckoned)


@rule("SUM005")
def _no_run(output: Output) -> Iterator[Seen]:
    elapsed_s, planned_s, largest = output.report.elapsed_s, output.report.duration_s, figures.largest_us(output)
    if not figures.is_of_no_run(output) or elapsed_s is None or planned_s is None:
        return
    responses = f", with responses of {words.latency(largest)}" if largest else ""
    ran = words.several(output.report.requests or 0, "request"), words.seconds(elapsed_s), words.seconds(planned_s)
    evidence = {"elapsed_s": elapsed_s, "duration_s": planned_s, "rate": figures.achieved_rps(output)}
    yield Seen(output, said("SUM005", *ran, responses), evidence, size=-elapsed_s / planned_s)


@rule("DOC003", of_group=True)
def _same_output(group: Group) -> Iterator[Seen]:
    """Yield a finding for an output with the percentiles of another load's output, and for a repeated output."""
    alike: dict[object, list[Output]] = {}
    for output in group:
        if len(rows := output.report.latencies.rows) >= ENOUGH_ROWS:
            alike.setdefault(rows, []).append(output)
    for outputs in alike.values():
        for first, second in combinations(outputs[:MOST_COMPARED], 2):
            for written, before, now in (
                (words.rate, first.offered_rps, second.offered_rps),
                (lambda count: words.several(count, "connection"), first.connections, second.connections),
            ):
                if before and now and before != now:
                    loads = f"given there for {written(before)} and here for {written(now)}"
                    text = f"it is the output of {first.place} once more, {loads}"
                    yield Seen(second, text, {"first": first.place}, size=max(before, now) / min(before, now))
                    break
    places: dict[object, int] = {}
    for index, output in enumerate(group):
        report = output.report
        if report.requests and report.requests_per_s and report.latency and report.latency.mean:
            figures = (report.requests, report.requests_per_s, report.latency, report.latencies.rows)
            same = places.setdefault((*figures, output.offered_rps, output.connections), index)
            if index - same > 1:
                between = words.several(index - same - 1, "other output")
                text = f"it is the output of {group[same].place} once more, with {between} between"
                yield Seen(output, text, {"first": group[same].place}, size=1.0)  # the loads are the same
