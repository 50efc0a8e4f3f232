"""Estimate what the instrument resolves, adds and sees: floors of several generators, and a server that stalled.

**Resolution.** Every latency holds a part that is the instrument's own. Two things limit what can be resolved:

- **its run-to-run variability**: two measurements of the same thing differ. With independent repeats of one load
  whose percentile has the standard deviation s, two single loads differ by less than t(0.975, n - 1) * sqrt(2) * s in
  95 of 100 cases (Student's t, for a difference of two). Where a run holds one floor and no repeats, its whole
  seconds take their place (batch means, `readers.batch_means`), and s is that of a mean of so many seconds; drifts that
  are slower than a second don't show in it, so it is the least that can be claimed;
- **its own delay**: what it adds to the simplest honest client in the same rounds. It cancels where two loads of the
  same instrument are compared, but not where a latency is quoted as it is; the upper end of its interval counts. An
  instrument that reads less adds nothing: where the kernel says when a response came, the client's waking is not in
  it.

Nothing is resolved below the unit in which values are kept (1 us), nor below the tick of a generator that wakes by
one. The larger of all these is what the instrument resolves. Normality is assumed of percentiles over repeats, not of
latencies.

**Rounds.** The value over rounds is their median, its interval the order statistics that enclose it with 95 % (as in
`readers.samples`, no form of distribution is assumed). That takes six rounds: with fewer, the smallest and the
largest are given, which enclose it with 1 - 2^(1-n) only, and `enough` is False. A difference is taken within each
round, so that what moves both of a pair leaves it alone.

**A load's floor** is the same load against a handler that does nothing. Ladders and closed loops have none at each of
their rates. What every run has is the fixed small load before the campaign (the sentinel): one rate on one connection.
A percentile that lies above the floor's by no more than the instrument resolves says nothing on the server, and one
above what the generator kept up to is partly the generator's own lateness (`of_instrument`). Without a floor at its
rate nobody knows which part is the server's (`unresolved`). None of these is a headline and none is compared; what
lies above the floor leads: the median, CPU time per request, throughput. Interleaved trials have the better floor, a
server that does nothing in the same schedule (`interleaved.Comparison.inside`).

**A frozen server.** With requests due every 1/R seconds, those due while the server stalls for F seconds wait
F, F - 1/R, F - 2/R …; so R * (F - x) of them wait longer than x. A freeze that lasts beyond the end of the load holds
up what was due from its start to the end, and none of that has a response when the load ends: a generator that says so
knows how long each has waited up to then. What the server still has to catch up after a freeze is left out: it takes
a few of its service times a request.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, student_reach
from runners.audit.rules.timing import fitted_line
from runners.design.load import SENTINEL
from runners.design.session import FLOOR, ROUND
from runners.readers.batch_means import mean_variance
from runners.readers.reading import REFERENCES
from runners.readers.run import Step
from runners.readers.samples import bound_ranks

ENOUGH_ROUNDS = 6
NAMES = {"blocking": "a blocking client", "epoll": "a plain epoll loop"}
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Floor:
    """One generator at one rate (NaN: closed loop) and number of connections, all rounds in their order."""

    tool: str
    connections: int
    rate_rps: float
    rounds: tuple[Step, ...]

    @property
    def good(self) -> tuple[Step, ...]:
        """Rounds whose latencies may be quoted."""
        return tuple(step for step in self.rounds if facts.quotable(step))

    @property
    def closed(self) -> bool:
        return not words.known(self.rate_rps)

    def at(self, level: float) -> Bounded | None:
        """Return a percentile over the rounds."""
        return over_rounds(_values(self.good, level).values())

    def achieved(self) -> Bounded | None:
        return over_rounds(facts.achieved_rps(step) for step in self.good)

    def cpu_s_a_million(self) -> Bounded | None:
        """Processor time for a million requests: of the window where the generator tells it, else of the process."""
        return over_rounds(value for step in self.good if math.isfinite(value := cpu_s_a_million(step)))

    def spread(self) -> str:
        """Return what the interval is, in words."""
        count = len(self.good)
        return f"{count} rounds" if count >= ENOUGH_ROUNDS else f"range of {count}"


def over_rounds(values: Iterable[float]) -> Bounded | None:
    """Median and its interval; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    low, high = bound_ranks(len(ordered), 0.5)
    return Bounded(statistics.median(ordered), ordered[(low or 1) - 1], ordered[(high or len(ordered)) - 1])


