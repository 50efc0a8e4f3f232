"""Judge a comparison by limits of change: passed, failed or inconclusive, each only where the interval says so.

A limit fails where the whole 95 % interval of the change lies beyond it, and passes where the whole interval lies
within it. The control is judged too: where a second process of the baseline breaks a limit, or where there are too few
starts, nothing is known of the treatment.

The difference of the shares of failed requests has the wider of two intervals: Student's over starts, for errors come
in bursts, and Newcombe's for all requests together, which knows that no error among few requests says little (R. G.
Newcombe, 1998, *Interval estimation for the difference between independent proportions*, Statistics in Medicine 17,
method 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.stats import t

from runners.analysis.interleaved import Comparison
from runners.analysis.intervals import Bounded, difference
from runners.analysis.quantities import Row, changed, signed
from runners.analysis.treatments import ALPHA, FEWEST_STARTS
from runners.claims.between import Compared
from runners.design.objective import ERRORS, ChangeLimit
from runners.readers import write
from runners.readers.stacks import wilson

#: Exit codes of `lab compare --fail-on`.
EXIT_FAILED, EXIT_INCONCLUSIVE = 3, 4
MOST_TIMES = 50  # so many times as many starts, and nobody waits for them


class Outcome(StrEnum):
    """What is known of a limit."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A limit, what the comparison says of it, and the change with its interval.

    `starts_needed` and `minutes_needed` are those of an answer, in all, as far as the variance of these starts tells;
    None where there is one, or where nothing tells.
    """

    limit: ChangeLimit
    outcome: Outcome
    change: Bounded
    reason: str
    starts_needed: int | None = None
    minutes_needed: float | None = None

    @property
    def sentence(self) -> str:
        """The judgement in words."""
        return f"{self.limit.text}: {self.outcome.value}, {self.reason}"

    def as_json(self) -> dict[str, object]:
        """The judgement as plain JSON values; what is not finite becomes null."""
        bounds = (self.change.value, self.change.low, self.change.high)
        value, low, high = map(write.finite, bounds)
        return {
            "limit": self.limit.text, "quantity": self.limit.quantity, "outcome": self.outcome.value, "change": value,
            "low": low, "high": high, "reason": self.reason, "starts_needed": self.starts_needed,
            "minutes_needed": self.minutes_needed,
        }  # fmt: skip


def judge(found: Comparison, limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    """Judge the first treatment of a comparison by each limit."""
    return tuple(_judged(found, limit) for limit in limits)


def judge_runs(found: Sequence[Compared], limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    """Judge runs that were measured one after the other, by Welch's intervals; one run on a side is no ground."""
    each = {row.quantity.name: (row, pair.single) for pair in found for row in pair.differences}
    judgements = []
    for limit in limits:
        if limit.quantity not in each:
            reason = "it is not known: both sides need runs that tell it"
            judgements.append(Judgement(limit, Outcome.INCONCLUSIVE, Bounded(math.nan), reason))
            continue
        seen, single = each[limit.quantity]
        change, said = _change(seen), seen.change
        if single:
            reason = f"{said}, but one run on a side shows no spread between runs; keep two or more"
            judgements.append(Judgement(limit, Outcome.INCONCLUSIVE, change, reason))
        elif seen.machine:
            judgements.append(Judgement(limit, Outcome.INCONCLUSIVE, change, f"{said}, but {seen.machine}"))
        else:
            judgements.append(Judgement(limit, _outcome(limit, change), change, f"{said}, {seen.starts} runs of each"))
    return tuple(judgements)


def exit_code(judgements: Sequence[Judgement], *, inconclusive_passes: bool) -> int:
    """3 where a limit failed, 4 where none did but one is inconclusive and does not pass, else 0."""
    outcomes = {each.outcome for each in judgements}
    if Outcome.FAILED in outcomes:
        return EXIT_FAILED
    return EXIT_INCONCLUSIVE if Outcome.INCONCLUSIVE in outcomes and not inconclusive_passes else 0


