"""The last section of a reproduced report: what its author measured, concluded rightly and wrongly, and may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runners import words
from runners.analysis import loops
from runners.readers.published import published_of
from runners.report.sentences import evidence_of
from runners.results.answer import Answered, Changes, Verdict
from runners.results.conclusion import Conclusion
from runners.results.published import outputs_named
from runners.results.results import Results

MOST_CLAIMS, MOST_ADVICE = 3, 1  # of a kind, so that there are ten lines at most

#: Of a published output: its tool, its rate in requests per second and its length in seconds, where they are known.
Published = tuple[str | None, float | None, float | None]


def outputs(results: Results) -> list[Published]:
    """Return the published outputs that a run reproduces, without repeats."""
    named = {**results.published, **(published_of(loops.REPORT) if results.loops else {})}
    rows = {name: (report.tool, report.rate_rps, report.duration_s) for name, report in named.items()}
    for name, output in outputs_named([name for ladder in results.ladders for name in ladder.published]):
        rows[name] = (output.report.tool, output.offered_rps, output.report.duration_s)
    return list(rows.values())


def lines(conclusion: Conclusion) -> tuple[str, ...]:
    """Return at most ten lines for the author of the original report; none of a run that answers no claim of one."""
    answers = conclusion.answers
    if all(answered.agrees is None for answered in answers):
        return ()
    return (*_measured(outputs(conclusion.results)), *_claims(answers), *_advice(answers))


def _measured(published: Sequence[Published]) -> Iterator[str]:
    if published:
        tools, rates_rps, lengths_s = ([value for value in column if value] for column in zip(*published, strict=True))
        runs = words.several(len(published), "run") + (f" of {words.listed(sorted(set(tools)))}" if tools else "")
        parts = [runs, f"at {words.span(rates_rps, words.rate)}", f"{words.span(lengths_s, words.seconds)} each"]
        yield f"You measured {', '.join(part for part in parts if words.UNKNOWN not in part)}."


def _claims(answers: Sequence[Answered]) -> Iterator[str]:
    numbered = list(enumerate(answers, 1))
    for agrees, word in ((True, "Right"), (False, "Wrong")):
        for number, answered in [pair for pair in numbered if pair[1].agrees is agrees][:MOST_CLAIMS]:
            question = answered.question
            why = question.yes if answered.answer.verdict == Verdict.YES else question.no
            text = f"{word} in its conclusion (question {number}): “{words.sentence(question.claim)}” {why}"
            here = evidence_of(answered.answer)
            yield f"{text} Here: {here}." if here else text
    still_open = [str(number) for number, answered in numbered if answered.question.claimed and answered.agrees is None]
    if still_open:
        yield f"Not decided here: question{'s' if len(still_open) > 1 else ''} {words.listed(still_open)}."


def _advice(answers: Sequence[Answered]) -> Iterator[str]:
    for changes in Changes:
        advice = dict.fromkeys(
            answered.question.means
            for answered in answers
            if answered.question.changes == changes and answered.answer.verdict != Verdict.INCONCLUSIVE
        )
        for means in list(advice)[:MOST_ADVICE]:
            yield f"Change in the {changes.value}: {means}"
