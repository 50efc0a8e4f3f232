"""Describe a block of an experiment: the server sessions that it needs, and the trials of each, as data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import AROUND_A_LOAD_S, Size
from runners.design.workload import Workload

PROBE, FLOOR, LOAD = "probe", "floor", "load"
REFERENCE_TARGET = Setting("noop", "noop")


@dataclass(frozen=True, slots=True)
class Trial:
    """One load: what is sent, at which rate (None: closed loop), for how long, and which events are profiled."""

    name: str
    role: str
    workload: Workload
    rate: Rate | None
    shape: Shape
    profile: tuple[str, ...] = ()

    @property
    def length_s(self) -> float:
        """The seconds of the load, warm-up included."""
        return (self.shape.warmup_s or 0.0) + (self.shape.duration_s or 0.0)

    @property
    def planned_s(self) -> float:
        """The seconds of the load and of what is done around it."""
        return self.length_s + AROUND_A_LOAD_S


@dataclass(frozen=True, slots=True)
class Session:
    """One server and the trials that share it. `fill`: the workload whose keys are written first.

    `restart`: the server is started again on what the fill left, so that the data has been through the disk.
    """

    treatment: Setting
    trials: tuple[Trial, ...]
    fill: Workload | None = None
    restart: bool = False

    @property
    def planned_s(self) -> float:
        """The seconds of the fill and of every trial."""
        return (self.fill.fill_s() if self.fill else 0.0) + sum(trial.planned_s for trial in self.trials)

    @property
    def specification(self) -> str:
        """A hash of everything that is asked for: trials of equal specification need not be measured twice."""
        text = json.dumps(_plain(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: object) -> Any:
    """A value as JSON holds it; a path by its name, as a checkout may lie anywhere."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(getattr(value, "name", value))


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
        floor = Trial(f"{FLOOR}-{self.workload.name}", FLOOR, self.workload, rate, self._shape(FLOOR))
        return (Session(REFERENCE_TARGET, (floor,)), *(self._loads(each, rate) for each in self.treatments))

    def _loads(self, treatment: Setting, rate: Rate) -> Session:
        clean = Trial(f"{self.workload.name}-{treatment.name}", LOAD, self.workload, rate, self._shape(LOAD))
        again = dataclasses.replace(clean, name=f"{clean.name}-profiled", profile=self.profile)
        trials = (clean, again) if self.profile else (clean,)
        if self.cold is not None:
            shape = dataclasses.replace(clean.shape, warmup_s=0.0)
            trials = (Trial(f"{self.cold.name}-{treatment.name}", LOAD, self.cold, rate, shape), *trials)
        return Session(treatment, trials, self._fill(), restart=bool(self.workload.filled_keys))

    def _fill(self) -> Workload | None:
        return self.workload if self.workload.filled_keys else None

    def _shape(self, role: str, *, open_loop: bool = True) -> Shape:
        warmup_s, duration_s = self.size.times_s(role, open_loop)
        return Shape(self.connections, 1, duration_s, warmup_s)

    @property
    def planned_s(self) -> float:
        """The seconds of all trials, whatever their rate will be."""
        return planned_s((*self.probes(), *self.loads(Rate(1.0, "not known yet"))))


def planned_s(sessions: Sequence[Session]) -> float:
    """Sum up the planned seconds of sessions."""
    return sum(session.planned_s for session in sessions)


#: One member of it per type of block.
Block = FixedRate
