"""Load generators: their added latency, stalls, CPU cost and hosts, and one load as measured by two of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runners.analysis import facts, instrument
from runners.analysis.intervals import Bounded
from runners.design.session import PAIRED
from runners.design.two_generators import TRUEPACE, WRK2
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results
from runners.storage.schema import ShareRecord

FLOORS, STAIRCASE, STALL, CPU = "instrument-floors", "instrument-staircase", "instrument-stall", "instrument-cpu"
#: The counted requests may differ by this share from the number that, by the schedule, must wait for a frozen server.
WHOLE = 0.05


@answering
def generator_adds(results: Results, tool: str) -> Answer | None:
    """Answer: is `tool`'s median latency above the reference client's at some rate? None if no round has both tools."""
    measures, added_us, rounds, steps = [], list[Bounded](), list[int](), list[str]()
    for connections, rate_rps in instrument.points(results.floors):
        point = instrument.at_point(results.floors, connections, rate_rps)
        floor, reference = point.get(tool), instrument.reference_of(point)
        if floor and reference and (added := instrument.added(floor, reference, instrument.MEDIAN)):
            added_us.append(added)
            measures.append(AtRate(Measure.of("", added, Unit.LATENCY_US), rate_rps, connections))
            rounds.append(min(len(floor.good), len(reference.good)))
            steps += [step.name for step in floor.good]
    if not measures:
        return None
    verdict = Verdict.of(max(added.low for added in added_us), max(added.high for added in added_us))
    return Answer(
        verdict, tuple(measures), Basis.ROUNDS, min(rounds), Needed.ROUNDS, instrument.ENOUGH_ROUNDS,
        tuple(steps), FLOORS,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AtRate:
    """A number of an answer, with the offered rate and the number of connections at which it was measured."""

    measure: Measure
    rate_rps: float
    connections: int


@answering
def counts_a_stall(results: Results, tool: str) -> Answer | None:
    """Answer: does generator `tool` count all requests that a frozen server delays (see WHOLE)? None if unknown."""
    stall = next((stall for stall in results.stalls if stall.tool == tool), None)
    if stall is None or math.isnan(share := stall.seen_share):
        return None
    expected = stall.expected_above(stall.long_s)
    measure = Measure("requests counted", share, Unit.SHARE).out_of(expected, Unit.COUNT)
    return Answer.by((f"stall-{tool}",), Basis.FREEZES, abs(share - 1) <= WHOLE, measure, figure=STALL)


def generator_costs(results: Results) -> Answer | None:
    """Answer: does truepace take less CPU time per request at the top rate than an epoll loop? None if not measured."""
    paced = [floor for floor in results.floors if not floor.closed and floor.good]
    top = max(paced, key=lambda floor: floor.rate_rps, default=None)
    point = instrument.at_point(paced, top.connections, top.rate_rps) if top else {}
    ours, plain = (point[tool].cpu_s_a_million() if tool in point else None for tool in (TRUEPACE, "epoll"))
    if top is None or ours is None or plain is None:
        return None
    measure = Measure.of(TRUEPACE, ours, Unit.TIME_S).against(Measure.of("epoll loop", plain, Unit.TIME_S))
    decided = Verdict.YES if ours.value < plain.value else Verdict.NO
    verdict = decided if ours.apart_from(plain) else Verdict.INCONCLUSIVE
    at_rate = AtRate(measure, top.rate_rps, top.connections)
    return Answer.by(point[TRUEPACE].good, Basis.ROUNDS, verdict, at_rate, needed=Needed.ROUNDS, figure=CPU)


#: A round trip of the network matters if it takes at least this share of the load's median response time.
NETWORK_SHARE = 0.2
#: If the load's median may not be quoted, a round trip matters from this length on.
FAR_US = 1_000.0
#: The least share, and number, of TCP segments sent again that count as loss: TCP also resends a few that were late.
LOSS, FEWEST_REPEATED = 0.001, 10
#: From this share of the time on, stalls of a generator's cores matter: they make a tail of their own.
STALLED_SHARE = 0.005
#: A generator that begins further than this from the agreed instant does not load the server together with the others.
LATE_US = 10_000.0


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """Disturbances by a generator's host during a load. A value is None if it is unknown, or too small to matter."""

    step: Step
    host: str
    round_trip_us: float | None  # the median round trip to the servers
    repeated_share: float | None  # the share of TCP segments that were sent again
    off_us: float | None  # by how much its clock was corrected, or its load missed the agreed start
    stalled_share: float | None  # the share of time in which its cores stalled

    @property
    def matters(self) -> bool:
        """Whether any of the values matters for the load's figures."""
        return {self.round_trip_us, self.repeated_share, self.off_us, self.stalled_share} != {None}


