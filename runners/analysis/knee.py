"""The knee: the highest rate that meets an objective, found with probes that are noisy.

A search is a pure function from the probes so far to the next rate or to the answer, so it can be resumed from a run
folder and tried out on invented servers. It has two parts:

1. **Bracket.** Rates are doubled while they meet the objective and halved while they miss it.
2. **Narrow.** The chance that a probe meets the objective falls with the rate like a logistic curve of unknown place
   (the knee: the rate at which half of the probes meet it), unknown steepness, and an unknown share of misses that
   have nothing to do with the rate (a neighbour's noise). All probes together give a posterior over the three; the
   next rate is the one whose outcome is expected to leave the least entropy on the knee. This is the psi method (L.
   Kontsevich and C. Tyler, 1999, *Bayesian adaptive estimation of psychometric slope and threshold*, Vision Research
   39) with a lapse rate; it repeats near the edge by itself, for there a probe tells most. Bisection with a fixed
   error rate (P. Frazier, S. Henderson and R. Waeber, 2019, *Probabilistic bisection converges almost as quickly as
   stochastic approximation*, Mathematics of Operations Research 44) needs that error rate, which nobody knows.

The interval is the central 98 % of the posterior, to cover the knee in at least 95 of 100 searches: rates are chosen,
and a search ends, by what was seen, and where the chance falls slowly a lucky row of probes looks like a sharp edge, so
that the central 95 % cover fewer (the tests simulate it). It assumes that probes are independent given their rate. A
probe in which the generator did not keep up is not the server's: it only lowers the ceiling of what can be asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from runners.analysis.knee_posterior import STEP, Floats, Grid, chance, over, posterior
from runners.analysis.knee_posterior import Probe as Probe
from runners.analysis.meets import Met, Outcome

TAIL = 0.01  # of the posterior, on each side of the 95 % interval
NEAR = 1.1  # rates this close are one rate for the ends of the range
BESIDE = 1.02  # so close to a rate that the generator did not send, twice, nothing is asked again
ENDS_PROBED = 2
FEWEST = 8  # probes before an interval is believed
MOST_INVALID = 3


def probe_of(rps: float, met: Met) -> Probe:
    """A rate and how its load was judged, as a probe."""
    return Probe(rps, met.outcome, met.late or met.weighed)


@dataclass(frozen=True, slots=True)
class Search:
    """Where to look and how well to know: rates from `low_rps` to `high_rps`, first at `start_rps`.

    It ends when the 95 % interval is narrower than `precision` of the knee.
    """

    start_rps: float
    low_rps: float = 100.0
    high_rps: float = 1_000_000.0
    precision: float = 0.05


class Kind(StrEnum):
    FOUND = "found"
    ABOVE = "above"  # the objective is met up to the highest rate that can be asked
    BELOW = "below"  # it is missed at the lowest
    OPEN = "open"  # probes ran out before the knee was between two rates
    FAILED = "failed"  # probes could not be measured


@dataclass(frozen=True, slots=True)
class Answer:
    """The knee with its 95 % interval; a side that is not known is NaN. `precise`: as narrow as was asked."""

    kind: Kind
    rps: float
    low_rps: float
    high_rps: float
    precise: bool
    ceiling_rps: float  # lowest rate that the generator could not send; infinite if it sent all

    @property
    def width(self) -> float:
        """How far the upper end of the interval lies above the lower one, as a share of it."""
        return self.high_rps / self.low_rps - 1


Move = float | Answer


def move(probes: Sequence[Probe], search: Search) -> Move:
    """The next rate to offer, or the answer."""
    if _failed(probes):
        return Answer(Kind.FAILED, math.nan, math.nan, math.nan, False, _ceiling(probes))
    if probes and probes[-1].outcome == Outcome.GENERATOR and _late_at(probes, probes[-1].rps) == 1:
        return probes[-1].rps  # once may be chance
    met, missed, ceiling = _rates(probes, Outcome.MET), _rates(probes, Outcome.MISSED), _ceiling(probes)
    top = min(search.high_rps, ceiling)
    if not met and not missed:
        return _rounded(max(search.low_rps, min(search.start_rps, top / (1 if top == search.high_rps else 2))))
    if not missed:
        return _upwards(probes, met, search, ceiling)
    if not met or min(missed) <= min(met):
        return _downwards(missed, met, search, ceiling)
    answer = found(probes, search)
    if answer.precise or answer.kind == Kind.ABOVE:
        return answer
    return _most_informative(probes, search, ceiling)


def finish(probes: Sequence[Probe], search: Search) -> Answer:
    """The answer that these probes allow, though the budget is spent."""
    following = move(probes, search)
    if isinstance(following, Answer):
        return following
    met, missed = _rates(probes, Outcome.MET), _rates(probes, Outcome.MISSED)
    if met and missed:
        return found(probes, search)
    low, high = max(met, default=math.nan), min(missed, default=math.nan)
    return Answer(Kind.OPEN, math.nan, low, high, False, _ceiling(probes))


def found(probes: Sequence[Probe], search: Search) -> Answer:
    """The posterior's median and the interval around it."""
    low, middle, high = _quantiles(probes, search)
    enough = len(_rates(probes, Outcome.MET)) + len(_rates(probes, Outcome.MISSED)) >= FEWEST
    ceiling = _ceiling(probes)
    if middle >= ceiling:
        return Answer(Kind.ABOVE, math.nan, low, math.nan, enough, ceiling)
    return Answer(Kind.FOUND, middle, low, high, enough and high / low - 1 <= search.precision, ceiling)


