"""Where did a history of figures change level?

One figure a run, in the order of the runs: latencies and rates, so a change is a ratio. Binary segmentation (ruptures)
splits the history where the ranks of the runs on both sides are furthest apart: ranks, because one odd run is no change
of level. A split counts when shuffled runs rarely have any split as good: a permutation test on the best of all splits,
as in e-divisive (D. S. Matteson, N. A. James, 2014, JASA 109), so that having looked everywhere is paid for. Then both
sides are searched in the same way. It takes runs as exchangeable: a machine that drifts slowly gives several small
steps where there is a slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import ruptures
from scipy.stats import rankdata, t

from runners.analysis import facts
from runners.readers import write
from runners.readers.run import Step

FEWEST_RUNS = 8  # with fewer, no permutation is rare enough
FEWEST_A_SIDE = 3
LEVEL = 0.05
SMALLEST = 0.01  # a shift of 1 % changes no conclusion
PERMUTATIONS = 2_000
BOOTSTRAPS = 2_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Change:
    """The level changed before the run at `index`: from one median to another by `ratio` (95 % interval).

    `p_value` is how rarely a shuffled history shows as much.
    """

    index: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p_value: float


def changes(values: Sequence[float] | Floats, seed: int = 1, level: float = LEVEL) -> list[Change]:
    """Change points of a series of positive figures, in order; none where there are fewer than `FEWEST_RUNS`.

    Where nothing changed, some are found in a share of `level` of all series: who looks at several divides it by their
    number. The same values give the same answer: the seed is fixed.
    """
    logs = np.log(np.asarray(values, dtype=float))
    if not np.isfinite(logs).all():
        return []
    chance = np.random.default_rng(seed)
    edges: dict[int, float] = {}
    parts = [(0, len(logs))]
    while parts:
        left, right = parts.pop()
        split, p_value = _best_split(logs[left:right], chance)
        if split is not None and p_value <= level:
            edges[left + split] = p_value
            parts += [(left, left + split), (left + split, right)]
    bounds = [0, *sorted(edges), len(logs)]
    found = []
    for left, at, right in zip(bounds, bounds[1:-1], bounds[2:], strict=False):
        before, after = logs[left:at], logs[at:right]
        shift = float(np.median(after) - np.median(before))
        if abs(shift) >= np.log1p(SMALLEST):
            low, high = _interval(before, after, chance)
            was, became = float(np.exp(np.median(before))), float(np.exp(np.median(after)))
            found.append(Change(at, was, became, float(np.exp(shift)), low, high, edges[at]))
    return found


def usual(values: Sequence[float] | Floats) -> tuple[float, float] | None:
    """Between what a further figure lies with 95 % if nothing changed; None with fewer than `FEWEST_RUNS`.

    The prediction interval of the normal distribution, on logarithms (G. J. Hahn, 1969, J. of Quality Technology 1).
    """
    level = np.log(np.asarray(values, dtype=float))
    level = level[np.isfinite(level)]
    count = len(level)
    if count < FEWEST_RUNS:
        return None
    middle = float(np.mean(level))
    reach = float(t.ppf(0.975, count - 1) * np.std(level, ddof=1) * np.sqrt(1 + 1 / count))
    return float(np.exp(middle - reach)), float(np.exp(middle + reach))


def _best_split(level: Floats, chance: np.random.Generator) -> tuple[int | None, float]:
    """Where the ranks of the two parts differ most, and the share of shufflings with a split at least as good."""
    count = len(level)
    if count < FEWEST_RUNS or np.ptp(level) == 0:
        return None, 1.0
    ranks = rankdata(level)
    (split, _) = ruptures.Binseg(model="l2", min_size=FEWEST_A_SIDE, jump=1).fit_predict(ranks.reshape(-1, 1), n_bkps=1)
    shuffled = chance.permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    as_good = np.count_nonzero(_gains(shuffled).max(axis=1) >= _gains(ranks[np.newaxis])[0].max() - 1e-9)
    return split, float((1 + as_good) / (PERMUTATIONS + 1))


def _gains(rows: Floats) -> Floats:
    """By how much the sum of squares falls with each split of each row; splits that leave too few runs are left out."""
    count = rows.shape[1]
    left = np.arange(FEWEST_A_SIDE, count - FEWEST_A_SIDE + 1)
    away = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, left - 1]
    gains: Floats = away**2 * count / (left * (count - left))
    return gains


def _interval(before: Floats, after: Floats, chance: np.random.Generator) -> tuple[float, float]:
    """95 % bootstrap percentile interval of the ratio of the two medians."""
    first = np.median(chance.choice(before, (BOOTSTRAPS, len(before))), axis=1)
    second = np.median(chance.choice(after, (BOOTSTRAPS, len(after))), axis=1)
    low, high = np.quantile(second - first, (0.025, 0.975))
    return float(np.exp(low)), float(np.exp(high))


@dataclass(frozen=True, slots=True)
class Sentinel:
    """What one sentinel showed. `usual_us` is where it was expected from `earlier` runs, None when too few tell."""

    p50_us: float | None
    usual_us: tuple[float, float] | None
    earlier: int

    @property
    def ok(self) -> bool | None:
        """Whether the machine is as usual; None where nothing tells."""
        if self.p50_us is None or self.usual_us is None:
            return None
        return self.usual_us[0] <= self.p50_us <= self.usual_us[1]

    @property
    def sentence(self) -> str:
        if self.p50_us is None:
            return "Sentinel: its load was not valid, so nothing tells whether this machine is as usual."
        seen = f"Sentinel: p50 {write.latency(self.p50_us)} for a fixed small load on a handler that does nothing"
        if self.usual_us is None:
            few = f"{write.several(self.earlier, 'earlier run')} that can be compared, too few to say what is usual"
            return f"{seen}; {few} (it takes {FEWEST_RUNS})."
        low, high = (write.latency(bound) for bound in self.usual_us)
        among = f"{low} to {high} is usual here ({write.several(self.earlier, 'earlier run')})"
        verdict = "" if self.ok else ". The machine is not as usual: doubt what this run measures"
        return f"{seen}; {among}{verdict}."

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ok": self.ok, "text": self.sentence}


def usual_before(values: Sequence[float]) -> tuple[float, float] | None:
    """The range in which a next sentinel is expected, from those before it (oldest first) since the last change."""
    points = changes(values)
    return usual(values[points[-1].index :] if points else values)


def judge(step: Step, earlier_us: Sequence[float]) -> Sentinel:
    """Set a sentinel beside those of earlier runs on the same class of machine."""
    p50 = facts.at(step, 0.5) if step.valid else None
    return Sentinel(p50.value if p50 else None, usual_before(earlier_us), len(earlier_us))
