"""Write in five lines how a load went: what `lab load` prints last."""

from __future__ import annotations

from collections.abc import Iterator

from runners import words
from runners.analysis import facts
from runners.analysis.counts import failures, number, refused_by_status
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import Outcome
from runners.readers.run import Step
from runners.report.cpu_time import cpu_us
from runners.results.limits import LoadJudgement


def load_lines(step: Step) -> Iterator[str]:
    """Yield rate, errors with their causes, median, p99 and CPU time of a load, and its reconnects where it had any."""
    yield _line("rate", _rate(step))
    failed = failures(step)
    yield _line("errors", f"{words.count(failed.failed)} of {words.several(failed.requests, 'request')}")
    for cause in step.frames["failures"].to_dict("records"):
        first = f"the first after {words.seconds(float(cause['first_s']))}: {cause['first']}"
        yield _line("", f"{words.count(float(cause['count']))} {cause['cause']}, {first}")
    for status, count in refused_by_status(step).items():
        yield _line("", f"{words.count(count)} with status {status}")
    if number(step, "reconnects") > 0:
        yield _line("reconnects", _reconnects(step))
    yield _line("median", facts.latency_text(step, 0.5))
    yield _line("p99", facts.latency_text(step, 0.99))
    yield _line("CPU", _cpu(step))


def judged_load(judgement: LoadJudgement) -> str:
    """Return a limit of a load with its outcome and the value that decided it."""
    limit, value = judgement.limit, judgement.value
    text = facts.written(value) if limit.most_us is not None else value.as_share
    if judgement.outcome == Outcome.INCONCLUSIVE and not words.known(value.value):
        text = "nothing may be said of it; the report says why"
    return f"{judgement.outcome.value}: {limit.text}: {text}"


def _line(name: str, text: str) -> str:
    return f"{name:<11}{text}"


def _rate(step: Step) -> str:
    offered_rps = facts.offered_rps(step)
    text = words.rate(facts.achieved_rps(step))
    return f"{text} of {words.rate(offered_rps)} offered" if words.known(offered_rps) else text


def _reconnects(step: Step) -> str:
    text = f"{words.count(number(step, 'reconnects'))}, {words.latency(number(step, 'reconnect_p50_us'))} in the median"
    idle = number(step, "closed_idle")
    return f"{text}; the server closed {words.several(idle, 'idle connection')}" if idle > 0 else text


def _cpu(step: Step) -> str:
    used_us = cpu_us(step)
    if not words.known(used_us):
        return "not known: the lab did not start the server"
    return f"{words.latency(used_us)} a request" if may_quote(step, Aspect.CPU) else "not quoted: see the report"