def cpu_s_a_million(step: Step) -> float:
    completed, own_s = facts.number(step, "completed"), facts.number(step, "generator_cpu_s")
    whole_s = step.record.generator.cpu_s
    used_s = own_s if math.isfinite(own_s) else (float(whole_s) if whole_s is not None else math.nan)
    return used_s / completed * MILLION if completed > 0 else math.nan


def _values(steps: Iterable[Step], level: float) -> dict[int, float]:
    """Return a percentile by the round's number."""
    values = {step.record.round or 0: facts.at(step, level) for step in steps}
    return {number: value.value for number, value in values.items() if value is not None}


def floors(steps: Iterable[Step]) -> list[Floor]:
    """Return every generator at every point, in the order of the first round: few connections and low rates first."""

    def key(step: Step) -> tuple[int, float, str]:
        rate = facts.offered_rps(step)
        return step.record.connections or 0, rate if words.known(rate) else math.inf, facts.tool(step)

    groups = facts.grouped((step for step in steps if step.kind == ROUND), key)
    ordered = sorted(groups.items(), key=lambda item: item[0][:2])
    return [
        Floor(tool, connections, rate if math.isfinite(rate) else math.nan, tuple(own))
        for (connections, rate, tool), own in ordered
    ]


def p99_us(step: Step) -> float:
    """Return what orders rounds from the quietest on."""
    value = facts.at(step, TAIL)
    return value.value if value is not None else math.inf


def points(floors: Sequence[Floor]) -> list[tuple[int, float]]:
    """Connections and rates at which there are paced floors."""
    return list(dict.fromkeys((floor.connections, floor.rate_rps) for floor in floors if not floor.closed))


def at_point(floors: Sequence[Floor], connections: int, rate_rps: float) -> dict[str, Floor]:
    """Return the paced floors of one point by generator."""
    return {floor.tool: floor for floor in floors if floor.connections == connections and floor.rate_rps == rate_rps}


def reference_of(point: dict[str, Floor]) -> Floor | None:
    """Return the simplest client at a point: the blocking one, else the epoll loop."""
    return next((point[name] for name in REFERENCES if name in point and point[name].good), None)


def added(floor: Floor, reference: Floor, level: float) -> Bounded | None:
    """Return what a generator reads above a reference client, over the rounds that both have."""
    mine, theirs = _values(floor.good, level), _values(reference.good, level)
    return over_rounds(mine[number] - theirs[number] for number in sorted(mine.keys() & theirs.keys()))


def resolved(floor: Floor, reference: Floor | None) -> Resolution | None:
    """Return what a generator resolves at its point."""
    own: tuple[Bounded | None, Bounded | None] = (None, None)
    if reference is not None and reference.tool != floor.tool:
        own = (added(floor, reference, MEDIAN), added(floor, reference, TAIL))
    against = NAMES.get(reference.tool, "") if reference is not None and reference.tool != floor.tool else ""
    return of_rounds(floor.good, own, against)


