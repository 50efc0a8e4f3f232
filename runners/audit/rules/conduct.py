"""Rules RUN and SMP: how the generator was run, what it printed on its own run, how many samples its figures have."""

import math
import re
from collections.abc import Iterator
from operator import itemgetter

from runners import words
from runners.audit import figures
from runners.audit.rule import Seen, Severity, rule, said
from runners.readers.console_report import ENOUGH_BEYOND, beyond
from runners.readers.output import Output
from runners.readers.tools import WRK2, is_like_wrk

SHOWN_LINES = 2
SHOWN_CHARACTERS = 80
WARM_UP_SLACK = 1.5
SHORT_S, BRIEF_S = 3.0, 10.0  # the start is a good part of such runs
FEWEST_FOR_P99 = 1_000
_COMPLAINT = re.compile(
    r"(?i)\b(?:unable|errors?|invalid|unknown|refused|reset by|timed out|can(?:no|')t|failed|failure|warning|usage:"
    r"|total of \d+ requests completed|insufficient|could(?: not|n't)|not found|too many|exceeded|segmentation|killed"
    r"|panic|denied)\b"
)
ENDED_EARLY, SAME_DURATION = 0.9, 0.05
OPENING, LEAST_OPENING_S = 0.1, 1.0
_LATE = re.compile(r"(?i)\b(?:not (?:keep|kept) up|kept up: no|are skewed|falling behind)\b|\bsleep \w+ : .* avg -")
WHOLE_RUN = 0.9
WANTED = 0.99
JUST_MISSED = 5e-4  # share of the samples that may be missing, for requests without a response
MEDIAN = 0.5  # level of the median, which has half of the samples beyond it, however few they are
_CENSORED = re.compile(r"\bcensored (\d{1,15})\b")


@rule("RUN001")
def _too_short(output: Output) -> Iterator[Seen]:
    report, duration, parts = output.report, words.finite(output.duration_s), []
    ran_s = max(words.finite(report.elapsed_s) or 0.0, duration or 0.0)
    if not ran_s and output.tool != "Locust":  # whose rate may be that of the last seconds
        ran_s = (report.requests or 0) / (figures.achieved_rps(output) or math.inf)
    if report.requests == 0:
        yield Seen(output, "nothing was measured: the run had 0 requests", {"requests": 0}, size=math.inf)
    elif output.tool != WRK2 and ran_s > 0 and round(ran_s, 1) < BRIEF_S:
        severity = Severity.WARNING if ran_s < SHORT_S else Severity.NOTE
        yield Seen(output, f"the whole run took {words.seconds(ran_s)}", {"ran_s": ran_s}, severity, size=-ran_s)
    if output.tool != WRK2:
        return
    means: dict[str, tuple[float | None, ...]] = {"calibration": report.calibrations_us}
    if report.latency:
        means["Latency"] = (report.latency.mean,)
    if report.requests_per_thread and not report.calibrations_us:  # Req/Sec is counted after the calibration
        means["Req/Sec"] = (report.requests_per_thread.mean,)
    broken = [name for name, values in means.items() if any(math.isnan(value or 0.0) for value in values)]
    if duration is not None and duration <= figures.WRK2_WARM_UP_S:
        parts.append(f"{words.seconds(duration)} is no longer than wrk2's calibration of {figures.WRK2_WARM_UP_S:g} s")
    if broken:
        parts.append(f"{words.listed(broken)} {'is' if len(broken) == 1 else 'are'} -nan")
    if parts:
        text = f"{'; '.join(parts)}: the warm-up is in the figures, or nothing is"
        evidence = {"duration_s": duration, "not_a_number": ", ".join(broken)}
        yield Seen(output, text, evidence, size=len(broken) + 1 / (1 + (duration or 0.0)))


@rule("RUN002")
def _lost_connections(output: Output) -> Iterator[Seen]:
    threads, connections, whole = output.threads, output.connections, figures.opened(output)
    if threads and connections != whole:
        setting = f"{words.count(connections)} connections over {words.count(threads)} threads"
        text = f"{setting}: the generator rounds down and opens {words.count(whole)}"
        evidence = {"connections": connections, "threads": threads, "opened": whole}
        yield Seen(output, text, evidence, size=1 - (whole or 0) / (connections or 1))


