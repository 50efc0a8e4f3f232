"""Stretches of time in which responses were slow, from response times by tenths of a second.

A slice stands out when its p99 exceeds the median of all slices' p99 by five robust standard deviations (the median
absolute deviation times 1.4826; F. R. Hampel, 1974, J. Am. Stat. Assoc. 69) and by half of that median: the threshold
comes from the step's own quiet time. Slices with fewer than a hundred responses are widened until their p99 is one.

A response that took v and came in a slice was due up to v before it, so a spike reaches from the earliest due time
of its slow responses to the end of the slice in which the last of them came. That is the stall and the draining of the
queue behind it: response times count from the intended start, so after a stall they fall in a straight line to the
usual, and all of them belong to the stall. Stretches that touch are one spike.

The *excess* is what slow responses took above the threshold, summed up: it weighs a response by how late it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

ROBUST_DEVIATIONS = 5
LEAST_EXCESS = 0.5
MAD_TO_SIGMA = 1.4826
SLICE_S = 0.1
FEWEST_ANSWERS = 100
FEWEST_SLICES = 20
WIDER = (1, 2, 5, 10)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spike:
    """One stretch: seconds from the start of the window, its slowest answer, its slow responses and their excess."""

    begin_s: float
    end_s: float
    peak_us: float
    slow: float
    excess_ms: float


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of one step. `excess_ms` is that of all slow responses, in spikes or scattered."""

    slice_s: float
    length_s: float
    usual_us: float
    threshold_us: float
    p99_us: Floats
    spikes: tuple[Spike, ...]
    slow: float
    excess_ms: float

    @property
    def inside(self) -> float:
        """The share of the excess that lies in spikes."""
        return sum(each.excess_ms for each in self.spikes) / self.excess_ms if self.excess_ms else 0.0


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts by slice and bin: `counts[k, b]` answers of about `us[b]` in the slice from k * slice_s."""

    slice_s: float
    us: Floats
    counts: Floats

    @property
    def length_s(self) -> float:
        return self.slice_s * len(self.counts)

    def at(self, level: float) -> Floats:
        """A percentile (0..1) of each slice; NaN where nothing was answered."""
        total = self.counts.sum(axis=1)
        below = np.cumsum(self.counts, axis=1)
        index = (below >= np.maximum(level * total, 1e-9)[:, None]).argmax(axis=1)
        return np.where(total > 0, self.us[index] if len(self.us) else np.nan, np.nan)

    def longest(self) -> Floats:
        """The slowest answer of each slice; NaN where there is none."""
        return np.where(self.counts.sum(axis=1) > 0, (self.us * (self.counts > 0)).max(axis=1, initial=0), np.nan)


def tenths(slices: pd.DataFrame) -> Grid | None:
    """The `slices` frame as a grid of tenths of a second, however few responses they hold; None without any."""
    if slices.empty:
        return None
    index = np.round(slices["t_s"].to_numpy(float) / SLICE_S).astype(int)
    us, bins = np.unique(slices["us"].to_numpy(float), return_inverse=True)
    counts = np.zeros((index.max() + 1, len(us)))
    np.add.at(counts, (index, bins), slices["count"].to_numpy(float))
    return Grid(SLICE_S, us, counts)


def grid(slices: pd.DataFrame) -> Grid | None:
    """The `slices` frame as a grid, widened where its slices hold too few answers; None when no width has enough."""
    if (fine := tenths(slices)) is None:
        return None
    for factor in WIDER:
        whole = len(fine.counts) // factor * factor
        wide = fine.counts[:whole].reshape(-1, factor, len(fine.us)).sum(axis=1)
        if len(wide) < FEWEST_SLICES:
            return None
        if np.median(wide.sum(axis=1)) >= FEWEST_ANSWERS:
            return Grid(SLICE_S * factor, fine.us, wide)
    return None


def find(slices: pd.DataFrame) -> Tail | None:
    """The tail of a step; None when its slices are too few or too thin to have one."""
    seen = grid(slices)
    return None if seen is None else find_in(seen)


def find_in(seen: Grid) -> Tail:
    """The tail of a grid."""
    p99 = seen.at(0.99)
    usual = float(np.nanmedian(p99))
    sigma = MAD_TO_SIGMA * float(np.nanmedian(np.abs(p99 - usual)))
    threshold = usual + max(ROBUST_DEVIATIONS * sigma, LEAST_EXCESS * usual)
    slow = seen.counts * (seen.us > threshold)
    over = np.maximum(seen.us - threshold, 0) / 1000
    longest = seen.longest()
    spans = [
        (k * seen.slice_s - longest[k] / 1e6, (k + 1) * seen.slice_s, k)
        for k in range(len(p99))
        if p99[k] > threshold  # never where it is NaN
    ]
    spikes = []
    for begin, end, members in _merged(spans):
        mine = slow[members]
        excess = float((mine * over).sum())
        spikes.append(Spike(max(0.0, begin), end, float(longest[members].max()), float(mine.sum()), excess))
    return Tail(
        seen.slice_s, seen.length_s, usual, threshold, p99, tuple(spikes), float(slow.sum()), float((slow * over).sum())
    )


def _merged(spans: list[tuple[float, float, int]]) -> list[tuple[float, float, list[int]]]:
    merged: list[tuple[float, float, list[int]]] = []
    for begin, end, slice_ in sorted(spans):
        if merged and begin <= merged[-1][1] + 1e-9:
            first, last, members = merged[-1]
            merged[-1] = (first, max(last, end), [*members, slice_])
        else:
            merged.append((begin, end, [slice_]))
    return merged