def _judged(found: Comparison, limit: ChangeLimit) -> Judgement:
    treatment = next((name for name in found.failed if name != found.baseline), "")
    if limit.quantity == ERRORS:
        change, starts = errors(found, treatment), len(found.failed.get(treatment, ()))
        second = found.control[0].treatment if found.control else ""
        control = errors(found, second) if second in found.failed else None
        said = f"{signed(change.value)} of requests ({signed(change.low)} to {signed(change.high)})"
    else:
        row = found.row(limit.quantity)
        change, starts = (_change(row), row.starts) if row else (Bounded(math.nan), 0)
        control = next((_change(each) for each in found.control if each.quantity.name == limit.quantity), None)
        said = changed(change.value, change.low, change.high)
    if not math.isfinite(change.value):
        why = found.left_out[0][1] if found.left_out else "no start tells it of both"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, f"it is not known: {why}")
    if starts < FEWEST_STARTS:
        needed = FEWEST_STARTS
        reason = f"{said}, from {write.several(starts, 'start')}, where it takes {FEWEST_STARTS}"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, reason, needed, _minutes(found, needed))
    if control is not None and _outcome(limit, control) == Outcome.FAILED:
        bounds = f"{signed(control.value)} ({signed(control.low)} to {signed(control.high)})"
        reason = f"{said}, but a second process of the baseline breaks it too: {bounds}; measure again"
        return Judgement(limit, Outcome.INCONCLUSIVE, change, reason)
    outcome = _outcome(limit, change)
    if outcome != Outcome.INCONCLUSIVE:
        return Judgement(limit, outcome, change, said)
    needed_or_none = _needed(limit, change, starts)
    if needed_or_none is None:
        return Judgement(limit, outcome, change, f"{said}: too wide, or too near the limit, for more starts to decide")
    minutes = _minutes(found, needed_or_none)
    takes = f" or {minutes:.2g} minutes" if minutes is not None else ""
    reason = f"{said}; about {write.several(needed_or_none, 'start')}{takes} in all would decide it"
    return Judgement(limit, outcome, change, reason, needed_or_none, minutes)


def _change(row: Row) -> Bounded:
    return Bounded(row.ratio - 1, row.low - 1, row.high - 1)


def _outcome(limit: ChangeLimit, change: Bounded) -> Outcome:
    if not change.bounded:
        return Outcome.INCONCLUSIVE
    beyond, within = (
        (change.low > limit.change, change.high <= limit.change)
        if limit.above
        else (change.high < limit.change, change.low >= limit.change)
    )
    return Outcome.FAILED if beyond else Outcome.PASSED if within else Outcome.INCONCLUSIVE


def _needed(limit: ChangeLimit, change: Bounded, starts: int) -> int | None:
    """Starts in all at which the interval would end at the limit; None where they are too many."""
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


def _minutes(found: Comparison, starts: int) -> float | None:
    return starts * found.start_s / 60 if math.isfinite(found.start_s) else None


def errors(found: Comparison, treatment: str) -> Bounded:
    """Estimate by how much more of the requests to a treatment fail than of those to the baseline, as a share of 1."""
    pairs = list(zip(found.failed.get(treatment, ()), found.failed.get(found.baseline, ()), strict=False))
    pairs = [pair for pair in pairs if all(ended for ended, _ in pair)]
    if not pairs:
        return Bounded(math.nan)
    shares = np.array([failed / ended for pair in pairs for ended, failed in pair]).reshape(-1, 2)
    each = shares[:, 0] - shares[:, 1]
    pooled = difference(*(_proportion([pair[side] for pair in pairs]) for side in (0, 1)))
    if len(each) < 2:
        return pooled
    half = float(t.ppf(1 - ALPHA / 2, len(each) - 1) * each.std(ddof=1) / math.sqrt(len(each)))
    return Bounded(pooled.value, min(pooled.low, pooled.value - half), max(pooled.high, pooled.value + half))


def _proportion(counts: Sequence[tuple[int, int]]) -> Bounded:
    ended, failed = (sum(each[place] for each in counts) for place in (0, 1))
    return Bounded(failed / ended, *wilson(failed / ended, ended))
