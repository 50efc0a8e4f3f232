"""Sessions as data: the loads, called trials, of one server, or of several servers that are up at once."""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import msgspec

from runners.design.load import AROUND_A_LOAD_S, WRK2_CALIBRATION_S, Rate, Shape, Workload
from runners.design.setting import Setting

#: Seconds that a rate step on a running server takes besides its load: without a profile, and with a profile.
AROUND_A_RATE_STEP_S, AROUND_A_PROFILE_S = 0.25, 1.5
PROBE, FLOOR, LOAD, FILL, ROUND, LOOP = "probe", "floor", "load", "fill", "round", "loop"
STALL, OUTAGE, CLOSED, FAULT, PAIRED = "stall", "outage", "closed", "fault", "paired"
#: Roles of the steps of a ladder or a search in run folders; the names of such steps begin with their role.
RATE_STEP, PROFILED_RATE_STEP = "rate-step", "rate-step-profiled"
#: Roles in an interleaved block: the load that all servers share; one server's closed loop; its load at the rate.
SHARED, ALONE, SOLO = "shared", "alone", "solo"
#: Roles of loads that are measured again if the machine disturbed them: not loads of a search, not those with faults.
QUOTED_ALONE = frozenset({PROBE, FLOOR, LOAD, LOOP, CLOSED, ALONE, SOLO})
#: Value in the record of a shared load if each server was in a CPU group of its own, all of equal weight.
EQUAL = "equal"
#: Seconds to start a server, and seconds that a short closed loop on a running server takes besides its load.
START_S, AROUND_A_LOOP_S = 1.0, 0.4
#: Seconds that a trial on a running server takes besides its load, by the trial's role.
_AROUND_S = {
    CLOSED: AROUND_A_RATE_STEP_S, RATE_STEP: AROUND_A_RATE_STEP_S,
    PROFILED_RATE_STEP: AROUND_A_PROFILE_S, ROUND: 0.75, STALL: 0.75, LOOP: 1.2,
    FILL: 0.5, PROBE: 1.5, PAIRED: 0.75,
}  # fmt: skip
#: Events that can be profiled. Locks are recorded apart, or other events would lose up to 37.5 % of their samples.
EVENTS = ("cpu", "alloc", "lock")
LOCK = "lock"
#: A profiled load is as long as the clean one, but no longer than this.
MOST_PROFILED_S = 30.0
#: The rate that is planned for loads that end after a number of requests.
REQUESTS_RPS = 2_000.0

T = TypeVar("T")


def in_random_order(items: Iterable[T], *seed: object) -> tuple[T, ...]:
    """Return the items in a random order from `seed`; every random order comes from here, except that of requests."""
    order = list(items)
    random.Random(" ".join(map(str, seed))).shuffle(order)  # noqa: S311 - an order, no secret
    return tuple(order)


@dataclass(frozen=True, slots=True)
class Freeze:
    """A fault: the server is frozen for a while."""

    role: ClassVar[str] = STALL
    label: ClassVar[str] = "frozen server"
    at_s: float  # second of the recorded window
    length_s: float


@dataclass(frozen=True, slots=True)
class KillNode:
    """A fault: one node of a cluster is killed and later started again."""

    role: ClassVar[str] = OUTAGE
    label: ClassVar[str] = "a node killed"
    node: int  # from 1
    at_s: float  # second of the recorded window
    restart_at_s: float  # second of the recorded window


Fault = Freeze | KillNode


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """The keys of a closed loop, and the published run that the loop repeats."""

    drawn_keys: int  # how many keys it draws from
    held_keys: int  # how many keys the store holds
    published: str | None = None

    @property
    def expected_status(self) -> tuple[str, ...]:
        """Expected status codes of 400 and above: 404 if keys are read that the store does not hold."""
        return ("404",) if 0 < self.held_keys < self.drawn_keys else ()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Short rate steps of one load; after a step, a rest at `rest_rps` for half the step's length empties the queue."""

    rates: tuple[float, ...]
    rest_rps: float
    step_s: float

    @property
    def rest_s(self) -> float:
        return self.step_s / 2

    @property
    def length_s(self) -> float:
        return len(self.rates) * (self.step_s + self.rest_s)

    @property
    def parts_rps(self) -> tuple[float, ...]:
        """The offered rate of every half step, in order: for each step its rate twice, then the rest's rate."""
        return tuple(part for rps in self.rates for part in (rps, rps, self.rest_rps))


