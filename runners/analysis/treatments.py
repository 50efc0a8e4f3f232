"""Effects of treatments that were interleaved over several fresh starts (docs/method.md).

The model of a quantity's logarithm is start + treatment + residual (R. A. Fisher, 1935, *The Design of Experiments*,
ch. 4). The residual's variance is pooled over all treatments. The variance of an effect is at least the one that blocks
of requests within a start show (grouped jackknife). Several treatments share the error rate by Dunnett's critical value
(C. W. Dunnett, 1955, JASA 50; `scipy.stats.dunnett` has no blocks). The control, the baseline's second process, is
tested at the whole error rate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import multivariate_t, norm, t

from runners.analysis.intervals import Bounded, Direction, Floats, direction
from runners.analysis.quantities import ALPHA, starts_needed
from runners.design.block import FEWEST_STARTS as FEWEST_STARTS
from runners.readers.batch_means import jackknife_variance
from runners.readers.console_report import rank
from runners.readers.requests_log import time_blocks

FEWEST_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class Start:
    """The logarithms of one quantity by treatment, in one start (fresh processes of some treatments)."""

    logs: Floats  # [i]: of treatment i; NaN if it is not part of the start
    left_out: Floats  # [b, i]: of treatment i without the requests of time block b

    def variance(self, treatment: int, baseline: int) -> float:
        """Return the variance of the log ratio of two treatments (indices) by grouped jackknife; NaN for few blocks."""
        if len(self.left_out) < FEWEST_BLOCKS:
            return math.nan
        return jackknife_variance(self.left_out[:, treatment] - self.left_out[:, baseline]).value


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a treatment on one quantity, against the baseline."""

    treatment: str
    change: Bounded  # relative
    direction: Direction
    starts_needed: int | None  # that a verdict needs; None: it has one already, or unknown


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of all treatments on one quantity."""

    starts: int  # number of usable starts
    effects: tuple[Effect, ...]
    control: Effect | None  # of the baseline's second process, against its first
    between_starts: float  # share of an effect's variance that lies between starts; NaN without time blocks


def start_of(frame: pd.DataFrame, treatments: Sequence[str], level: float, column: str = "response_us") -> Start:
    """Return the `Start` of percentile `level` (0..1) of every treatment, from a frame with the requests of one start.

    `column`: response_us or service_us. A request that did not complete counts as slower than all others: a percentile
    that falls on it is infinite.
    """
    return starts_of(frame, treatments, (level,), column)[level]


def starts_of(
    frame: pd.DataFrame, treatments: Sequence[str], levels: Sequence[float], column: str = "response_us"
) -> dict[float, Start]:
    """Return {level: what `start_of` returns for it} for percentiles `levels` (0..1); sorts the requests only once."""
    values = frame[column].to_numpy(float).copy()
    values[(frame["fate"] != "completed").to_numpy()] = math.inf
    at_s = frame["t_s"].to_numpy(float)
    block, count = time_blocks(at_s)
    many = len(treatments)
    starts = {level: Start(np.full(many, np.nan), np.full((count, many), np.nan)) for level in levels}
    for index, name in enumerate(treatments):
        mine = (frame["target"] == name).to_numpy()
        order = np.argsort(values[mine])
        ordered, blocks = values[mine][order], block[mine][order] if count else block
        # of each block, where its requests stand among all in order: what is left out below a rank moves it up
        places = np.split(np.argsort(blocks, kind="stable"), np.cumsum(np.bincount(blocks, minlength=count))[:-1])
        moved = [own - np.arange(len(own)) for own in places[:count]]
        for level, start in starts.items():
            start.logs[index] = _log_at(ordered, rank(len(ordered), level) - 1)
            for left, own in enumerate(moved):
                wanted = rank(len(ordered) - len(own), level) - 1
                below = np.searchsorted(own, wanted, side="right")
                start.left_out[left, index] = _log_at(ordered, wanted + int(below))
    return starts


def start_from(quantity: Mapping[str, float], treatments: Sequence[str]) -> Start:
    """Return the `Start` of a quantity, such as CPU time; `quantity`: {treatment: value}. A missing value is NaN."""
    logs = np.log([quantity.get(name, math.nan) for name in treatments])
    return Start(logs, np.empty((0, len(treatments))))


def _log_at(ordered: Floats, index: int) -> float:
    return math.log(float(ordered[index])) if 0 <= index < len(ordered) else math.nan


@cache
def critical_value(treatments: int, freedom: int, alpha: float = ALPHA, correlation: float = 0.5) -> float:
    """Return Dunnett's two-sided critical value; `freedom`: degrees of freedom, `correlation`: of any two effects."""
    if treatments == 1:
        return float(t.ppf(1 - alpha / 2, freedom))
    shape = np.full((treatments, treatments), correlation) + (1 - correlation) * np.eye(treatments)
    joint = multivariate_t(np.zeros(treatments), shape, df=freedom, seed=1)

    def missed(value: float) -> float:
        side = np.full(treatments, value)
        return float(joint.cdf(side, lower_limit=-side, random_state=1)) - (1 - alpha)

    return float(brentq(missed, t.ppf(1 - alpha / 2, freedom), t.ppf(1 - alpha / (2 * treatments), freedom) * 1.05))


