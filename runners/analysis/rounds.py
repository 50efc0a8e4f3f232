"""The floors of several generators in interleaved rounds: a percentile over the rounds, and differences round by round.

The value over rounds is their median, its interval the order statistics that enclose it with 95 % (as in
`read.samples`, no form of distribution is assumed). That takes six rounds: with fewer, the smallest and the largest are
given, which enclose it with 1 - 2^(1-n) only, and `enough` is False. A difference is taken within each round, so that
what moves both of a pair leaves it alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runners.analysis import facts, resolution
from runners.analysis.intervals import Bounded
from runners.analysis.resolution import Resolution
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.samples import bound_ranks

ENOUGH_ROUNDS = 6
NAMES = {"blocking": "a blocking client", "epoll": "a plain epoll loop"}
REFERENCES = ("blocking", "epoll")
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
        return not write.known(self.rate_rps)

    def at(self, level: float) -> Bounded | None:
        """A percentile over the rounds."""
        return over_rounds(_values(self.good, level).values())

    def achieved(self) -> Bounded | None:
        return over_rounds(facts.achieved_rps(step) for step in self.good)

    def cpu_s_a_million(self) -> Bounded | None:
        """Processor time for a million requests: of the window where the generator tells it, else of the process."""
        return over_rounds(value for step in self.good if math.isfinite(value := cpu_s_a_million(step)))

    def spread(self) -> str:
        """What the interval is, in words."""
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
    """A percentile by the round's number."""
    found = {step.record.round or 0: facts.at(step, level) for step in steps}
    return {number: value.value for number, value in found.items() if value is not None}


KIND = "round"


def floors(steps: Iterable[Step]) -> list[Floor]:
    """Every generator at every point, in the order of the first round: few connections and low rates first."""
    groups: dict[tuple[int, float, str], list[Step]] = {}
    for step in steps:
        if step.kind != KIND:
            continue
        rate = facts.offered_rps(step)
        key = (step.record.connections or 0, rate if write.known(rate) else math.inf, facts.tool(step))
        groups.setdefault(key, []).append(step)
    ordered = sorted(groups.items(), key=lambda item: item[0][:2])
    return [
        Floor(tool, connections, rate if math.isfinite(rate) else math.nan, tuple(found))
        for (connections, rate, tool), found in ordered
    ]


def of_run(run: Run) -> list[Floor]:
    return floors(run.steps)


def points(found: Sequence[Floor]) -> list[tuple[int, float]]:
    """Connections and rates at which there are paced floors."""
    return list(dict.fromkeys((floor.connections, floor.rate_rps) for floor in found if not floor.closed))


def at_point(found: Sequence[Floor], connections: int, rate_rps: float) -> dict[str, Floor]:
    """The paced floors of one point by generator."""
    return {f.tool: f for f in found if f.connections == connections and f.rate_rps == rate_rps}


def reference_of(point: dict[str, Floor]) -> Floor | None:
    """The simplest client at a point: the blocking one, else the epoll loop."""
    return next((point[name] for name in REFERENCES if name in point and point[name].good), None)


def added(floor: Floor, reference: Floor, level: float) -> Bounded | None:
    """What a generator reads above a reference client, over the rounds that both have."""
    mine, theirs = _values(floor.good, level), _values(reference.good, level)
    return over_rounds(mine[number] - theirs[number] for number in sorted(mine.keys() & theirs.keys()))


def resolved(floor: Floor, reference: Floor | None) -> Resolution | None:
    """What a generator resolves at its point."""
    own: tuple[Bounded | None, Bounded | None] = (None, None)
    if reference is not None and reference.tool != floor.tool:
        own = (added(floor, reference, resolution.MEDIAN), added(floor, reference, resolution.TAIL))
    against = NAMES.get(reference.tool, "") if reference is not None and reference.tool != floor.tool else ""
    return resolution.of_rounds(floor.good, own, against)
