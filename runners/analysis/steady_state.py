"""The steady state of a step, and changes of level in a history of figures.

Change points cut a step into stretches (optimal partitioning: B. Jackson and others, 2005, IEEE Signal Proc. Letters
12; penalty: N. Zhang and D. Siegmund, 2007, Biometrics 63). The steady state begins where all later stretches have the
median of the step's second half, within the noise or 2 %, and no trend (E. Barrett and others, 2017, OOPSLA; trend
test: H. B. Mann, 1945, Econometrica 13). A history is split where the ranks before and after differ most, if shuffled
histories rarely split as well (permutation test: D. S. Matteson, N. A. James, 2014, JASA 109). A slow drift shows as
several small changes.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
import ruptures
from scipy.stats import bootstrap, kendalltau, rankdata, theilslopes

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Floats, student_reach
from runners.readers.run import Step, once_a_step

FEWEST_SECONDS = 5
MEDIAN = "median"
LEVEL = 0.01
DRIFT = 0.02
PENALTY = 3.0
SHORT = 25.0  # seconds: the noise of fewer is estimated badly, so the penalty is at least doubled
MAD_TO_SIGMA = 1.4826
SHORTEST, SPIKE = 2, 0.1  # seconds, and share of all seconds: a change that ends sooner is a latency spike
JIT_BUSY_SHARE = 0.02  # of a second; below, the compiler is at rest


@dataclass(frozen=True, slots=True)
class Steadiness:
    """Whether a step is in a steady state, judged by its whole seconds."""

    steady: bool | None  # None: too few seconds
    seconds: int  # how many whole seconds it has
    spread: float | None  # (90th - 10th percentile of the seconds' median latencies) / the median of these medians
    changing: tuple[str, ...] = ()  # signals that were not steady


@once_a_step
def steadiness(step: Step) -> Steadiness:
    """Return the `Steadiness` of a step, by the median latency, rate and JIT compilation of every second."""
    seconds = facts.per_second(step)
    medians = seconds["p50_us"].to_numpy(float)
    count = len(medians)
    if count < FEWEST_SECONDS or not np.isfinite(medians).all():
        return Steadiness(None, count, None)
    signals = _signals(step, seconds["t_s"].to_numpy(float), medians, seconds["completed"].to_numpy(float))
    begins = {name: steady_from(values, least) for name, (values, least) in signals.items()}
    changing, latest = [name for name, begin in begins.items() if begin > count // 2], max(begins.values())
    rest = medians[latest:]
    if not changing and len(rest) >= FEWEST_SECONDS and abs(_drift(rest)) > DRIFT:
        p_value = float(kendalltau(np.arange(len(rest)), rest).pvalue)
        changing = [MEDIAN] if p_value < LEVEL else []  # NaN, of a constant series, is no trend
    low, median, high = np.percentile(medians, (10, 50, 90))
    return Steadiness(not changing, count, float((high - low) / median), tuple(changing))


def _signals(step: Step, times: Floats, medians: Floats, rate: Floats) -> dict[str, tuple[Floats, float]]:
    """Return {signal: (its value in each second, its smallest change that matters)}, for recorded signals."""
    signals = {MEDIAN: (np.log(np.maximum(medians, 1e-3)), DRIFT)}
    if np.isfinite(rate).all() and (rate > 0).all():
        signals["rate"] = np.log(rate), DRIFT
    activity = step.frames["activity"]
    jit = activity[activity["kind"] == "jit"]
    if len(jit):
        busy, _ = np.histogram(jit["t_s"], bins=np.append(times, times[-1] + 1), weights=jit["busy_ms"] / 1000)
        signals["JIT compilation"] = busy.astype(float), JIT_BUSY_SHARE
    return signals


def change_points(values: Floats, least: float = 0.0) -> list[int]:
    """Return the indices at which the level of a series changes; `least`: the smallest change that matters."""
    count, noise = len(values), _noise_deviation(values, least)
    penalty = PENALTY * math.log(count) * (1 + SHORT / count) * noise**2
    cuts = ruptures.KernelCPD(kernel="linear", min_size=1).fit(values.reshape(-1, 1)).predict(pen=penalty)
    return [int(cut) for cut in cuts[:-1]]


def _noise_deviation(values: Floats, least: float) -> float:
    steps = np.abs(np.diff(values))
    sigma = MAD_TO_SIGMA * float(np.median(steps)) / math.sqrt(2) if len(steps) else 0.0
    return max(sigma, least / 2, 1e-9)


def steady_from(values: Floats, least: float) -> int:
    """Return the index from which values, except spikes, keep the second half's median. `least`: see change_points."""
    count, noise = len(values), _noise_deviation(values, least)
    final = float(np.median(values[count // 2 :]))
    start, group = 0, 0
    for begin, end in pairwise([0, *change_points(values, least), count]):
        allowed = max(least, 2 * noise * math.sqrt(1 / (end - begin) + 2 / count))
        if abs(float(np.median(values[begin:end])) - final) <= allowed:
            group = end
        elif group == 0 or end - group > max(SHORTEST, SPIKE * count):
            start = end
    return start


def _drift(medians: Floats) -> float:
    slope = float(theilslopes(medians, np.arange(len(medians)))[0])
    return slope * (len(medians) - 1) / float(np.median(medians))


SETTLED_CORES = 0.1  # a server that is warm compiles now and then too


def not_warm(step: Step) -> bool:
    """Return whether JIT compilation was unfinished when the step ended; False if it is not known."""
    cores = compiling_cores(step)
    return cores is not None and cores > SETTLED_CORES


def compiling_cores(step: Step) -> float | None:
    """Return how many cores the JIT compiler used in the step's last second; None if its CPU time was not sampled."""
    activity = step.frames["activity"]
    jit = activity[activity["kind"] == "jit"]
    ends_s = jit["t_s"] + jit["length_s"]
    last = jit[ends_s > ends_s.max() - 1.0]
    return float(last["busy_ms"].sum() / 1000 / last["length_s"].sum()) if len(jit) else None


FEWEST_RUNS = 8  # with fewer, no permutation is rare enough
FEWEST_A_SIDE = 3
CHANGE_LEVEL = 0.05
SMALLEST = 0.01  # a shift of 1 % changes no conclusion
PERMUTATIONS = 2_000
BOOTSTRAPS = 2_000


@dataclass(frozen=True, slots=True)
class Change:
    """A change in the level of a figure, for example of p99, over a series of runs."""

    index: int  # of the first run with the new level
    before: float  # median of the runs before
    after: float  # median of the runs with the new level
    ratio: float  # after / before, with its 95 % interval
    low: float
    high: float


def changes(values: Sequence[float] | Floats) -> list[Change]:
    """Return the changes of level in a series of positive figures, in order; none with fewer than `FEWEST_RUNS`.

    A series whose level never changed still gets a change, by chance, with probability CHANGE_LEVEL. The interval of a
    ratio is by the percentile bootstrap.
    """
    logs = np.log(np.asarray(values, dtype=float))
    if not np.isfinite(logs).all():
        return []
    chance = np.random.default_rng(1)
    edges, parts = list[int](), [(0, len(logs))]
    while parts:
        left, right = parts.pop()
        split, p_value = _best_split(logs[left:right], chance)
        if split is not None and p_value <= CHANGE_LEVEL:
            edges.append(left + split)
            parts += [(left, left + split), (left + split, right)]

    def shift(before: Floats, after: Floats, axis: int = -1) -> Floats:
        return np.asarray(np.median(after, axis=axis) - np.median(before, axis=axis))

    bounds = [0, *sorted(edges), len(logs)]
    changes = []
    for left, at, right in zip(bounds, bounds[1:-1], bounds[2:], strict=False):
        sides = logs[left:at], logs[at:right]
        if abs(shift(*sides)) >= np.log1p(SMALLEST):
            ends = bootstrap(sides, shift, n_resamples=BOOTSTRAPS, method="percentile", rng=chance).confidence_interval
            was, became = (float(np.exp(np.median(side))) for side in sides)
            ratio, low, high = (float(np.exp(end)) for end in (shift(*sides), ends.low, ends.high))
            changes.append(Change(at, was, became, ratio, low, high))
    return changes


def usual(values: Sequence[float] | Floats) -> tuple[float, float] | None:
    """Return a 95 % prediction interval of the next value by logarithms (Hahn, 1969, J. Qual. Tech. 1); None if few."""
    level = np.log(np.asarray(values, dtype=float))
    level = level[np.isfinite(level)]
    count = len(level)
    if count < FEWEST_RUNS:
        return None
    middle = float(np.mean(level))
    reach = student_reach(float(np.var(level, ddof=1)) * (1 + 1 / count), count - 1)
    return float(np.exp(middle - reach)), float(np.exp(middle + reach))


def _best_split(level: Floats, chance: np.random.Generator) -> tuple[int | None, float]:
    """Return (index that splits the figures best by their ranks, its p-value by permutations), or (None, 1.0)."""
    count = len(level)
    if count < FEWEST_RUNS or np.ptp(level) == 0:
        return None, 1.0
    ranks = rankdata(level)
    (split, _) = ruptures.Binseg(model="l2", min_size=FEWEST_A_SIDE, jump=1).fit_predict(ranks.reshape(-1, 1), n_bkps=1)
    shuffled = chance.permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    as_good = np.count_nonzero(_gains(shuffled).max(axis=1) >= _gains(ranks[np.newaxis])[0].max() - 1e-9)
    return split, float((1 + as_good) / (PERMUTATIONS + 1))


def _gains(rows: Floats) -> Floats:
    """Return an array [row, split]: how much a split (FEWEST_A_SIDE or more a side) lowers the row's sum of squares."""
    count = rows.shape[1]
    left = np.arange(FEWEST_A_SIDE, count - FEWEST_A_SIDE + 1)
    away = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, left - 1]
    return np.asarray(away**2 * count / (left * (count - left)))


@dataclass(frozen=True, slots=True)
class Sentinel:
    """The median of a sentinel, the fixed small load at the start of a run, with the range that is usual for it."""

    p50_us: float | None
    usual_us: tuple[float, float] | None  # None: not known
    earlier: int  # number of earlier runs

    @property
    def ok(self) -> bool | None:
        """Whether the sentinel's median lies in its usual range; None if the median or the range is not known."""
        if self.p50_us is None or self.usual_us is None:
            return None
        return self.usual_us[0] <= self.p50_us <= self.usual_us[1]

    @property
    def sentence(self) -> str:
        if self.p50_us is None:
            return "Sentinel: its load was not valid, so nothing tells whether this machine is as usual."
        seen = f"Sentinel: p50 {words.latency(self.p50_us)} for a fixed small load on a handler that does nothing"
        if self.usual_us is None:
            few = f"{words.several(self.earlier, 'earlier run')} that can be compared, too few to say what is usual"
            return f"{seen}; {few} (it takes {FEWEST_RUNS})."
        low, high = (words.latency(bound) for bound in self.usual_us)
        among = f"{low} to {high} is usual here ({words.several(self.earlier, 'earlier run')})"
        verdict = "" if self.ok else ". The machine is not as usual: doubt what this run measures"
        return f"{seen}; {among}{verdict}."

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ok": self.ok, "text": self.sentence}


def usual_before(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % prediction interval of the next value, from values since the last level shift; None if few."""
    points = changes(values)
    return usual(values[points[-1].index :] if points else values)


def judge(step: Step, earlier_us: Sequence[float]) -> Sentinel:
    """Return the `Sentinel` of a load; `earlier_us`: earlier sentinels' medians on like machines, oldest first."""
    p50 = facts.quoted(step, 0.5)
    return Sentinel(p50.value if p50 else None, usual_before(earlier_us), len(earlier_us))