def usable(starts: Sequence[Start], base: int) -> list[Start]:
    """Return the starts with values of the baseline (index `base`) and another treatment, and no infinite value."""
    finite = ((start, np.isfinite(start.logs)) for start in starts if not np.isinf(start.logs).any())
    return [start for start, known in finite if known[base] and known.sum() > 1]


def compare(
    starts: Sequence[Start], treatments: Sequence[str], baseline: str, margin: float, control: str | None = None,
    most_starts: int = 0,
) -> Effects:  # fmt: skip
    """Return the effects of treatments on one quantity, against a baseline, by least squares of start + treatment.

    `treatments`: names in the order of `Start.logs`. `margin`: the smallest relative change that matters. `control`:
    name of the baseline's second process. `most_starts`: the largest number of starts if the comparison may end after
    any of them (see nominal_levels), else 0. Raises ValueError if no start is usable.
    """
    base = treatments.index(baseline)
    kept = usable(starts, base)
    if not kept:
        raise ValueError("no start has a finite value of the baseline and of another treatment")
    logs = np.array([start.logs for start in kept])
    known = np.isfinite(logs)
    there = [index for index in range(len(treatments)) if index != base and known[:, index].any()]
    count = {index: int(known[:, index].sum()) for index in there}
    changes, inverse, between = _fitted(logs, known, there)
    own = [start.variance(index, base) for start, row in zip(kept, known, strict=True) for index in there if row[index]]
    within = float(np.mean(own))
    freedom = int(known.sum()) - len(kept) - len(there)
    variances = {  # by the requests, and by the starts: NaN if it is unknown
        index: max(filter(math.isfinite, (within / count[index], between * inverse[place, place])), default=math.nan)
        for place, index in enumerate(there)
    }
    share = math.nan
    if freedom > 0 and math.isfinite(within) and (whole := variances[there[0]]) > 0:
        share = max(0.0, 1 - within / count[there[0]] / whole)
    freedom = freedom if freedom > 0 else max(1, len(kept[0].left_out) - 1)
    others = [index for index in there if treatments[index] != control]

    alpha = ALPHA
    if FEWEST_STARTS <= len(kept) <= most_starts:
        alpha = nominal_levels(tuple(range(FEWEST_STARTS, most_starts + 1)))[len(kept)]

    def effect(index: int, critical: float) -> Effect:
        change, half = float(changes[there.index(index)]), critical * math.sqrt(variances[index])
        bounded = Bounded(math.expm1(change), math.expm1(change - half), math.expm1(change + half))
        side = direction(bounded, margin) if count[index] >= FEWEST_STARTS else Direction.INCONCLUSIVE
        needed = starts_needed(change, half, count[index], margin) if side == Direction.INCONCLUSIVE else None
        return Effect(treatments[index], bounded, side, needed)

    shared = critical_value(max(1, len(others)), freedom, alpha, _least_correlation(inverse, there, others))
    place = treatments.index(control) if control is not None else -1
    of_control = effect(place, critical_value(1, freedom, alpha)) if place in there else None
    return Effects(len(kept), tuple(effect(index, shared) for index in others), of_control, share)


def without_spill_over(shared: Effects, solo: Effects) -> Effects:
    """Return every effect from the shared load, or from loads on one server alone (`solo`) if the two contradict.

    Servers that share a core make response times more alike. Effects contradict if they differ by more than the root of
    the summed squares of both intervals' half widths (of logarithms); this takes them for independent.
    """
    if min(shared.starts, solo.starts) < FEWEST_STARTS:
        return shared
    taken = []
    for together, alone in zip(shared.effects, solo.effects, strict=True):
        changes = together.change, alone.change
        middles = [math.log1p(change.value) for change in changes]
        halves = [math.log1p(change.high) - math.log1p(change.value) for change in changes]
        room = math.hypot(*halves)
        taken.append(alone if math.isfinite(room) and abs(middles[0] - middles[1]) > room else together)
    return replace(shared, effects=tuple(taken))