@rule("RUN003")
def _diagnostics(output: Output) -> Iterator[Seen]:
    counted = output.tool == "Gatling" and output.report.socket_errors  # its complaints are time-outs, of rule ERR004
    complaints = (line for line in output.report.diagnostics if _COMPLAINT.search(line) or _LATE.search(line))
    lines = [] if counted else list(complaints)
    lines += [line for line in output.report.extra if _LATE.search(line)]
    if lines:
        late = "; the generator was late" if any(map(_LATE.search, lines)) else ""
        shown = words.listed(repr(line[:SHOWN_CHARACTERS]) for line in lines[:SHOWN_LINES])
        text = f"between the lines of the output stands: {shown}{late}"
        yield Seen(output, text, {"lines": len(lines)}, size=len(lines))


def left_out_by_warm_up(output: Output) -> float | None:
    """Return how many requests wrk2's histogram should omit for the warm-up: rate * its length; None without a rate."""
    rate = figures.achieved_rps(output) or output.offered_rps
    return rate * figures.warm_up_s(output) if rate else None


@rule("RUN004")
def _warm_up(output: Output) -> Iterator[Seen]:
    lost, usual, requests = figures.left_out(output), left_out_by_warm_up(output), output.report.requests
    short = output.duration_s is not None and output.duration_s <= figures.WRK2_WARM_UP_S
    if short or not lost or lost < 0 or not usual or not requests or lost > WARM_UP_SLACK * usual:
        return
    text = said("RUN004", words.count(lost), words.count(requests), words.seconds(figures.warm_up_s(output)))
    evidence = {"left_out": lost, "requests": requests, "recorded": requests - lost}
    yield Seen(output, text, evidence, size=lost / requests)


@rule("RUN005")
def _cut(output: Output) -> Iterator[Seen]:
    report = output.report
    uncounted = bool(report.latencies.rows) and report.requests is None and report.requests_per_s is None
    of_service = bool(report.uncorrected) and not report.latencies  # its run's own output stands elsewhere
    if not output.missing or output.report.columns > 1 or uncounted or of_service or report.requests == 0:
        return  # rule SMP002 reports that a bare table of percentiles lacks the number of samples
    known = figures.samples(output)[0]
    count, text, threads = known or 0, f"the output lacks {words.listed(output.missing)}", output.threads
    if known and count < FEWEST_FOR_P99 and all(part.startswith("percentiles b") for part in output.missing):
        return  # the tool prints no more of so few; rule SMP001 looks at those that it prints
    if known is not None and count < ENOUGH_BEYOND and "percentiles" in output.missing:
        text += f"; its mean is that of {words.several(count, 'response')}"
    mean = words.finite(report.requests_per_thread.mean) if report.requests_per_thread else None
    if report.requests_per_s is None and mean and threads and threads > 1:
        in_all = words.rate(threads * mean)
        text += f"; Req/Sec is of one of {threads} threads: {words.rate(mean)} is about {in_all} in all"
    yield Seen(output, text, {"missing": len(output.missing)}, size=len(output.missing))


@rule("RUN007")
def _stopped(output: Output) -> Iterator[Seen]:
    elapsed_s, planned_s = words.finite(output.report.elapsed_s), words.finite(output.report.duration_s)
    if elapsed_s is None or not planned_s:
        return
    early = elapsed_s < ENDED_EARLY * planned_s and not figures.is_of_no_run(output)
    if early or output.report.interrupted:
        text = f"it ran for {words.seconds(elapsed_s)} of {words.seconds(planned_s)}"
        yield Seen(output, text, {"elapsed_s": elapsed_s, "duration_s": planned_s}, size=1 - elapsed_s / planned_s)


@rule("RUN008")
def _slow_to_open(output: Output) -> Iterator[Seen]:
    opening, duration = figures.opening_s(output), words.finite(output.duration_s)
    if output.tool == WRK2 and duration and opening > LEAST_OPENING_S:
        connections, threads = words.count(output.connections), words.several(output.threads or 1, "thread")
        text = said("RUN008", connections, threads, words.seconds(opening), words.seconds(duration))
        severity, share = None if opening >= OPENING * duration else Severity.NOTE, opening / duration
        yield Seen(output, text, {"opening_s": opening, "duration_s": duration}, severity, size=share)