@dataclass(frozen=True, slots=True)
class Trial:
    """One load, on one server or on several: what is sent, at which rate, for how long, and what is profiled.

    A trial of the role FILL must write as many keys as its shape has requests.
    """

    name: str
    role: str  # its purpose, for example LOAD or FILL
    workload: Workload
    rate: Rate | None  # None: closed loop
    shape: Shape
    profile: tuple[str, ...] = ()  # events
    label: str = ""  # empty: the names of treatment and workload
    generator: str = ""  # empty: the run's generator
    round: int | None = None  # number of its round, if generators send in rounds
    faults: tuple[Fault, ...] = ()
    loop: ClosedLoop | None = None
    sweep: Sweep | None = None  # then `rate` is the mean over steps and rests

    @property
    def expected_status(self) -> tuple[str, ...]:
        """Expected status codes of 400 and above: responses with these have not failed."""
        return self.workload.expected_status or (self.loop.expected_status if self.loop is not None else ())

    @property
    def length_s(self) -> float:
        """The seconds of the load, warm-up included; an estimate if a number of requests ends the load."""
        if self.shape.requests is not None:
            return self.shape.requests / REQUESTS_RPS
        return (self.shape.warmup_s or 0.0) + (self.shape.duration_s or 0.0)

    @property
    def planned_s(self) -> float:
        calibration_s = max(0.0, WRK2_CALIBRATION_S - (self.shape.warmup_s or 0.0)) if self.generator == "wrk2" else 0.0
        return self.length_s + calibration_s + self.around_s

    @property
    def around_s(self) -> float:
        return _AROUND_S.get(self.role, AROUND_A_LOAD_S)


def profiled(load: Trial, name: str, events: Sequence[str]) -> tuple[Trial, ...]:
    """Return copies of a load with a profiler: one called `name` for all events but locks, `name`-locks for locks."""
    shape = replace(load.shape, duration_s=min(load.shape.duration_s or MOST_PROFILED_S, MOST_PROFILED_S))
    others, locks = (tuple(event for event in events if (event == LOCK) == alone) for alone in (False, True))
    recordings = ((name, others), (f"{name}-locks", locks))
    return tuple(replace(load, name=name, shape=shape, profile=events) for name, events in recordings if events)


@dataclass(frozen=True, slots=True)
class Session:
    """One server and the trials that share it."""

    treatment: Setting
    trials: tuple[Trial, ...]
    fill: Workload | None = None  # written first
    restart: bool = False  # start the server again after the fill
    warm_up: Trial | None = None  # a closed loop; sessions that differ only in their trials share one warm server
    keep_others: bool = False  # warm servers of earlier sessions stay up
    heads: int = 0  # if not 0: an extra start sends so many responses, and their HTTP heads are read

    @property
    def planned_s(self) -> float:
        """The seconds of the trials, and of the fill unless the server is warm already."""
        warm = self.warm_up is not None and self.warm_up not in self.trials
        fill_s = self.fill.fill_s() if self.fill and not warm else 0.0
        return fill_s + sum(trial.planned_s for trial in self.trials)


@dataclass(frozen=True, slots=True)
class Member:
    """One of the servers that share a schedule, with the loads that this server gets alone."""

    treatment: Setting
    workload: Workload
    alone: Trial | None = None  # in closed loop
    solo: Trial | None = None  # at the shared load's rate
    cold: bool = False  # it is not warmed

    @property
    def name(self) -> str:
        return self.treatment.name


@dataclass(frozen=True, slots=True)
class SharedSession:
    """One start of several servers: they are warmed, loaded one by one, then loaded together by one schedule.

    The server that does nothing gets the same rate as the others: at a quarter of the rate, cold caches made the median
    of this server longer than a store's.
    """

    number: int
    members: tuple[Member, ...]  # in the order of their starts
    load: Trial  # its rate is for all servers together, its connections are for each server
    warm_s: float
    seed: int
    slice_s: float  # seconds for which one server is loaded while others idle; 0: no slices
    reference: str  # name of the member that does nothing

    @property
    def compared(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.name != self.reference)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The closed loops, then a load on each server by itself, then the load that all servers share."""
        loops = (member.alone for member in self.members if member.alone is not None)
        solos = (member.solo for member in self.members if member.solo is not None)
        return (*loops, *solos, self.load)

    @property
    def planned_s(self) -> float:
        fills_s = sum(member.workload.fill_s() for member in self.members)
        around_s = sum(START_S + (0.0 if member.cold else self.warm_s + AROUND_A_LOOP_S) for member in self.members)
        alone_s = sum(trial.length_s + AROUND_A_LOOP_S for trial in self.trials[:-1])
        return fills_s + around_s + alone_s + self.load.planned_s


def specification(session: Session | SharedSession) -> str:
    """Return a hash of a session's plan; a resumed run measures a session again only if its hash has changed."""
    plain = msgspec.to_builtins(session, enc_hook=lambda path: path.name)  # a checkout may lie anywhere
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def planned_s(sessions: Sequence[Session | SharedSession]) -> float:
    return sum(session.planned_s for session in sessions)


def step_name(*parts: object) -> str:
    """Return the name of a step: its parts in lower-case letters and digits, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts).lower()).strip("-")