def _fitted(logs: Floats, known: npt.NDArray[np.bool_], there: Sequence[int]) -> tuple[Floats, Floats, float]:
    """Return least-squares effects, their covariance divided by the residual variance, and the residual variance.

    `logs`: [start, treatment], the logarithms. `known`: which of them have a value. `there`: columns with an effect.
    """
    row, column = np.nonzero(known)
    design = np.zeros((len(row), len(logs) + len(there)))
    design[np.arange(len(row)), row] = 1
    for place, index in enumerate(there):
        design[column == index, len(logs) + place] = 1
    inverse: Floats = np.asarray(np.linalg.pinv(design.T @ design), float)
    values = logs[row, column]
    fitted = inverse @ design.T @ values
    freedom = len(row) - design.shape[1]
    between = float(np.sum((values - design @ fitted) ** 2)) / freedom if freedom > 0 else math.nan
    return fitted[len(logs) :], inverse[len(logs) :, len(logs) :], between


def _least_correlation(inverse: Floats, effects: Sequence[int], chosen: Sequence[int]) -> float:
    """Return the least correlation between two effects in `chosen`; `inverse` has the covariances of all `effects`."""
    places = [effects.index(index) for index in chosen]
    correlations = [inverse[a, b] / math.sqrt(inverse[a, a] * inverse[b, b]) for a in places for b in places if a < b]
    return round(max(0.0, min(correlations, default=0.5)), 6)  # it makes the critical value largest (Slepian)


def carry_over(successions: pd.DataFrame) -> dict[str, float]:
    """Return {server: relative change of service p50 in requests that come directly after a request to this server}.

    Every server follows every other equally often, so the change cancels in ratios. A large one shows that servers
    disturb one another.
    """
    if successions.empty:
        return {}
    logs = successions.pivot(index="target", columns="predecessor", values="service_p50_us").map(math.log)
    shift = logs.sub(logs.mean(axis=1), axis=0).mean(axis=0)
    return {str(name): math.expm1(value) for name, value in shift.items()}


NODES = 801  # of the integration
WIDEST = 8.0  # standard deviations


def spent(share: float) -> float:
    """Return the error rate spent after a `share` t of starts (alpha spending): 4 (1 - Phi(z(alpha/4) / sqrt(t)))."""
    return float(4 * norm.sf(norm.isf(ALPHA / 4) / np.sqrt(share)))


@cache
def nominal_levels(looks: tuple[int, ...]) -> dict[int, float]:
    """Return {look: its significance level}, for the interim analyses (looks) of a comparison, by number of starts.

    The comparison may end at any look. The looks share the two-sided error rate by the O'Brien-Fleming-type function of
    K. Lan and D. DeMets (1983, Biometrika 70), over their joint distribution (P. Armitage and others, 1969, JRSS A
    132). A look takes Student's or Dunnett's critical value at its level (C. Jennison and B. Turnbull, 2000, *Group
    Sequential Methods*, 3.3), so intervals of all looks hold at once. Starts are taken for independent and identically
    distributed.
    """
    levels, gone, before = dict[int, float](), 0.0, 0
    # the density of the sum of so many normal deviates, on a grid; of it, what crossed at a look is cut off
    at = np.linspace(-WIDEST, WIDEST, NODES) * np.sqrt(looks[-1])
    step = at[1] - at[0]
    density = (np.arange(NODES) == NODES // 2) / step
    for starts in looks:
        density = norm.pdf(at[:, None] - at[None, :], scale=np.sqrt(starts - before)) @ density * step
        due, scale = spent(starts / looks[-1]) - gone, np.sqrt(starts)

        def beyond(bound: float, scale: float = scale) -> Floats:
            return np.asarray(np.clip((np.abs(at) - bound * scale) / step + 0.5, 0, 1))  # fractions: a continuous sum

        def excess(bound: float, density: Floats = density, due: float = due) -> float:
            return float((density * beyond(bound)).sum() * step) - due

        bound = float(brentq(excess, 0.0, WIDEST))
        density = density * (1 - beyond(bound))
        gone, before = gone + due, starts
        levels[starts] = float(2 * norm.sf(bound))
    return levels
