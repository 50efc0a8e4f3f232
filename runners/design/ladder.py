"""Searches for a knee and ladders of rates around it, as data, with their lengths in a run's size."""

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

    Only rates up to MOST_SHARE times `base_rps` count; with `beyond`, up to so many published rates above `base_rps`.
    """
    rates = sorted({rps for rps in published_rps if rps > 0})
    below = [rps for rps in rates if rps <= base_rps]
    within = rates[: len(below) + beyond] if beyond else [rps for rps in rates if rps <= MOST_SHARE * base_rps]
    return sorted(sorted(within, key=lambda rps: abs(math.log(rps / base_rps)))[:most])


def step_rates(base_rps: float, shares: Sequence[float], published_rps: Sequence[float] = ()) -> list[float]:
    """Return a ladder's rates, lowest first: the published ones, and shares of the base that are near none of these."""
    within = sorted(set(published_rps))
    own = [float(f"{share * base_rps:.3g}") for share in shares]
    return sorted({*within, *(rps for rps in own if all(abs(rps / near - 1) > _SAME for near in within))})


def nearest_to_shares(rates: Sequence[float], base_rps: float, shares: Sequence[float] | None) -> list[float]:
    """Return the rate nearest to each share of the base, without repeats; all rates if `shares` is None."""
    if shares is None:
        return list(rates)
    return list(dict.fromkeys(min(rates, key=lambda rps: abs(rps - share * base_rps)) for share in shares))


@dataclass(frozen=True, slots=True)
class WarmServer:
    """A server of a search or a ladder: treatment, workload with its fill, and the number of its fresh start, from 1.

    With `keep_others`, the warm servers of earlier sessions are not stopped.
    """

    treatment: Setting
    workload: Workload
    size: Size
    start: int = 1
    keep_others: bool = False

    @property
    def name(self) -> str:
        """The workload and the treatment, as in the names of steps."""
        return step_name(self.workload.name, self.treatment.name)

    def warm_up(self, shape: Shape) -> Session:
        """Return the session of the closed loop that warms the server and shows the rate that it reaches."""
        return self.session(self._closed(shape))

    def closed_loop(self, shape: Shape) -> Session:
        """Return the session of a short closed loop on the warm server, which shows the most that it can achieve."""
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

    Each load has short steps of `shape.duration_s` in random order (see analysis.knee). The servers' loads come in
    random order too. Each server has `minutes`, divided among `starts`, and gets fewer loads once the relative width of
    its knee's 95 % interval is at most `precision`. Then a closed loop and steps of `confirm_s` confirm each knee.
    Raises PlanError for too few minutes, an unknown percentile, or no rate between `low_rps` and `high_rps`.
    """

    name: str
    title: str
    server: WarmServer
    objective: Objective
    minutes: float
    shape: Shape
    low_rps: float = 100.0
    high_rps: float = 1_000_000.0
    precision: float = 0.05
    questions: tuple[str, ...] = ()
    others: tuple[WarmServer, ...] = ()
    seed: int = 1
    starts: int = 1

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
        """Return after how many seconds of load on a server start number `start` ends; start 1 has one load more."""
        closed_s, longer_s = self._least_confirming_s
        search_s = self.minutes * 60 - (closed_s + max(longer_s, CONFIRMING_SHARE * self.minutes * 60))
        return self.batch_s + (search_s - self.batch_s) * start / self.starts

    def session(self, server: WarmServer, index: int, rates: Sequence[float], closed_rps: float) -> Session:
        """Return the session of load number `index`: short steps at `rates`, in an order drawn from the seed."""
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

    The rates are `rates`, or those of the ladder `like`, or `shares` of a base. The base is the knee that `search` or
    the search `like` finds, else the closed-loop rate. Of `published` (name of the output, rate), the `most_published`
    rates nearest to the base are offered too, for `published_s`. The steps nearest to the shares in `profiled` (None:
    all steps) are repeated with a profiler; up to a third of all steps are repeated if the generator was late. Locks
    are recorded for `lock_s`, and at `lock_rps`, where these are given.
    """

    name: str
    title: str
    server: WarmServer
    shape: Shape
    rates: tuple[float, ...] = ()
    search: KneeSearch | None = None
    shares: tuple[float, ...] = ()
    like: "Ladder | KneeSearch | None" = None
    objective: Objective | None = None
    published: tuple[tuple[str, float], ...] = ()
    most_published: int = 99
    published_s: float | None = None
    beyond: int = 0
    profile: tuple[str, ...] = ()
    profiled: tuple[float, ...] | None = ()
    profiled_s: float | None = None
    lock_s: float | None = None
    lock_rps: float = 0.0
    questions: tuple[str, ...] = ()

    @property
    def workload(self) -> Workload:
        return self.server.workload

    @property
    def ladder(self) -> str:
        """The ladder's name in its steps' records; with `shares` it is not the name of the search on this server."""
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
        return tuple(self.server.session(self._of_locks(one) if LOCK in one.profile else one) for one in recordings)

    def _of_locks(self, recording: Trial) -> Trial:
        """Return a recording of locks with the length and the rate that the ladder has for locks."""
        shape = replace(recording.shape, duration_s=self.lock_s or recording.shape.duration_s)
        rate = Rate(self.lock_rps, "one rate for the locks of several loads") if self.lock_rps else recording.rate
        return replace(recording, rate=rate, shape=shape)

    @property
    def planned_s(self) -> float:
        """The seconds of the search and of the steps, as many of them at published rates as are likely."""
        return (self.search or self.server.warm_up(self.shape)).planned_s + self._steps_s

    @property
    def _steps_s(self) -> float:
        like = self.like if isinstance(self.like, Ladder) else self
        count, likely = len(like.shares or like.rates), max(LIKELY_PUBLISHED, like.beyond + 1) if like.shares else 0
        within = min(len(like.published), like.most_published, likely)
        own_s = self.session(1, 0.0).planned_s  # no published rate
        published_s = self.session(1, self.published[0][1]).planned_s if self.published else own_s
        again = count + within if self.profiled is None else len(self.profiled)
        profiled_s = again * planned_s(self.profiled_sessions(1.0))
        return (count + most_again(count)) * own_s + within * published_s + profiled_s


