"""Knee searches and ladders, as data, with their planned lengths.

A knee is the highest rate that meets an objective. A ladder is a load at several rates, one after the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runners.design.load import Rate, Shape, Size, Workload
from runners.design.objective import SHORT_STEP_LEVELS as LEVELS
from runners.design.objective import Objective
from runners.design.session import (
    LOCK,
    PROBE,
    PROFILED_RATE_STEP,
    RATE_STEP,
    Session,
    Sweep,
    Trial,
    in_random_order,
    planned_s,
    profiled,
    step_name,
)
from runners.design.setting import Setting
from runners.errors import PlanError

#: Default seconds of a short step in a search, and the number of short steps in one load.
SEARCH_STEP_S, BATCH = 0.5, 8
FEWEST_BATCHES = 2
#: Steps that confirm a knee: their least number, their share of a large budget, the factor of their length in smoke.
FEWEST_CONFIRMING, CONFIRMING_SHARE, SMOKE_SHARE = 2, 0.2, 0.1
#: The rate that is offered between the short steps, as a share of the closed-loop rate, so that queues drain.
REST_SHARE = 0.2
#: Published rates up to this multiple of the base rate are offered too; a higher step would only measure a queue.
MOST_SHARE = 1.3
_SAME = 0.02  # two rates whose relative difference is at most this are one rate step
WARM_S = 5.0
CLOSED_S = 2.0  # seconds of a closed loop on a warm server
LIKELY_PUBLISHED = 2  # published rates that a plan expects to be offered, one above the knee, which decides how many


def most_again(steps: int) -> int:
    """Return how many of `steps` rate steps may be repeated because the generator was late: a third, rounded up."""
    return -(-steps // 3)


def nearest(base_rps: float, published_rps: Sequence[float], most: int, *, beyond: int = 0) -> list[float]:
    """Return the `most` published rates nearest to `base_rps`, lowest first.

    Without `beyond`, no rate is above MOST_SHARE times `base_rps`; else up to `beyond` rates lie above `base_rps`.
    """
    rates = sorted({rps for rps in published_rps if rps > 0})
    below = [rps for rps in rates if rps <= base_rps]
    within = rates[: len(below) + beyond] if beyond else [rps for rps in rates if rps <= MOST_SHARE * base_rps]
    return sorted(sorted(within, key=lambda rps: abs(math.log(rps / base_rps)))[:most])


def step_rates(base_rps: float, shares: Sequence[float], published_rps: Sequence[float] = ()) -> list[float]:
    """Return a ladder's rates, lowest first: published rates, and `shares` of `base_rps` not near a published rate."""
    within = sorted(set(published_rps))
    own = [float(f"{share * base_rps:.3g}") for share in shares]
    return sorted({*within, *(rps for rps in own if all(abs(rps / near - 1) > _SAME for near in within))})


@dataclass(frozen=True, slots=True)
class WarmServer:
    """A server that a closed loop warms before the loads of a search or a ladder."""

    treatment: Setting
    workload: Workload
    size: Size
    start: int = 1  # number of its fresh start, from 1
    keep_others: bool = False  # do not stop the warm servers of earlier sessions

    @property
    def name(self) -> str:
        """The name of the server in the names of steps: its workload and its treatment."""
        return step_name(self.workload.name, self.treatment.name)

    def warm_up(self, shape: Shape) -> Session:
        """Return the session of the closed loop that warms the server and shows the rate that the server reaches."""
        return self.session(self._closed(shape))

    def closed_loop(self, shape: Shape) -> Session:
        """Return the session of a short closed loop on the warm server, which shows the server's highest rate."""
        first = self._closed(shape)
        own = replace(first.shape, duration_s=min(CLOSED_S, first.shape.duration_s or CLOSED_S))
        return self.session(replace(first, name=step_name(first.name, "warm"), shape=own))

    def session(self, trial: Trial) -> Session:
        """Return the session of a trial on this server, which is warmed first."""
        fill, warm_up = self.workload.fill, self._closed(trial.shape)
        return Session(self.treatment, (trial,), fill, warm_up=warm_up, keep_others=self.keep_others)

    def _closed(self, shape: Shape) -> Trial:
        whole_s = max(min(WARM_S, 2 * self.size.probe_s), self.size.probe_s)
        closed = Shape(shape.connections, shape.threads, whole_s, 0.0)
        again = (f"start-{self.start}",) if self.start > 1 else ()
        return Trial(step_name(PROBE, self.name, *again), PROBE, self.workload, None, closed)


