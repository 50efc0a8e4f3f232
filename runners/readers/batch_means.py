"""Variance of a statistic of dependent samples, estimated from batches (stretches of time); scipy has no such function.

A batch's influence is how far it moves the statistic (C. Alexopoulos and A. Seila, 1998, *Handbook of Simulation*).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

CONFIDENCE = 0.95

Floats = npt.NDArray[np.floating[Any]]
Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Variance:
    """An estimated variance and its degrees of freedom."""

    value: float
    degrees: float


@cache
def t_factor(degrees: float) -> float:
    """Return (t quantile / normal quantile)^2 for 95 % intervals, a factor for a variance with `degrees` of freedom."""
    return float(t.ppf(0.5 + CONFIDENCE / 2, degrees) / norm.ppf(0.5 + CONFIDENCE / 2)) ** 2


def batch_variance(influences: Floats, *, neighbours: bool = False) -> Variance:
    """Estimate a statistic's variance from the influence of each batch on it, in time order; the influences sum to 0.

    The variance is b / (b - 1) times the sum of the squared influences of b batches. The influences' kurtosis gives its
    degrees of freedom (B. O'Neill, 2014, *Some useful moment results in sampling problems*, Am. Statistician 68).
    `neighbours` adds the covariance of consecutive batches (W. K. Newey and K. D. West, 1987, Econometrica 55; one lag,
    full weight), whose bias is removed (F. H. C. Marriott and J. A. Pope, 1954, Biometrika 41). The degrees of freedom
    are then b / 2.
    """
    count, squared = len(influences), influences**2
    squares = float(squared.sum())
    if neighbours:
        together = float((influences[1:] * influences[:-1]).sum()) + squares / count
        return Variance(count / (count - 1) * (squares + 2 * max(0.0, together)), count // 2)
    kurtosis = count * float((squared**2).sum()) / squares**2 if squares else 3.0
    degrees = min(count - 1, 2 * count / (kurtosis - (count - 3) / (count - 1)))
    return Variance(count / (count - 1) * squares, round(degrees, 1))


def share_variance(part: Counts, whole: Counts, *, neighbours: bool = False) -> Variance:
    """Estimate the variance of sum(part) / sum(whole). Both arrays have one value per batch, in time order.

    A ratio estimator with batches as clusters (W. G. Cochran, 1977, *Sampling Techniques*, 3rd ed., section 6.3).
    """
    total = float(whole.sum())
    return batch_variance((part - float(part.sum()) / total * whole) / total, neighbours=neighbours)


def jackknife_variance(left_out: Floats) -> Variance:
    """Estimate a statistic's variance by the jackknife; `left_out` has the statistic without batch 1, without 2, etc.

    B. Efron and C. Stein, 1981, Annals of Statistics 9; for percentiles J. Shao and C. F. J. Wu, 1989, same journal 17.
    """
    return batch_variance((len(left_out) - 1) / len(left_out) * (left_out.mean() - left_out))
