"""Outcomes of rate steps under an objective. A rate step is a load at one rate of a ladder or of a knee search.

A late generator or a stall makes responses slower, never faster. So the latency that a step would have without the
disturbance lies between the recorded one and the lowest one that the disturbance allows. A load of many seconds is
judged by its time outside of the machine's stalls, if that is at least half of its time.
"""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

import numpy as np
import pandas as pd

from runners import words
from runners.analysis import facts, machine_stalls
from runners.analysis.counts import failures
from runners.analysis.validity import kept_up, unusable
from runners.design.objective import Objective
from runners.readers.requests_log import LEVELS, least_of
from runners.readers.run import Step

FURTHEST = 3.0  # an excess is cut off at this distance from zero
LEAST_SHORTFALL = 0.01
MOST_LEFT_OUT = 0.5  # of the time of a load that is judged outside of the machine's stalls
BUSY = (0.98, 0.95, 0.9)  # utilisations of a server near its knee
LATE_MARGIN = 10.0  # largest lateness of a send, where it is not known, as a multiple of the 99th percentile
ACHIEVED, ERRORS = "achieved", "errors"


class StepOutcome(StrEnum):
    """The outcome of a rate step, a load at one rate, under an objective."""

    MET = "met"
    MISSED = "missed"
    GENERATOR = "generator"  # it missed, perhaps only because the generator was late
    STALLED = "stalled"  # it missed, perhaps only because the machine stalled
    INVALID = "invalid"  # no measurement at all


DECIDED = (StepOutcome.MET, StepOutcome.MISSED)


@dataclass(frozen=True, slots=True)
class RateStep:
    """One rate step: the results that an objective limits, and how stalls or late sends may have disturbed them."""

    rps: float  # offered
    latency_us: tuple[tuple[float, float], ...]  # percentiles (level, us); an unknown one is infinite
    achieved: float = 1.0  # share of the offered rate
    lost: float = 0.0  # share of requests that failed or had no response
    stalled: float = 0.0  # share of the time in which a core stalled
    start: int = 1  # number of the server's fresh start
    length_s: float = math.inf
    best: "RateStep | None" = None  # the best values possible with a generator on time; None if it was on time
    calm_us: tuple[tuple[float, float], ...] = ()  # percentiles (level, us) outside of the machine's stalls …
    busy: float = 1.0  # … valid up to this utilisation of the server: a busier one drains its queue later
    name: str = ""

    @property
    def as_read(self) -> Self:
        """A copy with the recorded values: the latencies include the time that a late generator may have added."""
        return replace(self, best=None)

    @property
    def undisturbed(self) -> "RateStep":
        """A copy with the best values that the step could have had without late sends and without stalls."""
        least = self.best or self
        if not self.stalled:
            return least
        stalled_us = self.stalled * self.length_s * 1e6
        latencies = tuple((level, max(0.0, us - stalled_us)) for level, us in least.latency_us)
        return replace(least, latency_us=latencies, achieved=min(1.0, least.achieved + self.stalled), stalled=0.0)

    def bounds(self, objective: Objective) -> tuple[float, float]:
        """Return the least and the largest `excess` that the step could have had without disturbance."""
        if self.calm_us:
            calm_us = {**dict(self.latency_us), **dict(self.calm_us)}
            return replace(self, latency_us=tuple(sorted(calm_us.items())), calm_us=()).bounds(objective)
        most = self.excess(objective)
        return min(most, self.undisturbed.excess(objective)), most

    def outcome(self, objective: Objective) -> StepOutcome:
        """Return MET or MISSED if both `bounds` agree; else STALLED or GENERATOR, by what disturbed the step."""
        least, most = self.bounds(objective)
        if most <= 0 or least > 0:
            return StepOutcome.MET if most <= 0 else StepOutcome.MISSED
        return StepOutcome.STALLED if (self.best or self).excess(objective) > 0 else StepOutcome.GENERATOR

    def at(self, level: float) -> float:
        """Return the latency in us at percentile `level` (0..1), or at the next higher one recorded; else infinite."""
        return next((us for kept_level, us in self.latency_us if kept_level >= level), math.inf)

    def missed(self, objective: Objective) -> tuple[str, ...]:
        """Return the parts of an objective that the step missed: `achieved`, percentiles such as `p99`, `errors`."""
        parts = [ACHIEVED] if self.achieved < objective.achieved else []
        parts += [f"p{level * 100:g}" for level, us in objective.latencies if self.at(level) > us]
        return (*parts, ERRORS) if self.lost > objective.errors else tuple(parts)

    def excess(self, objective: Objective) -> float:
        """Return by how much the step misses an objective, cut at +-FURTHEST; the objective is met at 0 or below.

        It is the largest log(latency / limit), or log(required / achieved share of the rate) / allowed shortfall if
        that is larger. It is FURTHEST if more requests failed than the objective allows.
        """
        if self.lost > objective.errors:
            return FURTHEST
        values = ((self.at(level), limit_us) for level, limit_us in objective.latencies)
        parts = [math.log(us) - math.log(limit_us) if us > 0 else -FURTHEST for us, limit_us in values]
        short = FURTHEST
        if self.achieved > 0:
            short = math.log(objective.achieved / self.achieved) / max(LEAST_SHORTFALL, 1 - objective.achieved)
        return max(-FURTHEST, min(FURTHEST, max([short, *parts])))


