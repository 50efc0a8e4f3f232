"""Describe the blocks of an experiment: each yields the sessions that it needs, as data."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runners.design.ladder import (
    AROUND_A_RATE_STEP_S,
    LIKELY_PUBLISHED,
    WARM_S,
    LadderSize,
    most_again,
    step_name,
)
from runners.design.objective import SHORT_STEP_LEVELS as LEVELS
from runners.design.objective import Objective
from runners.design.rate import Rate
from runners.design.session import (
    ALONE,
    FLOOR,
    LOAD,
    OUTAGE,
    PROBE,
    PROFILED_RATE_STEP,
    RATE_STEP,
    SHARED,
    SOLO,
    STALL,
    Fault,
    KillNode,
    Member,
    Session,
    SharedSession,
    Sweep,
    Trial,
    planned_s,
)
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import Size, Starts
from runners.design.workload import GET, Workload
from runners.errors import PlanError

#: What the labels of these roles say.
_FAULTY = {STALL: "frozen server", OUTAGE: "a node killed"}
#: Seconds of a short step of a search where nothing else is said, and how many of them are one load.
SEARCH_STEP_S, BATCH = 0.5, 8
FEWEST_BATCHES = 2
#: Between its short steps a server rests at this share of what it reached in a closed loop.
REST_SHARE = 0.2
SEARCH_WARMUP_S = 1.0
#: Of the server's core, all rates of a shared schedule together take no more.
MOST_UTILISATION = 0.5
#: Nor more requests a second: at higher rates the servers disturb each other.
MOST_SHARED_RPS = 8_000.0
FEWEST_STARTS = 3  # of each treatment, for any verdict
MOST_AT_ONCE = 2  # compared with a baseline where the servers share a machine with much else
MOST_WARM_S, MOST_ALONE_S = 10.0, 3.0
SOLO_WARMUP_S = 0.2
REFERENCE_TARGET = Setting("noop", "noop")


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Load several treatments at one rate: the instrument floor first, then each clean and once more profiled.

    `rate_rps` 0: the published rate if the weakest treatment carries it, else a share of what it reaches in a closed
    loop, which a probe of each measures. A rate that is given needs no probe. `cold`: what each new server is sent
    before, without a warm-up. `questions` are the keys of those that the block helps to answer.
    """

    name: str
    title: str
    treatments: tuple[Setting, ...]
    workload: Workload
    size: Size
    rate_rps: float = 0.0
    connections: int = 1
    threads: int = 1
    profile: tuple[str, ...] = ()
    cold: Workload | None = None
    questions: tuple[str, ...] = ()

    def probes(self) -> tuple[Session, ...]:
        """A closed loop on each treatment; none where the rate is given."""
        if self.rate_rps > 0:
            return ()
        shape = self._shape(PROBE, open_loop=False)
        return tuple(
            Session(
                each,
                (Trial(f"{PROBE}-{self.workload.name}-{each.name}", PROBE, self.workload, None, shape),),
                self._fill(),
            )
            for each in self.treatments
        )

    def loads(self, rate: Rate) -> tuple[Session, ...]:
        """The floor, then the loads of each treatment, all at this rate."""
        floor = Trial(f"{FLOOR}-{self.workload.name}", FLOOR, self._idle, rate, self._shape(FLOOR))
        return (Session(REFERENCE_TARGET, (floor,)), *(self._loads(each, rate) for each in self.treatments))

    def _loads(self, treatment: Setting, rate: Rate) -> Session:
        clean = Trial(f"{self.workload.name}-{treatment.name}", LOAD, self.workload, rate, self._shape(LOAD))
        again = replace(clean, name=f"{clean.name}-profiled", profile=self.profile)
        trials = (clean, again) if self.profile else (clean,)
        if self.cold is not None:
            shape = replace(clean.shape, warmup_s=0.0)
            trials = (Trial(f"{self.cold.name}-{treatment.name}", LOAD, self.cold, rate, shape), *trials)
        restart = bool(self.workload.filled_keys) and treatment.target is None  # of others, each start is an empty one
        return Session(treatment, trials, self._fill(), restart=restart)

    @property
    def _idle(self) -> Workload:
        """What the server that does nothing is sent: the same, but not what only somebody else's server knows."""
        foreign = any(each.target is not None for each in self.treatments)
        return replace(GET, name=self.workload.name, filled_keys=0) if foreign else self.workload

    def _fill(self) -> Workload | None:
        return self.workload if self.workload.filled_keys else None

    def _shape(self, role: str, *, open_loop: bool = True) -> Shape:
        warmup_s, duration_s = self.size.times_s(role, open_loop)
        return Shape(self.connections, self.threads, duration_s, warmup_s)

    def compared(self, name: str, starts: Starts, margin: float, questions: tuple[str, ...]) -> Interleaved:
        """Compare the treatments by one schedule too, at a rate that follows from what this block's probes reach."""
        return Interleaved(
            name, f"{self.workload.label}: the same request by request, beside a server that does nothing",
            self.treatments, self.treatments[0].name, self.workload, replace(self.size, probe_s=starts.server_s),
            Shape(self.connections, self.threads, starts.load_s, starts.warmup_s), starts=starts.count, margin=margin,
            at_once=MOST_AT_ONCE, solo=False, loops=False, like=self, questions=questions,
        )  # fmt: skip

    @property
    def planned_s(self) -> float:
        """The seconds of all trials, whatever their rate will be."""
        return planned_s((*self.probes(), *self.loads(Rate(1.0, "not known yet"))))


