"""Judgements of comparisons by limits on a change, and of single loads by limits on a value, with 95 % intervals.

The judgement of a comparison is inconclusive if the control (the baseline's second process) breaks the limit too, or if
there are too few starts. A rise of errors fails even with few starts. The limit NO_MORE_ERRORS always applies.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runners import words
from runners.analysis import facts
from runners.analysis.comparison import Comparison
from runners.analysis.counts import failures
from runners.analysis.intervals import Bounded, Direction, direction
from runners.analysis.quantities import Refusal
from runners.analysis.validity import Aspect, may_quote
from runners.design.objective import ERRORS, NO_MORE_ERRORS, ChangeLimit, LoadLimit, Outcome
from runners.errors import Exit
from runners.readers.run import Step

MOST_TIMES = 50  # the most starts that are proposed, as a multiple of the starts measured
_WORST = (Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.PASSED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome (passed, failed or inconclusive) of one limit on a change, in one comparison."""

    comparison: Comparison
    limit: ChangeLimit
    outcome: Outcome
    change: Bounded  # the measured change with its interval
    starts: int = 0  # the number of starts (or runs) in which the change was measured
    control: Bounded | None = None  # the change of the baseline's second process, if that breaks the limit too
    refused: tuple[Refusal, ...] = ()  # why the sides are not compared
    starts_needed: int | None = None  # starts in all that would decide the limit; None if decided or not known

    @property
    def minutes_needed(self) -> float | None:
        """The minutes that `starts_needed` starts take; None if this number, or the length of a start, is not known."""
        start_s = self.comparison.start_s
        return self.starts_needed * start_s / 60 if self.starts_needed and math.isfinite(start_s) else None

    def as_json(self) -> dict[str, object]:
        """Return the judgement as plain JSON values; a number that is not finite becomes null."""
        value, low, high = map(words.finite, (self.change.value, self.change.low, self.change.high))
        return {
            "limit": self.limit.text, "quantity": self.limit.quantity, "outcome": self.outcome.value, "change": value,
            "low": low, "high": high, "starts_needed": self.starts_needed, "minutes_needed": self.minutes_needed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadJudgement:
    """The outcome (passed, failed or inconclusive) of one limit on a value of one load."""

    limit: LoadLimit
    outcome: Outcome
    value: Bounded  # in microseconds or as a share, as the limit is; NaN if not known

    def as_json(self) -> dict[str, object]:
        """Return the judgement as plain JSON values; a number that is not finite becomes null."""
        value, low, high = map(words.finite, (self.value.value, self.value.low, self.value.high))
        return {"limit": self.limit.text, "outcome": self.outcome.value, "value": value, "low": low, "high": high}


def judge(comparisons: Sequence[Comparison], limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    """Judge the first treatment of every comparison; return the worst judgement for each limit.

    If NO_MORE_ERRORS fails, its judgement comes first, provided that no limit in `limits` is on errors.
    """
    unnamed, *named = [
        min((_judged(comparison, limit) for comparison in comparisons), key=lambda judged: _WORST.index(judged.outcome))
        for limit in (NO_MORE_ERRORS, *limits)
    ]
    given = any(limit.quantity == ERRORS for limit in limits)
    return (*([unnamed] if unnamed.outcome == Outcome.FAILED and not given else []), *named)


def exit_code(judgements: Sequence[Judgement | LoadJudgement], *, inconclusive_passes: bool) -> Exit:
    """Return LIMIT if a limit failed, DONE if all passed or `inconclusive_passes` is true, else UNDECIDED."""
    outcomes = {judgement.outcome for judgement in judgements}
    if Outcome.FAILED in outcomes:
        return Exit.LIMIT
    return Exit.UNDECIDED if Outcome.INCONCLUSIVE in outcomes and not inconclusive_passes else Exit.DONE


def _judged(comparison: Comparison, limit: ChangeLimit) -> Judgement:
    change, starts, refused, of_errors = Bounded(math.nan), 0, tuple[Refusal, ...](), limit.quantity == ERRORS
    if of_errors:
        treatment, known = next(iter(comparison.treatments), ""), (comparison.baseline, *comparison.treatments)
        change, starts = comparison.more_errors(treatment), min(comparison.repeats)
        control = next((comparison.more_errors(name) for name in comparison.failed if name not in known), None)
    else:
        controls = (row.relative for row in comparison.control if row.quantity.name == limit.quantity)
        control = next(controls, None)
        if (row := comparison.row(limit.quantity)) is not None:
            change, starts, refused = row.relative, row.starts, row.refused
    outcome = outcome_of(limit, change)
    unknown = Judgement(comparison, limit, Outcome.INCONCLUSIVE, change, starts)
    if refused or not math.isfinite(change.value):
        return replace(unknown, refused=refused)
    certain = of_errors and outcome == Outcome.FAILED  # a response that failed did
    if starts < comparison.fewest and not certain:
        return replace(unknown, starts_needed=comparison.fewest)
    if control is not None and outcome_of(limit, control) == Outcome.FAILED:
        return replace(unknown, control=control)
    if outcome == Outcome.INCONCLUSIVE:
        return replace(unknown, starts_needed=_needed(limit, change, starts))
    return replace(unknown, outcome=outcome)


def outcome_of(limit: ChangeLimit, change: Bounded) -> Outcome:
    """Return FAILED if a change's whole interval is beyond the limit, PASSED if it is all within, else INCONCLUSIVE."""
    side, worse = direction(change.less(limit.change)), Direction.HIGHER if limit.above else Direction.LOWER
    if side == Direction.INCONCLUSIVE:
        return Outcome.INCONCLUSIVE
    return Outcome.FAILED if side == worse else Outcome.PASSED


def _needed(limit: ChangeLimit, change: Bounded, starts: int) -> int | None:
    if limit.quantity == ERRORS:
        half, distance = (change.high - change.low) / 2, abs(change.value - limit.change)
    else:
        if not (change.bounded and change.low > -1):
            return None
        half = (math.log1p(change.high) - math.log1p(change.low)) / 2
        distance = abs(math.log1p(change.value) - math.log1p(limit.change))
    if not distance > half / math.sqrt(MOST_TIMES):
        return None
    return max(starts + 1, math.ceil(starts * (half / distance) ** 2))


def judge_load(step: Step, limit: LoadLimit) -> LoadJudgement:
    """Judge a load by a limit: a percentile by its whole interval, a share (errors, achieved rate) by its value."""
    if limit.most_us is not None:
        return _by_latency(step, limit, limit.most_us)
    if limit.most_errors is not None:
        share = failures(step).share
        kept = share <= limit.most_errors
    else:
        share = facts.achieved_share(step)
        kept = share >= (limit.least_achieved or 0.0)
        if not (math.isfinite(share) and may_quote(step, Aspect.RATE)):
            return LoadJudgement(limit, Outcome.INCONCLUSIVE, Bounded(math.nan))
    return LoadJudgement(limit, Outcome.PASSED if kept else Outcome.FAILED, Bounded(share))


def _by_latency(step: Step, limit: LoadLimit, most_us: float) -> LoadJudgement:
    value = facts.quoted(step, limit.level)
    known = value or facts.at_most(step, limit.level)
    if known is None:
        return LoadJudgement(limit, Outcome.INCONCLUSIVE, Bounded(math.nan))
    low, high = (known.low, known.high) if known.bounded else (known.value, known.value)
    failed, passed = low > most_us and value is not None, high <= most_us and not known.at_least
    outcome = Outcome.FAILED if failed else Outcome.PASSED if passed else Outcome.INCONCLUSIVE
    return LoadJudgement(limit, outcome, known)
