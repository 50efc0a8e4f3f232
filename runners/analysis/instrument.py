"""Instrument floors (the latency that a load generator itself adds), and latencies recorded while a server is frozen.

The method is in docs/0004-resolution.md. A floor is a load on a server that does nothing. Several rounds of it are
summarised by their median. The interval of the median lies between two rounds that enclose the true median with 95 %
confidence, or between the smallest and the largest of fewer than six rounds. If R requests per second are due and a
server is frozen for F seconds, R * (F - x) requests wait longer than x seconds.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, student_reach
from runners.analysis.validity import unusable
from runners.audit.rules.timing import TimerFit, straight_line
from runners.design.load import SENTINEL
from runners.design.session import FLOOR, ROUND
from runners.readers.reading import REFERENCES
from runners.readers.run import Step
from runners.readers.samples import bound_ranks

ENOUGH_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Floor:
    """The latency that a generator adds: its loads (rounds) on a do-nothing server at one rate and connection count."""

    tool: str
    connections: int
    rate_rps: float  # NaN in closed loop
    rounds: tuple[Step, ...]

    @property
    def good(self) -> tuple[Step, ...]:
        """The rounds whose latencies reports may quote."""
        return tuple(step for step in self.rounds if facts.quotable(step))

    @property
    def closed(self) -> bool:
        return not words.known(self.rate_rps)

    def at(self, level: float) -> Bounded | None:
        """Return the latency in us at percentile `level` (0..1), the median over `good` rounds; None without rounds."""
        return over_rounds(by_round(self.good, level).values())

    def achieved(self) -> Bounded | None:
        return over_rounds(facts.achieved_rps(step) for step in self.good)

    def cpu_s_a_million(self) -> Bounded | None:
        """Return the generator's CPU seconds per million requests, the median over good rounds; None if unknown."""
        return over_rounds(value for step in self.good if math.isfinite(value := cpu_s_a_million(step)))


def over_rounds(values: Iterable[float]) -> Bounded | None:
    """Return the median, with an interval between two of the values (95 % for six or more values); None without any."""
    ordered = sorted(values)
    if not ordered:
        return None
    low, high = bound_ranks(len(ordered), 0.5)
    return Bounded(statistics.median(ordered), ordered[(low or 1) - 1], ordered[(high or len(ordered)) - 1])


def cpu_s_a_million(step: Step) -> float:
    """Return the generator's CPU seconds per million requests in the recorded window, else in the whole run, or NaN."""
    completed, used_s = facts.number(step, "completed"), facts.number(step, "generator_cpu_s")
    if not math.isfinite(used_s) and step.record.generator.cpu_s is not None:
        used_s = step.record.generator.cpu_s
    return used_s / completed * 1e6 if completed > 0 else math.nan


def by_round(steps: Iterable[Step], level: float) -> dict[int, float]:
    """Return {number of the round: latency in us at percentile `level` (0..1)}, for latencies that may be quoted."""
    values = {step.record.round or 0: facts.quoted(step, level) for step in steps}
    return {number: value.value for number, value in values.items() if value is not None}


def floors(steps: Iterable[Step]) -> list[Floor]:
    """Return the floors, one per generator, rate and number of connections; sorted by connections, then rate."""

    def key(step: Step) -> tuple[int, float, str]:
        rate_rps = facts.offered_rps(step)
        return _connections(step), rate_rps if words.known(rate_rps) else math.inf, facts.tool(step)

    groups = facts.grouped((step for step in steps if step.kind == ROUND), key)
    ordered = sorted(groups.items(), key=lambda item: item[0][:2])
    return [
        Floor(tool, connections, rate_rps if math.isfinite(rate_rps) else math.nan, tuple(rounds))
        for (connections, rate_rps, tool), rounds in ordered
    ]


def points(floors: Sequence[Floor]) -> list[tuple[int, float]]:
    """Return the distinct (connections, rate) pairs of the floors, without closed loops."""
    return list(dict.fromkeys((floor.connections, floor.rate_rps) for floor in floors if not floor.closed))


def at_point(floors: Sequence[Floor], connections: int, rate_rps: float) -> dict[str, Floor]:
    """Return the floors at one rate and number of connections, by the name of the generator."""
    return {floor.tool: floor for floor in floors if floor.connections == connections and floor.rate_rps == rate_rps}


