"""Estimate the variance of a share of dependent samples by batch means, for latencies and for profiles.

Samples that are close in time share their fate: one stall holds up hundreds of requests, and a compaction takes many
samples of a profile one after the other. So a recording is cut into batches of time (C. Alexopoulos and A. Seila,
1998, *Output data analysis*, in Handbook of Simulation); the share is the ratio of two sums over batches, and its
variance that of a ratio estimator with batches as clusters (W. G. Cochran, 1977, *Sampling Techniques*, 3rd ed.,
section 6.3).

Where neighbouring batches still vary together, there are two ways. Who can choose the length of a batch compares
several lengths (`analysis.intervals`). Who has few batches of one length adds the covariance of neighbours (W. K.
Newey and K. D. West, 1987, Econometrica 55, with one lag and full weight). Residuals add up to nothing, so neighbours
seem to vary against each other by one in as many as there are batches; that is given back (F. H. C. Marriott and J.
A. Pope, 1954, Biometrika 41).

A variance from few batches, or one that a few of them make, is itself uncertain: `raised_by` is the square of
Student's t over the normal (E. Korn and B. Graubard, 1998, *Confidence intervals for proportions with small expected
number of positive counts estimated from survey data*, Survey Methodology 24), with the degrees of freedom that the
residuals' kurtosis leaves (B. O'Neill, 2014, *Some useful moment results in sampling problems*, The American
Statistician 68), or half of the batches where pairs were asked whether they vary together.

By hand: scipy has no batch means, nor a variance of dependent counts, and the covariances of statsmodels that allow
for dependence are those of a regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

CONFIDENCE = 0.95

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Variance:
    """An estimated variance, and the degrees of freedom that it is known by."""

    value: float
    degrees: float

    @property
    def raised_by(self) -> float:
        """By how much a 95 % interval must take it for more than it is, for it is an estimate itself."""
        return _raised(self.degrees)


@cache
def _raised(degrees: float) -> float:
    return float(t.ppf(0.5 + CONFIDENCE / 2, degrees) / norm.ppf(0.5 + CONFIDENCE / 2)) ** 2


def share_variance(part: Counts, whole: Counts, *, neighbours: bool = False) -> Variance:
    """Estimate the variance of sum(part) / sum(whole) over batches in time order; shapes (batches,).

    `neighbours`: batches next to each other vary together, and their covariance counts.
    """
    count, total = len(whole), float(whole.sum())
    residuals = part - float(part.sum()) / total * whole
    squares = float((residuals**2).sum())
    together = float((residuals[1:] * residuals[:-1]).sum()) + squares / count if neighbours else 0.0
    value = count / (count - 1) * (squares + 2 * max(0.0, together)) / total**2
    return Variance(value, count // 2 if neighbours else _degrees(residuals, squares))


def _degrees(residuals: npt.NDArray[np.floating[Any]], squares: float) -> float:
    """Degrees of freedom of the residuals' variance: fewer than their number where a few of them make all of it."""
    count = len(residuals)
    kurtosis = count * float((residuals**4).sum()) / squares**2 if squares else 3.0
    return round(min(count - 1, 2 * count / (kurtosis - (count - 3) / (count - 1))), 1)