def seconds_of_a_batch(minutes: float, shape: Shape, low_rps: float, high_rps: float) -> float:
    """How long one load of a search takes. Raises PlanError for a search that can't find anything in that time."""
    step_s = shape.duration_s or SEARCH_STEP_S
    batch_s = Sweep((1.0,) * BATCH, 1.0, step_s).length_s + AROUND_A_RATE_STEP_S
    if minutes * 60 < FEWEST_BATCHES * batch_s:
        cause = f"too short for {FEWEST_BATCHES * BATCH} steps of {step_s:g} s with their rests"
        raise PlanError(f"{minutes:g} minutes", cause, "give more minutes, or shorter steps (-p probe_s=0.3)")
    if low_rps >= high_rps:
        raise PlanError("low_rps and high_rps", "there is no rate between them", "give a lower and a higher rate")
    return batch_s


@dataclass(frozen=True, slots=True)
class FixedTrials:
    """Measure sessions that are known beforehand, in their order.

    For what no other block is: several generators on one server, closed loops of other JDKs, a server with a fault that
    is built in. What this machine can't measure for want of a JDK or of a generator is left out.
    """

    name: str
    title: str
    sessions: tuple[Session, ...]
    questions: tuple[str, ...] = ()

    @property
    def planned_s(self) -> float:
        """The seconds of all sessions."""
        return planned_s(self.sessions)


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """Load one warm server by each generator in turn while faults happen to it.

    Trials are named after the generator; an empty one is the run's own, and its trial is named after the treatment.
    The rate is `rate_rps`, or where that is 0 `share` of what the closed loop of the warm-up reached; generators in
    `without_rate` send in closed loop. `shape` is that of each load, with its length and warm-up; the last of
    the faults may go on until after its end.
    """

    name: str
    title: str
    treatment: Setting
    workload: Workload
    faults: tuple[Fault, ...]
    shape: Shape
    warm_up_s: float
    rate_rps: float = 0.0
    share: float = 0.5
    generators: tuple[str, ...] = ("",)
    without_rate: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def role(self) -> str:
        """The role of its trials, by the fault."""
        return OUTAGE if any(isinstance(fault, KillNode) for fault in self.faults) else STALL

    def warm_up(self) -> Session:
        """The closed loop that warms the server and shows what it reaches."""
        return Session(self.treatment, (self._warming,), warm_up=self._warming)

    def loads(self, rate: Rate) -> tuple[Session, ...]:
        """The load of each generator with all faults."""
        return tuple(
            Session(self.treatment, (self._load(each, rate),), warm_up=self._warming) for each in self.generators
        )

    def rate(self, reached_rps: float) -> Rate:
        """The rate of the loads, from what the warm-up reached."""
        if self.rate_rps > 0:
            return Rate(self.rate_rps, "fixed")
        return Rate(float(f"{self.share * reached_rps:.2g}"), f"{self.share:.0%} of what a closed loop reached")

    def _load(self, generator: str, rate: Rate) -> Trial:
        paced = None if generator in self.without_rate else rate
        shape = self.shape if paced else replace(self.shape, warmup_s=0.0)
        name, what = step_name(self.role, generator or self.treatment.name), _FAULTY[self.role]
        return Trial(
            name, self.role, self.workload, paced, shape, (),
            f"{generator or self.treatment.name}, {what}", generator, None, self.faults,
        )  # fmt: skip

    @property
    def _warming(self) -> Trial:
        role = f"{self.role}-warm"
        shape = Shape(self.shape.connections, self.shape.threads, self.warm_up_s, 0.0)
        return Trial(step_name(role, self.treatment.name), role, self.workload, None, shape)

    @property
    def planned_s(self) -> float:
        """The seconds of the warm-up and of each load."""
        return planned_s((self.warm_up(), *self.loads(Rate(1.0, "not known yet"))))