def host_networks(run: Run) -> list[HostNetwork]:
    """Return one `HostNetwork` for each host of every load that several hosts sent together."""
    shared = [step for step in run.steps if any(share.clock is not None for share in step.record.shares)]
    return [_of_share(step, share) for step in shared for share in step.record.shares]


def _of_share(step: Step, share: ShareRecord) -> HostNetwork:
    median, trips_us = facts.quoted(step, instrument.MEDIAN), sorted(share.network.round_trips_us)
    least_us = FAR_US if median is None else NETWORK_SHARE * median.value
    trip_us = trips_us[len(trips_us) // 2] if trips_us else 0.0
    sent, repeated = share.network.sent_segments or 0, share.network.repeated_segments or 0
    lost = repeated >= FEWEST_REPEATED and repeated >= LOSS * sent > 0
    off_us = None
    if share.clock is not None and (share.clock.stepped_us or abs(share.began_us) > LATE_US):
        off_us = share.clock.stepped_us or share.began_us
    cores = len(share.witness.cpus) if share.witness is not None else 0
    window_ms = (step.record.duration_s or 0.0) * 1e3
    stalled = share.stalled_ms / (cores * window_ms) if share.stalled_ms and cores and window_ms else 0.0
    return HostNetwork(
        step, share.host, trip_us if trips_us and trip_us >= least_us else None, repeated / sent if lost else None,
        off_us, stalled if stalled >= STALLED_SHARE else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much wrk2's percentile of a load is higher than truepace's."""

    level: float  # the percentile (0..1)
    added_us: Bounded  # the median of the differences within rounds
    rounds: int  # the number of rounds that both generators measured


@dataclass(frozen=True, slots=True)
class TwoReadings:
    """One load as truepace and wrk2 measured it."""

    loads: tuple[Step, ...]  # the steps of truepace, then of wrk2
    differences: tuple[Difference, ...]  # in the median and, if it may be quoted, in the p99
    tick_us: float | None  # the tick of wrk2's timer; None if its latencies show no tick

    @property
    def median(self) -> Difference:
        return self.differences[0]

    @property
    def shown(self) -> tuple[Step, ...]:
        """The loads of the first round that both generators measured; a round has one load of either."""
        of_round = facts.grouped(self.loads, lambda step: step.record.round).values()
        return tuple(next((steps for steps in of_round if len(steps) > 1), self.loads))

    @property
    def rate_rps(self) -> float:
        return facts.offered_rps(self.loads[0])


def two_readings(steps: Iterable[Step]) -> TwoReadings | None:
    """Return how percentiles of one load differ between truepace and wrk2; None if they have no round in common."""
    paired = [step for step in steps if step.kind == PAIRED and facts.quoted(step, instrument.MEDIAN) is not None]
    ours, theirs = ([step for step in paired if facts.tool(step) == tool] for tool in (TRUEPACE, WRK2))
    differences = [_difference(ours, theirs, level) for level in (instrument.MEDIAN, instrument.TAIL)]
    if differences[0] is None:
        return None
    tick_us = next((tick for step in theirs if (tick := instrument.timer_tick_us(step)) is not None), None)
    return TwoReadings((*ours, *theirs), tuple(filter(None, differences)), tick_us)


def _difference(ours: Sequence[Step], theirs: Sequence[Step], level: float) -> Difference | None:
    ours_us, theirs_us = (instrument.by_round(loads, level) for loads in (ours, theirs))
    rounds = sorted(ours_us.keys() & theirs_us.keys())
    added = instrument.over_rounds(theirs_us[number] - ours_us[number] for number in rounds)
    if added is None:
        return None
    return Difference(level, added if len(rounds) > 1 else Bounded(added.value), len(rounds))
