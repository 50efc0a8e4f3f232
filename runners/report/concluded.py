"""Show the conclusion of a run in a terminal or a notebook, and describe a load in lines of text."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners import words
from runners.analysis import facts
from runners.analysis.counts import failures, number, refused_by_status
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import Outcome
from runners.errors import printable
from runners.readers.run import Step
from runners.report.sentences import effect_words, needed_words
from runners.report.tables import Markdown, Table, bold, escape, table
from runners.results.conclusion import Conclusion
from runners.results.limits import LoadJudgement


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answers of a run with the path of its report; shown as text, or in a notebook as Markdown."""

    conclusion: Conclusion
    report: Path

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for answered in self.conclusion.answers:
            needed = needed_words(answered.answer)
            effect = "; ".join(filter(None, (effect_words(answered), needed and f"it would take {needed}")))
            yield answered.question.text, answered.answer.verdict.value, effect

    def _repr_markdown_(self) -> str:
        rows = tuple((question, bold(verdict), effect) for question, verdict, effect in self._rows())
        shown = table(Table("", ("question", "answer", "effect (95 %)"), rows, numeric=False))
        link = os.path.relpath(self.report)  # as JupyterLab opens it: from the notebook's folder, where its kernel runs
        return Markdown(f"### {escape(self.conclusion.title)}\n\n{shown}\n\n[{self.report.name}]({link})")

    def __repr__(self) -> str:
        rows = (f"{question} {verdict}: {effect}" for question, verdict, effect in self._rows())
        return printable("\n".join([self.conclusion.title, *rows, f"Report: {self.report}"]))


def load_lines(step: Step) -> Iterator[str]:
    """Yield lines of text on a load: its rate, its errors with their causes, its latencies and its CPU time."""
    offered_rps, achieved = facts.offered_rps(step), words.rate(facts.achieved_rps(step))
    yield _line("rate", f"{achieved} of {words.rate(offered_rps)} offered" if words.known(offered_rps) else achieved)
    failed = failures(step)
    yield _line("errors", f"{words.count(failed.failed)} of {words.several(failed.requests, 'request')}")
    for cause in step.frames["failures"].to_dict("records"):
        first = f"the first after {words.seconds(float(cause['first_s']))}: {cause['first']}"
        yield _line("", f"{words.count(float(cause['count']))} {cause['cause']}, {first}")
    for status, count in refused_by_status(step).items():
        yield _line("", f"{words.count(count)} with status {status}")
    if (reconnects := number(step, "reconnects")) > 0:
        text = f"{words.count(reconnects)}, {words.latency(number(step, 'reconnect_p50_us'))} in the median"
        idle = number(step, "closed_idle")
        text += f"; the server closed {words.several(idle, 'idle connection')}" if idle > 0 else ""
        yield _line("reconnects", text)
    yield _line("median", facts.latency_text(step, 0.5))
    yield _line("p99", facts.latency_text(step, 0.99))
    used_us = facts.cpu_us(step)
    cpu = f"{words.latency(used_us)} a request" if may_quote(step, Aspect.CPU) else "not quoted: see the report"
    yield _line("CPU", cpu if words.known(used_us) else "not known: the lab did not start the server")


def judged_load(judgement: LoadJudgement) -> str:
    """Return a pass-or-fail limit on a load as a line of text: the outcome, the limit, and the value that decided."""
    limit, value = judgement.limit, judgement.value
    text = facts.written(value) if limit.most_us is not None else value.as_share
    if judgement.outcome == Outcome.INCONCLUSIVE and not words.known(value.value):
        text = "nothing may be said of it; the report says why"
    return f"{judgement.outcome.value}: {limit.text}: {text}"


def _line(name: str, text: str) -> str:
    return f"{name:<11}{text}"