@rule("RUN009")
def _other_command(output: Output) -> Iterator[Seen]:
    command, printed_s = output.report.command, output.report.duration_s or output.report.elapsed_s
    commanded_s = command.duration_s if command else None
    if commanded_s and printed_s and abs(commanded_s / printed_s - 1) > SAME_DURATION and is_like_wrk(output.tool):
        text = f"the command runs for {words.seconds(commanded_s)}, and the output for {words.seconds(printed_s)}"
        yield Seen(output, text, {"asked_s": commanded_s, "ran_s": printed_s}, size=abs(commanded_s - printed_s))


@rule("SMP001")
def _few_beyond(output: Output) -> Iterator[Seen]:
    count, counted = figures.samples(output)
    if count is None:
        return
    part, count = min(filter(itemgetter(1), output.report.parts), key=itemgetter(1), default=("", count))
    left = {level: beyond(count, level) for level, _ in output.report.latencies.rows if MEDIAN < level < 1}
    enough = ENOUGH_BEYOND * (1 - JUST_MISSED)  # as there are beyond p99.99 of 99,989, just below a round number
    thin = {level: few for level, few in left.items() if few < ENOUGH_BEYOND and count * (1 - level) <= enough}
    if not thin:
        return
    listed = words.listed(f"{few} beyond {words.level(level)}" for level, few in thin.items())
    known = f"{part and f'row {part}: '}{'' if counted else 'about '}{words.several(count, 'sample')}"
    text = f"{known}, {listed}: that is an anecdote, not a percentile"
    evidence = {"samples": count, "counted": counted}
    evidence |= {f"beyond_{words.level(level)}": few for level, few in thin.items()}
    # a tool prints higher percentiles whether they are wanted or not
    wanted = output.report.columns > 1 or min(thin) <= WANTED
    yield Seen(output, text, evidence, None if wanted else Severity.NOTE, size=-min(thin))


@rule("SMP002")
def _no_count(output: Output) -> Iterator[Seen]:
    report = output.report
    highest = max((level for level, _ in report.latencies.rows if level < 1), default=0.0)
    if highest <= MEDIAN or report.latencies.count is not None or report.requests is not None:
        return
    if report.requests_per_s is not None and (output.report.columns > 1 or not is_like_wrk(output.tool)):
        return
    text = said("SMP002", words.level(highest))
    evidence = {"highest_percentile": highest, "rows": len(report.latencies.rows)}
    yield Seen(output, text, evidence, size=highest)


def _ran_to_its_last_response(output: Output) -> bool:
    """Return whether a run had a fixed number of requests: it is ab's, or their number is round and none failed."""
    requests = output.report.requests or 0
    rounded = requests >= FEWEST_FOR_P99 and float(f"{requests:.1e}") == requests and output.tool != "autocannon"
    lost = output.report.errors or (output.report.socket_errors and output.report.socket_errors.total)
    return output.tool in ("ab", "vegeta") or (rounded and not lost and not is_like_wrk(output.tool))


@rule("SMP003")
def _at_bound(output: Output) -> Iterator[Seen]:
    report, largest = output.report, figures.largest_us(output)
    censored = next((int(match[1]) for line in report.extra if (match := _CENSORED.search(line))), 0)
    if censored:
        text = f"{words.several(censored, 'request')} had no response when the run ended: the maximum is a lower bound"
        evidence = {"censored": censored, "max_us": largest}
        yield Seen(output, text, evidence, Severity.WARNING, size=censored)  # the tool reports it
        return
    longest = largest if largest is not None else max((value for _, value in report.latencies.rows), default=0.0)
    if longest <= 0 or report.requests == 1 or figures.is_of_no_run(output):
        return
    if timeout_s := figures.timeout_at(output, longest):
        named = "the maximum" if largest is not None else "a percentile"
        text = said("SMP003", named, words.latency(longest), f"{output.tool}'s time-out of {words.seconds(timeout_s)}")
        yield Seen(output, text, {"max_us": longest, "timeout_s": timeout_s}, size=longest)
        return
    queued = figures.fell_short(output) or figures.has_queue(output)  # then the maximum is the queue's length
    run_s = (
        0.0 if queued or _ran_to_its_last_response(output) else max(output.duration_s or 0.0, report.elapsed_s or 0.0)
    )
    if run_s and largest and largest / 1e6 >= WHOLE_RUN * run_s:
        text = said("SMP003", "the maximum", words.latency(largest), f"nearly the run's length, {words.seconds(run_s)}")
        yield Seen(output, text, {"max_us": largest, "duration_s": run_s}, size=largest)
