"""From which second on is a step steady?

Steady means that the median of the remaining seconds shows no trend. A trend is one that Kendall's rank correlation
with time finds at the 5 % level (H. B. Mann, 1945, Econometrica 13; ties counted) *and* that moves the median by more
than 2 % from the first to the last second by the Theil-Sen line; a drift smaller than that changes no conclusion.
At least half of the seconds must remain, else the step is never steady, which is a legal answer. Neighbouring seconds
resemble each other, so the test finds a trend too easily rather than too rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau, theilslopes

from runners.explain.facts import per_second
from runners.read.run import Step

FEWEST_SECONDS = 5
LEVEL = 0.05
DRIFT = 0.02


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`steady` is None when there are too few seconds to tell; `from_s` is None unless steady."""

    steady: bool | None
    from_s: float | None
    seconds: int
    drift: float | None  # share of the median by which the Theil-Sen line moves over all seconds


def steadiness(step: Step) -> Steadiness:
    """Look at the medians of a step's whole seconds."""
    seconds = per_second(step)
    medians = seconds["p50_us"].to_numpy(float)
    count = len(medians)
    if count < FEWEST_SECONDS:
        return Steadiness(None, None, count, None)
    drift = _drift(medians)
    for start in range(count - max(FEWEST_SECONDS, -(-count // 2)) + 1):
        if not _has_trend(medians[start:]):
            return Steadiness(True, float(seconds["t_s"].iloc[start]), count, drift)
    return Steadiness(False, None, count, drift)


def _drift(medians: npt.NDArray[np.float64]) -> float:
    slope = float(theilslopes(medians, np.arange(len(medians)))[0])
    return slope * (len(medians) - 1) / float(np.median(medians))


def _has_trend(medians: npt.NDArray[np.float64]) -> bool:
    if abs(_drift(medians)) <= DRIFT:
        return False
    p_value = float(kendalltau(np.arange(len(medians)), medians).pvalue)
    return p_value < LEVEL  # NaN, for a constant series, is no trend