@dataclass(frozen=True, slots=True)
class WarmServer:
    """The one server of a search or a ladder: what is filled and sent before its first rate step."""

    treatment: Setting
    workload: Workload
    size: Size

    @property
    def name(self) -> str:
        """Name the workload and the treatment, as the names of steps do."""
        return step_name(self.workload.name, self.treatment.name)

    def warm_up(self, shape: Shape) -> Session:
        """The closed loop that warms the server and shows what it reaches."""
        trial = self._trial(shape)
        return Session(self.treatment, (trial,), self._fill, warm_up=trial)

    def session(self, trial: Trial) -> Session:
        """A trial on this server when it is warm."""
        return Session(self.treatment, (trial,), self._fill, warm_up=self._trial(trial.shape))

    def _trial(self, shape: Shape) -> Trial:
        whole_s = max(min(WARM_S, 2 * self.size.probe_s), self.size.probe_s)
        closed = Shape(shape.connections, shape.threads, whole_s, 0.0)
        return Trial(step_name(PROBE, self.name), PROBE, self.workload, None, closed)

    @property
    def _fill(self) -> Workload | None:
        return self.workload if self.workload.filled_keys else None


@dataclass(frozen=True, slots=True)
class KneeSearch:
    """Search the highest rate that meets an objective, on one warm server, or on several that are up at once.

    Each load goes through short steps in random order (see analysis.knee); `shape` has the connections and, as its
    duration, the seconds of one step. With `others`, loads go to all servers in random order while the others idle, so
    that the knees of all are of the same minutes; a server has `minutes` of loads. The search ends when each 95 %
    interval is narrower than `precision`. Raises PlanError for a budget in which nothing can be found.
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

    def __post_init__(self) -> None:
        if unknown := sorted({level for level, _ in self.objective.latencies} - set(LEVELS)):
            cause = f"a short step has no {', '.join(f'p{level * 100:g}' for level in unknown)}"
            levels = ", ".join(f"p{level * 100:g}" for level in LEVELS)
            raise PlanError(f"objective {self.objective.text}", cause, f"limit one of {levels}")
        seconds_of_a_batch(self.minutes, self.shape, self.low_rps, self.high_rps)

    @property
    def servers(self) -> tuple[WarmServer, ...]:
        """All servers, the first one first."""
        return (self.server, *self.others)

    @property
    def workload(self) -> Workload:
        """What every step sends."""
        return self.server.workload

    @property
    def batch_s(self) -> float:
        """The seconds that one load is planned to take."""
        return seconds_of_a_batch(self.minutes, self.shape, self.low_rps, self.high_rps)

    def warm_up(self, server: WarmServer) -> Session:
        """The closed loop on a server; the others' are beside the first."""
        return replace(server.warm_up(self.shape), beside=server != self.server)

    def session(self, server: WarmServer, index: int, rates: Sequence[float], closed_rps: float) -> Session:
        """The load of that number, with its rates in an order that the seed and the number give."""
        order = list(rates)
        random.Random(f"{self.seed} {server.name} {index}").shuffle(order)  # noqa: S311 - an order, no secret
        rest_rps = float(f"{REST_SHARE * closed_rps:.3g}")
        sweep = Sweep(tuple(order), rest_rps, self.shape.duration_s or SEARCH_STEP_S)
        mean_rps = sum(sweep.parts_rps) / len(sweep.parts_rps)
        rate = Rate(mean_rps, f"the mean of {len(order)} short steps and their rests")
        shape = replace(self.shape, duration_s=sweep.length_s, warmup_s=0.0)
        name = step_name(RATE_STEP, server.name, f"{index:03d}")
        session = server.session(Trial(name, RATE_STEP, server.workload, rate, shape, sweep=sweep))
        return replace(session, beside=server != self.server)

    @property
    def planned_s(self) -> float:
        """The seconds of the warm-ups and of the whole budget, which is the most that a search takes."""
        return planned_s(tuple(map(self.warm_up, self.servers))) + len(self.servers) * self.minutes * 60