def reference_of(point: dict[str, Floor]) -> Floor | None:
    """Return the floor of the first generator in REFERENCES that has good rounds, or None. `point`: see `at_point`."""
    return next((point[name] for name in REFERENCES if name in point and point[name].good), None)


def added(floor: Floor, reference: Floor, level: float) -> Bounded | None:
    """Return in us the median of `floor` - `reference` at percentile `level` (0..1) of common rounds; None if none."""
    mine, theirs = by_round(floor.good, level), by_round(reference.good, level)
    return over_rounds(mine[number] - theirs[number] for number in sorted(mine.keys() & theirs.keys()))


UNIT_US = 1.0
FEWEST_REPEATS = 3  # fewer leave the standard deviation one degree of freedom, whose quantile is 12.7
MEDIAN, TAIL = 0.5, 0.99


def resolution_us(floor: Step | None, level: float) -> float | None:
    """Return the smallest difference in us of two medians (`level` 0.5), or of two p99, that a floor resolves.

    Two measurements of this floor differ by less in 95 of 100 cases; the floor's seconds count as repeats.
    If the generator has a millisecond timer, the result is its tick. None without valid latencies or enough seconds.
    """
    if floor is None or not facts.quotable(floor):
        return None
    if (tick_us := timer_tick_us(floor)) is not None:
        return tick_us
    seconds = facts.per_second(floor)
    if len(seconds) < FEWEST_REPEATS:
        return None
    values_us = seconds["p99_us" if level >= TAIL else "p50_us"].to_numpy(float)
    reach_us = student_reach(2 * float(values_us.var(ddof=1)) / len(values_us), len(values_us) - 1)
    return max(UNIT_US, reach_us) if math.isfinite(reach_us) else None


def timer_fit(spectrum: pd.DataFrame) -> TimerFit | None:
    """Return a straight line fitted to the lower percentiles of a `spectrum` frame; None with too few percentiles."""
    rows = spectrum[spectrum["kind"] == facts.RESPONSE]
    return straight_line(rows["percentile"].to_numpy(float), rows["value_us"].to_numpy(float))


def timer_tick_us(step: Step) -> float | None:
    """Return the timer tick of a step's generator in microseconds; None if the spectrum shows no tick."""
    line = timer_fit(step.frames["spectrum"])
    return line.width_us if line is not None and line.is_millisecond_timer else None


#: Only waits longer than this share of the shortest freeze are counted, since only there a spectrum has enough rows.
LONG_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Stall:
    """The latencies that one generator recorded while its server was frozen, once or several times."""

    tool: str
    rate_rps: float  # NaN in closed loop
    freezes: tuple[tuple[float, float], ...]  # of each freeze, its seconds in the recorded window and in the load
    waits_s: np.ndarray[tuple[int], np.dtype[np.float64]]  # ascending edges …
    counts: np.ndarray[tuple[int], np.dtype[np.float64]]  # … and how many requests took longer than an edge
    max_us: float  # the slowest response
    requests: float  # that were recorded
    censored: float  # requests without a response when the load ended

    def expected_above(self, wait_s: float) -> float:
        """Return how many requests must wait longer than `wait_s`, by schedule and freezes; NaN in closed loop."""
        return self.rate_rps * sum(min(length_s, max(0.0, all_s - wait_s)) for length_s, all_s in self.freezes)

    def counted_above(self, wait_s: float) -> float:
        """Return how many requests took longer than `wait_s`, interpolated in the spectrum; NaN without a spectrum."""
        if not len(self.waits_s):
            return math.nan
        return float(np.interp(wait_s, self.waits_s, self.counts, left=self.requests, right=0.0))

    @property
    def long_s(self) -> float:
        return LONG_SHARE * min(length_s for length_s, _ in self.freezes)

    @property
    def seen_share(self) -> float:
        """The counted number of requests that wait longer than `long_s`, divided by the expected number; or NaN."""
        expected = self.expected_above(self.long_s)
        return self.counted_above(self.long_s) / expected if expected > 0 else math.nan

    @property
    def longest_s(self) -> float:
        return max(all_s for _, all_s in self.freezes)


