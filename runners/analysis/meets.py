"""Does a step meet an objective? And if not: is that the server's doing, or the generator's?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from runners.analysis import facts
from runners.analysis.knee import RateStep
from runners.design.objective import SHORT_STEP_LEVELS as LEVELS
from runners.design.objective import Objective
from runners.readers import write
from runners.readers.run import Step

LATE_MARGIN = 10.0  # the latest send may be that much later than the 99th percentile


class Outcome(StrEnum):
    """How a probe ended."""

    MET = "met"
    MISSED = "missed"
    GENERATOR = "generator"  # it did not send what was asked: nothing is said on the server
    INVALID = "invalid"  # no measurement at all


@dataclass(frozen=True, slots=True)
class Met:
    """The outcome and the parts of the objective that were missed, in words.

    `late`: met although the generator was late, so the latencies are upper bounds (see `facts.only_late`).
    """

    outcome: Outcome
    missed: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One rate of a ladder or a search: what was measured there, how it was judged, and the step that holds it."""

    rate_step: RateStep
    met: Met
    step: Step
    samples: float

    @property
    def rps(self) -> float:
        """The offered rate."""
        return self.rate_step.rps

    @property
    def outcome(self) -> Outcome:
        """How it was judged."""
        return self.met.outcome

    @property
    def counts(self) -> bool:
        """Whether it says something of its server."""
        return self.outcome in (Outcome.MET, Outcome.MISSED)


def points(step: Step, objective: Objective) -> list[Point]:
    """Judge each rate of a step: one, or each short one of a load whose rate changes."""
    if step.record.sweep is None:
        levels = [(level, value.value) for level in LEVELS if (value := facts.at(step, level)) is not None]
        achieved, lost = facts.held_share(step), lost_share(step, objective)
        achieved = achieved if write.known(achieved) else 0.0
        whole = RateStep(facts.offered_rps(step), tuple(levels), achieved, lost, start=_start(step))
        return [Point(whole, meets(step, objective), step, facts.samples(step))]
    if step.record.invalid_reasons:
        return []
    kept_up = step.frames["summary"]["kept_up"]
    late = not kept_up.empty and not pd.isna(kept_up.iloc[0]) and not bool(kept_up.iloc[0])
    return [_short(row, objective, step, late) for _, row in step.frames["rate_steps"].iterrows()]


def _start(step: Step) -> int:
    return step.record.ladder.start if step.record.ladder is not None else 1


def _short(row: pd.Series[float], objective: Objective, step: Step, late: bool) -> Point:
    latencies = tuple((level, float(row[f"p{level * 100:g}_us".replace(".", "")])) for level in LEVELS)
    found = RateStep(
        float(row["offered_rps"]), latencies, float(row["achieved"]), float(row["lost"]), float(row["stalled"]),
        _start(step),
    )  # fmt: skip
    missed = []
    for part in found.missed(objective):
        values = {"achieved": write.percent(found.achieved), "errors": write.percent(found.lost)}
        level = next((level for level in LEVELS if part == f"p{level * 100:g}"), None)
        value = values.get(part) or (write.latency(found.at(level)) if level is not None else "")
        missed.append(f"{part} {value}")
    met = Met(Outcome.MISSED if missed else Outcome.MET, tuple(missed), late=late and not missed)
    return Point(found, met, step, float(row["requests"]))


def meets(step: Step, objective: Objective) -> Met:
    """Judge one step.

    What is missed while the generator did not keep up says nothing on the server, unless the rate was missed by more
    than lateness explains. What is met all the same is met, for lateness only adds to a response time.
    """
    summary = step.frames["summary"]
    late = not summary.empty and not pd.isna(summary["kept_up"].iloc[0]) and not bool(summary["kept_up"].iloc[0])
    if late and not _short_by_itself(step):
        outcome = _judged(step, objective).outcome if facts.only_late(step) else Outcome.INVALID
        if outcome == Outcome.MET:
            return Met(outcome, late=True)
        return Met(Outcome.GENERATOR, ("the generator did not keep up",))
    return _judged(step, objective)


def _short_by_itself(step: Step) -> bool:
    """Whether the rate was missed by far more than its generator's lateness explains.

    What left late by L is missing at the end by the requests of L at most. Runs of generators that did not record their
    latest send have a margin on its 99th percentile instead.
    """
    latest_us = facts.number(step, "lag_max_us")
    if not write.known(latest_us):
        latest_us = LATE_MARGIN * facts.number(step, "lag_p99_us")
    lag_s, length_s = latest_us / 1e6, (step.record.duration_s or 0.0)
    missing = 1 - facts.held_share(step)
    return lag_s >= 0 and length_s > 0 and missing > 1 - facts.HELD + lag_s / length_s


def _judged(step: Step, objective: Objective) -> Met:
    """A step by its figures."""
    if not step.valid and not facts.fell_short(step) and not facts.only_late(step):
        return Met(Outcome.INVALID, (facts.why_not(step),))
    held = facts.held_share(step)
    if not write.known(held):
        return Met(Outcome.INVALID, ("no rate was recorded",))
    missed = []
    if held < objective.achieved:
        missed.append(f"achieved {write.percent(held)} of what was offered")
    for level, limit_us in objective.latencies:
        value = facts.at(step, level)
        if value is None:
            return Met(Outcome.INVALID, (f"{write.level(level)} was not recorded",))
        if value.value > limit_us:
            missed.append(f"{write.level(level)} {write.latency(value.value)}")
    lost = lost_share(step, objective)
    if lost > objective.errors:
        missed.append(f"errors {write.percent(lost)}")
    return Met(Outcome.MISSED if missed else Outcome.MET, tuple(missed))


def refused_share(step: Step) -> float:
    """Answers other than 2xx and 3xx over all answers."""
    refused, answered = facts.number(step, "non_2xx"), facts.number(step, "completed")
    return refused / answered if write.known(refused) and write.known(answered) and answered else 0.0


def lost_share(step: Step, objective: Objective) -> float:
    """Requests that failed, were answered with an error, or were not answered, over those that were due.

    Requests that had no answer yet when the run ended count only beyond those that may be under way at any moment: one
    a connection, or what falls due within the longest latency that the objective allows.
    """
    limit_s = max((limit_us for _, limit_us in objective.latencies), default=0.0) / 1e6
    within = facts.offered_rps(step) * limit_s
    under_way = max(float(step.record.connections or 1), within if write.known(within) else 0.0)
    censored = max(0.0, facts.number(step, "censored") - under_way)
    due = facts.number(step, "scheduled")
    total = sum(facts.errors(step).values()) + (censored if write.known(censored) else 0.0)
    return total / due if write.known(due) and due else 0.0