@dataclass(frozen=True, slots=True)
class AroundTheKnee:
    """The searches and ladders around the knees of one experiment in one size; fields as in KneeSearch and Ladder.

    If `knee_minutes` is 0, there is no search, and rates are shares of the closed-loop rate; without `shares`, there is
    no ladder. `probe_s`: seconds of a search's short step; `probe_warmup_s`: of the warm-up before a ladder's step.
    """

    knee_minutes: float
    probe_s: float
    probe_warmup_s: float
    shares: tuple[float, ...]
    profiled: tuple[float, ...] | None
    step_s: float
    precision: float = 0.05
    most_published: int = 99
    starts: int = 1
    profiled_s: float | None = None
    lock_s: float | None = None
    lock_rps: float = 0.0
    published_s: float | None = None
    beyond: int = 0
    objective: Objective = field(default_factory=Objective)
    connections: int = 1
    published: tuple[tuple[str, float], ...] = ()
    profile: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def shape(self, connections: int) -> Shape:
        return Shape(connections, 1, self.step_s, self.probe_warmup_s)

    def block(self, name: str, title: str, server: WarmServer) -> KneeSearch | Ladder:
        """Return the ladder around the knee of a server; without `shares`, the search for the knee alone."""
        search = self._search(name, title, 1, server)
        return search if search and not self.shares else replace(self._ladder(name, title, server), search=search)

    def blocks(self, name: str, title: str, servers: Sequence[WarmServer]) -> tuple[KneeSearch | Ladder, ...]:
        """Return one search on several servers and, with `shares`, a ladder around the knee of each of them."""
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
