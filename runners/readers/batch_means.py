"""Estimate the variance of a statistic of dependent samples from batches of time, whichever statistic it is.

Samples that are close in time share their fate: one stall holds up hundreds of requests, and a compaction takes many
samples of a profile one after the other. So a recording is cut into batches of time (C. Alexopoulos and A. Seila,
1998, *Output data analysis*, in Handbook of Simulation). A batch's influence is by how much it moves the estimate, and
the variance of the estimate is that of a sum of as many influences:

- of a share, the residual of a ratio estimator with batches as clusters (W. G. Cochran, 1977, *Sampling Techniques*,
  3rd ed., section 6.3), over the sum of all batches; a mean of batches is such a share, of one each;
- of any other statistic, the batch's pseudo-value of the jackknife less the mean of them all, over n (B. Efron and C.
  Stein, 1981, *The jackknife estimate of variance*, Annals of Statistics 9). It serves percentiles too, as a whole
  batch of samples is left out (J. Shao and C. F. J. Wu, 1989, *A general theory for jackknife variance estimation*,
  Annals of Statistics 17).

Where neighbouring batches still vary together, `analysis.intervals` compares several lengths of a batch; few batches of
one length get the covariance of neighbours (W. K. Newey and K. D. West, 1987, Econometrica 55, with one lag and full
weight). Influences add up to nothing, so neighbours seem to vary against each other by one in as many as there are
batches; that is given back (F. H. C. Marriott and J. A. Pope, 1954, Biometrika 41).

A variance from few batches, or one that a few of them make, is itself uncertain: `raised_by` is the square of
Student's t over the normal (E. Korn and B. Graubard, 1998, *Confidence intervals for proportions with small expected
number of positive counts estimated from survey data*, Survey Methodology 24), with the degrees of freedom that the
influences' kurtosis leaves (B. O'Neill, 2014, *Some useful moment results in sampling problems*, The American
Statistician 68), or half of the batches where neighbours were compared.

scipy has no batch means and no jackknife of groups. The load generator has the same jackknife in Rust
(`loadgen/src/record/comparison.rs`), for it prints its intervals without Python.
"""

from __future__ import annotations

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
    """An estimated variance, and the degrees of freedom that it is known by."""

    value: float
    degrees: float

    @property
    def raised_by(self) -> float:
        """The factor by which a 95 % interval takes the variance for larger, because it is an estimate itself."""
        return _raised(self.degrees)


@cache
def _raised(degrees: float) -> float:
    return float(t.ppf(0.5 + CONFIDENCE / 2, degrees) / norm.ppf(0.5 + CONFIDENCE / 2)) ** 2


def batch_variance(influences: Floats, *, neighbours: bool = False) -> Variance:
    """Estimate the variance of a statistic from its batches' influences in time order, which add up to nothing.

    `neighbours`: batches next to each other vary together, and their covariance counts.
    """
    count, squared = len(influences), influences**2
    squares = float(squared.sum())
    together = float((influences[1:] * influences[:-1]).sum()) + squares / count if neighbours else 0.0
    value = count / (count - 1) * (squares + 2 * max(0.0, together))
    return Variance(value, count // 2 if neighbours else _degrees(count, squares, float((squared**2).sum())))


def share_variance(part: Counts, whole: Counts, *, neighbours: bool = False) -> Variance:
    """Estimate the variance of sum(part) / sum(whole) over batches in time order; shapes (batches,)."""
    total = float(whole.sum())
    return batch_variance((part - float(part.sum()) / total * whole) / total, neighbours=neighbours)


def mean_variance(values: Floats) -> Variance:
    """Estimate the variance of the mean of a value that each batch has."""
    return batch_variance((values - values.mean()) / len(values))


def jackknife_variance(left_out: Floats) -> Variance:
    """Estimate the variance of a statistic from its estimates without each batch."""
    return batch_variance((len(left_out) - 1) / len(left_out) * (left_out.mean() - left_out))


def _degrees(count: int, squares: float, fourths: float) -> float:
    """Return the degrees of freedom of a variance from its sums of powers: few where few batches make all of it."""
    kurtosis = count * fourths / squares**2 if squares else 3.0
    return round(min(count - 1, 2 * count / (kurtosis - (count - 3) / (count - 1))), 1)