UNIT_US = 1.0
FEWEST_REPEATS = 3  # fewer leave the standard deviation one degree of freedom, whose quantile is 12.7
MEDIAN, TAIL = 0.5, 0.99
CONFIDENCE = 0.95
UNKNOWN = "what this instrument resolves at this rate is not known"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The smallest difference in the median and in p99 that can be shown, in microseconds, and what says so."""

    rate_rps: float
    connections: int
    p50_us: float
    p99_us: float
    basis: str

    def sentence(self) -> str:
        """Return the sentence of every report."""
        return (
            f"this instrument resolves {self._both()} at this rate ({words.rate(self.rate_rps)} on "
            f"{words.connections(self.connections)}; {self.basis})"
        )

    def elsewhere(self, here: str) -> str:
        """Return the sentence of a report that has nothing better than the fixed load before the campaign.

        `here` names the rates that the report is about, at which this says nothing.
        """
        return (
            f"this instrument resolves {self._both()} at {words.rate(self.rate_rps)} on "
            f"{words.connections(self.connections)}, the fixed load before the campaign ({self.basis}); what it "
            f"resolves at {here} is not known"
        )

    def _both(self) -> str:
        return f"{words.latency(self.p50_us)} in the median and {words.latency(self.p99_us)} in p99"


def run_to_run_us(repeats: Iterable[float]) -> float:
    """Bound by how much two single measurements differ, in 95 of 100 cases; NaN for too few repeats.

    It is a prediction interval, which scipy has not; that of statsmodels (`get_prediction`) is of a regression.
    """
    values = np.asarray([value for value in repeats if math.isfinite(value)])
    if len(values) < FEWEST_REPEATS:
        return math.nan
    return _largest_difference(float(values.var(ddof=1)), len(values))


def _largest_difference(variance: float, count: int) -> float:
    """Bound the difference of two measurements, with 95 %, by their variance as `count` values tell it."""
    return student_reach(2 * variance, count - 1, CONFIDENCE)


def of_floor(floor: Step | None) -> Resolution | None:
    """From one floor step: its whole seconds are the repeats. None where the floor tells too little."""
    if floor is None or not facts.quotable(floor):
        return None
    rate_rps, connections = facts.offered_rps(floor), (floor.record.connections or 0)
    tick_us = timer_tick_us(floor)
    if tick_us is not None:
        return Resolution(rate_rps, connections, tick_us, tick_us, f"the tick of {facts.tool(floor)}")
    seconds = facts.per_second(floor)
    if len(seconds) < FEWEST_REPEATS:
        return None
    variances = [mean_variance(seconds[column].to_numpy(float)).value for column in ("p50_us", "p99_us")]
    least = [_largest_difference(variance, len(seconds)) for variance in variances]
    if not all(map(math.isfinite, least)):
        return None
    basis = f"from {words.count(len(seconds))} seconds of its floor"
    return Resolution(rate_rps, connections, max(UNIT_US, least[0]), max(UNIT_US, least[1]), basis)


def of_rounds(
    rounds: Sequence[Step], own_delay: tuple[Bounded | None, Bounded | None] = (None, None), against: str = ""
) -> Resolution | None:
    """From repeated floors of one instrument at one rate, and what it adds to the simplest client in p50 and p99."""
    good = [step for step in rounds if facts.quotable(step)]
    if not good:
        return None
    rate_rps, connections = facts.offered_rps(good[0]), (good[0].record.connections or 0)
    tick_us = timer_tick_us(good[0])
    if tick_us is not None:
        return Resolution(rate_rps, connections, tick_us, tick_us, f"the tick of {facts.tool(good[0])}")
    least = []
    for level, own in zip((MEDIAN, TAIL), own_delay, strict=True):
        values = [value.value for step in good if (value := facts.at(step, level)) is not None]
        limits = [UNIT_US, run_to_run_us(values)]
        if own is not None:
            limits += [side for side in (own.high, own.value) if math.isfinite(side)]
        if math.isnan(limits[1]):
            return None
        least.append(max(limits))
    basis = f"from {words.count(len(good))} rounds" + (f" against {against}" if against else "")
    return Resolution(rate_rps, connections, least[0], least[1], basis)


def timer_tick_us(step: Step) -> float | None:
    """Return the tick by which the generator of a step wakes, in microseconds, where its spectrum shows one."""
    rows = step.frames["spectrum"]
    line = fitted_line(rows[rows["kind"] == facts.RESPONSE])
    return line.width_us if line is not None and line.is_millisecond_timer else None


#: Of the shorter freeze. Far from its ends, where rows of a spectrum are dense enough to count between them.
LONG_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Freeze:
    """One freeze, in seconds from the start of the recorded window; `length_s` is its part within the window.

    `longest_s`: how long the first request due in it waits, or has waited when the generator ends; `at_end`: the
    window ended while it lasted.
    """

    at_s: float
    length_s: float
    longest_s: float
    at_end: bool

    def due_above(self, wait_s: float) -> float:
        """For how many seconds of it requests fell due that wait longer than this."""
        return min(self.length_s, max(0.0, self.longest_s - wait_s))


@dataclass(frozen=True, slots=True)
class Stall:
    """One generator's account of it. `rate_rps` NaN: closed loop, there is no schedule."""

    tool: str
    rate_rps: float
    freezes: tuple[Freeze, ...]
    waits_s: np.ndarray[tuple[int], np.dtype[np.float64]]  # ascending edges …
    counts: np.ndarray[tuple[int], np.dtype[np.float64]]  # … and how many requests took longer than each
    max_us: float
    requests: float
    censored: float

    def expected_above(self, wait_s: float) -> float:
        """Return requests that the schedule makes wait longer; NaN in closed loop."""
        return self.rate_rps * sum(freeze.due_above(wait_s) for freeze in self.freezes)

    def counted_above(self, wait_s: float) -> float:
        """Return requests that it says took longer, straight between the rows of its spectrum; NaN where it prints
        none.
        """
        if not len(self.waits_s):
            return math.nan
        return float(np.interp(wait_s, self.waits_s, self.counts, left=self.requests, right=0.0))

    @property
    def long_s(self) -> float:
        return LONG_SHARE * min((freeze.length_s for freeze in self.freezes), default=math.nan)

    @property
    def seen_share(self) -> float:
        """Of the requests that had to wait long, the part that the generator counts."""
        expected = self.expected_above(self.long_s)
        return self.counted_above(self.long_s) / expected if expected > 0 else math.nan

    @property
    def longest_s(self) -> float:
        return max((freeze.longest_s for freeze in self.freezes), default=math.nan)


