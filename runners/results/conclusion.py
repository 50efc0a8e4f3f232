"""The conclusion of a run: the answers to its questions, and the outcomes of its checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.design.objective import THROUGHPUT
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run
from runners.results.answer import Answer, Answered, Asked, Measure, Unit, Verdict, answered, as_json
from runners.results.checks import Check, CheckName, Consequence, checks
from runners.results.comparisons import Difference
from runners.results.results import Results
from runners.results.tails import Explained


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run's results, its checks, and the answers to its questions. Questions that were not measured come last."""

    results: Results
    answers: tuple[Answered, ...]
    checks: tuple[Check, ...]

    @property
    def title(self) -> str:
        run = self.results.run
        return str(run.manifest.get("title") or run.name)

    def touched(self, check: Check) -> tuple[int, ...]:
        """Return the numbers (from 1) of answers that rest on steps and on a quantity that the check concerns."""
        steps = set(check.steps)
        rest = ((number, given.answer) for number, given in enumerate(self.answers, 1))
        return tuple(number for number, answer in rest if steps & {*answer.steps} and _concerns(check, answer))

    def as_json(self) -> dict[str, object]:
        """Return the conclusion as plain JSON values, as the run folder stores it."""
        return {
            "title": self.title,
            "answers": [answer.as_json() for answer in self.answers],
            "checks": [as_json(check) for check in self.checks],
        }


def _concerns(check: Check, answer: Answer) -> bool:
    rows = [piece.row for piece in answer.evidence if isinstance(piece, Difference)]
    if check.about == CheckName.LIMIT:
        return any(row.at_least for row in rows)
    if check.place and check.consequence == Consequence.EXCLUDES:  # it refuses rows, and no row refused decides
        return answer.verdict == Verdict.INCONCLUSIVE and any(row.refused for row in rows)
    measures = [piece for piece in answer.evidence if isinstance(piece, Measure)]
    units = {measure.unit for measure in measures}
    if check.about == CheckName.STEADY:  # its loads may be described, but not compared
        return any(measure.unit == Unit.LATENCY_US and measure.other for measure in measures)
    of_latency = Unit.LATENCY_US in units or any(row.quantity.is_latency for row in rows)
    of_latency = of_latency or any(isinstance(piece, Explained) for piece in answer.evidence)
    if check.about == CheckName.KEPT_UP:  # a request takes the same CPU time when it is sent late
        of_rate = Unit.RATE_RPS in units or any(row.quantity.name == THROUGHPUT for row in rows)
        return of_latency or of_rate
    return of_latency or not check.about.of_latency


def conclude(run: Run, published: Mapping[str, ConsoleReport], questions: Sequence[Asked] = ()) -> Conclusion:
    """Return the conclusion of a run, even an unfinished one. `published`: {name, such as report-1/put: its output}."""
    results = Results(run, published)
    answers = sorted((answered(asked, results) for asked in questions), key=lambda given: not given.measured)
    return Conclusion(results, tuple(answers), checks(results))