@dataclass(frozen=True, slots=True)
class KneeSearch:
    """A search for the highest rate that meets an objective, on one warm server, or on several that are up at once.

    A load has short steps in random order (see analysis.knee). The loads of several servers come in random order too. A
    server gets loads until its knee is as precise as wanted, or its time is over. Then a closed loop and longer steps
    confirm the knee. Raises PlanError for too few minutes, an unknown percentile, or no rate between `low_rps` and
    `high_rps`.
    """

    name: str
    title: str
    server: WarmServer
    objective: Objective
    minutes: float  # of each server, in all its starts
    shape: Shape  # duration_s: length of a short step
    low_rps: float = 100.0
    high_rps: float = 1_000_000.0
    precision: float = 0.05  # wanted relative width of the knee's 95 % interval
    questions: tuple[str, ...] = ()
    others: tuple[WarmServer, ...] = ()  # further servers
    seed: int = 1
    starts: int = 1  # fresh starts of each server

    def __post_init__(self) -> None:
        if unknown := sorted({level for level, _ in self.objective.latencies} - set(LEVELS)):
            cause = f"a short step has no {', '.join(f'p{level * 100:g}' for level in unknown)}"
            levels = ", ".join(f"p{level * 100:g}" for level in LEVELS)
            raise PlanError(f"objective {self.objective.text}", cause, f"limit one of {levels}")
        if self.minutes < self.least_minutes:
            short = f"{max(FEWEST_BATCHES, self.starts) * BATCH} steps of {self.step_s:g} s with their rests"
            cause = f"too short for {short}, and for {FEWEST_CONFIRMING} of {self.confirm_s:g} s that confirm a knee"
            remedy = f"give {self.least_minutes + 0.005:.2f} minutes or more"
            remedy += f", or shorter steps (-p probe_s={self.step_s / 2:g})"
            raise PlanError(f"{self.minutes:g} minutes", cause, remedy)
        if self.low_rps >= self.high_rps:
            raise PlanError("low_rps and high_rps", "there is no rate between them", "give a lower and a higher rate")

    @property
    def servers(self) -> tuple[WarmServer, ...]:
        return (self.server, *(replace(server, keep_others=True) for server in self.others))

    @property
    def step_s(self) -> float:
        return self.shape.duration_s or SEARCH_STEP_S

    @property
    def batch_s(self) -> float:
        return self.session(self.server, 1, (1.0,) * BATCH, 1.0).planned_s

    @property
    def confirm_s(self) -> float:
        """The seconds of a step that confirms a knee; in the smoke size, a tenth of the usual length."""
        return self.objective.sustained_s * (SMOKE_SHARE if self.server.size.name == "smoke" else 1.0)

    @property
    def _least_confirming_s(self) -> tuple[float, float]:
        """The planned seconds of the closed loop before the confirmation, and of the fewest steps that confirm."""
        longer_s = self.confirming(self.server, 1, 1.0).planned_s
        return self.server.closed_loop(self.shape).planned_s, FEWEST_CONFIRMING * longer_s

    @property
    def least_minutes(self) -> float:
        """The least budget, in minutes, in which a search can find and confirm a knee."""
        closed_s, longer_s = self._least_confirming_s
        return (max(FEWEST_BATCHES, self.starts) * self.batch_s + closed_s + longer_s) / 60

    def until_s(self, start: int) -> float:
        """Return after how many seconds of load on a server, over all its starts, start number `start` ends."""
        closed_s, longer_s = self._least_confirming_s
        search_s = self.minutes * 60 - (closed_s + max(longer_s, CONFIRMING_SHARE * self.minutes * 60))
        return self.batch_s + (search_s - self.batch_s) * start / self.starts

    def session(self, server: WarmServer, index: int, rates: Sequence[float], closed_rps: float) -> Session:
        """Return load `index`: a session of short steps at `rates` in random order. `closed_rps`: closed-loop rate."""
        order = in_random_order(rates, self.seed, server.name, index)
        rest_rps = float(f"{REST_SHARE * closed_rps:.3g}")
        sweep = Sweep(order, rest_rps, self.step_s)
        mean_rps = sum(sweep.parts_rps) / len(sweep.parts_rps)
        rate = Rate(mean_rps, f"the mean of {len(order)} short steps and their rests")
        shape = replace(self.shape, duration_s=sweep.length_s, warmup_s=0.0)
        name = step_name(RATE_STEP, server.name, f"{index:03d}")
        trial = Trial(name, RATE_STEP, server.workload, rate, shape, sweep=sweep)
        return server.session(trial)

    def confirming(self, server: WarmServer, index: int, rps: float) -> Session:
        """Return the session of longer step number `index`, at a rate just below or above a knee."""
        name = step_name(RATE_STEP, server.name, "confirming", f"{index:02d}")
        shape = replace(self.shape, duration_s=self.confirm_s, warmup_s=0.0)
        rate = Rate(rps, "a longer step, to confirm a knee")
        return server.session(Trial(name, RATE_STEP, server.workload, rate, shape))

    @property
    def planned_s(self) -> float:
        """The seconds of the warm-ups and of the whole budget, which is the most that a search takes."""
        warm_ups_s = planned_s([server.warm_up(self.shape) for server in self.servers])
        return self.starts * warm_ups_s + len(self.servers) * self.minutes * 60