def stall(step: Step) -> Stall | None:
    """Return the account of one step; None where nothing was recorded or the server was not frozen."""
    window = step.record.window
    spectrum = step.frames["spectrum"]
    rows = spectrum[spectrum["kind"] == facts.RESPONSE]
    top = facts.at(step, 1.0)
    if not step.record.freezes or window is None or top is None:
        return None
    start_us = window.start_unix_us
    length_s = window.length_s
    censored, ended_s = facts.number(step, "censored"), facts.number(step, "elapsed_s")
    until_s = max(length_s, ended_s) if math.isfinite(censored) and math.isfinite(ended_s) else length_s
    freezes = []
    for freeze in step.record.freezes:
        at_s = (freeze.start_unix_us - start_us) / 1e6
        beyond = at_s + freeze.length_us / 1e6 > length_s
        whole_s = freeze.length_us / 1e6
        inside_s = length_s - at_s if beyond else whole_s
        freezes.append(Freeze(at_s, inside_s, min(whole_s, until_s - at_s) if beyond else whole_s, beyond))
    total = float(rows["total_count"].max()) if len(rows) else math.nan
    return Stall(
        tool=facts.tool(step),
        rate_rps=facts.offered_rps(step),
        freezes=tuple(freezes),
        waits_s=rows["value_us"].to_numpy(float) / 1e6,
        counts=total - rows["total_count"].to_numpy(float),
        max_us=top.value,
        requests=total if len(rows) else facts.number(step, "completed"),
        censored=censored,
    )


def stalls(steps: Sequence[Step]) -> list[Stall]:
    return [seen for step in steps if (seen := stall(step)) is not None]