def stall(step: Step) -> Stall | None:
    """Return the latencies that a generator recorded while its server was frozen; None without freeze or latencies."""
    window = step.record.window
    spectrum = step.frames["spectrum"]
    rows = spectrum[spectrum["kind"] == facts.RESPONSE]
    top = facts.at(step, 1.0)
    if not step.record.freezes or window is None or top is None or unusable(step):
        return None
    length_s, censored, ended_s = window.length_s, facts.number(step, "censored"), facts.number(step, "elapsed_s")
    until_s = max(length_s, ended_s) if math.isfinite(censored) and math.isfinite(ended_s) else length_s
    freezes = []
    for freeze in step.record.freezes:
        at_s, whole_s = (freeze.start_unix_us - window.start_unix_us) / 1e6, freeze.length_us / 1e6
        freezes.append((min(whole_s, length_s - at_s), min(whole_s, until_s - at_s)))
    total = float(rows["total_count"].max()) if len(rows) else math.nan
    return Stall(
        facts.tool(step), facts.offered_rps(step), tuple(freezes), rows["value_us"].to_numpy(float) / 1e6,
        total - rows["total_count"].to_numpy(float), top.value,
        total if len(rows) else facts.number(step, "completed"), censored,
    )  # fmt: skip


def stalls(steps: Sequence[Step]) -> list[Stall]:
    """Return the `Stall` of every step whose server was frozen; steps without recorded latencies are left out."""
    return [seen for step in steps if (seen := stall(step)) is not None]


SAME_RATE = 0.01  # of the load's rate
THROUGHOUT = 99.9  # the highest percentile at which a generator compares its lateness with the response time


def own_floor(steps: Iterable[Step], load: Step) -> Step | None:
    """Return the last floor at the rate and connections of `load`, preferably of its workload; None without any."""
    return _last([step for step in _good(steps, FLOOR) if taken_at(step, load)], load)


def floor_before(steps: Iterable[Step]) -> Step | None:
    """Return the sentinel (a fixed small load) that ran last among `steps`; None without a valid one."""
    return facts.only(_good(steps, SENTINEL))


def nearest_floor(steps: Sequence[Step], load: Step) -> Step | None:
    """Return the `own_floor` of a load, else the last floor on as many connections as the load, else `floor_before`."""
    alike = [step for step in _good(steps, FLOOR) if _connections(step) == _connections(load)]
    return own_floor(steps, load) or _last(alike, load) or floor_before(steps)


def taken_at(floor: Step, load: Step) -> bool:
    """Return whether `floor` is a load on a server that does nothing, at the rate and connections of `load`."""
    rate_rps = facts.offered_rps(load)
    near = words.known(rate_rps) and abs(facts.offered_rps(floor) - rate_rps) <= SAME_RATE * rate_rps
    return floor.kind == FLOOR and near and _connections(floor) == _connections(load)


def kept_up_below(step: Step, level: float) -> float | None:
    """Return the percentile (0..100) up to which a late generator was on time, if below `level` (0..1); else None."""
    upto = facts.number(step, "kept_up_to")
    return upto if upto < THROUGHOUT and 100 * level > upto else None


def latency_text(step: Step, level: float) -> str:
    """Return the latency at percentile `level` (0..1) as text, with "at most" if late sends may be part of it."""
    value = facts.quoted(step, level) if kept_up_below(step, level) is not None else None
    return facts.latency_text(step, level) if value is None else facts.written_at_most(value)


def within_instrument(steps: Iterable[Step], load: Step, level: float) -> bool:
    """Return whether late sends, or the generator's own latency if `steps` has it, may explain a load's percentile."""
    if kept_up_below(load, level) is not None:
        return True
    floor = own_floor(steps, load)
    if floor is None or floor.name == load.name:
        return False
    measured, least = facts.at(load, level), facts.at(floor, level)
    if measured is None or least is None:
        return False
    return not (measured.low > least.high and measured.value - least.value > (resolution_us(floor, level) or 0.0))


def unresolved(steps: Sequence[Step], load: Step, level: float) -> bool:
    """Return whether `within_instrument` is true for a percentile (0..1), or can't be checked for lack of a floor."""
    if within_instrument(steps, load, level):
        return True
    needs_floor = load.kind not in (FLOOR, ROUND, SENTINEL) and words.known(facts.offered_rps(load))
    return needs_floor and own_floor(steps, load) is None


def _good(steps: Iterable[Step], kind: str) -> list[Step]:
    return [step for step in steps if step.kind == kind and facts.quotable(step)]


def _last(steps: list[Step], load: Step) -> Step | None:
    return facts.only([step for step in steps if step.workload == load.workload]) or facts.only(steps)


def _connections(step: Step) -> int:
    return step.record.connections or 0