@dataclass(frozen=True, slots=True)
class Ladder:
    """Offer several rates one after the other to one warm server.

    The rates are given in `rates`, or are those that a block before this one offered (`like`), or are `shares` of a
    base: the knee that `search` finds on the same server before, or that the search `like` found of it, or without one
    what the closed loop of the warm-up reached. `published` names outputs, each with its rate: of those
    within reach the `most_published` nearest to the base are offered too, for `published_s`. The steps nearest to the
    shares in `profiled` (None: all) are measured once more while `profile` is recorded. Steps at which the generator
    was late are offered once more, up to a third of them. Raises PlanError for rates that can't be offered.
    """

    name: str
    title: str
    server: WarmServer
    shape: Shape
    rates: tuple[float, ...] = ()
    search: KneeSearch | None = None
    shares: tuple[float, ...] = ()
    like: Ladder | KneeSearch | None = None
    objective: Objective | None = None
    published: tuple[tuple[str, float], ...] = ()
    most_published: int = 99
    published_s: float | None = None
    profile: tuple[str, ...] = ()
    profiled: tuple[float, ...] | None = ()
    questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.shares and self.like is None and (not self.rates or min(self.rates) <= 0):
            raise PlanError(f"rates {list(self.rates)}", "a ladder needs rates above zero", "give some")

    @property
    def workload(self) -> Workload:
        """What every step sends."""
        return self.server.workload

    @property
    def ladder(self) -> str:
        """The ladder's name in the records of its steps: apart from that of the search on the same server."""
        return f"{self.server.name}-rates" if self.shares else self.server.name

    def session(self, index: int, rps: float, *more: str) -> Session:
        """The rate step of that number; `more` goes to its name."""
        shape = self.shape
        if self.published_s is not None and rps in dict(self.published).values():
            shape = replace(shape, duration_s=self.published_s)
        return self.server.session(_rate_step(self.server, self.ladder, shape, index, rps, *more))

    def profiled_session(self, rps: float) -> Session:
        """The rate step at this rate once more, with the profiler."""
        name = step_name(PROFILED_RATE_STEP, self.ladder, f"{rps:.0f}")
        rate = Rate(rps, "a rate step of a ladder, once more with the profiler")
        trial = Trial(name, PROFILED_RATE_STEP, self.workload, rate, self.shape, self.profile)
        return self.server.session(trial)

    @property
    def planned_s(self) -> float:
        """The seconds of the search and of the steps, whatever their rates will be.

        How many published rates are within reach is only known when the base is: about LIKELY_PUBLISHED are planned.
        """
        if isinstance(self.like, Ladder):
            return self.server.warm_up(self.shape).planned_s + self.like.steps_s
        before_s = self.search.planned_s if self.search else self.server.warm_up(self.shape).planned_s
        return before_s + self.steps_s

    @property
    def steps_s(self) -> float:
        """The seconds of the steps alone."""
        count = len(self.shares or self.rates)
        within = min(len(self.published), self.most_published, LIKELY_PUBLISHED) if self.shares else 0
        longer = replace(self.shape, duration_s=self.published_s or self.shape.duration_s)
        own_s, published_s = (
            _rate_step(self.server, self.ladder, each, 1, 1.0).planned_s for each in (self.shape, longer)
        )
        profiled = (count + within if self.profiled is None else len(self.profiled)) if self.profile else 0
        profiled_s = profiled * self.profiled_session(1.0).planned_s if profiled else 0.0
        return (count + most_again(count)) * own_s + within * published_s + profiled_s


