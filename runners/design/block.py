"""The blocks of an experiment, as data: a block is a set of loads, and yields the sessions that measure them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

from runners.design.ladder import KneeSearch, Ladder, WarmServer
from runners.design.load import GET, SIZES, STABLE_SHARE, Rate, Shape, Size, Workload, choose_rate
from runners.design.session import (
    ALONE,
    CLOSED,
    FLOOR,
    LOAD,
    PAIRED,
    PROBE,
    SHARED,
    SOLO,
    Fault,
    Member,
    Session,
    SharedSession,
    Trial,
    in_random_order,
    planned_s,
    profiled,
    step_name,
)
from runners.design.setting import Setting
from runners.errors import PlanError

#: The largest share of their common core that the servers of a shared schedule may use together.
MOST_UTILISATION = 0.5
#: The highest offered rate of a shared schedule, all servers together: above it the servers disturb each other.
MOST_SHARED_RPS = 8_000.0
FEWEST_STARTS = 3  # of each treatment, for any verdict
MOST_AT_ONCE = 2  # treatments in a start besides the baseline, so that few servers share the machine
MOST_WARM_S, MOST_ALONE_S = 10.0, 3.0
SOLO_WARMUP_S, COMPARED_WARMUP_S = 0.2, 1.0  # before a load on one server alone, before a load that all servers share
#: Seconds of a slice in closed loop. Slices are shorter than a burst of the machine's stalls (a tenth of a second), so
#: that a burst hits all servers. Slices of writes are longer, so that a flush ends in the slice that caused it.
SLICE_S, WRITES_SLICE_S = 0.02, 0.05
REFERENCE_TARGET = Setting("noop", "noop")


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Loads at one rate: on a server that does nothing, then on each treatment without and with a profiler."""

    name: str
    title: str
    treatments: tuple[Setting, ...]
    workload: Workload
    size: Size
    rate_rps: float = 0.0  # 0: the published rate, or `share` of the slowest closed loop if that is lower
    connections: int = 1
    threads: int = 1
    profile: tuple[str, ...] = ()
    share: float = STABLE_SHARE  # of the closed-loop rate of the slowest treatment
    cold: Workload | None = None  # sent to each new server first, with an empty store and no warm-up
    questions: tuple[str, ...] = ()
    sessions: tuple[Session, ...] = ()  # see `known`

    @classmethod
    def known(cls, name: str, title: str, sessions: tuple[Session, ...], questions: tuple[str, ...] = ()) -> Self:
        """Return a block that measures only `sessions`. It chooses no rate: their trials have rates or closed loops."""
        treatments = tuple(dict.fromkeys(session.treatment for session in sessions))
        workload = sessions[0].trials[0].workload
        return cls(name, title, treatments, workload, SIZES["quick"], sessions=sessions, questions=questions)

    @classmethod
    def rounds(
        cls, name: str, title: str, settings: Sequence[Setting], loads: Sequence[tuple[Workload, Sequence[int]]],
        size: Size, questions: tuple[str, ...],
    ) -> Self:  # fmt: skip
        """Return a block of rounds of closed loops on new servers. `loads`: (workload, numbers of connections)."""
        sessions = list[Session]()
        for number in range(1, size.starts + 1):
            for setting, (workload, counts) in product(in_random_order(settings, name, number), loads):
                steps = [("warmup", max(counts), size.warmup_s), *((CLOSED, many, size.duration_s) for many in counts)]
                warming, *loops = (
                    Trial(
                        f"{role}-{workload.name}-{many}-{setting.name}-r{number}", role, workload, None,
                        Shape(many, 1, load_s, 0.0), round=number,
                        label=f"{setting.name} {workload.label} on {many}, {role}, round {number}",
                    )
                    for role, many, load_s in steps
                )  # fmt: skip
                parts = (warming,), tuple(loops)
                sessions += (Session(setting, part, workload.fill, warm_up=warming) for part in parts)
        return cls.known(name, title, tuple(sessions), questions)

    def probes(self) -> tuple[Session, ...]:
        """Return a session with a closed loop per treatment, to choose the rate; () if the block has a rate already."""
        if self.rate_rps > 0 or self.sessions:
            return ()
        shape, workload = self._shape(PROBE), self.workload
        names = {treatment: step_name(PROBE, self.name, treatment.name) for treatment in self.treatments}
        trials = {treatment: Trial(name, PROBE, workload, None, shape) for treatment, name in names.items()}
        return tuple(Session(treatment, (trial,), workload.fill) for treatment, trial in trials.items())

    def rate(self, capacity_rps: Mapping[str, float]) -> Rate | None:
        """Return the rate of all loads; None for a block of `known`. `capacity_rps`: {treatment: closed-loop rate}."""
        if self.sessions:
            return None
        return choose_rate(self.workload.published_rate_rps, capacity_rps, self.rate_rps, self.share)

    def loads(self, rate: Rate | None) -> tuple[Session, ...]:
        """Return sessions at `rate`, the first on a server that does nothing; `self.sessions` if `rate` is None."""
        if rate is None:
            return self.sessions
        foreign = any(treatment.target is not None for treatment in self.treatments)
        idle = replace(GET, name=self.workload.name, filled_keys=0) if foreign else self.workload
        floor = Trial(step_name(FLOOR, self.workload.name), FLOOR, idle, rate, self._shape(FLOOR))
        loads = (session for treatment in self.treatments for session in self._loads(treatment, rate))
        return (Session(REFERENCE_TARGET, (floor,)), *loads)

    def _loads(self, treatment: Setting, rate: Rate) -> tuple[Session, ...]:
        clean = Trial(step_name(self.workload.name, treatment.name), LOAD, self.workload, rate, self._shape(LOAD))
        trials = (clean, *profiled(clean, f"{clean.name}-profiled", self.profile))
        fill = self.workload.fill
        restart = fill is not None and treatment.target is None  # a start of a foreign server empties its data
        if self.cold is None:
            return (Session(treatment, trials, fill, restart=restart),)
        shape = replace(clean.shape, warmup_s=0.0)
        cold = Trial(step_name(self.cold.name, treatment.name), LOAD, self.cold, rate, shape)
        if not restart:
            return (Session(treatment, (cold, *trials), fill),)
        return Session(treatment, (cold,)), Session(treatment, trials, fill)

    def _shape(self, role: str) -> Shape:
        size = self.size
        duration_s = {PROBE: size.probe_s, FLOOR: size.floor_s}.get(role, size.duration_s)
        return Shape(self.connections, self.threads, duration_s, 0.0 if role == PROBE else size.warmup_s)

    def compared(self, name: str, size: Size, margin: float, questions: tuple[str, ...]) -> "Interleaved":
        """Return a block that compares the treatments request by request; `margin`: relative change that matters."""
        return Interleaved(
            name, f"{self.workload.label}: the same request by request, with a server that does nothing",
            self.treatments, self.treatments[0].name, self.workload, size, size.shape(self.connections, self.threads),
            starts=size.starts, margin=margin, at_once=MOST_AT_ONCE, solo=False, loops=False, like=self,
            questions=questions,
        )  # fmt: skip

    @property
    def planned_s(self) -> float:
        return planned_s(self.sessions or (*self.probes(), *self.loads(Rate(1.0, "not known yet"))))


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """Loads that several generators send to one warm server, one after the other, while faults happen to the server."""

    name: str
    title: str
    treatment: Setting
    workload: Workload
    faults: tuple[Fault, ...]  # the last one may outlast the load
    shape: Shape
    warm_up_s: float
    rate_rps: float = 0.0  # 0: `share` of the rate that the warm-up's closed loop achieved
    share: float = 0.5
    generators: tuple[str, ...] = ("",)  # names; "": the run's generator
    without_rate: tuple[str, ...] = ()  # generators that send in closed loop
    questions: tuple[str, ...] = ()
    rounds: int = 0  # in every round all generators send once, in random order; 0: once, in order

    @property
    def role(self) -> str:
        return self.faults[0].role if self.faults else PAIRED

    def warm_up(self) -> Session:
        return self._session(self._warming)

    def loads(self, rate: Rate) -> tuple[Session, ...]:
        if not self.rounds:
            return tuple(self._session(self._load(generator, rate)) for generator in self.generators)
        sessions = []
        for number in range(1, self.rounds + 1):
            order = in_random_order(self.generators, self.name, number)
            sessions.append(self._session(*(self._load(generator, rate, number) for generator in order)))
        return tuple(sessions)

    def rate(self, reached_rps: float) -> Rate:
        if self.rate_rps > 0:
            return Rate(self.rate_rps, "fixed")
        return Rate(float(f"{self.share * reached_rps:.2g}"), f"{self.share:.0%} of what a closed loop reached")

    def _session(self, *trials: Trial) -> Session:
        return Session(self.treatment, trials, self.workload.fill, warm_up=self._warming)

    def _load(self, generator: str, rate: Rate, number: int = 0) -> Trial:
        paced = None if generator in self.without_rate else rate
        shape = self.shape if paced else replace(self.shape, warmup_s=0.0)
        sender, what = generator or self.treatment.name, f"round {number}" if number else self.faults[0].label
        name = step_name(self.role, sender, *([f"r{number}"] if number else ()))
        return Trial(
            name, self.role, self.workload, paced, shape, label=f"{sender}, {what}", generator=generator,
            round=number or None, faults=self.faults,
        )  # fmt: skip

    @property
    def _warming(self) -> Trial:
        role = f"{self.role}-warm"
        shape = Shape(self.shape.connections, self.shape.threads, self.warm_up_s, 0.0)
        return Trial(step_name(role, self.treatment.name), role, self.workload, None, shape)

    @property
    def planned_s(self) -> float:
        return planned_s((self.warm_up(), *self.loads(Rate(1.0, "not known yet"))))


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A comparison of treatments whose servers are up at once, over several fresh starts (runners/docs/method.md).

    Without `slice_s`, each request goes to one of the servers, and a server that does nothing shows the latency that
    the generator adds. With `slice_s`, a closed loop loads one server at a time. Raises PlanError for bad treatments.
    """

    name: str
    title: str
    treatments: tuple[Setting, ...]
    baseline: str
    workload: Workload
    size: Size
    shape: Shape
    starts: int = FEWEST_STARTS  # of each treatment but the baseline, which is in all starts
    rate_rps: float = 0.0  # of each server; 0: all together use at most half of their common core
    primary: str = "p50_us"  # the quantity that decides
    margin: float = 0.02  # its smallest relative change that matters
    control: bool = True  # add a second process of the baseline
    slice_s: float = 0.0
    at_once: int = 0  # treatments in a start besides the baseline; 0: all
    seed: int = 1
    until: bool = False  # end when `primary` is decided
    solo: bool = True  # load each server alone too, at the rate
    loops: bool = True  # load each server alone too, in closed loop
    cold: tuple[str, ...] = ()  # names of treatments that are neither filled nor warmed
    like: FixedRate | None = None  # an earlier block, whose rate or closed loops give the rate
    questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [treatment.name for treatment in self.treatments]
        if self.baseline not in names or len(names) < 2 or len(set(names)) < len(names) or self.starts < 1:
            cause = f"{', '.join(names)} with the baseline {self.baseline} can't be compared in {self.starts} starts"
            raise PlanError(f"block {self.name}", cause, "give two treatments with names of their own, and starts")

    @property
    def ordered(self) -> tuple[Setting, ...]:
        """The treatments, the baseline first."""
        return tuple(sorted(self.treatments, key=lambda treatment: treatment.name != self.baseline))

    @property
    def control_setting(self) -> Setting | None:
        """The baseline under another name, as a control; None if `control` is false."""
        first = self.ordered[0]
        return replace(first, name=f"{first.name[:32]}-control") if self.control else None

    @property
    def reference(self) -> Setting | None:
        """The server that does nothing, as a reference; None in slices of time, or if it is one of the treatments."""
        known = self.slice_s > 0 or REFERENCE_TARGET.name in (treatment.name for treatment in self.treatments)
        return None if known else REFERENCE_TARGET

    def probes(self) -> tuple[Session, ...]:
        """Return a session with a closed loop per treatment, to warm it and choose the rate; () if not needed."""
        if self.rate_rps > 0 or self.slice_s > 0 or self.like is not None:
            return ()
        sessions = list[Session]()
        for treatment in self.ordered:
            session = WarmServer(treatment, self.workload, self.size).warm_up(self.shape)
            # named after the block: a resume must not read the probes of another block on the same treatments
            probe = replace(session.trials[0], name=step_name(PROBE, self.name, treatment.name))
            sessions.append(replace(session, trials=(probe,), warm_up=probe))
        return tuple(sessions)

    def rate(self, capacity_rps: Mapping[str, float]) -> Rate | None:
        """Return the rate for every server; None for closed loops. `capacity_rps`: {treatment: closed-loop rate}."""
        if self.slice_s > 0:
            return None
        if self.rate_rps > 0:
            return Rate(self.rate_rps, "given")
        if self.like is not None and self.like.rate_rps > 0:
            rps = MOST_UTILISATION * self.like.rate_rps / len(self._members(self.ordered))
            return Rate(float(f"{rps:.2g}"), f"all together get {MOST_UTILISATION:.0%} of the given rate")
        reached = [*capacity_rps.values(), *([capacity_rps[self.baseline]] if self.control_setting else [])]
        idle = 1 / max(reached) if self.reference else 0.0  # the reference is at least as fast as the fastest treatment
        utilised_s = sum(1 / rps for rps in reached) + idle
        rps = min(MOST_UTILISATION / utilised_s, MOST_SHARED_RPS / len(self._members(self.ordered)))
        return Rate(float(f"{rps:.2g}"), f"all together take at most {MOST_UTILISATION:.0%} of the core")

    def _members(self, treatments: tuple[Setting, ...]) -> tuple[Setting, ...]:
        return (*treatments, *filter(None, (self.control_setting, self.reference)))

    def sessions(self, rate: Rate | None) -> Iterator[SharedSession]:
        """Yield a session per start of servers; a treatment is in `starts` or more sessions. `rate`: per server."""
        first, *others = self.ordered
        most, number = self.at_once or len(others), 0
        for start in range(self.starts):
            chosen = in_random_order(others, self.seed, start, "groups") if most < len(others) else tuple(others)
            for at in range(0, len(chosen), most):
                number += 1
                yield self._start(number, (first, *chosen[at : at + most]), rate)

    def _start(self, number: int, treatments: tuple[Setting, ...], rate: Rate | None) -> SharedSession:
        name = step_name(self.name, f"{number:02d}")
        alone = Shape(self.shape.connections, self.shape.threads, min(MOST_ALONE_S, self.size.probe_s), 0.0)
        foreign = any(treatment.target is not None for treatment in self.treatments)
        members = []
        for treatment in self._members(treatments):
            idle, cold = treatment == self.reference, treatment.name in self.cold
            workload = GET if idle and foreign else self.workload
            if idle or cold:
                workload = replace(workload, filled_keys=0)
            loop = solo = None
            if rate and self.loops:
                loop = Trial(step_name(name, ALONE, treatment.name), ALONE, workload, None, alone)
            if rate and self.solo and not idle:
                shape = replace(alone, warmup_s=SOLO_WARMUP_S)
                solo = Trial(step_name(name, SOLO, treatment.name), SOLO, workload, rate, shape)
            members.append(Member(treatment, workload, loop, solo, cold))
        whole = Rate(rate.rps * len(members), rate.basis) if rate else None
        load = Trial(name, SHARED, self.workload, whole, self.shape)
        seed, reference = self.seed * 1_000 + number, self.reference.name if self.reference else ""
        order, warm_s = in_random_order(members, self.seed, number), min(MOST_WARM_S, self.size.probe_s)
        return SharedSession(number, order, load, warm_s, seed, self.slice_s, reference)

    def within(self, minutes: float) -> Self:
        """Return the block with as many starts as fit into `minutes`. Raises PlanError if too few fit for a verdict."""
        start_s = self._starts_s / self.starts
        # + 1e-6: rounding must not cost a start if the starts need exactly the budget
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
        return planned_s(self.probes()) + self._starts_s


Block = FixedRate | FaultInjection | KneeSearch | Ladder | Interleaved