@dataclass(frozen=True, slots=True)
class Ladder:
    """Several rates that are offered one after the other to one warm server.

    The rates are given, or are shares of a base: of a knee, or of a closed loop's rate. Up to a third of the steps are
    repeated if the generator was late.
    """

    name: str
    title: str
    server: WarmServer
    shape: Shape
    rates: tuple[float, ...] = ()  # in rps; empty: from `like`, or by `shares`
    search: KneeSearch | None = None  # finds the knee that is the base
    shares: tuple[float, ...] = ()  # of the base
    like: "Ladder | KneeSearch | None" = None  # an earlier ladder with these rates, or the search for the base
    objective: Objective | None = None
    published: tuple[tuple[str, float], ...] = ()  # (name of the published output, rate)
    most_published: int = 99  # at most so many of these rates are offered too: the nearest to the base
    published_s: float | None = None  # length of their steps
    beyond: int = 0  # see `nearest`
    profile: tuple[str, ...] = ()  # events
    profiled: tuple[float, ...] | None = ()  # steps nearest to these shares are profiled too; None: all
    profiled_s: float | None = None
    lock_s: float | None = None  # length of a recording of locks
    lock_rps: float = 0.0  # its rate; 0: that of the step
    questions: tuple[str, ...] = ()

    @property
    def workload(self) -> Workload:
        return self.server.workload

    @property
    def ladder(self) -> str:
        """The ladder's name in its steps' records. With `shares` it ends in `-rates`, unlike the knee search's name."""
        return f"{self.server.name}-rates" if self.shares else self.server.name

    def session(self, index: int, rps: float, *more: str) -> Session:
        """Return the session of rate step number `index`; `more` is added to the step's name."""
        shape = self.shape
        if self.published_s is not None and rps in dict(self.published).values():
            shape = replace(shape, duration_s=self.published_s)
        name, rate = step_name(RATE_STEP, self.ladder, f"{index:03d}", *more), Rate(rps, "a rate step of a ladder")
        return self.server.session(Trial(name, RATE_STEP, self.workload, rate, shape))

    def profiled_sessions(self, rps: float) -> tuple[Session, ...]:
        """Return the sessions that repeat the rate step at this rate with a profiler, one session per recording."""
        name = step_name(PROFILED_RATE_STEP, self.ladder, f"{rps:.0f}")
        rate = Rate(rps, "a rate step of a ladder, once more with the profiler")
        shape = replace(self.shape, duration_s=self.profiled_s or self.shape.duration_s)
        again = Trial(name, PROFILED_RATE_STEP, self.workload, rate, shape)
        recordings = profiled(again, name, self.profile)
        return tuple(
            self.server.session(self._of_locks(trial) if LOCK in trial.profile else trial) for trial in recordings
        )

    def _of_locks(self, recording: Trial) -> Trial:
        shape = replace(recording.shape, duration_s=self.lock_s or recording.shape.duration_s)
        rate = Rate(self.lock_rps, "one rate for the locks of several loads") if self.lock_rps else recording.rate
        return replace(recording, rate=rate, shape=shape)

    @property
    def planned_s(self) -> float:
        """The planned seconds of the search and the steps, with as many steps at published rates as are likely."""
        like = self.like if isinstance(self.like, Ladder) else self
        count, likely = len(like.shares or like.rates), max(LIKELY_PUBLISHED, like.beyond + 1) if like.shares else 0
        within = min(len(like.published), like.most_published, likely)
        own_s = self.session(1, 0.0).planned_s  # no published rate
        published_s = self.session(1, self.published[0][1]).planned_s if self.published else own_s
        again = count + within if self.profiled is None else len(self.profiled)
        profiled_s = again * planned_s(self.profiled_sessions(1.0))
        search_s = (self.search or self.server.warm_up(self.shape)).planned_s
        return search_s + (count + most_again(count)) * own_s + within * published_s + profiled_s