SAME_RATE = 0.01  # of the load's rate
#: Why a percentile is not resolved.
INSIDE, NO_FLOOR = "it is inside the instrument's floor", "no floor was taken at its rate"
THROUGHOUT = 99.9  # the highest percentile at which a generator holds its lateness against the response time


def own_floor(steps: Iterable[Step], load: Step) -> Step | None:
    """Return the last floor at a load's rate and connections; one of the same workload goes before any other."""
    there = [step for step in _good(steps, FLOOR) if taken_at(step, load)]
    return _last(there, load)


def floor_before(steps: Iterable[Step]) -> Step | None:
    """Return the fixed small load before the campaign; None where there was none or nothing may be quoted of it."""
    return facts.only(_good(steps, SENTINEL))


def nearest_floor(steps: Sequence[Step], load: Step) -> Step | None:
    """Return a load's own floor; without one a floor on as many connections, at another rate; else the one before."""
    alike = [step for step in _good(steps, FLOOR) if _connections(step) == _connections(load)]
    return own_floor(steps, load) or _last(alike, load) or floor_before(steps)


def taken_at(floor: Step, load: Step) -> bool:
    """Return whether a floor was taken at a load's rate and connections. A closed loop has no rate."""
    rate_rps = facts.offered_rps(load)
    near = words.known(rate_rps) and abs(facts.offered_rps(floor) - rate_rps) <= SAME_RATE * rate_rps
    return floor.kind == FLOOR and near and _connections(floor) == _connections(load)


def late(step: Step, level: float) -> str:
    """Say that a percentile holds the generator's own lateness; empty where it does not, or where nothing tells."""
    upto = facts.number(step, "kept_up_to")
    beyond = words.known(upto) and upto < THROUGHOUT and 100 * level > upto
    return f"the generator kept up to p{upto:g} only" if beyond else ""


def of_instrument(steps: Iterable[Step], load: Step, level: float) -> str:
    """Say why a percentile of a load is the instrument's own; empty where it lies above its floor, or nothing tells."""
    floor = own_floor(steps, load)
    if (why := late(load, level)) or floor is None or floor.name == load.name:
        return why
    measured, least = facts.at(load, level), facts.at(floor, level)
    if measured is None or least is None:
        return ""
    resolved = of_floor(floor)
    finest_us = 0.0 if resolved is None else resolved.p99_us if level >= TAIL else resolved.p50_us
    above = measured.low > least.high and measured.value - least.value > finest_us
    return "" if above else INSIDE


def unresolved(steps: Iterable[Step], load: Step, level: float) -> str:
    """Say why a percentile of a load is no headline and not compared; empty where it is the server's.

    A closed loop has no rate, so no floor is asked for; a load on a server that does nothing is one.
    """
    steps = tuple(steps)
    why = of_instrument(steps, load, level)
    if why or load.kind in (FLOOR, ROUND, SENTINEL) or not words.known(facts.offered_rps(load)):
        return why
    taken = facts.only([step for step in steps if taken_at(step, load)])
    if own_floor(steps, load) is not None:
        return ""
    return f"its floor can't be used: {facts.why_not(taken)}" if taken is not None else NO_FLOOR


def incomparable(steps: Iterable[Step], load: Step, level: float) -> str:
    """Say why a percentile of a load is not compared with another's; empty where it may be.

    What an instrument adds to a median is in both medians and cancels, so a floor that is not known does no harm.
    """
    return (of_instrument if level <= MEDIAN else unresolved)(steps, load, level)


def where_taken(floor: Step) -> str:
    """Return the rate and the connections of a floor, in words."""
    return f"{words.rate(facts.offered_rps(floor))} on {words.connections(_connections(floor))}"


def _good(steps: Iterable[Step], kind: str) -> list[Step]:
    return [step for step in steps if step.kind == kind and facts.quotable(step)]


def _last(steps: list[Step], load: Step) -> Step | None:
    return facts.only([step for step in steps if step.workload == load.workload]) or facts.only(steps)


def _connections(step: Step) -> int:
    return step.record.connections or 0
