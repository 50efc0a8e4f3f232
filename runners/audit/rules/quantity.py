"""SMP: on how much the figures rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runners import words
from runners.audit import figures
from runners.audit.rule import Seen, Severity, rule
from runners.readers.console_report import ENOUGH_BEYOND, beyond
from runners.readers.output import Output
from runners.readers.tools import facts, is_like_wrk

AT_BOUND = 0.98  # of the time-out, as long as a response waits that is given up
JUST_OVER = 1.001  # by which a timer may be late
WHOLE_RUN = 0.9
WANTED = 0.99
JUST_MISSED = 5e-4  # of the samples, which some requests without a response may be
MEDIAN = 0.5  # rests on half of the samples, however few they are
_CENSORED = re.compile(r"\bcensored (\d{1,15})\b")


@rule("SMP001")
def _few_beyond(output: Output) -> Iterator[Seen]:
    count, counted = figures.samples(output)
    if count is None:
        return
    left = {level: beyond(count, level) for level, _ in output.report.latencies.rows if MEDIAN < level < 1}
    enough = ENOUGH_BEYOND * (1 - JUST_MISSED)  # as there are beyond p99.99 of 99,989, just below a round number
    thin = {level: few for level, few in left.items() if few < ENOUGH_BEYOND and count * (1 - level) <= enough}
    if not thin:
        return
    listed = words.listed(f"{few} beyond {words.level(level)}" for level, few in thin.items())
    known = f"{'' if counted else 'about '}{words.several(count, 'sample')}"
    text = f"{known}, {listed}: that is an anecdote, not a percentile"
    evidence = {"samples": count, "counted": counted}
    evidence |= {f"beyond_{words.level(level)}": few for level, few in thin.items()}
    wanted = output.columns > 1 or max(thin) <= WANTED  # a tool prints the higher ones whether they are wanted or not
    yield Seen(output, text, evidence, None if wanted else Severity.NOTE, -min(thin))


@rule("SMP002")
def _no_count(output: Output) -> Iterator[Seen]:
    report = output.report
    highest = max((level for level, _ in report.latencies.rows if level < 1), default=0.0)
    if highest <= MEDIAN or report.latencies.count is not None or report.requests is not None:
        return
    if report.requests_per_s is not None and (output.columns > 1 or not is_like_wrk(output.tool)):
        return
    text = (
        f"percentiles without their number of samples: whether {words.level(highest)} rests on ten responses or on one "
        "can't be known"
    )
    evidence = {"highest_percentile": highest, "rows": len(report.latencies.rows)}
    yield Seen(output, text, evidence, size=highest)


@rule("SMP003")
def _at_bound(output: Output) -> Iterator[Seen]:
    largest = figures.largest_us(output)
    censored = next((int(match[1]) for line in output.report.extra if (match := _CENSORED.search(line))), 0)
    if censored:
        text = f"{words.several(censored, 'request')} had no response when the run ended: the maximum is a lower bound"
        yield Seen(output, text, {"censored": censored, "max_us": largest}, Severity.WARNING)  # it says so itself
        return
    highest = max((value for _, value in output.report.latencies.rows), default=None)
    longest = largest if largest is not None else highest
    if longest is None or longest <= 0 or figures.is_of_no_run(output):
        return
    if figures.fell_short(output) or figures.has_queue(output):
        return  # of a queue the length says all
    commanded_s = output.command.timeout_s if output.command else None
    timeout_s = commanded_s or facts(output.tool).timeout_s
    if timeout_s and facts(output.tool).timeout_s and AT_BOUND * timeout_s <= longest / 1e6 <= JUST_OVER * timeout_s:
        named = "the maximum" if largest is not None else "a percentile"
        text = (
            f"{named} of {words.latency(longest)} lies at {output.tool}'s time-out of {words.seconds(timeout_s)}: what "
            "took longer is not in it"
        )
        yield Seen(output, text, {"max_us": longest, "timeout_s": timeout_s})
        return
    run_s = output.duration_s if output.tool != "ab" else None  # which runs until all its requests are done
    if run_s and largest and largest / 1e6 >= WHOLE_RUN * run_s:
        text = (
            f"the maximum of {words.latency(largest)} is as long as the run of {words.seconds(run_s)}: longer waits "
            "could not be seen"
        )
        yield Seen(output, text, {"max_us": largest, "duration_s": run_s})
