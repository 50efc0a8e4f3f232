"""How an experiment takes a ladder: by size, how long the knee is searched and which shares of it are offered then."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Published rates up to here above the knee are offered too; further up a step only tells the length of its queue.
MOST_SHARE = 1.3
_SAME = 0.02  # rates this close are one rate step
WARM_S = 5.0
LIKELY_PUBLISHED = 2  # rates within reach; how many there are is only known when the knee is
#: Seconds around a rate step on a server that is up, and around one whose profile is read.
AROUND_A_RATE_STEP_S, AROUND_A_PROFILE_S = 0.6, 1.5


@dataclass(frozen=True, slots=True)
class LadderSize:
    """One size. `knee_minutes` 0: no search, the rates are shares of what a closed loop reached.

    `probe_s` are the seconds of a short step of the search, `probe_warmup_s` those before each longer step at a rate.
    `shares` are the rates, `profiled` those that are measured once more with the profiler, None: each of them. Of the
    published rates that are within reach at most `published` are offered too, those nearest to the knee, for
    `published_s`: what is compared with a published run lasts as long as that did.
    """

    knee_minutes: float
    probe_s: float
    probe_warmup_s: float
    shares: tuple[float, ...]
    profiled: tuple[float, ...] | None
    step_s: float
    precision: float = 0.05
    published: int = 99
    published_s: float | None = None  # None: as the others


def most_again(steps: int) -> int:
    """How many of so many rate steps may be offered once more, where the generator was late: a third, rounded up."""
    return -(-steps // 3)


LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), None, 1.0),
    "quick": LadderSize(0.45, 0.5, 0.5, (0.4, 0.7, 0.9, 1.2), None, 2.2, precision=0.15, published=2),
    "full": LadderSize(10, 0.5, 2.0, (0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.3), None, 30.0, published_s=120.0),
}


def nearest(base_rps: float, published_rps: Sequence[float], most: int) -> list[float]:
    """Of the published rates within reach those nearest to the knee, lowest first."""
    within = {rps for rps in published_rps if 0 < rps <= MOST_SHARE * base_rps}
    return sorted(sorted(within, key=lambda rps: abs(math.log(rps / base_rps)))[:most])


def step_rates(base_rps: float, shares: Sequence[float], published_rps: Sequence[float] = ()) -> list[float]:
    """The rates of a ladder, lowest first: shares of the knee to three digits, and the published ones within reach.

    A share that falls together with a published rate gives way to it.
    """
    within = sorted({rps for rps in published_rps if rps <= MOST_SHARE * base_rps})
    own = [float(f"{share * base_rps:.3g}") for share in shares]
    return sorted({*within, *(rps for rps in own if all(abs(rps / each - 1) > _SAME for each in within))})


def nearest_to_shares(rates: Sequence[float], base_rps: float, shares: Sequence[float] | None) -> list[float]:
    """Of these rates those nearest to shares of the base, each once; every one for None."""
    if shares is None:
        return list(rates)
    return list(dict.fromkeys(min(rates, key=lambda rps: abs(rps - share * base_rps)) for share in shares))


def step_name(*parts: object) -> str:
    """A step's name from words: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts).lower()).strip("-")
