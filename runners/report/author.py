"""The last section of a report on a reproduction, for the original author: right and wrong conclusions, and advice."""

from collections.abc import Iterator, Sequence

from runners import words
from runners.analysis import facts
from runners.readers.output import index_entry
from runners.readers.published import ROOT, published_names, published_outputs
from runners.report.validity import numbered_questions
from runners.results import loops
from runners.results.answer import Answered, Changes, Verdict
from runners.results.conclusion import Conclusion
from runners.results.results import Results

MOST_CLAIMS, MOST_ADVICE = 4, 2  # claims, and pieces of advice of a kind, so that there are ten lines at most


def lines(conclusion: Conclusion) -> tuple[str, ...]:
    """Return at most ten lines for the author of the original report; none if no claim in it was decided."""
    numbered = list(enumerate(conclusion.answers, 1))
    answered = [answer for _, answer in numbered if answer.answer.verdict != Verdict.INCONCLUSIVE]
    if not any(answer.question.claim for answer in answered):
        return ()
    # the main conclusion first, then what was wrong, then what was right
    numbered.sort(key=lambda pair: (not pair[1].question.headline, (False, True, None).index(pair[1].agrees)))
    return (*_measured(conclusion.results), *_claims(numbered), *_advice(numbered))


def _reports(results: Results) -> list[str]:
    names = [*results.published, *(name for ladder in results.ladders for name in ladder.published)]
    return sorted({name.partition("/")[0] for name in [*names, *([loops.REPORT] if results.loops else [])]})


def original(results: Results) -> str:
    """Return sentences on the report that a run reproduces (title, path, author's machine); empty if untitled."""
    report = next(iter(_reports(results)), "")
    entry, _ = index_entry(ROOT / report)
    machine = f"Its author's machine: {entry.machine}."
    return f"Published: {entry.title} (outputs: data/published/{report}). {machine}" if entry.title else ""


def _measured(results: Results) -> Iterator[str]:
    """Yield at most one sentence on how the reproduced report's author measured: runs, tools, rates and durations."""
    outputs = [o for report in _reports(results) for name in published_names(report) for o in published_outputs(name)]
    if outputs:
        columns = zip(*((o.tool, o.offered_rps, o.duration_s) for o in outputs), strict=True)
        tools, rates_rps, lengths_s = ([value for value in column if value] for column in columns)
        runs = words.several(len(outputs), "run") + (f" of {words.listed(sorted(set(tools)))}" if tools else "")
        sources = words.listed(sorted({output.entry.source for output in outputs} - {""}))
        lengths = f"{words.span(lengths_s, words.seconds)} each{f' (by your {sources})' if sources else ''}"
        parts = [runs, f"at {words.span(rates_rps, words.rate)}", lengths]
        yield f"You measured {', '.join(part for part in parts if words.UNKNOWN not in part)}."


def _claims(numbered: Sequence[tuple[int, Answered]]) -> Iterator[str]:
    claims = [pair for pair in numbered if pair[1].question.claim and pair[1].measured]
    decided = [pair for pair in claims if pair[1].answer.verdict != Verdict.INCONCLUSIVE]
    for number, answered in decided[:MOST_CLAIMS]:
        question = answered.question
        why = question.yes if answered.answer.verdict == Verdict.YES else question.no
        yield f"{_word(answered)} (question {number}). Your report: {words.sentence(question.claim)} Here: {why}"
    left = decided[MOST_CLAIMS:] + [pair for pair in claims if pair not in decided]
    rest = facts.grouped(left, lambda pair: _word(pair[1]).lower())
    if parts := [f"{word}: {numbered_questions(n for n, _ in pairs)}" for word, pairs in rest.items()]:
        yield words.sentence(f"besides, {'; '.join(parts)}")


def _word(answered: Answered) -> str:
    if answered.agrees is None:
        return "Not decided here" if answered.answer.verdict == Verdict.INCONCLUSIVE else "Measured anew"
    return "Right" if answered.agrees else "Not reproduced here" if answered.question.observed else "Wrong"


def _advice(numbered: Sequence[tuple[int, Answered]]) -> Iterator[str]:
    for changes in Changes:
        decided = (row for _, row in numbered if row.answer.verdict != Verdict.INCONCLUSIVE)
        advice = dict.fromkeys(row.question.means for row in decided if row.question.changes == changes)
        if advice:
            yield f"Change in the {changes.value}: {' '.join(list(advice)[:MOST_ADVICE])}"