@dataclass(frozen=True, slots=True)
class Point:
    """A rate step (a load at one rate) of a ladder of rates or of a knee search, with its outcome."""

    rate_step: RateStep
    outcome: StepOutcome
    step: Step = field(repr=False)  # the load that contains the rate step
    samples: float  # number of response times
    missed: tuple[str, ...] = ()  # missed parts of the objective
    late: bool = False  # objective met although the generator was late: latencies are upper bounds

    @property
    def rps(self) -> float:
        """The offered rate in requests per second."""
        return self.rate_step.rps

    @property
    def counts(self) -> bool:
        """Whether the step met or missed the objective, so that its outcome is evidence about the server."""
        return self.outcome in DECIDED


def points(step: Step, objective: Objective) -> list[Point]:
    """Return one `Point` for a load at one rate; for a sweep (a load at many rates) one per rate, none if invalid."""
    if step.record.sweep is None:
        return [_point_of_load(step, objective)]
    if step.record.invalid_reasons:
        return []
    return [_point_of_row(row, objective, step) for _, row in step.frames["rate_steps"].iterrows()]


def _judged(rate_step: RateStep, objective: Objective, step: Step, samples: float) -> Point:
    outcome = rate_step.outcome(objective)
    missed = () if outcome == StepOutcome.MET else rate_step.missed(objective)
    return Point(rate_step, outcome, step, samples, missed, late=not missed and kept_up(step) is False)


def _point_of_row(row: pd.Series, objective: Objective, step: Step) -> Point:
    """Return the point of a row of `rate_steps`, judged by lateness in this rate step, or in the sweep if unknown."""
    latencies = tuple((level, float(row[name])) for level, name in LEVELS.items())
    rate_step = RateStep(
        float(row["offered_rps"]), latencies, float(row["achieved"]), float(row["lost"]), float(row["stalled"]),
        start_of(step), float(row["length_s"]), name=step.name,
    )  # fmt: skip
    if kept_up(step) is False and words.known(float(row["achieved_most"])):
        least = tuple((level, float(row[least_of(name)])) for level, name in LEVELS.items())
        rate_step = replace(rate_step, best=replace(rate_step, latency_us=least, achieved=float(row["achieved_most"])))
    else:
        rate_step = _with_best_values(rate_step, step)
    return _judged(rate_step, objective, step, float(row["requests"]))


