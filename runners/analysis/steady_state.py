"""From which second on is a step steady?

A step is cut into stretches of like seconds wherever its median latency, its rate of answers or the work of the JIT
compiler changes its level: the change points that minimise the squared error plus a penalty for each (optimal
partitioning: B. Jackson and others, 2005, *An algorithm for optimal partitioning of data on an interval*, IEEE Signal
Processing Letters 12; a penalty of 3 log n variances a change is that of the modified BIC of N. Zhang and D. Siegmund,
2007, Biometrics 63). The noise that a change must exceed is taken from the differences of neighbouring seconds, so
that a level's own drift does not hide it.

It is steady from the first second after which every stretch is like the second half of the step: within the noise, or
within 2 %, for a smaller shift changes no conclusion (after E. Barrett and others, 2017, *Virtual machine warmup blows
hot and cold*, OOPSLA). A spike of two seconds, or of a tenth of all, is no end of steadiness but a matter of the
tail. If fewer than half of the seconds would remain, or what remains still has a trend (H. B. Mann, 1945,
Econometrica 13) of more than 2 %, it never became steady, which is a legal answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau, theilslopes

from runners.analysis import intervals
from runners.analysis.facts import per_second
from runners.readers.run import Step

FEWEST_SECONDS = 5
LEVEL = 0.01
DRIFT = 0.02
PENALTY = 3.0
SHORT = 25.0  # seconds: the noise of so few is known badly, and a change has to be larger
MAD_TO_SIGMA = 1.4826
SHORTEST, SPIKE = 2, 0.1  # seconds, and share of them: what is gone again so soon is the tail's matter
JIT_BUSY_SHARE = 0.02  # of a second; below, the compiler is at rest

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Head:
    """What the seconds before the steady state do to a percentile, in microseconds."""

    level: float
    whole_us: float
    steady_us: float


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`steady` is None when there are too few seconds to tell; `from_s` is None unless steady.

    `drift` is the share of the median by which the Theil-Sen line moves over all seconds; `last_to_settle` names the
    signal that became steady last, `changes_s` the change points of all signals.
    """

    steady: bool | None
    from_s: float | None
    seconds: int
    drift: float | None
    last_to_settle: str = ""
    changes_s: tuple[float, ...] = ()


def steadiness(step: Step) -> Steadiness:
    """Look at a step's whole seconds."""
    seconds = per_second(step)
    medians = seconds["p50_us"].to_numpy(float)
    count = len(medians)
    if count < FEWEST_SECONDS or not np.isfinite(medians).all():
        return Steadiness(None, None, count, None)
    drift = _drift(medians)
    latest, settled_last, changes = 0, "", set[int]()
    for name, values, least in _signals(step, seconds["t_s"].to_numpy(float), medians, seconds["completed"]):
        cuts = change_points(values, least)
        changes |= set(cuts)
        start = _steady_from(values, cuts, least)
        if start > latest:
            latest, settled_last = start, name
    times = seconds["t_s"].to_numpy(float)
    at = tuple(float(times[cut]) for cut in sorted(changes))
    if latest > count // 2 or _has_trend(medians[latest:]):
        return Steadiness(False, None, count, drift, settled_last, at)
    return Steadiness(True, float(times[latest]), count, drift, settled_last, at)


def head(step: Step, level: float = 0.99) -> Head | None:
    """The effect of the seconds before the steady state on a percentile; None without such seconds."""
    seen, blocks = steadiness(step), intervals.blocks_of(step)
    if not seen.from_s or blocks is None:
        return None
    before = blocks.t_s < seen.from_s - 1e-9
    if not before.any() or before.all():
        return None
    return Head(level, blocks.percentile(level), blocks.without(before).percentile(level))


