"""The knee of several servers, sought in short interleaved probes.

On a shared machine a probe is disturbed now and then, and a disturbance only ever makes it worse. So a rate that a
server carries once it can carry, and a rate that it does not carry is offered again before it counts as too much. Short
probes leave the disturbances to few of them, and above the knee a second is enough: what is not answered adds up. Some
disturbances last longer than all tries at a rate. So the upper end is offered once more in the end, and if it is
carried then, the search goes on above it.

A generator that is late makes a rate look worse too. Where it is carried all the same it is carried; where it is not,
the server failed only if more is missing at the end than lateness explains. Otherwise that probe says nothing of the
server, and a bracket that such probes alone have closed from above says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runners.bench.ladder import carried, told
from runners.bench.overload import MIN_ACHIEVED, accepted

Result = dict[str, Any]
#: Offers a rate to a server of this name.
Probe = Callable[[str, int], Result]
Say = Callable[[str], None]

#: How often a rate is offered before it counts as too much.
TRIES = 3
#: How far apart the ends of a bracket may be in the end, as a ratio.
PRECISION = 1.04
#: Where a search begins, as shares of a rate that is a first guess, and how far it may go from there.
LOW, HIGH = 0.6, 1.1
LOWEST, HIGHEST = 0.1, 2.0
#: How far above an end that was carried after all a search goes on, at first.
REOPENED = 1.3


class Outcome(StrEnum):
    """How a probe ended."""

    CARRIED = "carried"
    TOO_MUCH = "too much"
    UNKNOWN = "says nothing: the generator was late"


def outcome(result: Result, duration_s: float) -> Outcome:
    """How a load of so many seconds ended."""
    if carried(result):
        return Outcome.CARRIED
    generator = result["generator"]
    refused = accepted(result) < sum(result["status"].values())
    missing = 1 - accepted(result) / result["requests"]["scheduled"]
    explained = generator["lag_us"]["max"] / 1e6 / duration_s
    if generator["kept_up"] or refused or missing > 1 - MIN_ACHIEVED + explained:
        return Outcome.TOO_MUCH
    return Outcome.UNKNOWN


@dataclass(slots=True)
class Bracket:
    """What is known of one server: it carries `low_rps` (if that was offered) and not `high_rps`."""

    low_rps: float
    high_rps: float
    least_rps: float
    most_rps: float
    carried: bool = False
    too_much: bool = False
    #: Whether late probes alone have said that `high_rps` is too much.
    by_generator: bool = False
    misses: int = 0
    late: int = 0
    #: Whether the upper end was offered once more.
    checked: bool = False

    @classmethod
    def around(cls, guess_rps: float) -> Bracket:
        """Where a search begins."""
        return cls(guess_rps * LOW, guess_rps * HIGH, guess_rps * LOWEST, guess_rps * HIGHEST)

    def next_rps(self) -> int | None:
        """The next rate to offer; None when the bracket is narrow, or as wide as it may be."""
        if self.high_rps / self.low_rps > PRECISION:
            return round(math.sqrt(self.low_rps * self.high_rps))
        if not self.carried and self.low_rps > self.least_rps:
            self.low_rps = max(self.least_rps, self.low_rps / 2)
            return self.next_rps()
        if not self.too_much and self.high_rps < self.most_rps:
            self.high_rps = min(self.most_rps, self.high_rps * 1.5)
            return self.next_rps()
        if self.too_much and not self.checked:
            return round(self.high_rps)
        return None

    def told(self, rate_rps: int, how: Outcome) -> None:
        """Takes in how a probe at the rate ended that was asked for last."""
        if self.too_much and rate_rps == round(self.high_rps):
            if how == Outcome.CARRIED:
                self.low_rps, self.carried = rate_rps, True
                self.high_rps, self.too_much = min(self.most_rps, rate_rps * REOPENED), False
            else:
                self.checked = True
            return
        if how == Outcome.CARRIED:
            self.low_rps, self.carried = rate_rps, True
        else:
            self.misses += 1
            self.late += how == Outcome.UNKNOWN
            if self.misses < TRIES:
                return
            self.high_rps, self.too_much, self.by_generator = rate_rps, True, self.late == TRIES
        self.misses = self.late = 0

    @property
    def knee_rps(self) -> float:
        """The middle of the bracket; 0 if no rate was carried, the highest that was if none was too much."""
        if not self.carried:
            return 0.0
        return math.sqrt(self.low_rps * self.high_rps) if self.too_much else self.low_rps


def seek(
    servers: Iterable[str], guess_rps: float, probe: Probe, judge: Callable[[Result], Outcome], say: Say
) -> dict[str, Bracket]:
    """The bracket of each server. They are interleaved, probe by probe, until all of them are narrow."""
    found = {who: Bracket.around(guess_rps) for who in servers}
    under_way = list(found)
    while under_way:
        for who in tuple(under_way):
            rate = found[who].next_rps()
            if rate is None:
                under_way.remove(who)
                continue
            result = probe(who, rate)
            how = judge(result)
            found[who].told(rate, how)
            say(f"{told(who, rate, result)}: {how}")
    return found