def _point_of_load(step: Step, objective: Objective) -> Point:
    levels = sorted({*LEVELS, *(level for level, _ in objective.latencies)})
    latencies = tuple((level, value.value) for level in levels if (value := facts.at(step, level)) is not None)
    achieved, length_s = facts.achieved_share(step), step.record.duration_s or math.inf
    rate_step = RateStep(
        facts.offered_rps(step), latencies, achieved if words.known(achieved) else 0.0, _lost_share(step, objective),
        start=start_of(step), length_s=length_s, name=step.name,
    )  # fmt: skip
    recorded = dict(latencies)
    if unusable(step) or not words.known(achieved) or any(level not in recorded for level, _ in objective.latencies):
        return Point(rate_step, StepOutcome.INVALID, step, facts.samples(step))
    if rate_step.excess(objective) > 0 and machine_stalls.watched(step) and not step.frames["slices"].empty:
        rate_step = outside_stalls(rate_step, machine_stalls.stalls_of(step), step.frames["slices"])
    return _judged(_with_best_values(rate_step, step), objective, step, facts.samples(step))


def outside_stalls(step: RateStep, stalls: pd.DataFrame, slices: pd.DataFrame) -> RateStep:
    """Return the step, to be judged by its time outside of stalls; unchanged without any. `stalls`, `slices`: frames.

    The result has `calm_us`, or only `stalled` if the rate was not achieved or stalls took most of the time.
    """
    stalled = float(np.diff(machine_stalls.windows(stalls), axis=1).sum()) / step.length_s
    if not stalled:
        return step
    if step.achieved < facts.LEAST_ACHIEVED:
        return replace(step, stalled=stalled)
    for busy in BUSY:
        calm_us, left_out = machine_stalls.undisturbed(stalls, slices, busy)
        if left_out <= MOST_LEFT_OUT:
            return replace(step, calm_us=tuple(calm_us.items()), busy=busy)
    return replace(step, stalled=left_out)


def start_of(step: Step) -> int:
    """Return the number, from 1, of the server's fresh start in which a load ran."""
    return step.record.ladder.start if step.record.ladder is not None else 1


def _with_best_values(rate_step: RateStep, step: Step) -> RateStep:
    if kept_up(step) is not False:
        return rate_step
    lateness_us = facts.number(step, "lag_max_us"), LATE_MARGIN * facts.number(step, "lag_p99_us")
    latest_us = next(filter(words.known, lateness_us), math.inf)
    least_us = tuple((level, max(0.0, us - latest_us) if us < math.inf else 0.0) for level, us in rate_step.latency_us)
    achieved_most = min(1.0, rate_step.achieved + latest_us / 1e6 / rate_step.length_s)
    return replace(rate_step, best=replace(rate_step, latency_us=least_us, achieved=achieved_most))


def refused_share(step: Step) -> float:
    """Return the share of responses with an error status that the workload does not expect; 0 without responses."""
    completed = facts.number(step, "completed")
    return failures(step).refused / completed if completed > 0 else 0.0


def served_rps(step: Step) -> float:
    """Return the good responses per second: the achieved rate without responses of an unexpected error status."""
    return facts.achieved_rps(step) * (1 - refused_share(step))


def _lost_share(step: Step, objective: Objective) -> float:
    """Return the share of the scheduled requests that failed, or that had no response when the load ended.

    Requests that may still have been under way don't count. If the generator was late, only failed requests count.
    """
    limit_s = max((limit_us for _, limit_us in objective.latencies), default=0.0) / 1e6
    within = facts.offered_rps(step) * limit_s
    under_way = max(float(step.record.connections or 1), within if words.known(within) else 0.0)
    waiting = 0.0 if kept_up(step) is False else max(0.0, facts.number(step, "censored") - under_way)
    due = facts.number(step, "scheduled")
    total = failures(step).failed + (waiting if words.known(waiting) else 0.0)
    return total / due if words.known(due) and due else 0.0
