"""Histograms of recorded latencies, and percentiles from them, as HdrHistogram defines them, with 95 % bounds.

Histograms are merged before a percentile is taken. The bounds hold for independent samples.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom

from runners.readers.console_report import LEVELS, beyond, rank
from runners.readers.run import frame

TICKS_PER_HALF_DISTANCE = 5

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=1_024)  # scipy takes a tenth of a millisecond for each side
def bound_ranks(count: int, percentile: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """Return the 1-based ranks, among `count` samples, of the lower and the upper bound of a `percentile` (0..1).

    A rank is None if there are too few samples. The number of samples below the true percentile is binomial (H. A.
    David and H. N. Nagaraja, *Order Statistics*, 3rd ed., section 7.1). scipy's `quantile_test` needs all samples.
    """
    if not count or not 0 < percentile < 1:
        return None, None
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, count, percentile))
    high = int(binom.ppf(1 - tail, count, percentile)) + 1
    return (low if low >= 1 else None), (high if high <= count else None)


@dataclass(frozen=True)
class Samples:
    """A histogram of latency samples: the values in us, and the number of samples with each value."""

    values_us: Floats  # ascending: the highest value of each histogram bucket
    counts: Integers

    @classmethod
    def merge(cls, parts: Iterable[Self]) -> Self:
        """Return the sum of several histograms, in which the counts of equal values are added."""
        given = [cls(np.empty(0), np.empty(0, np.int64)), *parts]
        values, where = np.unique(np.concatenate([part.values_us for part in given]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, where, np.concatenate([part.counts for part in given]))
        return cls(values, counts)

    @cached_property
    def cumulated(self) -> Integers:
        """The number of samples at or below each value of `values_us`."""
        return np.cumsum(self.counts)

    @property
    def total(self) -> int:
        return int(self.cumulated[-1]) if len(self.counts) else 0

    @property
    def max_us(self) -> float:
        return float(self.values_us[-1]) if len(self.values_us) else math.nan

    def at_rank(self, position: int | None) -> float:
        """Return the value (us) of the sample at a 1-based rank; NaN if the rank is None or there are no samples."""
        if position is None or not self.total:
            return math.nan
        return float(self.values_us[np.searchsorted(self.cumulated, position)])

    def percentile(self, level: float) -> float:
        """Return the latency (us) at the percentile `level` (0..1); NaN if there are no samples."""
        return self.at_rank(rank(self.total, level))

    def percentiles(self, kind: str, waiting: Self | None = None) -> pd.DataFrame:
        """Return the `percentiles` data frame (see frames.toml) of this histogram; `kind`: for example response.

        `waiting` has the times that requests without a response had waited. They count as samples, but are only lower
        bounds (right-censored). A percentile that would be higher if these times were infinite is marked `at_least`.
        """
        every = self.merge([self, waiting]) if waiting is not None else self
        rows = []
        for level in LEVELS if every.total else ():
            position = rank(every.total, level)
            value_us, low_us, high_us = map(every.at_rank, (position, *bound_ranks(every.total, level)))
            most_us = self.at_rank(position) if position <= self.total else math.nan
            rows.append(
                {
                    "kind": kind, "percentile": level, "value_us": value_us, "low_us": low_us, "high_us": high_us,
                    "samples_beyond": beyond(every.total, level), "at_least": most_us != value_us, "most_us": most_us,
                }
            )  # fmt: skip
        return frame("percentiles", rows)

    def spectrum(self, kind: str) -> pd.DataFrame:
        """Return the `spectrum` data frame of this histogram, at the levels of HdrHistogram's percentile iterator."""
        rows: list[dict[str, object]] = []
        level, below = 0.0, 0
        while below < self.total:
            index = int(np.searchsorted(self.cumulated, rank(self.total, level)))
            value_us, below = float(self.values_us[index]), int(self.cumulated[index])
            percentile = level if below < self.total else 1.0
            rows.append({"kind": kind, "value_us": value_us, "percentile": percentile, "total_count": below})
            level += 1 / (TICKS_PER_HALF_DISTANCE * 2 ** (math.floor(math.log2(1 / (1 - level))) + 1))
        return frame("spectrum", rows)