@dataclass(frozen=True, slots=True)
class AroundTheKnee:
    """Settings of the knee searches and ladders of one experiment, for one size of run such as quick."""

    knee_minutes: float  # 0: no search; rates are shares of the closed-loop rate
    probe_s: float  # length of a short step of a search
    probe_warmup_s: float  # warm-up before a step of a ladder
    shares: tuple[float, ...]  # empty: no ladder
    profiled: tuple[float, ...] | None  # rate steps nearest to these shares are profiled too; None: all
    step_s: float  # length of a step of a ladder
    precision: float = 0.05
    most_published: int = 99  # at most so many published rates are offered too
    starts: int = 1
    profiled_s: float | None = None
    lock_s: float | None = None  # length of a recording of locks
    lock_rps: float = 0.0  # its rate; 0: that of the step
    published_s: float | None = None
    beyond: int = 0  # how many published rates above the base are offered too
    objective: Objective = field(default_factory=Objective)
    connections: int = 1
    published: tuple[tuple[str, float], ...] = ()
    profile: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def shape(self, connections: int) -> Shape:
        return Shape(connections, 1, self.step_s, self.probe_warmup_s)

    def block(self, name: str, title: str, server: WarmServer) -> KneeSearch | Ladder:
        """Return the ladder around a server's knee, the search for it included; without `shares`, the search alone."""
        search = self._search(name, title, 1, server)
        return search if search and not self.shares else replace(self._ladder(name, title, server), search=search)

    def blocks(self, name: str, title: str, servers: Sequence[WarmServer]) -> tuple[KneeSearch | Ladder, ...]:
        """Return one search on several servers and, with `shares`, a ladder around the knee of every server."""
        search = self._search(name, title, self.starts, *servers)
        by_name = {server.treatment.name: server for server in (servers if self.shares else ())}
        ladders = [
            self._ladder(step_name(name, "rates", treatment), f"{title}: rates around that of {treatment}", server)
            for treatment, server in by_name.items()
        ]
        return (*((search,) if search else ()), *(replace(ladder, like=search) for ladder in ladders))

    def _search(self, name: str, title: str, starts: int, server: WarmServer, *others: WarmServer) -> KneeSearch | None:
        if not self.knee_minutes:
            return None
        return KneeSearch(
            name, title, server, self.objective, self.knee_minutes, Shape(self.connections, 1, self.probe_s),
            precision=self.precision, questions=self.questions, others=others, starts=starts,
        )  # fmt: skip

    def _ladder(self, name: str, title: str, server: WarmServer) -> Ladder:
        return Ladder(
            name, title, server, self.shape(self.connections), shares=self.shares, objective=self.objective,
            published=self.published, most_published=self.most_published, published_s=self.published_s,
            beyond=self.beyond, profile=self.profile, profiled=self.profiled, profiled_s=self.profiled_s,
            lock_s=self.lock_s, lock_rps=self.lock_rps, questions=self.questions,
        )  # fmt: skip