def _quantiles(probes: Sequence[Probe], search: Search) -> list[float]:
    """The ends of the interval and, between them, the posterior's median.

    A place on the grid stands for all around it, so the ends are the outer ones of theirs.
    """
    grid, weights = _posterior(probes, search)
    places, cumulated = grid.places, np.cumsum(weights.sum(axis=1))
    shares = ((TAIL, -STEP / 2), (0.5, 0.0), (1 - TAIL, STEP / 2))
    return [float(np.exp(places[np.searchsorted(cumulated, share)] + outwards)) for share, outwards in shares]


def _failed(probes: Sequence[Probe]) -> bool:
    last = [probe.outcome for probe in probes[-MOST_INVALID:]]
    return len(last) == MOST_INVALID and set(last) == {Outcome.INVALID}


def _rates(probes: Sequence[Probe], outcome: Outcome) -> list[float]:
    return [probe.rps for probe in probes if probe.outcome == outcome]


def _ceiling(probes: Sequence[Probe]) -> float:
    """The lowest rate that the generator could not send, twice, and above all that it did send."""
    sent = max((p.rps for p in probes if p.outcome in (Outcome.MET, Outcome.MISSED)), default=0.0)
    late = _rates(probes, Outcome.GENERATOR)
    return min((rps for rps in late if rps > sent and _late_at(probes, rps) > 1), default=math.inf)


def _late_at(probes: Sequence[Probe], rps: float) -> int:
    """How often the generator did not keep up at about this rate."""
    return sum(rps / NEAR <= late <= rps * NEAR for late in _rates(probes, Outcome.GENERATOR))


def _rounded(rps: float) -> float:
    """Three significant digits: nobody quotes more."""
    return float(f"{rps:.3g}")


def _upwards(probes: Sequence[Probe], met: list[float], search: Search, ceiling: float) -> Move:
    highest, top = max(met), min(search.high_rps, ceiling)
    if highest * NEAR >= top:
        if sum(rps * NEAR >= highest for rps in met) >= ENDS_PROBED:
            low = min(highest, _quantiles(probes, search)[0])
            return Answer(Kind.ABOVE, math.nan, low, math.nan, True, ceiling)
        return highest
    if ceiling <= 2 * highest:
        return _rounded(math.sqrt(highest * ceiling))
    return _rounded(min(2 * highest, search.high_rps))


def _downwards(missed: list[float], met: list[float], search: Search, ceiling: float) -> Move:
    lowest = min([*missed, *met])
    if lowest <= search.low_rps * NEAR:
        at_the_end = [rps for rps in missed if rps <= search.low_rps * NEAR]
        if len(at_the_end) >= ENDS_PROBED and not met:
            return Answer(Kind.BELOW, math.nan, math.nan, search.low_rps, True, ceiling)
        return _rounded(search.low_rps)
    return _rounded(max(search.low_rps, lowest / 2))


def _posterior(probes: Sequence[Probe], search: Search) -> tuple[Grid, Floats]:
    rates = _rates(probes, Outcome.MET) + _rates(probes, Outcome.MISSED)
    grid = over(rates, search.low_rps / NEAR, search.high_rps * NEAR)
    return grid, posterior(probes, grid)


def _entropy(weights: Floats) -> float:
    marginal = weights.sum(axis=1)
    total = marginal.sum()
    share = marginal[marginal > 0] / total
    return float(-(share * np.log(share)).sum())


def _most_informative(probes: Sequence[Probe], search: Search, ceiling: float) -> float:
    grid, weights = _posterior(probes, search)
    places, cumulated = grid.places, np.cumsum(weights.sum(axis=1))
    inside = range(int(np.searchsorted(cumulated, 0.01)), int(np.searchsorted(cumulated, 0.99)) + 1)
    late = [rps for rps in _rates(probes, Outcome.GENERATOR) if _late_at(probes, rps) > 1]
    rates = {index: float(np.exp(places[index])) for index in inside[:: max(1, len(inside) // 40)]}
    candidates = {
        index: rate
        for index, rate in rates.items()
        if rate * NEAR < ceiling and not any(rps / BESIDE < rate < rps * BESIDE for rps in late)
    }
    if not candidates:
        middle = float(np.exp(places[inside[len(inside) // 2]]))
        return _rounded(ceiling / NEAR if math.isfinite(ceiling) else middle)
    count = len(places)
    steps = np.arange(1 - count, count, dtype=np.float64)  # of the grid: how far a knee lies above a rate
    apart = chance(1.0, STEP * steps)
    best, least = math.nan, math.inf
    for index, rate in candidates.items():
        met = weights * apart[count - 1 - index : 2 * count - 1 - index]
        share = float(met.sum())
        expected = share * _entropy(met) + (1 - share) * _entropy(weights - met)
        if expected < least:
            best, least = rate, expected
    return _rounded(best)