def _signals(step: Step, times: Floats, medians: Floats, completed: object) -> list[tuple[str, Floats, float]]:
    """Name, values by second, and the least change that matters, of each signal that was recorded."""
    found = [("median", np.log(np.maximum(medians, 1e-3)), DRIFT)]
    rate = np.asarray(completed, dtype=float)
    if np.isfinite(rate).all() and (rate > 0).all():
        found.append(("rate", np.log(rate), DRIFT))
    activity = step.frames.get("activity")
    if activity is not None and (activity["kind"] == "jit").any():
        rows = activity[activity["kind"] == "jit"]
        edges = np.append(times, times[-1] + 1)
        busy, _ = np.histogram(rows["t_s"], bins=edges, weights=rows["busy_ms"] / 1000)
        found.append(("JIT", busy.astype(float), JIT_BUSY_SHARE))
    return found


def change_points(values: Floats, least: float = 0.0) -> list[int]:
    """Where the level changes: the first index of each stretch but the first."""
    count = len(values)
    noise = _noise(values, least)
    penalty = PENALTY * math.log(count) * (1 + SHORT / count) * noise**2
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values, values**2))
    best = np.full(count + 1, math.inf)
    best[0] = -penalty
    previous = np.zeros(count + 1, int)
    for end in range(1, count + 1):
        starts = np.arange(end)
        lengths = end - starts
        error = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / lengths
        total = best[starts] + error + penalty
        previous[end] = int(np.argmin(total))
        best[end] = total[previous[end]]
    cuts, end = [], count
    while end > 0:
        end = int(previous[end])
        if end:
            cuts.append(end)
    return sorted(cuts)


def _noise(values: Floats, least: float) -> float:
    """The deviation of a second, from its neighbours; at least so much that the least change is one."""
    steps = np.abs(np.diff(values))
    sigma = MAD_TO_SIGMA * float(np.median(steps)) / math.sqrt(2) if len(steps) else 0.0
    return max(sigma, least / 2, 1e-9)


def _steady_from(values: Floats, cuts: list[int], least: float) -> int:
    """The first second after which every stretch is like the last half, short spikes left aside."""
    count, noise = len(values), _noise(values, least)
    final = float(np.median(values[count // 2 :]))
    start, group = 0, 0
    edges = [0, *cuts, count]
    for begin, end in pairwise(edges):
        allowed = max(least, 2 * noise * math.sqrt(1 / (end - begin) + 2 / count))
        if abs(float(np.median(values[begin:end])) - final) <= allowed:
            group = end
        elif group == 0 or end - group > max(SHORTEST, SPIKE * count):
            start = end
    return start


def _drift(medians: Floats) -> float:
    slope = float(theilslopes(medians, np.arange(len(medians)))[0])
    return slope * (len(medians) - 1) / float(np.median(medians))


def _has_trend(medians: Floats) -> bool:
    if len(medians) < FEWEST_SECONDS or abs(_drift(medians)) <= DRIFT:
        return False
    p_value = float(kendalltau(np.arange(len(medians)), medians).pvalue)
    return p_value < LEVEL  # NaN, for a constant series, is no trend


SETTLED_CORES = 0.1  # a server that is warm compiles now and then too
_END_S = 1.0


def not_warm(step: Step) -> bool:
    """Whether JIT compilation was unfinished when this step ended; False where no sample shows it."""
    cores = compiling_cores(step)
    return cores is not None and cores > SETTLED_CORES


def compiling_cores(step: Step) -> float | None:
    """Cores that the JVM's compiler used in the step's last second; None where no sample tells."""
    activity = step.frames.get("activity")
    if activity is None or activity.empty:
        return None
    jit = activity["kind"].to_numpy() == "jit"
    if not jit.any():
        return None
    began_s, length_s, busy_ms = (activity[name].to_numpy()[jit] for name in ("t_s", "length_s", "busy_ms"))
    ends_s = began_s + length_s
    last = ends_s > ends_s.max() - _END_S
    return float(busy_ms[last].sum() / 1000 / length_s[last].sum())