def _rate_step(server: WarmServer, ladder: str, shape: Shape, index: int, rps: float, *more: str) -> Trial:
    name = step_name(RATE_STEP, ladder, f"{index:03d}", *more)
    return Trial(name, RATE_STEP, server.workload, Rate(rps, "a rate step of a ladder"), shape)


def around_the_knee(
    name: str,
    title: str,
    server: WarmServer,
    plan: LadderSize,
    objective: Objective,
    connections: int,
    published: tuple[tuple[str, float], ...] = (),
    profile: tuple[str, ...] = (),
    questions: tuple[str, ...] = (),
) -> KneeSearch | Ladder:
    """A ladder around the knee as long as a size has time for; a size without shares has the search alone."""
    steps = Shape(connections, 1, plan.probe_s)
    search = None
    if plan.knee_minutes:
        search = KneeSearch(
            name, title, server, objective, plan.knee_minutes, steps, precision=plan.precision, questions=questions
        )
        if not plan.shares:
            return search
    around = _around(plan, objective, connections, published, profile, questions)
    return Ladder(name, title, server, search=search, **around)


def _around(
    plan: LadderSize,
    objective: Objective,
    connections: int,
    published: tuple[tuple[str, float], ...],
    profile: tuple[str, ...],
    questions: tuple[str, ...],
) -> dict[str, Any]:
    """What ladders around a knee have in common."""
    return {
        "shape": Shape(connections, 1, plan.step_s, plan.probe_warmup_s),
        "shares": plan.shares,
        "objective": objective,
        "published": published,
        "most_published": plan.published,
        "published_s": plan.published_s,
        "profile": profile,
        "profiled": plan.profiled,
        "questions": questions,
    }


