"""Can the probes of ladders be trusted? How many are evidence on their server, and with how many samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.meets import Outcome
from runners.claims.conclusion import Check
from runners.readers import write

if TYPE_CHECKING:
    from runners.claims.climbing import Ladder

MOST_APART = 3  # ladders that have lines of their own


def checks(found: Sequence[Ladder]) -> Iterator[Check]:
    """Of few ladders a line or two each; of many the same over all of them."""
    if len(found) > MOST_APART:
        yield from _over_all(found)
        return
    for ladder in found:
        points = ladder.points
        counted = Counter[Outcome](point.outcome for point in points)
        said = counted[Outcome.MET] + counted[Outcome.MISSED]
        parts = [f"{write.count(said)} of {write.count(len(points))} say something on the server"]
        if counted[Outcome.GENERATOR]:
            parts.append(f"in {write.count(counted[Outcome.GENERATOR])} the generator did not keep up")
        if counted[Outcome.INVALID]:
            parts.append(f"{write.count(counted[Outcome.INVALID])} invalid")
        if bounds := sum(point.met.late for point in points):
            parts.append(f"{write.count(bounds)} met it although the generator was late, so latencies are bounds there")
        name = f"probes, {facts.title(ladder.steps[0])}"
        yield Check(name, said > 0 and not counted[Outcome.INVALID], write.sentence(", ".join(parts)))
        met = [point for point in points if point.outcome == Outcome.MET and point.step.record.sweep is None]
        if met and ladder.objective:
            level = ladder.objective.latencies[-1][0]
            fewest = min(point.samples * (1 - level) for point in met)
            text = f"at least {write.count(fewest)} requests beyond {write.level(level)} in each probe that met it"
            yield Check(f"samples, {facts.title(ladder.steps[0])}", fewest >= facts.ENOUGH_BEYOND, write.sentence(text))


def _over_all(found: Sequence[Ladder]) -> Iterator[Check]:
    judged = [(ladder, point) for ladder in found for point in ladder.points]
    judging = [each for each in judged if each[1].counts]
    silent = [ladder for ladder in found if not any(each[0] is ladder for each in judging)]
    invalid = sum(point.outcome == Outcome.INVALID for _, point in judged)
    text = f"{write.count(len(judging))} of {write.count(len(judged))} are evidence on their server"
    if bounds := sum(point.met.late for _, point in judging):
        text += f", {write.count(bounds)} of them by a bound, for the generator was late"
    text += f"; {write.count(invalid)} invalid" if invalid else ""
    text += (
        f"; nothing at all is known of {write.listed(facts.title(one.steps[0]) for one in silent)}" if silent else ""
    )
    yield Check(f"probes of {write.count(len(found))} ladders", not silent and not invalid, write.sentence(text))
    beyond = [
        (point.samples * (1 - ladder.objective.latencies[-1][0]), ladder)
        for ladder, point in judging
        if point.outcome == Outcome.MET
        and not point.step.record.sweep
        and ladder.objective
        and ladder.objective.latencies
    ]
    if beyond:
        fewest, ladder = min(beyond, key=lambda each: each[0])
        text = f"at least {write.count(fewest)} requests beyond the percentile of the objective in each probe that met "
        text += f"it, fewest of {facts.title(ladder.steps[0])}"
        yield Check("samples of the probes", fewest >= facts.ENOUGH_BEYOND, write.sentence(text))
