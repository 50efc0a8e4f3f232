"""Describe a load that truepace and wrk2 send in turn to one warm server, so that wrk2's own part of it is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.design.load import Rate, Shape, Workload
from runners.design.session import PAIRED, Session, Trial, in_random_order, planned_s, step_name
from runners.design.setting import Setting

TRUEPACE, WRK2 = "truepace", "wrk2"
NAME = "wrk2"
#: Offered rate as a share of the closed loop of the warm-up: so little that neither generator is late.
SHARE = 0.3
#: Rounds in each of which both send the load, and its seconds, by size; a round of wrk2 takes ten seconds more.
ROUNDS = {"smoke": (1, 0.5), "quick": (3, 2.0)}
ROUNDS_OF_OTHERS = (3, 20.0)
WARM_S, WARMUP_S = 2.0, 1.0


@dataclass(frozen=True, slots=True)
class TwoGenerators:
    """Send one load to one warm server by truepace and by wrk2, in rounds, each in a random order.

    Without wrk2 on the machine the block is left out. `questions` are the keys of questions that it helps to answer.
    """

    title: str
    treatment: Setting
    workload: Workload
    shape: Shape
    rounds: int
    questions: tuple[str, ...] = ()
    name: str = NAME

    def warm_up(self) -> Session:
        return self._session(self._warming)

    def rate(self, reached_rps: float) -> Rate:
        return Rate(float(f"{SHARE * reached_rps:.2g}"), f"{SHARE:.0%} of what a closed loop reached")

    def loads(self, rate: Rate) -> tuple[Session, ...]:
        return tuple(self._round(number, rate) for number in range(1, self.rounds + 1))

    def _round(self, number: int, rate: Rate) -> Session:
        trials = [
            Trial(
                step_name(PAIRED, tool, f"r{number}"), PAIRED, self.workload, rate, self.shape,
                label=f"{tool}, round {number}", generator=tool, round=number,
            )
            for tool in (TRUEPACE, WRK2)
        ]  # fmt: skip
        return self._session(*in_random_order(trials, self.name, number))

    def _session(self, *trials: Trial) -> Session:
        return Session(self.treatment, trials, self.workload.fill, warm_up=self._warming)

    @property
    def _warming(self) -> Trial:
        role, shape = f"{PAIRED}-warm", Shape(self.shape.connections, self.shape.threads, WARM_S, 0.0)
        return Trial(step_name(role, self.treatment.name), role, self.workload, None, shape)

    @property
    def planned_s(self) -> float:
        return planned_s((self.warm_up(), *self.loads(Rate(1.0, "not known yet"))))


def by_two_generators(
    treatment: Setting, workload: Workload, size: str, connections: int = 1, questions: Sequence[str] = ()
) -> TwoGenerators:
    """Return the block in which truepace and wrk2 send a load of an experiment, in the size of this name."""
    rounds, load_s = ROUNDS.get(size, ROUNDS_OF_OTHERS)
    title = f"{workload.label} by truepace and by wrk2: the same load, in rounds in random order"
    shape = Shape(connections, 1, load_s, WARMUP_S)
    return TwoGenerators(title, treatment, workload, shape, rounds, tuple(questions))