def knees_of(
    name: str,
    title: str,
    servers: Sequence[WarmServer],
    plan: LadderSize,
    objective: Objective,
    connections: int,
    published: tuple[tuple[str, float], ...] = (),
    profile: tuple[str, ...] = (),
    questions: tuple[str, ...] = (),
) -> tuple[KneeSearch | Ladder, ...]:
    """One search that pairs several servers, then rates around the knee of each, as long as a size has time for them.

    A size without a search has rates at shares of what a closed loop reached.
    """
    search = None
    if plan.knee_minutes:
        first, *others = servers
        steps = Shape(connections, 1, plan.probe_s)
        search = KneeSearch(
            name, title, first, objective, plan.knee_minutes, steps, precision=plan.precision, questions=questions,
            others=tuple(others),
        )  # fmt: skip
    around = _around(plan, objective, connections, published, profile, questions)
    ladders = [
        Ladder(
            step_name(name, "rates", server.treatment.name),
            f"{title}: rates around that of {server.treatment.name}",
            server,
            like=search,
            **around,
        )
        for server in (servers if plan.shares else ())
    ]
    return (*((search,) if search else ()), *ladders)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Compare treatments that are up at once, over several fresh starts of each (see docs/method.md).

    Each request goes to one of them, at a rate; or with `slice_s` one of them is loaded in closed loop while the others
    are idle, for so long, in a random order: latency and CPU time are compared by request, throughput by slices.

    With `control` a second process of the baseline is one of them, by request also a server that does nothing. `shape`
    is that of each start's load, with the connections to each; `rate_rps` is offered to each treatment, 0: so much that
    all together take half of the core, or MOST_SHARED_RPS in all. `at_once`: so many treatments share a start with the
    baseline and its control, in an incomplete block design; 0: all. `primary` is the quantity that decides, `margin`
    the relative change that would matter. With `until`, the block ends as soon as the primary quantity of each
    treatment is known to differ or to be the same within the margin, and `starts` are the most that it makes (see
    analysis.treatments). With `solo`, each treatment is loaded alone at the rate too, for its level; with `loops` in
    closed loop, for its throughput. `like`: the block before this one whose probes, or whose given rate, the rate
    follows from. Raises PlanError for treatments that can't be compared.
    """

    name: str
    title: str
    treatments: tuple[Setting, ...]
    baseline: str
    workload: Workload
    size: Size
    shape: Shape
    starts: int = FEWEST_STARTS
    rate_rps: float = 0.0
    primary: str = "p50_us"
    margin: float = 0.02
    control: bool = True
    slice_s: float = 0.0
    at_once: int = 0
    seed: int = 1
    until: bool = False
    solo: bool = True
    loops: bool = True
    like: FixedRate | None = None
    questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [each.name for each in self.treatments]
        if self.baseline not in names or len(names) < 2 or len(set(names)) < len(names):
            cause = f"{', '.join(names)} with the baseline {self.baseline} can't be compared"
            raise PlanError(f"block {self.name}", cause, "give two treatments or more, each with a name of its own")
        if self.starts < 1:
            raise PlanError(f"block {self.name}", f"{self.starts} starts", f"give {FEWEST_STARTS} or more")

    @property
    def ordered(self) -> tuple[Setting, ...]:
        """The treatments, the baseline first."""
        return tuple(sorted(self.treatments, key=lambda each: each.name != self.baseline))

    @property
    def control_setting(self) -> Setting | None:
        """The baseline under another name; None without a control."""
        first = self.ordered[0]
        return replace(first, name=f"{first.name[:32]}-control") if self.control else None

    @property
    def reference(self) -> Setting | None:
        """The server that does nothing, unless it is one of the treatments; none in closed loop."""
        known = self.slice_s > 0 or any(each.name == REFERENCE_TARGET.name for each in self.treatments)
        return None if known else REFERENCE_TARGET

    def probes(self) -> tuple[Session, ...]:
        """A closed loop on each treatment, warm; none where the rate is given, or none is needed."""
        if self.rate_rps > 0 or self.slice_s > 0 or self.like is not None:
            return ()
        return tuple(WarmServer(each, self.workload, self.size).warm_up(self.shape) for each in self.ordered)

    def rate(self, capacity_rps: Mapping[str, float]) -> Rate | None:
        """The rate of each treatment, from what each reached in a closed loop; None for a closed loop."""
        if self.slice_s > 0:
            return None
        if self.rate_rps > 0:
            return Rate(self.rate_rps, "given")
        if self.like is not None and self.like.rate_rps > 0:
            rps = MOST_UTILISATION * self.like.rate_rps / len(self._members(self.ordered))
            return Rate(float(f"{rps:.2g}"), f"all together get {MOST_UTILISATION:.0%} of the given rate")
        reached = [*capacity_rps.values(), *([capacity_rps[self.baseline]] if self.control_setting else [])]
        idle = 1 / max(reached) if self.reference else 0.0  # it reaches no less than any that does something
        utilised_s = sum(1 / rps for rps in reached) + idle
        rps = min(MOST_UTILISATION / utilised_s, MOST_SHARED_RPS / len(self._members(self.ordered)))
        return Rate(float(f"{rps:.2g}"), f"all together take at most {MOST_UTILISATION:.0%} of the core")

    def _members(self, treatments: tuple[Setting, ...]) -> tuple[Setting, ...]:
        return (*treatments, *(each for each in (self.control_setting, self.reference) if each is not None))

    def sessions(self, rate: Rate | None) -> Iterator[SharedSession]:
        """Every start: each treatment is in `starts` of them, and the baseline in all."""
        first, *others = self.ordered
        most, number = self.at_once or len(others), 0
        for turn in range(self.starts):
            chosen = list(others)
            if most < len(others):
                random.Random(f"{self.seed} {turn} groups").shuffle(chosen)  # noqa: S311 - an order, no secret
            for at in range(0, len(chosen), most):
                number += 1
                yield self._start(number, (first, *chosen[at : at + most]), rate)

    def _start(self, number: int, treatments: tuple[Setting, ...], rate: Rate | None) -> SharedSession:
        """A start of these treatments, in an order that the seed and its number give."""
        name = step_name(self.name, f"{number:02d}")
        alone = Shape(self.shape.connections, self.shape.threads, min(MOST_ALONE_S, self.size.probe_s), 0.0)
        foreign = any(each.target is not None for each in self.treatments)
        members = []
        for each in self._members(treatments):
            idle = replace(GET if foreign else self.workload, filled_keys=0)
            workload = idle if each == self.reference else self.workload
            loop = Trial(step_name(name, ALONE, each.name), ALONE, workload, None, alone)
            solo = None
            if rate and self.solo and each != self.reference:
                shape = replace(alone, warmup_s=SOLO_WARMUP_S)
                solo = Trial(step_name(name, SOLO, each.name), SOLO, workload, rate, shape)
            members.append(Member(each, workload, loop if rate and self.loops else None, solo))
        random.Random(f"{self.seed} {number}").shuffle(members)  # noqa: S311 - an order, no secret
        whole = Rate(rate.rps * len(members), rate.basis) if rate else None
        load = Trial(name, SHARED, self.workload, whole, self.shape)
        seed, reference = self.seed * 1_000 + number, self.reference.name if self.reference else ""
        warm_s = min(MOST_WARM_S, self.size.probe_s)
        return SharedSession(number, tuple(members), load, warm_s, seed, self.slice_s, reference)

    def within(self, minutes: float) -> Interleaved:
        """As many starts as fit into a budget. Raises PlanError when they are too few for a verdict."""
        start_s = self._starts_s / self.starts
        # a budget that starts fill to the microsecond is filled, however their seconds were summed up
        starts = int((minutes * 60 - planned_s(self.probes())) / start_s + 1e-6)
        if starts < FEWEST_STARTS:
            cause = f"too short for {FEWEST_STARTS} starts of {start_s:.0f} s"
            raise PlanError(f"{minutes:g} minutes", cause, "give more minutes, or shorter loads (-p repeat_s=2)")
        return replace(self, starts=starts)

    @property
    def _starts_s(self) -> float:
        return planned_s(tuple(self.sessions(None if self.slice_s else Rate(1.0, "not known yet"))))

    @property
    def planned_s(self) -> float:
        """The seconds of the probes and of every start."""
        return planned_s(self.probes()) + self._starts_s


#: One member of it per type of block.
Block = FixedRate | FixedTrials | FaultInjection | KneeSearch | Ladder | Interleaved
